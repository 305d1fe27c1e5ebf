"""How much of each class's variance the terms of its Hermite series explain, one by one."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.covariance_check import Terms

# What is smaller is drawn here.
FLOOR = 1e-8


def make(record: Terms) -> go.Figure:
    """Dots for each class; a mark where the sum ends."""
    C, order = record.share.shape
    n = np.arange(1, order + 1)
    hover = "n = %{x}: %{y:.2%}<extra></extra>"
    traces = [
        go.Scatter(
            x=n, y=n, name=style.process(c), mode="markers", legendgroup=str(c),
            marker={"color": style.colour(c, C), "symbol": c, "size": 7}, hovertemplate=hover,
        )
        for c in range(C)
    ]  # fmt: skip
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 320,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": "term n of the series"}, "range": [0.0, order + 1]},
            "yaxis": {
                "title": {"text": "part of the variance"}, "type": "log",
                "range": [np.log10(FLOOR) - 0.4, 0.4],
                "tickvals": [FLOOR, 1e-6, 1e-4, 1e-2, 1.0],
                "ticktext": ["≤10⁻⁸", "10⁻⁶", "10⁻⁴", "1 %", "100 %"],
            },
            "annotations": [plotting.heading("")],
            "shapes": [plotting.mark(0.0)],
        },
    )  # fmt: skip
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Terms, refit: bool = False) -> None:
    """Move the dots and the mark."""
    C = len(record.share)
    end = record.num_terms + 0.5
    marks = "●■◆"
    names = ", ".join(
        plotting.coloured(f"{marks[c % 3]} {style.process(c)}", style.colour(c, C))
        for c in range(C)
    )
    worst = float(np.max(record.left_out))
    rest = "nothing left out" if worst < 1e-6 else f"left out: {worst:.2g} of the variance at most"
    heading = f"<b>terms of the series</b>, {names}<br>{rest}"
    shares = [np.maximum(share, FLOOR) for share in record.share]
    plotting.move(fig, {"y": shares}, {"annotations[0].text": heading, **plotting.marked(end)})
