"""Draws from the prior: one latent path f₀ and what a flow makes of it, as plain arrays.

The noise behind a draw is kept apart from every parameter, so that a slider bends the *same* draw
instead of showing a new one.
"""

from dataclasses import dataclass

import numpy as np

from etgp_viz.backend import check_shapes, gpflow, tf
from etgp_viz.flows import Flow

# Added to the kernel's diagonal before the Cholesky decomposition; far below what the eye sees.
JITTER = 1e-6


@dataclass(frozen=True)
class WarpedPath:
    """One latent path and its image under a flow.

    Attributes
    ----------
    x : inputs ``[N]``, increasing
    latent : f₀(x) ``[N]``
    warped : G(f₀(x); θ) ``[N]``
    """

    x: np.ndarray
    latent: np.ndarray
    warped: np.ndarray


@check_shapes("x: [N]", "noise: [N]", "return: [N]")
def draw_latent(
    x: np.ndarray, noise: np.ndarray, lengthscale: float = 1.0, variance: float = 1.0
) -> np.ndarray:
    """f₀ = L·noise with L·Lᵀ = K(x, x): a draw of the process if noise is standard normal."""
    kernel = gpflow.kernels.SquaredExponential(variance=variance, lengthscales=lengthscale)
    K = kernel(x[:, None]) + JITTER * variance * tf.eye(len(x), dtype=gpflow.default_float())
    return tf.linalg.matvec(tf.linalg.cholesky(K), noise).numpy()


@check_shapes("x: [N]", "latent: [N]", "params: [P]")
def warp(x: np.ndarray, latent: np.ndarray, flow: Flow, params: np.ndarray) -> WarpedPath:
    """Warp a latent path by one flow whose raw parameters are the same at every x."""
    return WarpedPath(x, latent, flow.forward(latent, params).numpy())
