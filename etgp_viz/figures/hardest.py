"""The hardest test rows: what they are, what the model said, and how sure it was."""

import base64
import io
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib import image as matplotlib_image

from etgp_viz.figures import plotting, style
from etgp_viz.records.close_up import Hardest

#: rows that there is room for
ROWS = 8
LEFT = 190
# Space in a row's name for its picture.
ROOM = "\u00a0" * 16
# A pixel is enlarged: browsers blur small pictures.
ENLARGED = 4


def make(record: Hardest) -> go.Figure:
    """Two marks a row: the probability of what the model said, and of the label."""
    marks = (
        ("of what it said", style.PALETTE[3], "x"),
        ("of the label", style.PALETTE[0], "circle"),
    )
    traces = [
        go.Scatter(
            x=[],
            y=[],
            name=f"probability {words}",
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 10},
            hovertemplate=f"probability {words}: %{{x:.3g}}<extra></extra>",
        )
        for words, colour, symbol in marks
    ]
    (said, red, _), (label, blue, _) = marks
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 460,
            "margin": {"l": LEFT, "r": 20, "t": 50},
            "xaxis": {"title": {"text": "probability πᶜ"}, "range": [-0.03, 1.03]},
            "yaxis": {"range": [ROWS - 0.5, -0.5], "zeroline": False},
            "annotations": [
                plotting.heading(
                    "hardest test rows</b> (row: label, <i>said</i>)<br>"
                    f"{plotting.coloured(f'✖ {said}', red)}  {plotting.coloured(f'● {label}', blue)}<b>"
                )
                | {"xshift": 20 - LEFT}
            ],
            "images": [_place(k) for k in range(ROWS)],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Hardest, refit: bool = False) -> None:
    """Show the hardest rows of another run."""
    shown = np.arange(min(len(record.rows), ROWS), dtype=float)
    K = len(shown)
    names = [
        f"{row}: {label}, <i>{said}</i>{'' if record.images is None else ROOM}"
        for row, label, said in zip(record.rows, record.labels, record.said, strict=True)
    ]
    traces: dict[str, list[Any]] = {
        "x": [record.of_said[:K], record.of_label[:K]],
        "y": [shown, shown],
    }
    layout: dict[str, Any] = {"yaxis.tickvals": shown.tolist(), "yaxis.ticktext": names[:K]}
    for k in range(ROWS):
        there = record.images is not None and k < K
        layout[f"images[{k}].visible"] = there
        if record.images is not None and there:
            layout[f"images[{k}].source"] = _encoded(record.images[k])
    plotting.move(fig, traces, layout)


def _place(k: int) -> dict[str, Any]:
    """Between the name of a row and the axis."""
    place = {"xref": "paper", "yref": "y", "x": -0.005, "y": k, "sizex": 0.25, "sizey": 0.8}
    return {**place, "xanchor": "right", "yanchor": "middle", "source": "", "visible": False}


def _encoded(pixels: np.ndarray) -> str:
    """Pixels in [0, 1] as a PNG in a data address, dark on light."""
    large = np.kron(1.0 - pixels, np.ones((ENLARGED, ENLARGED)))
    file = io.BytesIO()
    matplotlib_image.imsave(file, large, cmap="gray", vmin=0.0, vmax=1.0, format="png")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
