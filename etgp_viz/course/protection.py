"""Run a student's code so that nothing it does ends `check`: time, memory, and any exception.

The limits hold on the main thread of a system with signals, where a notebook runs its cells, and
no thread or process is needed for them. Elsewhere exceptions are still caught.
"""

import contextlib
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from etgp_viz.checks import free_memory
from etgp_viz.course.answers import InvalidAnswer, NotYet
from etgp_viz.messages import one_line

__all__ = ["SECONDS", "own_settings", "protected"]

SECONDS = 10.0  # for all calls of an answer together
SECONDS_TO_LEAVE = 0.2  # between two attempts to end code that catches the first
MEMORY = 2**31  # bytes for an answer, or half of what is free if that is less
MAX_REASON = 500  # characters of an error in a reply


class _TooLong(BaseException):
    """Raised inside an answer whose time is over; not an Exception, which it might catch."""


@contextlib.contextmanager
def own_settings() -> Iterator[None]:
    """NumPy's usual settings and no warnings, whatever the student has set, for the true answer."""
    usual = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    with np.errstate(**usual), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.simplefilter("ignore")
        yield


def protected(function: Callable[[Any], Any], answer: Any) -> Any:
    """What a function of an answer returns; whatever goes wrong in it becomes an `InvalidAnswer`.

    Parameters
    ----------
    function, answer : ``function(answer)`` may call any code of the student

    Returns
    -------
    its value; what a student sets in NumPy while it runs is undone

    Raises
    ------
    NotYet, InvalidAnswer : as `function` does, or because of anything else that it raises
    KeyboardInterrupt : only for a real one, by Ctrl-C or by the notebook's stop button

    Examples
    --------
    >>> protected(lambda answer: 1 / answer, 0)
    Traceback (most recent call last):
    ...
    etgp_viz.course.answers.InvalidAnswer: Your answer raised ZeroDivisionError: division by zero
    """
    watch = _Watch()
    try:
        with np.errstate(), _limited_memory():
            return watch.run(function, answer)
    except (NotYet, InvalidAnswer):
        raise
    except _TooLong:
        message = f"This takes too long: your answer was stopped after {SECONDS:g} seconds"
        raise InvalidAnswer(f"{message}; perhaps a loop never ends") from None
    except MemoryError:
        raise InvalidAnswer("Your answer needs more memory than is free") from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and watch.was_interrupted:
            raise
        raise InvalidAnswer(f"Your answer raised {_describe(error)}") from None


class _Watch:
    """Ends a call when its time is over, and tells a real Ctrl-C from one that code raises."""

    def __init__(self) -> None:
        self.was_interrupted, self.is_over, self.alarms = False, False, 0

    def run(self, function: Callable[[Any], Any], answer: Any) -> Any:
        if threading.current_thread() is not threading.main_thread() or not hasattr(
            signal, "setitimer"
        ):
            return function(answer)
        before = {
            signal.SIGALRM: signal.signal(signal.SIGALRM, self._on_alarm),
            signal.SIGINT: signal.signal(signal.SIGINT, self._on_interrupt),
        }
        tracing = sys.gettrace()
        # Repeated: code that catches everything is stopped again, at another place.
        timer = signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS_TO_LEAVE)
        try:
            return function(answer)
        finally:
            self.is_over = True  # before any call: from here on an alarm does nothing
            signal.setitimer(signal.ITIMER_REAL, *timer)
            sys.settrace(tracing)
            for number, handler in before.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self.was_interrupted = True
        raise KeyboardInterrupt

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        if self.is_over:
            return
        self.alarms += 1
        if self.alarms > 1:  # the answer catches everything: raise in its handler, too
            while frame is not None and frame.f_code is not _Watch.run.__code__:
                frame.f_trace = self._on_line
                frame = frame.f_back
            sys.settrace(self._on_line)
        raise _TooLong

    def _on_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The first line that runs after an alarm was caught: in a handler or behind it."""
        if event == "line" and not self.is_over:
            raise _TooLong
        return self._on_line


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """Let this process take `MEMORY` more bytes, so that asking for more is a MemoryError.

    Without the limit, the system would end the whole kernel.
    """
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = used + min(MEMORY, free_memory() // 2)
        if soft != resource.RLIM_INFINITY:
            limit = min(limit, soft)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError):  # not Linux
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _describe(error: BaseException) -> str:
    """Type and text of an error, even if asking for the text fails."""
    name = one_line(type(error).__name__)
    try:
        text = str(error)
    except BaseException:
        return name
    text = text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}…"
    return f"{name}: {text}" if text else name
