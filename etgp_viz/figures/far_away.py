"""Pictures of how sure flow parameters are: far from the data, and with more data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.plotting import Picture

if TYPE_CHECKING:
    from etgp_viz.records.far_away import Concentration, FarAway

__all__ = ["COLOURS", "MIN_SPREAD", "concentration", "return_to_prior", "verdicts"]

COLOURS = (style.PALETTE[0], style.PALETTE[3], style.PALETTE[4], style.PALETTE[2])
MIN_SPREAD = 1e-4  # smaller shares of the prior's spread are drawn as this
HALF = (0.0, 0.5)  # the rates that are always in the frame
NOTHING = np.empty(0)


def verdicts(record: FarAway) -> list[str]:
    """What each model does far away, in a few words."""
    words = {True: "returns to its prior", False: "does not return"}
    pairs = zip(record.names, record.has_returned, strict=True)
    return [f"{name}: {words[has_returned]}" for name, has_returned in pairs]


@Picture
def return_to_prior(record: FarAway) -> go.Figure:
    """Confidence of each model above, and the spread of its flow parameters below."""
    confidence = [
        plotting.line(NOTHING, NOTHING, f"{name}, largest probability", colour, dash=dash)
        for name, colour, dash in _looks(record.names)
    ]
    spread = [
        plotting.line(NOTHING, NOTHING, f"{name}, spread", colour, dash=dash, yaxis="y2")
        for name, colour, dash in _looks(record.names)
    ]
    names = plotting.names(0.0, verdicts(record), list(COLOURS[: len(record.names)]))
    grey = {"color": style.NEUTRAL, "width": 1.5, "dash": "dot"}
    level = {"type": "line", "xref": "paper", "x0": 0.0, "x1": 1.0, "line": grey}
    data = {"type": "rect", "yref": "paper", "y0": 0.0, "y1": 1.0, "line": {"width": 0}}
    return plotting.figure(
        [*confidence, *spread, names.update(yaxis="y2")],
        520,
        {"r": 260, "t": 62},
        xaxis=plotting.axis("distance from the middle of the data", anchor="y2"),
        yaxis=plotting.axis("largest probability", domain=[0.56, 1.0], range=[0.0, 1.02]),
        yaxis2=plotting.axis(
            "spread of parameters", domain=[0.0, 0.44], type="log", dtick=1, anchor="x"
        ),
        shapes=[
            {**data, "x0": 0.0, "x1": 1.0, "fillcolor": plotting.translucent(style.NEUTRAL)},
            {**level, "yref": "y", "y0": 0.5, "y1": 0.5},
            {**level, "yref": "y2", "y0": 1.0, "y1": 1.0},
        ],
        annotations=[
            plotting.heading("How sure, far from the data?", "shaded: data; dotted: no preference"),
            {
                **plotting.heading("", "relative to the prior; dotted: as wide as the prior"),
                "y": 0.44,
            },
        ],
    )


@return_to_prior.updater
def _update_return(fig: go.Figure, record: FarAway, refit: bool = False) -> None:
    K, x = len(record.names), record.x
    spread = np.maximum(record.spread, MIN_SPREAD)
    low, high = plotting.limits(fig, "yaxis2", np.log10(np.append(spread, 1.0)), refit)
    heights = plotting.spread(np.log10(spread[:, -1]), 0.13 * (high - low))
    chance = 1.0 / record.num_classes
    plotting.move(
        fig,
        {
            "x": [*[x] * (2 * K), np.full(K, x[-1])],
            "y": [*record.confidence, *spread, 10.0**heights],
            "text": [*[None] * (2 * K), [f" {words}" for words in verdicts(record)]],
        },
        {
            "xaxis.range": [x[0], x[-1]],
            "yaxis2.range": [low, high],
            "shapes[0].x0": max(-record.edge, x[0]),
            "shapes[0].x1": record.edge,
            "shapes[1].y0": chance,
            "shapes[1].y1": chance,
        },
    )


@Picture
def concentration(record: Concentration) -> go.Figure:
    """The spread of the logits over N, and the dropout rate where there is one."""
    lines = [
        plotting.line(NOTHING, NOTHING, f"{name}{kind}", colour, dash=dash, **place)
        for kind, place in (("", {}), (", dropout rate", {"xaxis": "x2", "yaxis": "y2"}))
        for name, colour, dash in _looks(record.names)
    ]
    for line in lines:
        line.update(mode="lines+markers", marker={"size": 9})
    names = plotting.names(0.0, list(record.names), list(COLOURS[: len(record.names)]))
    return plotting.figure(
        [*lines, names],
        360,
        {"r": 20, "t": 62},
        xaxis=plotting.axis("rows N", type="log", tickformat=",d", domain=[0.0, 0.44]),
        yaxis=plotting.axis("sd of logits over draws", rangemode="tozero"),
        xaxis2=plotting.axis(
            "rows N", type="log", tickformat=",d", domain=[0.66, 1.0], anchor="y2"
        ),
        yaxis2=plotting.axis("dropout rate", anchor="x2"),
        annotations=[
            plotting.heading("Does more data make it surer?", "among the data"),
            {**plotting.heading("dropout rate", "fixed or learnt"), "x": 0.66},
        ],
    )


@concentration.updater
def _update_concentration(fig: go.Figure, record: Concentration, refit: bool = False) -> None:
    K, N = len(record.names), record.num_data.astype(float)
    low, high = plotting.limits(fig, "yaxis", np.append(record.spread, 0.0), refit)
    heights = plotting.spread(record.spread[:, -1], 0.08 * (high - low))
    room = 0.08 * np.log10(N[-1] / N[0]) or 0.1
    ends = [np.log10(N[0]) - room, np.log10(N[-1]) + room]
    rates = [rate[np.isfinite(rate)] for rate in record.rates]
    plotting.move(
        fig,
        {
            "x": [*[N] * K, *(N[: len(rate)] for rate in rates), np.full(K, N[-1])],
            "y": [*record.spread, *rates, heights],
            "text": [*[None] * (2 * K), [f"  {name}" for name in record.names]],
        },
        {
            "yaxis.range": [low, high],
            "yaxis2.range": plotting.limits(fig, "yaxis2", np.concatenate([*rates, HALF]), refit),
            "xaxis.range": ends,
            "xaxis2.range": ends,
            "xaxis.tickvals": N,
            "xaxis2.tickvals": N,
        },
    )


def _looks(names: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Name, colour and dash of each model."""
    return [(name, COLOURS[k % 4], style.DASHES[k % 4]) for k, name in enumerate(names)]
