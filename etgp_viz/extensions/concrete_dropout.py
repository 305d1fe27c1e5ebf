"""Concrete dropout: a network whose dropout rates are learnt (Gal, Hron and Kendall, 2017).

A fixed rate says the same about the weights however many data there are. Here each hidden layer has
its own rate p, which the ELBO chooses: the data ask for a small one, and the KL divergence for one
half. So the rate can fall as N grows. A mask of zeros and ones has no gradient in p, hence the
relaxed mask

    z = sigmoid((logit(1 − p) − logit(u)) / t),    u uniform on (0, 1),

which for temperature t → 0 is 1 if u < 1 − p, else 0: the mask that `FlowNetwork` makes of the same
u.
"""

from typing import Any

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf, tfp
from etgp_viz.core.network import FlowNetwork

__all__ = ["ConcreteDropoutNetwork", "bernoulli_kl"]

HIGHEST_RATE = 0.95  # activations are divided by 1 − p


class ConcreteDropoutNetwork(FlowNetwork):
    """A `FlowNetwork` that learns the dropout rate of each hidden layer, ``rates``.

    The masks are relaxed in training and in predictions alike, so that what is predicted with is
    what was trained.

    Parameters
    ----------
    *arguments, **options : as for `FlowNetwork`; ``dropout`` > 0 is the rate at the start
    temperature : t > 0; the smaller, the closer the masks are to zeros and ones, and the noisier
        the gradients of the rates

    Examples
    --------
    >>> from etgp_viz import flows
    >>> network = ConcreteDropoutNetwork(2, 3, flows.Linear(), hidden=(10, 10), dropout=0.1)
    >>> network.rates.numpy().round(6).tolist()
    [0.1, 0.1]
    """

    def __init__(self, *arguments: Any, temperature: float = 0.1, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.temperature = checks.check_positive(temperature, "temperature")
        # Layers whose units are dropped: all but the linear one at the end of a projection.
        self._dropped = [k for k in range(len(self.layers)) if k != self._linear_layer]
        if not self._dropped:
            checks.fail("hidden", "at least one layer whose units can be dropped", "none")
        if not 0.0 < self.dropout < HIGHEST_RATE:
            expected = f"a rate between 0 and {HIGHEST_RATE}, from which learning starts"
            checks.fail("dropout", expected, f"{self.dropout:g}")
        self.rates = gpflow.Parameter(
            np.full(len(self._dropped), self.dropout),
            transform=tfp.bijectors.Sigmoid(np.float64(0.0), np.float64(HIGHEST_RATE)),
        )

    def prior_penalty(self) -> Tensor:
        """KL_W up to a constant, a sum over layers: λ Σ w² / (1 − p) + H · KL[p ‖ 1/2].

        q tosses a coin for each of the H units of a layer: with probability 1 − p the weights
        behind it are w / (1 − p), else 0, each blurred by a narrow Gaussian. The KL divergence of
        this mixture from N(0, σ²) is λ E[w²] minus the entropy of the coins, plus a constant. With
        H log 2 added to it, the second part is the KL divergence of the coins from fair ones, and
        the ELBO cannot exceed 0. It is a sum over N rows, so there is no factor 1/N here.
        """
        kept = {k + 1: 1.0 - self.rates[i] for i, k in enumerate(self._dropped)}
        layers = [*self.layers, self.output]
        sums = [
            tf.reduce_sum(layer.weights**2) / kept.get(k, 1.0) for k, layer in enumerate(layers)
        ]
        units = [float(self.layers[k].bias.shape[0]) for k in self._dropped]
        coins = tf.reduce_sum(units * bernoulli_kl(self.rates))
        return self.weight_decay * tf.add_n(sums) + coins

    def _drop(self, h: Tensor, samples: int, seed: list, one_mask: bool) -> Tensor:
        """Hidden activations [N, H] or [S, N, H] under relaxed masks: [S, N, H]."""
        rate = tf.cast(self.rates[self._dropped.index(seed[1])], h.dtype)
        # The same uniform numbers as those of a network with fixed rates.
        shape = [1 if one_mask else tf.shape(h)[-2], samples, h.shape[-1]]
        uniform = tf.cast(tf.random.stateless_uniform(shape, tf.stack(seed)), h.dtype)
        odds = _logit(1.0 - rate) - _logit(tf.transpose(uniform, [1, 0, 2]))
        return h * tf.sigmoid(odds / self.temperature) / (1.0 - rate)


def bernoulli_kl(rate: Tensor) -> Tensor:
    """KL divergence of a coin that falls on one side with probability `rate` from a fair one.

    Parameters
    ----------
    rate : probabilities in (0, 1), of any shape

    Returns
    -------
    nats, of the same shape

    Examples
    --------
    >>> print(bernoulli_kl(np.array([0.5, 0.1])).numpy().round(3))
    [0.    0.368]
    """
    entropy = -tf.math.xlogy(rate, rate) - tf.math.xlog1py(1.0 - rate, -rate)
    return np.log(2.0) - entropy


def _logit(p: Tensor) -> Tensor:
    return tf.math.log(p) - tf.math.log1p(-p)
