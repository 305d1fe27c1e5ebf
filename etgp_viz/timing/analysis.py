"""What the times say: slopes in C, speed-ups with honest intervals, and where ETGP overtakes.

Two processes of the same program differ in speed more than two rounds in one of them. So a session
(one process) counts as one observation, its median round, and intervals come from how sessions
differ. A sweep has few sessions but many cells: their deviations are pooled and resampled (a
residual bootstrap), each cell's scaled to its own spread as far as so few sessions tell it.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from etgp_viz.checks import check_choice, fail

__all__ = ["crossover", "per_epoch", "slopes", "speedups"]

Key = TypeVar("Key", bound=Hashable)

#: of confidence intervals, and of the intervals for a second run
CONFIDENCE = 0.95
REPEAT = 0.99
BOOTSTRAP = 4000
#: weight of the pooled spread beside a cell's own, in sessions
PRIOR_SESSIONS = 4
#: what clocks and processors drift by between runs in any case, in log time
SMALLEST_SPREAD = 0.01

QUANTITIES = ("step", "prediction", "prediction_ba")
AXES = ("classes", "num_inducing", "num_data")


def slopes(table: pd.DataFrame, quantity: str = "step", over: str = "classes") -> pd.DataFrame:
    """Slope of log time in log C (or M, or N) of each model, by least squares.

    Returns
    -------
    ``model``, ``slope``, and its 95 % bootstrap confidence interval ``low``, ``high``; NaN for a
    model that was timed at fewer than two sizes. 1 is proportional to C, 0 does not depend on it.
    """
    check_choice(quantity, "quantity", QUANTITIES)
    check_choice(over, "over", AXES)
    timed = _timed(table, quantity)
    logs = {
        index: [np.log(session) for session in rounds]
        for index, rounds in timed[f"{quantity}_rounds"].items()
    }
    draws = bootstrap(logs)
    rows = []
    for model in dict.fromkeys(table["model"]):
        own = timed[timed["model"] == model]
        x = np.log(own[over].to_numpy(float))
        if len(set(x)) < 2:
            rows.append((model, np.nan, np.nan, np.nan))
            continue
        weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
        estimate = weights @ [_medians(logs[index]).mean() for index in own.index]
        sample = weights @ np.stack([draws[index] for index in own.index])
        rows.append((model, estimate, *_ends(sample, CONFIDENCE)))
    return pd.DataFrame(rows, columns=["model", "slope", "low", "high"])


def speedups(
    table: pd.DataFrame, fast: str = "etgp-linear", quantity: str = "step"
) -> pd.DataFrame:
    """How many times longer each rival takes than ``fast``, at each size.

    Rivals took turns, so the ratio is taken round by round, and whatever slowed both cancels.

    Returns
    -------
    ``model``, its size, ``speedup``, and ``low``, ``high``: where the speed-up of the same sweep,
    run again, lies in 99 of 100 cases
    """
    check_choice(quantity, "quantity", QUANTITIES)
    check_choice(fast, "fast", tuple(dict.fromkeys(table["model"])))
    timed = _timed(table, quantity)
    sizes = list(AXES)
    ours = timed[timed["model"] == fast].set_index(sizes)[f"{quantity}_rounds"]
    ratios = {}
    for row in timed[timed["model"] != fast].itertuples():
        size = tuple(getattr(row, axis) for axis in sizes)
        if size in ours.index:
            rounds = getattr(row, f"{quantity}_rounds")
            ratios[(row.model, *size)] = _log_ratios(rounds, ours[size])
    if not ratios:
        return pd.DataFrame(columns=["model", *sizes, "speedup", "low", "high"])
    first, second = bootstrap(ratios, seed=0), bootstrap(ratios, seed=1)
    rows = []
    for key, logs in ratios.items():
        centre = float(_medians(logs).mean())
        ends = _ends(centre + first[key] - second[key], REPEAT)
        rows.append((*key, *(float(np.exp(value)) for value in (centre, *ends))))
    return pd.DataFrame(rows, columns=["model", *sizes, "speedup", "low", "high"])


def crossover(table: pd.DataFrame, rival: str, fast: str = "etgp-linear") -> float:
    """The number of classes from which on ``fast`` takes less time per step than ``rival``.

    Between two sizes of the sweep it is interpolated in log C. 0 if it was faster at every size,
    infinity if it is not at the largest, NaN if the two were never timed at the same size.
    """
    ratio = speedups(table[table["model"].isin([fast, rival])], fast)
    if len(ratio) == 0:
        return np.nan
    if ratio[["num_data", "num_inducing"]].drop_duplicates().shape[0] > 1:
        fail("table", "one num_data and one num_inducing", "several of them")
    ratio = ratio.sort_values("classes")
    x, y = np.log(ratio["classes"].to_numpy(float)), np.log(ratio["speedup"].to_numpy())
    slower = np.flatnonzero(y <= 0)
    if len(slower) == 0:
        return 0.0
    last = slower[-1]
    if last == len(y) - 1:
        return np.inf
    part = -y[last] / (y[last + 1] - y[last])
    return float(np.exp(x[last] + part * (x[last + 1] - x[last])))


def per_epoch(table: pd.DataFrame, rows: int) -> pd.Series:
    """Seconds of an epoch over a data set of so many rows, in batches of the sweep's N."""
    return table["step"] * rows / table["num_data"]


def bootstrap(
    rounds: Mapping[Key, Sequence[np.ndarray]], size: int = BOOTSTRAP, seed: int = 0
) -> dict[Key, np.ndarray]:
    """Draws ``[size]`` of each cell's log time (or log ratio), the mean of its sessions' medians.

    Deviations of sessions from their cell's mean, enlarged by √(S/(S−1)) for the mean they were
    taken from, are pooled over the cells. A draw of a cell with S sessions is its mean plus the
    mean of S of them. Where no cell has two sessions, nothing is known of how they differ, and the
    deviations of single rounds take their place, one to a draw.

    Parameters
    ----------
    rounds : cell → the logarithms of its rounds, an array for each session
    """
    rng = np.random.default_rng(seed)
    medians = {key: _medians(sessions) for key, sessions in rounds.items()}
    several = [v for v in medians.values() if len(v) > 1]
    if not rounds:
        return {}
    if several:
        scaled = [(v - v.mean()) * np.sqrt(len(v) / (len(v) - 1)) for v in several]
    else:
        scaled = [np.asarray(v) - np.median(v) for sessions in rounds.values() for v in sessions]
    residuals = np.concatenate(scaled)
    pooled = np.sqrt(np.mean(residuals**2))
    draws = {}
    for key, values in medians.items():
        S = len(values)
        own = np.sum((values - values.mean()) ** 2)
        spread = np.sqrt((PRIOR_SESSIONS * pooled**2 + own) / (PRIOR_SESSIONS + S - 1))
        chosen = rng.choice(residuals, size=(size, S)).mean(axis=1)
        drift = SMALLEST_SPREAD * rng.normal(size=size)
        draws[key] = values.mean() + chosen * spread / max(pooled, 1e-12) + drift
    return draws


def _medians(sessions: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([np.median(session) for session in sessions])


def _timed(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """The cells that have times of this quantity."""
    return table[table[f"{quantity}_rounds"].map(len) > 0]


def _log_ratios(
    theirs: Sequence[Sequence[float]], ours: Sequence[Sequence[float]]
) -> list[np.ndarray]:
    """log(theirs/ours) round by round, in each session that both have."""
    return [np.log(a[: len(b)]) - np.log(b[: len(a)]) for a, b in zip(theirs, ours, strict=False)]


def _ends(sample: np.ndarray, level: float) -> tuple[float, float]:
    low, high = np.quantile(sample, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
