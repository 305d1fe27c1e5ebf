"""`carry_out`: the open runs of a grid, one after another or many at once, into a result file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
from tqdm.auto import tqdm

from etgp_viz.experiments import cluster, results
from etgp_viz.experiments.columns import Outcome
from etgp_viz.experiments.settings import Run

__all__ = ["carry_out"]


def _execute(run: Run) -> Outcome:
    """What a worker does, which loads TensorFlow there and not here."""
    from etgp_viz.experiments.run import execute

    return execute(run)


def carry_out(
    runs: Iterable[Run],
    output: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    command: str = "",
    progress: bool = True,
    execute: Callable[[Run], Outcome] = _execute,
) -> pd.DataFrame:
    """Carry out those runs that the result file does not have yet, and return its table.

    Every finished run is on the disk at once, so that a grid that is stopped, by Ctrl-C or by a
    power cut, goes on where it was when it is called again. A run that fails does not stop the
    others: its row says why, and it is tried again when the grid is called again.

    Parameters
    ----------
    runs : the grid
    output : the result file; details of the runs go to a folder beside it
    workers : processes on this machine, one for each core by default; 0 for none but this one
    scheduler : address of a running Dask scheduler instead
    command : what was typed, for the first line of the file
    progress : show a progress bar
    execute : what is done with a run
    """
    log = results.Log(output, command)
    runs = list(runs)
    with log.alone(), tqdm(total=len(runs), unit="run", disable=not progress) as bar:
        open_runs = log.open_runs(runs)
        bar.update(len(runs) - len(open_runs))
        if not open_runs:
            outcomes = cluster.here((), execute)
        elif workers == 0:
            outcomes = cluster.here(open_runs, execute)
        else:
            outcomes = cluster.through_dask(
                open_runs, execute, workers=workers, scheduler=scheduler
            )
        try:
            for run, outcome in outcomes:
                if isinstance(outcome, Outcome):
                    _keep_detail(run, outcome, results.details_folder(output))
                    log.add(outcome.rows)
                else:
                    log.add(results.failure(run, f"{type(outcome).__name__}: {outcome}"))
                bar.set_postfix_str(f"{run.dataset} {run.model}", refresh=False)
                bar.update()
        finally:
            outcomes.close()  # ends the workers also after Ctrl-C
    return results.load(output)


def _keep_detail(run: Run, outcome: Outcome, folder: Path) -> None:
    """Write a run's detail in one piece; its row, which comes after, says that it is there."""
    if outcome.detail is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run.id}.json"
    half = path.with_suffix(".part")
    half.write_text(json.dumps(outcome.detail, separators=(",", ":")), encoding="utf-8")
    os.replace(half, path)
