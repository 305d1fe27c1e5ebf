"""What pictures of many classes share: a line for each, its colour, dash and name at its end.

Every picture holds lines for `MAX_CLASSES` classes from the start; those without one are hidden.
What a class looks like changes seldom (`paint`), where its line lies with every slider (`placed`).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style

MAX_CLASSES = 20
# How much of a class is left to see while another one is in focus.
DIM = 0.15
# Names of more classes than this are written small.
CROWD, SMALL = 10, 10


@cache
def colours(num_classes: int, focus: int | None = None) -> tuple[str, ...]:
    """The colour of each class, pale if another one is in focus."""
    full = [style.colour(c, num_classes) for c in range(num_classes)]
    if focus is None:
        return tuple(full)
    return tuple(
        plotting.translucent(colour, 1.0 if c == focus else DIM) for c, colour in enumerate(full)
    )


def fills(num_classes: int, focus: int | None, opacity: float) -> list[str]:
    """The colour of each class for an area, so opaque; paler if another one is in focus."""
    return [
        plotting.translucent(colour, opacity if focus in (None, c) else DIM * opacity)
        for c, colour in enumerate(colours(num_classes))
    ]


def lines(x: np.ndarray, name: str, **look: Any) -> list[go.Scatter]:
    """Hidden lines for all classes; ``{}`` in their name stands for that of the process."""
    nothing = np.zeros_like(x)
    return [
        plotting.line(
            x, nothing, name.format(style.process(c)), style.NEUTRAL,
            dash=style.dash(c), legendgroup=str(c), visible=False, **look,
        )
        for c in range(MAX_CLASSES)
    ]  # fmt: skip


def names(x: float) -> go.Scatter:
    """The names of the classes to the right of their lines' ends: one trace, quick to draw."""
    return go.Scatter(
        x=[x], y=[0.0], text=[""], name="names of the classes", mode="text",
        textposition="middle right", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip


def is_painted(fig: go.Figure, num_classes: int, focus: int | None) -> bool:
    """Whether the last trace, the names, has the colours of these classes already."""
    return fig.data[-1].textfont.color == colours(num_classes, focus)


def paint(
    fig: go.Figure,
    first: int,
    num_classes: int,
    focus: int | None = None,
    areas: tuple[int, float] | None = None,
) -> None:
    """Give the lines from trace `first` on, and the names, the colours of the classes.

    `areas` says from which trace on there are areas to be filled, and how opaque they are.
    """
    if is_painted(fig, num_classes, focus):
        return
    with fig.batch_update():
        for trace, colour in zip(fig.data[first:], colours(num_classes, focus), strict=False):
            trace.line.color = colour
        if areas is not None:
            filled = fills(num_classes, focus, areas[1])
            for trace, colour in zip(fig.data[areas[0] :], filled, strict=False):
                trace.fillcolor = colour
        fig.data[-1].update(
            text=[f"\N{NO-BREAK SPACE}{style.process(c)}" for c in range(num_classes)],
            x=np.full(num_classes, fig.data[-1].x[0]),
            y=np.resize(fig.data[-1].y, num_classes),
            textfont={
                "color": colours(num_classes, focus),
                "size": SMALL if num_classes > CROWD else None,
            },
        )


def placed(values: Sequence[np.ndarray] | np.ndarray, size: int) -> Mapping[str, list[Any]]:
    """`plotting.move` for lines: the first C have the values, the others are hidden."""
    unused = MAX_CLASSES - len(values)
    return {
        "y": [*values, *[np.zeros(size)] * unused],
        "visible": [True] * len(values) + [False] * unused,
    }


def heights(ends: np.ndarray, limits: Sequence[float]) -> np.ndarray:
    """Where the names of lines with these ends ``[C]`` stand, apart from one another."""
    low, high = limits
    apart = plotting.spread(ends, min(0.07, 1.0 / len(ends)) * (high - low))
    # Names of lines that end near an edge would run out of the picture.
    return apart + max(low - apart.min(), 0.0) - max(apart.max() - high, 0.0)
