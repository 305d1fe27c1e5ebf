"""What people would pick instead: scikit-learn's classifiers, with the methods of the other models.

`train` fits them in one call; `etgp_viz.fit` does not apply (`names.Model.is_trained_by_fit`).
"""

from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.checks import check_count, check_data, check_inputs, check_seed, fail

__all__ = ["SklearnRival", "estimator_class"]

# The smallest normal number, in place of a probability that was rounded to zero.
TINY = np.finfo(np.float64).tiny


def estimator_class(variant: str) -> Any:
    """The class of scikit-learn behind ``"logistic"`` or ``"boosting"``."""
    if variant == "logistic":
        from sklearn.linear_model import LogisticRegression  # slow to import

        return LogisticRegression
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier


class SklearnRival:
    """A classifier of scikit-learn on standardised inputs.

    scikit-learn knows only the classes that it saw in training, and would give any other the
    probability zero. A class that none of the N training rows has gets 1/(N + C) here (Laplace's
    rule for a count of zero), and the others make room for it. Nothing else is changed: a
    confident mistake costs what it costs.

    Parameters
    ----------
    estimator : a classifier of scikit-learn with ``predict_proba``
    num_inputs, num_classes : D, and C ≥ 2
    seed : of the estimator's random numbers

    Examples
    --------
    >>> from etgp_viz import build
    >>> X, Y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[0], [0], [1], [1]])
    >>> model = build("logistic", X, num_classes=3).train((X, Y))
    >>> print(model.predict_y(X[:1])[0].numpy()[0, 2].round(3))  # 1/7: it has no rows
    0.143
    """

    def __init__(self, estimator: Any, num_inputs: int, num_classes: int, seed: int = 0) -> None:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        self.num_inputs = check_count(num_inputs, "num_inputs")
        self.num_classes = check_count(num_classes, "num_classes", minimum=2)
        self.seed = check_seed(seed)
        self.estimator = estimator
        self.pipeline = make_pipeline(StandardScaler(), estimator)
        self.num_data: int | None = None  # N, once it is trained

    def train(self, data: tuple[np.ndarray, np.ndarray], seed: int | None = None) -> "SklearnRival":
        """Fit the estimator to (X ``[N, D]``, Y ``[N, 1]``) from scratch; returns the model.

        Without a `seed`, the one that the model was built with is used.
        """
        X, Y = map(np.asarray, self.check_data(data))
        self.estimator.set_params(random_state=self.seed if seed is None else seed)
        if self.estimator.get_params().get("early_stopping"):
            # It sets aside a tenth of the rows, with some of each class: too few rows have none.
            counts = np.bincount(Y[:, 0])
            is_enough = len(X) // 10 >= len(counts) and counts[counts > 0].min() > 1
            self.estimator.set_params(early_stopping=bool(is_enough))
        self.pipeline.fit(X, Y[:, 0])
        self.num_data = len(X)
        return self

    def check_data(self, data: Any) -> tuple[Any, Any]:
        """Check (X, Y) against the model: D inputs, labels 0..C−1."""
        return check_data(data, self.num_classes, self.num_inputs)

    def predict_y(self, X: Any, samples: int | None = None, seed: int = 0) -> tuple[Tensor, Tensor]:
        """Class probabilities p ``[N, C]`` and the variances p(1 − p) of the class indicators.

        `samples` must be None, since there is no dropout to average over.
        """
        if samples is not None:
            fail("samples", "None, since there is no dropout to average over", repr(samples))
        if self.num_data is None:
            fail("model", "a trained model: call train((X, Y)) first", "an untrained one")
        X = np.asarray(check_inputs(X, "X", self.num_inputs))
        seen = np.asarray(self.pipeline.classes_, dtype=int)
        p = np.full((len(X), self.num_classes), 1.0 / (self.num_data + self.num_classes))
        unseen = (self.num_classes - len(seen)) * p[0, 0]
        p[:, seen] = (1.0 - unseen) * self.pipeline.predict_proba(X)
        p = tf.constant(p, gpflow.default_float())
        return p, p * (1.0 - p)

    def predict_log_density(self, data: Any, samples: int | None = None, seed: int = 0) -> Tensor:
        """Log probability of each label ``[N]``; arguments as in `predict_y`."""
        X, Y = self.check_data(data)
        p, _ = self.predict_y(X, samples, seed)
        return tf.math.log(tf.maximum(tf.gather(p, Y[:, 0], axis=1, batch_dims=1), TINY))
