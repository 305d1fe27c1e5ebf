"""Progress of one student: a small JSON file beside the notebooks, and a table made from it.

It is formative, for the student's own eyes: anybody can edit the file, and nothing in it proves
anything. It holds no names, only what was tried.
"""

import html
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from etgp_viz.checks import check_count
from etgp_viz.course.exercise import RIGHT, WRONG

__all__ = ["FILE", "Journal", "Record", "Table", "load", "read", "update"]

FILE = "progress.json"
FORMAT = 1


@dataclass(frozen=True)
class Record:
    """What happened with one exercise: solved or not, attempts, hints shown, solution shown."""

    solved: bool = False
    attempts: int = 0
    hints: int = 0
    solution: bool = False

    def after(self, outcome: str) -> "Record":
        """The record after an attempt; what was solved once stays solved."""
        if outcome not in (RIGHT, WRONG):
            return self
        return replace(self, solved=self.solved or outcome == RIGHT, attempts=self.attempts + 1)

    def __str__(self) -> str:
        if not (self.attempts or self.hints or self.solution):
            return "· not begun"
        state = "✓ right" if self.solved else "… begun"
        return f"{state}, {_counted(self.attempts, 'attempt')}, {_counted(self.hints, 'hint')}" + (
            ", solution shown" if self.solution else ""
        )


@dataclass(frozen=True)
class Journal:
    """What the file says: exercise → record, what there is to tell, and whether to write to it."""

    records: Mapping[str, Record]
    message: str = ""
    usable: bool = True

    def __getitem__(self, exercise: str) -> Record:
        return self.records.get(exercise, Record())


#: what this session could not write to the file, so that hints still go on
_unsaved: dict[str, Record] = {}


def load() -> Journal:
    """What the file in the working folder says, and what could not be written to it.

    A file that cannot be understood is set aside under a new name, never overwritten.
    """
    journal = _read()
    return replace(journal, records={**journal.records, **_unsaved})


def read(path: Path) -> dict[str, Record]:
    """Exercise → record, as a file says.

    Raises ValueError for a file that cannot be understood, and OSError for one that cannot be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: _record(value) for name, value in _exercises(content).items()}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path.name} could not be understood") from error


def _read() -> Journal:
    try:
        return Journal(read(Path(FILE)))
    except FileNotFoundError:
        return Journal({})
    except ValueError:
        return _set_aside(Path(FILE))
    except OSError as error:
        return Journal({}, f"{FILE} cannot be read ({error.strerror}): nothing is saved.", False)


def update(exercise: str, change: Callable[[Record], Record]) -> tuple[Record, str]:
    """Change one record in the file; the new record, and a message that is mostly empty."""
    journal = load()
    record = change(journal[exercise])
    if record == journal[exercise]:
        return record, journal.message
    _unsaved[exercise] = record
    failed = _save({**journal.records, **_unsaved}) if journal.usable else ""
    if journal.usable and not failed:
        _unsaved.clear()
    return record, " ".join(filter(None, (journal.message, failed)))


def _save(records: Mapping[str, Record]) -> str:
    """Write the file in one piece, or leave the old one; says what went wrong."""
    content = {
        "format": FORMAT,
        "exercises": {name: asdict(record) for name, record in sorted(records.items())},
    }
    temporary = Path(f".{FILE}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, FILE)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        return f"Progress cannot be saved in this folder ({error.strerror})."
    return ""


def _exercises(content: Any) -> dict[str, Any]:
    if content["format"] != FORMAT or not isinstance(content["exercises"], dict):
        raise ValueError("another format")
    return content["exercises"]


def _record(value: Any) -> Record:
    """A record whose values have the types and signs that it must have."""
    record = Record(**value)
    for flag in (record.solved, record.solution):
        if not isinstance(flag, bool):
            raise TypeError("a flag that is none")
    for count in (record.attempts, record.hints):
        check_count(count, "count", minimum=0)
    return record


def _set_aside(path: Path) -> Journal:
    """Rename a broken file to the first free ``progress.broken-n.json``, and begin anew."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.broken-{number}.json")).exists():
        number += 1
    try:
        os.rename(path, aside)
    except OSError as error:
        told = f"{FILE} is broken and cannot be set aside ({error.strerror}): nothing is saved."
        return Journal({}, told, usable=False)
    told = f"{FILE} could not be understood. It is kept as {aside.name}, and a new one is begun."
    return Journal({}, told)


@dataclass(frozen=True)
class Table:
    """Lessons × exercises: (lesson, exercise → record), and a message."""

    rows: tuple[tuple[str, tuple[tuple[str, Record], ...]], ...]
    message: str = ""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        for lesson, records in self.rows:
            solved = sum(record.solved for _, record in records)
            yield f"{lesson}: {solved} of {len(records)}"
            yield from (f"  {name}  {record}" for name, record in records)
        yield from filter(None, (NOTE, self.message))

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th scope='row' style='text-align: left'>{html.escape(lesson)}</th>"
            + "".join(
                f"<td style='text-align: left'><b>{html.escape(name)}</b><br>"
                f"{html.escape(str(record))}</td>"
                for name, record in records
            )
            + "</tr>"
            for lesson, records in self.rows
        )
        notes = "".join(f"<p>{html.escape(text)}</p>" for text in (NOTE, self.message) if text)
        return f"<table><caption>Your progress</caption>{body}</table>{notes}"


NOTE = (
    f"For your own eyes: saved in {FILE} beside the notebook, with no name in it. It is there to "
    "help you learn, and is no secure grading."
)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
