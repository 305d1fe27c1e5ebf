"""Progress of a class: students' files joined into one table, a row for each student.

It is formative: the files are plain text that anybody can edit. They show an instructor where a
class stands and which exercise is hard, and are no basis for marks.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from etgp_viz.checks import fail
from etgp_viz.course.checking import LESSONS, lesson
from etgp_viz.course.progress import FILE, Record, load, read

__all__ = ["TOTALS", "collect", "export", "row", "write_csv"]

#: columns before those of each exercise
TOTALS = ("student", "solved", "attempts", "hints", "solutions", "file")


def collect(folder: Path) -> list[dict[str, str | int]]:
    """A row for each student with a file in the folder, in the order of their names.

    Files are ``<student>/progress.json`` or ``<student>.json``. The column "file" says what is
    wrong with one that is missing or broken; such a student has a row without figures.
    """
    if not folder.is_dir():
        fail("folder", "a folder with students' files", str(folder))
    return [_row_of(student, path) for student, path in sorted(_files(folder))]


def export(student: str = "", file: str | Path = "progress.csv") -> str:
    """Write your own progress as one CSV row, to hand in, and say what is in it."""
    mine = row(student or Path.cwd().name, load().records, "ok")
    write_csv([mine], Path(file))
    return f"{file}: {mine['solved']} exercises solved in {mine['attempts']} attempts."


def row(student: str, records: Mapping[str, Record], file: str) -> dict[str, str | int]:
    """One student's row: totals, then what became of each exercise that there is."""
    known = [each.id for number in LESSONS for each in lesson(number).exercises]
    names = [*known, *sorted(set(records) - set(known))]
    found = {name: records.get(name, Record()) for name in names}
    made: dict[str, str | int] = {
        "student": _harmless(student),
        "solved": sum(record.solved for record in found.values()),
        "attempts": sum(record.attempts for record in found.values()),
        "hints": sum(record.hints for record in found.values()),
        "solutions": sum(record.solution for record in found.values()),
        "file": file,
    }
    for name, record in found.items():
        made[f"{_harmless(name)} solved"] = int(record.solved)
        made[f"{_harmless(name)} attempts"] = record.attempts
        made[f"{_harmless(name)} hints"] = record.hints
        made[f"{_harmless(name)} solution"] = int(record.solution)
    return made


def write_csv(rows: list[dict[str, str | int]], path: Path) -> None:
    """Rows as a CSV file; a student without a figure has an empty place."""
    columns = list(dict.fromkeys([*TOTALS, *(name for each in rows for name in each)]))
    # With its mark at the beginning, a spreadsheet reads UTF-8 as what it is.
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield path.name, path / FILE
        elif path.name == FILE:  # the folder of one student
            yield folder.resolve().name, path
        elif path.suffix == ".json":
            yield path.stem, path


def _row_of(student: str, path: Path) -> dict[str, str | int]:
    try:
        return row(student, read(path), "ok")
    except FileNotFoundError:
        why = f"no {FILE}"
    except ValueError:
        why = "broken: could not be understood"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    return {"student": _harmless(student), "file": why}


def _harmless(name: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name
