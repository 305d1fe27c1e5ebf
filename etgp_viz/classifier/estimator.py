"""`ETGPClassifier`: ETGP as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from etgp_viz.checks import check_choice, fail
from etgp_viz.classifier.base import Estimator

__all__ = ["ETGPClassifier"]


class ETGPClassifier(ClassifierMixin, Estimator):
    """Efficient Transformed Gaussian Process classifier.

    One Gaussian process, warped into one function per class by flows whose parameters come from a
    network; see `etgp_viz.core.model.ETGP`. It is trained by Adam on mini-batches, with a learning
    rate that falls to a hundredth.

    Parameters
    ----------
    flow : the paper's ``"linear"``, ``"sal"`` or ``"tanh"``, or one of the flow zoo:
        ``"arcsinh"``, ``"boxcox"``, ``"inverse-boxcox"``, ``"steps"`` or ``"spline"``
    latents : number L of Gaussian processes, mixed for each class; one is the paper's model
    features : what the Gaussian process sees: None for the inputs, ``"shared"`` for the network's
        last hidden layer, ``"own"`` for that of another network; only with one latent
    parameters : where the flow parameters come from: ``"dropout"``, a network with a fixed dropout
        rate; ``"concrete"``, one that learns its rates; ``"mean-field"``, one with a Gaussian
        output layer instead of dropout; ``"gp"``, Gaussian processes, which return to their prior
        far from the data
    num_inducing : number M of inducing points; fewer if there are fewer distinct rows
    hidden : widths of the network's hidden layers (``"gp"`` has none); with ten thousand rows, more
        and wider layers with less dropout are worth trying, such as ``(100, 100)`` and 0.05
    dropout : probability of dropping a hidden unit in training (and in Bayesian predictions); for
        ``"concrete"`` the one to start from
    weight_decay : λ = 1/(2σ²) of the network's Gaussian prior
    epochs : passes over the data; None for 2 000 steps in all
    batch_size : rows of a step; all of them if there are fewer
    learning_rate : Adam's, at the start
    prediction : ``"pe"``, a point estimate with dropout off, or ``"ba"``, the Bayesian average of
        probabilities over ``samples`` draws of dropout masks, weights or processes
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

    To a file and back:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "mine.npz")
    >>> classifier.save(path)
    >>> ETGPClassifier.load(path).predict([[0.05], [1.05]]).tolist()
    ['low', 'high']
    """

    _name = "ETGPClassifier"

    @property
    def _num_outputs(self) -> int:
        return len(self.classes_)

    def _read_targets(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels of any kind that can be sorted, as numbers 0..C−1."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y: expected at least two classes, got 1 class")
        return X, labels

    def _hold_out(self, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        from etgp_viz.datasets.dataset import draw_stratified

        return draw_stratified(targets, self.validation, rng)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities ``[N, C]`` at X ``[N, D]``, in the order of ``classes_``."""
        return self._predicted(X)[0]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms ``[N, C]`` of `predict_proba` at X ``[N, D]``; −inf where one underflows."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, ``X [N, D] -> [N]``."""
        probabilities = self.predict_proba(X)  # before `classes_`, which only a fit makes
        return self.classes_[np.argmax(probabilities, axis=1)]

    def _targets_to_file(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        labels = state["classes_"]
        if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
            labels = labels.astype(str)
        if labels.dtype.kind not in "biufU":
            fail("classes_", "labels that are strings, numbers or booleans", str(labels.dtype))
        return {"labels": state["classes_"].dtype.kind}, {"classes": labels}

    @staticmethod
    def _targets_from_file(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        classes = arrays["classes"]
        if classes.ndim != 1 or len(classes) < 2:
            raise ValueError("its labels or scales have the wrong shape")
        check_choice(header["labels"], "labels", ("O", "U", "b", "i", "u", "f"))
        return {"classes_": classes.astype(object) if header["labels"] == "O" else classes}
