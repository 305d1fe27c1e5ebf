"""What is looked up in a table: the best of several, races, duels."""

import numpy as np
import pytest

from etgp_viz import experiments
from etgp_viz.experiments.budgets import describe_data
from etgp_viz.experiments.comparisons import Evidence
from etgp_viz.rivals.names import EXTENDED
from tests.unit.experiments.tables import cell, race, table

LINEAR, TANH, SEPARATE = ("etgp-linear", "pe"), ("etgp-tanh", "pe"), ("svgp-rbf", "separate")


def test_the_best_of_several_is_the_best_on_validation_rows():
    made = table(
        cell("wine", *LINEAR, accuracy=0.7, validation_accuracy=0.9),
        cell("wine", *TANH, accuracy=0.9, validation_accuracy=0.8),
    )
    found = Evidence(made).best("wine", ["etgp-linear", "etgp-tanh"])
    assert found.who == "ETGP LINEAR PE"
    assert found.mean == 0.7


def test_models_without_inducing_points_meet_those_with_the_most():
    made = table(cell("wine", *LINEAR, M=20), cell("wine", *LINEAR), cell("wine", "boosting", M=0))
    evidence = Evidence(made)
    assert evidence.one("wine", "boosting").who == "BOOSTING"
    assert evidence.rows("wine", ["etgp-linear"])[0]["num_inducing"] == 100
    assert evidence.one("wine", "network").scores == {}


def test_extended_etgps_do_not_take_part_in_the_papers_claims():
    made = table(cell("wine", *LINEAR, accuracy=0.7), cell("wine", *SEPARATE, accuracy=0.8))
    more = table(
        cell("wine", *LINEAR, accuracy=0.7),
        cell("wine", *SEPARATE, accuracy=0.8),
        *(cell("wine", name, accuracy=0.9) for name in EXTENDED),
    )
    assert experiments.duels(more).equals(experiments.duels(made))
    picked = experiments.select(more, paper=True).set_index("model")["selected_on"]
    assert picked["svgp-rbf"] == "test"
    assert set(picked[list(EXTENDED)]) == {"validation"}
    panel = experiments.panel(more, "wine", rivals="extensions")
    assert panel.labels == (
        *("LINEAR", "LATENTS", "FEATURES", "CONCRETE", "MEAN-FIELD", "GP", "SPLINE"),
    )
    assert "ETGP MEAN-FIELD" in "".join(describe_data(more))


def test_every_race_counts_by_itself():
    made = table(race("avila", separate_gpflow=30.0), race("avila", 2.0, 50, separate_gpflow=30.0))
    found = Evidence(made).races("avila", "svgp-rbf separate (gpflow)")
    name = "avila (M = {}, hidden layers none)"
    assert found == {
        name.format(100): (30.0, 0.8 * 30.0, 30.0 / 0.8),
        name.format(50): (15.0, 0.8 * 30.0 / 2.0, 30.0 / 1.6),
    }
    assert str(found[name.format(50)]) == "15.0 (12.0–18.8) times"


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        ([0.9, 0.91, 0.92], [0.8, 0.81, 0.82], "ETGP wins"),
        ([0.8, 0.81, 0.82], [0.9, 0.91, 0.92], "ETGP loses"),
        ([0.8, 0.801, 0.802], [0.801, 0.802, 0.803], "a draw"),
        ([0.7, 0.8, 0.9], [0.85, 0.81, 0.83], "undecided"),
        (0.9, 0.8, "undecided"),
    ],
)
def test_the_result_of_a_duel(ours, theirs, result):
    made = table(cell("wine", *LINEAR, accuracy=ours), cell("wine", *SEPARATE, accuracy=theirs))
    found = experiments.duels(made).set_index("score")
    assert found.result["accuracy"] == result
    assert f"{np.mean(ours):.3f}" in found.etgp["accuracy"]
    assert f"{np.mean(theirs):.3f}" in found.rival["accuracy"]
    assert len(experiments.duels(table(cell("wine", *LINEAR)))) == 0


def test_duels_beyond_the_paper():
    rivals = [("boosting", "pe"), ("network", "ba"), SEPARATE]
    made = table(*(cell("wine", *model) for model in [LINEAR, *rivals]))
    assert len(experiments.duels(made)) == 2
    names = [who.split(" 0")[0] for who in experiments.duels(made, beyond=True)["rival"][:3]]
    assert names == ["SVGP RBF separate", "NETWORK BA", "BOOSTING"]
