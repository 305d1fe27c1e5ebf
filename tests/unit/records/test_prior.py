"""Draws, kernels and parameters over x, against plain loops and properties."""

import numpy as np
import pytest

from etgp_viz.core.flows import SAL, Linear
from etgp_viz.records import prior

X = np.linspace(-3.0, 3.0, 30)


def loop_kernel(name, ell, v, period):
    """Textbook formulas, one pair of inputs at a time."""

    def one(x, y):
        r = abs(x - y) / ell
        match name:
            case "rbf":
                return v * np.exp(-(r**2) / 2)
            case "matern12":
                return v * np.exp(-r)
            case "matern32":
                return v * (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
            case "matern52":
                return v * (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)
            case "rational":
                return v / (1 + r**2 / 2)
            case "periodic":
                return v * np.exp(-0.5 * (np.sin(np.pi * (x - y) / period) / ell) ** 2)

    return np.array([[one(x, y) for y in X] for x in X])


@pytest.mark.parametrize(
    "name", ["rbf", "matern12", "matern32", "matern52", "rational", "periodic"]
)
def test_kernels_are_the_ones_of_the_textbook(name):
    K = prior.covariance_matrix(prior.kernel(name, 0.7, 2.0, 1.5), X)
    np.testing.assert_allclose(K, loop_kernel(name, 0.7, 2.0, 1.5), atol=1e-9)


@pytest.mark.parametrize("name", prior.KERNELS)
def test_every_kernel_can_be_drawn_from(name):
    K = prior.covariance_matrix(prior.kernel(name, 1.0, 1.0), X)
    draws = prior.draw(K, prior.noise(0, 4000, len(X)))
    error = np.cov(draws.T) - K
    # The standard error of a covariance of Gaussians is √((K_ij² + K_ii K_jj)/S).
    spread = np.sqrt((K**2 + np.outer(np.diag(K), np.diag(K))) / 4000)
    assert np.max(np.abs(error) / spread) < 5.0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"name": "cubic"}, "name: expected one of"),
        ({"lengthscale": 0.0}, "lengthscale: expected a finite number > 0"),
        ({"variance": -1.0}, "variance: expected a finite number > 0"),
        ({"name": "periodic", "period": 0.0}, "period: expected a finite number > 0"),
    ],
)
def test_a_bad_kernel_says_what_is_wrong(bad, message):
    with pytest.raises(ValueError, match=message):
        prior.kernel(**{"name": "rbf", **bad})


def test_a_draw_is_the_cholesky_factor_times_the_noise():
    K = loop_kernel("matern32", 0.7, 2.0, None)
    noise = prior.noise(1, 2, len(X))
    expected = [np.linalg.cholesky(K + 2.0 * prior.JITTER * np.eye(len(X))) @ row for row in noise]
    np.testing.assert_allclose(prior.draw(K, noise), expected, atol=1e-12)


def test_a_profile_passes_its_knots_and_never_leaves_them():
    knots = [1.0, 3.0, 3.0, -2.0, 0.5]
    np.testing.assert_allclose(prior.profile(knots, np.linspace(0, 1, 5)), knots)
    fine = prior.profile(knots, np.linspace(0, 1, 401))
    for k in range(4):
        piece = fine[100 * k : 100 * k + 101]
        assert min(knots[k : k + 2]) - 1e-12 <= piece.min()
        assert piece.max() <= max(knots[k : k + 2]) + 1e-12


def test_profiles_become_raw_parameters():
    flow = SAL(1)
    profiles = {"a": (0.5,) * 5, "b": (0.2, 1.0, 2.0, 1.0, 0.2), "d": (1.0,) * 5, "e": (0.0,) * 5}
    params = prior.params_from_profiles(flow, profiles, np.array([-3.0, -1.5, 0.0]), (-3.0, 3.0))
    np.testing.assert_allclose(flow.constrain(params)[:, 1], [0.2, 1.0, 2.0], atol=1e-12)
    with pytest.raises(ValueError, match="profiles: expected one for each of a, b"):
        prior.params_from_profiles(Linear(), {"a": (1.0,) * 5}, X, (-3.0, 3.0))


def test_a_random_network_varies_with_x_class_and_amount():
    flow = Linear()
    none = prior.random_network(flow, 3, amount=0.0)(X[:, None]).numpy()
    np.testing.assert_allclose(none, np.broadcast_to([1.0, 0.0], none.shape), atol=1e-12)
    some = prior.random_network(flow, 3, amount=1.0)(X[:, None]).numpy()
    assert np.all(np.ptp(some, axis=0) > 0.1)
    assert np.max(np.abs(some[:, 0] - some[:, 1])) > 0.1
    again = prior.random_network(flow, 3, amount=1.0)(X[:, None]).numpy()
    np.testing.assert_array_equal(some, again)


def test_the_random_flow_of_a_class_does_not_depend_on_the_number_of_classes():
    few, many = (
        prior.random_network(SAL(1), C, hidden=(5, 4), seed=2)(X[:, None]) for C in (3, 20)
    )
    np.testing.assert_allclose(few, many[:, :3], atol=1e-12)
    assert np.max(np.abs(many[:, 3] - many[:, 2])) > 0.1


def test_probabilities_are_those_of_the_softmax():
    F = prior.noise(3, 4, 7)
    expected = [[np.exp(F[c, n]) / sum(np.exp(F[:, n])) for n in range(7)] for c in range(4)]
    np.testing.assert_allclose(prior.probabilities(F), expected)


def test_conditioned_draws_have_the_conditional_of_a_gaussian():
    """Mean and covariance of f₀ given three values, against the textbook's block formulas."""
    K = loop_kernel("matern32", 0.7, 2.0, 1.0)
    places, values = [4, 17, 25], np.array([1.5, -0.5, 2.0])
    noisy = K + prior.JITTER * 2.0 * np.eye(len(X))
    A, B = noisy[np.ix_(places, places)], noisy[:, places]
    mean, covariance = B @ np.linalg.solve(A, values), noisy - B @ np.linalg.solve(A, B.T)
    draws = prior.condition(prior.draw(K, prior.noise(0, 4000, len(X))), K, places, values)
    np.testing.assert_allclose(draws[:, places], np.tile(values, (4000, 1)), atol=1e-9)
    variance = np.maximum(np.diag(covariance), 0.0)
    error = np.abs(draws.mean(axis=0) - mean) / np.sqrt(variance / 4000 + 1e-8)
    assert np.max(error) < 5.0
    spread = np.sqrt((covariance**2 + np.outer(variance, variance)) / 4000) + 1e-4
    assert np.max(np.abs(np.cov(draws.T) - covariance) / spread) < 5.0


def test_conditioning_bends_the_same_draw():
    """One draw and one point: f₀(x) + k(x, x*)/k(x*, x*)·(y* − f₀(x*)), input by input."""
    K = loop_kernel("rbf", 1.0, 1.0, 1.0)
    before = prior.draw(K, prior.noise(3, 1, len(X)))
    after = prior.condition(before, K, [10], [2.0])
    for n in range(len(X)):
        by = (1.0 if n == 10 else K[n, 10] / (1.0 + prior.JITTER)) * (2.0 - before[0, 10])
        assert after[0, n] == pytest.approx(before[0, n] + by, abs=1e-9)
    np.testing.assert_array_equal(prior.condition(before, K, [], []), before)
    with pytest.raises(ValueError, match="places: expected each input at most once"):
        prior.condition(before, K, [1, 1], [0.0, 1.0])
