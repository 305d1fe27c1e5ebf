"""Exercises of lesson 03, flows that depend on x."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from etgp_viz.course.answers import Number, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.choices import Conditions
from etgp_viz.course.lessons.concepts import MASKS
from etgp_viz.course.lessons.in_your_words import STILL_STATIONARY

__all__ = ["LESSON", "hidden_flow"]


def _reference_covariance(K: np.ndarray, a: np.ndarray) -> np.ndarray:
    from etgp_viz.records import covariance

    return covariance.pair_linear(K, a, a)


# 03.1 -----------------------------------------------------------------------------------------

_FACTORS = Numbers(("variance at 2", "covariance", "correlation"), tolerance=0.05)


def _factors_of_the_example() -> dict[str, float]:
    """Factors by which a(0) = 2 and a(2) = 3 multiply each quantity, for some K."""
    K = np.array([[1.0, 0.4], [0.4, 1.0]])
    warped = _reference_covariance(K, np.array([2.0, 3.0]))
    correlation = warped[0, 1] / np.sqrt(warped[0, 0] * warped[1, 1])
    return _FACTORS.named(
        warped[1, 1] / K[1, 1], warped[0, 1] / K[0, 1], correlation / (K[0, 1] / K[0, 0])
    )


PREDICT = Exercise(
    id="03.1",
    kind="predict-then-reveal",
    prompt=(
        "The flow is f(x) = a(x)·f₀(x) with a(x) = 2 + x/2, so that a(0) = 2 and a(2) = 3; f₀ is "
        "stationary. By what factor does the flow multiply the variance at x = 2? The covariance "
        "of the values at 0 and 2? And their correlation?"
    ),
    stub='factors = {"variance at 2": None, "covariance": None, "correlation": None}',
    name="factors",
    answer=_FACTORS,
    truth=_factors_of_the_example,
    mistakes={
        "standard deviation for variance": Mistake(
            lambda: _FACTORS.named(3, 6, 1),
            "a(2) = 3 multiplies the value and so its standard deviation. The variance is "
            "multiplied by the square.",
        ),
        "forgot a(x')": Mistake(
            lambda: _FACTORS.named(9, 2, 1),
            "You forgot a(x′): the covariance is that of a(0)·f₀(0) and a(2)·f₀(2), so both "
            "factors appear.",
        ),
        "forgot a(x)": Mistake(
            lambda: _FACTORS.named(9, 3, 1),
            "Only the scale at 2 is in your covariance. The value at 0 is stretched too, by a(0).",
        ),
        "covariance for correlation": Mistake(
            lambda: _FACTORS.named(9, 6, 6),
            "This is the covariance again. A correlation is divided by both standard deviations, "
            "and these grow by a(0) and a(2) too.",
        ),
        "a square for each": Mistake(
            lambda: _FACTORS.named(9, 36, 1),
            "Each of the two scales appears once, not squared: a(0)·a(2).",
        ),
    },
    hints=(
        "Take the constant factors out: Var[a·U] = a²·Var[U].",
        "Cov[a(0)·U, a(2)·V] = a(0)·a(2)·Cov[U, V]. Take U = f₀(0), V = f₀(2).",
        "Variance: 3². Covariance: 2·3. Correlation: 2·3 divided by the growth of both standard "
        "deviations, 2 and 3.",
    ),
    solution='factors = {"variance at 2": 9, "covariance": 6, "correlation": 1}',
    explanation=(
        "A scale that depends on x changes variances and covariances from place to place, but as "
        "long as it is positive it leaves every correlation unchanged."
    ),
)


# 03.2 -----------------------------------------------------------------------------------------

_PLACES = np.array([-1.0, 0.0, 1.0])


def _warped_by(scales: np.ndarray) -> np.ndarray:
    """Covariance of f at x = −1, 0, 1 for these scales; f₀ has an RBF kernel with ℓ = 1."""
    K = np.exp(-0.5 * (_PLACES[:, None] - _PLACES) ** 2)
    return _reference_covariance(K, scales)


def _has_one_variance(scales: np.ndarray) -> bool:
    variances = np.diag(_warped_by(scales))
    return bool(np.allclose(variances, variances[0]))


def _changes_along_a_diagonal(scales: np.ndarray) -> bool:
    warped = _warped_by(scales)
    return not np.isclose(warped[0, 1], warped[1, 2])


_SCALES = Conditions(
    ("a(-1)", "a(0)", "a(1)"),
    tolerance=1e-9,
    conditions={
        "no scale may be zero, or the flow cannot be undone.": lambda a: bool(np.all(a != 0.0)),
        "the variance must be the same at all three inputs.": _has_one_variance,
        "the covariances at distance 1, Cov[f(−1), f(0)] and Cov[f(0), f(1)], must differ.": (
            _changes_along_a_diagonal
        ),
    },
)

COUNTEREXAMPLE = Exercise(
    id="03.2",
    kind="counterexample",
    prompt=(
        "A friend claims: “If the variance of f(x) = a(x)·f₀(x) is the same at every x, and f₀ is "
        "stationary, then f is stationary.” Show that this is false. Look at three inputs, −1, 0 "
        "and 1, with k(−1, 0) = k(0, 1). Choose scales that are not zero, give the same variance "
        "at all three inputs, and yet make the covariance of the first two values differ from that "
        "of the last two."
    ),
    stub='scales = {"a(-1)": ..., "a(0)": ..., "a(1)": ...}',
    name="scales",
    answer=_SCALES,
    truth=lambda: _SCALES.named(1.0, 1.0, -1.0),
    mistakes={
        "a scale of zero": Mistake(
            lambda: _SCALES.named(0.0, 0.0, 0.0),
            "With a scale of zero the flow cannot be undone, and f is a constant there.",
        ),
        "all the same": Mistake(
            lambda: _SCALES.named(1.0, 1.0, 1.0),
            "The variance is the same everywhere, but so are the two covariances: this process is "
            "still stationary. The friend's claim is about variances, and a variance does not see "
            "the sign of a scale.",
        ),
        "sizes that differ": Mistake(
            lambda: _SCALES.named(1.0, 2.0, 3.0),
            "These scales change the variance, which is a(x)²·k(x, x). You need scales of equal "
            "size.",
        ),
        "signs that take turns": Mistake(
            lambda: _SCALES.named(1.0, -1.0, 1.0),
            "The variance is the same everywhere, but so are the two covariances: this process is "
            "still stationary. The friend's claim is about variances, and a variance does not see "
            "the sign of a scale.",
        ),
    },
    hints=(
        "Cov[f(x), f(x′)] = a(x)·a(x′)·k(x, x′), and the variance is a(x)²·k(x, x).",
        "Same variance: same size. What is left to choose once the size is fixed?",
        "The sign. Change it once, not twice: the products a(−1)·a(0) and a(0)·a(1) must differ.",
    ),
    solution='scales = {"a(-1)": 1, "a(0)": 1, "a(1)": -1}',
    explanation=(
        "Where the sign of a(x) changes, links between neighbours flip while variances stay: K "
        "must be constant along every diagonal, not only along the main one."
    ),
)


# 03.3 -----------------------------------------------------------------------------------------


def hidden_flow(x: np.ndarray) -> np.ndarray:
    """Parameters a(x) > 0 and b(x) ``[N, 2]`` of the LINEAR flow that exercise 03.3 asks for."""
    x = np.asarray(x, dtype=float)
    return np.stack([1.0 + 0.25 * x, 0.4 * x**2 - 0.6], axis=-1)


def _values_at_two(a: Callable = lambda a, b: a, b: Callable = lambda a, b: b) -> dict[str, float]:
    """Answer at x = 2, by functions of the true a and b that may be mistaken."""
    true = hidden_flow(np.array([2.0]))[0]
    return {"a": float(a(*true)), "b": float(b(*true))}


READ = Exercise(
    id="03.3",
    kind="read-the-plot",
    prompt=(
        "The picture shows a process f(x) = a(x)·f₀(x) + b(x) with a(x) > 0, and f₀ has variance "
        "1 everywhere. Read a and b at the marked input x = 2 off the blue band. Within 20 % is "
        "close enough."
    ),
    stub='at_two = {"a": ..., "b": ...}',
    name="at_two",
    answer=Numbers(("a", "b"), tolerance=0.2),
    truth=_values_at_two,
    mistakes={
        "half the width": Mistake(
            lambda: _values_at_two(a=lambda a, b: 1.96 * a),
            "This is half the width of the band. The band reaches 1.96 standard deviations to "
            "either side, so divide by 1.96.",
        ),
        "the whole width": Mistake(
            lambda: _values_at_two(a=lambda a, b: 2 * 1.96 * a),
            "This is the whole width of the band, which is 2·1.96 standard deviations.",
        ),
        "variance for standard deviation": Mistake(
            lambda: _values_at_two(a=lambda a, b: a**2),
            "This is the variance of f(2). The scale a is the standard deviation of f(2), since "
            "that of f₀ is 1.",
        ),
        "the upper edge": Mistake(
            lambda: _values_at_two(b=lambda a, b: b + 1.96 * a),
            "b is the mean, which is the middle of the band; this is its upper edge.",
        ),
        "the drawn path": Mistake(
            lambda: _values_at_two(b=lambda a, b: 0.0),
            "The mean of f(2) is not zero: f₀ has mean zero, and the flow adds b(2). Take the "
            "middle of the band.",
        ),
    },
    hints=(
        "At each x the value is normal with mean b(x) and standard deviation a(x).",
        "The band goes from b − 1.96·a to b + 1.96·a. Read both edges at x = 2.",
        "b is half the sum of the edges, and a their difference divided by 3.92.",
    ),
    solution='a, b = hidden_flow(2.0)\nat_two = {"a": a, "b": b}',
    explanation=(
        "The middle of the band is the shift, and about a quarter of its width is the scale."
    ),
    reveal=lambda: "Here a(2) = {a:.2f} and b(2) = {b:.2f}.".format(**_values_at_two()),
)


# 03.4 -----------------------------------------------------------------------------------------

_NETWORK = (
    "network = prior.random_network(flows.Linear(), 2, hidden=(20,), dropout=0.3, seed=1)\n"
    "drawn = shared_latent.flow_params(network, np.array([1.0]), samples=500)  # [R, C, N, P]"
)


@cache
def _network_draws() -> tuple[np.ndarray, np.ndarray]:
    """500 draws of a(1) and b(1) of the first class, as the setup cell makes them."""
    from etgp_viz.core import flows
    from etgp_viz.records import prior, shared_latent

    network = prior.random_network(flows.Linear(), 2, hidden=(20,), dropout=0.3, seed=1)
    a, b = shared_latent.flow_params(network, np.array([1.0]), samples=500)[:, 0, 0].T
    return a, b


def _spread(variance: Callable = lambda a, b: np.mean(a**2) + np.var(b)) -> Any:
    return np.sqrt(variance(*_network_draws()))


DROPOUT = Exercise(
    id="03.4",
    kind="numeric",
    prompt=(
        "`a` and `b` hold 500 draws of a(1) and b(1) from a network with dropout, one pair for "
        "each draw of the network. f₀(1) is independent of them, with mean 0 and variance 1. "
        "Compute the standard deviation of f(1) = a(1)·f₀(1) + b(1) when both the latent and the "
        "network are random."
    ),
    stub="a, b = drawn[:, 0, 0].T\ndeviation = ...",
    name="deviation",
    answer=Number(tolerance=0.005),
    truth=_spread,
    mistakes={
        "the flow held fixed": Mistake(
            lambda: _spread(lambda a, b: np.mean(a) ** 2),
            "This is the spread with the mean flow, caused by the latent alone. The network is "
            "random as well.",
        ),
        "shift forgotten": Mistake(
            lambda: _spread(lambda a, b: np.mean(a**2)),
            "The shift b is missing: it differs between draws of the network and adds its own "
            "variance.",
        ),
        "square of the mean": Mistake(
            lambda: _spread(lambda a, b: np.mean(a) ** 2 + np.var(b)),
            "E[a²] is not E[a]²: a random scale spreads f more than its mean would. You need the "
            "mean of the square, not the square of the mean.",
        ),
        "variance for standard deviation": Mistake(
            lambda: _spread() ** 2, "This is the variance. The standard deviation is its root."
        ),
        "standard deviations added": Mistake(
            lambda: _network_draws()[0].std() + _network_draws()[1].std(),
            "You added the spreads of a and b. It is variances that add up, and the latent "
            "contributes too: E[a²]·1 + Var[b].",
        ),
    },
    hints=(
        "First hold the network fixed: what are the mean and the variance of f(1) then? Now let "
        "it vary.",
        "Total variance = mean of the variances + variance of the means.",
        "With the network fixed the variance is a² and the mean is b. So the answer is the root "
        "of np.mean(a**2) + np.var(b).",
    ),
    solution="a, b = drawn[:, 0, 0].T\ndeviation = np.sqrt(np.mean(a**2) + np.var(b))",
    explanation=(
        "Var[f] = E[a²]·σ² + Var[b]: the mean of the variances and the variance of the means. "
        "Without dropout only the first remains, with a² in place of its mean."
    ),
    reveal=lambda: (
        f"With the flow held at its mean it would be {_spread(lambda a, b: np.mean(a) ** 2):.3f}; "
        f"with dropout it is {_spread():.3f}."
    ),
)


LESSON = Lesson(
    number="03",
    title="Flows that depend on x",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz import flows, prior, shared_latent\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up\n"
        "from etgp_viz.course.lessons.lesson_03 import hidden_flow\n"
        "from etgp_viz.records import flow as flow_records\n\n"
        f"{_NETWORK}"
    ),
    exercises=(PREDICT, COUNTEREXAMPLE, READ, DROPOUT, MASKS, STILL_STATIONARY),
    teaching={
        "": (
            "**Timing** (55 minutes): Touch 3, warm-up 2, Predict 5, Play 10, Derive 12, Code 6, "
            "dropout 9, TGP 4, in your own words 4. If the group is quick, let students swap links "
            "to explorers that puzzle them."
        ),
        "Play": (
            "Show *Louder to the right* with *present* on and ask where the covariance matrix is "
            "not constant along a diagonal. Then let only b vary, and ask for a vote: stationary "
            "or not? The matrix says yes and the mean says no."
        ),
        "Derive": (
            "What students get wrong: one scale in the covariance where there are two; and the "
            "belief that a non-stationary covariance means non-stationary correlations."
        ),
        "Dropout: a network that is not sure": (
            "Ask the class: what does a band over draws of the network show that a band over "
            "draws of f₀ does not? Which of them shrinks when the latent is known exactly?"
        ),
        "Check: in your own words": (
            "Let everybody write before anybody talks; then read two answers aloud, one with the "
            "mean in it and one without. The check looks for words, and a good answer in unusual "
            "words may be misread: the solution settles it."
        ),
        "The transformed Gaussian process": (
            "For discussion: when would you prefer a non-stationary kernel to a flow that depends "
            "on x? (When the correlations between inputs change, and not the marginals.)"
        ),
    },
)
