"""The latents over x: the one that all classes share, or one for each class."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import classes, plotting, style
from etgp_viz.records.shared_latent import Latents


def make(record: Latents) -> go.Figure:
    """f₀ as a thick grey line, or the C latents as thin lines in the colours of their classes."""
    x = record.x
    hero = plotting.line(x, record.values[0], "latent f₀(x)", style.NEUTRAL, width=style.HERO_WIDTH)
    fig = go.Figure(
        [hero, *classes.lines(x, "latent of {}", width=1.5), classes.names(x[-1])],
        {
            "template": style.TEMPLATE,
            "height": 230,
            "margin": {"r": 50, "b": 30},
            "xaxis": {"range": [x[0], x[-1]]},
            "yaxis": {"title": {"text": "latent f₀(x)"}, "nticks": 5},
            "annotations": [plotting.label("f₀", style.NEUTRAL, x=x[-1]), plotting.heading("")],
            "shapes": [plotting.mark(record.at)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Latents, refit: bool = False) -> None:
    """Move the latents that the model has, and hide the others."""
    shared, N = record.is_shared, len(record.x)
    own = record.values[:0] if shared else record.values
    classes.paint(fig, 1, record.num_classes)
    limits = plotting.limits(fig, "yaxis", record.values, refit)
    lines, ends = classes.placed(own, N), np.resize(record.values[:, -1], record.num_classes)
    traces = {
        "y": [record.values[0], *lines["y"], classes.heights(ends, limits)],
        "visible": [shared, *lines["visible"], not shared],
    }
    layout = {
        "yaxis.range": limits,
        "annotations[0].y": record.values[0, -1],
        "annotations[0].visible": shared,
        "annotations[1].text": _heading(record),
        **plotting.marked(record.at),
    }
    plotting.move(fig, traces, layout)


def _heading(record: Latents) -> str:
    if record.is_shared:
        return f"<b>one latent f₀ for all {record.num_classes} classes</b>"
    return (
        f"<b>{record.num_classes} latents, one for each class, in its colour</b>: "
        "nothing is shared but the kernel"
    )
