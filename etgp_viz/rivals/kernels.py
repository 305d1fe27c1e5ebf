"""Kernels that GPflow lacks: Williams' neural network, and stacks of C kernels evaluated at once.

A stack rests on one observation. The RBF, arc-cosine and neural-network kernels all have the form

    k(x, x') = φ( u(x)ᵀ u'(x') )

with small feature vectors u, u' and a scalar link φ. C kernels of one family are therefore a single
batched matrix product and one element-wise function, with no loop over kernels.
"""

import copy
from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from etgp_viz.backend import check_shapes, gpflow, inherit_check_shapes, tf

__all__ = [
    "ArcCosine",
    "Broadcast",
    "NeuralNetwork",
    "Stacked",
    "StackedArcCosine",
    "StackedNeuralNetwork",
    "StackedRBF",
]

# Cosines are shrunk by this much, as in GPflow's own arc-cosine: acos has an infinite slope at 1.
COSINE_JITTER = 1e-15


def _positive(value: np.ndarray | float) -> gpflow.Parameter:
    return gpflow.Parameter(value, transform=gpflow.utilities.positive())


def _augment(X: tf.Tensor, weight_variances: tf.Tensor, bias_variance: tf.Tensor) -> tf.Tensor:
    """Σ^½ x̃ for x̃ = (1, x) and diagonal Σ: inner products of these are s(x, x') = x̃ᵀ Σ x̃'.

    The bias variance has a trailing axis of one, so that both broadcast against ``X[..., D]``.
    """
    X = X * tf.sqrt(weight_variances)
    return tf.concat([tf.ones_like(X[..., :1]) * tf.sqrt(bias_variance), X], axis=-1)


def _products(
    features: Callable[[tf.Tensor], tf.Tensor], X: tf.Tensor, X2: tf.Tensor | None
) -> tf.Tensor:
    """Inner products of the features of all pairs, with GPflow's axes for leading ones."""
    u = features(X)
    if X2 is None:
        return tf.matmul(u, u, transpose_b=True)
    return tf.tensordot(u, features(X2), [[-1], [-1]])


def _erf_features(augmented: tf.Tensor) -> tf.Tensor:
    """√2 Σ^½ x̃ / √(1 + 2 s(x, x)), whose inner products are the arguments of asin."""
    s = tf.reduce_sum(tf.square(augmented), axis=-1, keepdims=True)
    return augmented * tf.sqrt(2.0 / (1.0 + 2.0 * s))


def _erf_link(product: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    return variance * (2.0 / np.pi) * tf.asin(product)


def _unit_features(augmented: tf.Tensor) -> tf.Tensor:
    """Σ^½ x̃ at length one: inner products of these are cosines."""
    return augmented / tf.norm(augmented, axis=-1, keepdims=True)


def _angle_link(cosine: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """σ² (1 − θ/π). Rounding may take the cosine of parallel vectors above 1, where acos is NaN."""
    cosine = COSINE_JITTER + (1.0 - 2.0 * COSINE_JITTER) * tf.minimum(cosine, 1.0)
    return variance * (1.0 - tf.acos(cosine) / np.pi)


class ArcCosine(gpflow.kernels.ArcCosine):
    """GPflow's arc-cosine kernel of order 0, safe from rounding.

    GPflow's own shrinks cosines by 1e-15 and no more. With tens of inputs the cosine of a vector
    with itself is now and then rounded by more than that, and the covariance is NaN: seldom enough
    to be missed in a test, and often enough to end a training of many steps.

    Parameters
    ----------
    variance : σ²
    weight_variances : a number, or ``[D]`` for automatic relevance determination
    bias_variance : the prior variance of the units' biases
    """

    def __init__(
        self,
        variance: float = 1.0,
        weight_variances: float | np.ndarray = 1.0,
        bias_variance: float = 1.0,
    ) -> None:
        super().__init__(0, variance, weight_variances, bias_variance)

    def _features(self, X: tf.Tensor) -> tf.Tensor:
        return _unit_features(_augment(X, self.weight_variances, self.bias_variance))

    @inherit_check_shapes
    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:  # noqa: N802
        """Covariance of every pair of rows."""
        return _angle_link(_products(self._features, X, X2), self.variance)


class NeuralNetwork(gpflow.kernels.Kernel):
    """Williams' neural-network kernel: infinitely many erf units with Gaussian weights.

    With x̃ = (1, x) and s(x, x') = x̃ᵀ Σ x̃' for Σ = diag(bias_variance, weight_variances),

        k(x, x') = σ² (2/π) asin( 2 s(x, x') / √((1 + 2 s(x, x)) (1 + 2 s(x', x'))) )
                 = σ² E[ erf(uᵀx̃) erf(uᵀx̃') ],   u ~ N(0, Σ).

    It is not stationary: away from the origin its functions saturate. Σ is the identity by default.

    Parameters
    ----------
    variance : σ²
    weight_variances : a number, or ``[D]`` for automatic relevance determination
    bias_variance : the prior variance of the units' biases
    """

    def __init__(
        self,
        variance: float = 1.0,
        weight_variances: float | np.ndarray = 1.0,
        bias_variance: float = 1.0,
        *,
        active_dims: slice | list[int] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(active_dims=active_dims, name=name)
        self.variance = _positive(variance)
        self.weight_variances = _positive(weight_variances)
        self.bias_variance = _positive(bias_variance)
        self._validate_ard_active_dims(self.weight_variances)

    @property
    def ard(self) -> bool:
        """Whether each input has a weight variance of its own."""
        return self.weight_variances.shape.ndims > 0

    def _features(self, X: tf.Tensor) -> tf.Tensor:
        return _erf_features(_augment(X, self.weight_variances, self.bias_variance))

    @inherit_check_shapes
    def K(self, X: tf.Tensor, X2: tf.Tensor | None = None) -> tf.Tensor:  # noqa: N802
        """Covariance of every pair of rows."""
        return _erf_link(_products(self._features, X, X2), self.variance)

    @inherit_check_shapes
    def K_diag(self, X: tf.Tensor) -> tf.Tensor:  # noqa: N802
        """Variance at every row."""
        return _erf_link(tf.reduce_sum(tf.square(self._features(X)), axis=-1), self.variance)


class Broadcast(gpflow.kernels.SharedIndependent):
    """One kernel for C independent processes, evaluated and factorised once and then broadcast.

    The same prior as GPflow's ``SharedIndependent``; what differs is that an SVGP with this kernel
    takes the batched computation of `etgp_viz.rivals.batched`.
    """


class Stacked(gpflow.kernels.MultioutputKernel):
    """C independent kernels of one family, their parameters stacked along a leading axis C."""

    @abstractmethod
    def _left(self, X: tf.Tensor) -> tf.Tensor:
        """Features u, ``[C | 1, N, D] -> [C, N, F]``."""

    def _right(self, X: tf.Tensor) -> tf.Tensor:
        """Features u', the same as u unless a family says otherwise."""
        return self._left(X)

    @abstractmethod
    def _link(self, product: tf.Tensor) -> tf.Tensor:
        """φ, element by element, ``[C, N, N2] -> [C, N, N2]``."""

    @abstractmethod
    @check_shapes("X: [N, D]", "return: [C, N]")
    def variances(self, X: tf.Tensor) -> tf.Tensor:
        """k_c(x, x) for every kernel and row, ``[N, D] -> [C, N]``."""

    @check_shapes("A: [broadcast C, N, D]", "B: [broadcast C, N2, D]", "return: [C, N, N2]")
    def covariances(self, A: tf.Tensor, B: tf.Tensor) -> tf.Tensor:
        """k_c(a, b) of the c-th set of rows under the c-th kernel; one set may serve all."""
        return self._link(tf.matmul(self._left(A), self._right(B), transpose_b=True))

    def part(self, chosen: slice) -> "Stacked":
        """Some of the kernels as a stack of their own, with the same parameters."""
        part = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, gpflow.Parameter):
                object.__setattr__(part, name, tf.convert_to_tensor(value)[chosen])
        return part

    @property
    def num_latent_gps(self) -> int:
        """C, the number of kernels."""
        return self.variance.shape[0]

    @property
    def latent_kernels(self) -> tuple[gpflow.kernels.Kernel, ...]:
        """The stack itself: its members have no objects of their own."""
        return (self,)

    @check_shapes("X: [N, D]", "X2: [N2, D]")
    def K(  # noqa: N802
        self, X: tf.Tensor, X2: tf.Tensor | None = None, full_output_cov: bool = True
    ) -> tf.Tensor:
        """All kernels at all pairs: ``[C, N, N2]``, or ``[N, C, N2, C]`` with the zeros between."""
        covariances = self.covariances(X[None], (X if X2 is None else X2)[None])
        if not full_output_cov:
            return covariances
        return tf.transpose(tf.linalg.diag(tf.transpose(covariances, [1, 2, 0])), [0, 2, 1, 3])

    @inherit_check_shapes
    def K_diag(self, X: tf.Tensor, full_output_cov: bool = True) -> tf.Tensor:  # noqa: N802
        """All kernels at every row: ``[N, C]``, or ``[N, C, C]`` with the zeros between."""
        variances = tf.transpose(self.variances(X))
        return tf.linalg.diag(variances) if full_output_cov else variances


class StackedRBF(Stacked):
    """C squared-exponential kernels σ² exp(−½ Σ_d (x_d − x'_d)² / ℓ_d²).

    Parameters
    ----------
    variance : ``[C]``
    lengthscales : ``[C, D]``
    """

    @check_shapes("variance: [C]", "lengthscales: [C, D]")
    def __init__(self, variance: np.ndarray, lengthscales: np.ndarray) -> None:
        super().__init__()
        self.variance = _positive(variance)
        self.lengthscales = _positive(lengthscales)

    # log k = log σ² − ½|a|² − ½|b|² + a·b is an inner product of D + 2 numbers, so φ is just exp.
    def _left(self, X: tf.Tensor) -> tf.Tensor:
        a, half_square = self._scaled(X)
        log_variance = tf.math.log(self.variance)[:, None, None]
        return tf.concat([a, log_variance - half_square, tf.ones_like(half_square)], axis=-1)

    def _right(self, X: tf.Tensor) -> tf.Tensor:
        b, half_square = self._scaled(X)
        return tf.concat([b, tf.ones_like(half_square), -half_square], axis=-1)

    def _scaled(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        scaled = X / self.lengthscales[:, None, :]
        return scaled, 0.5 * tf.reduce_sum(tf.square(scaled), axis=-1, keepdims=True)

    def _link(self, product: tf.Tensor) -> tf.Tensor:
        return tf.exp(product)

    @inherit_check_shapes
    def variances(self, X: tf.Tensor) -> tf.Tensor:
        """σ² everywhere."""
        return tf.repeat(self.variance[:, None], tf.shape(X)[0], axis=1)


class _StackedWeights(Stacked):
    """A stack of kernels that stand for infinitely wide networks of one hidden layer.

    Parameters
    ----------
    variance : ``[C]``
    weight_variances : ``[C, D]``
    bias_variance : ``[C]``
    """

    @check_shapes("variance: [C]", "weight_variances: [C, D]", "bias_variance: [C]")
    def __init__(
        self, variance: np.ndarray, weight_variances: np.ndarray, bias_variance: np.ndarray
    ) -> None:
        super().__init__()
        self.variance = _positive(variance)
        self.weight_variances = _positive(weight_variances)
        self.bias_variance = _positive(bias_variance)

    def _augmented(self, X: tf.Tensor) -> tf.Tensor:
        bias = self.bias_variance[:, None, None]
        return _augment(X, self.weight_variances[:, None, :], bias)


class StackedNeuralNetwork(_StackedWeights):
    """C kernels of `NeuralNetwork`."""

    def _left(self, X: tf.Tensor) -> tf.Tensor:
        return _erf_features(self._augmented(X))

    def _link(self, product: tf.Tensor) -> tf.Tensor:
        return _erf_link(product, self.variance[:, None, None])

    @inherit_check_shapes
    def variances(self, X: tf.Tensor) -> tf.Tensor:
        """σ² (2/π) asin(2s / (1 + 2s)) with s = s(x, x)."""
        squares = tf.reduce_sum(tf.square(self._left(X[None])), axis=-1)
        return _erf_link(squares, self.variance[:, None])


class StackedArcCosine(_StackedWeights):
    """C arc-cosine kernels of order 0, σ² (1 − θ/π) with θ the angle between Σ^½x̃ and Σ^½x̃'."""

    def _left(self, X: tf.Tensor) -> tf.Tensor:
        return _unit_features(self._augmented(X))

    def _link(self, product: tf.Tensor) -> tf.Tensor:
        return _angle_link(product, self.variance[:, None, None])

    @inherit_check_shapes
    def variances(self, X: tf.Tensor) -> tf.Tensor:
        """σ² everywhere."""
        return tf.repeat(self.variance[:, None], tf.shape(X)[0], axis=1)
