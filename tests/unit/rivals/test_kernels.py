"""The neural-network kernel against loops and its definition; the arc-cosine against GPflow's."""

import numpy as np
from scipy.special import erf

from etgp_viz.backend import gpflow, tf
from etgp_viz.rivals import kernels

rng = np.random.default_rng(0)
D = 3
A, B = rng.normal(size=(5, D)), rng.normal(size=(6, D))
VARIANCE, WEIGHTS, BIAS = 1.7, np.array([0.3, 1.0, 2.5]), 0.6


def neural_network() -> kernels.NeuralNetwork:
    return kernels.NeuralNetwork(VARIANCE, WEIGHTS, BIAS)


def test_neural_network_kernel_equals_a_loop():
    def s(x, y):
        return BIAS + sum(w * a * b for w, a, b in zip(WEIGHTS, x, y, strict=True))

    expected = np.empty((len(A), len(B)))
    for i, x in enumerate(A):
        for j, y in enumerate(B):
            ratio = 2 * s(x, y) / np.sqrt((1 + 2 * s(x, x)) * (1 + 2 * s(y, y)))
            expected[i, j] = VARIANCE * 2 / np.pi * np.arcsin(ratio)
    np.testing.assert_allclose(neural_network()(A, B), expected, rtol=1e-13)


def test_neural_network_kernel_is_the_covariance_of_erf_units():
    units = 200_000
    u = rng.normal(size=(units, D + 1)) * np.sqrt(np.concatenate([[BIAS], WEIGHTS]))
    a, b = (erf(u[:, :1] + u[:, 1:] @ X.T) for X in (A, B))
    for i in range(len(A)):
        products = VARIANCE * a[:, i : i + 1] * b
        error = products.std(axis=0) / np.sqrt(units)
        difference = neural_network()(A, B)[i] - products.mean(axis=0)
        assert (np.abs(difference) < 4 * error).all()


def test_neural_network_kernel_is_symmetric_and_positive_definite():
    K = neural_network()(A).numpy()
    np.testing.assert_allclose(K, K.T, rtol=1e-14)
    np.testing.assert_allclose(K, neural_network()(A, A), rtol=1e-14)
    np.testing.assert_allclose(np.diag(K), neural_network()(A, full_cov=False), rtol=1e-14)
    assert np.linalg.eigvalsh(K).min() > 0


def test_neural_network_kernel_starts_at_the_identity_and_has_ard():
    kernel = kernels.NeuralNetwork(weight_variances=np.ones(D))
    assert kernel.ard
    assert not kernels.NeuralNetwork().ard
    np.testing.assert_allclose(kernel(A), kernels.NeuralNetwork()(A), rtol=1e-14)
    np.testing.assert_allclose(
        kernels.NeuralNetwork(active_dims=[1])(A), kernels.NeuralNetwork()(A[:, 1:2]), rtol=1e-14
    )


def test_neural_network_kernel_keeps_leading_axes_like_gpflow():
    X = rng.normal(size=(2, 3, D))
    assert neural_network()(X, B).shape == (2, 3, 6)
    assert neural_network()(X).shape == (2, 3, 3)


def test_the_arc_cosine_equals_gpflows():
    kernel = kernels.ArcCosine(1.3, [0.5, 2.0, 0.7][:D], 0.4)
    reference = gpflow.kernels.ArcCosine(0, 1.3, [0.5, 2.0, 0.7][:D], 0.4)
    np.testing.assert_allclose(kernel(A, B), reference(A, B), atol=1e-13)
    np.testing.assert_allclose(kernel(A), reference(A), atol=3e-8)
    np.testing.assert_allclose(kernel(A, full_cov=False), reference(A, full_cov=False), atol=1e-13)


def test_the_arc_cosine_survives_a_cosine_that_is_rounded_above_one():
    cosines = 1.0 + np.array([8.0, 1.0, 0.0, -1.0]) * np.finfo(float).eps
    assert 1e-15 + (1.0 - 2e-15) * cosines[0] > 1.0  # shrinking is not enough
    cosine = tf.Variable(cosines)
    with tf.GradientTape() as tape:
        covariance = kernels.ArcCosine.link(cosine, tf.constant(2.0, tf.float64))
    np.testing.assert_allclose(covariance, 2.0, atol=1e-7)
    assert np.isfinite(tape.gradient(covariance, cosine)).all()
