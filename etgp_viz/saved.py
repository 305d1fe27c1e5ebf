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

from etgp_viz.checkpoints import UNREADABLE, write
from etgp_viz.estimator import values

__all__ = ["load", "save"]

FORMAT = "etgp_viz.ETGPClassifier"
VERSION = 1
PARAMETER = "parameter"  # in front of the GPflow path of each parameter
Z = f"{PARAMETER}.inducing_variable.Z"


def save(classifier: Any, path: Path) -> None:
    """Write a trained `ETGPClassifier`, in one move."""
    labels = classifier.classes_
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "biufU":
        raise ValueError(
            f"classes_: expected labels that are strings, numbers or booleans, got {labels.dtype}"
        )
    params = classifier.get_params()
    if not isinstance(params["random_state"], (int, type(None))):
        params["random_state"] = None  # a generator's state says nothing about the trained model
    header = {
        "format": FORMAT,
        "version": VERSION,
        "params": params,
        "jitter": classifier._jitter,
        "labels": classifier.classes_.dtype.kind,
    }
    arrays = {
        "header": np.array(json.dumps(header, default=_plain)),
        "classes": labels,
        "mean": classifier.mean_,
        "scale": classifier.scale_,
    }
    if hasattr(classifier, "feature_names_in_"):
        arrays["feature_names"] = classifier.feature_names_in_.astype(str)
    arrays |= {PARAMETER + key: value for key, value in values(classifier.model_).items()}
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
    classifier = cls(**params)
    classifier._check_params()
    classes, mean, scale = arrays["classes"], arrays["mean"], arrays["scale"]
    C, D = len(classes), len(mean)
    if classes.ndim != 1 or C < 2 or mean.shape != (D,) or scale.shape != (D,):
        raise ValueError("its labels or scales have the wrong shape")
    if arrays[Z].ndim != 2 or arrays[Z].shape[1] != D:
        raise ValueError("its inducing points have the wrong shape")
    stored = sum(array.size for key, array in arrays.items() if key.startswith(PARAMETER))
    if sum(a * b for a, b in pairwise([D, *classifier.hidden, C])) > stored:
        raise ValueError("its network has more weights than the file holds")
    for key, array in arrays.items():
        if key != "classes" and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{key} is not finite")
    classifier.classes_ = classes.astype(object) if header["labels"] == "O" else classes
    classifier.mean_, classifier.scale_ = mean, scale
    classifier.n_features_in_ = D
    if "feature_names" in arrays:
        classifier.feature_names_in_ = arrays["feature_names"].astype(object)
    classifier.history_ = None
    classifier._jitter = float(header["jitter"])
    classifier.rebuild(
        {k.removeprefix(PARAMETER): v for k, v in arrays.items() if k.startswith(PARAMETER)}
    )
    return classifier


def _plain(value: Any) -> Any:
    """NumPy's numbers as JSON takes them."""
    if isinstance(value, np.generic):
        return value.item()
    raise ValueError(f"cannot be saved: a setting of type {type(value).__name__}")
