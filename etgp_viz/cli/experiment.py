"""``etgp-viz experiment`` and ``etgp-viz claims``: a grid, its tables, and the paper's claims."""

from __future__ import annotations

import math
import os
from argparse import Namespace

import pandas as pd

from etgp_viz import experiments
from etgp_viz.experiments.presets import expected_seconds
from etgp_viz.experiments.results import ResultFile
from etgp_viz.experiments.settings import describe_configuration

__all__ = ["format_tables", "print_claims", "print_report"]

PICKED_ON_TEST = (
    "The rivals' configurations were picked on the TEST rows, as in the paper; ETGP's were not."
)
PICKED_ON_VALIDATION = "All configurations were picked on validation rows, by log-likelihood."
EXPLAINED = (
    "if calibrated: the ECE that these predictions would have on average if they were perfectly "
    "calibrated.\n"
    "f0 = 0, f0 = µ: log-likelihood that an ETGP loses if f0 is set to 0, or to its mean.\n"
    "draws, leave ±: Monte Carlo draws of a prediction (0 for quadrature), and the standard error "
    "that they leave in a probability."
)
UNENCRYPTED = (
    "The connection is not encrypted, and anybody who can reach that port can run code there and "
    "here: docs/security.md says how to use tls:// instead."
)
ALLOWED = (
    "tries: configurations that the validation rows chose between.\n"
    "patience: steps without a better validation score before the learning rate falls; the third "
    "time, training stops.\n"
    "limit: on the seconds of training after the first pass; trained (s) also counts the first "
    "pass, which compiles, and the scoring of validation rows."
)


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
        open_runs = ResultFile(output, command).open_runs(runs)
        if options.scheduler is None:  # the workers of a cluster have their own files
            _fetch_data(open_runs)
        print(_plan(runs, open_runs, options), flush=True)
        table = experiments.carry_out(
            runs, output, workers=options.workers, scheduler=options.scheduler, command=command
        )
    except KeyboardInterrupt:
        print(f"\nStopped. Finished runs are in {output}; the same command continues from there.")
        return 130
    wanted = {run.id for run in runs}
    table = table[table["id"].isin(wanted)]
    print(format_tables(table, paper=options.paper_selection))
    failed = table[table["status"] != "ok"]
    for status, rows in failed.groupby("status", sort=False):
        runs_of = sorted(
            {f"{row.dataset} {row.model} {row.sharing}".strip() for row in rows.itertuples()}
        )
        count = f"{len(rows)} run{'s' * (len(rows) != 1)}"
        print(f"{count} {status}\n    {', '.join(runs_of)}")
    print(f"Results: {output}")
    return 1 if len(failed) else 0


def _fetch_data(runs: list) -> None:
    """Fetch every data set before the first run, to fail early on missing data."""
    names = dict.fromkeys(run.dataset for run in runs)
    if not names:
        return
    from etgp_viz import datasets

    missing = {}
    for name in names:
        try:
            datasets.obtain(name)
        except datasets.DataNotFoundError as error:
            missing[name] = error
    if missing:
        rest = ",".join(name for name in names if name not in missing)
        reasons = "\n".join(map(str, missing.values()))
        advice = f"\nTo continue without them, pass --datasets {rest}" if rest else ""
        raise OSError(reasons + advice)


def print_claims(options: Namespace) -> int:
    """Check the paper's claims against a result file, or against the results of the package."""
    from etgp_viz.experiments import claims

    file = options.results
    table = experiments.reference() if file is None else experiments.load(file, "results")
    print(claims.page(table, paper=options.paper_selection))
    return 0


def format_tables(table: pd.DataFrame, *, paper: bool = False) -> str:
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
            "if calibrated": _numbers(summary, "test_ece_if_calibrated", ".3f"),
            "f0 = 0": _numbers(summary, "latent_lost_at_zero", ".3f"),
            "f0 = µ": _numbers(summary, "latent_lost_at_mean", ".3f"),
            "epoch (s)": _numbers(summary, "seconds_per_epoch", ".3g"),
            "predict 1000 (s)": _numbers(summary, "prediction_seconds_per_1000", ".2g"),
            "draws": _numbers(summary, "predictive_draws", ".0f"),
            "leave ±": _numbers(summary, "prediction_error", ".2g"),
            "MiB": summary["memory_mib"].map("{:.0f}".format),
            "picked on": summary["selected_on"],
            "seeds": summary["seeds"],
        }
    )
    allowed = pd.DataFrame(
        {
            **{name: shown[name] for name in ("data", "model", "by", "M")},
            "tries": summary["tries"],
            "configuration": [describe_configuration(row) for _, row in summary.iterrows()],
            "batch": summary["batch_size"].where(summary["epochs"].notna(), "").astype(str),
            "patience": _numbers(summary, "patience", ".0f"),
            "limit": _numbers(summary, "max_seconds", "g", " s"),
            "passes": _numbers(summary, "epochs", ".0f"),
            "trained (s)": _numbers(summary, "fit_seconds", ".1f"),
            "stopped": summary["stopped"],
        }
    )
    picked = PICKED_ON_TEST if paper else PICKED_ON_VALIDATION
    parts = [shown.to_string(index=False), EXPLAINED, picked, ""]
    parts += [allowed.to_string(index=False), ALLOWED]
    race = experiments.speed_ups(table)
    if len(race):
        race["times"] = [
            f"{row.times:.1f} × ({row.low:.1f}–{row.high:.1f})" for row in race.itertuples()
        ]
        race = race.drop(columns=["low", "high"])
        race["seconds_per_epoch"] = race["seconds_per_epoch"].map("{:.3g}".format)
        race = race.rename(columns={"times": "speed-up"})
        parts += ["", "Speed-up of an epoch of ETGP over each rival:", race.to_string(index=False)]
    return "\n".join(parts)


def _numbers(summary: pd.DataFrame, name: str, form: str, unit: str = "") -> pd.Series:
    """The numbers of a column as text, empty where there is none."""
    numbers = pd.to_numeric(summary[name])
    return numbers.map(lambda value: "" if math.isnan(value) else f"{value:{form}}{unit}")


def _with_error(summary: pd.DataFrame, metric: str, digits: int) -> pd.Series:
    """Mean ± standard error, or the mean alone if there is one seed."""
    mean = summary[metric].map(f"{{:.{digits}f}}".format)
    error = summary[f"{metric}_se"].map(f" ± {{:.{digits}f}}".format)
    return mean + error.where(summary["seeds"] > 1, "")


def _plan(runs: tuple, open_runs: list, options: Namespace) -> str:
    """How many runs there are, and how long they should take."""
    done, cores = len(runs) - len(open_runs), os.cpu_count() or 1
    count = f"{len(runs)} runs" + (f", {done} of them done" if done else "")
    if options.scheduler is not None:
        trust = "" if options.scheduler.startswith("tls://") else f" {UNENCRYPTED}"
        return f"{count}; on the cluster at {options.scheduler}.{trust}"
    workers = max(options.workers, 1) if options.workers is not None else cores
    minutes = math.ceil(expected_seconds(open_runs, min(workers, cores)) / 60.0)
    return f"{count}; about {minutes} minute{'s' * (minutes != 1)} with {workers} at a time."
