"""A Gaussian output layer against plain NumPy, Monte Carlo and GPflow's KL divergence."""

import numpy as np
import pytest

from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.mean_field import MeanFieldNetwork

D, C, H = 2, 3, 5
X = tf.constant(np.random.default_rng(0).normal(size=(4, D)))


def network(flow: flows.Flow | None = None, **options: object) -> MeanFieldNetwork:
    """One whose means and deviations all differ."""
    made = MeanFieldNetwork(D, C, flow or flows.Linear(), **{"hidden": (H,), **options})
    rng = np.random.default_rng(1)
    made.output.weights.assign(rng.normal(size=made.output.weights.shape))
    made.output.bias.assign(rng.normal(size=made.output.bias.shape))
    made.deviations.assign(rng.uniform(0.1, 0.5, size=made.deviations.shape))
    return made


def in_columns(params: np.ndarray) -> np.ndarray:
    """Raw parameters [..., C, P] in the order of the output layer, p·C + c."""
    return np.swapaxes(params, -1, -2).reshape(*params.shape[:-2], -1)


@pytest.mark.parametrize("one_mask", [False, True])
def test_moments_of_draws_are_those_of_gaussian_weights(one_mask):
    net = network()
    h = FlowNetwork.features(net, X).numpy()
    m, s, b = net.output.weights.numpy(), net.deviations.numpy(), net.output.bias.numpy()
    draws = in_columns(net(X, 40_000, seed=0, one_mask=one_mask).numpy())
    variance = h**2 @ s**2
    error = np.sqrt(variance / len(draws))
    assert np.abs(draws.mean(axis=0) - (h @ m + b)).max() < 4.5 * error.max()
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.04)
    # Between two rows: Σ_h φ_h(x) φ_h(x′) s² with one draw of the weights for both, else nothing.
    between = np.mean((draws[:, 0] - draws[:, 0].mean(0)) * (draws[:, 1] - draws[:, 1].mean(0)), 0)
    expected = (h[0] * h[1]) @ s**2 if one_mask else np.zeros(b.size)
    np.testing.assert_allclose(between, expected, atol=0.04 * variance.max())


def test_point_estimate_has_the_mean_weights():
    net, plain = network(), FlowNetwork(D, C, flows.Linear(), hidden=(H,), dropout=0.0)
    plain.output.weights.assign(net.output.weights)
    plain.output.bias.assign(net.output.bias)
    np.testing.assert_allclose(net(X), plain(X), rtol=1e-12)


def test_without_deviation_it_is_a_network_without_dropout():
    net, plain = network(), FlowNetwork(D, C, flows.Linear(), hidden=(H,), dropout=0.0)
    net.deviations.assign(np.full(net.deviations.shape, 1e-9))
    plain.output.weights.assign(net.output.weights)
    plain.output.bias.assign(net.output.bias)
    np.testing.assert_allclose(net(X, 3, seed=0), plain(X, 3, seed=0), atol=1e-5)


@pytest.mark.parametrize("samples", [None, 3])
def test_last_layer_gives_the_same_parameters(samples):
    net = network(flows.Tanh(elements=2))
    features = net.features(X, samples, seed=0)
    h, W = net.last_layer(features)
    np.testing.assert_allclose(h @ W, in_columns(net.params_of(features).numpy()), atol=1e-12)


def test_kl_agrees_with_gpflow_and_with_monte_carlo():
    net = network(output_decay=0.2, weight_decay=0.0)
    m, s = net.output.weights.numpy().ravel(), net.deviations.numpy().ravel()
    sigma = np.sqrt(1.0 / (2.0 * 0.2))
    # GPflow's KL divergence from N(0, 1), after division by σ.
    theirs = gpflow.kullback_leiblers.gauss_kl(m[:, None] / sigma, s[:, None] / sigma)
    np.testing.assert_allclose(net.prior_penalty(), theirs, rtol=1e-12)
    w = m + s * np.random.default_rng(0).normal(size=(50_000, m.size))
    log_q = np.sum(-0.5 * ((w - m) / s) ** 2 - np.log(s), axis=1)
    log_p = np.sum(-0.5 * (w / sigma) ** 2 - np.log(sigma), axis=1)
    ratios = log_q - log_p
    error = ratios.std() / np.sqrt(len(ratios))
    assert abs(ratios.mean() - net.prior_penalty()) < 4.0 * error


def test_trunk_has_its_own_weight_decay():
    with_decay, without = network(weight_decay=2.0), network(weight_decay=0.0)
    difference = with_decay.prior_penalty() - without.prior_penalty()
    expected = 2.0 * np.sum(with_decay.layers[0].weights.numpy() ** 2)
    np.testing.assert_allclose(difference, expected, rtol=1e-9)


def test_gradients_are_finite_where_all_features_are_zero():
    net = MeanFieldNetwork(D, C, flows.Linear(), hidden=())
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net(np.zeros((2, D)), 2, seed=0))
    gradients = tape.gradient(loss, net.trainable_variables, unconnected_gradients="zero")
    assert all(np.isfinite(gradient).all() for gradient in gradients)


def test_a_row_keeps_its_noise_when_rows_follow():
    net = network()
    np.testing.assert_allclose(net(X, 3, seed=5)[:, :2], net(X[:2], 3, seed=5), rtol=1e-12)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="output_decay: expected a finite number > 0"):
        MeanFieldNetwork(D, C, flows.Linear(), output_decay=0.0)


def test_more_classes_than_memory_are_refused_at_once():
    with pytest.raises(ValueError, match=r"num_classes: expected .*noise of 200000 raw parameters"):
        MeanFieldNetwork(D, 100_000, flows.Linear(), hidden=(1,))
