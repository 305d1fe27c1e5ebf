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
from typing import Any, NamedTuple

import numpy as np

from etgp_viz.backend import Tensor, tf, tfp
from etgp_viz.core.flows import Flow, Values

__all__ = [
    "expected_log_likelihood",
    "expected_log_softmax",
    "expected_softmax",
    "gauss_hermite",
    "log_expected_softmax",
]

DENSE_REACH, DENSE_NODES = 10.0, 1001  # of the dense rule, in deviations
MAX_NODES = 200  # beyond about 250, NumPy's weights overflow


@lru_cache(maxsize=32)
def gauss_hermite(num_quadrature: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z ``[Q]`` and weights w ``[Q]``, summing to one, for E[h(z)] with z ~ N(0, 1).

    >>> z, w = gauss_hermite(20)
    >>> print((w @ z**2).round(12), (w @ z**4).round(12))  # second and fourth moment
    1.0 3.0
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(num_quadrature)
    return nodes, weights / weights.sum()


class Rule(NamedTuple):
    """A Gauss–Hermite rule, and the error at which a finer one takes over; None for never.

    The Q nodes also give the last Hermite coefficients of the integrand, c_k = E[h(z) He_k(z)/√k!]
    for k = Q − 4 … Q − 1, without further evaluations. If they are not small, the rule has not
    converged, so √Σ c_k² serves as an estimate of its error. For a softmax that steps from one
    class to another, however steeply, the error is below 0.005 or below 2.5 times the estimate.
    """

    num_nodes: int
    tolerance: float | None = None
    is_dense: bool = True  # whether the last resort is the dense rule


class Node(NamedTuple):
    """A node z, its weight w, and the last four Hermite polynomials at z, normalised."""

    z: Any
    w: Any
    last: Any


@lru_cache(maxsize=32)
def levels(rule: Rule) -> tuple[np.ndarray, ...]:
    """Nodes, weights and last polynomials of all levels in one table, and where levels start.

    The rule itself, one of four times as many nodes, and (`is_dense`) a trapezium rule dense
    enough for steps of any slope, for which no coefficients are needed.
    """
    Q = rule.num_nodes
    grids = [gauss_hermite(Q)]
    if rule.tolerance is not None:
        z = np.linspace(-DENSE_REACH, DENSE_REACH, DENSE_NODES)
        density = np.exp(-0.5 * z**2)
        grids += [gauss_hermite(finer(Q)), (z, density / density.sum())][: 1 + rule.is_dense]
    last = [
        _last_polynomials(z) if k < 2 else np.zeros((len(z), 4)) for k, (z, _) in enumerate(grids)
    ]
    z, w = (np.concatenate(parts) for parts in zip(*grids, strict=True))
    starts = np.cumsum([0, *(len(z) for z, _ in grids)])
    return z, w, np.concatenate(last), starts


def finer(Q: int) -> int:
    """The number of nodes of the next finer rule."""
    return max(Q, min(4 * Q, MAX_NODES))


def _last_polynomials(z: np.ndarray) -> np.ndarray:
    """He_k(z)/√k! for k = Q − 4 … Q − 1 at the Q nodes: [Q, 4], by their recurrence."""
    polynomials = [np.zeros_like(z)] * 4 + [np.ones_like(z)]
    for k in range(1, len(z)):
        before, now = polynomials[-2:]
        polynomials.append((z * now - np.sqrt(k - 1) * before) / np.sqrt(k))
    return np.stack(polynomials[-4:], axis=-1)


def expected_log_likelihood(
    log_likelihood: Callable,
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    params: Tensor,
    Q: int,
    *,
    tolerance: float | None = None,
) -> Tensor:
    """E[log p(y | f^1, …, f^C)] of each row ``[N]``: the paper's quadrature, for any likelihood.

    `log_likelihood` maps the processes F ``[S, N, Q, C]`` to log p(y | F) ``[S, N, Q]``; mean and
    deviation µ, σ ``[N]`` are those of f0, raw params ``[S, N, C, P]`` those of S dropout draws.
    Where the `tolerance` is exceeded, up to 4·Q nodes are used instead (see `Rule`).
    """

    def at(Q: int) -> Tensor:
        return log_likelihood(at_nodes(flow, mean, deviation, params, Q))

    log_p = at(Q)
    value = average(log_p, Q)
    if tolerance is None:
        return value
    nodes, weights = gauss_hermite(Q)
    last = tf.einsum("snq,qk->snk", log_p, weights[:, None] * _last_polynomials(nodes))
    is_coarse = tf.norm(last, axis=-1) > tolerance * (1.0 + tf.abs(value))
    fine = finer(Q)
    return tf.cond(tf.reduce_any(is_coarse), lambda: average(at(fine), fine), lambda: value)


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
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    values: Values,
    labels: Tensor,
    Q: int,
    tolerance: float | None = None,
    is_dense: bool = True,
) -> Tensor:
    """E[log softmax(f^1, …, f^C)_y] of each row ``[B, N]``, with labels y in 0..C−1 ``[B, N]``.

    Mean and deviation µ, σ ``[B, N]`` are those of f0; values are the P constrained parameters of
    the flow, each ``[B, C, N]``. Where the `tolerance` is exceeded, finer rules are used (`Rule`).
    """
    outputs = 3 + flow.num_params
    compiled = _over_blocks(
        _value_and_gradients, flow, Rule(Q, tolerance, is_dense), num_outputs=outputs
    )
    return differentiable(
        lambda mean, deviation, *values: compiled(mean, deviation, values, labels),
        *(mean, deviation, *values),
    )


def expected_softmax(
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    values: Values,
    Q: int,
    tolerance: float | None = None,
    is_dense: bool = True,
) -> Tensor:
    """Class probabilities E[softmax(f^1, …, f^C)] ``[B, C, N]``; arguments as above."""

    def as_written(g: Tensor) -> Tensor:
        return tf.tensordot(gauss_hermite(Q)[1], tf.nn.softmax(g, axis=2), 1)

    inputs = [mean, deviation, *values]
    return _prediction(_probabilities, as_written, flow, Rule(Q, tolerance, is_dense), inputs)


def log_expected_softmax(
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    values: Values,
    labels: Tensor,
    Q: int,
    tolerance: float | None = None,
    is_dense: bool = True,
) -> Tensor:
    """log E[softmax(f^1, …, f^C)_y] of each row ``[B, N]``, without underflow."""

    def as_written(g: Tensor) -> Tensor:
        one_hot = tf.one_hot(labels, g.shape[2], axis=1, dtype=g.dtype)
        log_p = tf.reduce_sum(one_hot * tf.nn.log_softmax(g, axis=2), axis=2)
        log_weights = np.log(gauss_hermite(Q)[1])[:, None, None]
        return tf.reduce_logsumexp(log_weights + log_p, axis=0)

    inputs = [mean, deviation, *values]
    return _prediction(
        _log_probability, as_written, flow, Rule(Q, tolerance, is_dense), inputs, labels
    )


def _prediction(
    loop: Callable, as_written: Callable, flow: Flow, rule: Rule, inputs: Values, *labels: Tensor
) -> Tensor:
    """A prediction by its compiled loop, with its gradient by the rule as written.

    `as_written` takes the processes at all Q nodes [Q, B, C, N]. Gradients of predictions are
    rare, may cost more memory, and are not refined.
    """

    @tf.custom_gradient
    def prediction(*inputs: Tensor) -> tuple[Tensor, Callable]:
        def gradient(upstream: Tensor) -> list[Tensor]:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                mean, deviation, *values = inputs
                nodes = gauss_hermite(rule.num_nodes)[0][:, None, None, None]
                f0 = mean[:, None] + nodes * deviation[:, None]
                result = as_written(flow._forward(f0, values))
            return tape.gradient(result, inputs, upstream)

        # Hidden from any tape, which could not differentiate the compiled loop.
        mean, deviation, *values = map(tf.stop_gradient, inputs)
        return _over_blocks(loop, flow, rule)(mean, deviation, values, *labels)[0], gradient

    return prediction(*map(tf.convert_to_tensor, inputs))


@lru_cache(maxsize=96)
def _over_blocks(
    loop: Callable, flow: Flow, rule: Rule, num_outputs: int = 1
) -> Callable[..., Any]:
    """``loop(flow, rule, µ [N], σ [N], values P × [C, N], …)``, compiled for inputs [B, …]."""

    @tf.function(jit_compile=True, autograph=False)
    def over_blocks(*inputs: Any) -> list[Tensor]:
        signature = [inputs[0].dtype] * num_outputs
        return tf.map_fn(
            lambda block: loop(flow, rule, *block), inputs, fn_output_signature=signature
        )

    return over_blocks


def _value_and_gradients(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    """E[log softmax(f^1, …, f^C)_y] and its gradients in µ, σ and each parameter."""

    def add_node(node: Node, sums: list[Tensor], last: Tensor) -> tuple:
        f0 = mean + node.z * deviation
        with tf.GradientTape() as tape:
            tape.watch([f0, *values])
            log_p = _log_softmax(flow._forward(f0, values), labels)
            term = node.w * log_p
        by_f0, *by_values = tape.gradient(term, [f0, *values])
        terms = [term, by_f0, node.z * by_f0, *by_values]
        sums = [total + term for total, term in zip(sums, terms, strict=True)]
        # Far out, where weights are 1e-13, log p may be −1e6: that is bent to values above −10.
        return sums, last + node.last * (node.w * log_p / (1.0 - 0.1 * log_p))

    start = [tf.zeros_like(x) for x in (mean, mean, deviation, *values)]
    # An ELBO is a sum over rows: their mean error counts.
    return _integrate(rule, add_node, tf.reduce_mean, start, mean)


def _probabilities(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, values: Values
) -> list[Tensor]:
    # Sums over classes, as many as the binary digits of C, with signs that are those of the class's
    # number: a step from any class to any other shows in one of them.
    classes = np.arange(values[0].shape[0])
    signs = 2.0 * (classes >> np.arange(int(classes[-1]).bit_length())[:, None] & 1) - 1.0  # [K, C]

    def add_node(node: Node, sums: list[Tensor], last: Tensor) -> tuple:
        g = flow._forward(mean + node.z * deviation, values)
        unnormalised = tf.exp(g - tf.reduce_max(g, axis=0))
        share = node.w / tf.reduce_sum(unnormalised, axis=0)
        mixed = tf.matmul(signs, unnormalised) * share  # [K, N]
        return [sums[0] + unnormalised * share], last + node.last[:, None] * mixed

    start = [tf.zeros_like(values[0])]
    return _integrate(rule, add_node, tf.reduce_max, start, mean, len(signs))


def _log_probability(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    def add_node(node: Node, sums: list[Tensor], last: Tensor) -> tuple:
        log_p = _log_softmax(flow._forward(mean + node.z * deviation, values), labels)
        term = log_p + tf.math.log(node.w)
        total = tfp.math.log_add_exp(sums[0], term)
        # In units of the sum so far, since the sum itself may underflow.
        return [total], last * tf.exp(sums[0] - total) + node.last * tf.exp(term - total)

    start = [tf.fill(tf.shape(mean), tf.constant(-np.inf, mean.dtype))]
    return _integrate(rule, add_node, tf.reduce_max, start, mean)


def _integrate(
    rule: Rule,
    add_node: Callable,
    over_rows: Callable,
    start: list[Tensor],
    mean: Tensor,
    *sums: int,
) -> list[Tensor]:
    """Sums over the nodes, and over those of the next finer rule while the tolerance is exceeded.

    ``add_node(node, totals, last)`` adds a node's terms; ``last`` [4, *sums, N] becomes the last
    Hermite coefficients of each row. ``over_rows`` makes one error of those of all rows. A row
    whose own error is small keeps its value, whatever rows it shares a block with.
    """
    z, w, last, starts = levels(rule)
    tolerance = rule.tolerance or 0.0

    def over_level(level: Tensor, coarse: list[Tensor], errors: Tensor) -> tuple:
        def step(q: Tensor, totals: list[Tensor], last_sums: Tensor) -> tuple:
            node = Node(tf.gather(z, q), tf.gather(w, q), tf.gather(last, q)[:, None])
            return q + 1, *add_node(node, totals, last_sums)

        end = tf.gather(starts, level + 1)
        nothing = tf.zeros([4, *sums, tf.shape(mean)[0]], mean.dtype)
        state = tf.gather(starts, level), start, nothing
        _, fine, last_sums = tf.while_loop(lambda q, *_: q < end, step, state)
        fine_errors = tf.norm(last_sums, axis=0)
        if sums:
            fine_errors = tf.reduce_max(fine_errors, axis=0)
        is_good = errors <= tolerance
        chosen = [tf.where(is_good, *pair) for pair in zip(coarse, fine, strict=True)]
        return level + 1, chosen, tf.where(is_good, errors, fine_errors)

    def is_coarse(level: Tensor, _: list[Tensor], errors: Tensor) -> Tensor:
        return (level == 0) | ((level < len(starts) - 1) & (over_rows(errors) > tolerance))

    unknown = tf.fill(tf.shape(mean), tf.constant(np.inf, mean.dtype))
    _, totals, _ = tf.while_loop(is_coarse, over_level, (0, start, unknown))
    return totals


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
