"""Two exercises of lesson 07 in which a score is written: log-likelihood and calibration error."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from etgp_viz.course.answers import Function
from etgp_viz.course.exercise import Exercise, Mistake
from etgp_viz.experiments.scoring import NUM_BINS, expected_calibration_error
from etgp_viz.experiments.scoring import scores as scores_of

__all__ = ["CALIBRATION", "LIKELIHOOD", "calibration_error", "mean_log_likelihood"]


# 07.2 -----------------------------------------------------------------------------------------


def _predictions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities ``[N, C]`` and labels ``[N]`` that agree with them now and then."""
    N, C = 300, 5
    p = rng.dirichlet(np.full(C, 0.4), size=N) * 0.98 + 0.02 / C
    honest = np.array([rng.choice(C, p=row) for row in p])
    # Sure predictions are wrong more often than they say, unsure ones less: gaps of both signs.
    sure = p.max(axis=1) > 0.75
    blind = rng.integers(0, C, N)
    labels = np.where(sure & (rng.random(N) < 0.3), blind, honest)
    labels = np.where(~sure & (rng.random(N) < 0.5), p.argmax(axis=1), labels)
    return p, labels


def _as_typed(function: Callable) -> str:
    """The source of a function as a student types it: without annotations and docstring."""
    lines = inspect.getsource(function).strip().splitlines()
    kept = [line for line in lines if '"""' not in line]
    return "\n".join(kept).replace(": np.ndarray", "").replace(" -> float", "")


def mean_log_likelihood(p: np.ndarray, y: np.ndarray) -> float:
    """Mean log probability of the labels."""
    of_label = p[np.arange(len(y)), y]
    return np.mean(np.log(of_label))


def _likelihood_but(score: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[[], Any]:
    """An answer that does something else with the probabilities ``p`` and those of the labels."""
    return lambda: lambda p, y: score(p, p[np.arange(len(y)), y])


def _true_likelihood(p: np.ndarray, y: np.ndarray) -> float:
    return scores_of(p, np.log(p[np.arange(len(y)), y]), y)["log_likelihood"]


LIKELIHOOD = Exercise(
    id="07.2",
    kind="write-a-function",
    prompt=(
        "Write `mean_log_likelihood(p, y)`: from class probabilities `p` of shape [N, C] and "
        "labels `y` of shape [N], the mean over the rows of the natural logarithm of the "
        "probability that the row's own label got."
    ),
    stub="def mean_log_likelihood(p, y):\n    return ...",
    name="mean_log_likelihood",
    answer=Function(
        "mean_log_likelihood", ("p", "y"), ("the mean log-likelihood",), _predictions, calls=3
    ),
    truth=lambda: _true_likelihood,
    mistakes={
        "a sum": Mistake(
            _likelihood_but(lambda p, of_label: np.sum(np.log(of_label))),
            "This is the sum over the rows. Take the mean, or data sets of different sizes cannot "
            "be compared.",
        ),
        "logarithm to base ten": Mistake(
            _likelihood_but(lambda p, of_label: np.mean(np.log10(of_label))),
            "np.log10 is the logarithm to base ten; np.log is the natural one.",
        ),
        "logarithm to base two": Mistake(
            _likelihood_but(lambda p, of_label: np.mean(np.log2(of_label))),
            "np.log2 counts in bits; np.log, in nats, is asked for.",
        ),
        "the sign": Mistake(
            _likelihood_but(lambda p, of_label: -np.mean(np.log(of_label))),
            "This is the cross-entropy, minus the log-likelihood: here larger is better.",
        ),
        "the most probable class": Mistake(
            _likelihood_but(lambda p, of_label: np.mean(np.log(p.max(axis=1)))),
            "You took the probability of the most probable class. Take that of the label, also "
            "where the model was wrong: this is where it costs.",
        ),
        "logarithm of the mean": Mistake(
            _likelihood_but(lambda p, of_label: np.log(np.mean(of_label))),
            "First the logarithm, then the mean: the logarithm of a mean hides the rows that the "
            "model was sure and wrong about.",
        ),
        "all classes": Mistake(
            _likelihood_but(lambda p, of_label: np.mean(np.log(p))),
            "You took the mean over all classes. Pick the entry of the label in each row.",
        ),
    },
    hints=(
        "Each row has C probabilities. Only one of them, that of its label, is scored.",
        "p[np.arange(len(y)), y] picks from row n the entry y[n].",
        "np.mean(np.log(p[np.arange(len(y)), y]))",
    ),
    solution=_as_typed(mean_log_likelihood),
    explanation=(
        "A single row with a tiny probability can cost as much as hundreds of good ones: the "
        "log-likelihood punishes being sure and wrong, which accuracy does not see."
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
        rows = [bins == b for b in np.unique(bins)]
        gaps = np.array([right[each].mean() - confidence[each].mean() for each in rows])
        return combine(gaps, np.array([each.sum() for each in rows]))

    return lambda: answer


CALIBRATION = Exercise(
    id="07.3",
    kind="write-a-function",
    prompt=(
        "Write `calibration_error(p, y)`, the expected calibration error. The confidence of a row "
        "is its largest probability; the row is right if its most probable class is the label. "
        "Sort the rows into 15 bins of equal width by confidence (`np.ceil(15 * confidence)` "
        "numbers the bins), take in each bin the distance between the share of rows that is right "
        "and the mean confidence, and average these distances, each bin weighted by its share of "
        "the rows."
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
            "Bins that are too sure and bins that are not sure enough have cancelled. Take the "
            "absolute value in each bin, before you average.",
        ),
        "no division by N": Mistake(
            _binned(lambda gaps, counts: np.sum(counts * np.abs(gaps))),
            "You weighted by the number of rows. Divide by N, so that the weights are shares.",
        ),
        "the largest gap": Mistake(
            _binned(lambda gaps, counts: np.max(np.abs(gaps))),
            "This is the largest gap of all bins, the maximum calibration error. Asked is their "
            "weighted mean.",
        ),
        "squared gaps": Mistake(
            _binned(lambda gaps, counts: np.sum(counts * gaps**2) / np.sum(counts)),
            "You squared the gaps. Take their absolute values.",
        ),
    },
    hints=(
        "confidence = p.max(axis=1), right = p.argmax(axis=1) == y. Go through np.unique(bins); "
        "rows = bins == b says which rows are in bin b.",
        "In each bin: abs(right[rows].mean() - confidence[rows].mean()), times rows.mean(), its "
        "share of all rows.",
        "Add these products up over the bins; that is all.",
    ),
    solution=_as_typed(calibration_error),
    explanation=(
        "An ECE of 0.05 means: on average over the predictions, how sure the model is and how "
        "often it is right differ by five percentage points. It depends on the number of bins; "
        "compare only what was binned alike."
    ),
    properties={
        "Predictions that are sure and always right have none.": (
            lambda function: abs(float(function(np.eye(3), np.arange(3)))) < 1e-12
        ),
    },
)
