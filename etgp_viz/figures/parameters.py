"""The parameters of a flow as functions of x."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz import style
from etgp_viz.figures import frames
from etgp_viz.warping import Parameters

# So many lines are there; those without a parameter are hidden.
MAX_PARAMS = 12


def make(record: Parameters) -> go.Figure:
    """One line for each parameter, with its name at its end."""
    x, nothing = record.x, np.zeros_like(record.x)
    looks = [(style.colour(p, MAX_PARAMS), style.dash(p)) for p in range(MAX_PARAMS)]
    fig = go.Figure(
        [frames.line(x, nothing, "", colour, dash=dash, width=2) for colour, dash in looks],
        {
            "template": style.TEMPLATE,
            "height": 240,
            "margin": {"r": 50},
            "xaxis": {"title": {"text": "input x"}, "range": [x[0], x[-1]]},
            "yaxis": {"title": {"text": "parameters"}, "nticks": 5},
            "annotations": [
                *(frames.label("", colour, x=x[-1], y=0.0) for colour, _ in looks),
                frames.heading("parameters θ(x) of the flow"),
            ],
            "shapes": [frames.mark(record.at)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Parameters, refit: bool = False) -> None:
    """Move the lines and their names."""
    P = len(record.names)
    with fig.batch_update():
        low, high = frames.fit(fig.layout.yaxis, record.values, refit)
        heights = frames.spread(record.values[-1], min(0.13, 1.0 / P) * (high - low))
        for p in range(MAX_PARAMS):
            trace, label = fig.data[p], fig.layout.annotations[p]
            trace.visible = label.visible = p < P
            if p < P:
                trace.update(y=record.values[:, p], name=record.names[p])
                label.update(y=heights[p], text=record.names[p])
        fig.layout.shapes[0].update(x0=record.at, x1=record.at)
