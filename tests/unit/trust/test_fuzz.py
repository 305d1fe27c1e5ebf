"""Every bad argument of every public call is a clear error, within seconds, and changes nothing."""

import re
import time
import warnings

import numpy as np
import pytest

from etgp_viz.checks import describe
from tests.unit.trust.cases import CALLS, MODEL

SECONDS = 5.0
FORM = re.compile(r"[\w.\[\] ]+: \S.*")


def unclear(error: BaseException | None, seconds: float) -> str:
    """What is wrong with the way in which a bad argument was met; empty if nothing is."""
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if error is None:
        return "was accepted"
    text = str(error)
    if type(error).__module__.split(".")[0] not in ("builtins", "etgp_viz") or not isinstance(
        error, ValueError
    ):
        return f"raised {type(error).__module__}.{type(error).__name__}: {text[:90]}"
    if "\n" in text or len(text) > 1000 or not FORM.fullmatch(text):
        return f"said {text[:120]!r}"
    return ""


def met(call, argument, value) -> str:
    start, error = time.perf_counter(), None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.make(**{argument: value})
    except Exception as raised:
        error = raised
    return unclear(error, time.perf_counter() - start)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_every_bad_argument_is_named(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problems = []
    for argument, value in call.cases():
        problem = met(call, argument, value)
        if problem:
            problems.append(f"{argument} = {describe(value)}: {problem}")
    assert not problems, "\n" + "\n".join(problems)
    assert list(tmp_path.iterdir()) == []


def test_there_are_enough_cases():
    assert sum(len(list(call.cases())) for call in CALLS) >= 2000


def test_nothing_of_this_has_changed_the_model():
    from tests.unit.trust.cases import _model

    fresh = _model()
    for ours, theirs in zip(MODEL.parameters, fresh.parameters, strict=True):
        np.testing.assert_array_equal(ours, theirs)
