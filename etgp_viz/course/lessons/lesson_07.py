"""Exercises of lesson 07, real data. Every figure comes from the results in the package."""

from functools import lru_cache

import numpy as np
import pandas as pd

from etgp_viz import experiments
from etgp_viz.course.answers import Number, Numbers
from etgp_viz.course.exercise import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.lesson_07_scores import CALIBRATION, LIKELIHOOD

__all__ = ["LESSON"]


@lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    return experiments.reference()


# 07.1 -----------------------------------------------------------------------------------------

_CLASSES = 10
_GUESSED = ("accuracy", "log-likelihood", "ECE")


def _guess(*values: float) -> dict[str, float]:
    return dict(zip(_GUESSED, values, strict=True))


def _reached() -> str:
    found = experiments.panel(_table(), "digits").best()
    assert found is not None
    likelihood = experiments.panel(_table(), "digits", "log_likelihood").best()
    assert likelihood is not None
    return (
        f"On digits the best models here reach an accuracy of {found[2]:.3f} and a mean "
        f"log-likelihood of {likelihood[2]:.3f}."
    )


PREDICT = Exercise(
    id="07.1",
    kind="predict-then-reveal",
    prompt=(
        "digits has 10 classes, all about equally frequent. A model that has learned nothing gives "
        "each class the probability 1/10, and names one of them at random. Before you look at any "
        "result: which accuracy does it have, which mean log-likelihood (natural logarithm) of the "
        "true labels, and which expected calibration error (ECE), the mean gap between how sure it "
        "is and how often it is right?"
    ),
    stub='prediction = {"accuracy": None, "log-likelihood": None, "ECE": None}',
    name="prediction",
    answer=Numbers(_GUESSED, tolerance=0.01),
    truth=lambda: _guess(1 / _CLASSES, np.log(1 / _CLASSES), 0.0),
    mistakes={
        "logarithm to base ten": Mistake(
            lambda: _guess(0.1, -1.0, 0.0),
            "-1 is the logarithm to base ten. Likelihoods are told in nats: take the natural "
            "logarithm, np.log.",
        ),
        "logarithm to base two": Mistake(
            lambda: _guess(0.1, float(np.log2(1 / _CLASSES)), 0.0),
            "This is the logarithm to base two, in bits. Take the natural one, in nats.",
        ),
        "the sign": Mistake(
            lambda: _guess(0.1, float(np.log(_CLASSES)), 0.0),
            "The size is right, the sign is not: the logarithm of a probability is never above 0.",
        ),
        "wrong often is not dishonest": Mistake(
            lambda: _guess(0.1, float(np.log(1 / _CLASSES)), 0.9),
            "0.9 is how often it is wrong. It also says so: it is sure to 0.1, and right in 0.1 of "
            "all cases, so there is no gap.",
        ),
        "a sum over classes": Mistake(
            lambda: _guess(0.1, float(_CLASSES * np.log(1 / _CLASSES)), 0.0),
            "Only the probability of the true label counts, not that of all ten classes.",
        ),
    },
    hints=(
        "How often does a blind guess among ten hit?",
        "The label of every row has the probability 1/10, so the mean of the logarithms is the "
        "logarithm of 1/10. The ECE compares 1/10 (how sure) with the accuracy.",
        "0.1, np.log(0.1), and 0.1 - 0.1.",
    ),
    solution='prediction = {"accuracy": 0.1, "log-likelihood": np.log(0.1), "ECE": 0.0}',
    explanation=(
        "Know these three before you read any table: -log C is the log-likelihood of knowing "
        "nothing, a model below it would do better to guess; and an ECE of 0 does not make a model "
        "useful."
    ),
    reveal=_reached,
)


# 07.4 -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _row() -> pd.Series:
    """ETGP LINEAR on digits, one seed."""
    looks = experiments.closest_look(_table())
    return looks[(looks["dataset"] == "digits") & (looks["model"] == "etgp-linear")].iloc[0]


def _error_of(N: str) -> float:
    p = _row()["test_accuracy"]
    return float(np.sqrt(p * (1.0 - p) / _row()[N]))


UNCERTAINTY = Exercise(
    id="07.4",
    kind="numeric",
    prompt=(
        "An accuracy p from N test rows is a mean of N zeros and ones. How far would it move if "
        "other test rows had been drawn? Compute the standard error of the test accuracy of this "
        "one run: the standard deviation of a zero or one with mean p, divided by the square root "
        "of N."
    ),
    stub=(
        'row = looks[(looks["dataset"] == "digits") & (looks["model"] == "etgp-linear")].iloc[0]\n'
        'p, N = row["test_accuracy"], row["num_test"]\n'
        "standard_error = ..."
    ),
    name="standard_error",
    answer=Number(tolerance=0.02),
    truth=lambda: _error_of("num_test"),
    mistakes={
        "standard deviation": Mistake(
            lambda: _error_of("num_test") * np.sqrt(_row()["num_test"]),
            "This is the standard deviation of a single row. The mean of N rows is steadier: "
            "divide by the square root of N.",
        ),
        "variance": Mistake(
            lambda: _error_of("num_test") ** 2,
            "This is the variance of the mean; its square root is the standard error.",
        ),
        "divided by N": Mistake(
            lambda: _error_of("num_test") / np.sqrt(_row()["num_test"]),
            "You divided the standard deviation by N. It falls with the square root of N only.",
        ),
        "training rows": Mistake(
            lambda: _error_of("num_train"),
            "N is the number of test rows, since they are what the accuracy was counted on.",
        ),
        "1 - p forgotten": Mistake(
            lambda: float(np.sqrt(_row()["test_accuracy"] / _row()["num_test"])),
            "The variance of a zero or one with mean p is p(1 - p), not p.",
        ),
    },
    hints=(
        "The variance of a number that is 1 with probability p, and else 0, is p(1 - p).",
        "The variance of a mean of N independent numbers is that of one, divided by N.",
        "np.sqrt(p * (1 - p) / N)",
    ),
    solution=(
        'row = looks[(looks["dataset"] == "digits") & (looks["model"] == "etgp-linear")].iloc[0]\n'
        'p, N = row["test_accuracy"], row["num_test"]\n'
        "standard_error = np.sqrt(p * (1 - p) / N)"
    ),
    explanation=(
        "Two models whose accuracies differ by less than about two of these may well change places "
        "on other test rows. The ± in the tables is another one: it is over seeds, that is over "
        "splits, initial weights and mini-batches."
    ),
    reveal=lambda: (
        f"Here it is {100 * _error_of('num_test'):.2f} percentage points, from "
        f"{int(_row()['num_test'])} test rows."
    ),
)


# 07.5 -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _times() -> dict[tuple[str, str], float]:
    """Seconds of a prediction of 1000 rows of digits by model and way, with the largest M."""
    panel = experiments.panel(_table(), "digits", "prediction")
    return {
        (panel.labels[row], series.way): float(value)
        for series in panel.series
        for row, value in zip(series.rows, series.mean, strict=True)
    }


def _ratio(way: str = "pe") -> float:
    return _times()["RBF", "separate"] / _times()["LINEAR", way]


READ = Exercise(
    id="07.5",
    kind="read-the-plot",
    prompt=(
        "Read it off the picture above: how many times as long does **SVGP RBF with separate "
        "kernels** take to predict 1000 rows of digits as **ETGP LINEAR by point estimate**? A "
        "quarter more or less is near enough."
    ),
    stub="times_as_long = ...",
    name="times_as_long",
    answer=Number(tolerance=0.25),
    truth=_ratio,
    mistakes={
        "upside down": Mistake(
            lambda: 1.0 / _ratio(),
            "Upside down: this is ETGP's time over SVGP's. Divide the time of SVGP by that of "
            "ETGP.",
        ),
        "decades": Mistake(
            lambda: float(np.log10(_ratio())),
            "This is the distance in powers of ten. The axis is logarithmic: take 10 to this "
            "power.",
        ),
        "the Bayesian average": Mistake(
            lambda: _ratio("ba"),
            "This is the ratio to the Bayesian average (the open diamond), which evaluates the "
            "flows for every dropout draw. Take the point estimate, the filled circle.",
        ),
        "a difference": Mistake(
            lambda: 1e3 * (_times()["RBF", "separate"] - _times()["LINEAR", "pe"]),
            "This is a difference in milliseconds. Asked is a ratio.",
        ),
    },
    hints=(
        "Find the square in the row RBF and the filled circle in the row LINEAR.",
        "Read both times off the axis, which is logarithmic: halfway between 0.1 and 1 is about "
        "0.3. Pointing at a mark shows its value.",
        "Divide the time of RBF (separate) by the time of LINEAR (point estimate).",
    ),
    solution=(
        'cell = ["model", "sharing", "inference", "num_inducing"]\n'
        'digits = summary[summary["dataset"] == "digits"].set_index(cell)\n'
        'M = digits.index.get_level_values("num_inducing").max()\n'
        'seconds = digits["prediction_seconds_per_1000"]\n'
        'rbf = seconds["svgp-rbf", "separate", "pe", M]\n'
        'times_as_long = rbf / seconds["etgp-linear", "", "pe", M]'
    ),
    explanation=(
        "On a logarithmic axis a distance is a ratio. One Gaussian process with a quadrature in "
        "one dimension is what makes predictions of ETGP cheap; the Bayesian average gives some of "
        "that back."
    ),
    reveal=lambda: f"The table says {_ratio():.1f} times.",
)


LESSON = Lesson(
    number="07",
    title="Real data",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz import experiments\n"
        "from etgp_viz.course import check, hint, progress, solution\n\n"
        "table = experiments.reference()\n"
        "summary = experiments.summarise(experiments.select(table))\n"
        "looks = experiments.closest_look(table)"
    ),
    exercises=(PREDICT, LIKELIHOOD, CALIBRATION, UNCERTAINTY, READ),
    teaching={
        "": (
            "**Timing** (50 minutes): Predict with 07.1 6, Play 10, Derive with 07.2 to 07.4 18, "
            "Code 6, the paper's figures with 07.5 5, Reflect 5. Short of time? Leave 07.3 for "
            "home.\n\n"
            "**Before the lesson.** Run the notebook once: which claims hold is printed from the "
            "results in the package, and may differ from the paper's. Do not promise a winner."
        ),
        "Predict": (
            "**Ask.** Who would deploy a model with 97 % accuracy whose wrong answers are all "
            "given with certainty? Where does it matter? (Medicine, money, anything with a "
            "threshold.)"
        ),
        "Play": (
            "**Show with *present*.** Preset *PE or BA*, and switch the prediction while the room "
            "watches the reliability diagram. Then the hardest digits: let the room vote on each "
            "before you read the label out."
        ),
        "Derive": (
            "**What goes wrong.** The logarithm of the mean for the mean of the logarithms; the "
            "most probable class for the label; gaps of opposite sign that cancel; standard "
            "deviation for standard error. Each is recognised by the check, so let people meet it."
        ),
        "Code: a model of your own": (
            "**What goes wrong.** People compare their single run with a mean over seeds to the "
            "third digit. Ask for the standard error of 07.4 first."
        ),
        "The paper's figures": (
            "**Discussion.** Is it fair to pick the baselines on test rows, as the paper did, in "
            "order to be hard on one's own model? What would a reviewer say to the opposite?"
        ),
        "Reflect": (
            "**Discussion.** Choose one claim that does not hold here. Is it the claim, the data, "
            "the budget of a laptop, or the number of seeds? How would you find out, and what "
            "would it cost? (`etgp-viz experiment --preset paper` says what the full grid takes.)"
        ),
    },
)
