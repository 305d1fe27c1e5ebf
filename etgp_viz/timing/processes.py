"""The sweep's side of its child processes: started, asked, bounded in time and memory, ended."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from etgp_viz.timing import machine
from etgp_viz.timing.worker import CAN_FORK, library

__all__ = ["CellError", "Child", "OverBudgetError", "OverMemoryError", "Starter"]

#: how often a waiting sweep looks at the clock and at the child's memory, in seconds
LOOK = 0.05
#: a child that does not report within this time (imports included) has failed
STARTING = 180.0
#: how long a child that was killed may take to be gone, in seconds
ENDING = 2.0
#: this much memory of the machine is never used up (bytes)
RESERVE = 300 * 2**20


class CellError(Exception):
    """A cell that ended before its time; the message is its status."""


class OverBudgetError(CellError):
    """It took longer than it was given."""

    def __init__(self) -> None:
        super().__init__("over budget")


class OverMemoryError(CellError):
    """It took, or would have taken, more memory than it was given."""

    def __init__(self) -> None:
        super().__init__("over memory")


class Child:
    """One process with one model in it.

    Parameters
    ----------
    connection : to the process
    memory_limit : resident bytes at which it is ended
    """

    def __init__(self, connection: socket.socket, memory_limit: int) -> None:
        self._connection = connection
        self._process: psutil.Process | None = None
        self._memory_limit = memory_limit
        self._received = b""

    def greet(self, token: str, deadline: float) -> bool:
        """Whether the other side is a child of ours, as it must say first."""
        hello = self._read(deadline)
        if hello.get("token") != token:
            return False
        self._process = psutil.Process(hello["pid"])
        return True

    def ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Return the answer to a request, or end the process and raise a `CellError`.

        ``deadline`` is a time of ``time.perf_counter``.
        """
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
            if used > self._memory_limit or machine.available_memory() < RESERVE:
                raise OverMemoryError

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._connection.close()
        with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            if self._process is not None:
                self._process.kill()
                self._process.wait(ENDING)


class Starter:
    """Starts children; a context that leaves none behind.

    Parameters
    ----------
    memory_limit : resident bytes at which a child is ended
    """

    def __init__(self, memory_limit: int) -> None:
        self._memory_limit = memory_limit
        self._token = secrets.token_hex(16)
        self._processes: list[subprocess.Popen] = []
        self._reusable: dict[str, subprocess.Popen] = {}
        self._children: list[Child] = []

    def __enter__(self) -> "Starter":
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
        process = self._reusable.get(library(model))
        if process is None or process.poll() is not None:
            process = self._launch(library(model))
        assert process.stdin is not None
        order = {"port": self._server.getsockname()[1], "token": self._token}
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise CellError(f"failed: {self._last_words()}") from error
        child = self._accept(process)
        self._children.append(child)
        return child

    def _launch(self, chosen: str) -> subprocess.Popen:
        # The same package as here, also where it is not installed.
        home = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
        process = subprocess.Popen(
            [sys.executable, "-c", "from etgp_viz.timing.worker import main; main()", chosen],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._processes.append(process)
        if CAN_FORK:
            self._reusable[chosen] = process
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
        raise CellError(f"failed: {self._last_words()}")

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "the child process did not start"
