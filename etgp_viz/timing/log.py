"""What a sweep measures: its settings, its file, and the table made from it.

The file is CSV, one measurement a line, below one comment line of JSON with the machine and the
settings. Lines are only ever added, each in one write: whatever ends the sweep, at most the last
line is incomplete, and reading leaves such a line out.
"""

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from etgp_viz.checks import check_choice, check_count, check_positive, fail
from etgp_viz.timing import machine
from etgp_viz.timing.contestants import MODELS, Size, operations

__all__ = ["Log", "Measurement", "Settings", "read", "tabulate"]

#: what is timed round by round, if the model can do it
QUANTITIES = ("step", "prediction", "prediction_ba")


@dataclass(frozen=True)
class Settings:
    """What two runs must share for their measurements to belong together.

    Attributes
    ----------
    models : names from `etgp_viz.timing.MODELS`
    classes, num_data, num_inducing : C, N and M; every combination of the three is raced
    num_inputs : D
    repeats : rounds of each cell in all
    sessions : fresh processes that the rounds of a cell are split over
    budget : seconds that a cell may take in all
    memory : whether the peak memory of a step is measured
    memory_limit : GiB that a cell may take; None for half of what is free when the sweep starts
    """

    models: tuple[str, ...]
    classes: tuple[int, ...]
    num_data: tuple[int, ...]
    num_inducing: tuple[int, ...]
    num_inputs: int
    repeats: int
    sessions: int
    budget: float
    memory: bool
    memory_limit: float | None

    def __post_init__(self) -> None:
        for name in self.models:
            check_choice(name, "models", tuple(MODELS))
        for name, least in (("classes", 2), ("num_data", 2), ("num_inducing", 1)):
            for value in getattr(self, name):
                check_count(value, name, minimum=least)
        for name in ("models", "classes", "num_data", "num_inducing"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                fail(name, "one or more different values", repr(values))
        check_count(
            max(self.num_inducing), "num_inducing", maximum=min(self.num_data), because="num_data"
        )
        check_count(self.num_inputs, "num_inputs")
        check_count(self.repeats, "repeats")
        check_count(self.sessions, "sessions", maximum=self.repeats, because="repeats")
        check_positive(self.budget, "budget")
        check_choice(self.memory, "memory", (True, False))
        if self.memory_limit is not None:
            check_positive(self.memory_limit, "memory_limit")

    def sizes(self) -> Iterator[Size]:
        """Every combination of C, N and M, small ones first."""
        for N, M, C in product(*map(sorted, (self.num_data, self.num_inducing, self.classes))):
            yield Size(C, N, M, self.num_inputs)

    def rounds(self, session: int) -> int:
        """Rounds of one session: `repeats` split as evenly as it goes."""
        return self.repeats // self.sessions + (session < self.repeats % self.sessions)


@dataclass(frozen=True)
class Measurement:
    """One number (or, for the quantity ``"status"``, one word) about one cell.

    Quantities are those of `QUANTITIES` in seconds, each with its ``"first_…"`` call apart;
    ``"build"`` in seconds; ``"memory"`` in MiB; ``"spent"``, the seconds that a session took, which
    also says that it is over; and ``"status"``.
    """

    model: str
    classes: int
    num_data: int
    num_inducing: int
    session: int
    quantity: str
    value: float | str

    @property
    def cell(self) -> tuple[str, int, int, int]:
        """Model, C, N and M."""
        return self.model, self.classes, self.num_data, self.num_inducing


COLUMNS = [field.name for field in fields(Measurement)]


class Log:
    """The measurements of a sweep, in memory and, if it has a path, in a file.

    Parameters
    ----------
    settings : of the sweep
    path : the file; None to keep none
    resume : go on with the file if it is there; otherwise a file that is there is an error
    """

    def __init__(self, settings: Settings, path: Path | None = None, resume: bool = False) -> None:
        self.settings = settings
        self.header = {
            "machine": machine.describe(),
            "settings": _plain(settings),
            "load": round(psutil.getloadavg()[0], 1),
        }
        self.measurements: list[Measurement] = []
        self.path = path
        if path is None:
            return
        if path.exists() and not resume:
            fail("out", "a new file, or resume to go on with this one", path.name)
        if path.exists() and path.stat().st_size:
            self._continue(path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            _append(path, f"# {json.dumps(self.header)}\n{_line(COLUMNS)}")

    def _continue(self, path: Path) -> None:
        header, self.measurements, complete = _parse(path)
        for part in ("machine", "settings"):
            ours, theirs = self.header[part], header.get(part, {})
            different = [key for key in ours if theirs.get(key) != ours[key]]
            if different:
                told = ", ".join(f"{k} (there {theirs.get(k)}, here {ours[k]})" for k in different)
                fail("resume", f"a file of the same {part}", f"{path.name} with other {told}")
        self.header = header
        with open(path, "r+b") as file:  # without half a line at its end
            file.truncate(complete)

    def add(self, measurement: Measurement) -> None:
        """Keep a measurement, in the file too, with as many digits as the file has."""
        line = _line(astuple(measurement))
        self.measurements.append(_measurement(next(csv.reader([line]))))
        if self.path is not None:
            _append(self.path, line)

    def table(self) -> pd.DataFrame:
        """The table so far."""
        return tabulate(self.measurements, self.settings, self.header)


def read(path: str | Path) -> pd.DataFrame:
    """The table of a sweep's file, also of one that was stopped."""
    header, measurements, _ = _parse(Path(path))
    settings: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in header["settings"].items()
    }
    return tabulate(measurements, Settings(**settings), header)


def tabulate(
    measurements: Iterable[Measurement], settings: Settings, header: Mapping[str, Any]
) -> pd.DataFrame:
    """One row per model and size, in the order of the settings.

    Columns: ``model``, ``classes``, ``num_data``, ``num_inducing``, ``status`` (``"ok"``, ``"over
    budget"``, ``"over memory"``, ``"failed: …"``, or ``"unfinished"``), ``sessions``, ``rounds``;
    median and quartiles ``step``, ``step_low``, ``step_high`` and the first call ``first_step``, in
    seconds, and the same for ``prediction`` and ``prediction_ba``; ``memory`` (MiB that a step
    takes at its peak, beyond the libraries); ``operations`` (multiply–adds on paper); and
    ``step_rounds``, ``prediction_rounds``, ``prediction_ba_rounds``: a list for each session.

    ``frame.attrs`` is the header: ``settings``, ``machine``, and ``load``, how many programs wanted
    a processor when the sweep began.
    """
    by_cell: dict[tuple, list[Measurement]] = {}
    for measurement in measurements:
        by_cell.setdefault(measurement.cell, []).append(measurement)
    rows = [
        _row(model, size, by_cell.get((model, size.classes, size.num_data, size.num_inducing), []))
        for model in settings.models
        for size in settings.sizes()
    ]
    frame = pd.DataFrame(rows)
    frame.attrs = {**header, "settings": _plain(settings)}
    return frame


def _row(model: str, size: Size, found: list[Measurement]) -> dict[str, Any]:
    last = {each.quantity: each.value for each in reversed(found)}  # of the first session
    rounds = {quantity: _by_session(found, quantity) for quantity in QUANTITIES}
    complete = {each.session for each in found if each.quantity == "spent"}
    row: dict[str, Any] = {
        "model": model,
        "classes": size.classes,
        "num_data": size.num_data,
        "num_inducing": size.num_inducing,
        "status": last.get("status", "ok" if complete else "unfinished"),
        "sessions": len(rounds["step"]),
        "rounds": sum(map(len, rounds["step"])),
    }
    for quantity, times in rounds.items():
        low, median, high = _quartiles(times)
        row |= {quantity: median, f"{quantity}_low": low, f"{quantity}_high": high}
        row[f"first_{quantity}"] = last.get(f"first_{quantity}", np.nan)
    row["memory"] = last.get("memory", np.nan)
    row["operations"] = sum(operations(model, size).values())
    return row | {f"{quantity}_rounds": times for quantity, times in rounds.items()}


def _by_session(found: Iterable[Measurement], quantity: str) -> list[list[float]]:
    sessions: dict[int, list[float]] = {}
    for each in found:
        if each.quantity == quantity:
            sessions.setdefault(each.session, []).append(float(each.value))
    return list(sessions.values())


def _quartiles(times: list[list[float]]) -> tuple[float, float, float]:
    if not times:
        return np.nan, np.nan, np.nan
    low, median, high = np.percentile(np.concatenate(times), [25, 50, 75])
    return float(low), float(median), float(high)


def _parse(path: Path) -> tuple[dict[str, Any], list[Measurement], int]:
    """Header, measurements, and the number of bytes that hold whole lines."""
    content = path.read_bytes()
    complete = content.rfind(b"\n") + 1
    expected = "a file written by timing.sweep"
    try:
        first, _, rest = content[:complete].decode("utf-8").partition("\n")
        header = json.loads(first.removeprefix("# "))
        rows = list(csv.reader(io.StringIO(rest)))
        if not first.startswith("# ") or rows[:1] != [COLUMNS] or "settings" not in header:
            fail("file", expected, path.name)
        measurements = [_measurement(row) for row in rows[1:]]
    except (ValueError, KeyError, TypeError) as error:
        if str(error).startswith("file:"):
            raise
        fail("file", expected, f"{path.name}, in which {error}")
    return header, measurements, complete


def _measurement(row: list[str]) -> Measurement:
    model, *numbers, quantity, value = row
    classes, num_data, num_inducing, session = map(int, numbers)
    known = value if quantity == "status" else float(value)
    return Measurement(model, classes, num_data, num_inducing, session, quantity, known)


def _line(values: Iterable[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(
        f"{value:.6g}" if isinstance(value, float) else value for value in values
    )
    return text.getvalue()


def _append(path: Path, text: str) -> None:
    """Add whole lines in one write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, text.encode("utf-8"))
    finally:
        os.close(descriptor)


def _plain(settings: Settings) -> dict[str, Any]:
    """The settings as JSON gives them back."""
    return json.loads(json.dumps(asdict(settings)))
