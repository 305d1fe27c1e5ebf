"""Carry out runs one after another: in this process, in local workers or on a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Any
from uuid import uuid4

from etgp_viz.checks import check_count, describe, fail
from etgp_viz.experiments.settings import Outcome, Run
from etgp_viz.files import reason

__all__ = ["Outcomes", "in_this_process", "local_workers", "thread_limits", "through_dask"]

Outcomes = Generator[tuple[Run, Outcome | BaseException], None, None]

RETRIES = 1  # of a run that raises an error; Dask itself retries more often after a dead worker
SECONDS_TO_CONNECT = 20.0
LARGE_WORKER = 3 * 2**30  # bytes


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
    once more. A run whose workers died again and again is repeated at the end, alone: it may have
    shared them with the run that killed them. ``workers`` are processes on this machine, by default
    one for each core. They share its cores evenly, so that none waits for another's threads.
    ``scheduler`` is the address of a running Dask scheduler, ``tls://host:port`` or
    ``tcp://host:port``, to use instead: its workers keep the threads that their environment gives
    them (`thread_limits`). Runs and results travel as pickles, so everybody who can reach a ``tcp``
    scheduler can run code there and here; with ``tls`` only holders of its certificates can.
    """
    from distributed import Client
    from distributed.scheduler import KilledWorker

    is_local = scheduler is None
    where = local_workers(workers) if is_local else contextlib.nullcontext((scheduler, None))
    with where as (address, security), _connect(Client, address, security) as client:
        # On this machine no run waits in the queue of a worker, to be blamed for its death.
        window = len(client.scheduler_info()["workers"]) if is_local else None
        suspects = []
        for run, outcome in _submitted(client, execute, runs, window, is_local):
            if isinstance(outcome, KilledWorker):
                suspects.append(run)
            else:
                yield run, outcome
        yield from _submitted(client, execute, suspects, 1, is_local)


def _submitted(
    client: Any, execute: Any, runs: Iterable[Run], window: int | None, is_local: bool
) -> Outcomes:
    """Yield each run with its outcome or its error; at most `window` of them are under way."""
    from distributed import as_completed

    waiting = iter(runs)
    under_way: dict[str, Run] = {}
    completed = as_completed()

    def submit(count: int | None) -> None:
        for run in islice(waiting, count):
            key = f"etgp-viz-{run.id}-{uuid4().hex[:8]}"
            under_way[key] = run
            completed.add(client.submit(execute, run, key=key, retries=RETRIES, pure=False))

    submit(window)
    for future in completed:
        try:
            outcome: Outcome | BaseException = future.result()
        except Exception as error:  # raised by the run, or because its workers died
            outcome = error
        if is_local:  # the workers of a cluster are not ours to restart
            _replace_large_worker(client, future)
        run = under_way.pop(future.key)
        future.release()
        submit(1)
        yield run, outcome


@contextlib.contextmanager
def local_workers(workers: int | None = None) -> Iterator[tuple[str, Any]]:
    """Start worker processes that only this program can use.

    They listen on this machine alone, and only to holders of a certificate that is made here, kept
    in memory and forgotten at the end: Dask runs what it is sent, and others may have accounts on
    this machine. There is no dashboard, and nothing is served over HTTP. A worker that dies is
    replaced. Yields the scheduler's address and what a client needs to be let in.
    """
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    cores = os.cpu_count() or 1
    count = check_count(cores if workers is None else workers, "workers")
    security = Security.temporary()
    config = {
        "distributed.scheduler.allowed-failures": 3,  # a restarted worker counts as a dead one
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
            protocol="tls://",
            security=security,
        ) as cluster,
    ):
        yield cluster.scheduler_address, security


def thread_limits(threads: int) -> dict[str, int]:
    """Environment variables that limit the threads of each numerical library when it starts."""
    libraries = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "TF_NUM_INTRAOP", "TF_NUM_INTEROP")
    return {f"{library}_THREADS": threads for library in libraries}


def _connect(client: Any, address: Any, security: Any = None) -> Any:
    """A client of a scheduler; without `security`, that of Dask's configuration."""
    if not isinstance(address, str):
        fail("scheduler", "the address of a running Dask scheduler", describe(address))
    try:
        return client(address, timeout=SECONDS_TO_CONNECT, security=security)
    except (OSError, ValueError, TypeError) as error:
        problem = reason(error)
        fail("scheduler", "the address of a running Dask scheduler", f"{address} ({problem})")


def _replace_large_worker(client: Any, future: Any) -> None:
    """Restart the worker that finished a run if it has grown large.

    TensorFlow keeps everything that it has compiled, so a worker grows with every model it trains.
    """
    workers = client.scheduler_info()["workers"]
    for address in client.who_has([future]).get(future.key, ()):
        if address in workers and workers[address]["metrics"]["memory"] > LARGE_WORKER:
            client.restart_workers([address], raise_for_error=False)
