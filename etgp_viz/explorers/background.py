"""Work in a thread of its own, whose results are handed to the kernel's own thread.

The worker never touches a widget, and the page never touches what the worker owns: results travel
through the kernel's event loop, one at a time, so that nothing needs a lock and nothing can wait
for itself. While the kernel is busy with a cell, the latest result waits for it.
"""

import asyncio
import atexit
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

# Seconds between two looks at the work, and the share of the time that looking may take.
PAUSE = 0.35
LOOKING = 0.35
# Seconds that a leaving kernel waits for its workers.
PATIENCE = 5.0

_workers: "weakref.WeakSet[Worker]" = weakref.WeakSet()


class Worker:
    """Repeats `work` in a daemon thread until it is told to stop, or until `work` says False.

    Parameters
    ----------
    work : one small piece of work; False means that there is no more of it
    look : what is to be shown, computed in the thread now and then, with True at the last time
    show : called with it in the thread that made the worker
    done : called there once, after the last `show`, with the error that ended the work or None
    """

    def __init__(
        self,
        work: Callable[[], bool],
        look: Callable[[bool], Any],
        show: Callable[[Any], None],
        done: Callable[[Exception | None], None],
    ) -> None:
        self._work, self._look, self._show, self._done = work, look, show, done
        self._stop, self._shown = threading.Event(), threading.Event()
        self._shown.set()
        self._abandoned = False
        try:
            self._post: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
        except RuntimeError:  # a plain script: nobody else is at work
            self._post = lambda function, *args: function(*args)
        self._thread = threading.Thread(target=self._run, name="etgp-viz worker", daemon=True)

    def start(self) -> "Worker":
        """Begin; whoever waits for `done` must know this worker by now."""
        _workers.add(self)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End after the piece of work that is going on; the last look and `done` still come."""
        self._stop.set()

    def abandon(self) -> None:
        """End, and say nothing more."""
        self._abandoned = True
        self._stop.set()

    def join(self, seconds: float | None = None) -> None:
        """Wait until the thread has ended; what it posted may still be on its way."""
        self._thread.join(seconds)

    def _run(self) -> None:
        error = None
        try:
            due = time.monotonic()
            while not self._stop.is_set() and self._work():
                if time.monotonic() >= due and self._shown.is_set():
                    start = time.monotonic()
                    self._hand_over(self._look(False))
                    now = time.monotonic()
                    due = now + max(PAUSE, (now - start) / LOOKING)
            if not self._abandoned:
                self._hand_over(self._look(True))
        except Exception as reason:  # whatever it is: the page says so
            error = reason
        self._call(self._done, error)

    def _hand_over(self, seen: Any) -> None:
        self._shown.clear()
        self._call(self._deliver, seen)

    def _deliver(self, seen: Any) -> None:
        try:
            self._show(seen)
        finally:
            self._shown.set()

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        def unless_abandoned() -> None:
            if not self._abandoned:
                function(*args)

        if not self._abandoned:
            try:
                self._post(unless_abandoned)
            except RuntimeError:  # the loop is closed: nobody is left to be told
                self._abandoned = True


def stop_all() -> None:
    """Stop every worker of this kernel; each says its last word to its own page."""
    for worker in list(_workers):
        worker.stop()


@atexit.register
def _leave() -> None:
    """A thread inside TensorFlow would not survive the end of the interpreter."""
    for worker in list(_workers):
        worker.abandon()
    for worker in list(_workers):
        worker.join(PATIENCE)
