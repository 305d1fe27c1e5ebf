"""Tables of experiments that never took place, for tests of what is said about tables."""

import pandas as pd

from etgp_viz.experiments.settings import COLUMNS, TEXT_COLUMNS
from etgp_viz.rivals.names import SHARING


def cell(dataset, model, way="pe", accuracy=0.5, log_likelihood=-1.0, M=100, **more):
    """Rows of a cell, one for each seed: a score may be a number or one number for each seed."""
    values = {"test_accuracy": accuracy, "test_log_likelihood": log_likelihood, **more}
    several = [len(value) for value in values.values() if isinstance(value, (list, tuple))]
    shares = way in SHARING
    rows = []
    for seed in range(max(several, default=1)):
        row = {name: "" if name in TEXT_COLUMNS else 0.0 for name in COLUMNS}
        row |= {"status": "ok", "dataset": dataset, "model": model, "num_inducing": M, "rows": 1}
        row |= {"sharing": way if shares else "", "inference": "pe" if shares else way}
        row |= {"seed": seed, "prediction_seconds_per_1000": 1.0, "seconds_per_epoch": 1.0}
        row |= {"memory_mib": 100.0, "fit_seconds": 10.0}
        row |= {"num_train": 270, "num_validation": 30, "num_test": 100}
        row |= {
            name: value[seed] if isinstance(value, (list, tuple)) else value
            for name, value in values.items()
        }
        for score in ("accuracy", "log_likelihood"):  # validation rows agree, unless they are said
            row[f"validation_{score}"] = more.get(f"validation_{score}", row[f"test_{score}"])
        row["id"] = f"{dataset} {model} {row['sharing']} {M} {seed}"  # of both ways to predict
        rows.append(row)
    return rows


def race(dataset, linear=1.0, M=100, hidden="", **rivals):
    """A race of steps: ``separate_gpflow=20.0`` are the seconds of an epoch of that rival."""
    times = {("etgp-linear", "", "etgp"): linear} | {
        ("svgp-rbf", *name.split("_")): seconds for name, seconds in rivals.items()
    }
    rows = []
    for (model, sharing, implementation), seconds in times.items():
        row = {name: "" if name in TEXT_COLUMNS else float("nan") for name in COLUMNS}
        row |= {"status": "ok", "inference": "speed", "dataset": dataset, "model": model}
        row |= {"sharing": sharing, "implementation": implementation, "num_inducing": M}
        row["hidden"] = hidden
        row |= {"seconds_per_step_low": 0.8 * seconds, "seconds_per_step_high": seconds}
        name = f"race of {dataset} {M} {hidden}"
        rows.append(row | {"id": name, "seconds_per_epoch": seconds})
    return rows


def table(*groups):
    """The table of these cells and races."""
    return pd.DataFrame([row for group in groups for row in group], columns=list(COLUMNS))
