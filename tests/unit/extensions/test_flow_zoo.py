"""The flow zoo against NumPy, SciPy and TensorFlow Probability, at its extremes, and in training.

`tests/unit/core/test_flows.py` runs the properties of every flow over the zoo as well.
"""

import numpy as np
import pytest
from scipy.special import boxcox, inv_boxcox
from scipy.stats import yeojohnson

import etgp_viz
from etgp_viz import ETGP, FlowNetwork, build, fit
from etgp_viz.backend import gpflow, tf, tfp
from etgp_viz.core import flows
from etgp_viz.core.expectations import (
    Rule,
    expected_log_likelihood,
    expected_log_softmax,
    gauss_hermite,
)
from etgp_viz.extensions import flow_zoo
from etgp_viz.extensions.flow_zoo import (
    Arcsinh,
    BoxCox,
    FromBijector,
    InverseBoxCox,
    RationalQuadraticSpline,
    StepSum,
)
from tests.unit.extensions.zoo import TAILS, ZOO, tails

by_name = pytest.mark.parametrize("flow", ZOO, ids=repr)
tfb = tfp.bijectors
F = np.array([-30.0, -2.5, -1.0, -0.3, 0.0, 0.2, 1.0, 1.7, 4.0])


def at(flow: flows.Flow, values: list[float], f: np.ndarray = F) -> np.ndarray:
    """The flow with constrained parameters."""
    return flow.forward(f, flow.unconstrain(values)).numpy()


# --- formulas -----------------------------------------------------------------------------------


def test_arcsinh_is_the_formula() -> None:
    a, b, c, d = 0.4, 1.7, -0.6, 0.3
    np.testing.assert_allclose(at(Arcsinh(), [a, b, c, d]), a + b * np.arcsinh((F - c) / d))


@pytest.mark.parametrize(("p", "n"), [(0.3, 1.6), (1.0, 1.0), (2.0, 0.5)])
def test_box_cox_is_that_of_each_side(p: float, n: float) -> None:
    up, down = F[F >= 0.0], F[F < 0.0]
    expected = [*-boxcox(1.0 - down, n), *boxcox(1.0 + up, p)]
    np.testing.assert_allclose(at(BoxCox(), [p, n]), expected, rtol=1e-12)
    expected = [*(1.0 - inv_boxcox(-down, n)), *(inv_boxcox(up, p) - 1.0)]
    np.testing.assert_allclose(at(InverseBoxCox(), [p, n]), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("p", [0.2, 0.9, 1.8])
def test_box_cox_has_yeo_johnson_as_a_special_case(p: float) -> None:
    np.testing.assert_allclose(at(BoxCox(), [p, 2.0 - p]), yeojohnson(F, p), rtol=1e-12)


def test_box_cox_of_a_vanishing_power_is_a_logarithm() -> None:
    flow = BoxCox()
    expected = np.sign(F) * np.log1p(np.abs(F))
    np.testing.assert_allclose(flow.forward(F, [-40.0, -40.0]), expected, rtol=1e-12)
    undone = InverseBoxCox().forward(expected, [-40.0, -40.0])
    np.testing.assert_allclose(undone, F, rtol=1e-12)


def test_a_step_sum_is_the_sum_of_its_steps() -> None:
    flow = StepSum(tanh=2, sal=1, arcsinh=2)
    rng = np.random.default_rng(0)
    values = rng.uniform(0.3, 2.0, size=flow.num_params)
    a1, b1, c1, a2, b2, c2, a, b, d, e, *rest = values
    expected = F + a1 * np.tanh(b1 * (F + c1)) + a2 * np.tanh(b2 * (F + c2))
    expected += d * np.sinh(b * np.arcsinh(F) - a) + e
    for lift, height, place, width in (rest[:4], rest[4:]):
        expected += lift + height * np.arcsinh((F - place) / width)
    np.testing.assert_allclose(at(flow, values), expected, rtol=1e-12)
    only_tanh = StepSum(tanh=3, sal=0, arcsinh=0)
    raw = rng.normal(size=only_tanh.num_params)
    np.testing.assert_array_equal(only_tanh.forward(F, raw), flows.TanhSum(3).forward(F, raw))
    np.testing.assert_array_equal(only_tanh.identity_params(), flows.TanhSum(3).identity_params())


def test_the_steps_of_a_sum_start_apart() -> None:
    """Equal steps would have equal gradients, and stay equal for ever."""
    flow = StepSum(tanh=2, sal=2, arcsinh=2)
    raw = tf.constant(flow.near_identity_params())
    with tf.GradientTape() as tape:
        tape.watch(raw)
        g = flow.forward(F, raw)
    by_raw = tape.jacobian(g, raw).numpy()
    heights = [flow.param_names.index(f"{kind}.{name}") for kind, name in
               (("sal1", "d"), ("sal2", "d"), ("arcsinh1", "b"), ("arcsinh2", "b"))]  # fmt: skip
    for first, second in (heights[:2], heights[2:]):
        assert np.max(np.abs(by_raw[:, first] - by_raw[:, second])) > 1e-3


@pytest.mark.parametrize(("bins", "bound"), [(2, 1.0), (5, 3.0)])
def test_the_spline_passes_through_its_knots(bins: int, bound: float) -> None:
    flow = RationalQuadraticSpline(bins, bound)
    raw = np.random.default_rng(bins).normal(size=flow.num_params)
    w, h, slopes = np.split(np.log1p(np.exp(raw)), [bins, 2 * bins])
    floor = flow_zoo.MIN_SHARE

    def knots(parts: np.ndarray) -> np.ndarray:
        shares = floor + (1.0 - bins * floor) * parts / parts.sum()
        return -bound + 2.0 * bound * np.cumsum([0.0, *shares])

    np.testing.assert_allclose(flow.forward(knots(w), raw), knots(h), atol=1e-12)
    outside = np.array([-1e3, -bound - 0.1, bound + 0.1, 1e3])
    np.testing.assert_allclose(flow.forward(outside, raw), outside)
    floor = flow_zoo.MIN_SLOPE
    slopes = [1.0, *(floor + (1.0 - floor) * slopes), 1.0]
    np.testing.assert_allclose(np.exp(flow.log_derivative(knots(w), raw)), slopes, rtol=1e-9)


# --- agreement with TensorFlow Probability ------------------------------------------------------


def agree(flow: flows.Flow, values: list[float], bijector: tfb.Bijector, f: np.ndarray) -> None:
    raw = flow.unconstrain(values)
    g = bijector.forward(tf.constant(f))
    np.testing.assert_allclose(flow.forward(f, raw), g, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(flow.inverse(g, raw), f, rtol=1e-9, atol=1e-10)
    slope = bijector.forward_log_det_jacobian(tf.constant(f)) + tf.zeros_like(g)
    np.testing.assert_allclose(flow.log_derivative(f, raw), slope, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("bins", [2, 4, 8])
def test_the_spline_is_that_of_tfp(bins: int) -> None:
    flow, rng = RationalQuadraticSpline(bins, bound=2.0), np.random.default_rng(bins)
    values = flow.constrain(rng.normal(scale=1.5, size=flow.num_params))
    widths, heights, slopes = flow._knots(tf.unstack(values))
    spline = tfb.RationalQuadraticSpline(widths, heights, slopes[1:-1], range_min=-2.0)
    agree(flow, values, spline, np.linspace(-3.0, 3.0, 61))


@pytest.mark.parametrize("power", [0.2, 1.0, 2.5])
def test_box_cox_is_that_of_tfp_above_zero(power: float) -> None:
    shift = tfb.Shift(tf.constant(1.0, tf.float64))
    # (1 + λ f)^(1/λ) − 1
    inverse = tfb.Invert(shift)(tfb.PowerTransform(tf.constant(power, tf.float64)))
    f = np.linspace(0.01, 6.0, 25)
    agree(InverseBoxCox(), [power, 1.0], inverse, f)
    agree(BoxCox(), [power, 1.0], tfb.Invert(inverse), f)


def test_arcsinh_is_that_of_tfp() -> None:
    a, b, c, d = (tf.constant(x, tf.float64) for x in (0.4, 1.7, -0.6, 0.3))
    parts = [tfb.Shift(a), tfb.Scale(b), tfb.Invert(tfb.Sinh()), tfb.Scale(1.0 / d), tfb.Shift(-c)]
    agree(Arcsinh(), [0.4, 1.7, -0.6, 0.3], tfb.Chain(parts), F[1:])


@pytest.mark.parametrize(("skew", "weight"), [(0.0, 1.0), (-0.7, 1.3), (0.5, 0.4)])
def test_an_adapted_bijector_is_the_bijector(skew: float, weight: float) -> None:
    numbers = (tf.constant(x, tf.float64) for x in (skew, weight))
    agree(TAILS, [skew, weight], tails(*numbers), F[1:])
    # TFP's y = sinh(t (asinh x + s)) · 2/sinh(t asinh 2) is a SAL step with other letters.
    scale = 2.0 / np.sinh(weight * np.arcsinh(2.0))
    sal = at(flows.SinhArcsinh(), [-weight * skew, weight, scale, 0.0], F)
    np.testing.assert_allclose(at(TAILS, [skew, weight], F), sal, rtol=1e-10)


def test_a_bijector_without_parameters_is_a_step_of_a_composition() -> None:
    softplus = flows.Compose([flows.Linear(positive=True), FromBijector(tfb.Softplus())])
    core = flows.Compose([flows.Linear(positive=True), flows.Softplus()])
    for method in ("forward", "log_derivative"):
        ours, theirs = (getattr(flow, method)(F, [0.4, -0.3]) for flow in (softplus, core))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_bijector_keeps_its_own_precision() -> None:
    single = FromBijector(tfb.Shift(tf.constant(0.5, tf.float32)))
    assert single.forward(F, np.zeros(0)).dtype == tf.float64
    np.testing.assert_allclose(single.forward(F, np.zeros(0)), F + 0.5, rtol=1e-6)
    np.testing.assert_array_equal(single.log_derivative(F, np.zeros(0)), np.zeros(len(F)))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: StepSum(0, 0, 0), "tanh: expected at least one step of any kind"),
        (lambda: StepSum(tanh=-1), r"tanh: expected an integer in 0\.\.500"),
        (lambda: RationalQuadraticSpline(bins=1), r"bins: expected an integer in 2\.\.500"),
        (lambda: RationalQuadraticSpline(bound=0.0), "bound: expected a finite number > 0"),
        (lambda: FromBijector("exp"), "make: expected a bijector"),
        (lambda: FromBijector(tfb.Cumsum()), "make: expected a bijector of single numbers"),
        (
            lambda: FromBijector(tails, ["skew", "weight"]),
            "params: expected a list with a flows.Param",
        ),
    ],
)
def test_bad_arguments_are_named(make, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


# --- extremes, precision, compilation -----------------------------------------------------------

# TFP's own maps overflow where ours follow a tangent.
OURS = [flow for flow in ZOO if flow is not TAILS]


@pytest.mark.parametrize("flow", OURS, ids=repr)
def test_extreme_parameters_and_latents_stay_finite(flow: flows.Flow) -> None:
    rng = np.random.default_rng(0)
    params = tf.constant(rng.choice([-50.0, 0.0, 50.0], size=(400, flow.num_params)))
    f = tf.constant(rng.choice([-1e3, -1.0, 0.0, 1e-3, 1e3], size=400))
    with tf.GradientTape() as tape:
        tape.watch([f, params])
        g = flow.forward(f, params)
    for tensor in (g, *tape.gradient(g, [f, params]), flow.log_derivative(f, params)):
        assert np.all(np.isfinite(tensor))


@by_name
def test_float32_compiled_agrees_with_float64(flow: flows.Flow) -> None:
    rng = np.random.default_rng(1)
    start = np.maximum(flow.near_identity_params(), -1.0)
    raw = start + 0.3 * rng.normal(size=(200, flow.num_params))
    f, exact = rng.normal(size=200), {}
    for kind in (tf.float64, tf.float32):

        @tf.function(jit_compile=True, autograph=False)
        def value_and_gradients(f: tf.Tensor, *columns: tf.Tensor) -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                tape.watch([f, *columns])
                g = flow._forward(f, flow.constrained(columns))
            return [g, *tape.gradient(g, [f, *columns])]

        found = value_and_gradients(*(tf.cast(x, kind) for x in (f, *raw.T)))
        exact.setdefault("float64", found)
        for quick, good in zip(found, exact["float64"], strict=True):
            assert quick.dtype == kind
            scale = np.max(np.abs(good))
            np.testing.assert_allclose(quick / scale, good / scale, atol=5e-6)
    np.testing.assert_allclose(exact["float64"][0], flow.forward(f, raw), rtol=1e-9)


@by_name
def test_the_compiled_expectation_is_the_quadrature_as_written(flow: flows.Flow) -> None:
    rng, C, N = np.random.default_rng(2), 3, 6
    start = np.maximum(flow.near_identity_params(), -1.0)
    raw = start + 0.2 * rng.normal(size=(1, N, C, flow.num_params))
    mean, deviation, labels = rng.normal(size=N), np.full(N, 0.6), rng.integers(0, C, size=N)

    def log_likelihood(processes: tf.Tensor) -> tf.Tensor:
        mask = tf.one_hot(labels, C, dtype=tf.float64)[None, :, None]
        return tf.reduce_sum(mask * tf.nn.log_softmax(processes), axis=-1)

    latent = tf.constant(mean), deviation, raw, gauss_hermite(20)
    written = expected_log_likelihood(log_likelihood, flow, *latent)
    values = flow.unstack(np.moveaxis(raw, [1, 2, 3], [3, 2, 1]), axis=1)
    blocks = (tf.constant(x[None]) for x in (mean, deviation))
    found = expected_log_softmax(flow, *blocks, values, tf.constant(labels[None]), *Rule(20))
    np.testing.assert_allclose(found[0], written, rtol=1e-10)


def test_flows_of_the_zoo_are_equal_if_their_settings_are() -> None:
    assert StepSum(1, 2, 3) == StepSum(1, 2, 3) != StepSum(3, 2, 1)
    assert hash(RationalQuadraticSpline(3)) == hash(RationalQuadraticSpline(3))
    assert RationalQuadraticSpline(3) != RationalQuadraticSpline(3, bound=2.0)
    assert BoxCox() != InverseBoxCox()
    assert FromBijector(tails, TAILS.params, has_identity=True) == TAILS
    assert len({TAILS, FromBijector(tails, TAILS.params, has_identity=True)}) == 1


def test_users_find_all_flows_in_one_place() -> None:
    assert etgp_viz.flows.Linear is flows.Linear
    assert etgp_viz.flows.Arcsinh is Arcsinh
    assert set(flows.__all__) | set(flow_zoo.__all__) == set(etgp_viz.flows.__all__)


def test_the_closest_start_of_a_composition_is_that_of_its_parts() -> None:
    start = flows.Compose([Arcsinh(), flows.Tanh()]).near_identity_params()
    parts = Arcsinh().near_identity_params(), flows.Tanh().near_identity_params()
    np.testing.assert_array_equal(start, np.concatenate(parts))
    f = np.linspace(-2.0, 2.0, 9)
    np.testing.assert_allclose(Arcsinh().forward(f, parts[0]), f, atol=0.08)


@pytest.mark.parametrize("name", flow_zoo.NAMED)
def test_a_gradient_reaches_every_parameter_at_the_start(name: str) -> None:
    flow, f = flow_zoo.NAMED[name](), np.linspace(-2.0, 2.0, 9)
    raw = tf.constant(flow.near_identity_params())
    with tf.GradientTape() as tape:
        tape.watch(raw)
        g = flow.forward(f, raw)
    np.testing.assert_allclose(g, f, atol=0.15)
    assert np.all(np.abs(tape.jacobian(g, raw)).max(axis=0) > 1e-3)


# --- training -----------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 2))
Y = (X[:, :1] > 0.0).astype(int) + (X[:, 1:] > 0.5)


def learns(model: ETGP) -> None:
    result = fit(model, (X, Y), epochs=15, learning_rate=0.05, progress=False)
    assert result.elbo[-1] > result.elbo[0] + 1.0
    assert np.all(result.elbo < 0.0)
    p, _ = model.predict_y(X)
    np.testing.assert_allclose(np.sum(p, axis=1), 1.0)
    assert np.mean(np.argmax(p, axis=1) == Y[:, 0]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", flow_zoo.NAMED)
def test_training_raises_the_elbo(name: str, precision: str) -> None:
    learns(build("etgp", X, 3, num_inducing=10, hidden=(8,), flow=name, precision=precision))


@pytest.mark.slow
def test_training_with_an_adapted_bijector() -> None:
    flow = flows.Compose([TAILS, flows.Linear()])
    network = FlowNetwork(2, 3, flow, hidden=(8,), start=flow.near_identity_params())
    model = ETGP(gpflow.kernels.SquaredExponential(), network, X[:10], num_data=len(X))
    model.q_mu.assign(RNG.normal(size=model.q_mu.shape))
    learns(model)
