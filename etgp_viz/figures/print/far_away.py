"""How sure flow parameters are, in matplotlib, for slides and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from etgp_viz.figures import style
from etgp_viz.figures.far_away import COLOURS, MIN_SPREAD, verdicts

if TYPE_CHECKING:
    from etgp_viz.records.far_away import Concentration, FarAway

__all__ = ["concentration", "return_to_prior"]

DASHES = ("-", "--", ":", "-.")


def return_to_prior(record: FarAway) -> Figure:
    """Confidence of each model above, and the spread of its flow parameters below."""
    fig = Figure(figsize=(8.0, 5.6), layout="constrained")
    above, below = fig.subplots(2, 1, sharex=True)
    for k, words in enumerate(verdicts(record)):
        above.plot(record.x, record.confidence[k], DASHES[k], color=COLOURS[k])
        spread = np.maximum(record.spread[k], MIN_SPREAD)
        below.semilogy(record.x, spread, DASHES[k], color=COLOURS[k], label=words)
    for axes, level in ((above, 1.0 / record.num_classes), (below, 1.0)):
        axes.axvspan(max(-record.edge, record.x[0]), record.edge, color=style.NEUTRAL, alpha=0.18)
        axes.axhline(level, color=style.NEUTRAL, linestyle=":")
        axes.margins(x=0)
    above.set(ylabel="largest probability", ylim=(0.0, 1.02), title="shaded: data")
    below.set(xlabel="distance from the middle of the data")
    below.set(ylabel="spread of parameters\nrelative to the prior")
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    return fig


def concentration(record: Concentration) -> Figure:
    """The spread of the logits over N on the left, dropout rates on the right."""
    fig = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = fig.subplots(1, 2)
    for k, name in enumerate(record.names):
        look = {"color": COLOURS[k], "linestyle": DASHES[k], "marker": "o"}
        left.semilogx(record.num_data, record.spread[k], label=name, **look)
        right.semilogx(record.num_data, record.rates[k], **look)
    left.set(xlabel="rows N", ylabel="sd of logits over draws")
    left.set_ylim(bottom=0.0)
    right.set(xlabel="rows N", ylabel="dropout rate")
    right.set_ylim(bottom=0.0)
    fig.legend(loc="outside lower center", ncols=4, frameon=False)
    return fig
