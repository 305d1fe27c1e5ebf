"""q(f₀) and its inducing points: a line with a band over one input, a map of the mean over two."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import class_regions, plotting, style
from etgp_viz.records.inference import Latent

# Crosses that are seen on every colour of the map.
CROSS = "#222222"


def make(record: Latent) -> go.Figure:
    """All that either kind of window needs; `update` shows what belongs to this one."""
    nothing = np.zeros(2)
    bar = {"thickness": 10, "outlinewidth": 0, "nticks": 5, "xpad": 4}
    traces = [
        go.Heatmap(z=np.zeros((2, 2)), name="map of the mean of q(f₀)", colorscale=style.DIVERGING,
                   colorbar=bar, hovertemplate="mean of q(f₀)<br>%{z:.2f}<extra></extra>",
                   visible=False),
        plotting.band(nothing, np.zeros((2, 2)), "q(f₀), mean ± 2 sd", style.NEUTRAL),
        plotting.line(nothing, nothing, "mean of q(f₀)", style.NEUTRAL, width=style.HERO_WIDTH),
        go.Scatter(x=[], y=[], name="inducing points Z", mode="markers",
                   hovertemplate="inducing point<br>%{x:.2f}<extra></extra>"),
    ]  # fmt: skip
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 400,
            "margin": {"r": 15, "t": 62},
            "annotations": [plotting.heading("")],
            "shapes": [level(record.cut)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Latent, refit: bool = False) -> None:
    """Move the line or recolour the map, and move the inducing points."""
    where, Z = record.window, record.Z
    colours, band, line, points = fig.data
    flat = where.y is not None
    with fig.batch_update():
        class_regions.frame(fig, where)
        colours.visible = flat
        band.visible = line.visible = not flat
        if flat:
            colours.update(x=where.x, y=where.y, z=plotting.rounded(record.mean))
            plotting.fit_colours(colours, record.mean, refit)
            look = {"symbol": "cross-thin-open", "size": 9, "color": CROSS, "line": {"width": 2}}
            points.update(x=Z[:, 0], y=Z[:, 1], marker=look)
            words = "mean of q(f₀), the latent process<br>+ inducing points; dotted: the cut"
        else:
            limits = record.mean + 2.0 * record.deviation * np.array([[-1.0], [1.0]])
            outline = np.concatenate([where.x, where.x[::-1]])
            band.update(x=outline, y=plotting.outline(limits))
            line.update(x=where.x, y=record.mean)
            axis = fig.layout.yaxis
            if axis.title.text != "latent f₀(x)":  # the axis was that of a second input
                axis.update(title={"text": "latent f₀(x)"}, tickmode="auto")
                refit = True
            low, high = plotting.fit(axis, np.append(limits, [-1.0, 1.0]), refit)
            look = {"symbol": "line-ns-open", "size": 16, "color": style.NEUTRAL,
                    "line": {"width": 2}}  # fmt: skip
            foot = low + 0.03 * (high - low)
            points.update(x=Z[:, 0], y=np.full(len(Z), foot), marker=look)
            words = "q(f₀), the latent process: mean ± 2 sd<br>| inducing points"
        first, second = words.split("<br>")
        fig.layout.annotations[0].text = f"<b>{first}</b><br>{second}"
        fig.layout.shapes[0].update(level(record.cut))


def level(cut: float | None) -> dict:
    """A dotted line at the second input that the warped processes are shown for."""
    height = 0.0 if cut is None else cut
    look = {"color": style.NEUTRAL, "width": 1.5, "dash": "dot"}
    place = {"xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height}
    return {"type": "line", "line": look, "visible": cut is not None, **place}
