"""The flow zoo: flows beyond the paper's, and an adapter for bijectors of TensorFlow Probability.

All of them are subclasses of `Flow`, so that networks, models and explorers take them like those
of the core. Each increases in f and maps the real line onto itself, whatever its raw parameters:
where a formula would leave the numbers that float64 can hold, its tangent takes over.

`NAMED` has them by the names that `etgp_viz.build` takes, with scale and shift where the flow
itself has none: without a shift, all classes of an ETGP would agree wherever f0 is zero.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, tf, tfp
from etgp_viz.checks import check_count, check_positive, describe, fail
from etgp_viz.core import flows
from etgp_viz.core.flows import RAW_ALMOST_ZERO, RAW_ONE, TANGENT_FROM, Flow, Param, Values

__all__ = [
    "NAMED",
    "Arcsinh",
    "BoxCox",
    "FromBijector",
    "InverseBoxCox",
    "RationalQuadraticSpline",
    "StepSum",
]

# b·asinh(f/b) is the identity as b → ∞, with an error of f³/(6b²): below 1e-6 for |f| < 5 at the
# first, and 0.05 at f = 2 for the second, where every parameter still has a gradient.
ARCSINH_IDENTITY, ARCSINH_NEAR_IDENTITY = 1e4, 5.0
# Least width and height of a spline's bin, as shares of all, and least slope at its knots.
MIN_SHARE, MIN_SLOPE = 1e-3, 1e-3
MAX_BINS, MAX_STEPS = 500, 500  # of one flow; each is a part of TensorFlow's graph


class Arcsinh(Flow):
    """G(f) = a + b·asinh((f − c)/d) with b, d > 0: a line near c, logarithms far away from it.

    >>> flow = Arcsinh()
    >>> flow.forward([2.0], flow.unconstrain([1.0, 3.0, 2.0, 0.5])).numpy()  # at f = c
    array([1.])
    """

    @property
    def params(self) -> tuple[Param, ...]:
        return (
            Param("a", -3.0, 3.0, False, 0.0, "lifts the process"),
            Param("b", 0.1, 3.0, True, ARCSINH_IDENTITY, "stretches the process"),
            Param("c", -3.0, 3.0, False, 0.0, "moves the steepest place to the right"),
            Param("d", 0.1, 3.0, True, ARCSINH_IDENTITY, "makes the tails heavier"),
        )

    def near_identity_params(self) -> np.ndarray:
        return np.minimum(self.identity_params(), ARCSINH_NEAR_IDENTITY)

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        a, b, c, d = values
        return a + b * _asinh((f - c) / d)

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        a, b, c, d = values
        return c + d * tf.sinh((g - a) / b)

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        _, b, c, d = values
        return tf.math.log(b) - tf.math.log(d) - 0.5 * tf.math.log1p(((f - c) / d) ** 2)


class BoxCox(Flow):
    """G(f) = ±((1 + |f|)^λ − 1)/λ with the sign of f, and λ = p > 0 above zero, n > 0 below.

    Box and Cox transform positive numbers alone, and a Gaussian f has either sign. So each side
    has its own power of 1 + |f|: a smooth map of the real line onto itself, with slope one at
    zero. With n = p it is John and Draper's modulus transform, with n = 2 − p Yeo and Johnson's.

    >>> flow = BoxCox()
    >>> flow.forward([2.0, -2.0], flow.unconstrain([2.0, 1.0])).numpy().round(6)
    array([ 4., -2.])
    """

    tail = "heavier"  # of the side whose exponent grows

    @property
    def params(self) -> tuple[Param, ...]:
        return (
            Param("p", 0.1, 2.0, True, RAW_ONE, f"makes the upper tail {self.tail}"),
            Param("n", 0.1, 2.0, True, RAW_ONE, f"makes the lower tail {self.tail}"),
        )

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        power = _side(f, values)
        return _sign(f) * _expm1(power * tf.math.log1p(_size(f))) / power

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        power = _side(g, values)
        return _sign(g) * tf.math.expm1(_log1p_of_expm1(power * _size(g)) / power)

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        # d/df of exp(λ log(1 + f))/λ is exp(λ log(1 + f))/(1 + f).
        power, log = _side(f, values), tf.math.log1p(_size(f))
        return tf.minimum(power * log, TANGENT_FROM) - log


class InverseBoxCox(BoxCox):
    """G(f) = ±((1 + λ|f|)^(1/λ) − 1), which undoes `BoxCox`: λ = p above zero, n below.

    As λ → 0 a tail becomes exponential.

    >>> flow = InverseBoxCox()
    >>> flow.forward([4.0, -2.0], flow.unconstrain([2.0, 1.0])).numpy().round(6)
    array([ 2., -2.])
    """

    tail = "lighter"

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        power = _side(f, values)
        return _sign(f) * _expm1(tf.math.log1p(power * _size(f)) / power)

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        power = _side(g, values)
        return _sign(g) * tf.math.expm1(power * _log1p_of_expm1(_size(g))) / power

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        # With u = log(1 + λ|f|): d/df of exp(u/λ) is exp(u/λ)·exp(−u).
        power = _side(f, values)
        u = tf.math.log1p(power * _size(f))
        return tf.minimum(u / power, TANGENT_FROM) - u


class StepSum(Flow):
    """G(f) = f + Σ of steps of three kinds, with parameters of their own.

    A tanh step is bounded (a term of `TanhSum`), an arcsinh step grows like a logarithm (the map
    `Arcsinh`), and a SAL step like a power of f (the map `SinhArcsinh`). The flow is the identity
    when all heights vanish; places and skews start apart, so that the steps learn different things.

    Parameters
    ----------
    tanh, sal, arcsinh : how many steps of each kind, at least one in all

    Examples
    --------
    >>> StepSum(tanh=1, sal=0, arcsinh=1).param_names
    ('tanh.a1', 'tanh.b1', 'tanh.c1', 'arcsinh1.a', 'arcsinh1.b', 'arcsinh1.c', 'arcsinh1.d')
    """

    def __init__(self, tanh: int = 2, sal: int = 1, arcsinh: int = 1) -> None:
        self.tanh = check_count(tanh, "tanh", minimum=0, maximum=MAX_STEPS)
        self.sal = check_count(sal, "sal", minimum=0, maximum=MAX_STEPS)
        self.arcsinh = check_count(arcsinh, "arcsinh", minimum=0, maximum=MAX_STEPS)
        if self.tanh + self.sal + self.arcsinh == 0:
            fail("tanh", "at least one step of any kind (tanh, sal or arcsinh)", "none")

    @property
    def params(self) -> tuple[Param, ...]:
        tanh = flows.TanhSum(self.tanh).params if self.tanh else ()
        # The height of a step vanishes at the identity; `apart` is what tells it from the others.
        sal = _steps("sal", flows.SinhArcsinh(), self.sal, height="d", apart="a")
        arcsinh = _steps("arcsinh", Arcsinh(), self.arcsinh, height="b", apart="c", width="d")
        return (*(replace(param, name=f"tanh.{param.name}") for param in tanh), *sal, *arcsinh)

    def _parts(self, values: Values) -> Iterator[tuple[Flow, Values]]:
        """The SAL and arcsinh steps, each with its own parameters."""
        steps = [flows.SinhArcsinh()] * self.sal + [Arcsinh()] * self.arcsinh
        start = 3 * self.tanh
        for k, step in enumerate(steps):
            yield step, values[start + 4 * k : start + 4 * (k + 1)]

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        tanh = values[: 3 * self.tanh]
        total = flows.TanhSum(self.tanh)._forward(f, tanh) if tanh else f
        for step, own in self._parts(values):
            total += step._forward(f, own)
        return total

    def _derivative(self, f: Tensor, values: Values) -> Tensor:
        tanh = values[: 3 * self.tanh]
        total = flows.TanhSum(self.tanh)._derivative(f, tanh) if tanh else tf.ones_like(f)
        for step, own in self._parts(values):
            total += tf.exp(step._log_derivative(f, own))
        return total

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        # The slope is at least one, so the root is at most |g − G(0)| away from zero.
        reach = g - self._forward(tf.zeros_like(g), values)
        root = flows._solve_increasing(
            lambda f: (self._forward(f, values) - g, self._derivative(f, values)),
            *(tf.minimum(reach, 0.0), tf.maximum(reach, 0.0)),
        )
        # A last step of Newton's method has the gradient of the inverse function, as in `TanhSum`.
        slope = tf.stop_gradient(self._derivative(root, values))
        return root - (self._forward(root, values) - g) / slope

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.math.log(self._derivative(f, values))


class RationalQuadraticSpline(Flow):
    """A monotone spline on [−bound, bound], and G(f) = f beyond.

    Both axes are divided into `bins` intervals, whose shares are in proportion to the parameters w
    (widths) and h (heights); s are the slopes at the inner knots, and those at ±bound are one.
    In the bin from (x₀, y₀) of width w and height h, with the slopes s₀ and s₁ at its ends,
    ξ = (f − x₀)/w and the mean slope σ = h/w,

        G(f) = y₀ + h (σ ξ² + s₀ ξ(1 − ξ)) / (σ + (s₀ + s₁ − 2σ) ξ(1 − ξ))

    (Gregory and Delbourgo, 1982; Durkan et al., 2019).

    Parameters
    ----------
    bins, bound : number of bins K ≥ 2 (3K − 1 parameters), and where the spline ends

    Examples
    --------
    >>> flow = RationalQuadraticSpline(bins=3, bound=2.0)
    >>> flow.forward([-9.0, 0.5, 1.9], flow.identity_params()).numpy().round(9)
    array([-9. ,  0.5,  1.9])
    """

    def __init__(self, bins: int = 4, bound: float = 3.0) -> None:
        self.bins = check_count(bins, "bins", minimum=2, maximum=MAX_BINS)
        self.bound = check_positive(bound, "bound")

    @property
    def params(self) -> tuple[Param, ...]:
        inner = range(1, self.bins)
        bins = range(1, self.bins + 1)
        return (
            *(Param(f"w{k}", 0.1, 3.0, True, RAW_ONE, "makes the bin wider") for k in bins),
            *(Param(f"h{k}", 0.1, 3.0, True, RAW_ONE, "makes the bin higher") for k in bins),
            *(Param(f"s{k}", 0.1, 5.0, True, RAW_ONE, "makes the knot steeper") for k in inner),
        )

    def _knots(self, values: Values) -> tuple[list[Tensor], list[Tensor], list[Any]]:
        """Widths and heights of the K bins, and the slopes at the K + 1 knots."""
        K = self.bins
        one = tf.ones_like(values[0])
        slopes = [MIN_SLOPE + (1.0 - MIN_SLOPE) * slope for slope in values[2 * K :]]
        return self._shares(values[:K]), self._shares(values[K : 2 * K]), [one, *slopes, one]

    def _shares(self, parts: Values) -> list[Tensor]:
        scale = 2.0 * self.bound * (1.0 - self.bins * MIN_SHARE) / tf.add_n(list(parts))
        return [2.0 * self.bound * MIN_SHARE + scale * part for part in parts]

    def _bin(self, at: Tensor, values: Values, by_height: bool = False) -> list[Tensor]:
        """x₀, y₀, w, h, s₀ and s₁ of the bin that holds each f (with `by_height`: each g)."""
        widths, heights, slopes = self._knots(values)
        x, y = -self.bound * tf.ones_like(at), -self.bound * tf.ones_like(at)
        found = [x, y, widths[0], heights[0], slopes[0], slopes[1]]
        for k in range(1, self.bins):
            x, y = x + widths[k - 1], y + heights[k - 1]
            is_above = at >= (y if by_height else x)
            own = [x, y, widths[k], heights[k], slopes[k], slopes[k + 1]]
            found = [tf.where(is_above, *pair) for pair in zip(own, found, strict=True)]
        return found

    def _near(self, at: Tensor) -> Tensor:
        return tf.clip_by_value(at, -self.bound, self.bound)

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        near = self._near(f)
        x, y, width, height, s0, s1 = self._bin(near, values)
        mean_slope, part = height / width, (near - x) / width
        bend = part * (1.0 - part)
        above = height * (mean_slope * part**2 + s0 * bend)
        return y + above / (mean_slope + (s0 + s1 - 2.0 * mean_slope) * bend) + (f - near)

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        # The formula of the class, multiplied out: a ξ² + b ξ + c = 0. This form of its positive
        # root does not cancel.
        near = self._near(g)
        x, y, width, height, s0, s1 = self._bin(near, values, by_height=True)
        mean_slope, above = height / width, near - y
        curvature = above * (s0 + s1 - 2.0 * mean_slope)
        a, b, c = (
            height * (mean_slope - s0) + curvature,
            height * s0 - curvature,
            -mean_slope * above,
        )
        part = 2.0 * c / (-b - tf.sqrt(b * b - 4.0 * a * c))
        return x + part * width + (g - near)

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        near = self._near(f)
        x, _, width, height, s0, s1 = self._bin(near, values)
        mean_slope, part = height / width, (near - x) / width
        rest = 1.0 - part
        top = s1 * part**2 + 2.0 * mean_slope * part * rest + s0 * rest**2
        bottom = mean_slope + (s0 + s1 - 2.0 * mean_slope) * part * rest
        inside = tf.math.log(top) + 2.0 * (tf.math.log(mean_slope) - tf.math.log(bottom))
        return tf.where(tf.abs(f) < self.bound, inside, tf.zeros_like(inside))


class FromBijector(Flow):
    """A scalar bijector of TensorFlow Probability as a flow.

    Parameters
    ----------
    make : a function from the P constrained parameters to a bijector, or a bijector without any
    params : what the parameters are called, their ranges, and where they start (`raw_identity`)
    has_identity : whether the start is the identity

    Examples
    --------
    >>> from etgp_viz.backend import tfp
    >>> shift = Param("a", -3.0, 3.0, False, 0.0, "lifts the process")
    >>> flow = FromBijector(tfp.bijectors.Shift, [shift], has_identity=True)
    >>> flow.forward([1.0], [0.5]).numpy()
    array([1.5])
    """

    def __init__(
        self, make: Any, params: Sequence[Param] = (), *, has_identity: bool = False
    ) -> None:
        is_list = isinstance(params, Sequence)
        if not is_list or not all(isinstance(param, Param) for param in params):
            fail("params", "a list with a flows.Param for each argument of make", describe(params))
        self.make, self.own_params, self.has_identity = make, tuple(params), bool(has_identity)
        start = [tf.constant(raw, tf.float64) for raw in self.identity_params()]
        bijector = self._bijector(self.constrained(start))
        is_bijector = isinstance(bijector, tfp.bijectors.Bijector)
        if not is_bijector or bijector.forward_min_event_ndims != 0:
            expected = "a bijector of single numbers, or a function that returns one"
            fail("make", expected, describe(make))

    @property
    def params(self) -> tuple[Param, ...]:
        return self.own_params

    def _bijector(self, values: Values) -> Any:
        is_ready = isinstance(self.make, tfp.bijectors.Bijector) or not callable(self.make)
        return self.make if is_ready else self.make(*values)

    def _call(self, method: Callable, x: Tensor, values: Values) -> Tensor:
        """A method of the bijector at x, in the precision of the bijector if it has one."""
        bijector = self._bijector(values)
        result = method(bijector, tf.cast(x, bijector.dtype or x.dtype))
        return tf.cast(result, x.dtype)

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        return self._call(tfp.bijectors.Bijector.forward, f, values)

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        return self._call(tfp.bijectors.Bijector.inverse, g, values)

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        # A constant slope comes back as one number, whatever the shape of f.
        slope = self._call(tfp.bijectors.Bijector.forward_log_det_jacobian, f, values)
        return slope + tf.zeros_like(f)

    def __repr__(self) -> str:
        name = getattr(self.make, "__name__", None) or getattr(self.make, "name", self.make)
        return f"FromBijector({name})"


def _scaled(flow: type[Flow]) -> Callable[..., Flow]:
    """A factory of the flow, followed by LINEAR, that takes the arguments of the flow."""

    @wraps(flow, updated=())
    def make(**options: Any) -> Flow:
        return flows.Compose([flow(**options), flows.Linear()])

    return make


#: name of a flow in `etgp_viz.build` → a function that makes it
NAMED: dict[str, Callable[..., Flow]] = {
    "arcsinh": Arcsinh,
    "boxcox": _scaled(BoxCox),
    "inverse-boxcox": _scaled(InverseBoxCox),
    "steps": StepSum,
    "spline": _scaled(RationalQuadraticSpline),
}


def _steps(
    kind: str, step: Flow, number: int, *, height: str, apart: str, width: str = ""
) -> list[Param]:
    """The parameters of `number` steps of a sum, each the map of a flow."""
    centres = np.linspace(-1.0, 1.0, number) if number > 1 else [0.0]
    start = {height: RAW_ALMOST_ZERO, width: RAW_ONE}
    return [
        replace(
            param,
            name=f"{kind}{k}.{param.name}",
            raw_identity=(start | {apart: float(centre)}).get(param.name, param.raw_identity),
        )
        for k, centre in enumerate(centres if number else [], start=1)
        for param in step.params
    ]


# ------------------------------------------------------------------ functions that stay finite


def _sign(f: Tensor) -> Tensor:
    """±1 with the sign of f, and 1 at zero."""
    return tf.where(f < 0.0, -tf.ones_like(f), tf.ones_like(f))


def _size(f: Tensor) -> Tensor:
    """|f|, with a gradient at zero too: that from the right."""
    return _sign(f) * f


def _side(f: Tensor, values: Values) -> Tensor:
    """The exponent of the side on which f lies."""
    above, below = values
    return tf.where(f < 0.0, below, above)


@tf.custom_gradient
def _asinh(x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """asinh(x) with all its digits near zero too, where an arcsinh flow is the identity."""
    root = tf.sqrt(1.0 + x * x)
    return tf.asinh(x), lambda upstream: upstream / root


def _expm1(u: Tensor) -> Tensor:
    """exp(u) − 1 for u ≥ 0, beyond `TANGENT_FROM` its tangent."""
    beyond = tf.nn.relu(u - TANGENT_FROM)
    return tf.math.expm1(tf.minimum(u, TANGENT_FROM)) + np.exp(TANGENT_FROM) * beyond


def _log1p_of_expm1(s: Tensor) -> Tensor:
    """The inverse of `_expm1`, for s ≥ 0."""
    edge = np.expm1(TANGENT_FROM)
    return tf.math.log1p(tf.minimum(s, edge)) + tf.nn.relu(s - edge) / np.exp(TANGENT_FROM)
