"""Covariances between the C warped processes f^c(x) = G(f0(x); θ^c(x)) of one latent GP.

Linear flows, f^c = a^c f0 + b^c, stack to F = A f0 + b. So *every* pair of processes, not only a
pair with the pivot as in the paper's Proposition 1, satisfies

    Cov[f^c(x), f^d(x')] = a^c(x) a^d(x') K(x, x'),

and the joint law of all C·N values is a Gaussian of rank at most N.

Any flow: write f0(x) = µ(x) + σ(x) z and expand each warp in normalised Hermite polynomials,

    G(µ(x) + σ(x) z; θ^c(x)) = Σ_n h_n^c(x) He_n(z)/√n!.

By Mehler's formula E[He_n(z) He_m(z')]/√(n! m!) = δ_nm ρⁿ for standard normal z, z' with
correlation ρ, so that

    Cov[f^c(x), f^d(x')] = Σ_{n≥1} h_n^c(x) h_n^d(x') ρ(x, x')ⁿ.

Proposition 1 is the term n = 1, the only one that a linear flow has.
"""

from dataclasses import dataclass

import numpy as np

from etgp_viz.backend import check_shapes
from etgp_viz.flows import Flow
from etgp_viz.quadrature import gauss_hermite
from etgp_viz.validation import check_count, check_positive

__all__ = [
    "HermiteSeries",
    "correlation_at_equal_inputs",
    "empirical",
    "hermite_series",
    "joint",
    "joint_linear",
    "pair",
    "pair_linear",
]

MAX_ORDER = 60
# Nodes of the rule behind the coefficients: exact for polynomial flows of degree below
# 2·NUM_NODES − MAX_ORDER, and plenty for smooth ones.
NUM_NODES = 128


@check_shapes("K: [N, N]", "a_c: [N]", "a_d: [N]", "return: [N, N]")
def pair_linear(K: np.ndarray, a_c: np.ndarray, a_d: np.ndarray) -> np.ndarray:
    """Cov[f^c, f^d] = a^c (a^d)ᵀ ⊙ K of two linear flows, c = d included."""
    return np.outer(a_c, a_d) * np.asarray(K)


@check_shapes("K: [N, N]", "a: [C, N]", "return: [CN, CN]")
def joint_linear(K: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Covariance of all C processes stacked, block (c, d) being `pair_linear` of a^c and a^d."""
    a, K = np.asarray(a, dtype=float), np.asarray(K, dtype=float)
    C, N = a.shape
    blocks = a[:, :, None, None] * a[None, None, :, :] * K[None, :, None, :]  # c, n, d, m
    return blocks.reshape(C * N, C * N)


@dataclass(frozen=True)
class HermiteSeries:
    """The Hermite coefficients of C warps at N inputs, and what their truncation leaves out.

    Attributes
    ----------
    correlation : ρ of f0, [N, N]
    coefficients : h_n^c(x) for n = 0..order, [C, N, order + 1]; n = 0 is the mean of f^c(x)
    remainder : Σ_{n > order} h_n^c(x)², the variance that the series misses, [C, N]
    """

    correlation: np.ndarray
    coefficients: np.ndarray
    remainder: np.ndarray

    @property
    def order(self) -> int:
        """The power of ρ at which the series ends."""
        return self.coefficients.shape[-1] - 1

    def term(self, n: int, c: int, d: int) -> np.ndarray:
        """The n-th term of Cov[f^c, f^d], [N, N]."""
        check_count(n, "n", minimum=1, maximum=self.order)
        h = self.coefficients
        return h[c, :, n, None] * h[d, None, :, n] * self.correlation**n

    def pair(self, c: int, d: int) -> np.ndarray:
        """Cov[f^c, f^d], [N, N], summed by Horner's rule: one Hadamard product for each order."""
        h, rho = self.coefficients, self.correlation
        total = np.zeros_like(rho)
        for n in range(self.order, 0, -1):
            total = rho * (h[c, :, n, None] * h[d, None, :, n] + total)
        return total

    def truncation_error(self, c: int, d: int) -> np.ndarray:
        """A bound on what `pair` leaves out, [N, N].

        |Σ_{n>m} h_n^c h_n^d ρⁿ| ≤ |ρ|^(m+1) √(remainder^c remainder^d), by Cauchy and Schwarz.
        """
        size = np.sqrt(self.remainder[c][:, None] * self.remainder[d][None, :])
        return size * np.abs(self.correlation) ** (self.order + 1)

    def joint(self) -> np.ndarray:
        """Covariance of all C processes stacked, [C·N, C·N]."""
        C = len(self.coefficients)
        return np.block([[self.pair(c, d) for d in range(C)] for c in range(C)])


@check_shapes("K: [N, N]", "params: [C, N, P]", "mean: [N]")
def hermite_series(
    K: np.ndarray,
    flow: Flow,
    params: np.ndarray,
    *,
    mean: np.ndarray | None = None,
    order: int | None = None,
    tolerance: float = 1e-6,
) -> HermiteSeries:
    """Expand C warps of f0 ~ N(mean, K) in Hermite polynomials.

    Parameters
    ----------
    K : covariance of f0 at N inputs, [N, N]
    flow : the family of maps G
    params : raw parameters of the C flows at each input, [C, N, P]
    mean : of f0 at each input, [N]; zero unless given
    order : where the series ends; None for the least order at which `truncation_error` falls below
        `tolerance` times the largest variance for every pair of classes and inputs, or MAX_ORDER
    tolerance : see `order`
    """
    check_positive(tolerance, "tolerance")
    K = np.asarray(K, dtype=float)
    deviation = np.sqrt(np.diag(K))
    if not np.all(deviation > 0.0):
        raise ValueError("K: expected a positive variance at every input")
    correlation = np.clip(K / np.outer(deviation, deviation), -1.0, 1.0)
    centre = np.zeros(len(K)) if mean is None else np.asarray(mean, dtype=float)

    nodes, weights = gauss_hermite(NUM_NODES)
    f0 = centre[:, None] + deviation[:, None] * nodes  # [N, Q]
    values = flow.forward(f0, np.asarray(params)[:, :, None, :]).numpy()  # [C, N, Q]
    coefficients = values @ (weights[:, None] * _hermite_polynomials(nodes, MAX_ORDER))
    # Parseval: the variance is Σ_{n≥1} h_n², so this is what is left after each order.
    variance = (values - coefficients[:, :, :1]) ** 2 @ weights
    explained = np.cumsum(coefficients[:, :, 1:] ** 2, axis=-1)
    left = np.maximum(variance[:, :, None] - explained, 0.0)  # [C, N, MAX_ORDER]
    if order is None:
        # At equal inputs ρ = 1, so the bound is largest there: the remainder itself.
        worst = left.max(axis=(0, 1))
        small = np.flatnonzero(worst <= tolerance * variance.max())
        order = int(small[0]) + 1 if small.size else MAX_ORDER
    check_count(order, "order", maximum=MAX_ORDER)
    return HermiteSeries(correlation, coefficients[:, :, : order + 1], left[:, :, order - 1])


@check_shapes("K: [N, N]", "params_c: [N, P]", "params_d: [N, P]", "return: [N, N]")
def pair(
    K: np.ndarray, flow: Flow, params_c: np.ndarray, params_d: np.ndarray, order: int = 20
) -> np.ndarray:
    """Cov[f^c, f^d] for any flow, by its Hermite series up to `order`; f0 has mean zero."""
    return hermite_series(K, flow, np.stack([params_c, params_d]), order=order).pair(0, 1)


@check_shapes("K: [N, N]", "params: [C, N, P]", "return: [CN, CN]")
def joint(K: np.ndarray, flow: Flow, params: np.ndarray, order: int = 20) -> np.ndarray:
    """Covariance of all C processes stacked, for any flow; f0 has mean zero."""
    return hermite_series(K, flow, params, order=order).joint()


@check_shapes("samples_c: [S, N]", "samples_d: [S, N]", "return[0]: [N, N]", "return[1]: [N, N]")
def empirical(samples_c: np.ndarray, samples_d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Monte Carlo estimate of Cov[f^c, f^d] from S joint draws, and its standard error.

    The estimate is the mean over draws of the products p = (f^c − mean)(f^d − mean)ᵀ (times
    S/(S−1)), its standard error that of this mean, √(Var[p]/S) with Var[p] = E[p²] − E[p]².
    """
    S = check_count(len(samples_c), "samples_c", minimum=2, because="at least two draws")
    c, d = (np.asarray(samples, dtype=float) for samples in (samples_c, samples_d))
    c, d = c - c.mean(axis=0), d - d.mean(axis=0)
    mean_product = c.T @ d / S
    mean_square = (c**2).T @ (d**2) / S
    variance = np.maximum(mean_square - mean_product**2, 0.0)
    return mean_product * S / (S - 1), np.sqrt(variance / S)


@check_shapes("series.coefficients: [C, N, n]", "return: [C, C, N]")
def correlation_at_equal_inputs(series: HermiteSeries) -> np.ndarray:
    """Corr[f^c(x), f^d(x)] at each input.

    ±1 for linear flows. Any other pair of flows lowers it, although each of the two values still
    determines the other: a correlation sees the linear part of a dependence only.
    """
    h = series.coefficients[:, :, 1:]
    covariance = np.einsum("cnk,dnk->cdn", h, h)
    variance = np.einsum("cnk,cnk->cn", h, h)
    return covariance / np.sqrt(variance[:, None] * variance[None, :])


def _hermite_polynomials(z: np.ndarray, order: int) -> np.ndarray:
    """He_n(z)/√n! for n = 0..order, [Q, order + 1], by √(n+1) p_(n+1) = z p_n − √n p_(n−1)."""
    columns = [np.ones_like(z), z]
    for n in range(1, order):
        columns.append((z * columns[n] - np.sqrt(n) * columns[n - 1]) / np.sqrt(n + 1))
    return np.stack(columns[: order + 1], axis=-1)
