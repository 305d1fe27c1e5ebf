"""Hermite series against a dense 2-d rule, closed forms, predict_f and Monte Carlo."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows, hermite
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.records import covariance

# The flows of the explorers, in formulas of this file alone.
FLOWS = {
    "linear": (flows.Linear(), lambda f, a, b: a * f + b),
    "sal": (flows.SinhArcsinh(), lambda f, a, b, d, e: d * np.sinh(b * np.arcsinh(f) - a) + e),
    "tanh": (flows.TanhSum(1), lambda f, a, b, c: f + a * np.tanh(b * (f + c))),
}
Z = np.linspace(-12.0, 12.0, 801)
W = (Z[1] - Z[0]) * np.exp(-0.5 * Z**2) / np.sqrt(2.0 * np.pi)


def dense(left, right, rho):
    """Cov[left(z), right(ρ z + √(1 − ρ²) w)] of independent z and w by a dense 2-d rule."""
    inner = right(rho * Z[:, None] + np.sqrt(1.0 - rho**2) * Z) @ W
    return W @ (left(Z) * inner) - (W @ left(Z)) * (W @ right(Z))


def adaptive(left, right, rho):
    """The same by SciPy's adaptive rule, nested."""

    def mean(function):
        return quad(lambda z: function(z) * np.exp(-0.5 * z * z), -10, 10, limit=200)[0] / ROOT

    ROOT = np.sqrt(2.0 * np.pi)
    joint = mean(lambda z: left(z) * mean(lambda w: right(rho * z + np.sqrt(1 - rho**2) * w)))
    return joint - mean(left) * mean(right)


def case(name, values, mean, deviation, rho, order=None):
    """The series of two classes at two inputs, and its reference Cov[f¹(x), f²(x')]."""
    flow, formula = FLOWS[name]
    params = flow.unconstrain(np.array(values)).numpy()[:, None].repeat(2, axis=1)
    K = np.outer(deviation, deviation) * np.array([[1.0, rho], [rho, 1.0]])
    series = covariance.hermite_series(K, flow, params, mean=np.array(mean), order=order)
    warps = [
        lambda z, n=n: formula(mean[n] + deviation[n] * z, *values[n]) for n in range(2)
    ]  # fmt: skip
    return series, warps


@st.composite
def explorer_states(draw):
    """A family, two classes anywhere in its sliders, and µ, σ, ρ and an order of the explorers."""
    name = draw(st.sampled_from(sorted(FLOWS)))
    between = [st.floats(param.low, param.high) for param in FLOWS[name][0].params]
    values = [draw(st.tuples(*between)) for _ in range(2)]
    mean = [draw(st.floats(-2.0, 2.0)) for _ in range(2)]
    deviation = [draw(st.floats(0.1**0.5, 5.0**0.5)) for _ in range(2)]
    return name, values, mean, deviation, draw(st.floats(-1, 1)), draw(st.integers(0, 40)) or None


def both(values, deviation, rho, order=None):
    """Two equal classes at two inputs, µ = 0."""
    return values[0], [values[1]] * 2, [0.0] * 2, [deviation] * 2, rho, order


STEEP_TANH = "tanh", (3.0, 5.0, 0.3)
HEAVY_SAL = "sal", (0.0, 1.3, 1.0, 0.0)


@example(both(STEEP_TANH, 1.0, 0.9))
@example(both(STEEP_TANH, 1.0, 0.9, order=40))
@example(both(HEAVY_SAL, 3.0, 0.9))
@example(both(("tanh", (3.0, 5.0, 3.0)), 5.0**0.5, 0.999))
@example(both(("tanh", (3.0, 5.0, -3.0)), 5.0**0.5, -1.0, order=40))
@example(both(("sal", (2.0, 2.5, 3.0, 3.0)), 5.0**0.5, 1.0))
@example(both(("sal", (-2.0, 0.2, 3.0, -3.0)), 5.0**0.5, -0.999, order=1))
@given(explorer_states())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_error_stays_below_its_estimate_up_to_the_ends_of_the_sliders(state):
    series, warps = case(*state)
    error = abs(series.pair(0, 1)[0, 1] - dense(*warps, state[4]))
    rounding = 1e-11 * np.prod([np.sqrt(W @ warp(Z) ** 2) for warp in warps])
    assert error <= series.error_estimate(0, 1)[0, 1] + rounding


@pytest.mark.parametrize(
    ("values", "deviation"), [(STEEP_TANH, 1.0), (HEAVY_SAL, 3.0)], ids=["TANH", "SAL"]
)
def test_steep_flows_and_heavy_tails_are_resolved(values, deviation):
    """128 Gauss–Hermite nodes err by 9.6e-3 (their bound says 4.9e-5) and 4.0e-5 (1.0e-7)."""
    series, warps = case(*both(values, deviation, 0.9))
    exact = adaptive(*warps, 0.9)
    assert exact == pytest.approx(dense(*warps, 0.9), rel=1e-9)
    assert series.pair(0, 1)[0, 1] == pytest.approx(exact, rel=1e-7)
    assert series.error_estimate(0, 1)[0, 1] < 1e-6 * exact


def test_an_error_of_the_rule_is_part_of_the_estimate(monkeypatch):
    """On a coarse grid the terms left out are not what is wrong."""
    monkeypatch.setattr(hermite, "LEVELS", ((65, 40),))
    series, warps = case(*both(STEEP_TANH, 1.0, 0.3, order=40))
    error = abs(series.pair(0, 1)[0, 1] - dense(*warps, 0.3))
    left_out = 0.3**41 * np.sqrt(np.prod(series.remainder[:, 0]))
    assert 1e6 * left_out < error <= series.error_estimate(0, 1)[0, 1]


def test_a_step_beyond_every_rule_is_owned_up_to():
    """A slope of 5000: no rule resolves it, and the estimate says by how much."""
    series, _ = case(*both(("tanh", (3.0, 5000.0, 0.3)), 1.0, 0.9))
    # Cov[g(z), g(z')] of g(z) = z + 3 sign(z + 0.3), with Stein's lemma for z and the sign.
    both_above = multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]]).cdf([0.3, 0.3])
    exact = 0.9 + 2 * 3 * 0.9 * 2 * norm.pdf(0.3) + 36 * (both_above - norm.cdf(0.3) ** 2)
    error = abs(series.pair(0, 1)[0, 1] - exact)
    assert 1e-6 < error <= series.error_estimate(0, 1)[0, 1] < 0.1 * exact


# ------------------------------------------------------------------ posterior covariances of ETGP

N, C = 12, 3
X = np.linspace(-2.0, 2.0, N)[:, None]


def make(flow, dropout=0.0, num_quadrature=100):
    """A model with flows that differ between classes and along x, and q away from the prior."""
    network = FlowNetwork(1, C, flow, hidden=(20,), dropout=dropout)
    rng = np.random.default_rng(3)
    for variable in network.trainable_variables:
        variable.assign_add(rng.normal(scale=0.4, size=variable.shape))
    if isinstance(flow, flows.Tanh):  # amplitudes start near zero
        raw = np.asarray(network.output.bias)
        network.output.bias.assign(np.where(raw < -3.0, 0.5, raw))
    kernel = gpflow.kernels.SquaredExponential(1.5, 0.8)
    model = ETGP(kernel, network, X[::2].copy(), num_quadrature=num_quadrature)
    M = model.q_mu.shape[0]
    model.q_mu.assign(rng.normal(size=(M, 1)))
    model.q_sqrt.assign(np.tril(rng.normal(scale=0.3, size=(1, M, M))) + 0.5 * np.eye(M))
    return model


FAMILIES = [flows.Linear(), flows.SAL(length=1), flows.Tanh(elements=2)]
each_family = pytest.mark.parametrize("flow", FAMILIES, ids=repr)


@each_family
def test_shapes_of_gpflow_and_the_moments_of_predict_f(flow):
    model = make(flow)
    mean, covariance = (moment.numpy() for moment in model.predict_f(X, full_cov=True))
    assert covariance.shape == (C, N, N)
    scale = covariance.max()
    expected = [moment.numpy() for moment in model.predict_f(X)]
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)
    np.testing.assert_allclose(np.einsum("cnn->nc", covariance), expected[1], atol=1e-5 * scale)

    both_mean, joint = model.predict_f(X, full_cov=True, full_output_cov=True)
    assert joint.shape == (N, C, N, C)
    np.testing.assert_allclose(both_mean, mean, atol=1e-9)
    np.testing.assert_allclose(np.einsum("ncmc->cnm", joint), covariance, atol=3e-6 * scale)
    at_each_input = model.predict_f(X, full_output_cov=True)[1]
    np.testing.assert_allclose(np.einsum("ncnd->ncd", joint), at_each_input, atol=1e-5 * scale)


def test_linear_flows_have_the_closed_form():
    model = make(flows.Linear())
    mean, K = (moment.numpy() for moment in model.predict_latent(X, full_cov=True))
    a, b = np.moveaxis(model.network(X).numpy(), -1, 0)  # [N, C]
    expected = np.einsum("nc,md,nm->ncmd", a, a, K[0])
    found_mean, joint = model.predict_f(X, full_cov=True, full_output_cov=True)
    np.testing.assert_allclose(found_mean, a * mean + b, atol=1e-12)
    np.testing.assert_allclose(joint, expected, atol=1e-12)
    per_class = model.predict_f(X, full_cov=True)[1]
    np.testing.assert_allclose(per_class, np.einsum("ncmc->cnm", expected), atol=1e-12)


@each_family
def test_covariances_are_those_of_joint_draws(flow):
    model = make(flow)
    F = model.predict_joint_samples(X, 20_000, seed=5)[1].numpy()  # [S, N, C]
    joint = model.predict_f(X, full_cov=True, full_output_cov=True)[1].numpy()
    stacked = F.reshape(len(F), -1)
    estimate, error = covariance.empirical(stacked, stacked)
    difference = np.abs(estimate - joint.reshape(estimate.shape)) / error
    assert difference.max() < 5.0
    assert np.mean(difference < 3.0) > 0.97


@each_family
def test_covariances_are_symmetric_and_positive_semi_definite(flow):
    model = make(flow)
    twice = np.concatenate([X, X[:3]])  # also where inputs are the same
    per_class = model.predict_f(twice, full_cov=True)[1].numpy()
    joint = model.predict_f(twice, full_cov=True, full_output_cov=True)[1].numpy()
    for matrix in (*per_class, joint.reshape(len(twice) * C, -1)):
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12 * matrix.max())
        spectrum = np.linalg.eigvalsh(matrix)
        assert spectrum.min() > -1e-10 * spectrum.max()
    np.testing.assert_allclose(per_class[:, :3], per_class[:, N:], atol=1e-7 * per_class.max())


def test_dropout_draws_follow_the_law_of_total_covariance():
    """Linear flows: the mean of a aᵀ K over draws, and the covariance of a µ + b over draws."""
    model = make(flows.Linear(), dropout=0.5)
    S = 30
    mean, K = (moment.numpy() for moment in model.predict_latent(X, full_cov=True))
    a, b = np.moveaxis(model.network(X, S, 7, one_mask=True).numpy(), -1, 0)  # [S, N, C]
    means = a * mean + b
    spread = means - means.mean(axis=0)
    expected = np.einsum("snc,smd,nm->ncmd", a, a, K[0]) / S
    expected += np.einsum("snc,smd->ncmd", spread, spread) / S
    arguments = {"full_cov": True, "samples": S, "seed": 7}
    found_mean, joint = model.predict_f(X, full_output_cov=True, **arguments)
    np.testing.assert_allclose(found_mean, means.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(joint, expected, atol=1e-12)
    per_class = model.predict_f(X, **arguments)[1]
    np.testing.assert_allclose(per_class, np.einsum("ncmc->cnm", expected), atol=1e-12)
    # Draws of the network are shared by all inputs, so neighbours stay correlated …
    near = np.array([[-2.0], [-1.999]])
    close = model.predict_f(near, **arguments)[1].numpy()
    np.testing.assert_allclose(close[:, 0, 1], close[:, 0, 0], rtol=1e-2)
    # … and the spread between draws is not small beside what f0 leaves uncertain.
    assert np.sum(spread**2) / S > 0.1 * np.einsum("cnn->", per_class)


def test_dropout_draws_of_bent_flows_are_averaged_one_by_one():
    model = make(flows.SAL(length=1), dropout=0.5)
    params = model.network(X, 4, 7, one_mask=True).numpy()
    mean, K = (moment.numpy() for moment in model.predict_latent(X, full_cov=True))
    single = [
        hermite.joint_moments(model.network.flow, False, mean[:, 0], K[0], params[[s]])
        for s in range(4)
    ]
    means, covariances = (np.stack(part) for part in zip(*single, strict=True))
    spread = means - means.mean(axis=0)
    expected = covariances.mean(axis=0) + np.einsum("snc,smc->cnm", spread, spread) / 4
    found_mean, found = model.predict_f(X, full_cov=True, samples=4, seed=7)
    np.testing.assert_allclose(found_mean, means.mean(axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("values", [STEEP_TANH, HEAVY_SAL], ids=["TANH", "SAL"])
def test_the_order_is_raised_until_the_tolerance_is_met(values):
    name, numbers = values
    flow, formula = FLOWS[name]
    x = np.array([0.0, 0.1, 0.5, 1.2, 3.0])
    signs = np.array([1.0, 1.0, -1.0, 1.0, -1.0])  # negative correlations too
    K = 2.0 * np.outer(signs, signs) * np.exp(-0.5 * (x[:, None] - x) ** 2)
    mean = np.linspace(-0.5, 0.5, 5)
    raw = flow.unconstrain(np.array(numbers)).numpy()
    params = np.tile(raw, (1, 5, 1, 1))
    for tolerance in (1e-3, 1e-6):
        _, found = hermite.joint_moments(flow, False, mean, K, params, tolerance)
        for i in range(5):
            for j in range(i + 1):
                warps = [
                    lambda z, n=n: formula(mean[n] + np.sqrt(2.0) * z, *numbers) for n in (i, j)
                ]
                exact = dense(*warps, K[i, j] / 2.0)
                assert abs(found[0, i, j] - exact) <= tolerance * found.max(), (i, j)


def test_variances_of_a_hard_step_are_exact():
    """At order 400 the series of a step lacks 2 % of the variance; what it lacks is known."""
    flow = flows.TanhSum(1)
    params = np.tile(flow.unconstrain(np.array([3.0, 40.0, 0.3])).numpy(), (1, 3, 1, 1))
    K = np.exp(-0.5 * (np.array([[0.0], [0.0], [1.0]]) - np.array([0.0, 0.0, 1.0])) ** 2)
    _, found = hermite.joint_moments(flow, False, np.zeros(3), K, params)
    z = np.linspace(-12.0, 12.0, 20_001)
    w = (z[1] - z[0]) * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    g = z + 3.0 * np.tanh(40.0 * (z + 0.3))
    variance = w @ (g - w @ g) ** 2
    np.testing.assert_allclose(np.diag(found[0]), variance, rtol=1e-8)
    assert found[0, 0, 1] == pytest.approx(variance, rel=1e-8)  # the same input
    series = covariance.hermite_series(K, flow, params[0, :, :1].swapaxes(0, 1))
    assert series.order == hermite.MAX_ORDER
    assert series.remainder.min() > 1e-3 * variance


def test_a_graph_gives_the_same_covariances():
    model = make(flows.SAL(length=1))
    in_graph = tf.function(lambda X: model.predict_f(X, full_cov=True))(X)
    for found, expected in zip(in_graph, model.predict_f(X, full_cov=True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("nearest", [1.0, 0.5, 0.1])
def test_as_many_terms_as_the_nearest_input_needs(nearest):
    """Of exp(f), f standard normal, h_n² = e/n!: what is left after m terms is known."""
    flow, tolerance = flows.Compose([flows.Linear(), flows.Exp()]), 1e-6
    squares = [np.e / math.factorial(n) for n in range(60)]
    needed = next(
        m
        for m in range(1, 40)
        if sum(squares[m + 1 :]) * nearest ** (m + 1) <= tolerance * sum(squares[1:])
    )
    one = np.zeros(1), np.ones(1), np.array([[1.0, 0.0]])
    h, remainder, *_ = hermite.expand(flow, *one, None, tolerance, np.array([nearest]))
    assert h.shape == (1, needed + 1)
    assert remainder[0] == pytest.approx(sum(squares[needed + 1 :]), rel=1e-3, abs=1e-9)
