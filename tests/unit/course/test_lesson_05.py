"""Lesson 05: what its exercises hold for true, against the model that is trained."""

import numpy as np
import pytest

from etgp_viz import ETGP, FlowNetwork
from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.course.lessons.lesson_05 import (
    POSTERIOR,
    QUADRATURE,
    _own_latents,
    expected_log_likelihood,
    latent_posterior,
)

RNG = np.random.default_rng(3)
M, C = 4, 3


def linear_model(a: np.ndarray, b: np.ndarray, S: np.ndarray, m: np.ndarray) -> ETGP:
    """An ETGP with constant linear flows and q(u₀) = N(m, S), not whitened."""
    network = FlowNetwork(1, C, flows.Linear(), hidden=())
    network.output.bias.assign(np.concatenate([a, b]))
    Z = np.linspace(-2.0, 2.0, M)[:, None]
    model = ETGP(gpflow.kernels.Matern32(1.7), network, Z, whiten=False)
    model.q_mu.assign(m[:, None])
    model.q_sqrt.assign(np.linalg.cholesky(S)[None])
    return model


@pytest.fixture
def model() -> ETGP:
    root = RNG.normal(size=(M, M))
    S, m = 0.2 * root @ root.T + 0.1 * np.eye(M), RNG.normal(size=M)
    return linear_model(RNG.normal(size=C), RNG.normal(size=C), S, m)


def test_the_posterior_is_that_of_the_model(model):
    x, Z = RNG.uniform(-3.0, 3.0, (6, 1)), model.inducing_variable.Z
    root = model.q_sqrt.numpy()[0]
    Kzz = gpflow.covariances.Kuu(model.inducing_variable, model.kernel, jitter=1e-6)
    computed = latent_posterior(
        model.kernel(x, full_cov=False).numpy(),
        model.kernel(x, Z).numpy(),
        Kzz.numpy(),
        model.q_mu.numpy()[:, 0],
        root @ root.T,
    )
    mean, variance = model.predict_latent(x)
    np.testing.assert_allclose(computed, [mean[:, 0], variance[:, 0]], atol=1e-9)


def test_the_printed_sign_gives_negative_variances():
    printed = POSTERIOR.mistakes["Kzz + S"].answer()
    given = POSTERIOR.answer.inputs()
    assert min(np.min(printed(*each)[1]) for each in given) < 0.0
    assert min(np.min(latent_posterior(*each)[1]) for each in given) > 0.0


def test_the_quadrature_is_that_of_the_model(model):
    x, labels = RNG.uniform(-3.0, 3.0, (6, 1)), RNG.integers(0, C, (6, 1))
    mean, variance = (moment.numpy()[:, 0] for moment in model.predict_latent(x))
    a, b = np.split(model.network.output.bias.numpy(), 2)
    nodes, weights = QUADRATURE.answer.inputs()[0][-2:]
    computed = [
        expected_log_likelihood(mean[n], variance[n], a, b, labels[n, 0], nodes, weights)
        for n in range(6)
    ]
    expected = model.variational_expectations(tf.constant(x), tf.constant(labels))
    np.testing.assert_allclose(computed, expected, atol=1e-9)


def test_own_latents_are_another_expectation():
    """The known mistake does what its message says, by Monte Carlo."""
    mean, variance, a, b, label, nodes, weights = QUADRATURE.answer.inputs()[0]
    f = a * (mean + np.sqrt(variance) * RNG.normal(size=(400_000, 3))) + b
    log_p = f[:, label] - np.log(np.sum(np.exp(f), axis=1))
    error = log_p.std() / np.sqrt(len(log_p))
    assert abs(_own_latents(mean, variance, a, b, label, nodes, weights) - log_p.mean()) < 4 * error
