"""The network that turns an input x into the parameters of all C flows at once.

    x → [projection] → hidden tanh layers (shared) → one linear layer of width C·P

Dropout follows each hidden activation, in training and in Bayesian predictions: each draw of the
masks is a draw of the weights from q(W) (Monte Carlo dropout). In every draw each data row has
its own mask, the same at all quadrature nodes.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.core.flows import Flow

__all__ = ["FlowNetwork"]


class Dense(gpflow.base.Module):
    """An affine layer, x W + b, in the precision of x."""

    def __init__(self, weights: np.ndarray, bias: np.ndarray) -> None:
        super().__init__()
        self.weights = gpflow.Parameter(weights)
        self.bias = gpflow.Parameter(bias)

    def __call__(self, inputs: Tensor) -> Tensor:
        weights, bias = (tf.cast(part, inputs.dtype) for part in (self.weights, self.bias))
        return tf.matmul(inputs, weights) + bias


class FlowNetwork(gpflow.base.Module):
    """x ↦ raw parameters [C, P] of C flows of one family.

    Parameters
    ----------
    num_inputs, num_classes, flow : D, C, and the family, one of `etgp_viz.core.flows`
    hidden : widths of the shared tanh layers; ``()`` makes the parameters linear in x
    dropout : probability with which a hidden unit is dropped
    weight_decay : λ = 1/(2σ²) for the prior N(0, σ²) on every weight (not on biases)
    projection : widths of a network in front, ``(…, width of its output)``: tanh and dropout after
        each layer but the last, which is linear. Useful for images; None for none.
    seed : of the initial weights and of the dropout masks
    start : raw parameters [P] from which all flows start; by default those of the identity
    precision : ``"float64"``, or ``"float32"`` for products with W and activations: half the
        time or less, for about seven digits of θ. Steps of `fit` and averages over
        draws then also compute flows and softmax in float32 (float64 takes over where values are
        too large for it), with fewer nodes for smooth rows. All else is in float64 either way.

    The output layer starts with weights zero and `start` as bias, so that every process starts as
    f0 itself, exactly. (The paper reaches the same start by two fits of Adam.)

    Examples
    --------
    >>> from etgp_viz import flows
    >>> network = FlowNetwork(num_inputs=2, num_classes=3, flow=flows.Linear())
    >>> print(network(np.zeros((5, 2))).shape, network(np.zeros((5, 2)), samples=4).shape)
    (5, 3, 2) (4, 5, 3, 2)
    >>> features = network.features(np.zeros((5, 2)))  # the last shared layer
    >>> print(features.shape, network.params_of(features).shape)
    (5, 50) (5, 3, 2)
    >>> h, W = network.last_layer(features)  # h W is all parameters of all classes
    >>> print(h.shape, W.shape)
    (5, 51) (51, 6)
    """

    def __init__(
        self,
        num_inputs: int,
        num_classes: int,
        flow: Flow,
        hidden: Sequence[int] = (50,),
        dropout: float = 0.25,
        weight_decay: float = 1e-5,
        projection: Sequence[int] | None = None,
        seed: int = 0,
        start: Sequence[float] | np.ndarray | None = None,
        precision: str = "float64",
    ) -> None:
        super().__init__()
        self.num_inputs = checks.check_count(num_inputs, "num_inputs")
        self.num_classes = checks.check_count(num_classes, "num_classes")
        checks.check_flow(flow)
        if flow.num_params == 0:
            raise ValueError(f"flow: {flow} has no parameters for a network to output")
        self.flow = flow
        self.dropout = checks.check_fraction(dropout, "dropout")
        self.weight_decay = checks.check_nonnegative(weight_decay, "weight_decay")
        self.seed = checks.check_seed(seed)
        self.precision = checks.check_choice(precision, "precision", ("float64", "float32"))
        hidden_widths = checks.check_counts(hidden, "hidden")
        projected = checks.check_counts(() if projection is None else projection, "projection")

        rng = np.random.default_rng(seed)
        widths = [self.num_inputs, *projected, *hidden_widths]
        checks.check_widths([*widths, self.num_classes * flow.num_params], "hidden")
        self.layers = [Dense(_glorot(rng, *pair), np.zeros(pair[1])) for pair in pairwise(widths)]
        # The one layer that is not followed by an activation, if there is a projection.
        self._linear_layer = len(projected) - 1
        # Column p·C + c of the output is parameter p of class c: see `class_major`.
        first = checks.check_numbers(flow.identity_params() if start is None else start, "start")
        if first.shape != (flow.num_params,):
            checks.fail("start", f"{flow.num_params} finite raw parameters", f"{first.shape}")
        bias = np.repeat(first, self.num_classes)
        self.output = Dense(np.zeros((widths[-1], bias.size)), bias)
        self.generator = tf.random.Generator.from_seed(seed, alg="philox")

    def __call__(
        self, X: Tensor, samples: int | None = None, seed: int | None = None, one_mask: bool = False
    ) -> Tensor:
        """Raw flow parameters at inputs X [N, D]: [N, C, P], or [S, N, C, P] with `samples`.

        `samples` is None for the point estimate (dropout off), or the number S of dropout draws;
        without a `seed` these are the next ones of the network's own generator. With `one_mask` all
        rows of a draw share one mask, so that each draw is one function of x.
        """
        X = checks.check_inputs(X, "X", self.num_inputs)
        checks.check_optional(checks.check_draws, samples, "samples")
        if not checks.is_tensor(seed):
            checks.check_optional(checks.check_seed, seed, "seed")
        return self.params_of(self.features(X, samples, seed, one_mask))

    def features(
        self, X: Tensor, samples: int | None = None, seed: int | None = None, one_mask: bool = False
    ) -> Tensor:
        """The last shared layer at X [N, D]: [N, H], or [S, N, H] with `samples` dropout draws.

        `seed` and `one_mask` are as in a call of the network.
        """
        if samples is not None and seed is None:  # new for each call; stateless masks are faster
            seed = self.generator.uniform_full_int([], tf.int32)
        h = tf.cast(X, self.precision)  # [N, D], for all draws up to the first dropout
        for index, layer in enumerate(self.layers):
            h = layer(h)
            if index != self._linear_layer:
                h = tf.tanh(h)
                h = h if samples is None else self._drop(h, samples, [seed, index], one_mask)
        if samples is not None and h.shape.rank == 2:  # no hidden layer: nothing was dropped
            h = tf.repeat(h[None], samples, axis=0)
        return h

    def params_of(self, features: Tensor) -> Tensor:
        """Raw flow parameters [..., N, C, P] from the last shared layer, `features` [..., N, H]."""
        weights, bias = tf.cast(self.output.weights, features.dtype), self.output.bias
        stacked = tf.cast(tf.matmul(features, weights), bias.dtype) + bias  # [..., N, P·C]
        outputs = [bias.shape[0] // self.num_classes, self.num_classes]
        split = tf.concat([tf.shape(stacked)[:-1], outputs], axis=0)
        return tf.linalg.matrix_transpose(tf.reshape(stacked, split))

    def last_layer(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """h, `features` and a one [..., H + 1], and W, weights and bias [H + 1, P·C]."""
        W = tf.concat([self.output.weights, self.output.bias[None]], axis=0)
        padding = [[0, 0]] * (features.shape.rank - 1) + [[0, 1]]
        return tf.pad(tf.cast(features, W.dtype), padding, constant_values=1.0), W

    def prior_penalty(self) -> Tensor:
        """KL_W under MC dropout, up to a constant: λ Σ w² / keep over weights behind a dropout.

        There q(w) is w / keep with probability keep, else 0, and its KL divergence from the prior
        grows with E[w²] = w² / keep (Gal and Ghahramani, 2016). Weights of the inputs are never
        dropped: for them λ Σ w² is the negative log prior of a point estimate, so the objective is
        no longer a bound on log p(y).

        >>> from etgp_viz import flows
        >>> network = FlowNetwork(1, 2, flows.Linear(), hidden=(), weight_decay=0.5)
        >>> _ = network.output.weights.assign([[1.0, 2.0, 0.0, 0.0]])
        >>> float(network.prior_penalty())  # 0.5·(1² + 2²)
        2.5
        """
        # Nothing is dropped in front of the first layer, nor behind the linear one.
        whole = {0, self._linear_layer + 1}
        sums = [
            tf.reduce_sum(tf.square(layer.weights)) / (1.0 if k in whole else 1.0 - self.dropout)
            for k, layer in enumerate([*self.layers, self.output])
        ]
        return self.weight_decay * tf.add_n(sums)

    def _drop(self, h: Tensor, samples: int, seed: list, one_mask: bool) -> Tensor:
        """Hidden activations [N, H] or [S, N, H] under one mask per draw (and row): [S, N, H]."""
        kept = 1.0 - self.dropout
        # Rows first: a row's mask depends on its position, not on how many rows follow.
        shape = [1 if one_mask else tf.shape(h)[-2], samples, h.shape[-1]]
        uniform = tf.random.stateless_uniform(shape, tf.stack(seed))
        # Transposed before it is compared: on some processors TensorFlow logs an error when it
        # first transposes booleans.
        mask = tf.transpose(uniform, [1, 0, 2]) < kept
        # Scaled by 1/kept, so that the mean over masks is the activation itself.
        return tf.where(mask, h / kept, tf.zeros([], h.dtype))


def _glorot(rng: np.random.Generator, fan_in: int, fan_out: int) -> np.ndarray:
    """Weights that keep the variance of a tanh layer's input and gradient about constant."""
    limit = np.sqrt(6.0 / (fan_in + fan_out))
    return rng.uniform(-limit, limit, size=(fan_in, fan_out))
