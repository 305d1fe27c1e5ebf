"""How long a grid will take, from the operations of a step and the speed of one ordinary core."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from etgp_viz.experiments.settings import SPEED, Run

__all__ = ["seconds", "total_seconds"]

#: classes C, inputs D, training rows N (with a tenth set aside), rows to predict
SIZES = {
    "vowel": (11, 10, 475, 515),
    "absenteeism": (19, 80, 500, 240),
    "avila": (12, 10, 9386, 11_480),
    "devangari": (46, 1024, 70_380, 21_620),
    "characterfont": (153, 400, 500_000, 300_000),
    "leaves100": (100, 64, 1080, 520),
    "digits": (10, 64, 1213, 584),
}
UNKNOWN = (20, 50, 5000, 2000)

# Seconds, measured on one thread of a 2.x GHz server core.
START = 6.0  # data, k-means, tracing, compiling
STEP = 2.5e-3  # what a step takes however small it is
MULTIPLY_ADD = 0.25e-9  # in products of matrices, gradients included
SOFTMAX = 8e-9  # a class of a row at one draw or node, gradients included


def seconds(run: Run) -> float:
    """Expected seconds of a run on one core."""
    C, D, N, predicted = SIZES.get(run.dataset, UNKNOWN)
    B, M = min(run.batch_size, N), run.num_inducing
    if run.model == SPEED:
        return 60.0 + 0.5 * C + 2e-6 * run.steps * C * B
    processes, draws = (1, 20) if run.is_etgp else (C, run.num_monte_carlo)
    kernels = 1 if run.sharing == "shared" else processes
    params = {"etgp-linear": 2, "etgp-sal": 12, "etgp-tanh": 12}.get(run.model, 0)
    widths = (D, *run.hidden, params * C)
    network = sum(a * b for a, b in pairwise(widths)) if params else 0
    gp = kernels * M * (M * M + B * (D + M)) + processes * M * M * (M + B)
    step = STEP + 3.0 * MULTIPLY_ADD * (gp + B * network)
    step += SOFTMAX * B * C * draws * (1.0 + 0.2 * params)
    prediction = predicted * (3.0 * MULTIPLY_ADD * network * run.samples + SOFTMAX * C * 1000.0)
    return START + step * run.steps + prediction


def total_seconds(runs: Iterable[Run], workers: int) -> float:
    """Expected seconds of a grid on so many cores."""
    return sum(map(seconds, runs)) / max(workers, 1)
