"""Exercises of lesson 01 on the posterior: what narrows the band, and the formula itself."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from etgp_viz.course.answers import Function, Numbers
from etgp_viz.course.checking import Exercise, Mistake

__all__ = ["NARROW", "REGRESS"]


# 01.6 -----------------------------------------------------------------------------------------

_CHANGES = Numbers(("A", "B", "C", "D", "E"), tolerance=0.1)


@cache
def _widths() -> dict[str, float]:
    """Width of the band at x = 1 as it is, and after each change of exercise 01.6."""
    from etgp_viz.records.posterior import Kernel, condition

    def width(x: Any, y: Any, noise: float = 1.0, lengthscale: float = 1.0) -> float:
        _, variance = condition(Kernel("rbf", lengthscale), x, y, noise).predict(np.ones(1))
        return 4.0 * float(np.sqrt(variance[0]))

    return {
        "now": width([0.0], [1.0]),
        "A": width([0.0], [3.0]),
        "B": width([0.0, 0.0], [1.0, 1.0]),
        "C": width([0.0, -4.0], [1.0, 1.0]),
        "D": width([0.0], [1.0], noise=0.1),
        "E": width([0.0], [1.0], lengthscale=0.3),
    }


def _effects() -> dict[str, int]:
    """1 for narrower, 0 for the same within one per cent, −1 for wider."""
    widths = _widths()
    ratios = {letter: widths[letter] / widths["now"] for letter in _CHANGES.parts}
    return {
        letter: 0 if abs(ratio - 1.0) < 0.01 else 1 if ratio < 1.0 else -1
        for letter, ratio in ratios.items()
    }


NARROW = Exercise(
    id="01.6",
    kind="predict-then-reveal",
    prompt=(
        "You have one observation, y = 1 at x = 0, with a noise sd of 1. The kernel is RBF with "
        "ℓ = 1 and σ² = 1. What does each of these changes, made alone, do to the width of the "
        "posterior band at x = 1? (A) The observation is y = 3 and not y = 1. (B) You measure once "
        "more at x = 0. (C) You measure once more, at x = −4. (D) The noise sd is 0.1. (E) The "
        "lengthscale is 0.3. Write `1` for narrower, `-1` for wider, and `0` if the width stays "
        "the same to within one per cent."
    ),
    stub='change = {"A": None, "B": None, "C": None, "D": None, "E": None}',
    name="change",
    answer=_CHANGES,
    truth=_effects,
    mistakes={
        "a surprising value makes us less sure": Mistake(
            lambda: _effects() | {"A": -1},
            "In A you let a surprising observation widen the band. It moves the mean, but look at "
            "the formula of the variance: there is no y in it. With kernel and noise fixed, the "
            "width depends only on where you measure.",
        ),
        "the same place twice says nothing new": Mistake(
            lambda: _effects() | {"B": 0},
            "In B the second reading has an error of its own. The average of two readings is less "
            "noisy than one of them, so you know more about f₀(0), and through it about f₀(1).",
        ),
        "every observation helps everywhere": Mistake(
            lambda: _effects() | {"C": 1},
            "In C the new observation is five lengthscales away from x = 1. The kernel between the "
            "two is exp(−12.5): they have nothing to do with each other.",
        ),
        "a shorter lengthscale is more precise": Mistake(
            lambda: _effects() | {"E": 1},
            "In E the lengthscale says how far an observation reaches. With ℓ = 0.3 the one at 0 "
            "hardly reaches x = 1, and the band there is nearly that of the prior.",
        ),
        "noise does not concern the function": Mistake(
            lambda: _effects() | {"D": 0},
            "In D the observation becomes more reliable: it pins f₀(0) down more tightly, and with "
            "it all values that are correlated with f₀(0).",
        ),
    },
    hints=(
        "The width is 4 standard deviations. Which of y, x, noise and kernel appear in the "
        "variance k(x, x) − kᵀ(K + σₙ²I)⁻¹k?",
        "With one observation the variance at x = 1 is 1 − k(0, 1)²/(1 + σₙ²). What do A, D and E "
        "do to it? For C, compute k(1, −4).",
        "Two readings at one place are worth one reading with half the noise variance. Rebuild "
        "each case in the explorer and read the width off.",
    ),
    solution='change = {"A": 0, "B": 1, "C": 0, "D": 1, "E": -1}',
    explanation=(
        "What you read does not matter for the width. What matters is where you measure, how "
        "exactly, and how far the kernel lets an observation reach."
    ),
    reveal=lambda: (
        f"The width is {_widths()['now']:.2f} at first, and "
        + ", ".join(f"{_widths()[letter]:.2f} in {letter}" for letter in _CHANGES.parts)
        + "; without any observation it is 4."
    ),
)


# 01.7 -----------------------------------------------------------------------------------------


def _prediction(
    noise_in_K: Callable = lambda s: s**2,
    weights: Callable = np.linalg.solve,
    noise_of_f: Callable = lambda s: 0.0,
) -> Callable[..., tuple[float, float]]:
    """Mean and variance of f₀(x) given noisy observations, by the formula or a wrong one."""

    def predict(
        K: np.ndarray, k: np.ndarray, variance: float, y: np.ndarray, noise: float
    ) -> tuple[float, float]:
        beta = weights(K + noise_in_K(noise) * np.eye(len(y)), k)
        return float(beta @ y), float(variance - beta @ k + noise_of_f(noise))

    return predict


def _observations(rng: np.random.Generator) -> tuple[Any, ...]:
    """Covariances of three observed values with each other and with a fourth, and the readings."""
    from etgp_viz.records.posterior import Kernel

    x = np.append(np.sort(rng.uniform(-2.0, 2.0, 3)), 0.3)
    K = Kernel("rbf", 1.0, 1.5)(x, x)
    noise = round(float(rng.uniform(0.2, 0.6)), 2)
    return K[:3, :3], K[:3, 3], float(K[3, 3]), rng.normal(size=3), noise


def _returns_exact_reading(predict: Callable) -> bool:
    """One exact observation, asked about at its own input."""
    mean, variance = predict(np.array([[2.0]]), np.array([2.0]), 2.0, np.array([0.7]), 0.0)
    return bool(np.allclose([mean, variance], [0.7, 0.0]))


REGRESS = Exercise(
    id="01.7",
    kind="write-a-function",
    prompt=(
        "Write `predict(K, k, variance, y, noise)`: `K` is the covariance matrix [N, N] of f₀ at "
        "the observed inputs, `k` holds their covariances with f₀(x) [N], `variance` is k(x, x), "
        "`y` are the observations [N], and `noise` is the *standard deviation* σₙ of their noise. "
        "The function returns two numbers, the mean and the variance of f₀(x) given the "
        "observations. `np.linalg.solve(A, b)` computes A⁻¹b."
    ),
    stub="def predict(K, k, variance, y, noise):\n    return ...",
    name="predict",
    answer=Function(
        "predict",
        ("K", "k", "variance", "y", "noise"),
        ("the mean", "the variance"),
        _observations,
        tolerance=1e-6,
    ),
    truth=_prediction,
    mistakes={
        "no noise": Mistake(
            lambda: _prediction(noise_in_K=lambda s: 0.0),
            "You conditioned on f₀ at the observed inputs as if it were known exactly. What is "
            "known is y, whose covariance matrix is K + σₙ²I.",
        ),
        "standard deviation for variance": Mistake(
            lambda: _prediction(noise_in_K=lambda s: s),
            "You added σₙ to the diagonal of K. A covariance matrix holds variances, so add σₙ².",
        ),
        "a new observation": Mistake(
            lambda: _prediction(noise_of_f=lambda s: s**2),
            "This is the variance of a new *observation* at x, which comes with noise of its own. "
            "The function value f₀(x) has no noise: leave σₙ² out here.",
        ),
        "observations counted twice": Mistake(
            lambda: _prediction(weights=lambda A, b: b / np.diag(A)),
            "You weighted each observation as if it were the only one. Neighbouring observations "
            "say partly the same: K has entries beside its diagonal, and its inverse takes care "
            "of them.",
        ),
    },
    hints=(
        "The formulas are those of the section above with K + σₙ²I in place of K. Compute the "
        "coefficients β = (K + σₙ²I)⁻¹k first.",
        "The identity matrix is np.eye(len(y)). The mean is β·y, the variance is k(x, x) − β·k.",
        "beta = np.linalg.solve(K + noise**2 * np.eye(len(y)), k), then beta @ y and so on",
    ),
    solution=(
        "def predict(K, k, variance, y, noise):\n"
        "    beta = np.linalg.solve(K + noise**2 * np.eye(len(y)), k)\n"
        "    return beta @ y, variance - beta @ k"
    ),
    explanation=(
        "This is Gaussian process regression. The same two lines, for many x at once, draw the "
        "blue line and the band of the explorer."
    ),
    properties={
        "Without noise, the mean at an observed input is the observation and the variance is "
        "zero.": _returns_exact_reading
    },
)
