"""Claims of the paper against tables in which each holds, fails, or is not tested."""

import subprocess
import sys

import numpy as np
import pytest

from etgp_viz import experiments
from etgp_viz.cli import main
from etgp_viz.experiments import claims
from etgp_viz.experiments.comparisons import Evidence
from tests.unit.experiments.tables import cell, race, table

CLAIMS = {claim.name: claim for claim in claims.CLAIMS}


def pair(dataset, first, second, metric="accuracy", rows=(0.9, 0.8)):
    """Two cells of a data set, each as (model, way) or (model, way, M), with these scores."""
    made = []
    for (model, way, *M), score in zip((first, second), rows, strict=True):
        made.append(cell(dataset, model, way, M=M[0] if M else 100, **{metric: score}))
    return made


LINEAR, TANH, SAL = (("etgp-linear", "pe"), ("etgp-tanh", "pe"), ("etgp-sal", "pe"))
SEPARATE, SHARED = ("svgp-rbf", "separate"), ("svgp-rbf", "shared")
MIXED, ARCCOS, NNET = (
    ("svgp-rbfcorr", "separate"),
    ("svgp-arccos", "shared"),
    ("svgp-nnet", "shared"),
)
LL = "log_likelihood"
BA, PE = ("etgp-tanh", "ba"), ("etgp-tanh", "pe")

# Claim → groups of a table in which it holds, and of one in which it does not.
CASES = {
    "competitive": (
        [*pair("wine", LINEAR, SEPARATE, rows=(0.895, 0.9))],
        [*pair("wine", LINEAR, SEPARATE, rows=(0.88, 0.9))],
    ),
    "avila: better than SVGP": (
        [*pair("avila", LINEAR, SEPARATE), cell("avila", *TANH, accuracy=0.95)],
        [*pair("avila", LINEAR, SEPARATE), cell("avila", *TANH, accuracy=0.79)],
    ),
    "avila: near RBFCORR": (
        pair("avila", TANH, MIXED, rows=(0.985, 0.988)),
        pair("avila", TANH, MIXED, rows=(0.97, 0.988)),
    ),
    "large data sets": (
        pair("devangari", LINEAR, MIXED),
        pair("characterfont", LINEAR, MIXED, rows=(0.3, 0.34)),
    ),
    "vowel: shared is best": (
        [*pair("vowel", SHARED, SEPARATE), cell("vowel", *LINEAR, accuracy=0.85)],
        [*pair("vowel", SHARED, SEPARATE), cell("vowel", *LINEAR, accuracy=0.95)],
    ),
    "vowel: some runs match": (
        [cell("vowel", *LINEAR, accuracy=[0.4, 0.6, 0.3]), cell("vowel", *SHARED, accuracy=0.55)],
        [cell("vowel", *LINEAR, accuracy=[0.4, 0.5, 0.3]), cell("vowel", *SHARED, accuracy=0.55)],
    ),
    "absenteeism: similar": (
        pair("absenteeism", LINEAR, MIXED, rows=(0.31, 0.319)),
        pair("absenteeism", LINEAR, MIXED, rows=(0.28, 0.319)),
    ),
    "SAL is the worst flow": (
        [*pair("wine", LINEAR, SAL), cell("wine", *TANH, accuracy=0.85)],
        [*pair("wine", LINEAR, SAL), cell("wine", *TANH, accuracy=0.75)],
    ),
    "sharing costs accuracy": (
        [*pair("wine", SEPARATE, SHARED), *pair("vowel", SHARED, SEPARATE)],
        pair("wine", SHARED, SEPARATE),
    ),
    "log-likelihood follows accuracy": (
        pair("wine", LINEAR, SEPARATE, LL, (-0.5, -0.6)),
        pair("wine", LINEAR, SEPARATE, LL, (-0.7, -0.6)),
    ),
    "BA on small data": (
        pair("vowel", BA, PE, LL, (-1.0, -2.0)),
        pair("absenteeism", BA, PE, LL, (-3.0, -2.0)),
    ),
    "BA on larger data": (
        pair("avila", BA, PE, LL, (-0.095, -0.1)),
        pair("avila", BA, PE, LL, (-0.05, -0.1)),
    ),
    "NNET is often worse": (
        [*pair("wine", ARCCOS, NNET), *pair("iris", LINEAR, NNET), *pair("avila", NNET, LINEAR)],
        [*pair("wine", NNET, ARCCOS), *pair("iris", LINEAR, NNET)],
    ),
    "better than non-stationary kernels": (
        [
            cell("wine", *LINEAR, accuracy=0.9, log_likelihood=-0.5),
            cell("wine", *NNET, accuracy=0.8, log_likelihood=-0.6),
            cell("vowel", *LINEAR, accuracy=0.4, log_likelihood=-0.5),
            cell("vowel", *ARCCOS, accuracy=0.5, log_likelihood=-0.6),
        ],
        [
            cell("wine", *LINEAR, accuracy=0.9, log_likelihood=-0.7),
            cell("wine", *NNET, accuracy=0.8, log_likelihood=-0.6),
        ],
    ),
    "training: an order of magnitude": (
        [race("avila", separate_gpflow=12.0), race("vowel", separate_batched=10.0)],
        [race("avila", separate_gpflow=12.0, separate_batched=9.0)],
    ),
    "training: shared is competitive": (
        [race("avila", shared_batched=2.0)],
        [race("avila", shared_batched=2.0), race("vowel", shared_batched=4.0)],
    ),
    "prediction: an order of magnitude": (
        [
            *pair("wine", LINEAR, SEPARATE),
            cell("iris", *LINEAR, prediction_seconds_per_1000=0.1),
            cell("iris", *SEPARATE, prediction_seconds_per_1000=1.1),
        ],
        pair("wine", LINEAR, SEPARATE),
    ),
    "fewer inducing points regularise": (
        [
            *pair("vowel", (*LINEAR, 20), LINEAR),
            *pair("vowel", (*TANH, 20), TANH),
            cell("vowel", *TANH, M=50, accuracy=0.7),
        ],
        [*pair("vowel", (*LINEAR, 20), LINEAR), *pair("vowel", TANH, (*TANH, 20))],
    ),
    "fewer inducing points are enough": (
        [*pair("avila", (*TANH, 50), SEPARATE, rows=(0.895, 0.9)), cell("avila", *TANH)],
        [*pair("avila", (*TANH, 50), SEPARATE, rows=(0.85, 0.9)), cell("avila", *TANH)],
    ),
    "fewer inducing points, BA": (
        [
            *pair("wine", (*BA, 20), (*PE, 20), LL, (-1.0, -2.0)),
            *pair("wine", ("etgp-linear", "ba", 20), ("etgp-linear", "pe", 20), LL, (-1.0, -1.5)),
            cell("wine", *LINEAR),
        ],
        [
            *pair("wine", ("etgp-linear", "ba", 20), ("etgp-linear", "pe", 20), LL, (-2.0, -1.5)),
            cell("wine", *LINEAR),
        ],
    ),
}


def test_every_claim_has_its_cases():
    assert CASES.keys() == CLAIMS.keys()
    assert len(claims.CLAIMS) == len(CLAIMS)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("holds", [True, False], ids=["holds", "does not"])
def test_a_verdict(name, holds):
    finding = CLAIMS[name].examine(Evidence(table(*CASES[name][not holds])))
    assert finding.verdict == (claims.HOLDS if holds else claims.FAILS), str(finding)
    assert finding.comparisons


@pytest.mark.parametrize("name", CASES)
def test_what_no_run_speaks_of_is_not_tested(name):
    for empty in (table(), table(cell("wine", "etgp-sal", accuracy=0.9))):
        finding = CLAIMS[name].examine(Evidence(empty))
        assert (finding.verdict, finding.comparisons) == (claims.UNTESTED, ())


def test_failed_runs_say_nothing():
    made = table(*pair("wine", LINEAR, SEPARATE))
    made["status"] = "failed: no room"
    assert {finding.verdict for finding in claims.examine(made)} == {claims.UNTESTED}


def test_two_standard_errors_may_lie_between_similar_scores():
    ours, theirs = [0.80, 0.86, 0.92], [0.88, 0.90, 0.92]
    made = table(cell("wine", *LINEAR, accuracy=ours), cell("wine", *SEPARATE, accuracy=theirs))
    (comparison,) = CLAIMS["competitive"].examine(Evidence(made)).comparisons
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]  # on the same splits
    doubt, error = (np.std(scores, ddof=1) / np.sqrt(3) for scores in (differences, ours))
    assert comparison.as_claimed
    assert f"{2 * doubt:.3f} allowed" in comparison.words
    assert f"0.860 ± {error:.3f} (3 seeds)" in comparison.words
    assert "-0.040" in comparison.words


def test_models_are_compared_on_the_seeds_that_both_have():
    """The rival has the first split alone, which is the easiest."""
    made = table(cell("wine", *LINEAR, accuracy=[0.9, 0.5]), cell("wine", *SEPARATE, accuracy=0.88))
    (comparison,) = CLAIMS["competitive"].examine(Evidence(made)).comparisons
    assert comparison.as_claimed
    assert ": +0.020 over 1 common seed with 0.010 allowed" in comparison.words
    expected = ["one seed: ETGP ahead", "one seed: ETGP level"]
    assert experiments.duels(made)["result"].tolist() == expected


def test_both_ways_of_predicting_are_compared_on_the_same_runs():
    """Each way would choose another network; those of PE are compared."""
    made = table(
        cell("vowel", *PE, log_likelihood=-2.0, dropout=0.1),
        cell("vowel", *BA, log_likelihood=-3.0, dropout=0.1),
        cell("vowel", *PE, log_likelihood=-2.5, dropout=0.9),
        cell("vowel", *BA, log_likelihood=-1.0, dropout=0.9),
    )
    made["id"] += made["dropout"].map(" {}".format)
    (comparison,) = CLAIMS["BA on small data"].examine(Evidence(made)).comparisons
    assert not comparison.as_claimed
    assert "BA -3.000 (1 seed) against ETGP TANH PE -2.000" in comparison.words


def test_the_best_of_several_is_the_best_on_validation_rows():
    made = table(
        cell("wine", *LINEAR, accuracy=0.7, validation_accuracy=0.9),
        cell("wine", *TANH, accuracy=0.9, validation_accuracy=0.8),
    )
    found = Evidence(made).best("wine", ["etgp-linear", "etgp-tanh"])
    assert found.who == "ETGP LINEAR PE"
    assert found.mean == 0.7


def test_every_race_counts_by_itself():
    made = table(race("avila", separate_gpflow=30.0), race("avila", 2.0, 50, separate_gpflow=30.0))
    found = Evidence(made).speed_ups("svgp-rbf separate (gpflow)")
    name = "avila (M = {}, hidden layers none)"
    assert found == {
        name.format(100): (30.0, 0.8 * 30.0, 30.0 / 0.8),
        name.format(50): (15.0, 0.8 * 30.0 / 2.0, 30.0 / 1.6),
    }
    assert str(found[name.format(50)]) == "15.0 (12.0–18.8) times"


def test_the_page_says_how_models_were_picked_and_how_many_seeds():
    made = table(
        cell("wine", *LINEAR, accuracy=[0.9, 0.8, 0.7]),
        cell("wine", *SEPARATE, accuracy=[0.6, 0.7]),
    )
    said = claims.page(made)
    assert "those of SVGPs on validation rows" in said
    assert "Means over 2 to 3 seeds" in said
    assert "on TEST rows" in claims.page(made, paper=True)
    for claim in claims.CLAIMS:
        assert f"{claim.words} ({claim.where})" in said
    counted = {
        v: said.count(v.upper() + ":") for v in (claims.HOLDS, claims.FAILS, claims.UNTESTED)
    }
    assert sum(counted.values()) == len(claims.CLAIMS)
    assert ", ".join(f"{count} {verdict}" for verdict, count in counted.items()) in said


def test_the_command_prints_the_page(tmp_path, capsys):
    assert main(["claims"]) == 0
    assert capsys.readouterr().out.strip() == claims.page(experiments.reference()).strip()
    (tmp_path / "x.csv").write_text("hello\n")
    assert main(["claims", str(tmp_path / "x.csv")]) == 2
    assert "etgp-viz claims: output: expected a result file" in capsys.readouterr().out


def test_the_command_answers_at_once():
    code = (
        "import sys, time\n"
        "from etgp_viz.cli.main import main\n"
        "main(['claims'])\n"
        "heavy = {'distributed', 'plotly', 'scipy', 'sklearn', 'tensorflow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert time.process_time() < 2.0, time.process_time()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        ([0.9, 0.91, 0.92], [0.8, 0.81, 0.82], "ETGP wins"),
        ([0.8, 0.81, 0.82], [0.9, 0.91, 0.92], "ETGP loses"),
        ([0.7, 0.8, 0.9], [0.85, 0.81, 0.83], "a draw"),
        (0.9, 0.8, "one seed: ETGP ahead"),
    ],
)
def test_a_duel_is_drawn_within_two_standard_errors(ours, theirs, result):
    made = table(cell("wine", *LINEAR, accuracy=ours), cell("wine", *SEPARATE, accuracy=theirs))
    found = experiments.duels(made).set_index("score")
    assert found.result["accuracy"] == result
    assert found.result["log-likelihood"] in ("a draw", "one seed: ETGP level")
    assert f"{np.mean(ours):.3f}" in found.etgp["accuracy"]
    assert len(experiments.duels(table(cell("wine", *LINEAR)))) == 0
