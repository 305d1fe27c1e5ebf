"""`Run`: everything that one run of the grid depends on, and the columns of its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath
from typing import Any

from etgp_viz.checks import (
    check_count,
    check_counts,
    check_fraction,
    check_nonnegative,
    check_optional,
    check_positive,
    check_seed,
    check_widths,
    describe,
    fail,
)
from etgp_viz.rivals import names

__all__ = [
    "ADDED_COLUMNS",
    "ALL_MODELS",
    "CELL",
    "COLUMNS",
    "COMPARED",
    "CONFIGURATION",
    "MODELS",
    "OFF_THE_SHELF",
    "SPEED",
    "SPLITS",
    "TEXT_COLUMNS",
    "Outcome",
    "Run",
    "describe_configuration",
    "model_label",
    "short_name",
]

#: a run that trains nothing: it times steps of several models in turns
SPEED = "speed"

#: the models of a grid, ETGP first and then its rivals
COMPARED = (*names.ETGPS, *names.SVGPS, *names.BEYOND_PAPER)
#: name on the command line → model of `etgp_viz.build`, and how its classes share a kernel
MODELS: dict[str, tuple[str, str]] = {
    **{
        "-".join(filter(None, (name, sharing))): (name, sharing)
        for name in COMPARED
        for sharing in names.MODELS[name].sharings
    },
    SPEED: (SPEED, ""),
}
#: these and the extended ETGPs, which the preset ``"extensions"`` compares
ALL_MODELS = MODELS | {name: (name, "") for name in names.EXTENDED}


#: model of scikit-learn → the setting of a `Run` that it has
OFF_THE_SHELF = {"logistic": "weight_decay", "boosting": "learning_rate"}


#: settings that version 0.1 did not have → what it did
AS_IN_0_1 = {"patience": None, "max_seconds": None, "start": "paper"}


def model_label(model: str, sharing: str = "") -> str:
    """The name of a model in tables and figures.

    >>> model_label("svgp-rbf", "shared")
    'SVGP RBF shared'
    """
    return f"{names.KINDS[model].label} {sharing}".strip()


@dataclass(frozen=True)
class Run:
    """One training run of one model on one data set.

    A model with a network gives two rows of results, its point estimate (PE) and its Bayesian
    average (BA). Where `patience` is given, training ends when the validation rows say so, and
    `steps` and `max_seconds` are limits.

    Parameters
    ----------
    dataset : a name that `etgp_viz.datasets.load` takes
    model : a name that `etgp_viz.build` takes, an extended ETGP such as ``"etgp-latents"`` (see
        `etgp_viz.rivals.names.EXTENDED_OPTIONS`), or ``"speed"``
    sharing : ``"separate"`` or ``"shared"`` for an SVGP, empty otherwise
    num_inducing : M; becomes 0 for a model without inducing points
    seed : of splits, k-means, initial weights, mini-batches
    steps, batch_size : steps of Adam, rounded up to whole epochs, and B, at most all training rows
    learning_rate, final_rate : rate at the start, and the share of it that is left at the end of
        `steps`; it falls geometrically. For boosting the rate is the weight of a new tree.
    hidden, dropout, weight_decay : of the network, with the widths of its hidden layers; logistic
        regression has the weight decay alone; a setting that an extended ETGP does not have is
        empty or 0
    samples : dropout draws S of the Bayesian average
    num_monte_carlo : draws per row in the ELBO (SVGP)
    validation : share of the training rows that is set aside to choose configurations with, and to
        stop training
    patience : steps without a better validation score after which the learning rate falls, and at
        the third time training stops; None to train for all `steps`
    max_seconds : limit on the seconds of training after the first epoch, which compiles; None for
        no limit. If a run reaches it, its result depends on the speed of the machine; all other
        results are repeatable.
    start : where training starts, ``"draw"`` or ``"paper"``, see `etgp_viz.build`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> run = experiments.Run("iris", "svgp-rbf", "shared", num_inducing=20)
    >>> run.kind.label, run.kind.has_network
    ('SVGP RBF', False)
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
    samples: int = names.PREDICTIVE_DRAWS
    num_monte_carlo: int = 100
    validation: float = 0.1
    patience: int | None = None
    max_seconds: float | None = None
    start: str = "draw"

    def __post_init__(self) -> None:
        if not isinstance(self.dataset, str):
            fail("dataset", "the name of a data set", describe(self.dataset))
        texts = (self.model, self.sharing)
        is_text = all(isinstance(text, str) for text in texts)
        name = "-".join(filter(None, texts)) if is_text else ""
        if ALL_MODELS.get(name) != texts:
            got = describe(name) if is_text else " and ".join(map(describe, texts))
            fail("model", "one of " + ", ".join(ALL_MODELS), got)
        for count in ("steps", "batch_size", "samples", "num_monte_carlo"):
            check_count(getattr(self, count), count)
        if self.model == SPEED or self.kind.has_inducing_points:
            check_count(self.num_inducing, "num_inducing")
        else:
            object.__setattr__(self, "num_inducing", 0)
        check_seed(self.seed)
        widths = check_counts(self.hidden, "hidden")
        check_widths([1, *widths, 1], "hidden")
        object.__setattr__(self, "hidden", tuple(widths))
        if self.model in names.EXTENDED:
            for setting in ("hidden", "dropout"):
                if setting not in self.kind.network_settings:
                    object.__setattr__(self, setting, getattr(Run, setting))
        check_positive(self.learning_rate, "learning_rate")
        check_positive(self.final_rate, "final_rate")
        check_fraction(self.dropout, "dropout")
        check_nonnegative(self.weight_decay, "weight_decay")
        check_positive(check_fraction(self.validation, "validation"), "validation")
        check_optional(check_count, self.patience, "patience")
        check_optional(check_positive, self.max_seconds, "max_seconds")

    @property
    def id(self) -> str:
        """A short name that depends on the settings alone.

        Settings that version 0.1 did not have count only if they differ from what it did.

        Examples
        --------
        >>> run = Run("iris", "svgp-rbf", "shared")
        >>> len(run.id), run.id == Run("iris", "svgp-rbf", "shared", seed=1).id
        (12, False)
        """
        settings = {
            name: value
            for name, value in asdict(self).items()
            if name not in AS_IN_0_1 or value != AS_IN_0_1[name]
        }
        text = json.dumps(settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def kind(self) -> names.Model:
        """What the table of models says about the model; a race has none."""
        return names.KINDS[self.model]

    def settings(self) -> dict[str, Any]:
        """The fields as stored in a table: the widths as one word, such as ``200x200``.

        Examples
        --------
        >>> Run("iris", "etgp-linear", hidden=(200, 200)).settings()["hidden"]
        '200x200'
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"hidden": "x".join(map(str, self.hidden))}


def describe_configuration(row: Mapping[str, Any]) -> str:
    """The configuration in a row of a table, limited to the settings that its model has.

    >>> describe_configuration({"model": "svgp-rbf", "learning_rate": 0.02})
    'rate 0.02'
    """
    kind = names.KINDS[row["model"]]
    parts = []
    if kind.has_network and "hidden" in kind.network_settings:
        parts += [f"hidden layers {row['hidden']}" if row["hidden"] else "no hidden layer"]
    if kind.has_network and "dropout" in kind.network_settings:
        parts += [f"dropout {row['dropout']:g}"]
    setting = OFF_THE_SHELF.get(kind.variant)
    if kind.has_network or setting == "weight_decay":
        parts += [f"weight decay {row['weight_decay']:g}"]
    if kind.is_trained_by_fit or setting == "learning_rate":
        parts += [f"rate {row['learning_rate']:g}"]
    return ", ".join(parts)


@dataclass(frozen=True)
class Outcome:
    """The result of one run.

    Attributes
    ----------
    rows : of the table, one for each way of predicting; the keys are `COLUMNS`
    detail : what a close-up of the run needs (`etgp_viz.experiments.details.detail`)

    Examples
    --------
    >>> outcome = Outcome([{"inference": "pe", "test_accuracy": 0.97}])
    >>> outcome.rows[0]["test_accuracy"], outcome.detail
    (0.97, None)
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
#: the columns that version 0.1 did not have
ADDED_COLUMNS = (
    *("patience", "max_seconds", "start", "stopped"),
    *("test_ece_if_calibrated", "test_ece_if_calibrated_low", "test_ece_if_calibrated_high"),
    *("latent_lost_at_zero", "latent_lost_at_mean"),
    *("predictive_draws", "prediction_error"),
)
#: the columns of a table of results. Low and high are quartiles of times, and the 5 % and 95 %
#: quantiles of the ECE of a calibrated model; ``latent_lost_at_…`` are nats per test row that are
#: lost if f₀ is set to 0 or to its mean (of the point estimate; NaN without f₀);
#: ``predictive_draws`` is 0 for quadrature
COLUMNS = (
    *("id", "rows", "status", "inference"),
    *(field.name for field in fields(Run)),
    *(f"{split}_{score}" for split in SPLITS for score in ("accuracy", "log_likelihood", "ece")),
    *(name for name in ADDED_COLUMNS if name.startswith(("test_", "latent_"))),
    *("seconds_per_step", "seconds_per_step_low", "seconds_per_step_high"),
    *("seconds_per_epoch", "first_epoch_seconds", "fit_seconds", "prediction_seconds_per_1000"),
    *("predictive_draws", "prediction_error"),
    *("memory_mib", "implementation", "epochs", "stopped", "best_elbo"),
    *("num_classes", "num_inputs", "num_train", "num_validation", "num_test", "versions"),
)
#: columns that hold text; all others hold numbers
TEXT_COLUMNS = (
    *("id", "status", "inference", "dataset", "model", "sharing"),
    *("hidden", "start", "implementation", "stopped", "versions"),
)
