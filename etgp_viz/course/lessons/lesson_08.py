"""Exercises of lesson 08, build your own."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

from etgp_viz.course.answers import ArrayFunction, Function, Number, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.choices import Conditions

__all__ = ["LESSON", "joint_probability"]


# 08.1 -----------------------------------------------------------------------------------------

_WIDTHS = Numbers(("LINEAR", "TANH, length 1", "TANH, length 3"), tolerance=1e-6)
CLASSES = 153


def _widths() -> dict[str, float]:
    from etgp_viz.core import flows

    built = (flows.Linear(), flows.Tanh(elements=4, length=1), flows.Tanh(elements=4, length=3))
    return _WIDTHS.named(*(CLASSES * flow.num_params for flow in built))


PREDICT = Exercise(
    id="08.1",
    kind="predict-then-reveal",
    prompt=(
        "One network outputs the parameters of all flows. Of the paper's data sets, the one with "
        f"the most classes has C = {CLASSES}. How wide is the network's last layer with LINEAR "
        "flows, a·f₀ + b; with TANH flows of one step, f₀ plus 4 elements "
        "height·tanh(steepness·(f₀ + centre)); and with TANH flows of three such steps, one after "
        "the other?"
    ),
    stub='prediction = {"LINEAR": None, "TANH, length 1": None, "TANH, length 3": None}',
    name="prediction",
    answer=_WIDTHS,
    truth=_widths,
    mistakes={
        "C forgotten": Mistake(
            lambda: _WIDTHS.named(2, 12, 36),
            "These are the parameters of one flow. The network outputs those of all C flows.",
        ),
        "one number for each element": Mistake(
            lambda: _WIDTHS.named(306, 612, 1836),
            "An element has three parameters: its height, its steepness and its centre.",
        ),
        "length forgotten": Mistake(
            lambda: _WIDTHS.named(306, 1836, 1836),
            "Three steps have three times the parameters of one: each has its own heights, "
            "steepnesses and centres.",
        ),
        "one parameter for LINEAR": Mistake(
            lambda: _WIDTHS.named(153, 1836, 5508),
            "LINEAR has a scale and a shift: two parameters.",
        ),
    },
    hints=(
        "Multiply the parameters of one flow by the number of flows.",
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


# 08.2 -----------------------------------------------------------------------------------------


def swell(f: np.ndarray, rate: float) -> np.ndarray:
    """Map, inverse and log |dG/df| of G(f) = sign(f)·(exp(rate·|f|) − 1)/rate, ``[3, N]``."""
    forward = np.sign(f) * np.expm1(rate * np.abs(f)) / rate
    inverse = np.sign(f) * np.log1p(rate * np.abs(f)) / rate
    return np.stack([forward, inverse, rate * np.abs(f)])


def _with_row(row: int, other: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """`swell` with another formula for one of its three rows."""

    def function(f: np.ndarray, rate: float) -> np.ndarray:
        rows = swell(f, rate)
        rows[row] = other(f, rate)
        return rows

    return function


def _slope_matches(function: Callable[..., np.ndarray]) -> bool:
    f, rate, step = np.array([-1.3, -0.4, 0.6, 1.1]), 0.7, 1e-6
    slope = (function(f + step, rate)[0] - function(f - step, rate)[0]) / (2 * step)
    return bool(np.allclose(np.log(slope), function(f, rate)[2], atol=1e-6))


def _inverse_undoes_the_map(function: Callable[..., np.ndarray]) -> bool:
    f = np.array([-1.3, -0.4, 0.0, 0.6, 1.1])
    return bool(np.allclose(function(function(f, 0.7)[0], 0.7)[1], f))


FLOW = Exercise(
    id="08.2",
    kind="write-a-function",
    prompt=(
        "Here is a flow that this package does not have: G(f₀) = sign(f₀)·(exp(rate·|f₀|) − "
        "1)/rate, with a rate above 0. It leaves small values almost unchanged and swells large "
        "ones. Write `swell(f, rate)`, which takes N numbers `f` and returns an array of shape "
        "[3, N]: the map at these numbers, the inverse of the map at the same numbers, and the "
        "logarithm of the slope of the map, log |dG/df₀|, there."
    ),
    stub="def swell(f, rate):\n    return ...",
    name="swell",
    answer=ArrayFunction(
        "swell",
        ("f", "rate"),
        ("map, inverse and log-derivative",),
        lambda rng: [rng.normal(size=5), float(rng.uniform(0.4, 1.2))],
        shape=(3, 5),
    ),
    truth=lambda: swell,
    mistakes={
        "the sign of the log-derivative": Mistake(
            lambda: _with_row(2, lambda f, rate: -rate * np.abs(f)),
            "The log-derivative has the wrong sign. The slope exp(rate·|f|) is above 1, so its "
            "logarithm is positive. (A change of variables *subtracts* the log-derivative; that "
            "minus is not part of it.)",
        ),
        "no logarithm": Mistake(
            lambda: _with_row(2, lambda f, rate: np.exp(rate * np.abs(f))),
            "The third row is the slope itself. The exercise asks for its logarithm.",
        ),
        "no absolute value": Mistake(
            lambda: _with_row(2, lambda f, rate: rate * f),
            "The slope is the same at f and −f, but yours is not: use rate·|f| instead of rate·f.",
        ),
        "an inverse without sign": Mistake(
            lambda: _with_row(1, lambda f, rate: np.log1p(rate * np.abs(f)) / rate),
            "Your inverse is never below zero. Negative values must go back to negative ones: put "
            "sign(g) in front.",
        ),
        "one over": Mistake(
            lambda: _with_row(1, lambda f, rate: 1.0 / swell(f, rate)[0]),
            "The inverse of a map is not its reciprocal. Solve g = G(f₀) for f₀.",
        ),
        "the rate forgotten in the inverse": Mistake(
            lambda: _with_row(1, lambda f, rate: np.sign(f) * np.log1p(np.abs(f)) / rate),
            "Multiply g by the rate before the logarithm: rate·|g| + 1 = exp(rate·|f₀|).",
        ),
    },
    hints=(
        "Take f₀ > 0 first. Then g = (exp(rate·f₀) − 1)/rate; solve it for f₀, and differentiate "
        "it with respect to f₀.",
        "f₀ = log(1 + rate·g)/rate, and dg/df₀ = exp(rate·f₀). For negative numbers, use |f₀| and "
        "then restore the sign.",
        "With size = np.abs(f) and sign = np.sign(f), stack sign * np.expm1(rate * size) / rate, "
        "sign * np.log1p(rate * size) / rate, and rate * size.",
    ),
    solution=(
        "def swell(f, rate):\n"
        "    size, sign = np.abs(f), np.sign(f)\n"
        "    forward = sign * np.expm1(rate * size) / rate\n"
        "    inverse = sign * np.log1p(rate * size) / rate\n"
        "    return np.stack([forward, inverse, rate * size])"
    ),
    explanation=(
        "Three lines make a flow: the map, its inverse, and the log of its slope. np.expm1 and "
        "np.log1p stay accurate where rate·|f| is small; as the rate goes to 0, the flow becomes "
        "the identity."
    ),
    properties={
        "The inverse undoes the map.": _inverse_undoes_the_map,
        "The third row is the logarithm of the slope of the first, by finite differences.": (
            _slope_matches
        ),
    },
)


# 08.3 -----------------------------------------------------------------------------------------


def _combined(combine: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[..., float]:
    """Function of a row that combines the probabilities of all labels at the nodes, ``[Q, C]``."""

    def function(*row: Any) -> float:
        mean, variance, a, b, nodes, weights = row
        f0 = mean + np.sqrt(variance) * nodes
        return float(combine(ndtr(a * f0[:, None] + b), weights))

    return function


#: P(all labels are 1) of a multi-label ETGP with linear flows, by quadrature over f₀
joint_probability = _combined(lambda p, weights: weights @ np.prod(p, axis=1))
_product_of_marginals = _combined(lambda p, weights: np.prod(weights @ p))


def _random_input(rng: np.random.Generator) -> list[Any]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    a = np.abs(rng.normal(size=3)) + 0.5
    mean, variance = round(float(rng.normal()), 2), round(float(rng.uniform(1.5, 3.0)), 2)
    return [mean, variance, a, 0.5 * rng.normal(size=3), nodes, weights / weights.sum()]


def _example() -> list[Any]:
    return _random_input(np.random.default_rng(0))


LABELS = Exercise(
    id="08.3",
    kind="write-a-function",
    prompt=(
        "A multi-label ETGP has C labels that may all be 1 at once. Given f₀, label c is 1 with "
        "probability Φ(fᶜ), independently of the others, where Φ is the normal distribution "
        "function (`ndtr` from the import cell) and fᶜ = a[c]·f₀ + b[c]. Write "
        "`joint_probability(mean, variance, a, b, nodes, weights)`: the probability that **all** "
        "labels are 1, for f₀ ~ N(mean, variance). `nodes` and `weights` are a quadrature rule "
        "for a standard normal."
    ),
    stub="def joint_probability(mean, variance, a, b, nodes, weights):\n    return ...",
    name="joint_probability",
    answer=Function(
        "joint_probability",
        ("mean", "variance", "a", "b", "nodes", "weights"),
        ("the probability",),
        _random_input,
    ),
    truth=lambda: joint_probability,
    mistakes={
        "a new latent for each label": Mistake(
            lambda: _product_of_marginals,
            "This is the product of the labels' own probabilities, as if each label had a latent "
            "of its own. They are independent *given* f₀: multiply first, then average over f₀.",
        ),
        "variance for standard deviation": Mistake(
            lambda: lambda mean, variance, *rest: joint_probability(mean, variance**2, *rest),
            "You scaled the nodes by the variance. f₀ = mean + (standard deviation)·z: take the "
            "square root.",
        ),
        "at the mean": Mistake(
            lambda: lambda mean, variance, a, b, *_: float(np.prod(ndtr(a * mean + b))),
            "You used only the mean of f₀. Average over the nodes.",
        ),
        "at least one": Mistake(
            lambda: _combined(lambda p, weights: weights @ (1.0 - np.prod(1.0 - p, axis=1))),
            "This is the probability that at least one label is 1. The exercise asks for the "
            "probability that all are.",
        ),
        "the mean label": Mistake(
            lambda: _combined(lambda p, weights: weights @ np.mean(p, axis=1)),
            "You averaged over labels. The probability of all at once is a product over labels.",
        ),
    },
    hints=(
        "For one value of f₀ the labels are independent: what is the probability of all of them?",
        "At the nodes, ndtr(a * f0[:, None] + b) has shape [Q, C]. Multiply over labels, and only "
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
        "That is what distinguishes a multi-label ETGP from C separate classifiers."
    ),
    properties={
        "If f₀ is known (variance 0), the result is the product of the labels' probabilities.": (
            lambda function: np.isclose(
                function(0.2, 0.0, np.array([1.0, -2.0]), np.zeros(2), *_example()[-2:]),
                ndtr(0.2) * ndtr(-0.4),
            )
        ),
        "With increasing flows, the result is at least the product of the labels' own "
        "probabilities.": (
            lambda function: function(*_example()) >= _product_of_marginals(*_example())
        ),
    },
)


# 08.4 -----------------------------------------------------------------------------------------

_PROBABILITIES = np.array(
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05], [0.2, 0.5, 0.3]]
)
_LABELS = np.array([0, 1, 2, 0, 1])


def _label_probabilities() -> np.ndarray:
    return _PROBABILITIES[np.arange(len(_LABELS)), _LABELS]


SCORE = Exercise(
    id="08.4",
    kind="numeric",
    prompt=(
        "The import cell defines `probabilities` of three classes for five test rows and their "
        "true `labels`. Compute the mean test log-likelihood: the mean over rows of the natural "
        "logarithm of the probability that the model gave to the true label."
    ),
    stub="mean_log_likelihood = ...",
    name="mean_log_likelihood",
    answer=Number(tolerance=1e-3),
    truth=lambda: np.mean(np.log(_label_probabilities())),
    mistakes={
        "the loss": Mistake(
            lambda: -np.mean(np.log(_label_probabilities())),
            "This is the loss, which has the opposite sign. Logarithms of probabilities are "
            "negative.",
        ),
        "log of the mean": Mistake(
            lambda: np.log(np.mean(_label_probabilities())),
            "This is the log of the mean probability. Take logarithms first, row by row: a "
            "confident mistake must cost.",
        ),
        "the sum": Mistake(
            lambda: np.sum(np.log(_label_probabilities())),
            "This is the sum over rows. Divide by their number.",
        ),
        "the winners": Mistake(
            lambda: np.mean(np.log(_PROBABILITIES.max(axis=1))),
            "You took the probability of the most likely class, right or wrong. The exercise asks "
            "for that of the true label.",
        ),
        "base 10": Mistake(
            lambda: np.mean(np.log10(_label_probabilities())),
            "This is the logarithm to base 10; the natural one is np.log.",
        ),
        "accuracy": Mistake(
            lambda: np.mean(_PROBABILITIES.argmax(axis=1) == _LABELS),
            "This is the accuracy, the share of rows whose most likely class is the true one.",
        ),
    },
    hints=(
        "Pick the probability of its own label from each row.",
        "probabilities[np.arange(len(labels)), labels] picks them.",
        "np.mean(np.log(probabilities[np.arange(len(labels)), labels]))",
    ),
    solution=(
        "mean_log_likelihood = np.mean(np.log(probabilities[np.arange(len(labels)), labels]))"
    ),
    explanation=(
        "The fourth row, confident and wrong, costs more than all others together. Accuracy "
        "counts it like any other mistake; the log-likelihood does not. Report both."
    ),
)


# 08.5 -----------------------------------------------------------------------------------------


def _falls_somewhere(numbers: np.ndarray) -> bool:
    height, steepness = numbers
    f = np.linspace(-20.0, 20.0, 4001)
    return bool(np.any(np.diff(f + height * np.tanh(steepness * f)) < 0.0))


_BUMP = Conditions(
    ("height", "steepness"),
    tolerance=1e-9,
    conditions={
        "the map must fall somewhere, so that it cannot be undone.": _falls_somewhere,
        "the map must differ from f itself.": lambda numbers: bool(np.all(numbers != 0.0)),
    },
)

COUNTEREXAMPLE = Exercise(
    id="08.5",
    kind="counterexample",
    prompt=(
        "One element of a TANH flow is G(f₀) = f₀ + height·tanh(steepness·f₀). A colleague removes "
        "the softplus and lets the network output any height and any steepness: “It is still a "
        "flow.” Show that it is not: give a height and a steepness with which G falls somewhere, "
        "so that two different values of f₀ have the same image."
    ),
    stub='element = {"height": ..., "steepness": ...}',
    name="element",
    answer=_BUMP,
    truth=lambda: _BUMP.named(-2.0, 1.0),
    mistakes={
        "an element of zero": Mistake(
            lambda: _BUMP.named(0.0, 1.0),
            "With a height or a steepness of 0, G is f₀ itself, the best-behaved flow there is.",
        ),
        "both positive": Mistake(
            lambda: _BUMP.named(1.0, 1.0),
            "This map rises everywhere. Its slope is 1 + height·steepness/cosh²(steepness·f₀): "
            "when is that below 0 somewhere?",
        ),
        "negative but flat": Mistake(
            lambda: _BUMP.named(-0.5, 1.0),
            "This map rises everywhere. Its slope is 1 + height·steepness/cosh²(steepness·f₀): "
            "when is that below 0 somewhere?",
        ),
        "both negative": Mistake(
            lambda: _BUMP.named(-2.0, -1.0),
            "This map rises everywhere. Its slope is 1 + height·steepness/cosh²(steepness·f₀): "
            "when is that below 0 somewhere?",
        ),
    },
    hints=(
        "Where is tanh steepest? Look at the slope of G there.",
        "At f₀ = 0 the slope of G is 1 + height·steepness.",
        "Make height·steepness smaller than −1, such as height −2 and steepness 1.",
    ),
    solution='element = {"height": -2, "steepness": 1}',
    explanation=(
        "The slope at 0 is 1 + height·steepness. If their product is below −1, that slope is "
        "negative and the map turns back. Softplus keeps both positive, so the slope is never "
        "below 1."
    ),
)


LESSON = Lesson(
    number="08",
    title="Build your own",
    setup=(
        "import numpy as np\n"
        "from scipy.special import ndtr\n\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up\n\n"
        f"probabilities = np.array(\n    {_PROBABILITIES.tolist()}\n)\n"
        f"labels = np.array({_LABELS.tolist()})"
    ),
    exercises=(PREDICT, FLOW, LABELS, SCORE, COUNTEREXAMPLE),
    teaching={
        "": (
            "**Timing** (50 minutes, without the project): Touch 3, warm-up 2, Predict 4, Play 5, "
            "a flow of your own with 08.2 12, kernels and likelihoods with 08.3 12, your own data "
            "with 08.4 6, Check 2, the project's briefing 4. The project takes two to four hours; "
            "pairs work well."
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
            "**Discussion.** For unrelated labels, a shared latent is the wrong assumption. How "
            "would the data tell you? (Compare joint log-likelihoods with separate models, on "
            "test rows.)"
        ),
        "Project": (
            "**Grading.** Hand out the rubric before the work. Two points for *evaluation* need "
            "more than one seed, which is what projects lack most often. A negative result with "
            "good evidence is a full result."
        ),
    },
)
