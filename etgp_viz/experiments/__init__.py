"""The paper's comparison as a grid of runs: on a laptop, or on a Dask cluster without a change.

runs = experiments.grid("quick", datasets=["vowel"])
table = experiments.carry_out(runs, "results.csv")
print(experiments.summarise(experiments.select(table)))
"""

from etgp_viz.experiments.collection import Collection
from etgp_viz.experiments.columns import Outcome
from etgp_viz.experiments.evidence import duels
from etgp_viz.experiments.execution import carry_out
from etgp_viz.experiments.presets import PRESETS, grid
from etgp_viz.experiments.results import load, load_detail, made_by
from etgp_viz.experiments.selection import select
from etgp_viz.experiments.settings import MODELS, Run
from etgp_viz.experiments.shipped import closest_look, reference, reference_detail
from etgp_viz.experiments.summary import speed_ups, summarise
from etgp_viz.records.results import Panel, panel, text_table

__all__ = [
    "MODELS",
    "PRESETS",
    "Collection",
    "Outcome",
    "Panel",
    "Run",
    "carry_out",
    "closest_look",
    "duels",
    "grid",
    "load",
    "load_detail",
    "made_by",
    "panel",
    "reference",
    "reference_detail",
    "select",
    "speed_ups",
    "summarise",
    "text_table",
]
