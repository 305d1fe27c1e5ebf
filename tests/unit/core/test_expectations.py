"""Compiled softmax expectations against SciPy's adaptive quadrature and plain autodiff."""

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_softmax, softmax

from etgp_viz.backend import tf
from etgp_viz.core import flows
from etgp_viz.core.expectations import (
    expected_log_likelihood,
    expected_log_softmax,
    expected_softmax,
    gauss_hermite,
    log_expected_softmax,
)

N, C, Q = 5, 4, 40
FAMILIES = [
    flows.Linear(),
    pytest.param(flows.SAL(length=2), marks=pytest.mark.slow),
    pytest.param(flows.Tanh(elements=2), marks=pytest.mark.slow),
]


def problem(flow: flows.Flow) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "mean": rng.normal(size=N),
        "deviation": rng.uniform(0.2, 0.8, size=N),
        # Well away from the identity: TANH's amplitudes start near zero.
        "params": np.maximum(flow.identity_params(), -1.0)
        + rng.normal(scale=0.5, size=(C, N, flow.num_params)),
        "labels": rng.integers(0, C, size=N),
    }


def adaptive(flow: flows.Flow, p: dict[str, np.ndarray], of_logits: Callable) -> np.ndarray:
    """E[of_logits(g [C, N])] over f ~ N(mean, deviation²), by SciPy's adaptive quadrature."""

    def weighted(z: float) -> np.ndarray:
        logits = flow.forward(p["mean"] + z * p["deviation"], p["params"]).numpy()
        return of_logits(logits, axis=0) * stats.norm.pdf(z)

    return integrate.quad_vec(weighted, -9.0, 9.0, epsabs=1e-8)[0]


def arguments(flow: flows.Flow, p: dict[str, np.ndarray]) -> tuple:
    """Everything as one block, [1, …]."""
    return flow, p["mean"][None], p["deviation"][None], flow.unstack(p["params"][None])


def test_rule_integrates_polynomials_exactly() -> None:
    nodes, weights = gauss_hermite(10)
    moments = [weights @ nodes**k for k in range(0, 20, 2)]
    np.testing.assert_allclose(moments, [float(stats.norm.moment(k)) for k in range(0, 20, 2)])


@pytest.mark.parametrize("flow", FAMILIES, ids=repr)
def test_values_against_adaptive_quadrature(flow: flows.Flow) -> None:
    p = problem(flow)
    labels = tf.constant(p["labels"][None])
    log_likelihood = expected_log_softmax(*arguments(flow, p), labels, Q)[0].numpy()
    probabilities = expected_softmax(*arguments(flow, p), Q)[0].numpy()
    log_density = log_expected_softmax(*arguments(flow, p), labels, Q)[0].numpy()
    rows = np.arange(N)
    expected = adaptive(flow, p, log_softmax)[p["labels"], rows]
    np.testing.assert_allclose(log_likelihood, expected, atol=2e-6)
    np.testing.assert_allclose(probabilities, adaptive(flow, p, softmax), atol=2e-6)
    np.testing.assert_allclose(probabilities.sum(axis=0), 1.0, atol=1e-12)
    np.testing.assert_allclose(log_density, np.log(probabilities[p["labels"], rows]), atol=1e-12)


@pytest.mark.parametrize("flow", FAMILIES, ids=repr)
def test_the_general_rule_equals_the_compiled_one(flow: flows.Flow) -> None:
    """The rule as the paper writes it, and its accelerated equal: values and gradients."""
    p = problem(flow)
    mean, deviation, params = (tf.constant(p[k]) for k in ("mean", "deviation", "params"))
    labels = tf.constant(p["labels"])

    def log_likelihood(F: tf.Tensor) -> tf.Tensor:  # [S, N, Q, C] → [S, N, Q]
        one_hot = tf.one_hot(labels, C, dtype=F.dtype)[:, None]
        return tf.reduce_sum(one_hot * tf.nn.log_softmax(F), axis=-1)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch([mean, deviation, params])
        by_draw = tf.transpose(params, [1, 0, 2])[None]  # [S, N, C, P]
        latent = flow, mean, deviation, by_draw
        general = expected_log_likelihood(log_likelihood, *latent, gauss_hermite(Q))
        one_block = (flow, mean[None], deviation[None], flow.unstack(params[None]), labels[None])
        compiled = expected_log_softmax(*one_block, Q)[0]
    np.testing.assert_allclose(compiled, general, atol=1e-12)
    for source in (mean, deviation, params):
        np.testing.assert_allclose(
            tape.gradient(compiled, source), tape.gradient(general, source), atol=1e-11
        )


@pytest.mark.parametrize("flow", FAMILIES, ids=repr)
def test_gradients_are_those_of_autodiff_through_the_plain_sum(flow: flows.Flow) -> None:
    p = problem(flow)
    mean, deviation, params = (tf.constant(p[k]) for k in ("mean", "deviation", "params"))
    labels, upstream = tf.constant(p["labels"]), tf.constant(np.linspace(0.5, 2.0, N))
    nodes, weights = gauss_hermite(Q)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([mean, deviation, params])
        one_block = (flow, mean[None], deviation[None], flow.unstack(params[None]), labels[None])
        compiled = upstream * expected_log_softmax(*one_block, Q)[0]
        f = mean + nodes[:, None, None] * deviation  # [Q, 1, N]
        log_p = tf.nn.log_softmax(flow.forward(f, params), axis=1)  # [Q, C, N]
        plain = upstream * tf.einsum(
            "qcn,q,cn->n", log_p, weights, tf.one_hot(labels, C, axis=0, dtype=tf.float64)
        )
    np.testing.assert_allclose(compiled, plain, atol=1e-12)
    for source in (mean, deviation, params):
        np.testing.assert_allclose(
            tape.gradient(compiled, source), tape.gradient(plain, source), atol=1e-11
        )


def test_far_logits_neither_overflow_nor_underflow() -> None:
    flow = flows.Linear()
    params = np.array([[[[1.0, 900.0]], [[1.0, -900.0]]]])  # [B, C, N, P]
    inputs = (flow, np.zeros((1, 1)), np.ones((1, 1)), flow.unstack(params))
    for expectation in (expected_log_softmax, log_expected_softmax):
        assert float(expectation(*inputs, tf.constant([[1]]), 20)[0, 0]) == pytest.approx(-1800.0)
    np.testing.assert_allclose(expected_softmax(*inputs, 20), [[[1.0], [0.0]]], atol=1e-15)


@pytest.mark.slow
def test_blocks_are_independent() -> None:
    flow = flows.Tanh(elements=2)
    p, q = problem(flow), problem(flow)
    q["mean"] = q["mean"] + 1.0
    both = [
        tf.concat([a, b], axis=0)
        for a, b in zip(
            tf.nest.flatten(arguments(flow, p)[1:]),
            tf.nest.flatten(arguments(flow, q)[1:]),
            strict=True,
        )
    ]
    joint = expected_softmax(flow, *both[:2], both[2:], Q)
    alone = [expected_softmax(*arguments(flow, each), Q)[0] for each in (p, q)]
    np.testing.assert_allclose(joint, alone, atol=1e-14)


EXTREME = [flows.Linear(), flows.SAL(), flows.Tanh(), flows.Compose([flows.SAL(), flows.Tanh()])]


@pytest.mark.parametrize("flow", EXTREME, ids=repr)
def test_no_expectation_of_a_logarithm_is_above_zero(flow: flows.Flow) -> None:
    """Whatever a network puts out: raw parameters up to ±50, latents up to ±1000."""
    rng = np.random.default_rng(1)
    rows, classes = 400, 3
    size = 10.0 ** rng.uniform(-2.0, np.log10(50.0), size=(1, 1, rows, 1))  # one size for each row
    params = rng.uniform(-size, size, size=(1, classes, rows, flow.num_params))
    mean = rng.uniform(-1.0, 1.0, (1, rows)) * 10.0 ** rng.uniform(-1.0, 3.0, (1, rows))
    deviation = 10.0 ** rng.uniform(-3.0, 2.0, (1, rows))
    labels = tf.constant(rng.integers(0, classes, (1, rows)))
    inputs = [tf.constant(mean), tf.constant(deviation), *flow.unstack(params)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        value = expected_log_softmax(flow, *inputs[:2], inputs[2:], labels, 20)
    assert np.all(value.numpy() <= 0.0)
    for array in (value, *tape.gradient(value, inputs)):
        assert np.all(np.isfinite(array.numpy()))
    log_density = log_expected_softmax(flow, *inputs[:2], inputs[2:], labels, 20).numpy()
    assert np.all(log_density <= 1e-12)
    # Jensen: the mean of the logarithms is below the logarithm of the mean.
    slack = 1e-9 * (1.0 + np.abs(log_density))
    assert np.all(value.numpy() <= log_density + slack)


def _exactly(flow: flows.Flow, f: Decimal, values: list[Decimal]) -> Decimal:
    """LINEAR, or SAL of length one, to 50 digits."""
    if isinstance(flow, flows.Linear):
        scale, shift = values
        return scale * f + shift
    a, b, d, e = values
    u = b * (f + (1 + f * f).sqrt()).ln() - a
    edge = Decimal(flows.SINH_TANGENT_FROM)
    near = max(-edge, min(edge, u))
    sinh, cosh = ((near.exp() + sign * (-near).exp()) / 2 for sign in (-1, 1))
    return d * (sinh + cosh * (u - near)) + e


@pytest.mark.parametrize("flow", [flows.Linear(), flows.SAL(1)], ids=repr)
@pytest.mark.parametrize("size", [0.5, 5.0, 20.0])
def test_values_against_fifty_digits(flow: flows.Flow, size: float) -> None:
    """The same rule in 50 digits: flows that reach 1e8 lose nothing beyond their own rounding."""
    rng = np.random.default_rng(2)
    rows, classes = 6, 3
    params = rng.uniform(-size, size, size=(1, classes, rows, flow.num_params))
    mean, deviation = rng.normal(size=(1, rows)), rng.uniform(0.1, 1.0, (1, rows))
    labels = rng.integers(0, classes, (1, rows))
    values = flow.unstack(params)
    found = expected_log_softmax(flow, mean, deviation, values, tf.constant(labels), 20)[0].numpy()
    nodes, weights = gauss_hermite(20)
    with localcontext() as context:
        context.prec = 50
        for n in range(rows):
            terms, largest = [], Decimal(0)
            for z, w in zip(nodes, weights, strict=True):
                # Node and parameters are those of float64: only what follows is exact.
                f = Decimal(float(mean[0, n] + z * deviation[0, n]))
                g = [
                    _exactly(flow, f, [Decimal(float(v[0, c, n])) for v in values])
                    for c in range(classes)
                ]
                top = max(g)
                total = sum((x - top).exp() for x in g)
                terms.append(Decimal(float(w)) * (g[labels[0, n]] - top - total.ln()))
                largest = max(largest, *map(abs, g))
            exact = float(sum(terms))
            # float64 cannot know a flow's value better than to its last digits.
            known = 1e-9 * max(1.0, abs(exact)) + 1e-13 * float(largest)
            assert abs(found[n] - exact) <= known
