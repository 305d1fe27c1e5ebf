"""The paper's comparison as a grid of runs: on a laptop, or unchanged on a Dask cluster.

    runs = experiments.grid("quick", datasets=["vowel"])
    table = experiments.carry_out(runs, "results.csv")
    print(experiments.summarise(experiments.select(table)))

Nothing here imports TensorFlow before a run starts.
"""

from etgp_viz.lazy import homes, lazy_names

# Module → the public names in it, which are imported when they are first used.
_HOMES = homes("""
    experiments.comparisons: duels
    experiments.presets: PRESETS grid
    experiments.results: carry_out load load_detail made_by reference reference_detail
    experiments.scoring: closest_look select speed_ups summarise
    experiments.settings: MODELS Outcome Run
    records.results: Collection Panel panel text_table
""")

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
