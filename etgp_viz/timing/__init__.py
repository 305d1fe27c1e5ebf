"""Time against the number of classes C: the race of ETGP and its rivals, and what it shows.

    table = timing.sweep(["etgp-linear", "svgp-batched"], classes=(2, 10, 50))
    timing.describe(table)  # what the table says, in sentences

Nothing here imports TensorFlow: each model runs in its own process.
"""

from etgp_viz.lazy import homes, lazy_names

# Module → the public names in it, which are imported when they are first used.
_HOMES = homes("""
    records.timing: Curves Line cholesky_curves curves
    timing.analysis: CostFit crossover describe fit_cost per_epoch slopes speedups
    timing.contestants: MODELS Size operations
    timing.log: REFERENCE Settings read reference tabulate
    timing.race: Progress Race sweep
""")

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
