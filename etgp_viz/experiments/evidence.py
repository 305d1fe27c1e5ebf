"""`Evidence`: what a table has to say on a question, as means with standard errors over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from etgp_viz.experiments.selection import select
from etgp_viz.experiments.settings import CELL, FLOWS, KERNELS
from etgp_viz.experiments.summary import speed_ups, summarise

__all__ = ["Evidence", "Found", "Times", "duels"]


@dataclass(frozen=True)
class Found:
    """Scores of a model, seed by seed, and whose they are.

    A seed draws the splits too, so that two models are compared seed by seed: on equal rows.
    """

    who: str
    scores: dict[int, float]

    def __str__(self) -> str:
        error = "" if np.isnan(self.error) else f" ± {self.error:.3f}"
        return f"{self.who} {self.mean:.3f}{error} ({self.seeds} seed{'s' * (self.seeds > 1)})"

    @property
    def seeds(self) -> int:
        """How many there are."""
        return len(self.scores)

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(list(self.scores.values())))

    @property
    def error(self) -> float:
        """The standard error of the mean; NaN for one seed."""
        return _standard_error(list(self.scores.values()))

    def leads(self, other: Found) -> float:
        """How far these scores lie above others: the mean over common seeds, if there are any."""
        return float(np.mean(self._differences(other) or [self.mean - other.mean]))

    def doubt(self, other: Found) -> float:
        """Two standard errors of that mean; NaN where it cannot be known, with one common seed."""
        return 2.0 * _standard_error(self._differences(other))

    def _differences(self, other: Found) -> list[float]:
        return [self.scores[s] - other.scores[s] for s in self.scores if s in other.scores]


class Times(NamedTuple):
    """How many times as long something takes, and from where to where that goes with quartiles."""

    times: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.times:.1f} ({self.low:.1f}–{self.high:.1f}) times"


def _standard_error(values: Sequence[float]) -> float:
    if len(values) < 2:
        return math.nan
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


class Evidence:
    """The chosen configurations of a table, one row per cell, and its races of steps.

    Parameters
    ----------
    table : what `etgp_viz.experiments.load` reads
    paper : pick the SVGPs on test rows, see `etgp_viz.experiments.select`
    """

    def __init__(self, table: pd.DataFrame, paper: bool = False) -> None:
        self.table = table
        self.selected = select(table, paper=paper)
        self.summary = summarise(self.selected)
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
        is_it = (self.selected[list(CELL)] == row[list(CELL)]).all(axis=1)
        return self._found(self.selected[is_it], metric)

    def _found(self, rows: pd.DataFrame, metric: str) -> Found:
        """The scores in the rows of a cell."""
        first = rows.iloc[0]
        name = first["model"].partition("-")[2].upper()
        family = "ETGP" if first["model"] in FLOWS else "SVGP"
        way = first["sharing"] or first["inference"].upper()
        column = metric if metric in rows else f"test_{metric}"
        seeds, scores = rows["seed"].astype(int), rows[column].astype(float)
        return Found(f"{family} {name} {way}", dict(zip(seeds, scores, strict=True)))

    def both_ways(
        self, dataset: str, flow: str, num_inducing: int | None = None
    ) -> tuple[Found, Found] | None:
        """Log-likelihoods (BA, PE) of the *same* trainings, those that were chosen for PE."""
        if not len(cell := self._cells(dataset, [flow], ["pe"], num_inducing)):
            return None
        is_it = (self.selected[list(CELL)] == cell.iloc[0][list(CELL)]).all(axis=1)
        pe = self.selected[is_it]
        ba = self.table[self.table["id"].isin(pe["id"]) & (self.table["inference"] == "ba")]
        if not len(ba):
            return None
        return self._found(ba, "log_likelihood"), self._found(pe, "log_likelihood")

    def times_sooner(self, rival: str, flow: str = "etgp-linear") -> dict[str, Times]:
        """Race → how many times as long an epoch of a rival takes, measured in turns.

        A race is named by its data set, M, and the hidden layers of ETGP's network; ``rival`` is as
        `speed_ups` writes it.
        """
        rows = self.races[(self.races["rival"] == rival) & (self.races["model"] == flow)]
        named = "{0.dataset} (M = {0.num_inducing}, hidden layers {1})".format
        return {
            named(row, row.hidden or "none"): Times(row.times, row.low, row.high)
            for row in rows.itertuples()
        }


def duels(table: pd.DataFrame, *, paper: bool = False) -> pd.DataFrame:
    """On each data set the best ETGP against the best SVGP, both best on validation rows.

    Returns
    -------
    one row per data set and score: ``etgp`` and ``svgp`` with their figures, and ``result``, in
    which ETGP wins or loses if the mean difference, seed by seed, is larger than two of its
    standard errors
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
            if np.isnan(doubt):
                place = "ahead" if lead > 0.0 else "behind" if lead < 0.0 else "level"
                result = f"one seed: ETGP {place}"
            rows.append((name, metric.replace("_", "-"), result, str(ours), str(theirs)))
    return pd.DataFrame(rows, columns=["dataset", "score", "result", "etgp", "svgp"])
