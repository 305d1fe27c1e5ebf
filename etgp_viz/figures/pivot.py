"""What the value of one process, the pivot, says about the values of the others at one input."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz import style
from etgp_viz.figures import classes, frames
from etgp_viz.shared_latent import Pivot


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
            "annotations": [frames.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Pivot, refit: bool = False) -> None:
    """Move everything; without maps the lines are hidden."""
    draws, *lines, now, names = fig.data
    C = len(record.values)
    maps = np.empty((0, 1)) if record.maps is None else record.maps
    colours = classes.colours(C)
    here = np.full(C, record.values[record.pivot])
    with fig.batch_update():
        draws.x, draws.y = record.draws
        draws.marker.color = colours[record.partner]
        classes.move(lines, maps, record.focus)
        for line in lines[: len(maps)]:
            line.x = record.grid
        now.x, now.y, now.marker.color = here, record.values, classes.faded(C, record.focus)
        sideways = [record.draws[0], here, [] if record.grid is None else record.grid]
        limits = frames.fit(fig.layout.xaxis, np.concatenate(sideways), refit)
        upwards = np.concatenate([record.draws[1], record.values, maps.ravel()])
        ends = record.values if record.grid is None else maps[:, -1]
        edges = frames.fit(fig.layout.yaxis, upwards, refit)
        classes.write(names, limits[1], ends, edges, record.focus)
        fig.layout.xaxis.title.text = f"pivot {style.process(record.pivot)}(x)"
        fig.layout.annotations[0].text = _heading(record, colours[record.partner])


def _heading(record: Pivot, colour: str) -> str:
    pivot, partner = style.process(record.pivot), style.process(record.partner)
    dots = frames.coloured(f"dots: draws of ({pivot}, {partner})", colour)
    says = "determines all" if record.maps is not None else "determines no other"
    where = ", on their map" if record.maps is not None else ", a cloud"
    return f"<b>{pivot} {says}, x = {record.at:.2f}</b><br>{dots}{where}"
