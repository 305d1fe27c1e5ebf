"""A confusion matrix: of the rows of each class, the share that was taken for each class."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.close_up import Confusion

# Names beside a matrix of more classes could not be read.
NAMED = 30


def make(record: Confusion) -> go.Figure:
    """A heat map with the true class downwards."""
    bar = {"thickness": 10, "outlinewidth": 0, "nticks": 5, "xpad": 4, "tickformat": ".0%"}
    trace = go.Heatmap(
        x=[],
        y=[],
        z=[[]],
        name="confusion",
        colorscale=style.SEQUENTIAL,
        zmin=0.0,
        zmax=1.0,
        colorbar=bar,
        hovertemplate="%{z:.1%} of class %{y}<br>are taken for %{x}<extra></extra>",
    )
    fig = go.Figure(
        trace,
        {
            "template": style.TEMPLATE,
            "height": 360,
            "margin": {"l": 70, "r": 20, "t": 50},
            "xaxis": {
                "title": {"text": "predicted class"},
                "type": "category",
                "automargin": True,
            },
            "yaxis": {
                "title": {"text": "true class"},
                "type": "category",
                "autorange": "reversed",
                "automargin": True,
            },
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Confusion, refit: bool = False) -> None:
    """Show another matrix, also of other classes."""
    names = list(record.names)
    right = np.trace(record.counts) / max(record.counts.sum(), 1)
    traces: dict[str, list[Any]] = {"x": [names], "y": [names], "z": [np.round(record.share, 3)]}
    heading = f"<b>who is taken for whom</b><br>PE, test rows: {right:.1%} right"
    layout: dict[str, Any] = {"annotations[0].text": heading}
    layout |= {f"{axis}.showticklabels": len(names) <= NAMED for axis in ("xaxis", "yaxis")}
    plotting.move(fig, traces, layout)
