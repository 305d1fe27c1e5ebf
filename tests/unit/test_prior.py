"""The numbers behind the pictures, against plain loops."""

import numpy as np

from etgp_viz import prior
from etgp_viz.flows import Linear

X = np.linspace(-3.0, 3.0, 50)
NOISE = np.random.default_rng(1).standard_normal(50)


def test_the_latent_is_the_cholesky_factor_times_the_noise():
    K = np.empty((50, 50))
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            K[i, j] = 2.0 * np.exp(-0.5 * ((x - y) / 0.5) ** 2) + 2.0 * prior.JITTER * (i == j)
    expected = np.linalg.cholesky(K) @ NOISE
    actual = prior.draw_latent(X, NOISE, lengthscale=0.5, variance=2.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8)


def test_a_flow_moves_the_warped_path_and_never_the_latent():
    latent = prior.draw_latent(X, NOISE)
    record = prior.warp(X, latent, Linear(), np.array([-2.0, 0.5]))
    np.testing.assert_array_equal(record.latent, latent)
    np.testing.assert_allclose(record.warped, -2.0 * latent + 0.5)
