"""Class probabilities: stacked areas over one input, a map of the likeliest class over two."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.inference import Classes, Window

COLOURS = style.PALETTE  # of up to eight classes
MAX_CLASSES = len(COLOURS)
NONE = np.empty(0)
# A class has a marker of its own, in pictures and (much like it) in words.
MARKERS = (
    *("circle", "square", "diamond", "triangle-up"),
    *("triangle-down", "cross", "x", "star"),
)
GLYPHS = "●■◆▲▼✚✖★"
# Over one input the data of each class stand in a row of their own above the areas.
ROW = 0.07
# The map: how much of the page shines through where all classes are equally likely, or one certain.
FAINT, FULL = 0.04, 0.8
# The strength of a class fills most of the unit between two classes on the map's scale.
SPAN = 0.999


def make(record: Classes) -> go.Figure:
    """All that either kind of window needs; `update` shows what belongs to this one."""
    nothing = np.zeros((2, 2))
    traces: list[Any] = [
        go.Heatmap(z=nothing, name="likeliest class (from 0) + its strength", hoverinfo="skip",
                   showscale=False, visible=False),
        go.Contour(z=nothing, name="entropy, share of its maximum", hoverinfo="skip",
                   showscale=False, visible=False, line={"color": style.NEUTRAL, "width": 1.5},
                   contours={"start": 0.5, "end": 0.5, "size": 1.0, "coloring": "none"}),
    ]  # fmt: skip
    for c in range(MAX_CLASSES):
        hover = f"class {c + 1}<br>x = %{{x:.2f}}, probability %{{y:.2f}}<extra></extra>"
        look = {"legendgroup": str(c), "stackgroup": "p", "hovertemplate": hover, "width": 0.8}
        look["fillcolor"] = plotting.translucent(COLOURS[c], 0.55)
        traces.append(
            plotting.line(NONE, NONE, f"probability of class {c + 1}", COLOURS[c], **look)
        )
    for c in range(MAX_CLASSES):
        traces.append(
            go.Scatter(
                x=NONE,
                y=NONE,
                name=f"data of class {c + 1}",
                legendgroup=str(c),
                mode="markers",
                marker={"symbol": MARKERS[c], "size": 6, "color": COLOURS[c]}
                | {"line": {"color": "#ffffff", "width": 1}},
                hovertemplate=f"class {c + 1}<extra></extra>",
            )
        )
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 400,
            "margin": {"r": 15, "t": 62},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Classes, refit: bool = False) -> None:
    """Move areas, map and data. The frame is that of the window."""
    C, where = len(record.probabilities), record.window
    regions, entropy, *rest = fig.data
    areas, points = rest[:MAX_CLASSES], rest[MAX_CLASSES:]
    flat = where.y is not None
    with fig.batch_update():
        for trace in (regions, entropy):
            trace.visible = flat
        if flat:
            z = record.winner + SPAN * record.strength
            regions.update(x=where.x, y=where.y, z=np.round(z, 3), zmin=0, zmax=C)
            regions.colorscale = colour_scale(C)
            entropy.update(x=where.x, y=where.y, z=np.round(record.uncertainty, 3))
        for c, area in enumerate(areas):
            area.visible = not flat and c < C
            if not flat and c < C:
                area.update(x=where.x, y=record.probabilities[c])
        for c, trace in enumerate(points):
            own = record.X[record.labels == c]
            height = own[:, 1] if flat else np.full(len(own), 1.0 + ROW * (c + 1))
            trace.update(x=own[:, 0], y=height, visible=c < C)
        frame(fig, where)
        if not flat:
            probability_axis(fig.layout.yaxis, C)
        fig.layout.annotations[0].text = words(record)


def frame(fig: go.Figure, where: Window) -> None:
    """Axes of a window: over two inputs a unit is as long upwards as it is sideways."""
    flat = where.y is not None
    name = "input x₁" if flat else "input x"
    fig.layout.xaxis.update(title={"text": name}, range=_ends(where.x), constrain="domain")
    fig.layout.yaxis.update(scaleanchor="x" if flat else False, constrain="domain")
    if where.y is not None:
        axis = {"title": {"text": "input x₂"}, "range": _ends(where.y), "tickmode": "auto"}
        fig.layout.yaxis.update(axis)


def probability_axis(axis: Any, C: int) -> None:
    """From 0 to 1, and above it a row for the data of each class."""
    rows = [1.0 + ROW * (c + 1) for c in range(C)]
    names = ["0", "0.5", "1", *(f"class {c + 1}" for c in range(C))]
    axis.update(
        title={"text": "probability"},
        range=(0.0, rows[-1] + ROW / 2),
        tickmode="array",
        tickvals=[0.0, 0.5, 1.0, *rows],
        ticktext=names,
    )


def colour_scale(C: int) -> list[tuple[float, str]]:
    """From c to c + 1 the colour of class c, ever stronger."""
    scale = []
    for c in range(C):
        for share, opacity in ((c, FAINT), (c + 1, FULL)):
            scale.append((share / C, plotting.translucent(COLOURS[c], opacity)))
    return scale


def words(record: Classes) -> str:
    """The heading: what is shown, and which class has which colour and marker."""
    C, draws = len(record.probabilities), record.samples
    kind = f"Bayesian average (BA), S = {draws}" if draws else "point estimate (PE)"
    classes = " ".join(plotting.coloured(f"{GLYPHS[c]} {c + 1}", COLOURS[c]) for c in range(C))
    if record.window.y is None:
        return f"<b>{kind}</b><br>class probabilities; above, the data"
    return f"<b>{kind}</b><br>class {classes}; pale = unsure"


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values[0]), float(values[-1])
