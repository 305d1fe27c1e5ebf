"""Pictures of models with several latents: how tightly two classes are tied at one input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.plotting import Picture

if TYPE_CHECKING:
    from etgp_viz.records.several_latents import Ties

__all__ = ["count_of", "latent_ties", "words"]

COLOUR, GAP = style.PALETTE[4], 0.07


def count_of(latents: int) -> str:
    """The number of latents, in words: "1 latent", "2 latents"."""
    return f"{latents} latent{'s' if latents > 1 else ''}"


def words(record: Ties) -> list[str]:
    """The number of latents, the correlation by formula, and that of the draws, of each panel."""
    columns = record.latents, record.correlation, record.estimate, record.error
    return [
        plotting.heading_text(
            f"{count_of(latents)}: correlation {plotting.signed(exact)}",
            f"draws: {plotting.signed(estimate)} ± {error:.2f}",
        )
        for latents, exact, estimate, error in zip(*columns, strict=True)
    ]


@Picture
def latent_ties(record: Ties) -> go.Figure:
    """Joint draws of two classes at one input, a panel for each number of latents."""
    K = len(record.latents)
    width = (1.0 - (K - 1) * GAP) / K
    panels = [["", *map(str, range(2, K + 1))][k] for k in range(K)]
    starts = [k * (width + GAP) for k in range(K)]
    axes = {}
    for panel, start in zip(panels, starts, strict=True):
        domain = {"domain": [start, start + width], "anchor": f"y{panel}", "nticks": 5}
        axes[f"xaxis{panel}"] = plotting.axis(f"{style.process(0)}(x)", **domain)
        title = f"{style.process(1)}(x)" if not panel else ""
        axes[f"yaxis{panel}"] = plotting.axis(title, anchor=f"x{panel}", nticks=5)
    traces = [
        plotting.dots(count_of(latents), COLOUR, 5, "%{x:.2f}, %{y:.2f}", opacity=0.6).update(
            xaxis=f"x{panel}", yaxis=f"y{panel}"
        )
        for latents, panel in zip(record.latents, panels, strict=True)
    ]
    headings = [{**plotting.heading(), "x": start} for start in starts]
    return plotting.figure(traces, 340, {"r": 20, "t": 62}, annotations=headings, **axes)


@latent_ties.updater
def _update_ties(fig: go.Figure, record: Ties, refit: bool = False) -> None:
    """All panels have one range, so that their clouds can be compared."""
    limits = {
        "xaxis": plotting.limits(fig, "xaxis", record.values[:, 0], refit),
        "yaxis": plotting.limits(fig, "yaxis", record.values[:, 1], refit),
    }
    panels = ["", *map(str, range(2, len(record.latents) + 1))]
    layout: dict[str, Any] = {
        f"{axis}{panel}.range": limits[axis] for axis in limits for panel in panels
    }
    layout |= {f"annotations[{k}].text": text for k, text in enumerate(words(record))}
    x, y = np.moveaxis(record.values, 1, 0)
    plotting.move(fig, {"x": list(x), "y": list(y)}, layout)
