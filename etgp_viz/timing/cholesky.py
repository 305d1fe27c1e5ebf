"""Micro-lab: C Cholesky factors one by one, or in one batched operation.

The paper times one M×M factor against a batch of C. GPflow factorises the C matrices of separate
kernels one by one inside ``tf.map_fn``; the table shows what that costs beside the arithmetic.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from etgp_viz.backend import tf
from etgp_viz.checks import check_count

__all__ = ["describe", "ways"]


def ways(
    classes: Sequence[int] = (2, 10, 50, 153),
    num_inducing: Sequence[int] = (20, 50, 100, 200),
    *,
    repeats: int = 9,
    seed: int = 0,
    progress: bool = True,
) -> pd.DataFrame:
    """Time C Cholesky factors of M×M matrices in compiled functions, computed in four ways.

    ``"one"`` is a single factor, ``"batched"`` one operation on ``[C, M, M]``, ``"map_fn"``
    TensorFlow's loop, as in GPflow, and ``"python"`` C operations in one graph. The four take
    turns.

    Parameters
    ----------
    classes, num_inducing : values of C and of M
    repeats : rounds of each size
    seed : of the matrices
    progress : show a progress bar

    Returns
    -------
    data frame : one row per (way, C, M): ``way``, ``classes``, ``num_inducing``, median ``seconds``
        and its quartiles ``low``, ``high``

    Examples
    --------
    >>> from etgp_viz.timing import cholesky
    >>> table = cholesky.ways((3,), (5,), repeats=1, progress=False)
    >>> table["way"].tolist()
    ['one', 'batched', 'map_fn', 'python']
    """
    check_count(repeats, "repeats")
    rng = np.random.default_rng(seed)
    rows = []
    cells = [
        (check_count(C, "classes"), check_count(M, "num_inducing"))
        for M in num_inducing
        for C in classes
    ]
    for C, M in tqdm(cells, disable=not progress, unit="size"):
        root = rng.normal(size=(C, M, M)) / np.sqrt(M)
        matrices = tf.constant(root @ np.swapaxes(root, 1, 2) + np.eye(M))
        for way, seconds in _race(_contestants(matrices), repeats).items():
            low, median, high = np.percentile(seconds, [25, 50, 75])
            rows.append((way, C, M, median, low, high))
    return pd.DataFrame(rows, columns=["way", "classes", "num_inducing", "seconds", "low", "high"])


def describe(table: pd.DataFrame) -> list[str]:
    """Three sentences on a table of `ways`: its largest C, at the M closest to the paper's 100."""
    C = int(table["classes"].max())
    M = int(min(set(table["num_inducing"]), key=lambda size: abs(size - 100)))
    chosen = table[(table["classes"] == C) & (table["num_inducing"] == M)]
    seconds = chosen.set_index("way")["seconds"]
    loop, unrolled = seconds["map_fn"] / seconds["batched"], seconds["python"] / seconds["batched"]
    if loop > 1.1:
        conclusion = (
            f"So {1 - 1 / loop:.0%} of the time of tf.map_fn is the loop and not the algorithm: "
            "part of what makes GPflow's SVGP slow is how it is written."
        )
    else:
        conclusion = "So on this machine and at this size tf.map_fn costs next to nothing."
    return [
        f"A batch of {C} Cholesky factors of {M}×{M} takes "
        f"{seconds['batched'] / seconds['one']:.1f} times as long as one of them, not {C} times.",
        f"GPflow's way, tf.map_fn, takes {loop:.1f} times as long as the batch, and {C} operations "
        f"in one graph take {unrolled:.1f} times as long.",
        conclusion,
    ]


#: its name in version 0.1
what_it_says = describe


def _contestants(matrices: tf.Tensor) -> dict[str, Callable[[], np.ndarray]]:
    def compiled(function: Callable) -> Callable[[], np.ndarray]:
        graph = tf.function(function, autograph=False)
        return lambda: graph(matrices).numpy()

    factor = tf.linalg.cholesky
    return {
        "one": compiled(lambda K: factor(K[0])),
        "batched": compiled(factor),
        "map_fn": compiled(lambda K: tf.map_fn(factor, K)),
        "python": compiled(lambda K: tf.stack([factor(matrix) for matrix in tf.unstack(K)])),
    }


def _race(contestants: dict[str, Callable[[], np.ndarray]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each contestant, round by round; the first two calls trace and warm up."""
    for action in contestants.values():
        action()
        action()
    seconds: dict[str, list[float]] = {way: [] for way in contestants}
    for _ in range(repeats):
        for way, action in contestants.items():
            action()  # brings its matrices back into the cache
            start = time.perf_counter()
            action()
            seconds[way].append(time.perf_counter() - start)
    return seconds
