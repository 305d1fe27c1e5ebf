"""Exercises of lesson 07, real data. All figures come from the results in the package."""

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from etgp_viz import experiments
from etgp_viz.course.answers import Function, Number, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.concepts import CONTRIBUTION
from etgp_viz.experiments.scoring import NUM_BINS, expected_calibration_error, scores

__all__ = ["LESSON"]


@lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    return experiments.reference()


# 07.1 -----------------------------------------------------------------------------------------

_CLASSES = 10
_SCORES = Numbers(("accuracy", "log-likelihood", "ECE"), tolerance=0.01)


def _best_scores() -> str:
    accuracy = experiments.panel(_table(), "digits").best()
    likelihood = experiments.panel(_table(), "digits", "log_likelihood").best()
    assert accuracy is not None
    assert likelihood is not None
    return (
        f"On digits the best models here reach an accuracy of {accuracy[2]:.3f} and a mean "
        f"log-likelihood of {likelihood[2]:.3f}."
    )


PREDICT = Exercise(
    id="07.1",
    kind="predict-then-reveal",
    prompt=(
        "digits has 10 classes, all about equally frequent. A model that has learnt nothing "
        "gives each class the probability 1/10 and names one of them at random. Before you look "
        "at any result, predict three numbers: its accuracy, its mean log-likelihood (natural "
        "logarithm) of the true labels, and its expected calibration error (ECE), the mean gap "
        "between how confident it is and how often it is right."
    ),
    stub='prediction = {"accuracy": None, "log-likelihood": None, "ECE": None}',
    name="prediction",
    answer=_SCORES,
    truth=lambda: _SCORES.named(1 / _CLASSES, np.log(1 / _CLASSES), 0.0),
    mistakes={
        "logarithm to base ten": Mistake(
            lambda: _SCORES.named(0.1, -1.0, 0.0),
            "-1 is the logarithm to base ten. Log-likelihoods are given in nats: take the natural "
            "logarithm, np.log.",
        ),
        "logarithm to base two": Mistake(
            lambda: _SCORES.named(0.1, float(np.log2(1 / _CLASSES)), 0.0),
            "This is the logarithm to base two, in bits. Take the natural one, in nats.",
        ),
        "the sign": Mistake(
            lambda: _SCORES.named(0.1, float(np.log(_CLASSES)), 0.0),
            "The size is right, but the sign is wrong: the logarithm of a probability is never "
            "above 0.",
        ),
        "wrong often is not dishonest": Mistake(
            lambda: _SCORES.named(0.1, float(np.log(1 / _CLASSES)), 0.9),
            "0.9 is how often it is wrong. But it says so: its confidence is 0.1 and it is right "
            "in 0.1 of all cases, so there is no gap.",
        ),
        "a sum over classes": Mistake(
            lambda: _SCORES.named(0.1, float(_CLASSES * np.log(1 / _CLASSES)), 0.0),
            "Only the probability of the true label counts, not that of all ten classes.",
        ),
    },
    hints=(
        "How often is a random guess among ten classes right?",
        "The label of every row has the probability 1/10, so the mean of the logarithms is the "
        "logarithm of 1/10. The ECE compares 1/10 (the confidence) with the accuracy.",
        "0.1, np.log(0.1), and 0.1 - 0.1.",
    ),
    solution='prediction = {"accuracy": 0.1, "log-likelihood": np.log(0.1), "ECE": 0.0}',
    explanation=(
        "Know these three numbers before you read any table. -log C is the log-likelihood of "
        "knowing nothing; a model below it would do better by guessing. And an ECE of 0 does not "
        "make a model useful. (On finitely many rows chance keeps it a little above 0.)"
    ),
    reveal=_best_scores,
)


# 07.2 -----------------------------------------------------------------------------------------


def _predictions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities ``[N, C]``, and labels ``[N]`` for which they are not well calibrated."""
    N, C = 300, 5
    p = rng.dirichlet(np.full(C, 0.4), size=N) * 0.98 + 0.02 / C
    calibrated = np.array([rng.choice(C, p=row) for row in p])
    # Confident predictions are too confident, others not confident enough: gaps of both signs.
    confident = p.max(axis=1) > 0.75
    blind = rng.integers(0, C, N)
    labels = np.where(confident & (rng.random(N) < 0.3), blind, calibrated)
    labels = np.where(~confident & (rng.random(N) < 0.5), p.argmax(axis=1), labels)
    return p, labels


def _as_typed(function: Callable) -> str:
    """Source of a function as a student would type it: without annotations and docstring."""
    lines = inspect.getsource(function).strip().splitlines()
    kept = [line for line in lines if '"""' not in line]
    return "\n".join(kept).replace(": np.ndarray", "").replace(" -> float", "")


def mean_log_likelihood(p: np.ndarray, y: np.ndarray) -> float:
    """Mean log probability of the labels."""
    of_label = p[np.arange(len(y)), y]
    return np.mean(np.log(of_label))


def _other_likelihood(score: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[[], Any]:
    """An answer that makes another score of the probabilities ``p`` and those of the labels."""
    return lambda: lambda p, y: score(p, p[np.arange(len(y)), y])


def _true_likelihood(p: np.ndarray, y: np.ndarray) -> float:
    return scores(p, np.log(p[np.arange(len(y)), y]), y)["log_likelihood"]


LIKELIHOOD = Exercise(
    id="07.2",
    kind="write-a-function",
    prompt=(
        "Write `mean_log_likelihood(p, y)`: from class probabilities `p` of shape [N, C] and "
        "labels `y` of shape [N], compute the mean over the rows of the natural logarithm of the "
        "probability that was given to the row's label."
    ),
    stub="def mean_log_likelihood(p, y):\n    return ...",
    name="mean_log_likelihood",
    answer=Function(
        "mean_log_likelihood", ("p", "y"), ("the mean log-likelihood",), _predictions, calls=3
    ),
    truth=lambda: _true_likelihood,
    mistakes={
        "a sum": Mistake(
            _other_likelihood(lambda p, of_label: np.sum(np.log(of_label))),
            "This is the sum over the rows. Take the mean, or data sets of different sizes cannot "
            "be compared.",
        ),
        "logarithm to base ten": Mistake(
            _other_likelihood(lambda p, of_label: np.mean(np.log10(of_label))),
            "np.log10 is the logarithm to base ten; np.log is the natural one.",
        ),
        "logarithm to base two": Mistake(
            _other_likelihood(lambda p, of_label: np.mean(np.log2(of_label))),
            "np.log2 counts in bits; the exercise asks for nats, np.log.",
        ),
        "the sign": Mistake(
            _other_likelihood(lambda p, of_label: -np.mean(np.log(of_label))),
            "This is the cross-entropy, the negative of the log-likelihood. For a log-likelihood, "
            "larger is better.",
        ),
        "the most probable class": Mistake(
            _other_likelihood(lambda p, of_label: np.mean(np.log(p.max(axis=1)))),
            "You took the probability of the most probable class. Take that of the label, even "
            "where the model was wrong: those are the rows that cost.",
        ),
        "logarithm of the mean": Mistake(
            _other_likelihood(lambda p, of_label: np.log(np.mean(of_label))),
            "First the logarithm, then the mean: the logarithm of a mean hides the rows where the "
            "model was confident and wrong.",
        ),
        "all classes": Mistake(
            _other_likelihood(lambda p, of_label: np.mean(np.log(p))),
            "You took the mean over all classes. Pick the entry of the label in each row.",
        ),
    },
    hints=(
        "Each row has C probabilities. Only the one of its label is scored.",
        "p[np.arange(len(y)), y] picks the entry y[n] from row n.",
        "np.mean(np.log(p[np.arange(len(y)), y]))",
    ),
    solution=_as_typed(mean_log_likelihood),
    explanation=(
        "A single row with a tiny probability can cost as much as hundreds of good ones: the "
        "log-likelihood punishes being confident and wrong, which accuracy does not see."
    ),
    properties={
        "A model that gives all C classes the same probability has -log C.": (
            lambda function: np.isclose(function(np.full((4, 3), 1 / 3), np.array([0, 1, 2, 0])),
                                        -np.log(3.0))
        ),
    },
)  # fmt: skip


# 07.3 -----------------------------------------------------------------------------------------


def calibration_error(p: np.ndarray, y: np.ndarray) -> float:
    """Expected calibration error in 15 bins."""
    confidence = p.max(axis=1)
    right = p.argmax(axis=1) == y
    bins = np.ceil(15 * confidence)
    error = 0.0
    for b in np.unique(bins):
        rows = bins == b
        error += rows.mean() * abs(right[rows].mean() - confidence[rows].mean())
    return error


def _binned(combine: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[], Any]:
    """An answer that combines signed gaps and counts of the bins in another way."""

    def answer(p: np.ndarray, y: np.ndarray) -> float:
        confidence, right = p.max(axis=1), p.argmax(axis=1) == y
        bins = np.ceil(NUM_BINS * confidence)
        members = [bins == b for b in np.unique(bins)]
        gaps = np.array([right[rows].mean() - confidence[rows].mean() for rows in members])
        return combine(gaps, np.array([rows.sum() for rows in members]))

    return lambda: answer


CALIBRATION = Exercise(
    id="07.3",
    kind="write-a-function",
    prompt=(
        "Write `calibration_error(p, y)`, the expected calibration error. The confidence of a row "
        "is its largest probability; the row is right if its most probable class is the label. "
        "Sort the rows into 15 bins of equal width by confidence (`np.ceil(15 * confidence)` "
        "numbers the bins), take the distance between the share of right rows and the mean "
        "confidence in each bin, and average these distances, with each bin weighted by its share "
        "of the rows."
    ),
    stub="def calibration_error(p, y):\n    return ...",
    name="calibration_error",
    answer=Function("calibration_error", ("p", "y"), ("the ECE",), _predictions, calls=3),
    truth=lambda: expected_calibration_error,
    mistakes={
        "accuracy": Mistake(
            lambda: lambda p, y: np.mean(p.argmax(axis=1) == y),
            "This is the accuracy. Calibration compares the accuracy with the confidence, bin by "
            "bin.",
        ),
        "bins without weights": Mistake(
            _binned(lambda gaps, counts: np.mean(np.abs(gaps))),
            "You gave each bin the same weight. A bin with three rows must not count as much as "
            "one with three hundred: weight it by its share of the rows.",
        ),
        "signs cancel": Mistake(
            _binned(lambda gaps, counts: abs(np.sum(counts * gaps)) / np.sum(counts)),
            "Overconfident and underconfident bins have cancelled. Take the absolute value in "
            "each bin before you average.",
        ),
        "no division by N": Mistake(
            _binned(lambda gaps, counts: np.sum(counts * np.abs(gaps))),
            "You weighted by the number of rows. Divide by N, so that the weights are shares.",
        ),
        "the largest gap": Mistake(
            _binned(lambda gaps, counts: np.max(np.abs(gaps))),
            "This is the largest gap of all bins, the maximum calibration error. The exercise "
            "asks for the weighted mean.",
        ),
        "squared gaps": Mistake(
            _binned(lambda gaps, counts: np.sum(counts * gaps**2) / np.sum(counts)),
            "You squared the gaps. Take their absolute values.",
        ),
    },
    hints=(
        "confidence = p.max(axis=1), right = p.argmax(axis=1) == y. Go through np.unique(bins); "
        "rows = bins == b says which rows are in bin b.",
        "In each bin, compute abs(right[rows].mean() - confidence[rows].mean()) times "
        "rows.mean(), the bin's share of all rows.",
        "Add these products up over the bins, and you are done.",
    ),
    solution=_as_typed(calibration_error),
    explanation=(
        "An ECE of 0.05 means that on average over the predictions, confidence and accuracy "
        "differ by five percentage points. It depends on the bins and on N, so compare it with "
        "what a calibrated model would score on the same rows; the next cell does."
    ),
    properties={
        "Confident predictions that are always right have no calibration error.": (
            lambda function: abs(float(function(np.eye(3), np.arange(3)))) < 1e-12
        )
    },
)


# 07.4 -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _example_run() -> pd.Series:
    """ETGP LINEAR on digits, one seed."""
    looks = experiments.closest_look(_table())
    return looks[(looks["dataset"] == "digits") & (looks["model"] == "etgp-linear")].iloc[0]


def _standard_error(N: str) -> float:
    p = _example_run()["test_accuracy"]
    return float(np.sqrt(p * (1.0 - p) / _example_run()[N]))


UNCERTAINTY = Exercise(
    id="07.4",
    kind="numeric",
    prompt=(
        "An accuracy p on N test rows is a mean of N zeros and ones. How much would it change "
        "with other test rows? Compute the standard error of the test accuracy of this one run: "
        "the standard deviation of a zero or one with mean p, divided by the square root of N."
    ),
    stub=(
        'row = looks[(looks["dataset"] == "digits") & (looks["model"] == "etgp-linear")].iloc[0]\n'
        'p, N = row["test_accuracy"], row["num_test"]\n'
        "standard_error = ..."
    ),
    name="standard_error",
    answer=Number(tolerance=0.02),
    truth=lambda: _standard_error("num_test"),
    mistakes={
        "standard deviation": Mistake(
            lambda: _standard_error("num_test") * np.sqrt(_example_run()["num_test"]),
            "This is the standard deviation of a single row. The mean of N rows varies less: "
            "divide by the square root of N.",
        ),
        "variance": Mistake(
            lambda: _standard_error("num_test") ** 2,
            "This is the variance of the mean; its square root is the standard error.",
        ),
        "divided by N": Mistake(
            lambda: _standard_error("num_test") / np.sqrt(_example_run()["num_test"]),
            "You divided the standard deviation by N. It falls only with the square root of N.",
        ),
        "training rows": Mistake(
            lambda: _standard_error("num_train"),
            "N is the number of test rows, since the accuracy was computed on them.",
        ),
        "1 - p forgotten": Mistake(
            lambda: float(np.sqrt(_example_run()["test_accuracy"] / _example_run()["num_test"])),
            "The variance of a zero or one with mean p is p(1 - p), not p.",
        ),
    },
    hints=(
        "The variance of a number that is 1 with probability p and 0 otherwise is p(1 - p).",
        "The variance of a mean of N independent numbers is that of one, divided by N.",
        "np.sqrt(p * (1 - p) / N)",
    ),
    solution=(
        'row = looks[(looks["dataset"] == "digits") & (looks["model"] == "etgp-linear")].iloc[0]\n'
        'p, N = row["test_accuracy"], row["num_test"]\n'
        "standard_error = np.sqrt(p * (1 - p) / N)"
    ),
    explanation=(
        "Two models whose accuracies differ by less than about two standard errors may well swap "
        "places on other test rows. The ± in the tables is a different one: it is over seeds, "
        "that is over splits, initial weights and mini-batches."
    ),
    reveal=lambda: (
        f"Here it is {100 * _standard_error('num_test'):.2f} percentage points, from "
        f"{int(_example_run()['num_test'])} test rows."
    ),
)


# 07.5 -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _prediction_times() -> dict[tuple[str, str], float]:
    """(Model, way) → seconds to predict 1000 rows of digits, with the largest M."""
    panel = experiments.panel(_table(), "digits", "prediction")
    return {
        (panel.labels[row], series.way): float(value)
        for series in panel.series
        for row, value in zip(series.rows, series.mean, strict=True)
    }


def _ratio(way: str = "pe") -> float:
    return _prediction_times()["RBF", "separate"] / _prediction_times()["LINEAR", way]


READ = Exercise(
    id="07.5",
    kind="read-the-plot",
    prompt=(
        "Use the picture above: how many times as long as **ETGP LINEAR by point estimate** does "
        "**SVGP RBF with separate kernels** take to predict 1000 rows of digits? Within 25 % is "
        "close enough."
    ),
    stub="times_as_long = ...",
    name="times_as_long",
    answer=Number(tolerance=0.25),
    truth=_ratio,
    mistakes={
        "upside down": Mistake(
            lambda: 1.0 / _ratio(),
            "You inverted the ratio: this is ETGP's time over SVGP's. Divide the time of SVGP by "
            "that of ETGP.",
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
            lambda: (
                1e3 * (_prediction_times()["RBF", "separate"] - _prediction_times()["LINEAR", "pe"])
            ),
            "This is a difference in milliseconds. The exercise asks for a ratio.",
        ),
    },
    hints=(
        "Find the square in the row RBF and the filled circle in the row LINEAR.",
        "Read both times off the axis, which is logarithmic: halfway between 0.1 and 1 is about "
        "0.3. Hovering over a marker shows its value.",
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
        "On a logarithmic axis a distance is a ratio. One Gaussian process and quadrature in one "
        "dimension make predictions of ETGP cheap; the Bayesian average gives some of that "
        "advantage back."
    ),
    reveal=lambda: f"According to the table, it takes {_ratio():.1f} times as long.",
)


LESSON = Lesson(
    number="07",
    title="Real data",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz import experiments\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up\n\n"
        "table = experiments.reference()\n"
        "summary = experiments.summarise(experiments.select(table))\n"
        "looks = experiments.closest_look(table)"
    ),
    exercises=(PREDICT, LIKELIHOOD, CALIBRATION, UNCERTAINTY, READ, CONTRIBUTION),
    teaching={
        "": (
            "**Timing** (70 minutes): Touch 3, warm-up 2, Predict with 07.1 6, Play 10, Derive "
            "with 07.2 to 07.4 20, Code 6, where ETGP loses 5, the paper's figures with 07.5 5, "
            "what the Gaussian process contributes with 07.6 8, Reflect 5. Short of time? Give "
            "07.3 as homework.\n\n"
            "**Before the lesson.** Run the notebook once: it prints which claims hold in the "
            "results of the package, and these may differ from the paper's. Do not promise a "
            "winner."
        ),
        "Predict": (
            "**Ask.** Who would deploy a model with 97 % accuracy that is certain of all its "
            "wrong answers? Where does it matter? (Medicine, money, anything with a threshold.)"
        ),
        "Play": (
            "**Show with *present*.** Preset *PE or BA*, and switch the prediction while the "
            "class watches the reliability diagram. Then show the hardest digits, and let the "
            "class vote on each before you read out the label."
        ),
        "Derive": (
            "**What goes wrong.** The logarithm of the mean for the mean of the logarithms; the "
            "most probable class for the label; gaps of opposite sign that cancel; standard "
            "deviation for standard error. The check recognises each of them, so let students "
            "make them."
        ),
        "Code: a model of your own": (
            "**What goes wrong.** People compare their single run with a mean over seeds to the "
            "third digit. Ask for the standard error of 07.4 first."
        ),
        "The paper's figures": (
            "**Discussion.** Is it fair to pick the baselines on test rows, as the paper did, in "
            "order to be strict with its own model? What would a reviewer say about the opposite?"
        ),
        "Reflect": (
            "**Discussion.** Choose one claim that does not hold here. Is it the claim, the data, "
            "the budget of a laptop, or the number of seeds? How would you find out, and what "
            "would it cost? (`etgp-viz experiment --preset paper` says what the full grid takes.)"
        ),
    },
)
