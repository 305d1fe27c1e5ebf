"""How tightly two classes are tied at one input, in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from etgp_viz.figures import style
from etgp_viz.figures.several_latents import COLOUR, count_of

if TYPE_CHECKING:
    from etgp_viz.records.several_latents import Ties

__all__ = ["latent_ties"]


def latent_ties(record: Ties) -> Figure:
    """Joint draws of two classes at one input, a panel for each number of latents."""
    fig = Figure(figsize=(3.2 * len(record.latents), 3.4), layout="constrained")
    panels = fig.subplots(1, len(record.latents), sharex=True, sharey=True, squeeze=False)[0]
    for axes, latents, (x, y), correlation in zip(
        panels, record.latents, record.values, record.correlation, strict=True
    ):
        axes.plot(x, y, ".", color=COLOUR, alpha=0.6)
        axes.set(title=f"{count_of(latents)}: correlation {correlation:.2f}")
        axes.set_xlabel(f"{style.process(0)}(x)")
    panels[0].set_ylabel(f"{style.process(1)}(x)")
    return fig
