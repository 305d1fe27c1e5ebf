"""Element-wise functions behind the flows: hyperbolic ones that stay finite, and a root finder."""

from collections.abc import Callable

import numpy as np

from etgp_viz.backend import Tensor, tf

__all__ = ["TANGENT_FROM", "asinh", "asinh_of_sinh", "clip", "log_cosh", "sinh", "solve_increasing"]

Residual = Callable[[Tensor], tuple[Tensor, Tensor]]

# Beyond this argument sinh and exp follow their tangent: values and gradients stay finite in
# float64 even through several steps, and the map stays continuously differentiable and monotone.
TANGENT_FROM = 50.0


@tf.custom_gradient
def asinh(f: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """asinh(f) = sign(f)·log(|f| + sqrt(1 + f²)), which loses nothing to cancellation.

    XLA computes a float64 logarithm one number at a time, a float32 one several at a time. So the
    logarithm of x is guessed in float32, and one step of Halley's method for exp(y) = x, with its
    cubic convergence, carries the seven digits of the guess beyond those of float64.
    """
    root = tf.sqrt(1.0 + f * f)
    x = tf.abs(f) + root
    guess = tf.cast(tf.math.log(tf.cast(x, tf.float32)), f.dtype)
    grown = tf.exp(guess)
    log_x = guess + 2.0 * (x - grown) / (x + grown)
    return tf.sign(f) * log_x, lambda upstream: upstream / root


def clip(u: Tensor) -> Tensor:
    """u, limited to the range in which `sinh` does not follow its tangent."""
    return tf.clip_by_value(u, -TANGENT_FROM, TANGENT_FROM)


@tf.custom_gradient
def sinh(u: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """sinh(u), along its tangent beyond ±TANGENT_FROM; one exp serves the value and the slope."""
    near = clip(u)
    grown = tf.exp(near)
    shrunk = 1.0 / grown
    slope = 0.5 * (grown + shrunk)
    return 0.5 * (grown - shrunk) + slope * (u - near), lambda upstream: upstream * slope


def asinh_of_sinh(s: Tensor) -> Tensor:
    """The inverse of `sinh`."""
    edge = np.sinh(TANGENT_FROM)
    near = tf.clip_by_value(s, -edge, edge)
    return tf.asinh(near) + (s - near) / np.cosh(TANGENT_FROM)


def log_cosh(u: Tensor) -> Tensor:
    """log cosh(u) = |u| + log(1 + e^(−2|u|)) − log 2, as a smooth function of u."""
    return u + tf.math.softplus(-2.0 * u) - np.log(2.0)


def solve_increasing(residual: Residual, low: Tensor, high: Tensor) -> Tensor:
    """The root of an increasing function, elementwise: Newton, kept inside a shrinking bracket.

    `residual(f)` returns (value, slope) with slope ≥ 1, so |value| bounds the distance to the root.
    """

    def unsolved(f: Tensor, *_: Tensor) -> Tensor:
        value, _slope = residual(f)
        return tf.reduce_any(tf.abs(value) > 1e-13 * (1.0 + tf.abs(f)))

    def improve(f: Tensor, move: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, ...]:
        value, slope = residual(f)
        low, high = tf.where(value < 0.0, f, low), tf.where(value > 0.0, f, high)
        newton = f - value / slope
        # Bisect where Newton leaves the bracket or does not halve its last move.
        trusted = (newton > low) & (newton < high) & (2.0 * tf.abs(value) < tf.abs(move) * slope)
        better = tf.where(trusted, newton, 0.5 * (low + high))
        return better, better - f, low, high

    start = (0.5 * (low + high), high - low, low, high)
    root, *_ = tf.while_loop(unsolved, improve, start, maximum_iterations=120)
    return tf.stop_gradient(root)
