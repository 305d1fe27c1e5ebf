"""What `ETGPClassifier` and `ETGPRegressor` share: settings, training, and their file.

The file is an uncompressed ``.npz`` of NumPy: the parameters of the model, what the estimator
knows of its targets, the means and scales of the inputs, and a header of JSON text. A file from
elsewhere can at worst be refused: arrays may not hold Python objects, nothing is unpacked that is
larger than the file itself, and a network is only built if the file holds enough numbers to fill
it.
"""

from __future__ import annotations

import json
import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from etgp_viz.checks import (
    check_choice,
    check_count,
    check_counts,
    check_fraction,
    check_nonnegative,
    check_optional,
    check_path,
    check_positive,
    fail,
)
from etgp_viz.extensions.options import Options
from etgp_viz.files import UNREADABLE, read_arrays, reason, write_arrays
from etgp_viz.rivals.names import ALL_FLOWS, PARAMETERS

if TYPE_CHECKING:  # TensorFlow is loaded by the first fit, not by the import
    from etgp_viz.core.training import EpochRecord

__all__ = ["Estimator", "assign_parameters", "parameter_values"]

STEPS = 2000  # of Adam, unless the number of epochs is given
FINAL_RATE = 0.01  # learning rate at the end, as a share of that at the start
FORMAT, VERSION = "etgp_viz.", 1  # of the file; the name of the estimator follows
PARAMETER = "parameter"  # in the file, in front of the GPflow path of each parameter
# Settings that shape the model, and those of them that a source of parameters does not have.
ARCHITECTURE = ("flow", "latents", "features", "parameters", "hidden", "dropout", "weight_decay")
UNUSED = {"mean-field": ("dropout",), "gp": ("hidden", "dropout")}
# Settings that older files lack, and what they meant.
LATER: dict[str, Any] = {"latents": 1, "features": None, "parameters": "dropout"}
OUTLIERS = 0.01  # an interquartile range below this many standard deviations is squeezed by them


class Estimator(BaseEstimator):
    """An ETGP as an estimator of scikit-learn, whatever its targets are.

    The settings are explained in `ETGPClassifier`. A subclass says what it makes of targets, in
    training and in its file: the abstract methods below.
    """

    _name: ClassVar[str]  # in the file

    def __init__(
        self,
        flow: str = "linear",
        *,
        latents: int = 1,
        features: str | None = None,
        parameters: str = "dropout",
        num_inducing: int = 100,
        hidden: tuple[int, ...] = (100,),
        dropout: float = 0.25,
        weight_decay: float = 1e-5,
        epochs: int | None = None,
        batch_size: int = 500,
        learning_rate: float = 0.01,
        prediction: str = "pe",
        samples: int = 20,
        standardise: bool = True,
        validation: float = 0.0,
        patience: int = 50,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.flow = flow
        self.latents = latents
        self.features = features
        self.parameters = parameters
        self.num_inducing = num_inducing
        self.hidden = hidden
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.prediction = prediction
        self.samples = samples
        self.standardise = standardise
        self.validation = validation
        self.patience = patience
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ what a subclass says

    @property
    @abstractmethod
    def _num_outputs(self) -> int:
        """C, the number of warped processes, known once targets have been read."""

    @abstractmethod
    def _read_targets(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Inputs ``[N, D]`` and targets, checked; sets what is known of the targets."""

    @abstractmethod
    def _hold_out(self, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows of the share ``validation``, which are not trained on."""

    def _scale_targets(self, targets: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Targets as the model sees them, in units that the training rows decide."""
        return targets

    def _model_options(self) -> dict[str, Any]:
        """Options of `etgp_viz.build` besides the settings."""
        return {}

    @abstractmethod
    def _targets_to_file(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is known of the targets, as entries of the header and as arrays."""

    @staticmethod
    @abstractmethod
    def _targets_from_file(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """The attributes behind `_targets_to_file`, or a ValueError."""

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any) -> Self:
        """Train on X ``[N, D]``, an array or a data frame of numbers, and targets y.

        A classifier takes labels ``[N]`` of any kind that can be sorted, a regressor takes numbers
        ``[N]`` or ``[N, C]``.

        A fit that fails, or that Ctrl-C interrupts, raises and leaves the estimator as it was.
        """
        before = dict(self.__dict__)
        try:
            self._fit(X, y)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Any, y: Any) -> None:
        from etgp_viz.core.training import fit

        self._check_params()
        X, targets = self._read_targets(X, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        held_out = self._hold_out(targets, np.random.default_rng(seed))
        train = np.setdiff1d(np.arange(len(X)), held_out)
        targets = self._scale_targets(targets, train)
        self._set_scale(X[train])
        X = self._scaled(X)
        self._warn_of_outliers(X[train])
        self._built = {name: getattr(self, name) for name in ARCHITECTURE}
        M = min(self.num_inducing, len(np.unique(X[train], axis=0)))
        model = self._build(X[train], num_inducing=M, seed=seed)
        batch_size = min(self.batch_size, len(train))
        epochs = self.epochs or math.ceil(STEPS / (len(train) // batch_size))
        validation, stop = None, None
        if len(held_out):
            validation, stop = (X[held_out], targets[held_out]), _EarlyStop(model, self.patience)
        self.history_ = fit(
            model,
            (X[train], targets[train]),
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=self.learning_rate,
            half_life=epochs / math.log2(1 / FINAL_RATE),
            seed=seed,
            progress=self.verbose > 0,
            validation=validation,
            callback=stop,
        )
        if self.history_.stopped == "interrupted":  # a half-trained model is not a result
            raise KeyboardInterrupt
        if stop is not None:
            stop.restore()
        self.model_, self._jitter = model, self.history_.jitter
        self.n_iter_ = len(self.history_.elbo)

    def _predicted(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Predictive mean and variance of the model at X ``[N, D]``, each ``[N, C]``."""
        check_is_fitted(self, "model_")
        self._check_params()
        X = self._scaled(validate_data(self, X, dtype=np.float64, reset=False))
        from etgp_viz.backend import jitter

        with jitter(self._jitter):  # if the fit had to raise it, predictions need it too
            samples = self.samples if self.prediction == "ba" else None
            mean, variance = self.model_.predict_y(X, samples=samples)
            return mean.numpy(), variance.numpy()

    # ------------------------------------------------------------------ the file

    def save(self, path: str | Path) -> None:
        """Write the trained estimator to a file of arrays and text, without any code.

        By convention the path ends in ``.npz``; an existing file is replaced in one move.
        """
        check_is_fitted(self, "model_")
        state = self.__getstate__()  # with the model's parameters as arrays
        about_targets, arrays_of_targets = self._targets_to_file(state)
        params = self.get_params() | state["_built"]  # not what `set_params` changed since the fit
        params["hidden"] = tuple(np.atleast_1d(np.asarray(params["hidden"], dtype=int)).tolist())
        if not isinstance(params["random_state"], (int, type(None))):
            params["random_state"] = None  # a generator's state is not part of the trained model
        # Older versions read a file that has nothing of a later one.
        params = {k: v for k, v in params.items() if k not in LATER or v != LATER[k]}
        header = {
            "format": FORMAT + self._name,
            "version": VERSION,
            "params": params,
            "jitter": state["_jitter"],
            **about_targets,
        }
        arrays = {
            "header": np.array(json.dumps(header, default=_to_json)),
            **arrays_of_targets,
            "mean": state["mean_"],
            "scale": state["scale_"],
        }
        if "feature_names_in_" in state:
            arrays["feature_names"] = state["feature_names_in_"].astype(str)
        arrays |= {PARAMETER + path: value for path, value in state["model_"].items()}
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A trained estimator (without ``history_``) from the file at `path`, written by `save`.

        Nothing in the file is executed; any other file is a ValueError.
        """
        path = check_path(path)
        try:
            arrays = read_arrays(path)
            header = json.loads(str(arrays.pop("header")))
            if not isinstance(header, dict) or header.get("format") != FORMAT + cls._name:
                raise ValueError("it holds something else")
            if header["version"] != VERSION:
                found = header["version"]
                raise ValueError(
                    f"it has format version {found}, and this package reads version {VERSION}"
                )
            return _from_file(cls, header, arrays)
        except UNREADABLE as error:
            raise ValueError(
                f"path: expected a file written by {cls._name}.save, got {path}: {reason(error)}"
            ) from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A dropout draw belongs to a row's position, so that the Bayesian prediction at an input
        # changes a little with the rows before it.
        tags.non_deterministic = self.prediction == "ba"
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """The state with the model as arrays: TensorFlow's objects cannot be copied or pickled."""
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = parameter_values(state["model_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = LATER | state
        stored = state.pop("model_", None)
        super().__setstate__(state)
        if stored is not None:
            current = {name: state[name] for name in ARCHITECTURE}
            self._built = LATER | state.get("_built", current)
            Z = stored[".inducing_variable.Z"]
            self.model_ = self._build(Z, inducing_points=Z)
            assign_parameters(self.model_, stored)

    # ------------------------------------------------------------------ parts of a fit

    def _build(self, X: np.ndarray, **options: Any) -> Any:
        from etgp_viz.rivals.build_model import build

        options |= self._built | self._model_options()
        for unused in UNUSED.get(options["parameters"], ()):
            del options[unused]
        return build("etgp", X, self._num_outputs, **options)

    def _check_params(self) -> None:
        """Check all settings before anything is computed."""
        check_choice(self.flow, "flow", ALL_FLOWS)
        Options(latents=self.latents, features=self.features)
        check_choice(self.parameters, "parameters", PARAMETERS)
        check_count(self.num_inducing, "num_inducing")
        check_count(self.batch_size, "batch_size")
        check_optional(check_count, self.epochs, "epochs")
        check_choice(self.prediction, "prediction", ("pe", "ba"))
        check_count(self.samples, "samples")
        check_fraction(self.validation, "validation")
        check_count(self.patience, "patience")
        check_counts(self.hidden, "hidden")
        check_fraction(self.dropout, "dropout")
        check_nonnegative(self.weight_decay, "weight_decay")
        check_positive(self.learning_rate, "learning_rate")

    def _set_scale(self, X: np.ndarray) -> None:
        self.mean_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardise:
            varies = np.ptp(X, axis=0) > 0.0
            self.mean_ = X.mean(axis=0)
            self.scale_[varies] = X.std(axis=0)[varies]

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.scale_

    def _warn_of_outliers(self, X: np.ndarray) -> None:
        """Name the inputs, already scaled, whose rows a few outliers squeeze into one point."""
        if not self.standardise:
            return
        low, high = np.quantile(X, [0.25, 0.75], axis=0)
        squeezed = np.flatnonzero((high > low) & (high - low < OUTLIERS))
        if len(squeezed):
            names = getattr(self, "feature_names_in_", np.arange(X.shape[1]))[squeezed[:5]]
            more = ", …" if len(squeezed) > 5 else ""
            warnings.warn(
                f"X: outliers set the scale of the inputs {', '.join(map(str, names))}{more}: half "
                f"of the rows lie within {OUTLIERS} standard deviations of each other there, where "
                "the model can hardly tell them apart. Remove or clip the outliers, take a "
                "logarithm, or scale the inputs yourself and pass standardise=False.",
                UserWarning,
                stacklevel=4,
            )


class _EarlyStop:
    """Remember the parameters with the best validation score; stop when it no longer improves."""

    def __init__(self, model: Any, patience: int) -> None:
        self.model = model
        self.patience = patience
        self.best, self.epoch, self.score = parameter_values(model), -1, -np.inf

    def __call__(self, record: EpochRecord) -> bool:
        if record.validation is not None and record.validation > self.score:
            self.best = parameter_values(self.model)
            self.epoch, self.score = record.epoch, record.validation
        return record.epoch - self.epoch >= self.patience

    def restore(self) -> None:
        assign_parameters(self.model, self.best)


def parameter_values(model: Any) -> dict[str, np.ndarray]:
    """Values of a model's parameters before their transforms, by GPflow path."""
    return {path: variable.numpy() for path, variable in _parameters(model).items()}


def assign_parameters(model: Any, stored: Mapping[str, np.ndarray]) -> None:
    """Set the parameters of a model to what `parameter_values` read from one of the same build."""
    for path, variable in _parameters(model).items():
        variable.assign(stored[path])


def _parameters(model: Any) -> dict[str, Any]:
    from etgp_viz.core.optimiser import model_variables

    # Other variables, such as the states of random generators, have no GPflow path.
    return {path: v for path, v in model_variables(model).items() if path.startswith(".")}


def _from_file(cls: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The estimator that a file describes, once everything in the file has been checked."""
    params = LATER | dict(header["params"])
    unknown = set(params) ^ set(cls().get_params())
    if unknown:
        raise ValueError(f"its settings differ in {', '.join(sorted(unknown))}")
    params["hidden"] = tuple(params["hidden"])
    estimator = cls(**params)
    about_targets = cls._targets_from_file(header, arrays)
    vars(estimator).update(about_targets)
    mean, scale = arrays["mean"], arrays["scale"]
    C, D = estimator._num_outputs, len(mean)
    if mean.shape != (D,) or scale.shape != (D,):
        raise ValueError("its labels or scales have the wrong shape")
    Z = arrays[f"{PARAMETER}.inducing_variable.Z"]
    if Z.ndim != 2 or Z.shape[1] != D:
        raise ValueError("its inducing points have the wrong shape")
    for key, array in arrays.items():
        is_number = array.dtype.kind == "f" and np.isfinite(array).all()
        if key not in ("classes", "feature_names") and not is_number:
            raise ValueError(f"{key} does not hold finite numbers")
    if not (scale > 0.0).all():
        raise ValueError("scale is not positive")
    estimator._check_params()
    model = {k.removeprefix(PARAMETER): v for k, v in arrays.items() if k.startswith(PARAMETER)}
    hidden = () if "hidden" in UNUSED.get(params["parameters"], ()) else params["hidden"]
    weights = sum(a * b for a, b in pairwise([D, *hidden, C]))
    if weights > sum(array.size for array in model.values()):
        raise ValueError("its network has more weights than the file holds")
    state = {
        **params,
        **about_targets,
        "mean_": mean,
        "scale_": scale,
        "n_features_in_": D,
        "history_": None,
        "model_": model,
        "n_iter_": None,
        "_jitter": check_fraction(header["jitter"], "jitter"),
    }
    if "feature_names" in arrays:
        state["feature_names_in_"] = arrays["feature_names"].astype(object)
    estimator = cls()
    estimator.__setstate__(state)
    return estimator


def _to_json(value: Any) -> Any:
    """A NumPy number as the Python number that JSON knows."""
    if not isinstance(value, np.generic):
        got = f"a setting of type {type(value).__name__}, which cannot be saved"
        fail("params", "numbers, strings and tuples", got)
    return value.item()
