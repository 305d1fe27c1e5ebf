"""Rank correlations between classes at one input."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.shared_latent import Dependence


def make(record: Dependence) -> go.Figure:
    """A heat map over pairs of classes, from −1 to 1."""
    bar = {"thickness": 10, "outlinewidth": 0, "nticks": 5, "xpad": 4}
    hover = "%{x} and %{y}<br>rank correlation %{z:.2f}<extra></extra>"
    trace = go.Heatmap(
        name="rank correlation", z=[[1.0]], zmin=-1.0, zmax=1.0, colorscale=style.DIVERGING,
        colorbar=bar, xgap=1, ygap=1, hovertemplate=hover,
    )  # fmt: skip
    fig = go.Figure(
        trace,
        {
            "template": style.TEMPLATE,
            "height": 380,
            "margin": {"r": 20, "t": 52, "l": 50},
            "xaxis": {"title": {"text": "class"}, "constrain": "domain", "showgrid": False},
            "yaxis": {"autorange": "reversed", "showgrid": False, "scaleanchor": "x"},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Dependence, refit: bool = False) -> None:
    """Recolour; the colours always reach from −1 to 1."""
    C = len(record.rank_correlation)
    numbers = np.arange(1, C + 1)
    ticks = numbers[:: 1 if C <= 10 else 3]
    layout: dict[str, Any] = {
        "annotations[0].text": f"<b>rank correlation, x = {record.at:.2f}</b><br>"
        f"mean size over pairs of classes: {record.strength:.2f}"
    }
    for axis in ("xaxis", "yaxis"):
        layout[f"{axis}.tickvals"] = ticks
        layout[f"{axis}.ticktext"] = [style.process(c - 1) for c in ticks]
    z = plotting.rounded(record.rank_correlation)
    plotting.move(fig, {"x": [numbers], "y": [numbers], "z": [z]}, layout)
