"""C classes that share one latent, or have one each, in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plotly.colors import unlabel_rgb

from etgp_viz.figures import plotting, style
from etgp_viz.figures.shared_latent import colours

if TYPE_CHECKING:
    from etgp_viz.records.shared_latent import Dependence, Latents, Pivot, Probabilities, Processes

__all__ = ["make"]

# plotly's dashes in matplotlib's terms: lengths of strokes and gaps.
DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (8, 2)), (0, (8, 2, 1, 2)))


def make(
    latents: Latents,
    processes: Processes,
    probabilities: Probabilities,
    pivot: Pivot,
    dependence: Dependence,
) -> Figure:
    """Latent, processes and probabilities over one x axis; the pivot's maps and ranks beside."""
    fig = Figure(figsize=(11.0, 7.0), layout="constrained")
    grid = fig.add_gridspec(6, 2, width_ratios=(1.8, 1.0))
    last = fig.add_subplot(grid[4:, 0])
    _draw_latents(fig.add_subplot(grid[:2, 0], sharex=last), latents)
    _draw_processes(fig.add_subplot(grid[2:4, 0], sharex=last), processes)
    _draw_probabilities(last, probabilities)
    _draw_pivot(fig.add_subplot(grid[:3, 1]), pivot)
    _draw_dependence(fig.add_subplot(grid[3:, 1]), dependence)
    return fig


def _colours(num_classes: int) -> list[Any]:
    """The colours of the classes as matplotlib reads them."""
    return [
        tuple(part / 255 for part in unlabel_rgb(colour)) if colour.startswith("rgb") else colour
        for colour in colours(num_classes)
    ]


def _draw_classes(axes: Axes, x: np.ndarray, values: np.ndarray, **look: Any) -> None:
    """A line for each class, named at its end."""
    for c, (colour, y) in enumerate(zip(_colours(len(values)), values, strict=True)):
        axes.plot(x, y, color=colour, linestyle=DASHES[c % len(DASHES)], **look)
    _write_names(axes, x[-1], values[:, -1])


def _write_names(axes: Axes, x: float, ends: np.ndarray) -> None:
    heights = plotting.spread(ends, min(0.08, 1.0 / len(ends)) * np.ptp(axes.get_ylim()))
    for c, (colour, y) in enumerate(zip(_colours(len(ends)), heights, strict=True)):
        axes.annotate(
            style.process(c), (x, y), xytext=(4, 0), textcoords="offset points", color=colour,
            va="center", fontsize="small", annotation_clip=False,
        )  # fmt: skip


def _draw_latents(axes: Axes, record: Latents) -> None:
    if record.is_shared:
        axes.plot(record.x, record.values[0], color=style.NEUTRAL, lw=4)
        for values, dash in zip(record.values[1:], DASHES[1:], strict=False):
            axes.plot(record.x, values, color=style.NEUTRAL, lw=1.5, linestyle=dash)
        number = len(record.values)
        latents = "one latent f₀" if number == 1 else f"{number} latents (thick: the first), mixed,"
        title = f"{latents} for all {record.num_classes} classes"
    else:
        _draw_classes(axes, record.x, record.values, lw=1)
        title = f"{record.num_classes} latents, one for each class"
    axes.axvline(record.at, color=style.NEUTRAL, linestyle=":")
    axes.set(title=title, ylabel="latent f₀(x)")
    axes.tick_params(labelbottom=False)


def _draw_processes(axes: Axes, record: Processes) -> None:
    title = "processes of the classes"
    if record.band is not None:
        title += "; shaded: 90 % of draws of the network"
        for colour, limits in zip(_colours(len(record.band)), record.band, strict=True):
            axes.fill_between(record.x, *limits, color=colour, alpha=0.18, linewidth=0)
    _draw_classes(axes, record.x, record.values, lw=1.8)
    axes.axvline(record.at, color=style.NEUTRAL, linestyle=":")
    axes.set(title=title, ylabel="processes fᶜ(x)")
    axes.tick_params(labelbottom=False)


def _draw_probabilities(axes: Axes, record: Probabilities) -> None:
    C = len(record.values)
    axes.stackplot(record.x, record.values, colors=_colours(C), alpha=0.75)
    axes.set(title="class probabilities", xlabel="input x", ylabel="probability", ylim=(0.0, 1.0))
    axes.axvline(record.at, color="black", linestyle=":")
    axes.margins(x=0)
    _write_names(axes, record.x[-1], np.cumsum(record.values[:, -1]) - record.values[:, -1] / 2)


def _draw_pivot(axes: Axes, record: Pivot) -> None:
    pivot, partner = style.process(record.pivot), style.process(record.partner)
    shades = _colours(len(record.values))
    dots = f"draws of ({pivot}, {partner})"
    axes.plot(*record.draws, ".", color=shades[record.partner], ms=4, alpha=0.5, label=dots)
    if record.maps is not None and record.grid is not None:
        _draw_classes(axes, record.grid, record.maps, lw=1.5)
    here = np.full(len(shades), record.values[record.pivot])
    axes.scatter(here, record.values, color=shades, edgecolors=style.NEUTRAL, zorder=3)
    determines = "determines" if record.maps is not None else "does not determine"
    axes.set(title=f"{pivot} {determines} the others at x = {record.at:.2f}")
    axes.set(xlabel=f"pivot {pivot}(x)", ylabel="processes fᶜ(x)")
    axes.legend(frameon=False, fontsize="small")


def _draw_dependence(axes: Axes, record: Dependence) -> None:
    C = len(record.rank_correlation)
    edges = np.arange(C + 1) + 0.5
    mesh = axes.pcolormesh(edges, edges, record.rank_correlation, cmap=style.DIVERGING)
    mesh.set_clim(-1.0, 1.0)
    axes.set(title="rank correlation between classes there", aspect="equal")
    ticks = range(1, C + 1, 1 if C <= 10 else 3)
    axes.set_xticks(ticks, [style.process(c - 1) for c in ticks])
    axes.set_yticks(ticks, [style.process(c - 1) for c in ticks])
    axes.invert_yaxis()
    axes.figure.colorbar(mesh, ax=axes, shrink=0.7)
