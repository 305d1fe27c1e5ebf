"""The checkpoint of a running fit: one file, replaced in one move, that resumes the same run.

It holds arrays and one JSON text: the settings and a digest of the data, which must agree with
those of the call that resumes it, the history, and all that the rest of the run depends on.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz import files
from etgp_viz.backend import Tensor

__all__ = ["Checkpoint"]

History = dict[str, list[Any]]
State = dict[str, list[np.ndarray]]


class Checkpoint:
    """The file of one run.

    Parameters
    ----------
    path : the file
    seconds : least time between two saves
    settings : what a later call must share to resume, as JSON values
    data : name → arrays that it must share too
    """

    def __init__(
        self,
        path: str | Path,
        seconds: float,
        settings: Mapping[str, Any],
        data: Mapping[str, Sequence[Tensor] | None],
    ) -> None:
        self.path = Path(path)
        self.seconds = seconds
        digests = {name: _digest(arrays) for name, arrays in data.items()}
        self.settings = json.loads(json.dumps({**settings, **digests}))
        self.saved_at = time.perf_counter()

    def load(self) -> tuple[History, State] | None:
        """The history and the state that `save` was given; None if there is no file yet.

        A file that is damaged or belongs to another run is a ValueError.
        """
        if not self.path.exists():
            return None
        try:
            arrays = files.read_arrays(self.path)
            stored = json.loads(str(arrays.pop("settings")))
        except files.UNREADABLE as error:
            raise ValueError(
                f"checkpoint: expected a file written by fit, got an unreadable {self.path.name} "
                f"({type(error).__name__}); remove it to start afresh"
            ) from error
        different = [key for key in self.settings if stored.get(key) != self.settings[key]]
        if different:
            raise ValueError(
                "checkpoint: expected the model, data and settings that this call has, got "
                f"{self.path.name} of a run with another "
                + ", ".join(
                    _difference(key, stored.get(key), self.settings[key]) for key in different
                )
            )
        history: History = {}
        state: State = {}
        for key, array in arrays.items():
            group, name = key.split(".")
            if group == "history":
                history[name] = array.tolist()
            else:
                state.setdefault(group, []).append(array)  # in the order they were written
        return history, state

    def save(
        self,
        history: Mapping[str, Sequence[float]],
        state: Mapping[str, Sequence[Any]],
        now: bool = False,
    ) -> None:
        """Replace the file, unless the last save is too recent and `now` is false.

        Parameters
        ----------
        history : name → numbers, one per epoch or fewer
        state : name → variables or tensors in a fixed order
        now : save even if the last save was recent
        """
        if not now and time.perf_counter() - self.saved_at < self.seconds:
            return
        arrays: dict[str, Any] = {"settings": json.dumps(self.settings)}
        arrays |= {f"history.{name}": np.asarray(values) for name, values in history.items()}
        for name, tensors in state.items():
            arrays |= {f"{name}.{i}": np.asarray(tensor) for i, tensor in enumerate(tensors)}
        files.write_arrays(self.path, arrays)
        self.saved_at = time.perf_counter()


def _digest(data: Sequence[Tensor] | None) -> str | None:
    """A fingerprint of a data set: shapes, dtypes and values."""
    if data is None:
        return None
    digest = hashlib.blake2b(digest_size=16)
    for array in map(np.asarray, data):
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _difference(key: str, stored: Any, current: Any) -> str:
    short = all(isinstance(value, (int, float, str, type(None))) for value in (stored, current))
    return f"{key} (there {stored!r}, here {current!r})" if short else key
