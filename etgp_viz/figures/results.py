"""Pictures of experiments: the scores of all models, and a close-up of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, regions, style
from etgp_viz.figures.plotting import Picture
from etgp_viz.records.results import METRICS, WAYS

if TYPE_CHECKING:
    from etgp_viz.records.close_up import (
        Confusion,
        Curve,
        Hardest,
        Lines,
        Projection,
        ReliabilityBins,
    )
    from etgp_viz.records.results import Panel, Series

__all__ = [
    *("class_lines", "confusion", "hardest", "projection", "reliability", "scores"),
    "training_curve",
]

#: way to use a model → colour, plotly's symbol, matplotlib's marker, whether it is filled, the mark
#: as text, and its place in a row, so that no two marks lie over each other
LOOKS = {
    "pe": (style.PALETTE[0], "circle", "o", True, "●", -0.14),
    "ba": (style.PALETTE[0], "diamond-open", "D", False, "◇", 0.14),
    "separate": (style.PALETTE[3], "square", "s", True, "■", -0.14),
    "shared": (style.PALETTE[1], "x", "X", True, "✖", 0.14),
    "separate-gpflow": (style.PALETTE[3], "square-open", "s", False, "□", -0.28),
    "shared-gpflow": (style.PALETTE[1], "triangle-up-open", "^", False, "△", 0.28),
}
#: short names of the ways, for headings
SHORT = {
    "pe": "PE",
    "ba": "BA",
    "separate": "SVGP separate",
    "shared": "SVGP shared",
    "separate-gpflow": "separate, GPflow",
    "shared-gpflow": "shared, GPflow",
}
#: what a calibrated model would score, under each mark of an ECE
IF_CALIBRATED = "if it were calibrated"
# Height and margins of the panels of a close-up.
PANEL = 360, {"r": 20, "t": 50}
# Names beside a confusion matrix of more classes could not be read.
MAX_NAMED_CLASSES = 30
# Numbers in the cells of more classes could not be read either.
MAX_COUNTED_CLASSES = 12
# Rows in the picture of the hardest ones, the margin for their names, the space in a name for an
# image, and how many pixels one pixel becomes: browsers blur small images.
MAX_ROWS = 6
NAME_MARGIN = 210
IMAGE_SPACE = "\u00a0" * 22
ZOOM = 8
# Lines in a picture of classes: at most as many as `etgp_viz.experiments.details.detail` keeps.
MAX_LINES = 8
LABEL_GAP = 0.075


@Picture
def scores(record: Panel) -> go.Figure:
    """A trace for each way to use a model, including those that this panel lacks.

    Below them: a grey line at what a calibrated model would score, for the calibration error.
    """
    tick = {"symbol": "line-ns", "line": {"width": 3, "color": style.NEUTRAL}}
    traces = [plotting.dots(IF_CALIBRATED, style.NEUTRAL, 16, "%{text}", **tick).update(text=[])]
    for way, (colour, symbol, *_) in LOOKS.items():
        look = {"symbol": symbol, "line": {"width": 2}}
        bars = {"type": "data", "thickness": 1.5, "width": 4, "color": colour}
        dots = plotting.dots(WAYS[way], colour, 12, "%{text}", **look)
        traces.append(dots.update(text=[], error_x=bars))
    return plotting.figure(
        traces,
        520,
        {"l": 130, "r": 40, "t": 70, "b": 56},
        xaxis=plotting.axis(),
        yaxis={"zeroline": False},
        shapes=[plotting.mark(0.0)],
    )


@scores.updater
def _update_scores(fig: go.Figure, record: Panel, refit: bool = False) -> None:
    """Move the marks to another panel; its axes always fit."""
    metric, best = METRICS[record.metric], record.best()
    bars = [np.nan_to_num(record.bars * series.error) for series in record.series]
    ends = _score_range(record, bars)
    ticks = _log_ticks(ends) if metric.log else None
    expected, heights = calibrated_marks(record)
    traces: dict[str, list[Any]] = {
        "x": [expected, *(series.mean for series in record.series)],
        "y": [heights, *map(mark_heights, record.series)],
        "text": [
            [f"{IF_CALIBRATED}: {value:.3f} on average" for value in expected],
            *(_score_texts(record, series) for series in record.series),
        ],
        "error_x.array": [None, *bars],
        "error_x.visible": [False, *(bool(np.any(bar)) for bar in bars)],
    }
    side = "right" if metric.larger_is_better else "left"
    layout: dict[str, Any] = {
        "xaxis.type": "log" if metric.log else "linear",
        "xaxis.title.text": f"{metric.words}: {side} {metric.means}",
        "xaxis.range": ends,
        "xaxis.tickmode": "auto" if ticks is None else "array",
        "xaxis.tickvals": ticks,
        "xaxis.ticktext": None if ticks is None else [f"{tick:g}" for tick in ticks],
        "yaxis.tickvals": list(range(len(record.labels))),
        "yaxis.ticktext": list(record.labels),
        "yaxis.range": [max(len(record.labels), 1) - 0.5, -0.5],
        "annotations[0].text": _score_heading(record),
        "shapes[0].visible": best is not None,
        **plotting.marked(0.0 if best is None else best[2]),
    }
    plotting.move(fig, traces, layout)


def mark_heights(series: Series) -> np.ndarray:
    """Heights of the marks of one way: in their rows, a little above or below the middle."""
    return series.rows + LOOKS[series.way][5]


def calibrated_marks(record: Panel) -> tuple[np.ndarray, np.ndarray]:
    """What calibrated models would score, and the heights of the marks; only for the ECE."""
    expected = np.concatenate([series.calibrated for series in record.series])
    heights = np.concatenate([mark_heights(series) for series in record.series])
    known = ~np.isnan(expected)
    return expected[known], heights[known]


def _score_texts(record: Panel, series: Series) -> list[str]:
    """Hover text of each mark."""
    digits = METRICS[record.metric].digits + 1
    texts = []
    for row, mean, error, seeds in zip(
        series.rows, series.mean, series.error, series.seeds, strict=True
    ):
        bar = "one seed" if np.isnan(error) else f"± {error:.{digits}g} over {seeds} seeds"
        texts.append(f"{record.labels[row]}, {WAYS[series.way]}<br>{mean:.{digits}g}, {bar}")
    return texts


def _score_range(record: Panel, bars: list[np.ndarray]) -> list[float]:
    """An axis that shows every mark with its bar."""
    pairs = list(zip(record.series, bars, strict=True))
    ends = [end for series, bar in pairs for end in (series.mean - bar, series.mean + bar)]
    values = np.concatenate([calibrated_marks(record)[0], *ends])
    if METRICS[record.metric].log:
        values = np.log10(values[values > 0])
    if not len(values):
        return [0.0, 1.0]
    room = 0.05 * (float(np.ptp(values)) or 0.1)
    return [float(values.min() - room), float(values.max() + room)]


def _log_ticks(ends: list[float]) -> list[float]:
    """1, 2 and 5 of each decade on a logarithmic axis between the powers of ten ``ends``."""
    decades = range(int(np.floor(ends[0])), int(np.ceil(ends[1])) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return [tick for tick in ticks if ends[0] <= np.log10(tick) <= ends[1]]


def _score_heading(record: Panel) -> str:
    ways = [series.way for series in record.series if len(series.rows)]
    if not ways:
        nothing = "nothing was measured: choose another M, or another metric"
        return plotting.heading_text(plotting.plain_text(record.title), nothing)
    marks = [plotting.coloured(f"{LOOKS[way][4]} {SHORT[way]}", LOOKS[way][0]) for way in ways]
    if len(calibrated_marks(record)[0]):
        marks.append(plotting.coloured(f"❘ {IF_CALIBRATED}", style.NEUTRAL))
    lines = [marks] if len(marks) <= 4 else [marks[:3], marks[3:]]
    legend = "<br>".join("   ".join(line) for line in lines)
    return plotting.heading_text(plotting.plain_text(record.title), legend)


@Picture
def confusion(record: Confusion) -> go.Figure:
    """A heat map with the true class downwards, and the number of rows in each cell.

    Colours show the errors: most rows are right, and on one scale with them errors would be dark.
    """
    hover = "%{customdata} of class %{y}<br>are taken for %{x}"
    look = {"colorscale": style.SEQUENTIAL, "zmin": 0.0, "zmax": 1.0, "texttemplate": "%{text}"}
    look["colorbar"] = {**style.COLOUR_BAR, "tickformat": ".0%"}
    classes = {"type": "category", "automargin": True, "constrain": "domain"}
    return plotting.figure(
        [plotting.heatmap("confusion", hover, x=[], y=[], z=[[]], **look)],
        360,
        {"l": 70, "r": 20, "t": 50},
        xaxis=plotting.axis("predicted class", **classes),
        yaxis=plotting.axis("true class", autorange="reversed", **classes | plotting.SQUARE),
    )


@confusion.updater
def _update_confusion(fig: go.Figure, record: Confusion, refit: bool = False) -> None:
    names = list(map(plotting.plain_text, record.names))
    right = np.trace(record.counts) / max(record.counts.sum(), 1)
    wrong = np.where(np.eye(len(names), dtype=bool), 0.0, record.share)
    is_named = len(names) <= MAX_NAMED_CLASSES
    texts = [[f"{count}" if count else "" for count in row] for row in record.counts]
    traces: dict[str, list[Any]] = {
        "x": [names],
        "y": [names],
        "z": [np.round(wrong, 3)],
        "zmax": [max(float(wrong.max()), 0.01)],
        "text": [texts if len(names) <= MAX_COUNTED_CLASSES else [[""]]],
        "customdata": [[[f"{share:.1%}" for share in row] for row in record.share]],
        "meta": [_named_classes(names)],
    }
    title = plotting.heading_text(
        f"who is taken for whom: {right:.1%} right", "colour: share of a true class that is wrong"
    )
    layout: dict[str, Any] = {"annotations[0].text": title}
    for axis in ("xaxis", "yaxis"):
        layout[f"{axis}.showticklabels"] = is_named
    plotting.move(fig, traces, layout)


def _named_classes(names: list[str]) -> dict[str, Any]:
    """What lets a cell of the matrix light its class up, and a short legend list all of them."""
    C, all_of_them = len(names), range(len(names))
    if C > MAX_COUNTED_CLASSES:
        return plotting.rows_of_classes(all_of_them, all_of_them)
    colours = [style.colour(c, C) for c in all_of_them]
    return plotting.rows_of_classes(all_of_them, all_of_them, names=names, colours=colours)


@Picture
def reliability(record: ReliabilityBins) -> go.Figure:
    """The bins as circles sized by their rows, and the diagonal of perfect calibration."""
    diagonal = np.array([0.0, 1.0])
    perfect = plotting.line(
        diagonal, diagonal, "perfectly calibrated", style.NEUTRAL, dash="dot", hoverinfo="skip",
        hovertemplate=None,
    )  # fmt: skip
    bins = go.Scatter(
        x=[], y=[], text=[], name="bins of confidence", mode="lines+markers",
        line={"color": style.PALETTE[0], "width": 1.5},
        marker={"color": style.PALETTE[0], "size": []},
        hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
    return plotting.figure(
        [perfect, bins],
        *PANEL,
        xaxis=plotting.axis("confidence maxᶜ πᶜ", range=[-0.05, 1.07]),
        yaxis=plotting.axis("share that is right", range=[-0.07, 1.09]),
    )


@reliability.updater
def _update_reliability(fig: go.Figure, record: ReliabilityBins, refit: bool = False) -> None:
    sizes = 8.0 + 22.0 * np.sqrt(record.count / record.count.max())
    texts = [
        f"{count} rows<br>confidence {sure:.3f}, right {right:.3f}"
        for count, sure, right in zip(record.count, record.confidence, record.accuracy, strict=True)
    ]
    traces: dict[str, list[Any]] = {
        "x": [record.confidence],
        "y": [record.accuracy],
        "text": [texts],
        "marker.size": [sizes],
    }
    expected = record.calibrated
    title = plotting.heading_text(
        f"honest? ECE {record.ece:.3f} ({record.way.upper()})",
        f"if honest: {expected.low:.3f} to {expected.high:.3f}",
    )
    plotting.move(fig, traces, {"annotations[0].text": title}, first=1)


@Picture
def hardest(record: Hardest) -> go.Figure:
    """Two marks a row: the probability of the predicted class, and of the label."""
    marks = (
        ("of what it said", style.PALETTE[3], "x", "✖"),
        ("of the label", style.PALETTE[0], "circle", "●"),
    )
    traces = [
        plotting.dots(f"probability {words}", colour, 10, f"probability {words}: %{{x:.3g}}",
                      symbol=symbol)
        for words, colour, symbol, _ in marks
    ]  # fmt: skip
    legend = "  ".join(
        plotting.coloured(f"{glyph} {words}", colour) for words, colour, _, glyph in marks
    )
    text = f"<b>hardest test rows</b> (row: label, <i>said</i>)<br>{legend}"
    return plotting.figure(
        traces,
        460,
        {"l": NAME_MARGIN, "r": 20, "t": 50},
        xaxis=plotting.axis("probability πᶜ", range=[-0.03, 1.03]),
        yaxis={"range": [MAX_ROWS - 0.5, -0.5], "zeroline": False},
        annotations=[plotting.heading() | {"text": text, "xshift": 20 - NAME_MARGIN}],
        images=[_image_place(k) for k in range(MAX_ROWS)],
    )


@hardest.updater
def _update_hardest(fig: go.Figure, record: Hardest, refit: bool = False) -> None:
    shown = np.arange(min(len(record.rows), MAX_ROWS), dtype=float)
    K, images = len(shown), record.images
    names = [
        f"{row}: {label}, <i>{said}</i>{'' if images is None else IMAGE_SPACE}"
        for row, label, said in zip(
            record.rows,
            map(plotting.plain_text, record.labels),
            map(plotting.plain_text, record.said),
            strict=True,
        )
    ]
    traces = {"x": [record.of_said[:K], record.of_label[:K]], "y": [shown, shown]}
    layout: dict[str, Any] = {"yaxis.tickvals": shown.tolist(), "yaxis.ticktext": names[:K]}
    for k in range(MAX_ROWS):
        layout[f"images[{k}].visible"] = images is not None and k < K
        if images is not None and k < K:
            layout[f"images[{k}].source"] = _png_address(images[k])
    plotting.move(fig, traces, layout)


def _image_place(k: int) -> dict[str, Any]:
    """Position of the image of row k, between its name and the axis."""
    place = {"xref": "paper", "yref": "y", "x": -0.005, "y": k, "sizex": 0.4, "sizey": 0.9}
    return {**place, "xanchor": "right", "yanchor": "middle", "source": "", "visible": False}


def _png_address(pixels: np.ndarray) -> str:
    """Pixels in [0, 1] as a PNG in a data URL, dark on light."""
    large = np.kron(1.0 - pixels, np.ones((ZOOM, ZOOM)))
    return regions.png_address(large, cmap="gray", vmin=0.0, vmax=1.0)


@Picture
def training_curve(record: Curve) -> go.Figure:
    """One line over the epochs."""
    hover = "epoch %{x}<br>%{y:.4g}<extra></extra>"
    return plotting.figure(
        [plotting.line(record.epoch, record.value, "ELBO", style.NEUTRAL, hovertemplate=hover)],
        *PANEL,
        xaxis=plotting.axis("epoch"),
        yaxis=plotting.axis("ELBO (nats)"),
    )


@training_curve.updater
def _update_training_curve(fig: go.Figure, record: Curve, refit: bool = False) -> None:
    """Show another training run. The axes fit all but its first tenth, which lies far below."""
    tail = record.value[len(record.value) // 10 :]
    words = "higher is better" if len(tail) else "this model is not trained in epochs"
    layout = {
        "xaxis.range": [0.0, float(np.max(record.epoch, initial=1.0))],
        "yaxis.range": plotting.fitted(tail, 0.08) if len(tail) else [0.0, 1.0],
        "annotations[0].text": plotting.heading_text("the ELBO during training", words),
    }
    plotting.move(fig, {"x": [record.epoch], "y": [record.value]}, layout)


@Picture
def class_lines(record: Lines) -> go.Figure:
    """A line for each class, with its name at the end."""
    colours = [style.NEUTRAL] * MAX_LINES
    lines = [
        plotting.line(
            record.t, record.t, f"class {k}", colour, dash=style.dash(k), width=2.0,
        )
        for k, colour in enumerate(colours)
    ]  # fmt: skip
    return plotting.figure(
        [*lines, plotting.names(0.0, [""] * MAX_LINES, colours)],
        360,
        {"r": 96, "t": 50},
        xaxis=plotting.axis("t, along the first principal direction"),
        yaxis=plotting.axis(),
    )


@class_lines.updater
def _update_class_lines(fig: go.Figure, record: Lines, refit: bool = False) -> None:
    """Move the lines; the axes always fit, since two runs have nothing in common."""
    K, t = len(record.values), record.t
    low, high = plotting.fitted(record.values, 0.08)
    ends = plotting.apart(fig, record.values[:, -1], LABEL_GAP * (high - low))
    nothing, spare = np.empty(0), MAX_LINES - K
    # A class has the same colour here as in the projection of the data.
    colours = [style.colour(int(c), record.num_classes) for c in record.classes]
    names = [f"class {plotting.plain_text(name)}" for name in record.names]
    labels = [name if len(name) <= 12 else f"{name[:11]}…" for name in record.names]
    labels = list(map(plotting.plain_text, labels))
    traces: dict[str, list[Any]] = {
        "x": [*([t] * K), *([nothing] * spare), np.full(K, t[-1])],
        "y": [*record.values, *([nothing] * spare), ends],
        "name": [*names, *([""] * spare), "names of the lines"],
        "visible": [*([True] * K), *([False] * spare), True],
        "text": [*([None] * MAX_LINES), labels],
        "legendgroup": [*(str(c) for c in record.classes), *([""] * spare), ""],
        "meta": [*([None] * MAX_LINES), {"classes": [int(c) for c in record.classes]}],
    }
    painted = [*colours, *[style.NEUTRAL] * spare]
    plotting.move(fig, {"line.color": painted})
    plotting.move(fig, {"textfont.color": [painted[:K]]}, first=MAX_LINES)
    title = plotting.heading_text(record.words, f"of the {K} most frequent classes")
    layout = {
        "xaxis.range": [float(t[0]), float(t[-1])],
        "yaxis.range": [min(low, float(ends.min())), max(high, float(ends.max()))],
        "yaxis.title.text": record.words,
        "annotations[0].text": title,
    }
    plotting.move(fig, traces, layout)


@Picture
def projection(record: Projection) -> go.Figure:
    """Rows as dots in the colours of their classes, inducing points as crosses over them."""
    edge = {"width": 1, "color": "white"}
    cross = {"symbol": "cross", "line": edge}
    return plotting.figure(
        [
            plotting.dots("training rows", None, 6, "class %{text}", opacity=0.6),
            plotting.dots("inducing points", style.NEUTRAL, 10, "inducing point", **cross),
        ],
        *PANEL,
        xaxis=plotting.axis("first principal direction"),
        yaxis=plotting.axis("second principal direction"),
    )


@projection.updater
def _update_projection(fig: go.Figure, record: Projection, refit: bool = False) -> None:
    """Show another run; the axes always fit."""
    C, M = len(record.names), len(record.inducing)
    colours = [style.colour(int(c), C) for c in record.labels]
    traces: dict[str, list[Any]] = {
        "x": [record.data[:, 0], record.inducing[:, 0]],
        "y": [record.data[:, 1], record.inducing[:, 1]],
        "text": [[plotting.plain_text(record.names[c]) for c in record.labels], None],
        "marker.color": [colours, style.NEUTRAL],
        "meta": [{"classes": [int(c) for c in record.labels]}, None],
    }
    classes = "for all classes" if record.is_shared else "of some classes"
    title = plotting.heading_text(
        f"✚ {M} inducing points {classes}" if M else "no inducing points among the inputs",
        f"● {len(record.data)} training rows, by class",
    )
    layout: dict[str, Any] = {"annotations[0].text": title}
    points = np.concatenate([record.data, record.inducing])
    for k, axis in enumerate(("xaxis", "yaxis")):
        layout[f"{axis}.range"] = plotting.fitted(points[:, k], 0.05)
    plotting.move(fig, traces, layout)
