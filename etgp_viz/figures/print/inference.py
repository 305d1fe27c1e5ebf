"""What a model has learnt, in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from etgp_viz.figures import regions, style
from etgp_viz.figures.inference import (
    COLOURS,
    CROSS,
    MIN_ERROR,
    MONTE_CARLO,
    QUADRATURE,
    ROW,
)

if TYPE_CHECKING:
    from etgp_viz.records.inference import Classes, Contribution, Latent, NodeErrors, Warped
    from etgp_viz.records.live_training import Curve, Trainings

__all__ = ["make", "optimisers"]

# matplotlib's markers of the classes and dashes of lines, much like plotly's.
MARKERS = "osD^vPX*"
DASHES = ("-", "--", ":", "-.")


def make(
    point: Classes,
    bayes: Classes,
    latent: Latent,
    warped: Warped,
    elbo: Curve,
    nodes: NodeErrors,
    contribution: Contribution,
) -> Figure:
    """Both predictions and the latent above; warped processes, ELBO and node errors below.

    A line at the foot says what f₀ contributes.
    """
    fig = Figure(figsize=(13.0, 7.5), layout="constrained")
    above, below = fig.subplots(2, 3)
    _draw_classes(above[0], point, "point estimate (PE)")
    _draw_classes(above[1], bayes, f"Bayesian average (BA), {bayes.samples} draws")
    _draw_latent(above[2], latent)
    _draw_warped(below[0], warped)
    _draw_elbo(below[1], elbo)
    _draw_nodes(below[2], nodes)
    fig.supxlabel(
        f"log-likelihood lost, nats per row: {contribution.lost_at_zero:.3f} with f₀ = 0, "
        f"{contribution.lost_at_mean:.3f} with f₀ = its mean",
        fontsize="medium",
    )
    return fig


def optimisers(record: Trainings) -> Figure:
    """The ELBO of several trainings, over steps on the left and over seconds on the right."""
    fig = Figure(figsize=(9.0, 3.6), layout="constrained")
    over_steps, over_seconds = fig.subplots(1, 2, sharey=True)
    for k, (name, elbo, seconds) in enumerate(
        zip(record.names, record.elbo, record.seconds, strict=True)
    ):
        over_steps.plot(elbo, DASHES[k], color=COLOURS[k], label=name)
        over_seconds.plot(seconds, elbo, DASHES[k], color=COLOURS[k])
    over_steps.set(xlabel="step", ylabel="ELBO, nats")
    over_seconds.set(xlabel="seconds, without compiling")
    over_steps.legend(frameon=False, fontsize="small", loc="lower right")
    return fig


def _draw_classes(axes: Axes, record: Classes, title: str) -> None:
    C, window = len(record.probabilities), record.window
    colours = [style.colour(c, C) for c in range(C)]
    if window.y is not None:
        ends = (window.x[0], window.x[-1], window.y[0], window.y[-1])
        axes.imshow(regions.paint(record), extent=ends)
        axes.set(xlabel="input x₁", ylabel="input x₂", aspect="equal")
    else:
        axes.stackplot(window.x, record.probabilities, colors=colours, alpha=0.55)
        axes.set(xlabel="input x", ylabel="probability")
    for c in range(C):
        X = record.X[record.labels == c]
        height = X[:, 1] if window.y is not None else np.full(len(X), 1.0 + ROW * (c + 1))
        look: dict[str, Any] = {"color": colours[c], "marker": MARKERS[c], "s": 10}
        look |= {"label": f"class {c + 1}", "linewidths": 0.3, "edgecolors": "white"}
        axes.scatter(X[:, 0], height, **look)
    axes.set_title(f"{title}, {record.accuracy:.0%} right")
    axes.legend(frameon=False, fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))


def _draw_latent(axes: Axes, record: Latent) -> None:
    window, Z = record.window, record.Z
    if window.y is not None:
        top = np.max(np.abs(record.mean)) or 1.0
        look: dict[str, Any] = {"cmap": style.DIVERGING, "vmin": -top, "vmax": top}
        mesh = axes.pcolormesh(window.x, window.y, record.mean, rasterized=True, **look)
        axes.figure.colorbar(mesh, ax=axes, shrink=0.7)
        axes.plot(Z[:, 0], Z[:, 1], "+", color=CROSS)
        axes.set(xlabel="input x₁", ylabel="input x₂", aspect="equal")
        axes.set_title("mean of q(f₀), inducing points")
        return
    reach = 2.0 * record.deviation
    shade: dict[str, Any] = {"color": style.NEUTRAL, "alpha": 0.25, "linewidth": 0}
    axes.fill_between(window.x, record.mean - reach, record.mean + reach, **shade)
    axes.plot(window.x, record.mean, color=style.NEUTRAL, lw=3)
    for sign in (-2.0, 2.0):
        axes.plot(window.x, sign * record.prior, ":", color=style.NEUTRAL, lw=1)
    axes.plot(
        Z[:, 0], np.full(len(Z), 0.03), "|", color="black", transform=axes.get_xaxis_transform()
    )
    axes.set(xlabel="input x", ylabel="f₀(x)", title="q(f₀), mean ± 2 sd; dotted: prior")
    axes.margins(x=0)


def _draw_warped(axes: Axes, record: Warped) -> None:
    C = len(record.median)
    for c in range(C):
        colour = style.colour(c, C)
        axes.fill_between(record.x, *record.band[:, c], color=colour, alpha=0.18, linewidth=0)
        axes.plot(record.x, record.median[c], color=colour, label=style.process(c))
    at = "" if record.cut is None else f" at x₂ = {record.cut:.2f}"
    axes.set(xlabel="input x" if record.cut is None else "input x₁", ylabel="fᶜ")
    axes.set_title(f"warped processes{at}: median, central 95 %")
    axes.legend(frameon=False, fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))
    axes.margins(x=0)


def _draw_elbo(axes: Axes, record: Curve) -> None:
    axes.plot(record.steps, record.elbo, color="black", lw=2, label="ELBO")
    axes.plot(record.steps, record.expected, "--", color=style.NEUTRAL, label="E[log p]")
    axes.plot(record.steps, record.kl, ":", color=style.NEUTRAL, label="KL[q(u₀) ‖ p(u₀)]")
    axes.set(xlabel="step", ylabel="nats", title="the ELBO and its parts")
    axes.legend(frameon=False, fontsize="small")


def _draw_nodes(axes: Axes, record: NodeErrors) -> None:
    for x, error, look, colour, name in (
        (record.nodes, record.quadrature, "o-", QUADRATURE, "quadrature, Q nodes"),
        (record.draws, record.monte_carlo, "x", MONTE_CARLO, "Monte Carlo, S draws"),
        (record.draws, record.standard_error, "--", MONTE_CARLO, "its standard error"),
    ):
        axes.loglog(x, np.maximum(error, MIN_ERROR), look, color=colour, label=name)
    axes.axvline(record.used, color=style.NEUTRAL, linestyle=":")
    axes.set(
        xlabel="nodes or draws for each row",
        ylabel="error of a row, nats",
        title="error of E[log p], root mean square over rows",
    )
    axes.legend(frameon=False, fontsize="small")
