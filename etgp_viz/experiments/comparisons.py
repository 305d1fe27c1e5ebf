"""Models compared on a table of results: seed by seed, and claim by claim of the paper.

`Evidence` looks up scores and speed-ups. Below it is one function for each claim in
`etgp_viz.experiments.claims`: it yields a `Comparison` for everything that the table says about the
claim, and none if it says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from etgp_viz.experiments.scoring import select, speed_ups, summarise
from etgp_viz.experiments.settings import CELL, model_label
from etgp_viz.rivals.names import ETGPS, STATIONARY, SVGPS

__all__ = ["CLOSE", "COMPETITIVE", "ORDER", "Comparison", "Evidence", "Score", "SpeedUp", "duels"]

#: "comparable" and "similar" allow this much, or two standard errors of the difference
CLOSE = 0.01
#: the paper's "one order of magnitude"
ORDER = 10.0
#: "competitive in terms of training time"
COMPETITIVE = 3.0

Rows = list[dict[str, Any]]

SMALL, LARGE = ("vowel", "absenteeism"), ("avila", "devangari", "characterfont")


@dataclass(frozen=True)
class Score:
    """The scores of a model on one data set, seed by seed.

    A seed also decides the splits, so two models are compared seed by seed, on the same rows.
    ``who`` is the model and how it predicts or shares, ``scores`` maps a seed to a score.
    """

    who: str
    scores: dict[int, float]

    def __str__(self) -> str:
        error = "" if np.isnan(self.error) else f" ± {self.error:.3f}"
        seeds = f"{self.num_seeds} seed{'s' * (self.num_seeds > 1)}"
        return f"{self.who} {self.mean:.3f}{error} ({seeds})"

    @property
    def num_seeds(self) -> int:
        """The number of seeds."""
        return len(self.scores)

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(list(self.scores.values())))

    @property
    def error(self) -> float:
        """The standard error of the mean; NaN for one seed."""
        return _standard_error(list(self.scores.values()))

    def lead_over(self, other: Score) -> float:
        """Mean difference over common seeds, or the difference of the means without any."""
        return float(np.mean(self._differences(other) or [self.mean - other.mean]))

    def margin(self, other: Score) -> float:
        """Two standard errors of the mean difference; NaN with fewer than two common seeds."""
        return 2.0 * _standard_error(self._differences(other))

    def _differences(self, other: Score) -> list[float]:
        return [self.scores[s] - other.scores[s] for s in self.scores if s in other.scores]


class SpeedUp(NamedTuple):
    """How many times as long a rival takes, with the range from quartile to quartile."""

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

    ``paper`` picks the SVGPs on test rows, see `etgp_viz.experiments.select`.
    """

    def __init__(self, table: pd.DataFrame, paper: bool = False) -> None:
        self.table = table
        selected = select(table, paper=paper)
        self.summary = summarise(selected)
        self.datasets = tuple(dict.fromkeys(self.summary["dataset"]))
        # Hundreds of look-ups are much faster in lists than in data frames.
        self._cells = self.summary.to_dict("records")
        self._rows: dict[tuple, Rows] = {}
        for row in selected.to_dict("records"):
            self._rows.setdefault(_key(row), []).append(row)

    @cached_property
    def _races(self) -> pd.DataFrame:
        return speed_ups(self.table)

    def counts(self, dataset: str, model: str) -> tuple[int, ...]:
        """The numbers of inducing points that a model was trained with, the largest first."""
        counts = {
            int(cell["num_inducing"])
            for cell in self._cells
            if (cell["dataset"], cell["model"]) == (dataset, model)
        }
        return tuple(sorted(counts, reverse=True))

    def one(self, dataset: str, model: str, way: str = "pe", **options: Any) -> Score | None:
        """The test score of one cell; None if there is no such cell."""
        return self.best(dataset, [model], [way], **options)

    def best(
        self,
        dataset: str,
        models: Sequence[str],
        ways: Sequence[str] = ("pe", "ba", "separate", "shared"),
        *,
        metric: str = "accuracy",
        num_inducing: int | None = None,
    ) -> Score | None:
        """The test score of the best of several cells, judged on *validation* rows.

        The same score decides; of equals, the one with the better log-likelihood is taken. By
        default M is the data set's largest.
        """
        cells = self._matching(dataset, models, ways, num_inducing)
        if not cells:
            return None
        best, score = cells[0], f"validation_{metric}"
        if score in best:  # the last of equals
            by = (score, "validation_log_likelihood")
            best = sorted(cells, key=lambda cell: tuple(cell[name] for name in by))[-1]
        return _score(self._rows[_key(best)], metric)

    def _matching(
        self, dataset: str, models: Sequence[str], ways: Sequence[str], num_inducing: int | None
    ) -> Rows:
        """The cells of these models, used in these ways, with the largest M by default."""
        cells = [cell for cell in self._cells if cell["dataset"] == dataset]
        M = num_inducing or max((cell["num_inducing"] for cell in cells), default=0)
        return [
            cell
            for cell in cells
            if cell["model"] in models
            and (cell["sharing"] or cell["inference"]) in ways
            and cell["num_inducing"] == M
        ]

    def both_ways(
        self, dataset: str, model: str, num_inducing: int | None = None
    ) -> tuple[Score, Score] | None:
        """Log-likelihoods (BA, PE) of the *same* runs, those that were chosen for PE."""
        cells = self._matching(dataset, [model], ["pe"], num_inducing)
        if not cells:
            return None
        pe = self._rows[_key(cells[0])]
        same = self.table["id"].isin([row["id"] for row in pe])
        ba = self.table[same & (self.table["inference"] == "ba")].to_dict("records")
        return (_score(ba, "log_likelihood"), _score(pe, "log_likelihood")) if ba else None

    def speed_ups(self, rival: str, model: str = "etgp-linear") -> dict[str, SpeedUp]:
        """Race → how many times as long an epoch of a rival takes, measured in turns.

        A race is named after its data set, M, and the hidden layers of ETGP's network; ``rival`` is
        written as in `etgp_viz.experiments.speed_ups`.
        """
        rows = self._races[(self._races["rival"] == rival) & (self._races["model"] == model)]
        name = "{0.dataset} (M = {0.num_inducing}, hidden layers {1})".format
        return {
            name(row, row.hidden or "none"): SpeedUp(row.times, row.low, row.high)
            for row in rows.itertuples()
        }


def _key(row: Mapping[str, Any]) -> tuple:
    """The cell of a row."""
    return tuple(row[name] for name in CELL)


def _score(rows: Rows, metric: str) -> Score:
    """The scores in the rows of a cell."""
    first = rows[0]
    who = model_label(first["model"], first["sharing"] or first["inference"].upper())
    column = metric if metric in first else f"test_{metric}"
    return Score(who, {int(row["seed"]): float(row[column]) for row in rows})


def duels(table: pd.DataFrame, *, paper: bool = False) -> pd.DataFrame:
    """The best ETGP against the best SVGP on each data set, both chosen on validation rows.

    Parameters
    ----------
    table : of `etgp_viz.experiments.load` or `etgp_viz.experiments.reference`
    paper : pick the SVGPs on test rows, as the paper did

    Returns
    -------
    data frame : one row per data set and score: ``etgp`` and ``svgp`` with their figures, and
        ``result``: ETGP wins or loses if the mean difference, seed by seed, is larger than two of
        its standard errors
    """
    evidence = Evidence(table, paper)
    rows = []
    for name in evidence.datasets:
        for metric in ("accuracy", "log_likelihood"):
            etgp = evidence.best(name, ETGPS, metric=metric)
            svgp = evidence.best(name, SVGPS, metric=metric)
            if etgp is None or svgp is None:
                continue
            lead, margin = etgp.lead_over(svgp), etgp.margin(svgp)
            result = "ETGP wins" if lead > margin else "ETGP loses" if -lead > margin else "a draw"
            if np.isnan(margin):
                place = "ahead" if lead > 0.0 else "behind" if lead < 0.0 else "level"
                result = f"one seed: ETGP {place}"
            rows.append((name, metric.replace("_", "-"), result, str(etgp), str(svgp)))
    return pd.DataFrame(rows, columns=["dataset", "score", "result", "etgp", "svgp"])


# --- one function for each claim -----------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """One comparison: whether it came out as claimed, and its figures in words."""

    as_claimed: bool
    words: str


def _better(name: str, first: Score | None, second: Score | None) -> Iterator[Comparison]:
    """Whether the first mean is above the second."""
    if first is not None and second is not None:
        yield Comparison(first.lead_over(second) > 0.0, f"{name}: {_against(first, second)}")


def _close(name: str, first: Score | None, second: Score | None) -> Iterator[Comparison]:
    """Whether the first mean is above the second, or almost."""
    if first is not None and second is not None:
        allowed = float(np.nanmax([CLOSE, first.margin(second)]))
        words = f"{name}: {_against(first, second)} with {allowed:.3f} allowed"
        yield Comparison(first.lead_over(second) >= -allowed, words)


def _against(first: Score, second: Score) -> str:
    """Both scores and their difference, over the seeds that both have."""
    common = len(set(first.scores) & set(second.scores))
    partial = 0 < common < max(first.num_seeds, second.num_seeds)
    over = f" over {common} common seed{'s' * (common > 1)}" if partial else ""
    return f"{first} against {second}: {first.lead_over(second):+.3f}{over}"


def competitive(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        yield from _close(name, evidence.best(name, ETGPS), evidence.best(name, SVGPS))


def avila_beats_svgp(evidence: Evidence) -> Iterator[Comparison]:
    svgp = evidence.one("avila", "svgp-rbf", "separate")
    for model in ("etgp-linear", "etgp-tanh"):
        yield from _better("avila", evidence.best("avila", [model]), svgp)


def avila_near_rbfcorr(evidence: Evidence) -> Iterator[Comparison]:
    mixed = evidence.best("avila", ["svgp-rbfcorr"])
    yield from _close("avila", evidence.one("avila", "etgp-tanh"), mixed)


def large_sets(evidence: Evidence) -> Iterator[Comparison]:
    for name in ("devangari", "characterfont"):
        yield from _better(name, evidence.best(name, ETGPS), evidence.best(name, STATIONARY))


def vowel_shared_is_best(evidence: Evidence) -> Iterator[Comparison]:
    shared = evidence.one("vowel", "svgp-rbf", "shared")
    yield from _better("vowel", shared, evidence.one("vowel", "svgp-rbf", "separate"))
    yield from _better("vowel", shared, evidence.best("vowel", ETGPS))


def vowel_some_runs(evidence: Evidence) -> Iterator[Comparison]:
    shared = evidence.one("vowel", "svgp-rbf", "shared")
    table = evidence.table
    runs = table[(table["dataset"] == "vowel") & table["model"].isin(ETGPS)]
    runs = runs[(runs["status"] == "ok") & runs["test_accuracy"].notna()]
    if shared is None or not len(runs):
        return
    top = runs.loc[runs["test_accuracy"].idxmax()]
    settings = (
        f"{top['model']} {top['inference']}, dropout {top['dropout']:g}, M {top['num_inducing']}"
    )
    yield Comparison(
        top["test_accuracy"] >= shared.mean,
        f"vowel: the best of {len(runs)} ETGP runs on the TEST rows ({settings}) "
        f"{top['test_accuracy']:.3f} against {shared}",
    )


def absenteeism_similar(evidence: Evidence) -> Iterator[Comparison]:
    svgp = evidence.best("absenteeism", STATIONARY)
    for model in ("etgp-linear", "etgp-tanh"):
        yield from _close("absenteeism", evidence.best("absenteeism", [model]), svgp)


def sal_is_worst(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        sal = evidence.best(name, ["etgp-sal"])
        for model in ("etgp-linear", "etgp-tanh"):
            yield from _better(name, evidence.best(name, [model]), sal)


def sharing_costs(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        if name != "vowel":  # the paper's own exception
            for model in STATIONARY:
                separate, shared = (evidence.one(name, model, w) for w in ("separate", "shared"))
                yield from _better(name, separate, shared)


def likelihood_follows(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        etgp, svgp = evidence.best(name, ETGPS), evidence.best(name, STATIONARY)
        if etgp is not None and svgp is not None and etgp.lead_over(svgp) >= 0.0:
            yield from _better(
                name,
                evidence.best(name, ETGPS, metric="log_likelihood"),
                evidence.best(name, STATIONARY, metric="log_likelihood"),
            )


def _bayesian(
    evidence: Evidence, name: str, num_inducing: int | None = None
) -> Iterator[tuple[Score, Score]]:
    """Log-likelihoods (BA, PE) of each flow, from the same runs."""
    for model in ETGPS:
        if pair := evidence.both_ways(name, model, num_inducing):
            yield pair


def bayesian_helps_small(evidence: Evidence) -> Iterator[Comparison]:
    for name in SMALL:
        for ba, pe in _bayesian(evidence, name):
            yield from _better(name, ba, pe)


def bayesian_no_gain_large(evidence: Evidence) -> Iterator[Comparison]:
    for name in LARGE:
        for ba, pe in _bayesian(evidence, name):
            yield from _close(name, pe, ba)


def neural_kernel_is_worse(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        neural = evidence.best(name, ["svgp-nnet"])
        yield from _better(name, evidence.best(name, ["svgp-arccos"]), neural)
        yield from _better(name, evidence.best(name, ETGPS), neural)


def beats_non_stationary(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        for metric in ("accuracy", "log_likelihood"):
            if name == "vowel" and metric == "accuracy":  # the paper's own exception
                continue
            etgp = evidence.best(name, ETGPS, metric=metric)
            for model in ("svgp-arccos", "svgp-nnet"):
                svgp = evidence.best(name, [model], metric=metric)
                yield from _better(f"{name}, {metric.replace('_', '-')}", etgp, svgp)


def order_of_magnitude(evidence: Evidence) -> Iterator[Comparison]:
    for rival in ("svgp-rbf separate (gpflow)", "svgp-rbf separate (batched)"):
        for race, speed_up in evidence.speed_ups(rival).items():
            words = f"{race}: an epoch of {rival} takes {speed_up} as long as one of LINEAR"
            yield Comparison(speed_up.times >= ORDER, words)


def shared_is_competitive(evidence: Evidence) -> Iterator[Comparison]:
    for race, speed_up in evidence.speed_ups("svgp-rbf shared (batched)").items():
        words = f"{race}: an epoch of SVGP RBF shared takes {speed_up} as long as one of LINEAR"
        yield Comparison(speed_up.times <= COMPETITIVE, words)


def prediction_time(evidence: Evidence) -> Iterator[Comparison]:
    metric = "prediction_seconds_per_1000"
    for name in evidence.datasets:
        etgp = evidence.one(name, "etgp-linear", metric=metric)
        svgp = evidence.one(name, "svgp-rbf", "separate", metric=metric)
        if etgp is not None and svgp is not None:
            times = svgp.mean / etgp.mean
            words = f"{name}: SVGP RBF separate takes {times:.1f} times as long as LINEAR PE"
            yield Comparison(times >= ORDER, words)


def _fewer(evidence: Evidence, name: str) -> Iterator[tuple[Score, Score]]:
    """Accuracies (fewer inducing points, all of them) of a flow, for each smaller M."""
    for model in ("etgp-linear", "etgp-tanh"):
        for way in ("pe", "ba"):
            scores = {
                M: replace(score, who=f"{score.who}, M {M},")
                for M in evidence.counts(name, model)
                if (score := evidence.one(name, model, way, num_inducing=M)) is not None
            }
            most = max(evidence.counts(name, model), default=0)
            for M in scores:
                if most != M and most in scores:
                    yield scores[M], scores[most]


def fewer_regularise(evidence: Evidence) -> Iterator[Comparison]:
    for few, most in _fewer(evidence, "vowel"):
        yield from _better("vowel", few, most)


def fewer_match(evidence: Evidence) -> Iterator[Comparison]:
    for name in ("avila", "absenteeism"):
        svgp = evidence.one(name, "svgp-rbf", "separate")
        for few, _ in _fewer(evidence, name):
            yield from _close(name, few, svgp)


def fewer_bayesian(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        for M in evidence.counts(name, "etgp-linear")[1:]:
            for ba, pe in _bayesian(evidence, name, M):
                yield from _better(f"{name}, M = {M}", ba, pe)
