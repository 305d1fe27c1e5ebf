"""Records of an explorer that are computed when somebody needs them."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def unchecked() -> AbstractContextManager[Any]:
    """A context in which models do not check shapes.

    Explorers of shipped results have no model, and work without TensorFlow.
    """
    backend = sys.modules.get("etgp_viz.backend")
    return nullcontext() if backend is None else backend.unchecked()


class Records(Mapping[str, Any]):
    """The numbers behind the figures, by the picture's name; a function is called when read."""

    def __init__(self, records: Iterable[tuple[str, Any]]) -> None:
        self._values = dict(records)

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        if callable(value):
            with unchecked():  # the controls have checked their values
                value = self._values[name] = value()
        return value

    def __setitem__(self, name: str, record: Any) -> None:
        self._values[name] = record

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
