"""The states that *undo* returns to, and a walk along one control."""

import dataclasses
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etgp_viz.explorers.base import Explorer

MAX_PAST = 100
# Seconds: moves of the same control that follow each other sooner, as in a drag, are one change.
ONE_CHANGE = 1.0


class History:
    """States of an explorer, the latest one last.

    >>> from etgp_viz.explorers.flow import FlowState
    >>> history = History(FlowState())
    >>> for seed in (1, 2, 3):
    ...     history.note(FlowState(seed=seed), now=0.1 * seed)
    >>> history.note(FlowState(seed=3, at=1.0), now=0.4)
    >>> history.back().seed, history.back().seed
    (3, 0)
    """

    def __init__(self, state: Any) -> None:
        self._past: list[Any] = []
        self._state = state
        self._changed: set[str] = set()
        self._when = -ONE_CHANGE

    def note(self, state: Any, now: float | None = None) -> None:
        """Take note of the state at a time in seconds, by default the present one."""
        changed = {field.name for field in dataclasses.fields(state)
                   if getattr(state, field.name) != getattr(self._state, field.name)}  # fmt: skip
        now = time.monotonic() if now is None else now
        if not changed:
            return
        if changed != self._changed or now - self._when > ONE_CHANGE:
            self._past = [*self._past[1 - MAX_PAST :], self._state]
        self._state, self._changed, self._when = state, changed, now

    def back(self) -> Any:
        """The state before the last change, which is forgotten; the first state stays."""
        if self._past:
            self._state, self._changed = self._past.pop(), set()
        return self._state


def walk(explorer: "Explorer", name: str = "") -> tuple[str, Iterator[tuple[int, str, bool]]]:
    """The label of a control and a walk along it: see `Explorer.tour`."""
    if not name:
        specs, state = explorer._specs, explorer.state
        name = next(field for field in explorer.handout if specs[field].when(state))
    return explorer._specs[name].label, _stops(explorer, name)


def _stops(explorer: "Explorer", name: str) -> Iterator[tuple[int, str, bool]]:
    spec, start = explorer._specs[name], getattr(explorer.state, name)
    values = spec.positions(start)
    here = values.index(start)
    for way in (range(here, len(values)), range(here - 1, -1, -1), ()):
        explorer._move({name: start}, refit=True)
        for position in way:
            explorer.set(**{name: values[position]})
            yield position, spec.format_value(values[position]), position == here
