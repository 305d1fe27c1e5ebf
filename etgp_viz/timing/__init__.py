"""Time against C: the race between ETGP and its rivals, and what its figures say.

    table = timing.sweep(["etgp-linear", "svgp-batched"], classes=(2, 10, 50))

Nothing here imports TensorFlow: the models run in processes of their own.
"""

from etgp_viz.timing.paper import MODELS, Size, operations
from etgp_viz.timing.race import Progress, Race, sweep
from etgp_viz.timing.records import Settings, read, tabulate

__all__ = [
    "MODELS",
    "Progress",
    "Race",
    "Settings",
    "Size",
    "operations",
    "read",
    "sweep",
    "tabulate",
]
