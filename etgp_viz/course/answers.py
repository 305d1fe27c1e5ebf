"""Kinds of answers: whatever a student hands in becomes numbers, or a friendly refusal.

Every kind reads an answer into an array ``[K, P]``: P named parts (one for a number, one for each
value that a function returns) at K inputs (one for a number). Each kind says which parts of two
answers are `close`, and describes a part that is wrong.
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etgp_viz.checks import describe
from etgp_viz.files import reason
from etgp_viz.messages import one_line

__all__ = [
    *("Answer", "ArrayFunction", "Function", "Number", "Numbers", "Target"),
    *("InvalidAnswer", "NotYet"),
]


class NotYet(Exception):  # noqa: N818 - not an error: the student has not answered yet
    """The stub is unchanged, so there is no answer yet."""


class InvalidAnswer(Exception):  # noqa: N818
    """The answer has the wrong form; the message says what was expected."""


class _Relative(ABC):
    """An answer that is right within a relative tolerance."""

    tolerance: float

    def sizes(self, values: np.ndarray) -> np.ndarray:
        """What an error is relative to: the value itself, or one if it is zero."""
        return np.where(values == 0.0, 1.0, np.abs(values))

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Which parts agree at every input, ``[P]``."""
        return np.all(np.abs(value - other) <= self.tolerance * self.sizes(other), axis=0)

    def explain_error(self, value: np.ndarray, truth: np.ndarray) -> str:
        """Feedback on a wrong answer that no known mistake explains."""
        part = int(np.argmin(self.close(value, truth)))
        errors = np.abs(value[:, part] - truth[:, part]) / np.maximum(np.abs(truth[:, part]), 1e-12)
        row = int(np.argmax(errors))
        return self.describe_error(row, part, float(value[row, part]), float(truth[row, part]))

    @abstractmethod
    def describe_error(self, row: int, part: int, got: float, truth: float) -> str:
        """Feedback on one wrong number."""


@dataclass(frozen=True)
class Number(_Relative):
    """One number, right within a relative ``tolerance``.

    >>> Number(tolerance=0.1).read(2)
    array([[2.]])
    """

    tolerance: float
    parts: tuple[str, ...] = ("your number",)

    def read(self, answer: Any) -> np.ndarray:
        """The number as ``[1, 1]``."""
        return np.array([[_number(answer, "a number")]])

    def describe_error(self, row: int, part: int, got: float, truth: float) -> str:
        return f"{got:.3g} is too {'large' if got > truth else 'small'}."


@dataclass(frozen=True)
class Numbers(_Relative):
    """A dictionary of numbers with the names ``parts``, each right within ``tolerance``.

    >>> Numbers(("mean", "variance"), tolerance=0.1).read({"variance": 4, "mean": 1})
    array([[1., 4.]])
    """

    parts: tuple[str, ...]
    tolerance: float

    def named(self, *values: float) -> dict[str, float]:
        """An answer with these values, in the order of the names."""
        return dict(zip(self.parts, values, strict=True))

    def read(self, answer: Any) -> np.ndarray:
        """The numbers as ``[1, P]``, in the order of the names."""
        if _is_blank(answer):
            raise NotYet
        expected = f"a dictionary with {', '.join(map(repr, self.parts))}"
        if not isinstance(answer, Mapping):
            raise InvalidAnswer(f"Expected {expected}, got {describe(answer)}")
        values = _pick(answer, self.parts, expected)
        return np.array([[_number(value, f"a number for {part!r}") for part, value in values]])

    def describe_error(self, row: int, part: int, got: float, truth: float) -> str:
        size = "large" if got > truth else "small"
        return f"{got:.3g} for {self.parts[part]!r} is too {size}."


@dataclass(frozen=True)
class Function(_Relative):
    """A function, called with seeded random inputs, right within a relative ``tolerance``."""

    name: str
    arguments: tuple[str, ...]
    parts: tuple[str, ...]  # names of the numbers that it returns
    draw: Callable[[np.random.Generator], Sequence[Any]]  # one set of arguments
    calls: int = 5  # K
    tolerance: float = 1e-9
    seed: int = 6  # of the inputs; graders choose another one

    def inputs(self) -> list[tuple[Any, ...]]:
        """The K inputs, the same every time."""
        rng = np.random.default_rng(self.seed)
        return [tuple(self.draw(rng)) for _ in range(self.calls)]

    def read(self, answer: Any) -> np.ndarray:
        """The values ``[K, P]`` at the inputs."""
        if _is_blank(answer):
            raise NotYet
        if not callable(answer):
            raise InvalidAnswer(f"Expected the function {self.name} itself, got {describe(answer)}")
        return np.array([self._values(answer, inputs) for inputs in self.inputs()])

    def _values(self, function: Callable, inputs: tuple[Any, ...]) -> list[float]:
        call = self.format_call(inputs)
        values = self._call(function, inputs)
        if _is_blank(values):
            raise NotYet
        plural = "s" * (len(self.parts) != 1)
        expected = f"{len(self.parts)} number{plural} ({', '.join(self.parts)})"
        if isinstance(values, np.ndarray):
            values = list(values) if values.ndim else [values]
        if not isinstance(values, (tuple, list)):
            values = [values]
        if len(values) != len(self.parts):
            raise InvalidAnswer(f"{call} should return {expected}, but returned {len(values)}")
        return [_number(value, f"{call} to return {expected}") for value in values]

    def _call(self, function: Callable, inputs: tuple[Any, ...]) -> Any:
        try:
            return function(*inputs)
        except MemoryError:  # `protected` has words for it
            raise
        except Exception as error:  # whatever the student's code raises
            call = self.format_call(inputs)
            problem = one_line(f"{type(error).__name__}: {reason(error)}")
            raise InvalidAnswer(f"{call} raised {problem}") from None

    def format_call(self, inputs: Sequence[Any]) -> str:
        """A call as a person writes it; arrays are given by their shapes."""
        pairs = zip(self.arguments, inputs, strict=True)
        return f"{self.name}({', '.join(f'{name}={_format(value)}' for name, value in pairs)})"

    def describe_error(self, row: int, part: int, got: float, truth: float) -> str:
        call = self.format_call(self.inputs()[row])
        return f"{call} gives {got:.6g} for {self.parts[part]}; it should be {truth:.6g}."


@dataclass(frozen=True)
class ArrayFunction(Function):
    """A function that returns one array of the given ``shape``, such as a covariance matrix.

    Every entry is a part. Errors are relative to the largest entry of the call, since a covariance
    may be almost zero somewhere. ``parts`` holds one name, that of the array in messages.
    """

    shape: tuple[int, ...] = ()

    def _values(self, function: Callable, inputs: tuple[Any, ...]) -> list[float]:
        values = self._call(function, inputs)
        if _is_blank(values):
            raise NotYet
        name, array_name = self.name, self.parts[0]
        try:
            array = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise InvalidAnswer(f"{name} should return an array, got {describe(values)}") from None
        if array.shape != self.shape:
            raise InvalidAnswer(
                f"{name} should return {array_name} of shape {self.shape}, but returned shape "
                f"{array.shape}"
            )
        if not np.isfinite(array).all():
            raise InvalidAnswer(f"{name} returned {array_name} with entries that are not finite")
        return list(array.ravel())

    def sizes(self, values: np.ndarray) -> np.ndarray:
        return np.abs(values).max(axis=1, keepdims=True)

    def describe_error(self, row: int, part: int, got: float, truth: float) -> str:
        entry = tuple(int(index) for index in np.unravel_index(part, self.shape))
        return (
            f"The shape is right. Entry {entry} of {self.parts[0]} is {got:.6g} for seeded random "
            f"inputs; it should be {truth:.6g}."
        )


@dataclass(frozen=True)
class Target:
    """Settings that must come close to a hidden record.

    An answer is a dictionary with a list of numbers for each name, the lists alone in the order of
    the names, or an explorer whose state has fields with these names. Records are compared, not
    settings, so all settings that give the same record are equally right. A part of the record is
    close if its Frobenius distance from the hidden one is within ``tolerance`` times the size.

    ``record`` takes settings ``[names, length]`` to part → array, all of the same size. The state
    of an explorer must have the values ``given``, as when the hidden record was made.
    """

    names: tuple[str, ...]
    length: int
    record: Callable[[np.ndarray], Mapping[str, np.ndarray]]
    tolerance: float
    given: Mapping[str, Any] = field(default_factory=dict)

    def read(self, answer: Any) -> np.ndarray:
        """The record that an answer gives, ``[entries, P]``."""
        if _is_blank(answer):
            raise NotYet
        rows = [self._row(name, row) for name, row in self._settings(answer).items()]
        return np.stack([part.ravel() for part in self.record(np.array(rows)).values()], axis=1)

    def _settings(self, answer: Any) -> dict[str, Any]:
        if hasattr(answer, "state"):
            return self._settings_of_explorer(answer.state)
        expected = f"an explorer, or {self.length} numbers for each of {', '.join(self.names)}"
        if isinstance(answer, Mapping):
            return dict(_pick(answer, self.names, expected))
        lists = _items(answer)
        if len(lists) != len(self.names):
            raise InvalidAnswer(f"Expected {expected}, got {describe(answer)}")
        return dict(zip(self.names, lists, strict=True))

    def _settings_of_explorer(self, state: Any) -> dict[str, Any]:
        for name, value in self.given.items():
            if getattr(state, name, None) != value:
                actual = repr(getattr(state, name)) if hasattr(state, name) else "no such control"
                raise InvalidAnswer(
                    f"The target was made with {name} = {value!r}, but your explorer has {actual}"
                )
        return {name: getattr(state, name, ()) for name in self.names}

    def _row(self, name: str, row: Any) -> list[float]:
        if _is_blank(row):
            raise NotYet
        expected = f"{self.length} numbers for {name!r}"
        values = _items(row)
        if len(values) != self.length:
            raise InvalidAnswer(f"Expected {expected}, got {describe(row)}")
        return [_number(value, expected) for value in values]

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Which parts are close enough, ``[P]``."""
        return self._distances(value, other) <= self.tolerance

    def explain_error(self, value: np.ndarray, truth: np.ndarray) -> str:
        """How far away the whole answer is, and which part is farthest."""
        distances = self._distances(value, truth)
        parts = list(self.record(np.ones((len(self.names), self.length))))
        distance = np.linalg.norm(value - truth) / np.linalg.norm(truth)
        return (
            f"As a whole, your answer is {distance:.0%} away from the target. "
            f"{sum(distances <= self.tolerance)} of {len(parts)} parts are within "
            f"{self.tolerance:.0%}; the farthest is {parts[int(np.argmax(distances))]}, "
            f"{np.max(distances):.0%} away."
        )

    def _distances(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Relative Frobenius distance of each part, ``[P]``."""
        size = np.linalg.norm(other, axis=0)
        return np.linalg.norm(value - other, axis=0) / np.where(size == 0.0, 1.0, size)


Answer = Number | Numbers | Function | Target


def _format(value: Any) -> str:
    return f"array{value.shape}" if isinstance(value, np.ndarray) and value.ndim else str(value)


def _is_blank(value: Any) -> bool:
    return value is None or value is Ellipsis


def _pick(answer: Mapping, names: Sequence[str], expected: str) -> list[tuple[str, Any]]:
    """Pairs of name and value, in the order of the names."""
    for name in names:
        if name not in answer:
            raise InvalidAnswer(f"Expected {expected}, but {name!r} is missing")
    return [(name, answer[name]) for name in names]


def _items(value: Any) -> list[Any]:
    """Items of a list, a tuple or an array; none for anything else."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return []
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else []


def _number(value: Any, expected: str) -> float:
    """A finite number; zero-dimensional arrays count."""
    if _is_blank(value):
        raise NotYet
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InvalidAnswer(f"Expected {expected}, got {describe(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not np.isfinite(number):
        raise InvalidAnswer(f"Expected {expected}, got {number}")
    return number
