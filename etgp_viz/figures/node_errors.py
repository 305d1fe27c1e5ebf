"""Quadrature against Monte Carlo: error of the expected log-likelihood against their cost."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.class_regions import NONE
from etgp_viz.records.inference import NodeErrors

# Nothing is drawn below rounding errors.
FLOOR = 1e-16


def make(record: NodeErrors) -> go.Figure:
    """Both errors on logarithmic axes, and the Q that the model uses."""
    blue, orange = style.PALETTE[0], style.PALETTE[3]
    hover = "%{x} evaluations a row<br>error %{y:.1e}<extra></extra>"
    look = {"hovertemplate": hover}
    quadrature = plotting.line(NONE, NONE, "error of quadrature", blue, **look)
    quadrature.update(mode="lines+markers", marker={"size": 6})
    traces = [
        quadrature,
        plotting.line(NONE, NONE, "standard error of Monte Carlo", orange, dash="dash", **look),
        go.Scatter(x=NONE, y=NONE, name="error of Monte Carlo", mode="markers",
                   marker={"color": orange, "symbol": "x", "size": 8}, **look),
    ]  # fmt: skip
    words = (
        f"error: {plotting.coloured('quadrature ●', blue)}, "
        f"{plotting.coloured('Monte Carlo ✖', orange)}</b><br>of E[log p] per row; dashed: its "
        "standard error<b>"
    )
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 340,
            "margin": {"r": 15, "t": 62},
            "xaxis": {"title": {"text": "nodes Q, or draws S, for each row"}, "type": "log",
                      "dtick": 1, "range": [-0.1, 2.6]},
            "yaxis": {"title": {"text": "absolute error"}, "type": "log", "tickformat": ".0e",
                      "nticks": 6},
            "annotations": [plotting.heading(words)],
            "shapes": [plotting.mark(record.used)],
        },
    )  # fmt: skip
    update(fig, record)
    return fig


def update(fig: go.Figure, record: NodeErrors, refit: bool = False) -> None:
    """Move the points. The axis grows when one leaves it."""
    curves = [
        (record.nodes, record.quadrature),
        (record.draws, record.standard_error),
        (record.draws, record.monte_carlo),
    ]
    heights = [np.maximum(errors, FLOOR) for _, errors in curves]
    with fig.batch_update():
        for trace, (x, _), y in zip(fig.data, curves, heights, strict=True):
            trace.update(x=x, y=y)
        plotting.fit(fig.layout.yaxis, np.log10(np.concatenate([*heights, [1.0]])), refit)
        fig.layout.shapes[0].update(x0=record.used, x1=record.used)
