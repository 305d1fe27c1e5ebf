"""`ETGPClassifier`: ETGP as a scikit-learn classifier, and its file.

The file is an uncompressed ``.npz`` of NumPy: the parameters of the model, the labels, the means
and scales of the inputs, and a header of JSON text. A file from elsewhere can at worst be refused:
arrays may not hold Python objects, nothing is unpacked that is larger than the file itself, and a
network is only built if the file holds enough numbers to fill it.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
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
from etgp_viz.files import UNREADABLE, read_arrays, reason, write_arrays
from etgp_viz.rivals.names import FLOWS

if TYPE_CHECKING:  # TensorFlow is loaded by the first fit, not by the import
    from etgp_viz.core.training import EpochRecord

__all__ = ["ETGPClassifier"]

STEPS = 2000  # of Adam, unless the number of epochs is given
FINAL_RATE = 0.01  # learning rate at the end, as a share of that at the start
FORMAT, VERSION = "etgp_viz.ETGPClassifier", 1  # of the file
PARAMETER = "parameter"  # in the file, in front of the GPflow path of each parameter
ARCHITECTURE = ("flow", "hidden", "dropout", "weight_decay")  # settings that shape the model
OUTLIERS = 0.01  # an interquartile range below this many standard deviations is squeezed by them


class ETGPClassifier(ClassifierMixin, BaseEstimator):
    """Efficient Transformed Gaussian Process classifier.

    One Gaussian process, warped into one function per class by flows whose parameters come from a
    network; see `etgp_viz.core.model.ETGP`. It is trained by Adam on mini-batches, with a learning
    rate that falls to a hundredth.

    Parameters
    ----------
    flow : ``"linear"``, ``"sal"`` or ``"tanh"``
    num_inducing : number M of inducing points; fewer if there are fewer distinct rows
    hidden : widths of the network's hidden layers; with ten thousand rows, more and wider layers
        with less dropout are worth trying, such as ``(100, 100)`` and 0.05
    dropout : probability of dropping a hidden unit in training (and in Bayesian predictions)
    weight_decay : λ = 1/(2σ²) of the network's Gaussian prior
    epochs : passes over the data; None for 2 000 steps in all
    batch_size : rows of a step; all of them if there are fewer
    learning_rate : Adam's, at the start
    prediction : ``"pe"``, a point estimate with dropout off, or ``"ba"``, the Bayesian average of
        probabilities over ``samples`` dropout draws
    samples : number S of those draws
    standardise : bring each input to mean 0 and standard deviation 1 first; images with pixels in
        [0, 1] are better left as they are
    validation : share of the rows to set aside; training then ends once their mean log density has
        not improved for ``patience`` epochs, and the parameters that were best by this measure are
        kept. 0 trains on all rows and keeps the parameters of the best ELBO.
    patience : see ``validation``
    random_state : seed, or a NumPy ``RandomState``
    verbose : 0 for silence, 1 for a progress bar

    Attributes
    ----------
    classes_ : ``[C]``, the labels in sorted order
    n_features_in_, feature_names_in_ : D, and the names of the inputs if they came as a data frame
    model_ : the trained ``ETGP``, of standardised inputs
    history_, n_iter_ : the ``FitResult`` of the fit, and its number of epochs; None after `load`
    mean_, scale_ : ``[D]``, subtracted from the inputs and dividing them

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> y = ["low", "low", "low", "high", "high", "high"]
    >>> settings = {"num_inducing": 3, "hidden": (), "epochs": 20, "learning_rate": 0.1}
    >>> classifier = ETGPClassifier(**settings, random_state=0).fit(X, y)
    >>> classifier.predict([[0.05], [1.05]]).tolist()
    ['low', 'high']
    >>> classifier.predict_proba([[0.05], [1.05]]).shape
    (2, 2)

    ``classifier.save("mine.npz")`` writes it to a file, ``ETGPClassifier.load`` brings it back.
    """

    def __init__(
        self,
        flow: str = "linear",
        *,
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

    def fit(self, X: Any, y: Any) -> ETGPClassifier:
        """Train on X ``[N, D]``, an array or a data frame of numbers, and labels y ``[N]`` of any
        kind that can be sorted.

        A fit that fails, or that Ctrl-C interrupts, raises and leaves the classifier as it was.
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
        from etgp_viz.datasets.dataset import draw_stratified

        self._check_params()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y: expected at least two classes, got 1 class")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        held_out = draw_stratified(labels, self.validation, np.random.default_rng(seed))
        train = np.setdiff1d(np.arange(len(X)), held_out)
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
            validation, stop = (X[held_out], labels[held_out]), _EarlyStop(model, self.patience)
        self.history_ = fit(
            model,
            (X[train], labels[train]),
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

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities ``[N, C]`` at X ``[N, D]``, in the order of ``classes_``."""
        check_is_fitted(self, "model_")
        self._check_params()
        X = self._scaled(validate_data(self, X, dtype=np.float64, reset=False))
        from etgp_viz.backend import jitter

        with jitter(self._jitter):  # if the fit had to raise it, predictions need it too
            samples = self.samples if self.prediction == "ba" else None
            return self.model_.predict_y(X, samples=samples)[0].numpy()

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities ``[N, C]``; −inf where one underflows to zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, ``X [N, D] -> [N]``."""
        probabilities = self.predict_proba(X)  # before `classes_`, which only a fit makes
        return self.classes_[np.argmax(probabilities, axis=1)]

    def save(self, path: str | Path) -> None:
        """Write the trained classifier to a file of arrays and text, without any code.

        By convention the path ends in ``.npz``; an existing file is replaced in one move.
        """
        check_is_fitted(self, "model_")
        state = self.__getstate__()  # with the model's parameters as arrays
        labels = state["classes_"]
        if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
            labels = labels.astype(str)
        if labels.dtype.kind not in "biufU":
            fail("classes_", "labels that are strings, numbers or booleans", str(labels.dtype))
        params = self.get_params() | state["_built"]  # not what `set_params` changed since the fit
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

    @classmethod
    def load(cls, path: str | Path) -> ETGPClassifier:
        """A trained classifier (without ``history_``) from a file that `save` wrote.

        Nothing in the file is executed; any other file is a ValueError.
        """
        path = check_path(path)
        try:
            arrays = read_arrays(path)
            header = json.loads(str(arrays.pop("header")))
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise ValueError("it holds something else")
            if header["version"] != VERSION:
                found = header["version"]
                raise ValueError(
                    f"it has format version {found}, and this package reads version {VERSION}"
                )
            return _from_file(cls, header, arrays)
        except UNREADABLE as error:
            raise ValueError(
                f"path: expected a file written by ETGPClassifier.save, got {path}: {reason(error)}"
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
        state = dict(state)
        stored = state.pop("model_", None)
        super().__setstate__(state)
        if stored is not None:
            self._built = state.get("_built", {name: state[name] for name in ARCHITECTURE})
            Z = stored[".inducing_variable.Z"]
            self.model_ = self._build(Z, inducing_points=Z)
            assign_parameters(self.model_, stored)

    def _build(self, X: np.ndarray, **options: Any) -> Any:
        from etgp_viz.rivals.build_model import build

        options |= self._built
        return build(f"etgp-{options.pop('flow')}", X, len(self.classes_), **options)

    def _check_params(self) -> None:
        """Check all settings before anything is computed."""
        check_choice(self.flow, "flow", FLOWS)
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
    Z = arrays[f"{PARAMETER}.inducing_variable.Z"]
    if Z.ndim != 2 or Z.shape[1] != D:
        raise ValueError("its inducing points have the wrong shape")
    for key, array in arrays.items():
        is_number = array.dtype.kind == "f" and np.isfinite(array).all()
        if key not in ("classes", "feature_names") and not is_number:
            raise ValueError(f"{key} does not hold finite numbers")
    if not (scale > 0.0).all():
        raise ValueError("scale is not positive")
    check_choice(header["labels"], "labels", ("O", "U", "b", "i", "u", "f"))
    cls(**params)._check_params()
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
        "n_iter_": None,
        "_jitter": check_fraction(header["jitter"], "jitter"),
    }
    if "feature_names" in arrays:
        state["feature_names_in_"] = arrays["feature_names"].astype(object)
    classifier = cls()
    classifier.__setstate__(state)
    return classifier


def _to_json(value: Any) -> Any:
    """A NumPy number as the Python number that JSON knows."""
    if not isinstance(value, np.generic):
        got = f"a setting of type {type(value).__name__}, which cannot be saved"
        fail("params", "numbers, strings and tuples", got)
    return value.item()
