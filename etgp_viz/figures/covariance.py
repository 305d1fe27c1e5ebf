"""Pictures of covariances between classes: by formula, by Monte Carlo, and how they differ."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import flow, plotting, style
from etgp_viz.figures.plotting import Picture
from etgp_viz.figures.several_latents import latent_ties

if TYPE_CHECKING:
    from etgp_viz.records.covariance_check import (
        Comparison,
        Convergence,
        EqualInputs,
        Spectrum,
        Terms,
        TwoClasses,
        Variances,
    )
    from etgp_viz.records.flow import Matrix

__all__ = [
    *("analytic", "convergence", "difference", "equal_inputs", "estimate", "latent_matrix"),
    "latent_ties",
    *("series_terms", "spectrum", "two_classes", "variances"),
]

# Height and margins of the heat maps, which are shown side by side.
MAP_HEIGHT = 340
MAP_MARGIN = {"l": 52, "r": plotting.BAR_MARGIN, "t": 46, "b": 44}
HEIGHT, MARGIN = 320, {"r": 20, "t": 50}
# From here on draws of two classes lie on a straight line, as far as one can see.
STRAIGHT = 0.9995
# End of the colour scale of differences, in standard errors.
MAX_DIFFERENCE = 4.0
# Pairs of classes have colours that no class has.
PAIR_COLOURS = style.PALETTE[4:6] + style.PALETTE[7:8]
# End of the axis of draws: the largest sample that the explorer offers.
MAX_DRAWS = 20_000
# What the series leaves out is not drawn below this share.
MIN_LEFT_OUT = 1e-3
# Smaller eigenvalues, and smaller shares of the variance, are drawn at these values.
MIN_EIGENVALUE, MIN_TERM = 1e-16, 1e-8


@Picture
def latent_matrix(record: Matrix) -> go.Figure:
    """A `matrix` with the frame of the heat maps that it is compared with."""
    return flow.matrix.blank(record).update_layout(height=MAP_HEIGHT, margin=MAP_MARGIN)


latent_matrix.updater(flow.matrix.update)


def _blank_comparison(part: str, record: Comparison) -> go.Figure:
    """One of the three heat maps of a comparison, the rows downwards, as a matrix is written."""
    ends: dict[str, Any] = {}
    if part == "difference":
        ticks = np.linspace(-MAX_DIFFERENCE, MAX_DIFFERENCE, 5)
        ends = {"zmin": -MAX_DIFFERENCE, "zmax": MAX_DIFFERENCE}
        ends["colorbar"] = {**style.COLOUR_BAR, "tickvals": ticks}
    look = {"type": "category", "tickmode": "array", "showgrid": False}
    border = {"color": style.NEUTRAL, "width": 1}
    return plotting.figure(
        [plotting.heatmap(part, "%{y} and %{x}<br>%{z:.3f}", **ends)],
        MAP_HEIGHT,
        MAP_MARGIN,
        xaxis={**look, "tickangle": 0, "constrain": "domain"},
        yaxis={**look, **plotting.SQUARE},
        shapes=[{"type": "path", "path": "M0,0", "line": border, "visible": False}],
    )


def _update_comparison(part: str, fig: go.Figure, record: Comparison, refit: bool = False) -> None:
    """Recolour; axes and their names change only with the classes.

    `analytic` and `estimate` have one colour scale; a `difference` is in standard errors, and its
    colours always mean the same.
    """
    trace = fig.data[0]
    rows, columns = _entry_names(record.rows, record.x), _entry_names(record.columns, record.x)
    layout: dict[str, Any] = {"annotations[0].text": _comparison_heading(part, record)}
    if part == "difference":
        changes: dict[str, Any] = {"z": [np.round(record.difference, 2)]}
    else:
        both = np.stack([record.analytic, record.estimate])
        top = plotting.colour_limit(trace, both, refit)
        changes = {"z": [plotting.rounded(getattr(record, part))], "zmin": [-top], "zmax": [top]}
    if (list(trace.x or ()), list(trace.y or ())) != (columns, rows):
        meta = plotting.rows_of_classes(record.rows, record.columns, **_names(record.rows))
        changes |= {"x": [columns], "y": [rows], "meta": [meta]}
        layout |= _class_axis("xaxis", record.columns, record.x, "x′", columns)
        layout |= _class_axis("yaxis", record.rows, record.x, "x", rows)
        layout["xaxis.range"] = [-0.5, len(columns) - 0.5]
        layout["yaxis.range"] = [len(rows) - 0.5, -0.5]
        layout["shapes[0].path"] = _block_borders(len(record.rows), len(record.x))
        layout["shapes[0].visible"] = len(record.rows) > 1
    plotting.move(fig, changes, layout)


analytic, estimate, difference = (
    Picture(partial(_blank_comparison, part), partial(_update_comparison, part))
    for part in ("analytic", "estimate", "difference")
)
# The three heat maps under their names in version 0.1.
comparison = SimpleNamespace(ANALYTIC=analytic, ESTIMATE=estimate, DIFFERENCE=difference)


def _names(classes: tuple[int, ...]) -> dict[str, Any]:
    """Names and colours for a legend, if all classes are there."""
    C = len(classes)
    if C == 1:
        return {}
    names, colours = zip(*((style.process(c), style.colour(c, C)) for c in range(C)), strict=True)
    return {"names": list(names), "colours": list(colours)}


def _comparison_heading(part: str, record: Comparison) -> str:
    if part == "analytic":
        return plotting.heading_text("by formula", covariance_name(record))
    if part == "estimate":
        return plotting.heading_text("by Monte Carlo", f"{record.num_draws} draws")
    share = f"{record.share:.1%} within ±{record.tolerance:.0f}"
    return plotting.heading_text("difference", f"{share} SE")


def covariance_name(record: Comparison) -> str:
    """The covariance that is compared, such as Cov[f¹(x), f²(x′)]."""
    if len(record.rows) > 1:
        return "covariance of all classes"
    return f"Cov[{style.process(record.rows[0])}(x), {style.process(record.columns[0])}(x′)]"


def _entry_names(classes: tuple[int, ...], x: np.ndarray) -> list[str]:
    """The name of each row or column, such as f²(−0.4)."""
    values = [plotting.signed(value, 1) for value in x]
    return [f"{style.process(c)}({value})" for c in classes for value in values]


def _class_axis(
    axis: str, classes: tuple[int, ...], x: np.ndarray, symbol: str, names: list[str]
) -> dict[str, Any]:
    """Ticks at a few inputs of one class, or one tick for each of several classes."""
    N = len(x)
    if len(classes) > 1:
        ticks = [names[k * N + N // 2] for k in range(len(classes))]
        texts = [style.process(c) for c in classes]
        title = f"class, and {symbol} within it"
    else:
        places = np.linspace(0, N - 1, 7).round().astype(int)
        ticks = [names[n] for n in places]
        texts = [plotting.signed(x[n], 0) for n in places]
        title = f"{symbol} of {style.process(classes[0])}"
    return {f"{axis}.tickvals": ticks, f"{axis}.ticktext": texts, f"{axis}.title.text": title}


def _block_borders(blocks: int, N: int) -> str:
    """Lines between the blocks, as one path."""
    end = blocks * N - 0.5
    places = [k * N - 0.5 for k in range(1, blocks)]
    return " ".join(f"M{p},-0.5 L{p},{end} M-0.5,{p} L{end},{p}" for p in places) or "M0,0"


@Picture
def variances(record: Variances) -> go.Figure:
    """A line for f₀ and for each class; each dot carries ± 2 standard errors."""
    x, C = record.x, len(record.analytic)
    traces = [plotting.line(x, x, "latent f₀", style.NEUTRAL, width=style.HERO_WIDTH)]
    for c in range(C):
        look = {"dash": style.dash(c), "legendgroup": str(c)}
        traces.append(plotting.line(x, x, style.process(c), style.colour(c, C), **look))
    for c in range(C):
        traces.append(
            go.Scatter(
                x=x, y=x, name=f"{style.process(c)}, Monte Carlo", mode="markers",
                marker={"color": style.colour(c, C), "size": 5, "symbol": c},
                error_y={"array": x, "thickness": 1.2, "width": 0},
                legendgroup=str(c), hoverinfo="skip",
            )
        )  # fmt: skip
    names = ["f₀", *(style.process(c) for c in range(C))]
    colours = [style.NEUTRAL, *(style.colour(c, C) for c in range(C))]
    title = plotting.heading("variance", "lines: formula; dots: Monte Carlo ± 2 SE")
    labels = plotting.names(x[-1] + 0.05, names, colours).update(meta={"classes": [-1, *range(C)]})
    return plotting.figure(
        [*traces, labels],
        290,
        {"r": 50, "t": 48},
        xaxis=plotting.axis("input x", range=[x[0] - 0.05, x[-1] + 0.05]),
        yaxis=plotting.axis("variance Var[fᶜ(x)]", nticks=6),
        annotations=[title],
        shapes=[plotting.mark(record.at)],
    )


@variances.updater
def _update_variances(fig: go.Figure, record: Variances, refit: bool = False) -> None:
    C = len(record.analytic)
    lines = np.concatenate([record.latent[None], record.analytic])
    reach = 2.0 * record.standard_error
    everything = np.concatenate([lines, record.estimate + reach, np.zeros_like(lines)])
    low, high = plotting.limits(fig, "yaxis", everything, refit)
    heights = plotting.apart(fig, lines[:, -1], 0.1 * (high - low), (low, high))
    changes = {
        "y": [*lines, *record.estimate, heights],
        "error_y.array": [*[None] * (1 + C), *reach, None],
    }
    plotting.move(fig, changes, {"yaxis.range": [low, high], **plotting.marked(record.at)})


@Picture
def equal_inputs(record: EqualInputs) -> go.Figure:
    """One line for each pair of classes, from −1 to 1."""
    x = record.x
    names = [f"{style.process(c)}, {style.process(d)}" for c, d in record.pairs]
    colours = [PAIR_COLOURS[k % len(PAIR_COLOURS)] for k in range(len(names))]
    lines = [
        plotting.line(x, x, name, colour, dash=style.dash(k), width=3)
        for k, (name, colour) in enumerate(zip(names, colours, strict=True))
    ]
    ticks = {"tickvals": [-1, -0.5, 0, 0.5, 1], "ticktext": ["−1", "−½", "0", "½", "1"]}
    title = plotting.heading("correlation at one input x", "±1 if flows of one latent are linear")
    return plotting.figure(
        [*lines, plotting.names(x[-1] + 0.05, names, colours)],
        240,
        {"r": 50, "t": 48},
        xaxis=plotting.axis("input x", range=[x[0] - 0.05, x[-1] + 0.05]),
        yaxis=plotting.axis("correlation", range=[-1.3, 1.3], **ticks),
        annotations=[title],
        shapes=[plotting.mark(record.at)],
    )


@equal_inputs.updater
def _update_equal_inputs(fig: go.Figure, record: EqualInputs, refit: bool = False) -> None:
    """Move the lines. They break where there is no correlation, and where it jumps."""
    x, y, ends = [], [], []
    for values in np.round(record.correlation, 6):
        exists = np.isfinite(values)
        here, there = _with_gaps(record.x, values)
        x.append(here)
        y.append(there)
        ends.append(values[exists][-1] if exists.any() else 0.0)
    heights = plotting.apart(fig, np.array(ends), 0.26, (-1.3, 1.3))
    places = np.full(len(ends), record.x[-1] + 0.05)
    plotting.move(fig, {"x": [*x, places], "y": [*y, heights]}, plotting.marked(record.at))


def _with_gaps(x: np.ndarray, values: np.ndarray) -> tuple[Any, Any]:
    """A line that breaks where values are missing, or jump from one end of the scale to the other.

    A line without a gap is two arrays, which move quickly; one with a gap is two lists with None.
    """
    before, after = values[:-1], values[1:]
    jumps = (np.abs(before) > STRAIGHT) & (np.abs(after) > STRAIGHT) & (before * after < 0.0)
    if np.all(np.isfinite(values)) and not np.any(jumps):
        return x, values
    places: list[float | None] = []
    heights: list[float | None] = []
    for k, value in enumerate(values):
        missing = not np.isfinite(value)
        places.append(float(x[k]))
        heights.append(None if missing else float(value))
        if k < len(jumps) and jumps[k]:
            places.append(float(x[k] + x[k + 1]) / 2.0)
            heights.append(None)
    return places, heights


@Picture
def two_classes(record: TwoClasses) -> go.Figure:
    """A dot for each joint draw, and the curve on which all of them lie, if there is one."""
    u, v = record.values
    return plotting.figure(
        [
            plotting.line(u, v, "curve", style.NEUTRAL, width=1.2),
            plotting.dots("draws", style.PALETTE[4], 5, "%{x:.2f}, %{y:.2f}", opacity=0.6),
        ],
        HEIGHT,
        MARGIN,
        xaxis=plotting.axis(nticks=6),
        yaxis=plotting.axis(nticks=6),
    )


@two_classes.updater
def _update_two_classes(fig: go.Figure, record: TwoClasses, refit: bool = False) -> None:
    u, v = record.values
    title = plotting.heading_text(
        f"draws at x = {plotting.signed(record.at, 1)}", _correlation_words(record)
    )
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", u, refit),
        "yaxis.range": plotting.limits(fig, "yaxis", v, refit),
        "xaxis.title.text": f"{style.process(record.c)}(x)",
        "yaxis.title.text": f"{style.process(record.d)}(x)",
        "annotations[0].text": title,
    }
    traces = {"x": [u, u], "y": [v, v], "visible": [record.is_curve, True]}
    plotting.move(fig, traces, layout)


def _correlation_words(record: TwoClasses) -> str:
    """The correlation and what the draws lie on; there is none where a class does not vary."""
    if not np.isfinite(record.correlation):
        return "no correlation: a class does not vary here"
    straight = abs(record.correlation) > STRAIGHT
    curve = "yet on one curve" if record.is_curve else "and a cloud"
    where = "on a straight line" if straight else curve
    return f"correlation {plotting.signed(record.correlation)}, {where}"


ERROR, LEFT_OUT = style.PALETTE[0], style.PALETTE[3]


@Picture
def convergence(record: Convergence) -> go.Figure:
    """The error, the 1/√m line that it should follow, and what the series leaves out."""
    m = record.sizes
    lines = (
        ("expected, ∝ 1/√m", style.NEUTRAL, {"dash": "dash", "width": 2}),
        ("error", ERROR, {"width": 3}),
        ("left out by the series (estimate)", LEFT_OUT, {"dash": "dot", "width": 2.5}),
    )
    shares = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    return plotting.figure(
        [
            plotting.line(m, m, name, colour, **look,
                          hovertemplate=f"{name}<br>%{{x}} draws: %{{y:.1%}}<extra></extra>")
            for name, colour, look in lines
        ],
        HEIGHT,
        MARGIN,
        xaxis=plotting.axis(
            "draws m, out of the same S",
            type="log",
            range=[np.log10(m[0]) - 0.1, np.log10(MAX_DRAWS) + 0.1],
            tickvals=[100, 1000, 10000],
            ticktext=["100", "1000", "10 000"],
        ),
        yaxis=plotting.axis(
            "error, share of the covariance",
            type="log",
            tickvals=shares,
            ticktext=[f"{100 * share:g} %" for share in shares],
        ),
    )  # fmt: skip


@convergence.updater
def _update_convergence(fig: go.Figure, record: Convergence, refit: bool = False) -> None:
    is_cut = record.left_out >= MIN_LEFT_OUT
    level = np.full(len(record.sizes), max(record.left_out, MIN_LEFT_OUT))
    curves = [np.maximum(curve, 1e-12) for curve in (record.expected, record.error, level)]
    names = [plotting.coloured("error", ERROR), "– – expected, like 1/√m"]
    if is_cut:
        names = [names[0], "– – expected", plotting.coloured("··· left out", LEFT_OUT)]
    heights = np.concatenate(curves if is_cut else curves[:2])
    layout = {
        "yaxis.range": plotting.limits(fig, "yaxis", np.log10(np.maximum(heights, 1e-4)), refit),
        "annotations[0].text": plotting.heading_text("error against draws", ", ".join(names)),
    }
    visible = [True, True, is_cut]
    plotting.move(fig, {"x": [record.sizes] * 3, "y": curves, "visible": visible}, layout)


SHARED, INDEPENDENT = style.PALETTE[0], style.PALETTE[1]


@Picture
def spectrum(record: Spectrum) -> go.Figure:
    """Dots for the C·N eigenvalues, beside those of independent classes."""
    order = np.arange(1, len(record.joint) + 1)
    hover = "%{x}: %{y:.1e}"
    dashed = {"dash": "dash", "hovertemplate": f"{hover}<extra></extra>"}
    at_n = {"text": "N", "yref": "paper", "y": 1.0, "x": 0, "showarrow": False}
    return plotting.figure(
        [
            plotting.line(order, order, "independent", INDEPENDENT, **dashed),
            plotting.dots("sharing f₀", SHARED, 5, hover),
        ],
        HEIGHT,
        MARGIN,
        xaxis=plotting.axis("number of the eigenvalue", range=[0, len(order) + 1]),
        yaxis=plotting.axis(
            "share of the total variance",
            type="log",
            range=[np.log10(MIN_EIGENVALUE) - 0.7, 0.7],
            tickvals=[MIN_EIGENVALUE, 1e-12, 1e-8, 1e-4, 1.0],
            ticktext=["≤10⁻¹⁶", "10⁻¹²", "10⁻⁸", "10⁻⁴", "1"],
        ),
        annotations=[plotting.heading(), {**at_n, "xanchor": "left", "yanchor": "top"}],
        shapes=[plotting.mark(0.0)],
    )


@spectrum.updater
def _update_spectrum(fig: go.Figure, record: Spectrum, refit: bool = False) -> None:
    order = np.arange(1, len(record.joint) + 1)
    names = (("• sharing f₀", SHARED), ("– – independent", INDEPENDENT))
    legend = ", ".join(plotting.coloured(name, colour) for name, colour in names)
    end = record.num_inputs + 0.5
    title = f"eigenvalues: {record.rank} of {len(order)} not zero"
    layout = {
        "annotations[0].text": plotting.heading_text(title, legend),
        "annotations[1].x": end,
        "annotations[1].text": f" N = {record.num_inputs}",
        **plotting.marked(end),
    }
    values = [np.maximum(values, MIN_EIGENVALUE) for values in (record.independent, record.joint)]
    plotting.move(fig, {"x": [order, order], "y": values}, layout)


@Picture
def series_terms(record: Terms) -> go.Figure:
    """Dots for each class; a mark where the sum ends."""
    C, order = record.share.shape
    n = np.arange(1, order + 1)
    traces = [
        plotting.dots(style.process(c), style.colour(c, C), 7, "n = %{x}: %{y:.2%}", symbol=c)
        for c in range(C)
    ]
    return plotting.figure(
        [trace.update(x=n, y=n, legendgroup=str(c)) for c, trace in enumerate(traces)],
        HEIGHT,
        MARGIN,
        xaxis=plotting.axis("term n of the series", range=[0.0, order + 1]),
        yaxis=plotting.axis(
            "share of the variance",
            type="log",
            range=[np.log10(MIN_TERM) - 0.4, 0.4],
            tickvals=[MIN_TERM, 1e-6, 1e-4, 1e-2, 1.0],
            ticktext=["≤10⁻⁸", "10⁻⁶", "10⁻⁴", "1 %", "100 %"],
        ),
        shapes=[plotting.mark(0.0)],
    )


@series_terms.updater
def _update_series_terms(fig: go.Figure, record: Terms, refit: bool = False) -> None:
    C = len(record.share)
    names = ", ".join(
        plotting.coloured(f"{'●■◆'[c % 3]} {style.process(c)}", style.colour(c, C))
        for c in range(C)
    )
    worst = float(np.max(record.left_out))
    rest = "nothing left out" if worst < 1e-6 else f"left out: at most {worst:.2g} of the variance"
    layout = {
        "annotations[0].text": f"<b>terms of the series</b>, {names}<br>{rest}",
        **plotting.marked(record.num_terms + 0.5),
    }
    plotting.move(fig, {"y": [np.maximum(share, MIN_TERM) for share in record.share]}, layout)
