"""Scores: of one run's predictions, of the configurations of a grid, and their means over seeds.

A configuration is chosen by its score on validation rows, for every model alike. The same rows told
training when to stop, so their scores are a little too good, and those of test rows are reported.
The paper picked its baselines by their *test* scores, which flatters them; that is an option here,
and its results say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from etgp_viz.checks import check_choice
from etgp_viz.experiments.settings import CELL, CONFIGURATION
from etgp_viz.rivals.names import ETGPS, EXTENDED

__all__ = [
    "METRICS",
    "NUM_BINS",
    "SCORES",
    "Calibrated",
    "Reliability",
    "calibrated_ece",
    "closest_look",
    "expected_calibration_error",
    "reliability",
    "scores",
    "select",
    "speed_ups",
    "summarise",
]

NUM_BINS = 15
RESAMPLES = 400

SCORES = ("log_likelihood", "accuracy")
#: the columns of a cell that a failed run, which predicts nothing, also has
TRAINED = tuple(name for name in CELL if name != "inference")

METRICS = (
    *("test_accuracy", "test_log_likelihood", "test_ece", "test_ece_if_calibrated"),
    *("validation_accuracy", "validation_log_likelihood"),
    *("latent_lost_at_zero", "latent_lost_at_mean"),
    *("seconds_per_epoch", "seconds_per_step", "fit_seconds", "epochs", "memory_mib"),
    *("prediction_seconds_per_1000", "prediction_error"),
)
#: columns of a summary that are the same in all rows of a cell: how the configuration was chosen,
#: the configuration, the budget
COMMON = (
    *("selected_on", "tries", "hidden", "dropout", "weight_decay", "learning_rate"),
    *("start", "batch_size", "steps", "patience", "max_seconds"),
    *("predictive_draws", "implementation"),
)
#: columns that name a race and its flow
RACE = ("dataset", "num_inducing", "hidden", "model", "seconds_per_epoch")


# --- predictions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reliability:
    """Predictions in B bins of equal width by their confidence max_c p_c.

    Number of rows, mean confidence, and share of right predictions, ``[B]`` each, 0 where empty.
    """

    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def reliability(p: np.ndarray, labels: np.ndarray, num_bins: int = NUM_BINS) -> Reliability:
    """Accuracy against confidence of predictions p ``[N, C]`` in the B bins (k/B, (k+1)/B]."""
    confidence = p.max(axis=1)
    right = p.argmax(axis=1) == labels
    bins = _bins(confidence, num_bins)
    count = np.bincount(bins, minlength=num_bins)
    rows = np.maximum(count, 1)
    return Reliability(
        count=count,
        confidence=np.bincount(bins, confidence, num_bins) / rows,
        accuracy=np.bincount(bins, right, num_bins) / rows,
    )


def _bins(confidence: np.ndarray, num_bins: int) -> np.ndarray:
    """The bin of each confidence ``[N]``."""
    return np.clip(np.ceil(confidence * num_bins).astype(int) - 1, 0, num_bins - 1)


def expected_calibration_error(
    p: np.ndarray, labels: np.ndarray, num_bins: int = NUM_BINS
) -> float:
    """ECE = Σ_b (n_b / N) |accuracy_b − confidence_b|, over the bins of `reliability`.

    Predictions p ``[N, C]`` that are certain, and right in three cases of four:

    >>> p = np.array([[1.0, 0.0]] * 4)
    >>> expected_calibration_error(p, np.array([0, 0, 0, 1]))
    0.25
    """
    bins = reliability(p, labels, num_bins)
    gaps = np.abs(bins.accuracy - bins.confidence)
    return float(np.sum(bins.count * gaps) / len(labels))


class Calibrated(NamedTuple):
    """The ECE that perfectly calibrated predictions would have: mean, 5 % and 95 % quantile."""

    mean: float
    low: float
    high: float


def calibrated_ece(p: np.ndarray, seed: int = 0, num_bins: int = NUM_BINS) -> Calibrated:
    """The ECE if the labels were drawn from the predictions p ``[N, C]`` themselves.

    It is not 0: in a bin of n rows the share that is right still differs by chance from the mean
    confidence, by about √(π(1 − π)/n), and the ECE adds up the absolute differences. So an ECE
    speaks against a model only if it lies above this range. If a label is drawn from p, the
    prediction is right with probability max_c p_c, so the confidences are all that is needed.

    >>> p = np.full((100, 2), 0.5)
    >>> expected = calibrated_ece(p)
    >>> round(expected.mean, 2), expected.low < expected.mean < expected.high
    (0.04, True)
    """
    confidence, rng = p.max(axis=1), np.random.default_rng(seed)
    bins = _bins(confidence, num_bins)
    gaps = [
        np.abs(np.bincount(bins, (rng.random(len(p)) < confidence) - confidence, num_bins)).sum()
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(gaps, [0.05, 0.95]) / len(p)
    return Calibrated(float(np.mean(gaps) / len(p)), float(low), float(high))


def scores(p: np.ndarray, log_p: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """``accuracy``, mean ``log_likelihood`` and ``ece`` of class probabilities p ``[N, C]``.

    ``log_p`` ``[N]`` holds the log probabilities of the labels ``[N]``: the probabilities
    themselves may underflow.
    """
    return {
        "accuracy": float(np.mean(p.argmax(axis=1) == labels)),
        "log_likelihood": float(np.mean(log_p)),
        "ece": expected_calibration_error(p, labels),
    }


# --- a table of runs ------------------------------------------------------------------------------


def select(table: pd.DataFrame, *, by: str = "log_likelihood", paper: bool = False) -> pd.DataFrame:
    """The rows of the best configuration of each cell (data set, model, sharing, inference, M).

    The score of a configuration is its mean over the seeds that all configurations of the cell have
    finished, so that an interrupted grid compares like with like. A configuration with a failed run
    does not compete unless all have one: it may have failed where the task was hardest. The first
    of two equals wins.

    Parameters
    ----------
    table : of `etgp_viz.experiments.load` or `etgp_viz.experiments.reference`
    by : the score that decides, ``"log_likelihood"`` or ``"accuracy"``
    paper : pick the baselines (not ETGP) on the test rows, as the paper did

    Returns
    -------
    data frame : the rows with the columns ``selected_on``, ``"validation"`` or ``"test"``, and
        ``tries``, how many configurations of the cell were tried

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> table = experiments.reference()
    >>> chosen = experiments.select(table[table["dataset"] == "vowel"], paper=True)
    >>> sorted(set(chosen["selected_on"]))
    ['test', 'validation']
    """
    check_choice(by, "by", SCORES)
    # A number for each configuration of a model on a data set, also of failed runs.
    columns = table.groupby([*TRAINED, *CONFIGURATION], sort=False, dropna=False)
    numbered = table.assign(configuration=columns.ngroup().to_numpy())
    failed = set(numbered[table["status"].str.startswith("failed")]["configuration"])
    scored = numbered[(table["status"] == "ok") & table[f"validation_{by}"].notna()]
    tries = numbered.groupby(list(TRAINED))["configuration"].nunique()
    chosen = [scored[:0].assign(selected_on="", tries=0)]
    for (dataset, model, sharing, _, M), cell in scored.groupby(list(CELL), sort=False):
        split = "test" if paper and model not in (*ETGPS, *EXTENDED) else "validation"
        groups = dict(iter(cell.groupby("configuration", sort=False)))
        sound = [rows for number, rows in groups.items() if number not in failed]
        best = _best(sound or list(groups.values()), f"{split}_{by}")
        count = tries[dataset, model, sharing, M]
        chosen.append(best.assign(selected_on=split, tries=count))
    return pd.concat(chosen[1:] or chosen).drop(columns="configuration")


def _best(configurations: list[pd.DataFrame], score: str) -> pd.DataFrame:
    """The rows with the best mean over common seeds, or over their own if none is common."""
    common = set.intersection(*(set(rows["seed"]) for rows in configurations))

    def mean(rows: pd.DataFrame) -> float:
        return float(rows[rows["seed"].isin(common) | (not common)][score].mean())

    return max(configurations, key=mean)


def closest_look(table: pd.DataFrame) -> pd.DataFrame:
    """The row of each cell that a close-up shows: the chosen configuration, the smallest seed.

    Parameters
    ----------
    table : of `etgp_viz.experiments.load` or `etgp_viz.experiments.reference`

    Returns
    -------
    data frame : one row per cell, with the columns of `select`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> rows = experiments.closest_look(experiments.reference())
    >>> cell = ["dataset", "model", "sharing", "inference", "num_inducing"]
    >>> bool(rows.duplicated(cell).any())
    False
    """
    chosen = select(table).sort_values("seed", kind="stable")
    return chosen.drop_duplicates(list(CELL)).sort_index()


def summarise(selected: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds: one row per cell, with each metric and its standard error s/√n.

    Parameters
    ----------
    selected : of `etgp_viz.experiments.select`

    Returns
    -------
    data frame : the cell's columns; ``selected_on`` and ``tries`` (how many configurations were
        tried); the chosen one (``hidden``, ``dropout``, ``weight_decay``, ``learning_rate``);
        ``start``; the budget (``batch_size``, ``steps``, ``patience``, ``max_seconds``);
        ``predictive_draws``; ``seeds`` (how many) and ``stopped`` (why, in how many of them);
        ``<metric>`` and ``<metric>_se`` (NaN for a single seed), among them ``epochs``, the passes

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> table = experiments.reference()
    >>> summary = experiments.summarise(experiments.select(table[table["dataset"] == "digits"]))
    >>> linear = summary[summary["model"] == "etgp-linear"].iloc[0]
    >>> print(f"{linear['test_accuracy']:.2f}", linear["seeds"])
    0.98 3
    """
    rows = []
    for cell, group in selected.groupby(list(CELL), sort=False):
        row = dict(zip(CELL, cell, strict=True)) | {name: group[name].iloc[0] for name in COMMON}
        row |= {"seeds": len(group), "stopped": _counted(group["stopped"])}
        values = group[list(METRICS)].to_numpy(float)  # [seeds, metrics]
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(len(METRICS), np.nan)
        errors = spread / np.sqrt(len(values))
        row |= dict(zip(METRICS, values.mean(axis=0), strict=True))
        row |= {f"{metric}_se": error for metric, error in zip(METRICS, errors, strict=True)}
        rows.append(row)
    names = [*CELL, *COMMON, "seeds", "stopped", *(n for m in METRICS for n in (m, f"{m}_se"))]
    return pd.DataFrame(rows, columns=names)


def _counted(reasons: pd.Series) -> str:
    """Reasons with their counts, the most frequent first, such as ``2 no improvement``."""
    counts = reasons[reasons != ""].value_counts()
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def speed_ups(table: pd.DataFrame) -> pd.DataFrame:
    """Speed-up of an ETGP epoch over an epoch of each SVGP, measured in turns.

    Parameters
    ----------
    table : of `etgp_viz.experiments.load` or `etgp_viz.experiments.reference`

    Returns
    -------
    data frame : one row per race (data set, M, widths of ETGP's network), flow and rival, with
        ``seconds_per_epoch`` of ETGP, ``times`` (how many times as long the rival takes), and
        ``low``, ``high``, the range of ``times`` as the steps of both go from quartile to quartile

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> races = experiments.speed_ups(experiments.reference())
    >>> sorted(set(races["rival"]))[:2]
    ['svgp-rbf separate (batched)', 'svgp-rbf separate (gpflow)']
    """
    timed = table[(table["status"] == "ok") & (table["inference"] == "speed")]
    rows = []
    for _, race in timed.groupby("id", sort=False):
        is_etgp = race["model"].isin(ETGPS)
        for etgp, rival in product(race[is_etgp].itertuples(), race[~is_etgp].itertuples()):
            row = {name: getattr(etgp, name) for name in RACE}
            row["rival"] = f"{rival.model} {rival.sharing} ({rival.implementation})"
            row["times"] = rival.seconds_per_epoch / etgp.seconds_per_epoch
            row["low"] = rival.seconds_per_step_low / etgp.seconds_per_step_high
            row["high"] = rival.seconds_per_step_high / etgp.seconds_per_step_low
            rows.append(row)
    return pd.DataFrame(rows, columns=[*RACE, "rival", "times", "low", "high"])
