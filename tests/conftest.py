"""Says at the end of a run how many tests of each kind ran; shares the cores between processes."""

import os
import signal
from collections import Counter, defaultdict

import pytest

OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


def pytest_configure() -> None:
    """Let tests interrupt themselves, also where a shell started this run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "PYTEST_XDIST_WORKER" in os.environ:  # one process for each core, one core for each process
        for library in ("OMP_NUM", "OPENBLAS_NUM", "TF_NUM_INTRAOP", "TF_NUM_INTEROP"):
            os.environ.setdefault(f"{library}_THREADS", "1")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each folder of tests/, by outcome."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in OUTCOMES:
        for report in terminalreporter.stats.get(outcome, ()):
            folder = report.nodeid.removeprefix("tests/").partition("/")[0]
            kinds[folder][outcome] += 1
    terminalreporter.section("tests of each kind")
    for kind, counts in kinds.items():
        text = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        terminalreporter.write_line(f"{kind:10} {text}")
