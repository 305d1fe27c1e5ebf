"""The compiled Monte Carlo softmax against loops and finite differences."""

import numpy as np
import pytest

from etgp_viz.backend import tf
from etgp_viz.rivals.svgp import expected_log_softmax_of_gaussians

S, N, C = 5, 4, 3
RNG = np.random.default_rng(0)
MEAN, DEVIATION = RNG.normal(size=(N, C)), RNG.uniform(0.1, 2.0, (N, C))
NOISE, LABELS = RNG.normal(size=(S, N, C)), np.array([0, 2, 1, 2])


def by_loops(mean, deviation):
    total = np.zeros(N)
    for n in range(N):
        for s in range(S):
            g = [mean[n, c] + deviation[n, c] * NOISE[s, n, c] for c in range(C)]
            total[n] += (g[LABELS[n]] - np.log(sum(np.exp(g)))) / S
    return total


def test_value_equals_loops():
    value = expected_log_softmax_of_gaussians(MEAN, DEVIATION, NOISE, LABELS)
    np.testing.assert_allclose(value, by_loops(MEAN, DEVIATION), rtol=1e-12)
    single = expected_log_softmax_of_gaussians(MEAN, DEVIATION, NOISE.astype(np.float32), LABELS)
    assert single.dtype == tf.float64
    np.testing.assert_allclose(single, value, rtol=1e-5)


def test_gradients_equal_finite_differences():
    weights = RNG.normal(size=N)
    mean, deviation = tf.constant(MEAN), tf.constant(DEVIATION)
    with tf.GradientTape() as tape:
        tape.watch([mean, deviation])
        value = expected_log_softmax_of_gaussians(mean, deviation, NOISE, LABELS)
        total = tf.reduce_sum(weights * value)
    gradients = [each.numpy() for each in tape.gradient(total, [mean, deviation])]
    h = 1e-6
    for k, gradient in enumerate(gradients):
        for index in np.ndindex(N, C):
            ends = []
            for sign in (1.0, -1.0):
                moved = [MEAN.copy(), DEVIATION.copy()]
                moved[k][index] += sign * h
                ends.append(weights @ by_loops(*moved))
            assert gradient[index] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-7)


def test_single_precision_has_six_digits():
    mean, deviation = tf.constant(MEAN), tf.constant(DEVIATION)
    results = {}
    for precision in ("float64", "float32"):
        with tf.GradientTape() as tape:
            tape.watch([mean, deviation])
            value = expected_log_softmax_of_gaussians(mean, deviation, NOISE, LABELS, precision)
        results[precision] = [value, *tape.gradient(value, [mean, deviation])]
    for quick, exact in zip(results["float32"], results["float64"], strict=True):
        assert quick.dtype == tf.float64
        assert not np.array_equal(quick, exact)
        np.testing.assert_allclose(quick, exact, rtol=2e-6, atol=1e-6)


def test_far_logits_stay_finite():
    value = expected_log_softmax_of_gaussians(1e4 * MEAN, DEVIATION, NOISE, LABELS)
    assert np.isfinite(value).all()
