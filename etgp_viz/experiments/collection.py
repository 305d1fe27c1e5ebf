"""`Collection`: a table of experiments with the details of its runs, to look at them closely."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from etgp_viz.checks import fail
from etgp_viz.experiments.results import load, load_detail
from etgp_viz.experiments.settings import MODELS
from etgp_viz.experiments.shipped import closest_look, reference, reference_detail
from etgp_viz.records import close_up
from etgp_viz.records.results import Panel, panel

__all__ = ["Collection"]


class Collection:
    """The experiments of the package, or those of a result file.

    Parameters
    ----------
    path : what ``etgp-viz experiment`` wrote, with the details of the runs beside it; None for the
        results that come with the package

    Attributes
    ----------
    table : all rows
    looks : the rows whose runs can be looked at, one of each cell
    datasets : their names
    counts : their numbers of inducing points, the largest first
    models : those of `MODELS` that there are → how they are written
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.table = reference() if self.path is None else load(self.path)
        self.looks = closest_look(self.table)
        if self.looks.empty:
            fail("path", "a result file with a finished run", str(path))
        self.datasets = tuple(dict.fromkeys(self.looks["dataset"]))
        self.counts = tuple(sorted(map(int, set(self.looks["num_inducing"])), reverse=True))
        there = set(zip(self.looks["model"], self.looks["sharing"], strict=True))
        self.models = {name: _written(*each) for name, each in MODELS.items() if each in there}
        self.panel = lru_cache(maxsize=64)(self._panel)
        self.closely = lru_cache(maxsize=16)(self._closely)

    def run(self, dataset: str, model: str, way: str, num_inducing: int) -> pd.Series:
        """The row of a run of a data set: the one that is asked for, or the nearest there is.

        An ETGP's is the run that was chosen for its point estimate, whichever way it predicts: only
        so do both ways show the same network.
        """
        rows = self.looks[(self.looks["dataset"] == dataset) & (self.looks["inference"] == "pe")]
        kind, sharing = MODELS[model]
        misses = pd.DataFrame(
            {
                "model": rows["model"] != kind,
                "sharing": rows["sharing"] != sharing,
                "count": (rows["num_inducing"] - num_inducing).abs(),
            }
        )
        nearest = rows.loc[misses.sort_values(list(misses), kind="stable").index[0]]
        same = self.table[self.table["id"] == nearest["id"]].set_index("inference", drop=False)
        return same.loc[way if way in same.index else "pe"]

    def name(self, row: pd.Series) -> str:
        """The model of a row as it is written, and how it predicts."""
        model = self.models["-".join(filter(None, (row["model"], row["sharing"])))]
        return model if row["sharing"] else f"{model} {row['inference'].upper()}"

    def detail(self, run_id: str) -> dict[str, Any]:
        """What was kept of a run."""
        return reference_detail(run_id) if self.path is None else load_detail(self.path, run_id)

    def code(self, run_id: str) -> tuple[str, str]:
        """Two lines of code: the table, and the detail of a run."""
        if self.path is None:
            return "experiments.reference()", f"experiments.reference_detail({run_id!r})"
        path = str(self.path)
        return f"experiments.load({path!r})", f"experiments.load_detail({path!r}, {run_id!r})"

    def _panel(self, dataset: str, metric: str, M: int, rivals: str, bars: float) -> Panel:
        return panel(self.table, dataset, metric, num_inducing=M, rivals=rivals, bars=bars)

    def _closely(self, run_id: str, way: str) -> dict[str, Any]:
        """The records of one run."""
        detail = self.detail(run_id)
        return {
            "confusion": close_up.confusion(detail),
            "reliability": close_up.reliability_bins(detail, way),
            "hardest": close_up.hardest(detail),
            "elbo": close_up.elbo(detail),
            **{part: close_up.lines(detail, part) for part in ("scale", "offset")},
            "projection": close_up.projection(detail),
        }


def _written(model: str, sharing: str) -> str:
    family, _, name = model.partition("-")
    return f"{family.upper()} {name.upper()} {sharing}".strip()
