"""The correlation of each pair of classes at equal inputs, along x."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.covariance_check import EqualInputs

# Pairs are no classes: they have colours that no class has.
COLOURS = style.PALETTE[4:6] + style.PALETTE[7:8]


def make(record: EqualInputs) -> go.Figure:
    """One line for each pair, from −1 to 1."""
    x = record.x
    looks = [(name(pair), COLOURS[k % len(COLOURS)]) for k, pair in enumerate(record.pairs)]
    fig = go.Figure(
        [
            plotting.line(x, x, words, colour, dash=style.dash(k), width=3)
            for k, (words, colour) in enumerate(looks)
        ]
        + [plotting.names(x[-1] + 0.05, *map(list, zip(*looks, strict=True)))],
        {
            "template": style.TEMPLATE,
            "height": 240,
            "margin": {"r": 50},
            "xaxis": {"title": {"text": "input x"}, "range": [x[0] - 0.05, x[-1] + 0.05]},
            "yaxis": {
                "title": {"text": "correlation"}, "range": [-1.3, 1.3],
                "tickvals": [-1, -0.5, 0, 0.5, 1], "ticktext": ["−1", "−½", "0", "½", "1"],
            },
            "annotations": [
                plotting.heading("correlation of two classes at one input x: ±1 if both are linear")
            ],
            "shapes": [plotting.mark(record.at)],
        },
    )  # fmt: skip
    update(fig, record)
    return fig


def update(fig: go.Figure, record: EqualInputs, refit: bool = False) -> None:
    """Move the lines; inputs without a correlation are left out."""
    x, y, ends = [], [], []
    for values in np.round(record.correlation, 6):
        exists = np.isfinite(values)
        x.append(record.x[exists])
        y.append(values[exists])
        ends.append(values[exists][-1] if exists.any() else 0.0)
    heights = plotting.spread(np.array(ends), 0.26)
    places = np.full(len(ends), record.x[-1] + 0.05)
    plotting.move(fig, {"x": [*x, places], "y": [*y, heights]}, plotting.marked(record.at))


def name(pair: tuple[int, int]) -> str:
    """A pair of classes, such as f¹, f²."""
    return f"{style.process(pair[0])}, {style.process(pair[1])}"
