"""Which configuration stands for a model: the best on validation rows, for every model alike.

The paper picked its baselines by their *test* scores. That flatters them, and is here an option
whose numbers say so.
"""

from __future__ import annotations

import pandas as pd

from etgp_viz.arguments import check_choice
from etgp_viz.experiments.settings import CELL, CONFIGURATION, FLOWS

__all__ = ["SCORES", "select"]

SCORES = ("log_likelihood", "accuracy")


def select(table: pd.DataFrame, *, by: str = "log_likelihood", paper: bool = False) -> pd.DataFrame:
    """The rows of the chosen configuration of each cell (data set, model, sharing, inference, M).

    A configuration's score is its mean over seeds. Only those with the most finished seeds of a
    cell compete: the others may have failed where it was hardest. The first of two equals wins.

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
    chosen = []
    for (_, model, *_), cell in scored.groupby(list(CELL), sort=False):
        split = "test" if paper and model not in FLOWS else "validation"
        groups = list(cell.groupby(list(CONFIGURATION), sort=False))
        most = max(len(rows) for _, rows in groups)
        rivals = [rows for _, rows in groups if len(rows) == most]
        best = max(rivals, key=lambda rows: rows[f"{split}_{by}"].mean())
        chosen.append(best.assign(selected_on=split))
    return pd.concat(chosen) if chosen else scored.assign(selected_on="")
