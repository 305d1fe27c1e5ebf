"""Scores of all models on one data set: a row for each flow or kernel, a mark for each way."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.results import METRICS, WAYS, Panel, Series

__all__ = ["LOOKS", "heights", "make", "update"]

#: colour, plotly's symbol, matplotlib's marker, whether it is filled, the mark as text, and where
#: it stands in its row, so that no two marks lie over each other
LOOKS = {
    "pe": (style.PALETTE[0], "circle", "o", True, "●", -0.14),
    "ba": (style.PALETTE[0], "diamond-open", "D", False, "◇", 0.14),
    "separate": (style.PALETTE[3], "square", "s", True, "■", -0.14),
    "shared": (style.PALETTE[1], "x", "X", True, "✖", 0.14),
    "separate-gpflow": (style.PALETTE[3], "square-open", "s", False, "□", -0.28),
    "shared-gpflow": (style.PALETTE[1], "triangle-up-open", "^", False, "△", 0.28),
}


#: the ways in a heading, which must be short
SHORT = {
    "pe": "ETGP PE",
    "ba": "ETGP BA",
    "separate": "SVGP separate",
    "shared": "SVGP shared",
    "separate-gpflow": "separate, GPflow",
    "shared-gpflow": "shared, GPflow",
}


def make(record: Panel) -> go.Figure:
    """A trace for each way, also for those that this panel has not."""
    traces = [
        go.Scatter(
            x=[],
            y=[],
            text=[],
            name=WAYS[way],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 12, "line": {"width": 2}},
            error_x={"type": "data", "thickness": 1.5, "width": 4, "color": colour},
            hovertemplate="%{text}<extra></extra>",
        )
        for way, (colour, symbol, *_) in LOOKS.items()
    ]
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 430,
            "margin": {"l": 130, "r": 40, "t": 70, "b": 56},
            "xaxis": {"title": {"text": ""}},
            "yaxis": {"zeroline": False},
            "annotations": [plotting.heading("")],
            "shapes": [plotting.mark(0.0)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Panel, refit: bool = False) -> None:
    """Move the marks to another panel; its axes always fit."""
    metric, best = METRICS[record.metric], record.best()
    spans = [np.nan_to_num(record.bars * series.error) for series in record.series]
    ends = _range(record, spans)
    traces: dict[str, list[Any]] = {
        "x": [series.mean for series in record.series],
        "y": [heights(series) for series in record.series],
        "text": [_told(record, series) for series in record.series],
        "error_x.array": spans,
        "error_x.visible": [bool(np.any(span)) for span in spans],
    }
    layout: dict[str, Any] = {
        "xaxis.type": "log" if metric.log else "linear",
        "xaxis.title.text": f"{metric.words}: {_better(record)}",
        "xaxis.range": ends,
        "xaxis.tickmode": "array" if metric.log else "auto",
        "xaxis.tickvals": _ticks(ends) if metric.log else None,
        "xaxis.ticktext": [f"{tick:g}" for tick in _ticks(ends)] if metric.log else None,
        "yaxis.tickvals": list(range(len(record.labels))),
        "yaxis.ticktext": list(record.labels),
        "yaxis.range": [max(len(record.labels), 1) - 0.5, -0.5],
        "annotations[0].text": _heading(record),
        "shapes[0].visible": best is not None,
        **plotting.marked(0.0 if best is None else best[2]),
    }
    plotting.move(fig, traces, layout)


def heights(series: Series) -> np.ndarray:
    """Where the marks of a way stand: in their rows, a little above or below the middle."""
    return series.rows + LOOKS[series.way][5]


def _better(record: Panel) -> str:
    return "right is better" if METRICS[record.metric].larger_is_better else "left is better"


def _told(record: Panel, series: Series) -> list[str]:
    digits = METRICS[record.metric].digits + 1
    told = []
    for row, mean, error, seeds in zip(
        series.rows, series.mean, series.error, series.seeds, strict=True
    ):
        span = "one seed" if np.isnan(error) else f"± {error:.{digits}g} over {seeds} seeds"
        told.append(f"{record.labels[row]}, {WAYS[series.way]}<br>{mean:.{digits}g}, {span}")
    return told


def _range(record: Panel, spans: list[np.ndarray]) -> list[float]:
    """An axis that shows every mark with its bar."""
    pairs = list(zip(record.series, spans, strict=True))
    ends = [end for series, span in pairs for end in (series.mean - span, series.mean + span)]
    values = np.concatenate([np.empty(0), *ends])
    if METRICS[record.metric].log:
        values = np.log10(values[values > 0])
    if not len(values):
        return [0.0, 1.0]
    room = 0.05 * (float(np.ptp(values)) or 0.1)
    return [float(values.min() - room), float(values.max() + room)]


def _ticks(ends: list[float]) -> list[float]:
    """1, 2 and 5 of each decade on a logarithmic axis between the powers of ten ``ends``."""
    decades = range(int(np.floor(ends[0])), int(np.ceil(ends[1])) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return [tick for tick in ticks if ends[0] <= np.log10(tick) <= ends[1]]


def _heading(record: Panel) -> str:
    shown = [series.way for series in record.series if len(series.rows)]
    if not shown:
        return f"<b>{record.title}</b><br>nothing was measured: choose another M, or another metric"
    marks = [plotting.coloured(f"{LOOKS[way][4]} {SHORT[way]}", LOOKS[way][0]) for way in shown]
    lines = [marks] if len(marks) <= 4 else [marks[:3], marks[3:]]
    return "<br>".join([f"<b>{record.title}</b>", *("   ".join(line) for line in lines)])
