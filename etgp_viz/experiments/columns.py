"""The columns of the table of a grid, and what a run brings home."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from etgp_viz.experiments.settings import Run

__all__ = ["COLUMNS", "SPLITS", "WORDS", "Outcome"]

#: the splits that are scored
SPLITS = ("validation", "test")

#: the columns of the table, in their order; low and high are quartiles
COLUMNS = (
    "id",
    "rows",
    "status",
    "inference",
    *(field.name for field in fields(Run)),
    *(f"{split}_{score}" for split in SPLITS for score in ("accuracy", "log_likelihood", "ece")),
    "seconds_per_step",
    "seconds_per_step_low",
    "seconds_per_step_high",
    "seconds_per_epoch",
    "first_epoch_seconds",
    "fit_seconds",
    "prediction_seconds_per_1000",
    "memory_mib",
    "implementation",
    "epochs",
    "best_elbo",
    "num_classes",
    "num_inputs",
    "num_train",
    "num_validation",
    "num_test",
    "versions",
)


#: columns that hold words; all others hold numbers
WORDS = (
    *("id", "status", "inference", "dataset", "model", "sharing"),
    *("hidden", "implementation", "versions"),
)


@dataclass(frozen=True)
class Outcome:
    """What a run brings home.

    Attributes
    ----------
    rows : of the table, one for each way of predicting
    detail : what a closer look at the run needs (`etgp_viz.experiments.detail`)
    """

    rows: list[dict[str, Any]]
    detail: dict[str, Any] | None = None
