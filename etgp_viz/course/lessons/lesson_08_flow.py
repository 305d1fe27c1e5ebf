"""Exercise 08.2: a flow, with its inverse and its log-derivative."""

from collections.abc import Callable

import numpy as np

from etgp_viz.course.answers import ArrayFunction
from etgp_viz.course.exercise import Exercise, Mistake

__all__ = ["FLOW", "swell"]


def swell(f: np.ndarray, b: float) -> np.ndarray:
    """G(f), G⁻¹(f) and log |dG/df| of the flow G(f) = sign(f)·(exp(b|f|) − 1)/b, ``[3, N]``."""
    forward = np.sign(f) * np.expm1(b * np.abs(f)) / b
    inverse = np.sign(f) * np.log1p(b * np.abs(f)) / b
    return np.stack([forward, inverse, b * np.abs(f)])


def _but(
    row: int, other: Callable[[np.ndarray, float], np.ndarray]
) -> Callable[[np.ndarray, float], np.ndarray]:
    """The three rows, one of them mistaken."""

    def function(f: np.ndarray, b: float) -> np.ndarray:
        rows = swell(f, b)
        rows[row] = other(f, b)
        return rows

    return function


def _slope_matches(function: Callable[..., np.ndarray]) -> bool:
    f, b, step = np.array([-1.3, -0.4, 0.6, 1.1]), 0.7, 1e-6
    slope = (function(f + step, b)[0] - function(f - step, b)[0]) / (2 * step)
    return bool(np.allclose(np.log(slope), function(f, b)[2], atol=1e-6))


def _comes_back(function: Callable[..., np.ndarray]) -> bool:
    f = np.array([-1.3, -0.4, 0.0, 0.6, 1.1])
    return bool(np.allclose(function(function(f, 0.7)[0], 0.7)[1], f))


FLOW = Exercise(
    id="08.2",
    kind="write-a-function",
    prompt=(
        "Here is a flow that this package lacks: G(f) = sign(f)·(exp(b·|f|) − 1)/b with b > 0. It "
        "almost leaves small values alone and swells large ones. Write `swell(f, b)`, which "
        "returns an array of shape [3, N]: the map G(f), its inverse at the same numbers, and the "
        "logarithm of its slope, log |dG/df|, at f."
    ),
    stub="def swell(f, b):\n    return ...",
    name="swell",
    answer=ArrayFunction(
        "swell",
        ("f", "b"),
        ("map, inverse and log-derivative",),
        lambda rng: [rng.normal(size=5), float(rng.uniform(0.4, 1.2))],
        shape=(3, 5),
    ),
    truth=lambda: swell,
    mistakes={
        "the sign of the log-derivative": Mistake(
            lambda: _but(2, lambda f, b: -b * np.abs(f)),
            "The sign of the log-derivative is turned. The slope exp(b·|f|) is above 1, so its "
            "logarithm is positive. (A change of variables *subtracts* it; that minus is not part "
            "of it.)",
        ),
        "no logarithm": Mistake(
            lambda: _but(2, lambda f, b: np.exp(b * np.abs(f))),
            "The third row is the slope itself. Asked is its logarithm.",
        ),
        "no absolute value": Mistake(
            lambda: _but(2, lambda f, b: b * f),
            "The slope is the same at f and −f, and here it is not: b·|f| in place of b·f.",
        ),
        "an inverse without sign": Mistake(
            lambda: _but(1, lambda f, b: np.log1p(b * np.abs(f)) / b),
            "The inverse never goes below zero. Negative values must come back to negative ones: "
            "sign(g) in front.",
        ),
        "one over": Mistake(
            lambda: _but(1, lambda f, b: 1.0 / (np.sign(f) * np.expm1(b * np.abs(f)) / b)),
            "The inverse of a map is not one over it. Solve g = G(f) for f.",
        ),
        "b forgotten in the inverse": Mistake(
            lambda: _but(1, lambda f, b: np.sign(f) * np.log1p(np.abs(f)) / b),
            "Multiply g by b before the logarithm: b·|g| + 1 = exp(b·|f|).",
        ),
    },
    hints=(
        "Take f > 0 first. Then g = (exp(b·f) − 1)/b; solve it for f, and differentiate it by f.",
        "f = log(1 + b·g)/b, and dg/df = exp(b·f). For negative numbers use |f| and put the sign "
        "back.",
        "np.stack([np.sign(f) * np.expm1(b * np.abs(f)) / b, np.sign(f) * np.log1p(b * np.abs(f)) "
        "/ b, b * np.abs(f)])",
    ),
    solution=(
        "def swell(f, b):\n"
        "    size, sign = np.abs(f), np.sign(f)\n"
        "    forward, inverse = sign * np.expm1(b * size) / b, sign * np.log1p(b * size) / b\n"
        "    return np.stack([forward, inverse, b * size])"
    ),
    explanation=(
        "Three lines make a flow: the map, its inverse, and the log of its slope. np.expm1 and "
        "np.log1p keep their digits where b·|f| is small; as b goes to 0, the flow does nothing."
    ),
    properties={
        "The inverse of the map gives f back.": _comes_back,
        "The third row is the logarithm of the slope of the first, by finite differences.": (
            _slope_matches
        ),
    },
)
