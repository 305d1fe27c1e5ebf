"""Covariances between the C warped processes f^c(x) = G(f₀(x); θ^c(x)) of one latent GP.

Linear flows, f^c = a^c f₀ + b^c, stack to F = A f₀ + b. So *every* pair of processes, not only a
pair with the pivot as in the paper's Proposition 1, satisfies

    Cov[f^c(x), f^d(x')] = a^c(x) a^d(x') K(x, x'),

and the joint law of all C·N values is a Gaussian of rank at most N.

Any flow: the Hermite series of `etgp_viz.core.hermite`,

    Cov[f^c(x), f^d(x')] = Σ_{n≥1} h_n^c(x) h_n^d(x') ρ(x, x')ⁿ.

Proposition 1 is the term n = 1, the only one that a linear flow has:

>>> from etgp_viz import covariance, flows
>>> params = np.array([[[2.0, 1.0]]])  # one class at one input, f = 2·f₀ + 1
>>> series = covariance.hermite_series(np.eye(1), flows.Linear(), params)
>>> series.order, series.pair(0, 0).round(6).tolist()
(1, [[4.0]])
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from etgp_viz.backend import check_shapes
from etgp_viz.checks import check_count, check_counts, check_memory, describe, fail
from etgp_viz.core.flows import Flow
from etgp_viz.records.hermite_series import HermiteSeries, hermite_series

__all__ = [
    *("HermiteSeries", "correlation_at_equal_inputs", "empirical", "empirical_of_first"),
    *("hermite_series", "joint", "joint_linear", "pair", "pair_linear"),
]

# Draws in one matrix product, see `_products`.
BLOCK = 100


@check_shapes("K: [N, N]", "a_c: [N]", "a_d: [N]", "return: [N, N]", covariance="K")
def pair_linear(K: np.ndarray, a_c: np.ndarray, a_d: np.ndarray) -> np.ndarray:
    """Cov[f^c, f^d] = a^c (a^d)ᵀ ⊙ K of two linear flows, c = d included (Proposition 1).

    Parameters
    ----------
    K, a_c, a_d : covariance of f₀ ``[N, N]`` and scales of the two classes ``[N]`` at N inputs

    Returns
    -------
    array ``[N, N]``; entry (n, m) is Cov[f^c(x_n), f^d(x_m)]

    Examples
    --------
    >>> from etgp_viz import covariance
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> covariance.pair_linear(K, np.array([1.0, 1.0]), np.array([2.0, -1.0]))
    array([[ 2. , -0.5],
           [ 1. , -1. ]])
    """
    return np.outer(a_c, a_d) * np.asarray(K)


@check_shapes("K: [N, N]", "a: [C, N]", "return: [CN, CN]", covariance="K")
def joint_linear(K: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Covariance of all C processes stacked, for linear flows.

    Parameters
    ----------
    K, a : covariance of f₀ ``[N, N]`` and scales of the C classes ``[C, N]`` at N inputs

    Returns
    -------
    array ``[C·N, C·N]``; block (c, d) is `pair_linear` of a^c and a^d

    Examples
    --------
    >>> from etgp_viz import covariance
    >>> joint = covariance.joint_linear(np.eye(2), np.array([[1.0, 1.0], [2.0, -1.0]]))
    >>> joint.shape, int(np.linalg.matrix_rank(joint))  # C·N values, made of N values of f₀
    ((4, 4), 2)
    """
    size = len(K) * len(a)
    check_memory(8 * size * size, "a", f"a matrix of {size} × {size} numbers")
    stacked = np.ravel(a).astype(float)
    return pair_linear(np.tile(K, (len(a), len(a))), stacked, stacked)


@check_shapes("K: [N, N]", "params_c: [N, P]", "params_d: [N, P]", "return: [N, N]")
def pair(
    K: np.ndarray,
    flow: Flow,
    params_c: np.ndarray,
    params_d: np.ndarray,
    order: int | None = None,
) -> np.ndarray:
    """Cov[f^c, f^d] for any flow, by its Hermite series; f₀ has mean zero.

    Parameters
    ----------
    K, flow : covariance of f₀ at N inputs ``[N, N]``, and the family of maps G
    params_c, params_d : raw parameters of the two classes at these inputs ``[N, P]``
    order : last term of the series; None for as many as are needed, see `hermite_series`

    Returns
    -------
    array ``[N, N]``

    Examples
    --------
    >>> from etgp_viz import covariance, flows
    >>> flow = flows.Compose([flows.Linear(), flows.Exp()])
    >>> params = np.array([[0.5, 0.0]])  # exp(f₀/2): the log-normal variance e^¼ (e^¼ − 1)
    >>> covariance.pair(np.eye(1), flow, params, params).round(4)
    array([[0.3647]])
    """
    return hermite_series(K, flow, np.stack([params_c, params_d]), order=order).pair(0, 1)


@check_shapes("K: [N, N]", "params: [C, N, P]", "return: [CN, CN]")
def joint(K: np.ndarray, flow: Flow, params: np.ndarray, order: int | None = None) -> np.ndarray:
    """Covariance of all C processes stacked, for any flow; f₀ has mean zero.

    Parameters
    ----------
    K, flow, order : see `pair`
    params : raw parameters of the C classes at the N inputs ``[C, N, P]``

    Returns
    -------
    array ``[C·N, C·N]``; block (c, d) is `pair` of the classes c and d

    Examples
    --------
    >>> from etgp_viz import covariance, flows
    >>> params = np.array([[[1.0, 0.0]], [[-2.0, 3.0]]])
    >>> covariance.joint(np.eye(1), flows.Linear(), params).round(6)
    array([[ 1., -2.],
           [-2.,  4.]])
    """
    size = len(K) * len(params)
    check_memory(8 * size * size, "params", f"a matrix of {size} × {size} numbers")
    return hermite_series(K, flow, params, order=order).joint()


@check_shapes("samples_c: [S, N]", "samples_d: [S, N]", "return[0]: [N, N]", "return[1]: [N, N]")
def empirical(samples_c: np.ndarray, samples_d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Monte Carlo estimate of Cov[f^c, f^d] from S joint draws, and its standard error.

    The estimate is the mean over draws of the products p = (f^c − mean)(f^d − mean)ᵀ (times
    S/(S−1)), its standard error that of this mean, √(Var[p]/S) with Var[p] = E[p²] − E[p]².

    Parameters
    ----------
    samples_c, samples_d : joint draws of the two processes at N inputs ``[S, N]``, S ≥ 2

    Returns
    -------
    estimate, standard error : arrays ``[N, N]``

    Examples
    --------
    >>> from etgp_viz import covariance, prior
    >>> f0 = prior.noise(0, 10_000, 1)
    >>> estimate, error = covariance.empirical(f0, 2.0 * f0)  # the covariance is 2
    >>> bool(abs(estimate - 2.0) < 3.0 * error)
    True
    """
    S = check_count(len(samples_c), "samples_c", minimum=2, because="at least two draws")
    c, d = _centred(samples_c), _centred(samples_d)
    mean_product = _products(c, d) / S
    mean_square = _products(c**2, d**2) / S
    variance = np.maximum(mean_square - mean_product**2, 0.0)
    return mean_product * S / (S - 1), np.sqrt(variance / S)


@check_shapes("samples_c: [S, N]", "samples_d: [S, N]", "return: [K, N, N]")
def empirical_of_first(
    samples_c: np.ndarray, samples_d: np.ndarray, sizes: Sequence[int]
) -> np.ndarray:
    """Estimates of `empirical` from a growing number of draws, in one pass.

    With m draws it is (Σ p − m·mean^c (mean^d)ᵀ)/(m − 1); the sums grow from size to size.

    Parameters
    ----------
    samples_c, samples_d : joint draws of the two processes at N inputs ``[S, N]``
    sizes : K growing numbers m of draws, from 2 to S

    Returns
    -------
    array ``[K, N, N]``: for each m the estimate from the first m draws

    Examples
    --------
    >>> from etgp_viz import covariance
    >>> draws = np.array([[1.0], [-1.0], [1.0], [-1.0]])  # four draws at one input
    >>> covariance.empirical_of_first(draws, draws, [2, 4]).ravel().round(3)
    array([2.   , 1.333])
    """
    numbers = check_counts(sizes, "sizes")
    is_growing = all(a < b for a, b in pairwise([1, *numbers]))
    if not numbers or not is_growing or numbers[-1] > len(samples_c):
        got = ", ".join(map(describe, numbers)) or "none"
        fail("sizes", f"growing numbers from 2 to {len(samples_c)}", got)
    ends = np.array([0, *numbers])
    c, d = _centred(samples_c), _centred(samples_d)
    parts = [slice(low, high) for low, high in pairwise(ends)]
    products = np.cumsum([_products(c[part], d[part]) for part in parts], axis=0)
    m = ends[1:, None]
    mean_c = np.cumsum([c[part].sum(axis=0) for part in parts], axis=0) / m
    mean_d = np.cumsum([d[part].sum(axis=0) for part in parts], axis=0) / m
    m = m[:, :, None]
    return (products - m * mean_c[:, :, None] * mean_d[:, None, :]) / (m - 1)


@check_shapes("series.coefficients: [C, N, n]", "return: [C, C, N]")
def correlation_at_equal_inputs(series: HermiteSeries) -> np.ndarray:
    """Corr[f^c(x), f^d(x)] at each input: ±1 for linear flows of one latent.

    Any other pair of flows lowers it, although each of the two values still determines the other:
    a correlation measures only the linear part of a dependence. If several latents are mixed, the
    n-th term is multiplied by (A_c · A_d)ⁿ.

    Parameters
    ----------
    series : of C processes at N inputs

    Returns
    -------
    array ``[C, C, N]``; NaN where a process does not vary

    Examples
    --------
    >>> from etgp_viz import covariance, flows
    >>> params = np.array([[[1.0, 0.0]], [[-2.0, 1.0]]])  # f¹ = f₀ and f² = 1 − 2·f₀, at one input
    >>> series = covariance.hermite_series(np.eye(1), flows.Linear(), params)
    >>> covariance.correlation_at_equal_inputs(series)[0, 1].round(6)
    array([-1.])
    """
    h = series.coefficients[:, :, 1:]
    overlap = np.ones((len(h), len(h))) if series.overlap is None else series.overlap
    powers = overlap[:, :, None] ** np.arange(1, series.order + 1)
    covariance = np.einsum("cnk,dnk,cdk->cdn", h, h, powers)
    variance = np.einsum("cnk,cnk->cn", h, h)
    # The coefficients of a constant are rounding errors.
    rounding = 1e-24 * (series.coefficients[:, :, 0] ** 2 + variance.max())
    varies = variance > rounding
    size = np.sqrt(variance[:, None] * variance[None, :])
    exists = varies[:, None] & varies[None, :]
    return np.divide(covariance, size, out=np.full_like(size, np.nan), where=exists)


def _centred(samples: np.ndarray) -> np.ndarray:
    samples = np.asarray(samples, dtype=float)
    return samples - samples.mean(axis=0)


def _products(c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Σ_s c_s d_sᵀ over draws, [N, N].

    BLAS starts threads for a product with very many rows, and on a busy machine it waits for them
    a hundred times longer than the work takes. Products of blocks of draws are too small for that.
    """
    end = len(c) - len(c) % BLOCK
    blocks_c, blocks_d = (z[:end].reshape(-1, BLOCK, z.shape[1]) for z in (c, d))
    rest = c[end:].T @ d[end:]
    return np.sum(np.swapaxes(blocks_c, 1, 2) @ blocks_d, axis=0) + rest
