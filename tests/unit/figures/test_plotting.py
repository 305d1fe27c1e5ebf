"""What pictures share: axes that hold, labels that keep apart, colours, and the table."""

import io
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etgp_viz.figures import flow, plotting, style
from etgp_viz.records.flow import Matrix

heights = st.lists(st.floats(-5, 5), min_size=1, max_size=12).map(np.array)


@given(heights, st.floats(0.01, 1.0))
def test_labels_keep_apart_and_in_order(values, gap):
    moved = plotting.spread(values, gap)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(moved[order]) >= gap - 1e-9)
    assert moved.mean() == pytest.approx(values.mean(), abs=1e-9)  # as a whole they stay


def test_labels_that_are_apart_stay():
    values = np.array([3.0, -1.0, 0.5])
    np.testing.assert_allclose(plotting.spread(values, 1.0), values)


def test_large_labels_stay_on_their_axis():
    """Beyond its ends plotly would hide them."""
    fig, lines = plotting.figure([], 200, {}), np.array([4.0, 1.0, 1.0, 0.6])
    plotting.enlarge(fig, plotting.PRESENT_SCALE)
    assert plotting.apart(fig, lines, 0.7).min() < 0.0
    kept = plotting.apart(fig, lines, 0.7, (0.0, 4.5))
    assert 0.0 <= kept.min() < kept.max() <= 4.5
    assert np.min(np.diff(np.sort(kept))) >= 0.7 * plotting.PRESENT_SCALE - 1e-9


def test_a_move_sends_only_what_has_changed_and_in_one_piece():
    y = np.arange(6.0).reshape(3, 2)
    fig = go.Figure(
        [go.Scatter(y=y[:, 0], name="a"), go.Scatter(y=y[:, 1], name="b")],
        {"annotations": [{"text": "one"}], "yaxis": {"range": [0, 5]}},
    )
    sent = []
    fig._send_update_msg = lambda **message: sent.append(message)
    same = {"annotations[0].text": "one", "yaxis.range": (0, 5)}
    plotting.move(fig, {"y": [y[:, 0].copy(), y[:, 1].copy()]}, same)
    assert sent == []
    plotting.move(fig, {"y": [y[:, 0], y[:, 0]]}, {**same, "annotations[0].text": "two"})
    (message,) = sent
    assert message["trace_indexes"] == [1]
    assert message["relayout_data"] == {"annotations[0].text": "two"}
    (moved,) = message["restyle_data"]["y"]
    assert moved.flags.c_contiguous
    np.testing.assert_array_equal(fig.data[1].y, y[:, 0])
    assert fig.layout.annotations[0].text == "two"


def test_limits_hold_grow_and_fit_again():
    fig = go.Figure(layout={"yaxis": {"range": [-1.0, 1.0]}})
    assert plotting.limits(fig, "yaxis", np.array([0.0, 0.5])) == [-1.0, 1.0]
    low, high = plotting.limits(fig, "yaxis", np.array([0.0, 5.0]))
    assert low == -1.0
    assert high > 6.0
    assert plotting.limits(fig, "yaxis", np.array([0.0, 1.0]), refit=True)[1] < 1.2
    assert plotting.limits(fig, "xaxis", np.array([2.0, 2.0])) == [1.0, 3.0]


def test_an_axis_holds_grows_and_fits_again():
    fig = go.Figure()

    def fit(values, refit=False):
        ends = plotting.limits(fig, "yaxis", np.array(values), refit)
        plotting.move(fig, {}, {"yaxis.range": ends})
        return ends

    low, high = fit([-1.0, 1.0])
    assert low < -1.0
    assert high > 1.0
    assert fit([0.0, 0.5]) == [low, high]
    grown = fit([0.0, 5.0])
    assert grown[0] == low
    assert grown[1] > 6.0  # with room, or it would grow at every step
    assert fit([0.0, 1.0], refit=True)[1] < 1.2
    assert fit([0.0, 100.0])[1] > 100.0
    assert fit([0.0, 30.0])[1] > 100.0  # still a fair share of the frame
    assert fit([0.0, 4.0])[1] < 5.0  # it shrinks again
    assert plotting.fitted(np.array([2.0, 2.0]), plotting.MARGIN) == [1.0, 3.0]


def test_a_colour_scale_is_centred_and_holds():
    fig = flow.matrix.make(Matrix(np.arange(2.0), np.array([[-2.0, 1.0], [1.0, 0.0]]), "K"))
    trace = fig.data[0]
    assert (trace.zmin, trace.zmax) == (-2.0, 2.0)
    assert plotting.colour_limit(trace, np.array([[0.0, 1.0]])) == 2.0
    assert plotting.colour_limit(trace, np.array([[0.0, 1.0]]), refit=True) == 1.0
    flow.matrix.update(fig, Matrix(np.arange(2.0), np.full((2, 2), 0.1), "K"))
    assert (trace.zmin, trace.zmax) == (-0.1, 0.1)


def test_matrices_are_rounded_to_four_digits_of_their_largest():
    z = np.array([[1234.5678, 0.01], [-0.5, 3.0]])
    np.testing.assert_allclose(plotting.rounded(z), z, atol=0.5)
    np.testing.assert_allclose(plotting.rounded(z / 1e6), z / 1e6, atol=0.5e-6)


def test_the_table_holds_every_point_that_is_shown():
    fig = go.Figure(
        [
            go.Scatter(x=[0, 1], y=[2, 3], name="line"),
            go.Scatter(x=[0, 1], y=[2, 3], name="hidden", visible=False),
            go.Heatmap(x=[0, 1], y=[5, 6], z=[[1, 2], [3, 4]], name="map"),
        ]
    )
    found = pd.read_csv(io.StringIO(plotting.table({"one": fig})))
    assert list(found.columns) == ["figure", "trace", "x", "y", "z"]
    assert found.trace.tolist() == ["line"] * 2 + ["map"] * 4
    cell = found[(found.trace == "map") & (found.x == 1) & (found.y == 6)]
    assert cell.z.item() == 4


def test_colours_and_names_of_classes():
    assert [style.colour(c, 8) for c in range(8)] == list(style.PALETTE)
    assert len({style.colour(c, 20) for c in range(20)}) == 20
    assert style.process(0) == "f¹"
    assert style.process(11) == "f¹²"
    assert plotting.translucent("#0072B2", 0.5) == "rgba(0, 114, 178, 0.5)"
    assert plotting.translucent("rgb(1, 2, 3)", 0.5) == "rgba(1, 2, 3, 0.5)"


def test_text_and_lines_grow_alike_and_back():
    x = np.arange(3.0)
    fig = plotting.figure(
        [
            plotting.band(x, np.zeros((2, 3)), "band", style.NEUTRAL),
            plotting.line(x, x, "f₀", style.NEUTRAL, width=style.HERO_WIDTH),
            plotting.line(x, x, "f", style.PALETTE[0]),
        ],
        300,
        {"r": 50},
        xaxis=plotting.axis("x"),
    )
    before = fig.to_plotly_json()
    plotting.enlarge(fig, plotting.PRESENT_SCALE)
    edge, hero, other = (trace.line.width for trace in fig.data)
    assert edge == 0  # invisible edges stay invisible
    assert hero / other == pytest.approx(style.HERO_WIDTH / style.LINE_WIDTH)
    assert fig.layout.font.size == fig.layout.xaxis.title.font.size == pytest.approx(24)
    assert fig.layout.margin.l == pytest.approx(style.TEMPLATE.layout.margin.l * 24 / 13)
    plotting.enlarge(fig, 1.0)
    assert fig.data[1].line.width == pytest.approx(style.HERO_WIDTH)
    assert fig.layout.margin.r == pytest.approx(before["layout"]["margin"]["r"])


def test_maps_that_are_compared_have_one_colour_scale():
    def record(top):
        return Matrix(np.arange(2.0), np.array([[top, 0.0], [0.0, top]]), "K")

    figures = [flow.matrix.make(record(top)) for top in (1.0, 9.0)]
    plotting.share_colours(figures)
    assert [fig.data[0].zmax for fig in figures] == [9.0, 9.0]
    flow.matrix.update(figures[0], record(1.5))
    plotting.share_colours(figures)
    assert [fig.data[0].zmax for fig in figures] == [9.0, 9.0]
    flow.matrix.update(figures[0], record(20.0))
    plotting.share_colours(figures)
    assert [fig.data[0].zmin for fig in figures] == [-20.0, -20.0]


def test_heat_maps_are_square():
    fig = flow.matrix.make(Matrix(np.arange(2.0), np.eye(2), "K"))
    assert fig.layout.yaxis.scaleanchor == "x"
    assert fig.layout.xaxis.constrain == fig.layout.yaxis.constrain == "domain"


def test_a_table_for_reading_names_every_trace_and_stays_short():
    x = np.linspace(0.0, 1.0, 500)
    fig = plotting.figure([plotting.line(x, x**2, "squares", style.NEUTRAL)], 300, {})
    table = ET.fromstring(plotting.html_tables({"curve": fig})).find("table")
    assert table.find("caption").text == "curve"
    assert [head.text for head in table.iter("th")] == ["trace", "x", "y"]
    rows = [[cell.text for cell in row.iter("td")] for row in table.find("tbody")]
    assert 40 <= len(rows) <= plotting.MAX_TABLE_ROWS
    assert {name for name, _, _ in rows} == {"squares"}
    x, y = np.array([row[1:] for row in rows], dtype=float).T
    np.testing.assert_allclose(y, x**2, atol=1e-3)


@pytest.mark.parametrize("kind", [go.Bar, go.Scatter, go.Heatmap, go.Contour])
def test_every_kind_of_trace_is_enlarged_and_made_small_again(kind):
    fig = plotting.figure([kind(x=[1, 2], y=[1, 2])], 100, {"l": 10, "r": 10, "t": 10, "b": 10})
    plotting.enlarge(fig, 2.0)
    assert (fig.layout.margin.l, fig.layout.font.size) == (20, 2 * style.TEXT_SIZE)
    plotting.enlarge(fig, 1.0)
    assert (fig.layout.margin.l, fig.layout.font.size) == (10, style.TEXT_SIZE)
