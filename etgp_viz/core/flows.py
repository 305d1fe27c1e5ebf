"""Flows: invertible, element-wise maps g = G(f; θ) that warp a Gaussian process.

A flow stores no numbers itself. Its parameters arrive with every call as a *raw* array
``params[..., P]`` (unconstrained, as a network outputs them), whose leading axes broadcast
against ``f``. `Flow.constrain` turns raw numbers into those of the formulas (softplus where a
number must be positive), `Flow.unconstrain` goes back.

Every flow is strictly monotone in ``f`` for every raw parameter; only `Linear` may decrease.

>>> flow = Linear()
>>> flow.forward([0.0, 1.0], [2.0, -1.0]).numpy()  # a = 2, b = −1
array([-1.,  1.])
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from etgp_viz.backend import Tensor, check_shapes, gpflow, tf
from etgp_viz.checks import check_count
from etgp_viz.core import stable_math

__all__ = [
    "RAW_ONE",
    "SAL",
    "Compose",
    "Exp",
    "Flow",
    "Identity",
    "Linear",
    "Param",
    "SinhArcsinh",
    "Softplus",
    "Tanh",
    "TanhSum",
]

TensorLike = Any  # whatever tf.convert_to_tensor takes
Values = Sequence[Tensor]  # constrained parameters, one tensor for each

RAW_ONE = float(np.log(np.expm1(1.0)))  # softplus(RAW_ONE) = 1
RAW_ALMOST_ZERO = -16.0  # softplus(−16) ≈ 1e-7: an amplitude that vanishes
RAW_NEAR_ZERO = -4.0  # softplus(−4) ≈ 0.02: nearly zero, and a gradient still reaches it


@dataclass(frozen=True)
class Param:
    """One parameter of a flow, as formulas and sliders see it (constrained).

    Attributes
    ----------
    name : short name, as in the formula
    low, high : a range in which the map is easy to look at; values may lie outside
    positive : whether the raw number goes through softplus
    raw_identity : the raw value at which the flow is the identity
    effect : what a larger value does, in words
    """

    name: str
    low: float
    high: float
    positive: bool
    raw_identity: float
    effect: str


class Flow(ABC):
    """An invertible, element-wise map g = G(f; θ).

    A new flow declares its parameters (`params`) and implements `_forward`, `_inverse` and
    `_log_derivative` for constrained parameters; everything else follows.
    """

    #: whether some parameters make the flow the identity
    has_identity: bool = True

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
        """Raw parameters ``[P]`` at which G(f) = f, or comes closest to it.

        >>> SAL(length=1).identity_params().round(3)
        array([0.   , 0.541, 0.541, 0.   ])
        """
        return np.array([param.raw_identity for param in self.params], dtype=np.float64)

    def near_identity_params(self) -> np.ndarray:
        """Raw parameters ``[P]`` close to the identity, a good start for training.

        Amplitudes that vanish at the identity hardly see a gradient there (softplus of a very
        negative number is flat), so they start slightly above zero. The others are unchanged.
        """
        raw = self.identity_params()
        return np.where(raw == RAW_ALMOST_ZERO, RAW_NEAR_ZERO, raw)

    def unstack(self, params: TensorLike, axis: int = -1) -> list[Tensor]:
        """Raw ``params[..., P]`` as P constrained tensors ``[...]``."""
        params = _tensor(params)
        if params.shape.rank == 0 or params.shape[axis] != self.num_params:
            raise ValueError(
                f"params: expected an axis {axis} of {self.num_params} raw parameters "
                f"({', '.join(self.param_names) or 'none'}) for {self}, got shape "
                f"{tuple(params.shape)}."
            )
        columns = tf.unstack(params, num=self.num_params, axis=axis) if self.num_params else []
        return [
            tf.math.softplus(column) if param.positive else column
            for param, column in zip(self.params, columns, strict=True)
        ]

    @check_shapes("params: [batch..., P]", "return: [batch..., P]")
    def constrain(self, params: TensorLike) -> Tensor:
        """Parameters as they appear in the formulas ``[..., P]``, from raw ones ``[..., P]``."""
        return tf.stack(self.unstack(params), axis=-1) if self.num_params else _tensor(params)

    @check_shapes("values: [batch..., P]", "return: [batch..., P]")
    def unconstrain(self, values: TensorLike) -> Tensor:
        """Raw parameters ``[..., P]`` from those of the formulas; the inverse of `constrain`.

        >>> Tanh(elements=1).unconstrain([1.0, 2.0, 0.0]).numpy().round(3)
        array([0.541, 1.855, 0.   ])
        """
        values = _tensor(values)
        positive = [param.positive for param in self.params]
        safe = tf.where(positive, values, tf.ones_like(values))
        if not tf.is_symbolic_tensor(safe) and np.any(safe <= 0.0):
            names = [param.name for param in self.params if param.positive]
            raise ValueError(f"values: {', '.join(names)} of {self} must be positive.")
        # softplus⁻¹(v) = v + log(1 − e^(−v))
        return tf.where(positive, safe + tf.math.log(-tf.math.expm1(-safe)), values)

    @check_shapes(
        "f: [broadcast batch...]", "params: [broadcast batch..., P]", "return: [batch...]"
    )
    def forward(self, f: TensorLike, params: TensorLike) -> Tensor:
        """The warped values g = G(f; θ), of the shape to which f and params[..., 0] broadcast.

        Parameters
        ----------
        f : values of the latent process ``[...]``
        params : raw parameters ``[..., P]``
        """
        return self._forward(_tensor(f), self.unstack(params))

    @check_shapes(
        "g: [broadcast batch...]", "params: [broadcast batch..., P]", "return: [batch...]"
    )
    def inverse(self, g: TensorLike, params: TensorLike) -> Tensor:
        """The latent values f = G⁻¹(g; θ); shapes as in `forward`."""
        return self._inverse(_tensor(g), self.unstack(params))

    @check_shapes(
        "f: [broadcast batch...]", "params: [broadcast batch..., P]", "return: [batch...]"
    )
    def log_derivative(self, f: TensorLike, params: TensorLike) -> Tensor:
        """log |dG/df| at f, which a change of variables subtracts from the log density of f."""
        return self._log_derivative(_tensor(f), self.unstack(params))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

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
    """G(f) = f, without parameters."""

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        return f

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        return g

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.zeros_like(f)


class Linear(Flow):
    """G(f) = a·f + b. With ``positive=True`` a > 0, so that the map increases."""

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

    def __repr__(self) -> str:
        return f"Linear(positive={self.positive})"


class SinhArcsinh(Flow):
    """One SAL step, G(f) = d·sinh(b·asinh(f) − a) + e with b, d > 0.

    ``a`` skews, ``b`` sets the weight of the tails, ``d`` and ``e`` scale and shift. Where the
    argument of sinh leaves ±`stable_math.TANGENT_FROM` the map follows its tangent.
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
        return d * stable_math.sinh(b * stable_math.asinh(f) - a) + e

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        a, b, d, e = values
        return tf.sinh((stable_math.asinh_of_sinh((g - e) / d) + a) / b)

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        # d/df sinh(u) with u = b·asinh(f) − a is cosh(u)·b / sqrt(1 + f²).
        a, b, d, _ = values
        log_cosh = stable_math.log_cosh(stable_math.clip(b * stable_math.asinh(f) - a))
        return tf.math.log(d) + tf.math.log(b) + log_cosh - 0.5 * tf.math.log1p(f * f)


class TanhSum(Flow):
    """One TANH step, G(f) = f + Σᵢ aᵢ·tanh(bᵢ·(f + cᵢ)) with aᵢ, bᵢ > 0, of any length."""

    def __init__(self, elements: int = 4) -> None:
        self.elements = check_count(elements, "elements")

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
        root = stable_math.solve_increasing(
            lambda f: (self._forward(f, values) - g, self._derivative(f, values)),
            low=g - reach,
            high=g + reach,
        )
        # One more Newton step, taped: the implicit function theorem gives its gradient,
        # df = (dg − ∂G/∂θ dθ) / G'(f), and no bisection step is differentiated.
        slope = tf.stop_gradient(self._derivative(root, values))
        return root - (self._forward(root, values) - g) / slope

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.math.log(self._derivative(f, values))

    def __repr__(self) -> str:
        return f"TanhSum(elements={self.elements})"


class Exp(Flow):
    """G(f) = exp(f), followed by its tangent beyond `stable_math.TANGENT_FROM`."""

    has_identity = False

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        near = tf.minimum(f, stable_math.TANGENT_FROM)
        return tf.exp(near) * (1.0 + (f - near))

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        edge = np.exp(stable_math.TANGENT_FROM)
        return tf.math.log(tf.minimum(g, edge)) + tf.nn.relu(g - edge) / edge

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.minimum(f, stable_math.TANGENT_FROM)


class Softplus(Flow):
    """G(f) = log(1 + exp(f)): positive values, and nearly the identity for large f."""

    has_identity = False

    def _forward(self, f: Tensor, values: Values) -> Tensor:
        return tf.math.softplus(f)

    def _inverse(self, g: Tensor, values: Values) -> Tensor:
        return g + tf.math.log(-tf.math.expm1(-g))

    def _log_derivative(self, f: Tensor, values: Values) -> Tensor:
        return tf.math.log_sigmoid(f)


class Compose(Flow):
    """G = G_K ∘ … ∘ G_1: the first listed flow is applied first; parameters are concatenated.

    >>> Compose([Linear(), Exp()]).forward(1.0, [0.5, 0.0]).numpy().round(4)  # exp(0.5·f)
    np.float64(1.6487)
    """

    def __init__(self, flows: Sequence[Flow]) -> None:
        is_list = isinstance(flows, Sequence) and len(flows) > 0
        if not is_list or not all(isinstance(flow, Flow) for flow in flows):
            raise ValueError(f"flows: expected a list of one or more flows, got {flows!r}")
        self.flows = tuple(flows)

    @property
    def params(self) -> tuple[Param, ...]:
        """Names begin with the step: ``2.a`` is a of the second flow."""
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

    def _steps(self, values: Values) -> list[tuple[Flow, Values]]:
        ends = np.cumsum([flow.num_params for flow in self.flows])
        return [
            (flow, values[end - flow.num_params : end])
            for flow, end in zip(self.flows, ends, strict=True)
        ]

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
        return f"Compose([{', '.join(map(repr, self.flows))}])"


class SAL(Compose):
    """`length` times a sinh-arcsinh step followed by an affine one (4·length parameters)."""

    def __init__(self, length: int = 3) -> None:
        self.length = check_count(length, "length")
        super().__init__([SinhArcsinh()] * self.length)

    def __repr__(self) -> str:
        return f"SAL(length={self.length})"


class Tanh(Compose):
    """`length` sums of `elements` tanh steps (3·elements·length parameters)."""

    def __init__(self, elements: int = 4, length: int = 1) -> None:
        self.elements = check_count(elements, "elements")
        self.length = check_count(length, "length")
        super().__init__([TanhSum(self.elements)] * self.length)

    def __repr__(self) -> str:
        return f"Tanh(elements={self.elements}, length={self.length})"
