"""Tables over seeds: mean ± standard error of every score, and the speed of ETGP."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from etgp_viz.experiments.settings import CELL, FLOWS

__all__ = ["METRICS", "speed_ups", "summarise"]

METRICS = (
    *("test_accuracy", "test_log_likelihood", "test_ece"),
    *("validation_accuracy", "validation_log_likelihood"),
    *("seconds_per_epoch", "seconds_per_step", "prediction_seconds_per_1000", "memory_mib"),
)

RACE = ("dataset", "num_inducing", "hidden", "model", "seconds_per_epoch")


def summarise(selected: pd.DataFrame) -> pd.DataFrame:
    """One row per cell: ``seeds``, and of each metric the mean and its standard error s/√n.

    Parameters
    ----------
    selected : what `etgp_viz.experiments.select` chose

    Returns
    -------
    the cell's columns, ``selected_on``, ``hidden``, ``dropout``, ``learning_rate``, ``steps``,
    ``implementation``, ``seeds``, and ``<metric>``, ``<metric>_se`` (NaN for a single seed)
    """
    told = ("selected_on", "hidden", "dropout", "learning_rate", "steps", "implementation")
    rows = []
    for cell, found in selected.groupby(list(CELL), sort=False):
        row = dict(zip(CELL, cell, strict=True)) | {name: found[name].iloc[0] for name in told}
        row["seeds"] = len(found)
        for metric in METRICS:
            values = found[metric].to_numpy(float)
            row[metric] = values.mean()
            spread = values.std(ddof=1) if len(values) > 1 else np.nan
            row[f"{metric}_se"] = spread / np.sqrt(len(values))
        rows.append(row)
    names = [*CELL, *told, "seeds", *(n for m in METRICS for n in (m, f"{m}_se"))]
    return pd.DataFrame(rows, columns=names)


def speed_ups(table: pd.DataFrame) -> pd.DataFrame:
    """How many times sooner an epoch of ETGP is over than one of each SVGP, measured in turns.

    Returns
    -------
    one row per race (data set, M, widths of ETGP's network), flow and rival, with
    ``seconds_per_epoch`` of ETGP, ``times``, and ``low`` and ``high``, between which ``times`` lies
    as the steps of both go from quartile to quartile
    """
    timed = table[(table["status"] == "ok") & (table["inference"] == "speed")]
    rows = []
    for _, race in timed.groupby("id", sort=False):
        flows = race["model"].isin(FLOWS)
        for flow, rival in product(race[flows].itertuples(), race[~flows].itertuples()):
            row = {name: getattr(flow, name) for name in RACE}
            row["rival"] = f"{rival.model} {rival.sharing} ({rival.implementation})"
            row["times"] = rival.seconds_per_epoch / flow.seconds_per_epoch
            row["low"] = rival.seconds_per_step_low / flow.seconds_per_step_high
            row["high"] = rival.seconds_per_step_high / flow.seconds_per_step_low
            rows.append(row)
    return pd.DataFrame(rows, columns=[*RACE, "rival", "times", "low", "high"])
