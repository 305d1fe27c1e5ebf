"""Work in a background thread, whose results are shown in the kernel's own thread.

The worker never touches a widget, and the page never touches what the worker owns. Results travel
through the kernel's event loop, one at a time, so that no lock is needed and no deadlock is
possible. While the kernel is busy with a cell, the latest result waits for it.
"""

import asyncio
import atexit
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

PAUSE = 0.35  # seconds from one snapshot to the next, at least
SNAPSHOT_SHARE = 0.35  # of the time, at most, for snapshots
PATIENCE = 5.0  # seconds that a closing kernel waits for its workers

_workers: "weakref.WeakSet[Worker]" = weakref.WeakSet()


class Worker:
    """Repeats a small `step` of work in a daemon thread until stopped, or until it returns False.

    The thread computes a `snapshot` now and then; its argument is True the last time. The thread
    that made the worker calls `show` with each snapshot and, after the last one, `finish` with the
    error that ended the work, or None. `pause` and `share` are its own `PAUSE` and
    `SNAPSHOT_SHARE`.
    """

    def __init__(
        self,
        step: Callable[[], bool],
        snapshot: Callable[[bool], Any],
        show: Callable[[Any], None],
        finish: Callable[[Exception | None], None],
        pause: float | None = None,
        share: float | None = None,
    ) -> None:
        self._pause = PAUSE if pause is None else pause
        self._share = SNAPSHOT_SHARE if share is None else share
        self._step, self._snapshot, self._show, self._finish = step, snapshot, show, finish
        self._stop, self._is_shown = threading.Event(), threading.Event()
        self._is_shown.set()
        self._is_abandoned = False
        try:
            self._post: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
        except RuntimeError:  # a plain script has no event loop: call at once
            self._post = lambda function, *args: function(*args)
        self._thread = threading.Thread(target=self._run, name="etgp-viz worker", daemon=True)

    def start(self) -> "Worker":
        """Begin. Store the worker first: a short one may finish before this returns."""
        _workers.add(self)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End after the current step; the last snapshot and `finish` still follow."""
        self._stop.set()

    def abandon(self) -> None:
        """End without any further call of `show` or `finish`."""
        self._is_abandoned = True
        self._stop.set()

    def join(self, seconds: float | None = None) -> bool:
        """Wait until the thread has ended; its last results may still be in the event loop.

        Returns whether it has ended.
        """
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error = None
        try:
            due = time.monotonic()
            while not self._stop.is_set() and self._step():
                if time.monotonic() >= due and self._is_shown.is_set():
                    start = time.monotonic()
                    self._hand_over(self._snapshot(False))
                    due = start + max(self._pause, (time.monotonic() - start) / self._share)
            if not self._is_abandoned:
                self._hand_over(self._snapshot(True))
        except Exception as reason:  # any error: the page reports it
            error = reason
        self._call(self._finish, error)

    def _hand_over(self, result: Any) -> None:
        self._is_shown.clear()
        self._call(self._deliver, result)

    def _deliver(self, result: Any) -> None:
        try:
            self._show(result)
        finally:
            self._is_shown.set()

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function in the kernel's thread, unless the worker has been abandoned by then."""

        def unless_abandoned() -> None:
            if not self._is_abandoned:
                function(*args)

        if not self._is_abandoned:
            try:
                self._post(unless_abandoned)
            except RuntimeError:  # the event loop is closed: nobody is left to call
                self._is_abandoned = True


def stop_all() -> None:
    """Stop every worker of this kernel; each still shows its last snapshot on its own page."""
    for worker in list(_workers):
        worker.stop()


@atexit.register
def _leave() -> None:
    """Wait for the workers: a thread inside TensorFlow would crash the closing interpreter."""
    for worker in list(_workers):
        worker.abandon()
    for worker in list(_workers):
        worker.join(PATIENCE)
