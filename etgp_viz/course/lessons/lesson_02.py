"""Exercises of lesson 02, warping one GP."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

from etgp_viz.course.answers import ArrayFunction, Numbers
from etgp_viz.course.exercise import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.lesson_02_shape import MATCH, sal_step

__all__ = ["LESSON"]

#: the warped value of this lesson: f₀(x) ~ N(0, 2) through a SAL step with these a, b, d, e
SAL, VARIANCE = (-1.0, 1.6, 1.0, 0.0), 2.0


# 02.1 -----------------------------------------------------------------------------------------


def _prediction(share: float, mean: float) -> dict[str, float]:
    return {"share above 1": share, "mean against 1": mean}


def _exponential() -> tuple[float, float]:
    """P(exp f₀ > 1) and E[exp f₀] for f₀ ~ N(0, 1)."""
    from etgp_viz.core import flows
    from etgp_viz.core.expectations import gauss_hermite

    flow, none = flows.Exp(), np.zeros(0)
    nodes, weights = gauss_hermite(32)
    share = norm.sf(float(flow.inverse(1.0, none)))
    return float(share), float(weights @ flow.forward(nodes, none).numpy())


def _predicted() -> dict[str, float]:
    share, mean = _exponential()
    return _prediction(share, float(np.sign(mean - 1.0)))


PREDICT = Exercise(
    id="02.1",
    kind="predict-then-reveal",
    prompt=(
        "Let f₀(x) be normal with mean 0 and variance 1, and send it through the exponential "
        "function: f(x) = exp(f₀(x)). Zero is the mean of f₀(x), and exp(0) = 1. Guess: which "
        "share of all values f(x) lies above 1 (a number from 0 to 1)? And is the mean of f(x) "
        "below 1 (write -1), equal to 1 (write 0), or above 1 (write 1)?"
    ),
    stub='prediction = {"share above 1": None, "mean against 1": None}',
    name="prediction",
    answer=Numbers(("share above 1", "mean against 1"), tolerance=0.05),
    truth=_predicted,
    mistakes={
        "the mean of G is G of the mean": Mistake(
            lambda: _prediction(0.5, 0),
            "This takes the mean of G(f₀) for G of the mean. Values above zero are stretched by "
            "exp and values below it are squeezed, so the two sides no longer balance at 1.",
        ),
        "squeezed values win": Mistake(
            lambda: _prediction(0.5, -1),
            "Look at a pair of values, f₀ = 1 and f₀ = −1, that are equally likely. The mean of "
            "exp(1) and exp(−1): is it below 1?",
        ),
        "more than half lie above": Mistake(
            lambda: _prediction(norm.cdf(1.0), 1),
            "An increasing map keeps the order: f(x) is above exp(0) exactly when f₀(x) is above "
            "0. How often is that?",
        ),
        "less than half lie above": Mistake(
            lambda: _prediction(norm.sf(1.0), 1),
            "This is the share of f₀ above 1. Ask when exp(f₀) is above 1: when f₀ is above 0.",
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
        "straight line also takes the mean to the mean; a bent map in general does not."
    ),
    reveal=lambda: f"The mean of exp(f₀) is exp(1/2), about {_exponential()[1]:.2f}.",
)


# 02.2 -----------------------------------------------------------------------------------------


def _inputs_of_a_density(rng: np.random.Generator) -> tuple[np.ndarray, Any, np.ndarray]:
    lows, highs = (-0.5, 0.8, 0.5, -0.5), (0.5, 1.3, 1.5, 0.5)
    return rng.uniform(-1.5, 1.5, 4), *sal_step(rng.uniform(lows, highs))


def _density(value: Callable) -> Callable:
    """A log density from what is done with log N(·; 0, 1), g, f = G⁻¹(g) and log |dG/df|."""

    def log_density(g: np.ndarray, flow: Any, params: np.ndarray) -> np.ndarray:
        f = flow.inverse(g, params).numpy()
        return value(norm.logpdf, g, f, lambda at: flow.log_derivative(at, params).numpy())

    return log_density


def _has_mass_one(log_density: Callable) -> bool:
    from etgp_viz.core import flows

    flow = flows.TanhSum(1)
    params = flow.unconstrain(np.array([1.5, 2.0, 0.3])).numpy()
    g = np.linspace(-8.0, 8.0, 2001)
    mass = np.trapezoid(np.exp(np.asarray(log_density(g, flow, params))), g)
    return bool(abs(mass - 1.0) < 1e-3)


DENSITY = Exercise(
    id="02.2",
    kind="write-a-function",
    prompt=(
        "Write `log_density(g, flow, params)`: the logarithm of the density of G(f₀) at the "
        "values in the array `g`, where f₀ is standard normal. Use `flow.inverse(g, params)` and "
        "`flow.log_derivative(f, params)`, and `norm.logpdf` for the standard normal. (`params` "
        "is whatever the flow needs; just hand it on.)"
    ),
    stub="def log_density(g, flow, params):\n    return ...",
    name="log_density",
    answer=ArrayFunction(
        "log_density",
        ("g", "flow", "params"),
        ("log densities",),
        _inputs_of_a_density,
        tolerance=1e-6,
        shape=(4,),
    ),
    truth=lambda: _density(lambda log_p, g, f, log_slope: log_p(f) - log_slope(f)),
    mistakes={
        "sign of the log-derivative": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(f) + log_slope(f)),
            "The sign of the log-derivative is wrong. Where G is steep, it pulls values apart, and "
            "the density becomes lower: subtract.",
        ),
        "no log-derivative": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(f)),
            "The log-derivative is missing. You have the density at the right place, but not yet "
            "how much the map stretches there; your density does not have mass one.",
        ),
        "slope at the wrong place": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(f) - log_slope(g)),
            "The slope dG/df is wanted at f = G⁻¹(g), not at g.",
        ),
        "no inverse": Mistake(
            lambda: _density(lambda log_p, g, f, log_slope: log_p(g) - log_slope(g)),
            "The inverse is missing: g is a value after the flow. Ask first which f it came from.",
        ),
    },
    hints=(
        "Three steps: go back to f, take the density there, correct for the stretching.",
        "f = flow.inverse(g, params); then log N(f; 0, 1) and log |dG/df| at this f.",
        "Stretching makes a density lower, so subtract: norm.logpdf(f) - "
        "flow.log_derivative(f, params)",
    ),
    solution=(
        "def log_density(g, flow, params):\n"
        "    f = flow.inverse(g, params)\n"
        "    return norm.logpdf(f) - flow.log_derivative(f, params)"
    ),
    explanation=(
        "The mass in a small interval stays the same while the interval becomes |dG/df| times as "
        "long, and so the density is divided by |dG/df|. In logarithms: subtracted."
    ),
    properties={"For a TANH flow the density has mass one.": _has_mass_one},
)


# 02.3 -----------------------------------------------------------------------------------------


def _lotus(scale: float = np.sqrt(VARIANCE), power: float = 0.5) -> dict[str, float]:
    """Mean and (variance to some power) of G(scale·z), z ~ N(0, 1), by quadrature."""
    from etgp_viz.core.expectations import gauss_hermite

    flow, params = sal_step(SAL)
    nodes, weights = gauss_hermite(32)
    g = flow.forward(scale * nodes, params).numpy()
    mean = float(weights @ g)
    return {"mean": mean, "standard deviation": float(weights @ (g - mean) ** 2) ** power}


EXPECT = Exercise(
    id="02.3",
    kind="numeric",
    prompt=(
        "Now f₀(x) has mean 0 and variance 2, and `flow` with `params` is the one of the setup "
        "cell. Compute the mean and the standard deviation of the warped value "
        "f(x) = G(f₀(x)) by LOTUS, with the nodes and weights below, which are made for a "
        "*standard* normal variable."
    ),
    stub=('nodes, weights = gauss_hermite(32)\nmoments = {"mean": ..., "standard deviation": ...}'),
    name="moments",
    answer=Numbers(("mean", "standard deviation"), tolerance=0.02),
    truth=_lotus,
    mistakes={
        "G of the mean": Mistake(
            lambda: _lotus() | {"mean": _lotus(scale=0.0)["mean"]},
            "This mean is G(0), the image of the mean. LOTUS averages the images, and "
            "for a bent G that is in general another number.",
        ),
        "nodes not scaled": Mistake(
            lambda: _lotus(scale=1.0),
            "The nodes are those of N(0, 1). Stretch them to N(0, 2) first.",
        ),
        "variance for standard deviation in the nodes": Mistake(
            lambda: _lotus(scale=VARIANCE),
            "You multiplied the nodes by the variance 2. A normal variable is stretched by its "
            "standard deviation, √2.",
        ),
        "variance for standard deviation in the answer": Mistake(
            lambda: _lotus(power=1.0),
            "This is the variance of f(x). Take its root.",
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
        "No density of f(x) was needed, and no inverse: the average runs over f₀, whose law is "
        "simple."
    ),
)


# 02.5 -----------------------------------------------------------------------------------------


def _covariances() -> tuple[np.ndarray, np.ndarray]:
    """Of f₀ and of f = G(f₀) at the inputs 0 and 1."""
    from etgp_viz.records import flow as flow_records
    from etgp_viz.records import prior

    x, (flow, params) = np.array([0.0, 1.0]), sal_step(SAL)
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
            "These are covariances. Divide each by the two standard deviations, which here means "
            "by the variance on the diagonal.",
        ),
        "the latent's variance": Mistake(
            lambda: _correlations(lambda K, warped: warped[0, 1] / K[0, 0]),
            "After the flow the variance is another one: divide by the diagonal of warped, not by "
            "that of K. A correlation never exceeds 1.",
        ),
        "unchanged": Mistake(
            lambda: _correlations(lambda K, warped: K[0, 1] / K[0, 0]),
            "The ranks stay, and the copula stays, but the correlation does not: it measures how "
            "well a straight line fits, and the flow is none.",
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
        "A bent map lowers the size of the correlation, although it leaves every rank in its "
        "place. Correlation belongs to the marginals and the copula together."
    ),
)


LESSON = Lesson(
    number="02",
    title="Warping one GP",
    setup=(
        "import numpy as np\n"
        "from scipy.stats import norm\n\n"
        "from etgp_viz import flows, prior\n"
        "from etgp_viz.records import flow as flow_records\n"
        "from etgp_viz.course import check, hint, progress, solution\n"
        "from etgp_viz.core.expectations import gauss_hermite\n\n"
        "flow = flows.SinhArcsinh()\n"
        f"params = flow.unconstrain({list(SAL)}).numpy()  # a, b, d, e"
    ),
    exercises=(PREDICT, DENSITY, EXPECT, MATCH, CORRELATE),
    teaching={
        "": (
            "About 50 minutes: Predict 5, Play 8, Derive 12, LOTUS 8, Shape a marginal 7, copula "
            "8. Short of time? Leave out *Shape a marginal*, which is also good homework."
        ),
        "Play": (
            "With *present* on, show the preset *Two levels* and ask: could any Gaussian process "
            "have this density? Then *Upside down*, and ask what the marginal notices (nothing)."
        ),
        "Derive": (
            "What students get wrong: the sign of the log-derivative, and where it is taken. Let "
            "them draw two tick marks before and after a steep map: same mass, longer interval."
        ),
        "Code: LOTUS, averages without a density": (
            "Ask the room for the mean of exp(f₀) before you compute it; most say 1. Two "
            "equally likely values, −1 and 1, settle it in a minute."
        ),
        "What a flow leaves alone": (
            "For discussion: somebody reports that two stocks have correlation 0.6. What else do "
            "you need to know before you can say how they move together in a crash?"
        ),
    },
)
