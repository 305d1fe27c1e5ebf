"""Checkpoints of a running fit: one file, written atomically, read without executing anything.

The file is NumPy's ``.npz``: every array that the trajectory depends on, and the settings of the
run as JSON text. One file, so that a kill never leaves half of a checkpoint; no pickle, so that a
file from elsewhere cannot run code.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz.backend import tf

__all__ = ["UNREADABLE", "data_digest", "load", "save", "write"]

UNREADABLE = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)


def data_digest(data: Sequence[tf.Tensor] | None) -> str | None:
    """Return a fingerprint of a data set: shapes, dtypes and values."""
    if data is None:
        return None
    digest = hashlib.blake2b(digest_size=16)
    for array in map(np.asarray, data):
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def save(
    path: Path,
    settings: Mapping[str, Any],
    history: Mapping[str, Sequence[float]],
    state: Mapping[str, Sequence[Any]],
) -> None:
    """Write a checkpoint in place of the one before.

    Parameters
    ----------
    path : the file
    settings : what a later call must share to resume, as JSON values
    history : name → numbers, one per epoch or fewer
    state : name → variables or tensors in a fixed order
    """
    arrays: dict[str, Any] = {"settings": json.dumps(settings)}
    arrays |= {f"history.{name}": np.asarray(values) for name, values in history.items()}
    for name, tensors in state.items():
        arrays |= {f"{name}.{i}": np.asarray(tensor) for i, tensor in enumerate(tensors)}
    write(path, arrays)


def write(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write an ``.npz`` file in one move: at every moment there is the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def load(
    path: Path, settings: Mapping[str, Any]
) -> tuple[dict[str, list[Any]], dict[str, list[np.ndarray]]]:
    """Read the history and the state that ``save`` was given, if they belong to ``settings``."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file.items())
        theirs = json.loads(str(arrays.pop("settings")))
    except UNREADABLE as error:
        raise ValueError(
            f"checkpoint: expected a file written by fit, got an unreadable {path.name} "
            f"({type(error).__name__}); remove it to start afresh"
        ) from error
    ours = json.loads(json.dumps(settings))
    different = [key for key in ours if theirs.get(key) != ours[key]]
    if different:
        raise ValueError(
            "checkpoint: expected the model, data and settings that this call has, got "
            f"{path.name} of a run with another "
            + ", ".join(_difference(key, theirs.get(key), ours[key]) for key in different)
        )
    history: dict[str, list[Any]] = {}
    state: dict[str, list[np.ndarray]] = {}
    for key, array in arrays.items():
        group, name = key.split(".")
        if group == "history":
            history[name] = array.tolist()
        else:
            state.setdefault(group, []).append(array)  # in the order they were written
    return history, state


def _difference(key: str, theirs: Any, ours: Any) -> str:
    short = all(isinstance(value, (int, float, str, type(None))) for value in (theirs, ours))
    return f"{key} (there {theirs!r}, here {ours!r})" if short else key
