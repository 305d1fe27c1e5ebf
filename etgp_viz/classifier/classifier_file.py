"""A trained classifier in a file, read without executing anything and without trusting it.

The file is an uncompressed ``.npz`` of NumPy: the parameters of the model, the labels, the means
and scales of the inputs, and a header of JSON text. A file from elsewhere can at worst be refused:
arrays may not hold Python objects, nothing is unpacked that is larger than the file itself, and a
network is only built if the file holds enough numbers to fill it.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz.files import UNREADABLE, read_arrays, write_arrays

__all__ = ["load", "save"]

FORMAT = "etgp_viz.ETGPClassifier"
VERSION = 1
PARAMETER = "parameter"  # in front of the GPflow path of each parameter
Z = f"{PARAMETER}.inducing_variable.Z"


def save(classifier: Any, path: Path) -> None:
    """Write a trained `ETGPClassifier`; an existing file is replaced in one move."""
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
        params["random_state"] = None  # a generator's state is not part of the trained model
    header = {
        "format": FORMAT,
        "version": VERSION,
        "params": params,
        "jitter": state["_jitter"],
        "labels": state["classes_"].dtype.kind,
    }
    arrays = {
        "header": np.array(json.dumps(header, default=_to_json)),
        "classes": labels,
        "mean": state["mean_"],
        "scale": state["scale_"],
    }
    if "feature_names_in_" in state:
        arrays["feature_names"] = state["feature_names_in_"].astype(str)
    arrays |= {PARAMETER + path: value for path, value in state["model_"].items()}
    write_arrays(path, arrays)


def load(cls: Any, path: Path) -> Any:
    """Read a classifier of class ``cls``; any file that `save` did not write is a ValueError."""
    try:
        arrays = read_arrays(path)
        header = json.loads(str(arrays.pop("header")))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError("it holds something else")
        if header["version"] != VERSION:
            raise ValueError(
                f"it has format version {header['version']}, and this package reads version "
                f"{VERSION}"
            )
        return _rebuild(cls, header, arrays)
    except (*UNREADABLE, TypeError, AttributeError, MemoryError, OverflowError) as error:
        raise ValueError(
            f"path: expected a file written by ETGPClassifier.save, got {path}: {error}"
        ) from error


def _rebuild(cls: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The classifier that a file describes, once everything in the file has been checked."""
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


def _to_json(value: Any) -> Any:
    """A NumPy number as the Python number that JSON knows."""
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(
        f"params: expected numbers, strings and tuples, got a setting of type "
        f"{type(value).__name__}, which cannot be saved"
    )
