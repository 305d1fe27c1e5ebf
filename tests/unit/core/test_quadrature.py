"""Quadrature that knows when it is wrong: against a dense rule, for flows of any steepness."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.core.expectations import (
    _last_polynomials,
    expected_log_likelihood,
    expected_log_softmax,
    expected_softmax,
    gauss_hermite,
    log_expected_softmax,
)

Q, TOLERANCE = 20, 5e-3
CLASSES = 3
# Deviations of f0, in units of the width of a softmax step. (Features of an integrand that are
# narrower than a fiftieth of σ are beyond the dense rule: SAL's centre with σ = 100.)
DEVIATIONS = (0.3, 1.0, 3.0, 5.0, 10.0, 20.0)
FAMILIES = (flows.Linear(), flows.SAL(length=1), flows.Tanh(elements=2))


def problem(flow, deviation, rows=24, seed=0):
    """Rows whose classes change places near the mean of f0; all flows increase or decrease."""
    rng = np.random.default_rng(seed)
    params = flow.identity_params() + rng.normal(scale=0.7, size=(CLASSES, rows, flow.num_params))
    params = np.clip(params, -3.0, 3.0)
    mean = rng.normal(scale=deviation, size=rows)
    labels = rng.integers(0, CLASSES, size=rows)
    return mean, np.full(rows, deviation), params, labels


def dense(flow, mean, deviation, params):
    """Logits [C, N, 8001] and weights of a trapezium rule over twelve deviations."""
    z = np.linspace(-12.0, 12.0, 8001)
    weights = np.exp(-0.5 * z**2)
    f0 = (mean[:, None] + deviation[:, None] * z)[None]
    return flow.forward(f0, params[:, :, None]).numpy(), weights / weights.sum()


def block(flow, mean, deviation, params):
    return flow, mean[None], deviation[None], flow.unstack(params[None])


@pytest.mark.parametrize("deviation", DEVIATIONS)
@pytest.mark.parametrize("flow", FAMILIES, ids=repr)
def test_refined_expectations_equal_a_dense_rule(flow, deviation):
    mean, deviations, params, labels = problem(flow, deviation)
    logits, weights = dense(flow, mean, deviations, params)
    rows = np.arange(len(mean))
    y = tf.constant(labels[None])
    arguments = block(flow, mean, deviations, params)

    p = expected_softmax(*arguments, Q, TOLERANCE)[0].numpy()
    np.testing.assert_allclose(p, softmax(logits, axis=0) @ weights, atol=5e-3)
    log_p = log_softmax(logits, axis=0)[labels, rows]
    value = expected_log_softmax(*arguments, y, Q, TOLERANCE)[0].numpy()  # an ELBO is their sum
    np.testing.assert_allclose(value.mean(), np.mean(log_p @ weights), rtol=5e-3, atol=5e-3)
    log_density = log_expected_softmax(*arguments, y, Q, TOLERANCE)[0].numpy()
    expected = logsumexp(log_p + np.log(weights), axis=1)
    np.testing.assert_allclose(log_density, expected, atol=1e-2)


def test_twenty_nodes_alone_are_wrong_where_classes_change_fast():
    """What the refinement is for: without a tolerance the same rows are off."""
    flow = flows.Linear()
    mean, deviations, params, _ = problem(flow, 20.0)
    logits, weights = dense(flow, mean, deviations, params)
    p = expected_softmax(*block(flow, mean, deviations, params), Q)[0].numpy()
    assert np.abs(p - softmax(logits, axis=0) @ weights).max() > 0.02


def test_smooth_rows_are_not_refined():
    flow = flows.Linear()
    mean, deviations, params, labels = problem(flow, 0.3)
    arguments = block(flow, mean, deviations, params)
    plain = expected_log_softmax(*arguments, tf.constant(labels[None]), Q)
    checked = expected_log_softmax(*arguments, tf.constant(labels[None]), Q, TOLERANCE)
    np.testing.assert_array_equal(plain, checked)


def test_one_node_is_refined_to_eight_and_no_further_where_these_are_enough():
    """Of 4 nodes, the last four coefficients include the integral itself and are never small."""
    mean, deviation, params, _ = problem(flows.Linear(), 0.3)
    data = block(flows.Linear(), mean, deviation, params)
    np.testing.assert_array_equal(expected_softmax(*data, 1, TOLERANCE), expected_softmax(*data, 8))


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 50.0])
def test_the_estimate_is_no_promise_broken(slope):
    """The claim of `Rule`, for a softmax that steps from one class to another at any place."""
    z, w = gauss_hermite(Q)
    fine = np.linspace(-12.0, 12.0, 20001)
    weights = np.exp(-0.5 * fine**2)
    weights /= weights.sum()
    for place in np.linspace(-3.0, 3.0, 121):
        step = softmax([slope * (z - place), 0.0 * z], axis=0)[0]
        estimate = np.linalg.norm((w * step) @ _last_polynomials(z))
        exact = weights @ softmax([slope * (fine - place), 0.0 * fine], axis=0)[0]
        assert abs(w @ step - exact) < max(2.5 * estimate, TOLERANCE)


def test_draws_that_are_averaged_need_no_dense_rule():
    flow = flows.Linear()
    mean, deviations, params, _ = problem(flow, 20.0)
    arguments = block(flow, mean, deviations, params)
    eighty = expected_softmax(*arguments, 4 * Q)
    np.testing.assert_allclose(expected_softmax(*arguments, Q, TOLERANCE, False), eighty)


def test_gradients_are_refined_along_with_the_value():
    flow = flows.Linear()
    mean, deviations, params, labels = problem(flow, 8.0, rows=6)
    y = tf.constant(labels[None])

    def value(mean):
        arguments = flow, mean[None], tf.constant(deviations[None]), flow.unstack(params[None])
        return tf.reduce_sum(expected_log_softmax(*arguments, y, Q, TOLERANCE))

    with tf.GradientTape() as tape:
        start = tf.constant(mean)
        tape.watch(start)
        total = value(start)
    step = 1e-4 * np.random.default_rng(1).normal(size=mean.shape)
    slope = (value(start + step) - value(start - step)) / 2.0
    np.testing.assert_allclose(tf.reduce_sum(tape.gradient(total, start) * step), slope, rtol=1e-3)


def test_the_general_rule_refines_too():
    flow = flows.Linear()
    mean, deviations, params, _ = problem(flow, 6.0, rows=10)
    y = np.random.default_rng(2).integers(0, 2, size=(10, CLASSES)).astype(float)
    bernoulli = gpflow.likelihoods.Bernoulli()
    arguments = flow, mean, deviations, params.transpose(1, 0, 2)[None]

    def log_likelihood(F):
        shape = tf.shape(F)
        flat = tf.reshape(F, [-1, CLASSES])
        labels = tf.reshape(tf.broadcast_to(y[None, :, None], shape), [-1, CLASSES])
        return tf.reshape(bernoulli.log_prob(flat, flat, labels), shape[:-1])

    def expected(num_nodes, tolerance=None):
        values = *arguments, gauss_hermite(num_nodes)
        return expected_log_likelihood(log_likelihood, *values, tolerance=tolerance).numpy()

    fine, coarse, refined = expected(200), expected(Q), expected(Q, TOLERANCE)
    error = np.abs(refined - fine).max()
    assert error < 0.1
    assert error < 0.5 * np.abs(coarse - fine).max()


@pytest.mark.parametrize(("classes", "pair"), [(10, (0, 8)), (100, (0, 89)), (5, (3, 4))])
def test_a_step_between_any_two_classes_is_seen(classes, pair):
    flow = flows.Linear()
    params = np.tile([0.0, -40.0], (classes, 1, 1))
    params[pair[0], 0], params[pair[1], 0] = [30.0, 0.0], [-30.0, 9.0]
    mean, deviation = np.zeros(1), np.ones(1)
    logits, weights = dense(flow, mean, deviation, params)
    p = expected_softmax(*block(flow, mean, deviation, params), Q, TOLERANCE)[0].numpy()
    np.testing.assert_allclose(p, softmax(logits, axis=0) @ weights, atol=5e-3)


def test_a_step_between_two_others_is_seen_by_the_bound():
    """The label is hopeless on both sides of the step, so that its probability does not change."""
    flow = flows.Linear()
    params = np.array([[[30.0, 0.0]], [[-30.0, 0.0]], [[0.0, -60.0]]])
    mean, deviation = np.full(1, 0.1), np.ones(1)
    logits, weights = dense(flow, mean, deviation, params)
    exact = log_softmax(logits, axis=0)[2] @ weights
    arguments = *block(flow, mean, deviation, params), tf.constant([[2]])
    assert abs(expected_log_softmax(*arguments, Q)[0, 0] - exact) > 0.1
    assert abs(expected_log_softmax(*arguments, Q, TOLERANCE)[0, 0] - exact) < 0.02


def test_a_row_does_not_depend_on_its_companions():
    flow = flows.Linear()
    mean, deviations, params, labels = problem(flow, 1.0)
    params[:, 0] *= 30.0  # one row is steep
    y = tf.constant(labels[None])
    arguments = block(flow, mean, deviations, params)
    alone = block(flow, mean[1:], deviations[1:], params[:, 1:])
    p, p_alone = (expected_softmax(*a, Q, TOLERANCE) for a in (arguments, alone))
    np.testing.assert_allclose(p[..., 1:], p_alone, rtol=1e-12)
    log_p = log_expected_softmax(*arguments, y, Q, TOLERANCE)
    log_p_alone = log_expected_softmax(*alone, y[:, 1:], Q, TOLERANCE)
    np.testing.assert_allclose(log_p[:, 1:], log_p_alone, rtol=1e-12)
