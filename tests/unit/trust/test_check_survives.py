"""`check` survives any answer: it replies, it is right about the truth, and Ctrl-C still works."""

import os
import signal
import sys
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest

from etgp_viz.course import check, protection
from etgp_viz.course.checking import RIGHT, WRONG

SIGNALS = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["etgp_viz.course.progress"], "_unsaved", {})


@pytest.fixture
def hurry(monkeypatch):
    monkeypatch.setattr(protection, "SECONDS", 0.2)
    monkeypatch.setattr(protection, "SECONDS_TO_LEAVE", 0.05)
    monkeypatch.setattr(protection, "MEMORY", 2**26)


def right(C, N, M):
    """The solution of exercise 06.2: operations of separate kernels, a shared one, and ETGP."""
    return C * M**3 + C * N * M**2, M**3 + C * N * M**2, M**3 + N * M**2


def reply_to(answer, exercise="06.2"):
    reply = check(exercise, answer)
    assert str(reply)
    assert reply._repr_html_()
    return reply


def test_the_solution_is_right():
    assert reply_to(right).outcome == RIGHT


# --- time ---------------------------------------------------------------------------------------


def endless(*_):
    while True:
        pass


def sleeping(*_):
    time.sleep(1000)


def catching_exceptions(*_):
    while True:
        try:  # noqa: SIM105 - as students write it
            time.sleep(0.01)
        except Exception:
            pass


def catching_everything(*_):
    while True:
        try:  # noqa: SIM105
            time.sleep(1)
        except BaseException:
            pass


def in_finally(*_):
    try:
        endless()
    finally:
        time.sleep(1000)


class EndlessMapping(dict):
    """A dictionary that never says whether it has a name."""

    def __contains__(self, name):
        return endless()


@SIGNALS
@pytest.mark.parametrize(
    "answer", [endless, sleeping, catching_exceptions, catching_everything, in_finally]
)
def test_what_never_ends_is_stopped_without_a_trace(answer, hurry):
    threads, handlers = threading.active_count(), [signal.getsignal(s) for s in (2, 14)]
    reply = reply_to(answer)
    assert reply.outcome == WRONG
    assert "This takes too long: your answer was stopped after 0.2 seconds" in reply.text
    assert threading.active_count() == threads
    assert [signal.getsignal(s) for s in (2, 14)] == handlers
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert reply_to(right).outcome == RIGHT


@SIGNALS
def test_an_object_that_never_ends_is_stopped(hurry):
    assert "This takes too long" in reply_to(EndlessMapping(), "06.1").text


@SIGNALS
def test_a_timer_of_the_caller_goes_on():
    signal.setitimer(signal.ITIMER_REAL, 500.0)
    try:
        reply_to(right)
        assert 0.0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 500.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize(
    "answer",
    [
        lambda *_: np.ones(10**13),
        lambda *_: [0] * 10**12,
        lambda *_: bytearray(2**45),
        lambda *_: "x" * 2**46,
    ],
)
def test_a_hungry_answer_is_refused(answer):
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    assert reply_to(answer).outcome == WRONG
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert reply_to(right).outcome == RIGHT


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_an_answer_gets_half_of_what_is_free(monkeypatch):
    import resource

    first = []
    for free in (2**30, 2**40):
        limits = []
        monkeypatch.setattr(resource, "setrlimit", lambda _, pair, to=limits: to.append(pair[0]))
        monkeypatch.setattr(protection, "free_memory", lambda free=free: free)
        assert reply_to(right).outcome == RIGHT
        first.append(limits[0])
    little, much = first
    assert {type(limit) for limit in first} == {int}  # as the system wants it
    assert much - little == pytest.approx(protection.MEMORY - 2**29, abs=2**26)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_lower_limit_of_the_caller_stays(monkeypatch):
    import resource

    limits, theirs = [], (2**62, resource.RLIM_INFINITY)
    for soft in (theirs[0], 12_345):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, theirs[1]))
        monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair[0]))
        assert reply_to(right).outcome == RIGHT
    assert limits[0] < theirs[0]
    assert limits[-2:] == [12_345, 12_345]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_list_that_never_ends_runs_out_of_memory(hurry, monkeypatch):
    """It is filled in C, where no signal is heard; memory ends it however slow the machine is."""
    monkeypatch.setattr(protection, "SECONDS", 1000.0)
    reply = reply_to(lambda *_: list(iter(int, 1)))
    assert reply.outcome == WRONG
    assert "needs more memory than is free" in reply.text
    assert reply_to(right).outcome == RIGHT


# --- exceptions of every kind ---------------------------------------------------------------------


def raising(error):
    def answer(*_):
        raise error

    return answer


class SilentError(Exception):
    """An error whose text cannot be had."""

    def __str__(self):
        raise ValueError("no text")


class Group(BaseException):
    """An exception that is not an `Exception`."""


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"), ZeroDivisionError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit(),
        MemoryError(), RecursionError("deep"), SilentError(), Group("own"), StopIteration(),
        AssertionError("x" * 100_000), BaseExceptionGroup("many", [KeyboardInterrupt()]),
        OSError(2, "No such file"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_an_answer_raises_is_a_reply(error):
    reply = reply_to(raising(error))
    assert reply.outcome == WRONG
    assert len(reply.text) < 2000


@pytest.mark.parametrize("base", [Exception, BaseException])
def test_the_name_of_an_error_stays_on_one_line(base):
    named = type("\x1b[2J\n<script>" + "x" * 10_000, (base,), {})
    reply = reply_to(raising(named("boo")))
    assert len(reply.text) < 2000
    assert reply.text.isprintable()


class Evil:
    """An object whose every method raises something that is not an Exception."""

    def _raise(self, *_):
        raise SystemExit("evil")

    __repr__ = __str__ = __len__ = __iter__ = __getitem__ = __float__ = __bool__ = _raise
    __eq__ = __contains__ = __array__ = __index__ = __getattr__ = _raise
    __hash__ = None
    __class__ = property(_raise)


class EvilNumber(float):
    """A number that interrupts whoever looks at it."""

    def __float__(self):
        raise KeyboardInterrupt

    __repr__ = __str__ = __float__


class EvilText(str):
    """A text that cannot be shown."""

    def __repr__(self):
        raise GeneratorExit


EVIL = [Evil(), EvilNumber(1.0), EvilText("x"), {"etgp": Evil()}, [Evil()] * 3, (EvilNumber(2),)]
STRANGE = [
    10**5000, float("nan"), -float("inf"), 1j, b"\xff", "\ud800", {1, 2}, range(10**9), object(),
    type, np, np.array([Evil], dtype=object), np.ma.masked, np.datetime64("NaT"), lambda: None,
    {"etgp": 10**5000, "svgp-shared": None}, [[]], {"a": {}}, memoryview(b"abc"), NotImplemented,
]  # fmt: skip


@pytest.mark.parametrize("exercise", ["01.1", "06.1", "06.2", "06.4", "08.1"])
def test_strange_and_evil_objects_are_replied_to(exercise):
    for answer in (*EVIL, *STRANGE):  # pytest itself cannot hold the evil ones as parameters
        assert reply_to(answer, exercise).outcome != RIGHT
        if exercise == "06.2":
            assert reply_to(lambda *_, answer=answer: answer).outcome != RIGHT


# --- the truth, and a real interrupt ------------------------------------------------------------


def test_settings_of_an_answer_do_not_change_the_truth():
    """With all errors of NumPy raised, the truth itself failed."""

    def strict(C, N, M):
        np.seterr(all="raise")
        warnings.simplefilter("error")
        return right(C, N, M)

    before = np.geterr()
    assert reply_to(strict).outcome == RIGHT
    assert np.geterr() == before
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for exercise in ("01.1", "06.1", "08.1"):
            assert reply_to(0.5, exercise).outcome == WRONG
        assert reply_to(right).outcome == RIGHT


@SIGNALS
def test_a_real_interrupt_still_interrupts():
    def pressed(*_):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        check("06.2", pressed)
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_gets_a_reply_too():
    replies = []
    for answer in (raising(SystemExit()), right):
        ask = partial(check, "06.2", answer)
        thread = threading.Thread(target=lambda ask=ask: replies.append(ask()))
        thread.start()
        thread.join()
    assert [reply.outcome for reply in replies] == [WRONG, RIGHT]


def test_an_alarm_that_comes_too_late_does_nothing():
    watch = protection._Watch()
    watch.is_over = True
    assert watch._on_alarm(signal.SIGINT, None) is None
    assert watch._on_line(sys._getframe(), "line", None) == watch._on_line
    watch.is_over = False
    with pytest.raises(protection._TooLong):
        watch._on_alarm(signal.SIGINT, None)


def test_the_reason_of_an_error_is_cut_where_it_is_too_long():
    longest = "x" * protection.MAX_REASON
    assert protection._describe(ValueError(longest)) == f"ValueError: {longest}"
    assert protection._describe(ValueError(longest + "y")) == f"ValueError: {longest}…"
