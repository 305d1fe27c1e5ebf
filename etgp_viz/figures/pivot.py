"""What the value of one process, the pivot, says about the values of the others at one input."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import classes, plotting, style
from etgp_viz.records.shared_latent import Pivot


def make(record: Pivot) -> go.Figure:
    """The maps f^pivot → f^c, joint draws of one pair, and where the drawn paths are now."""
    at = np.zeros(81 if record.grid is None else len(record.grid))
    hover = "%{x:.2f}, %{y:.2f}<extra></extra>"
    draws = go.Scatter(
        x=record.draws[0], y=record.draws[1], name="joint draws", mode="markers",
        marker={"size": 5, "opacity": 0.5}, hovertemplate=f"a joint draw<br>{hover}",
    )  # fmt: skip
    now = go.Scatter(
        x=[0.0], y=[0.0], name="the paths now", mode="markers",
        marker={"size": 9, "line": {"width": 1.5, "color": style.NEUTRAL}},
        hovertemplate=f"the paths at the marked x<br>{hover}",
    )  # fmt: skip
    fig = go.Figure(
        [draws, *classes.lines(at, "map to {}", width=2.0), now, classes.names(0.0)],
        {
            "template": style.TEMPLATE,
            "height": 380,
            "margin": {"r": 40, "t": 52},
            "xaxis": {"title": {"text": ""}},
            "yaxis": {"title": {"text": "processes fᶜ(x)"}},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Pivot, refit: bool = False) -> None:
    """Move everything; without maps the lines are hidden."""
    C, F = len(record.values), len(fig.data[1].x)
    grid = np.full(F, record.draws[0, 0]) if record.grid is None else record.grid
    maps = np.empty((0, F)) if record.maps is None else record.maps
    ends = record.values if record.maps is None else maps[:, -1]
    here = np.full(C, record.values[record.pivot])
    _paint(fig, record)
    known, other = record.draws
    right = plotting.limits(fig, "xaxis", np.concatenate([known, here, grid]), refit)
    up = plotting.limits(fig, "yaxis", np.concatenate([other, record.values, maps.ravel()]), refit)
    lines = classes.placed(maps, F)
    traces = {
        "x": [known, *[grid] * classes.MAX_CLASSES, here, np.full(C, right[1])],
        "y": [other, *lines["y"], record.values, classes.heights(ends, up)],
        "visible": [True, *lines["visible"], True, True],
    }
    layout = {
        "xaxis.range": right,
        "yaxis.range": up,
        "xaxis.title.text": f"pivot {style.process(record.pivot)}(x)",
        "annotations[0].text": _heading(record),
    }
    plotting.move(fig, traces, layout)


def _paint(fig: go.Figure, record: Pivot) -> None:
    C = len(record.values)
    draws, now = fig.data[0], fig.data[-2]
    colour = classes.colours(C)[record.partner]
    if draws.marker.color != colour or not classes.is_painted(fig, C, record.focus):
        with fig.batch_update():
            draws.marker.color = colour
            now.marker.color = classes.colours(C, record.focus)
        classes.paint(fig, 1, C, record.focus)


def _heading(record: Pivot) -> str:
    pivot, partner = style.process(record.pivot), style.process(record.partner)
    colour = classes.colours(len(record.values))[record.partner]
    dots = plotting.coloured(f"dots: draws of ({pivot}, {partner})", colour)
    says = "determines all" if record.maps is not None else "determines no other"
    where = ", on their map" if record.maps is not None else ", a cloud"
    return f"<b>{pivot} {says}, x = {record.at:.2f}</b><br>{dots}{where}"
