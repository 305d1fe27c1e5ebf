"""Expectations over the one latent of ETGP, whatever the number C of classes.

    f0 ~ N(µ, σ²),   f^c = G(f0; θ_c),   E[h(f^1, …, f^C)] ≈ Σ_q w_q h(f^1(z_q), …, f^C(z_q))

with Q Gauss–Hermite nodes z and weights w, f0 = µ + σ z. `expected_log_likelihood` is this rule as
written, for any likelihood. Below it are faster versions for the softmax: compiled loops over the
nodes that sum up value and gradient in one pass and store nothing of size Q·N·C.
Their arrays are *class-major*: P constrained parameters [B, C, N] of B blocks of N rows, so that
sums over classes run across contiguous rows and a block stays in the processor's cache.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from etgp_viz.backend import Tensor, tf, tfp
from etgp_viz.core.flows import Flow, Values
from etgp_viz.core.hermite import polynomials

__all__ = [
    *("expected_log_likelihood", "expected_log_softmax", "expected_softmax", "gauss_hermite"),
    *("log_expected_softmax", "quick_log_softmax", "quick_softmax"),
]

DENSE_REACH, DENSE_NODES = 10.0, 1001  # of the dense rule, in deviations
MAX_NODES = 200  # beyond about 250, NumPy's weights overflow
# With 8 nodes the estimate is cautious: four tolerances of it, but at most this, are an error below
# 0.002 for a softmax that steps from one class to another, however steeply.
FIRST_NODES, FIRST_TOLERANCE = 8, 0.02
# Set while a training step is traced, which may be computed in float32.
is_training = ContextVar("is_training", default=False)
LARGEST_QUICK = 1e4  # float32 knows numbers of this size to three decimals


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
    first: int = 0  # fewer nodes to try first; 0 for none


@lru_cache(maxsize=32)
def levels(rule: Rule) -> tuple[np.ndarray, ...]:
    """Nodes, weights and last polynomials of all levels in one table, and where levels start.

    Fewer nodes (`first`), the rule itself, one of four times as many nodes, and (`is_dense`) a
    trapezium rule dense enough for steps of any slope, for which no coefficients are needed.
    """
    Q = rule.num_nodes
    grids = [gauss_hermite(Q)]
    if rule.tolerance is not None:
        z = np.linspace(-DENSE_REACH, DENSE_REACH, DENSE_NODES)
        density = np.exp(-0.5 * z**2)
        grids += [gauss_hermite(finer(Q)), (z, density / density.sum())][: 1 + rule.is_dense]
        grids = [gauss_hermite(rule.first), *grids] if 0 < rule.first < Q else grids
    last = [
        _last_polynomials(z) if len(z) < DENSE_NODES else np.zeros((len(z), 4)) for z, _ in grids
    ]
    z, w = (np.concatenate(parts) for parts in zip(*grids, strict=True))
    starts = np.cumsum([0, *(len(z) for z, _ in grids)])
    return z, w, np.concatenate(last), starts


def finer(Q: int) -> int:
    """The number of nodes of the next finer rule, at least 8: 4 never have a small estimate."""
    return max(Q, min(max(4 * Q, 8), MAX_NODES))


def _last_polynomials(z: np.ndarray) -> np.ndarray:
    """He_k(z)/√k! for k = Q − 4 … Q − 1 at the Q nodes: [Q, 4]."""
    return np.pad(polynomials(z, len(z) - 1), [(0, 0), (4, 0)])[:, -4:]


def expected_log_likelihood(
    log_likelihood: Callable,
    flow: Flow,
    mean: Tensor,
    deviation: Tensor,
    params: Tensor,
    grid: tuple[np.ndarray, np.ndarray],
    *,
    tolerance: float | None = None,
) -> Tensor:
    """E[log p(y | f^1, …, f^C)] of each row ``[N]``: the paper's quadrature, for any likelihood.

    `log_likelihood` maps the processes F ``[S, N, Q, C]`` to log p(y | F) ``[S, N, Q]``; mean and
    deviation µ, σ ``[N]`` are those of f0, raw params ``[S, N, C, P]`` those of S dropout draws.
    The grid has nodes and weights ``[Q]``. Where the `tolerance` is exceeded, up to 4·Q nodes are
    used (see `Rule`).
    """

    def at(grid: tuple) -> Tensor:
        return log_likelihood(at_nodes(flow, mean, deviation, params, grid))

    log_p = at(grid)
    value = average(log_p, grid)
    if tolerance is None:
        return value
    nodes, weights = grid
    last = tf.einsum("snq,qk->snk", log_p, weights[:, None] * _last_polynomials(nodes))
    is_coarse = tf.norm(last, axis=-1) > tolerance * (1.0 + tf.abs(value))
    fine = gauss_hermite(finer(len(nodes)))
    return tf.cond(tf.reduce_any(is_coarse), lambda: average(at(fine), fine), lambda: value)


def at_nodes(flow: Flow, mean: Tensor, deviation: Tensor, params: Tensor, grid: tuple) -> Tensor:
    """The C processes at the nodes, G(µ + σ z_q; θ_c): ``[S, N, Q, C]``; arguments as above."""
    f0 = mean[:, None] + deviation[:, None] * grid[0]
    return flow.forward(f0[:, :, None], params[:, :, None])


def average(values: Tensor, grid: tuple) -> Tensor:
    """Mean over dropout draws and nodes: ``[S, N, Q, …]`` → ``[N, …]``."""
    return tf.einsum("snq...,q->n...", values, tf.constant(grid[1], values.dtype)) / values.shape[0]


# ------------------------------------------------------------------ the softmax, accelerated


def expected_log_softmax(
    flow: Flow, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor, *rule: Any
) -> Tensor:
    """E[log softmax(f^1, …, f^C)_y] of each row ``[B, N]``, with labels y in 0..C−1 ``[B, N]``.

    Mean and deviation µ, σ ``[B, N]`` are those of f0; values are the P constrained parameters of
    the flow, each ``[B, C, N]``; then come the fields of a `Rule`.
    """
    compiled = _over_blocks(_value_and_gradients, flow, Rule(*rule), 4 + flow.num_params)

    def value_and_pull_back(mean: Tensor, deviation: Tensor, *values: Tensor) -> tuple:
        value, _, *gradients = compiled(mean, deviation, values, labels)
        return by_rows(value, *gradients)

    return differentiable(value_and_pull_back, mean, deviation, *values)


def quick_log_softmax(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, h: Tensor, W: Tensor, labels: Tensor
) -> tuple[Tensor, Tensor]:
    """The same in float32, and whether rounding is negligible in all rows.

    Raw parameters are h W, with the network's last layer h ``[B, N, H]`` and weights W ``[H, P·C]``
    (`FlowNetwork.last_layer`). Nothing of size P·C·N is stored but these and their gradient.
    """
    compiled = _over_blocks(_from_raw, flow, rule._replace(first=FIRST_NODES), 5)

    def value_and_pull_back(*inputs: Tensor) -> tuple[Any, Callable]:
        mean, deviation, h, W = (tf.cast(x, tf.float32) for x in inputs)
        value, size, *by_moments, by_raw = compiled(mean, deviation, raw_params(flow, h, W), labels)
        by_raw = tf.reshape(by_raw, [by_raw.shape[0], W.shape[1], -1])  # [B, P·C, N]

        def pull_back(upstream: Tensor) -> list[Tensor]:
            upstream = tf.cast(upstream, tf.float32)
            by_h = tf.matmul(by_raw, W, transpose_a=True, transpose_b=True)  # [B, N, H]
            by_W = tf.einsum("bnh,bkn->hk", h * upstream[..., None], by_raw)
            parts = [*(upstream * by for by in by_moments), by_h * upstream[..., None], by_W]
            return [tf.cast(by, x.dtype) for by, x in zip(parts, inputs, strict=True)]

        is_safe = tf.reduce_all(size <= LARGEST_QUICK * (1.0 - value))
        return (tf.cast(value, inputs[0].dtype), is_safe), pull_back

    return differentiable(value_and_pull_back, mean, deviation, h, W)


def expected_softmax(
    flow: Flow, mean: Tensor, deviation: Tensor, values: Values, *rule: Any
) -> Tensor:
    """Class probabilities E[softmax(f^1, …, f^C)] ``[B, C, N]``; arguments as above."""
    return _softmax_and_size(flow, Rule(*rule), mean, deviation, *values)[0]


def quick_softmax(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, h: Tensor, W: Tensor
) -> tuple[Tensor, Tensor]:
    """The same in float32, and whether rounding is negligible in all rows."""
    quick_mean, quick_deviation, *last = (tf.cast(x, tf.float32) for x in (mean, deviation, h, W))
    values = flow.constrained(tf.unstack(raw_params(flow, *last), axis=1))
    rule = rule._replace(first=FIRST_NODES)
    p, size = _softmax_and_size(flow, rule, quick_mean, quick_deviation, *values)
    return tf.cast(p, mean.dtype), tf.reduce_all(size <= LARGEST_QUICK)


def log_expected_softmax(
    flow: Flow, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor, *rule: Any
) -> Tensor:
    """log E[softmax(f^1, …, f^C)_y] of each row ``[B, N]``, without underflow."""

    def as_written(g: Tensor) -> Tensor:
        one_hot = tf.one_hot(labels, g.shape[2], axis=1, dtype=g.dtype)
        log_p = tf.reduce_sum(one_hot * tf.nn.log_softmax(g, axis=2), axis=2)
        log_weights = np.log(gauss_hermite(rule[0])[1])[:, None, None]
        return tf.reduce_logsumexp(log_weights + log_p, axis=0)

    compiled = _over_blocks(_log_probability, flow, Rule(*rule), 1)
    return _prediction(
        lambda *inputs: compiled(*inputs, labels),
        as_written,
        flow,
        rule[0],
        mean,
        deviation,
        *values,
    )[0]


def _softmax_and_size(flow: Flow, rule: Rule, *inputs: Tensor) -> list[Tensor]:
    """E[softmax(f^1, …, f^C)], and the mean size of the largest process."""

    def as_written(g: Tensor) -> Tensor:
        weights = gauss_hermite(rule.num_nodes)[1].astype(g.dtype.as_numpy_dtype)
        return tf.tensordot(weights, tf.nn.softmax(g, axis=2), 1)

    loop = _over_blocks(_probabilities, flow, rule, 2)
    return _prediction(loop, as_written, flow, rule.num_nodes, *inputs)


def _prediction(
    compiled: Callable, as_written: Callable, flow: Flow, Q: int, *inputs: Tensor
) -> list[Tensor]:
    """A prediction by its compiled loop, with its gradient by the rule as written.

    `as_written` takes the processes at all Q nodes [Q, B, C, N]. Gradients of predictions are
    rare, may cost more memory, and are not refined.
    """

    @tf.custom_gradient
    def prediction(*inputs: Tensor) -> tuple[list[Tensor], Callable]:
        def gradient(upstream: Tensor, *_: Tensor) -> list[Tensor]:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                mean, deviation, *values = inputs
                nodes = gauss_hermite(Q)[0][:, None, None, None].astype(mean.dtype.as_numpy_dtype)
                f0 = mean[:, None] + nodes * deviation[:, None]
                result = as_written(flow._forward(f0, values))
            return tape.gradient(result, inputs, upstream)

        # Hidden from any tape, which could not differentiate the compiled loop.
        mean, deviation, *values = map(tf.stop_gradient, inputs)
        return compiled(mean, deviation, values), gradient

    return prediction(*map(tf.convert_to_tensor, inputs))


def raw_params(flow: Flow, h: Tensor, W: Tensor) -> Tensor:
    """Raw parameters [B, P, C, N] from the network's last layer, h [B, N, H] and W [H, P·C]."""
    product = tf.matmul(W, h, transpose_a=True, transpose_b=True)
    return tf.reshape(product, [h.shape[0], flow.num_params, W.shape[1] // flow.num_params, -1])


# What is computed instead in training steps and in averages over draws.
QUICK: Any = {expected_log_softmax: quick_log_softmax, expected_softmax: quick_softmax}


@lru_cache(maxsize=96)
def _over_blocks(loop: Callable, flow: Flow, rule: Rule, num_outputs: int) -> Callable[..., Any]:
    """``loop(flow, rule, µ [N], σ [N], values P × [C, N], …)``, compiled for inputs [B, …]."""

    @tf.function(jit_compile=True, autograph=False)
    def over_blocks(*inputs: Any) -> list[Tensor]:
        signature = [inputs[0].dtype] * num_outputs
        return tf.map_fn(
            lambda block: loop(flow, rule, *block), inputs, fn_output_signature=signature
        )

    return over_blocks


# ------------------------------------------------------------------ compiled sums over nodes


def _from_raw(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, raw: Tensor, labels: Tensor
) -> list[Tensor]:
    """`_value_and_gradients` with one gradient for all raw parameters [P, C, N]."""
    with tf.GradientTape() as tape:
        tape.watch(raw)
        values = flow.constrained(tf.unstack(raw))
    outputs = _value_and_gradients(flow, rule, mean, deviation, values, labels)
    gradients = [*outputs[2:4], tape.gradient(values, raw, outputs[4:])]
    # After an overflow these gradients are not used, but are multiplied by zero.
    finite = (tf.where(tf.math.is_finite(by), by, tf.zeros_like(by)) for by in gradients)
    return [*outputs[:2], *finite]


def _value_and_gradients(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    """E[log softmax(f^1, …, f^C)_y], the size of its terms, and gradients in µ, σ and parameters.

    The value has a rounding error of about its size times the precision.
    """

    def add_node(z: Tensor, w: Tensor, sums: list[Tensor]) -> tuple:
        f0 = mean + z * deviation
        f0_of_class = tf.broadcast_to(f0, tf.shape(values[0]))  # one sum over classes, not several
        with tf.GradientTape() as tape:
            tape.watch([f0_of_class, *values])
            g = flow._forward(f0_of_class, values)
            log_p = _log_softmax(g, labels)
            term = w * log_p
        by_f0_of_class, *by_values = tape.gradient(term, [f0_of_class, *values])
        by_f0 = tf.reduce_sum(by_f0_of_class, axis=0)
        size = w * tf.abs(tf.reduce_max(g, axis=0)) + tf.abs(f0 * by_f0)
        terms = [term, size, by_f0, z * by_f0, *by_values]
        sums = [total + term for total, term in zip(sums, terms, strict=True)]
        # Far out, where weights are 1e-13, log p may be −1e6: that is bent to values above −10.
        return sums, log_p / (1.0 - 0.1 * log_p), 1.0

    start = [tf.zeros_like(x) for x in (mean, mean, mean, deviation, *values)]
    # An ELBO is a sum over rows: their mean error counts.
    return _integrate(rule, add_node, tf.reduce_mean, start, mean)


def _probabilities(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, values: Values
) -> list[Tensor]:
    """E[softmax(f^1, …, f^C)], and the mean size of the largest process."""
    # Sums over classes, as many as the binary digits of C, with signs that are those of the class's
    # number: a step from any class to any other shows in one of them.
    classes = np.arange(values[0].shape[0])
    signs = 2.0 * (classes >> np.arange(int(classes[-1]).bit_length())[:, None] & 1) - 1.0  # [K, C]

    def add_node(z: Tensor, w: Tensor, sums: list[Tensor]) -> tuple:
        g = flow._forward(mean + z * deviation, values)
        largest = tf.reduce_max(g, axis=0)
        unnormalised = tf.exp(g - largest)
        p = unnormalised * (1.0 / tf.reduce_sum(unnormalised, axis=0))
        sums = [sums[0] + w * p, sums[1] + w * tf.abs(largest)]
        return sums, tf.matmul(tf.cast(signs, p.dtype), p), 1.0  # [K, N]

    start = [tf.zeros_like(values[0]), tf.zeros_like(mean)]
    return _integrate(rule, add_node, tf.reduce_max, start, mean, len(signs))


def _log_probability(
    flow: Flow, rule: Rule, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    def add_node(z: Tensor, w: Tensor, sums: list[Tensor]) -> tuple:
        log_p = _log_softmax(flow._forward(mean + z * deviation, values), labels)
        total = tfp.math.log_add_exp(sums[0], log_p + tf.math.log(w))
        # In units of the sum so far, since the sum itself may underflow.
        return [total], tf.exp(log_p - total), tf.exp(sums[0] - total)

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

    ``add_node(z, w, totals)`` adds the terms of a node and weight. It also returns the integrand
    [*sums, N], for its last Hermite coefficients, and by what their sums so far are multiplied.
    ``over_rows`` makes one error of those of all rows. A row whose own error is small keeps its
    value, whatever rows it shares a block with.
    """
    z, w, last, starts = levels(rule)
    z, w, last = (x.astype(mean.dtype.as_numpy_dtype) for x in (z, w, w[:, None] * last))
    tolerances = np.full(len(starts) - 1, rule.tolerance or np.inf, z.dtype)
    if starts[1] < rule.num_nodes:
        tolerances[0] = min(4.0 * tolerances[0], FIRST_TOLERANCE)

    def over_level(level: Tensor, coarse: list[Tensor], errors: Tensor) -> tuple:
        def step(q: Tensor, totals: list[Tensor], last_sums: Tensor) -> tuple:
            totals, value, kept = add_node(tf.gather(z, q), tf.gather(w, q), totals)
            polynomials = tf.reshape(tf.gather(last, q), [4, *[1] * len(value.shape)])
            return q + 1, totals, last_sums * kept + polynomials * value

        end = tf.gather(starts, level + 1)
        nothing = tf.zeros([4, *sums, tf.shape(mean)[0]], mean.dtype)
        state = tf.gather(starts, level), start, nothing
        _, fine, last_sums = tf.while_loop(lambda q, *_: q < end, step, state)
        fine_errors = tf.norm(last_sums, axis=0) / tf.gather(tolerances, level)
        if sums:
            fine_errors = tf.reduce_max(fine_errors, axis=0)
        is_good = errors <= 1.0  # in units of the tolerance
        chosen = [tf.where(is_good, *pair) for pair in zip(coarse, fine, strict=True)]
        return level + 1, chosen, tf.where(is_good, errors, fine_errors)

    def is_coarse(level: Tensor, _: list[Tensor], errors: Tensor) -> Tensor:
        return (level == 0) | ((level < len(starts) - 1) & (over_rows(errors) > 1.0))

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


def differentiable(value_and_pull_back: Callable[..., tuple], *inputs: Tensor) -> Any:
    """A value (or several) with gradients that were computed along with it.

    ``value_and_pull_back(*inputs)`` returns the value and a function from its upstream gradient to
    the gradients in each input. Tapes do not record the inside. Differentiating the gradients again
    is an error, since second derivatives are not computed.
    """

    @tf.custom_gradient
    def expectation(*inputs: Tensor) -> tuple[Any, Callable]:
        value, pull_back = value_and_pull_back(*map(tf.stop_gradient, inputs))

        def refuse(*_: Tensor) -> None:
            raise LookupError("second derivatives of a compiled expectation are not available")

        @tf.custom_gradient
        def pulled_back(upstream: Tensor, *_: Tensor) -> tuple[tuple[Tensor, ...], Callable]:
            return tuple(pull_back(upstream)), refuse

        return value, lambda upstream, *_: pulled_back(upstream, *inputs)

    return expectation(*map(tf.convert_to_tensor, inputs))


def by_rows(value: Tensor, *gradients: Tensor) -> tuple[Tensor, Callable]:
    """A value [..., N] and its pull-back; a class axis may follow the gradients' first axis."""

    def pull_back(upstream: Tensor) -> list[Tensor]:
        by_rank = {value.shape.rank: upstream, value.shape.rank + 1: upstream[:, None]}
        return [gradient * by_rank[gradient.shape.rank] for gradient in gradients]

    return value, pull_back
