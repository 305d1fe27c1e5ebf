"""One idea, one control: the small pictures inside the lessons.

Each function returns an `OneIdea`, whose slider moves a picture and the numbers of a sentence. The
number with a dotted line below it can be dragged in place of the slider.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import softmax
from scipy.stats import norm

from etgp_viz.course.small_figures import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    OneIdea,
    curves,
    dragged,
    number,
    units,
)
from etgp_viz.figures import style
from etgp_viz.records.posterior import Kernel

__all__ = [
    *("be_sure", "bend_every_value", "change_the_kernel", "change_the_lengthscale"),
    *("change_the_variance", "distance_between_beliefs", "draw_again", "from_same_to_different"),
    *("loosen_the_tie", "switch_off_units", "turn_up_the_volume"),
]

_X = np.linspace(-3.0, 3.0, 121)
_COLOURS = (BLUE, ORANGE, GREEN)


def _latent(seed: int = 15) -> np.ndarray:
    """A smooth draw of f₀ on the grid: RBF kernel, lengthscale 0.7 and variance 1."""
    K = np.exp(-0.5 * ((_X[:, None] - _X) / 0.7) ** 2) + 1e-6 * np.eye(len(_X))
    return np.linalg.cholesky(K) @ np.random.default_rng(seed).normal(size=len(_X))


def _three_draws(of_value: Callable[[float], Kernel], highest: float = 3.5) -> Callable:
    """Value → picture of three draws with its kernel and their band; their noise stays the same."""
    noise = np.random.default_rng(3).normal(size=(len(_X), 3))

    def draw(value: float) -> str:
        kernel = of_value(value)
        f = np.linalg.cholesky(kernel(_X, _X) + 1e-6 * np.eye(len(_X))) @ noise
        lines = [(f"draw {i + 1}", f[:, i], _COLOURS[i]) for i in range(3)]
        edge = np.full(len(_X), 1.96 * np.sqrt(kernel.variance))
        return curves(
            _X, lines, "three draws and their band", (-highest, highest), band=(-edge, edge)
        )

    return draw


def change_the_lengthscale() -> OneIdea:
    """Lesson 01: three draws of f₀ with the same noise, smoother or rougher."""

    def say(ell: float) -> str:
        one, rest = np.exp(-0.5 / ell**2), "the band goes from −1.96 to 1.96 at every x."
        return (
            f"With lengthscale {dragged(f'{ell:.1f}')}, values at a distance of 1 have correlation "
            f"{number(f'{one:.2f}')}; {rest}"
        )

    draw = _three_draws(lambda ell: Kernel("rbf", ell))
    return OneIdea(draw, say, "lengthscale ℓ", 0.2, 3.0, 0.1, 1.0)


def change_the_variance() -> OneIdea:
    """Lesson 01: the same draws and their band, higher or lower."""

    def say(variance: float) -> str:
        edge = f"{1.96 * np.sqrt(variance):.2f}"
        return (
            f"With variance {dragged(f'{variance:.2f}')} the standard deviation is "
            f"{number(f'{np.sqrt(variance):.2f}')}, and the band goes from −{number(edge)} to "
            f"{number(edge)}."
        )

    draw = _three_draws(lambda variance: Kernel("rbf", 1.0, variance), highest=6.0)
    return OneIdea(draw, say, "variance σ²", 0.25, 4.0, 0.25, 1.0)


def draw_again() -> OneIdea:
    """Lesson 01: another draw with each position; the band, and how often draws are inside it."""
    K = Kernel("rbf")(_X, _X) + 1e-6 * np.eye(len(_X))
    draws = np.linalg.cholesky(K) @ np.random.default_rng(1).normal(size=(len(_X), 40))
    inside, edge = np.abs(draws[60]) <= 1.96, np.full(len(_X), 1.96)

    def draw(which: float) -> str:
        place = int(which) - 1
        earlier = [("", draws[:, i], "#bbbbbb") for i in range(place)]
        lines = [*earlier, (f"draw {place + 1}", draws[:, place], BLUE)]
        return curves(_X, lines, "a draw among earlier ones", (-3.5, 3.5), band=(-edge, edge))

    def say(which: float) -> str:
        number_inside = int(inside[: int(which)].sum())
        return (
            f"Of the first {dragged(int(which))} draws, {number(number_inside)} are inside the "
            "band at x = 0."
        )

    return OneIdea(draw, say, "draws so far", 1, 40, 1, 1)


def change_the_kernel() -> OneIdea:
    """Lesson 01: three draws with the same noise from kernels of four kinds."""
    kernels = [Kernel(name) for name in ("rbf", "matern32", "matern12")]
    kernels.append(Kernel("periodic", 0.5))
    kinds = (
        "the smoothest of the four: every draw bends gently",
        "rougher: a draw has a slope everywhere, but the slope itself is jagged",
        "the roughest: a draw has no slope anywhere",
        "smooth, and it repeats after two units of x",
    )
    names = [kernel.title for kernel in kernels]

    def say(which: float) -> str:
        return f"The kernel {dragged(names[int(which)])} is {kinds[int(which)]}."

    draw = _three_draws(lambda which: kernels[int(which)])
    return OneIdea(draw, say, "kernel", 0, len(names) - 1, 1, 0, names=names)


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
            f"A value of +1 becomes {dragged(f'{up:+.2f}')}, and a value of −1 becomes "
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
            f"{dragged(f'{right:.2f}')} at the right end, so the standard deviation there is "
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
            f"{dragged(5 - on)} of 5 hidden units {'is' if on == 4 else 'are'} switched off"
            if which
            else f"{dragged('All')} units are on"
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
            f"The largest probability anywhere is {dragged(f'{p.max():.2f}')}; "
            f"{number(seen)} of 3 classes are the likeliest somewhere."
        )

    return OneIdea(draw, say, "how different the flows are", 0.0, 1.0, 0.05, 0.0)


def loosen_the_tie() -> OneIdea:
    """Lesson 09: two classes f₁ ± w·f₂ over x, and their correlation at every x."""
    first, second = _latent(), _latent(seed=4)

    def draw(w: float) -> str:
        lines = [
            ("class 1", first + w * second, BLUE),
            ("class 2", first - w * second, ORANGE),
        ]
        return curves(_X, lines, "two classes made from two latents", (-5.0, 5.0))

    def say(w: float) -> str:
        correlation = (1.0 - w**2) / (1.0 + w**2)
        return (
            f"With weight {dragged(f'{w:.1f}')} on the second latent, the correlation of the two "
            f"classes at one input is {number(f'{correlation:.2f}'.replace('-', '−'))}."
        )

    return OneIdea(draw, say, "weight of the second latent", 0.0, 2.0, 0.1, 0.0)


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
            f"A belief with mean {dragged(f'{mean:.1f}'.replace('-', '−'), RED)} and standard "
            f"deviation {width} costs KL[q ‖ p] = {number(f'{kl(mean):.2f}', RED)} nats."
        )

    return OneIdea(draw, say, "mean of q", -2.5, 2.5, 0.1, 0.0)


def be_sure() -> OneIdea:
    """Lesson 07: what it costs in log-likelihood to give the label a small probability."""
    x = np.linspace(0.005, 1.0, 200)

    def draw(p: float) -> str:
        # The red line goes across at the cost, and down at p.
        lines = [("cost", -np.log(x), style.NEUTRAL), ("", np.where(x <= p, -np.log(p), 0.0), RED)]
        alt = "cost in nats over the probability of the label, falling from left to right"
        return curves(x, lines, alt, (0.0, 5.3), height=220)

    def say(p: float) -> str:
        cost = -np.log(p)
        return (
            f"A label that was given probability {dragged(f'{p:.3f}', RED)} costs "
            f"{number(f'{cost:.2f}', RED)} nats, as much as {number(f'{cost / np.log(2):.1f}')} "
            "coin flips."
        )

    return OneIdea(draw, say, "probability of the label", 0.005, 0.995, 0.005, 0.5)
