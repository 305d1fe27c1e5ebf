"""Concrete dropout against fixed dropout, plain NumPy and Monte Carlo."""

import numpy as np
import pytest
from scipy.special import logsumexp

from etgp_viz.backend import tf
from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.concrete_dropout import ConcreteDropoutNetwork, bernoulli_kl

D, C = 2, 3
X = tf.constant(np.random.default_rng(0).normal(size=(7, D)))
OPTIONS = {"hidden": (20, 10), "dropout": 0.3, "weight_decay": 0.01}


def pair(**options: object) -> tuple[FlowNetwork, ConcreteDropoutNetwork]:
    """The two kinds of network with the same weights, none of them zero."""
    networks = (
        FlowNetwork(D, C, flows.Linear(), **OPTIONS),
        ConcreteDropoutNetwork(D, C, flows.Linear(), **OPTIONS, **options),
    )
    weights = np.random.default_rng(1).normal(size=networks[0].output.weights.shape)
    for network in networks:
        network.output.weights.assign(weights)
    return networks


@pytest.mark.parametrize("one_mask", [False, True])
def test_cold_masks_are_those_of_fixed_dropout(one_mask):
    fixed, cold = pair(temperature=1e-7)
    ours, theirs = (network(X, 50, seed=3, one_mask=one_mask) for network in (cold, fixed))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(cold(X), fixed(X))  # the point estimate


def test_draws_have_the_mean_and_nearly_the_spread_of_fixed_dropout():
    """Relaxed masks at the default temperature: same mean of each unit, a little less variance."""
    _, concrete = pair()
    kept = concrete.features(X, 20_000, seed=0).numpy()
    h = concrete.features(X).numpy()
    # The last layer of a network with one hidden layer, to which a mask is applied once.
    single = ConcreteDropoutNetwork(D, C, flows.Linear(), hidden=(20,), dropout=0.3)
    ratio = single.features(X, 20_000, seed=0).numpy() / single.features(X).numpy()
    assert kept.shape == (20_000, *h.shape)
    u = np.random.default_rng(0).uniform(size=1_000_000)
    logit = np.log(0.7 / 0.3) - np.log(u / (1.0 - u))
    mask = 1.0 / (1.0 + np.exp(-logit / 0.1)) / 0.7
    np.testing.assert_allclose(ratio.mean(), mask.mean(), atol=3e-3)
    np.testing.assert_allclose(ratio.std(), mask.std(), atol=3e-3)
    np.testing.assert_allclose(ratio.mean(), 1.0, atol=0.01)
    assert 0.9 < ratio.var() / (0.3 / 0.7) < 1.0


def test_one_mask_is_one_function_of_x():
    _, concrete = pair()
    draws = concrete(tf.repeat(X[:1], 5, axis=0), 4, seed=1, one_mask=True).numpy()
    np.testing.assert_allclose(draws, np.broadcast_to(draws[:, :1], draws.shape), rtol=1e-12)
    assert np.ptp(draws[:, 0], axis=0).min() > 0.0


def test_penalty_at_equal_rates_is_that_of_fixed_dropout_and_of_the_tosses():
    fixed, concrete = pair()
    p = 0.3
    toss = p * np.log(2.0 * p) + (1.0 - p) * np.log(2.0 * (1.0 - p))
    expected = fixed.prior_penalty() + (20 + 10) * toss
    np.testing.assert_allclose(concrete.prior_penalty(), expected, rtol=1e-12)
    concrete.rates.assign([0.5, 0.1])
    first, second, last = (
        np.sum(layer.weights.numpy() ** 2) for layer in (*concrete.layers, concrete.output)
    )
    toss = 0.1 * np.log(0.2) + 0.9 * np.log(1.8)
    expected = 0.01 * (first + second / 0.5 + last / 0.9) + 10 * toss
    np.testing.assert_allclose(concrete.prior_penalty(), expected, rtol=1e-12)


def test_penalty_with_a_projection_leaves_the_linear_layer_whole():
    network = ConcreteDropoutNetwork(
        D, C, flows.Linear(), hidden=(5,), projection=(4, 3), weight_decay=1.0, dropout=0.4
    )
    a, b, c = (np.sum(layer.weights.numpy() ** 2) for layer in network.layers)
    toss = 0.4 * np.log(0.8) + 0.6 * np.log(1.2)
    np.testing.assert_allclose(network.prior_penalty(), a + b / 0.6 + c + (4 + 5) * toss)
    assert network(X, 3).shape == (3, 7, C, 2)


def test_penalty_is_the_kl_divergence_of_a_narrow_mixture_by_monte_carlo():
    """One unit with K weights behind it: all are near w / (1 − p), or all near 0."""
    rng = np.random.default_rng(0)
    rate, prior_variance, width, K = 0.3, 4.0, 1e-3, 2
    w = np.array([0.8, -1.5])
    centres = np.stack([w / (1.0 - rate), np.zeros(K)])
    log_shares = np.log([1.0 - rate, rate])
    drawn = rng.choice(2, size=200_000, p=[1.0 - rate, rate])
    weights = centres[drawn] + width * rng.normal(size=(200_000, K))

    def log_normal(x: np.ndarray, variance: float) -> np.ndarray:
        return -0.5 * np.sum(x**2 / variance + np.log(2.0 * np.pi * variance), axis=-1)

    log_q = logsumexp(log_shares + log_normal(weights[:, None] - centres, width**2), axis=1)
    ratios = log_q - log_normal(weights, prior_variance)
    # What does not depend on w or the rate: the entropies of the narrow Gaussians.
    constant = K * (-0.5 - 0.5 * np.log(width**2 / prior_variance))
    decay = 1.0 / (2.0 * prior_variance)
    penalty = decay * np.sum(w**2) / (1.0 - rate) + float(bernoulli_kl(rate)) - np.log(2.0)
    error = ratios.std() / np.sqrt(len(ratios))
    assert abs(ratios.mean() - constant - penalty) < 4.0 * error + decay * K * width**2


def test_rates_have_gradients_that_finite_differences_confirm():
    _, concrete = pair(temperature=0.5)

    def loss() -> tf.Tensor:
        return tf.reduce_sum(concrete(X, 10, seed=2) ** 2) + concrete.prior_penalty()

    variable = concrete.rates.unconstrained_variable
    with tf.GradientTape() as tape:
        value = loss()
    gradient = tape.gradient(value, variable).numpy()
    at, step = variable.numpy(), 1e-6
    for i, direction in enumerate(np.eye(2)):
        variable.assign(at + step * direction)
        up = loss().numpy()
        variable.assign(at - step * direction)
        np.testing.assert_allclose((up - loss().numpy()) / (2 * step), gradient[i], rtol=1e-4)
    variable.assign(at)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dropout": 0.0}, "dropout: expected a rate between 0 and 0.95"),
        ({"dropout": 0.97}, "dropout: expected a rate between 0 and 0.95"),
        (
            {"hidden": ()},
            "hidden: expected at least one layer whose units can be dropped, got none",
        ),
        ({"temperature": 0.0}, "temperature: expected a finite number > 0, got 0.0"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ConcreteDropoutNetwork(D, C, flows.Linear(), **options)
