"""A race over C (or M, or N): a line for each contestant, with its name at the end."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz import style
from etgp_viz.figures import frames
from etgp_viz.timing.curves import KINDS, Curves, Line

__all__ = ["LABEL_GAP", "LOOKS", "STYLES", "make", "tick_sizes", "update"]

#: colour, dash and marker of each contestant: families share a colour, nobody shares all three
LOOKS = {
    "etgp-linear": (style.PALETTE[0], "solid", "circle"),
    "etgp-sal": (style.PALETTE[5], "dash", "square"),
    "etgp-tanh": (style.PALETTE[5], "solid", "diamond"),
    "svgp-separate": (style.PALETTE[3], "solid", "circle"),
    "svgp-shared": (style.PALETTE[1], "solid", "square"),
    "svgp-rbfcorr": (style.PALETTE[4], "solid", "circle"),
    "svgp-rbfcorr-once": (style.PALETTE[4], "dash", "square"),
    "svgp-batched": (style.PALETTE[3], "dash", "diamond"),
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
    "reference": (style.LINE_WIDTH, 0.35, None),
    "fit": (1.5, 0.8, "dot"),
    "guess": (1.5, 0.8, "longdash"),
}
#: labels at the ends of lines stay this part of the frame apart
LABEL_GAP = 0.06


def make(record: Curves) -> go.Figure:
    """Draw every line of the record; each slot and kind has a trace, so that others can follow."""
    fig = go.Figure(
        data=[_trace(name, kind) for name in record.slots for kind in KINDS],
        layout={
            "template": style.TEMPLATE,
            "height": 460,
            "margin": {"r": 180, "l": 90},
            "annotations": [
                {
                    "text": "",
                    "showarrow": False,
                    "visible": False,
                    "xanchor": "left",
                    "xshift": 10,
                    "align": "left",
                    "font": {"color": LOOKS[name][0]},
                }
                for name in record.slots
            ],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Curves, refit: bool = False) -> None:
    """Move the lines, their names and the axes to another record with the same slots.

    The axes always fit: a race grows.
    """
    lines = {(line.name, line.kind): line for line in record.lines}
    keys = [(name, kind) for name in record.slots for kind in KINDS]
    kind = "log" if record.log else "linear"
    x_range, y_range = _ranges(record)
    with fig.batch_update():
        fig.update_xaxes(
            type=kind, title_text=record.x_title, range=x_range, tickvals=tick_sizes(record)
        )
        # On a log axis a tick at 1, 2 and 5 of each decade.
        fig.update_yaxes(
            type=kind,
            title_text=record.y_title,
            range=y_range,
            exponentformat="SI",
            dtick="D2" if record.log else None,
        )
        for trace, key in zip(fig.data, keys, strict=True):
            _move(trace, lines.get(key))
        _move_labels(fig, record, y_range)


def _trace(name: str, kind: str) -> go.Scatter:
    colour, dash, marker = LOOKS[name]
    width, opacity, own_dash = STYLES[kind]
    return go.Scatter(
        x=[],
        y=[],
        name=f"{name}, {kind}",
        mode="lines+markers" if kind in ("measured", "reference") else "lines",
        line={"color": colour, "width": width, "dash": own_dash or dash},
        marker={"symbol": marker, "size": 9},
        opacity=opacity,
        error_y={"type": "data", "symmetric": False, "thickness": 1.5, "visible": False},
        hovertemplate="%{x:.0f}: %{y:.3s}<extra>" + f"{name}, {kind}</extra>",
    )


def _move(trace: go.Scatter, line: Line | None) -> None:
    trace.x = [] if line is None else line.x
    trace.y = [] if line is None else line.y
    spread = line is not None and bool(np.any(line.high > line.low))
    trace.error_y.visible = spread
    if line is not None and spread:
        trace.error_y.array = line.high - line.y
        trace.error_y.arrayminus = line.y - line.low


def tick_sizes(record: Curves) -> list[float]:
    """Where the race was run."""
    return sorted({float(x) for line in record.lines if line.kind != "fit" for x in line.x})


def _ranges(record: Curves) -> tuple[list[float], list[float]]:
    """Axes that show everything with a little room, in plotly's units (log₁₀ on a log axis)."""
    nothing = np.empty(0)
    x = np.concatenate([nothing, *(line.x for line in record.lines)])
    y = np.concatenate([nothing, *(np.r_[line.low, line.high] for line in record.lines)])
    return _range(x, record.log, (1.0, 1000.0)), _range(y, record.log, (1e-3, 10.0))


def _range(values: np.ndarray, log: bool, otherwise: tuple[float, float]) -> list[float]:
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    ends = [values.min(), values.max()] if len(values) else list(otherwise)
    if not log:
        return [0.0, 1.08 * ends[1]]
    low, high = np.log10(ends)
    room = 0.05 * max(high - low, 0.5)
    return [low - room, high + room]


def _move_labels(fig: go.Figure, record: Curves, y_range: list[float]) -> None:
    ends: dict[str, tuple[float, float, str]] = {}
    for line in record.lines:
        if line.kind in ("measured", "reference") and len(line.x) and line.name not in ends:
            x, y = line.x[-1], line.y[-1]
            place = (np.log10(x), np.log10(y)) if record.log else (x, y)
            suffix = " (reference)" if line.kind == "reference" else ""
            ends[line.name] = (*place, line.label + suffix)
    at = np.array([end[1] for end in ends.values()])
    heights = frames.spread(at, LABEL_GAP * (y_range[1] - y_range[0])).tolist()
    places: dict[str, Any] = dict(zip(ends, heights, strict=True))
    # plotly hides a label outside the frame.
    fig.layout.yaxis.range = [min([y_range[0], *heights]), max([y_range[1], *heights])]
    for name, label in zip(record.slots, fig.layout.annotations, strict=True):
        label.visible = name in ends
        if name in ends:
            label.x, label.y, label.text = ends[name][0], places[name], ends[name][2]
