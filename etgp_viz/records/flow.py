"""One Gaussian process under one flow: paths, the map itself, marginals and covariances.

>>> from etgp_viz import flows, prior
>>> from etgp_viz.records import flow as flow_records
>>> x, flow, params = np.arange(2.0), flows.Linear(), np.array([[2.0, 1.0]] * 2)  # f = 2·f₀ + 1
>>> flow_records.paths(x, np.array([[0.5, 1.0]]), np.ones(2), flow, params).warped
array([[2., 3.]])
>>> flow_records.parameters(x, flow, params).names
('a', 'b')
>>> mean, deviation, skewness = flow_records.marginal(0.0, 1.0, flow, params[0]).moments
>>> round(mean, 2), round(deviation, 2)
(1.0, 2.0)
>>> K = np.array([[1.0, 0.9], [0.9, 1.0]])
>>> round(flow_records.two_points(x, K, prior.noise(0, 1000, 2)).correlation, 1)
0.9
>>> flow_records.covariance(x, K, flow, np.array([[1.0, 0.0], [2.0, 0.0]])).values.round(6)
array([[1. , 1.8],
       [1.8, 4. ]])
>>> flow_records.not_toeplitz(K), round(flow_records.not_toeplitz(np.diag([1.0, 3.0])), 3)
(0.0, 0.447)
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from etgp_viz.backend import check_shapes
from etgp_viz.core.flows import Flow
from etgp_viz.core.hermite import joint_moments
from etgp_viz.records import prior

__all__ = [
    *("Marginal", "Matrix", "Parameters", "TwoPoints", "WarpedPaths"),
    *("covariance", "marginal", "not_toeplitz", "parameters", "paths", "two_points"),
]

# Half the width of the central 95 % of a standard normal.
Z95 = float(ndtri(0.975))
# The radius of the disc that holds 95 % of a standard normal in the plane: 1 − exp(−r²/2) = 0.95.
R95 = float(np.sqrt(-2.0 * np.log(0.05)))
# The map and the marginals are drawn from −REACH to REACH standard deviations of f₀.
REACH = 4.0
# Limit of densities: where a flow flattens, the density is infinite.
MAX_DENSITY = 1e3


@dataclass(frozen=True)
class WarpedPaths:
    """Draws of f₀ over x, before and after a flow."""

    x: np.ndarray  # inputs [N]
    latent: np.ndarray  # draws of f₀ [S, N]
    warped: np.ndarray  # G(f₀(x); θ(x)) [S, N]
    latent_band: np.ndarray  # limits of the central 95 % of f₀ at each x [2, N]
    warped_band: np.ndarray  # the same of the warped process [2, N]
    at: float  # the marked input
    held: np.ndarray  # inputs and values through which the first draw passes [2, H]


@dataclass(frozen=True)
class Parameters:
    """The parameters of a flow over x, constrained: the numbers that appear in its formula."""

    x: np.ndarray  # inputs [N]
    names: tuple[str, ...]  # of the P parameters
    values: np.ndarray  # [N, P]
    at: float  # the marked input
    knots: np.ndarray  # inputs and values of the knots that the lines pass through [2, J]


@dataclass(frozen=True)
class Marginal:
    """A flow at one input x, and the density of the process there before and after it.

    The inverse can be drawn without a formula: it is the same points with their axes swapped.

    Examples
    --------
    >>> from etgp_viz import flows
    >>> record = marginal(0.0, 1.0, flows.Linear(), np.array([2.0, 1.0]))  # f = 2·f₀ + 1
    >>> record.is_linear, [round(moment, 2) + 0.0 for moment in record.moments]
    (True, [1.0, 2.0, 0.0])
    """

    at: float  # the input x
    f: np.ndarray  # values of the latent [F]
    g: np.ndarray  # G(f) [F]
    slope: np.ndarray  # |dG/df| [F]
    base_density: np.ndarray  # of f₀(x) at f [F]
    warped_density: np.ndarray  # of f(x) = G(f₀(x)) at g, base_density/slope [F]

    @property
    def moments(self) -> tuple[float, float, float]:
        """Mean, standard deviation and skewness of f(x), E[h(G(f₀))] summed over the grid of f."""
        weights = self.base_density / self.base_density.sum()
        # From a value of g itself, so that a flow that flattens has a deviation of exactly 0.
        mean = float(self.g[0] + weights @ (self.g - self.g[0]))
        deviation = float(np.sqrt(weights @ (self.g - mean) ** 2))
        third = float(weights @ (self.g - mean) ** 3)
        return mean, deviation, third / deviation**3 if deviation > 0.0 else 0.0

    @property
    def is_linear(self) -> bool:
        """Whether the map is a straight line, which keeps a Gaussian Gaussian."""
        return float(np.ptp(self.slope)) <= 1e-6 * float(np.max(self.slope))


@dataclass(frozen=True)
class TwoPoints:
    """Joint draws of one process at two inputs."""

    x: np.ndarray  # the two inputs [2]
    draws: np.ndarray  # f(x₁) and f(x₂) [2, S]
    contour: np.ndarray  # a closed curve with 95 % of the probability inside [2, G]
    name: str  # of the process, "f₀" or "f"

    @property
    def correlation(self) -> float:
        """The correlation of the two values over the draws.

        Examples
        --------
        >>> draws = np.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0]])
        >>> record = TwoPoints(np.array([0.0, 0.5]), draws, contour=np.zeros((2, 0)), name="f")
        >>> round(record.correlation, 6)
        1.0
        """
        return float(np.corrcoef(self.draws)[0, 1])


@dataclass(frozen=True)
class Matrix:
    """A matrix over pairs of inputs, such as a covariance."""

    x: np.ndarray  # equally spaced inputs [N]
    values: np.ndarray  # [N, N]
    name: str  # title of the matrix, such as "Cov[f(x), f(x′)]"


@check_shapes("K: [N, N]")
def not_toeplitz(K: np.ndarray) -> float:
    """Share of a matrix, in root mean square, that no Toeplitz matrix explains.

    The covariance of a stationary process depends on x − x′ alone: on a grid it is constant along
    every diagonal, and the share is 0. The best Toeplitz matrix is the mean of each diagonal.

    Parameters
    ----------
    K : covariance at equally spaced inputs ``[N, N]``

    Returns
    -------
    share in [0, 1]
    """
    N = len(K)
    lag = np.arange(N)[:, None] - np.arange(N)[None, :] + N - 1
    mean = np.bincount(lag.ravel(), K.ravel()) / np.bincount(lag.ravel())
    return float(np.sqrt(np.sum((K - mean[lag]) ** 2) / max(np.sum(K**2), 1e-300)))


@check_shapes("x: [N]", "latent: [S, N]", "variance: [N]", "params: [N, P]")
def paths(
    x: np.ndarray,
    latent: np.ndarray,
    variance: np.ndarray,
    flow: Flow,
    params: np.ndarray,
    at: float = 0.0,
    held: np.ndarray | None = None,
) -> WarpedPaths:
    """Draws of f₀ and of the warped process G(f₀(x); θ(x)), with the central 95 % of both.

    Parameters
    ----------
    x, at : inputs ``[N]``, and one to mark
    latent, variance : draws of f₀ ``[S, N]``, and its variance at each input ``[N]``
    flow, params : the family of maps G, and its raw parameters θ(x) ``[N, P]``
    held : inputs and values that the first draw was given, to be shown ``[2, H]``

    Returns
    -------
    a `WarpedPaths` record
    """
    # G is monotone, so it takes quantiles to quantiles; a decreasing one swaps them.
    band = Z95 * np.sqrt(variance) * np.array([[-1.0], [1.0]])
    warped = flow.forward(np.concatenate([latent, band]), params).numpy()
    S = len(latent)
    held = np.empty((2, 0)) if held is None else held
    return WarpedPaths(x, latent, warped[:S], band, np.sort(warped[S:], axis=0), at, held)


@check_shapes("x: [N]", "params: [N, P]")
def parameters(
    x: np.ndarray,
    flow: Flow,
    params: np.ndarray,
    at: float = 0.0,
    knots: np.ndarray | None = None,
) -> Parameters:
    """The constrained parameters of a flow over x.

    Parameters
    ----------
    x, at : inputs ``[N]``, and one to mark
    flow, params : the family of maps, and its raw parameters ``[N, P]``
    knots : inputs and values of the knots behind them, to be shown ``[2, J]``

    Returns
    -------
    a `Parameters` record
    """
    knots = np.empty((2, 0)) if knots is None else knots
    return Parameters(x, flow.param_names, flow.constrain(params).numpy(), at, knots)


@check_shapes("params: [P]")
def marginal(at: float, variance: float, flow: Flow, params: np.ndarray) -> Marginal:
    """The flow at one input, and the density of f₀(x) ~ N(0, variance) before and after it.

    Change of variables: log p(g) = log N(f; 0, variance) − log |dG/df| at f = G⁻¹(g).

    Parameters
    ----------
    at, variance : the input x, and the variance of f₀ there
    flow, params : the family of maps, and its raw parameters there ``[P]``

    Returns
    -------
    a `Marginal` record
    """
    deviation = np.sqrt(variance)
    f = np.linspace(-REACH, REACH, 161) * deviation
    base = np.exp(-0.5 * (f / deviation) ** 2) / (deviation * np.sqrt(2.0 * np.pi))
    slope = np.exp(flow.log_derivative(f, params).numpy())
    warped = np.minimum(base / np.maximum(slope, base / MAX_DENSITY), MAX_DENSITY)
    return Marginal(at, f, flow.forward(f, params).numpy(), slope, base, warped)


@check_shapes("x: [2]", "K: [2, 2]", "noise: [S, 2]", "params: [2, P]")
def two_points(
    x: np.ndarray,
    K: np.ndarray,
    noise: np.ndarray,
    flow: Flow | None = None,
    params: np.ndarray | None = None,
) -> TwoPoints:
    """Joint draws at two inputs of f₀ ~ N(0, K), or of f = G(f₀; θ(x)) if a flow is given.

    The ellipse that holds 95 % of (f₀(x₁), f₀(x₂)) is the image of a circle in the noise. A flow
    maps it to a curve around the images of the same draws, so that curve holds 95 % too.

    Parameters
    ----------
    x, K : the two inputs ``[2]``, and the covariance of f₀ there ``[2, 2]``
    noise : standard normal numbers ``[S, 2]``
    flow, params : the family of maps, and its raw parameters at the two inputs ``[2, P]``

    Returns
    -------
    a `TwoPoints` record
    """
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = R95 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    values = prior.draw(K, np.concatenate([noise, circle]))
    if flow is not None:
        values = flow.forward(values, params).numpy()
    S = len(noise)
    return TwoPoints(np.asarray(x), values[:S].T, values[S:].T, "f₀" if flow is None else "f")


@check_shapes("x: [N]", "K: [N, N]", "params: [N, P]")
def covariance(x: np.ndarray, K: np.ndarray, flow: Flow, params: np.ndarray) -> Matrix:
    """Covariance of G(f₀(x); θ(x)) for f₀ ~ N(0, K), by the Hermite series of the flow.

    Parameters
    ----------
    x, K : inputs ``[N]``, and the covariance of f₀ there ``[N, N]``
    flow, params : the family of maps, and its raw parameters ``[N, P]``

    Returns
    -------
    a `Matrix` record
    """
    one_draw, mean = params[None, :, None], np.zeros(len(x))
    _, values = joint_moments(flow, False, mean, K, one_draw, tolerance=1e-4)
    return Matrix(x, values[0], "Cov[f(x), f(x′)]")
