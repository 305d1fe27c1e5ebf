"""The paper's comparison as a grid of runs: on a laptop, or unchanged on a Dask cluster.

    runs = experiments.grid("quick", datasets=["vowel"])
    table = experiments.carry_out(runs, "results.csv")
    print(experiments.summarise(experiments.select(table)))

Nothing here imports TensorFlow before a run starts.
"""

from etgp_viz.lazy import lazy_names

# Public name → its home, which is imported when the name is first used.
_HOMES = {
    "MODELS": "experiments.settings:MODELS",
    "PRESETS": "experiments.presets:PRESETS",
    "Collection": "records.results:Collection",
    "Outcome": "experiments.settings:Outcome",
    "Panel": "records.results:Panel",
    "Run": "experiments.settings:Run",
    "carry_out": "experiments.execution:carry_out",
    "closest_look": "experiments.summary:closest_look",
    "duels": "experiments.comparisons:duels",
    "grid": "experiments.presets:grid",
    "load": "experiments.results:load",
    "load_detail": "experiments.results:load_detail",
    "made_by": "experiments.results:made_by",
    "panel": "records.results:panel",
    "reference": "experiments.results:reference",
    "reference_detail": "experiments.results:reference_detail",
    "select": "experiments.summary:select",
    "speed_ups": "experiments.summary:speed_ups",
    "summarise": "experiments.summary:summarise",
    "text_table": "records.results:text_table",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
