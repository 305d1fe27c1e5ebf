"""Training steps and averages over draws in float32, how far they are from float64, and when."""

import numpy as np
import pytest

from etgp_viz import build
from etgp_viz.backend import tf
from etgp_viz.core import expectations, flows
from etgp_viz.core.expectations import (
    Rule,
    expected_log_softmax,
    expected_softmax,
    quick_log_softmax,
    quick_softmax,
    raw_params,
)
from etgp_viz.core.optimiser import Optimiser

B, N, H, C = 2, 40, 6, 5
FAMILIES = [
    flows.Linear(),
    pytest.param(flows.SAL(length=2), marks=pytest.mark.slow),
    pytest.param(flows.Tanh(elements=2), marks=pytest.mark.slow),
]


def problem(flow: flows.Flow, size: float = 0.15) -> tuple:
    """Moments of f0 [B, N], the last layer h [B, N, H] and W [H, P·C], and labels."""
    rng = np.random.default_rng(0)
    h = rng.normal(size=(B, N, H))
    h[..., -1] = 1.0
    W = rng.normal(scale=size, size=(H, flow.num_params * C))
    W[-1] += np.repeat(np.maximum(flow.identity_params(), -1.0), C)
    moments = rng.normal(size=(B, N)), rng.uniform(0.2, 1.0, size=(B, N))
    tensors = (tf.constant(x) for x in (*moments, h, W))
    return *tensors, tf.constant(rng.integers(0, C, size=(B, N)))


def exactly(flow: flows.Flow, rule: Rule, *inputs: tf.Tensor) -> tf.Tensor:
    mean, deviation, h, W, *labels = inputs
    values = flow.unstack(raw_params(flow, h, W), axis=1)
    expectation = expected_log_softmax if labels else expected_softmax
    return expectation(flow, mean, deviation, values, *labels, *rule[:3])


@pytest.mark.parametrize("flow", FAMILIES, ids=repr)
def test_values_and_gradients_have_six_digits(flow: flows.Flow) -> None:
    *inputs, labels = problem(flow)
    rule = Rule(20)
    upstream = tf.constant(np.random.default_rng(1).uniform(0.5, 2.0, size=(B, N)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        quick, is_safe = quick_log_softmax(flow, rule, *inputs, labels)
        exact = exactly(flow, rule, *inputs, labels)
    assert is_safe
    assert quick.dtype == tf.float64
    np.testing.assert_allclose(quick, exact, rtol=2e-6, atol=2e-6)
    for found, expected in zip(
        tape.gradient(quick, inputs, upstream), tape.gradient(exact, inputs, upstream), strict=True
    ):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found / scale, expected / scale, atol=5e-6)
    p, is_safe = quick_softmax(flow, rule, *inputs)
    assert is_safe
    np.testing.assert_allclose(p, exactly(flow, rule, *inputs), atol=2e-6)


def test_gradients_of_averaged_probabilities() -> None:
    flow, rule = flows.Linear(), Rule(20)
    *inputs, _ = problem(flow)
    weights = tf.constant(np.random.default_rng(1).normal(size=(B, C, N)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        quick, exact = quick_softmax(flow, rule, *inputs)[0], exactly(flow, rule, *inputs)
    for found, expected in zip(
        tape.gradient(quick, inputs, weights), tape.gradient(exact, inputs, weights), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_second_derivatives_are_refused_here_too() -> None:
    *inputs, labels = problem(flows.Linear())
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value, _ = quick_log_softmax(flows.Linear(), Rule(20), *inputs, labels)
        slope = tape.gradient(value, inputs[0])
    with pytest.raises(LookupError, match="second derivatives"):
        outer.gradient(slope, inputs[0])


@pytest.mark.parametrize("slope", [0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 50.0])
def test_few_nodes_are_kept_only_where_they_suffice(slope: float) -> None:
    """A step from one class to another at any place: with few nodes first, or without."""
    places = np.linspace(-3.0, 3.0, 61)
    rule = Rule(20, 5e-3)
    ones = np.ones((1, 1, len(places)))
    h = tf.constant(np.stack([places, np.ones_like(places)], axis=-1)[None])
    # Two classes: slope · (f0 − place) and 0.
    W = tf.constant([[0.0, 0.0, -slope, 0.0], [slope, 0.0, 0.0, 0.0]], tf.float64)
    mean, deviation = tf.constant(0.0 * ones[0]), tf.constant(ones[0])
    labels = tf.zeros([1, len(places)], tf.int64)
    flow = flows.Linear()
    few, _ = quick_log_softmax(flow, rule, mean, deviation, h, W, labels)
    z = np.linspace(-12.0, 12.0, 20001)
    weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    exact = -np.logaddexp(0.0, -slope * (z[:, None] - places)).T @ weights
    # What counts in an ELBO is the mean over rows, beside its own size.
    assert abs(np.mean(few) - np.mean(exact)) < 2e-3 * (1.0 + abs(np.mean(exact)))
    p, _ = quick_softmax(flow, rule, mean, deviation, h, W)
    step = 1.0 / (1.0 + np.exp(np.clip(-slope * (z[:, None] - places), -700.0, 700.0)))
    np.testing.assert_allclose(p[0, 0], step.T @ weights, atol=5e-3)


def test_smooth_rows_get_few_nodes() -> None:
    flow = flows.Linear()
    *inputs, labels = problem(flow, size=0.02)
    quick, _ = quick_log_softmax(flow, Rule(20, 5e-3), *inputs, labels)
    eight, _ = quick_log_softmax(flow, Rule(8), *inputs, labels)
    np.testing.assert_array_equal(quick, eight)
    np.testing.assert_allclose(quick, exactly(flow, Rule(20), *inputs, labels), atol=1e-6)


def test_large_values_are_left_to_float64() -> None:
    """Logits of 1e6 that differ by 0.03: float32 would see multiples of 1/16."""
    model = build(
        "etgp-linear", np.linspace(-1.0, 1.0, 8)[:, None], 2, num_inducing=3, precision="float32"
    )
    model.network.output.bias.assign([1.0, 1.0, 1e6 + 0.03, 1e6])
    X, Y = np.linspace(-1.0, 1.0, 8)[:, None], np.arange(8)[:, None] % 2
    exact = float(model.elbo((X, Y), samples=None))
    step = Optimiser(model, (X, Y), learning_rate=1e-9).step
    assert step() == pytest.approx(exact, rel=1e-9)
    p, _ = model.predict_y(X, samples=4)
    np.testing.assert_allclose(p[:, 0], 1.0 / (1.0 + np.exp(-0.03)), atol=1e-9)


def test_overflow_is_left_to_float64() -> None:
    """Three steep SAL steps reach 1e40, which float32 cannot hold; training goes on."""
    X, Y = np.linspace(-1.0, 1.0, 8)[:, None], np.arange(8)[:, None] % 2
    model = build("etgp-sal", X, 2, num_inducing=3, precision="float32")
    flow = model.network.flow
    raw = model.network.output.bias.numpy().reshape(flow.num_params, 2)
    raw[[1, 5, 9]], raw[[2, 6, 10]] = 12.0, 5000.0  # tails, stretch
    model.network.output.bias.assign(raw.ravel())
    exact = float(model.elbo((X, Y), samples=None))
    assert np.isfinite(exact)
    step = Optimiser(model, (X, Y), learning_rate=1e-9).step
    assert step() == pytest.approx(exact, rel=1e-6)
    assert np.isfinite(step())


def test_float32_is_for_training_steps_and_averages_alone(monkeypatch) -> None:
    X, Y = np.linspace(-1.0, 1.0, 8)[:, None], np.arange(8)[:, None] % 2
    assert build("etgp-linear", X, 2, num_inducing=3).network.precision == "float64"
    model = build("etgp-linear", X, 2, num_inducing=3, precision="float32")
    calls = []
    quick = dict.fromkeys(
        (expected_log_softmax, expected_softmax), lambda *_: calls.append("quick")
    )
    monkeypatch.setattr("etgp_viz.core.expectations.QUICK", quick)
    model.elbo((X, Y))
    model.training_loss((X, Y))
    model.predict_y(X)
    model.predict_log_density((X, Y), samples=3)
    model.network.precision = "float64"  # the default
    Optimiser(model, (X, Y), learning_rate=0.01).step()
    model.predict_y(X, samples=3)
    assert calls == []
    assert not expectations.is_training.get()
    model.network.precision = "float32"
    with pytest.raises(TypeError):
        Optimiser(model, (X, Y), learning_rate=0.01).step()
    assert calls == ["quick"]
