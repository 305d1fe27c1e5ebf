"""Pictures of C classes that share one latent, or have one each.

Every picture holds lines for `MAX_CLASSES` classes from the start; unused ones are hidden. The look
of a class rarely changes (`paint`); its line moves with every slider (`line_updates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.plotting import Picture

if TYPE_CHECKING:
    from etgp_viz.records.shared_latent import Dependence, Latents, Pivot, Probabilities, Processes

__all__ = ["dependence", "latents", "pivot", "probabilities", "processes"]

MAX_CLASSES, MAX_LATENTS = 20, 4
# Dashes of the latents that are mixed; the first one is solid and thick.
LATENT_NAMES = ("f₁", "f₂", "f₃", "f₄")
LATENT_DASHES = ("dash", "dot", "dashdot")
# Opacity of the other classes while one is in focus.
DIM = 0.15
# Names of more classes than `CROWD` are written in size `SMALL`, and only where there is room: so
# far apart, as a share of the frame.
CROWD, SMALL, CROWD_GAP = 10, 10, 0.045
# Other names are so far apart, at least.
NAME_GAP = 0.085
# Opacity of the bands around processes and of the stacked probabilities.
BAND, AREA = 0.18, 0.75
# Points of the maps from the pivot to the other classes, if a record has none.
MAP_POINTS = 81


# What the pictures of this story share -----------------------------------------------------------


@cache
def colours(num_classes: int, focus: int | None = None) -> tuple[str, ...]:
    """The colour of each class, pale if another one is in focus."""
    full = [style.colour(c, num_classes) for c in range(num_classes)]
    if focus is None:
        return tuple(full)
    return tuple(
        plotting.translucent(colour, 1.0 if c == focus else DIM) for c, colour in enumerate(full)
    )


def area_colours(num_classes: int, focus: int | None, opacity: float) -> list[str]:
    """The fill colour of each class with this opacity, paler if another class is in focus."""
    return [
        plotting.translucent(colour, opacity if focus in (None, c) else DIM * opacity)
        for c, colour in enumerate(colours(num_classes))
    ]


def class_lines(x: np.ndarray, name: str, **look: Any) -> list[go.Scatter]:
    """Hidden lines for all classes; ``{}`` in the name stands for the process, such as f¹."""
    nothing = np.zeros_like(x)
    return [
        plotting.line(
            x, nothing, name.format(style.process(c)), style.NEUTRAL,
            dash=style.dash(c), legendgroup=str(c), visible=False, **look,
        )
        for c in range(MAX_CLASSES)
    ]  # fmt: skip


def class_names(x: float) -> go.Scatter:
    """The names of the classes to the right of their lines' ends: one trace, quick to draw."""
    return go.Scatter(
        x=[x], y=[0.0], text=[""], name="names of the classes", legendgroup="names", mode="text",
        textposition="middle right", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip


def is_painted(fig: go.Figure, num_classes: int, focus: int | None) -> bool:
    """Whether the last trace, the names, already has the colours of these classes."""
    return fig.data[-1].textfont.color == colours(num_classes, focus)


def paint(
    fig: go.Figure,
    first: int,
    num_classes: int,
    focus: int | None = None,
    areas: tuple[int, float] | None = None,
) -> None:
    """Give the lines from trace `first` on, and their names, the colours of the classes.

    `areas` is the index of the first filled trace and the opacity of the filling.
    """
    if is_painted(fig, num_classes, focus):
        return
    with fig.batch_update():
        for trace, colour in zip(fig.data[first:], colours(num_classes, focus), strict=False):
            trace.line.color = colour
        if areas is not None:
            filled = area_colours(num_classes, focus, areas[1])
            for trace, colour in zip(fig.data[areas[0] :], filled, strict=False):
                trace.fillcolor = colour
        fig.data[-1].update(
            text=[f"\N{NO-BREAK SPACE}{style.process(c)}" for c in range(num_classes)],
            x=np.full(num_classes, fig.data[-1].x[0]),
            y=np.resize(fig.data[-1].y, num_classes),
            textfont={
                "color": colours(num_classes, focus),
                "size": SMALL * plotting.scale_of(fig) if num_classes > CROWD else None,
            },
        )


def line_updates(values: Sequence[np.ndarray] | np.ndarray, size: int) -> dict[str, list[Any]]:
    """Updates of all lines for `plotting.move`: C of them show the values, the rest are hidden."""
    unused = MAX_CLASSES - len(values)
    return {
        "y": [*values, *[np.zeros(size)] * unused],
        "visible": [True] * len(values) + [False] * unused,
    }


def name_heights(ends: np.ndarray, limits: Sequence[float], scale: float = 1.0) -> np.ndarray:
    """Heights of the names of lines with these ends ``[C]``, apart from one another.

    `scale` is that of the text, see `plotting.scale_of`.
    """
    low, high = limits
    if len(ends) > CROWD / scale:
        return _heights_of_some(ends, low, high, scale * CROWD_GAP)
    apart = plotting.spread(ends, min(scale * NAME_GAP, 1.0 / len(ends)) * (high - low))
    # Names of lines that end near an edge would run out of the picture.
    return apart + max(low - apart.min(), 0.0) - max(apart.max() - high, 0.0)


def _heights_of_some(ends: np.ndarray, low: float, high: float, gap: float) -> np.ndarray:
    """Names of as many lines as fit beside their own ends; the others are far out of sight.

    Spread evenly, the names of a crowd would stand beside lines of other classes.
    """
    heights, last = np.full(len(ends), low - 9.0 * (high - low)), -np.inf
    for c in np.argsort(ends, kind="stable"):
        if ends[c] - last >= gap * (high - low) and low <= ends[c] <= high:
            heights[c] = last = ends[c]
    return heights


@Picture
def latents(record: Latents) -> go.Figure:
    """f₀ as a thick grey line, what is mixed with it as thin ones; or a line for each class."""
    x = record.x
    hero = plotting.line(x, record.values[0], "latent f₀(x)", style.NEUTRAL, width=style.HERO_WIDTH)
    lines = class_lines(x, "latent of {}", width=1.5)
    hero.meta = lines[0].meta = plotting.DRAGGED
    others = [
        plotting.line(x, np.zeros_like(x), f"latent {name}(x)", style.NEUTRAL, width=2.0, dash=dash)
        for name, dash in zip(LATENT_NAMES[1:], LATENT_DASHES, strict=True)
    ]
    names = [plotting.label(name, style.NEUTRAL, x=x[-1]) for name in LATENT_NAMES[1:]]
    return plotting.figure(
        [hero, *lines, *others, plotting.held_points(), class_names(x[-1])],
        230,
        {"r": 50, "b": 8},
        xaxis={"range": [x[0], x[-1]], "showticklabels": False},  # as in the picture below
        yaxis=plotting.axis("latent f₀(x)", nticks=5),
        annotations=[plotting.label("f₀", style.NEUTRAL, x=x[-1]), plotting.heading(), *names],
        shapes=[plotting.mark(record.at)],
    )


@latents.updater
def _update_latents(fig: go.Figure, record: Latents, refit: bool = False) -> None:
    shared, C, N = record.is_shared, record.num_classes, len(record.x)
    latents = record.values[:0] if shared else record.values
    paint(fig, 1, C)
    x, y = record.held
    limits = plotting.limits(fig, "yaxis", np.concatenate([*record.values, y]), refit)
    lines, ends = line_updates(latents, N), np.resize(record.values[:, -1], C)
    L = len(record.values) if shared else 1
    others = np.zeros((MAX_LATENTS - 1, N))
    others[: L - 1] = record.values[1:L]
    is_mixed = [k < L for k in range(1, MAX_LATENTS)]
    names = name_heights(ends, limits, plotting.scale_of(fig))
    # Large names would not fit here; the processes below have the same names and colours.
    is_named = not shared and plotting.scale_of(fig) == 1.0
    traces = {
        "x": [*[record.x] * (MAX_LATENTS + MAX_CLASSES), x, np.full(C, record.x[-1])],
        "y": [record.values[0], *lines["y"], *others, y, names],
        "visible": [shared, *lines["visible"], *is_mixed, True, is_named],
    }
    if L > 1:
        title = f"<b>{L} latents for all {C} classes</b>: each class mixes them in its own shares"
    elif shared:
        title = f"<b>one latent f₀ for all {C} classes</b>"
    else:
        title = f"<b>{C} latents, one for each class, in its colour</b>: they share only the kernel"
    layout = {
        "yaxis.range": limits,
        "annotations[0].visible": shared,
        "annotations[1].text": title,
        **plotting.marked(record.at),
    }
    heights = name_heights(record.values[:L, -1], limits, plotting.scale_of(fig))
    layout |= {"annotations[0].y": heights[0], "annotations[0].text": "f₁" if L > 1 else "f₀"}
    for k, is_shown in enumerate(is_mixed, start=1):
        layout[f"annotations[{k + 1}].y"] = heights[k] if is_shown else heights[0]
        layout[f"annotations[{k + 1}].visible"] = is_shown
    plotting.move(fig, traces, layout)


@Picture
def processes(record: Processes) -> go.Figure:
    """A line for each class, named at its end, over a band that the network's draws fill."""
    x = record.x
    flat = np.zeros((2, len(x)))
    bands = [
        plotting.band(x, flat, f"{style.process(c)}, 90 % of networks", style.NEUTRAL,
                      legendgroup=str(c), visible=False)
        for c in range(MAX_CLASSES)
    ]  # fmt: skip
    return plotting.figure(
        [*bands, *class_lines(x, "{}(x)"), class_names(x[-1])],
        360,
        {"r": 50},
        xaxis=plotting.axis("input x", range=[x[0], x[-1]]),
        yaxis=plotting.axis("processes fᶜ(x)"),
        shapes=[plotting.mark(record.at)],
    )


@processes.updater
def _update_processes(fig: go.Figure, record: Processes, refit: bool = False) -> None:
    values, N = record.values, len(record.x)
    bands = [] if record.band is None else [plotting.outline(limits) for limits in record.band]
    paint(fig, MAX_CLASSES, len(values), record.focus, (0, BAND))
    limits = plotting.limits(fig, "yaxis", np.concatenate([*values, *bands]), refit)
    below, above = line_updates(bands, 2 * N), line_updates(values, N)
    scale = plotting.scale_of(fig)
    traces = {
        "y": [*below["y"], *above["y"], name_heights(values[:, -1], limits, scale)],
        "visible": [*below["visible"], *above["visible"], True],
    }
    title = f"<b>the {len(values)} processes, one for each class</b>"
    if record.band is not None:
        title += "; shaded: 90 % of draws of the network"
    layout = {"yaxis.range": limits, "annotations[0].text": title, **plotting.marked(record.at)}
    plotting.move(fig, traces, layout)


@Picture
def probabilities(record: Probabilities) -> go.Figure:
    """An area for each class; at every x their heights are the probabilities."""
    x = record.x
    hover = "x = %{x:.2f}<br>probability %{y:.2f}<extra>%{fullData.name}</extra>"
    look = {"width": 1.0, "stackgroup": "all", "hovertemplate": hover}
    return plotting.figure(
        [*class_lines(x, "class of {}", **look), class_names(x[-1])],
        290,
        {"r": 50},
        xaxis=plotting.axis("input x", range=[x[0], x[-1]]),
        yaxis=plotting.axis("probability", range=[0.0, 1.0], nticks=5),
        annotations=[plotting.heading("class probabilities: the softmax of the processes")],
        # Grey would be lost among the colours.
        shapes=[plotting.mark(record.at, color=style.PALETTE[7], width=1.5)],
    )


@probabilities.updater
def _update_probabilities(fig: go.Figure, record: Probabilities, refit: bool = False) -> None:
    values = record.values
    paint(fig, 0, len(values), record.focus, (0, AREA))
    areas = line_updates(values, len(record.x))
    middles = np.cumsum(values[:, -1]) - values[:, -1] / 2.0
    traces = {
        "y": [*areas["y"], name_heights(middles, (0.0, 1.0), plotting.scale_of(fig))],
        "visible": [*areas["visible"], True],
    }
    plotting.move(fig, traces, plotting.marked(record.at))


@Picture
def pivot(record: Pivot) -> go.Figure:
    """The maps f^pivot → f^c, joint draws of one pair, and where the drawn paths are now."""
    at = np.zeros(MAP_POINTS if record.grid is None else len(record.grid))
    place = "%{x:.2f}, %{y:.2f}"
    outlined = {"width": 1.5, "color": style.NEUTRAL}
    paths_hover = f"the paths at the marked x<br>{place}"
    return plotting.figure(
        [
            plotting.dots("joint draws", None, 5, f"a joint draw<br>{place}", opacity=0.5),
            *class_lines(at, "map to {}", width=2.0),
            plotting.dots("the paths now", None, 9, paths_hover, line=outlined),
            class_names(0.0),
        ],
        380,
        {"r": 40, "t": 52},
        xaxis=plotting.axis(),
        yaxis=plotting.axis("processes fᶜ(x)"),
    )


@pivot.updater
def _update_pivot(fig: go.Figure, record: Pivot, refit: bool = False) -> None:
    C, F = len(record.values), len(fig.data[1].x)
    grid = np.full(F, record.draws[0, 0]) if record.grid is None else record.grid
    maps = np.empty((0, F)) if record.maps is None else record.maps
    ends = record.values if record.maps is None else maps[:, -1]
    here = np.full(C, record.values[record.pivot])
    _paint_pivot(fig, record)
    u, v = record.draws
    right = plotting.limits(fig, "xaxis", np.concatenate([u, here, grid]), refit)
    up = plotting.limits(fig, "yaxis", np.concatenate([v, record.values, maps.ravel()]), refit)
    lines = line_updates(maps, F)
    traces = {
        "x": [u, *[grid] * MAX_CLASSES, here, np.full(C, right[1])],
        "y": [v, *lines["y"], record.values, name_heights(ends, up, plotting.scale_of(fig))],
        "visible": [True, *lines["visible"], True, True],
    }
    layout = {
        "xaxis.range": right,
        "yaxis.range": up,
        "xaxis.title.text": f"pivot {style.process(record.pivot)}(x)",
        "annotations[0].text": _pivot_heading(record),
    }
    plotting.move(fig, traces, layout)


def _paint_pivot(fig: go.Figure, record: Pivot) -> None:
    C = len(record.values)
    draws, now = fig.data[0], fig.data[-2]
    colour = colours(C)[record.partner]
    if draws.marker.color != colour or not is_painted(fig, C, record.focus):
        with fig.batch_update():
            draws.marker.color = colour
            now.marker.color = colours(C, record.focus)
        paint(fig, 1, C, record.focus)


def _pivot_heading(record: Pivot) -> str:
    pivot, partner = style.process(record.pivot), style.process(record.partner)
    colour = colours(len(record.values))[record.partner]
    pair = plotting.coloured(f"dots: draws of ({pivot}, {partner})", colour)
    others, where = ("no other", "a cloud") if record.maps is None else ("all", "on their map")
    title = f"{pivot} determines {others}, x = {record.at:.2f}"
    return plotting.heading_text(title, f"{pair}, {where}")


@Picture
def dependence(record: Dependence) -> go.Figure:
    """A heat map over pairs of classes, whose colours always reach from −1 to 1."""
    hover = "%{x} and %{y}<br>rank correlation %{z:.2f}"
    return plotting.figure(
        [plotting.heatmap("rank correlation", hover, zmin=-1.0, zmax=1.0, xgap=1, ygap=1)],
        380,
        {"r": 20, "t": 52, "l": 50},
        xaxis=plotting.axis("class", constrain="domain", showgrid=False),
        yaxis={"autorange": "reversed", "showgrid": False, **plotting.SQUARE},
    )


@dependence.updater
def _update_dependence(fig: go.Figure, record: Dependence, refit: bool = False) -> None:
    C = len(record.rank_correlation)
    numbers = np.arange(1, C + 1)
    ticks = numbers[:: 1 if C <= 10 else 3]
    title = plotting.heading_text(
        f"rank correlation, x = {record.at:.2f}",
        f"mean absolute value over pairs: {record.strength:.2f}",
    )
    layout: dict[str, Any] = {"annotations[0].text": title}
    for axis in ("xaxis", "yaxis"):
        layout[f"{axis}.tickvals"] = ticks
        layout[f"{axis}.ticktext"] = [style.process(c - 1) for c in ticks]
    z = plotting.rounded(record.rank_correlation)
    meta = plotting.rows_of_classes(range(C), range(C))
    traces: dict[str, list[Any]] = {"x": [numbers], "y": [numbers], "z": [z], "meta": [meta]}
    plotting.move(fig, traces, layout)
