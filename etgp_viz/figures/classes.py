"""What pictures of many classes share: a line for each, its colour, dash and name at its end.

Every picture holds lines for `MAX_CLASSES` classes from the start; those without a class are hidden.
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


@cache
def colours(num_classes: int) -> tuple[str, ...]:
    """The colour of each class."""
    return tuple(style.colour(c, num_classes) for c in range(num_classes))


def strengths(num_classes: int, focus: int | None) -> list[float]:
    """The opacity of each class: all alike, or one of them in focus."""
    return [1.0 if focus in (None, c) else DIM for c in range(num_classes)]


def lines(x: np.ndarray, name: str, **look: Any) -> list[go.Scatter]:
    """Hidden lines for all classes; in `name`, ``{}`` stands for f¹, f², …"""
    nothing = np.zeros_like(x)
    return [
        frames.line(
            x, nothing, name.format(style.process(c)), style.NEUTRAL,
            dash=style.dash(c), legendgroup=str(c), visible=False, **look,
        )
        for c in range(MAX_CLASSES)
    ]  # fmt: skip


def move(
    traces: Sequence[Any], values: np.ndarray, focus: int | None = None, **changes: Any
) -> None:
    """Give the first C lines the values ``[C, N]``, and hide the others."""
    C = len(values)
    for c, trace in enumerate(traces):
        trace.visible = c < C
    looks = zip(traces, values, colours(C), strengths(C, focus), strict=False)
    for trace, y, colour, opacity in looks:
        trace.update(y=y, opacity=opacity, line_color=colour, **changes)


def names(x: float) -> go.Scatter:
    """The names of the classes to the right of their lines' ends: one trace, quick to draw."""
    return go.Scatter(
        x=[x], y=[0.0], text=[""], name="names of the classes", mode="text",
        textposition="middle right", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip


def write(trace: Any, x: float, ends: np.ndarray, limits: tuple[float, float]) -> None:
    """Put the names at the ends ``[C]`` of their lines, apart from one another."""
    C = len(ends)
    low, high = limits
    heights = frames.spread(ends, min(0.07, 1.0 / C) * (high - low))
    # Names of lines that end near an edge would run out of the picture.
    heights += max(low - heights.min(), 0.0) - max(heights.max() - high, 0.0)
    trace.update(
        x=np.full(C, x),
        y=heights,
        text=[style.process(c) for c in range(C)],
        textfont_color=colours(C),
    )
