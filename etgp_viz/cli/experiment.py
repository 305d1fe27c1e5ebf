"""``etgp-viz experiment`` and ``etgp-viz claims``: a grid, its tables, and what they say."""

from __future__ import annotations

import math
import os
from argparse import Namespace

import pandas as pd

from etgp_viz import experiments
from etgp_viz.experiments import claims, estimate, results

__all__ = ["print_claims", "print_report", "printed"]

PAPER_WAY = "SVGP configurations were picked on the TEST rows, as in the paper; ETGP's were not."
OWN_BATCHES = "Epochs were timed with each model's own batch size; in a race all have the same."
OUR_WAY = "Configurations of all models were picked on validation rows, by log-likelihood."


def print_report(options: Namespace, command: str) -> int:
    """Carry out the grid that the options describe, and return the exit status."""
    output = options.output or f"experiment-{options.preset}.csv"
    try:
        runs = experiments.grid(
            options.preset,
            datasets=options.datasets,
            models=options.models,
            num_inducing=options.num_inducing,
            seeds=options.seeds,
            steps=options.steps,
        )
        open_runs = results.Log(output, command).open_runs(runs)
        if options.scheduler is None:  # the workers of a cluster have files of their own
            _fetch_data(open_runs)
        print(_plan(runs, open_runs, options), flush=True)
        table = experiments.carry_out(
            runs, output, workers=options.workers, scheduler=options.scheduler, command=command
        )
    except (ValueError, OSError) as error:
        print(f"etgp-viz experiment: {error}")
        return 2
    except KeyboardInterrupt:
        print(f"\nStopped. Finished runs are in {output}; the same command goes on from there.")
        return 130
    wanted = {run.id for run in runs}
    table = table[table["id"].isin(wanted)]
    print(printed(table, paper=options.paper_selection))
    failed = table[table["status"] != "ok"]
    for status, rows in failed.groupby("status", sort=False):
        named = sorted(
            {f"{row.dataset} {row.model} {row.sharing}".strip() for row in rows.itertuples()}
        )
        print(f"{len(rows)} runs {status}\n    {', '.join(named)}")
    print(f"Results: {output}")
    return 1 if len(failed) else 0


def _fetch_data(runs: list) -> None:
    """Get every data set once, before the first run: what cannot be had is said at once."""
    names = dict.fromkeys(run.dataset for run in runs)
    if not names:
        return
    from etgp_viz import datasets  # loads TensorFlow

    missing = {}
    for name in names:
        try:
            datasets.obtain(name)
        except datasets.DataNotFoundError as error:
            missing[name] = error
    if missing:
        rest = ",".join(name for name in names if name not in missing)
        told = "\n".join(map(str, missing.values()))
        raise OSError(told + (f"\nWithout them: --datasets {rest}" if rest else ""))


def print_claims(options: Namespace) -> int:
    """Hold the paper's claims against a result file, or against the results of the package."""
    try:
        file = options.results
        table = experiments.reference() if file is None else experiments.load(file)
        print(claims.page(table, paper=options.paper_selection))
    except (ValueError, OSError) as error:
        print(f"etgp-viz claims: {error}")
        return 2
    return 0


def printed(table: pd.DataFrame, *, paper: bool = False) -> str:
    """The tables as text: scores over seeds, and the race of steps."""
    summary = experiments.summarise(experiments.select(table, paper=paper))
    shown = pd.DataFrame(
        {
            "data": summary["dataset"],
            "model": (summary["model"] + " " + summary["sharing"]).str.strip(),
            "by": summary["inference"],
            "M": summary["num_inducing"],
            "accuracy": _with_error(summary, "test_accuracy", 4),
            "LL": _with_error(summary, "test_log_likelihood", 3),
            "ECE": _with_error(summary, "test_ece", 3),
            "epoch (s)": summary["seconds_per_epoch"].map("{:.3g}".format),
            "predict 1000 (s)": summary["prediction_seconds_per_1000"].map("{:.2g}".format),
            "MiB": summary["memory_mib"].map("{:.0f}".format),
            "picked on": summary["selected_on"],
            "seeds": summary["seeds"],
        }
    )
    parts = [shown.to_string(index=False), PAPER_WAY if paper else OUR_WAY, OWN_BATCHES]
    race = experiments.speed_ups(table)
    if len(race):
        race["times"] = [
            f"{row.times:.1f} × ({row.low:.1f}–{row.high:.1f})" for row in race.itertuples()
        ]
        race = race.drop(columns=["low", "high"])
        race["seconds_per_epoch"] = race["seconds_per_epoch"].map("{:.3g}".format)
        parts += ["", "An epoch of ETGP is sooner over than one of …", race.to_string(index=False)]
    return "\n".join(parts)


def _with_error(summary: pd.DataFrame, metric: str, digits: int) -> pd.Series:
    """Mean ± standard error, or the mean alone if there is one seed."""
    mean = summary[metric].map(f"{{:.{digits}f}}".format)
    error = summary[f"{metric}_se"].map(f" ± {{:.{digits}f}}".format)
    return mean + error.where(summary["seeds"] > 1, "")


def _plan(runs: tuple, open_runs: list, options: Namespace) -> str:
    """What is about to be done, and for how long."""
    done = len(runs) - len(open_runs)
    told = f"{len(runs)} runs" + (f", {done} of them done" if done else "")
    if options.scheduler is not None:
        return f"{told}; on the cluster at {options.scheduler}."
    workers = options.workers if options.workers is not None else os.cpu_count() or 1
    minutes = estimate.total_seconds(open_runs, min(max(workers, 1), os.cpu_count() or 1)) / 60.0
    whole = math.ceil(minutes)
    return f"{told}; about {whole} minute{'s' * (whole != 1)} with {max(workers, 1)} at a time."
