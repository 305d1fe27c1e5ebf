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
from etgp_viz.core.flows import Flow

__all__ = [
    "at_nodes",
    "average",
    "differentiable",
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
    log_likelihood: Callable[[Tensor], Tensor],
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    params: Tensor,
    num_quadrature: int,
) -> Tensor:
    """E[log p(y | f^1, …, f^C)] of each row ``[N]``: the paper's quadrature, for any likelihood.

    Parameters
    ----------
    log_likelihood : log p(y | F) ``[S, N, Q]`` of the values of all processes F ``[S, N, Q, C]``
    flow : the family of maps G
    mean, deviation : µ and σ of f0 ``[N]``
    params : raw flow parameters ``[S, N, C, P]``, of S dropout draws
    num_quadrature : Q
    """
    F = at_nodes(flow, mean, deviation, params, num_quadrature)
    return average(log_likelihood(F), num_quadrature)


def at_nodes(
    flow: Flow, mean: Tensor, deviation: Tensor, params: Tensor, num_quadrature: int
) -> Tensor:
    """The C processes at the nodes, G(µ + σ z_q; θ_c): ``[S, N, Q, C]``; arguments as above."""
    nodes, _ = gauss_hermite(num_quadrature)
    f0 = mean[:, None] + deviation[:, None] * nodes
    return flow.forward(f0[:, :, None], params[:, :, None])


def average(values: Tensor, num_quadrature: int) -> Tensor:
    """Mean over dropout draws and nodes: ``[S, N, Q, …]`` → ``[N, …]``."""
    weights = tf.constant(gauss_hermite(num_quadrature)[1], values.dtype)
    return tf.einsum("snq...,q->n...", values, weights) / values.shape[0]


# ------------------------------------------------------------------ the softmax, accelerated


def expected_log_softmax(
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    values: Sequence[Tensor],
    labels: Tensor,
    num_quadrature: int,
) -> Tensor:
    """E[log softmax(f^1, …, f^C)_y] of each row ``[B, N]``.

    Parameters
    ----------
    flow : the family of maps G
    mean, deviation : µ and σ of f0 ``[B, N]``
    values : P constrained flow parameters, each ``[B, C, N]``
    labels : y in 0..C−1 ``[B, N]``
    num_quadrature : Q
    """
    compiled = _value_and_gradients(flow, num_quadrature)
    return differentiable(
        lambda mean, deviation, *values: compiled(mean, deviation, list(values), labels),
        *(mean, deviation, *values),
    )


def expected_softmax(
    flow: Flow, mean: Tensor, deviation: Tensor, values: Sequence[Tensor], num_quadrature: int
) -> Tensor:
    """Class probabilities E[softmax(f^1, …, f^C)] ``[B, C, N]``; arguments as above."""
    _, weights = gauss_hermite(num_quadrature)

    def as_written(g: Tensor) -> Tensor:
        return tf.tensordot(weights, tf.nn.softmax(g, axis=2), 1)

    compiled = _probabilities(flow, num_quadrature)
    return _by_nodes(compiled, as_written, flow, mean, deviation, values, (), num_quadrature)


def log_expected_softmax(
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    values: Sequence[Tensor],
    labels: Tensor,
    num_quadrature: int,
) -> Tensor:
    """log E[softmax(f^1, …, f^C)_y] of each row ``[B, N]``, without underflow."""
    log_weights = np.log(gauss_hermite(num_quadrature)[1])[:, None, None]

    def as_written(g: Tensor) -> Tensor:
        one_hot = tf.one_hot(labels, g.shape[2], axis=1, dtype=g.dtype)
        log_p = tf.reduce_sum(one_hot * tf.nn.log_softmax(g, axis=2), axis=2)
        return tf.reduce_logsumexp(log_weights + log_p, axis=0)

    compiled = _log_probability(flow, num_quadrature)
    return _by_nodes(compiled, as_written, flow, mean, deviation, values, (labels,), num_quadrature)


def _by_nodes(
    compiled: Callable[..., list[Tensor]],
    as_written: Callable[[Tensor], Tensor],
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    values: Sequence[Tensor],
    labels: Sequence[Tensor],
    num_quadrature: int,
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
                nodes = gauss_hermite(num_quadrature)[0][:, None, None, None]
                f0 = mean[:, None] + nodes * deviation[:, None]
                result = as_written(flow._forward(f0, values))
            return tape.gradient(result, inputs, upstream)

        # Hidden from any tape, which could not differentiate the compiled loop.
        mean, deviation, *values = map(tf.stop_gradient, inputs)
        return compiled(mean, deviation, values, *labels)[0], gradient

    return prediction(*map(tf.convert_to_tensor, (mean, deviation, *values)))


@lru_cache(maxsize=32)
def _value_and_gradients(flow: Flow, num_quadrature: int) -> Callable[..., list[Tensor]]:
    """E[f^y] − E[log Σ_c exp f^c] and its gradients in µ, σ and each parameter."""
    nodes, weights = gauss_hermite(num_quadrature)

    def value_and_gradients(
        mean: Tensor, deviation: Tensor, values: list[Tensor], labels: Tensor
    ) -> list[Tensor]:
        def add_node(q: Tensor, value: Tensor, gradients: list[Tensor]) -> tuple:
            z, w = tf.gather(nodes, q), tf.gather(weights, q)
            f0 = mean + z * deviation
            with tf.GradientTape() as tape:
                tape.watch([f0, *values])
                term = w * _log_sum_exp(flow._forward(f0, values))
            by_f0, *by_values = tape.gradient(term, [f0, *values])
            parts = zip(gradients, [by_f0, z * by_f0, *by_values], strict=True)
            return q + 1, value - term, [total - part for total, part in parts]

        start = (0, *label_term(mean, deviation, values, labels))
        _, value, gradients = tf.while_loop(lambda q, *_: q < num_quadrature, add_node, start)
        return [value, *gradients]

    def label_term(
        mean: Tensor, deviation: Tensor, values: list[Tensor], labels: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        # Only the process of the row's label: [Q, N] numbers for any C.
        one_hot = tf.one_hot(labels, values[0].shape[0], axis=0, dtype=mean.dtype)
        of_label = [tf.reduce_sum(one_hot * value, axis=0) for value in values]
        with tf.GradientTape() as tape:
            tape.watch([mean, deviation, *of_label])
            f0 = mean + nodes[:, None] * deviation
            term = tf.linalg.matvec(flow._forward(f0, of_label), weights, transpose_a=True)
        by_mean, by_deviation, *by_values = tape.gradient(
            term, [mean, deviation, *of_label], unconnected_gradients="zero"
        )
        return term, [by_mean, by_deviation, *(one_hot * by_value for by_value in by_values)]

    return _compiled_over_blocks(value_and_gradients, float_outputs=3 + flow.num_params)


@lru_cache(maxsize=32)
def _probabilities(flow: Flow, num_quadrature: int) -> Callable[..., list[Tensor]]:
    nodes, weights = gauss_hermite(num_quadrature)

    def probabilities(mean: Tensor, deviation: Tensor, values: list[Tensor]) -> list[Tensor]:
        def add_node(q: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
            z, w = tf.gather(nodes, q), tf.gather(weights, q)
            g = flow._forward(mean + z * deviation, values)
            unnormalised = tf.exp(g - tf.reduce_max(g, axis=0))
            return q + 1, total + unnormalised * (w / tf.reduce_sum(unnormalised, axis=0))

        start = (0, tf.zeros_like(values[0]))
        return [tf.while_loop(lambda q, _: q < num_quadrature, add_node, start)[1]]

    return _compiled_over_blocks(probabilities)


@lru_cache(maxsize=32)
def _log_probability(flow: Flow, num_quadrature: int) -> Callable[..., list[Tensor]]:
    nodes, weights = gauss_hermite(num_quadrature)

    def log_probability(
        mean: Tensor, deviation: Tensor, values: list[Tensor], labels: Tensor
    ) -> list[Tensor]:
        one_hot = tf.one_hot(labels, values[0].shape[0], axis=0, dtype=mean.dtype)

        def at_node(node: tuple[Tensor, Tensor]) -> Tensor:
            z, log_w = node
            g = flow._forward(mean + z * deviation, values)
            return log_w + tf.reduce_sum(one_hot * g, axis=0) - _log_sum_exp(g)

        terms = tf.map_fn(at_node, (nodes, np.log(weights)), fn_output_signature=mean.dtype)
        return [tf.reduce_logsumexp(terms, axis=0)]

    return _compiled_over_blocks(log_probability)


def _compiled_over_blocks(
    function: Callable[..., list[Tensor]], float_outputs: int = 1
) -> Callable[..., list[Tensor]]:
    """Compile ``function(mean [N], deviation [N], values P × [C, N], …)`` for inputs [B, …]."""

    @tf.function(jit_compile=True, autograph=False)
    def over_blocks(*block: Any) -> list[Tensor]:
        signature = [block[0].dtype] * float_outputs
        return tf.map_fn(lambda args: function(*args), block, fn_output_signature=signature)

    return over_blocks


@tf.custom_gradient
def _log_sum_exp(g: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """log Σ_c exp g_c over the first axis; its gradient, the softmax, reuses the exponentials."""
    largest = tf.reduce_max(g, axis=0)
    exponentials = tf.exp(g - largest)
    total = tf.reduce_sum(exponentials, axis=0)
    return largest + tf.math.log(total), lambda upstream: exponentials * (upstream / total)


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
            is_per_class = [gradient.shape.rank > value.shape.rank for gradient in gradients]
            products = (
                gradient * (upstream[:, None] if classes else upstream)
                for gradient, classes in zip(gradients, is_per_class, strict=True)
            )
            return tuple(products), refuse

        return value, lambda upstream: pulled_back(upstream, *inputs)

    return expectation(*map(tf.convert_to_tensor, inputs))
