"""The model of a run, built, fitted and ready to predict. TensorFlow is loaded by the build."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from etgp_viz.datasets import Dataset
from etgp_viz.experiments.columns import SPLITS
from etgp_viz.experiments.settings import Run

__all__ = [
    "Prediction",
    "Trained",
    "batch_size",
    "load_libraries",
    "make",
    "steps_per_epoch",
    "train",
]


class Prediction(NamedTuple):
    """Class probabilities ``[N, C]``, log probabilities of the labels ``[N]``, labels ``[N]``."""

    p: np.ndarray
    log_p: np.ndarray
    labels: np.ndarray


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model with its data and its history."""

    run: Run
    data: Dataset
    model: Any
    history: Any
    fit_seconds: float

    @property
    def inferences(self) -> dict[str, int | None]:
        """How it predicts → dropout draws; an SVGP has its point estimate alone."""
        return {"pe": None, "ba": self.run.samples} if self.run.is_etgp else {"pe": None}

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch."""
        return steps_per_epoch(self.run, self.data)

    @contextlib.contextmanager
    def as_trained(self) -> Iterator[None]:
        """Predict with the jitter that training ended with."""
        from etgp_viz.backend import gpflow

        config = dataclasses.replace(gpflow.config.config(), jitter=self.history.jitter)
        with gpflow.config.as_context(config):
            yield

    def probabilities(self, X: np.ndarray, samples: int | None = None) -> np.ndarray:
        """Class probabilities ``[N, C]``."""
        with self.as_trained():
            return self.model.predict_y(X, samples=samples)[0].numpy()

    def predict(self, inference: str) -> dict[str, Prediction]:
        """Predictions of every split that is scored, all rows in one call: each size is compiled.

        Log probabilities come from the model, since a label's probability may be too small for a
        number.
        """
        samples = self.inferences[inference]
        X, Y = (np.concatenate(parts) for parts in zip(*map(self.data.part, SPLITS), strict=True))
        p = self.probabilities(X, samples)
        with self.as_trained():
            log_p = self.model.predict_log_density((X, Y), samples=samples).numpy()
        ends = np.cumsum([len(self.data.rows[split]) for split in SPLITS])[:-1]
        parts = zip(*(np.split(array, ends) for array in (p, log_p, Y[:, 0])), strict=True)
        return dict(zip(SPLITS, map(Prediction._make, parts), strict=True))


def load_libraries() -> None:
    """Load what models need, so that its memory does not count as a model's."""


def train(run: Run, data: Dataset) -> Trained:
    """Build the model of a run and fit it; the learning rate falls to ``final_rate`` of itself."""
    from etgp_viz.core.training import fit

    model = make(run, data)
    epochs = math.ceil(run.steps / steps_per_epoch(run, data))
    start = time.perf_counter()
    history = fit(
        model,
        data.train,
        epochs=epochs,
        batch_size=batch_size(run, data),
        learning_rate=run.learning_rate,
        half_life=epochs / math.log2(1.0 / run.final_rate) if run.final_rate < 1.0 else None,
        seed=run.seed,
        progress=False,
    )
    if history.stopped == "interrupted":  # what is half trained is not a result
        raise KeyboardInterrupt
    return Trained(run, data, model, history, time.perf_counter() - start)


def make(run: Run, data: Dataset, batched: bool = True) -> Any:
    """The model of a run; an SVGP in batched operations (the same model, sooner) or GPflow's."""
    from etgp_viz.rivals.build_model import build

    options: dict[str, Any] = {
        "sharing": run.sharing,
        "batched": batched,
        "num_monte_carlo": run.num_monte_carlo,
    }
    if run.is_etgp:
        options = {name: getattr(run, name) for name in ("hidden", "dropout", "weight_decay")}
        options["precision"] = "float32"  # of the network alone
    return build(
        run.model,
        data.train[0],
        data.num_classes,
        num_inducing=run.num_inducing,
        seed=run.seed,
        **options,
    )


def batch_size(run: Run, data: Dataset) -> int:
    """B, at most the number of training rows."""
    return min(run.batch_size, len(data.rows["train"]))


def steps_per_epoch(run: Run, data: Dataset) -> int:
    """⌊N / B⌋."""
    return len(data.rows["train"]) // batch_size(run, data)
