"""Flow parameters from sparse GPs against plain NumPy, and their return to the prior."""

import numpy as np
import pytest

from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.extensions.gp_parameters import GPNetwork

D, C, M = 2, 3, 4
RNG = np.random.default_rng(0)
X = tf.constant(RNG.normal(size=(5, D)))
Z = RNG.normal(size=(M, D))


def network(R: int | None = 2) -> GPNetwork:
    """One whose q is far from the prior."""
    made = GPNetwork(D, C, flows.Linear(), Z, num_processes=R, lengthscale=1.5)
    rng, (_, R) = np.random.default_rng(1), made.q_mu.shape
    made.q_mu.assign(rng.normal(size=(M, R)))
    made.q_sqrt.assign(np.tril(rng.normal(scale=0.3, size=(R, M, M))) + 0.3 * np.eye(M))
    made.output.bias.assign(rng.normal(size=made.output.bias.shape))
    return made


def rbf(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The kernel of `network`, pair by pair."""
    return np.array([[np.exp(-0.5 * np.sum((x - y) ** 2) / 1.5**2) for y in b] for x in a])


def posterior(net: GPNetwork, r: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of q(g_r(x)), from q(u) = N(L m, L R Rᵀ Lᵀ)."""
    Kzz = rbf(Z, Z) + gpflow.default_jitter() * np.eye(M)
    root = np.linalg.cholesky(Kzz)
    mean_u = root @ net.q_mu.numpy()[:, r]
    S = root @ net.q_sqrt.numpy()[r]
    A = rbf(x, Z) @ np.linalg.inv(Kzz)
    return A @ mean_u, rbf(x, x) - A @ (Kzz - S @ S.T) @ A.T


def in_columns(params: np.ndarray) -> np.ndarray:
    """Raw parameters [..., C, P] in the order of the output layer, p·C + c."""
    return np.swapaxes(params, -1, -2).reshape(*params.shape[:-2], -1)


def test_point_estimate_mixes_the_posterior_means():
    net = network()
    means = np.stack([posterior(net, r, X.numpy())[0] for r in range(2)], axis=1)
    expected = means @ net.output.weights.numpy() + net.output.bias.numpy()
    np.testing.assert_allclose(in_columns(net(X).numpy()), expected, atol=1e-9)


@pytest.mark.parametrize("one_mask", [False, True])
def test_draws_have_the_moments_of_the_mixture(one_mask):
    net = network()
    W = net.output.weights.numpy()
    draws = in_columns(net(X, 40_000, seed=0, one_mask=one_mask).numpy())
    moments = [posterior(net, r, X.numpy()) for r in range(2)]
    mean = np.stack([m for m, _ in moments], axis=1) @ W + net.output.bias.numpy()
    variance = np.stack([np.diag(K) for _, K in moments], axis=1) @ W**2
    assert np.abs(draws.mean(axis=0) - mean).max() < 4.5 * np.sqrt(variance.max() / len(draws))
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.05)
    # A joint draw is one function: two rows have the covariance of q; other draws have none.
    between = np.mean((draws[:, 0] - draws[:, 0].mean(0)) * (draws[:, 1] - draws[:, 1].mean(0)), 0)
    expected = np.array([K[0, 1] for _, K in moments]) @ W**2 if one_mask else np.zeros(2 * C)
    np.testing.assert_allclose(between, expected, atol=0.04 * variance.max())


def test_penalty_is_the_kl_divergence_of_whitened_gaussians():
    net = network()
    kl = 0.0
    for r in range(2):
        m, S = net.q_mu.numpy()[:, r], net.q_sqrt.numpy()[r] @ net.q_sqrt.numpy()[r].T
        kl += 0.5 * (np.trace(S) + m @ m - M - np.linalg.slogdet(S)[1])
    decay = 1e-5 * np.sum(net.output.weights.numpy() ** 2)
    np.testing.assert_allclose(net.prior_penalty(), kl + decay, rtol=1e-10)


def test_far_from_the_data_parameters_return_to_their_prior():
    net = network()
    far = np.full((1, D), 1e3)
    W, b = net.output.weights.numpy(), net.output.bias.numpy()
    np.testing.assert_allclose(in_columns(net(far).numpy())[0], b, atol=1e-12)
    draws = in_columns(net(far, 40_000, seed=0).numpy())[:, 0]
    np.testing.assert_allclose(np.cov(draws.T), W.T @ W, atol=0.03 * np.max(W.T @ W))
    near = in_columns(net(Z[:1], 40_000, seed=0).numpy())[:, 0]
    assert np.abs(near.mean(axis=0) - b).max() > 0.1  # it does know something at the data


def test_one_process_for_each_parameter_is_not_mixed():
    net = GPNetwork(D, C, flows.Linear(), Z, num_processes=2 * C)
    np.testing.assert_array_equal(net.output.weights, np.eye(2 * C))
    net.q_mu.assign(np.eye(M, 2 * C))  # one knows nothing of another
    means = net.moments(X)[0].numpy()
    np.testing.assert_allclose(in_columns(net(X).numpy()), means + net.output.bias, atol=1e-12)


def test_processes_do_not_grow_with_the_classes():
    sizes = [GPNetwork(D, C, flows.Tanh(), Z).q_sqrt.shape[0] for C in (2, 10, 100)]
    assert sizes == [10, 10, 10]
    assert GPNetwork(D, 2, flows.Linear(), Z).q_sqrt.shape[0] == 4


def test_starts_at_the_identity_in_its_point_estimate():
    net = GPNetwork(D, C, flows.Linear(), Z)
    np.testing.assert_array_equal(net(X), np.broadcast_to([1.0, 0.0], (5, C, 2)))


def test_a_row_keeps_its_noise_when_rows_follow():
    net = network()
    np.testing.assert_allclose(net(X, 3, seed=5)[:, :2], net(X[:2], 3, seed=5), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_processes": 7}, "num_processes: expected an integer in 1..6 .*, got 7"),
        ({"lengthscale": -1.0}, "lengthscale: expected a finite number > 0, got -1.0"),
        ({"inducing_points": Z[:, :1]}, "inducing_points: expected"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GPNetwork(D, C, flows.Linear(), **{"inducing_points": Z, **options})
