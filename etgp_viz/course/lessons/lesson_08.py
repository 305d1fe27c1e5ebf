"""Exercises of lesson 08, build your own. What is heavy is loaded when it is needed."""

from typing import Any

import numpy as np
from scipy.special import ndtr

from etgp_viz.course.answers import Function, Number, Numbers
from etgp_viz.course.exercise import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.lesson_08_flow import FLOW

__all__ = ["LESSON", "joint_probability"]


# 08.1 -----------------------------------------------------------------------------------------

_GUESSED = ("LINEAR", "TANH, length 1", "TANH, length 3")
CLASSES = 153


def _guess(*widths: float) -> dict[str, float]:
    return dict(zip(_GUESSED, widths, strict=True))


def _widths() -> dict[str, float]:
    from etgp_viz.core import flows

    built = (flows.Linear(), flows.Tanh(elements=4, length=1), flows.Tanh(elements=4, length=3))
    return _guess(*(CLASSES * flow.num_params for flow in built))


PREDICT = Exercise(
    id="08.1",
    kind="predict-then-reveal",
    prompt=(
        "One network puts out the parameters of all flows. The paper's largest data set has "
        f"C = {CLASSES} classes. How wide is the network's last layer with LINEAR flows, a·f + b; "
        "with TANH flows of one step, f + Σ aᵢ·tanh(bᵢ·(f + cᵢ)) with 4 elements; and with TANH "
        "flows of three such steps, one after the other?"
    ),
    stub='prediction = {"LINEAR": None, "TANH, length 1": None, "TANH, length 3": None}',
    name="prediction",
    answer=Numbers(_GUESSED, tolerance=1e-6),
    truth=_widths,
    mistakes={
        "C forgotten": Mistake(
            lambda: _guess(2, 12, 36),
            "These are the parameters of one flow. The network puts out those of all C flows.",
        ),
        "one number for each element": Mistake(
            lambda: _guess(306, 612, 1836),
            "An element has three parameters: its height a, its slope b and its place c.",
        ),
        "length forgotten": Mistake(
            lambda: _guess(306, 1836, 1836),
            "Three steps one after the other have three times the parameters of one: each has "
            "its own a, b and c.",
        ),
        "one parameter for LINEAR": Mistake(
            lambda: _guess(153, 1836, 5508),
            "LINEAR has a scale and a shift: two parameters.",
        ),
    },
    hints=(
        "Parameters of one flow, times the number of flows.",
        "An element of TANH has three parameters; a step has 4 elements.",
        f"{CLASSES} times 2, times 3·4, and times 3·4·3.",
    ),
    solution=(
        "prediction = {\n"
        f'    "LINEAR": {CLASSES} * 2,\n'
        f'    "TANH, length 1": {CLASSES} * 3 * 4,\n'
        f'    "TANH, length 3": {CLASSES} * 3 * 4 * 3,\n'
        "}"
    ),
    explanation="Width = C·P, with P parameters in one flow; `flow.num_params` counts them.",
    reveal=lambda: ", ".join(f"{name}: {width}" for name, width in _widths().items()) + ".",
)


# 08.3 -----------------------------------------------------------------------------------------


def joint_probability(
    mean: float,
    variance: float,
    a: np.ndarray,
    b: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> float:
    """P(all labels are 1) of a multi-label ETGP with linear flows, by quadrature over f₀."""
    given_f0 = ndtr(a * (mean + np.sqrt(variance) * nodes)[:, None] + b)  # [Q, C]
    return float(weights @ np.prod(given_f0, axis=1))


def _product_of_marginals(
    mean: float,
    variance: float,
    a: np.ndarray,
    b: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> float:
    given_f0 = ndtr(a * (mean + np.sqrt(variance) * nodes)[:, None] + b)
    return float(np.prod(weights @ given_f0))


def _some_labels(rng: np.random.Generator) -> list[Any]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    a = np.abs(rng.normal(size=3)) + 0.5
    mean, variance = round(float(rng.normal()), 2), round(float(rng.uniform(1.5, 3.0)), 2)
    return [mean, variance, a, 0.5 * rng.normal(size=3), nodes, weights / weights.sum()]


LABELS = Exercise(
    id="08.3",
    kind="write-a-function",
    prompt=(
        "A multi-label ETGP has C labels that may all be 1 at once: given f₀, label c is 1 with "
        "probability Φ(fᶜ), independently of the others, where Φ is the normal distribution "
        "function (`ndtr` from the first cell) and fᶜ = a[c]·f₀ + b[c]. Write "
        "`joint_probability(mean, variance, a, b, nodes, weights)`: the probability that **all** "
        "labels are 1, for f₀ ~ N(mean, variance). `nodes` and `weights` are a quadrature rule for "
        "a standard normal."
    ),
    stub="def joint_probability(mean, variance, a, b, nodes, weights):\n    return ...",
    name="joint_probability",
    answer=Function(
        "joint_probability",
        ("mean", "variance", "a", "b", "nodes", "weights"),
        ("the probability",),
        _some_labels,
    ),
    truth=lambda: joint_probability,
    mistakes={
        "a new latent for each label": Mistake(
            lambda: _product_of_marginals,
            "This is the product of the labels' own probabilities: as if each had drawn a latent "
            "of its own. They are independent *given* f₀; multiply first, then average over f₀.",
        ),
        "variance for standard deviation": Mistake(
            lambda: lambda mean, variance, *rest: joint_probability(mean, variance**2, *rest),
            "You stretched the nodes by the variance. f₀ = mean + (standard deviation)·z: take the "
            "square root.",
        ),
        "at the mean": Mistake(
            lambda: lambda mean, variance, a, b, *_: float(np.prod(ndtr(a * mean + b))),
            "This looks at the mean of f₀ alone. Average over the nodes.",
        ),
        "at least one": Mistake(
            lambda: (
                lambda mean, variance, a, b, nodes, weights: float(
                    weights
                    @ (
                        1
                        - np.prod(1 - ndtr(a * (mean + variance**0.5 * nodes)[:, None] + b), axis=1)
                    )
                )
            ),
            "This is the probability that at least one label is 1. Asked is that all are.",
        ),
        "the mean label": Mistake(
            lambda: (
                lambda mean, variance, a, b, nodes, weights: float(
                    weights @ np.mean(ndtr(a * (mean + variance**0.5 * nodes)[:, None] + b), axis=1)
                )
            ),
            "You averaged over labels. All of them at once is a product over labels.",
        ),
    },
    hints=(
        "For one value of f₀ the labels are independent: what is the probability of all of them?",
        "At the nodes: ndtr(a * f0[:, None] + b) has shape [Q, C]. Multiply over labels, and only "
        "then average over nodes.",
        "weights @ np.prod(ndtr(a * f0[:, None] + b), axis=1), with f0 = mean + np.sqrt(variance) "
        "* nodes.",
    ),
    solution=(
        "def joint_probability(mean, variance, a, b, nodes, weights):\n"
        "    f0 = mean + np.sqrt(variance) * nodes\n"
        "    return weights @ np.prod(ndtr(a * f0[:, None] + b), axis=1)"
    ),
    explanation=(
        "Labels that are independent given f₀ are dependent without it: one draw moves them all. "
        "That is what a multi-label ETGP has and C separate classifiers have not."
    ),
    properties={
        "If f₀ is known (variance 0), it is the product of the labels' probabilities.": (
            lambda function: np.isclose(
                function(0.2, 0.0, np.array([1.0, -2.0]), np.zeros(2), *_some_labels(_rng())[-2:]),
                ndtr(0.2) * ndtr(-0.4),
            )
        ),
        "With rising flows it is at least the product of the labels' own probabilities.": (
            lambda function: all(
                function(*given) >= _product_of_marginals(*given)
                for given in [_some_labels(_rng())]
            )
        ),
    },
)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


# 08.4 -----------------------------------------------------------------------------------------

_PROBABILITIES = np.array(
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05], [0.2, 0.5, 0.3]]
)
_LABELS = np.array([0, 1, 2, 0, 1])


def _of_labels() -> np.ndarray:
    return _PROBABILITIES[np.arange(len(_LABELS)), _LABELS]


SCORE = Exercise(
    id="08.4",
    kind="numeric",
    prompt=(
        "The first cell has `probabilities` of three classes for five test rows, and their true "
        "`labels`. Compute the mean test log-likelihood: the mean over rows of the natural "
        "logarithm of the probability that the model gave to the true label."
    ),
    stub="mean_log_likelihood = ...",
    name="mean_log_likelihood",
    answer=Number(tolerance=1e-3),
    truth=lambda: np.mean(np.log(_of_labels())),
    mistakes={
        "the loss": Mistake(
            lambda: -np.mean(np.log(_of_labels())),
            "This is the loss, with its sign turned. Logarithms of probabilities are negative.",
        ),
        "log of the mean": Mistake(
            lambda: np.log(np.mean(_of_labels())),
            "This is the log of the mean probability. Take logarithms first, row by row: one "
            "confident mistake must hurt.",
        ),
        "the sum": Mistake(
            lambda: np.sum(np.log(_of_labels())),
            "This is the sum over rows. Divide by their number.",
        ),
        "the winners": Mistake(
            lambda: np.mean(np.log(_PROBABILITIES.max(axis=1))),
            "This takes the probability of the likeliest class, right or wrong. Asked is that of "
            "the true label.",
        ),
        "base 10": Mistake(
            lambda: np.mean(np.log10(_of_labels())),
            "This is the logarithm to the base 10; the natural one is np.log.",
        ),
        "accuracy": Mistake(
            lambda: np.mean(_PROBABILITIES.argmax(axis=1) == _LABELS),
            "This is the accuracy, the share of rows whose likeliest class is the true one.",
        ),
    },
    hints=(
        "Pick from each row the probability of its own label.",
        "probabilities[np.arange(len(labels)), labels] picks them.",
        "np.mean(np.log(probabilities[np.arange(len(labels)), labels]))",
    ),
    solution=(
        "mean_log_likelihood = np.mean(np.log(probabilities[np.arange(len(labels)), labels]))"
    ),
    explanation=(
        "The fourth row, sure and wrong, costs more than all others together. Accuracy counts it "
        "like any mistake; a log-likelihood does not. Report both."
    ),
)


LESSON = Lesson(
    number="08",
    title="Build your own",
    setup=(
        "import numpy as np\n"
        "from scipy.special import ndtr\n\n"
        "from etgp_viz.course import check, hint, progress, solution\n\n"
        f"probabilities = np.array(\n    {_PROBABILITIES.tolist()}\n)\n"
        f"labels = np.array({_LABELS.tolist()})"
    ),
    exercises=(PREDICT, FLOW, LABELS, SCORE),
    teaching={
        "": (
            "**Timing** (45 minutes, without the project): Predict 4, Play 5, a flow of your own "
            "with 08.2 12, kernels and likelihoods with 08.3 12, your own data with 08.4 8, the "
            "project's briefing 4. The project takes two to four hours; pairs work well."
        ),
        "Predict": (
            "**Ask.** Which of the three networks would you choose for 153 classes, and what would "
            "you want to measure before you decide?"
        ),
        "Code: a flow of your own": (
            "**What goes wrong.** The sign of the log-derivative, and flows that are not monotone. "
            "Insist on the two tests (round trip, finite differences) before any training: a wrong "
            "inverse trains happily.\n\n"
            "**Show with *present*.** FlowExplorer, preset *A heavy tail*: what do you expect "
            "`Modulus` to look like in these pictures?"
        ),
        "Code: other likelihoods": (
            "**Discussion.** For unrelated labels a shared latent is a wrong assumption. How would "
            "you notice from data? (Compare joint log-likelihoods with separate models, on test "
            "rows.)"
        ),
        "Project": (
            "**Grading.** Hand the rubric out before the work. Two points for *evaluation* need "
            "more than one seed: the most common gap. A negative result with good evidence is a "
            "full result."
        ),
    },
)
