"""Exercises of lesson 02, warping one GP."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import trapezoid
from scipy.special import ndtr, ndtri

from etgp_viz.course.answers import ArrayFunction, InvalidAnswer, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.concepts import SAMPLING

__all__ = ["LESSON"]

#: skew, tails, scale and shift of the SAL step of this lesson; the variance of f₀(x)
SAL, VARIANCE = (-1.0, 1.6, 1.0, 0.0), 2.0


def _sal_step(values: Sequence[float] | np.ndarray) -> tuple[Any, np.ndarray]:
    """A SAL step, and its raw parameters."""
    from etgp_viz.core import flows

    flow = flows.SinhArcsinh()
    return flow, flow.unconstrain(np.array(values, dtype=float)).numpy()


# 02.1 -----------------------------------------------------------------------------------------


_PREDICTION = Numbers(("share above 1", "mean against 1"), tolerance=0.05)


def _exponential() -> tuple[float, float]:
    """P(exp f₀ > 1) and E[exp f₀] for f₀ ~ N(0, 1)."""
    from etgp_viz.core import flows
    from etgp_viz.core.expectations import gauss_hermite

    flow, none = flows.Exp(), np.zeros(0)
    nodes, weights = gauss_hermite(32)
    share = ndtr(-float(flow.inverse(1.0, none)))
    return float(share), float(weights @ flow.forward(nodes, none).numpy())


def _true_prediction() -> dict[str, float]:
    share, mean = _exponential()
    return _PREDICTION.named(share, float(np.sign(mean - 1.0)))


PREDICT = Exercise(
    id="02.1",
    kind="predict-then-reveal",
    prompt=(
        "Let f₀(x) be normal with mean 0 and variance 1, and send it through the exponential "
        "function: f(x) = exp(f₀(x)). Zero is the mean of f₀(x), and exp(0) = 1. Predict two "
        "things. What share of all values f(x) lies above 1 (a number from 0 to 1)? And is the "
        "mean of f(x) below 1 (write -1), equal to 1 (write 0), or above 1 (write 1)?"
    ),
    stub='prediction = {"share above 1": None, "mean against 1": None}',
    name="prediction",
    answer=_PREDICTION,
    truth=_true_prediction,
    mistakes={
        "the mean of G is G of the mean": Mistake(
            lambda: _PREDICTION.named(0.5, 0),
            "You took G of the mean for the mean of G(f₀). exp stretches values above zero and "
            "squeezes values below it, so the two sides no longer balance at 1.",
        ),
        "squeezed values win": Mistake(
            lambda: _PREDICTION.named(0.5, -1),
            "Take two values that are equally likely, f₀ = 1 and f₀ = −1. Is the mean of exp(1) "
            "and exp(−1) below 1?",
        ),
        "more than half lie above": Mistake(
            lambda: _PREDICTION.named(ndtr(1.0), 1),
            "An increasing map keeps the order: f(x) is above exp(0) exactly when f₀(x) is above "
            "0. How often is that?",
        ),
        "less than half lie above": Mistake(
            lambda: _PREDICTION.named(ndtr(-1.0), 1),
            "This is the share of f₀ above 1. But exp(f₀) is above 1 as soon as f₀ is above 0.",
        ),
    },
    hints=(
        "Share: for which values of f₀ is exp(f₀) above 1?",
        "Mean: take two equally likely values, f₀ = −1 and f₀ = 1, and average their images.",
        "exp(1) is about 2.7 and exp(−1) about 0.4; their mean is not 1. And half of all f₀ are "
        "above 0.",
    ),
    solution='prediction = {"share above 1": 0.5, "mean against 1": 1}',
    explanation=(
        "An increasing map takes the median to the median: half of the values stay above. A "
        "straight line also takes the mean to the mean; a curved map in general does not."
    ),
    reveal=lambda: f"The mean of exp(f₀) is exp(1/2), about {_exponential()[1]:.2f}.",
)


# 02.2 -----------------------------------------------------------------------------------------


def _density_inputs(rng: np.random.Generator) -> tuple[np.ndarray, Any, np.ndarray]:
    lows, highs = (-0.5, 0.8, 0.5, -0.5), (0.5, 1.3, 1.5, 0.5)
    return rng.uniform(-1.5, 1.5, 4), *_sal_step(rng.uniform(lows, highs))


def _log_normal(f: np.ndarray) -> np.ndarray:
    return -0.5 * (f**2 + np.log(2.0 * np.pi))


def _density(value: Callable) -> Callable:
    """A log density that combines log N(·; 0, 1), g, f = G⁻¹(g) and log |dG/df| in its own way."""

    def log_density(g: np.ndarray, flow: Any, params: np.ndarray) -> np.ndarray:
        f = flow.inverse(g, params).numpy()
        return value(_log_normal, g, f, lambda at: flow.log_derivative(at, params).numpy())

    return log_density


def _has_mass_one(log_density: Callable) -> bool:
    from etgp_viz.core import flows

    flow = flows.TanhSum(1)
    params = flow.unconstrain(np.array([1.5, 2.0, 0.3])).numpy()
    g = np.linspace(-8.0, 8.0, 2001)
    mass = trapezoid(np.exp(np.asarray(log_density(g, flow, params))), g)
    return bool(abs(mass - 1.0) < 1e-3)


DENSITY = Exercise(
    id="02.2",
    kind="write-a-function",
    prompt=(
        "Write `log_density(g, flow, params)`: the logarithm of the density of G(f₀) at the "
        "values in the array `g`, where f₀ is standard normal. Use `flow.inverse(g, params)` and "
        "`flow.log_derivative(f0, params)`, and `norm.logpdf` for the standard normal. (`params` "
        "is whatever the flow needs; just pass it on.)"
    ),
    stub="def log_density(g, flow, params):\n    return ...",
    name="log_density",
    answer=ArrayFunction(
        "log_density",
        ("g", "flow", "params"),
        ("log densities",),
        _density_inputs,
        tolerance=1e-6,
        shape=(4,),
    ),
    truth=lambda: _density(lambda log_p, g, f, log_slope: log_p(f) - log_slope(f)),
    mistakes={
        "sign of the log-derivative": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(f) + log_slope(f)),
            "The sign of the log-derivative is wrong. Where G is steep it pulls values apart, "
            "which lowers the density: subtract.",
        ),
        "no log-derivative": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(f)),
            "The log-derivative is missing. You evaluate the density at the right place, but you "
            "do not correct for how much the map stretches there, so your density does not have "
            "mass one.",
        ),
        "slope at the wrong place": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(f) - log_slope(g)),
            "Take the slope dG/df₀ at f₀ = G⁻¹(g), not at g.",
        ),
        "no inverse": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(g) - log_slope(g)),
            "The inverse is missing: g is a value after the flow. First find the f₀ that it came "
            "from.",
        ),
    },
    hints=(
        "Three steps: go back to f₀, take the density there, correct for the stretching.",
        "f0 = flow.inverse(g, params); then log N(f₀; 0, 1) and log |dG/df₀| at this f₀.",
        "Stretching makes a density lower, so subtract: norm.logpdf(f0) - "
        "flow.log_derivative(f0, params)",
    ),
    solution=(
        "def log_density(g, flow, params):\n"
        "    f0 = flow.inverse(g, params)\n"
        "    return norm.logpdf(f0) - flow.log_derivative(f0, params)"
    ),
    explanation=(
        "The mass in a small interval stays the same while the interval becomes |dG/df₀| times as "
        "long, so the density is divided by |dG/df₀|. In logarithms, this is a subtraction."
    ),
    properties={"For a TANH flow the density has mass one.": _has_mass_one},
)


# 02.3 -----------------------------------------------------------------------------------------


def _lotus(scale: float = np.sqrt(VARIANCE), power: float = 0.5) -> dict[str, float]:
    """Mean and (variance to some power) of G(scale·z), z ~ N(0, 1), by quadrature."""
    from etgp_viz.core.expectations import gauss_hermite

    flow, params = _sal_step(SAL)
    nodes, weights = gauss_hermite(32)
    g = flow.forward(scale * nodes, params).numpy()
    mean = float(weights @ g)
    return {"mean": mean, "standard deviation": float(weights @ (g - mean) ** 2) ** power}


EXPECT = Exercise(
    id="02.3",
    kind="numeric",
    prompt=(
        "Now f₀(x) has mean 0 and variance 2, and `flow` and `params` are those of the setup "
        "cell. Compute the mean and the standard deviation of the warped value f(x) = G(f₀(x)) by "
        "LOTUS, with the nodes and weights below, which belong to a *standard* normal variable."
    ),
    stub=('nodes, weights = gauss_hermite(32)\nmoments = {"mean": ..., "standard deviation": ...}'),
    name="moments",
    answer=Numbers(("mean", "standard deviation"), tolerance=0.02),
    truth=_lotus,
    mistakes={
        "G of the mean": Mistake(
            lambda: _lotus() | {"mean": _lotus(scale=0.0)["mean"]},
            "This mean is G(0), the image of the mean. LOTUS averages the images, and for a "
            "curved G that is in general a different number.",
        ),
        "nodes not scaled": Mistake(
            lambda: _lotus(scale=1.0), "The nodes belong to N(0, 1). Scale them to N(0, 2) first."
        ),
        "variance for standard deviation in the nodes": Mistake(
            lambda: _lotus(scale=VARIANCE),
            "You multiplied the nodes by the variance 2. Scale a normal variable by its standard "
            "deviation, √2.",
        ),
        "variance for standard deviation in the answer": Mistake(
            lambda: _lotus(power=1.0), "This is the variance of f(x). Take its root."
        ),
    },
    hints=(
        "E[h(f)] = E[h(G(f₀))]: send the nodes through G, and average with the weights.",
        "The nodes of f₀ are np.sqrt(2) * nodes. For the mean h is g itself, for the variance "
        "(g − mean)².",
        "g = flow.forward(np.sqrt(2) * nodes, params).numpy(); mean = weights @ g; then "
        "np.sqrt(weights @ (g - mean) ** 2)",
    ),
    solution=(
        "nodes, weights = gauss_hermite(32)\n"
        "g = flow.forward(np.sqrt(2) * nodes, params).numpy()\n"
        "mean = weights @ g\n"
        'moments = {"mean": mean, "standard deviation": np.sqrt(weights @ (g - mean) ** 2)}'
    ),
    explanation=(
        "You needed neither the density of f(x) nor an inverse: the average runs over f₀, whose "
        "distribution is simple."
    ),
)


# 02.4 -----------------------------------------------------------------------------------------

TARGET = (-1.0, 0.0, 3.0)
_QUANTILES = ("lower edge of the band (2.5 %)", "median", "upper edge of the band (97.5 %)")


@dataclass(frozen=True)
class Quantiles(Numbers):
    """Skew, scale and shift of a SAL step with tails 1, judged by the quantiles they give.

    Errors are relative to the distance of the outer quantiles.
    """

    def read(self, answer: Any) -> np.ndarray:
        """The three quantiles of G(f₀), f₀ ~ N(0, 1), as ``[1, 3]``."""
        a, d, e = super().read(answer)[0]
        if d <= 0.0:
            raise InvalidAnswer(f"Expected a scale above zero, got {d:g}")
        flow, params = _sal_step((a, 1.0, d, e))
        return flow.forward(ndtri([0.025, 0.5, 0.975]), params).numpy()[None]

    def sizes(self, values: np.ndarray) -> np.ndarray:
        return np.ptp(values, axis=1, keepdims=True)

    def describe_error(self, row: int, part: int, got: float, truth: float) -> str:
        error = f"{abs(got - truth):.2f} too {'high' if got > truth else 'low'}"
        return f"The {_QUANTILES[part]} is {got:.2f} and should be {truth:.2f}: {error}."


def _shape(low: float, median: float, high: float) -> dict[str, float]:
    """The skew a, scale d and shift e with which a SAL step with tails 1 has these quantiles.

    sinh(asinh f − a) = f cosh a − √(1 + f²) sinh a, and the quantiles lie at f = −z, 0 and z.
    """
    z = ndtri(0.975)
    stretch = (high - low) / (2 * z)  # d cosh a
    bend = ((low + high) / 2 - median) / (np.sqrt(1 + z**2) - 1)  # −d sinh a
    a = -np.arctanh(bend / stretch)
    return {"skew": a, "scale": stretch / np.cosh(a), "shift": median - bend}


def _with_changes(**changed: Callable[[float], float]) -> dict[str, float]:
    """The right numbers, some of them changed."""
    right = _shape(*TARGET)
    return right | {name: change(right[name]) for name, change in changed.items()}


MATCH = Exercise(
    id="02.4",
    kind="match-the-target",
    prompt=(
        "Leave *tails b* at 1, and move *skew a*, *scale d* and *shift e* of the explorer until "
        "the blue band goes from −1 to 3, with the median at 0. Then write down the values of "
        "your three sliders. (You may also compute them.) Within 0.12 is close enough."
    ),
    stub='sliders = {"skew": ..., "scale": ..., "shift": ...}',
    name="sliders",
    answer=Quantiles(("skew", "scale", "shift"), tolerance=0.03),
    truth=lambda: _shape(*TARGET),
    mistakes={
        "no skew": Mistake(
            lambda: _shape(-1.0, 1.0, 3.0),
            "The band is right, but the median lies in its middle, at 1. Scale and shift alone "
            "cannot change that: you need a skew.",
        ),
        "skewed to the wrong side": Mistake(
            lambda: _shape(-1.0, 2.0, 3.0),
            "The band is right, but it is skewed to the wrong side: the long tail should point "
            "upwards. A smaller skew lengthens the upper tail.",
        ),
        "shift forgotten": Mistake(
            lambda: _with_changes(shift=lambda shift: 0.0),
            "Skew and scale are right. Skewing also moves the median, so move it back with the "
            "shift.",
        ),
        "sign of the shift": Mistake(
            lambda: _with_changes(shift=lambda shift: -shift),
            "Skew and scale are right, but the shift has the wrong sign.",
        ),
    },
    hints=(
        "A negative skew lengthens the upper tail. Begin with it, then set the other two.",
        "The shift moves all three quantiles by the same amount, so first get the two distances "
        "right: 1 from the lower edge to the median, 3 from the median to the upper edge.",
        "The ratio of the two distances depends only on the skew: it is 3 for a skew between −1.2 "
        "and −1.1. Then the scale sets their size, and the shift the median.",
    ),
    solution=(
        "low, median, high = -1, 0, 3\n"
        "z = norm.ppf(0.975)\n"
        "stretch = (high - low) / (2 * z)  # scale·cosh(skew)\n"
        "bend = ((low + high) / 2 - median) / (np.sqrt(1 + z**2) - 1)  # -scale·sinh(skew)\n"
        "a = -np.arctanh(bend / stretch)\n"
        'sliders = {"skew": a, "scale": stretch / np.cosh(a), "shift": median - bend}'
    ),
    explanation=(
        "G takes quantiles to quantiles, so three quantiles are three equations for three numbers: "
        "with tails 1, G(f₀) = scale·(f₀·cosh(skew) − √(1 + f₀²)·sinh(skew)) + shift."
    ),
)


# 02.5 -----------------------------------------------------------------------------------------


def _covariances() -> tuple[np.ndarray, np.ndarray]:
    """Of f₀ and of f = G(f₀) at the inputs 0 and 1."""
    from etgp_viz.records import flow as flow_records
    from etgp_viz.records import prior

    x, (flow, params) = np.array([0.0, 1.0]), _sal_step(SAL)
    K = prior.covariance_matrix(prior.kernel("rbf", 1.0, VARIANCE), x)
    return K, flow_records.covariance(x, K, flow, np.tile(params, (2, 1))).values


def _correlations(entry: Callable = lambda K, warped: warped[0, 1] / warped[0, 0]) -> dict:
    K, warped = _covariances()
    return {"before": K[0, 1] / K[0, 0], "after": entry(K, warped)}


CORRELATE = Exercise(
    id="02.5",
    kind="numeric",
    prompt=(
        "The matrix `K` holds the covariances of f₀ at the inputs 0 and 1, and `warped` those of "
        "f = G(f₀). Compute the *correlation* of the two values before the flow and after it."
    ),
    stub=(
        "x = np.array([0.0, 1.0])\n"
        'K = prior.covariance_matrix(prior.kernel("rbf", 1.0, 2.0), x)\n'
        "warped = flow_records.covariance(x, K, flow, np.tile(params, (2, 1))).values\n"
        'correlation = {"before": ..., "after": ...}'
    ),
    name="correlation",
    answer=Numbers(("before", "after"), tolerance=0.02),
    truth=_correlations,
    mistakes={
        "covariance for correlation": Mistake(
            lambda: {"before": _covariances()[0][0, 1], "after": _covariances()[1][0, 1]},
            "These are covariances. Divide each of them by the two standard deviations; here that "
            "is the variance on the diagonal.",
        ),
        "the latent's variance": Mistake(
            lambda: _correlations(lambda K, warped: warped[0, 1] / K[0, 0]),
            "The flow changes the variance: divide by the diagonal of warped, not by that of K. A "
            "correlation never exceeds 1.",
        ),
        "unchanged": Mistake(
            lambda: _correlations(lambda K, warped: K[0, 1] / K[0, 0]),
            "The flow keeps the ranks and the copula, but not the correlation: that measures how "
            "well a straight line fits, and the flow is not a straight line.",
        ),
    },
    hints=(
        "Correlation = covariance / (standard deviation × standard deviation).",
        "Both inputs have the same variance, so divide the entry [0, 1] by the entry [0, 0].",
        "K[0, 1] / K[0, 0] before, and the same with warped after.",
    ),
    solution=(
        "x = np.array([0.0, 1.0])\n"
        'K = prior.covariance_matrix(prior.kernel("rbf", 1.0, 2.0), x)\n'
        "warped = flow_records.covariance(x, K, flow, np.tile(params, (2, 1))).values\n"
        'correlation = {"before": K[0, 1] / K[0, 0], "after": warped[0, 1] / warped[0, 0]}'
    ),
    explanation=(
        "A curved map makes the correlation smaller in size, although it keeps every rank. "
        "Correlation depends on the marginals and the copula together."
    ),
)


LESSON = Lesson(
    number="02",
    title="Warping one GP",
    setup=(
        "import numpy as np\n"
        "from scipy.stats import norm\n\n"
        "from etgp_viz import flows, prior\n"
        "from etgp_viz.core.expectations import gauss_hermite\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up\n"
        "from etgp_viz.records import flow as flow_records\n\n"
        "flow = flows.SinhArcsinh()\n"
        f"params = flow.unconstrain({list(SAL)}).numpy()  # skew, tails, scale, shift"
    ),
    exercises=(PREDICT, DENSITY, EXPECT, MATCH, CORRELATE, SAMPLING),
    teaching={
        "": (
            "**Timing** (60 minutes): Touch 3, warm-up 2, Predict 5, Play 8, Derive with 02.2 12, "
            "LOTUS with 02.3 10, Shape a marginal 7, What a flow leaves alone with 02.5 8, Check "
            "3, Reflect 2.\n\n"
            "**One question, asked twice.** The lesson asks what a flow changes and what it "
            "leaves alone, first of one value and then of two. The halves need each other: that "
            "correlations change while ranks stay is a surprise only to somebody who has just "
            "seen the marginals change. With 30-minute slots, stop after LOTUS. *Shape a "
            "marginal* is also good homework."
        ),
        "Play": (
            "With *present* on, show the preset *Two levels* and ask: could any Gaussian process "
            "have this density? Then *Upside down*, and ask what changes in the marginal "
            "(nothing)."
        ),
        "Derive": (
            "What students get wrong: the sign of the log-derivative, and where it is taken. Let "
            "them draw two tick marks before and after a steep map: same mass, longer interval."
        ),
        "Code: LOTUS, averages without a density": (
            "Ask the class for the mean of exp(f₀) before you compute it; most say 1. Two equally "
            "likely values, −1 and 1, settle it in a minute."
        ),
        "What a flow leaves alone": (
            "For discussion: somebody reports that two stocks have correlation 0.6. What else do "
            "you need to know before you can say how they move together in a crash?"
        ),
    },
)
