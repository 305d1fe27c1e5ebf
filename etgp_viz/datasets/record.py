"""`Dataset`: inputs, labels and their splits in one record that checks itself, and its `Card`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from etgp_viz.checks import check_choice, check_count, check_inputs, check_labels

__all__ = ["Card", "Dataset"]

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Card:
    """Where a data set comes from and what one should know before trusting it.

    Attributes
    ----------
    title : its full name
    source : where it was published
    licence : under which terms
    preparation : what was done to the published numbers
    defects : what is wrong or odd with them, one sentence each
    """

    title: str
    source: str = "not stated"
    licence: str = "not stated"
    preparation: str = "none"
    defects: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Dataset:
    """N rows of D inputs with labels of C classes, in up to three splits.

    Attributes
    ----------
    name : short name
    X : inputs ``[N, D]``, float64
    Y : labels 0..C−1 ``[N, 1]``, int64
    class_names : C names
    feature_names : D names, ``x0``, ``x1``, … unless given
    rows : which rows belong to ``"train"``, ``"validation"`` and ``"test"``: arrays of indices, no
        row in two of them. Without it all rows are for training.
    card : source, licence, preparation, known defects
    image_shape : height and width, if a row is an image

    The arrays are copies and cannot be written to.
    """

    name: str
    X: np.ndarray
    Y: np.ndarray
    class_names: Sequence[str]
    feature_names: Sequence[str] = ()
    rows: Mapping[str, np.ndarray] = field(default_factory=dict)
    card: Card = field(default_factory=lambda: Card("own data"))
    image_shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("class_names", _names(self.class_names, "class_names"))
        C = check_count(len(self.class_names), "num_classes", minimum=2)
        X = _frozen(np.asarray(check_inputs(self.X), dtype=np.float64))
        put("X", X)
        put("Y", _frozen(np.asarray(check_labels(self.Y, C, num_rows=len(X)))))
        features = self.feature_names or [f"x{d}" for d in range(X.shape[1])]
        put("feature_names", _names(features, "feature_names", X.shape[1]))
        put("rows", MappingProxyType(_splits(self.rows, len(X))))
        if self.image_shape is not None and np.prod(self.image_shape) != X.shape[1]:
            raise ValueError(
                f"image_shape: expected {X.shape[1]} pixels, got {self.image_shape[0]} × "
                f"{self.image_shape[1]}"
            )

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.class_names)

    @property
    def num_inputs(self) -> int:
        """D."""
        return self.X.shape[1]

    @property
    def train(self) -> tuple[np.ndarray, np.ndarray]:
        """``(X, Y)`` of the rows to train on, as `etgp_viz.fit` takes them."""
        return self.part("train")

    @property
    def validation(self) -> tuple[np.ndarray, np.ndarray] | None:
        """``(X, Y)`` of the rows to choose settings with, or None if none were set aside."""
        return self.part("validation") if len(self.rows["validation"]) else None

    @property
    def test(self) -> tuple[np.ndarray, np.ndarray] | None:
        """``(X, Y)`` of the rows to report on, or None if none were set aside."""
        return self.part("test") if len(self.rows["test"]) else None

    def part(self, split: str) -> tuple[np.ndarray, np.ndarray]:
        """``(X [n, D], Y [n, 1])`` of a split."""
        rows = self._rows_of(split)
        return self.X[rows], self.Y[rows]

    def xy(self, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
        """``(X [n, D], y [n])`` of a split with the classes' names as labels, for scikit-learn."""
        rows = self._rows_of(split)
        return self.X[rows], np.asarray(self.class_names)[self.Y[rows, 0]]

    def counts(self) -> dict[str, dict[str, int]]:
        """Rows of each class in each split that has any: split → class name → count."""
        return {
            split: dict(zip(self.class_names, map(int, counts), strict=True))
            for split, rows in self.rows.items()
            if len(rows)
            for counts in [np.bincount(self.Y[rows, 0], minlength=self.num_classes)]
        }

    def describe(self) -> str:
        """The data set's sizes and its card, as a few lines of text."""
        sizes = ", ".join(f"{len(rows)} {split}" for split, rows in self.rows.items() if len(rows))
        lines = [
            self.card.title,
            f"  rows         {len(self.X)} ({sizes})",
            f"  classes      {self.num_classes}",
            f"  inputs       {self.num_inputs}",
            f"  source       {self.card.source}",
            f"  licence      {self.card.licence}",
            f"  preparation  {self.card.preparation}",
        ]
        marks = ["  defects      ", *[" " * 15] * len(self.card.defects)]
        found = self.card.defects or ("none known",)
        return "\n".join([*lines, *(mark + text for mark, text in zip(marks, found, strict=False))])

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split}={len(rows)}" for split, rows in self.rows.items() if len(rows))
        return f"Dataset({self.name!r}, D={self.num_inputs}, C={self.num_classes}, {sizes})"

    def _rows_of(self, split: str) -> np.ndarray:
        rows = self.rows[check_choice(split, "split", SPLITS)]
        if not len(rows):
            raise ValueError(f"split: {self.name} has no rows for {split!r}")
        return rows


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.array(array)
    array.setflags(write=False)
    return array


def _names(names: Sequence[str], argument: str, count: int | None = None) -> tuple[str, ...]:
    found = tuple(str(name) for name in names)
    if count is not None and len(found) != count:
        raise ValueError(f"{argument}: expected {count} names, got {len(found)}")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{argument}: expected different names, got {twice!r} twice")
    return found


def _splits(rows: Mapping[str, np.ndarray], num_rows: int) -> dict[str, np.ndarray]:
    """All three splits as arrays of row numbers; everything trains if nothing is said."""
    for split in rows:
        check_choice(split, "rows", SPLITS)
    rows = rows or {"train": np.arange(num_rows)}
    splits = {s: _frozen(np.asarray(rows.get(s, ()), dtype=np.int64).ravel()) for s in SPLITS}
    used = np.concatenate(list(splits.values()))
    if len(used) and (used.min() < 0 or used.max() >= num_rows):
        raise ValueError(f"rows: expected row numbers in 0..{num_rows - 1}, got {used.max()}")
    if len(np.unique(used)) < len(used):
        raise ValueError("rows: expected no row in two splits, or twice in one")
    if not len(splits["train"]):
        raise ValueError("rows: expected rows to train on, got none")
    return splits
