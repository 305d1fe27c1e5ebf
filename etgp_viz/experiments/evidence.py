"""`Evidence`: what a table has to say on a question, as means with standard errors over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from etgp_viz.experiments.selection import select
from etgp_viz.experiments.settings import FLOWS, KERNELS
from etgp_viz.experiments.summary import speed_ups, summarise

__all__ = ["Evidence", "Found", "duels"]


@dataclass(frozen=True)
class Found:
    """A mean over seeds, its standard error (NaN for one seed), and whose it is."""

    who: str
    mean: float
    error: float
    seeds: int

    def __str__(self) -> str:
        error = "" if np.isnan(self.error) else f" ± {self.error:.3f}"
        return f"{self.who} {self.mean:.3f}{error} ({self.seeds} seed{'s' * (self.seeds > 1)})"

    def leads(self, other: Found) -> float:
        """How far this mean lies above another."""
        return self.mean - other.mean

    def doubt(self, other: Found) -> float:
        """Two standard errors of the difference, √(s₁² + s₂²); 0 where one is not known."""
        return 2.0 * float(np.nan_to_num(np.hypot(self.error, other.error)))


class Evidence:
    """The chosen configurations of a table, one row per cell, and its races of steps.

    Parameters
    ----------
    table : what `etgp_viz.experiments.load` reads
    paper : pick the SVGPs on test rows, see `etgp_viz.experiments.select`
    """

    def __init__(self, table: pd.DataFrame, paper: bool = False) -> None:
        self.table = table
        self.selected_on_test = paper
        self.summary = summarise(select(table, paper=paper))
        self.races = speed_ups(table)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Those with a score."""
        return tuple(dict.fromkeys(self.summary["dataset"]))

    def counts(self, dataset: str, model: str) -> tuple[int, ...]:
        """The numbers of inducing points that a model was trained with, the largest first."""
        rows = self.summary[(self.summary["dataset"] == dataset) & (self.summary["model"] == model)]
        return tuple(sorted(map(int, set(rows["num_inducing"])), reverse=True))

    def one(
        self,
        dataset: str,
        model: str,
        way: str = "pe",
        *,
        metric: str = "accuracy",
        num_inducing: int | None = None,
    ) -> Found | None:
        """The test score of one cell; ``way`` is ``"pe"``, ``"ba"``, ``"separate"``, ``"shared"``.

        With the data set's largest M unless another is asked for; None if there is no such cell.
        """
        return self._told(self._cells(dataset, [model], [way], num_inducing), metric)

    def best(
        self,
        dataset: str,
        models: Sequence[str],
        ways: Sequence[str] = ("pe", "ba", "separate", "shared"),
        *,
        metric: str = "accuracy",
    ) -> Found | None:
        """The test score of the cell that is the best of several on *validation* rows.

        By the same score; of equals the one with the better log-likelihood.
        """
        return self._told(self._cells(dataset, models, ways, None), metric)

    def _cells(
        self, dataset: str, models: Sequence[str], ways: Sequence[str], num_inducing: int | None
    ) -> pd.DataFrame:
        rows = self.summary[self.summary["dataset"] == dataset]
        if num_inducing is None and len(rows):
            num_inducing = int(rows["num_inducing"].max())
        way = rows["sharing"].where(rows["sharing"] != "", rows["inference"])
        kept = rows["model"].isin(models) & way.isin(ways) & (rows["num_inducing"] == num_inducing)
        return rows[kept]

    def _told(self, rows: pd.DataFrame, metric: str) -> Found | None:
        if not len(rows):
            return None
        score = f"validation_{metric}"
        order = [score, "validation_log_likelihood"] if score in rows else []
        row = rows.sort_values(order, kind="stable").iloc[-1] if order else rows.iloc[0]
        name = row["model"].partition("-")[2].upper()
        family = "ETGP" if row["model"] in FLOWS else "SVGP"
        way = row["sharing"] or row["inference"].upper()
        column = metric if metric in self.summary else f"test_{metric}"
        return Found(
            f"{family} {name} {way}", float(row[column]), float(row[f"{column}_se"]),
            int(row["seeds"]),
        )  # fmt: skip

    def times_sooner(self, rival: str, flow: str = "etgp-linear") -> dict[str, float]:
        """Race → how many times as long an epoch of a rival takes, measured in turns.

        A race is named by its data set, M, and the hidden layers of ETGP's network; ``rival`` is as
        `speed_ups` writes it.
        """
        rows = self.races[(self.races["rival"] == rival) & (self.races["model"] == flow)]
        named = "{0.dataset} (M = {0.num_inducing}, hidden layers {1})".format
        return {named(row, row.hidden or "none"): row.times for row in rows.itertuples()}


def duels(table: pd.DataFrame, *, paper: bool = False) -> pd.DataFrame:
    """On each data set the best ETGP against the best SVGP, both best on validation rows.

    Returns
    -------
    one row per data set and score: ``etgp`` and ``svgp`` with their figures, and ``result``, in
    which ETGP wins or loses if the difference is larger than two of its standard errors
    """
    evidence = Evidence(table, paper)
    rows = []
    for name in evidence.datasets:
        for metric in ("accuracy", "log_likelihood"):
            ours = evidence.best(name, FLOWS, metric=metric)
            theirs = evidence.best(name, KERNELS, metric=metric)
            if ours is None or theirs is None:
                continue
            lead, doubt = ours.leads(theirs), ours.doubt(theirs)
            result = "ETGP wins" if lead > doubt else "ETGP loses" if -lead > doubt else "a draw"
            rows.append((name, metric.replace("_", "-"), result, str(ours), str(theirs)))
    return pd.DataFrame(rows, columns=["dataset", "score", "result", "etgp", "svgp"])
