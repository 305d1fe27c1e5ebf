"""GP regression: what observations say about a function, by conditioning a joint Gaussian.

Plain NumPy, without TensorFlow. With K = k(X, X) + σₙ²·I = L·Lᵀ for n observations Y at inputs X,

    mean of f₀(x) given Y      k(x, X) K⁻¹ Y
    variance of f₀(x) given Y  k(x, x) − k(x, X) K⁻¹ k(X, x)
    log p(Y)                   −½ Yᵀ K⁻¹ Y − Σᵢ log Lᵢᵢ − (n/2) log 2π

>>> kernel = Kernel("rbf", lengthscale=1.0) + Kernel("linear", variance=0.5)
>>> kernel(np.array([0.0, 1.0]), np.array([2.0])).round(3)
array([[0.135],
       [1.607]])
>>> known = condition(Kernel("rbf"), np.array([0.0]), np.array([1.5]))
>>> mean, variance = known.predict(np.array([0.0, 1.0, 9.0]))
>>> mean.round(2), variance.round(2)
(array([1.5 , 0.91, 0.  ]), array([0.  , 0.63, 1.  ]))
>>> round(known.log_marginal_likelihood, 3)
-2.044
>>> record = functions(known, np.linspace(-3, 3, 61), noise=turned_noise(0, 30.0, 2, 61, 1))
>>> record.draws.shape, record.draws[:, 30].round(1)  # both pass through the observation
((2, 61), array([1.5, 1.5]))
>>> search = evidence(known, "lengthscale", np.geomspace(0.1, 5.0, 20))
>>> search.log_likelihood.shape
(20,)
>>> covariance_with(Kernel("matern12"), np.array([0.0, 1.0]), at=1.0).values.round(3)
array([0.368, 1.   ])
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import minimize_scalar

from etgp_viz.checks import check_choice, check_nonnegative, check_positive

__all__ = [
    *("JITTER", "KERNELS", "NOISE_FLOOR", "Combination", "Conditioned", "Evidence", "Functions"),
    *("Kernel", "Slice", "condition", "covariance_with", "evidence", "functions", "turned_noise"),
]

# The smallest standard deviation of the noise, as in GPflow (a variance of 10⁻⁶): two observations
# at one input, or very close ones, would otherwise make K singular. No eye sees it.
NOISE_FLOOR = 1e-3
# Added to the diagonal before draws from the prior, as a share of its mean; no eye sees it either.
JITTER = 1e-6

#: kernels by name → what they are called
KERNELS = {
    "rbf": "RBF (very smooth)",
    "matern52": "Matérn 5/2",
    "matern32": "Matérn 3/2",
    "matern12": "Matérn 1/2 (rough)",
    "periodic": "periodic",
    "linear": "linear (straight lines)",
}


class _Combines:
    """Kernels can be added and multiplied: the result is a kernel again."""

    def __add__(self, other: "AnyKernel") -> "Combination":
        return Combination(self, "+", other)  # type: ignore[arg-type]

    def __mul__(self, other: "AnyKernel") -> "Combination":
        return Combination(self, "×", other)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Kernel(_Combines):
    """A kernel of one input, by its name in `KERNELS`; a call gives its matrix ``[N, M]``.

    With d = |x − x′|, ℓ the lengthscale and σ² the variance it is σ² times

    - rbf: exp(−d²/2ℓ²); periodic with period p: exp(−sin²(πd/p)/2ℓ²); linear: x·x′;
    - matern12, matern32, matern52: a polynomial in r = √(2ν)·d/ℓ times exp(−r), ν = 1/2, 3/2, 5/2.

    The linear kernel has no lengthscale: its draws are straight lines through the origin with
    slopes of variance σ².

    Examples
    --------
    >>> kernel = Kernel("matern32", lengthscale=0.5)
    >>> kernel.title, kernel(np.array([0.0]), np.array([0.0, 9.0])).round(3)
    ('Matérn 3/2', array([[1., 0.]]))
    """

    name: str  # a key of `KERNELS`
    lengthscale: float = 1.0  # ℓ
    variance: float = 1.0  # σ²
    period: float = 2.0  # p

    def __post_init__(self) -> None:
        check_choice(self.name, "name", tuple(KERNELS))
        for field in ("lengthscale", "variance", "period"):
            check_positive(getattr(self, field), field)

    @property
    def title(self) -> str:
        """Its name in words, such as "Matérn 3/2"."""
        return KERNELS[self.name].partition(" (")[0]

    def __call__(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        x, z = np.asarray(x, float)[:, None], np.asarray(z, float)[None, :]
        if self.name == "linear":
            return self.variance * x * z
        return self.variance * self._correlation(np.abs(x - z))

    def _correlation(self, d: np.ndarray) -> np.ndarray:
        if self.name == "rbf":
            return np.exp(-0.5 * (d / self.lengthscale) ** 2)
        if self.name == "periodic":
            return np.exp(-0.5 * (np.sin(np.pi * d / self.period) / self.lengthscale) ** 2)
        twice_nu = {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}[self.name]
        r = np.sqrt(twice_nu) * d / self.lengthscale
        polynomial = 1.0 + (r if twice_nu > 1.0 else 0.0) + (r**2 / 3.0 if twice_nu > 3.0 else 0.0)
        return polynomial * np.exp(-r)


@dataclass(frozen=True)
class Combination(_Combines):
    """The sum ("+") or the product ("×") of two kernels.

    Examples
    --------
    >>> kernel = Kernel("linear") + Kernel("rbf")
    >>> type(kernel).__name__, kernel.title
    ('Combination', 'linear + RBF')
    """

    left: "AnyKernel"  # a `Kernel` or a `Combination`
    sign: str  # "+" or "×"
    right: "AnyKernel"  # as the left one

    def __post_init__(self) -> None:
        check_choice(self.sign, "sign", ("+", "×"))

    @property
    def title(self) -> str:
        """Both names, such as "linear + RBF"."""
        return f"{self.left.title} {self.sign} {self.right.title}"

    def __call__(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        left, right = self.left(x, z), self.right(x, z)
        return left + right if self.sign == "+" else left * right


AnyKernel = Kernel | Combination


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A Gaussian process with mean zero, and n noisy observations of it; see `condition`.

    Examples
    --------
    >>> known = condition(Kernel("rbf"), np.array([0.0]), np.array([1.5]), noise=1.0)
    >>> mean, variance = known.predict(np.array([0.0, 9.0]))
    >>> mean.round(2) + 0.0, variance.round(2)  # half-way to Y, and the prior far away
    (array([0.75, 0.  ]), array([0.5, 1. ]))
    >>> known.root.round(3), known.weights(known.Y).round(3)
    (array([[1.414]]), array([0.75]))
    >>> round(known.log_marginal_likelihood, 3)
    -1.828
    """

    kernel: AnyKernel  # k
    X: np.ndarray  # inputs [n]
    Y: np.ndarray  # observations [n]
    noise: float  # standard deviation of the noise σₙ, at least `NOISE_FLOOR`

    @cached_property
    def root(self) -> np.ndarray:
        """L with L·Lᵀ = k(X, X) + σₙ²·I, ``[n, n]``."""
        K = self.kernel(self.X, self.X)
        return np.linalg.cholesky(K + self.noise**2 * np.eye(len(K)))

    def weights(self, residuals: np.ndarray) -> np.ndarray:
        """K⁻¹ times each row of the residuals ``[..., n]``, of the same shape."""
        return np.linalg.solve(self.root.T, np.linalg.solve(self.root, residuals.T)).T

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f₀ at new inputs x ``[N]`` given the observations, ``[N]`` each."""
        cross = self.kernel(self.X, x)
        explained = np.linalg.solve(self.root, cross)
        variance = _variances(self.kernel, x) - np.sum(explained**2, axis=0)
        return self.weights(self.Y) @ cross, np.maximum(variance, 0.0)  # no rounding below zero

    @property
    def log_marginal_likelihood(self) -> float:
        """log p(Y) in nats: how well kernel and noise predicted the observations beforehand."""
        fit = -0.5 * self.Y @ self.weights(self.Y)
        complexity = np.sum(np.log(np.diag(self.root)))
        return float(fit - complexity - 0.5 * len(self.Y) * np.log(2.0 * np.pi))


def _variances(kernel: AnyKernel, x: np.ndarray) -> np.ndarray:
    """k(x, x) at each input ``[N]``."""
    if isinstance(kernel, Combination):
        left, right = _variances(kernel.left, x), _variances(kernel.right, x)
        return left + right if kernel.sign == "+" else left * right
    square = np.asarray(x, float) ** 2 if kernel.name == "linear" else np.ones(len(x))
    return kernel.variance * square


def condition(kernel: AnyKernel, X: np.ndarray, Y: np.ndarray, noise: float = 0.0) -> Conditioned:
    """A Gaussian process given observations Yᵢ = f₀(Xᵢ) + noise.

    Parameters
    ----------
    kernel : a `Kernel`, or a sum or product of kernels
    X, Y : inputs and observations ``[n]``; n may be 0, which leaves the prior
    noise : the standard deviation of the noise; `NOISE_FLOOR` is used for anything smaller

    Returns
    -------
    a `Conditioned` process, with `predict` and `log_marginal_likelihood`
    """
    X, Y = np.asarray(X, dtype=float), np.asarray(Y, dtype=float)
    if X.ndim != 1 or X.shape != Y.shape:
        raise ValueError(f"X, Y: expected two arrays [n], got shapes {X.shape} and {Y.shape}")
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(Y))):
        raise ValueError("X, Y: expected finite numbers, got one that is not")
    return Conditioned(kernel, X, Y, max(check_nonnegative(noise, "noise"), NOISE_FLOOR))


# Draws --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noise:
    """Standard normal numbers behind S draws, fixed while kernel and observations change."""

    grid: np.ndarray  # for the process on a grid of N inputs [S, N]
    inputs: np.ndarray  # for the process at observed inputs that are not on the grid [S, n]
    errors: np.ndarray  # for the noise of the n observations [S, n]


def turned_noise(seed: int, angle: float, draws: int, size: int, observations: int) -> Noise:
    """Noise on a great circle: cos(angle)·a + sin(angle)·b with a and b standard normal.

    It is standard normal at every angle, so a turning draw is a draw at every moment, and it moves
    smoothly through the space of functions.

    Parameters
    ----------
    seed, angle : of a and b, and the angle in degrees
    draws, size, observations : S, N and n; the numbers of a draw or of an observation stay the same
        when more are added

    Returns
    -------
    a `Noise`
    """
    turn = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    grid = np.random.default_rng(seed).standard_normal((draws, 2, size))
    points = np.random.default_rng([seed, 1]).standard_normal((observations, 2, 2, draws))
    inputs, errors = np.einsum("t,nptd->pdn", turn, points)
    return Noise(np.einsum("t,dtn->dn", turn, grid), inputs, errors)


@dataclass(frozen=True)
class Functions:
    """Prior and posterior of f₀ over x, and draws from both with the same noise."""

    x: np.ndarray  # inputs [N]
    X: np.ndarray  # observed inputs [n]
    Y: np.ndarray  # observations [n]
    noise: float  # standard deviation of the noise of an observation
    prior_deviation: np.ndarray  # standard deviation of f₀(x) [N]
    mean: np.ndarray  # of f₀(x) given the observations [N]
    deviation: np.ndarray  # of f₀(x) given the observations [N]
    prior_draws: np.ndarray  # [S, N]
    draws: np.ndarray  # the same draws, given the observations [S, N]
    shows: str = "posterior"  # what a picture shows: "posterior", "prior" or "both"
    shown_draws: int = 4  # how many of the draws it shows
    shows_new: bool = False  # whether it shows where a new observation would be


def functions(
    process: Conditioned,
    x: np.ndarray,
    noise: Noise,
    shows: str = "posterior",
    shown_draws: int = 4,
    shows_new: bool = False,
) -> Functions:
    """Prior, posterior and draws on a grid.

    A draw g from the prior becomes one from the posterior by Matheron's rule,

        g(x) + k(x, X) K⁻¹ (Y − g(X) − e),  e ~ N(0, σₙ²):

    it is bent to pass the observations, and stays what it was far away from them.

    Parameters
    ----------
    process : see `condition`
    x : the grid ``[N]``
    noise : of the draws, see `turned_noise`
    shows, shown_draws, shows_new : what a picture shows, see `Functions`

    Returns
    -------
    a `Functions`
    """
    check_choice(shows, "shows", ("posterior", "prior", "both"))
    mean, variance = process.predict(x)
    beside = np.setdiff1d(process.X, x)  # observed inputs that are not on the grid
    places = np.concatenate([x, beside])
    numbers = np.hstack([noise.grid, noise.inputs[:, : len(beside)]])
    prior = numbers @ _prior_root(process.kernel, tuple(places)).T
    observed = prior[:, np.argmax(places[:, None] == process.X, axis=0)]
    residuals = process.Y - observed - process.noise * noise.errors
    on_grid = prior[:, : len(x)]
    bent = on_grid + process.weights(residuals) @ process.kernel(process.X, x)
    prior_deviation = np.sqrt(_variances(process.kernel, x))
    return Functions(
        x, process.X, process.Y, process.noise, prior_deviation, mean, np.sqrt(variance),
        on_grid, bent, shows, shown_draws, shows_new,
    )  # fmt: skip


@lru_cache(maxsize=2)  # the same while draws turn and observations on the grid move
def _prior_root(kernel: AnyKernel, places: tuple[float, ...]) -> np.ndarray:
    x = np.array(places)
    K = kernel(x, x)
    return np.linalg.cholesky(K + JITTER * np.mean(np.diag(K)) * np.eye(len(K)))


# The evidence -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """The log marginal likelihood as a function of one parameter of the kernel."""

    name: str  # the parameter
    values: np.ndarray  # its values, increasing [P]
    log_likelihood: np.ndarray  # log p(Y) at each of them [P]
    at: float  # the value now
    at_log_likelihood: float  # log p(Y) there
    best: float  # the value with the largest log p(Y) between the first and the last value
    best_log_likelihood: float  # log p(Y) there
    observations: int  # n
    second: bool  # whether it is a parameter of the second kernel of a sum or product


def evidence(process: Conditioned, name: str, values: np.ndarray, second: bool = False) -> Evidence:
    """The log marginal likelihood over one parameter, and its maximum.

    Parameters
    ----------
    process : see `condition`; its kernel is one, or a sum or product of two
    name : "lengthscale", "variance" or "period"
    values : where to compute it, increasing and positive ``[P]``; the maximum is searched for on a
        logarithmic scale between the neighbours of the best of them
    second : whether the parameter is that of the second kernel of a sum or product

    Returns
    -------
    an `Evidence`
    """
    rest = _with_value(process.kernel, name, 1.0, second)
    data = tuple(process.X), tuple(process.Y), process.noise
    curve, peak = _scan(rest, *data, name, tuple(values), second)
    now = getattr(_part(process.kernel, second), name)
    now_value = process.log_marginal_likelihood
    candidates = [(now_value, now), (float(curve.max()), float(values[np.argmax(curve)])), *peak]
    inside = [(p, v) for p, v in candidates if values[0] <= v <= values[-1]]
    best_value, best = max(inside, key=lambda candidate: candidate[0])
    n = len(process.Y)
    return Evidence(name, values, curve, now, now_value, best, best_value, n, second)


@lru_cache(maxsize=2)  # the same wherever the parameter itself is
def _scan(
    kernel: AnyKernel,
    X: tuple[float, ...],
    Y: tuple[float, ...],
    noise: float,
    name: str,
    values: tuple[float, ...],
    second: bool,
) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """log p(Y) at each value, and at most one peak between two of them: its log p(Y) and place."""

    def at(value: float) -> float:
        varied = _with_value(kernel, name, float(value), second)
        return Conditioned(varied, np.array(X), np.array(Y), noise).log_marginal_likelihood

    curve = np.array([at(value) for value in values])
    if not Y:
        return curve, []
    top = int(np.argmax(curve))
    ends = values[max(top - 1, 0)], values[min(top + 1, len(values) - 1)]
    found = minimize_scalar(lambda log: -at(np.exp(log)), bounds=np.log(ends), method="bounded")
    return curve, [(-float(found.fun), float(np.exp(found.x)))]


def _part(kernel: AnyKernel, second: bool) -> Kernel:
    part = kernel
    if isinstance(kernel, Combination):
        part = kernel.right if second else kernel.left
    if not isinstance(part, Kernel):
        raise ValueError(f"kernel: expected one kernel or two, got {kernel.title}")
    return part


def _with_value(kernel: AnyKernel, name: str, value: float, second: bool) -> AnyKernel:
    part = Kernel(**{**vars(_part(kernel, second)), name: value})
    if not isinstance(kernel, Combination):
        return part
    pair = (kernel.left, part) if second else (part, kernel.right)
    return Combination(pair[0], kernel.sign, pair[1])


# The kernel itself --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slice:
    """The covariance of f₀(x) with the value at one input."""

    x: np.ndarray  # inputs [N]
    values: np.ndarray  # k(x, at) [N]
    at: float  # that input
    name: str  # of the kernel


def covariance_with(kernel: AnyKernel, x: np.ndarray, at: float) -> Slice:
    """k(x, at) as a function of x: how much f₀(x) has to do with f₀(at).

    Parameters
    ----------
    kernel, x, at : a kernel, inputs ``[N]`` and the one input

    Returns
    -------
    a `Slice`
    """
    return Slice(x, kernel(x, np.array([at]))[:, 0], at, kernel.title)
