"""Flows: invertible, element-wise maps g = G(f; θ) that warp a Gaussian process.

A flow stores no numbers itself. Its parameters arrive with every call as a *raw* array
``params[..., P]`` (unconstrained, as a network outputs them), whose leading axes broadcast
against ``f``. `Flow.constrain` turns raw numbers into those of the formulas (softplus where a
number must be positive), `Flow.unconstrain` goes back. Every flow is strictly monotone in ``f``
for every raw parameter; only `Linear` may decrease.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from etgp_viz.backend import Tensor, check_shapes, gpflow, tf
from etgp_viz.checks import MAX_STEPS, check_count, describe, fail

__all__ = [
    *("RAW_ONE", "SAL", "Compose", "Exp", "Flow", "Identity", "Linear", "Param", "SinhArcsinh"),
    *("Softplus", "Tanh", "TanhSum"),
]

TensorLike = Any  # whatever tf.convert_to_tensor takes
Values = Sequence[Tensor]  # constrained parameters, one tensor for each
ELEMENTWISE = "params: [broadcast batch..., P]", "return: [batch...]"  # shapes

RAW_ONE = float(np.log(np.expm1(1.0)))  # softplus(RAW_ONE) = 1
RAW_ALMOST_ZERO = -16.0  # softplus(−16) ≈ 1e-7: an amplitude that vanishes
RAW_NEAR_ZERO = -4.0  # softplus(−4) ≈ 0.02: nearly zero, and a gradient still reaches it
# Beyond these arguments sinh and exp follow their tangent: values and gradients stay finite in
# float64 even through several steps, and the map stays continuously differentiable and monotone.
# A softmax is saturated once logits differ by 1e2, so sinh(15) = 1.6e6 is more than SAL can use.
SINH_TANGENT_FROM, TANGENT_FROM = 15.0, 50.0


@dataclass(frozen=True)
class Param:
    """One parameter of a flow, as formulas and sliders see it (constrained).

    >>> slope, shift = Linear(positive=True).params
    >>> slope.name, slope.positive, slope.effect
    ('a', True, 'stretches the process')
    """

    name: str  # as in the formula
    low: float  # a range in which the map is easy to look at; values may lie outside
    high: float  # the upper end of that range
    positive: bool  # whether the raw number goes through softplus
    raw_identity: float  # the raw value at which the flow is the identity
    effect: str  # what a larger value does, in words


class Flow(ABC):
    """An invertible, element-wise map g = G(f; θ).

    A new flow declares its parameters (`params`) and implements `_forward`, `_inverse` and
    `_log_derivative` for constrained parameters; everything else follows.

    >>> flow = SinhArcsinh()
    >>> flow.num_params, flow.param_names, flow.params[1].positive
    (4, ('a', 'b', 'd', 'e'), True)
    >>> raw = flow.unconstrain([0.0, 1.0, 3.0, 0.5])  # g = 3·f + 0.5
    >>> flow.forward([-1.0, 0.0, 2.0], raw).numpy().round(6)
    array([-2.5,  0.5,  6.5])
    """

    has_identity: bool = True  #: whether some parameters make the flow the identity

    @property
    def params(self) -> tuple[Param, ...]:
        """The P parameters, in the order of the last axis of ``params[..., P]``."""
        return ()

    @abstractmethod
    def _forward(self, f: Tensor, values: Values) -> Tensor:
        """G(f)."""

    @abstractmethod
    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        """G⁻¹(g)."""

    @abstractmethod
    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        """log |dG/df| at f."""

    @property
    def num_params(self) -> int:
        """P, the number of raw parameters."""
        return len(self.params)

    @property
    def param_names(self) -> tuple[str, ...]:
        """The names of the P parameters."""
        return tuple(param.name for param in self.params)

    def identity_params(self) -> np.ndarray:
        """Raw parameters ``[P]`` at which G(f) = f, or comes closest to it."""
        return np.array([param.raw_identity for param in self.params], dtype=np.float64)

    def near_identity_params(self) -> np.ndarray:
        """Raw parameters ``[P]`` close to the identity, a good start for training."""
        # Amplitudes that vanish at the identity hardly see a gradient there (softplus of a very
        # negative number is flat), so they start slightly above zero.
        raw = self.identity_params()
        return np.where(raw == RAW_ALMOST_ZERO, RAW_NEAR_ZERO, raw)

    def unstack(self, params: TensorLike, axis: int = -1) -> list[Tensor]:
        """Raw ``params[..., P]`` as P constrained tensors ``[...]``; P is the length of `axis`.

        >>> slope, shift = Linear().unstack([[2.0, 0.5], [3.0, 1.0]])  # of two inputs
        >>> slope.numpy(), shift.numpy()
        (array([2., 3.]), array([0.5, 1. ]))
        """
        params, P = _tensor(params), self.num_params
        if params.shape.rank == 0 or params.shape[axis] != P:
            fail("params", f"an axis {axis} of {P} raw {self.param_names}", f"{params.shape}")
        return self.constrained(tf.unstack(params, P, axis) if P else [])

    def constrained(self, columns: Values) -> list[Tensor]:
        """P raw `columns` as P constrained tensors, of the same shape and precision.

        >>> slope, shift = Linear(positive=True).constrained([tf.zeros(1), tf.ones(1)])
        >>> print(slope.numpy().round(3), shift.numpy())  # softplus(0) = log 2
        [0.693] [1.]
        """
        pairs = zip(self.params, columns, strict=True)
        return [tf.math.softplus(raw) if param.positive else raw for param, raw in pairs]

    @check_shapes("params: [batch..., P]", "return: [batch..., P]")
    def constrain(self, params: TensorLike) -> Tensor:
        """Parameters as they appear in the formulas ``[..., P]``, from raw ones ``[..., P]``."""
        return tf.stack(self.unstack(params), axis=-1) if self.num_params else _tensor(params)

    @check_shapes("values: [batch..., P]", "return: [batch..., P]")
    def unconstrain(self, values: TensorLike) -> Tensor:
        """Raw parameters ``[..., P]`` from those of the formulas; the inverse of `constrain`."""
        values, expected = _tensor(values), f"{self.num_params} parameters of {self}"
        positive = [param.positive for param in self.params]
        if values.shape[-1] != self.num_params:
            fail("values", expected, f"shape {tuple(values.shape)}")
        safe = tf.where(positive, values, tf.ones_like(values))
        if not tf.is_symbolic_tensor(safe) and np.any(safe <= 0.0):
            names = [param.name for param in self.params if param.positive]
            fail("values", f"{expected} with positive {', '.join(names)}", f"{np.min(safe):.3g}")
        # softplus⁻¹(v) = v + log(1 − e^(−v))
        return tf.where(positive, safe + tf.math.log(-tf.math.expm1(-safe)), values)

    @check_shapes("f: [broadcast batch...]", *ELEMENTWISE)
    def forward(self, f: TensorLike, params: TensorLike) -> Tensor:
        """The warped values g = G(f; θ) of ``f[...]``, from raw ``params[..., P]``."""
        return self._forward(_tensor(f), self.unstack(params))

    @check_shapes("g: [broadcast batch...]", *ELEMENTWISE)
    def inverse(self, g: TensorLike, params: TensorLike) -> Tensor:
        """The latent values f = G⁻¹(g; θ); shapes as in `forward`."""
        return self._inverse(_tensor(g), self.unstack(params))

    @check_shapes("f: [broadcast batch...]", *ELEMENTWISE)
    def log_derivative(self, f: TensorLike, params: TensorLike) -> Tensor:
        """log |dG/df| at f, which a change of variables subtracts from the log density of f."""
        return self._log_derivative(_tensor(f), self.unstack(params))

    def __repr__(self) -> str:
        settings = (f"{name}={value!r}" for name, value in vars(self).items() if name != "flows")
        return f"{type(self).__name__}({', '.join(settings)})"

    def __eq__(self, other: object) -> bool:
        """Flows of the same class with equal attributes are equal, and share compiled code."""
        return self is other or (type(self) is type(other) and vars(self) == vars(other))

    def __hash__(self) -> int:
        try:
            return hash((type(self), tuple(sorted(vars(self).items()))))
        except TypeError:  # an unhashable attribute, such as an array
            return id(self)


def _tensor(values: TensorLike) -> Tensor:
    if tf.is_tensor(values):
        return tf.cast(values, gpflow.default_float())
    return tf.convert_to_tensor(values, dtype=gpflow.default_float())


class Identity(Flow):
    """G(f) = f, without parameters.

    >>> Identity().forward([0.5, 2.0], []).numpy()
    array([0.5, 2. ])
    """

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        return f

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        return g

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.zeros_like(f)


class Linear(Flow):
    """G(f) = a·f + b. With ``positive=True`` a > 0, so that the map increases.

    >>> Linear().forward([0.0, 1.0], [2.0, -1.0]).numpy()  # 2·f − 1
    array([-1.,  1.])
    """

    def __init__(self, positive: bool = False) -> None:
        self.positive = bool(positive)

    @property
    def params(self) -> tuple[Param, ...]:
        a = Param("a", -3.0, 3.0, False, 1.0, "stretches the process; below zero it is flipped")
        if self.positive:
            a = Param("a", 0.1, 3.0, True, RAW_ONE, "stretches the process")
        return (a, Param("b", -3.0, 3.0, False, 0.0, "lifts the process"))

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        a, b = values
        return a * f + b

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        a, b = values
        return (g - b) / a

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        a, _ = values
        return tf.math.log(tf.abs(a)) + tf.zeros_like(f)


class SinhArcsinh(Flow):
    """One SAL step, G(f) = d·sinh(b·asinh(f) − a) + e with b, d > 0: skew, tails, scale, shift.

    Where the argument of sinh leaves ±`SINH_TANGENT_FROM` the map follows its tangent.

    >>> flow = SinhArcsinh()
    >>> tails = flow.unconstrain([0.0, 2.0, 1.0, 0.0])  # b = 2: 2·f·√(1 + f²)
    >>> flow.forward([0.0, 1.0, 3.0], tails).numpy().round(3)
    array([ 0.   ,  2.828, 18.974])
    """

    @property
    def params(self) -> tuple[Param, ...]:
        return (
            Param("a", -2.0, 2.0, False, 0.0, "skews to the left"),
            Param("b", 0.2, 2.5, True, RAW_ONE, "makes the tails heavier"),
            Param("d", 0.1, 3.0, True, RAW_ONE, "stretches the process"),
            Param("e", -3.0, 3.0, False, 0.0, "lifts the process"),
        )

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        a, b, d, e = values
        return d * _sinh(b * _asinh(f) - a) + e

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        a, b, d, e = values
        return tf.sinh((_asinh_of_sinh((g - e) / d) + a) / b)

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        # d/df sinh(u) with u = b·asinh(f) − a is cosh(u)·b / sqrt(1 + f²).
        a, b, d, _ = values
        u = _clip(b * _asinh(f) - a)
        log_cosh = u + tf.math.softplus(-2.0 * u) - np.log(2.0)
        return tf.math.log(d) + tf.math.log(b) + log_cosh - 0.5 * tf.math.log1p(f * f)


class TanhSum(Flow):
    """One TANH step, G(f) = f + Σᵢ aᵢ·tanh(bᵢ·(f + cᵢ)) with aᵢ, bᵢ > 0, i = 1..`elements`.

    >>> flow = TanhSum(elements=1)
    >>> step = flow.unconstrain([3.0, 5.0, -1.0])  # from f − 3 to f + 3, at f = 1
    >>> flow.forward([-9.0, 1.0, 9.0], step).numpy().round(3)
    array([-12.,   1.,  12.])
    """

    def __init__(self, elements: int = 4) -> None:
        self.elements = check_count(elements, "elements", maximum=MAX_STEPS)

    @property
    def params(self) -> tuple[Param, ...]:
        # The identity is aᵢ → 0 for any c. Spread centres break the symmetry between elements:
        # with c = 0 and a latent of mean zero, no aᵢ would see a gradient on average.
        centres = np.linspace(-2.0, 2.0, self.elements) if self.elements > 1 else [0.0]
        return tuple(
            param
            for i, centre in enumerate(centres, start=1)
            for param in (
                Param(f"a{i}", 0.05, 3.0, True, RAW_ALMOST_ZERO, "makes the step higher"),
                Param(f"b{i}", 0.1, 5.0, True, RAW_ONE, "makes the step steeper"),
                Param(f"c{i}", -3.0, 3.0, False, float(centre), "moves the step to the left"),
            )
        )

    def _elements(self, values: Values) -> list[Values]:
        return [values[i : i + 3] for i in range(0, len(values), 3)]

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        return f + sum(a * tf.tanh(b * (f + c)) for a, b, c in self._elements(values))

    def _derivative(self, f: Tensor, values: Values) -> Tensor:
        elements = self._elements(values)
        return 1.0 + sum(a * b * (1.0 - tf.tanh(b * (f + c)) ** 2) for a, b, c in elements)

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        # |tanh| < 1, so the root lies within the summed amplitudes of g.
        reach = sum(a for a, _, _ in self._elements(values))
        root = _solve_increasing(
            lambda f: (self._forward(f, values) - g, self._derivative(f, values)),
            *(g - reach, g + reach),
        )
        # One more Newton step, taped: the implicit function theorem gives its gradient,
        # df = (dg − ∂G/∂θ dθ) / G'(f), and no bisection step is differentiated.
        slope = tf.stop_gradient(self._derivative(root, values))
        return root - (self._forward(root, values) - g) / slope

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.math.log(self._derivative(f, values))


class Exp(Flow):
    """G(f) = exp(f), followed by its tangent beyond `TANGENT_FROM`.

    >>> Exp().forward([0.0, 1.0], []).numpy().round(3)
    array([1.   , 2.718])
    """

    has_identity = False

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        near = tf.minimum(f, TANGENT_FROM)
        return tf.exp(near) * (1.0 + (f - near))

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        edge = np.exp(TANGENT_FROM)
        return tf.math.log(tf.minimum(g, edge)) + tf.nn.relu(g - edge) / edge

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.minimum(f, TANGENT_FROM)


class Softplus(Flow):
    """G(f) = log(1 + exp(f)): positive values, and nearly the identity for large f.

    >>> Softplus().forward([-5.0, 0.0, 5.0], []).numpy().round(3)
    array([0.007, 0.693, 5.007])
    """

    has_identity = False

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        return tf.math.softplus(f)

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        return g + tf.math.log(-tf.math.expm1(-g))

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.math.log_sigmoid(f)


class Compose(Flow):
    """G = G_K ∘ … ∘ G_1: the first of `flows` is applied first; parameters are concatenated.

    >>> Compose([Linear(), Exp()]).forward([1.0], [0.5, 0.0]).numpy().round(4)  # exp(0.5·f)
    array([1.6487])
    """

    def __init__(self, flows: Sequence[Flow]) -> None:
        is_list = isinstance(flows, Sequence) and len(flows) > 0
        if not is_list or not all(isinstance(flow, Flow) for flow in flows):
            fail("flows", "a list of one or more flows", describe(flows))
        self.flows = tuple(flows)

    @property
    def params(self) -> tuple[Param, ...]:
        """Names begin with the step: ``2.a`` is a of the second flow.

        >>> [param.name for param in Compose([Linear(), TanhSum(1)]).params]
        ['1.a', '1.b', '2.a1', '2.b1', '2.c1']
        """
        if len(self.flows) == 1:
            return self.flows[0].params
        return tuple(
            replace(param, name=f"{step}.{param.name}")
            for step, flow in enumerate(self.flows, start=1)
            for param in flow.params
        )

    @property
    def has_identity(self) -> bool:  # type: ignore[override]
        return all(flow.has_identity for flow in self.flows)

    def identity_params(self) -> np.ndarray:
        start = np.concatenate([flow.identity_params() for flow in self.flows])
        if self.has_identity or self.num_params == 0:
            return start
        # Closest in the mean square under a standard normal f.
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)

        def misfit(params: np.ndarray) -> np.ndarray:
            return np.sqrt(weights) * (self.forward(nodes, params).numpy() - nodes)

        return least_squares(misfit, start).x

    def near_identity_params(self) -> np.ndarray:
        if not self.has_identity:
            return self.identity_params()
        return np.concatenate([flow.near_identity_params() for flow in self.flows])

    def _steps(self, values: Values) -> list[tuple[Flow, Values]]:
        rest = iter(values)
        return [(flow, [*islice(rest, flow.num_params)]) for flow in self.flows]

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        for flow, step_values in self._steps(values):
            f = flow._forward(f, step_values)
        return f

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        for flow, step_values in reversed(self._steps(values)):
            g = flow._inverse(g, step_values)
        return g

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        # Chain rule: the log-derivatives of the steps add up, each at its own input.
        total = tf.zeros_like(f)
        for flow, step_values in self._steps(values):
            total += flow._log_derivative(f, step_values)
            f = flow._forward(f, step_values)
        return total

    def __repr__(self) -> str:
        is_plain = type(self) is Compose
        return f"Compose([{', '.join(map(repr, self.flows))}])" if is_plain else super().__repr__()


class SAL(Compose):
    """`length` times a sinh-arcsinh step followed by an affine one (4·length parameters).

    >>> SAL(length=2).param_names
    ('1.a', '1.b', '1.d', '1.e', '2.a', '2.b', '2.d', '2.e')
    """

    def __init__(self, length: int = 3) -> None:
        self.length = check_count(length, "length", maximum=MAX_STEPS)
        super().__init__([SinhArcsinh()] * self.length)


class Tanh(Compose):
    """`length` sums of `elements` tanh steps (3·elements·length parameters).

    >>> Tanh(elements=4, length=3).num_params
    36
    """

    def __init__(self, elements: int = 4, length: int = 1) -> None:
        self.elements = check_count(elements, "elements", maximum=MAX_STEPS)
        self.length = check_count(length, "length", maximum=MAX_STEPS)
        super().__init__([TanhSum(self.elements)] * self.length)


# ------------------------------------------------------------------ functions that stay finite


@tf.custom_gradient
def _asinh(f: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """asinh(f) = sign(f)·log(|f| + sqrt(1 + f²)), which loses nothing to cancellation.

    XLA computes a float64 logarithm one number at a time, a float32 one several at a time. So the
    logarithm of x is guessed in float32, and one step of Halley's method for exp(y) = x, with its
    cubic convergence, carries the seven digits of the guess beyond those of float64.
    """
    root = tf.sqrt(1.0 + f * f)
    x = tf.abs(f) + root
    log_x = tf.cast(tf.math.log(tf.cast(x, tf.float32)), f.dtype)
    if f.dtype != tf.float32:
        grown = tf.exp(log_x)
        log_x += 2.0 * (x - grown) / (x + grown)
    return tf.sign(f) * log_x, lambda upstream: upstream / root


def _clip(u: Tensor) -> Tensor:
    """u, limited to the range in which `_sinh` does not follow its tangent."""
    return tf.clip_by_value(u, -SINH_TANGENT_FROM, SINH_TANGENT_FROM)


@tf.custom_gradient
def _sinh(u: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """sinh(u), beyond ±SINH_TANGENT_FROM its tangent; one exp serves the value and the slope."""
    near = _clip(u)
    grown = tf.exp(near)
    shrunk = 1.0 / grown
    slope = 0.5 * (grown + shrunk)
    return 0.5 * (grown - shrunk) + slope * (u - near), lambda upstream: upstream * slope


def _asinh_of_sinh(s: Tensor) -> Tensor:
    """The inverse of `_sinh`."""
    edge = np.sinh(SINH_TANGENT_FROM)
    near = tf.clip_by_value(s, -edge, edge)
    return tf.asinh(near) + (s - near) / np.cosh(SINH_TANGENT_FROM)


def _solve_increasing(residual: Callable, low: Tensor, high: Tensor) -> Tensor:
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
