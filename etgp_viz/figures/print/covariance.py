"""Covariances by formula and by Monte Carlo, in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etgp_viz.figures import style
from etgp_viz.figures.covariance import (
    ERROR,
    INDEPENDENT,
    LEFT_OUT,
    MAX_DIFFERENCE,
    MIN_EIGENVALUE,
    MIN_LEFT_OUT,
    SHARED,
    covariance_name,
)
from etgp_viz.figures.print.flow import draw_matrix

if TYPE_CHECKING:
    from etgp_viz.records.covariance_check import Comparison, Convergence, Spectrum, Variances
    from etgp_viz.records.flow import Matrix

__all__ = ["make"]


def make(
    latent: Matrix,
    analytic: Comparison,
    variance: Variances,
    convergence: Convergence,
    spectrum: Spectrum,
    **_: Any,
) -> Figure:
    """Four matrices above; variances, convergence and spectrum below."""
    fig = Figure(figsize=(13.0, 6.4), layout="constrained")
    parts: Any = fig.subfigures(2, 1)
    maps, lines = parts[0].subplots(1, 4), parts[1].subplots(1, 3)
    draw_matrix(maps[0], latent)
    _draw_maps(maps[1:], analytic)
    _draw_variances(lines[0], variance)
    _draw_convergence(lines[1], convergence)
    _draw_spectrum(lines[2], spectrum)
    return fig


def _draw_maps(panels: Any, record: Comparison) -> None:
    top = max(np.max(np.abs(record.analytic)), np.max(np.abs(record.estimate))) or 1.0
    within = f"{record.share:.1%} within ±{record.tolerance:.0f}"
    parts = (
        (f"by formula\n{covariance_name(record)}", record.analytic, top),
        (f"by Monte Carlo\n{record.num_draws} draws", record.estimate, top),
        (f"difference in standard errors\n{within}", record.difference, MAX_DIFFERENCE),
    )
    N, several = len(record.x), len(record.rows) > 1
    step = record.x[1] - record.x[0]
    edge = (record.x[0] - step / 2, record.x[-1] + step / 2)
    extent = None if several else (*edge, edge[1], edge[0])
    for axes, (title, values, limit) in zip(panels, parts, strict=True):
        look = {"cmap": style.DIVERGING, "vmin": -limit, "vmax": limit, "extent": extent}
        image = axes.imshow(values, **look)
        axes.set_title(title)
        axes.figure.colorbar(image, ax=axes, shrink=0.7)
        if several:
            ticks = [k * N + N / 2 - 0.5 for k in range(len(record.rows))]
            names = [style.process(c) for c in record.rows]
            axes.set_xticks(ticks, names)
            axes.set_yticks(ticks, names)
        else:
            axes.set(xlabel="x′", ylabel="x")


def _draw_variances(axes: Axes, record: Variances) -> None:
    C = len(record.analytic)
    axes.plot(record.x, record.latent, color=style.NEUTRAL, lw=3, label="f₀")
    for c in range(C):
        colour, reach = style.colour(c, C), 2.0 * record.standard_error[c]
        dash = ("-", "--", ":", "-.")[c % 4]
        axes.plot(record.x, record.analytic[c], dash, label=style.process(c), color=colour)
        axes.errorbar(record.x, record.estimate[c], reach, fmt=".", ms=4, lw=1, color=colour)
    axes.set(title="variance; dots: Monte Carlo ± 2 standard errors", xlabel="input x")
    axes.legend(frameon=False, fontsize="small")


def _draw_convergence(axes: Axes, record: Convergence) -> None:
    axes.loglog(record.sizes, record.error, color=ERROR, lw=2, label="error")
    axes.loglog(record.sizes, record.expected, "--", color=style.NEUTRAL, label="expected, 1/√m")
    if record.left_out > MIN_LEFT_OUT:
        axes.axhline(record.left_out, color=LEFT_OUT, linestyle=":", label="left out")
    axes.set(title="error, share of the covariance", xlabel="draws m")
    axes.legend(frameon=False, fontsize="small")


def _draw_spectrum(axes: Axes, record: Spectrum) -> None:
    order = np.arange(1, len(record.joint) + 1)
    independent, shared = (
        np.maximum(values, MIN_EIGENVALUE) for values in (record.independent, record.joint)
    )
    axes.semilogy(order, independent, "--", color=INDEPENDENT, label="independent classes")
    axes.semilogy(order, shared, ".", color=SHARED, label="classes that share f₀")
    axes.axvline(record.num_inputs + 0.5, color=style.NEUTRAL, linestyle=":")
    axes.set(title=f"eigenvalues: {record.rank} of {len(order)} not zero", xlabel="number")
    axes.legend(frameon=False, fontsize="small")
