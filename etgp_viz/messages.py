"""How an error is worded: on one line that can be printed, whatever somebody has handed in."""

from __future__ import annotations

import numbers
from typing import Any, NoReturn

__all__ = ["describe", "fail", "one_line", "printable_text"]

MAX_SHOWN = 80  # characters of a value in a message
MAX_MESSAGE = 600  # characters of a message
UNPRINTABLE = "\ufffd"


def printable_text(text: str) -> str:
    r"""A text on one line, with � in place of each character that cannot be printed.

    Parameters
    ----------
    text : from anywhere

    Returns
    -------
    a text that neither moves a cursor nor changes the direction of writing

    Examples
    --------
    >>> printable_text("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(letter if letter.isprintable() else UNPRINTABLE for letter in text)


def one_line(text: str) -> str:
    """A message on one line of bounded length; the middle of a longer one is left out."""
    half = MAX_MESSAGE // 2
    if len(text) > MAX_MESSAGE:
        text = f"{text[:half]}…{text[-half:]}"
    return printable_text(text)


def describe(value: Any) -> str:
    """A value in a few words, for a message; whatever the value is, this raises nothing."""
    kind = type(value).__name__
    try:
        if isinstance(value, (str, numbers.Number)):
            text = repr(value)
            return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
        return f"{kind} of length {len(value)}" if isinstance(value, (tuple, list)) else kind
    except Exception:  # an integer of more digits than Python writes, or a broken object
        is_integer = type(value) is int
        return f"an integer of {value.bit_length()} bits" if is_integer else kind


def fail(name: str, expected: str, got: str) -> NoReturn:
    """Raise a ValueError about an argument, worded as in every check of the package."""
    raise ValueError(one_line(f"{name}: expected {expected}, got {got}"))
