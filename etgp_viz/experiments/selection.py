"""Which configuration stands for a model: the best on validation rows, for every model alike.

The paper picked its baselines by their *test* scores. That flatters them, and is here an option
whose numbers say so.
"""

from __future__ import annotations

import pandas as pd

from etgp_viz.checks import check_choice
from etgp_viz.experiments.settings import CELL, CONFIGURATION, FLOWS

__all__ = ["SCORES", "select"]

SCORES = ("log_likelihood", "accuracy")
#: what a failed run, which predicts in no way, has of the names of a cell
TRAINED = tuple(name for name in CELL if name != "inference")


def select(table: pd.DataFrame, *, by: str = "log_likelihood", paper: bool = False) -> pd.DataFrame:
    """The rows of the chosen configuration of each cell (data set, model, sharing, inference, M).

    A configuration's score is its mean over the seeds that all of its cell's have finished, so that
    a grid that was stopped compares like with like. One with a failed run does not compete unless
    all have one: it may have failed where it was hardest. The first of two equals wins.

    Parameters
    ----------
    table : what `etgp_viz.experiments.load` reads
    by : the score that decides, ``"log_likelihood"`` or ``"accuracy"``
    paper : pick the baselines (not ETGP) on the test rows, as the paper did

    Returns
    -------
    the rows with a column ``selected_on``: ``"validation"``, or ``"test"`` for what was picked so
    """
    check_choice(by, "by", SCORES)
    scored = table[(table["status"] == "ok") & table[f"validation_{by}"].notna()]
    failed = table[table["status"].str.startswith("failed")]
    broken = set(map(tuple, failed[[*TRAINED, *CONFIGURATION]].to_numpy()))
    chosen = []
    for (_, model, *_), cell in scored.groupby(list(CELL), sort=False):
        split = "test" if paper and model not in FLOWS else "validation"
        groups = [rows for _, rows in cell.groupby(list(CONFIGURATION), sort=False)]
        sound = [
            rows
            for rows in groups
            if tuple(rows[[*TRAINED, *CONFIGURATION]].to_numpy()[0]) not in broken
        ]
        best = _best(sound or groups, f"{split}_{by}")
        chosen.append(best.assign(selected_on=split))
    return pd.concat(chosen) if chosen else scored.assign(selected_on="")


def _best(rivals: list[pd.DataFrame], score: str) -> pd.DataFrame:
    """The rows with the best mean over common seeds, or over their own if none is common."""
    common = set.intersection(*(set(rows["seed"]) for rows in rivals))

    def mean(rows: pd.DataFrame) -> float:
        return float(rows[rows["seed"].isin(common) | (not common)][score].mean())

    return max(rivals, key=mean)
