"""How long a grid will take, from the operations of a step and the speed of one ordinary core."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from etgp_viz.experiments.settings import SPEED, Run

__all__ = ["seconds", "total_seconds"]

#: classes C, inputs D, training rows N (with validation rows set aside), rows to predict
SIZES = {
    "vowel": (11, 10, 462, 528),
    "absenteeism": (19, 68, 500, 240),
    "avila": (12, 10, 9907, 10_958),
    "devangari": (46, 1024, 70_380, 21_620),
    "characterfont": (153, 400, 500_000, 300_000),
    "leaves100": (100, 64, 1080, 520),
    "digits": (10, 64, 1213, 584),
}
UNKNOWN = (20, 50, 5000, 2000)

# Seconds on one thread of an ordinary core, gradients included.
START = {True: 12.0, False: 5.0}  # ETGP or SVGP: data, k-means, tracing, compiling
RACE, RACE_CLASS = 30.0, 1.4  # tracing of seven models and their rounds; for each class
STEP = 2.5e-3  # what a step takes however small it is
PRODUCT = 0.15e-9  # a multiply–add in the large products of a network, in float32
FACTOR = 0.55e-9  # one in the Cholesky factors and products of a process
SOFTMAX = 3e-9  # a class of a row at one node or draw, and as much for each parameter of its flow
PARAMS = {"etgp-linear": 2, "etgp-sal": 12, "etgp-tanh": 12}
NODES = 20
PREDICTIONS = 3  # probabilities, log densities, and those of the details


def seconds(run: Run) -> float:
    """Expected seconds of a run on one core.

    A step has C processes (ETGP: one) of M²(M + B) multiply–adds, their kernels of M² + B(D + M)
    for each inducing point (one kernel if it is shared), B passes through a network of W weights,
    and B·C softmax terms at each node or draw.
    """
    C, D, N, predicted = SIZES.get(run.dataset, UNKNOWN)
    if run.model == SPEED:
        return RACE + RACE_CLASS * C
    B, M, P = min(run.batch_size, N), run.num_inducing, PARAMS.get(run.model, 0)
    processes, draws = (1, NODES) if run.is_etgp else (C, run.num_monte_carlo)
    kernels = 1 if run.sharing == "shared" else processes
    gp = processes * M * M * (M + B) + kernels * M * (M * M + B * (D + M))
    W = sum(a * b for a, b in pairwise((D, *run.hidden, P * C))) if P else 0
    term = SOFTMAX * C * (1 + P)
    step = STEP + FACTOR * gp + PRODUCT * B * W + term * B * draws
    row = run.samples * (PRODUCT * W + term * NODES) / 3.0 if P else 1000.0 * term
    return START[run.is_etgp] + step * run.steps + PREDICTIONS * row * predicted


def total_seconds(runs: Iterable[Run], workers: int) -> float:
    """Expected seconds of a grid on so many cores."""
    return sum(map(seconds, runs)) / max(workers, 1)
