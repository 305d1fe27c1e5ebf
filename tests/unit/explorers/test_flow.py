"""The flow explorer: what is drawn, what is said, and what stays when a slider moves."""

import numpy as np
import pytest

from etgp_viz.explorers import FlowExplorer
from etgp_viz.explorers import flow as flow_explorer


@pytest.fixture
def explorer():
    return FlowExplorer()


def curve(explorer, figure, name):
    (trace,) = (trace for trace in explorer.figures[figure].data if trace.name == name)
    return np.array(trace.y)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (-2.0, 0.5), (0.0, -1.0), (0.5, 0.0)])
def test_sliders_move_the_warped_curve_only(explorer, a, b):
    before = curve(explorer, "paths", "latent f₀(x)")
    explorer.controls["linear_a"].slider.value = a
    explorer.controls["linear_b"].slider.value = b
    latent = curve(explorer, "paths", "latent f₀(x)")
    np.testing.assert_array_equal(latent, before)
    np.testing.assert_allclose(curve(explorer, "paths", "warped f(x)"), a * latent + b, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"linear_a": (1.0,) * 5, "linear_b": (0.0,) * 5}, "changes nothing"),
        ({"linear_a": (0.0,) * 5}, "flattens everything to 1.00 and cannot be inverted"),
        ({"linear_a": (-1.0,) * 5}, "1.00 times as spread out as f₀, upside down"),
        ({"linear_b": (2.0,) * 5}, "centred on 2.00 and still Gaussian"),
        ({"flow": "sal", "sal_a": (-1.0,) * 5}, "skewed to the right"),
        ({"linear_a": (0.5, 1.0, 2.0, 1.0, 0.5)}, "although that of f₀ does"),
        ({"kernel": "arccos"}, "and neither does that of f₀"),
        ({}, "the process is stationary"),
        (
            {"linear_b": (0.0, 1.0, 0.0, 1.0, 0.0)},
            "its marginals change with x: it is not stationary",
        ),
    ],
)
def test_the_summary_says_what_is_seen(explorer, values, words):
    explorer.set(**values)
    assert words in explorer.summary


def test_a_view_only_control_recomputes_no_covariance(explorer):
    before = explorer.records["covariance"]
    explorer.controls["at"].value = 1.5
    assert explorer.records["covariance"] is before
    assert explorer.records["density"].at == 1.5


def test_a_click_marks_an_input(explorer):
    explorer._on_message({"click": "paths", "panel": "xy", "x": 2.0, "y": 0.0})
    assert explorer.state.at == 2.0
    assert explorer.figures["parameters"].layout.shapes[0].x0 == 2.0
    explorer._on_message({"click": "covariance", "panel": "xy", "x": -2.0, "y": 0.0})
    assert explorer.state.at == 2.0


def test_axes_hold_until_a_curve_leaves_the_frame(explorer):
    axis = explorer.figures["paths"].layout.yaxis
    held = axis.range
    explorer.set(linear_a=(0.5,) * 5)
    assert axis.range == held
    explorer.set(linear_a=(3.0,) * 5, linear_b=(3.0,) * 5)
    grown = axis.range
    assert grown[1] > held[1]
    explorer.set(linear_a=(2.0,) * 5, linear_b=(1.0,) * 5)
    assert axis.range == grown
    explorer.set(linear_a=(1.0,) * 5, linear_b=(0.0,) * 5)  # needs a small share of the frame
    assert axis.range[1] < held[1]
    explorer._fit_axes()
    assert axis.range[1] < grown[1]


class TestProfile:
    """A parameter's slider and its knots."""

    def test_the_slider_lifts_every_knot_and_keeps_the_shape(self, explorer):
        control = explorer.controls["linear_b"]
        control.value = (0.0, 1.0, 2.0, 1.0, 0.0)
        assert control.slider.value == pytest.approx(0.8)
        control.slider.value = 1.8
        assert explorer.state.linear_b == pytest.approx((1.0, 2.0, 3.0, 2.0, 1.0))
        control.slider.value = 2.8  # the middle knot meets the end of the range
        assert explorer.state.linear_b == pytest.approx((2.0, 3.0, 3.0, 3.0, 2.0))
        control.slider.value = 1.8  # and comes back
        assert explorer.state.linear_b == pytest.approx((1.0, 2.0, 3.0, 2.0, 1.0))

    def test_a_dragged_knot_moves_the_parameter_there(self, explorer):
        control = explorer.controls["linear_a"]
        control.opener.value = True
        assert control.knots.layout.display == ""
        control.knots.value = [1.5, 1.5, 1.5, 1.5, -9.0]  # outside: held at the end of the range
        assert explorer.state.linear_a == (1.5, 1.5, 1.5, 1.5, -3.0)
        values = explorer.records["parameters"].values[:, 0]
        assert values[0] == pytest.approx(1.5)
        assert values[-1] == pytest.approx(-3.0)
        assert control.knots.curve[-1] == pytest.approx(-3.0)

    def test_a_varying_profile_shows_its_knots(self):
        explorer = FlowExplorer(linear_a=(0.5, 1.0, 2.0, 1.0, 0.5))
        assert explorer.controls["linear_a"].opener.value
        assert not explorer.controls["linear_b"].opener.value


def test_the_seed_chooses_the_draw():
    first, same, other = (FlowExplorer(seed=s).records["paths"].latent for s in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert np.max(np.abs(first - other)) > 0.1


def test_a_knot_that_is_dragged_in_the_figure_moves_its_parameter(explorer):
    knots = explorer.figures["parameters"].data[-1]
    assert (len(knots.x), knots.meta) == (10, "dragged")
    at = {"figure": "parameters", "drags": 8, "panel": "xy", "x": 0.0, "y": -1.52}
    explorer._page.frame.pointer = at
    assert explorer.state.linear_b == (1.0, 1.0, 1.0, -1.5, 1.0)
    assert explorer.state.linear_a == (1.5,) * 5
    knots = explorer.figures["parameters"].data[-1]
    assert (knots.x[8], knots.y[8]) == (1.5, -1.5)
    explorer._page.frame.pointer = {**at, "y": 99.0}
    assert explorer.state.linear_b[3] == 3.0  # as far as its slider goes
    explorer.set(source="network")
    assert len(explorer.figures["parameters"].data[-1].x) == 0
    explorer._page.frame.pointer = at  # a late message about a knot that is gone
    assert explorer.state.linear_b[3] == 3.0


def test_the_thick_draw_passes_through_a_held_point(explorer):
    free = explorer.records["paths"].latent
    explorer.set(held=(1.0, 2.0))
    record = explorer.records["paths"]
    n = int(np.argmin(np.abs(record.x - 1.0)))
    assert record.latent[0, n] == pytest.approx(2.0)
    assert record.warped[0, n] == pytest.approx(1.5 * 2.0 + 1.0)
    np.testing.assert_array_equal(record.latent[1:], free[1:])


@pytest.mark.parametrize("name", ["arcsinh", "boxcox", "inverse", "spline"])
def test_flows_of_the_zoo_are_drawn(explorer, name):
    explorer.set(flow=name)
    step = flow_explorer.STEPS[name]
    values = [getattr(explorer.state, f"{name}_{param.name}")[0] for param in step.params]
    record = explorer.records["map"]
    expected = step.forward(record.f, step.unconstrain(values)).numpy()
    np.testing.assert_allclose(record.g, expected)
    assert np.max(np.abs(record.g - record.f)) > 0.1  # the preset values show something
    used = {field for field in explorer.controls if field.startswith(f"{name}_")}
    shown = {field for field in used if explorer._specs[field].when(explorer.state)}
    assert shown == used
    assert not explorer._specs["linear_a"].when(explorer.state)
    assert f"flow = flows.{step!r}" in explorer.to_code()
    explorer.set(source="network")
    assert np.isfinite(explorer.records["map"].g).all()
