"""One table of names: what is built, compared and raced agrees with it."""

import subprocess
import sys

import numpy as np
import pytest

from etgp_viz import experiments, timing
from etgp_viz.rivals import names
from etgp_viz.rivals.build_model import FLOW_CLASSES, build


def test_the_flows_are_those_that_are_built():
    assert tuple(FLOW_CLASSES) == names.ALL_FLOWS
    assert names.FLOWS == ("linear", "sal", "tanh")  # the paper's alone
    for name in names.ETGPS:
        model = names.MODELS[name]
        assert model.num_params == FLOW_CLASSES[model.variant]().num_params
    assert names.MODELS["tgp"].num_params == FLOW_CLASSES["linear"]().num_params


def test_rivals_are_stationary_or_not():
    assert names.STATIONARY == ("svgp-rbf", "svgp-rbfcorr")
    assert names.NON_STATIONARY == ("svgp-arccos", "svgp-nnet")
    assert (*names.STATIONARY, *names.NON_STATIONARY) == names.SVGPS  # the paper's kernels alone
    paper = {*names.ETGPS, *names.SVGPS, "tgp"}
    assert paper | set(names.BEYOND_PAPER) == set(names.MODELS)
    assert not paper & set(names.BEYOND_PAPER)


def test_labels_tell_models_apart():
    labels = {name: names.MODELS[name].label for name in names.BEYOND_PAPER}
    assert labels == {
        "svgp-robustmax": "SVGP ROBUSTMAX",
        "svgp-deep": "SVGP DEEP",
        "network": "NETWORK",
        "logistic": "LOGISTIC",
        "boosting": "BOOSTING",
    }
    short = [model.short_label for model in names.MODELS.values()]
    assert all(short)
    assert len(set(short)) == len(short)


@pytest.mark.slow
@pytest.mark.parametrize("name", names.MODELS)
def test_the_table_says_what_a_model_can_do(name):
    kind, X, Y = names.MODELS[name], np.arange(12.0).reshape(6, 2) % 5, np.arange(6)[:, None] % 3
    options = {"hidden": (3,), "dropout": 0.5} if kind.has_network else {}
    model = build(name, X, 3, num_inducing=3, **options)
    assert hasattr(model, "network") == kind.has_network
    assert hasattr(model, "inducing_variable") == kind.has_inducing_points
    assert hasattr(model, "training_loss") == kind.is_trained_by_fit
    if not kind.is_trained_by_fit:
        model.train((X, Y))
    assert np.any(getattr(model, "prediction_error", np.zeros_like)(X)) == kind.is_monte_carlo
    for sharing in filter(None, kind.sharings):
        build(name, X, 3, num_inducing=3, sharing=sharing, **options)
    if "shared" not in kind.sharings:
        with pytest.raises(ValueError, match="sharing: expected an option"):
            build(name, X, 3, num_inducing=3, sharing="shared")
    if kind.has_bayesian_average:
        assert model.predict_y(X, samples=2)[0].shape == (6, 3)
    else:
        with pytest.raises(ValueError, match="samples: expected None"):
            model.predict_y(X, samples=2)


def test_experiments_and_races_use_no_other_names():
    compared = {model for model, _ in experiments.MODELS.values()} - {"speed"}
    assert {*names.ETGPS, *names.SVGPS} <= compared <= set(names.MODELS)
    raced = {contestant.model for contestant in timing.MODELS.values()}
    assert raced <= set(names.MODELS)
    assert not set(names.ANY_FLOW) & {*names.MODELS, *names.ETGPS, *names.BEYOND_PAPER}
    for name in names.ETGPS:
        assert timing.MODELS[name].label == names.MODELS[name].label


def test_a_wrong_name_is_answered_with_the_table():
    with pytest.raises(
        ValueError, match=r"name: expected one of 'etgp-linear', .*'boosting', 'etgp', got 'x'"
    ):
        build("x", [[0.0], [1.0]], 2)


def test_the_table_loads_no_tensorflow():
    code = "import sys, etgp_viz.rivals.names\nassert 'tensorflow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
