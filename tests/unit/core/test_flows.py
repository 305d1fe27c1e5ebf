"""Flows against loop-written NumPy formulas, autodiff, and their defining properties."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etgp_viz.backend import tf
from etgp_viz.core import flows
from tests.unit.extensions.zoo import ZOO

FAMILIES = [
    flows.Linear(),
    flows.Linear(positive=True),
    flows.SAL(length=1),
    flows.SAL(length=3),
    flows.Tanh(elements=4, length=1),
    flows.Tanh(elements=2, length=3),
    flows.Compose([flows.Tanh(elements=2), flows.Linear(positive=True)]),
    flows.Compose([flows.Linear(positive=True), flows.Softplus()]),
    flows.Compose([flows.Linear(), flows.Exp()]),
    *ZOO,
]
by_name = pytest.mark.parametrize("flow", FAMILIES, ids=repr)
few_examples = settings(max_examples=15, deadline=None)


@lru_cache
def compiled(flow: flows.Flow, method: str) -> Callable:
    """A method of a flow as a graph, traced once for all examples."""
    return tf.function(getattr(flow, method), autograph=False)


def raw_params(flow: flows.Flow, spread: float) -> st.SearchStrategy[np.ndarray]:
    """Raw parameters around the identity, LINEAR's slope away from zero, where none inverts."""
    numbers = st.lists(
        st.floats(-spread, spread), min_size=flow.num_params, max_size=flow.num_params
    )

    centre = np.maximum(flow.near_identity_params(), -1.0)  # TANH's amplitudes start near zero

    def shift(deltas: list[float]) -> np.ndarray:
        raw = centre + np.array(deltas)
        for index, param in enumerate(flow.params):
            if param.name.endswith("a") and not param.positive and abs(raw[index]) < 0.1:
                raw[index] = 0.1
        return raw

    return numbers.map(shift)


def reference_forward(flow: flows.Flow, f: float, values: list[float]) -> float:
    """The formulas of the paper, one number at a time."""
    if isinstance(flow, flows.Linear):
        a, b = values
        return a * f + b
    if isinstance(flow, flows.SAL):
        for step in range(flow.length):
            a, b, d, e = values[4 * step : 4 * step + 4]
            f = d * np.sinh(b * np.arcsinh(f) - a) + e
        return f
    assert isinstance(flow, flows.Tanh)
    per_step = 3 * flow.elements
    for step in range(flow.length):
        own = values[per_step * step : per_step * (step + 1)]
        f = f + sum(
            own[3 * i] * np.tanh(own[3 * i + 1] * (f + own[3 * i + 2]))
            for i in range(flow.elements)
        )
    return f


@pytest.mark.parametrize("flow", FAMILIES[:6], ids=repr)
def test_forward_is_the_formula(flow: flows.Flow) -> None:
    rng = np.random.default_rng(0)
    params = rng.normal(size=(7, flow.num_params))
    f = rng.normal(size=7)
    values = flow.constrain(params).numpy()
    expected = [reference_forward(flow, f[i], list(values[i])) for i in range(7)]
    np.testing.assert_allclose(flow.forward(f, params), expected, rtol=1e-12)


def test_constrained_values_are_softplus_of_raw() -> None:
    raw = np.array([-1.5, 0.3, 2.0, -0.7])
    softplus = np.log1p(np.exp(raw))
    np.testing.assert_allclose(
        flows.SAL(length=1).constrain(raw), [raw[0], softplus[1], softplus[2], raw[3]], rtol=1e-14
    )


@by_name
@few_examples
@given(data=st.data())
def test_inverse_undoes_forward(flow: flows.Flow, data: st.DataObject) -> None:
    params = data.draw(raw_params(flow, spread=1.5))
    f = np.linspace(-4.0, 4.0, 17)
    f, params = tf.constant(f), tf.constant(params)
    back = compiled(flow, "inverse")(compiled(flow, "forward")(f, params), params)
    np.testing.assert_allclose(back, f, atol=1e-9, rtol=1e-9)


@by_name
@few_examples
@given(data=st.data())
def test_log_derivative_is_that_of_autodiff(flow: flows.Flow, data: st.DataObject) -> None:
    params = tf.constant(data.draw(raw_params(flow, spread=1.5)))
    f = tf.constant(np.linspace(-3.0, 3.0, 13))
    with tf.GradientTape() as tape:
        tape.watch(f)
        g = compiled(flow, "forward")(f, params)
    slope = tape.gradient(g, f)
    log_slope = compiled(flow, "log_derivative")(f, params)
    np.testing.assert_allclose(log_slope, np.log(np.abs(slope)), atol=1e-9, rtol=1e-9)


@by_name
@few_examples
@given(data=st.data(), spread=st.sampled_from([2.0, 20.0]))
def test_monotone_for_any_raw_parameters(
    flow: flows.Flow, data: st.DataObject, spread: float
) -> None:
    numbers = st.floats(-spread, spread)
    raw = data.draw(st.lists(numbers, min_size=flow.num_params, max_size=flow.num_params))
    if isinstance(flow, flows.Linear) and not flow.positive and abs(raw[0]) < 1e-3:
        raw[0] = 1e-3  # a = 0 is the one value at which LINEAR is no flow
    f = tf.constant(np.linspace(-4.0, 4.0, 33))
    g = compiled(flow, "forward")(f, tf.constant(raw, tf.float64)).numpy()
    steps = flow.flows if isinstance(flow, flows.Compose) else (flow,)
    may_fall = any(isinstance(step, flows.Linear) and not step.positive for step in steps)
    # Strictly for pleasant parameters; extreme ones are monotone up to rounding.
    strict = spread < 3.0 and not may_fall
    least = 0.0 if strict else -1e-13 * np.max(np.abs(g))
    rises = np.diff(g)
    assert (
        np.all(rises > least)
        or (may_fall and np.all(-rises >= least))
        or (not strict and np.all(rises >= least))
    )


@by_name
def test_value_and_gradient_stay_finite(flow: flows.Flow) -> None:
    rng = np.random.default_rng(1)
    corners = rng.choice([-20.0, 0.0, 20.0], size=(300, flow.num_params))
    inside = rng.uniform(-20.0, 20.0, size=(300, flow.num_params))
    params = tf.constant(np.concatenate([corners, inside]))
    f = tf.constant(rng.choice([-1e3, -30.0, -1.0, 0.0, 1e-3, 1.0, 30.0, 1e3], size=600))
    with tf.GradientTape() as tape:
        tape.watch([f, params])
        g = flow.forward(f, params)
    for name, tensor in zip(("g", "df", "dθ"), [g, *tape.gradient(g, [f, params])], strict=True):
        assert np.all(np.isfinite(tensor)), name


@pytest.mark.parametrize("flow", [flow for flow in FAMILIES if flow.has_identity], ids=repr)
def test_identity_params_give_the_identity(flow: flows.Flow) -> None:
    f = np.linspace(-5.0, 5.0, 21)
    np.testing.assert_allclose(flow.forward(f, flow.identity_params()), f, atol=2e-6)


def test_near_identity_params_let_a_gradient_reach_every_parameter() -> None:
    flow = flows.Tanh()
    raw = tf.constant(flow.near_identity_params())
    f = tf.constant(np.linspace(-2.0, 2.0, 5))
    with tf.GradientTape() as tape:
        tape.watch(raw)
        g = flow.forward(f, raw)
    np.testing.assert_allclose(g, f, atol=0.08)
    assert np.all(np.abs(tape.jacobian(g, raw)).max(axis=0) > 1e-3)
    np.testing.assert_array_equal(flows.SAL().near_identity_params(), flows.SAL().identity_params())


def test_closest_to_the_identity_where_there_is_none() -> None:
    flow = flows.Compose([flows.Linear(positive=True), flows.Softplus()])
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)

    def misfit(params: np.ndarray) -> float:
        return float(weights @ (flow.forward(nodes, params).numpy() - nodes) ** 2)

    best = flow.identity_params()
    assert not flow.has_identity
    for delta in np.random.default_rng(0).normal(scale=0.1, size=(20, 2)):
        assert misfit(best) <= misfit(best + delta)


def test_inverse_of_tanh_is_solved_in_the_hardest_corner() -> None:
    """Steep and high steps far apart: Newton alone would jump between them for ever."""
    flow = flows.Tanh(elements=3)
    params = flow.unconstrain([20.0, 20.0, -5.0, 20.0, 20.0, 0.0, 20.0, 20.0, 5.0])
    g = np.linspace(-80.0, 80.0, 401)
    np.testing.assert_allclose(flow.forward(flow.inverse(g, params), params), g, atol=1e-9)


@pytest.mark.parametrize("g", [1.3, -4.0, 6.0, 0.1])
def test_a_root_is_found_in_a_few_steps_of_newton(g) -> None:
    """Bisection alone would take fifty."""
    steps = []

    def residual(f: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        steps.append(f)
        step = tf.tanh(20.0 * f)
        return f + 5.0 * step - g, 1.0 + 100.0 * (1.0 - step**2)

    low = tf.constant([-10.0], tf.float64)
    root = flows._solve_increasing(residual, low, -low)
    assert abs(float(residual(root)[0][0])) < 1e-12
    assert len(steps) < 25  # two for each step


def test_inverse_of_tanh_has_the_gradient_of_the_inverse_function() -> None:
    flow = flows.Tanh(elements=2)
    params = tf.constant(flow.unconstrain([0.8, 1.5, 0.2, 0.5, 3.0, -0.4]))
    g = tf.constant(0.7, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([g, params])
        f = flow.inverse(g, params)
    by_g, by_params = tape.gradient(f, [g, params])

    def slope(inverse: Callable[[float], tf.Tensor], step: float = 1e-6) -> float:
        return float(inverse(step) - inverse(-step)) / (2 * step)

    assert float(by_g) == pytest.approx(slope(lambda h: flow.inverse(g + h, params)), abs=1e-7)
    for i, unit in enumerate(np.eye(flow.num_params)):
        numeric = slope(lambda h, unit=unit: flow.inverse(g, params + h * unit))
        assert float(by_params[i]) == pytest.approx(numeric, abs=1e-7)


def test_composition_applies_the_first_listed_first() -> None:
    flow = flows.Compose([flows.Linear(), flows.Exp()])
    assert float(flow.forward(0.5, [2.0, 1.0])) == pytest.approx(np.exp(2.0))
    assert flow.param_names == ("1.a", "1.b")


def test_unconstrain_undoes_constrain() -> None:
    flow = flows.SAL(length=2)
    raw = np.random.default_rng(0).normal(size=(5, flow.num_params))
    np.testing.assert_allclose(flow.unconstrain(flow.constrain(raw)), raw, atol=1e-12)


def test_flows_with_the_same_attributes_are_the_same() -> None:
    class Power(flows.Linear):
        def __init__(self, k: int) -> None:
            super().__init__()
            self.k = k

    assert Power(1) != Power(2)
    assert Power(1) == Power(1)
    assert hash(flows.SAL(3)) == hash(flows.SAL(3))
    assert flows.SAL(3) != flows.SAL(2)
    assert flows.Compose([flows.Linear()]) == flows.Compose([flows.Linear()])


def test_a_flow_shows_how_to_make_it() -> None:
    assert repr(flows.SAL(2)) == "SAL(length=2)"
    assert repr(flows.Tanh(3, 2)) == "Tanh(elements=3, length=2)"
    chain = flows.Compose([flows.Linear(), flows.Exp()])
    assert repr(chain) == "Compose([Linear(positive=False), Exp()])"


def test_params_broadcast_against_f() -> None:
    flow = flows.Tanh(elements=2)
    params = np.random.default_rng(0).normal(size=(4, 1, 3, 6))
    assert flow.forward(np.zeros((5, 1)), params).shape == (4, 5, 3)


def test_numbers_of_parameters() -> None:
    assert flows.Linear().num_params == 2
    assert flows.SAL(length=3).num_params == 12
    assert flows.Tanh(elements=4, length=1).num_params == 12
    assert flows.Tanh(elements=4, length=3).num_params == 36
    assert len(set(flows.Tanh(elements=4, length=3).param_names)) == 36
    # The paper's: three SAL steps, one sum of four tanh steps.
    assert flows.SAL().num_params == flows.Tanh().num_params == flows.TanhSum().num_params == 12
    assert len(flows.SAL().flows) == 3


@by_name
def test_slider_ranges_hold_values_that_the_flow_can_take(flow: flows.Flow) -> None:
    for param in flow.params:
        assert param.low < param.high
        assert param.low > 0.0 or not param.positive
        assert param.effect


@pytest.mark.parametrize(
    ("flow", "ranges"),
    [
        (flows.Linear(), {"a": (-3.0, 3.0), "b": (-3.0, 3.0)}),
        (flows.Linear(positive=True), {"a": (0.1, 3.0), "b": (-3.0, 3.0)}),
        (
            flows.SinhArcsinh(),
            {"a": (-2.0, 2.0), "b": (0.2, 2.5), "d": (0.1, 3.0), "e": (-3.0, 3.0)},
        ),
        (flows.TanhSum(1), {"a1": (0.05, 3.0), "b1": (0.1, 5.0), "c1": (-3.0, 3.0)}),
    ],
    ids=repr,
)
def test_slider_ranges_stay_as_they_are(flow: flows.Flow, ranges: dict) -> None:
    """Links have values from all over them: with a narrower range, old links would be refused."""
    assert {param.name: (param.low, param.high) for param in flow.params} == ranges


def test_tanh_steps_start_apart() -> None:
    """Elements with the same centre would learn the same."""
    for elements, centres in ((1, [0.0]), (2, [-2.0, 2.0]), (3, [-2.0, 0.0, 2.0])):
        assert flows.TanhSum(elements).identity_params()[2::3].tolist() == centres


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: flows.SAL(length=0), "length"),
        (lambda: flows.Tanh(elements=1.5), "elements"),
        (lambda: flows.Compose([]), "flows"),
        (lambda: flows.Compose(["linear"]), "flows"),
        (lambda: flows.Compose(flows.Linear()), "flows"),
        (lambda: flows.Tanh(elements="a"), "elements"),
        (lambda: flows.Linear().forward(np.zeros(3), np.zeros((4, 2))), "f"),
        (lambda: flows.Linear().forward(0.0, [1.0, 2.0, 3.0]), "params: .* 2 raw .*'a', 'b'"),
        (lambda: flows.SAL(length=1).unconstrain([0.0, -1.0, 1.0, 0.0]), "positive b, d, got -1"),
    ],
)
def test_bad_input_says_what_is_wrong(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
