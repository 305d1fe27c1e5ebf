"""The control: an ETGP's network without its Gaussian process.

    y | x ~ softmax(b^1(x), …, b^C(x))

with the trunk, dropout and weight decay of an ETGP. It is an ETGP LINEAR whose slopes a^c are zero.
What ETGP LINEAR gains over it comes from the Gaussian process. SAL and TANH also bend the outputs
of their network, which may gain something by itself.
"""

from typing import Any

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.core.blocks import in_chunks
from etgp_viz.core.flows import Flow, Param, Values
from etgp_viz.core.network import FlowNetwork

__all__ = ["NetworkClassifier", "Shift"]

Data = tuple[Tensor, Tensor]  # X and Y


class Shift(Flow):
    """G(f) = f + b: at f = 0 the process is b itself."""

    @property
    def params(self) -> tuple[Param, ...]:
        return (Param("b", -3.0, 3.0, False, 0.0, "lifts the process"),)

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        return f + values[0]

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        return g - values[0]

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.zeros_like(f)


class NetworkClassifier(gpflow.models.BayesianModel, gpflow.models.ExternalDataTrainingLossMixin):
    """Neural network classifier with Monte Carlo dropout, the network part of an ETGP.

        ELBO = Σ_n E_q(W)[ log softmax(b^1(x_n), …, b^C(x_n))_{y_n} ] − KL_W

    Predictions are the point estimate (PE, dropout off) or the Bayesian average (BA, the mean of
    the probabilities over dropout draws), as those of `etgp_viz.ETGP` are.

    Parameters
    ----------
    network : from x to C logits: a `FlowNetwork` of `Shift` flows
    num_data : N, to scale mini-batches up; None for full batches

    Examples
    --------
    >>> model = NetworkClassifier(FlowNetwork(num_inputs=1, num_classes=4, flow=Shift()))
    >>> model.predict_y(np.zeros((1, 1)))[0].numpy()  # starts without any preference
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    def __init__(self, network: FlowNetwork, *, num_data: int | None = None) -> None:
        super().__init__()
        if not isinstance(getattr(network, "flow", None), Shift):
            checks.fail("network", "a FlowNetwork of Shift flows", repr(network))
        self.network, self.num_classes = network, network.num_classes
        self.num_data = checks.check_optional(checks.check_count, num_data, "num_data")
        self.likelihood = gpflow.likelihoods.Softmax(self.num_classes)

    def check_data(self, data: Data) -> Data:
        """Check (X, Y) against the model: D inputs, labels 0..C−1."""
        return checks.check_data(data, self.num_classes, self.network.num_inputs)

    def elbo(self, data: Data, samples: int | None = 1) -> Tensor:
        """Evidence lower bound; a mini-batch stands for all `num_data` rows.

        `samples` new dropout draws are averaged over; None turns dropout off.
        """
        X, Y = map(tf.convert_to_tensor, self.check_data(data))
        checks.check_optional(checks.check_count, samples, "samples")

        def expected(log_p: Tensor, rows: slice) -> Tensor:
            return tf.reduce_mean(_at_labels(log_p, Y[rows]), axis=1)

        total = tf.reduce_sum(self._over_rows(expected, X, samples, None))
        scale = 1.0 if self.num_data is None else self.num_data / tf.shape(X)[0]
        return tf.cast(scale, X.dtype) * total - self.network.prior_penalty()

    def maximum_log_likelihood_objective(self, data: Data) -> Tensor:
        return self.elbo(data)

    def predict_y(
        self, X: Tensor, samples: int | None = None, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Class probabilities p ``[N, C]`` and the variances p(1 − p) of the class indicators.

        `samples` is None for the point estimate (PE), or the number of dropout draws whose
        probabilities are averaged (BA); `seed` is that of the draws.
        """
        X = tf.convert_to_tensor(checks.check_inputs(X, "X", self.network.num_inputs))
        _check_draws(samples, seed)
        p = self._over_rows(lambda log_p, _: tf.reduce_mean(tf.exp(log_p), 0), X, samples, seed)
        return p, p * (1.0 - p)

    def predict_log_density(self, data: Data, samples: int | None = None, seed: int = 0) -> Tensor:
        """Log probability of each label ``[N]``, without underflow; arguments as in `predict_y`."""
        X, Y = map(tf.convert_to_tensor, self.check_data(data))
        _check_draws(samples, seed)

        def log_mean(log_p: Tensor, rows: slice) -> Tensor:
            at_labels = _at_labels(log_p, Y[rows])
            return tf.reduce_logsumexp(at_labels, axis=1) - np.log(samples or 1)

        return self._over_rows(log_mean, X, samples, seed)

    def _over_rows(self, function: Any, X: Tensor, samples: int | None, seed: int | None) -> Tensor:
        """``function(log p [S, B, C], rows)`` over chunks of B rows, to limit memory use."""
        features = self.network.features(X, samples, seed)
        features = features[None] if samples is None else features  # [S, N, H]

        def at_rows(rows: slice) -> Tensor:
            logits = self.network.params_of(features[:, rows])[..., 0]
            return function(tf.nn.log_softmax(logits), rows)

        return in_chunks(at_rows, X.shape[0], features.shape[0] * self.num_classes)


def _at_labels(log_p: Tensor, Y: Tensor) -> Tensor:
    """The entries of log p ``[S, B, C]`` at the labels Y ``[B, 1]``: ``[B, S]``."""
    return tf.gather(tf.transpose(log_p, [1, 0, 2]), Y[:, 0], axis=2, batch_dims=1)


def _check_draws(samples: int | None, seed: int) -> None:
    checks.check_optional(checks.check_count, samples, "samples")
    checks.check_seed(seed)
