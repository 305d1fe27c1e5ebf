"""Progress of one student: a small JSON file beside the notebooks, and a table made from it.

The file is there to help students learn, not to grade them: anybody can edit it. It holds counts
of attempts and hints, and no names.
"""

import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from etgp_viz.checks import check_count
from etgp_viz.files import create, locked, read_bytes, write

__all__ = [
    *("FILE", "NOT_YET", "RIGHT", "WRONG"),
    *("Journal", "Record", "Table", "load", "plural", "read", "update"),
]

RIGHT, WRONG, NOT_YET = "right", "wrong", "not yet"  # outcomes of a check

FILE = "progress.json"
FORMAT = 1
# Anybody can edit a file, so it is believed only within these bounds.
MAX_BYTES, MAX_EXERCISES, MAX_COUNT = 2**18, 1000, 10**6
EXERCISE = re.compile(r"[\w.+-]{1,20}")
SECONDS_TO_WAIT = 5.0  # for another kernel that is saving to the same file
NOTE = (
    f"Only for you: this is saved in {FILE} beside the notebook, without your name. It is meant to "
    "help you learn; it is not secure enough for grading."
)


@dataclass(frozen=True)
class Record:
    """History of one exercise: whether it is solved, attempts, hints shown, solution shown.

    ``seen`` is the time of the last attempt, such as ``"2026-05-04T10:30:00"`` (UTC); "" if there
    was none, or if the file was written by version 0.1.
    """

    solved: bool = False
    attempts: int = 0
    hints: int = 0
    solution: bool = False
    seen: str = ""

    def after(self, outcome: str) -> "Record":
        """The record after an attempt; a solved exercise stays solved."""
        if outcome not in (RIGHT, WRONG):
            return self
        solved = self.solved or outcome == RIGHT
        seen = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        return replace(self, solved=solved, attempts=self.attempts + 1, seen=seen)

    def to_json(self) -> dict[str, Any]:
        """Fields for the file, without an empty ``seen``."""
        return {name: value for name, value in asdict(self).items() if name != "seen" or value}

    def __str__(self) -> str:
        if not (self.attempts or self.hints or self.solution):
            return "· not begun"
        state = "✓ right" if self.solved else "… begun"
        return f"{state}, {plural(self.attempts, 'attempt')}, {plural(self.hints, 'hint')}" + (
            ", solution shown" if self.solution else ""
        )


@dataclass(frozen=True)
class Journal:
    """Contents of the file: exercise → record."""

    records: Mapping[str, Record]
    message: str = ""  # what the student should know about the file, usually empty
    writable: bool = True  # whether records may be saved to it

    def __getitem__(self, exercise: str) -> Record:
        return self.records.get(exercise, Record())


#: exercise → changes that could not be saved yet, so that this session still counts hints
_unsaved: dict[str, list[Callable[[Record], Record]]] = {}


def load() -> Journal:
    """Records of the file in the working folder, with changes that could not be saved to it.

    A file that cannot be understood is renamed, never overwritten.
    """
    journal = _load_file()
    changed = {name: _after(journal[name], changes) for name, changes in _unsaved.items()}
    return replace(journal, records={**journal.records, **changed})


def _after(record: Record, changes: Iterable[Callable[[Record], Record]]) -> Record:
    for change in changes:
        record = change(record)
    return record


def read(path: Path) -> dict[str, Record]:
    """Exercise → record of a progress file.

    Raises ValueError for a file that cannot be understood, and OSError for one that cannot be read.
    """
    text = read_bytes(path, MAX_BYTES)
    try:
        content = json.loads(text.decode("utf-8"))
        exercises = content["exercises"]
        if content["format"] != FORMAT or not isinstance(exercises, dict):
            raise ValueError("another format")
        if len(exercises) > MAX_EXERCISES or not all(map(EXERCISE.fullmatch, exercises)):
            raise ValueError("names that are not exercises")
        return {name: _record(value) for name, value in exercises.items()}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path.name} could not be understood") from error


def _load_file() -> Journal:
    try:
        return Journal(read(Path(FILE)))
    except FileNotFoundError:
        return Journal({})
    except ValueError:
        return _set_aside(Path(FILE))
    except OSError as error:
        return Journal({}, f"{FILE} cannot be read ({error.strerror}): nothing is saved.", False)


def update(exercise: str, change: Callable[[Record], Record]) -> tuple[Record, str]:
    """Change the record of one exercise in the file, given its id.

    Two open notebooks are two kernels that share the file: under its lock, the change is made to
    what the file holds by then. Returns the new record, and a message that is empty unless
    something went wrong.
    """
    journal = load()
    record = change(journal[exercise])
    if record == journal[exercise]:
        return record, journal.message
    _unsaved.setdefault(exercise, []).append(change)
    if not journal.writable:
        return record, journal.message
    problem = ""
    try:
        create(FILE, _text({}))
        with locked(FILE, SECONDS_TO_WAIT):
            current = load()
            record = current[exercise]
            write(FILE, _text(current.records))
        _unsaved.clear()
    except BlockingIOError:
        problem = "Progress was not saved: another notebook is saving it. It is saved next time."
    except OSError as error:
        problem = f"Progress cannot be saved in this folder ({error.strerror})."
    return record, " ".join(filter(None, (journal.message, problem)))


def _text(records: Mapping[str, Record]) -> str:
    """The content of a file with these records."""
    exercises = {name: record.to_json() for name, record in sorted(records.items())}
    return json.dumps({"format": FORMAT, "exercises": exercises}, indent=1)


def _record(value: Any) -> Record:
    """A record whose values have the right types and signs."""
    record = Record(**value)
    for flag in (record.solved, record.solution):
        if not isinstance(flag, bool):
            raise TypeError("expected true or false")
    for count in (record.attempts, record.hints):
        check_count(count, "count", minimum=0, maximum=MAX_COUNT)
    if record.seen:
        datetime.fromisoformat(record.seen)  # a ValueError for anything that is not a time
    return record


def _set_aside(path: Path) -> Journal:
    """Rename a broken file to the first free ``progress.broken-n.json`` and start a new one."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.broken-{number}.json")).exists():
        number += 1
    try:
        os.rename(path, aside)
    except FileNotFoundError:  # another kernel has just renamed it
        return Journal({})
    except OSError as error:
        problem = f"{FILE} is broken and cannot be renamed ({error.strerror}): nothing is saved."
        return Journal({}, problem, writable=False)
    return Journal(
        {}, f"{FILE} could not be understood. It was renamed to {aside.name}, and a new one begun."
    )


@dataclass(frozen=True)
class Table:
    """Progress in all lessons: pairs of lesson and (exercise, record) pairs, and a message."""

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


def plural(number: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "hint"), plural(2, "hint")
    ('1 hint', '2 hints')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")
