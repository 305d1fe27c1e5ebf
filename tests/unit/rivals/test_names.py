"""One table of names: what is built, compared and raced agrees with it."""

import subprocess
import sys

import pytest

from etgp_viz import experiments, timing
from etgp_viz.rivals import names
from etgp_viz.rivals.build_model import FLOW_CLASSES, build


def test_the_flows_are_those_that_are_built():
    assert tuple(FLOW_CLASSES) == names.FLOWS
    for name in names.ETGPS:
        model = names.MODELS[name]
        assert model.num_params == FLOW_CLASSES[model.variant]().num_params
    assert names.MODELS["tgp"].num_params == FLOW_CLASSES["linear"]().num_params


def test_rivals_are_stationary_or_not():
    assert names.STATIONARY == ("svgp-rbf", "svgp-rbfcorr")
    assert names.NON_STATIONARY == ("svgp-arccos", "svgp-nnet")
    assert {*names.ETGPS, *names.STATIONARY, *names.NON_STATIONARY, "tgp"} == set(names.MODELS)


def test_experiments_and_races_use_no_other_names():
    compared = {model for model, _ in experiments.MODELS.values()} - {"speed"}
    assert compared == {*names.ETGPS, *names.SVGPS}
    raced = {contestant.model for contestant in timing.MODELS.values()}
    assert raced <= set(names.MODELS)
    for name in names.ETGPS:
        assert timing.MODELS[name].label == names.MODELS[name].label


def test_a_wrong_name_is_answered_with_the_table():
    with pytest.raises(ValueError, match=r"name: expected one of 'etgp-linear', .*'tgp', got 'x'"):
        build("x", [[0.0], [1.0]], 2)


def test_the_table_loads_no_tensorflow():
    code = "import sys, etgp_viz.rivals.names\nassert 'tensorflow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
