"""The posterior of the C warped processes along a line: median and central 95 %."""

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.class_regions import COLOURS, MAX_CLASSES
from etgp_viz.records.inference import Warped


def make(record: Warped) -> go.Figure:
    """Bands below, lines above, a label at each line's end."""
    nothing = np.zeros(2)
    bands, lines = [], []
    for c in range(MAX_CLASSES):
        name, group = f"{style.process(c)}(x)", {"legendgroup": str(c)}
        limits = np.zeros((2, 2))
        bands.append(plotting.band(nothing, limits, f"{name}, central 95 %", COLOURS[c], **group))
        lines.append(plotting.line(nothing, nothing, name, COLOURS[c], dash=style.dash(c), **group))
    labels = [plotting.label(style.process(c), COLOURS[c]) for c in range(MAX_CLASSES)]
    fig = go.Figure(
        [*bands, *lines],
        {
            "template": style.TEMPLATE,
            "height": 400,
            "margin": {"r": 40, "t": 62},
            "yaxis": {"title": {"text": "warped process fᶜ"}},
            "annotations": [*labels, plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Warped, refit: bool = False) -> None:
    """Move bands, lines and labels. The axis stays, unless a median would leave it."""
    C, x = len(record.median), record.x
    outline = np.concatenate([x, x[::-1]])
    with fig.batch_update():
        # A band may be wide where there are no data: it may leave the frame, the medians not.
        reach = np.quantile(record.band, [0.02, 0.98])
        held = np.concatenate([record.median.ravel(), reach])
        low, high = plotting.fit(fig.layout.yaxis, held, refit)
        heights = plotting.spread(record.median[:, -1], 0.07 * (high - low))
        for c in range(MAX_CLASSES):
            band, line = fig.data[c], fig.data[MAX_CLASSES + c]
            label, shown = fig.layout.annotations[c], c < C
            band.visible = line.visible = label.visible = shown
            if shown:
                band.update(x=outline, y=plotting.outline(record.band[:, c]))
                line.update(x=x, y=record.median[c])
                label.update(x=x[-1], y=heights[c])
        at = "" if record.cut is None else f" at x₂ = {record.cut:.2f}"
        fig.layout.xaxis.update(
            title={"text": "input x" if record.cut is None else "input x₁, along the cut"},
            range=(float(x[0]), float(x[-1])),
        )
        fig.layout.annotations[
            -1
        ].text = f"<b>warped processes{at}</b><br>median and central 95 % of fᶜ = Gᶜ(f₀)"
