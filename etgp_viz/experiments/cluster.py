"""Where the runs of a grid are carried out: worker processes on this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from etgp_viz.checks import check_count, fail
from etgp_viz.experiments.columns import Outcome
from etgp_viz.experiments.settings import Run

__all__ = ["environment", "here", "local_workers", "through_dask"]

Results = Generator[tuple[Run, Outcome | BaseException], None, None]

RETRIES = 1  # of a run that raises an error; of a worker that dies Dask allows more
SECONDS_TO_CONNECT = 20.0
LARGE_WORKER = 3 * 2**30  # bytes


def here(runs: Iterable[Run], execute: Callable[[Run], Outcome]) -> Results:
    """One run after another in this process."""
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
) -> Results:
    """Each run with its outcome, or with the error it ended in, as they come in.

    A run whose worker dies is started anew on another; one that raises an error is tried once more.

    Parameters
    ----------
    runs : in the order in which they are begun
    execute : what a worker does with a run
    workers : processes on this machine; by default one for each core. They share its cores evenly,
        so that none waits for another's threads.
    scheduler : address of a running Dask scheduler, ``tcp://host:port``, instead. Its workers keep
        the threads that their environment gives them (`environment`).
    """
    from distributed import Client, as_completed

    where = local_workers(workers) if scheduler is None else contextlib.nullcontext(scheduler)
    with where as address, _connected(Client, address) as client:
        by_key = {f"etgp-viz-{run.id}": run for run in runs}
        futures = [
            client.submit(execute, run, key=key, retries=RETRIES, pure=False)
            for key, run in by_key.items()
        ]
        for future in as_completed(futures):
            run = by_key[future.key]
            yield run, _outcome(future)
            if scheduler is None:  # the workers of a cluster are not ours to restart
                _refresh(client, future)
            futures.remove(future)  # the scheduler may forget what is on the disk
            future.release()


@contextlib.contextmanager
def local_workers(workers: int | None = None) -> Iterator[str]:
    """Start worker processes that only this machine can reach, and give their scheduler's address.

    There is no dashboard: what Dask serves over HTTP is nothing. A worker that dies is replaced.
    """
    import dask
    from distributed import LocalCluster

    cores = os.cpu_count() or 1
    count = check_count(cores if workers is None else workers, "workers")
    config = {
        "distributed.scheduler.allowed-failures": 10,  # a restarted worker counts as a dead one
        "distributed.nanny.pre-spawn-environ": environment(max(1, cores // count)),
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


def environment(threads: int) -> dict[str, int]:
    """What keeps a worker's linear algebra to a number of threads; read when a library starts."""
    libraries = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "TF_NUM_INTRAOP", "TF_NUM_INTEROP")
    return {f"{library}_THREADS": threads for library in libraries}


def _connected(client: Any, address: str) -> Any:
    try:
        return client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        fail("scheduler", "the address of a running Dask scheduler", f"{address} ({error})")


def _refresh(client: Any, future: Any) -> None:
    """Replace the worker that finished a run if it has grown large.

    TensorFlow keeps what it has compiled, so that a worker grows with every model it trains.
    """
    workers = client.scheduler_info()["workers"]
    for address in client.who_has([future]).get(future.key, ()):
        if address in workers and workers[address]["metrics"]["memory"] > LARGE_WORKER:
            client.restart_workers([address], raise_for_error=False)


def _outcome(future: Any) -> Outcome | BaseException:
    """What a run brought home, or why it did not: its own error, or that its workers died."""
    try:
        return future.result()
    except Exception as error:
        return error
