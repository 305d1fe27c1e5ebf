"""`Run`: everything that one run of the grid depends on, and the columns of its results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath
from typing import Any

from etgp_viz.checks import check_count, check_fraction, check_nonnegative, check_positive, fail
from etgp_viz.rivals import names

__all__ = [
    "CELL",
    "COLUMNS",
    "CONFIGURATION",
    "MODELS",
    "SPEED",
    "SPLITS",
    "TEXT_COLUMNS",
    "Outcome",
    "Run",
    "model_label",
    "short_name",
]

#: a run that trains nothing: it times steps of several models in turns
SPEED = "speed"

#: name on the command line → model of `etgp_viz.build`, and how its classes share a kernel
MODELS: dict[str, tuple[str, str]] = {
    **{name: (name, "") for name in names.ETGPS},
    **{f"{name}-{how}": (name, how) for name in names.SVGPS for how in names.SHARING},
    SPEED: (SPEED, ""),
}


def model_label(model: str, sharing: str = "") -> str:
    """The name of a model in tables and figures.

    >>> model_label("svgp-rbf", "shared")
    'SVGP RBF shared'
    """
    return f"{names.MODELS[model].label} {sharing}".strip()


@dataclass(frozen=True)
class Run:
    """One training run of one model on one data set; an ETGP run gives a PE row and a BA row.

    Parameters
    ----------
    dataset : a name that `etgp_viz.datasets.load` takes
    model : a name that `etgp_viz.build` takes, or ``"speed"``
    sharing : ``"separate"`` or ``"shared"`` for an SVGP, empty otherwise
    num_inducing : M
    seed : of splits, k-means, initial weights, mini-batches
    steps, batch_size : steps of Adam, rounded up to whole epochs, and B, at most all training rows
    learning_rate, final_rate : rate at the start, and the share of it that is left at the end; it
        falls geometrically
    hidden, dropout, weight_decay : of the network (ETGP), with the widths of its hidden layers
    samples : dropout draws S of the Bayesian average (ETGP)
    num_monte_carlo : draws per row in the ELBO (SVGP)
    validation : share of the training rows that is set aside to choose configurations with

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> run = experiments.Run("iris", "svgp-rbf", "shared", num_inducing=20)
    >>> run.is_etgp, run.id
    (False, 'b4e3dedeccf9')
    """

    dataset: str
    model: str
    sharing: str = ""
    num_inducing: int = 100
    seed: int = 0
    steps: int = 1000
    batch_size: int = 500
    learning_rate: float = 0.01
    final_rate: float = 0.01
    hidden: tuple[int, ...] = ()
    dropout: float = 0.0
    weight_decay: float = 1e-5
    samples: int = 20
    num_monte_carlo: int = 100
    validation: float = 0.1

    def __post_init__(self) -> None:
        name = "-".join(filter(None, (self.model, self.sharing)))
        if MODELS.get(name) != (self.model, self.sharing):
            fail("model", "one of " + ", ".join(MODELS), repr(name))
        for count in ("num_inducing", "steps", "batch_size", "samples", "num_monte_carlo"):
            check_count(getattr(self, count), count)
        check_count(self.seed, "seed", minimum=0)
        for width in self.hidden:
            check_count(width, "hidden")
        check_positive(self.learning_rate, "learning_rate")
        check_positive(self.final_rate, "final_rate")
        check_fraction(self.dropout, "dropout")
        check_nonnegative(self.weight_decay, "weight_decay")
        check_positive(check_fraction(self.validation, "validation"), "validation")

    @property
    def id(self) -> str:
        """A short name that depends on the settings alone."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def is_etgp(self) -> bool:
        """Whether the model has a network, and so a point estimate and a Bayesian average."""
        return self.model in names.ETGPS

    def settings(self) -> dict[str, Any]:
        """The fields as stored in a table: the widths as one word, such as ``200x200``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"hidden": "x".join(map(str, self.hidden))}


@dataclass(frozen=True)
class Outcome:
    """The result of one run.

    Attributes
    ----------
    rows : of the table, one for each way of predicting; the keys are `COLUMNS`
    detail : what a close-up of the run needs (`etgp_viz.experiments.run.detail`)
    """

    rows: list[dict[str, Any]]
    detail: dict[str, Any] | None = None


def short_name(dataset: str) -> str:
    """The name of a data set in figures: your own file without its folder and checksum.

    >>> short_name("data/mine.csv:species#0123abcd")
    'mine.csv:species'
    """
    return PurePath(dataset.partition("#")[0]).name


#: the columns that name a cell of the comparison: what is averaged over seeds
CELL = ("dataset", "model", "sharing", "inference", "num_inducing")
#: the columns that a selection may choose between within a cell
CONFIGURATION = tuple(
    field.name for field in fields(Run) if field.name not in (*CELL, "seed", "samples")
)

#: the splits that are scored
SPLITS = ("validation", "test")
#: the columns of a table of results; low and high are quartiles
COLUMNS = (
    *("id", "rows", "status", "inference"),
    *(field.name for field in fields(Run)),
    *(f"{split}_{score}" for split in SPLITS for score in ("accuracy", "log_likelihood", "ece")),
    *("seconds_per_step", "seconds_per_step_low", "seconds_per_step_high"),
    *("seconds_per_epoch", "first_epoch_seconds", "fit_seconds", "prediction_seconds_per_1000"),
    *("memory_mib", "implementation", "epochs", "best_elbo"),
    *("num_classes", "num_inputs", "num_train", "num_validation", "num_test", "versions"),
)
#: columns that hold text; all others hold numbers
TEXT_COLUMNS = (
    *("id", "status", "inference", "dataset", "model", "sharing"),
    *("hidden", "implementation", "versions"),
)
