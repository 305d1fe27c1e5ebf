"""What pictures of many classes share: a line for each, its colour, dash and name at its end.

Every picture holds lines for `MAX_CLASSES` classes from the start; those without one are hidden.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz import style
from etgp_viz.figures import frames

MAX_CLASSES = 20
# How much of a class is left to see while another one is in focus.
DIM = 0.15
# Names of more classes than this are written small.
CROWD, SMALL = 10, 10


@cache
def colours(num_classes: int) -> tuple[str, ...]:
    """The colour of each class."""
    return tuple(style.colour(c, num_classes) for c in range(num_classes))


def strengths(num_classes: int, focus: int | None) -> list[float]:
    """The opacity of each class: all alike, or one of them in focus."""
    return [1.0 if focus in (None, c) else DIM for c in range(num_classes)]


def lines(x: np.ndarray, name: str, **look: Any) -> list[go.Scatter]:
    """Hidden lines for all classes; ``{}`` in their name stands for that of the process."""
    nothing = np.zeros_like(x)
    return [
        frames.line(
            x, nothing, name.format(style.process(c)), style.NEUTRAL,
            dash=style.dash(c), legendgroup=str(c), visible=False, **look,
        )
        for c in range(MAX_CLASSES)
    ]  # fmt: skip


def move(traces: Sequence[Any], values: np.ndarray, focus: int | None = None) -> None:
    """Give the first C lines the values ``[C, N]``, and hide the others."""
    show(traces, len(values), "line")
    for trace, y, opacity in zip(traces, values, strengths(len(values), focus), strict=False):
        trace.y = y
        trace.opacity = opacity


def show(traces: Sequence[Any], num_classes: int, part: str) -> None:
    """Show the traces of the first C classes, with this part of them in the class's colour."""
    if sum(trace.visible is True for trace in traces) == num_classes:
        return  # plotly takes its time even for what does not change
    for c, trace in enumerate(traces):
        trace.visible = c < num_classes
    for trace, colour in zip(traces, colours(num_classes), strict=False):
        trace[part].color = colour


def names(x: float) -> go.Scatter:
    """The names of the classes to the right of their lines' ends: one trace, quick to draw."""
    return go.Scatter(
        x=[x], y=[0.0], text=[""], name="names of the classes", mode="text",
        textposition="middle right", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip


def write(
    trace: Any, x: float, ends: np.ndarray, limits: tuple[float, float], focus: int | None = None
) -> None:
    """Put the names at the ends ``[C]`` of their lines, apart from one another."""
    C = len(ends)
    low, high = limits
    heights = frames.spread(ends, min(0.07, 1.0 / C) * (high - low))
    # Names of lines that end near an edge would run out of the picture.
    heights += max(low - heights.min(), 0.0) - max(heights.max() - high, 0.0)
    trace.x, trace.y = np.full(C, x), heights
    if len(trace.text) != C:
        trace.text = [f"\N{NO-BREAK SPACE}{style.process(c)}" for c in range(C)]
        trace.textfont.size = None if C <= CROWD else SMALL
    trace.textfont.color = faded(C, focus)


def faded(num_classes: int, focus: int | None) -> tuple[str, ...]:
    """The colour of each class, pale if another one is in focus."""
    if focus is None:
        return colours(num_classes)
    looks = zip(colours(num_classes), strengths(num_classes, focus), strict=True)
    return tuple(frames.translucent(colour, strength) for colour, strength in looks)
