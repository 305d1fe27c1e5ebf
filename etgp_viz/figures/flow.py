"""Pictures of one Gaussian process under one flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.plotting import Picture

if TYPE_CHECKING:
    from etgp_viz.records.flow import Marginal, Matrix, Parameters, TwoPoints, WarpedPaths

__all__ = ["density", "flow_map", "matrix", "parameters", "paths", "two_points"]

WARPED, SLOPE, INVERSE = style.PALETTE[0], style.PALETTE[3], style.PALETTE[2]
# Draws behind the first one are thin and pale.
PALE = {"width": 1.2, "opacity": 0.6}
# Top of the frame of a density: a flow that flattens has a density of infinite height.
MAX_DENSITY_SHOWN = 3.0
# Lines that a picture of parameters holds; those without a parameter are hidden.
MAX_PARAMS = 12


@Picture
def paths(record: WarpedPaths) -> go.Figure:
    """f₀ as a thick grey line, the warped process in blue, each with its central 95 %."""
    x, S = record.x, len(record.latent)
    kinds = (
        ("latent f₀(x)", style.NEUTRAL, record.latent, record.latent_band, style.HERO_WIDTH),
        ("warped f(x)", WARPED, record.warped, record.warped_band, style.LINE_WIDTH + 1),
    )
    traces: list[go.Scatter] = []
    for name, colour, _, limits, _ in kinds:
        traces.append(plotting.band(x, limits, f"{name}, central 95 %", colour))
    for name, colour, curves, _, width in kinds:
        for s in range(S):
            look = {"width": width} if s == 0 else PALE
            suffix = "" if s == 0 else f", draw {s + 1}"
            traces.append(plotting.line(x, curves[s], name + suffix, colour, **look))
    traces[len(kinds)].meta = plotting.DRAGGED  # the thick draw of f₀
    traces.append(plotting.held_points())
    title = (
        f"draws of f₀ and of {plotting.coloured('f = G(f₀; θ(x))', WARPED)}; shaded: central 95 %"
    )
    return plotting.figure(
        traces,
        380,
        {"r": 50},
        xaxis=plotting.axis("input x", range=[x[0], x[-1]]),
        yaxis=plotting.axis("value of the process"),
        annotations=[
            plotting.label("f₀", style.NEUTRAL, x=x[-1]),
            plotting.label("f", WARPED, x=x[-1]),
            plotting.heading(title),
        ],
        shapes=[plotting.mark(record.at)],
    )


@paths.updater
def _update_paths(fig: go.Figure, record: WarpedPaths, refit: bool = False) -> None:
    curves = [*map(plotting.outline, (record.latent_band, record.warped_band))]
    curves += [*record.latent, *record.warped]
    low, high = plotting.limits(fig, "yaxis", np.concatenate([*curves, record.held[1]]), refit)
    ends = np.array([record.latent[0, -1], record.warped[0, -1]])
    heights = plotting.apart(fig, ends, 0.07 * (high - low))
    layout = {f"annotations[{k}].y": height for k, height in enumerate(heights)}
    layout |= {"yaxis.range": [low, high], **plotting.marked(record.at)}
    (x, y), across = record.held, [record.x] * (len(curves) - 2)
    bands = [plotting.there_and_back(record.x)] * 2
    plotting.move(fig, {"x": [*bands, *across, x], "y": [*curves, y]}, layout)


@Picture
def parameters(record: Parameters) -> go.Figure:
    """One line for each parameter, with its name at its end and knots to drag."""
    x, nothing = record.x, np.zeros_like(record.x)
    looks = [(style.colour(p, MAX_PARAMS), style.dash(p)) for p in range(MAX_PARAMS)]
    lines = [plotting.line(x, nothing, "", colour, dash=dash, width=2) for colour, dash in looks]
    edge = {"color": "rgba(255, 255, 255, 0.9)", "width": 1.5}
    knots = plotting.dots("knots", None, 12, "a knot: drag it<br>%{x:.2f}, %{y:.2f}", line=edge)
    knots.update(meta=plotting.DRAGGED, cliponaxis=False)
    return plotting.figure(
        [*lines, knots],
        240,
        {"r": 50},
        xaxis=plotting.axis("input x", range=[x[0], x[-1]]),
        yaxis=plotting.axis("parameters", nticks=5),
        annotations=[
            *(plotting.label("", colour, x=x[-1], y=0.0, xshift=12) for colour, _ in looks),
            plotting.heading("parameters θ(x) of the flow"),
        ],
        shapes=[plotting.mark(record.at)],
    )


@parameters.updater
def _update_parameters(fig: go.Figure, record: Parameters, refit: bool = False) -> None:
    P = len(record.names)
    low, high = plotting.limits(fig, "yaxis", record.values, refit)
    heights = plotting.apart(fig, record.values[-1], min(0.13, 1.0 / P) * (high - low))
    unused = MAX_PARAMS - P
    nothing = np.zeros(len(record.x))
    place, height = record.knots
    colours = [style.colour(p, MAX_PARAMS) for p in range(P) for _ in range(len(place) // P)]
    traces = {
        "x": [*[record.x] * MAX_PARAMS, place],
        "y": [*record.values.T, *[nothing] * unused, height],
        "name": [*record.names, *[""] * unused, "knots"],
        "visible": [True] * P + [False] * unused + [True],
        "marker.color": [*[None] * MAX_PARAMS, colours],
    }
    layout: dict[str, Any] = {"yaxis.range": [low, high], **plotting.marked(record.at)}
    for p in range(MAX_PARAMS):
        layout[f"annotations[{p}].visible"] = p < P
    for p in range(P):
        layout |= {f"annotations[{p}].y": heights[p], f"annotations[{p}].text": record.names[p]}
    plotting.move(fig, traces, layout)


@Picture
def flow_map(record: Marginal) -> go.Figure:
    """g = G(f₀), |dG/df₀| and f₀ = G⁻¹(g): the inverse is the map with its axes swapped."""
    lines = (
        ("no change, g = f₀", style.NEUTRAL, {"dash": "dot", "width": 1.5}),
        ("map G(f₀)", WARPED, {"width": 3.5}),
        ("slope |dG/df₀|", SLOPE, {"dash": "dashdot"}),
        ("inverse G⁻¹", INVERSE, {"dash": "dash"}),
    )
    return plotting.figure(
        [plotting.line(record.f, record.f, name, colour, **look) for name, colour, look in lines],
        330,
        {"r": 20, "t": 50},
        xaxis=plotting.axis("f₀ (inverse: g)", range=[record.f[0], record.f[-1]]),
        yaxis=plotting.axis("g = G(f₀) (inverse: f₀)"),
    )


@flow_map.updater
def _update_flow_map(fig: go.Figure, record: Marginal, refit: bool = False) -> None:
    f, g = record.f, record.g
    names = (("map G", WARPED), ("– · – slope", SLOPE), ("– – inverse", INVERSE))
    legend = ", ".join(plotting.coloured(name, colour) for name, colour in names)
    title = plotting.heading_text(f"the flow at x = {record.at:.2f}", legend)
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", f, refit),
        "yaxis.range": plotting.limits(fig, "yaxis", g, refit),
        "annotations[0].text": title,
    }
    plotting.move(fig, {"x": [f, f, f, g], "y": [f, g, record.slope, f]}, layout)


@Picture
def density(record: Marginal) -> go.Figure:
    """Densities of f₀(x) and of f(x)."""
    f, thick = record.f, {"width": style.HERO_WIDTH}
    fill = {"width": 3.5, "fill": "tozeroy", "fillcolor": plotting.translucent(WARPED)}
    return plotting.figure(
        [
            plotting.line(f, f, "latent f₀(x)", style.NEUTRAL, **thick),
            plotting.line(f, f, "warped f(x)", WARPED, **fill),
        ],
        330,
        {"r": 20, "t": 50},
        xaxis=plotting.axis("value of the process"),
        yaxis=plotting.axis("density", range=[0.0, 1.0]),
    )


@density.updater
def _update_density(fig: go.Figure, record: Marginal, refit: bool = False) -> None:
    values, densities = (record.f, record.g), (record.base_density, record.warped_density)
    top = min(MAX_DENSITY_SHOWN, float(np.max(densities)))
    legend = f"latent, {plotting.coloured('warped', WARPED)}"
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", np.concatenate(values), refit),
        "yaxis.range": plotting.limits(fig, "yaxis", np.array([0.0, top]), refit),
        "annotations[0].text": plotting.heading_text(f"density at x = {record.at:.2f}", legend),
    }
    plotting.move(fig, {"x": values, "y": densities}, layout)


@Picture
def matrix(record: Matrix) -> go.Figure:
    """A heat map with x′ downwards, as a matrix is written."""
    hover = f"{record.name}<br>x = %{{x:.2f}}, x′ = %{{y:.2f}}<br>%{{z:.3f}}"
    return plotting.figure(
        [plotting.heatmap(record.name, hover, x=record.x, y=record.x)],
        330,
        {"l": 52, "r": plotting.BAR_MARGIN, "b": 44},
        xaxis=plotting.axis("x", constrain="domain"),
        yaxis=plotting.axis("x′", autorange="reversed", **plotting.SQUARE),
    )


@matrix.updater
def _update_matrix(fig: go.Figure, record: Matrix, refit: bool = False) -> None:
    z, top = record.values, plotting.colour_limit(fig.data[0], record.values, refit)
    traces: dict[str, Any] = {"z": [plotting.rounded(z)], "zmin": [-top], "zmax": [top]}
    plotting.move(fig, traces, {"annotations[0].text": plotting.heading_text(record.name)})


@Picture
def two_points(record: TwoPoints) -> go.Figure:
    """A dot for each draw, and the curve that holds 95 % of them."""
    return plotting.figure(
        [
            plotting.dots("draws", WARPED, 5, "a draw<br>%{x:.2f}, %{y:.2f}", opacity=0.5),
            plotting.line(record.contour[0], record.contour[1], "holds 95 %", style.NEUTRAL),
        ],
        460,
        {"r": 20},
        width=480,  # nearly square, so that a round cloud looks round
        xaxis=plotting.axis(nticks=7),
        yaxis=plotting.axis(nticks=7),
    )


@two_points.updater
def _update_two_points(fig: go.Figure, record: TwoPoints, refit: bool = False) -> None:
    (u, v), (a, b) = record.draws, record.contour
    first, second = (f"{record.name}({plotting.signed(x)})" for x in record.x)
    correlation = plotting.signed(record.correlation)
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", np.concatenate([u, a]), refit),
        "yaxis.range": plotting.limits(fig, "yaxis", np.concatenate([v, b]), refit),
        "xaxis.title.text": f"value {first}",
        "yaxis.title.text": f"value {second}",
        "annotations[0].text": (
            f"<b>{first} and {second}</b>, correlation of the draws {correlation}"
        ),
    }
    plotting.move(fig, {"x": [u, a], "y": [v, b]}, layout)
