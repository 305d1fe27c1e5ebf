"""Somebody's own data on a line or in the plane, where a model of one or two inputs can be drawn.

>>> import numpy as np
>>> from etgp_viz.records import own_data
>>> rng = np.random.default_rng(0)
>>> own = own_data.in_the_plane(rng.normal(size=(30, 5)), np.arange(30) % 3)
>>> own.X.shape, own.num_classes
((30, 2), 3)
>>> print(own.words.partition(",")[0])
30 rows in a 2-d projection: the first two principal components of 5 standardised columns
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz.checks import fail
from etgp_viz.datasets import Dataset, from_arrays, from_csv
from etgp_viz.messages import printable_text

__all__ = ["OwnData", "in_the_plane"]

MAX_ROWS = 600  # as many as a toy data set can have
MAX_CLASSES = 8  # as many as there are colours


@dataclass(frozen=True)
class OwnData:
    """Rows with one or two inputs, and how they were made.

    Examples
    --------
    >>> import numpy as np
    >>> own = in_the_plane(np.array([[0.0], [1.0], [8.0], [9.0]]), ["low", "low", "high", "high"])
    >>> own.num_classes, own.key
    (2, 'own 1-d')
    >>> own.code()[0]
    'from etgp_viz.records import own_data'
    """

    name: str  # of the data
    X: np.ndarray  # [N, D], D ≤ 2
    Y: np.ndarray  # classes, from 0 [N, 1]
    class_names: tuple[str, ...]  # [C]
    axes: tuple[str, ...]  # what the inputs are [D]
    words: str  # what is shown, in one sentence
    source: str  # the call that makes it again

    @property
    def num_classes(self) -> int:
        """C, the number of classes."""
        return len(self.class_names)

    @property
    def key(self) -> str:
        """The name of these data in the state of an explorer."""
        return "own" if self.X.shape[1] == 2 else "own 1-d"

    def code(self) -> list[str]:
        """Lines of a script that make these data."""
        return [
            "from etgp_viz.records import own_data",
            f"own = own_data.{self.source}",
            "X_toy, Y_toy = own.X, own.Y",
        ]


def in_the_plane(X: Any, Y: Any = None, *, target: str | int = -1) -> OwnData:
    """Data with at most two inputs, each column standardised.

    More than two columns are projected on their first two principal components: the orthogonal
    directions with the largest variances. Of more than 600 rows, 600 are drawn.

    Parameters
    ----------
    X : inputs ``[N, D]``, numbers; or the path of a CSV file; or a `Dataset`
    Y : labels ``[N]``, for inputs that are an array
    target : for a CSV file, the column of the labels

    Returns
    -------
    an `OwnData` record
    """
    if isinstance(X, str | Path):
        data, source = from_csv(X, target, test=0.0), f"in_the_plane({str(X)!r}, target={target!r})"
    elif isinstance(X, Dataset):
        data, source = X, "in_the_plane(dataset)  # your data set"
    elif Y is None:
        raise ValueError("Y: expected labels beside an array of inputs, got None")
    else:
        data = from_arrays(np.asarray(X), np.ravel(Y), test=0.0)
        source = "in_the_plane(X, Y)  # your arrays"
    if data.num_classes > MAX_CLASSES:
        fail("Y", f"at most {MAX_CLASSES} classes, one for each colour", str(data.num_classes))
    inputs, axes, how = _projected(data)
    N = len(inputs)
    rows = np.arange(N)
    if N > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(N)[:MAX_ROWS])
    count = f"{N} rows" if N <= MAX_ROWS else f"{MAX_ROWS} of {N} rows, drawn at random,"
    words = f"{count} {how}"
    # Names may come from a stranger's file, and stand in sentences.
    words, name = printable_text(words), printable_text(data.name)
    classes, axes = (tuple(map(printable_text, names)) for names in (data.class_names, axes))
    return OwnData(name, inputs[rows], data.Y[rows], classes, axes, words, source)


def _projected(data: Dataset) -> tuple[np.ndarray, tuple[str, ...], str]:
    """Inputs ``[N, 1]`` or ``[N, 2]``, their names, and how they were made."""
    X, D = data.X - data.X.mean(axis=0), data.num_inputs
    if D <= 2:
        scale = X.std(axis=0)
        names = tuple(map(str, data.feature_names))
        return (
            X / np.where(scale > 0.0, scale, 1.0),
            names,
            f"of {' and '.join(names)}, standardised",
        )
    _, lengths, directions = np.linalg.svd(X, full_matrices=False)
    share = float(np.sum(lengths[:2] ** 2) / np.sum(lengths**2))
    scores = X @ directions[:2].T
    how = (
        f"in a 2-d projection: the first two principal components of {D} standardised columns, "
        f"with {share:.0%} of their variance. The model sees these two numbers and nothing else"
    )
    return scores / scores[:, 0].std(), ("component 1", "component 2"), how
