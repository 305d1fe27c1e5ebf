"""Closed-form covariances of mixed latents against Monte Carlo with its standard error."""

import numpy as np
import pytest

from etgp_viz.extensions.mixed_covariance import mixed_correlation, mixed_linear
from etgp_viz.records.covariance import empirical

L, C, N, S = 2, 3, 4, 20_000
RNG = np.random.default_rng(0)
X = np.linspace(-1.0, 1.0, N)
K = np.stack([np.exp(-0.5 * (X[:, None] - X) ** 2 / length**2) for length in (0.4, 1.2)])
SLOPES, SHIFTS, MIXING = RNG.normal(size=C), RNG.normal(size=C), RNG.normal(size=(C, L))


def draws():
    """S joint draws of the C processes at N inputs, [C, S, N]."""
    noise = np.random.default_rng(1).normal(size=(L, S, N))
    latents = noise @ np.linalg.cholesky(K + 1e-10 * np.eye(N)).transpose(0, 2, 1)
    mixed = np.einsum("cl,lsn->csn", MIXING, latents)
    return SLOPES[:, None, None] * mixed + SHIFTS[:, None, None]


def test_covariances_of_linear_flows_against_monte_carlo():
    closed, processes = mixed_linear(K, SLOPES, MIXING), draws()
    for c in range(C):
        for d in range(C):
            estimate, error = empirical(processes[c], processes[d])
            assert np.all(np.abs(estimate - closed[c, d]) < 4.5 * error), (c, d)


def test_correlation_at_one_input_against_monte_carlo_and_its_cosine():
    correlation = mixed_correlation(np.array([1.0, 1.0]), SLOPES, MIXING)
    estimate = np.corrcoef(draws()[:, :, 0])
    # Standard error of a sample correlation: (1 − ρ²)/√S.
    assert np.all(np.abs(estimate - correlation) <= 4.5 * (1.0 - correlation**2) / S**0.5 + 1e-9)
    rows = np.sign(SLOPES)[:, None] * MIXING / np.linalg.norm(MIXING, axis=1, keepdims=True)
    np.testing.assert_allclose(correlation, rows @ rows.T, atol=1e-12)
    assert np.max(np.abs(correlation[np.triu_indices(C, 1)])) < 0.999


def test_one_latent_ties_classes_and_an_unused_one_has_no_correlation():
    tied = mixed_correlation(np.ones(1), SLOPES, MIXING[:, :1])
    np.testing.assert_allclose(np.abs(tied), 1.0, atol=1e-12)
    still = mixed_correlation(np.ones(2), np.array([0.0, 1.0, 1.0]), MIXING)
    assert np.isnan(still[0]).all()


def test_bad_shapes_are_refused_by_name():
    with pytest.raises(ValueError, match=r"mixing: expected shapes"):
        mixed_linear(K, SLOPES, MIXING[:, :1])
