"""A reliability diagram: how often a prediction is right, against how sure it was."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.close_up import ReliabilityBins

DIAGONAL = np.array([0.0, 1.0])


def make(record: ReliabilityBins) -> go.Figure:
    """The bins as circles whose area grows with their rows, and the diagonal of perfect honesty."""
    perfect = plotting.line(
        DIAGONAL, DIAGONAL, "perfectly calibrated", style.NEUTRAL, dash="dot", hoverinfo="skip",
        hovertemplate=None,
    )  # fmt: skip
    bins = go.Scatter(
        x=[],
        y=[],
        text=[],
        name="bins of confidence",
        mode="lines+markers",
        line={"color": style.PALETTE[0], "width": 1.5},
        marker={"color": style.PALETTE[0], "size": []},
        hovertemplate="%{text}<extra></extra>",
    )
    fig = go.Figure(
        [perfect, bins],
        {
            "template": style.TEMPLATE,
            "height": 360,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": "confidence maxᶜ πᶜ"}, "range": [-0.05, 1.07]},
            "yaxis": {"title": {"text": "share that is right"}, "range": [-0.07, 1.09]},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: ReliabilityBins, refit: bool = False) -> None:
    """Move the bins."""
    sizes = 8.0 + 22.0 * np.sqrt(record.count / record.count.max())
    told = [
        f"{count} rows<br>confidence {sure:.3f}, right {right:.3f}"
        for count, sure, right in zip(record.count, record.confidence, record.accuracy, strict=True)
    ]
    traces: dict[str, list[Any]] = {
        "x": [record.confidence],
        "y": [record.accuracy],
        "text": [told],
        "marker.size": [sizes],
    }
    way = "point estimate" if record.way == "pe" else "Bayesian average"
    heading = f"<b>honest? {way}, ECE {record.ece:.3f}</b><br>below the dots: too sure of itself"
    plotting.move(fig, traces, {"annotations[0].text": heading}, first=1)
