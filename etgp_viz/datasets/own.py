"""Data sets of your own: from arrays, from a data frame, from a CSV file."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import os
import re
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from etgp_viz.checks import (
    check_choice,
    check_inputs,
    check_list,
    check_numbers,
    check_path,
    describe,
    fail,
)
from etgp_viz.datasets.dataset import Card, Dataset, Table, split_and_scale
from etgp_viz.files import reason

__all__ = ["OwnFile", "from_arrays", "from_csv", "from_dataframe"]

# A text column with more distinct values than this share of the rows holds names, not categories.
MAX_LEVELS = 0.5
# A column of text of which more than this share are numbers is numeric with a few odd entries.
MAX_NUMBERS = 0.5
MISSING = ("error", "drop")
NUMBERS = "an [N, D] array of numbers (from_dataframe takes columns of text)"
MAX_LABEL = 2**53
NESTED = (list, tuple, dict, set, np.ndarray)  # what a single cell of a table must not hold
# What reading a file as CSV may raise; pandas' own errors are ValueErrors, and an encoding that
# nobody knows is a LookupError.
NOT_CSV = (ValueError, LookupError, OSError, OverflowError, csv.Error)
MAX_LINE = 10**6  # characters of the first line of a file


def from_arrays(
    X: Any,
    y: Any,
    *,
    test: float = 0.25,
    validation: float = 0.0,
    seed: int = 0,
    standardise: bool = True,
    feature_names: Sequence[str] = (),
    name: str = "own data",
) -> Dataset:
    """A `Dataset` from numbers and labels.

    Parameters
    ----------
    X : inputs ``[N, D]``, numbers
    y : labels ``[N]`` or ``[N, 1]``: strings, integers or booleans, of C ≥ 2 classes
    test : share of the rows to test on, the same share of every class as nearly as possible
    validation : share of the other rows to set aside for validation, likewise
    seed : of both draws
    standardise : bring each column to mean 0 and standard deviation 1 over the training rows
    feature_names, name : of the D inputs and of the data set

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from_arrays([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"], test=0.5)
    Dataset('own data', D=1, C=2, train=2, test=2)
    """
    X = check_inputs(check_numbers(X, "X", NUMBERS).astype(np.float64))
    class_names, labels = _classes(y, len(X))
    table = Table(
        name=name,
        X=X,
        labels=labels,
        class_names=class_names,
        feature_names=feature_names,
        numeric=bool(standardise),
        card=Card(name, preparation="standardised" if standardise else "none"),
    )
    return split_and_scale(table, test=test, validation=validation, seed=seed)


def from_dataframe(
    frame: Any,
    target: str | int = -1,
    *,
    drop: Sequence[str | int] = (),
    test: float = 0.25,
    validation: float = 0.0,
    seed: int = 0,
    standardise: bool = True,
    missing: str = "error",
    name: str = "own data",
) -> Dataset:
    """A `Dataset` from a pandas data frame, a row for each example.

    Columns of numbers are standardised, columns of text or categories become one column of 0 and 1
    for each of their values, and columns of booleans one of 0 and 1.

    Parameters
    ----------
    frame : the data frame
    target : the column of the labels, by name or by position; −1 is the last
    drop : columns to leave out, such as row numbers
    missing : what to do with rows that have missing values: ``"error"`` names their columns,
        ``"drop"`` leaves these rows out and notes their number on the card
    test, validation, seed, standardise, name : as for `from_arrays`

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import pandas as pd
    >>> colours = ["red", "blue", "red", "blue"]
    >>> frame = pd.DataFrame({"size": [1, 2, 8, 9], "colour": colours, "kind": [*"aabb"]})
    >>> from_dataframe(frame, target="kind", test=0.5).feature_names
    ('size', 'colour = blue', 'colour = red')
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"frame: expected a pandas data frame, got {type(frame).__name__}")
    if not len(frame):
        raise ValueError("frame: expected rows, got none")
    if frame.columns.nlevels > 1 or frame.columns.hasnans:
        fail("frame", "columns with one name each", "several levels of names, or none")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        fail("frame", "different column names", f"{twice!r} twice")
    column = _column(frame, target, "target")
    left_out = _columns(frame, drop)
    if column in left_out:
        fail("drop", "columns other than the target", repr(column))
    frame = frame.drop(columns=list(left_out))
    frame, left_out_rows = _without_missing(frame, check_choice(missing, "missing", MISSING))
    columns: dict[str, np.ndarray] = {}
    numeric = []
    for item in frame.columns.drop(column):
        for key, values, is_numeric in _inputs(frame[item], str(item)):
            if key in columns:
                fail("frame", "different input names", f"{key!r} twice")
            columns[key] = values
            numeric.append(is_numeric and bool(standardise))
    if not columns:
        raise ValueError("frame: expected a column besides the target, got none")
    class_names, labels = _classes(frame[column].to_numpy(), len(frame))
    preparation = "numbers standardised, " if standardise else ""
    table = Table(
        name=name,
        X=check_inputs(np.column_stack(list(columns.values()))),
        labels=labels,
        class_names=class_names,
        feature_names=list(columns),
        numeric=np.array(numeric),
        card=Card(name, preparation=f"{preparation}text one-hot", defects=left_out_rows),
    )
    return split_and_scale(table, test=test, validation=validation, seed=seed)


def from_csv(
    path: str | Path,
    target: str | int = -1,
    *,
    header: bool = True,
    separator: str | None = None,
    decimal: str = ".",
    na_values: Sequence[str] = (),
    encoding: str = "utf-8-sig",
    **options: Any,
) -> Dataset:
    r"""A `Dataset` from a CSV file.

    Parameters
    ----------
    path : the file
    target : the column of the labels, by its name in the header or by position; −1 is the last
    header : whether the first line has the names of the columns
    separator : between two fields; None for whichever of comma, semicolon and tab is most frequent
        in the first line
    decimal : the decimal mark of numbers
    na_values : texts that stand for a missing value, such as ``["?"]``, besides an empty field and
        pandas' usual ones
    encoding : of the file, such as ``"cp1252"``
    **options : as for `from_dataframe`

    Returns
    -------
    Dataset, named after the file

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "mine.csv")
    >>> _ = path.write_text("size;kind\n1;a\n2;a\n8;b\n9;b\n")
    >>> from_csv(path, target="kind", test=0.5)
    Dataset('mine', D=1, C=2, train=2, test=2)
    >>> folder.cleanup()
    """
    path = _existing_file(path)
    for name, value in (
        ("separator", "," if separator is None else separator),
        ("decimal", decimal),
    ):
        if not (isinstance(value, str) and len(value) == 1):
            fail(name, "a single character", describe(value))
    if not isinstance(encoding, str):
        fail("encoding", "the name of an encoding such as 'utf-8'", describe(encoding))
    texts = check_list(na_values, "na_values", "a list of texts such as ['?']")
    if odd := [text for text in texts if not isinstance(text, (str, int, float))]:
        fail("na_values", "a list of texts such as ['?']", describe(odd[0]))
    try:
        first, second = _first_lines(path, encoding)
        separator = separator or max(",;\t", key=re.sub('"[^"]*"', "", first).count)
        names = _fields(first, separator)
        if header and _is_data(names, _fields(second, separator)):
            raise ValueError(
                "the first line holds numbers, not names; if it is data, pass header=False"
            )
    except NOT_CSV as error:
        fail("path", "a CSV file", f"{path.name}: {reason(error)}")
    layout = {
        "sep": separator,
        "header": 0 if header else None,
        "encoding": encoding,
        "decimal": decimal,
        "na_values": texts,
        "skipinitialspace": True,
    }
    frame = _read(path, layout)
    if header:
        frame.columns = [str(name).strip() for name in frame.columns]
        _check_names(names, frame, options.get("drop", ()))
    column = _column(frame, target, "target")
    if frame[column].isna().any():  # a class may well be called "None" or "NA"
        labels = _read(path, layout | {"dtype": str, "keep_default_na": False})
        frame[column] = _labels(labels.iloc[:, frame.columns.get_loc(column)])
    return from_dataframe(frame, target, **{"name": path.stem, **options})


def _existing_file(path: str | Path) -> Path:
    path = check_path(path)
    if not os.path.isfile(path):  # also without a right to look: not a file that can be read
        problem = "is not an ordinary file" if os.path.exists(path) else "does not exist"
        fail("path", "a CSV file", f"{path}, which {problem}")
    return path


def _first_lines(path: Path, encoding: str) -> tuple[str, str]:
    """The first two lines that are not blank, without their ends; "" for those missing."""
    with open(path, encoding=encoding) as file:
        lines = iter(lambda: file.readline(MAX_LINE), "")
        filled = (line.strip("\r\n") for line in lines if line.strip())
        first, second = next(filled, ""), next(filled, "")
    if len(first) >= MAX_LINE - 1:
        raise ValueError(f"its first line has more than {MAX_LINE} characters")
    return first, second


def _fields(line: str, separator: str) -> list[str]:
    reader = csv.reader([line], delimiter=separator, skipinitialspace=True)
    return [field.strip() for field in next(reader, [])]


def _is_data(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the first line has numbers where the next one has them, so that it is data too.

    Labels may be words in a file without names. Names may be numbers that count, such as years.
    """
    kinds = [(_is_number(a), _is_number(b)) for a, b in zip(first, second, strict=False)]
    numbers = [name for name in first if _is_number(name)]
    counted = [int(name) for name in numbers if name.isdecimal()]
    is_counting = len(counted) == len(numbers) and all(b - a == 1 for a, b in pairwise(counted))
    has_names = (False, True) in kinds or (is_counting and len(numbers) > 1)
    return bool(numbers) and not has_names


def _read(path: Path, layout: dict[str, Any]) -> Any:
    """The file as a pandas frame; one that cannot be read as such is a ValueError."""
    import pandas as pd  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(path, index_col=False, **layout)
        except pd.errors.ParserWarning:
            problem = "its rows have more fields than its first line"
        except NOT_CSV as error:
            problem = reason(error)
    return fail("path", "a CSV file", f"{path.name}: {problem}")


def _labels(texts: Any) -> Any:
    """Labels as in the file, blank ones missing; as numbers if all others are numbers."""
    import pandas as pd

    labels = texts.where(texts.str.strip() != "")
    numbers = pd.to_numeric(labels, errors="coerce")
    return numbers if numbers.notna().equals(labels.notna()) else labels


def _check_names(names: Sequence[str], frame: Any, drop: Sequence[str | int]) -> None:
    """Refuse a column without a name: most hold row numbers, which must not become an input."""
    left_out = _columns(frame, drop)
    for place, (name, column) in enumerate(zip(names, frame.columns, strict=False)):
        if not name and column not in left_out:
            raise ValueError(
                f"path: column {place + 1} has no name; if it holds row numbers, leave it out with "
                f"drop=[{place}] or remove it from the file"
            )


def _without_missing(frame: Any, how: str) -> tuple[Any, tuple[str, ...]]:
    """The rows without missing values, and a sentence about the others if there are any."""
    missing = frame.isna().sum()
    if not missing.any():
        return frame, ()
    columns = ", ".join(f"{c!r} ({n})" for c, n in missing[missing > 0].items())
    if how == "error":
        advice = "fill them, leave columns out with drop=[…], or rows with missing='drop'"
        fail("frame", "no missing values", f"some in the columns {columns}; {advice}")
    complete = frame.dropna()
    if not len(complete):
        raise ValueError(f"frame: every row has a missing value, in the columns {columns}")
    count = len(frame) - len(complete)
    return complete, (f"{count} rows with missing values were left out: {columns}.",)


class OwnFile(NamedTuple):
    """A CSV file by name: ``FILE.csv:COLUMN``, or ``FILE.csv:COLUMN#checksum`` for one version.

    Attributes
    ----------
    path : the file
    target : the column of the labels
    checksum : first eight digits of the file's sha256, or "" for any version

    Examples
    --------
    >>> OwnFile.parse("flowers.csv:species")
    OwnFile(path='flowers.csv', target='species', checksum='')
    >>> OwnFile.parse("iris") is None
    True
    """

    path: str
    target: str
    checksum: str = ""

    @classmethod
    def parse(cls, name: str) -> OwnFile | None:
        """The file that a name stands for; None for a name of another form.

        Parameters
        ----------
        name : ``FILE.csv:COLUMN`` or ``FILE.csv:COLUMN#checksum``
        """
        if not isinstance(name, str):
            return None
        match = re.fullmatch(r"(.+\.csv):(.+?)(?:#([0-9a-f]{8}))?", name, re.IGNORECASE)
        return cls(match[1], match[2], match[3] or "") if match else None

    def name_with_checksum(self) -> str:
        r"""The name with the checksum of the file as it is now.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "mine.csv")
        >>> _ = path.write_bytes(b"size,kind\n1,a\n9,b\n")
        >>> OwnFile(str(path), "kind").name_with_checksum().partition("mine.csv")[2]
        ':kind#80d75e1b'
        >>> folder.cleanup()
        """
        return f"{os.path.normpath(self.path)}:{self.target}#{self._current_checksum()}"

    def load(self, **options: Any) -> Dataset:
        r"""The data, by `from_csv`; a file that differs from the checksum is a ValueError.

        Parameters
        ----------
        options : of `from_csv`

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "mine.csv")
        >>> _ = path.write_bytes(b"size,kind\n1,a\n2,a\n8,b\n9,b\n")
        >>> OwnFile(str(path), "kind").load(test=0.5)
        Dataset('mine', D=1, C=2, train=2, test=2)
        >>> folder.cleanup()
        """
        if self.checksum and self.checksum != self._current_checksum():
            expected = f"{self.path} with the checksum {self.checksum}"
            fail("path", expected, "a file that has changed")
        return from_csv(self.path, self.target, **options)

    def _current_checksum(self) -> str:
        return hashlib.sha256(_existing_file(self.path).read_bytes()).hexdigest()[:8]


def _column(frame: Any, item: str | int, argument: str) -> Any:
    """A column's name, from its name or its position, from the right if negative."""
    with contextlib.suppress(Exception):  # an object that cannot be compared is not a column
        if not isinstance(item, bool) and item in frame.columns:
            return item
    if (
        isinstance(item, (int, np.integer))
        and not isinstance(item, bool)
        and -len(frame.columns) <= item < len(frame.columns)
    ):
        return frame.columns[item]
    names = ", ".join(map(describe, frame.columns[:8])) + (", …" if len(frame.columns) > 8 else "")
    return fail(argument, f"a column ({names})", describe(item))


def _columns(frame: Any, drop: Any) -> set[Any]:
    """The names of the columns to leave out."""
    items = check_list(drop, "drop", "a list of columns such as ['id']")
    return {_column(frame, item, "drop") for item in items}


def _inputs(series: Any, name: str) -> list[tuple[str, np.ndarray, bool]]:
    """The inputs made from a column: name, values, and whether they are numbers to scale."""
    from pandas.api import types

    if types.is_bool_dtype(series):
        return [(name, series.to_numpy(float), False)]
    if types.is_numeric_dtype(series) and not types.is_complex_dtype(series):
        values = series.to_numpy(float)
        if not np.isfinite(values).all():
            raise ValueError(f"frame: expected finite numbers in the column {name!r}")
        return [(name, values, True)]
    if types.is_datetime64_any_dtype(series) or types.is_timedelta64_dtype(series):
        raise ValueError(f"frame: expected numbers or text in the column {name!r}, got dates")
    if any(isinstance(value, NESTED) for value in series):
        fail("frame", f"numbers or text in the column {name!r}", "lists or tables in its rows")
    texts = series.astype(str).to_numpy(str)
    odd = [text for text in texts if not _is_number(text)]
    num_numbers = sum(_is_number(text.replace(",", ".")) for text in texts)
    if odd and num_numbers > MAX_NUMBERS * len(texts):
        raise ValueError(
            f"frame: the column {name!r} holds numbers, but also {str(odd[0])!r}; correct it, or "
            f"leave it out with drop=[{name!r}]"
        )
    levels = np.unique(texts)
    if len(levels) > max(2, MAX_LEVELS * len(texts)):
        raise ValueError(
            f"frame: the column {name!r} has {len(levels)} different values in {len(texts)} rows; "
            f"leave it out with drop=[{name!r}], or turn it into numbers"
        )
    return [(f"{name} = {level}", (texts == level).astype(float), False) for level in levels]


def _classes(y: Any, num_rows: int) -> tuple[list[str], np.ndarray]:
    """Class names ``[C]`` and labels 0..C−1 ``[N]`` of a column of text, numbers or booleans."""
    import pandas as pd

    y = _as_array(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    expected = f"one label for each of {num_rows} rows"
    if y.shape != (num_rows,):
        raise ValueError(f"y: expected {expected}, got shape {list(y.shape)}")
    if pd.isna(y).any():
        raise ValueError(f"y: expected {expected}, got {int(pd.isna(y).sum())} missing")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all() or (y != np.floor(y)).any():
            raise ValueError(f"y: expected {expected}, classes and not measurements, got fractions")
        largest = float(np.max(np.abs(y), initial=0.0))
        if largest > MAX_LABEL:  # beyond, two neighbouring numbers are the same float
            fail(
                "y",
                f"labels up to 2⁵³, beyond which a float has gaps, for {expected}",
                f"{largest:g}",
            )
        y = y.astype(np.int64)
    elif y.dtype.kind not in "iub":
        if any(isinstance(value, NESTED) for value in y):
            fail("y", expected, "lists or tables")
        y = y.astype(str)
    values, labels = np.unique(y, return_inverse=True)
    if len(values) < 2:
        raise ValueError(f"y: expected at least two classes, got {len(values)}")
    if len(values) > 2 and len(values) == num_rows:
        raise ValueError(f"y: expected classes that repeat, got {num_rows} different labels")
    return [str(value) for value in values], labels


def _as_array(y: Any) -> np.ndarray:
    try:
        return np.asarray(y)
    except Exception:  # rows of unequal length, or an object that does not want to be an array
        fail("y", "a list or an array of labels", describe(y))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
