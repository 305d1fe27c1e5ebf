"""The checkpoint of a fit: what a later call with the same model, data and settings resumes."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz.files.whole import UNREADABLE, probe, read_arrays, reason, write_arrays

__all__ = ["Checkpoint"]


class Checkpoint:
    """The file of one run: named groups of arrays, and one JSON text of what a run must share.

    Parameters
    ----------
    path : the file
    seconds : least time between two saves
    settings, data : JSON values and, by name, arrays; a later call must share all to resume
    """

    def __init__(
        self,
        path: str | Path,
        seconds: float,
        settings: Mapping[str, Any],
        data: Mapping[str, Sequence[Any] | None],
    ) -> None:
        self.path = probe(path, "checkpoint")
        self.seconds = seconds
        digests = {name: arrays and _digest(arrays) for name, arrays in data.items()}
        self.settings = json.loads(json.dumps({**settings, **digests}))
        self.saved_at = time.perf_counter()

    def load(self, like: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, np.ndarray]] | None:
        """The groups that `save` was given, in the same order; None if there is no file yet.

        A file that is damaged or belongs to another run is a ValueError. The arrays of the groups
        in ``like`` must have the shapes of those there, so that a model never gets some of them.
        """
        if not self.path.exists():
            return None
        try:
            arrays = read_arrays(self.path)
            stored = dict(json.loads(str(arrays.pop("settings"))))
            groups: dict[str, dict[str, np.ndarray]] = {}
            for key, array in arrays.items():
                group, name = key.split(".")
                groups.setdefault(group, {})[name] = array
        except UNREADABLE as error:
            raise self._unreadable(type(error).__name__) from error
        pairs = {key: (stored.get(key), value) for key, value in self.settings.items()}
        different = [_difference(key, *pair) for key, pair in pairs.items() if pair[0] != pair[1]]
        if different:
            raise ValueError(
                "checkpoint: expected the model, data and settings that this call has, got "
                f"{self.path.name} of a run with another {', '.join(different)}"
            )
        for group, expected in like.items():
            shapes = [array.shape for array in groups.get(group, {}).values()]
            if shapes != [tuple(array.shape) for array in expected]:
                raise self._unreadable(f"another number or shape of arrays in {group}")
        return groups

    def _unreadable(self, why: str) -> ValueError:
        return ValueError(
            f"checkpoint: expected a file written by fit, got an unreadable {self.path.name} "
            f"({why}); remove it to start afresh"
        )

    def save(self, groups: Mapping[str, Mapping[Any, Any]], now: bool = False) -> None:
        """Replace the file by groups of named arrays; if the last save is recent, only `now`.

        A file that cannot be written is a warning: hours of training are worth more than it.
        """
        if not now and time.perf_counter() - self.saved_at < self.seconds:
            return
        arrays: dict[str, Any] = {"settings": json.dumps(self.settings)}
        for group, members in groups.items():
            arrays |= {f"{group}.{name}": np.asarray(array) for name, array in members.items()}
        try:
            write_arrays(self.path, arrays)
        except OSError as error:
            warnings.warn(
                f"checkpoint: {self.path.name} could not be written ({reason(error)}); training "
                "goes on, and the file is as it was",
                RuntimeWarning,
                stacklevel=4,
            )
        self.saved_at = time.perf_counter()


def _digest(arrays: Sequence[Any]) -> str:
    """A fingerprint of a data set: shapes, dtypes and values."""
    digest = hashlib.blake2b(digest_size=16)
    for array in map(np.asarray, arrays):
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _difference(key: str, stored: Any, current: Any) -> str:
    short = all(isinstance(value, (int, float, str, type(None))) for value in (stored, current))
    return f"{key} (there {stored!r}, here {current!r})" if short else key
