"""How an answer is read: whatever a student hands in becomes numbers, or a friendly refusal.

Every kind of answer is read into an array ``[K, P]``: P parts that have a name (a number has one
part, a function one for each value it returns), at K inputs (a number has one). Each kind knows
which parts of two answers are `close`, and what to say of a part that misses.
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etgp_viz.checks import describe

__all__ = [
    "Answer",
    "ArrayFunction",
    "Function",
    "Nonsense",
    "NotYet",
    "Number",
    "Numbers",
    "Target",
]


class NotYet(Exception):  # noqa: N818 - it is no error to have nothing to say yet
    """There is no answer yet: the stub is as it came."""


class Nonsense(Exception):  # noqa: N818
    """It cannot be an answer; the text says why."""


class _Relative(ABC):
    """Tolerances are relative."""

    tolerance: float

    def sizes(self, values: np.ndarray) -> np.ndarray:
        """What an error is measured against: each value itself, and one if it is zero."""
        return np.where(values == 0.0, 1.0, np.abs(values))

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Which parts agree at every input, ``[P]``."""
        return np.all(np.abs(value - other) <= self.tolerance * self.sizes(other), axis=0)

    def where_it_misses(self, value: np.ndarray, truth: np.ndarray) -> str:
        """What to say of a wrong answer that no known mistake explains."""
        part = int(np.argmin(self.close(value, truth)))
        errors = np.abs(value[:, part] - truth[:, part]) / np.maximum(np.abs(truth[:, part]), 1e-12)
        row = int(np.argmax(errors))
        return self.miss(row, part, float(value[row, part]), float(truth[row, part]))

    @abstractmethod
    def miss(self, row: int, part: int, got: float, truth: float) -> str:
        """What to say of one wrong number."""


@dataclass(frozen=True)
class Number(_Relative):
    """One number, right within a relative ``tolerance``."""

    tolerance: float
    parts: tuple[str, ...] = ("your number",)

    def read(self, answer: Any) -> np.ndarray:
        """The number as ``[1, 1]``."""
        return np.array([[_number(answer, "a number")]])

    def miss(self, row: int, part: int, got: float, truth: float) -> str:
        """Too large, or too small."""
        return f"{got:.3g} is too {'large' if got > truth else 'small'}."


@dataclass(frozen=True)
class Numbers(_Relative):
    """A dictionary of numbers with given names, each right within ``tolerance`` of the truth."""

    parts: tuple[str, ...]
    tolerance: float

    def read(self, answer: Any) -> np.ndarray:
        """The numbers as ``[1, P]``, in the order of the names."""
        if _is_blank(answer):
            raise NotYet
        expected = f"a dictionary with {', '.join(map(repr, self.parts))}"
        if not isinstance(answer, Mapping):
            raise Nonsense(f"Expected {expected}, got {describe(answer)}")
        missing = [part for part in self.parts if part not in answer]
        if missing:
            raise Nonsense(f"Expected {expected}, but {missing[0]!r} is missing")
        return np.array([[_number(answer[part], f"a number for {part!r}") for part in self.parts]])

    def miss(self, row: int, part: int, got: float, truth: float) -> str:
        """Which number, and whether it is too large or too small."""
        size = "large" if got > truth else "small"
        return f"{got:.3g} for {self.parts[part]!r} is too {size}."


@dataclass(frozen=True)
class Function(_Relative):
    """A function, called with seeded random inputs.

    Attributes
    ----------
    name, arguments : what the student calls it
    parts : names of the numbers that it returns
    draw : generator → one set of arguments
    calls : K
    tolerance : relative
    """

    name: str
    arguments: tuple[str, ...]
    parts: tuple[str, ...]
    draw: Callable[[np.random.Generator], Sequence[Any]]
    calls: int = 5
    tolerance: float = 1e-9

    def inputs(self) -> list[tuple[Any, ...]]:
        """The K inputs, the same every time."""
        rng = np.random.default_rng(6)
        return [tuple(self.draw(rng)) for _ in range(self.calls)]

    def read(self, answer: Any) -> np.ndarray:
        """The values ``[K, P]`` at the inputs."""
        if _is_blank(answer):
            raise NotYet
        if not callable(answer):
            raise Nonsense(f"Expected the function {self.name} itself, got {describe(answer)}")
        return np.array([self._values(answer, given) for given in self.inputs()])

    def _values(self, function: Callable, given: tuple[Any, ...]) -> list[float]:
        called = self.words(given)
        values = self._call(function, given)
        if _is_blank(values):
            raise NotYet
        expected = f"{len(self.parts)} numbers ({', '.join(self.parts)})"
        if isinstance(values, np.ndarray):
            values = list(values) if values.ndim else [values]
        if not isinstance(values, (tuple, list)):
            values = [values]
        if len(values) != len(self.parts):
            raise Nonsense(f"{called} should return {expected}, and returned {len(values)}")
        return [_number(value, f"{called} to return {expected}") for value in values]

    def _call(self, function: Callable, given: tuple[Any, ...]) -> Any:
        try:
            return function(*given)
        except Exception as error:  # whatever the student's code raises
            called = self.words(given)
            raise Nonsense(f"{called} raised {type(error).__name__}: {error}") from None

    def words(self, given: Sequence[Any]) -> str:
        """A call as a person writes it; arrays by their shapes."""
        pairs = zip(self.arguments, given, strict=True)
        return f"{self.name}({', '.join(f'{name}={_told(value)}' for name, value in pairs)})"

    def miss(self, row: int, part: int, got: float, truth: float) -> str:
        """Which call went wrong, and what it should have given."""
        called = self.words(self.inputs()[row])
        return f"{called} gives {got:.6g} for {self.parts[part]}; it should be {truth:.6g}."


@dataclass(frozen=True)
class ArrayFunction(Function):
    """A function that returns one array, such as a covariance matrix, of the right ``shape``.

    Every entry is a part; what an entry may miss is measured against the largest one, since a
    covariance may be as good as zero somewhere. ``shape`` is that of each call, and ``parts`` is
    what the array is called in a message.
    """

    shape: tuple[int, ...] = ()

    def _values(self, function: Callable, given: tuple[Any, ...]) -> list[float]:
        values = self._call(function, given)
        if _is_blank(values):
            raise NotYet
        try:
            array = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise Nonsense(f"{self.name} should return an array, got {describe(values)}") from None
        if array.shape != self.shape:
            raise Nonsense(
                f"{self.name} should return {self.parts[0]} of shape {self.shape}, and returned "
                f"shape {array.shape}"
            )
        if not np.isfinite(array).all():
            raise Nonsense(f"{self.name} returned {self.parts[0]} with entries that are not finite")
        return list(array.ravel())

    def sizes(self, values: np.ndarray) -> np.ndarray:
        """What an error is measured against: the largest entry of each call, ``[K, 1]``."""
        return np.abs(values).max(axis=1, keepdims=True)

    def miss(self, row: int, part: int, got: float, truth: float) -> str:
        """Which entry is wrong, and what it should be."""
        entry = tuple(int(index) for index in np.unravel_index(part, self.shape))
        return (
            f"The shape is right. Entry {entry} of {self.parts[0]} is {got:.6g} for seeded random "
            f"inputs; it should be {truth:.6g}."
        )


@dataclass(frozen=True)
class Target:
    """Settings, shaped until the record that they imply comes close to a hidden one.

    An answer is a dictionary with a list of numbers for each name, the lists alone in the order of
    the names, or an explorer, whose state has fields of these names. What is compared is the
    record, so that settings that imply the same record are equally right. A part of it is close if
    its distance, the square root of the sum of squares over its entries (Frobenius), is within
    ``tolerance`` of its size.

    Attributes
    ----------
    names : of the settings
    length : how many numbers each of them has
    record : settings ``[names, length]`` → part → array, all parts of one size
    tolerance : relative
    given : what an explorer's state must say besides, since the hidden record was made with it
    """

    names: tuple[str, ...]
    length: int
    record: Callable[[np.ndarray], Mapping[str, np.ndarray]]
    tolerance: float
    given: Mapping[str, Any] = field(default_factory=dict)

    def read(self, answer: Any) -> np.ndarray:
        """The record that an answer implies, ``[entries, P]``."""
        if _is_blank(answer):
            raise NotYet
        rows = [self._row(name, row) for name, row in self._settings(answer).items()]
        return np.stack([part.ravel() for part in self.record(np.array(rows)).values()], axis=1)

    def _settings(self, answer: Any) -> dict[str, Any]:
        if hasattr(answer, "state"):
            return self._of_explorer(answer.state)
        expected = f"an explorer, or {self.length} numbers for each of {', '.join(self.names)}"
        if isinstance(answer, Mapping):
            missing = [name for name in self.names if name not in answer]
            if missing:
                raise Nonsense(f"Expected {expected}, but {missing[0]!r} is missing")
            return {name: answer[name] for name in self.names}
        lists = _listed(answer)
        if len(lists) != len(self.names):
            raise Nonsense(f"Expected {expected}, got {describe(answer)}")
        return dict(zip(self.names, lists, strict=True))

    def _of_explorer(self, state: Any) -> dict[str, Any]:
        for name, value in self.given.items():
            if getattr(state, name, None) != value:
                raise Nonsense(
                    f"The hidden one was made with {name} = {value!r}, and your explorer has "
                    f"{getattr(state, name, 'no such control')!r}"
                )
        return {name: getattr(state, name, ()) for name in self.names}

    def _row(self, name: str, row: Any) -> list[float]:
        if _is_blank(row):
            raise NotYet
        expected = f"{self.length} numbers for {name!r}"
        values = _listed(row)
        if len(values) != self.length:
            raise Nonsense(f"Expected {expected}, got {describe(row)}")
        return [_number(value, expected) for value in values]

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Which parts are near enough, ``[P]``."""
        return self._distances(value, other) <= self.tolerance

    def where_it_misses(self, value: np.ndarray, truth: np.ndarray) -> str:
        """How far away the answer is as a whole, and which part is farthest."""
        distances = self._distances(value, truth)
        parts = list(self.record(np.ones((len(self.names), self.length))))
        whole = np.linalg.norm(value - truth) / np.linalg.norm(truth)
        near = sum(distances <= self.tolerance)
        return (
            f"Your record is {whole:.0%} of its size away from the hidden one. {near} of "
            f"{len(parts)} parts are within {self.tolerance:.0%}; farthest is "
            f"{parts[int(np.argmax(distances))]}, {np.max(distances):.0%} away."
        )

    def _distances(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Relative Frobenius distance of each part, ``[P]``."""
        size = np.linalg.norm(other, axis=0)
        return np.linalg.norm(value - other, axis=0) / np.where(size == 0.0, 1.0, size)


Answer = Number | Numbers | Function | Target


def _told(value: Any) -> str:
    return f"array{value.shape}" if isinstance(value, np.ndarray) and value.ndim else str(value)


def _is_blank(value: Any) -> bool:
    return value is None or value is Ellipsis


def _listed(value: Any) -> list[Any]:
    """The items of a list, a tuple or an array; of anything else none."""
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
        raise Nonsense(f"Expected {expected}, got {describe(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not np.isfinite(number):
        raise Nonsense(f"Expected {expected}, got {number}")
    return number
