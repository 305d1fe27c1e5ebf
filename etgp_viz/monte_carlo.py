"""Expected log-softmax of C independent Gaussians, by reparameterised Monte Carlo.

    g_c = µ_c + σ_c ε_c,   E[log softmax(g)_y] ≈ (1/S) Σ_s ( g_y − log Σ_c exp g_c )

No quadrature reaches C dimensions. As in `etgp_viz.quadrature` the loop over draws is compiled, its
gradient is summed up in the same pass, and arrays inside are class-major.
"""

from collections.abc import Sequence
from typing import Any

from etgp_viz.backend import check_shapes, tf
from etgp_viz.quadrature import differentiable

__all__ = ["expected_log_softmax_of_gaussians"]


@check_shapes("mean: [N, C]", "deviation: [N, C]", "noise: [S, N, C]", "labels: [N]", "return: [N]")
def expected_log_softmax_of_gaussians(
    mean: tf.Tensor, deviation: tf.Tensor, noise: tf.Tensor, labels: tf.Tensor
) -> tf.Tensor:
    """E[log softmax(g)_y] of each row, ``[N]``.

    Parameters
    ----------
    mean, deviation : µ and σ, ``[N, C]``
    noise : standard normal draws ε, ``[S, N, C]``, of any precision
    labels : y in 0..C−1, ``[N]``
    """
    known: list[tf.Tensor] = []

    def value(mean: tf.Tensor, deviation: tf.Tensor, _: Any) -> tf.Tensor:
        value, *known[:] = _value_and_gradients(mean, deviation, noise, labels)
        return value

    def pull_back(_: Any, __: tf.Tensor, upstream: tf.Tensor) -> Sequence[tf.Tensor]:
        return [upstream[:, None] * gradient for gradient in known]

    return differentiable(value, pull_back, mean, deviation, ())


@tf.function(jit_compile=True, autograph=False)
def _value_and_gradients(
    mean: tf.Tensor, deviation: tf.Tensor, noise: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The expectation ``[N]`` and its derivatives by µ and σ, both ``[N, C]``.

    d/dg_c (g_y − log Σ exp g) = 1[c = y] − softmax(g)_c, times ε_c for σ_c.
    """
    mu, sigma = tf.transpose(mean), tf.transpose(deviation)  # [C, N]
    draws = tf.transpose(noise, [0, 2, 1])
    own = tf.one_hot(labels, mu.shape[0], axis=0, dtype=mu.dtype)
    num_draws = noise.shape[0]

    def add_draw(s: tf.Tensor, value: tf.Tensor, by_mu: tf.Tensor, by_sigma: tf.Tensor) -> tuple:
        epsilon = tf.cast(draws[s], mu.dtype)
        g = mu + sigma * epsilon
        largest = tf.reduce_max(g, axis=0)
        exponentials = tf.exp(g - largest)
        total = tf.reduce_sum(exponentials, axis=0)
        by_g = own - exponentials / total
        log_p = tf.reduce_sum(own * g, axis=0) - largest - tf.math.log(total)
        return s + 1, value + log_p, by_mu + by_g, by_sigma + by_g * epsilon

    start = (0, tf.zeros_like(mu[0]), tf.zeros_like(mu), tf.zeros_like(mu))
    _, *sums = tf.while_loop(lambda s, *_: s < num_draws, add_draw, start)
    value, by_mu, by_sigma = (total / num_draws for total in sums)
    return value, tf.transpose(by_mu), tf.transpose(by_sigma)
