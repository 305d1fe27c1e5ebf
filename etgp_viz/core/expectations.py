"""Expectations over the one latent of ETGP, whatever the number C of classes.

    f0 ~ N(µ, σ²),   f^c = G(f0; θ_c),   E[h(f^1, …, f^C)] ≈ Σ_q w_q h(f^1(z_q), …, f^C(z_q))

with Q Gauss–Hermite nodes z and weights w, f0 = µ + σ z. `expected_log_likelihood` is this rule as
written, for any likelihood. Below it are faster versions for the softmax: compiled loops over the
nodes that sum up value and gradient in one pass and store nothing of size Q·N·C.
Their arrays are *class-major*: P constrained parameters [B, C, N] of B blocks of N rows, so that
sums over classes run across contiguous rows and a block stays in the processor's cache.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, tf
from etgp_viz.core.flows import Flow, Values

__all__ = [
    "expected_log_likelihood",
    "expected_log_softmax",
    "expected_softmax",
    "gauss_hermite",
    "log_expected_softmax",
]


@lru_cache(maxsize=32)
def gauss_hermite(num_quadrature: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z ``[Q]`` and weights w ``[Q]``, summing to one, for E[h(z)] with z ~ N(0, 1).

    >>> z, w = gauss_hermite(20)
    >>> print((w @ z**2).round(12), (w @ z**4).round(12))  # second and fourth moment
    1.0 3.0
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(num_quadrature)
    return nodes, weights / weights.sum()


def expected_log_likelihood(
    log_likelihood: Callable, flow: Flow, mean: Tensor, deviation: Tensor, params: Tensor, Q: int
) -> Tensor:
    """E[log p(y | f^1, …, f^C)] of each row ``[N]``: the paper's quadrature, for any likelihood.

    `log_likelihood` maps the processes F ``[S, N, Q, C]`` to log p(y | F) ``[S, N, Q]``; mean and
    deviation µ, σ ``[N]`` are those of f0, raw params ``[S, N, C, P]`` those of S dropout draws.
    """
    return average(log_likelihood(at_nodes(flow, mean, deviation, params, Q)), Q)


def at_nodes(flow: Flow, mean: Tensor, deviation: Tensor, params: Tensor, Q: int) -> Tensor:
    """The C processes at the nodes, G(µ + σ z_q; θ_c): ``[S, N, Q, C]``; arguments as above."""
    nodes, _ = gauss_hermite(Q)
    f0 = mean[:, None] + deviation[:, None] * nodes
    return flow.forward(f0[:, :, None], params[:, :, None])


def average(values: Tensor, Q: int) -> Tensor:
    """Mean over dropout draws and nodes: ``[S, N, Q, …]`` → ``[N, …]``."""
    weights = tf.constant(gauss_hermite(Q)[1], values.dtype)
    return tf.einsum("snq...,q->n...", values, weights) / values.shape[0]


# ------------------------------------------------------------------ the softmax, accelerated


def expected_log_softmax(
    flow: Flow, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor, Q: int
) -> Tensor:
    """E[log softmax(f^1, …, f^C)_y] of each row ``[B, N]``, with labels y in 0..C−1 ``[B, N]``.

    Mean and deviation µ, σ ``[B, N]`` are those of f0; values are the P constrained parameters of
    the flow, each ``[B, C, N]``.
    """
    compiled = _over_blocks(_value_and_gradients, flow, Q, num_outputs=3 + flow.num_params)
    return differentiable(
        lambda mean, deviation, *values: compiled(mean, deviation, values, labels),
        *(mean, deviation, *values),
    )


def expected_softmax(flow: Flow, mean: Tensor, deviation: Tensor, values: Values, Q: int) -> Tensor:
    """Class probabilities E[softmax(f^1, …, f^C)] ``[B, C, N]``; arguments as above."""

    def as_written(g: Tensor) -> Tensor:
        return tf.tensordot(gauss_hermite(Q)[1], tf.nn.softmax(g, axis=2), 1)

    return _prediction(_probabilities, as_written, flow, Q, [mean, deviation, *values])


def log_expected_softmax(
    flow: Flow, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor, Q: int
) -> Tensor:
    """log E[softmax(f^1, …, f^C)_y] of each row ``[B, N]``, without underflow."""

    def as_written(g: Tensor) -> Tensor:
        one_hot = tf.one_hot(labels, g.shape[2], axis=1, dtype=g.dtype)
        log_p = tf.reduce_sum(one_hot * tf.nn.log_softmax(g, axis=2), axis=2)
        log_weights = np.log(gauss_hermite(Q)[1])[:, None, None]
        return tf.reduce_logsumexp(log_weights + log_p, axis=0)

    return _prediction(_log_probability, as_written, flow, Q, [mean, deviation, *values], labels)


def _prediction(
    loop: Callable, as_written: Callable, flow: Flow, Q: int, inputs: Values, *labels: Tensor
) -> Tensor:
    """A prediction by its compiled loop, with its gradient by the rule as written.

    `as_written` takes the processes at all nodes [Q, B, C, N]. Gradients of predictions are rare,
    and may cost more memory.
    """

    @tf.custom_gradient
    def prediction(*inputs: Tensor) -> tuple[Tensor, Callable]:
        def gradient(upstream: Tensor) -> list[Tensor]:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                mean, deviation, *values = inputs
                nodes = gauss_hermite(Q)[0][:, None, None, None]
                f0 = mean[:, None] + nodes * deviation[:, None]
                result = as_written(flow._forward(f0, values))
            return tape.gradient(result, inputs, upstream)

        # Hidden from any tape, which could not differentiate the compiled loop.
        mean, deviation, *values = map(tf.stop_gradient, inputs)
        return _over_blocks(loop, flow, Q)(mean, deviation, values, *labels)[0], gradient

    return prediction(*map(tf.convert_to_tensor, inputs))


@lru_cache(maxsize=96)
def _over_blocks(loop: Callable, flow: Flow, Q: int, num_outputs: int = 1) -> Callable[..., Any]:
    """``loop(flow, Q, µ [N], σ [N], values P × [C, N], …)``, compiled for inputs [B, …]."""

    @tf.function(jit_compile=True, autograph=False)
    def over_blocks(*inputs: Any) -> list[Tensor]:
        signature = [inputs[0].dtype] * num_outputs
        return tf.map_fn(lambda block: loop(flow, Q, *block), inputs, fn_output_signature=signature)

    return over_blocks


def _value_and_gradients(
    flow: Flow, Q: int, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    """E[log softmax(f^1, …, f^C)_y] and its gradients in µ, σ and each parameter."""
    nodes, weights = gauss_hermite(Q)

    def add_node(q: Tensor, value: Tensor, gradients: list[Tensor]) -> tuple:
        z, w = tf.gather(nodes, q), tf.gather(weights, q)
        f0 = mean + z * deviation
        with tf.GradientTape() as tape:
            tape.watch([f0, *values])
            term = w * _log_softmax(flow._forward(f0, values), labels)
        by_f0, *by_values = tape.gradient(term, [f0, *values])
        parts = zip(gradients, [by_f0, z * by_f0, *by_values], strict=True)
        return q + 1, value + term, [total + part for total, part in parts]

    start = (0, tf.zeros_like(mean), [tf.zeros_like(x) for x in (mean, deviation, *values)])
    _, value, gradients = tf.while_loop(lambda q, *_: q < Q, add_node, start)
    return [value, *gradients]


def _probabilities(
    flow: Flow, Q: int, mean: Tensor, deviation: Tensor, values: Values
) -> list[Tensor]:
    nodes, weights = gauss_hermite(Q)

    def add_node(q: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        z, w = tf.gather(nodes, q), tf.gather(weights, q)
        g = flow._forward(mean + z * deviation, values)
        unnormalised = tf.exp(g - tf.reduce_max(g, axis=0))
        return q + 1, total + unnormalised * (w / tf.reduce_sum(unnormalised, axis=0))

    start = (0, tf.zeros_like(values[0]))
    return [tf.while_loop(lambda q, _: q < Q, add_node, start)[1]]


def _log_probability(
    flow: Flow, Q: int, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    nodes, weights = gauss_hermite(Q)

    def at_node(node: tuple[Tensor, Tensor]) -> Tensor:
        z, log_w = node
        return log_w + _log_softmax(flow._forward(mean + z * deviation, values), labels)

    terms = tf.map_fn(at_node, (nodes, np.log(weights)), fn_output_signature=mean.dtype)
    return [tf.reduce_logsumexp(terms, axis=0)]


def _log_softmax(g: Tensor, labels: Tensor) -> Tensor:
    """log softmax(g)_y [N] of the C processes g [C, N] and labels y [N]: never above zero."""

    # E[f^y] − E[log Σ exp f^c], equal on paper, would be rounding error once the two are 1e20.
    @tf.custom_gradient
    def log_softmax(g: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        largest = tf.reduce_max(g, axis=0)
        grown = tf.exp(g - largest)  # serves the value and the slope
        total = tf.reduce_sum(grown, axis=0)
        value = tf.gather(tf.transpose(g), labels, batch_dims=1) - largest - tf.math.log(total)
        at_label = tf.range(g.shape[0], dtype=labels.dtype)[:, None] == labels
        return value, lambda by: tf.where(at_label, by, tf.zeros_like(by)) - grown * (by / total)

    return log_softmax(g)


def differentiable(value_and_gradients: Callable[..., Sequence[Tensor]], *inputs: Tensor) -> Tensor:
    """One value per row, with gradients that were computed along with it.

    ``value_and_gradients(*inputs)`` returns the value [..., N] and its gradient in each input; a
    class axis may follow their first axis. Tapes do not record the inside. Differentiating the
    gradients again is an error, since second derivatives are not computed.
    """

    @tf.custom_gradient
    def expectation(*inputs: Tensor) -> tuple[Tensor, Callable]:
        value, *gradients = value_and_gradients(*map(tf.stop_gradient, inputs))

        def refuse(*_: Tensor) -> None:
            raise LookupError("second derivatives of a compiled expectation are not available")

        @tf.custom_gradient
        def pulled_back(upstream: Tensor, *_: Tensor) -> tuple[tuple[Tensor, ...], Callable]:
            by_rank = {value.shape.rank: upstream, value.shape.rank + 1: upstream[:, None]}
            return tuple(gradient * by_rank[gradient.shape.rank] for gradient in gradients), refuse

        return value, lambda upstream: pulled_back(upstream, *inputs)

    return expectation(*map(tf.convert_to_tensor, inputs))
