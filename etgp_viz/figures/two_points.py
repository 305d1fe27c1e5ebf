"""Joint draws of one process at two inputs: how much one value says about the other."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.flow import TwoPoints

DOTS = style.PALETTE[0]


def make(record: TwoPoints) -> go.Figure:
    """A dot for each draw, and the curve that holds 95 % of them."""
    hover = "%{x:.2f}, %{y:.2f}<extra></extra>"
    dots = {"color": DOTS, "size": 5, "opacity": 0.5}
    fig = go.Figure(
        [
            go.Scatter(
                x=record.draws[0], y=record.draws[1], name="draws", mode="markers",
                marker=dots, hovertemplate=f"a draw<br>{hover}",
            ),
            plotting.line(record.contour[0], record.contour[1], "holds 95 %", style.NEUTRAL),
        ],
        {
            "template": style.TEMPLATE,
            "width": 480,  # nearly a square: a round cloud is to look round
            "height": 460,
            "margin": {"r": 20},
            "xaxis": {"title": {"text": ""}, "nticks": 7},
            "yaxis": {"title": {"text": ""}, "nticks": 7},
            "annotations": [plotting.heading("")],
        },
    )  # fmt: skip
    update(fig, record)
    return fig


def update(fig: go.Figure, record: TwoPoints, refit: bool = False) -> None:
    """Move dots and curve; the axes stay unless something would leave them."""
    (u, v), (a, b) = record.draws, record.contour
    first, second = (f"{record.name}({_told(x)})" for x in record.x)
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", np.concatenate([u, a]), refit),
        "yaxis.range": plotting.limits(fig, "yaxis", np.concatenate([v, b]), refit),
        "xaxis.title.text": f"value {first}",
        "yaxis.title.text": f"value {second}",
        "annotations[0].text": (
            f"<b>{first} and {second}</b>, correlation of the draws {_told(record.correlation)}"
        ),
    }
    plotting.move(fig, {"x": [u, a], "y": [v, b]}, layout)


def _told(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")
