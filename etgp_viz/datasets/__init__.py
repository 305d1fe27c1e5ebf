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

import numpy as np

from etgp_viz.checks import check_choice
from etgp_viz.datasets import images, tables, toys
from etgp_viz.datasets.fetch import DataNotFoundError, cache_folder, find, places
from etgp_viz.datasets.own import OwnFile, from_arrays, from_csv, from_dataframe
from etgp_viz.datasets.prepare import Table, prepare
from etgp_viz.datasets.record import Card, Dataset
from etgp_viz.datasets.sources import FILES

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
    "load",
    "names",
    "obtain",
    "published",
    "toys",
]

READERS: dict[str, Callable[..., Table]] = {
    "vowel": tables.vowel,
    "absenteeism": tables.absenteeism,
    "avila": tables.avila,
    "devangari": images.devangari,
    "characterfont": images.characterfont,
    "leaves100": tables.leaves100,
    "digits": tables.digits,
    "wine": tables.wine,
    "iris": tables.iris,
}


def names() -> tuple[str, ...]:
    """What `load` knows: the published data sets, then the toys."""
    return (*published(), *toys.TOYS)


def published() -> tuple[str, ...]:
    """The names of the published data sets."""
    return tuple(READERS)


def at_hand(name: str) -> bool:
    """Whether a data set is on this machine, so that `load` needs no network."""
    return all(any(map(Path.exists, places(source))) for source in FILES.get(name, ()))


def obtain(name: str) -> None:
    """See to it that the files of a data set are here, by download if need be.

    Data sets without files of their own have nothing to wait for.
    """
    for source in FILES.get(name, ()):
        find(source)


def load(
    name: str, *, test: float | None = None, validation: float = 0.0, seed: int = 0, **options: Any
) -> Dataset:
    """Load a data set by its name, split and scaled.

    Files are looked for in the folder that ``ETGP_VIZ_DATA`` names, then in the cache, then on the
    network (`etgp_viz.datasets.fetch`). digits, wine, iris and the toys need none.

    Parameters
    ----------
    name : one of `names()`, or ``FILE.csv:COLUMN`` for a file of yours and its column of labels
    test : share of the rows to test on, drawn by ``seed``: a quarter by default, none for the toys.
        vowel, avila and devangari have a test set of their own and take none.
    validation : share of the other rows to set aside for validation, drawn by ``seed``; of vowel
        whole speakers, since its test rows are other speakers'
    seed : of the draws; for a toy of its rows too
    **options : of the data set: ``target`` of absenteeism (``"hours"`` or ``"reason"``),
        ``rows_per_font`` of characterfont, ``num_data``, ``num_classes`` and ``noise`` of a toy,
        and those of `from_csv`

    Returns
    -------
    Dataset
    """
    if own := OwnFile.read(name):
        if test is not None:
            options["test"] = test
        return own.load(validation=validation, seed=seed, **options)
    check_choice(name, "name", names())
    reader: Callable[..., Any] = READERS.get(name) or toys.TOYS[name]
    allowed = [option for option in inspect.signature(reader).parameters if option != "seed"]
    for option in options:
        if option not in allowed:
            told = ", ".join(allowed) or "it has none"
            raise ValueError(f"{option}: expected an option of {name!r} ({told}), got {option!r}")
    if name in READERS:
        return prepare(reader(**options), test=test, validation=validation, seed=seed)
    toy: Dataset = reader(seed=seed, **options)
    as_table = Table(
        name=name,
        X=toy.X,
        labels=toy.Y[:, 0],
        class_names=toy.class_names,
        numeric=np.full(toy.num_inputs, False),
        card=toy.card,
        test=0.0,
    )
    return replace(toy, rows=prepare(as_table, test=test, validation=validation, seed=seed).rows)
