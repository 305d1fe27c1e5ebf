"""A latent path and its warped image, over x."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz import style
from etgp_viz.prior import WarpedPath

# Where the frame starts, in units of y; it grows when a curve leaves it.
FRAME = 4.0
# Labels at the ends of two lines stay this part of the frame apart.
LABEL_GAP = 0.13


def make(record: WarpedPath) -> go.Figure:
    """Draw f₀ as a thick neutral line and the warped path in colour, each with its name."""
    names = ("latent f₀(x)", "warped process f¹(x)")
    colours, widths = (style.NEUTRAL, style.PALETTE[0]), (style.HERO_WIDTH, style.LINE_WIDTH)
    fig = go.Figure(
        data=[
            go.Scatter(
                x=record.x,
                mode="lines",
                name=name,
                line={"color": colour, "width": width, "simplify": False},
                hovertemplate="x = %{x:.2f}, %{y:.2f}",
            )
            for name, colour, width in zip(names, colours, widths, strict=True)
        ],
        layout={
            "template": style.TEMPLATE,
            "height": 420,
            "xaxis": {"title": {"text": "input x"}, "range": [record.x[0], record.x[-1]]},
            "yaxis": {"title": {"text": "value of the process, f"}, "range": [-FRAME, FRAME]},
            "annotations": [
                {
                    "text": name.replace(" f", "<br>f"),
                    "align": "left",
                    "x": record.x[-1],
                    "y": 0.0,
                    "xanchor": "left",
                    "xshift": 8,
                    "showarrow": False,
                    "font": {"color": colour},
                }
                for name, colour in zip(names, colours, strict=True)
            ],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: WarpedPath) -> None:
    """Move both lines and their names. The axes stay, unless a line would leave the frame."""
    curves = (record.latent, record.warped)
    reach = float(np.max(np.abs(curves)))
    with fig.batch_update():
        if reach > fig.layout.yaxis.range[1]:
            fig.layout.yaxis.range = [-1.1 * reach, 1.1 * reach]
        for trace, curve in zip(fig.data, curves, strict=True):
            trace.y = curve
        gap = LABEL_GAP * 2 * fig.layout.yaxis.range[1]
        ends = _apart(record.latent[-1], record.warped[-1], gap)
        for label, end in zip(fig.layout.annotations, ends, strict=True):
            label.y = end


def _apart(first: float, second: float, gap: float) -> tuple[float, float]:
    """Push two heights apart, symmetrically, until they are at least ``gap`` from each other."""
    missing = max(0.0, gap - abs(second - first)) / 2
    push = missing if second >= first else -missing
    return first - push, second + push
