"""Scores of all models in matplotlib, for slides and papers: a panel for each data set."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from etgp_viz.experiments.settings import short_name
from etgp_viz.figures.results import IF_CALIBRATED, LOOKS, calibrated_marks, mark_heights
from etgp_viz.records.results import METRICS, WAYS

if TYPE_CHECKING:
    from etgp_viz.records.results import Panel

__all__ = ["draw", "draw_panel", "png"]

# What a calibrated model would score.
TICK: Any = {"linestyle": "none", "marker": "|", "markersize": 12, "color": "0.6"}


def draw(panels: Sequence[Panel], caption: str = "") -> Figure:
    """A figure of `etgp_viz.experiments.panel`s, three in a row, over a caption in small print.

    Its ``savefig`` writes PNG, SVG or PDF.
    """
    columns = min(3, max(1, len(panels)))
    lines = -(-len(panels) // columns)
    tall = max(len(panel.labels) for panel in panels)
    size = (max(4.2 * columns, 5.5), lines * (1.4 + 0.32 * tall))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        draw_panel(axes, panel)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    drawn = {series.way for panel in panels for series in panel.series if len(series.rows)}
    ways = [way for way in WAYS if way in drawn]
    handles = [Line2D([], [], linestyle="none", label=WAYS[way], **_marker(way)) for way in ways]
    if any(len(calibrated_marks(panel)[0]) for panel in panels):
        handles.append(Line2D([], [], label=IF_CALIBRATED, **TICK))
    if handles:
        across = min(len(handles), 2 * columns)
        figure.legend(handles=handles, loc="outside upper center", ncols=across, fontsize=9)
    if caption:
        figure.supxlabel(caption, fontsize=7, color="0.4")
    return figure


def png(panels: Sequence[Panel], caption: str = "") -> bytes:
    """The figure of `draw` as the content of a PNG file, for IPython's ``Image``."""
    content = io.BytesIO()
    draw(panels, caption).savefig(content, format="png", dpi=110)
    return content.getvalue()


def draw_panel(axes: Any, record: Panel) -> None:
    """Draw one data set: rows of models, marks with error bars, a dotted line at the best."""
    metric, best = METRICS[record.metric], record.best()
    axes.plot(*calibrated_marks(record), **TICK)
    for series in record.series:
        mark = _marker(series.way)
        axes.errorbar(
            series.mean, mark_heights(series), xerr=record.bars * series.error, linestyle="none",
            capsize=2, elinewidth=1, ecolor=mark["color"], **mark,
        )  # fmt: skip
    if best is not None:
        axes.axvline(best[2], color="0.5", linestyle=":", linewidth=1)
    axes.set_yticks(range(len(record.labels)), record.labels)
    axes.set_ylim(max(len(record.labels), 1) - 0.5, -0.5)
    if best is None:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color="0.4")
        axes.set_xticks([])
    elif metric.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    arrow = "→" if metric.larger_is_better else "←"
    axes.set_xlabel(f"{metric.words}: {arrow} {metric.means}", fontsize=9)
    axes.set_title(short_name(record.dataset), fontsize=10, parse_math=False)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _marker(way: str) -> dict[str, Any]:
    colour, _, marker, filled, *_ = LOOKS[way]
    inside = colour if filled else "none"
    return {"color": colour, "marker": marker, "markersize": 7, "markerfacecolor": inside}
