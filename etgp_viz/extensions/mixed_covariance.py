"""Covariances between processes that are mixed from several latents.

Constant linear flows, f^c(x) = a_c Σ_l A_cl f_l(x) + b_c, have the covariance of a linear model of
coregionalisation,

    Cov[f^c(x), f^d(x')] = a_c a_d Σ_l A_cl A_dl K_l(x, x').

At one input x the correlation of two classes is the cosine of the angle between their rows of
A, each entry times the deviation of its latent, and no longer ±1 as with one latent.

Any flow: latents mixed before the flows are C·N jointly Gaussian values, each warped by itself, and
latents mixed afterwards are L independent ETGPs. Either way the Hermite series of
`etgp_viz.core.hermite` is exact.
"""

import numpy as np

from etgp_viz.backend import check_shapes
from etgp_viz.core.hermite import joint_moments
from etgp_viz.extensions.mixed_flow import MixedFlow

__all__ = ["mixed_correlation", "mixed_linear"]


@check_shapes("K: [L, N, M]", "a: [C]", "mixing: [C, L]", "return: [C, C, N, M]")
def mixed_linear(K: np.ndarray, a: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """Cov[f^c(x), f^d(x')] of constant linear flows of L mixed latents.

    Parameters
    ----------
    K : covariances of the L latents between N inputs x and M inputs x' ``[L, N, M]``
    a : slopes of the C classes ``[C]``
    mixing : A ``[C, L]``

    Returns
    -------
    array ``[C, C, N, M]``; entry (c, d, n, m) is Cov[f^c(x_n), f^d(x'_m)]

    Examples
    --------
    >>> mixing = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> mixed_linear(np.ones((2, 1, 1)), np.array([2.0, -1.0]), mixing)[:, :, 0, 0].round(6)
    array([[ 4. , -1.2],
           [-1.2,  1. ]])
    """
    rows = np.asarray(a)[:, None] * np.asarray(mixing)  # a_c A_cl: one matrix of coregionalisation
    return np.einsum("cl,dl,lnm->cdnm", rows, rows, np.asarray(K))


@check_shapes("variance: [L]", "a: [C]", "mixing: [C, L]", "return: [C, C]")
def mixed_correlation(variance: np.ndarray, a: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """Corr[f^c(x), f^d(x)] of constant linear flows at one input, where latents have a variance.

    Parameters
    ----------
    variance : of the L latents at x ``[L]``
    a, mixing : slopes ``[C]`` and A ``[C, L]``

    Returns
    -------
    array ``[C, C]``; NaN where a process does not vary

    Examples
    --------
    >>> mixing = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> float(mixed_correlation(np.ones(2), np.array([2.0, -1.0]), mixing)[0, 1].round(6))
    -0.6
    >>> float(mixed_correlation(np.ones(1), np.array([2.0, -1.0]), mixing[:, :1])[0, 1].round(6))
    -1.0
    """
    covariance = mixed_linear(np.asarray(variance)[:, None, None], a, mixing)[:, :, 0, 0]
    deviation = np.sqrt(np.diag(covariance))
    size = np.outer(deviation, deviation)
    return np.divide(covariance, size, out=np.full_like(size, np.nan), where=size > 0.0)


def mixed_joint_moments(
    flow: MixedFlow, full_output_cov: bool, mean: np.ndarray, K: np.ndarray, params: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance over inputs of C processes of L latents, averaged over S draws of θ.

    Arguments and results are those of `etgp_viz.core.hermite.joint_moments`, with mean ``[N, L]``
    and covariances K ``[L, N, N]`` of the latents.
    """
    of_draw = _mixed_before if flow.mixing == "before" else _mixed_after
    moments = [of_draw(flow, full_output_cov, mean, K, draw) for draw in params]
    means, covariances = (np.stack(parts) for parts in zip(*moments, strict=True))
    # The law of total covariance.
    spread = means - means.mean(axis=0)
    between = np.einsum("sic,sjd->icjd" if full_output_cov else "sic,sjc->cij", spread, spread)
    return means.mean(axis=0), covariances.mean(axis=0) + between / len(params)


def _mixed_before(
    flow: MixedFlow, full_output_cov: bool, mean: np.ndarray, K: np.ndarray, params: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The series of one draw: every mixed value is an input of its own."""
    N, C, _ = params.shape
    mixing, rest = params[..., : flow.latents], params[..., flow.latents :]
    mixed_mean = np.einsum("ncl,nl->nc", mixing, mean)

    def warped(mean: np.ndarray, K: np.ndarray, params: np.ndarray) -> tuple:
        found, covariance = joint_moments(flow.flow, False, mean, K, params[None, :, None])
        return found[:, 0], covariance[0]

    if full_output_cov:
        mixed_K = np.einsum("icl,jdl,lij->icjd", mixing, mixing, K, optimize=True)
        values = mixed_mean.ravel(), mixed_K.reshape(N * C, N * C), rest.reshape(N * C, -1)
        found, covariance = warped(*values)
        return found.reshape(N, C), covariance.reshape(N, C, N, C)
    of_class = [
        warped(
            mixed_mean[:, c], np.einsum("il,jl,lij->ij", mixing[:, c], mixing[:, c], K), rest[:, c]
        )
        for c in range(C)
    ]
    means, covariances = zip(*of_class, strict=True)
    return np.stack(means, axis=1), np.stack(covariances)


def _mixed_after(
    flow: MixedFlow, full_output_cov: bool, mean: np.ndarray, K: np.ndarray, params: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The series of one draw: a sum of independent ETGPs, one for each latent."""
    L, P = flow.latents, flow.flow.num_params
    pairs = "icjd,ic,jd->icjd" if full_output_cov else "cij,ic,jc->cij"
    means, covariances = [], []
    for latent in range(L):
        a, start = params[..., latent], L + latent * P
        warp = params[None, ..., start : start + P]
        found, covariance = joint_moments(
            flow.flow, full_output_cov, mean[:, latent], K[latent], warp
        )
        means.append(a * found)
        covariances.append(np.einsum(pairs, covariance, a, a))
    return sum(means), sum(covariances)
