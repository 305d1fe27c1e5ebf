"""Exercise 02.4: shape a marginal until it has given quantiles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from etgp_viz.course.answers import Nonsense, Numbers
from etgp_viz.course.exercise import Exercise, Mistake

__all__ = ["MATCH", "Quantiles", "sal_step"]

TARGET = (-1.0, 0.0, 3.0)
_QUANTILES = ("lower edge of the band (2.5 %)", "median", "upper edge of the band (97.5 %)")


def sal_step(values: Sequence[float] | np.ndarray) -> tuple[Any, np.ndarray]:
    """A SAL step, and its raw parameters."""
    from etgp_viz.core import flows  # TensorFlow: only when an answer is checked

    flow = flows.SinhArcsinh()
    return flow, flow.unconstrain(np.array(values, dtype=float)).numpy()


@dataclass(frozen=True)
class Quantiles(Numbers):
    """Numbers a, d and e of a SAL step with b = 1, judged by the quantiles that they give.

    What an answer may miss is measured against the distance of the outer quantiles.
    """

    def read(self, answer: Any) -> np.ndarray:
        """The three quantiles of G(f₀), f₀ ~ N(0, 1), as ``[1, 3]``."""
        a, d, e = super().read(answer)[0]
        if d <= 0.0:
            raise Nonsense(f"Expected a scale d above zero, got {d:g}")
        flow, params = sal_step((a, 1.0, d, e))
        return flow.forward(norm.ppf([0.025, 0.5, 0.975]), params).numpy()[None]

    def sizes(self, values: np.ndarray) -> np.ndarray:
        """The distance of the outer quantiles, ``[1, 1]``."""
        return np.ptp(values, axis=1, keepdims=True)

    def miss(self, row: int, part: int, got: float, truth: float) -> str:
        """How far off the first quantile is that does not fit."""
        side = "high" if got > truth else "low"
        return (
            f"The {_QUANTILES[part]} is {got:.2f} and should be {truth:.2f}: "
            f"{abs(got - truth):.2f} too {side}."
        )


def _shape(low: float, median: float, high: float) -> dict[str, float]:
    """The a, d and e with which a SAL step with b = 1 has these quantiles.

    sinh(asinh f − a) = f cosh a − √(1 + f²) sinh a, and the quantiles lie at f = −z, 0 and z.
    """
    z = norm.ppf(0.975)
    stretch = (high - low) / (2 * z)  # d cosh a
    bend = ((low + high) / 2 - median) / (np.sqrt(1 + z**2) - 1)  # −d sinh a
    a = -np.arctanh(bend / stretch)
    return {"a": a, "d": stretch / np.cosh(a), "e": median - bend}


def _but(**changed: Callable[[float], float]) -> dict[str, float]:
    """The right numbers, with some of them changed."""
    right = _shape(*TARGET)
    return right | {name: change(right[name]) for name, change in changed.items()}


MATCH = Exercise(
    id="02.4",
    kind="match-the-target",
    prompt=(
        "Leave *tails b* at 1, and move *skew a*, *scale d* and *shift e* of the explorer until "
        "the blue band goes from −1 to 3, with the median at 0. Then write down where your three "
        "sliders stand. (You may also compute them.) A miss of 0.12 is still good enough."
    ),
    stub='sliders = {"a": ..., "d": ..., "e": ...}',
    name="sliders",
    answer=Quantiles(("a", "d", "e"), tolerance=0.03),
    truth=lambda: _shape(*TARGET),
    mistakes={
        "no skew": Mistake(
            lambda: _shape(-1.0, 1.0, 3.0),
            "The band is right, but the median lies in its middle, at 1. Scale and shift alone "
            "cannot change that: a skew is needed.",
        ),
        "skewed to the wrong side": Mistake(
            lambda: _shape(-1.0, 2.0, 3.0),
            "The band is right, but it is skewed to the wrong side: the long tail should point "
            "upwards. A smaller a skews to the right.",
        ),
        "shift forgotten": Mistake(
            lambda: _but(e=lambda e: 0.0),
            "Skew and scale are right. Skewing also moves the median, so bring it back with the "
            "shift e.",
        ),
        "sign of the shift": Mistake(
            lambda: _but(e=lambda e: -e),
            "Skew and scale are right, and the shift has the wrong sign.",
        ),
    },
    hints=(
        "A negative a lengthens the upper tail. Begin there, and let the other two follow.",
        "The shift e moves all three quantiles by the same amount, so first make the two distances "
        "right: 1 from the lower edge to the median, 3 from the median to the upper edge.",
        "The ratio of the two distances depends on a alone: it is 3 for a between −1.2 and −1.1. "
        "Then d sets their size, and e the median.",
    ),
    solution=(
        "low, median, high = -1, 0, 3\n"
        "z = norm.ppf(0.975)\n"
        "stretch = (high - low) / (2 * z)  # d cosh a\n"
        "bend = ((low + high) / 2 - median) / (np.sqrt(1 + z**2) - 1)  # -d sinh a\n"
        "a = -np.arctanh(bend / stretch)\n"
        'sliders = {"a": a, "d": stretch / np.cosh(a), "e": median - bend}'
    ),
    explanation=(
        "G takes quantiles to quantiles, so three quantiles are three equations for a, d and e: "
        "with b = 1, G(f) = d (f cosh a − √(1 + f²) sinh a) + e."
    ),
)
