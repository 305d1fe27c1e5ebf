"""The ELBO of one training over its epochs."""

from typing import Any

import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.close_up import Curve


def make(record: Curve) -> go.Figure:
    """One line; the first epochs, far below, are left out of the frame."""
    hover = "epoch %{x}<br>%{y:.4g}<extra></extra>"
    words = "the bound while it was trained</b><br>higher is better<b>"
    fig = go.Figure(
        plotting.line(record.epoch, record.value, "ELBO", style.NEUTRAL, hovertemplate=hover),
        {
            "template": style.TEMPLATE,
            "height": 360,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": "epoch"}},
            "yaxis": {"title": {"text": "ELBO (nats)"}},
            "annotations": [plotting.heading(words)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Curve, refit: bool = False) -> None:
    """Show another training; the axes always fit, from where the first tenth of it had got."""
    tail = record.value[len(record.value) // 10 :]
    room = 0.08 * float(tail.max() - tail.min()) or 1.0
    traces: dict[str, list[Any]] = {"x": [record.epoch], "y": [record.value]}
    layout = {
        "xaxis.range": [0.0, max(float(record.epoch[-1]), 1.0)],
        "yaxis.range": [float(tail.min()) - room, float(tail.max()) + room],
    }
    plotting.move(fig, traces, layout)
