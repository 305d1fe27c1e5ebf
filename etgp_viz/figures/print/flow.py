"""One Gaussian process under one flow, in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etgp_viz.figures import style
from etgp_viz.figures.flow import MAX_DENSITY_SHOWN, SLOPE, WARPED

if TYPE_CHECKING:
    from etgp_viz.records.flow import Marginal, Matrix, WarpedPaths

__all__ = ["draw_matrix", "make"]


def make(
    paths: WarpedPaths, density: Marginal, latent_covariance: Matrix, covariance: Matrix, **_: Any
) -> Figure:
    """Paths above; the map, the densities and the two covariances below.

    The parameters are records of `etgp_viz.records.flow`, named as in the explorer.
    """
    fig = Figure(figsize=(11.0, 6.0), layout="constrained")
    grid = fig.add_gridspec(2, 4)
    _draw_paths(fig.add_subplot(grid[0, :]), paths)
    panels = [fig.add_subplot(grid[1, k]) for k in range(4)]
    _draw_map(panels[0], density)
    _draw_densities(panels[1], density)
    draw_matrix(panels[2], latent_covariance)
    draw_matrix(panels[3], covariance)
    return fig


def draw_matrix(axes: Axes, record: Matrix) -> None:
    """Draw a matrix in colours centred on zero, with its colour bar."""
    top = np.max(np.abs(record.values)) or 1.0
    mesh = axes.pcolormesh(record.x, record.x, record.values, cmap=style.DIVERGING, rasterized=True)
    mesh.set_clim(-top, top)
    axes.set(title=record.name, xlabel="x", ylabel="x′", aspect="equal")
    axes.invert_yaxis()
    axes.figure.colorbar(mesh, ax=axes, shrink=0.7)


def _draw_paths(axes: Axes, record: WarpedPaths) -> None:
    for name, colour, curves, limits, width in (
        ("latent f₀(x)", style.NEUTRAL, record.latent, record.latent_band, 3.0),
        ("warped f(x) = G(f₀(x); θ(x))", WARPED, record.warped, record.warped_band, 2.0),
    ):
        axes.fill_between(record.x, *limits, color=colour, alpha=0.18, linewidth=0)
        axes.plot(record.x, curves[1:].T, color=colour, lw=0.8, alpha=0.6)
        axes.plot(record.x, curves[0], color=colour, lw=width, label=name)
    axes.axvline(record.at, color=style.NEUTRAL, linestyle=":")
    axes.set(xlabel="input x", ylabel="value of the process", title="draws, and the central 95 %")
    axes.legend(frameon=False, loc="upper left")
    axes.margins(x=0)


def _draw_map(axes: Axes, record: Marginal) -> None:
    axes.plot(record.f, record.f, ":", color=style.NEUTRAL, label="no change")
    axes.plot(record.f, record.g, color=WARPED, label="map G(f₀)")
    axes.plot(record.f, record.slope, "-.", color=SLOPE, label="slope |dG/df₀|")
    axes.set(title=f"the flow at x = {record.at:.2f}", xlabel="f₀", ylabel="g = G(f₀)")
    axes.legend(frameon=False, fontsize="small")


def _draw_densities(axes: Axes, record: Marginal) -> None:
    axes.plot(record.f, record.base_density, color=style.NEUTRAL, lw=3, label="f₀(x)")
    axes.plot(record.g, record.warped_density, color=WARPED, label="f(x)")
    top = max(record.base_density.max(), record.warped_density.max())
    axes.set(title="densities there", xlabel="value", ylabel="density")
    axes.set_ylim(0.0, min(MAX_DENSITY_SHOWN, 1.1 * top))
    axes.legend(frameon=False, fontsize="small")
