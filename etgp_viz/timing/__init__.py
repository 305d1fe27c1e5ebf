"""Time against C: the race between ETGP and its rivals, and what its figures say.

    table = timing.sweep(["etgp-linear", "svgp-batched"], classes=(2, 10, 50))
    timing.describe(table)  # what the table says, in sentences

Nothing here imports TensorFlow: the models run in processes of their own.
"""

from etgp_viz.lazy import lazy_names

# Public name → its home, which is imported when the name is first used.
_HOMES = {
    "MODELS": "timing.contestants:MODELS",
    "REFERENCE": "timing.log:REFERENCE",
    "CostFit": "timing.analysis:CostFit",
    "Curves": "records.timing:Curves",
    "Line": "records.timing:Line",
    "Progress": "timing.race:Progress",
    "Race": "timing.race:Race",
    "Settings": "timing.log:Settings",
    "Size": "timing.contestants:Size",
    "cholesky_curves": "records.timing:cholesky_curves",
    "crossover": "timing.analysis:crossover",
    "curves": "records.timing:curves",
    "describe": "timing.sentences:describe",
    "fit_cost": "timing.analysis:fit_cost",
    "operations": "timing.contestants:operations",
    "per_epoch": "timing.analysis:per_epoch",
    "read": "timing.log:read",
    "reference": "timing.log:reference",
    "slopes": "timing.analysis:slopes",
    "speedups": "timing.analysis:speedups",
    "sweep": "timing.race:sweep",
    "tabulate": "timing.log:tabulate",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
