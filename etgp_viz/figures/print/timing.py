"""A race in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from etgp_viz.figures import plotting
from etgp_viz.figures.timing import LABEL_GAP, LOOKS, STYLES, opacity, sizes

if TYPE_CHECKING:
    from etgp_viz.records.timing import Curves, Line

__all__ = ["draw"]

_DASHES = {"solid": "-", "dash": "--", "dot": ":", "longdash": (0, (8, 3))}
_MARKERS = {"circle": "o", "square": "s", "diamond": "D"}


def draw(record: Curves, caption: str = "") -> Figure:
    """A figure of `etgp_viz.timing.curves`, the caption in small print below the axes.

    Its ``savefig`` writes PNG, SVG or PDF.
    """
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.subplots()
    for line in record.lines:
        _draw_line(axes, line, opacity(record, line.kind))
    scale = "log" if record.log else "linear"
    axes.set(xlabel=record.x_title, ylabel=record.y_title, xscale=scale, yscale=scale)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(sizes(record), [f"{size:.0f}" for size in sizes(record)])
    axes.minorticks_off()
    _name_lines(axes, record)
    if caption:
        figure.supxlabel(caption, fontsize=7, color="0.4")
    return figure


def _draw_line(axes: Any, line: Line, strength: float) -> None:
    colour, dash, marker = LOOKS[line.name]
    width, _, own_dash = STYLES[line.kind]
    spread = np.stack([line.y - line.low, line.high - line.y])
    look = {"color": colour, "alpha": strength, "linestyle": _DASHES[own_dash or dash]}
    look |= {"linewidth": width * 0.8, "markersize": 5, "capsize": 2}
    if line.kind in ("measured", "reference"):
        look["marker"] = _MARKERS[marker]
    axes.errorbar(line.x, line.y, yerr=spread if np.any(spread) else None, **look)


def _name_lines(axes: Any, record: Curves) -> None:
    """Write the names at the right ends of the lines, far enough apart to read."""
    named = {line.name: line for line in reversed(record.lines) if len(line.x)}
    if not named:
        return
    forward = np.log10 if record.log else np.asarray
    low, high = forward(axes.get_ylim())
    ends = [(float(forward(line.y[-1])) - low) / (high - low) for line in named.values()]
    heights = plotting.spread(np.array(ends), LABEL_GAP)
    place = {"transform": axes.transAxes, "va": "center"}
    for line, height in zip(named.values(), heights, strict=True):
        axes.text(1.02, height, line.label, color=LOOKS[line.name][0], **place)
