"""The density of the process at one input, before and after a flow."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.flow import Marginal

WARPED = style.PALETTE[0]
# The frame ends here: a flow that flattens has a density of infinite height.
TALLEST = 3.0


def make(record: Marginal) -> go.Figure:
    """Densities of f₀(x) and of f(x)."""
    fill = {"width": 3.5, "fill": "tozeroy", "fillcolor": plotting.translucent(WARPED)}
    traces = [
        plotting.line(record.f, record.f, "latent f₀(x)", style.NEUTRAL, width=style.HERO_WIDTH),
        plotting.line(record.f, record.f, "warped f(x)", WARPED, **fill),
    ]
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 330,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": "value of the process"}},
            "yaxis": {"title": {"text": "density"}, "range": [0.0, 1.0]},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Marginal, refit: bool = False) -> None:
    """Move both densities."""
    values, densities = (record.f, record.g), (record.base_density, record.warped_density)
    top = min(TALLEST, float(np.max(densities)))
    legend = f"latent, {plotting.coloured('warped', WARPED)}"
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", np.concatenate(values), refit),
        "yaxis.range": plotting.limits(fig, "yaxis", np.array([0.0, top]), refit),
        "annotations[0].text": f"<b>density at x = {record.at:.2f}</b><br>{legend}",
    }
    plotting.move(fig, {"x": values, "y": densities}, layout)
