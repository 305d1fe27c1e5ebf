"""Data sets that check themselves: the paper's, a few small ones, toys, and your own.

data = datasets.load("vowel", validation=0.2)
fit(model, data.train, validation=data.validation, epochs=1000)
print(data.describe())
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from etgp_viz.checks import check_choice
from etgp_viz.datasets import tables, toys
from etgp_viz.datasets.dataset import Card, Dataset, Table, split_and_scale, split_rows
from etgp_viz.datasets.fetch import DataNotFoundError, Source, cache_folder, find, local_paths
from etgp_viz.datasets.own import OwnFile, from_arrays, from_csv, from_dataframe

__all__ = [
    "Card",
    "DataNotFoundError",
    "Dataset",
    "OwnFile",
    "at_hand",
    "cache_folder",
    "from_arrays",
    "from_csv",
    "from_dataframe",
    "has_test_set",
    "load",
    "names",
    "obtain",
    "published",
    "toys",
]

# Name → the function that reads the data set, and the files that it reads.
PUBLISHED: dict[str, tuple[Callable[..., Table], tuple[Source, ...]]] = {
    "vowel": (tables.vowel, (tables.VOWEL,)),
    "absenteeism": (tables.absenteeism, (tables.ABSENTEEISM,)),
    "avila": (tables.avila, (tables.AVILA_TRAIN, tables.AVILA_TEST)),
    "devangari": (tables.devangari, (tables.DEVANGARI,)),
    "characterfont": (tables.characterfont, (tables.CHARACTERFONT,)),
    "leaves100": (tables.leaves100, (tables.LEAVES,)),
    "digits": (tables.digits, ()),
    "wine": (tables.wine, ()),
    "iris": (tables.iris, ()),
}
# Published with test rows of their own.
WITH_TEST_SET = ("vowel", "avila", "devangari")


def names() -> tuple[str, ...]:
    """Names that `load` takes.

    Returns
    -------
    the published data sets, then the toys

    Examples
    --------
    >>> names()[-3:]
    ('moons', 'blobs', 'region')
    """
    return (*published(), *toys.TOYS)


def published() -> tuple[str, ...]:
    """Names of the published data sets.

    Returns
    -------
    those of the paper, then a few small ones

    Examples
    --------
    >>> from etgp_viz import datasets
    >>> datasets.published()[:2]
    ('vowel', 'absenteeism')
    """
    return tuple(PUBLISHED)


def has_test_set(name: str) -> bool:
    """Whether a data set was published with a test set of its own.

    Parameters
    ----------
    name : a name that `load` takes

    Returns
    -------
    True if the test rows are the same for every seed, False if each seed draws its own

    Examples
    --------
    >>> has_test_set("vowel"), has_test_set("digits")
    (True, False)
    """
    return name in WITH_TEST_SET


def at_hand(name: str) -> bool:
    """Whether a data set is on this machine.

    Parameters
    ----------
    name : one of `names()`

    Returns
    -------
    True if `load` needs no network

    Examples
    --------
    >>> from etgp_viz import datasets
    >>> datasets.at_hand("iris")  # comes with scikit-learn
    True
    """
    return all(any(map(Path.exists, local_paths(source))) for source in _files(name))


def obtain(name: str) -> None:
    """Download the files of a data set unless they are on this machine.

    Parameters
    ----------
    name : one of `names()`; a data set without files needs no download

    Raises
    ------
    DataNotFoundError : if a file cannot be downloaded; the message says where to put it

    Examples
    --------
    >>> from etgp_viz import datasets
    >>> datasets.obtain("iris")  # nothing to download
    """
    for source in _files(name):
        find(source)


def load(
    name: str, *, test: float | None = None, validation: float = 0.0, seed: int = 0, **options: Any
) -> Dataset:
    """A data set by name, split and scaled.

    Files are looked for in the folder that ``ETGP_VIZ_DATA`` names, then in the cache, then on the
    network (`etgp_viz.datasets.fetch`). digits, wine, iris and the toys need none.

    Parameters
    ----------
    name : one of `names()`, or ``FILE.csv:COLUMN`` for your own file and its label column
    test : share of the rows to test on, drawn by ``seed``: a quarter by default, none for the toys.
        vowel, avila and devangari have a published test set and take no share.
    validation : share of the other rows to set aside for validation, drawn by ``seed``. Vowel sets
        aside whole speakers, since its test rows are by other speakers.
    seed : of the draws; for a toy of its rows too
    **options : options of the data set: ``target`` of absenteeism (``"hours"`` or ``"reason"``),
        ``rows_per_font`` of characterfont, ``num_data``, ``num_classes`` and ``noise`` of a toy,
        and those of `from_csv`

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("spirals", num_data=90, test=0.2)
    Dataset('spirals', D=2, C=3, train=72, test=18)
    >>> load("iris", validation=0.2, seed=1)
    Dataset('iris', D=4, C=3, train=90, validation=22, test=38)
    """
    if file := OwnFile.parse(name):
        if test is not None:
            options["test"] = test
        return file.load(validation=validation, seed=seed, **options)
    check_choice(name, "name", names())
    reader: Callable[..., Any] = PUBLISHED[name][0] if name in PUBLISHED else toys.TOYS[name]
    allowed = [option for option in inspect.signature(reader).parameters if option != "seed"]
    for option in options:
        if option not in allowed:
            choices = ", ".join(allowed) or "it has none"
            raise ValueError(
                f"{option}: expected an option of {name!r} ({choices}), got {option!r}"
            )
    if name in PUBLISHED:
        return split_and_scale(reader(**options), test=test, validation=validation, seed=seed)
    toy: Dataset = reader(seed=seed, **options)
    return replace(toy, rows=split_rows(toy.Y[:, 0], test or 0.0, validation=validation, seed=seed))


def _files(name: str) -> tuple[Source, ...]:
    return PUBLISHED[name][1] if name in PUBLISHED else ()
