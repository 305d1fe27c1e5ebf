"""`Run`: everything that one training of the grid depends on, and nothing else."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath
from typing import Any

from etgp_viz.checks import check_count, check_fraction, check_nonnegative, check_positive, fail

__all__ = [
    "CELL",
    "CONFIGURATION",
    "FLOWS",
    "KERNELS",
    "MODELS",
    "SHARING",
    "SPEED",
    "Run",
    "shown_name",
]

FLOWS = ("etgp-linear", "etgp-sal", "etgp-tanh")
KERNELS = ("svgp-rbf", "svgp-rbfcorr", "svgp-arccos", "svgp-nnet")
SHARING = ("separate", "shared")
#: a run that trains nothing: it times steps of several models in turns
SPEED = "speed"

#: what a command line calls a model → the model and its sharing
MODELS: dict[str, tuple[str, str]] = {
    **{flow: (flow, "") for flow in FLOWS},
    **{f"{kernel}-{sharing}": (kernel, sharing) for kernel in KERNELS for sharing in SHARING},
    SPEED: (SPEED, ""),
}


@dataclass(frozen=True)
class Run:
    """One training of one model on one data set; an ETGP's gives a PE row and a BA row.

    Attributes
    ----------
    dataset : a name that `etgp_viz.datasets.load` knows
    model : a name that `etgp_viz.rivals.build_model.build` knows, or ``"speed"``
    sharing : ``"separate"`` or ``"shared"`` for an SVGP, else empty
    num_inducing : M
    seed : of splits, k-means, initial weights, mini-batches
    steps : of Adam, rounded up to whole epochs
    batch_size : rows B of a step; all of them if there are fewer
    learning_rate : at the start; it falls geometrically
    final_rate : share of it that is left at the end
    hidden : widths of the network's hidden layers (ETGP)
    dropout : of the network (ETGP)
    weight_decay : of the network (ETGP)
    samples : dropout draws S of the Bayesian average (ETGP)
    num_monte_carlo : draws per row in the ELBO (SVGP)
    validation : share of the training rows that is set aside to choose configurations with
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
        """Whether there is a network, and with it a point estimate and a Bayesian average."""
        return self.model in FLOWS

    def settings(self) -> dict[str, Any]:
        """The fields as a table holds them: the widths in one word, such as ``200x200``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"hidden": "x".join(map(str, self.hidden))}


def shown_name(dataset: str) -> str:
    """A data set as pictures name it: a file of one's own without its folder and checksum."""
    return PurePath(dataset.partition("#")[0]).name


#: the columns that name a cell of the comparison: what is averaged over seeds
CELL = ("dataset", "model", "sharing", "inference", "num_inducing")
#: the columns that a selection may choose between within a cell
CONFIGURATION = tuple(
    field.name for field in fields(Run) if field.name not in (*CELL, "seed", "samples")
)
