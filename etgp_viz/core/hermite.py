"""Covariances of a warped Gaussian process between inputs, by Hermite series.

Write f0(x) = µ(x) + σ(x) z and expand each warp in normalised Hermite polynomials,

    G(µ(x) + σ(x) z; θ^c(x)) = Σ_n h_n^c(x) p_n(z),    p_n = He_n/√n!.

By Mehler's formula E[p_n(z) p_m(z')] = δ_nm ρⁿ for standard normal z, z' with correlation ρ, so

    Cov[f^c(x), f^d(x')] = Σ_{n≥1} h_n^c(x) h_n^d(x') ρ(x, x')ⁿ.

A linear flow has the term n = 1 alone. A steep flow needs many: a step has h_n² ∝ n^(−3/2), and
Gauss–Hermite nodes lie too far apart to see it. So the coefficients come from a trapezium rule,
which converges exponentially for these integrands, on a grid that is refined until using only
every second node gives the same result.
"""

from functools import cache

import numpy as np

from etgp_viz.backend import check_shapes, tf
from etgp_viz.checks import check_count, check_positive
from etgp_viz.core.conditional import SMALLEST_VARIANCE
from etgp_viz.core.flows import Flow

__all__ = ["MAX_ORDER", "expand", "joint_moments", "mehler", "polynomials", "standardised"]

MAX_ORDER = 400
# The rule covers |z| ≤ REACH, enough for f^c = exp(6 z) or z²⁰.
REACH = 16.0
# Nodes of the rule, and the order that may be reached with them, from smooth flows to steep ones.
LEVELS = ((257, 50), (513, 100), (1025, 200), (2049, MAX_ORDER), (4097, MAX_ORDER))
# The rule is fine enough if its coefficients are within this share of the largest deviation.
RULE_TOLERANCE = 1e-8
# Entries of a matrix that are summed at a time: they stay in the processor's cache.
BLOCK = 2**16


@check_shapes("mean: [N]", "K: [N, N]", "params: [S, N, C, P]", "return[0]: [N, C]")
def joint_moments(
    flow: Flow,
    full_output_cov: bool,
    mean: np.ndarray,
    K: np.ndarray,
    params: np.ndarray,
    tolerance: float = 1e-6,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance over inputs of C warps of f0 ~ N(mean, K), averaged over S draws of θ.

    The series of each draw ends where the estimate of its error is below `tolerance` times the
    largest variance (of the class; with `full_output_cov` of all), or at MAX_ORDER. What it leaves
    out is known for ρ = 1: the rest E[f^c f^d] − Σ_{n≤m} h_n^c h_n^d, which is added times ρ^(m+1).
    So variances have no error except the rule's, the error elsewhere is at most twice that of
    the series, and the result stays positive semi-definite. Over draws the law of total covariance
    holds: the mean of the covariances plus the covariance of the means.

    Parameters
    ----------
    flow, params : the family of maps, and raw parameters of S draws ``[S, N, C, P]``
    full_output_cov : whether to include covariances between classes
    mean, K : mean ``[N]`` and covariance ``[N, N]`` of f0 at N inputs
    tolerance : see above

    Returns
    -------
    mean ``[N, C]``, and covariance ``[C, N, N]`` or ``[N, C, N, C]``, the shapes of GPflow
    """
    S, N, C, P = params.shape
    deviation, correlation = standardised(K)
    nearest = np.max(np.abs(correlation - np.eye(N)), axis=1)  # largest |ρ| of two inputs
    # R rows form one matrix: those of one class, or all, row n·C + c being class c at input n.
    groups = params.reshape(S, 1, N * C, P) if full_output_cov else np.moveaxis(params, 2, 1)
    _, G, R, _ = groups.shape
    inputs = np.repeat(np.arange(N), R // N)
    means, covariance = np.empty((S, G, R)), np.zeros((G, R, R))
    for s, g in np.ndindex(S, G):
        rows_of_f0 = mean[inputs], deviation[inputs], groups[s, g]
        h, *_, values = expand(flow, *rows_of_f0, None, 0.5 * tolerance, nearest[inputs])
        means[s, g] = h[:, 0]
        # The rest, values valuesᵀ − h hᵀ, as one product.
        factor, both = np.hstack([values, -h[:, 1:]]), tf.constant(np.hstack([values, h[:, 1:]]).T)
        for start in range(0, R, size := max(1, BLOCK // R)):
            rows = slice(start, start + size)
            rho = correlation[np.ix_(inputs[rows], inputs)]
            rest = _product(factor[rows], both)
            covariance[g, rows] += mehler(rho, h[rows], h, rest) / S
    spread = means - means.mean(axis=0)
    if S > 1:
        covariance += np.einsum("sgi,sgj->gij", spread, spread) / S
    if full_output_cov:
        return means.mean(axis=0).reshape(N, C), covariance.reshape(N, C, N, C)
    return means.mean(axis=0).T, covariance


def standardised(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations [N] and correlations [N, N] of a covariance."""
    deviation = np.sqrt(np.maximum(np.diag(K), SMALLEST_VARIANCE))
    correlation = np.clip(K / np.outer(deviation, deviation), -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return deviation, correlation


def expand(
    flow: Flow,
    mean: np.ndarray,
    deviation: np.ndarray,
    params: np.ndarray,
    order: int | None,
    tolerance: float,
    nearest: np.ndarray | float = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hermite coefficients of R warps with raw parameters [R, P], refined as far as needed.

    Without an `order` it is the lowest with remainder · nearest^(order + 1) below `tolerance` times
    the largest variance; `nearest` [R] is the largest |ρ| between each input and the others.

    Returns coefficients [R, order + 1], remainder [R], error of the rule [R], and the centred
    values at the Q nodes times the roots of their weights, [R, Q].
    """
    check_positive(tolerance, "tolerance")
    if order is not None:
        check_count(order, "order", maximum=MAX_ORDER)
    for num_nodes, reachable in LEVELS:
        nodes, weights, basis = _rule(num_nodes)
        basis = basis[:, : (order or reachable) + 1]
        f0 = mean[:, None] + deviation[:, None] * nodes
        values = flow.forward(f0, params[:, None]).numpy()  # [R, Q]
        centre = values[:, num_nodes // 2].copy()  # G(µ): near the mean
        values -= centre[:, None]
        even, odd = (_product(values[:, part::2], basis[part::2]) for part in (0, 1))
        h = even + odd
        rule_error = np.linalg.norm(even - odd, axis=1)  # of every second node: |2·even − h|
        values -= h[:, :1]
        h[:, 0] += centre
        squares = values**2 * weights
        variance = np.sum(squares, axis=1)
        # Parseval: the variance is Σ_{n≥1} h_n², so this is what is left after each order …
        left = np.maximum(variance[:, None] - np.cumsum(h[:, 1:] ** 2, axis=1), 0.0)
        # … give or take the error of the rule in it.
        left += np.abs(variance - 2.0 * np.sum(squares[:, ::2], axis=1))[:, None]
        damped = left * np.reshape(nearest, (-1, 1)) ** np.arange(2, left.shape[1] + 2)
        enough = np.flatnonzero(np.max(damped, axis=0) <= tolerance * variance.max())
        is_fine = np.max(rule_error) <= RULE_TOLERANCE * np.sqrt(variance.max())
        if is_fine and (order is not None or enough.size or reachable == MAX_ORDER):
            break
    if order is None:
        order = int(enough[0]) + 1 if enough.size else MAX_ORDER
    h = np.asfortranarray(h[:, : order + 1])  # by order, as `mehler` reads them
    return h, left[:, order - 1], rule_error, values * np.sqrt(weights)


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left @ right by TensorFlow; NumPy's BLAS waits for its threads when a machine is busy."""
    return tf.matmul(left, right).numpy()


def mehler(
    rho: np.ndarray, left: np.ndarray, right: np.ndarray, rest: np.ndarray | float = 0.0
) -> np.ndarray:
    """Σ_{n=1..m} left_n right_nᵀ ⊙ ρⁿ + rest ⊙ ρ^(m+1), by Horner's rule: Hadamard products."""
    total = rho * rest
    term = np.empty_like(rho)
    columns = np.ascontiguousarray(right.T)
    for n in range(left.shape[-1] - 1, 0, -1):
        total += np.multiply(left[:, n, None], columns[n], out=term)
        total *= rho
    return total


@cache
def _rule(num_nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and weights [Q], and weighted polynomials [Q, MAX_ORDER + 1]: h = G(nodes) @ these."""
    nodes = np.linspace(-REACH, REACH, num_nodes)
    weights = (nodes[1] - nodes[0]) * np.exp(-0.5 * nodes**2) / np.sqrt(2.0 * np.pi)
    return nodes, weights, weights[:, None] * polynomials(nodes, MAX_ORDER)


def polynomials(z: np.ndarray, order: int) -> np.ndarray:
    """p_n(z) for n = 0..order, [Q, order + 1], by √(n+1) p_(n+1) = z p_n − √n p_(n−1)."""
    columns = [np.ones_like(z), z]
    for n in range(1, order):
        columns.append((z * columns[n] - np.sqrt(n) * columns[n - 1]) / np.sqrt(n + 1))
    return np.stack(columns[: order + 1], axis=-1)
