"""Nodes and weights for expectations over L independent standard normal latents.

Up to three latents have a tensor product of Gauss–Hermite rules, more have quasi-Monte Carlo:
a tensor product with 8 nodes for each of five latents would need 32 768 nodes.
"""

from functools import lru_cache

import numpy as np
from scipy.stats import norm, qmc

from etgp_viz import checks
from etgp_viz.core.expectations import gauss_hermite

__all__ = ["latent_grid"]

MAX_TENSOR = 3  # latents of a tensor product
# Nodes for each latent of a tensor product, and points of quasi-Monte Carlo in all.
NODES, POINTS = {1: 20, 2: 12, 3: 8}, 256
MAX_POINTS = 1 << 16


def default_nodes(latents: int) -> int:
    """Nodes for each latent (up to three of them), or points in all (for more)."""
    return NODES.get(latents, POINTS)


@lru_cache(maxsize=32)
def latent_grid(latents: int, num_nodes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points z ``[Q, L]`` and weights w ``[Q]``, summing to one, for E[h(z)] with z ~ N(0, I).

    Q is num_nodes^L up to three latents. Beyond that it is num_nodes, a power of two: one half are
    scrambled Sobol points, the other half their mirror images −z, and all are scaled so that mean
    and variance of every latent are exact.

    Parameters
    ----------
    latents, num_nodes : L, and the number of nodes, see above
    seed : of the scrambling; a tensor product has no use for it

    Returns
    -------
    z, w : arrays ``[Q, L]`` and ``[Q]``

    Examples
    --------
    >>> z, w = latent_grid(2, 5)
    >>> z.shape, float((w @ (z[:, 0] ** 2 * z[:, 1] ** 4)).round(12))  # E[z₁²] E[z₂⁴]
    ((25, 2), 3.0)
    """
    if latents <= MAX_TENSOR:
        most = int(MAX_POINTS ** (1.0 / latents))
        checks.check_count(num_nodes, "num_quadrature", maximum=min(most, checks.MAX_NODES))
        nodes, weights = gauss_hermite(num_nodes)
        points = np.stack(np.meshgrid(*[nodes] * latents, indexing="ij"), axis=-1)
        products = np.prod(np.meshgrid(*[weights] * latents, indexing="ij"), axis=0)
        return points.reshape(-1, latents), products.ravel()
    checks.check_count(num_nodes, "num_quadrature", minimum=4, maximum=MAX_POINTS)
    if num_nodes & (num_nodes - 1):
        checks.fail("num_quadrature", "a power of two for more than three latents", str(num_nodes))
    half = qmc.Sobol(latents, seed=seed).random_base2(num_nodes.bit_length() - 2)
    points = norm.ppf(np.clip(half, 1e-12, 1.0 - 1e-12))
    points = np.concatenate([points, -points])
    return points / np.sqrt(np.mean(points**2, axis=0)), np.full(num_nodes, 1.0 / num_nodes)
