"""The child processes of a race, from both sides.

The race starts a child for each cell, asks it to build and time a model, bounds it in time and
memory, and ends it (`Starter`, `Child`). The child answers on a socket, one line of JSON for each
request (`main`); between requests it waits and uses no processor.

On Linux one process imports the library and forks a child for each cell, before any operation has
run, so that a cell does not wait for an import; elsewhere each cell is a process that imports the
library itself. TensorFlow and PyTorch never share a process.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from etgp_viz.checks import free_memory as available_memory
from etgp_viz.timing.contestants import MODELS, Size

__all__ = [
    "MIB",
    "CellError",
    "Child",
    "OverBudgetError",
    "OverMemoryError",
    "Starter",
    "available_memory",
    "main",
    "peak_memory",
    "resident_memory",
]

MIB = 2**20
CAN_FORK = sys.platform == "linux"

#: library → the module that computes its contestants
HOMES = {
    "tensorflow": "etgp_viz.timing.contestant_models",
    "torch": "etgp_viz.timing.gpytorch_model",
}

#: how often a waiting race looks at the clock and at the child's memory, in seconds
LOOK = 0.05
#: a child that does not report within this time (imports included) has failed
STARTING = 180.0
#: how long a killed child may take to disappear, in seconds
ENDING = 2.0
#: memory of the machine that always stays free, in bytes
RESERVE = 300 * MIB
#: a turn takes at least this many seconds, so that quick calls are averaged in a warm cache
TURN = 0.05


class CellError(Exception):
    """A cell that ended early; the message is its status."""


class OverBudgetError(CellError):
    """A cell that took longer than its budget."""

    def __init__(self) -> None:
        super().__init__("over budget")


class OverMemoryError(CellError):
    """A cell that took, or would have taken, more memory than its limit."""

    def __init__(self) -> None:
        super().__init__("over memory")


# --- the side of the race ------------------------------------------------------------------------


class Child:
    """One process with one model in it, which may take up to ``memory_limit`` resident bytes."""

    def __init__(self, connection: socket.socket, memory_limit: int) -> None:
        self._connection = connection
        self._process: psutil.Process | None = None
        self._memory_limit = memory_limit
        self._received = b""

    def greet(self, token: str, deadline: float) -> bool:
        """Whether the other side proves to be our child: its first line must hold the token."""
        hello = self._read(deadline)
        if hello.get("token") != token:
            return False
        self._process = psutil.Process(hello["pid"])
        return True

    def ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """The answer to a request, or a `CellError`; the deadline is on ``time.perf_counter``."""
        try:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            answer = self._read(deadline)
        except OSError as error:
            raise CellError(f"failed: the process ended ({type(error).__name__})") from error
        problem = answer.get("error", "")
        if problem.startswith(("ResourceExhausted", "MemoryError")):
            raise OverMemoryError
        if problem:
            raise CellError(f"failed: {problem}")
        return answer

    def _read(self, deadline: float) -> dict[str, Any]:
        self._connection.settimeout(LOOK)
        while b"\n" not in self._received:
            try:
                more = self._connection.recv(65536)
            except TimeoutError:
                self._check(deadline)
                continue
            if not more:
                raise ConnectionError
            self._received += more
        line, self._received = self._received.split(b"\n", 1)
        return json.loads(line)

    def _check(self, deadline: float) -> None:
        if time.perf_counter() > deadline:
            raise OverBudgetError
        if self._process is None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            used = self._process.memory_info().rss
            if used > self._memory_limit or available_memory() < RESERVE:
                raise OverMemoryError

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._connection.close()
        with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            if self._process is not None:
                self._process.kill()
                self._process.wait(ENDING)


class Starter:
    """Starts children with a limit of resident bytes each; a context that leaves none behind."""

    def __init__(self, memory_limit: int) -> None:
        self._memory_limit = memory_limit
        self._token = secrets.token_hex(16)
        self._processes: list[subprocess.Popen] = []
        self._reusable: dict[str, subprocess.Popen] = {}
        self._children: list[Child] = []

    def __enter__(self) -> Starter:
        self._log = tempfile.TemporaryFile()
        self._server = socket.create_server(("127.0.0.1", 0))
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.end()
        for process in self._processes:
            process.kill()
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
        self._server.close()
        self._log.close()

    def child(self, model: str) -> Child:
        """Start a process for a model and wait until it has reported."""
        library = MODELS[model].library
        process = self._reusable.get(library)
        if process is None or process.poll() is not None:
            process = self._launch(library)
        assert process.stdin is not None
        order = {"port": self._server.getsockname()[1], "token": self._token}
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise CellError(f"failed: {self._last_log_line()}") from error
        child = self._accept(process)
        self._children.append(child)
        return child

    def _launch(self, library: str) -> subprocess.Popen:
        # The same package as here, even if it is not installed.
        home = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
        process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import main; main()", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._processes.append(process)
        if CAN_FORK:
            self._reusable[library] = process
        return process

    def _accept(self, process: subprocess.Popen) -> Child:
        deadline = time.perf_counter() + STARTING
        self._server.settimeout(LOOK)
        while time.perf_counter() < deadline:
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                if process.poll() is not None:
                    break
                continue
            child = Child(connection, self._memory_limit)
            with contextlib.suppress(OSError, ValueError, CellError):
                if child.greet(self._token, deadline):
                    return child
            child.end()
        raise CellError(f"failed: {self._last_log_line()}")

    def _last_log_line(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "the child process did not start"


# --- the side of the child -----------------------------------------------------------------------


def main() -> None:
    """Read ``{"port": …, "token": …}`` lines and serve each of them, in a fork if possible."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the race decides what an interrupt ends
    sys.stdout = sys.stderr
    _import_all(sys.argv[1])

    if CAN_FORK:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended children need no waiting for
    for line in sys.stdin:
        order = json.loads(line)
        if not CAN_FORK:
            _serve(order["port"], order["token"])
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with contextlib.suppress(BrokenPipeError, ConnectionError):
                _serve(order["port"], order["token"])
            os._exit(0)


def _import_all(library: str) -> None:
    """Import what every child needs, including what would be imported when it is first used."""
    import_module(HOMES[library])
    if library == "tensorflow":
        import sklearn.cluster  # noqa: F401

        from etgp_viz.backend import gpflow

        _ = gpflow.keras.tf_keras.optimizers.Adam


def _serve(port: int, token: str) -> None:
    """Connect to the process of the race and answer it until it hangs up."""
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
                say(_answer(json.loads(line), state))
            except Exception as error:
                reason = str(error).strip().splitlines()[:1] or [""]
                say({"error": f"{type(error).__name__}: {reason[0][:200]}"})


def _warm_up() -> None:
    """Let TensorFlow take its basic memory before that of a model is counted."""
    if "tensorflow" not in sys.modules:
        return
    from etgp_viz.backend import tf

    matrix = tf.eye(64, dtype=tf.float64)
    for compiled in (False, True):
        tf.function(lambda K: tf.exp(K) @ K, autograph=False, jit_compile=compiled)(matrix)


def _answer(request: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for and return the measured value."""
    start = time.perf_counter()
    match request["do"]:
        case "build":
            home = import_module(HOMES[MODELS[request["model"]].library])
            state["base"] = resident_memory()
            size = Size(**request["size"])
            state["actions"] = home.actions(request["model"], size, request["draws"])
            seconds = time.perf_counter() - start
            timed = [name for name in state["actions"] if name != "prediction_error"]
            return {"value": seconds, "quantities": timed}
        case "first":  # tracing and compiling
            state["actions"][request["quantity"]]()
            seconds = time.perf_counter() - start
            gc.collect()
            return {"value": seconds}
        case "memory":
            peak = peak_memory(state["actions"]["step"])
            return {"value": (peak - state["base"]) / MIB}
        case "error":  # of a Monte Carlo prediction
            return {"value": state["actions"]["prediction_error"]()}
        case "time":
            return {"value": _seconds_per_call(state["actions"][request["quantity"]])}
    raise ValueError(f"do: expected build, first, memory, error or time, got {request['do']!r}")


def _seconds_per_call(
    action: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Mean seconds of a call in a turn of at least `TURN`; the first call only warms the cache.

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


# --- memory ---------------------------------------------------------------------------------------


def resident_memory() -> int:
    """Resident memory (bytes) of this process."""
    return psutil.Process().memory_info().rss


def peak_memory(action: Callable[[], Any]) -> int:
    """Largest resident memory (bytes) of this process during a call."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        clear.write_text("5")  # resets the system's high-water mark to what is resident now
        has_mark = "VmHWM" in status.read_text()
    except OSError:
        has_mark = False
    if not has_mark:
        return _sampled_peak(action)
    action()
    kilobytes = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]
    return int(kilobytes) * 1024


def _sampled_peak(action: Callable[[], Any]) -> int:
    """The same where the system keeps no high-water mark: sampled every millisecond."""
    peak, over = resident_memory(), threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.001):
            peak = max(peak, resident_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        action()
    finally:
        over.set()
        watcher.join()
    return peak
