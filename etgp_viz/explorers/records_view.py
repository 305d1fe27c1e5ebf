"""Records of an explorer that are computed when somebody needs them."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def quickly() -> Iterator[None]:
    """Compute the small arrays of a picture: no checks of shapes, one thread of linear algebra.

    The controls have checked their values. Several threads that share a 200 × 200 matrix wait for
    each other, on a busy machine for a hundred times as long as one of them needs.
    """
    backend = sys.modules.get("etgp_viz.backend")  # shipped results need no TensorFlow
    with _blas().limit(limits=1), nullcontext() if backend is None else backend.unchecked():
        yield


class Records(Mapping[str, Any]):
    """The numbers behind the figures, by the picture's name; a function is called when read."""

    def __init__(self, records: Iterable[tuple[str, Any]]) -> None:
        self._values = dict(records)

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        if callable(value):
            with quickly():
                value = self._values[name] = value()
        return value

    def __setitem__(self, name: str, record: Any) -> None:
        self._values[name] = record

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
