"""One GP under one flow, against Monte Carlo, exact integrals and loops."""

import numpy as np
import pytest
from scipy.stats import norm, skew

from etgp_viz.core.flows import SAL, Linear, Tanh
from etgp_viz.records import flow as flow_records
from etgp_viz.records import prior

X = np.linspace(-3.0, 3.0, 20)
K = prior.covariance_matrix(prior.kernel("rbf", 1.0, 1.5), X)
FLOWS = {
    "linear": (Linear(), [-2.0, 0.5]),
    "sal": (SAL(1), [0.4, 1.3, 1.1, -0.5]),
    "tanh": (Tanh(2), [1.0, 2.0, -1.0, 0.7, 3.0, 1.0]),
}


@pytest.fixture(params=FLOWS)
def flow(request):
    flow, values = FLOWS[request.param]
    return flow, flow.unconstrain(np.array(values)).numpy()


def test_paths_are_warped_point_by_point(flow):
    flow, params = flow
    latent = prior.draw(K, prior.noise(0, 2, len(X)))
    record = flow_records.paths(X, latent, np.diag(K), flow, np.tile(params, (len(X), 1)), 0.3)
    for s in range(2):
        for n in range(len(X)):
            assert record.warped[s, n] == pytest.approx(float(flow.forward(latent[s, n], params)))
    np.testing.assert_array_equal(record.latent, latent)


def test_bands_hold_95_percent(flow):
    flow, params = flow
    S = 20_000
    latent = prior.draw(K, prior.noise(0, S, len(X)))
    record = flow_records.paths(X, latent, np.diag(K), flow, np.tile(params, (len(X), 1)))
    for curves, band in ((latent, record.latent_band), (record.warped, record.warped_band)):
        inside = np.mean((band[0] <= curves) & (curves <= band[1]), axis=0)
        assert np.all(np.abs(inside - 0.95) < 5 * np.sqrt(0.95 * 0.05 / S))


def test_densities_have_mass_one_and_the_moments_of_draws(flow):
    flow, params = flow
    record = flow_records.marginal(0.0, 1.5, flow, params)
    order = np.argsort(record.g)
    assert np.trapezoid(record.warped_density[order], record.g[order]) == pytest.approx(1, abs=2e-3)
    np.testing.assert_allclose(record.base_density, norm.pdf(record.f, scale=np.sqrt(1.5)))
    draws = flow.forward(np.sqrt(1.5) * prior.noise(1, 200_000), params).numpy()
    mean, deviation, skewness = record.moments
    assert mean == pytest.approx(draws.mean(), abs=5 * draws.std() / np.sqrt(len(draws)))
    assert deviation == pytest.approx(draws.std(), rel=0.02)
    assert skewness == pytest.approx(skew(draws), abs=0.1)


def test_the_slope_is_a_finite_difference(flow):
    flow, params = flow
    record = flow_records.marginal(0.0, 1.5, flow, params)
    numeric = np.abs(np.gradient(record.g, record.f, edge_order=2))
    np.testing.assert_allclose(record.slope[1:-1], numeric[1:-1], rtol=0.02, atol=0.01)
    assert record.is_linear == isinstance(flow, Linear)


def test_a_flow_that_flattens_keeps_everything_finite():
    record = flow_records.marginal(0.0, 1.0, Linear(), np.array([0.0, 2.0]))
    assert np.all(np.isfinite(record.warped_density))
    assert record.warped_density.max() == flow_records.MAX_DENSITY
    assert record.moments == (2.0, 0.0, 0.0)


def test_the_share_that_is_not_toeplitz():
    assert flow_records.not_toeplitz(K) == pytest.approx(0.0, abs=1e-7)
    a = np.linspace(0.5, 2.0, len(X))
    A = np.outer(a, a) * K
    best = np.zeros_like(A)
    for lag in range(-len(X) + 1, len(X)):
        diagonal = np.diagonal(A, lag)
        for i in range(len(X)):
            if 0 <= i + lag < len(X):
                best[i, i + lag] = diagonal.mean()
    expected = np.linalg.norm(A - best) / np.linalg.norm(A)
    assert flow_records.not_toeplitz(A) == pytest.approx(expected)


def test_the_warped_covariance_agrees_with_draws(flow):
    flow, params = flow
    params = np.tile(params, (len(X), 1))
    S = 20_000
    draws = flow.forward(prior.draw(K, prior.noise(0, S, len(X))), params).numpy()
    centred = draws - draws.mean(axis=0)
    products = np.einsum("si,sj->sij", centred, centred)
    error = flow_records.covariance(X, K, flow, params).values - products.mean(axis=0)
    assert np.max(np.abs(error) / (products.std(axis=0) / np.sqrt(S))) < 5.0
