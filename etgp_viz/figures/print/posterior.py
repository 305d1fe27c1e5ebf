"""GP regression in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etgp_viz.figures import style
from etgp_viz.figures.posterior import DATA, DEPTH, POSTERIOR, TICKS, parameter_name, parts_shown

if TYPE_CHECKING:
    from etgp_viz.records.posterior import Evidence, Functions, Slice

__all__ = ["make"]


def make(functions: Functions, evidence: Evidence, kernel: Slice) -> Figure:
    """Prior and posterior above; the log marginal likelihood and the kernel below.

    The parameters are records of `etgp_viz.records.posterior`, named as in the explorer.
    """
    fig = Figure(figsize=(10.0, 6.4), layout="constrained")
    grid = fig.add_gridspec(2, 2, height_ratios=(1.6, 1.0))
    _draw_functions(fig.add_subplot(grid[0, :]), functions)
    _draw_evidence(fig.add_subplot(grid[1, 0]), evidence)
    _draw_kernel(fig.add_subplot(grid[1, 1]), kernel)
    return fig


def _draw_functions(axes: Axes, record: Functions) -> None:
    prior, posterior = parts_shown(record)
    zero = np.zeros_like(record.x)
    for shown, name, colour, mean, deviation, draws in (
        (prior, "prior", style.NEUTRAL, zero, record.prior_deviation, record.prior_draws),
        (posterior, "posterior", POSTERIOR, record.mean, record.deviation, record.draws),
    ):
        if shown:
            limits = mean - 2.0 * deviation, mean + 2.0 * deviation
            axes.fill_between(record.x, *limits, color=colour, alpha=0.18, linewidth=0)
            axes.plot(record.x, draws[: record.shown_draws].T, color=colour, lw=0.9, alpha=0.75)
            axes.plot(record.x, mean, color=colour, lw=2.5, label=f"{name}: mean ± 2 sd, draws")
    if not prior:
        for sign in (-2.0, 2.0):
            axes.plot(record.x, sign * record.prior_deviation, ":", color=style.NEUTRAL, lw=1)
    if posterior and record.shows_new:
        for sign in (-2.0, 2.0):
            spread = np.hypot(record.deviation, record.noise)
            axes.plot(record.x, record.mean + sign * spread, "--", color=DATA, lw=1)
    axes.errorbar(
        record.X, record.Y, 2.0 * record.noise, fmt="o", color=DATA, label="observations ± 2 sd"
    )
    axes.set(xlabel="input x", ylabel="value f₀(x)")
    axes.legend(frameon=False, loc="upper left")
    axes.margins(x=0)


def _draw_evidence(axes: Axes, record: Evidence) -> None:
    best = record.best_log_likelihood
    axes.semilogx(record.values, record.log_likelihood, color=POSTERIOR, lw=2)
    axes.plot(record.at, max(record.at_log_likelihood, best - DEPTH), "o", color=style.NEUTRAL)
    axes.plot(record.best, best, "*", color=DATA, markersize=11)
    low = max(float(np.min(record.log_likelihood)), best - DEPTH)
    room = 0.08 * (best - low) or 1.0
    axes.set_ylim(low - room, best + room)
    axes.set(title=f"log marginal likelihood, maximum at {record.best:.2f}")
    axes.set(xlabel=parameter_name(record), ylabel="log p(Y), nats")
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.margins(x=0)


def _draw_kernel(axes: Axes, record: Slice) -> None:
    axes.plot(record.x, record.values, color=style.NEUTRAL, lw=2.5)
    axes.axvline(record.at, color=style.NEUTRAL, linestyle=":")
    axes.set(title=record.name, xlabel="input x", ylabel=f"covariance with f₀({record.at:g})")
    axes.margins(x=0)
