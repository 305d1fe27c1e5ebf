"""From a table to a `Dataset`: splits by seed, and inputs on one scale.

Statistics come from the training rows alone, so that nothing of the other splits leaks into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from etgp_viz.checks import check_count, check_fraction
from etgp_viz.datasets.record import Card, Dataset

__all__ = ["Table", "draw", "draw_groups", "prepare"]


@dataclass(frozen=True)
class Table:
    """All rows of a data set before they are split and scaled.

    Attributes
    ----------
    X : ``[N, D]``
    labels : ``[N]``, integers 0..C−1
    numeric : ``[D]`` booleans, the columns to standardise; images and one-hot columns are not
    test : the rows of a published test set, or the share of rows to draw for one
    groups : ``[N]``, who each row is from, where the test rows are from others. Validation rows are
        then whole groups as well: only so do they tell how a model does on somebody new.
    """

    name: str
    X: np.ndarray
    labels: np.ndarray
    class_names: Sequence[str]
    numeric: np.ndarray
    card: Card
    feature_names: Sequence[str] = ()
    test: np.ndarray | float = 0.25
    image_shape: tuple[int, int] | None = None
    groups: np.ndarray | None = None


def prepare(
    table: Table, *, test: float | None = None, validation: float = 0.0, seed: int = 0
) -> Dataset:
    """Split a table and standardise its numeric columns.

    Parameters
    ----------
    table : all rows
    test : share of the rows to test on; None for the table's own choice
    validation : share of the rows (or of the groups) that are left to set aside for validation
    seed : of both draws. Test and validation rows come from streams of their own, so that asking
        for validation rows does not change the test set.
    """
    seed = check_count(seed, "seed", minimum=0)
    validation = check_fraction(validation, "validation")
    labels = np.asarray(table.labels)
    if isinstance(table.test, np.ndarray):
        if test is not None:
            raise ValueError(f"test: {table.name} has a test set of its own, got {test!r}")
        held_out = table.test
    else:
        share = table.test if test is None else check_fraction(test, "test")
        held_out = draw(labels, share, np.random.default_rng([seed, 0]))
    rest = np.setdiff1d(np.arange(len(labels)), held_out)
    rng = np.random.default_rng([seed, 1])
    if table.groups is None:
        chosen = rest[draw(labels[rest], validation, rng)]
    else:
        chosen = rest[draw_groups(table.groups[rest], validation, rng)]
    train = np.setdiff1d(rest, chosen)
    return Dataset(
        name=table.name,
        X=_standardise(table.X, train, table.numeric),
        Y=labels[:, None],
        class_names=table.class_names,
        feature_names=table.feature_names,
        rows={"train": train, "validation": chosen, "test": held_out},
        card=table.card,
        image_shape=table.image_shape,
    )


def draw(labels: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a share of the rows, the same share of every class as nearly as can be.

    Each class gives ⌊share · n⌋ rows; the classes with the largest remainders give one more, until
    the total is right. A class never gives its last row: one that is never seen cannot be learned.

    Returns
    -------
    sorted row numbers
    """
    classes, counts = np.unique(labels, return_counts=True)
    wanted = share * counts
    takes = np.minimum(np.floor(wanted).astype(int), counts - 1)
    order = np.lexsort((rng.permutation(len(classes)), -(wanted - takes)))
    short = round(share * len(labels)) - takes.sum()
    able = order[takes[order] < counts[order] - 1]
    takes[able[: max(short, 0)]] += 1
    rows = [
        rng.permutation(np.flatnonzero(labels == c))[:n]
        for c, n in zip(classes, takes, strict=True)
    ]
    return np.sort(np.concatenate(rows)).astype(np.int64)


def draw_groups(groups: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the rows of a share of the groups: at least one group if there is a share, never all.

    Returns
    -------
    sorted row numbers
    """
    distinct = rng.permutation(np.unique(groups))
    count = min(max(round(share * len(distinct)), int(share > 0.0)), len(distinct) - 1)
    return np.flatnonzero(np.isin(groups, distinct[:count]))


def _standardise(X: np.ndarray, train: np.ndarray, numeric: np.ndarray) -> np.ndarray:
    """Mean 0 and standard deviation 1 over the training rows; a constant column becomes zero."""
    if not numeric.any():
        return X
    X = np.array(X, dtype=np.float64)
    columns = X[:, numeric]
    deviation = columns[train].std(axis=0)
    constant = np.ptp(columns[train], axis=0) == 0.0
    X[:, numeric] = (columns - columns[train].mean(axis=0)) / np.where(constant, 1.0, deviation)
    return X
