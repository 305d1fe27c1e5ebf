"""The neural-network kernel against loops and its definition; stacks against single kernels."""

import numpy as np
import pytest
from scipy.special import erf

from etgp_viz.backend import gpflow, tf
from etgp_viz.rivals import kernels

rng = np.random.default_rng(0)
D, C = 3, 4
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


def stacks() -> list:
    variance, bias = rng.uniform(0.5, 2, C), rng.uniform(0.5, 2, C)
    scales = rng.uniform(0.5, 2, (C, D))
    weights = zip(variance, scales, bias, strict=True)
    return [
        pytest.param(
            kernels.StackedRBF(variance, scales),
            [gpflow.kernels.RBF(v, s) for v, s in zip(variance, scales, strict=True)],
            id="rbf",
        ),
        pytest.param(
            kernels.StackedNeuralNetwork(variance, scales, bias),
            [kernels.NeuralNetwork(v, s, b) for v, s, b in weights],
            id="nnet",
        ),
        pytest.param(
            kernels.StackedArcCosine(variance, scales, bias),
            [gpflow.kernels.ArcCosine(0, *p) for p in zip(variance, scales, bias, strict=True)],
            id="arccos",
        ),
    ]


@pytest.mark.parametrize(("stack", "single"), stacks())
def test_a_stack_equals_its_kernels_one_by_one(stack, single):
    separate = gpflow.kernels.SeparateIndependent(single)
    for full_output_cov in (False, True):
        options = {"full_cov": True, "full_output_cov": full_output_cov}
        np.testing.assert_allclose(stack(A, B, **options), separate(A, B, **options), atol=1e-13)
        # GPflow shrinks cosines by 1e-15, which costs a variance of the arc-cosine 1e-8.
        np.testing.assert_allclose(stack(A, **options), separate(A, **options), atol=3e-8)
        options["full_cov"] = False
        np.testing.assert_allclose(stack(A, **options), separate(A, **options), atol=1e-13)
    assert stack.num_latent_gps == C

    Z = rng.normal(size=(C, 5, D))
    expected = [kernel(z, B) for kernel, z in zip(single, Z, strict=True)]
    np.testing.assert_allclose(stack.covariances(Z, B[None]), expected, atol=1e-13)


def test_the_gradient_of_a_stack_is_finite_on_its_diagonal():
    for stack in (param.values[0] for param in stacks()):
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(stack(A, full_cov=True))
        for gradient in tape.gradient(total, stack.trainable_variables):
            assert np.isfinite(gradient).all()


def test_the_arc_cosine_equals_gpflows():
    kernel = kernels.ArcCosine(1.3, [0.5, 2.0, 0.7][:D], 0.4)
    theirs = gpflow.kernels.ArcCosine(0, 1.3, [0.5, 2.0, 0.7][:D], 0.4)
    np.testing.assert_allclose(kernel(A, B), theirs(A, B), atol=1e-13)
    np.testing.assert_allclose(kernel(A), theirs(A), atol=3e-8)
    np.testing.assert_allclose(kernel(A, full_cov=False), theirs(A, full_cov=False), atol=1e-13)


def test_the_arc_cosine_survives_a_cosine_that_is_rounded_above_one():
    cosines = 1.0 + np.array([8.0, 1.0, 0.0, -1.0]) * np.finfo(float).eps
    assert 1e-15 + (1.0 - 2e-15) * cosines[0] > 1.0  # shrinking is not enough
    cosine = tf.Variable(cosines)
    with tf.GradientTape() as tape:
        covariance = kernels._angle_link(cosine, tf.constant(2.0, tf.float64))
    np.testing.assert_allclose(covariance, 2.0, atol=1e-7)
    assert np.isfinite(tape.gradient(covariance, cosine)).all()
