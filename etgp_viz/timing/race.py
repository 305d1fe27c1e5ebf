"""The race: models take turns, round by round, each in its own process.

At each size all models are built and called once. Then they take turns, in a different order each
round, so that a noisy neighbour hits all alike. The rounds are split over sessions: each begins
with fresh processes, since two processes of the same program differ more in speed than two rounds
in one of them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from etgp_viz.checks import check_installed, check_positive, fail
from etgp_viz.timing.contestants import MODELS, Size, bytes_needed
from etgp_viz.timing.log import Log, Measurement, Settings
from etgp_viz.timing.processes import (
    CellError,
    OverBudgetError,
    OverMemoryError,
    Starter,
    available_memory,
)

__all__ = ["Progress", "Race", "sweep"]

GIB = 2**30


@dataclass(frozen=True)
class Progress:
    """How far a race has come: units of work, and what comes next in words.

    Examples
    --------
    >>> step = Progress(done=3, total=12, words="C = 10, round 2 of 5")
    >>> print(f"{step.done / step.total:.0%}: {step.words}")
    25%: C = 10, round 2 of 5
    """

    done: int  # units of work so far
    total: int  # units of the whole race
    words: str  # what comes next


class Race:
    """A race that can be watched, paused and stopped: iterate over it.

    It yields a `Progress` before each piece of work and after the last. Not asking for the next one
    pauses the race; leaving the loop ends its processes. ``table()`` holds the results so far.

    Parameters
    ----------
    settings : what is raced
    out, resume : file that the measurements are added to; continue it if it exists
    time_limit : seconds; a session after the first starts only if it should end within them
    start : makes the context that starts child processes, given their memory limit in bytes
    early : whether a model takes its first timed step as soon as it can, not when all others are
        ready too; for a race that somebody watches

    Examples
    --------
    >>> from etgp_viz import timing
    >>> settings = timing.Settings(
    ...     models=("etgp-linear", "svgp-batched"), classes=(2,), num_data=(9,), num_inducing=(3,),
    ...     num_inputs=1, repeats=5, sessions=1, budget=60.0, memory=False, memory_limit=None,
    ... )
    >>> race = timing.Race(settings)  # `for progress in race: print(progress.words)` runs it
    >>> race.table()["status"].tolist()
    ['unfinished', 'unfinished']
    """

    def __init__(
        self,
        settings: Settings,
        out: str | Path | None = None,
        resume: bool = False,
        time_limit: float | None = None,
        start: Callable[[int], AbstractContextManager[Any]] = Starter,
        early: bool = False,
    ) -> None:
        check_installed()
        if "gpytorch-batched" in settings.models and find_spec("gpytorch") is None:
            fail("models", "models that can run here", "'gpytorch-batched' without gpytorch")
        self.settings = settings
        self._log = Log(settings, out, resume)
        self._time_limit = (
            np.inf if time_limit is None else check_positive(time_limit, "time_limit")
        )
        self._start, self._is_early = start, early
        self._done = 0

    def table(self) -> pd.DataFrame:
        """The table so far, as `etgp_viz.timing.tabulate` describes it."""
        return self._log.table()

    def __iter__(self) -> Generator[Progress]:
        with self._log.locked():  # one race at a time adds to a file
            yield from self._sessions()

    def _sessions(self) -> Generator[Progress]:
        limit = self.settings.memory_limit
        memory = available_memory() // 2 if limit is None else int(limit * GIB)
        self._done = 0
        begun, longest = time.perf_counter(), 0.0
        for session in range(self.settings.sessions):
            elapsed = time.perf_counter() - begun
            if session and elapsed + longest > self._time_limit:
                break
            with self._start(memory) as starter:
                for size in self.settings.sizes():
                    yield from self._race(starter, size, session, memory)
            longest = max(longest, time.perf_counter() - begun - elapsed)
        yield Progress(self._total(), self._total(), "done")

    def _total(self) -> int:
        cells = len(self.settings.models) * len(list(self.settings.sizes()))
        return cells * (self.settings.repeats + self.settings.sessions)

    def _race(self, starter: Any, size: Size, session: int, memory: int) -> Iterator[Progress]:
        """Race all models of one size in one session; each counts its rounds, plus one to start."""
        rounds = self.settings.rounds(session)
        cells = [
            _Cell(model, size, session, self._log)
            for model in self.settings.models
            if not self._is_complete(model, size, session)
        ]
        self._done += (len(self.settings.models) - len(cells)) * (rounds + 1)
        racing = []
        try:
            for cell in cells:
                for words in cell.prepare(starter, memory, self._is_early):
                    yield self._progress(f"{cell.model}, C = {size.classes}: {words}")
                if cell.is_ready:
                    racing.append(cell)
                    self._done += 1
                else:
                    self._done += rounds + 1
            for turn in range(rounds):
                first = turn % max(len(racing), 1)
                for cell in racing[first:] + racing[:first]:
                    yield self._progress(f"C = {size.classes}, round {turn + 1} of {rounds}")
                    cell.take_turn(turn)
                    self._done += 1
            for cell in racing:
                cell.finish()
        finally:
            for cell in cells:
                cell.end()

    def _progress(self, words: str) -> Progress:
        return Progress(self._done, self._total(), words)

    def _is_complete(self, model: str, size: Size, session: int) -> bool:
        """Whether nothing is left to do: the session is complete, failed, or not affordable.

        A further session takes about as long as the longest so far; a cell whose budget does not
        allow that is complete with fewer sessions.
        """
        stored = self._log.of_cell(_cell(model, size))
        if any(item.quantity == "status" for item in stored):
            return True
        spent = {item.session: float(item.value) for item in stored if item.quantity == "spent"}
        needed = max(spent.values(), default=0.0)
        return session in spent or sum(spent.values()) + needed > self.settings.budget


class _Cell:
    """One model at one size in one session."""

    def __init__(self, model: str, size: Size, session: int, log: Log) -> None:
        self.model, self.size, self.session = model, size, session
        self._log = log
        self._settings = log.settings
        stored = log.of_cell(_cell(model, size))
        self._stored = {item.quantity for item in stored}
        self._rounds_done = Counter(item.quantity for item in stored if item.session == session)
        before = sum(float(item.value) for item in stored if item.quantity == "spent")
        self._left = self._settings.budget - before
        self._spent = 0.0
        self._child: Any = None
        self._quantities: list[str] = []
        self.is_ready = False

    def prepare(self, starter: Any, memory: int, early: bool) -> Iterator[str]:
        """Build the model and call it once; yields what comes next, in words."""
        yield "starting"
        if bytes_needed(self.model, self.size) > memory:
            self._fail(OverMemoryError())
            return
        try:
            self._child = starter.child(self.model)
            yield "first step"
            draws = self._log.predictive_draws
            built = self._ask(do="build", model=self.model, size=asdict(self.size), draws=draws)
            self._record_once("build", built["value"])
            self._quantities = built["quantities"]
            first = self._ask(do="first", quantity="step")["value"]
            self._record_once("first_step", first)
            if early and not self._rounds_done["step"]:
                self._record("step", self._ask(do="time", quantity="step")["value"])
                self._rounds_done["step"] = 1
            yield "first calls"
            if self._settings.memory and "memory" not in self._stored:
                self._record_once("memory", self._ask(do="memory")["value"])
            for quantity in self._quantities[1:]:
                seconds = self._ask(do="first", quantity=quantity)["value"]
                self._record_once(f"first_{quantity}", seconds)
            if MODELS[self.model].is_monte_carlo and "prediction_error" not in self._stored:
                self._record_once("prediction_error", self._ask(do="error")["value"])
            self.is_ready = True
        except CellError as problem:
            self._fail(problem)

    def take_turn(self, turn: int) -> None:
        """Time everything once, unless this round is in the log or the cell has ended."""
        try:
            for quantity in self._quantities:
                if self._child is not None and self._rounds_done[quantity] <= turn:
                    self._record(quantity, self._ask(do="time", quantity=quantity)["value"])
        except CellError as problem:
            self._fail(problem)

    def finish(self) -> None:
        """Mark the session as complete in the log."""
        if self._child is not None:
            self._record("spent", self._spent)

    def end(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

    def _ask(self, **request: Any) -> dict[str, Any]:
        start = time.perf_counter()
        left = self._left - self._spent
        if left <= 0:
            raise OverBudgetError
        answer = self._child.ask(request, start + left)
        self._spent += time.perf_counter() - start
        return answer

    def _fail(self, problem: CellError) -> None:
        """End the process. A problem in the first session is the status of the cell.

        A later session that fails leaves the results of the first.
        """
        self.end()
        if self.session == 0:
            self._record("status", str(problem))
        else:
            self._record("spent", self._settings.budget)

    def _record_once(self, quantity: str, value: float) -> None:
        if quantity not in self._stored:
            self._record(quantity, value)

    def _record(self, quantity: str, value: float | str) -> None:
        cell = _cell(self.model, self.size)
        self._log.add(Measurement(*cell, self.session, quantity, value))


def _cell(model: str, size: Size) -> tuple[str, int, int, int]:
    return model, size.classes, size.num_data, size.num_inducing


def sweep(
    models: Any,
    classes: Any = (2, 10, 50, 153),
    *,
    num_data: Any = 1000,
    num_inducing: Any = 100,
    num_inputs: int = 10,
    repeats: int = 20,
    sessions: int = 3,
    budget: float = 120.0,
    memory: bool = True,
    memory_limit: float | None = None,
    time_limit: float | None = None,
    progress: bool = True,
    callback: Callable[[Progress, pd.DataFrame], Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """Race models against one another as the number of classes grows.

    Each cell, a model at one size, runs in its own process, so that a model which takes too
    much time or memory is ended and reported without harm to this process. A training step is the
    step that `etgp_viz.fit` takes. An interrupt stops the sweep; the measurements so far are in
    ``out``, and the same call with ``resume=True`` finishes it.

    Parameters
    ----------
    models : one or more names from `MODELS`: the ETGPs and ``"tgp"`` as `etgp_viz.build` names
        them, SVGPs with RBF kernels as ``"svgp-separate"``, ``"svgp-shared"``,
        ``"svgp-batched"``, ``"svgp-batched-shared"``, ``"svgp-rbfcorr"``,
        ``"svgp-rbfcorr-once"`` and ``"svgp-robustmax"``, and ``"gpytorch-batched"`` where GPyTorch
        is installed
    classes, num_data, num_inducing : C, N (rows of a training step and of a prediction) and M, one
        or more numbers each
    num_inputs : D
    repeats, sessions : rounds of each cell in all, and fresh processes over which they are split
    budget : seconds for each cell. A cell that cannot finish its first session is
        ``"over budget"``; a cell that cannot afford further sessions has fewer
    memory : measure the peak memory of a step
    memory_limit : GiB for each cell; None for half of what is free
    time_limit : seconds; a session after the first starts only if it should end within them
    progress : show a progress bar
    callback : called with a `Progress` and the table so far, before each piece of work
    out, resume : CSV file to add the measurements to; continue it if it exists

    Returns
    -------
    data frame : one row per model and size, see `tabulate`

    Examples
    --------
    >>> from etgp_viz import timing
    >>> table = timing.sweep(
    ...     "etgp-linear", 2, num_data=20, num_inducing=3, num_inputs=1, repeats=1, sessions=1,
    ...     memory=False, progress=False,
    ... )
    >>> table["status"].tolist()
    ['ok']
    """
    settings = Settings(
        models=(models,) if isinstance(models, str) else tuple(models),
        classes=_numbers(classes),
        num_data=_numbers(num_data),
        num_inducing=_numbers(num_inducing),
        num_inputs=num_inputs,
        repeats=repeats,
        sessions=sessions,
        budget=budget,
        memory=memory,
        memory_limit=memory_limit,
    )
    race = Race(settings, out, resume, time_limit)
    with tqdm(disable=not progress, unit="turn") as bar, closing(iter(race)) as steps:
        for step in steps:
            bar.total = step.total
            bar.update(step.done - bar.n)
            bar.set_description(step.words)
            if callback is not None:
                callback(step, race.table())
    return race.table()


def _numbers(values: Any) -> tuple[Any, ...]:
    return tuple(values) if hasattr(values, "__iter__") else (values,)
