"""Kernels that GPflow lacks, alone and stacked: C sparse GPs in batched operations.

`NeuralNetwork` (Williams) and `ArcCosine` (safe from rounding) are covariances of infinitely wide
networks with one hidden layer. Both, and the RBF, have the form

    k(x, x') = φ( u(x)ᵀ v(x') )

with small feature vectors u and v and a scalar function φ, the link. C kernels of one family are
therefore a single batched matrix product and one element-wise function: a `Stacked` kernel.

GPflow evaluates separate kernels in a Python loop and factorises their matrices one by one in
``tf.map_fn``. With a kernel from here, GPflow's ``SVGP`` sends C matrices ``[C, M, M]`` through
every operation together: `Stacked` stands for C kernels with C sets of inducing points, `Broadcast`
for one of each.

Examples
--------
>>> X, ones = np.linspace(0.0, 1.0, 4)[:, None], np.ones((3, 1))
>>> for kernel in (
...     StackedRBF(np.ones(3), lengthscales=ones),
...     StackedArcCosine(np.ones(3), ones, bias_variance=np.ones(3)),
...     StackedNeuralNetwork(np.ones(3), ones, bias_variance=np.ones(3)),
...     Broadcast(gpflow.kernels.RBF(), output_dim=3),
... ):
...     print(type(kernel).__name__, kernel.K(X, full_output_cov=False).shape)
StackedRBF (3, 4, 4)
StackedArcCosine (3, 4, 4)
StackedNeuralNetwork (3, 4, 4)
Broadcast (3, 4, 4)
>>> int(StackedInducingPoints(np.zeros((3, 2, 1))).num_inducing)
2
"""

import copy
from abc import abstractmethod
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, check_shapes, gpflow, inherit_check_shapes, tf
from etgp_viz.core.blocks import fitting
from etgp_viz.core.conditional import conditional

__all__ = [
    "ArcCosine",
    "Broadcast",
    "NeuralNetwork",
    "Stacked",
    "StackedArcCosine",
    "StackedInducingPoints",
    "StackedNeuralNetwork",
    "StackedRBF",
]

# Cosines are shrunk by this much, as in GPflow's own arc-cosine: acos has an infinite slope at 1.
COSINE_JITTER = 1e-15
# Processes are computed in groups whose [C, M, N] temporaries hold about this many numbers: small
# enough for the allocator to reuse their memory rather than ask the system for more.
NUMBERS_PER_GROUP = 1_000_000
MAX_GROUPS = 64


def positive(value: np.ndarray | float) -> gpflow.Parameter:
    """A positive parameter of a kernel."""
    return gpflow.Parameter(value, transform=gpflow.utilities.positive())


def augment(X: Tensor, weight_variances: Tensor, bias_variance: Tensor) -> Tensor:
    """Σ^½ x̃ ``[..., D + 1]``, x̃ = (1, x), diagonal Σ: inner products are s(x, x') = x̃ᵀ Σ x̃'."""
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
        """Whether each input has its own weight variance.

        Examples
        --------
        >>> NeuralNetwork().ard, NeuralNetwork(weight_variances=np.ones(3)).ard
        (False, True)
        """
        return self.weight_variances.shape.ndims > 0

    def _features(self, X: Tensor) -> Tensor:
        return self.features(augment(X, self.weight_variances, self.bias_variance))

    @inherit_check_shapes
    def K(self, X: Tensor, X2: Tensor | None = None) -> Tensor:  # noqa: N802
        """Covariance of every pair of rows.

        Parameters
        ----------
        X, X2 : inputs ``[N, D]`` and ``[N2, D]``; without X2, those of X

        Returns
        -------
        ``[N, N2]``

        Examples
        --------
        >>> ArcCosine(variance=2.0).K(np.array([[0.0], [1.0]])).numpy().round(3)
        array([[2. , 1.5],
               [1.5, 2. ]])
        """
        u = self._features(X)
        if X2 is None:
            return self.link(tf.matmul(u, u, transpose_b=True), self.variance)
        return self.link(tf.tensordot(u, self._features(X2), [[-1], [-1]]), self.variance)

    @inherit_check_shapes
    def K_diag(self, X: Tensor) -> Tensor:  # noqa: N802
        """Variance at every row of X ``[N, D]``, ``[N]``.

        Examples
        --------
        >>> NeuralNetwork(variance=2.0).K_diag(np.array([[0.0], [1.0]])).numpy().round(3)
        array([0.929, 1.181])
        """
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
    weight_variances : the last D entries of Σ, a number, or ``[D]`` for automatic relevance
        determination
    bias_variance : the first entry of Σ
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
        """u(x) = √2 Σ^½ x̃ / √(1 + 2 s(x, x)): inner products of these are the arguments of asin.

        Both `augmented` = Σ^½ x̃ and u(x) are ``[..., D + 1]``.

        Examples
        --------
        >>> NeuralNetwork.features(np.array([[1.0, 0.0]])).numpy().round(3)  # √(2/3) at x = 0
        array([[0.816, 0.   ]])
        """
        s = tf.reduce_sum(tf.square(augmented), axis=-1, keepdims=True)
        return augmented * tf.sqrt(2.0 / (1.0 + 2.0 * s))

    @staticmethod
    def link(product: Tensor, variance: Tensor) -> Tensor:
        """σ² (2/π) asin of each `product` u(x)ᵀ u(x'), with the `variance` σ².

        Examples
        --------
        >>> NeuralNetwork.link(np.array([0.0, 1.0]), 2.0).numpy().round(3)
        array([0., 2.])
        """
        return variance * (2.0 / np.pi) * tf.asin(product)


class ArcCosine(WideNetwork):
    """The arc-cosine kernel of order 0, σ² (1 − θ/π) with θ the angle between Σ^½x̃ and Σ^½x̃'.

    GPflow's ``ArcCosine`` shrinks cosines by 1e-15 and no more. With tens of inputs, the cosine of
    a vector with itself is occasionally rounded up by more than that, and the covariance is NaN:
    too rare to show up in a test, frequent enough to end a long training run.

    Parameters
    ----------
    variance : σ²
    weight_variances : the last D entries of Σ, a number, or ``[D]`` for automatic relevance
        determination
    bias_variance : the first entry of Σ
    active_dims, name : as for every GPflow kernel

    Examples
    --------
    >>> kernel = ArcCosine(variance=2.0)
    >>> kernel(np.array([[0.0], [1.0]])).numpy().round(3)
    array([[2. , 1.5],
           [1.5, 2. ]])
    """

    @staticmethod
    def features(augmented: Tensor) -> Tensor:
        """u(x) = Σ^½ x̃ scaled to length one: inner products of these are cosines.

        Both `augmented` = Σ^½ x̃ and u(x) are ``[..., D + 1]``.

        Examples
        --------
        >>> ArcCosine.features(np.array([[3.0, 4.0]])).numpy().round(3)
        array([[0.6, 0.8]])
        """
        return augmented / tf.norm(augmented, axis=-1, keepdims=True)

    @staticmethod
    def link(product: Tensor, variance: Tensor) -> Tensor:
        """σ² (1 − θ/π) from cos θ, which rounding may take above 1, where acos is NaN.

        `product` is cos θ, of any shape, and `variance` is σ².

        Examples
        --------
        >>> ArcCosine.link(np.array([-1.0, 0.0, 1.0]), 2.0).numpy().round(3)
        array([0., 1., 2.])
        """
        cosine = COSINE_JITTER + (1.0 - 2.0 * COSINE_JITTER) * tf.minimum(product, 1.0)
        return variance * (1.0 - tf.acos(cosine) / np.pi)

    @inherit_check_shapes
    def K_diag(self, X: Tensor) -> Tensor:  # noqa: N802
        """σ² at every row of X ``[N, D]``, ``[N]``; the shrunken cosine would lose half the digits.

        Examples
        --------
        >>> ArcCosine(variance=2.0).K_diag(np.zeros((3, 1))).numpy()
        array([2., 2., 2.])
        """
        return self.variance * tf.ones_like(X[..., 0])


# --- C kernels at once --------------------------------------------------------------------------


class Broadcast(gpflow.kernels.SharedIndependent):
    """One kernel for C independent processes, evaluated and factorised once and then broadcast.

    Prior and parameters are those of GPflow's ``SharedIndependent``: `kernel` is any GPflow kernel,
    and `output_dim` is C.

    Examples
    --------
    >>> kernel = Broadcast(gpflow.kernels.RBF(), output_dim=3)
    >>> print(kernel.K(np.zeros((4, 1)), full_output_cov=False).shape)
    (3, 4, 4)
    """


class Stacked(gpflow.kernels.MultioutputKernel):
    """C independent kernels of one family, their parameters stacked along a leading axis C.

    Examples
    --------
    >>> kernel = StackedRBF(np.array([1.0, 4.0]), lengthscales=np.ones((2, 1)))
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> kernel.num_latent_gps, len(kernel.latent_kernels)  # two kernels, one object
    (2, 1)
    >>> kernel.variances(X).numpy().round(3)
    array([[1., 1., 1.],
           [4., 4., 4.]])
    >>> print(kernel.covariances(X[None], X[None, :2]).shape)
    (2, 3, 2)
    >>> print(kernel.K(X, full_output_cov=False).shape, kernel.K(X).shape, kernel.K_diag(X).shape)
    (2, 3, 3) (3, 2, 3, 2) (3, 2, 2)
    """

    @abstractmethod
    def _left(self, X: Tensor) -> Tensor:
        """Features u, ``[C | 1, N, D] -> [C, N, F]``."""

    def _right(self, X: Tensor) -> Tensor:
        """Features v, the same as u unless a family overrides this."""
        return self._left(X)

    @abstractmethod
    def _link(self, product: Tensor) -> Tensor:
        """φ, element by element, ``[C, N, N2] -> [C, N, N2]``."""

    @check_shapes("X: [N, D]", "return: [C, N]")
    def variances(self, X: Tensor) -> Tensor:
        """k_c(x, x) for every kernel and row of X ``[N, D]``, ``[C, N]``.

        It is σ_c² unless a family overrides this.
        """
        return tf.repeat(self.variance[:, None], tf.shape(X)[0], axis=1)

    @check_shapes("A: [broadcast C, N, D]", "B: [broadcast C, N2, D]", "return: [C, N, N2]")
    def covariances(self, A: Tensor, B: Tensor) -> Tensor:
        """k_c(a, b) of the c-th set of rows under the c-th kernel; one set may serve all.

        Parameters
        ----------
        A, B : rows ``[C, N, D]`` and ``[C, N2, D]``, or ``[1, …]`` for the same rows in all

        Returns
        -------
        ``[C, N, N2]``
        """
        return self._link(tf.matmul(self._left(A), self._right(B), transpose_b=True))

    @property
    def num_latent_gps(self) -> int:
        """C, the number of kernels."""
        return self.variance.shape[0]

    @property
    def latent_kernels(self) -> tuple[gpflow.kernels.Kernel, ...]:
        """The stack itself: its members are not separate objects."""
        return (self,)

    @check_shapes("X: [N, D]", "X2: [N2, D]")
    def K(  # noqa: N802
        self, X: Tensor, X2: Tensor | None = None, full_output_cov: bool = True
    ) -> Tensor:
        """All kernels at all pairs of rows.

        Parameters
        ----------
        X, X2 : inputs ``[N, D]`` and ``[N2, D]``; without X2, those of X
        full_output_cov : whether to include the zeros between different kernels

        Returns
        -------
        ``[N, C, N2, C]``, or ``[C, N, N2]`` without `full_output_cov`
        """
        covariances = self.covariances(X[None], (X if X2 is None else X2)[None])
        if not full_output_cov:
            return covariances
        return tf.transpose(tf.linalg.diag(tf.transpose(covariances, [1, 2, 0])), [0, 2, 1, 3])

    @inherit_check_shapes
    def K_diag(self, X: Tensor, full_output_cov: bool = True) -> Tensor:  # noqa: N802
        """All kernels at every row of X ``[N, D]``.

        Returns
        -------
        ``[N, C, C]`` with zeros between different kernels, or ``[N, C]`` without `full_output_cov`
        """
        variances = tf.transpose(self.variances(X))
        return tf.linalg.diag(variances) if full_output_cov else variances


class StackedRBF(Stacked):
    """C kernels σ² exp(−½ Σ_d (x_d − x'_d)² / ℓ_d²).

    Parameters
    ----------
    variance, lengthscales : σ² ``[C]`` and ℓ ``[C, D]``

    Examples
    --------
    >>> kernel = StackedRBF(np.ones(2), lengthscales=np.array([[1.0], [2.0]]))
    >>> X = np.array([[0.0], [1.0]])
    >>> kernel.K(X, full_output_cov=False).numpy()[:, 0, 1].round(3)  # the second is smoother
    array([0.607, 0.882])
    """

    @check_shapes("variance: [C]", "lengthscales: [C, D]")
    def __init__(self, variance: np.ndarray, lengthscales: np.ndarray) -> None:
        super().__init__()
        self.variance = positive(variance)
        self.lengthscales = positive(lengthscales)

    # log k = log σ² − ½|a|² − ½|b|² + a·b is an inner product of D + 2 numbers, so φ is just exp.
    def _left(self, X: Tensor) -> Tensor:
        a, half_square = self._scaled(X)
        log_variance = tf.math.log(self.variance)[:, None, None]
        return tf.concat([a, log_variance - half_square, tf.ones_like(half_square)], axis=-1)

    def _right(self, X: Tensor) -> Tensor:
        b, half_square = self._scaled(X)
        return tf.concat([b, tf.ones_like(half_square), -half_square], axis=-1)

    def _scaled(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """x/ℓ and ½|x/ℓ|²."""
        scaled = X / self.lengthscales[:, None, :]
        return scaled, 0.5 * tf.reduce_sum(tf.square(scaled), axis=-1, keepdims=True)

    def _link(self, product: Tensor) -> Tensor:
        return tf.exp(product)


class _StackedNetworks(Stacked):
    """C kernels of a `family` of infinitely wide networks."""

    family: type[WideNetwork]

    @check_shapes("variance: [C]", "weight_variances: [C, D]", "bias_variance: [C]")
    def __init__(
        self, variance: np.ndarray, weight_variances: np.ndarray, bias_variance: np.ndarray
    ) -> None:
        super().__init__()
        self.variance = positive(variance)
        self.weight_variances = positive(weight_variances)
        self.bias_variance = positive(bias_variance)

    def _left(self, X: Tensor) -> Tensor:
        bias = self.bias_variance[:, None, None]
        return self.family.features(augment(X, self.weight_variances[:, None, :], bias))

    def _link(self, product: Tensor) -> Tensor:
        return self.family.link(product, self.variance[:, None, None])


class StackedArcCosine(_StackedNetworks):
    """C kernels of the family `ArcCosine`.

    Parameters
    ----------
    variance, weight_variances, bias_variance : as there, ``[C]``, ``[C, D]`` and ``[C]``

    Examples
    --------
    >>> kernel = StackedArcCosine(np.array([1.0, 2.0]), np.ones((2, 1)), bias_variance=np.ones(2))
    >>> kernel.K(np.array([[0.0], [1.0]]), full_output_cov=False).numpy()[:, 0, 1].round(3)
    array([0.75, 1.5 ])
    """

    family = ArcCosine


class StackedNeuralNetwork(_StackedNetworks):
    """C kernels of the family `NeuralNetwork`.

    Parameters
    ----------
    variance, weight_variances, bias_variance : as there, ``[C]``, ``[C, D]`` and ``[C]``

    Examples
    --------
    >>> kernel = StackedNeuralNetwork(np.ones(3), np.ones((3, 2)), bias_variance=np.ones(3))
    >>> print(kernel.K(np.zeros((4, 2)), full_output_cov=False).shape)
    (3, 4, 4)
    """

    family = NeuralNetwork

    @inherit_check_shapes
    def variances(self, X: Tensor) -> Tensor:
        """σ² (2/π) asin(2s / (1 + 2s)) with s = s(x, x) at every row of X ``[N, D]``, ``[C, N]``.

        Examples
        --------
        >>> kernel = StackedNeuralNetwork(np.ones(2), np.ones((2, 1)), bias_variance=np.ones(2))
        >>> kernel.variances(np.array([[0.0], [9.0]])).numpy().round(2)
        array([[0.46, 0.93],
               [0.46, 0.93]])
        """
        squares = tf.reduce_sum(tf.square(self._left(X[None])), axis=-1)
        return self.family.link(squares, self.variance[:, None])


class StackedInducingPoints(gpflow.inducing_variables.InducingVariables):
    """C sets of M inducing points in one parameter ``Z [C, M, D]``.

    Examples
    --------
    >>> points = StackedInducingPoints(np.zeros((3, 2, 1)))  # three sets of two points
    >>> int(points.num_inducing), points.shape
    (2, (2, 1, 3))
    """

    @check_shapes("Z: [C, M, D]")
    def __init__(self, Z: np.ndarray) -> None:
        super().__init__()
        self.Z = gpflow.Parameter(Z)

    @property
    def num_inducing(self) -> Tensor:
        """M, the number of inducing points of each process."""
        return tf.shape(self.Z)[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """``[M, D, C]``, in GPflow's order."""
        C, M, D = self.Z.shape
        return M, D, C


# --- how GPflow computes with them --------------------------------------------------------------


def _part(stack: Any, chosen: slice) -> Any:
    """Some of the C kernels or sets of points, as a smaller stack with the same parameters."""
    part = copy.copy(stack)
    for name, value in vars(stack).items():
        if isinstance(value, gpflow.Parameter):
            object.__setattr__(part, name, tf.convert_to_tensor(value)[chosen])
    return part


@gpflow.covariances.Kuu.register(StackedInducingPoints, Stacked)
def _stacked_kuu(
    inducing_variable: StackedInducingPoints, kernel: Stacked, *, jitter: float = 0.0
) -> Tensor:
    covariances = kernel.covariances(inducing_variable.Z, inducing_variable.Z)
    diagonal = tf.linalg.diag_part(covariances)
    return tf.linalg.set_diag(covariances, diagonal + jitter)  # [C, M, M]


@gpflow.covariances.Kuf.register(StackedInducingPoints, Stacked, object)
def _stacked_kuf(inducing_variable: StackedInducingPoints, kernel: Stacked, Xnew: Tensor) -> Tensor:
    return kernel.covariances(inducing_variable.Z, Xnew[None])  # [C, M, N]


def _covariances(prior: tuple[Any, ...], X: Tensor, full_cov: bool) -> tuple[Tensor, ...]:
    """Kmm, Kmn and Knn of a stack, ``[C, …]``, or of the kernel all processes share, ``[1, …]``."""
    kernel, points = prior
    Kmm = gpflow.covariances.Kuu(points, kernel, jitter=gpflow.default_jitter())
    Kmn = gpflow.covariances.Kuf(points, kernel, X)
    if isinstance(kernel, Broadcast):
        return Kmm[None], Kmn[None], kernel.kernel(X, full_cov=full_cov)[None]
    return Kmm, Kmn, kernel.covariances(X[None], X[None]) if full_cov else kernel.variances(X)


class BatchedPosterior(gpflow.posteriors.IndependentPosteriorMultiOutput):
    """GPflow's posterior of independent processes, computed by `etgp_viz.core.conditional`."""

    @inherit_check_shapes
    def _conditional_fused(
        self, Xnew: Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[Tensor, Tensor]:
        q_mu, q_sqrt = tf.convert_to_tensor(self.q_mu), tf.convert_to_tensor(self.q_sqrt)
        (M, C), N = q_mu.shape, Xnew.shape[0]
        group = C if N is None else max(fitting(M * N, NUMBERS_PER_GROUP), -(-C // MAX_GROUPS))
        prior, is_shared = (self.kernel, self.X_data), isinstance(self.kernel, Broadcast)
        moments = []
        for start in range(0, C, group):
            chosen = slice(start, start + group)
            if start == 0 or not is_shared:
                part = prior if is_shared else tuple(_part(stack, chosen) for stack in prior)
                Kmm, Kmn, Knn = _covariances(part, Xnew, full_cov)
            q = q_mu[:, chosen], q_sqrt[chosen]
            moments.append(conditional(Kmm, Kmn, Knn, *q, self.whiten, full_cov))
        means, covariances = zip(*moments, strict=True)
        mean, cov = tf.concat(means, axis=1), tf.concat(covariances, axis=0 if full_cov else 1)
        return self._post_process_mean_and_cov(mean, cov, full_cov, full_output_cov)


SHARED_POINTS = gpflow.inducing_variables.SharedIndependentInducingVariables


@gpflow.posteriors.get_posterior_class.register(Stacked, StackedInducingPoints)
@gpflow.posteriors.get_posterior_class.register(Broadcast, SHARED_POINTS)
def _batched_posterior(*_: object) -> type[BatchedPosterior]:
    return BatchedPosterior
