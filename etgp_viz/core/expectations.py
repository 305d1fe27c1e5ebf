"""Expectations over one Gaussian latent of a softmax over C warped values.

    f ~ N(µ, σ²),   g_c = G(f; θ_c),   E[h(g)] ≈ Σ_q w_q h(g(µ + σ z_q))

with Q Gauss–Hermite nodes z and weights w, whatever C is. Arrays are *class-major*: parameters
come as P constrained tensors [B, C, N], so that sums over classes run across contiguous rows. B
blocks of N rows each go one after the other, so that what a block needs stays in the cache.

The node loop is compiled by XLA, and its gradient is summed up in the same pass as its value:
nothing of size Q·N·C is ever stored.
"""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from etgp_viz.backend import tf
from etgp_viz.core.flows import Flow

__all__ = [
    "differentiable",
    "expected_log_softmax",
    "expected_softmax",
    "gauss_hermite",
    "in_row_blocks",
    "log_expected_softmax",
    "padded",
]


@lru_cache(maxsize=32)
def gauss_hermite(num_quadrature: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [Q] and weights [Q], summing to one, for E[h(z)], z ~ N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(num_quadrature)
    return nodes, weights / weights.sum()


def expected_log_softmax(
    flow: Flow,
    mean: tf.Tensor,
    deviation: tf.Tensor,
    values: Sequence[tf.Tensor],
    labels: tf.Tensor,
    num_quadrature: int,
) -> tf.Tensor:
    """E[log softmax(G(f; θ_1), …, G(f; θ_C))_y] for each row, [B, N].

    Parameters
    ----------
    flow : the family of maps G
    mean, deviation : µ and σ of f, [B, N]
    values : P constrained flow parameters, each [B, C, N]
    labels : y in 0..C−1, [B, N]
    num_quadrature : Q
    """
    value_and_gradients = _value_and_gradients(flow, num_quadrature)
    known: list[tf.Tensor] = []

    def value(*inputs: Any) -> tf.Tensor:
        value, *known[:] = value_and_gradients(*inputs, labels)
        return value

    def pull_back(_: Any, __: tf.Tensor, upstream: tf.Tensor) -> list[tf.Tensor]:
        by_mean, by_deviation, *by_values = known
        per_class = upstream[:, None, :]
        return [
            upstream * by_mean,
            upstream * by_deviation,
            *(per_class * by_value for by_value in by_values),
        ]

    return differentiable(value, pull_back, mean, deviation, values)


def expected_softmax(
    flow: Flow,
    mean: tf.Tensor,
    deviation: tf.Tensor,
    values: Sequence[tf.Tensor],
    num_quadrature: int,
) -> tf.Tensor:
    """E[softmax(G(f; θ_1), …, G(f; θ_C))], class probabilities [B, C, N]; arguments as above."""
    probabilities = _probabilities(flow, num_quadrature)
    gradients = _gradients_of_nodes(flow, num_quadrature, _softmax_node)
    return differentiable(
        lambda *inputs: probabilities(*inputs)[0],
        lambda inputs, _, upstream: gradients(*inputs, upstream),
        mean,
        deviation,
        values,
    )


def log_expected_softmax(
    flow: Flow,
    mean: tf.Tensor,
    deviation: tf.Tensor,
    values: Sequence[tf.Tensor],
    labels: tf.Tensor,
    num_quadrature: int,
) -> tf.Tensor:
    """log E[softmax(…)_y] for each row, [B, N], without underflow; arguments as above."""
    log_probability = _log_probability(flow, num_quadrature)
    gradients = _gradients_of_nodes(flow, num_quadrature, _label_node)
    return differentiable(
        lambda *inputs: log_probability(*inputs, labels)[0],
        lambda inputs, total, upstream: gradients(*inputs, labels, total, upstream),
        mean,
        deviation,
        values,
    )


@lru_cache(maxsize=32)
def _value_and_gradients(flow: Flow, num_quadrature: int) -> Callable:
    """E[G_y(f)] − E[log Σ_c exp G_c(f)] and its gradients by µ, σ and each parameter."""
    nodes, weights = gauss_hermite(num_quadrature)

    def value_and_gradients(
        mean: tf.Tensor, deviation: tf.Tensor, values: list[tf.Tensor], labels: tf.Tensor
    ) -> list[tf.Tensor]:
        label_value, label_gradients = label_term(mean, deviation, values, labels)

        def add_node(q: tf.Tensor, value: tf.Tensor, gradients: list[tf.Tensor]) -> tuple:
            z, w = tf.gather(nodes, q), tf.gather(weights, q)
            f = mean + z * deviation
            with tf.GradientTape() as tape:
                tape.watch([f, *values])
                term = w * _log_sum_exp(flow._forward(f, values))
            by_f, *by_values = tape.gradient(term, [f, *values])
            node_gradients = [by_f, z * by_f, *by_values]
            pairs = zip(gradients, node_gradients, strict=True)
            return q + 1, value - term, [total - part for total, part in pairs]

        _, value, gradients = tf.while_loop(
            lambda q, *_: q < num_quadrature, add_node, (0, label_value, label_gradients)
        )
        return [value, *gradients]

    def label_term(
        mean: tf.Tensor, deviation: tf.Tensor, values: list[tf.Tensor], labels: tf.Tensor
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        # Only the process of the row's own label: [Q, N] numbers, whatever C is.
        one_hot = tf.one_hot(labels, values[0].shape[0], axis=0, dtype=mean.dtype)
        own = [tf.reduce_sum(one_hot * value, axis=0) for value in values]
        with tf.GradientTape() as tape:
            tape.watch([mean, deviation, *own])
            f = mean + nodes[:, None] * deviation
            term = tf.linalg.matvec(flow._forward(f, own), weights, transpose_a=True)
        by_mean, by_deviation, *by_own = tape.gradient(
            term, [mean, deviation, *own], unconnected_gradients="zero"
        )
        return term, [by_mean, by_deviation, *(one_hot * by for by in by_own)]

    return _compiled_over_blocks(value_and_gradients, float_outputs=3 + flow.num_params)


@lru_cache(maxsize=32)
def _probabilities(flow: Flow, num_quadrature: int) -> Callable:
    nodes, weights = gauss_hermite(num_quadrature)

    def probabilities(
        mean: tf.Tensor, deviation: tf.Tensor, values: list[tf.Tensor]
    ) -> list[tf.Tensor]:
        def add_node(q: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            z, w = tf.gather(nodes, q), tf.gather(weights, q)
            g = flow._forward(mean + z * deviation, values)
            unnormalised = tf.exp(g - tf.reduce_max(g, axis=0))
            return q + 1, total + unnormalised * (w / tf.reduce_sum(unnormalised, axis=0))

        start = (0, tf.zeros_like(values[0]))
        return [tf.while_loop(lambda q, _: q < num_quadrature, add_node, start)[1]]

    return _compiled_over_blocks(probabilities)


@lru_cache(maxsize=32)
def _log_probability(flow: Flow, num_quadrature: int) -> Callable:
    nodes, weights = gauss_hermite(num_quadrature)

    def log_probability(
        mean: tf.Tensor, deviation: tf.Tensor, values: list[tf.Tensor], labels: tf.Tensor
    ) -> list[tf.Tensor]:
        one_hot = tf.one_hot(labels, values[0].shape[0], axis=0, dtype=mean.dtype)

        def at_node(node: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
            z, log_w = node
            g = flow._forward(mean + z * deviation, values)
            return log_w + tf.reduce_sum(one_hot * g, axis=0) - _log_sum_exp(g)

        terms = tf.map_fn(at_node, (nodes, np.log(weights)), fn_output_signature=mean.dtype)
        return [tf.reduce_logsumexp(terms, axis=0)]

    return _compiled_over_blocks(log_probability)


def _softmax_node(g: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """What a node adds to Σ_c upstream_c E[softmax_c], but for its weight."""
    return tf.reduce_sum(upstream * tf.nn.softmax(g, axis=0), axis=0)


def _label_node(
    g: tf.Tensor, labels: tf.Tensor, total: tf.Tensor, upstream: tf.Tensor
) -> tf.Tensor:
    """The same for log E[softmax_y]: d log E[p] = E[dp]/E[p]."""
    one_hot = tf.one_hot(labels, g.shape[0], axis=0, dtype=g.dtype)
    log_p = tf.reduce_sum(one_hot * g, axis=0) - _log_sum_exp(g)
    return upstream * tf.exp(log_p - total)


@lru_cache(maxsize=32)
def _gradients_of_nodes(flow: Flow, num_quadrature: int, node: Callable) -> Callable:
    """Gradients by µ, σ and each parameter of Σ_q w_q node(g_q, …), node by node."""
    nodes, weights = gauss_hermite(num_quadrature)

    def gradients(
        mean: tf.Tensor, deviation: tf.Tensor, values: list[tf.Tensor], *rest: tf.Tensor
    ) -> list[tf.Tensor]:
        def add_node(q: tf.Tensor, *totals: tf.Tensor) -> tuple:
            z, w = tf.gather(nodes, q), tf.gather(weights, q)
            f = mean + z * deviation
            with tf.GradientTape() as tape:
                tape.watch([f, *values])
                term = w * node(flow._forward(f, values), *rest)
            by_f, *by_values = tape.gradient(term, [f, *values])
            parts = [by_f, z * by_f, *by_values]
            return q + 1, *(total + part for total, part in zip(totals, parts, strict=True))

        start = [tf.zeros_like(tensor) for tensor in (mean, deviation, *values)]
        return list(tf.while_loop(lambda q, *_: q < num_quadrature, add_node, (0, *start))[1:])

    return _compiled_over_blocks(gradients, float_outputs=2 + flow.num_params)


def differentiable(
    forward: Callable[..., tf.Tensor],
    pull_back: Callable[..., Sequence[tf.Tensor]],
    mean: tf.Tensor,
    deviation: tf.Tensor,
    values: Sequence[tf.Tensor],
) -> tf.Tensor:
    """``forward(mean, deviation, values)`` with its own gradients, ``pull_back(inputs, y, dy)``.

    No tape looks inside the compiled loop, which it could not differentiate. The gradients refuse
    to be differentiated again, since nobody computed that.
    """

    @tf.custom_gradient
    def expectation(*inputs: tf.Tensor) -> tuple:
        mean, deviation, *values = map(tf.stop_gradient, inputs)
        stopped = (mean, deviation, values)
        y = forward(*stopped)

        def gradients_of(upstream: tf.Tensor) -> Sequence[tf.Tensor]:
            @tf.custom_gradient
            def once(*_: tf.Tensor) -> tuple:
                def refuse(*_: tf.Tensor) -> None:
                    raise LookupError(
                        "second derivatives of a compiled expectation are not available"
                    )

                return tuple(pull_back(stopped, y, upstream)), refuse

            return once(*inputs, upstream)

        return y, gradients_of

    return expectation(*map(tf.convert_to_tensor, (mean, deviation, *values)))


def _compiled_over_blocks(
    function: Callable[..., list[tf.Tensor]], float_outputs: int = 1
) -> Callable[..., list[tf.Tensor]]:
    """Compile ``function(mean [N], deviation [N], values P × [C, N], …)`` for inputs [B, …]."""

    @tf.function(jit_compile=True, autograph=False)
    def over_blocks(
        mean: tf.Tensor, deviation: tf.Tensor, values: list[tf.Tensor], *labels: tf.Tensor
    ) -> list[tf.Tensor]:
        signature = [mean.dtype] * float_outputs
        block = (mean, deviation, values, *labels)
        return tf.map_fn(lambda args: function(*args), block, fn_output_signature=signature)

    return over_blocks


@tf.custom_gradient
def _log_sum_exp(g: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """log Σ_c exp g_c over the first axis; its gradient, the softmax, reuses the exponentials."""
    largest = tf.reduce_max(g, axis=0)
    exponentials = tf.exp(g - largest)
    total = tf.reduce_sum(exponentials, axis=0)
    return largest + tf.math.log(total), lambda upstream: exponentials * (upstream / total)


# Rows go through the compiled node loop in blocks that stay in the processor's cache, and in as
# many shares of blocks as there are cores.
ROWS_PER_BLOCK = 128
MAX_SHARES = min(os.cpu_count() or 1, 16)


def padded(rows: tf.Tensor) -> tf.Tensor:
    """Rows up to a power of two, above 1024 to a multiple of 1024, by repeating the last one.

    What is compiled for one number of rows then serves many.
    """
    num_rows = rows.shape[0]
    if num_rows is None:
        return rows
    size = -(-num_rows // 1024) * 1024 if num_rows > 1024 else 1 << (num_rows - 1).bit_length()
    return _extended(rows, size - num_rows, axis=0)


def _extended(tensor: tf.Tensor, extra: int, axis: int) -> tf.Tensor:
    """Repeat the last row `extra` times more."""
    if extra == 0:
        return tensor
    last = tf.gather(tensor, [tensor.shape[axis] - 1], axis=axis)
    return tf.concat([tensor, tf.repeat(last, extra, axis=axis)], axis=axis)


def in_row_blocks(
    function: Callable[..., tf.Tensor], tensors: Sequence[tf.Tensor], axes: Sequence[int]
) -> tf.Tensor:
    """Apply `function` to shares of the rows and join the results along their last axis.

    The axis of rows becomes two, [B, N]: B blocks of N rows. All shares have one shape, so that
    what is compiled for one serves all; the rows that this adds at the end repeat the last one and
    are cut off again. `function` returns [B, …, N].
    """
    num_rows = tensors[0].shape[axes[0]]
    if num_rows is None:  # a graph for any number of rows: one block
        shares, blocks, per_block, extra = 1, 1, -1, 0
    else:
        shares = min(MAX_SHARES, -(-num_rows // ROWS_PER_BLOCK))
        blocks = -(-num_rows // (shares * ROWS_PER_BLOCK))
        per_block = -(-num_rows // (shares * blocks))
        extra = shares * blocks * per_block - num_rows

    def split(tensor: tf.Tensor, axis: int) -> list[tf.Tensor]:
        shape = [*tensor.shape[:axis], shares, blocks, per_block, *tensor.shape[axis + 1 :]]
        shared = tf.reshape(_extended(tensor, extra, axis), shape)
        return tf.unstack(shared, num=shares, axis=axis)

    split_tensors = [split(tensor, axis) for tensor, axis in zip(tensors, axes, strict=True)]
    results = [function(*share) for share in zip(*split_tensors, strict=True)]
    joined = tf.stack(results)  # [shares, B, …, N]
    rank = joined.shape.rank
    joined = tf.transpose(joined, [*range(2, rank - 1), 0, 1, rank - 1])
    flat = tf.reshape(joined, [*joined.shape[:-3], -1])
    return flat[..., :num_rows]
