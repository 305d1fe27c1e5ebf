"""Pictures of what an ETGP has learnt from data with one or two inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, regions, style
from etgp_viz.figures.far_away import concentration, return_to_prior
from etgp_viz.figures.plotting import Picture

if TYPE_CHECKING:
    from etgp_viz.records.inference import Classes, Contribution, Latent, NodeErrors, Warped, Window
    from etgp_viz.records.live_training import Curve, Trainings

__all__ = [
    *("class_regions", "contribution", "elbo", "latent_posterior", "node_errors", "optimisers"),
    "concentration",
    "return_to_prior",
    "warped_posterior",
]

COLOURS = style.PALETTE  # of up to eight classes
MAX_CLASSES = len(COLOURS)
# Each class has its own marker, drawn by plotly and (much like it) written in headings.
MARKERS = (
    *("circle", "square", "diamond", "triangle-up"),
    *("triangle-down", "cross", "x", "star"),
)
GLYPHS = "●■◆▲▼✚✖★"
# With one input the data of each class have their own row above the probabilities.
ROW = 0.07
# Crosses in this colour are visible on every colour of the map.
CROSS, HALO = "#222222", "rgba(255, 255, 255, 0.75)"
# Lines of the ELBO and its parts are grey, so that they are not mistaken for classes: name in
# the legend, label at the end of the line, look.
ELBO_LINES = (
    ("ELBO", "ELBO", {"width": style.HERO_WIDTH - 1}),
    ("expected log-likelihood", "E[log p]", {"dash": "dash"}),
    ("KL[q(u₀) ‖ p(u₀)]", "KL", {"dash": "dot"}),
)
FIRST_STEPS = 50
# What f₀ may be set to, and the smallest range of the axis that shows what is lost.
SETTINGS, LOST = ("f₀ = 0", "f₀ = its mean"), (0.0, 0.2)
QUADRATURE, MONTE_CARLO = style.PALETTE[0], style.PALETTE[3]
# Smaller errors are rounding errors.
MIN_ERROR = 1e-12
NODE_WORDS = "error of E[log p], rms over rows"

NOTHING = np.empty(0)
PANEL = 400, {"r": 15, "t": 62}  # height and margins


# What the pictures of this story share -----------------------------------------------------------


def _window_axes(window: Window) -> dict[str, Any]:
    """Axes that span a window: with two inputs both have the same scale."""
    flat = window.y is not None
    layout = {
        "xaxis.title.text": "input x₁" if flat else "input x",
        "xaxis.range": _ends(window.x),
        "xaxis.constrain": "domain",
        "yaxis.scaleanchor": "x" if flat else False,
        "yaxis.constrain": "domain",
    }
    if window.y is not None:
        layout |= {"yaxis.title.text": "input x₂", "yaxis.range": _ends(window.y)}
        layout |= {"yaxis.tickmode": "auto"}
    return layout


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values[0]), float(values[-1])


def _path(colour: str, width: float) -> dict[str, Any]:
    """Lines over the map, still without a path."""
    look = {"color": colour, "width": width}
    return {"type": "path", "path": "M0,0", "line": look, "visible": False}


@Picture
def class_regions(record: Classes) -> go.Figure:
    """Traces for one input and for two; `update` shows those that the record needs.

    The map is an image, which a browser draws faster than a heat map, and smoothly. An invisible
    heat map over it says what is under the mouse.
    """
    hover = "class %{text}: probability %{z:.2f}<extra></extra>"
    numbers = {"z": [[0.0]], "hovertemplate": hover, "showscale": False, "opacity": 0.0}
    traces: list[Any] = [go.Heatmap(name="probability of the likeliest class", **numbers)]
    for c in range(MAX_CLASSES):
        hover = f"class {c + 1}<br>x = %{{x:.2f}}, probability %{{y:.2f}}<extra></extra>"
        look = {"legendgroup": str(c), "stackgroup": "p", "hovertemplate": hover, "width": 0.8}
        look["fillcolor"] = plotting.translucent(COLOURS[c], 0.55)
        name = f"probability of class {c + 1}"
        traces.append(plotting.line(NOTHING, NOTHING, name, COLOURS[c], **look))
    for c in range(MAX_CLASSES):
        edge = {"color": "#ffffff", "width": 1}
        look = {"symbol": MARKERS[c], "line": edge}
        points = plotting.dots(f"data of class {c + 1}", COLOURS[c], 7, f"class {c + 1}", **look)
        traces.append(points.update(legendgroup=str(c)))
    image = {"xref": "x", "yref": "y", "sizing": "stretch", "layer": "below", "visible": False}
    # Trails and crosses of the inducing points: dark lines with a light edge, on any colour.
    paths = [_path(HALO, 3.0), _path(CROSS, 1.0), _path(HALO, 5.0), _path(CROSS, 2.0)]
    return plotting.figure(traces, *PANEL, images=[image], shapes=paths)


@class_regions.updater
def _update_class_regions(fig: go.Figure, record: Classes, refit: bool = False) -> None:
    """Move areas, map and data; the axes span the window."""
    C, window = len(record.probabilities), record.window
    flat = window.y is not None
    layout = _window_axes(window)
    layout["annotations[0].text"] = _class_heading(record)
    layout |= {f"shapes[{k}].visible": flat for k in range(4)} | {"images[0].visible": flat}
    if flat:
        image = {**regions.place(window), "source": regions.png_address(regions.paint(record))}
        layout |= {f"images[0].{name}": value for name, value in image.items()}
        trail, crosses = regions.trails(record.trail, record.Z), regions.crosses(record.Z, window)
        for k, path in enumerate((trail, trail, crosses, crosses)):
            layout[f"shapes[{k}].path"] = path
    else:
        layout |= _probability_axis(C)
    areas = [not flat and c < C for c in range(MAX_CLASSES)]
    data = [record.X[record.labels == c] for c in range(MAX_CLASSES)]
    rows = [X[:, 1] if flat else np.full(len(X), 1.0 + ROW * (c + 1)) for c, X in enumerate(data)]
    curves = [record.probabilities[c] if shown else NOTHING for c, shown in enumerate(areas)]
    traces: dict[str, list[Any]] = {
        "x": [*(window.x if shown else NOTHING for shown in areas), *(X[:, 0] for X in data)],
        "y": [*curves, *rows],
        "visible": [*areas, *(c < C for c in range(MAX_CLASSES))],
    }
    if not record.is_glance:  # what the mouse finds can wait
        texts = (record.winner + 1).astype(str).tolist() if flat else None
        z = np.round(np.max(record.probabilities, axis=0), 3) if flat else [[0.0]]
        ends = (window.x, window.y) if flat else ([0.0], [0.0])
        under: dict[str, list[Any]] = {"x": [ends[0]], "y": [ends[1]], "z": [z], "text": [texts]}
        plotting.move(fig, {**under, "visible": [flat]})
    plotting.move(fig, traces, layout, first=1)


def _probability_axis(C: int) -> dict[str, Any]:
    """From 0 to 1, and above it a row for the data of each class."""
    rows = [1.0 + ROW * (c + 1) for c in range(C)]
    return {
        "yaxis.title.text": "probability",
        "yaxis.range": (0.0, rows[-1] + ROW / 2),
        "yaxis.tickmode": "array",
        "yaxis.tickvals": [0.0, 0.5, 1.0, *rows],
        "yaxis.ticktext": ["0", "0.5", "1", *(f"class {c + 1}" for c in range(C))],
    }


def _class_heading(record: Classes) -> str:
    """The kind of prediction, and the colour and marker of each class."""
    C, draws = len(record.probabilities), record.samples
    kind = f"Bayesian average (BA), S = {draws}" if draws else "point estimate (PE)"
    if record.window.y is None:
        return plotting.heading_text(kind, "class probabilities; above, the data")
    classes = " ".join(plotting.coloured(f"{GLYPHS[c]} {c + 1}", COLOURS[c]) for c in range(C))
    return plotting.heading_text(kind, f"class {classes}; pale = unsure")


@Picture
def latent_posterior(record: Latent) -> go.Figure:
    """Traces for one input and for two; `update` shows those that the record needs."""
    nothing, square = np.zeros(2), np.zeros((2, 2))
    thin = {"width": 1.2, "dash": "dot"}
    return plotting.figure(
        [
            plotting.heatmap("map of the mean of q(f₀)", "mean of q(f₀)<br>%{z:.2f}", z=square,
                             visible=False),
            plotting.band(nothing, square, "q(f₀), mean ± 2 sd", style.NEUTRAL),
            *(
                plotting.line(nothing, nothing, f"prior of f₀, {sign}2 sd", style.NEUTRAL, **thin)
                for sign in "−+"
            ),
            plotting.line(nothing, nothing, "mean of q(f₀)", style.NEUTRAL, width=style.HERO_WIDTH),
            plotting.dots("inducing points Z", None, 9, "inducing point<br>%{x:.2f}"),
        ],
        *PANEL,
        shapes=[_cut_line(record.cut)],
    )  # fmt: skip


@latent_posterior.updater
def _update_latent_posterior(fig: go.Figure, record: Latent, refit: bool = False) -> None:
    """Move the line or recolour the map, and move the inducing points."""
    window, Z = record.window, record.Z
    flat = window.y is not None
    limits = record.mean + 2.0 * record.deviation * np.array([[-1.0], [1.0]]) if not flat else None
    layout: dict[str, Any] = _window_axes(window)
    layout |= {f"shapes[0].{name}": value for name, value in _cut_line(record.cut).items()}
    if limits is None:
        top = plotting.colour_limit(fig.data[0], record.mean, refit)
        colours: dict[str, list[Any]] = {
            "x": [window.x],
            "y": [window.y],
            "z": [plotting.rounded(record.mean)],
        }
        plotting.move(fig, {**colours, "zmin": [-top], "zmax": [top], "visible": [True]})
        curves, look = [NOTHING] * 4, ("cross-thin-open", 9, CROSS)
        places = Z[:, 1]
        title = ("mean of q(f₀), the latent process", "+ inducing points; dotted: the cut")
    else:
        plotting.move(fig, {"visible": [False]})
        name = "latent f₀(x)"
        # Until now it may have been the axis of a second input.
        refit = refit or fig.layout.yaxis.title.text != name
        reach = np.append(limits, 2.0 * np.max(record.prior) * np.array([-1.0, 1.0]))
        low, high = plotting.limits(fig, "yaxis", reach, refit)
        layout |= {"yaxis.title.text": name, "yaxis.range": [low, high], "yaxis.tickmode": "auto"}
        prior = 2.0 * record.prior
        curves, look = (
            [plotting.outline(limits), -prior, prior, record.mean],
            ("line-ns-open", 16, style.NEUTRAL),
        )
        places = np.full(len(Z), low + 0.03 * (high - low))
        title = ("latent q(f₀): mean ± 2 sd", "| inducing points; dotted: prior")
    layout["annotations[0].text"] = plotting.heading_text(*title)
    there, x = (NOTHING, NOTHING) if flat else (plotting.there_and_back(window.x), window.x)
    traces: dict[str, list[Any]] = {
        "x": [there, x, x, x, Z[:, 0]],
        "y": [*curves, places],
        "visible": [*[not flat] * 4, True],
    }
    plotting.move(fig, traces, layout, first=1)
    symbol, size, colour = look
    mark: dict[str, list[Any]] = {
        "marker.symbol": [symbol],
        "marker.size": [size],
        "marker.color": [colour],
    }
    plotting.move(fig, {**mark, "marker.line.width": [2]}, first=5)


def _cut_line(cut: float | None) -> dict[str, Any]:
    """A dotted line at the second input for which the warped processes are shown."""
    height = 0.0 if cut is None else cut
    look = {"color": style.NEUTRAL, "width": 1.5, "dash": "dot"}
    place = {"xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height}
    return {"type": "line", "line": look, "visible": cut is not None, **place}


@Picture
def warped_posterior(record: Warped) -> go.Figure:
    """Bands below, lines above, a label at each line's end."""
    nothing, flat = np.zeros(2), np.zeros((2, 2))
    bands, lines = [], []
    for c in range(MAX_CLASSES):
        name, group = f"{style.process(c)}(x)", {"legendgroup": str(c)}
        bands.append(plotting.band(nothing, flat, f"{name}, central 95 %", COLOURS[c], **group))
        lines.append(plotting.line(nothing, nothing, name, COLOURS[c], dash=style.dash(c), **group))
    labels = [plotting.label(style.process(c), COLOURS[c]) for c in range(MAX_CLASSES)]
    return plotting.figure(
        [*bands, *lines],
        400,
        {"r": 40, "t": 62},
        yaxis=plotting.axis("warped process fᶜ"),
        annotations=[*labels, plotting.heading()],
    )


@warped_posterior.updater
def _update_warped_posterior(fig: go.Figure, record: Warped, refit: bool = False) -> None:
    """Move bands, lines and labels. The axis stays, unless a median would leave it."""
    C, x = len(record.median), record.x
    # Bands can be wide where there are no data: they may leave the frame, medians may not.
    reach = np.quantile(record.band, [0.02, 0.98])
    low, high = plotting.limits(fig, "yaxis", np.append(record.median, reach), refit)
    heights = plotting.apart(fig, record.median[:, -1], 0.1 * (high - low))
    shown = [c < C for c in range(MAX_CLASSES)]
    unused = [np.zeros(2)] * (MAX_CLASSES - C)
    bands = [plotting.outline(record.band[:, c]) for c in range(C)]
    traces = {
        "x": [*[plotting.there_and_back(x)] * C, *unused, *[x] * C, *unused],
        "y": [*bands, *unused, *record.median, *unused],
        "visible": [*shown, *shown],
    }
    at = "" if record.cut is None else f" at x₂ = {record.cut:.2f}"
    title = f"warped processes{at}", "median, central 95 % of fᶜ = Gᶜ(f₀)"
    layout: dict[str, Any] = {
        "xaxis.title.text": "input x" if record.cut is None else "input x₁, along the cut",
        "xaxis.range": _ends(x),
        "yaxis.range": [low, high],
        f"annotations[{MAX_CLASSES}].text": plotting.heading_text(*title),
    }
    for c in range(MAX_CLASSES):
        layout[f"annotations[{c}].visible"] = shown[c]
        if shown[c]:
            layout |= {f"annotations[{c}].x": float(x[-1]), f"annotations[{c}].y": heights[c]}
    plotting.move(fig, traces, layout)


@Picture
def elbo(record: Curve) -> go.Figure:
    """Three lines, a label at the end of each."""
    labels = [plotting.label(short, style.NEUTRAL) for _, short, _ in ELBO_LINES]
    higher = "higher is better; not a strict bound"
    title = plotting.heading("ELBO = E[log p] − KL − decay", higher)
    return plotting.figure(
        [
            plotting.line(NOTHING, NOTHING, name, style.NEUTRAL, **look)
            for name, _, look in ELBO_LINES
        ],
        340,
        {"r": 72, "t": 62},
        xaxis=plotting.axis("step", range=[0, FIRST_STEPS]),
        yaxis=plotting.axis("nats"),
        annotations=[*labels, title],
    )


@elbo.updater
def _update_elbo(fig: go.Figure, record: Curve, refit: bool = False) -> None:
    """Show the curves so far. The axes grow when the lines reach their ends."""
    curves = (record.elbo, record.expected, record.kl)
    begun = len(record.steps) > 0
    last = int(record.steps[-1]) if begun else 0
    end = FIRST_STEPS if refit or not begun else fig.layout.xaxis.range[1]
    while end < last:
        end *= 2
    layout: dict[str, Any] = {"xaxis.range": [0, end]}
    layout |= {f"annotations[{k}].visible": begun for k in range(len(curves))}
    if begun:
        values = np.append(np.concatenate(curves), 0.0)
        low, high = plotting.limits(fig, "yaxis", values, refit or len(record.steps) < 3)
        heights = plotting.apart(
            fig, np.array([curve[-1] for curve in curves]), 0.14 * (high - low)
        )
        layout["yaxis.range"] = [low, high]
        for k, height in enumerate(heights):
            layout |= {f"annotations[{k}].x": last, f"annotations[{k}].y": height}
    steps = np.asarray(record.steps, dtype=float)  # so that the lines can move without plotly
    plotting.move(fig, {"x": [steps] * 3, "y": curves}, layout)


@Picture
def optimisers(record: Trainings) -> go.Figure:
    """Two panels with one height axis: the same lines over steps and over seconds."""
    lines = [
        plotting.line(NOTHING, NOTHING, name, COLOURS[k], dash=style.DASHES[k], xaxis=axis)
        for axis in ("x", "x2")
        for k, name in enumerate(record.names)
    ]
    names = plotting.names(0.0, list(record.names), list(COLOURS[: len(record.names)]))
    return plotting.figure(
        [*lines, names.update(xaxis="x2")],
        360,
        {"r": 190, "t": 62},
        xaxis=plotting.axis("step", domain=[0.0, 0.48]),
        xaxis2=plotting.axis("seconds, without compiling", domain=[0.54, 1.0], anchor="y"),
        yaxis=plotting.axis("nats"),
        annotations=[plotting.heading("ELBO of the same model", "higher is better")],
    )


@optimisers.updater
def _update_optimisers(fig: go.Figure, record: Trainings, refit: bool = False) -> None:
    """Move the lines, and their names to the right of the longest training."""
    steps = [np.arange(len(elbo)) for elbo in record.elbo]
    low, high = plotting.limits(fig, "yaxis", np.concatenate(record.elbo), refit)
    ends = np.array([elbo[-1] for elbo in record.elbo])
    heights = plotting.spread(ends, 0.08 * (high - low))
    latest = max(seconds[-1] for seconds in record.seconds)
    traces = {
        "x": [*steps, *record.seconds, np.full(len(ends), latest)],
        "y": [*record.elbo, *record.elbo, heights],
    }
    # Names beyond the axis are not drawn, and a published figure has rounded limits.
    layout = {"yaxis.range": [low, high], "xaxis2.range": [0.0, 1.005 * latest]}
    plotting.move(fig, traces, layout)


@Picture
def contribution(record: Contribution) -> go.Figure:
    """A bar for each value that f₀ may be set to, with what that costs."""
    rows = np.arange(len(SETTINGS))
    bars = go.Bar(
        x=np.zeros(len(rows)), y=rows, orientation="h", width=0.6, name="log-likelihood lost",
        marker={"color": [style.NEUTRAL, plotting.translucent(style.NEUTRAL, 0.6)]},
        hoverinfo="skip",
    )  # fmt: skip
    numbers = plotting.names(0.0, ["", ""], [style.NEUTRAL] * 2).update(y=rows, name="in numbers")
    return plotting.figure(
        [bars, numbers],
        190,
        {"l": 96, "r": 84, "t": 62},
        xaxis=plotting.axis("log-likelihood lost, nats per row", range=LOST, nticks=4, tickangle=0),
        yaxis={"tickvals": rows, "ticktext": SETTINGS, "autorange": "reversed", "showgrid": False},
    )


@contribution.updater
def _update_contribution(fig: go.Figure, record: Contribution, refit: bool = False) -> None:
    lost = np.round([record.lost_at_zero, record.lost_at_mean], 3) + 0.0  # no "−0.000"
    limits = plotting.limits(fig, "xaxis", np.append(lost, LOST), refit)
    now = plotting.signed(record.log_likelihood, 3)
    title = plotting.heading_text(f"what f₀ contributes to {now}", "nats per row lost without it")
    layout = {"xaxis.range": limits, "annotations[0].text": title}
    texts = [f"\N{NO-BREAK SPACE}{plotting.signed(value, 3)} nats" for value in lost]
    plotting.move(fig, {"x": [lost, np.maximum(lost, 0.0)], "text": [None, texts]}, layout)


@Picture
def node_errors(record: NodeErrors) -> go.Figure:
    """Both errors on logarithmic axes, and the Q that the model uses."""
    hover = "%{x} evaluations a row<br>error %{y:.1e}"
    look = {"hovertemplate": f"{hover}<extra></extra>"}
    quadrature = plotting.line(NOTHING, NOTHING, "error of quadrature", QUADRATURE, **look)
    quadrature.update(mode="lines+markers", marker={"size": 6})
    expected = "standard error of Monte Carlo"
    return plotting.figure(
        [
            quadrature,
            plotting.line(NOTHING, NOTHING, expected, MONTE_CARLO, dash="dash", **look),
            plotting.dots("error of Monte Carlo", MONTE_CARLO, 8, hover, symbol="x"),
        ],
        340,
        {"r": 15, "t": 62},
        xaxis=plotting.axis(
            "nodes Q, or draws S, for each row", type="log", dtick=1, range=[-0.1, 2.6]
        ),
        yaxis=plotting.axis("error of a row, nats", type="log", exponentformat="power", nticks=6),
        shapes=[plotting.mark(record.used)],
    )


@node_errors.updater
def _update_node_errors(fig: go.Figure, record: NodeErrors, refit: bool = False) -> None:
    errors = (record.quadrature, record.standard_error, record.monte_carlo)
    heights = [np.maximum(error, MIN_ERROR) for error in errors]
    range_ = plotting.limits(fig, "yaxis", np.log10(np.concatenate([*heights, [1.0]])), refit)
    traces = {"x": [record.nodes, record.draws, record.draws], "y": heights}
    is_exact = np.max(np.concatenate(heights)) <= MIN_ERROR
    words = "no error yet: every class is as probable as any other" if is_exact else NODE_WORDS
    layout = {"yaxis.range": range_, "annotations[0].text": _node_heading(words)}
    plotting.move(fig, traces, {**layout, **plotting.marked(record.used)})


def _node_heading(words: str) -> str:
    quadrature = plotting.coloured("quadrature ●", QUADRATURE)
    return plotting.heading_text(
        f"{quadrature}, {plotting.coloured('Monte Carlo ✖', MONTE_CARLO)}", words
    )
