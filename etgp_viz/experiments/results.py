"""The result file of a grid: a CSV table whose first line says what made it.

    # {"command": …, "machine": …}
    id,rows,status,…
    3f0c…,2,ok,…

All rows of a run are added in one write, which reaches the disk before the next run is asked for.
What a killed program leaves at the end, half a line or half a run, is recognised and done again.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from etgp_viz.checks import fail
from etgp_viz.experiments.columns import COLUMNS, WORDS
from etgp_viz.experiments.settings import Run
from etgp_viz.timing import machine

__all__ = ["Log", "details_folder", "failure", "load", "load_detail", "made_by", "whole_runs"]


BEGINNING = b'# {"command"'


class Log:
    """The result file of a grid in the making.

    Parameters
    ----------
    path : the file; one that is there is gone on with
    command : what was typed, for the first line of a new file
    """

    def __init__(self, path: str | Path, command: str = "") -> None:
        self.path = Path(path)
        if not _is_begun(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            header = {"command": command, "machine": machine.describe()}
            self.path.write_bytes(b"")
            _append(self.path, f"# {json.dumps(header)}\n{_line(COLUMNS)}")
        self._read()

    def _read(self) -> int:
        """Note which runs are finished, and return the length of what is whole."""
        _, rows, complete = _parse(self.path)
        self.finished = {row["id"] for row in rows if row["status"] == "ok"}
        return complete

    def open_runs(self, runs: Iterable[Run]) -> list[Run]:
        """Those that have not been finished; a run that failed is tried again."""
        return [run for run in runs if run.id not in self.finished]

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add all rows of one run in one write."""
        rows = list(rows)
        _append(self.path, "".join(_line(row[name] for name in COLUMNS) for row in rows))
        self.finished |= {row["id"] for row in rows if row["status"] == "ok"}

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Take the file for oneself, and take away what a killed program left at its end.

        A second grid that would write to the same file is refused, where the system has locks.
        """
        with open(self.path, "r+b") as file:
            with contextlib.suppress(ImportError):  # Windows has no fcntl
                import fcntl

                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    fail("output", "a file that no other grid is writing to", self.path.name)
            file.truncate(self._read())
            yield


def load(path: str | Path) -> pd.DataFrame:
    """The table of a grid, also of one that was stopped or is still running.

    One row for each run and way of predicting, with the columns of `etgp_viz.experiments.columns`.
    If a run failed and was tried again, the last attempt counts. ``frame.attrs`` has the
    ``command`` and the ``machine`` that made the file.
    """
    header, rows, _ = _parse(Path(path))
    last = {row["id"]: row["attempt"] for row in rows}
    kept = [row for row in rows if row["attempt"] == last[row["id"]]]
    frame = pd.DataFrame(kept, columns=list(COLUMNS))
    for name in COLUMNS:
        if name not in WORDS:
            frame[name] = pd.to_numeric(frame[name].replace("", None))
    frame.attrs = header
    return frame


def made_by(table: pd.DataFrame) -> str:
    """Which command made a table, where, and how much of it: a sentence, empty if not known."""
    made = table.attrs
    if "machine" not in made:
        return ""
    runs = f": {made['runs']}" if "runs" in made else ""
    return f"Made by `{made['command']}` on {made['machine']['processor']}{runs}."


def whole_runs(path: str | Path) -> str:
    """The text of a result file up to the end of its last whole run."""
    _, _, complete = _parse(Path(path))
    return Path(path).read_bytes()[:complete].decode("utf-8")


def details_folder(path: str | Path) -> Path:
    """Where the details of the runs of a result file are kept, one file each."""
    path = Path(path)
    return path.with_name(f"{path.stem}-details")


def load_detail(path: str | Path, run_id: str) -> dict[str, Any]:
    """Details of a run of a result file, as `etgp_viz.experiments.detail` has them."""
    file = details_folder(path) / f"{run_id}.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fail("run_id", f"a run with details in {file.parent.name}", repr(run_id))


def failure(run: Run, reason: str) -> list[dict[str, Any]]:
    """The row of a run that failed."""
    told = " ".join(reason.split())[:1000]
    row = {"id": run.id, "rows": 1, "status": f"failed: {told}", "inference": ""}
    return [dict.fromkeys(COLUMNS) | run.settings() | row]


def _is_begun(path: Path) -> bool:
    """Whether there is a file with something in it, other than half of our first lines."""
    if not path.exists():
        return False
    content = path.read_bytes()
    is_ours = content[: len(BEGINNING)] == BEGINNING[: len(content)]
    return not is_ours or content.count(b"\n") >= 2


def _parse(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Header, rows of whole runs, and the number of bytes up to the end of the last whole run."""
    content = path.read_bytes()
    first, _, rest = content.partition(b"\n")
    names, _, body = rest.partition(b"\n")
    expected = "a result file of a grid of experiments"
    try:
        header = json.loads(first.decode().removeprefix("# "))
        if not first.startswith(b"# ") or names.decode().rstrip("\r") != _line(COLUMNS).rstrip(
            "\n"
        ):
            fail("output", f"{expected} by this version (or a new file)", path.name)
    except ValueError as error:
        if str(error).startswith("output:"):
            raise
        fail("output", expected, path.name)
    complete = len(first) + len(names) + 2
    rows: list[dict[str, Any]] = []
    group: list[dict[str, Any]] = []
    size = 0
    for attempt, line in enumerate(body.splitlines(keepends=True)):
        if not line.endswith(b"\n"):  # half a line
            break
        row = _row(line)
        if row is None or (group and row["id"] != group[0]["id"]):
            fail("output", f"{expected}, whole runs only", f"{path.name} with line {attempt + 3}")
        group.append(row)
        size += len(line)
        if len(group) == int(row["rows"]):
            rows += [each | {"attempt": attempt} for each in group]
            complete, size, group = complete + size, 0, []
    return header, rows, complete


def _row(line: bytes) -> dict[str, Any] | None:
    """A row from its line, or None if the line is not one of ours."""
    try:
        values = next(csv.reader([line.decode()]))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        return None
    ours = len(values) == len(COLUMNS) and values[1].isdigit()
    return dict(zip(COLUMNS, values, strict=True)) if ours else None


def _line(values: Iterable[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(
        f"{value:.6g}" if isinstance(value, float) else value for value in values
    )
    return text.getvalue()


def _append(path: Path, text: str) -> None:
    """Add whole lines in one write, and wait until they are on the disk."""
    content = text.encode("utf-8")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        if os.write(descriptor, content) < len(content):
            os.ftruncate(descriptor, before)
            raise OSError(f"output: no room left for {path.name}")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
