"""Draws of a latent process and their warped images over x."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.flow import WarpedPaths

WARPED = style.PALETTE[0]
# Draws behind the first one are thin and pale.
PALE = {"width": 1.2, "opacity": 0.6}


def make(record: WarpedPaths) -> go.Figure:
    """f₀ as a thick grey line, the warped process in blue, each with its central 95 %."""
    x, S = record.x, len(record.latent)
    kinds = (
        ("latent f₀(x)", style.NEUTRAL, record.latent, record.latent_band, style.HERO_WIDTH),
        ("warped f(x)", WARPED, record.warped, record.warped_band, style.LINE_WIDTH + 1),
    )
    traces: list[go.Scatter] = []
    for name, colour, _, limits, _ in kinds:
        traces.append(plotting.band(x, limits, f"{name}, central 95 %", colour))
    for name, colour, curves, _, width in kinds:
        for s in range(S):
            look = {"width": width} if s == 0 else PALE
            suffix = "" if s == 0 else f", draw {s + 1}"
            traces.append(plotting.line(x, curves[s], name + suffix, colour, **look))
    words = (
        f"draws of the latent f₀ and the warped {plotting.coloured('f = G(f₀; θ(x))', WARPED)}; "
        "shaded: central 95 %"
    )
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 380,
            "margin": {"r": 50},
            "xaxis": {"title": {"text": "input x"}, "range": [x[0], x[-1]]},
            "yaxis": {"title": {"text": "value of the process"}},
            "annotations": [
                plotting.label("f₀", style.NEUTRAL, x=x[-1]),
                plotting.label("f", WARPED, x=x[-1]),
                plotting.heading(words),
            ],
            "shapes": [plotting.mark(record.at)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: WarpedPaths, refit: bool = False) -> None:
    """Move every line. The axes stay, unless a line would leave the frame."""
    curves = [*map(plotting.outline, (record.latent_band, record.warped_band))]
    curves += [*record.latent, *record.warped]
    low, high = plotting.limits(fig, "yaxis", np.concatenate(curves), refit)
    ends = np.array([record.latent[0, -1], record.warped[0, -1]])
    heights = plotting.spread(ends, 0.07 * (high - low))
    layout = {f"annotations[{k}].y": height for k, height in enumerate(heights)}
    layout |= {"yaxis.range": [low, high], **plotting.marked(record.at)}
    plotting.move(fig, {"y": curves}, layout)
