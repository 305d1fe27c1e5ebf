"""Training rows and inducing points on the first two principal directions of the data."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.close_up import Projection


def make(record: Projection) -> go.Figure:
    """Rows as dots in the colours of their classes, inducing points as crosses over them."""
    rows = go.Scatter(
        x=[], y=[], text=[], name="training rows", mode="markers",
        marker={"size": 6, "opacity": 0.6, "color": []},
        hovertemplate="class %{text}<extra></extra>",
    )  # fmt: skip
    points = go.Scatter(
        x=[], y=[], name="inducing points", mode="markers",
        marker={"size": 10, "symbol": "cross", "color": style.NEUTRAL,
                "line": {"width": 1, "color": "white"}},
        hovertemplate="inducing point<extra></extra>",
    )  # fmt: skip
    fig = go.Figure(
        [rows, points],
        {
            "template": style.TEMPLATE,
            "height": 360,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": "first principal direction"}},
            "yaxis": {"title": {"text": "second principal direction"}},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Projection, refit: bool = False) -> None:
    """Show another run; the axes always fit."""
    C, M = len(record.names), len(record.inducing)
    colours = [style.colour(int(c), C) for c in record.labels]
    traces: dict[str, list[Any]] = {
        "x": [record.data[:, 0], record.inducing[:, 0]],
        "y": [record.data[:, 1], record.inducing[:, 1]],
        "text": [[record.names[c] for c in record.labels], None],
        "marker.color": [colours, style.NEUTRAL],
    }
    whose = "for all classes" if record.is_shared else "of some classes"
    layout: dict[str, Any] = {
        "annotations[0].text": (
            f"<b>✚ {M} inducing points {whose}</b><br>"
            f"● {len(record.data)} training rows; a colour for each class"
        )
    }
    for k, axis in enumerate(("xaxis", "yaxis")):
        values = np.concatenate([record.data[:, k], record.inducing[:, k]])
        room = 0.05 * float(np.ptp(values)) or 1.0
        layout[f"{axis}.range"] = [float(values.min()) - room, float(values.max()) + room]
    plotting.move(fig, traces, layout)
