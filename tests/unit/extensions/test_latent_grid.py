"""Rules for several latents: moments, and the error that their default sizes leave."""

import numpy as np
import pytest
from scipy.special import log_softmax

from etgp_viz.core.expectations import gauss_hermite
from etgp_viz.extensions.latent_grid import default_nodes, latent_grid

ROWS, CLASSES = 40, 5


@pytest.mark.parametrize("latents", [1, 2, 3, 4, 5, 8])
def test_points_and_weights_have_the_moments_of_a_standard_normal(latents):
    z, w = latent_grid(latents, default_nodes(latents))
    assert z.shape == (len(w), latents)
    assert np.all(w > 0.0)
    np.testing.assert_allclose(w.sum(), 1.0, atol=1e-12)
    np.testing.assert_allclose(w @ z, 0.0, atol=1e-12)
    np.testing.assert_allclose(w @ z**2, 1.0, atol=1e-12)
    covariance = z.T @ (w[:, None] * z)
    np.testing.assert_allclose(covariance, np.eye(latents), atol=1e-12 if latents < 4 else 0.05)


def test_one_latent_has_the_rule_of_etgp():
    z, w = latent_grid(1, 20)
    nodes, weights = gauss_hermite(20)
    np.testing.assert_array_equal(z[:, 0], nodes)
    np.testing.assert_array_equal(w, weights)


def test_sobol_points_depend_on_the_seed_alone():
    first, second = latent_grid(5, 64, seed=1)[0], latent_grid.__wrapped__(5, 64, seed=1)[0]
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, latent_grid(5, 64, seed=2)[0])


def expected(latents, num_nodes, scale, seed=0):
    """E[log p] of a random softmax with mixed latents of deviation scale/√L in all: [N, C]."""
    rng = np.random.default_rng(seed)
    A, mean = rng.normal(size=(ROWS, CLASSES, latents)), rng.normal(size=(ROWS, latents))
    z, w = latent_grid(latents, num_nodes)
    logits = np.einsum("ncl,nql->nqc", A, mean[:, None] + scale / np.sqrt(latents) * z)
    return np.einsum("nqc,q->nc", log_softmax(logits, axis=-1), w)


@pytest.mark.parametrize(("latents", "fine"), [(2, 60), (3, 36), (5, 1 << 15)])
@pytest.mark.parametrize(("scale", "mean_error"), [(0.3, 1e-4), (1.0, 1e-3), (3.0, 0.01)])
def test_default_sizes_leave_a_small_error_in_an_elbo(latents, fine, scale, mean_error):
    error = expected(latents, default_nodes(latents), scale) - expected(latents, fine, scale)
    assert np.max(np.abs(error.mean(axis=0))) < mean_error


def test_quasi_monte_carlo_beats_monte_carlo():
    exact = expected(5, 1 << 15, 1.0)
    quasi = np.sqrt(np.mean((expected(5, 256, 1.0) - exact) ** 2))
    rng = np.random.default_rng(0)
    A, mean = rng.normal(size=(ROWS, CLASSES, 5)), rng.normal(size=(ROWS, 5))
    z = rng.normal(size=(256, 5))
    logits = np.einsum("ncl,nql->nqc", A, mean[:, None] + z / np.sqrt(5))
    plain = np.sqrt(np.mean((log_softmax(logits, axis=-1).mean(axis=1) - exact) ** 2))
    assert quasi < 0.25 * plain
