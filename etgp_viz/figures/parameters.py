"""The parameters of a flow as functions of x."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.flow import Parameters

# So many lines are there; those without a parameter are hidden.
MAX_PARAMS = 12


def make(record: Parameters) -> go.Figure:
    """One line for each parameter, with its name at its end."""
    x, nothing = record.x, np.zeros_like(record.x)
    looks = [(style.colour(p, MAX_PARAMS), style.dash(p)) for p in range(MAX_PARAMS)]
    fig = go.Figure(
        [plotting.line(x, nothing, "", colour, dash=dash, width=2) for colour, dash in looks],
        {
            "template": style.TEMPLATE,
            "height": 240,
            "margin": {"r": 50},
            "xaxis": {"title": {"text": "input x"}, "range": [x[0], x[-1]]},
            "yaxis": {"title": {"text": "parameters"}, "nticks": 5},
            "annotations": [
                *(plotting.label("", colour, x=x[-1], y=0.0) for colour, _ in looks),
                plotting.heading("parameters θ(x) of the flow"),
            ],
            "shapes": [plotting.mark(record.at)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Parameters, refit: bool = False) -> None:
    """Move the lines and their names."""
    P = len(record.names)
    low, high = plotting.limits(fig, "yaxis", record.values, refit)
    heights = plotting.spread(record.values[-1], min(0.13, 1.0 / P) * (high - low))
    unused = MAX_PARAMS - P
    nothing = np.zeros(len(record.x))
    traces = {
        "y": [*record.values.T, *[nothing] * unused],
        "name": [*record.names, *[""] * unused],
        "visible": [True] * P + [False] * unused,
    }
    layout = {"yaxis.range": [low, high], **plotting.marked(record.at)}
    for p in range(MAX_PARAMS):
        layout[f"annotations[{p}].visible"] = p < P
    for p in range(P):
        layout |= {f"annotations[{p}].y": heights[p], f"annotations[{p}].text": record.names[p]}
    plotting.move(fig, traces, layout)
