"""Kernels that GPflow lacks: Williams' neural network, and an arc-cosine kernel safe from rounding.

Both are covariances of infinitely wide networks with one hidden layer, and both have the form

    k(x, x') = φ( u(x)ᵀ u(x') )

with a feature vector u and a scalar function φ, the link. `etgp_viz.rivals.batched` stacks C
kernels of this form.
"""

from abc import abstractmethod

import numpy as np

from etgp_viz.backend import Tensor, gpflow, inherit_check_shapes, tf
from etgp_viz.lazy import lazy_names

__all__ = ["ArcCosine", "NeuralNetwork"]

# Cosines are shrunk by this much, as in GPflow's own arc-cosine: acos has an infinite slope at 1.
COSINE_JITTER = 1e-15


def positive(value: np.ndarray | float) -> gpflow.Parameter:
    """A positive parameter of a kernel."""
    return gpflow.Parameter(value, transform=gpflow.utilities.positive())


def augment(X: Tensor, weight_variances: Tensor, bias_variance: Tensor) -> Tensor:
    """Σ^½ x̃ for x̃ = (1, x) and diagonal Σ: inner products of these are s(x, x') = x̃ᵀ Σ x̃'.

    Parameters
    ----------
    X : inputs ``[..., D]``
    weight_variances, bias_variance : diagonal of Σ, which broadcasts against ``X[..., D]`` and
        ``X[..., :1]``

    Returns
    -------
    ``[..., D + 1]``
    """
    X = X * tf.sqrt(weight_variances)
    return tf.concat([tf.ones_like(X[..., :1]) * tf.sqrt(bias_variance), X], axis=-1)


class WideNetwork(gpflow.kernels.Kernel):
    """Kernel of an infinitely wide network with one hidden layer and Gaussian weights.

    Parameters
    ----------
    variance : σ²
    weight_variances : prior variances of the weights, a number, or ``[D]`` for automatic relevance
        determination
    bias_variance : prior variance of the units' biases
    active_dims, name : as for every GPflow kernel
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
        self.variance = positive(variance)
        self.weight_variances = positive(weight_variances)
        self.bias_variance = positive(bias_variance)
        self._validate_ard_active_dims(self.weight_variances)

    @staticmethod
    @abstractmethod
    def features(augmented: Tensor) -> Tensor:
        """u(x) from Σ^½ x̃, both ``[..., D + 1]``."""

    @staticmethod
    @abstractmethod
    def link(product: Tensor, variance: Tensor) -> Tensor:
        """φ of inner products u(x)ᵀ u(x'), element by element, with σ²."""

    @property
    def ard(self) -> bool:
        """Whether each input has its own weight variance."""
        return self.weight_variances.shape.ndims > 0

    def _features(self, X: Tensor) -> Tensor:
        return self.features(augment(X, self.weight_variances, self.bias_variance))

    @inherit_check_shapes
    def K(self, X: Tensor, X2: Tensor | None = None) -> Tensor:  # noqa: N802
        """Covariance of every pair of rows."""
        u = self._features(X)
        if X2 is None:
            return self.link(tf.matmul(u, u, transpose_b=True), self.variance)
        return self.link(tf.tensordot(u, self._features(X2), [[-1], [-1]]), self.variance)

    @inherit_check_shapes
    def K_diag(self, X: Tensor) -> Tensor:  # noqa: N802
        """Variance at every row."""
        return self.link(tf.reduce_sum(tf.square(self._features(X)), axis=-1), self.variance)


class NeuralNetwork(WideNetwork):
    """Williams' neural-network kernel: infinitely many erf units.

    With x̃ = (1, x) and s(x, x') = x̃ᵀ Σ x̃' for Σ = diag(bias_variance, weight_variances),

        k(x, x') = σ² (2/π) asin( 2 s(x, x') / √((1 + 2 s(x, x)) (1 + 2 s(x', x'))) )
                 = σ² E[ erf(wᵀx̃) erf(wᵀx̃') ],   w ~ N(0, Σ).

    It is not stationary: away from the origin its functions saturate. Σ is the identity by default.

    Parameters
    ----------
    variance : σ²
    weight_variances : a number, or ``[D]`` for automatic relevance determination
    bias_variance : prior variance of the units' biases
    active_dims, name : as for every GPflow kernel

    Examples
    --------
    >>> kernel = NeuralNetwork(variance=2.0)
    >>> kernel(np.array([[0.0], [1.0]])).numpy().round(3)
    array([[0.929, 0.691],
           [0.691, 1.181]])
    """

    @staticmethod
    def features(augmented: Tensor) -> Tensor:
        """√2 Σ^½ x̃ / √(1 + 2 s(x, x)), whose inner products are the arguments of asin."""
        s = tf.reduce_sum(tf.square(augmented), axis=-1, keepdims=True)
        return augmented * tf.sqrt(2.0 / (1.0 + 2.0 * s))

    @staticmethod
    def link(product: Tensor, variance: Tensor) -> Tensor:
        """σ² (2/π) asin."""
        return variance * (2.0 / np.pi) * tf.asin(product)


class ArcCosine(WideNetwork):
    """The arc-cosine kernel of order 0, σ² (1 − θ/π) with θ the angle between Σ^½x̃ and Σ^½x̃'.

    GPflow's ``ArcCosine`` shrinks cosines by 1e-15 and no more. With tens of inputs, the cosine of
    a vector with itself is occasionally rounded up by more than that, and the covariance is NaN:
    too rare to show up in a test, frequent enough to end a long training run.

    Parameters
    ----------
    variance, weight_variances, bias_variance, active_dims, name : as for `NeuralNetwork`

    Examples
    --------
    >>> kernel = ArcCosine(variance=2.0)
    >>> kernel(np.array([[0.0], [1.0]])).numpy().round(3)
    array([[2. , 1.5],
           [1.5, 2. ]])
    """

    @staticmethod
    def features(augmented: Tensor) -> Tensor:
        """Σ^½ x̃ scaled to length one: inner products of these are cosines."""
        return augmented / tf.norm(augmented, axis=-1, keepdims=True)

    @staticmethod
    def link(product: Tensor, variance: Tensor) -> Tensor:
        """σ² (1 − θ/π) from cos θ, which rounding may take above 1, where acos is NaN."""
        cosine = COSINE_JITTER + (1.0 - 2.0 * COSINE_JITTER) * tf.minimum(product, 1.0)
        return variance * (1.0 - tf.acos(cosine) / np.pi)

    @inherit_check_shapes
    def K_diag(self, X: Tensor) -> Tensor:  # noqa: N802
        """σ² at every row; the shrunken cosine would lose half the digits."""
        return self.variance * tf.ones_like(X[..., 0])


# Stacks of kernels have moved to `etgp_viz.rivals.batched`.
_STACKS = ("Broadcast", "Stacked", "StackedArcCosine", "StackedNeuralNetwork", "StackedRBF")
__getattr__, __dir__ = lazy_names(__name__, {name: f"rivals.batched:{name}" for name in _STACKS})
