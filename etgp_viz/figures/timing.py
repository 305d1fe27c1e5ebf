"""The picture of a race over C, M or N: a line for each contestant, with its name at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.plotting import Picture
from etgp_viz.records.timing import KINDS

if TYPE_CHECKING:
    from etgp_viz.records.timing import Curves, Line

__all__ = ["LABEL_GAP", "LOOKS", "STYLES", "make", "opacity", "race", "sizes", "update"]

#: colour, dash and marker of each contestant: families share a colour, no two share all three
LOOKS = {
    "etgp-linear": (style.PALETTE[0], "solid", "circle"),
    "etgp-sal": (style.PALETTE[5], "dash", "square"),
    "etgp-tanh": (style.PALETTE[5], "solid", "diamond"),
    "svgp-separate": (style.PALETTE[3], "solid", "circle"),
    "svgp-shared": (style.PALETTE[1], "solid", "square"),
    "svgp-rbfcorr": (style.PALETTE[4], "solid", "circle"),
    "svgp-rbfcorr-once": (style.PALETTE[4], "dash", "square"),
    "svgp-batched": (style.PALETTE[3], "dash", "diamond"),
    "svgp-batched-shared": (style.PALETTE[1], "dash", "diamond"),
    "svgp-robustmax": (style.PALETTE[1], "solid", "circle"),
    "tgp": (style.PALETTE[2], "solid", "diamond"),
    "gpytorch-batched": (style.PALETTE[2], "dash", "square"),
    "one": (style.NEUTRAL, "solid", "circle"),
    "batched": (style.PALETTE[0], "solid", "diamond"),
    "map_fn": (style.PALETTE[3], "solid", "circle"),
    "python": (style.PALETTE[1], "dash", "square"),
}
#: width, opacity and dash of each kind of line; None keeps the contestant's own dash
STYLES: dict[str, tuple[float, float, str | None]] = {
    "measured": (style.LINE_WIDTH, 1.0, None),
    "reference": (style.LINE_WIDTH, 0.45, None),
    "fit": (1.5, 0.8, "dot"),
    "guess": (1.5, 0.8, "longdash"),
}
#: distance between labels at the ends of lines, as a share of the frame
LABEL_GAP = 0.06
#: kinds of lines that have a label of their own, and the number of models for which both have one
LABELLED, MAX_PAIRS = ("measured", "reference"), 5
MIN_TICKS, MAX_TICKS = 4, 8
#: unit → powers of its size that have a name, and the size
UNITS: dict[str, tuple[dict[int, str], float]] = {
    "seconds": ({-2: "µs", -1: "ms", 0: "s"}, 1000.0),
    "MiB": ({-1: "KiB", 0: "MiB", 1: "GiB"}, 1024.0),
    "": ({0: "", 1: "thousand", 2: "million", 3: "billion", 4: "× 10¹²"}, 1000.0),
}


@Picture
def race(record: Curves) -> go.Figure:
    """A trace for each slot and kind of line, so that any later record finds its place."""
    hidden = {"text": "", "visible": False, "showarrow": False}
    place = {"xanchor": "left", "xshift": 10, "align": "left"}
    labels = [
        {**hidden, **place, "font": {"color": LOOKS[name][0]}}
        for _ in LABELLED
        for name in record.slots
    ]
    return plotting.figure(
        [_trace(name, kind) for name in record.slots for kind in KINDS],
        460,
        {"r": 200, "l": 90, "t": 40},
        annotations=[*labels, plotting.heading()],
    )


@race.updater
def _update_race(fig: go.Figure, record: Curves, refit: bool = False) -> None:
    """Move the lines, their names and the axes to another record with the same slots.

    The axes always fit: a race grows.
    """
    lines = {(line.name, line.kind): line for line in record.lines}
    points = [_points(lines.get((name, kind))) for name in record.slots for kind in KINDS]
    traces = {name: [values[name] for values in points] for name in points[0]}
    traces["opacity"] = [opacity(record, kind) for _ in record.slots for kind in KINDS]
    kind = "log" if record.log else "linear"
    x_range, y_range = _ranges(record)
    labels, y_range = _labels(fig, record, y_range)
    axes = {
        "xaxis.type": kind,
        "xaxis.title.text": record.x_title,
        "xaxis.range": x_range,
        "xaxis.tickvals": sizes(record),
        "yaxis.type": kind,
        "yaxis.title.text": record.y_title,
        "yaxis.range": y_range,
        **_ticks(record, y_range),
        f"annotations[{len(LABELLED) * len(record.slots)}].text": _runs(record),
    }
    plotting.move(fig, traces, axes | labels)


def _ticks(record: Curves, y_range: list[float]) -> dict[str, Any]:
    """Ticks of the y axis with their unit, such as 1 ms, 10 ms, 100 ms: a few round numbers."""
    low, high = (10.0**end for end in y_range) if record.log else y_range
    if record.log:
        decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        finer = [(1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)]
        choices = [np.outer(10.0**decades, digits).ravel() for digits in finer]
    else:
        digits = 10.0 ** np.floor(np.log10(max(high, 1e-12))) * np.array([0.5, 0.2, 0.1, 0.05])
        choices = [np.arange(0.0, high + step, step) for step in digits]
    choices = [values[(values >= low) & (values <= high)] for values in choices]
    ticks = next((values for values in choices if len(values) >= MIN_TICKS), choices[-1])
    ticks = ticks[:: -(-len(ticks) // MAX_TICKS)]
    unit = record.y_title.partition("(")[2].partition(")")[0]
    return {"yaxis.tickvals": ticks.tolist(), "yaxis.ticktext": [_text(t, unit) for t in ticks]}


def _text(value: float, unit: str) -> str:
    """A number with its unit, in thousandths or thousands of it where that is shorter."""
    if value == 0.0:
        return "0"
    steps, size = UNITS.get(unit, UNITS[""])
    place = int(np.clip(np.floor(np.log(value * (1 + 1e-9)) / np.log(size)), *_ends(steps)))
    return f"{float(f'{value / size**place:.3g}'):g} {steps[place]}".strip()


def _ends(steps: dict[int, str]) -> tuple[int, int]:
    return min(steps), max(steps)


def opacity(record: Curves, kind: str) -> float:
    """Opacity of a kind of line: a reference run is pale beside another one, and not by itself."""
    return 1.0 if kind == "reference" and not _has_both(record) else STYLES[kind][1]


def _has_both(record: Curves) -> bool:
    """Whether a run on this machine is drawn over the reference run."""
    return {"measured", "reference"} <= {line.kind for line in record.lines if len(line.x)}


def _runs(record: Curves) -> str:
    """Which run is which, if there are two."""
    if not _has_both(record):
        return ""
    return "<b>strong: this machine, now</b>; pale: the reference run"


def _trace(name: str, kind: str) -> go.Scatter:
    colour, dash, marker = LOOKS[name]
    width, _, own_dash = STYLES[kind]
    return go.Scatter(
        x=[],
        y=[],
        name=f"{name}, {kind}",
        mode="lines+markers" if kind in ("measured", "reference") else "lines",
        line={"color": colour, "width": width, "dash": own_dash or dash},
        marker={"symbol": marker, "size": 9},
        error_y={"type": "data", "symmetric": False, "thickness": 1.5, "visible": False},
        hovertemplate="%{x:.0f}: %{y:.3s}<extra>" + f"{name}, {kind}</extra>",
    )


def _points(line: Line | None) -> dict[str, Any]:
    """The points and error bars of a trace; none for a contestant that did not run."""
    nothing = np.empty(0)
    x, y, low, high = (nothing,) * 4 if line is None else (line.x, line.y, line.low, line.high)
    return {
        "x": x,
        "y": y,
        "error_y.visible": bool(np.any(high > low)),
        "error_y.array": high - y,
        "error_y.arrayminus": y - low,
    }


def sizes(record: Curves) -> list[float]:
    """The sizes that were raced, in order: the ticks of the x axis."""
    return sorted({float(x) for line in record.lines if line.kind != "fit" for x in line.x})


def _ranges(record: Curves) -> tuple[list[float], list[float]]:
    """Axes that show everything with a little room, in plotly's units (log₁₀ on a log axis)."""
    nothing = np.empty(0)
    x = np.concatenate([nothing, *(line.x for line in record.lines)])
    y = np.concatenate([nothing, *(_extent(line, record.log) for line in record.lines)])
    return _range(x, record.log, (1.0, 1000.0)), _range(y, record.log, (1e-3, 10.0))


def _extent(line: Line, log: bool) -> np.ndarray:
    """Values of a line that must be visible; a guess, which moves a lot, counts in half decades."""
    ends = np.r_[line.low, line.high]
    if line.kind != "guess" or not log or not len(ends):
        return ends
    decades = np.log10([ends.min(), ends.max()])
    return 10.0 ** (np.array([np.floor(2.0 * decades[0]), np.ceil(2.0 * decades[1])]) / 2.0)


def _range(values: np.ndarray, log: bool, default: tuple[float, float]) -> list[float]:
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    ends = [values.min(), values.max()] if len(values) else list(default)
    if not log:
        return [0.0, 1.08 * ends[1]]
    low, high = np.log10(ends)
    room = 0.05 * max(high - low, 0.5)
    return [low - room, high + room]


def _labels(
    fig: go.Figure, record: Curves, y_range: list[float]
) -> tuple[dict[str, Any], list[float]]:
    """Changes of the layout that name the lines at their ends, and the range that shows them."""
    ends: dict[tuple[str, str], tuple[float, float, str]] = {}
    lines = {(line.name, line.kind): line for line in record.lines if len(line.x)}
    raced = {name for name, kind in lines if kind == "measured"}
    for (name, kind), line in lines.items():
        # A prediction is named while the truth is hidden, a pale line while there is room.
        is_hidden = kind in LABELLED and len(line.x) == 1 and (name, "guess") in lines
        if kind == "fit" or (kind == "guess" and len(_truth(lines, name).x) > 1) or is_hidden:
            continue
        if kind == "reference" and name in raced and len(raced) > MAX_PAIRS:
            continue
        both = (name, "reference") in lines and name in raced
        suffix = {"reference": " (reference)", "guess": " (your line)"}.get(kind, "")
        suffix = ", here" if both and kind == "measured" else suffix
        x, y = line.x[-1], line.y[-1]
        right, height = (np.log10(x), np.log10(y)) if record.log else (x, y)
        ends[name, kind if kind in LABELLED else LABELLED[0]] = (
            float(right),
            float(height),
            line.label + suffix,
        )
    at = np.array([end[1] for end in ends.values()])
    heights = plotting.apart(fig, at, LABEL_GAP * (y_range[1] - y_range[0])).tolist()
    places = dict(zip(ends, heights, strict=True))
    changes: dict[str, Any] = {}
    for k, key in enumerate((name, kind) for kind in LABELLED for name in record.slots):
        changes[f"annotations[{k}].visible"] = key in ends
        if key in ends:
            place = {"x": ends[key][0], "y": places[key], "text": ends[key][2]}
            changes |= {f"annotations[{k}].{name}": value for name, value in place.items()}
    # plotly hides a label outside the frame.
    return changes, [min([y_range[0], *heights]), max([y_range[1], *heights])]


def _truth(lines: dict[tuple[str, str], Line], name: str) -> Line:
    """The measured or reference line of a model that somebody predicts."""
    return next(lines[name, kind] for kind in LABELLED if (name, kind) in lines)


# In version 0.1 this module was the picture: ``from etgp_viz.figures import timing as race``.
make, update = race.make, race.update
