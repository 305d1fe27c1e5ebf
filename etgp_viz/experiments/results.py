"""`carry_out`: a grid of runs becomes a result file; reading it, and the one in the package.

The runs are carried out in this process, in local workers or on a Dask cluster. A result file is an
`etgp_viz.files.GrowingTable` with one row for each run and way of predicting:

    # {"command": …, "machine": …}
    id,rows,status,…
    3f0c…,2,ok,…

All rows of a run are added in one write, and each says in ``rows`` how many they are. What a killed
program leaves at the end, half a line or half a run, is therefore recognised and done again. Beside
the file is a folder with the details of each run.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from etgp_viz.checks import check_installed, fail
from etgp_viz.experiments.presets import grid
from etgp_viz.experiments.scoring import closest_look
from etgp_viz.experiments.settings import ADDED_COLUMNS, COLUMNS, TEXT_COLUMNS, Outcome, Run
from etgp_viz.experiments.workers import (
    in_this_process,
    local_workers,
    thread_limits,
    through_dask,
)
from etgp_viz.files import GrowingTable, TableContents, write
from etgp_viz.timing.log import describe_machine

__all__ = [
    "COMMAND",
    "ResultFile",
    "carry_out",
    "details_folder",
    "in_this_process",
    "load",
    "load_detail",
    "local_workers",
    "made_by",
    "reference",
    "reference_detail",
    "ship",
    "thread_limits",
    "through_dask",
]

#: what comes with the package: where it is, and the command that made it
FOLDER = Path(__file__).parents[1] / "reference"
TABLE, DETAILS = "experiments.csv", "experiment_details.json.gz"
COMMAND = "etgp-viz experiment --preset laptop"
ROWS = re.compile("[0-9]{1,6}")  # how many rows of a table a run has


class ResultFile:
    """The result file of a grid, to add to; an existing one is resumed.

    ``command`` is what was typed, for the header of a new file.
    """

    def __init__(self, path: str | Path, command: str = "") -> None:
        self._file = _file(path)
        self.path = self._file.path
        if not self._file.has_begun:
            self._file.begin({"command": command, "machine": describe_machine()})
        self._read()
        self._file.bring_up_to_date()

    def _read(self) -> int:
        """Note which runs are finished; return the number of bytes that hold whole runs."""
        _, rows, end = _whole_runs(self._file)
        self.finished = {row["id"] for row in rows if row["status"] == "ok"}
        return end

    def open_runs(self, runs: Iterable[Run]) -> list[Run]:
        """The runs that have not been finished; a failed run is tried again."""
        return [run for run in runs if run.id not in self.finished]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other grids away from the file, and remove what a killed program left at its end."""
        with self._file.locked():
            self._file.truncate(self._read())
            yield

    def add(self, run: Run, outcome: Outcome | BaseException) -> None:
        """Add the result of a run, or the error it ended in."""
        if isinstance(outcome, BaseException):
            reason = " ".join(f"{type(outcome).__name__}: {outcome}".split())[:1000]
            row = {"id": run.id, "rows": 1, "status": f"failed: {reason}", "inference": ""}
            outcome = Outcome([dict.fromkeys(COLUMNS) | run.settings() | row])
        if outcome.detail is not None:  # before the rows, which say that the run is finished
            text = json.dumps(outcome.detail, separators=(",", ":"))
            write(details_folder(self.path) / f"{run.id}.json", text)
        self._file.add([row[name] for name in COLUMNS] for row in outcome.rows)
        self.finished |= {row["id"] for row in outcome.rows if row["status"] == "ok"}


def load(path: str | Path, argument: str = "path") -> pd.DataFrame:
    """The table of a grid, also of one that was stopped or is still running.

    Parameters
    ----------
    path : what `carry_out` or ``etgp-viz experiment`` wrote, in this version or in 0.1, whose files
        lack some of the columns: those are empty
    argument : what a message calls the path

    Returns
    -------
    data frame : one row for each run and way of predicting, with the columns
        `etgp_viz.experiments.settings.COLUMNS`. If a run failed and was tried again, the last
        attempt counts. ``attrs`` has the ``command`` and the ``machine`` that made the file.

    Examples
    --------
    >>> import tempfile
    >>> from etgp_viz import experiments
    >>> path = Path(tempfile.mkdtemp(), "mine.csv")
    >>> _ = experiments.carry_out([], path, progress=False)  # a grid without runs
    >>> len(experiments.load(path))
    0
    """
    file = _file(path, argument)
    header, rows, _ = _whole_runs(file)
    last = {row["id"]: row["attempt"] for row in rows}
    latest = [row for row in rows if row["attempt"] == last[row["id"]]]
    frame = pd.DataFrame(latest, columns=list(COLUMNS))
    for name in COLUMNS:
        if name not in TEXT_COLUMNS:
            try:
                frame[name] = pd.to_numeric(frame[name].replace(["", "nan"], None))
            except (ValueError, OverflowError):
                fail(argument, file.kind, f"{file.path.name} with text in the column {name}")
    frame.attrs = header
    return frame


def load_detail(path: str | Path, run_id: str) -> dict[str, Any]:
    """The details of one run of a result file.

    Parameters
    ----------
    path : the result file
    run_id : from its column ``id``

    Returns
    -------
    dictionary, see `etgp_viz.experiments.details.detail`

    Examples
    --------
    >>> import tempfile
    >>> from etgp_viz import experiments
    >>> runs = experiments.grid("quick", datasets=["digits"], models=["logistic"], seeds=[0])
    >>> path = Path(tempfile.mkdtemp(), "digits.csv")
    >>> table = experiments.carry_out(runs, path, workers=0, progress=False)
    >>> len(experiments.load_detail(path, table["id"].iloc[0])["class_names"])
    10
    """
    file = details_folder(path) / f"{run_id}.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fail("run_id", f"a run with details in {file.parent.name}", repr(run_id))


def details_folder(path: str | Path) -> Path:
    """The folder with the details of the runs of a result file, one file each."""
    path = Path(path)
    return path.with_name(f"{path.stem}-details")


def made_by(table: pd.DataFrame) -> str:
    """A sentence on where a table comes from; empty if that is not known.

    Parameters
    ----------
    table : of `load` or `reference`

    Returns
    -------
    the command, the processor, and how many of the command's runs it holds

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> experiments.made_by(experiments.reference())[:26]
    'Made by `etgp-viz experime'
    """
    header = table.attrs
    if "machine" not in header:
        return ""
    runs = f": {header['runs']}" if "runs" in header else ""
    return f"Made by `{header['command']}` on {header['machine']['processor']}{runs}."


def _file(path: str | Path, argument: str = "output") -> GrowingTable:
    kind = "a result file of a grid of experiments"
    return GrowingTable(path, COLUMNS, argument, kind, added=ADDED_COLUMNS)


def _whole_runs(file: GrowingTable) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Header, rows of whole runs, and the number of bytes up to the end of the last whole run.

    Rows of the same attempt at a run have the same number under the key ``attempt``.
    """
    contents: TableContents = file.read()
    rows: list[dict[str, Any]] = []
    run: list[dict[str, Any]] = []
    end = contents.start
    for number, row in enumerate(contents.rows):
        if not ROWS.fullmatch(row["rows"]) or (run and row["id"] != run[0]["id"]):
            file.fail_at(number)
        run.append(row)
        if len(run) == int(row["rows"]):
            rows += [run_row | {"attempt": number} for run_row in run]
            end, run = contents.ends[number], []
    return contents.header, rows, end


# --- carrying out a grid --------------------------------------------------------------------------


def _execute(run: Run) -> Outcome:
    """Execute a run; TensorFlow is loaded by the worker, not here."""
    from etgp_viz.experiments.run import execute

    return execute(run)


def carry_out(
    runs: Iterable[Run],
    output: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    command: str = "",
    progress: bool = True,
    execute: Callable[[Run], Outcome] = _execute,
) -> pd.DataFrame:
    """Carry out the runs that the result file does not have yet, and return its table.

    Every finished run is written to the disk at once, so that a grid that was stopped, by Ctrl-C or
    by a power cut, continues where it was when it is called again. A failed run does not stop the
    others: its row says why it failed, and it is tried again when the grid is called again.

    Parameters
    ----------
    runs, execute : the grid, and what is done with a run
    output : the result file; details of the runs go to a folder beside it
    workers : processes on this machine, by default one for each core; 0 runs everything in this
        process
    scheduler : address of a running Dask scheduler to use instead
    command : what was typed, for the header of the file
    progress : show a progress bar

    Returns
    -------
    data frame, see `etgp_viz.experiments.load`

    Examples
    --------
    >>> import tempfile
    >>> from etgp_viz import experiments
    >>> runs = experiments.grid("quick", datasets=["digits"], models=["logistic"], seeds=[0])
    >>> path = Path(tempfile.mkdtemp(), "digits.csv")
    >>> table = experiments.carry_out(runs, path, workers=0, progress=False)
    >>> bool(table["test_accuracy"].max() > 0.9)
    True
    """
    check_installed()
    file = ResultFile(output, command)
    runs = list(runs)
    with file.locked(), tqdm(total=len(runs), unit="run", disable=not progress) as bar:
        open_runs = file.open_runs(runs)
        bar.update(len(runs) - len(open_runs))
        if workers == 0 or not open_runs:
            outcomes = in_this_process(open_runs, execute)
        else:
            outcomes = through_dask(open_runs, execute, workers=workers, scheduler=scheduler)
        with contextlib.closing(outcomes):  # ends the workers, also after Ctrl-C
            for run, outcome in outcomes:
                file.add(run, outcome)
                bar.set_postfix_str(f"{run.dataset} {run.model}", refresh=False)
                bar.update()
    return load(output)


# --- what comes with the package -----------------------------------------------------------------


def reference() -> pd.DataFrame:
    """The results that come with the package: those of the laptop preset.

    Returns
    -------
    data frame, see `load`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> table = experiments.reference()
    >>> sorted(set(table["dataset"]))
    ['absenteeism', 'avila', 'digits', 'leaves100', 'vowel']
    """
    return load(FOLDER / TABLE)


def reference_detail(run_id: str) -> dict[str, Any]:
    """The details of one run of `reference`.

    Parameters
    ----------
    run_id : from the column ``id`` of `closest_look`, which has the runs with details

    Returns
    -------
    dictionary, see `etgp_viz.experiments.details.detail`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> row = experiments.closest_look(experiments.reference()).iloc[0]
    >>> experiments.reference_detail(row["id"])["run"]["dataset"] == row["dataset"]
    True
    """
    details = _reference_details()
    if run_id not in details:
        runs = f"one of the {len(details)} runs with details in the results of this version"
        fail("run_id", runs, repr(run_id))
    return details[run_id]


@lru_cache(maxsize=1)
def _reference_details() -> dict[str, Any]:
    with gzip.open(FOLDER / DETAILS, "rt", encoding="utf-8") as file:
        return json.load(file)


def ship(path: str | Path, folder: str | Path = FOLDER) -> tuple[Path, Path]:
    """Make the two files that come with the package from the result file of a grid.

    Only runs of the laptop preset are kept. The header keeps machine and versions; its command
    becomes `COMMAND`, with the number of finished runs. Reasons of failures lose their paths and
    addresses. Returns the paths of the table and of the details.
    """
    table, folder = load(path), Path(folder)
    header, rows, _ = _whole_runs(_file(path))
    wanted = {run.id for run in grid("laptop")}
    table = table[table["id"].isin(wanted)]
    done = set(table[table["status"] == "ok"]["id"])
    header |= {"command": COMMAND, "runs": f"{len(done)} of its {len(wanted)} runs"}
    kept = [[_without_places(row[name]) for name in COLUMNS] for row in rows if row["id"] in wanted]
    write(folder / TABLE, _file(folder / TABLE).text(header, kept))
    ids = dict.fromkeys(closest_look(table)["id"])
    details = {run_id: load_detail(path, run_id) for run_id in ids}
    packed = json.dumps(details, separators=(",", ":")).encode("utf-8")
    write(folder / DETAILS, gzip.compress(packed, 9, mtime=0))
    return folder / TABLE, folder / DETAILS


def _without_places(text: str) -> str:
    """A text in which no word has two slashes: no path, no address."""
    return re.sub(r"[^\s,\"'(]*/[^\s,\"']*/[^\s,\"')]*", "…", text)
