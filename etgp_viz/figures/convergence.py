"""The error of a Monte Carlo covariance against the number of draws, both logarithmic."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.covariance_check import Convergence

ERROR, FLOOR = style.PALETTE[0], style.PALETTE[3]
# The axis ends at the largest sample that anybody may choose.
MOST_DRAWS = 20_000
# A series that leaves out less than this is drawn without its floor.
LEAST_FLOOR = 1e-3
TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def make(record: Convergence) -> go.Figure:
    """The error, the 1/√m line that it should follow, and a floor that the series sets."""
    m = record.sizes
    lines = (
        ("expected, ∝ 1/√m", style.NEUTRAL, {"dash": "dash", "width": 2}),
        ("error", ERROR, {"width": 3}),
        ("left out by the series, at most", FLOOR, {"dash": "dot", "width": 2.5}),
    )
    fig = go.Figure(
        [
            plotting.line(m, record.error, name, colour, **look,
                        hovertemplate=f"{name}<br>%{{x}} draws: %{{y:.1%}}<extra></extra>")
            for name, colour, look in lines
        ],
        {
            "template": style.TEMPLATE,
            "height": 320,
            "margin": {"r": 20, "t": 50},
            "xaxis": {
                "title": {"text": "draws m, out of the same S"}, "type": "log",
                "range": [np.log10(m[0]) - 0.1, np.log10(MOST_DRAWS) + 0.1],
                "tickvals": [100, 1000, 10000], "ticktext": ["100", "1000", "10 000"],
            },
            "yaxis": {"title": {"text": "error, part of the covariance"}, "type": "log",
                      "tickvals": TICKS, "ticktext": [f"{100 * tick:g} %" for tick in TICKS]},
            "annotations": [plotting.heading("")],
        },
    )  # fmt: skip
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Convergence, refit: bool = False) -> None:
    """Move the three lines."""
    has_floor = record.left_out >= LEAST_FLOOR
    level = np.full(len(record.sizes), max(record.left_out, LEAST_FLOOR))
    curves = [np.maximum(curve, 1e-12) for curve in (record.expected, record.error, level)]
    names = [plotting.coloured("error", ERROR), "– – expected, like 1/√m"]
    if has_floor:
        names = [names[0], "– – expected", plotting.coloured("··· left out", FLOOR)]
    seen = np.concatenate(curves if has_floor else curves[:2])
    layout = {
        "yaxis.range": plotting.limits(fig, "yaxis", np.log10(np.maximum(seen, 1e-4)), refit),
        "annotations[0].text": f"<b>error against draws</b><br>{', '.join(names)}",
    }
    visible = [True, True, has_floor]
    plotting.move(fig, {"x": [record.sizes] * 3, "y": curves, "visible": visible}, layout)
