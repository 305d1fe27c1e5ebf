"""Pictures of a race: what is drawn, where, and how it follows."""

import numpy as np
import pandas as pd
import pytest

from etgp_viz import timing
from etgp_viz.figures import timing as figures
from etgp_viz.figures.print import timing as print_timing
from etgp_viz.records.timing import KINDS, QUANTITIES
from tests.unit.timing.test_analysis import table_of, truth


def drawn(fig):
    """Name → trace, of those that show something."""
    return {trace.name: trace for trace in fig.data if len(trace.x)}


def labels(fig):
    return {label.text: label for label in fig.layout.annotations[:-1] if label.visible}


def test_every_line_is_drawn_and_named_at_its_end():
    table = table_of(truth, within=0.1)
    fig = figures.make(timing.curves(table))
    assert len(fig.data) == len(timing.MODELS) * len(KINDS)
    lines = drawn(fig)
    assert set(lines) == {f"{model}, measured" for model in table["model"]}
    line = lines["etgp-linear, measured"]
    rows = table[table["model"] == "etgp-linear"]
    np.testing.assert_allclose(line.y, rows["step"])
    np.testing.assert_allclose(line.y + line.error_y.array, rows["step_high"])
    np.testing.assert_allclose(line.y - line.error_y.arrayminus, rows["step_low"])
    assert set(labels(fig)) == {"ETGP LINEAR", "SVGP shared", "SVGP batched"}
    assert labels(fig)["ETGP LINEAR"].x == pytest.approx(np.log10(50))
    assert fig.layout.yaxis.type == "log"
    units = {"ms": 1e-3, "s": 1.0}
    values = [float(text.split()[0]) * units[text.split()[1]] for text in ticks(fig)]
    np.testing.assert_allclose(values, fig.layout.yaxis.tickvals)
    assert len(fig.layout.yaxis.tickvals) >= 2
    low, high = fig.layout.yaxis.range
    assert 10**low < table["step_low"].min() < table["step_high"].max() < 10**high


def test_a_picture_follows_another_record_in_place():
    table = table_of(truth)
    fig = figures.make(timing.curves(table))
    traces = list(fig.data)
    record = timing.curves(
        table[table["model"] != "svgp-shared"], log=False, fit=True, guess={"etgp-linear": 1.0}
    )
    figures.update(fig, record)
    assert all(a is b for a, b in zip(fig.data, traces, strict=True))
    lines = drawn(fig)
    assert "svgp-shared, measured" not in lines
    np.testing.assert_allclose(lines["etgp-linear, guess"].y, 0.01 * 2**0.2 * np.array([1, 5, 25]))
    assert len(lines["svgp-batched, fit"].x) == 40
    assert fig.layout.xaxis.type == "linear"
    assert list(fig.layout.xaxis.tickvals) == [2, 10, 50]
    assert labels(fig)["ETGP LINEAR"].x == 50


def test_a_reference_lies_behind():
    ours, theirs = table_of(truth, classes=(2, 10)), table_of(lambda *a: 2 * truth(*a))
    fig = figures.make(timing.curves(ours, reference=theirs))
    assert len(drawn(fig)["etgp-linear, reference"].x) == 3
    assert labels(fig)["ETGP LINEAR, here"].x == pytest.approx(1.0)
    assert labels(fig)["ETGP LINEAR (reference)"].x == pytest.approx(np.log10(50))
    assert "strong: this machine" in fig.layout.annotations[-1].text
    assert "pale: the reference run" in fig.layout.annotations[-1].text
    assert drawn(fig)["etgp-linear, reference"].opacity < 0.5
    alone = timing.curves(ours.iloc[:0], reference=theirs)
    figures.update(fig, alone)
    assert "ETGP LINEAR (reference)" in labels(fig)
    assert drawn(fig)["etgp-linear, reference"].opacity == 1.0  # by itself it is not pale


def test_an_empty_race_is_an_empty_picture():
    fig = figures.make(timing.curves(table_of(truth).iloc[:0]))
    assert drawn(fig) == {}
    assert labels(fig) == {}


def test_no_label_leaves_the_frame():
    same = table_of(lambda model, size: 0.01, models=tuple(timing.MODELS))
    fig = figures.make(timing.curves(same))
    heights = [label.y for label in labels(fig).values()]
    assert len(heights) == len(timing.MODELS)
    low, high = fig.layout.yaxis.range
    assert low <= min(heights) < max(heights) <= high


def test_no_two_contestants_look_alike():
    assert set(timing.MODELS) <= set(figures.LOOKS)
    looks = [figures.LOOKS[name] for name in timing.MODELS]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("log", [True, False])
def test_the_printed_picture_shows_the_same(log):
    record = timing.curves(table_of(truth, within=0.1), fit=True, log=log)
    (axes,) = print_timing.draw(record, "a machine").axes
    assert axes.get_xscale() == ("log" if log else "linear")
    assert {text.get_text() for text in axes.texts} == {line.label for line in record.lines}
    np.testing.assert_allclose(axes.containers[0][0].get_ydata(), record.lines[0].y)


def test_panels_over_inducing_points():
    table = table_of(
        lambda model, size: size.num_inducing / 1e3, classes=(5,), num_inducing=(5, 50)
    )
    record = timing.curves(table, over="num_inducing", fit=True)
    assert record.x_title == "number of inducing points M"
    np.testing.assert_array_equal(record.lines[0].x, [5, 50])
    with pytest.raises(ValueError, match="over: expected one of"):
        timing.curves(table, over="num_inputs")
    with pytest.raises(ValueError, match="quantity: expected one of"):
        timing.curves(table, "joy")


def test_the_micro_lab_s_picture():
    ways = [("one", 1.0), ("batched", 2.0), ("map_fn", 4.0), ("python", 3.0)]
    rows = [(way, C, M, s * C, s * C, s * C) for way, s in ways for C in (2, 10) for M in (5, 100)]
    columns = ["way", "classes", "num_inducing", "seconds", "low", "high"]
    table = pd.DataFrame(rows, columns=columns)
    fig = figures.make(timing.cholesky_curves(table, 100))
    np.testing.assert_allclose(drawn(fig)["map_fn, measured"].y, [8.0, 40.0])
    assert "C factors, tf.map_fn" in labels(fig)
    with pytest.raises(ValueError, match="num_inducing: expected one of 5, 100"):
        timing.cholesky_curves(table, 7)


# Axes that can be read ------------------------------------------------------------------------


def ticks(fig):
    return list(fig.layout.yaxis.ticktext)


def test_times_are_read_in_milliseconds_and_seconds():
    fig = figures.make(timing.curves(timing.reference(), "first_step"))
    assert {"1 s", "10 s"} <= set(ticks(fig))
    fig = figures.make(timing.curves(timing.reference(), "step"))
    assert {"10 ms", "100 ms"} <= set(ticks(fig))
    low, high = fig.layout.yaxis.range
    places = np.log10(fig.layout.yaxis.tickvals)
    assert np.all((places >= low) & (places <= high))


@pytest.mark.parametrize("quantity", list(QUANTITIES))
@pytest.mark.parametrize("log", [True, False])
def test_every_axis_has_a_few_ticks_with_their_unit(quantity, log):
    table = timing.reference()
    fig = figures.make(timing.curves(table, quantity, log=log, rows=1000))
    assert 3 <= len(ticks(fig)) <= figures.MAX_TICKS
    assert len(set(ticks(fig))) == len(ticks(fig))
    assert all(len(text) <= 12 and "e+" not in text for text in ticks(fig))
    unit = {"memory": ("MiB", "GiB"), "operations": ("on", "d", "10¹²")}.get(quantity, ("s",))
    assert all(text == "0" or text.endswith(unit) for text in ticks(fig))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.001, "seconds", "1 ms"), (0.02, "seconds", "20 ms"), (30.0, "seconds", "30 s"),
     (2e-6, "seconds", "2 µs"), (100.0, "MiB", "100 MiB"), (2048.0, "MiB", "2 GiB"),
     (1e6, "", "1 million"), (1000.0, "MiB", "1000 MiB")],
)  # fmt: skip
def test_a_tick_is_a_short_number(value, unit, text):
    assert figures._text(value, unit) == text


def test_a_prediction_is_named_while_the_truth_is_hidden():
    table = table_of(truth)
    record = timing.curves(table, guess={"etgp-linear": 1.0}, hide=True, fit=True)
    fig = figures.make(record)
    assert len(drawn(fig)["etgp-linear, measured"].x) == 1
    assert "ETGP LINEAR (your line)" in labels(fig)
    assert "svgp-shared, fit" not in drawn(fig)


def test_a_prediction_needs_more_than_the_first_point_of_a_race():
    own, reference = table_of(truth, classes=(2,)), table_of(lambda *a: 2 * truth(*a))
    record = timing.curves(own, reference=reference, guess={"etgp-linear": 1.0}, hide=True)
    guess = next(line for line in record.lines if line.kind == "guess")
    assert len(guess.x) == 3
