"""`execute`: one run of the grid, from the data to the rows of the table.

It is what a worker does, so that it needs nothing but the run itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import math
import time
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import numpy as np

from etgp_viz import datasets
from etgp_viz.datasets import Dataset
from etgp_viz.experiments import speed
from etgp_viz.experiments.columns import COLUMNS, SPLITS, Outcome
from etgp_viz.experiments.detail import detail
from etgp_viz.experiments.scoring import scores
from etgp_viz.experiments.settings import SPEED, Run
from etgp_viz.experiments.trained import Prediction, Trained, load_libraries, train
from etgp_viz.timing.worker import peak_of, resident

__all__ = ["execute"]

PACKAGES = ("etgp-viz", "gpflow", "tensorflow", "numpy")
TIMED_ROWS = 1000
MIB = 2**20


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Hold back TensorFlow's: that each of many models is traced anew is meant to be."""
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@_without_warnings()
def execute(run: Run) -> Outcome:
    """Carry out one run."""
    data = datasets.load(run.dataset, validation=run.validation, seed=run.seed)
    if run.model == SPEED:
        return Outcome(_complete(run, data, speed.measure(run, data)))
    load_libraries()
    _give_back_memory()
    base = resident()
    held: list[Trained] = []
    peak = peak_of(lambda: held.append(train(run, data)))
    trained = held.pop()
    shared = _of_training(trained) | {"memory_mib": (peak - base) / MIB}
    predictions = {inference: trained.predict(inference) for inference in trained.inferences}
    rows = [shared | _of_prediction(trained, *found) for found in predictions.items()]
    tested = {inference: found["test"] for inference, found in predictions.items()}
    return Outcome(_complete(run, data, rows), detail(trained, tested))


def _give_back_memory() -> None:
    """Return to the system what earlier runs of this worker left, where the C library can."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _of_training(trained: Trained) -> dict[str, Any]:
    """Times of the epochs: the first, which traces and compiles, apart from the median of others.

    A median is little moved by epochs in which the machine did something else.
    """
    seconds = trained.history.seconds
    later = seconds[1:] if len(seconds) > 1 else [math.nan]
    low, per_epoch, high = np.quantile(later, [0.25, 0.5, 0.75]).tolist()
    return {
        "seconds_per_step": per_epoch / trained.steps_per_epoch,
        "seconds_per_step_low": low / trained.steps_per_epoch,
        "seconds_per_step_high": high / trained.steps_per_epoch,
        "seconds_per_epoch": per_epoch,
        "first_epoch_seconds": float(seconds[0]),
        "fit_seconds": trained.fit_seconds,
        "implementation": "etgp" if trained.run.is_etgp else "batched",
        "epochs": len(seconds),
        "best_elbo": float(trained.history.best_elbo),
    }


def _of_prediction(
    trained: Trained, inference: str, predictions: dict[str, Prediction]
) -> dict[str, Any]:
    row: dict[str, Any] = {"inference": inference}
    for split, found in predictions.items():
        row |= {f"{split}_{name}": score for name, score in scores(*found).items()}
    if wrong := [name for name, score in row.items() if score != score]:
        raise FloatingPointError(f"predictions are not numbers: {', '.join(wrong)}")
    X = np.concatenate([trained.data.part(split)[0] for split in SPLITS])[:TIMED_ROWS]
    times = []
    for _ in range(3):  # the first call may have to compile
        start = time.perf_counter()
        trained.probabilities(X, trained.inferences[inference])
        times.append(time.perf_counter() - start)
    return row | {"prediction_seconds_per_1000": min(times[1:]) * 1000.0 / len(X)}


def _complete(run: Run, data: Dataset, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a run with what they have in common; what was not measured is None."""
    common = run.settings() | {
        "id": run.id,
        "rows": len(rows),
        "status": "ok",
        "num_classes": data.num_classes,
        "num_inputs": data.num_inputs,
        **{f"num_{split}": len(data.rows[split]) for split in ("train", *SPLITS)},
        "versions": "; ".join(f"{name} {metadata.version(name)}" for name in PACKAGES),
    }
    return [dict.fromkeys(COLUMNS) | common | row for row in rows]
