"""`Dataset`: inputs, labels and splits in one record that checks itself; how a table becomes one.

A reader returns a `Table` of all rows as published. `split_and_scale` splits it by seed and brings
its inputs to one scale, with statistics of the training rows alone, so that nothing of the other
splits leaks into them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from etgp_viz.checks import (
    check_choice,
    check_count,
    check_fraction,
    check_inputs,
    check_labels,
    check_list,
    check_seed,
    describe,
    fail,
)

__all__ = [
    "Card",
    "Dataset",
    "Table",
    "draw_groups",
    "draw_stratified",
    "split_and_scale",
    "split_rows",
]

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Card:
    """Where a data set comes from and what to know before trusting it.

    Attributes
    ----------
    title : its full name
    source : where it was published
    licence : the terms of use
    preparation : what was done to the published numbers
    defects : what is wrong or odd with them, one sentence each

    Examples
    --------
    >>> card = Card("Weather in Oslo", defects=("May 1999 is missing.",))
    >>> card.licence, card.defects[0]
    ('not stated', 'May 1999 is missing.')
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
    feature_names : D names, ``x0``, ``x1``, … by default
    rows : which rows belong to ``"train"``, ``"validation"`` and ``"test"``: arrays of indices, no
        row in two of them. Without splits, all rows are training rows.
    card : source, licence, preparation, known defects
    image_shape : height and width, if a row is an image

    The arrays are read-only copies.

    Examples
    --------
    >>> X, Y = [[0.1], [0.9], [0.2], [0.8]], [0, 1, 0, 1]
    >>> data = Dataset("four", X, Y, ["low", "high"], rows={"train": [0, 1, 2], "test": [3]})
    >>> data
    Dataset('four', D=1, C=2, train=3, test=1)
    >>> data.train[1].tolist()
    [[0], [1], [0]]
    >>> data.validation is None
    True
    >>> data.num_classes, data.num_inputs
    (2, 1)
    >>> data.test[0].tolist() == data.part("test")[0].tolist() == [[0.8]]
    True
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

        if not isinstance(self.name, str):
            fail("name", "text", describe(self.name))
        put("class_names", _distinct_names(self.class_names, "class_names"))
        C = check_count(len(self.class_names), "num_classes", minimum=2)
        X = _read_only(np.asarray(check_inputs(self.X), dtype=np.float64))
        put("X", X)
        put("Y", _read_only(np.asarray(check_labels(self.Y, C, num_rows=len(X)))))
        features = self.feature_names or [f"x{d}" for d in range(X.shape[1])]
        put("feature_names", _distinct_names(features, "feature_names", X.shape[1]))
        put("rows", MappingProxyType(_checked_splits(self.rows, len(X))))
        if self.image_shape is not None and np.prod(self.image_shape) != X.shape[1]:
            fail("image_shape", f"{X.shape[1]} pixels", " × ".join(map(str, self.image_shape)))

    @property
    def num_classes(self) -> int:
        """C, the number of classes."""
        return len(self.class_names)

    @property
    def num_inputs(self) -> int:
        """D, the number of columns of X."""
        return self.X.shape[1]

    @property
    def train(self) -> tuple[np.ndarray, np.ndarray]:
        """``(X [n, D], Y [n, 1])`` of the training rows, as `etgp_viz.fit` takes them."""
        return self.part("train")

    @property
    def validation(self) -> tuple[np.ndarray, np.ndarray] | None:
        """``(X, Y)`` of the rows for choosing settings, or None without validation rows."""
        return self.part("validation") if len(self.rows["validation"]) else None

    @property
    def test(self) -> tuple[np.ndarray, np.ndarray] | None:
        """``(X, Y)`` of the rows to report on, or None without test rows."""
        return self.part("test") if len(self.rows["test"]) else None

    def part(self, split: str) -> tuple[np.ndarray, np.ndarray]:
        """``(X [n, D], Y [n, 1])`` of ``"train"``, ``"validation"`` or ``"test"``.

        A split without rows is a ValueError.
        """
        rows = self._rows_of(split)
        return self.X[rows], self.Y[rows]

    def xy(self, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
        """``(X [n, D], y [n])`` of one split with class names in y, as scikit-learn takes them.

        Examples
        --------
        >>> data = Dataset("two", [[0.0], [1.0]], [0, 1], ["low", "high"])
        >>> data.xy()[1].tolist()
        ['low', 'high']
        """
        rows = self._rows_of(split)
        return self.X[rows], np.asarray(self.class_names)[self.Y[rows, 0]]

    def counts(self) -> dict[str, dict[str, int]]:
        """Split → class name → number of rows, for every split that has rows.

        Examples
        --------
        >>> Dataset("two", [[0.0], [1.0]], [0, 1], ["low", "high"]).counts()
        {'train': {'low': 1, 'high': 1}}
        """
        return {
            split: dict(zip(self.class_names, map(int, counts), strict=True))
            for split, rows in self.rows.items()
            if len(rows)
            for counts in [np.bincount(self.Y[rows, 0], minlength=self.num_classes)]
        }

    def describe(self) -> str:
        """Sizes and card of the data set, as a few lines of text.

        Examples
        --------
        >>> print(Dataset("two", [[0.0], [1.0]], [0, 1], ["low", "high"]).describe())
        own data
          rows         2 (2 train)
          classes      2
          inputs       1
          source       not stated
          licence      not stated
          preparation  none
          defects      none known
        """
        sizes = ", ".join(f"{len(rows)} {split}" for split, rows in self.rows.items() if len(rows))
        defects = self.card.defects or ("none known",)
        return "\n".join(
            [
                self.card.title,
                f"  rows         {len(self.X)} ({sizes})",
                f"  classes      {self.num_classes}",
                f"  inputs       {self.num_inputs}",
                f"  source       {self.card.source}",
                f"  licence      {self.card.licence}",
                f"  preparation  {self.card.preparation}",
                f"  defects      {defects[0]}",
                *(f"{'':15}{defect}" for defect in defects[1:]),
            ]
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split}={len(rows)}" for split, rows in self.rows.items() if len(rows))
        return f"Dataset({self.name!r}, D={self.num_inputs}, C={self.num_classes}, {sizes})"

    def _rows_of(self, split: str) -> np.ndarray:
        rows = self.rows[check_choice(split, "split", SPLITS)]
        if not len(rows):
            raise ValueError(f"split: {self.name} has no rows for {split!r}")
        return rows


def _read_only(array: np.ndarray) -> np.ndarray:
    array = np.array(array)
    array.setflags(write=False)
    return array


def _distinct_names(
    names: Sequence[str], argument: str, count: int | None = None
) -> tuple[str, ...]:
    texts = tuple(map(str, check_list(names, argument, "a list of names")))
    if count is not None and len(texts) != count:
        fail(argument, f"{count} names", str(len(texts)))
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        fail(argument, "different names", f"{twice!r} twice")
    return texts


def _checked_splits(rows: Mapping[str, np.ndarray], num_rows: int) -> dict[str, np.ndarray]:
    """All three splits as arrays of row numbers; without splits, all rows are training rows."""
    for split in rows:
        check_choice(split, "rows", SPLITS)
    rows = rows or {"train": np.arange(num_rows)}
    splits = {s: _read_only(np.asarray(rows.get(s, ()), dtype=np.int64).ravel()) for s in SPLITS}
    used = np.concatenate(list(splits.values()))
    if len(used) and (used.min() < 0 or used.max() >= num_rows):
        outside = used.min() if used.min() < 0 else used.max()
        raise ValueError(f"rows: expected row numbers in 0..{num_rows - 1}, got {outside}")
    if len(np.unique(used)) < len(used):
        raise ValueError("rows: expected no row in two splits, or twice in one")
    if not len(splits["train"]):
        raise ValueError("rows: expected rows to train on, got none")
    return splits


@dataclass(frozen=True)
class Table:
    """All rows of a data set before they are split and scaled.

    Attributes
    ----------
    X : ``[N, D]``
    labels : ``[N]``, integers 0..C−1
    numeric : ``[D]`` booleans, the columns to standardise, or one for all of them; images and
        one-hot columns are not
    test : the rows of a published test set, or the share of rows to draw for one
    groups : ``[N]``, who or what each row was measured on. The test rows are then from other
        groups, and validation rows are whole groups as well: only those show how a model does on
        somebody new.
    """

    name: str
    X: np.ndarray
    labels: np.ndarray
    class_names: Sequence[str]
    card: Card
    feature_names: Sequence[str] = ()
    numeric: np.ndarray | bool = True
    test: np.ndarray | float = 0.25
    image_shape: tuple[int, int] | None = None
    groups: np.ndarray | None = None


def split_and_scale(
    table: Table, *, test: float | None = None, validation: float = 0.0, seed: int = 0
) -> Dataset:
    """Split a table as `split_rows` does and standardise its numeric columns.

    ``test`` is the share of the rows to test on, or None for the table's own choice.
    """
    has_test_set = isinstance(table.test, np.ndarray)
    if has_test_set and test is not None:
        raise ValueError(f"test: expected None ({table.name} has its own test set), got {test!r}")
    labels = np.asarray(table.labels)
    test_rows = table.test if test is None else check_fraction(test, "test")
    rows = split_rows(labels, test_rows, validation=validation, seed=seed, groups=table.groups)
    return Dataset(
        name=table.name,
        X=_standardise(table.X, rows["train"], table.numeric),
        Y=labels[:, None],
        class_names=table.class_names,
        feature_names=table.feature_names,
        rows=rows,
        card=table.card,
        image_shape=table.image_shape,
    )


def split_rows(
    labels: np.ndarray,
    test: np.ndarray | float,
    *,
    validation: float = 0.0,
    seed: int = 0,
    groups: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Split → sorted row numbers; each row is in exactly one split.

    ``test`` has the test rows, or the share of rows to draw for them, and ``validation`` is the
    share of the other rows to set aside, or of the ``groups`` ``[N]`` if there are any. Test and
    validation rows are drawn from separate streams of the seed, so that asking for validation rows
    does not change the test set.
    """
    seed = check_seed(seed)
    validation = check_fraction(validation, "validation")
    if not isinstance(test, np.ndarray):
        share = check_fraction(test, "test")
        test = draw_stratified(labels, share, np.random.default_rng([seed, 0]))
    rest = np.setdiff1d(np.arange(len(labels)), test)
    rng = np.random.default_rng([seed, 1])
    if groups is None:
        chosen = rest[draw_stratified(labels[rest], validation, rng)]
    else:
        chosen = rest[draw_groups(groups[rest], validation, rng)]
    return {"train": np.setdiff1d(rest, chosen), "validation": chosen, "test": test}


def draw_stratified(labels: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a share of the rows, as close to the same share of every class as possible.

    Each class gives ⌊share · n⌋ rows; the classes with the largest remainders give one more, until
    the total is right. A class never gives its last row: one that is never seen cannot be learned.
    Labels are ``[N]``, the share is in [0, 1), and the row numbers come back sorted.
    """
    classes, counts = np.unique(labels, return_counts=True)
    exact = share * counts
    drawn = np.minimum(np.floor(exact).astype(int), counts - 1)
    order = np.lexsort((rng.permutation(len(classes)), -(exact - drawn)))
    missing = round(share * len(labels)) - drawn.sum()
    can_give = order[drawn[order] < counts[order] - 1]
    drawn[can_give[: max(missing, 0)]] += 1
    rows = [
        rng.permutation(np.flatnonzero(labels == c))[:n]
        for c, n in zip(classes, drawn, strict=True)
    ]
    return np.sort(np.concatenate(rows)).astype(np.int64)


def draw_groups(groups: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw all rows of a share of the groups ``[N]``: at least one if it is not 0, never all."""
    distinct = rng.permutation(np.unique(groups))
    count = min(max(round(share * len(distinct)), int(share > 0.0)), len(distinct) - 1)
    return np.flatnonzero(np.isin(groups, distinct[:count]))


def _standardise(X: np.ndarray, train: np.ndarray, numeric: np.ndarray | bool) -> np.ndarray:
    """Mean 0 and standard deviation 1 over the training rows; a constant column becomes zero."""
    if not np.any(numeric):
        return X
    X = np.array(X, dtype=np.float64)
    numeric = np.broadcast_to(numeric, X.shape[1])
    columns = X[:, numeric]
    deviation = columns[train].std(axis=0)
    constant = np.ptp(columns[train], axis=0) == 0.0
    X[:, numeric] = (columns - columns[train].mean(axis=0)) / np.where(constant, 1.0, deviation)
    return X
