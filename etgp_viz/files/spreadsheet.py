"""Text from strangers in a spreadsheet or a terminal: on one line, and never a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from etgp_viz.messages import UNPRINTABLE, printable_text

__all__ = ["cell_text", "spreadsheet"]

# What a spreadsheet takes for the beginning of a formula, in either width.
FORMULA = tuple("=+-@＝＋－＠")


def cell_text(text: str) -> str:
    r"""A text as a spreadsheet and a terminal may show it.

    Parameters
    ----------
    text : from anywhere, such as the name of a class, a column or a student

    Returns
    -------
    the text without control characters, line ends and halves of characters; an apostrophe in front
    marks as text what would be a formula

    Examples
    --------
    >>> cell_text("Ann"), cell_text("\n=HYPERLINK(0)"), cell_text("a\x1b[2Jb")
    ('Ann', "'�=HYPERLINK(0)", 'a�[2Jb')
    """
    printable = printable_text(text)
    is_formula = printable.lstrip(f" {UNPRINTABLE}").startswith(FORMULA)
    return f"'{printable}" if is_formula else printable


def spreadsheet(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows as CSV that a spreadsheet can open without harm.

    Parameters
    ----------
    rows, columns : column → value, and the columns in order; missing values are left empty

    Returns
    -------
    the text of the file; names of columns and all text in them are `cell_text`

    Examples
    --------
    >>> print(spreadsheet([{"name": "@sum", "n": -1}], ["name", "n"]), end="")
    name,n
    '@sum,-1
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(cell_text, columns))
    for row in rows:
        values = (row.get(name, "") for name in columns)
        writer.writerow(cell_text(value) if isinstance(value, str) else value for value in values)
    return text.getvalue()
