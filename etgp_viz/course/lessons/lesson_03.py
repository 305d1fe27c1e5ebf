"""Exercises of lesson 03, flows that depend on x."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from etgp_viz.course.answers import ArrayFunction, Number, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake

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
        "Cov[a·U, b·V] = a·b·Cov[U, V]. Take U = f₀(0), V = f₀(2).",
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


def _covariance_inputs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A covariance matrix of four values, and scales of either sign."""
    root = rng.uniform(-1.0, 1.0, (4, 4))
    return root @ root.T + 0.1 * np.eye(4), rng.normal(size=4)


def _keeps_correlations(warped: Callable) -> bool:
    K = np.array([[2.0, 0.5, 0.1, 0.2], [0.5, 1.0, 0.3, 0.1], [0.1, 0.3, 1.5, 0.4],
                  [0.2, 0.1, 0.4, 1.0]])  # fmt: skip
    before, after = (
        matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
        for matrix in (K, np.asarray(warped(K, np.array([0.5, 1.0, 2.0, 3.0]))))
    )
    return bool(np.allclose(before, after))


COVARIANCE = Exercise(
    id="03.2",
    kind="write-a-function",
    prompt=(
        "Write `warped_covariance(K, a)`: `K` is the covariance matrix [N, N] of f₀ at N inputs "
        "and `a` the array [N] of the scales a(x) there. It returns the covariance matrix [N, N] "
        "of f(x) = a(x)·f₀(x) + b(x)."
    ),
    stub="def warped_covariance(K, a):\n    return ...",
    name="warped_covariance",
    answer=ArrayFunction(
        "warped_covariance", ("K", "a"), ("a covariance matrix",), _covariance_inputs, shape=(4, 4)
    ),
    truth=lambda: _reference_covariance,
    mistakes={
        "forgot a(x')": Mistake(
            lambda: lambda K, a: a[:, None] * K,
            "You forgot a(x′): each entry needs the scales of both its inputs. A covariance matrix "
            "is symmetric, and yours is not.",
        ),
        "forgot a(x)": Mistake(
            lambda: lambda K, a: K * a,
            "You scaled only the columns (K * a multiplies column j by a[j]); the rows need their "
            "scale too.",
        ),
        "squares": Mistake(
            lambda: lambda K, a: a[:, None] ** 2 * K,
            "a(x)² is right only on the diagonal. Elsewhere the two inputs have different scales.",
        ),
        "a matrix product": Mistake(
            lambda: lambda K, a: np.outer(a, a) @ K,
            "@ is the matrix product. The scales multiply K entry by entry: use *.",
        ),
        "signs lost": Mistake(
            lambda: lambda K, a: np.outer(np.abs(a), np.abs(a)) * K,
            "The signs of a are lost. If the flow is flipped at one of two inputs, their "
            "covariance changes sign.",
        ),
    },
    hints=(
        "Write down one entry first: Cov[a(x)·f₀(x) + b(x), a(x′)·f₀(x′) + b(x′)].",
        "The shifts are not random, so they drop out. What remains is a(x)·a(x′)·k(x, x′).",
        "np.outer(a, a) holds all products a(x)·a(x′); multiply it with K entry by entry.",
    ),
    solution="def warped_covariance(K, a):\n    return np.outer(a, a) * K",
    explanation=(
        "a aᵀ ⊙ K, or with A = diag(a) also A K A. The shift b changes the mean but not the "
        "covariance."
    ),
    properties={"If all scales are positive, correlations do not change.": _keeps_correlations},
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
    "drawn = shared_latent.flow_params(network, np.array([1.0]), samples=500)  # [S, C, N, P]"
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
        "from etgp_viz.course import check, hint, progress, solution\n"
        "from etgp_viz.course.lessons.lesson_03 import hidden_flow\n"
        "from etgp_viz.records import flow as flow_records\n\n"
        f"{_NETWORK}"
    ),
    exercises=(PREDICT, COVARIANCE, READ, DROPOUT),
    teaching={
        "": (
            "About 45 minutes: Predict 5, Play 10, Derive 12, Code 6, dropout 8, TGP 4. If the "
            "group is quick, let students swap links to explorers that puzzle them."
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
        "Dropout: flows that are not sure": (
            "Ask the class: what does a band over draws of the network show that a band over "
            "draws of f₀ does not? Which of them shrinks when the latent is known exactly?"
        ),
        "The transformed Gaussian process": (
            "For discussion: when would you prefer a non-stationary kernel to a flow that depends "
            "on x? (When the correlations between inputs change, and not the marginals.)"
        ),
    },
)
