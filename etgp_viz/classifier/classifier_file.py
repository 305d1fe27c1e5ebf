"""A trained classifier in a file, read without executing anything and without trusting it.

The file is NumPy's ``.npz``, not compressed: the parameters of the model, the labels, what scales
the inputs, and a header of JSON text. A file from elsewhere can at worst be refused: arrays may not
hold Python objects, nothing is unpacked that is larger than the file itself, and a network is only
built if the file holds numbers enough to fill it.
"""

from __future__ import annotations

import json
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz.core.checkpoints import UNREADABLE, write

__all__ = ["load", "save"]

FORMAT = "etgp_viz.ETGPClassifier"
VERSION = 1
PARAMETER = "parameter"  # in front of the GPflow path of each parameter
Z = f"{PARAMETER}.inducing_variable.Z"


def save(classifier: Any, path: Path) -> None:
    """Write a trained `ETGPClassifier`, in one move."""
    state = classifier.__getstate__()  # with the model's parameters as arrays
    labels = state["classes_"]
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "biufU":
        raise ValueError(
            f"classes_: expected labels that are strings, numbers or booleans, got {labels.dtype}"
        )
    params = classifier.get_params()
    params["hidden"] = tuple(np.atleast_1d(np.asarray(params["hidden"], dtype=int)).tolist())
    if not isinstance(params["random_state"], (int, type(None))):
        params["random_state"] = None  # a generator's state says nothing about the trained model
    header = {
        "format": FORMAT,
        "version": VERSION,
        "params": params,
        "jitter": state["_jitter"],
        "labels": state["classes_"].dtype.kind,
    }
    arrays = {
        "header": np.array(json.dumps(header, default=_plain)),
        "classes": labels,
        "mean": state["mean_"],
        "scale": state["scale_"],
    }
    if "feature_names_in_" in state:
        arrays["feature_names"] = state["feature_names_in_"].astype(str)
    arrays |= {PARAMETER + path: value for path, value in state["model_"].items()}
    write(path, arrays)


def load(cls: Any, path: Path) -> Any:
    """Read a classifier of class ``cls``; any file that `save` did not write is a ValueError."""
    try:
        arrays = _read(path)
        header = json.loads(str(arrays.pop("header")))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError("it holds something else")
        if header["version"] != VERSION:
            raise ValueError(
                f"it has version {header['version']} of the format, and this package reads "
                f"{VERSION}"
            )
        return _classifier(cls, header, arrays)
    except (*UNREADABLE, TypeError, AttributeError, MemoryError, OverflowError) as error:
        raise ValueError(
            f"path: expected a file written by ETGPClassifier.save, got {path}: {error}"
        ) from error


def _read(path: Path) -> dict[str, np.ndarray]:
    """All arrays of the file, if none is packed or longer than the file itself."""
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("its arrays are compressed")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its arrays are longer than the file")
    with np.load(path, allow_pickle=False) as file:
        return dict(file.items())


def _classifier(cls: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    params = dict(header["params"])
    unknown = set(params) ^ set(cls().get_params())
    if unknown:
        raise ValueError(f"its settings differ in {', '.join(sorted(unknown))}")
    params["hidden"] = tuple(params["hidden"])
    classes, mean, scale = arrays["classes"], arrays["mean"], arrays["scale"]
    C, D = len(classes), len(mean)
    if classes.ndim != 1 or C < 2 or mean.shape != (D,) or scale.shape != (D,):
        raise ValueError("its labels or scales have the wrong shape")
    if arrays[Z].ndim != 2 or arrays[Z].shape[1] != D:
        raise ValueError("its inducing points have the wrong shape")
    for key, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{key} is not finite")
    model = {k.removeprefix(PARAMETER): v for k, v in arrays.items() if k.startswith(PARAMETER)}
    weights = sum(a * b for a, b in pairwise([D, *params["hidden"], C]))
    if weights > sum(array.size for array in model.values()):
        raise ValueError("its network has more weights than the file holds")
    state = {
        **params,
        "classes_": classes.astype(object) if header["labels"] == "O" else classes,
        "mean_": mean,
        "scale_": scale,
        "n_features_in_": D,
        "history_": None,
        "model_": model,
        "_jitter": float(header["jitter"]),
    }
    if "feature_names" in arrays:
        state["feature_names_in_"] = arrays["feature_names"].astype(object)
    classifier = cls()
    classifier.__setstate__(state)
    return classifier


def _plain(value: Any) -> Any:
    """NumPy's numbers as JSON takes them."""
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"cannot be saved: a setting of type {type(value).__name__}")
