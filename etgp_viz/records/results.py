"""`panel`: the scores of all models on one data set, laid out as in the paper's figures.

A row for each flow or kernel, a mark for each way to use it: point estimate and Bayesian average of
an ETGP, separate and shared kernels of an SVGP. In the paper a figure is a row of such panels, one
for each data set (its figures of accuracy, of training and prediction time, of fewer inducing
points; log-likelihood in the appendix).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from etgp_viz.checks import check_choice, check_count, check_nonnegative
from etgp_viz.experiments.selection import select
from etgp_viz.experiments.settings import FLOWS, KERNELS, shown_name
from etgp_viz.experiments.summary import summarise

__all__ = ["METRICS", "RIVALS", "WAYS", "Metric", "Panel", "Series", "panel", "text_table"]


@dataclass(frozen=True)
class Metric:
    """A column of the table: what it is, in words, and which way is better."""

    column: str
    words: str
    larger_is_better: bool
    digits: int = 3

    @property
    def log(self) -> bool:
        """Whether equal distances should be equal ratios: times and memory."""
        return self.column in ("seconds_per_epoch", "prediction_seconds_per_1000", "memory_mib")


METRICS = {
    "accuracy": Metric("test_accuracy", "test accuracy", True),
    "log_likelihood": Metric("test_log_likelihood", "mean test log-likelihood (nats)", True),
    "ece": Metric("test_ece", "expected calibration error", False),
    "training": Metric("seconds_per_epoch", "training time per epoch, own batch size (s)", False),
    "race": Metric("seconds_per_epoch", "time per epoch, in turns, equal batches (s)", False),
    "prediction": Metric(
        "prediction_seconds_per_1000", "prediction time of 1000 rows (s)", False, 2
    ),
    "memory": Metric("memory_mib", "peak memory (MiB)", False, 0),
}

#: which models are beside ETGP
RIVALS = {
    "all": (*FLOWS, *KERNELS),
    "stationary": (*FLOWS, "svgp-rbf", "svgp-rbfcorr"),
    "non-stationary": (*FLOWS, "svgp-arccos", "svgp-nnet"),
}

#: a way to use a model, which has a mark of its own → its words
WAYS = {
    "pe": "ETGP, point estimate",
    "ba": "ETGP, Bayesian average",
    "separate": "SVGP, separate kernels",
    "shared": "SVGP, shared kernel",
    "separate-gpflow": "SVGP, separate, GPflow's own",
    "shared-gpflow": "SVGP, shared, GPflow's own",
}


@dataclass(frozen=True)
class Series:
    """The marks of one way to use models.

    Attributes
    ----------
    way : a key of `WAYS`
    rows : in which rows of the panel they stand ``[K]``
    mean, error : over seeds ``[K]``; the error is the standard error s/√n, NaN for one seed
    seeds : how many ``[K]``
    """

    way: str
    rows: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    seeds: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One panel in numbers.

    Attributes
    ----------
    dataset, metric : whose, and what; a key of `METRICS`
    title : of the panel
    labels : of the rows, from the top
    series : the marks, one entry for each way in `WAYS`
    num_inducing : M of the panel, or 0 if it has all of them, row by row
    selected_on : ``"validation"``, or ``"validation and test"`` if the SVGPs were picked on test
    bars : half the length of an error bar, in standard errors
    """

    dataset: str
    metric: str
    title: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    num_inducing: int
    selected_on: str
    bars: float = 1.0

    def best(self) -> tuple[str, str, float] | None:
        """Row, way and value of the best mark; None in an empty panel."""
        sign = 1.0 if METRICS[self.metric].larger_is_better else -1.0
        marks = [
            (sign * value, self.labels[row], one.way, value)
            for one in self.series
            for row, value in zip(one.rows, one.mean, strict=True)
        ]
        if not marks:
            return None
        _, label, way, value = max(marks, key=lambda mark: mark[0])
        return label, way, float(value)


def panel(
    table: pd.DataFrame,
    dataset: str,
    metric: str = "accuracy",
    *,
    num_inducing: int | None = None,
    rivals: str = "all",
    paper: bool = False,
    bars: float = 1.0,
) -> Panel:
    """The panel of one data set.

    Parameters
    ----------
    table : what `etgp_viz.experiments.load` or `etgp_viz.experiments.reference` give
    dataset : a data set of the table
    metric : a key of `METRICS`; ``"race"`` takes the steps that were timed in turns
    num_inducing : M; the largest of the data set if None; 0 for a row for every M of every model
        that was trained with several
    rivals : ``"all"``, ``"stationary"`` or ``"non-stationary"``
    paper : pick the SVGPs on test rows, see `etgp_viz.experiments.select`
    bars : half the length of an error bar, in standard errors
    """
    check_choice(dataset, "dataset", sorted(set(table["dataset"])))
    check_choice(metric, "metric", tuple(METRICS))
    check_choice(rivals, "rivals", tuple(RIVALS))
    rows = _summary(table[table["dataset"] == dataset], metric, paper)
    rows = rows[rows["model"].isin(RIVALS[rivals])]
    if num_inducing is None:
        num_inducing = int(rows["num_inducing"].max()) if len(rows) else 0
    if check_count(num_inducing, "num_inducing", minimum=0):
        rows = rows[rows["num_inducing"] == num_inducing]
    else:
        rows = rows[rows.groupby("model")["num_inducing"].transform("nunique") > 1]
    keys = [
        (model, M)
        for model in RIVALS[rivals]
        for M in sorted(set(rows["num_inducing"]), reverse=True)
        if ((rows["model"] == model) & (rows["num_inducing"] == M)).any()
    ]
    place = {key: k for k, key in enumerate(keys)}
    at = [place[key] for key in zip(rows["model"], rows["num_inducing"], strict=True)]
    rows = rows.assign(row=at).sort_values("row", kind="stable")
    words = METRICS[metric].words
    if metric == "race" and len(rows):
        words = f"time per epoch, in turns, hidden layers {rows['hidden'].iloc[0] or 'none'}"
    title = f"{shown_name(dataset)}: {words}" + (f", M = {num_inducing}" if num_inducing else "")
    return Panel(
        dataset=dataset,
        metric=metric,
        title=title,
        labels=tuple(_label(model, M, not num_inducing) for model, M in keys),
        series=tuple(_series(way, rows, metric) for way in WAYS),
        num_inducing=num_inducing,
        selected_on="validation and test" if paper else "validation",
        bars=check_nonnegative(bars, "bars"),
    )


def _summary(table: pd.DataFrame, metric: str, paper: bool) -> pd.DataFrame:
    """A row for each cell with its ``way``; the race as it was measured."""
    if metric == "race":
        timed = table[(table["inference"] == "speed") & (table["status"] == "ok")]
        # Only rivals of one race took turns: of each M the race in which ETGP has a network.
        timed = timed.sort_values("hidden", key=lambda hidden: hidden == "", kind="stable")
        timed = timed[timed["id"] == timed.groupby("num_inducing")["id"].transform("first")]
        loops = timed["implementation"].eq("gpflow").map({True: "-gpflow", False: ""})
        way = (timed["sharing"] + loops).where(timed["sharing"] != "", "pe")
        return timed.assign(way=way, seconds_per_epoch_se=np.nan, seeds=1)
    summary = summarise(select(table, paper=paper))
    way = summary["sharing"].where(summary["sharing"] != "", summary["inference"])
    return summary.assign(way=way)


def _series(way: str, rows: pd.DataFrame, metric: str) -> Series:
    own, column = rows[rows["way"] == way], METRICS[metric].column
    return Series(
        way,
        own["row"].to_numpy(int),
        own[column].to_numpy(float),
        own[f"{column}_se"].to_numpy(float),
        own["seeds"].to_numpy(int),
    )


def _label(model: str, num_inducing: int, with_count: bool) -> str:
    name = model.partition("-")[2].upper()
    return f"{name} · M = {num_inducing}" if with_count else name


def text_table(panels: Sequence[Panel]) -> pd.DataFrame:
    """The same figures as a table: models in rows, data sets in columns, mean ± standard error."""
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for one in panels:
        digits = METRICS[one.metric].digits
        column = cells.setdefault(f"{one.dataset} {one.metric}", {})
        for series in one.series:
            for row, mean, error in zip(series.rows, series.mean, series.error, strict=True):
                told = f"{mean:.{digits}f}"
                told += "" if np.isnan(error) else f" ± {error:.{digits}f}"
                column[one.labels[row], WAYS[series.way]] = told
    labels = dict.fromkeys(label for one in panels for label in one.labels)
    rows = [(label, way) for label in labels for way in WAYS.values()]
    rows = [row for row in rows if any(row in column for column in cells.values())]
    columns = {name: [column.get(row, "") for row in rows] for name, column in cells.items()}
    index = pd.MultiIndex.from_tuples(rows, names=["model", "way"]) if rows else None
    return pd.DataFrame(columns, index=index)
