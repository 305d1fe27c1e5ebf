"""A function of each of a few classes along the first principal direction of the data."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.close_up import Lines

#: classes that there is room for; `etgp_viz.experiments.detail` keeps as many
SLOTS = 8
LABEL_GAP = 0.075


def make(record: Lines) -> go.Figure:
    """A line for each class, in the colour of its place, with its name at the end."""
    traces = [
        plotting.line(
            record.t,
            record.t,
            f"class {k}",
            style.colour(k, SLOTS),
            dash=style.dash(k),
            width=2.0,
            legendgroup=str(k),
        )
        for k in range(SLOTS)
    ]
    colours = [style.colour(k, SLOTS) for k in range(SLOTS)]
    fig = go.Figure(
        [*traces, plotting.names(0.0, [""] * SLOTS, colours)],
        {
            "template": style.TEMPLATE,
            "height": 360,
            "margin": {"r": 96, "t": 50},
            "xaxis": {"title": {"text": "t, along the first principal direction"}},
            "yaxis": {"title": {"text": ""}},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Lines, refit: bool = False) -> None:
    """Move the lines; the axes always fit, since runs have nothing in common."""
    K, t = len(record.values), record.t
    room = 0.08 * float(np.ptp(record.values)) or 1.0
    low, high = float(record.values.min()) - room, float(record.values.max()) + room
    ends = plotting.spread(record.values[:, -1], LABEL_GAP * (high - low))
    low, high = min(low, float(ends.min())), max(high, float(ends.max()))
    nothing, spare = np.empty(0), SLOTS - K
    names = [f"class {name}" for name in record.names]
    traces: dict[str, list[Any]] = {
        "x": [*([t] * K), *([nothing] * spare), np.full(K, t[-1])],
        "y": [*record.values, *([nothing] * spare), ends],
        "name": [*names, *([""] * spare), "names of the lines"],
        "visible": [*([True] * K), *([False] * spare), True],
        "text": [*([None] * SLOTS), [_short(name) for name in record.names]],
    }
    layout = {
        "xaxis.range": [float(t[0]), float(t[-1])],
        "yaxis.range": [low, high],
        "yaxis.title.text": record.words,
        "annotations[0].text": f"<b>{record.words}</b><br>of the {K} most frequent classes",
    }
    plotting.move(fig, traces, layout)


def _short(name: str) -> str:
    return name if len(name) <= 12 else f"{name[:11]}…"
