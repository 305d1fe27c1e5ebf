"""Models compared on a table of results: seed by seed, and race by race.

`Evidence` looks up scores and speed-ups. `Score.better_than` and `Score.close_to` compare two
scores by the rules of `etgp_viz.experiments.intervals`; `duels` compares the best ETGP with the
best rivals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from etgp_viz.datasets import has_test_set
from etgp_viz.experiments.budgets import effort
from etgp_viz.experiments.intervals import (
    AS_CLAIMED,
    MARGINS,
    NOT_TESTED,
    Lead,
    better,
    close,
)
from etgp_viz.experiments.scoring import select, speed_ups, summarise
from etgp_viz.experiments.settings import CELL, model_label, short_name
from etgp_viz.rivals.names import BEYOND_PAPER, ETGPS, KINDS, SVGPS

__all__ = [
    "DRAW",
    "LOSES",
    "UNCLEAR",
    "WINS",
    "Comparison",
    "Duel",
    "Evidence",
    "Score",
    "SpeedUp",
    "duels",
]

Rows = list[dict[str, Any]]

#: results of a duel; a draw means that the difference is certainly below the margin
WINS, LOSES, DRAW, UNCLEAR = "ETGP wins", "ETGP loses", "a draw", "undecided"
WAYS = ("pe", "ba", "separate", "shared")


@dataclass(frozen=True)
class Comparison:
    """One comparison that tests a claim.

    Attributes
    ----------
    dataset : the data set that it is about
    outcome : `AS_CLAIMED`, `NOT_AS_CLAIMED`, `UNDECIDED`, or `NOT_TESTED`
    words : the figures, or what the table lacks
    num_seeds : seeds that both models have; 0 for a race, which has rounds instead
    lacks : models that could have been the best of several, and that the table does not have
    """

    dataset: str
    outcome: str
    words: str
    num_seeds: int = 0
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """The scores of a model on one data set, seed by seed; none if the table lacks the model.

    Attributes
    ----------
    dataset, who : the data set; the model and how it predicts or shares
    scores : seed → score. Two models are compared seed by seed, since a seed also decides the rows.
    metric : ``"accuracy"``, ``"log_likelihood"``, or another column
    overlap : r in `etgp_viz.experiments.intervals`
    effort : passes and seconds of training, in words
    lacks : for the best of several models, those that the table does not have
    """

    dataset: str
    who: str
    scores: dict[int, float]
    metric: str = "accuracy"
    overlap: float = 0.0
    effort: str = ""
    lacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        seeds = f"{len(self.scores)} seed{'s' * (len(self.scores) > 1)}"
        return f"{self.who} {self.mean:.3f} ({', '.join(filter(None, (seeds, self.effort)))})"

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(list(self.scores.values())))

    def lead_over(self, other: Score) -> Lead:
        """The lead over common seeds, or the difference of the means if there are none."""
        differences = [self.scores[s] - other.scores[s] for s in self.scores if s in other.scores]
        if not differences:
            return Lead(self.mean - other.mean)
        return Lead.of(differences, self.overlap)

    def better_than(self, other: Score) -> Comparison:
        """Whether this score is better than another by enough to matter."""
        return self._compare(better, other)

    def close_to(self, other: Score) -> Comparison:
        """Whether this score is better than another, or not much worse."""
        return self._compare(close, other)

    def _compare(self, rule: Callable[[Lead, float], str], other: Score) -> Comparison:
        about = f"{short_name(self.dataset)}, {self.metric.replace('_', '-')}"
        if missing := [f"no {score.who}" for score in (self, other) if not score.scores]:
            return Comparison(self.dataset, NOT_TESTED, f"{about}: {', '.join(missing)}")
        lead = self.lead_over(other)
        partial = lead.num_seeds < max(len(self.scores), len(other.scores))
        common = f" over {lead.num_seeds} common seed{'s' * (lead.num_seeds != 1)}"
        words = f"{about}: {self} against {other}: {lead}{common if partial else ''}"
        outcome, lacks = rule(lead, MARGINS[self.metric]), self.lacks + other.lacks
        return Comparison(self.dataset, outcome, words, lead.num_seeds, lacks)


class SpeedUp(NamedTuple):
    """How many times as long a rival takes, with the range from quartile to quartile."""

    times: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.times:.1f} ({self.low:.1f}–{self.high:.1f}) times"


class Duel(NamedTuple):
    """The best ETGP against the best of some rivals, on one data set and in one score."""

    etgp: Score
    rival: Score

    @property
    def lead(self) -> Lead:
        """The lead of ETGP."""
        return self.etgp.lead_over(self.rival)

    @property
    def result(self) -> str:
        """`WINS`, `LOSES`, `DRAW` or `UNCLEAR`."""
        lead, margin = self.lead, MARGINS[self.etgp.metric]
        if better(lead, margin) == AS_CLAIMED:
            return WINS
        if better(lead.reversed, margin) == AS_CLAIMED:
            return LOSES
        return DRAW if lead.low > -margin and lead.high < margin else UNCLEAR


class Evidence:
    """The chosen configurations of a table, one row per cell, and its races of steps.

    ``paper`` picks the rivals on test rows, see `etgp_viz.experiments.select`.
    """

    def __init__(self, table: pd.DataFrame, paper: bool = False) -> None:
        self.table = table.copy(deep=False)
        self.table.attrs = {}  # pandas copies them at every step, which takes long
        selected = select(self.table, paper=paper)
        self.summary = summarise(selected)
        self.datasets = tuple(dict.fromkeys(table[table["status"] == "ok"]["dataset"]))
        # Hundreds of look-ups are much faster in lists than in data frames.
        self._cells = self.summary.to_dict("records")
        self._rows: dict[tuple, Rows] = {}
        for row in selected.to_dict("records"):
            self._rows.setdefault(_key(row), []).append(row)

    @cached_property
    def _races(self) -> list[Any]:
        return list(speed_ups(self.table).itertuples())

    @cached_property
    def _averages(self) -> dict[str, dict[str, Any]]:
        """Run → its row with the scores of the Bayesian average."""
        is_average = (self.table["status"] == "ok") & (self.table["inference"] == "ba")
        return {row["id"]: row for row in self.table[is_average].to_dict("records")}

    def counts(self, dataset: str, model: str) -> tuple[int, ...]:
        """The numbers of inducing points that a model was trained with, the largest first."""
        counts = {
            int(cell["num_inducing"])
            for cell in self._cells
            if (cell["dataset"], cell["model"]) == (dataset, model)
        }
        return tuple(sorted(counts, reverse=True))

    def one(self, dataset: str, model: str, way: str = "pe", **options: Any) -> Score:
        """The test score of one cell, without scores if there is no such cell."""
        return self.best(dataset, [model], [way], **options)

    def best(
        self,
        dataset: str,
        models: Sequence[str],
        ways: Sequence[str] = WAYS,
        *,
        metric: str = "accuracy",
        num_inducing: int | None = None,
    ) -> Score:
        """The test score of the best of several cells, judged on *validation* rows.

        The same score decides; of equals, the one with the better log-likelihood is taken. By
        default M is the data set's largest. A metric that is not a score needs a single model.
        """
        rows = self.rows(dataset, models, ways, metric=metric, num_inducing=num_inducing)
        if not rows:
            who = " or ".join(model_label(model) for model in models)
            return Score(dataset, f"{who}, M {num_inducing}" if num_inducing else who, {}, metric)
        present = {cell["model"] for cell in self._matching(dataset, models, ways, num_inducing)}
        lacks = tuple(model_label(model) for model in models if model not in present)
        return replace(_score(rows, metric), lacks=lacks)

    def rows(
        self,
        dataset: str,
        models: Sequence[str],
        ways: Sequence[str] = WAYS,
        *,
        metric: str = "accuracy",
        num_inducing: int | None = None,
    ) -> Rows:
        """The rows of the cell that `best` takes, one for each seed."""
        cells = self._matching(dataset, models, ways, num_inducing)
        if not cells:
            return []
        found, score = [self._rows[_key(cell)] for cell in cells], f"validation_{metric}"
        if score not in cells[0]:
            return found[0]
        # A seed decides which rows are held out: cells are judged on the seeds that all have.
        common = set.intersection(*({row["seed"] for row in rows} for rows in found))

        def on_validation(rows: Rows) -> tuple[float, ...]:
            judged = [row for row in rows if row["seed"] in common] or rows
            names = (score, "validation_log_likelihood")
            return tuple(float(np.mean([row[name] for row in judged])) for name in names)

        return sorted(found, key=on_validation)[-1]  # the last of equals

    def _matching(
        self, dataset: str, models: Sequence[str], ways: Sequence[str], num_inducing: int | None
    ) -> Rows:
        """The cells of these models, used in these ways, with the largest M by default."""
        cells = [cell for cell in self._cells if cell["dataset"] == dataset]
        with_points = [cell for cell in cells if KINDS[cell["model"]].has_inducing_points]
        M = num_inducing or max((cell["num_inducing"] for cell in with_points), default=0)
        return [
            cell
            for cell in cells
            if cell["model"] in models
            and (cell["sharing"] or cell["inference"]) in ways
            and (cell["num_inducing"] == M or cell not in with_points)
        ]

    def both_ways(
        self, dataset: str, model: str, num_inducing: int | None = None
    ) -> tuple[Score, Score]:
        """Log-likelihoods (BA, PE) of the *same* runs, those that were chosen for PE."""
        pe = self.one(dataset, model, metric="log_likelihood", num_inducing=num_inducing)
        rows = self.rows(dataset, [model], ["pe"], num_inducing=num_inducing)
        ba = [self._averages[row["id"]] for row in rows if row["id"] in self._averages]
        missing = Score(dataset, model_label(model, "BA"), {}, "log_likelihood")
        return (_score(ba, "log_likelihood") if ba else missing), pe

    def races(self, dataset: str, rival: str, model: str = "etgp-linear") -> dict[str, SpeedUp]:
        """Race → how many times as long an epoch of a rival takes, measured in turns.

        A race is named after its data set, M, and the hidden layers of ETGP's network; ``rival`` is
        written as in `etgp_viz.experiments.speed_ups`.
        """
        name = (short_name(dataset) + " (M = {0.num_inducing}, hidden layers {1})").format
        return {
            name(row, row.hidden or "none"): SpeedUp(row.times, row.low, row.high)
            for row in self._races
            if (row.dataset, row.rival, row.model) == (dataset, rival, model)
        }

    def duels(self, *, beyond: bool = False) -> Iterator[Duel]:
        """The best ETGP against the best of the paper's SVGPs, on every data set in both scores.

        ``beyond`` adds a duel with each of the controls and rivals that the paper does not have.
        """
        rivals = [SVGPS, *([name] for name in BEYOND_PAPER if beyond)]
        for dataset in self.datasets:
            for metric in MARGINS:
                etgp = self.best(dataset, ETGPS, metric=metric)
                for models in rivals:
                    rival = self.best(dataset, models, metric=metric)
                    if etgp.scores and rival.scores:
                        yield Duel(etgp, rival)


def _key(row: Mapping[str, Any]) -> tuple:
    """The cell of a row."""
    return tuple(row[name] for name in CELL)


def _score(rows: Rows, metric: str) -> Score:
    """The scores in the rows of a cell; a seed without this score is left out."""
    first = rows[0]
    way = first["inference"].upper() if KINDS[first["model"]].has_bayesian_average else ""
    column = metric if metric in first else f"test_{metric}"
    scores = {int(row["seed"]): float(row.get(column, math.nan)) for row in rows}
    return Score(
        first["dataset"],
        model_label(first["model"], first["sharing"] or way),
        {seed: score for seed, score in scores.items() if not math.isnan(score)},
        metric,
        _overlap(first),
        effort(rows),
    )


def _overlap(row: Mapping[str, Any]) -> float:
    """r = n_test / n_train of a data set whose rows are split anew by each seed, 0 of others."""
    if has_test_set(row["dataset"]):
        return 0.0
    num_train = row["num_train"] + row["num_validation"]
    return row["num_test"] / num_train if num_train else math.nan


def duels(table: pd.DataFrame, *, paper: bool = False, beyond: bool = False) -> pd.DataFrame:
    """The best ETGP against the best SVGP on each data set, both chosen on validation rows.

    Parameters
    ----------
    table : of `etgp_viz.experiments.load` or `etgp_viz.experiments.reference`
    paper : pick the rivals on test rows, as the paper did
    beyond : also against each of the controls and rivals that the paper does not have

    Returns
    -------
    data frame : one row per data set, score and rival: ``etgp`` and ``rival`` with their figures,
        ``lead`` with its 95 % interval (`etgp_viz.experiments.intervals`), and ``result``. ETGP
        wins if the interval is above 0 and the mean lead is at least the margin, 0.01 in accuracy
        and 0.05 nats in log-likelihood; it loses by the same rule. The result is a draw if the
        interval lies within the margin on both sides, and otherwise undecided.

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> table = experiments.duels(experiments.reference())
    >>> sorted(table["score"].unique())
    ['accuracy', 'log-likelihood']
    """
    rows = [
        (
            duel.etgp.dataset,
            duel.etgp.metric.replace("_", "-"),
            duel.result,
            str(duel.lead),
            str(duel.etgp),
            str(duel.rival),
        )
        for duel in Evidence(table, paper).duels(beyond=beyond)
    ]
    return pd.DataFrame(rows, columns=["dataset", "score", "result", "lead", "etgp", "rival"])
