"""Checks of single values that a person passes in; `etgp_viz.validation` checks arrays.

Every message names the argument, what was expected and what came. Nothing here needs TensorFlow, so
that what runs without it can check its arguments at once.
"""

import numbers
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

__all__ = [
    "check_choice",
    "check_count",
    "check_fraction",
    "check_nonnegative",
    "check_positive",
    "describe",
    "fail",
]


def check_count(
    value: Any, name: str, minimum: int = 1, maximum: int | None = None, because: str = ""
) -> int:
    """Check an integer in ``minimum..maximum``; ``because`` explains the bound in the message."""
    bound = f"≥ {minimum}" if maximum is None else f"in {minimum}..{maximum}"
    expected = f"an integer {bound}" + (f" ({because})" if because else "")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        fail(name, expected, describe(value))
    count = int(value)
    if count < minimum or (maximum is not None and count > maximum):
        fail(name, expected, str(count))
    return count


def check_fraction(value: Any, name: str) -> float:
    """Check a number in [0, 1), such as a dropout rate."""
    return _check_number(value, name, "a number in [0, 1)", lambda v: 0 <= v < 1)


def check_positive(value: Any, name: str) -> float:
    """Check a finite number > 0, such as a learning rate."""
    return _check_number(value, name, "a finite number > 0", lambda v: 0 < v < np.inf)


def check_nonnegative(value: Any, name: str) -> float:
    """Check a finite number ≥ 0, such as a weight decay."""
    return _check_number(value, name, "a finite number ≥ 0", lambda v: 0 <= v < np.inf)


def check_choice(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """Check one of a few allowed values."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        fail(name, "one of " + ", ".join(repr(choice) for choice in choices), describe(value))
    return value


def _check_number(value: Any, name: str, expected: str, allowed: Any) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not allowed(value):
        fail(name, expected, describe(value))
    return float(value)


def describe(value: Any) -> str:
    """A value in a few words, for a message."""
    if isinstance(value, (str, numbers.Number)):
        return repr(value)
    size = f" of length {len(value)}" if isinstance(value, (tuple, list)) else ""
    return f"{type(value).__name__}{size}"


def fail(name: str, expected: str, got: str) -> NoReturn:
    """Refuse an argument in the words that every check here uses."""
    raise ValueError(f"{name}: expected {expected}, got {got}")
