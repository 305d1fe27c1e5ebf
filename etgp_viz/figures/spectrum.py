"""The eigenvalues of the joint covariance of all classes, on a logarithmic axis with a floor."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.covariance_check import Spectrum

JOINT, APART = style.PALETTE[0], style.PALETTE[1]
# What is smaller is rounding error, and is drawn here.
FLOOR = 1e-16


def make(record: Spectrum) -> go.Figure:
    """Dots for the C·N eigenvalues, beside those of independent classes."""
    order = np.arange(1, len(record.joint) + 1)
    hover = "%{x}: %{y:.1e}<extra></extra>"
    fig = go.Figure(
        [
            plotting.line(order, order, "independent", APART, dash="dash", hovertemplate=hover),
            go.Scatter(x=order, y=order, name="sharing f₀", mode="markers",
                       marker={"color": JOINT, "size": 5}, hovertemplate=hover),
        ],
        {
            "template": style.TEMPLATE,
            "height": 320,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": "number of the eigenvalue"}, "range": [0, len(order) + 1]},
            "yaxis": {
                "title": {"text": "part of the total variance"}, "type": "log",
                "range": [np.log10(FLOOR) - 0.7, 0.7],
                "tickvals": [FLOOR, 1e-12, 1e-8, 1e-4, 1.0],
                "ticktext": ["≤10⁻¹⁶", "10⁻¹²", "10⁻⁸", "10⁻⁴", "1"],
            },
            "annotations": [
                plotting.heading(""),
                {"text": "N", "yref": "paper", "y": 1.0, "x": 0, "showarrow": False,
                 "xanchor": "left", "yanchor": "top"},
            ],
            "shapes": [plotting.mark(0.0)],
        },
    )  # fmt: skip
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Spectrum, refit: bool = False) -> None:
    """Move the dots and the line at N."""
    order = np.arange(1, len(record.joint) + 1)
    names = plotting.coloured("• sharing f₀", JOINT), plotting.coloured("– – independent", APART)
    end = record.num_inputs + 0.5
    heading = f"<b>eigenvalues: {record.rank} of {len(order)} not zero</b><br>{', '.join(names)}"
    layout = {
        "annotations[0].text": heading,
        "annotations[1].x": end,
        "annotations[1].text": f" N = {record.num_inputs}",
        **plotting.marked(end),
    }
    values = [np.maximum(values, FLOOR) for values in (record.independent, record.joint)]
    plotting.move(fig, {"x": [order, order], "y": values}, layout)
