"""What each model was allowed, what it used, and which runs were cut short, in words.

A table of an earlier version lacks some of the columns that are read here; its texts are shorter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from etgp_viz.datasets import has_test_set
from etgp_viz.experiments.settings import CONFIGURATION, SPEED, model_label, short_name
from etgp_viz.rivals.names import KINDS

__all__ = ["OUT_OF_TIME", "describe_data", "effort", "predictive_draws", "unfinished"]

#: what the column ``stopped`` says of a run that the cap on its training time has ended
OUT_OF_TIME = "out of time"
#: the draws of an SVGP's predictions in a table of version 0.1, which does not state them
DRAWS_IN_0_1 = 1000


def effort(rows: Sequence[Mapping[str, Any]]) -> str:
    """Passes and seconds of the median run of a cell, and how many runs were cut.

    >>> effort([{"epochs": 400.0, "fit_seconds": 12.3, "stopped": "out of time"}])
    '400 passes in 12 s, 1 of 1 cut'
    """
    passes, seconds = (_median(rows, name) for name in ("epochs", "fit_seconds"))
    words = [] if math.isnan(passes) else [f"{passes:.0f} passes"]
    words += [] if math.isnan(seconds) else [f"in {seconds:.{0 if seconds >= 1.0 else 1}f} s"]
    cut = sum(row.get("stopped") == OUT_OF_TIME for row in rows)
    return " ".join(words) + (f", {cut} of {len(rows)} cut" if cut else "")


def predictive_draws(row: Mapping[str, Any]) -> str:
    """How the predictions of a row were averaged, and the error that this leaves in a probability.

    >>> row = {"model": "svgp-rbf", "inference": "pe", "predictive_draws": 100.0}
    >>> predictive_draws(row), predictive_draws(row | {"prediction_error": 0.0123})
    ('100 draws', '100 draws, error 0.012')
    """
    by_dropout = row["inference"] == "ba"
    if not by_dropout and not KINDS[row["model"]].is_monte_carlo:
        return "quadrature"
    draws = row.get("predictive_draws", math.nan)
    if math.isnan(draws):
        draws = row["samples"] if by_dropout else DRAWS_IN_0_1
    error = row.get("prediction_error", math.nan)
    left = "" if math.isnan(error) else f", error {error:.3f}"
    return f"{draws:.0f} {'dropout ' * by_dropout}draws{left}"


def describe_data(table: pd.DataFrame) -> Iterator[str]:
    """For each data set: rows, seeds and test rows, then the budgets of its models."""
    scored = table[(table["status"] == "ok") & (table["inference"] != SPEED)]
    for dataset, rows in scored.groupby("dataset", sort=False):
        first, seeds = rows.iloc[0], rows["seed"].nunique()
        test = "published" if has_test_set(str(dataset)) else "drawn anew for every seed"
        yield (
            f"{short_name(str(dataset))}: {first['num_classes']:.0f} classes, "
            f"{first['num_train']:.0f} training and {first['num_validation']:.0f} validation rows, "
            f"{first['num_test']:.0f} test rows, {test}; up to {seeds} seed{'s' * (seeds > 1)}"
        )
        by_budget: dict[str, list[str]] = {}
        for (model, sharing), runs in rows.groupby(["model", "sharing"], sort=False):
            by_budget.setdefault(_budget(model, runs), []).append(model_label(model, sharing))
        for budget, models in by_budget.items():
            yield f"    {', '.join(models)}: {budget}"


def unfinished(table: pd.DataFrame) -> Iterator[str]:
    """The runs that were cut by the limit on training time, and those that failed, by model."""
    runs = table.drop_duplicates("id")
    stopped = runs.get("stopped", pd.Series("", index=runs.index))
    cut = (runs["status"] == "ok") & (stopped == OUT_OF_TIME)
    failed = runs["status"].str.startswith("failed")
    for what, which in (("Cut short by the limit on training time", cut), ("Failed", failed)):
        counts = which.groupby([runs["dataset"], runs["model"], runs["sharing"]], sort=False)
        names = [
            f"{short_name(dataset)} {_label(model, sharing)} ({each.sum()} of {len(each)})"
            for (dataset, model, sharing), each in counts
            if each.any()
        ]
        if names:
            yield f"{what}: {', '.join(names)}."


def _budget(model: str, runs: pd.DataFrame) -> str:
    """What the runs of a model on a data set were allowed, and what was tried."""
    words = []
    if KINDS[model].is_trained_by_fit:
        steps, patience = _values(runs, "steps"), _values(runs, "patience")
        limit = "at most " if patience else ""
        words.append(f"{limit}{steps} steps of {_values(runs, 'batch_size')} rows")
        if patience:
            words.append(f"patience {patience} steps")
        if seconds := _values(runs, "max_seconds"):
            words.append(f"at most {seconds} s")
        words.append(f"learning rate {_values(runs, 'learning_rate')}")
    if KINDS[model].has_network:
        columns = zip(runs["hidden"], runs["dropout"], runs["weight_decay"], strict=True)
        networks = [
            f"{hidden or 'no hidden layer'} (dropout {dropout:g}, decay {decay:g})"
            for hidden, dropout, decay in sorted(set(columns))
        ]
        words.append(f"network {' or '.join(networks)}")
    tries = len(runs[list(CONFIGURATION)].drop_duplicates())
    return ", ".join([*words, f"{tries} configuration{'s' * (tries > 1)} tried"])


def _values(runs: pd.DataFrame, column: str) -> str:
    """The values of a column, smallest first; empty if the table does not have them."""
    values = runs[column].dropna() if column in runs else []
    return " or ".join(f"{value:g}" for value in sorted(set(values)))


def _median(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    values = [value for row in rows if not math.isnan(value := row.get(column, math.nan))]
    return median(values) if values else math.nan


def _label(model: str, sharing: str) -> str:
    return model_label(model, sharing) if model in KINDS else model
