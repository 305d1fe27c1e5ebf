"""One idea, one control: the small pictures inside the lessons.

Each function returns an `OneIdea`, whose slider moves a picture and the numbers of a sentence.
"""

import numpy as np
from scipy.special import softmax
from scipy.stats import norm

from etgp_viz.course.small_figures import BLUE, GREEN, ORANGE, RED, OneIdea, curves, number, units
from etgp_viz.figures import style

__all__ = [
    *("bend_every_value", "change_the_lengthscale", "distance_between_beliefs"),
    *("from_same_to_different", "switch_off_units", "turn_up_the_volume"),
]

_X = np.linspace(-3.0, 3.0, 121)
_COLOURS = (BLUE, ORANGE, GREEN)


def _latent(seed: int = 15) -> np.ndarray:
    """A smooth draw of f₀ on the grid: RBF kernel, lengthscale 0.7 and variance 1."""
    K = np.exp(-0.5 * ((_X[:, None] - _X) / 0.7) ** 2) + 1e-6 * np.eye(len(_X))
    return np.linalg.cholesky(K) @ np.random.default_rng(seed).normal(size=len(_X))


def change_the_lengthscale() -> OneIdea:
    """Lesson 01: three draws of f₀ with the same noise, smoother or rougher."""
    noise, edge = np.random.default_rng(3).normal(size=(len(_X), 3)), np.full(len(_X), 1.96)

    def draws(ell: float) -> np.ndarray:
        K = np.exp(-0.5 * ((_X[:, None] - _X) / ell) ** 2) + 1e-6 * np.eye(len(_X))
        return np.linalg.cholesky(K) @ noise

    def draw(ell: float) -> str:
        f = draws(ell)
        lines = [(f"draw {i + 1}", f[:, i], _COLOURS[i]) for i in range(3)]
        return curves(_X, lines, "three draws and their band", (-3.5, 3.5), band=(-edge, edge))

    def say(ell: float) -> str:
        one, rest = np.exp(-0.5 / ell**2), "the band goes from −1.96 to 1.96 at every x."
        return (
            f"With lengthscale {number(f'{ell:.1f}')}, values at a distance of 1 have correlation "
            f"{number(f'{one:.2f}')}; {rest}"
        )

    return OneIdea(draw, say, "lengthscale ℓ", 0.2, 3.0, 0.1, 1.0)


def bend_every_value() -> OneIdea:
    """Lesson 02: one draw, sent through exp(t·f)/t − 1/t, which is f itself as t → 0."""
    f0 = _latent()

    def bent(t: float) -> np.ndarray:
        return f0 if t == 0.0 else np.expm1(t * f0) / t

    def draw(t: float) -> str:
        lines = [("f₀", f0, style.NEUTRAL), ("G(f₀)", bent(t), BLUE)]
        return curves(_X, lines, "a draw and the same draw after a flow", (-2.5, 9.0))

    def say(t: float) -> str:
        up, down = (np.expm1(t * f) / t if t else f for f in (1.0, -1.0))
        return (
            f"A value of +1 becomes {number(f'{up:+.2f}')}, and a value of −1 becomes "
            f"{number(f'{down:+.2f}'.replace('-', '−'))}."
        )

    return OneIdea(draw, say, "how bent the map is", 0.0, 1.2, 0.05, 0.0)


def turn_up_the_volume() -> OneIdea:
    """Lesson 03: f(x) = a(x)·f₀(x) with a scale that grows along x."""
    f0 = _latent()

    def scale(t: float) -> np.ndarray:
        return np.exp(t * _X / 3.0)

    def draw(t: float) -> str:
        lines = [("f₀(x)", f0, style.NEUTRAL), ("f(x)", scale(t) * f0, BLUE)]
        edge = 1.96 * scale(t)
        alt = "a draw and its scaled version, with the band of f"
        return curves(_X, lines, alt, (-6.0, 6.0), band=(-edge, edge))

    def say(t: float) -> str:
        left, right = scale(t)[[0, -1]]
        return (
            f"The scale a(x) goes from {number(f'{left:.2f}')} at the left end to "
            f"{number(f'{right:.2f}')} at the right end, so the standard deviation there is "
            f"{number(f'{right / left:.1f}')} times as large."
        )

    return OneIdea(draw, say, "growth of the scale", 0.0, 1.0, 0.05, 0.0)


def switch_off_units(rate: float = 0.4) -> OneIdea:
    """Lesson 03: a network with five hidden units, drawn with another dropout mask each time."""
    rng = np.random.default_rng(2)
    slopes, offsets, outputs = rng.normal(size=5) * 1.5, rng.normal(size=5), rng.normal(size=5)
    hidden = np.tanh(slopes * _X[:, None] + offsets)

    def mask(which: float) -> np.ndarray:
        if which == 0:
            return np.ones(5)
        return np.random.default_rng(int(which)).random(5) >= rate

    def shift(which: float) -> np.ndarray:
        kept = 1.0 if which == 0 else 1.0 - rate
        return hidden @ (mask(which) / kept * outputs)

    def draw(which: float) -> str:
        on = mask(which)
        alt = f"a network with {int(on.sum())} of its 5 hidden units switched on"
        others = [("", shift(i), "#bbbbbb") for i in range(1, 13)]
        lines = [*others, ("all on", shift(0), style.NEUTRAL), ("b(x)", shift(which), BLUE)]
        net = units([np.ones(1), on, np.ones(1)], alt)
        return net + curves(_X, lines, "the shift that this network outputs", (-4.0, 4.0))

    def say(which: float) -> str:
        on = int(mask(which).sum())
        off = (
            f"{number(5 - on)} of 5 hidden units are switched off" if which else "All units are on"
        )
        return f"{off}; the value at x = 2 is {number(f'{shift(which)[100]:.2f}')}."

    return OneIdea(draw, say, "mask (0: none)", 0, 12, 1, 0)


def from_same_to_different() -> OneIdea:
    """Lesson 04: three classes that share f₀, with flows from equal to different."""
    f0 = _latent()
    scales, shifts = np.array([2.5, 0.2, -2.2]), np.array([-0.8, 0.8, -0.6])

    def probabilities(t: float) -> np.ndarray:
        a, b = 1.0 + t * (scales - 1.0), t * shifts
        return softmax(a * f0[:, None] + b, axis=1)

    def draw(t: float) -> str:
        p = probabilities(t)
        lines = [(f"class {c + 1}", p[:, c], _COLOURS[c]) for c in range(3)]
        return curves(_X, lines, "probabilities of three classes over x", (0.0, 1.0))

    def say(t: float) -> str:
        p = probabilities(t)
        seen = len(set(np.argmax(p, axis=1))) if t else 0
        return (
            f"The largest probability anywhere is {number(f'{p.max():.2f}')}; "
            f"{number(seen)} of 3 classes are the likeliest somewhere."
        )

    return OneIdea(draw, say, "how different the flows are", 0.0, 1.0, 0.05, 0.0)


def distance_between_beliefs() -> OneIdea:
    """Lesson 05: KL[q ‖ p] of two Gaussians, as the belief q moves away from the prior p."""
    z, width = np.linspace(-4.0, 4.0, 161), 0.6

    def kl(mean: float) -> float:
        return float(-np.log(width) + (width**2 + mean**2) / 2.0 - 0.5)

    def draw(mean: float) -> str:
        prior, belief = norm.pdf(z), norm.pdf(z, mean, width)
        lines = [("prior p", prior, style.NEUTRAL), ("belief q", belief, RED)]
        return curves(z, lines, "a prior and a belief", (-0.1, 0.75), height=160)

    def say(mean: float) -> str:
        return (
            f"A belief with mean {number(f'{mean:.1f}', RED)} and standard deviation {width} costs "
            f"KL[q ‖ p] = {number(f'{kl(mean):.2f}', RED)} nats."
        )

    return OneIdea(draw, say, "mean of q", -2.5, 2.5, 0.1, 0.0)
