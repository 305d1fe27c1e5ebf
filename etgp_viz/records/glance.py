"""A quick look at a model while it trains, many times a second."""

from dataclasses import replace
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, forget_graph, tf
from etgp_viz.core.conditional import standard_deviation
from etgp_viz.core.expectations import at_nodes, average, gauss_hermite
from etgp_viz.core.model import ETGP
from etgp_viz.records.inference import Classes, Latent, Window, classes_of, rows_of

__all__ = ["Glance"]

# Nodes of a glance, as a multiple of the model's own number.
GLANCE = 2
BLOCK = 512  # rows


def _filled(rows: np.ndarray) -> Tensor:
    """Rows up to a multiple of `BLOCK`, so that a new point or window rarely means a new shape."""
    return tf.constant(np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % BLOCK, axis=0)]))


def _called(function: Any, *args: Any) -> Any:
    """What a compiled function returns, of which nobody wants a gradient."""
    traced = function.experimental_get_tracing_count()
    result = function(*args)
    if function.experimental_get_tracing_count() > traced:
        forget_graph(function.get_concrete_function(*args).graph)
    return result


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
    >>> glance.bayes(window(toy.X), (toy.X, toy.Y), samples=4).probabilities.shape
    (3, 100)
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
        mean, deviation, prior, p = (
            v.numpy()[: len(rows)] for v in _called(self._at, _filled(rows))
        )
        mean, deviation, prior = (v[:G].reshape(where.shape) for v in (mean, deviation, prior))
        Z = self._model.inducing_variable.Z.numpy()
        point = classes_of(where, data, p, 0, Z, trail)
        return Latent(where, mean, deviation, prior, Z, cut), replace(point, is_glance=True)

    def bayes(
        self, where: Window, data: tuple[np.ndarray, np.ndarray], samples: int, seed: int = 0
    ) -> Classes:
        """The Bayesian average, by the model's own number of nodes.

        Parameters
        ----------
        where, data, samples, seed : as in `etgp_viz.records.inference.look`
        """
        rows = rows_of(where, data)
        draws = samples, tf.constant(seed)
        p = _called(self._averaged, _filled(rows), *draws).numpy()[: len(rows)]
        Z = self._model.inducing_variable.Z.numpy()
        return replace(classes_of(where, data, p, samples, Z), is_glance=True)

    def _average_over_draws(self, X: Tensor, samples: int, seed: Tensor) -> Tensor:
        model, grid = self._model, gauss_hermite(self._model.num_quadrature)
        mean, variance = (moment[:, 0] for moment in model.predict_latent(X))
        deviation = standard_deviation(variance)

        def add(total: Tensor, features: Tensor) -> Tensor:  # one draw after another
            params = model.network.params_of(features)
            return total + self._probabilities(mean, deviation, params, grid)

        draws = model.network.features(X, samples, seed)
        nothing = tf.zeros([X.shape[0], model.num_classes], mean.dtype)
        return tf.foldl(add, draws, nothing, parallel_iterations=1) / samples

    def _moments_and_probabilities(self, X: Tensor) -> tuple[Tensor, ...]:
        model, grid = self._model, gauss_hermite(GLANCE * self._model.num_quadrature)
        mean, variance = (moment[:, 0] for moment in model.predict_latent(X))
        deviation = standard_deviation(variance)
        prior = tf.sqrt(model.kernel(X, full_cov=False))
        p = self._probabilities(mean, deviation, model.network(X), grid)
        return mean, deviation, prior, p

    def _probabilities(
        self, mean: Tensor, deviation: Tensor, params: Tensor, grid: tuple
    ) -> Tensor:
        """E[softmax(f^1, …, f^C)] [N, C], in blocks of rows: all of them at once need gigabytes."""
        flow, C = self._model.network.flow, self._model.num_classes

        def in_block(block: list[Tensor]) -> Tensor:
            mean, deviation, params = block
            return average(tf.nn.softmax(at_nodes(flow, mean, deviation, params[None], grid)), grid)

        sizes = (), (), (C, flow.num_params)
        blocks = [
            tf.reshape(values, [-1, BLOCK, *size])
            for values, size in zip((mean, deviation, params), sizes, strict=True)
        ]
        p = tf.map_fn(in_block, blocks, fn_output_signature=mean.dtype, parallel_iterations=2)
        return tf.reshape(p, [-1, C])
