"""Steps of ETGP and of its rivals in turns, to see how much sooner an epoch is over.

Models that are trained one after another meet a machine in different moods. Here they take one step
each, round by round, so that a busy minute slows all of them.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from etgp_viz.datasets import Dataset
from etgp_viz.experiments.settings import FLOWS, Run
from etgp_viz.experiments.trained import batch_size, make, steps_per_epoch

__all__ = ["RIVALS", "measure"]

#: model, sharing, implementation
RIVALS = (
    *((flow, "", "etgp") for flow in FLOWS),
    ("svgp-rbf", "separate", "gpflow"),
    ("svgp-rbf", "separate", "batched"),
    ("svgp-rbf", "shared", "gpflow"),
    ("svgp-rbf", "shared", "batched"),
)


def measure(run: Run, data: Dataset) -> list[dict[str, Any]]:
    """A row for each rival with its median seconds per step, over ``run.steps`` rounds."""
    from etgp_viz.backend import tf
    from etgp_viz.optimisation import Optimiser
    from etgp_viz.training import Batches

    tensors = tuple(tf.convert_to_tensor(part) for part in data.train)
    steps = []
    for model, sharing, implementation in RIVALS:
        rival = dataclasses.replace(run, model=model, sharing=sharing)
        optimiser = Optimiser(
            make(rival, data, batched=implementation == "batched"),
            tensors,
            None,
            learning_rate=run.learning_rate,
            natural_gradients=None,
            seed=run.seed,
        )
        steps.append(optimiser.step)
    batches = Batches(len(data.train[0]), batch_size(run, data), run.seed)
    rows = next(iter(batches.of_epoch(0)))
    first = [_seconds(step, rows) for step in steps]
    rounds = np.array([[_seconds(step, rows) for step in steps] for _ in range(run.steps)])
    return [
        {
            "model": model,
            "sharing": sharing,
            "inference": "speed",
            "implementation": implementation,
            "seconds_per_step": seconds,
            "seconds_per_epoch": seconds * steps_per_epoch(run, data),
            "first_epoch_seconds": tracing,
        }
        for (model, sharing, implementation), seconds, tracing in zip(
            RIVALS, np.median(rounds, axis=0).tolist(), first, strict=True
        )
    ]


def _seconds(step: Any, rows: Any) -> float:
    start = time.perf_counter()
    step(rows)
    return time.perf_counter() - start
