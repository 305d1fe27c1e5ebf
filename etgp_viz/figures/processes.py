"""The C processes over x, in the colours of their classes."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import classes, plotting, style
from etgp_viz.records.shared_latent import Processes

M = classes.MAX_CLASSES
BAND = 0.18  # opacity


def make(record: Processes) -> go.Figure:
    """A line for each class, named at its end, over a band that the network's draws fill."""
    x = record.x
    flat = np.zeros((2, len(x)))
    bands = [
        plotting.band(x, flat, f"{style.process(c)}, 90 % of networks", style.NEUTRAL,
                    legendgroup=str(c), visible=False)
        for c in range(M)
    ]  # fmt: skip
    fig = go.Figure(
        [*bands, *classes.lines(x, "{}(x)"), classes.names(x[-1])],
        {
            "template": style.TEMPLATE,
            "height": 360,
            "margin": {"r": 50, "b": 30},
            "xaxis": {"range": [x[0], x[-1]]},
            "yaxis": {"title": {"text": "processes fᶜ(x)"}},
            "annotations": [plotting.heading("")],
            "shapes": [plotting.mark(record.at)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Processes, refit: bool = False) -> None:
    """Move the lines; the axes stay, unless a line would leave the frame."""
    values, N = record.values, len(record.x)
    bands = [] if record.band is None else [plotting.outline(limits) for limits in record.band]
    classes.paint(fig, M, len(values), record.focus, (0, BAND))
    limits = plotting.limits(fig, "yaxis", np.concatenate([*values, *bands]), refit)
    below, above = classes.placed(bands, 2 * N), classes.placed(values, N)
    traces = {
        "y": [*below["y"], *above["y"], classes.heights(values[:, -1], limits)],
        "visible": [*below["visible"], *above["visible"], True],
    }
    heading = {"annotations[0].text": _heading(record)}
    plotting.move(fig, traces, {"yaxis.range": limits, **heading, **plotting.marked(record.at)})


def _heading(record: Processes) -> str:
    words = f"<b>the {len(record.values)} processes, one for each class</b>"
    return words if record.band is None else f"{words}; shaded: 90 % of draws of the network"
