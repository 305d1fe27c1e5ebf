"""One GP under one flow, against Monte Carlo, exact integrals and loops."""

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.integrate import trapezoid
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
    assert trapezoid(record.warped_density[order], record.g[order]) == pytest.approx(1, abs=2e-3)
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


def test_variances_of_the_steepest_sliders_are_exact():
    """TANH with b = 5 and σ² = 5: a series of 60 terms from 128 Gauss–Hermite nodes misses them."""
    flow, steep = Tanh(1), np.array([3.0, 5.0, 0.3])
    params = np.tile(flow.unconstrain(steep).numpy(), (len(X), 1))
    record = flow_records.covariance(X, 5.0 * K / K[0, 0], flow, params)
    z = np.linspace(-12.0, 12.0, 20_001)
    g = np.sqrt(5.0) * z
    g = g + 3.0 * np.tanh(5.0 * (g + 0.3))
    mean = trapezoid(norm.pdf(z) * g, z)
    exact = trapezoid(norm.pdf(z) * (g - mean) ** 2, z)
    np.testing.assert_allclose(np.diag(record.values), exact, rtol=1e-9)


# Two inputs ---------------------------------------------------------------------------------------

PAIR = np.array([0.2, 1.0])
K_PAIR = np.array([[2.0, 0.9], [0.9, 1.0]])
S = 20_000
BENT, VALUES = SAL(1), np.array([[0.4, 1.3, 1.1, -0.5], [-0.8, 0.9, 0.7, 1.0]])
PARAMS = BENT.unconstrain(VALUES).numpy()


def test_draws_have_the_covariance_and_the_contour_is_its_ellipse():
    record = flow_records.two_points(PAIR, K_PAIR, prior.noise(0, S, 2))
    # Var[f g] = K_ii K_jj + K_ij² for a Gaussian pair.
    error = np.sqrt((np.outer(np.diag(K_PAIR), np.diag(K_PAIR)) + K_PAIR**2) / S)
    assert np.all(np.abs(np.cov(record.draws) - K_PAIR) < 5 * error)
    distance = np.einsum("ik,ij,jk->k", record.contour, np.linalg.inv(K_PAIR), record.contour)
    np.testing.assert_allclose(distance, -2 * np.log(0.05), rtol=1e-4)
    assert record.correlation == pytest.approx(0.9 / np.sqrt(2.0), abs=0.03)


@pytest.mark.parametrize("warp", [(), (BENT, PARAMS)], ids=["latent", "warped"])
def test_the_contour_holds_95_percent(warp):
    record = flow_records.two_points(PAIR, K_PAIR, prior.noise(1, S, 2), *warp)
    inside = Path(record.contour.T).contains_points(record.draws.T).mean()
    assert abs(inside - 0.95) < 5 * np.sqrt(0.95 * 0.05 / S) + 1e-3  # 120 chords cut a little off


def test_each_value_goes_through_the_flow_of_its_input():
    noise = prior.noise(2, 6, 2)
    plain = flow_records.two_points(PAIR, K_PAIR, noise)
    record = flow_records.two_points(PAIR, K_PAIR, noise, BENT, PARAMS)
    for k in range(2):
        for s in range(6):
            expected = float(BENT.forward(plain.draws[k, s], PARAMS[k]))
            assert record.draws[k, s] == pytest.approx(expected)
