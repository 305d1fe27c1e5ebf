"""A quick look at a model while it trains, many times a second."""

from dataclasses import replace

import numpy as np

from etgp_viz.backend import Tensor, tf
from etgp_viz.core.conditional import standard_deviation
from etgp_viz.core.expectations import at_nodes, average, gauss_hermite
from etgp_viz.core.model import ETGP
from etgp_viz.records.inference import Classes, Latent, Window, classes_of, rows_of

__all__ = ["Glance"]

# Nodes of a glance, as a multiple of the model's own number.
GLANCE = 2


def _filled(rows: np.ndarray) -> Tensor:
    """Rows up to a multiple of 512, so that a new point or window rarely means a new shape."""
    return tf.constant(np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % 512, axis=0)]))


class Glance:
    """A quick look at a model while it trains: q(f₀) and the point estimate, compiled once.

    The number of nodes is fixed, so that at a steep border a probability can be off by a few
    hundredths; `look` takes more nodes there.

    Parameters
    ----------
    model : an ETGP, whose parameters may change between two glances

    Examples
    --------
    >>> from etgp_viz import build, datasets
    >>> from etgp_viz.records.inference import window
    >>> toy = datasets.toys.waves(20, num_classes=3)
    >>> glance = Glance(build("etgp-linear", toy.X, num_classes=3, num_inducing=5))
    >>> latent, classes = glance(window(toy.X), (toy.X, toy.Y), cut=None)
    >>> latent.mean.shape, classes.is_glance
    ((100,), True)
    """

    def __init__(self, model: ETGP) -> None:
        self._model = model
        self._at = tf.function(self._moments_and_probabilities, autograph=False)
        self._averaged = tf.function(self._average_over_draws, autograph=False)

    def __call__(
        self,
        where: Window,
        data: tuple[np.ndarray, np.ndarray],
        cut: float | None,
        trail: np.ndarray | None = None,
    ) -> tuple[Latent, Classes]:
        """q(f₀) and the point estimate; arguments are as in `look`."""
        G, rows = int(np.prod(where.shape)), rows_of(where, data)
        mean, deviation, prior, p = (v.numpy()[: len(rows)] for v in self._at(_filled(rows)))
        mean, deviation, prior = (v[:G].reshape(where.shape) for v in (mean, deviation, prior))
        Z = self._model.inducing_variable.Z.numpy()
        point = classes_of(where, data, p, 0, Z, trail)
        return Latent(where, mean, deviation, prior, Z, cut), replace(point, is_glance=True)

    def bayes(
        self, where: Window, data: tuple[np.ndarray, np.ndarray], samples: int, seed: int = 0
    ) -> Classes:
        """The Bayesian average, by the model's own number of nodes; arguments as in `look`."""
        rows = rows_of(where, data)
        draws = samples, tf.constant(seed)
        p = self._averaged(_filled(rows), *draws).numpy()[: len(rows)]
        Z = self._model.inducing_variable.Z.numpy()
        return replace(classes_of(where, data, p, samples, Z), is_glance=True)

    def _average_over_draws(self, X: Tensor, samples: int, seed: Tensor) -> Tensor:
        model, grid = self._model, gauss_hermite(self._model.num_quadrature)
        mean, variance = (moment[:, 0] for moment in model.predict_latent(X))
        params = model.network(X, samples, seed)
        F = at_nodes(model.network.flow, mean, standard_deviation(variance), params, grid)
        return average(tf.nn.softmax(F), grid)

    def _moments_and_probabilities(self, X: Tensor) -> tuple[Tensor, ...]:
        model, grid = self._model, gauss_hermite(GLANCE * self._model.num_quadrature)
        mean, variance = (moment[:, 0] for moment in model.predict_latent(X))
        deviation = standard_deviation(variance)
        F = at_nodes(model.network.flow, mean, deviation, model.network(X)[None], grid)
        prior = tf.sqrt(model.kernel(X, full_cov=False))
        return mean, deviation, prior, average(tf.nn.softmax(F), grid)
