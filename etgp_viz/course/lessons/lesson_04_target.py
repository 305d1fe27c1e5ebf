"""Exercise 04.5: flows that give a hidden covariance."""

from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from etgp_viz.course.answers import Target
from etgp_viz.course.exercise import Exercise, Mistake

__all__ = ["KERNEL", "MATCH", "blocks_of", "hidden_covariance"]

KERNEL, NUM_INPUTS, KNOTS = "matern32", 25, 5

_HIDDEN = np.array(
    [
        [1.5, 1.0, 0.6, 1.0, 1.5],
        [0.4, 0.8, 1.2, 1.6, 2.0],
        [-2.0, -1.5, -1.0, -0.6, -0.3],
    ]
)
# The scales with which the explorer opens.
_OPENING = np.array([[1.0] * KNOTS, [0.3, 0.6, 1.0, 1.4, 1.7], [-0.8] * KNOTS])


@lru_cache(maxsize=1)
def _inputs() -> tuple[np.ndarray, np.ndarray]:
    """Where the target is compared, and K there."""
    from etgp_viz.records import prior

    x = np.linspace(-3.0, 3.0, NUM_INPUTS)
    return x, prior.covariance_matrix(prior.kernel(KERNEL), x)


def _joint(scales: np.ndarray) -> np.ndarray:
    """The joint covariance of linear flows whose scales have these values at five knots over x."""
    from etgp_viz.records import covariance, prior

    x, K = _inputs()
    share = (x - x[0]) / (x[-1] - x[0])
    return covariance.joint_linear(K, np.stack([prior.profile(knots, share) for knots in scales]))


def hidden_covariance() -> np.ndarray:
    """The target of 04.5, ``[3·25, 3·25]``."""
    return _joint(_HIDDEN)


def blocks_of(scales: np.ndarray) -> dict[str, np.ndarray]:
    """The blocks of a joint covariance, by their names."""
    blocks = _joint(scales).reshape(3, NUM_INPUTS, 3, NUM_INPUTS)
    return {
        f"the covariance of f{'¹²³'[c]} and f{'¹²³'[d]}": blocks[c, :, d]
        for c, d in combinations_with_replacement(range(3), 2)
    }


MATCH = Exercise(
    id="04.5",
    kind="match-the-target",
    prompt=(
        "Find linear flows whose covariance is the hidden one. Give the scales of three classes at "
        "five knots over x (x = −3, −1.5, 0, 1.5 and 3): either the explorer above, once you have "
        "shaped a¹, a² and a³ in it, or a dictionary with five numbers each for a1, a2 and a3. "
        "Every block within 10 % of its size is near enough; the reply tells how far you are."
    ),
    stub="shaped = ...",
    name="shaped",
    answer=Target(
        ("a1", "a2", "a3"),
        KNOTS,
        blocks_of,
        tolerance=0.1,
        given={"family": "linear", "kernel": KERNEL, "lengthscale": 1.0, "variance": 1.0},
    ),
    truth=lambda: _HIDDEN,
    mistakes={
        "variance for standard deviation": Mistake(
            lambda: np.sign(_HIDDEN) * _HIDDEN**2,
            "You took variances for scales. Var[fᶜ(x)] = aᶜ(x)²·K(x, x), so a scale is the square "
            "root of a variance.",
        ),
        "no signs": Mistake(
            lambda: np.abs(_HIDDEN),
            "The sizes are right and a sign is not. A variance does not show the sign of aᶜ; the "
            "covariance with another class does.",
        ),
        "classes exchanged": Mistake(
            lambda: _HIDDEN[[0, 2, 1]],
            "Classes 2 and 3 have changed places.",
        ),
        "back to front": Mistake(
            lambda: _HIDDEN[:, ::-1],
            "The scales run from right to left: the first of the five numbers belongs to x = −3.",
        ),
        "as it opened": Mistake(
            lambda: _OPENING,
            "These are the flows with which the explorer opens. Move the scales: ∿ beside one of "
            "them shows its five knots.",
        ),
    },
    hints=(
        "Begin on the diagonal: K(x, x) = 1 here, so the variance of class c at x is aᶜ(x)².",
        "The table has variances at the five knots. Their square roots are the sizes of the "
        "scales; signs come from the covariances with f¹. Any one class may be taken as positive.",
        "size = np.sqrt(...) of Var[f¹], Var[f²], Var[f³] in the table, and a minus for class 3.",
    ),
    solution=(
        "joint = target.reshape(3, 25, 3, 25)  # [class, input, class, input]\n"
        "size = np.sqrt([np.diag(joint[c, :, c]) for c in range(3)])  # Var = a²·K(x, x)\n"
        "sign = np.sign([np.diag(joint[0, :, c]) for c in range(3)])  # of Cov[f¹, fᶜ]\n"
        "a1, a2, a3 = (sign * size)[:, ::6]  # every sixth input is a knot\n"
        'shaped = {"a1": a1, "a2": a2, "a3": a3}'
    ),
    explanation=(
        "Variances give the sizes of the scales and covariances their signs, up to one sign for "
        "all: f₀ and −f₀ have the same law, so a and −a give the same covariance."
    ),
)
