"""Class probabilities over x, stacked to one."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import classes, plotting, style
from etgp_viz.records.shared_latent import Probabilities

OPACITY = 0.75


def make(record: Probabilities) -> go.Figure:
    """An area for each class; at every x their heights are the probabilities."""
    x = record.x
    hover = "x = %{x:.2f}<br>probability %{y:.2f}<extra>%{fullData.name}</extra>"
    look = {"width": 1.0, "stackgroup": "all", "hovertemplate": hover}
    mark = plotting.mark(record.at)
    fig = go.Figure(
        [*classes.lines(x, "class of {}", **look), classes.names(x[-1])],
        {
            "template": style.TEMPLATE,
            "height": 290,
            "margin": {"r": 50},
            "xaxis": {"title": {"text": "input x"}, "range": [x[0], x[-1]]},
            "yaxis": {"title": {"text": "probability"}, "range": [0.0, 1.0], "nticks": 5},
            "annotations": [plotting.heading("class probabilities: the softmax of the processes")],
            # Grey would drown in the colours.
            "shapes": [mark | {"line": mark["line"] | {"color": style.PALETTE[7], "width": 1.5}}],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Probabilities, refit: bool = False) -> None:
    """Move the areas and their names."""
    values = record.values
    classes.paint(fig, 0, len(values), record.focus, (0, OPACITY))
    areas = classes.placed(values, len(record.x))
    middles = np.cumsum(values[:, -1]) - values[:, -1] / 2.0
    traces = {
        "y": [*areas["y"], classes.heights(middles, (0.0, 1.0))],
        "visible": [*areas["visible"], True],
    }
    plotting.move(fig, traces, plotting.marked(record.at))
