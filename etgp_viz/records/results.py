"""Results of experiments: a panel of scores on each data set, and close-ups of single runs.

A `Panel` is laid out as in the paper's figures: a row for each flow, kernel or other model, a mark
for each way to use it (point estimate and Bayesian average of a model with a network, separate and
shared kernels of an SVGP).
A figure of the paper is a row of such panels, one for each data set: accuracy, training and
prediction time, fewer inducing points; log-likelihood in the appendix. A `Collection` is a table of
experiments with the details of its runs.

>>> from etgp_viz import experiments
>>> panel = experiments.panel(experiments.reference(), "digits", rivals="stationary")
>>> panel.labels
('LINEAR', 'SAL', 'TANH', 'RBF', 'RBFCORR')
>>> experiments.text_table([panel]).loc[("TANH", "point estimate"), "digits accuracy"][:4]
'0.97'
>>> collection = experiments.Collection()
>>> row = collection.run("digits", "etgp-tanh", "pe", 100)
>>> collection.name(row), int(row["num_inducing"])
('ETGP TANH PE', 100)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from etgp_viz.checks import check_choice, check_count, check_nonnegative, fail
from etgp_viz.experiments.results import load, load_detail, reference, reference_detail
from etgp_viz.experiments.scoring import closest_look, select, summarise
from etgp_viz.experiments.settings import ALL_MODELS, COMPARED, SPEED, model_label, short_name
from etgp_viz.records import close_up
from etgp_viz.rivals import names

__all__ = [
    *("METRICS", "RIVALS", "WAYS", "Collection", "Metric", "Panel", "Series", "panel"),
    "text_table",
]


@dataclass(frozen=True)
class Metric:
    """A column of the table.

    Examples
    --------
    >>> METRICS["accuracy"].larger_is_better, METRICS["accuracy"].log
    (True, False)
    """

    column: str  # its name
    words: str  # what it is
    larger_is_better: bool  # whether more is better
    digits: int = 3  # decimals in a table
    means: str = "is better"  # what its better or larger end means

    @property
    def log(self) -> bool:
        """Whether it belongs on a logarithmic axis: times and memory."""
        return "seconds" in self.column or self.column == "memory_mib"


METRICS = {
    "accuracy": Metric("test_accuracy", "test accuracy", True),
    "log_likelihood": Metric("test_log_likelihood", "mean test log-likelihood (nats)", True),
    "ece": Metric("test_ece", "expected calibration error", False),
    "latent": Metric(
        *("latent_lost_at_zero", "log-likelihood lost with f₀ = 0 (nats)", True),
        means="means that f₀ matters more",
    ),
    "training": Metric("seconds_per_epoch", "training time per epoch (s)", False),
    "fit": Metric("fit_seconds", "training time until it stopped (s)", False, 1),
    "race": Metric("seconds_per_epoch", "time per epoch, in turns, equal batches (s)", False),
    "prediction": Metric(
        "prediction_seconds_per_1000", "prediction time of 1000 rows (s)", False, 2
    ),
    "memory": Metric("memory_mib", "peak memory (MiB)", False, 0),
}

#: which rivals a panel shows → models, the ETGPs first
RIVALS = {
    "all": (*COMPARED, *names.EXTENDED),
    "stationary": (*names.ETGPS, *names.STATIONARY),
    "non-stationary": (*names.ETGPS, *names.NON_STATIONARY),
    "beyond the paper": (*names.ETGPS, *names.BEYOND_PAPER),
    "extensions": ("etgp-linear", *names.EXTENDED, "network"),
}

#: a way to use a model, which has its own mark → its name in figures
WAYS = {
    "pe": "point estimate",
    "ba": "Bayesian average",
    "separate": "SVGP, separate kernels",
    "shared": "SVGP, shared kernel",
    "separate-gpflow": "SVGP, separate, GPflow's own",
    "shared-gpflow": "SVGP, shared, GPflow's own",
}


@dataclass(frozen=True)
class Series:
    """The marks of one way to use models.

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> first, *_ = experiments.panel(experiments.reference(), "digits").series
    >>> first.way, first.mean.shape == first.seeds.shape
    ('pe', True)
    """

    way: str  # a key of `WAYS`
    rows: np.ndarray  # the row of the panel of each mark [K]
    mean: np.ndarray  # over seeds [K]
    error: np.ndarray  # its standard error s/√n [K]; NaN for one seed
    seeds: np.ndarray  # number of seeds [K]
    calibrated: np.ndarray  # the ECE if the model were calibrated [K]; NaN for another metric


@dataclass(frozen=True)
class Panel:
    """The scores of all models on one data set.

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> panel = experiments.panel(experiments.reference(), "digits", rivals="stationary")
    >>> panel.title, panel.labels[:3]
    ('digits: test accuracy, M = 100', ('LINEAR', 'SAL', 'TANH'))
    >>> label, way, value = panel.best()
    >>> way, value > 0.9
    ('pe', True)
    """

    dataset: str  # its name
    metric: str  # a key of `METRICS`
    title: str  # above the panel
    labels: tuple[str, ...]  # of the rows, from the top
    series: tuple[Series, ...]  # the marks, one entry for each way in `WAYS`
    num_inducing: int  # M of the panel, or 0 if it has all of them, row by row
    selected_on: str  # "validation", or "validation and test" if SVGPs were picked on test rows
    bars: float = 1.0  # half the length of an error bar, in standard errors

    def best(self) -> tuple[str, str, float] | None:
        """Label, way and value of the best mark; None in an empty panel."""
        sign = 1.0 if METRICS[self.metric].larger_is_better else -1.0
        marks = [
            (sign * value, self.labels[row], series.way, value)
            for series in self.series
            for row, value in zip(series.rows, series.mean, strict=True)
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
    """The scores of all models on one data set, laid out as in the paper's figures.

    Parameters
    ----------
    table, dataset : of `etgp_viz.experiments.load` or `reference`, and a data set in it
    metric, rivals : a key of `METRICS` (``"race"``: steps that were timed in turns) and of `RIVALS`
    num_inducing : M; the largest of the data set if None; 0 for a row for every M of every model
        that was trained with several. Models without inducing points are shown with every M.
    paper : pick the rivals on test rows, see `etgp_viz.experiments.select`
    bars : half the length of an error bar, in standard errors

    Returns
    -------
    `Panel`, which `etgp_viz.figures.results` draws
    """
    check_choice(dataset, "dataset", sorted(set(table["dataset"])))
    check_choice(metric, "metric", tuple(METRICS))
    check_choice(rivals, "rivals", tuple(RIVALS))
    rows = _summary(table[table["dataset"] == dataset], metric, paper)
    rows = rows[rows["model"].isin(RIVALS[rivals])]
    by_default = num_inducing is None
    if num_inducing is None:
        num_inducing = int(rows["num_inducing"].max()) if len(rows) else 0
    if check_count(num_inducing, "num_inducing", minimum=0) or by_default:
        rows = rows[rows["num_inducing"].isin((num_inducing, 0))]  # 0: without inducing points
    else:
        rows = rows[rows.groupby("model")["num_inducing"].transform("nunique") > 1]
    cells = list(zip(rows["model"], rows["num_inducing"], strict=True))
    order = RIVALS[rivals].index
    keys = sorted(set(cells), key=lambda cell: (order(cell[0]), -cell[1]))
    rows = rows.assign(row=list(map(keys.index, cells))).sort_values("row", kind="stable")
    labels = [names.KINDS[model].short_label for model, _ in keys]
    if not num_inducing and not by_default:
        labels = [f"{label} · M = {M}" for label, (_, M) in zip(labels, keys, strict=True)]
    words = METRICS[metric].words
    if metric == "race" and len(rows):
        words = f"time per epoch, in turns, hidden layers {rows['hidden'].iloc[0] or 'none'}"
    title = f"{short_name(dataset)}: {words}" + (f", M = {num_inducing}" if num_inducing else "")
    return Panel(
        dataset=dataset,
        metric=metric,
        title=title,
        labels=tuple(labels),
        series=tuple(_series(way, rows, metric) for way in WAYS),
        num_inducing=num_inducing,
        selected_on="validation and test" if paper else "validation",
        bars=check_nonnegative(bars, "bars"),
    )


def _summary(table: pd.DataFrame, metric: str, paper: bool) -> pd.DataFrame:
    """A row for each cell with its ``way``; the race as it was measured."""
    if metric == "race":
        timed = table[(table["inference"] == "speed") & (table["status"] == "ok")]
        # Only the models of one race took turns. For each M: the race in which ETGP has a network.
        timed = timed.sort_values("hidden", key=lambda hidden: hidden == "", kind="stable")
        timed = timed[timed["id"] == timed.groupby("num_inducing")["id"].transform("first")]
        loops = timed["implementation"].eq("gpflow").map({True: "-gpflow", False: ""})
        way = (timed["sharing"] + loops).where(timed["sharing"] != "", "pe")
        return timed.assign(way=way, seconds_per_epoch_se=np.nan, seeds=1)
    summary = summarise(select(table, paper=paper))
    way = summary["sharing"].where(summary["sharing"] != "", summary["inference"])
    return summary.assign(way=way)


def _series(way: str, rows: pd.DataFrame, metric: str) -> Series:
    column = METRICS[metric].column
    marks = rows[(rows["way"] == way) & rows[column].notna()]
    mean, error = (marks[name].to_numpy(float) for name in (column, f"{column}_se"))
    expected = f"{column}_if_calibrated"
    calibrated = marks[expected] if expected in marks else pd.Series(np.nan, marks.index)
    return Series(
        way=way,
        rows=marks["row"].to_numpy(int),
        mean=mean,
        error=error,
        seeds=marks["seeds"].to_numpy(int),
        calibrated=calibrated.to_numpy(float),
    )


def text_table(panels: Sequence[Panel]) -> pd.DataFrame:
    """The figures of panels as text: models in rows, panels in columns, mean ± standard error.

    The brackets after a calibration error say what a calibrated model would score.

    Parameters
    ----------
    panels : of `panel`

    Returns
    -------
    data frame : indexed by model and way, one column per panel
    """
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for panel in panels:
        digits = METRICS[panel.metric].digits
        column = cells.setdefault(f"{panel.dataset} {panel.metric}", {})
        for series in panel.series:
            for row, mean, error, calibrated in zip(
                series.rows, series.mean, series.error, series.calibrated, strict=True
            ):
                text = f"{mean:.{digits}f}"
                text += "" if np.isnan(error) else f" ± {error:.{digits}f}"
                text += "" if np.isnan(calibrated) else f" (if calibrated {calibrated:.{digits}f})"
                column[panel.labels[row], WAYS[series.way]] = text
    labels = dict.fromkeys(label for panel in panels for label in panel.labels)
    rows = [(label, way) for label in labels for way in WAYS.values()]
    rows = [row for row in rows if any(row in column for column in cells.values())]
    columns = {name: [column.get(row, "") for row in rows] for name, column in cells.items()}
    index = pd.MultiIndex.from_tuples(rows, names=["model", "way"]) if rows else None
    return pd.DataFrame(columns, index=index)


class Collection:
    """A table of experiments with the details of its runs.

    Parameters
    ----------
    path : what ``etgp-viz experiment`` wrote, with the details of the runs beside it; None for the
        results that come with the package

    Attributes
    ----------
    table, looks : all rows, and those whose runs have a close-up, one of each cell
    datasets, counts : of these, the names and the numbers of inducing points, the largest first
    models : names from `etgp_viz.experiments.MODELS` → labels, of the models in the table

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> collection = experiments.Collection()
    >>> row = collection.run("digits", "etgp-tanh", "pe", 100)
    >>> collection.name(row)
    'ETGP TANH PE'
    >>> collection.detail(row["id"])["class_names"][:3]
    ['0', '1', '2']
    >>> collection.code(row["id"])[0]
    'experiments.reference()'
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.table = reference() if self.path is None else load(self.path)
        self.looks = closest_look(self.table)
        if self.looks.empty:
            fail("path", "a result file with a finished run", str(path))
        self.datasets = tuple(dict.fromkeys(self.looks["dataset"]))
        counts = sorted(map(int, set(self.looks["num_inducing"])), reverse=True)
        self.counts = tuple(filter(None, counts)) or (0,)  # 0: without inducing points
        trained = set(zip(self.looks["model"], self.looks["sharing"], strict=True))
        self.models = {
            name: model_label(*model)
            for name, model in ALL_MODELS.items()
            if name != SPEED and model in trained
        }
        self.panel = lru_cache(maxsize=64)(self._panel)
        self.close_up_records = lru_cache(maxsize=16)(self._close_up_records)

    def run(self, dataset: str, model: str, way: str, num_inducing: int) -> pd.Series:
        """The row of a run on a data set, or of the most similar run in the table.

        If the model predicts in both ways, it is the run that was chosen for its point estimate in
        either case, so that both ways show the same network.

        Parameters
        ----------
        dataset : one of `datasets`
        model : a key of `etgp_viz.experiments.MODELS`
        way : "pe" for the point estimate or "ba" for the Bayesian average
        num_inducing : M; the nearest number of the table is taken
        """
        rows = self.looks[(self.looks["dataset"] == dataset) & (self.looks["inference"] == "pe")]
        name, sharing = ALL_MODELS[model]
        misses = pd.DataFrame(
            {
                "model": rows["model"] != name,
                "sharing": rows["sharing"] != sharing,
                "count": (rows["num_inducing"] - num_inducing).abs(),
            }
        )
        nearest = rows.loc[misses.sort_values(list(misses), kind="stable").index[0]]
        run = self.table[self.table["id"] == nearest["id"]].set_index("inference", drop=False)
        return run.loc[way if way in run.index else "pe"]

    def name(self, row: pd.Series) -> str:
        """The model of a `row` from `run`, with its way of predicting if it has several."""
        label = model_label(row["model"], row["sharing"])
        has_both = names.KINDS[row["model"]].has_bayesian_average
        return f"{label} {row['inference'].upper()}" if has_both else label

    def detail(self, run_id: str) -> dict[str, Any]:
        """The details of the run `run_id`, see `etgp_viz.experiments.details.detail`."""
        return reference_detail(run_id) if self.path is None else load_detail(self.path, run_id)

    def code(self, run_id: str) -> tuple[str, str]:
        """Two expressions for a script: the table, and the details of the run `run_id`."""
        if self.path is None:
            return "experiments.reference()", f"experiments.reference_detail({run_id!r})"
        path = str(self.path)
        return f"experiments.load({path!r})", f"experiments.load_detail({path!r}, {run_id!r})"

    def _panel(self, dataset: str, metric: str, M: int, rivals: str, bars: float) -> Panel:
        return panel(self.table, dataset, metric, num_inducing=M, rivals=rivals, bars=bars)

    def _close_up_records(self, run_id: str, way: str) -> dict[str, Any]:
        """Name of a picture → its record, for one run and way of predicting."""
        detail = self.detail(run_id)
        return {
            "confusion": close_up.confusion(detail),
            "reliability": close_up.reliability_bins(detail, way),
            "hardest": close_up.hardest(detail),
            "elbo": close_up.elbo(detail),
            **{part: close_up.lines(detail, part) for part in ("scale", "offset")},
            "projection": close_up.projection(detail),
        }
