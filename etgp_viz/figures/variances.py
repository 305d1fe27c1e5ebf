"""The variance of each class along x: lines by formula, dots by Monte Carlo."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.covariance_check import Variances


def make(record: Variances) -> go.Figure:
    """A line for f₀ and for each class; each dot carries ± 2 standard errors."""
    x, C = record.x, len(record.analytic)
    traces = [
        plotting.line(x, record.latent, "latent f₀", style.NEUTRAL, width=style.HERO_WIDTH),
    ]
    for c in range(C):
        look = {"dash": style.dash(c), "legendgroup": str(c)}
        traces.append(plotting.line(x, x, style.process(c), style.colour(c, C), **look))
    for c in range(C):
        traces.append(
            go.Scatter(
                x=x, y=x, name=f"{style.process(c)}, Monte Carlo", mode="markers",
                marker={"color": style.colour(c, C), "size": 5, "symbol": c},
                error_y={"array": x, "thickness": 1.2, "width": 0},
                legendgroup=str(c), hoverinfo="skip",
            )
        )  # fmt: skip
    words = ["f₀", *(style.process(c) for c in range(C))]
    colours = [style.NEUTRAL, *(style.colour(c, C) for c in range(C))]
    traces.append(plotting.names(x[-1] + 0.05, words, colours))
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 290,
            "margin": {"r": 50},
            "xaxis": {"title": {"text": "input x"}, "range": [x[0] - 0.05, x[-1] + 0.05]},
            "yaxis": {"title": {"text": "variance Var[fᶜ(x)]"}, "nticks": 6},
            "annotations": [
                plotting.heading(
                    "variance: lines by formula, dots by Monte Carlo ± 2 standard errors"
                )
            ],
            "shapes": [plotting.mark(record.at)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Variances, refit: bool = False) -> None:
    """Move every line and dot."""
    C = len(record.analytic)
    lines = np.concatenate([record.latent[None], record.analytic])
    reach = 2.0 * record.standard_error
    everything = np.concatenate([lines, record.estimate + reach, np.zeros_like(lines)])
    low, high = plotting.limits(fig, "yaxis", everything, refit)
    heights = plotting.spread(lines[:, -1], 0.1 * (high - low))
    changes = {
        "y": [*lines, *record.estimate, heights],
        "error_y.array": [*[None] * (1 + C), *reach, None],
    }
    plotting.move(fig, changes, {"yaxis.range": [low, high], **plotting.marked(record.at)})
