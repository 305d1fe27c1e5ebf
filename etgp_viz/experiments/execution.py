"""`carry_out`: the runs of a grid, in this process, in local workers or on a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from etgp_viz.checks import check_count, fail
from etgp_viz.experiments.results import ResultFile, load
from etgp_viz.experiments.settings import Outcome, Run

__all__ = ["carry_out", "in_this_process", "local_workers", "thread_limits", "through_dask"]

Outcomes = Generator[tuple[Run, Outcome | BaseException], None, None]

RETRIES = 1  # of a run that raises an error; Dask itself retries more often after a dead worker
SECONDS_TO_CONNECT = 20.0
LARGE_WORKER = 3 * 2**30  # bytes


def _execute(run: Run) -> Outcome:
    """Execute a run; TensorFlow is loaded by the worker, not here."""
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
    """Carry out the runs that the result file does not have yet, and return its table.

    Every finished run is written to the disk at once, so that a grid that was stopped, by Ctrl-C or
    by a power cut, continues where it was when it is called again. A failed run does not stop the
    others: its row says why it failed, and it is tried again when the grid is called again.

    Parameters
    ----------
    runs : the grid
    output : the result file; details of the runs go to a folder beside it
    workers : processes on this machine, by default one for each core; 0 runs everything in this
        process
    scheduler : address of a running Dask scheduler to use instead
    command : what was typed, for the header of the file
    progress : show a progress bar
    execute : what is done with a run

    Returns
    -------
    data frame, see `etgp_viz.experiments.load`
    """
    file = ResultFile(output, command)
    runs = list(runs)
    with file.locked(), tqdm(total=len(runs), unit="run", disable=not progress) as bar:
        open_runs = file.open_runs(runs)
        bar.update(len(runs) - len(open_runs))
        if workers == 0 or not open_runs:
            outcomes = in_this_process(open_runs, execute)
        else:
            outcomes = through_dask(open_runs, execute, workers=workers, scheduler=scheduler)
        with contextlib.closing(outcomes):  # ends the workers, also after Ctrl-C
            for run, outcome in outcomes:
                file.add(run, outcome)
                bar.set_postfix_str(f"{run.dataset} {run.model}", refresh=False)
                bar.update()
    return load(output)


def in_this_process(runs: Iterable[Run], execute: Callable[[Run], Outcome]) -> Outcomes:
    """Yield each run with its outcome or its error, one after another."""
    for run in runs:
        try:
            yield run, execute(run)
        except Exception as error:
            yield run, error


def through_dask(
    runs: Iterable[Run],
    execute: Callable[[Run], Outcome],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Outcomes:
    """Yield each run with its outcome or its error, as they come in.

    A run whose worker dies is started again on another one; a run that raises an error is tried
    once more.

    Parameters
    ----------
    runs : in the order in which they start
    execute : what a worker does with a run
    workers : processes on this machine, by default one for each core. They share its cores evenly,
        so that none waits for another's threads.
    scheduler : address of a running Dask scheduler, ``tcp://host:port``, to use instead. Its
        workers keep the threads that their environment gives them (`thread_limits`).
    """
    from distributed import Client, as_completed

    where = local_workers(workers) if scheduler is None else contextlib.nullcontext(scheduler)
    with where as address, _connect(Client, address) as client:
        by_key = {f"etgp-viz-{run.id}": run for run in runs}
        futures = [
            client.submit(execute, run, key=key, retries=RETRIES, pure=False)
            for key, run in by_key.items()
        ]
        for future in as_completed(futures):
            yield by_key[future.key], _outcome(future)
            if scheduler is None:  # the workers of a cluster are not ours to restart
                _replace_large_worker(client, future)
            futures.remove(future)  # what is on the disk, the scheduler may forget
            future.release()


@contextlib.contextmanager
def local_workers(workers: int | None = None) -> Iterator[str]:
    """Start worker processes that only this machine can reach; yields their scheduler's address.

    There is no dashboard, and nothing is served over HTTP. A worker that dies is replaced.
    """
    import dask
    from distributed import LocalCluster

    cores = os.cpu_count() or 1
    count = check_count(cores if workers is None else workers, "workers")
    config = {
        "distributed.scheduler.allowed-failures": 10,  # a restarted worker counts as a dead one
        "distributed.nanny.pre-spawn-environ": thread_limits(max(1, cores // count)),
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with (
        dask.config.set(config),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster.scheduler_address


def thread_limits(threads: int) -> dict[str, int]:
    """Environment variables that limit the threads of each numerical library when it starts."""
    libraries = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "TF_NUM_INTRAOP", "TF_NUM_INTEROP")
    return {f"{library}_THREADS": threads for library in libraries}


def _connect(client: Any, address: str) -> Any:
    try:
        return client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        fail("scheduler", "the address of a running Dask scheduler", f"{address} ({error})")


def _replace_large_worker(client: Any, future: Any) -> None:
    """Restart the worker that finished a run if it has grown large.

    TensorFlow keeps everything that it has compiled, so a worker grows with every model it trains.
    """
    workers = client.scheduler_info()["workers"]
    for address in client.who_has([future]).get(future.key, ()):
        if address in workers and workers[address]["metrics"]["memory"] > LARGE_WORKER:
            client.restart_workers([address], raise_for_error=False)


def _outcome(future: Any) -> Outcome | BaseException:
    """The outcome of a run, or its error: one it raised, or that its workers died."""
    try:
        return future.result()
    except Exception as error:
        return error
