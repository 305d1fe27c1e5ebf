"""What a sweep measures: its settings, its file, and the table made from it.

The file is an `etgp_viz.files.GrowingTable`, one measurement a line, whose header holds the machine
and the settings.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from etgp_viz.checks import (
    check_choice,
    check_count,
    check_list,
    check_nonnegative,
    check_optional,
    check_positive,
    fail,
)
from etgp_viz.files import GrowingTable, TableContents, csv_line, probe, reason
from etgp_viz.rivals.names import PREDICTIVE_DRAWS
from etgp_viz.timing.contestants import MODELS, Size, operations

__all__ = [
    "REFERENCE",
    "Log",
    "Measurement",
    "Settings",
    "describe_machine",
    "read",
    "reference",
    "tabulate",
]

PACKAGES = ("etgp-viz", "gpflow", "tensorflow", "tensorflow-probability", "numpy", "gpytorch")

#: what is timed round by round, if the model can do it
QUANTITIES = ("step", "prediction", "prediction_ba")

#: draws of a Monte Carlo prediction in races whose file does not say so, those of version 0.1
EARLIER_DRAWS = 100

#: the largest C, N, M, D and number of rounds that can be raced
MAX_SIZE = 10**7

#: the folder of the runs that come with the package
REFERENCE = Path(__file__).parents[1] / "reference"


@dataclass(frozen=True)
class Settings:
    """What two runs must share for their measurements to belong together.

    The attributes are parameters of `etgp_viz.timing.sweep`; every combination of C, N and M is
    raced.

    Examples
    --------
    >>> from etgp_viz import timing
    >>> settings = timing.Settings(
    ...     models=("etgp-linear",), classes=(10, 2), num_data=(100,), num_inducing=(10,),
    ...     num_inputs=1, repeats=5, sessions=2, budget=60.0, memory=False, memory_limit=None,
    ... )
    >>> [size.classes for size in settings.sizes()]
    [2, 10]
    >>> [settings.rounds(session) for session in range(2)]
    [3, 2]
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
        least = {"classes": 2, "num_data": 2, "num_inducing": 1}
        for name in ("models", *least):
            values = tuple(check_list(getattr(self, name), name, "one or more different values"))
            if name == "models":
                values = tuple(check_choice(value, name, tuple(MODELS)) for value in values)
            else:  # without NumPy's integers: JSON has none
                values = tuple(check_count(value, name, least[name], MAX_SIZE) for value in values)
            if not values or len(set(values)) < len(values):
                fail(name, "one or more different values", repr(values))
            object.__setattr__(self, name, values)
        check_count(
            max(self.num_inducing), "num_inducing", maximum=min(self.num_data), because="num_data"
        )
        single = {
            "num_inputs": check_count(self.num_inputs, "num_inputs", maximum=MAX_SIZE),
            "repeats": check_count(self.repeats, "repeats", maximum=MAX_SIZE),
            "sessions": check_count(
                self.sessions, "sessions", maximum=self.repeats, because="repeats"
            ),
            "budget": check_positive(self.budget, "budget"),
            "memory": check_choice(self.memory, "memory", (True, False)),
            "memory_limit": check_optional(check_positive, self.memory_limit, "memory_limit"),
        }
        for name, value in single.items():
            object.__setattr__(self, name, value)

    def sizes(self) -> Iterator[Size]:
        """Every combination of C, N and M, small ones first."""
        for N, M, C in product(*map(sorted, (self.num_data, self.num_inducing, self.classes))):
            yield Size(C, N, M, self.num_inputs)

    def rounds(self, session: int) -> int:
        """Number of rounds in one session: `repeats` split as evenly as possible."""
        return self.repeats // self.sessions + (session < self.repeats % self.sessions)


@dataclass(frozen=True)
class Measurement:
    """One number (or, for the quantity ``"status"``, one phrase) about one cell.

    Quantities are those of `QUANTITIES` in seconds, each with a ``"first_…"`` call apart;
    ``"build"`` in seconds; ``"memory"`` in MiB; ``"prediction_error"``, a probability; ``"spent"``,
    the seconds that a session took, which also marks it as complete; and ``"status"``.
    """

    model: str
    classes: int
    num_data: int
    num_inducing: int
    session: int
    quantity: str
    value: float | str

    @classmethod
    def from_row(cls, row: Mapping[str, str]) -> Measurement:
        """The measurement of a row of text."""
        model, *counts, quantity, value = (row[name] for name in COLUMNS)
        classes, num_data, num_inducing, session = map(int, counts)
        number = value if quantity == "status" else float(value)
        return cls(model, classes, num_data, num_inducing, session, quantity, number)

    @property
    def cell(self) -> tuple[str, int, int, int]:
        """Model, C, N and M."""
        return self.model, self.classes, self.num_data, self.num_inducing


COLUMNS = [field.name for field in fields(Measurement)]


def describe_machine() -> dict[str, Any]:
    """Processor, memory, system and versions; no names of hosts, people or folders."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": platform.system(),
        "versions": versions,
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        name = re.search(r"model name\s*:\s*(.+)", text)
        return name.group(1).strip() if name else platform.machine()
    return platform.processor() or platform.machine()


class Log:
    """The measurements of a sweep, in memory and, if it has a path, in a file.

    With ``resume`` an existing file is continued; without, it is an error.
    """

    def __init__(
        self, settings: Settings, path: str | Path | None = None, resume: bool = False
    ) -> None:
        self.settings = settings
        self.header = {
            "machine": describe_machine(),
            "settings": _as_json(settings),
            "predictive_draws": PREDICTIVE_DRAWS,
            "load": round(psutil.getloadavg()[0], 1),
        }
        self.measurements: list[Measurement] = []
        self._failed: dict[tuple, int] = {}  # cells that failed in an earlier race: try them again
        self._file = None if path is None else _file(path)
        if self._file is None:
            return
        if os.path.exists(self._file.path) and not resume:
            fail("out", "a new file, or resume to continue this one", self._file.path.name)
        if self._file.has_begun:
            with self.locked():
                pass
        else:
            probe(self._file.path, "out")
            self._file.begin(self.header)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other races away from the file, and read what it holds by now."""
        if self._file is None:
            yield
            return
        with self._file.locked():
            self._resume(self._file)
            yield

    def _resume(self, file: GrowingTable) -> None:
        contents, self.measurements = _parse(file)
        self._failed = _ends_of_failures(self.measurements)
        for part in ("machine", "settings"):
            current, stored = self.header[part], contents.header.get(part, {})
            changes = [key for key in current if stored.get(key) != current[key]]
            if changes:
                text = ", ".join(f"{k} (there {stored.get(k)}, here {current[k]})" for k in changes)
                fail("resume", f"a file with the same {part}", f"{file.path.name} with {text}")
        self.header = contents.header
        file.truncate(contents.end)

    @property
    def predictive_draws(self) -> int:
        """Draws of a prediction by Monte Carlo; a file is continued with those it began with."""
        return self.header.get("predictive_draws", EARLIER_DRAWS)

    def add(self, measurement: Measurement) -> None:
        """Keep a measurement, rounded in memory as it is in the file."""
        values = astuple(measurement)
        text = next(csv.reader([csv_line(values)]))
        self.measurements.append(Measurement.from_row(dict(zip(COLUMNS, text, strict=True))))
        if self._file is not None:
            self._file.add([values])

    def of_cell(self, cell: tuple[str, int, int, int]) -> list[Measurement]:
        """The measurements of one model, C, N and M, without an attempt that is to be repeated.

        What killed a process in an earlier race may not do so again.
        """
        begin = self._failed.get(cell, 0)
        return [item for item in self.measurements[begin:] if item.cell == cell]

    def table(self) -> pd.DataFrame:
        """The table so far."""
        return tabulate(_last_attempts(self.measurements), self.settings, self.header)


def read(path: str | Path) -> pd.DataFrame:
    """The table of a sweep's file, also of an unfinished one.

    Parameters
    ----------
    path : what `etgp_viz.timing.sweep` wrote to ``out``, in this version or in 0.1

    Returns
    -------
    data frame : one row per model and size, see `tabulate`

    Examples
    --------
    >>> from importlib.resources import files
    >>> from etgp_viz import timing
    >>> shipped = files("etgp_viz") / "reference" / "timing_classes.csv"
    >>> len(timing.read(str(shipped))) == len(timing.reference())
    True
    """
    file = _file(path)
    contents, measurements = _parse(file)
    header = contents.header
    try:
        settings = Settings(**header["settings"])
        check_nonnegative(header.get("load", 0.0), "load")
        check_count(header.get("predictive_draws", EARLIER_DRAWS), "predictive_draws")
        _ = {**header.get("machine", {})}
    except (TypeError, ValueError) as error:
        fail(file.argument, file.kind, f"{file.path.name} with another header ({reason(error)})")
    return tabulate(_last_attempts(measurements), settings, header)


def reference(over: str = "classes") -> pd.DataFrame:
    """The race that comes with the package; ``attrs["machine"]`` says where it was run.

    It was run with version 0.1.0 (``attrs["machine"]["versions"]``), which lacked SVGP batched
    shared and SVGP robust-max, and timed a bare step of Adam. Races now time the step that
    `etgp_viz.fit` takes, which also checks that the loss and the gradients are finite. The two take
    the same time within measurement noise: in turns in one process (LINEAR and SVGP batched, C = 10
    and 153) the median ratio was between 0.98 and 1.02.

    Parameters
    ----------
    over : ``"classes"``, or ``"num_inducing"`` or ``"num_data"`` for the panels over M and N

    Returns
    -------
    data frame : one row per model and size, see `tabulate`

    Examples
    --------
    >>> from etgp_viz import timing
    >>> table = timing.reference()
    >>> table.loc[table["model"] == "etgp-linear", "classes"].tolist()[:5]
    [2, 5, 10, 20, 50]
    """
    panels = {path.stem.removeprefix("timing_"): path for path in REFERENCE.glob("timing_*.csv")}
    return read(panels[check_choice(over, "over", sorted(panels))])


def tabulate(
    measurements: Iterable[Measurement], settings: Settings, header: Mapping[str, Any]
) -> pd.DataFrame:
    """One row per model and size, in the order of the settings.

    Parameters
    ----------
    measurements, settings : of the same sweep
    header : becomes ``attrs`` of the table, with the settings: ``settings``, ``machine``, and
        ``load``, how many programs wanted a processor when the sweep began; ``predictive_draws``,
        the draws of every prediction by Monte Carlo

    Returns
    -------
    data frame : ``model``, ``classes``, ``num_data``, ``num_inducing``, ``status`` (``"ok"``,
        ``"over budget"``, ``"over memory"``, ``"failed: …"`` or ``"unfinished"``), ``sessions``,
        ``rounds``; median and quartiles ``step``, ``step_low``, ``step_high`` and the first call
        ``first_step``, in seconds, and the same for ``prediction`` and ``prediction_ba``;
        ``memory`` (MiB that a step takes at its peak, beyond the libraries); ``operations``
        (multiply–adds on paper); ``prediction_error``, the largest standard error that the draws of
        a Monte Carlo prediction leave in a class probability; and ``step_rounds``,
        ``prediction_rounds``, ``prediction_ba_rounds``: one list per session

    Examples
    --------
    >>> from etgp_viz import timing
    >>> settings = timing.Settings(
    ...     models=("etgp-linear",), classes=(2, 10), num_data=(100,), num_inducing=(10,),
    ...     num_inputs=1, repeats=5, sessions=1, budget=60.0, memory=False, memory_limit=None,
    ... )
    >>> timing.tabulate([], settings, {})["status"].tolist()
    ['unfinished', 'unfinished']
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
    earlier = {"predictive_draws": EARLIER_DRAWS}
    frame.attrs = {**earlier, **header, "settings": _as_json(settings)}
    return frame


def _row(model: str, size: Size, measurements: list[Measurement]) -> dict[str, Any]:
    first = {item.quantity: item.value for item in reversed(measurements)}
    sessions: dict[str, dict[int, list[float]]] = {quantity: {} for quantity in QUANTITIES}
    for item in measurements:
        if item.quantity in sessions:
            sessions[item.quantity].setdefault(item.session, []).append(float(item.value))
    rounds = {quantity: list(times.values()) for quantity, times in sessions.items()}
    row: dict[str, Any] = {
        "model": model,
        "classes": size.classes,
        "num_data": size.num_data,
        "num_inducing": size.num_inducing,
        "status": first.get("status", "ok" if "spent" in first else "unfinished"),
        "sessions": len(rounds["step"]),
        "rounds": sum(map(len, rounds["step"])),
    }
    for quantity, times in rounds.items():
        all_times = np.concatenate(times) if times else [np.nan]
        low, median, high = np.percentile(all_times, [25, 50, 75]).tolist()
        row |= {quantity: median, f"{quantity}_low": low, f"{quantity}_high": high}
        row[f"first_{quantity}"] = first.get(f"first_{quantity}", np.nan)
    row["memory"] = first.get("memory", np.nan)
    row["prediction_error"] = first.get("prediction_error", np.nan)
    row["operations"] = sum(operations(model, size).values())
    return row | {f"{quantity}_rounds": times for quantity, times in rounds.items()}


def _file(path: str | Path) -> GrowingTable:
    return GrowingTable(path, COLUMNS, "file", "a file written by timing.sweep")


def _parse(file: GrowingTable) -> tuple[TableContents, list[Measurement]]:
    """The contents of a file and its rows as measurements."""
    contents = file.read()
    if not isinstance(contents.header.get("settings"), dict):
        fail(file.argument, file.kind, f"{file.path.name} without settings")
    measurements = []
    for number, row in enumerate(contents.rows):
        try:
            measurements.append(Measurement.from_row(row))
        except ValueError:
            file.fail_at(number)
    return contents, measurements


def _ends_of_failures(measurements: list[Measurement]) -> dict[tuple, int]:
    """Cell → number of measurements up to the last attempt at it that failed."""
    return {
        item.cell: place
        for place, item in enumerate(measurements, start=1)
        if item.quantity == "status" and str(item.value).startswith("failed")
    }


def _last_attempts(measurements: list[Measurement]) -> list[Measurement]:
    """The measurements without attempts that failed and were repeated."""
    ends = _ends_of_failures(measurements)
    is_last = [place >= ends.get(item.cell, 0) for place, item in enumerate(measurements)]
    pairs = list(zip(measurements, is_last, strict=True))
    repeated = {item.cell for item, last in pairs if last}
    return [item for item, last in pairs if last or item.cell not in repeated]


def _as_json(settings: Settings) -> dict[str, Any]:
    """The settings as they come back from JSON."""
    return json.loads(json.dumps(asdict(settings)))
