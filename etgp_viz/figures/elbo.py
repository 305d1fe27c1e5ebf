"""The ELBO over the steps of a training, with its expected log-likelihood and its KL."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.class_regions import NONE
from etgp_viz.records.live_training import Curve

# Grey, so that nobody takes them for classes: told apart by dash, width and label.
LINES = (
    ("ELBO", "ELBO", {"width": style.HERO_WIDTH - 1}),
    ("expected log-likelihood", "E[log p]", {"dash": "dash"}),
    ("KL[q(u₀) ‖ p(u₀)]", "KL", {"dash": "dot"}),
)
FIRST_STEPS = 50


def make(record: Curve) -> go.Figure:
    """Three lines, a label at the end of each."""
    traces = [plotting.line(NONE, NONE, name, style.NEUTRAL, **look) for name, _, look in LINES]
    labels = [plotting.label(short, style.NEUTRAL) for _, short, _ in LINES]
    words = "ELBO = E[log p] − KL − weight decay<br>higher is better"
    first, second = words.split("<br>")
    fig = go.Figure(
        traces,
        {
            "template": style.TEMPLATE,
            "height": 340,
            "margin": {"r": 72, "t": 62},
            "xaxis": {"title": {"text": "step"}, "range": [0, FIRST_STEPS]},
            "yaxis": {"title": {"text": "nats"}},
            "annotations": [*labels, plotting.heading(f"{first}</b><br>{second}<b>")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Curve, refit: bool = False) -> None:
    """Add what is new. The axes grow when the lines reach their end."""
    curves = (record.elbo, record.expected, record.kl)
    begun = len(record.steps) > 0
    with fig.batch_update():
        for trace, curve in zip(fig.data, curves, strict=True):
            trace.update(x=record.steps, y=curve)
        last = record.steps[-1] if begun else 0
        _, end = fig.layout.xaxis.range
        if refit or not begun:
            end = FIRST_STEPS
        while end < last:
            end *= 2
        fig.layout.xaxis.range = (0, end)
        if begun:
            fresh = refit or len(record.steps) < 3
            low, high = plotting.fit(
                fig.layout.yaxis, np.append(np.concatenate(curves), 0.0), fresh
            )
            heights = plotting.spread(np.array([c[-1] for c in curves]), 0.09 * (high - low))
            for label, height in zip(fig.layout.annotations, heights, strict=False):
                label.update(x=last, y=height)
        for label in fig.layout.annotations[: len(curves)]:
            label.visible = begun
