"""Time against C: the race between ETGP and its rivals, and what its figures say.

    table = timing.sweep(["etgp-linear", "svgp-batched"], classes=(2, 10, 50))
    timing.describe(table)  # what it says, in sentences

Nothing here imports TensorFlow: the models run in processes of their own.
"""

from pathlib import Path

import pandas as pd

from etgp_viz.checks import check_choice
from etgp_viz.records.timing import Curves, Line, cholesky_curves, curves
from etgp_viz.timing.analysis import crossover, per_epoch, slopes, speedups
from etgp_viz.timing.contestants import MODELS, Size, operations
from etgp_viz.timing.costs import CostFit, fit_cost
from etgp_viz.timing.log import Settings, read, tabulate
from etgp_viz.timing.race import Progress, Race, sweep
from etgp_viz.timing.sentences import describe

__all__ = [
    "MODELS",
    "CostFit",
    "Curves",
    "Line",
    "Progress",
    "Race",
    "Settings",
    "Size",
    "cholesky_curves",
    "crossover",
    "curves",
    "describe",
    "fit_cost",
    "operations",
    "per_epoch",
    "read",
    "reference",
    "slopes",
    "speedups",
    "sweep",
    "tabulate",
]

REFERENCE = Path(__file__).parents[1] / "reference"


def reference(over: str = "classes") -> pd.DataFrame:
    """The run that comes with the package; ``attrs["machine"]`` says where it was made.

    ``over`` is ``"classes"``, or ``"num_inducing"`` or ``"num_data"`` for the panels over M and N.
    """
    panels = {path.stem.removeprefix("timing_"): path for path in REFERENCE.glob("timing_*.csv")}
    return read(panels[check_choice(over, "over", sorted(panels))])
