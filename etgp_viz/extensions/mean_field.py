"""A Bayesian last layer: Gaussian weights of a network's output layer, each with its own variance.

    raw parameter_j(x) = Σ_h φ_h(x) w_hj + b_j,    q(w_hj) = N(m_hj, s_hj²),    p(w_hj) = N(0, σ²)

with the last hidden layer φ of a trunk without dropout. At one input the raw parameters are
Gaussian with mean Σ_h φ_h m_hj + b_j and variance Σ_h φ_h² s_hj²: drawing them is drawing W.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.core.conditional import standard_deviation
from etgp_viz.core.flows import Flow
from etgp_viz.core.network import FlowNetwork

__all__ = ["MeanFieldNetwork"]

START = 0.05  # s of every weight


class MeanFieldNetwork(FlowNetwork):
    """A `FlowNetwork` without dropout whose output weights have a Gaussian q, and biases none.

    A draw has its own weights for each row, as dropout has its own mask, or with ``one_mask`` the
    same for all rows. The noise of all C·P raw parameters passes through the last layer beside φ,
    which takes (C·P)² multiplications for each row: nothing for ten classes with linear flows, but
    most of a training step for a hundred classes with tanh flows.

    Parameters
    ----------
    num_inputs, num_classes, flow, hidden, projection, seed, start, precision : as for `FlowNetwork`
    weight_decay : λ of the trunk, whose weights are point estimates
    output_decay : λ = 1/(2σ²) > 0 of the prior N(0, σ²) of the output layer. A wide prior costs
        about log(σ/s) nats of the ELBO for each weight.

    Examples
    --------
    >>> from etgp_viz import flows
    >>> network = MeanFieldNetwork(2, 3, flows.Linear(), hidden=(4,))
    >>> network.output.weights.shape, network.deviations.shape
    (TensorShape([4, 6]), TensorShape([4, 6]))
    """

    def __init__(
        self,
        num_inputs: int,
        num_classes: int,
        flow: Flow,
        hidden: Sequence[int] = (50,),
        weight_decay: float = 1e-5,
        output_decay: float = 0.5,
        projection: Sequence[int] | None = None,
        seed: int = 0,
        start: Sequence[float] | np.ndarray | None = None,
        precision: str = "float64",
    ) -> None:
        trunk: dict[str, Any] = {"hidden": hidden, "weight_decay": weight_decay}
        trunk |= {"projection": projection, "seed": seed, "start": start, "precision": precision}
        super().__init__(num_inputs, num_classes, flow, dropout=0.0, **trunk)
        outputs = self.num_classes * flow.num_params
        what = f"noise of {outputs} raw parameters"
        checks.check_memory(5 * 8 * outputs**2, "num_classes", what)
        self.output_decay = checks.check_positive(output_decay, "output_decay")
        deviations = np.full(self.output.weights.shape, START)
        self.deviations = gpflow.Parameter(deviations, transform=gpflow.utilities.positive())

    def features(
        self, X: Tensor, samples: int | None = None, seed: Any = None, one_mask: bool = False
    ) -> Tensor:
        """φ and the noise of each raw parameter, which is 0 without `samples`: […, N, H + P·C]."""
        h = super().features(X)
        s = tf.cast(self.deviations, h.dtype)
        H, outputs = s.shape
        if samples is None:
            return tf.pad(h, [[0, 0], [0, outputs]])
        if seed is None:
            seed = self.generator.uniform_full_int([], tf.int32)
        # Rows first: a row's noise depends on its position, not on how many rows follow.
        shape = [H if one_mask else tf.shape(h)[0], samples, outputs]
        noise = tf.random.stateless_normal(shape, tf.stack([seed, 0]), dtype=h.dtype)
        noise = tf.transpose(noise, [1, 0, 2])
        if one_mask:
            noise = h @ (s * noise)
        else:
            noise *= standard_deviation(tf.square(h) @ tf.square(s))
        return tf.concat([tf.repeat(h[None], samples, axis=0), noise], axis=-1)

    def params_of(self, features: Tensor) -> Tensor:
        """Raw flow parameters from φ and the noise: [..., N, H + P·C] → [..., N, C, P]."""
        h, noise = tf.split(features, [self.deviations.shape[0], -1], axis=-1)
        split = tf.concat([tf.shape(noise)[:-1], [self.flow.num_params, self.num_classes]], 0)
        noise = tf.linalg.matrix_transpose(tf.reshape(noise, split))
        return super().params_of(h) + tf.cast(noise, self.output.bias.dtype)

    def last_layer(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """h, features and a one, and W, the mean weights above an identity above the bias."""
        h, W = super().last_layer(features)
        return h, tf.concat([W[:-1], tf.eye(W.shape[1], dtype=W.dtype), W[-1:]], axis=0)

    def prior_penalty(self) -> Tensor:
        """λ Σ w² of the trunk, and KL[q(W) ‖ p(W)] of the output layer.

        KL = Σ [ λ (m² + s²) − 1/2 − log(s √(2λ)) ], with λ = 1/(2σ²).
        """
        trunk = [tf.reduce_sum(layer.weights**2) for layer in self.layers]
        m, s, decay = self.output.weights, self.deviations, self.output_decay
        kl = decay * (m**2 + s**2) - 0.5 - tf.math.log(s * np.sqrt(2.0 * decay))
        return self.weight_decay * tf.add_n([tf.zeros([], kl.dtype), *trunk]) + tf.reduce_sum(kl)
