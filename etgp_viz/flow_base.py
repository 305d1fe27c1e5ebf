"""What a flow is: an invertible, element-wise map g = G(f; θ) that warps a Gaussian process.

A flow carries no numbers of its own. Its parameters arrive with every call as a *raw* array
``params[..., P]`` (unconstrained, as a network puts them out), whose leading axes broadcast
against ``f``. `constrain` turns raw numbers into the ones that the formulas speak of (softplus
where a number must be positive), `unconstrain` goes back.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etgp_viz.backend import check_shapes, gpflow, tf

__all__ = ["RAW_ALMOST_ZERO", "RAW_ONE", "Flow", "Param"]

TensorLike = Any  # whatever tf.convert_to_tensor takes

# softplus(-16) ≈ 1e-7, zero to the eye: the raw value of an amplitude that vanishes.
RAW_ALMOST_ZERO = -16.0
# softplus(-4) ≈ 0.02: nearly zero, and a gradient still reaches the raw value.
RAW_NEAR_ZERO = -4.0


@dataclass(frozen=True)
class Param:
    """One parameter of a flow, as formulas and sliders see it (constrained).

    Attributes
    ----------
    name: short name, as in the formula.
    low, high: a range in which the map stays pleasant to look at; no limit on its values.
    positive: whether the raw number goes through softplus.
    raw_identity: the raw value at which the flow is the identity.
    effect: what a larger value does, in words.
    """

    name: str
    low: float
    high: float
    positive: bool
    raw_identity: float
    effect: str


RAW_ONE = float(np.log(np.expm1(1.0)))  # softplus(RAW_ONE) = 1


class Flow(ABC):
    """An invertible, element-wise map g = G(f; θ)."""

    #: whether some parameters make the flow the identity
    has_identity: bool = True

    @property
    @abstractmethod
    def params(self) -> tuple[Param, ...]:
        """The P parameters, in the order of the last axis of ``params[..., P]``."""

    @abstractmethod
    def _forward(self, f: tf.Tensor, values: Sequence[tf.Tensor]) -> tf.Tensor:
        """G(f) for constrained parameters, one tensor for each."""

    @abstractmethod
    def _inverse(self, g: tf.Tensor, values: Sequence[tf.Tensor]) -> tf.Tensor:
        """G⁻¹(g)."""

    @abstractmethod
    def _log_derivative(self, f: tf.Tensor, values: Sequence[tf.Tensor]) -> tf.Tensor:
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
        """Raw parameters [P] at which G(f) = f, or comes closest to it."""
        return np.array([param.raw_identity for param in self.params], dtype=np.float64)

    def near_identity_params(self) -> np.ndarray:
        """Raw parameters [P] close to the identity, from which training sets off well.

        They are `identity_params` themselves, but for amplitudes that vanish there: as softplus of
        a very negative number these hardly see a gradient, and start a little above zero instead.
        """
        raw = self.identity_params()
        return np.where(raw == RAW_ALMOST_ZERO, RAW_NEAR_ZERO, raw)

    def unstack(self, params: TensorLike, axis: int = -1) -> list[tf.Tensor]:
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
    def constrain(self, params: TensorLike) -> tf.Tensor:
        """The numbers that stand in the formulas, from raw ones."""
        return tf.stack(self.unstack(params), axis=-1) if self.num_params else _tensor(params)

    @check_shapes("values: [batch..., P]", "return: [batch..., P]")
    def unconstrain(self, values: TensorLike) -> tf.Tensor:
        """Raw parameters from the numbers of the formulas; the inverse of `constrain`."""
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
    def forward(self, f: TensorLike, params: TensorLike) -> tf.Tensor:
        """Warp: g = G(f; θ)."""
        return self._forward(_tensor(f), self.unstack(params))

    @check_shapes(
        "g: [broadcast batch...]", "params: [broadcast batch..., P]", "return: [batch...]"
    )
    def inverse(self, g: TensorLike, params: TensorLike) -> tf.Tensor:
        """Unwarp: f = G⁻¹(g; θ)."""
        return self._inverse(_tensor(g), self.unstack(params))

    @check_shapes(
        "f: [broadcast batch...]", "params: [broadcast batch..., P]", "return: [batch...]"
    )
    def log_derivative(self, f: TensorLike, params: TensorLike) -> tf.Tensor:
        """log |dG/df| at f: what the change of variables subtracts from the log density."""
        return self._log_derivative(_tensor(f), self.unstack(params))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        """Flows of one class with equal attributes are one map, and share compiled code."""
        return self is other or (type(self) is type(other) and vars(self) == vars(other))

    def __hash__(self) -> int:
        try:
            return hash((type(self), tuple(sorted(vars(self).items()))))
        except TypeError:  # an attribute such as an array: then no two flows are the same
            return id(self)


def _tensor(values: TensorLike) -> tf.Tensor:
    if tf.is_tensor(values):
        return tf.cast(values, gpflow.default_float())
    return tf.convert_to_tensor(values, dtype=gpflow.default_float())
