"""Steps of ETGP and of its rivals in turns, to see how much sooner an epoch is over.

Models that are trained one after another meet a machine in different moods. Here they take turns,
round by round, so that a busy minute slows all of them. A turn is a few steps in a row, as in an
epoch; one more before them, which finds the caches full of another model's numbers, does not count.
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

STEPS_OF_A_TURN = 3

#: model, sharing, implementation
RIVALS = (
    *((flow, "", "etgp") for flow in FLOWS),
    ("svgp-rbf", "separate", "gpflow"),
    ("svgp-rbf", "separate", "batched"),
    ("svgp-rbf", "shared", "gpflow"),
    ("svgp-rbf", "shared", "batched"),
)


def measure(run: Run, data: Dataset) -> list[dict[str, Any]]:
    """A row for each rival: median and quartiles of a step over ``run.steps`` rounds."""
    from etgp_viz.backend import tf
    from etgp_viz.core.optimiser import Optimiser
    from etgp_viz.core.training import Batches

    tensors = tuple(tf.convert_to_tensor(part) for part in data.train)
    steps = []
    for model, sharing, implementation in RIVALS:
        rival = dataclasses.replace(run, model=model, sharing=sharing)
        contestant = make(rival, data, batched=implementation == "batched")
        if implementation == "gpflow":
            contestant = _stock(contestant)
        optimiser = Optimiser(
            contestant,
            tensors,
            None,
            learning_rate=run.learning_rate,
            natural_gradients=None,
            seed=run.seed,
        )
        steps.append(optimiser.step)
    batches = Batches(len(data.rows["train"]), batch_size(run, data), run.seed)
    rows = next(iter(batches.of_epoch(0)))
    first = [_seconds(step, rows) for step in steps]
    rounds = [[_turn(step, rows) for step in steps] for _ in range(run.steps)]
    quartiles = np.quantile(rounds, [0.25, 0.5, 0.75], axis=0).T.tolist()
    return [
        {
            "model": model,
            "sharing": sharing,
            "inference": "speed",
            "implementation": implementation,
            "seconds_per_step": seconds,
            "seconds_per_step_low": low,
            "seconds_per_step_high": high,
            "seconds_per_epoch": seconds * steps_per_epoch(run, data),
            "first_epoch_seconds": tracing,
        }
        for (model, sharing, implementation), (low, seconds, high), tracing in zip(
            RIVALS, quartiles, first, strict=True
        )
    ]


def _stock(model: Any) -> Any:
    """An SVGP as GPflow's users have it, with GPflow's own expectations; ours are faster."""
    from etgp_viz.backend import gpflow

    C = model.num_classes
    return gpflow.models.SVGP(
        model.kernel,
        gpflow.likelihoods.Softmax(C),
        model.inducing_variable,
        num_latent_gps=C,
        num_data=model.num_data,
    )


def _turn(step: Any, rows: Any) -> float:
    """Mean seconds of the steps of a turn."""
    step(rows)
    return float(np.mean([_seconds(step, rows) for _ in range(STEPS_OF_A_TURN)]))


def _seconds(step: Any, rows: Any) -> float:
    start = time.perf_counter()
    step(rows)
    return time.perf_counter() - start
