"""The child process of one cell: builds a model and times it when asked to, one JSON line each.

Between requests it waits on its socket and uses no processor. On Linux one process imports
the library and forks a child for each cell, before any operation has run, so that a cell costs no
import of its own; elsewhere each cell is a process that imports for itself. TensorFlow and PyTorch
never share a process.
"""

import contextlib
import gc
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["CAN_FORK", "answers", "library", "main", "peak_of", "resident"]

CAN_FORK = sys.platform == "linux"

#: a turn takes at least this many seconds, so that quick calls are averaged in a warm cache
TURN = 0.05

MIB = 2**20


def timed(action: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call in a turn of at least `TURN`; the first call only warms the cache.

    A call that fills the turn by itself counts as it is.
    """
    start = clock()
    action()
    first = clock() - start
    if first >= TURN:
        return first
    start, count = clock(), 0
    while count == 0 or clock() - start < TURN - first:
        action()
        count += 1
    return (clock() - start) / count


def answers(request: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for and return the measured value."""
    start = time.perf_counter()
    match request["do"]:
        case "build":
            from etgp_viz.timing.contestants import Size

            rivals = import_module(_home(request["model"]))
            state["base"] = resident()
            state["actions"] = rivals.actions(request["model"], Size(**request["size"]))
            return {"value": time.perf_counter() - start, "quantities": list(state["actions"])}
        case "first":  # tracing and compiling; the second call settles what is left of it
            state["actions"][request["quantity"]]()
            seconds = time.perf_counter() - start
            gc.collect()
            return {"value": seconds}
        case "memory":
            return {"value": (peak_of(state["actions"]["step"]) - state["base"]) / MIB}
        case "time":
            return {"value": timed(state["actions"][request["quantity"]])}
    raise ValueError(f"do: expected build, first, memory or time, got {request['do']!r}")


def resident() -> int:
    """Resident memory (bytes) of this process."""
    import psutil

    return psutil.Process().memory_info().rss


def peak_of(action: Callable[[], Any]) -> int:
    """Largest resident memory (bytes) of this process during a call."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    with contextlib.suppress(OSError):
        clear.write_text("5")  # sets the high-water mark back to what is resident now
        action()
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found.group(1)) * 1024
    return _sampled_peak(action)


def _sampled_peak(action: Callable[[], Any]) -> int:
    """The same where the system keeps no such mark: looked at every millisecond."""
    import threading

    peak, over = resident(), threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.001):
            peak = max(peak, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        action()
    finally:
        over.set()
        watcher.join()
    return peak


def library(model: str) -> str:
    """What a model is computed with: ``"tensorflow"`` or ``"torch"``."""
    return "torch" if model.startswith("gpytorch") else "tensorflow"


def _home(model: str) -> str:
    return f"etgp_viz.timing.{'gpytorch_model' if library(model) == 'torch' else 'contestant_models'}"


def _import_all(chosen: str) -> None:
    """What every child needs; some of it would be imported only when it is first used."""
    if chosen == "torch":
        import_module("etgp_viz.timing.gpytorch_model")
        return
    import sklearn.cluster  # noqa: F401

    import etgp_viz.timing.contestant_models  # noqa: F401
    from etgp_viz.backend import gpflow

    _ = gpflow.keras.tf_keras.optimizers.Adam


def _warm_up() -> None:
    """Let TensorFlow take the memory that it needs in any case, before a model's is counted."""
    if "tensorflow" not in sys.modules:
        return
    from etgp_viz.backend import tf

    matrix = tf.eye(64, dtype=tf.float64)
    for compiled in (False, True):
        tf.function(lambda K: tf.exp(K) @ K, autograph=False, jit_compile=compiled)(matrix)


def serve(port: int, token: str) -> None:
    """Connect to the sweep's process and answer it until it hangs up."""
    if CAN_FORK:  # if memory runs out, this process goes first and not the notebook
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
    state: dict[str, Any] = {}
    _warm_up()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        lines = connection.makefile("rw", encoding="utf-8")

        def say(message: dict[str, Any]) -> None:
            lines.write(json.dumps(message) + "\n")
            lines.flush()

        say({"token": token, "pid": os.getpid()})
        for line in lines:
            try:
                say(answers(json.loads(line), state))
            except Exception as error:
                reason = str(error).strip().splitlines()[:1] or [""]
                say({"error": f"{type(error).__name__}: {reason[0][:200]}"})


def main() -> None:
    """Read ``{"port": …, "token": …}`` lines and serve each of them, in a child if possible."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep decides what an interrupt ends
    sys.stdout = sys.stderr
    _import_all(sys.argv[1])

    if CAN_FORK:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    for line in sys.stdin:
        order = json.loads(line)
        if not CAN_FORK:
            serve(order["port"], order["token"])
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with contextlib.suppress(BrokenPipeError, ConnectionError):
                serve(order["port"], order["token"])
            os._exit(0)
