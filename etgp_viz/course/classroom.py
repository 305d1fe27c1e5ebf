"""Progress of a class: students' files joined into one table, one row per student.

The files are plain text that anybody can edit. They show an instructor where a class stands and
which exercises are hard; do not base marks on them.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from etgp_viz.checks import fail
from etgp_viz.course.checking import exercise_ids
from etgp_viz.course.progress import FILE, Record, load, plural, read
from etgp_viz.course.questions import PREFIX
from etgp_viz.files import cell_text, spreadsheet, write

__all__ = ["HUB_FOLDER", "TOTALS", "collect", "export", "row", "write_csv"]

#: where the notebooks are in a student's home folder on a JupyterHub
HUB_FOLDER = "etgp-notebooks"
#: columns before those of each exercise
TOTALS = ("student", "solved", "attempts", "hints", "solutions", "file")


def collect(folder: Path) -> list[dict[str, str | int]]:
    """One `row` for each student with a file in the folder, sorted by name.

    The files are ``<student>/progress.json``, ``<student>/etgp-notebooks/progress.json`` (the
    homes of a JupyterHub) or ``<student>.json``. For one that is missing or
    broken, the column "file" says what is wrong, and the row has no figures.
    """
    if not os.path.isdir(folder):
        fail("folder", "a folder with students' files", str(folder))
    return [_row_of_file(student, path) for student, path in sorted(_files(folder))]


def export(student: str = "", file: str | Path = "progress.csv") -> str:
    """Write your own progress to a CSV file with one row, for handing in.

    Parameters
    ----------
    student : your name in the file; the name of the working folder if empty
    file : the CSV file to write

    Returns
    -------
    a sentence that says what is in the file

    Examples
    --------
    >>> import contextlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     print(export("Ann"))
    progress.csv: 0 exercises solved in 0 attempts.
    """
    records = _exercises(load().records)
    write_csv([row(student or Path.cwd().name, records, "ok")], Path(file))
    solved = sum(record.solved for record in records.values())
    attempts = sum(record.attempts for record in records.values())
    return f"{file}: {plural(solved, 'exercise')} solved in {plural(attempts, 'attempt')}."


def _exercises(records: Mapping[str, Record]) -> dict[str, Record]:
    """Records of exercises, without those of warm-up questions."""
    return {name: record for name, record in records.items() if not name.startswith(PREFIX)}


def row(student: str, records: Mapping[str, Record], file: str) -> dict[str, str | int]:
    """Column → value for one student: totals, then four columns for each exercise.

    Exercises without a record count as not begun; ``file`` is the state of the student's file,
    "ok" if it could be read.
    """
    records = _exercises(records)
    ids = exercise_ids()
    names = [*ids, *sorted(set(records) - set(ids))]
    complete = {name: records.get(name, Record()) for name in names}
    columns: dict[str, str | int] = {
        "student": cell_text(student),
        "solved": sum(record.solved for record in complete.values()),
        "attempts": sum(record.attempts for record in complete.values()),
        "hints": sum(record.hints for record in complete.values()),
        "solutions": sum(record.solution for record in complete.values()),
        "file": file,
    }
    for name, record in complete.items():
        counts = {key: value for key, value in asdict(record).items() if key != "seen"}
        columns |= {f"{name} {key}": int(count) for key, count in counts.items()}
    return columns


def write_csv(rows: list[dict[str, str | int]], path: Path) -> None:
    """Write rows to a CSV file; missing values are left empty."""
    columns = list(dict.fromkeys([*TOTALS, *(name for values in rows for name in values)]))
    # The byte order mark tells spreadsheets that the file is UTF-8.
    write(path, spreadsheet(rows, columns).encode("utf-8-sig"))


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if os.path.isdir(path):  # unlike Path.is_dir, False for what cannot be looked at
            in_home = path / HUB_FOLDER / FILE
            yield path.name, in_home if os.path.isfile(in_home) else path / FILE
        elif path.name == FILE:  # the folder of one student
            yield folder.resolve().name, path
        elif path.suffix == ".json":
            yield path.stem, path


def _row_of_file(student: str, path: Path) -> dict[str, str | int]:
    try:
        return row(student, read(path), "ok")
    except FileNotFoundError:
        problem = f"no {FILE}"
    except ValueError:
        problem = "broken: could not be understood"
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or 'unknown').lower()}"
    return {"student": cell_text(student), "file": problem}
