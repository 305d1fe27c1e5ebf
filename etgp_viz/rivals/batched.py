"""C sparse GPs in batched operations: q(f) without a loop over kernels or Cholesky factors.

GPflow evaluates separate kernels in a Python loop and factorises their matrices one by one in
``tf.map_fn``. With a kernel from here, GPflow's ``SVGP`` sends C matrices ``[C, M, M]`` through
every operation together: `Stacked` stands for C kernels with C sets of inducing points, `Broadcast`
for one of each.

A stack rests on one observation. The RBF, arc-cosine and neural-network kernels all have the form

    k(x, x') = φ( u(x)ᵀ v(x') )

with small feature vectors u and v and a scalar link φ. C kernels of one family are therefore a
single batched matrix product and one element-wise function.
"""

import copy
from abc import abstractmethod

import numpy as np

from etgp_viz.backend import Tensor, check_shapes, gpflow, inherit_check_shapes, tf
from etgp_viz.core.blocks import fitting
from etgp_viz.core.conditional import conditional
from etgp_viz.rivals.kernels import ArcCosine, NeuralNetwork, WideNetwork, augment, positive

__all__ = [
    "Broadcast",
    "Stacked",
    "StackedArcCosine",
    "StackedInducingPoints",
    "StackedNeuralNetwork",
    "StackedRBF",
]

# Processes are computed in groups whose [C, M, N] temporaries hold about this many numbers: small
# enough for the allocator to reuse their memory rather than ask the system for more.
NUMBERS_PER_GROUP = 1_000_000
MAX_GROUPS = 64


class Broadcast(gpflow.kernels.SharedIndependent):
    """One kernel for C independent processes, evaluated and factorised once and then broadcast.

    The prior is that of GPflow's ``SharedIndependent``.

    Parameters
    ----------
    kernel : the kernel that all processes share
    output_dim : C
    """


class Stacked(gpflow.kernels.MultioutputKernel):
    """C independent kernels of one family, their parameters stacked along a leading axis C."""

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
        """k_c(x, x) for every kernel and row: σ_c² unless a family overrides this."""
        return tf.repeat(self.variance[:, None], tf.shape(X)[0], axis=1)

    @check_shapes("A: [broadcast C, N, D]", "B: [broadcast C, N2, D]", "return: [C, N, N2]")
    def covariances(self, A: Tensor, B: Tensor) -> Tensor:
        """k_c(a, b) of the c-th set of rows under the c-th kernel; one set may serve all."""
        return self._link(tf.matmul(self._left(A), self._right(B), transpose_b=True))

    def part(self, chosen: slice) -> "Stacked":
        """Some of the kernels as a smaller stack with the same parameters."""
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
        """The stack itself: its members are not separate objects."""
        return (self,)

    @check_shapes("X: [N, D]", "X2: [N2, D]")
    def K(  # noqa: N802
        self, X: Tensor, X2: Tensor | None = None, full_output_cov: bool = True
    ) -> Tensor:
        """All kernels at all pairs: ``[C, N, N2]``, or ``[N, C, N2, C]`` with zeros in between."""
        covariances = self.covariances(X[None], (X if X2 is None else X2)[None])
        if not full_output_cov:
            return covariances
        return tf.transpose(tf.linalg.diag(tf.transpose(covariances, [1, 2, 0])), [0, 2, 1, 3])

    @inherit_check_shapes
    def K_diag(self, X: Tensor, full_output_cov: bool = True) -> Tensor:  # noqa: N802
        """All kernels at every row: ``[N, C]``, or ``[N, C, C]`` with zeros in between."""
        variances = tf.transpose(self.variances(X))
        return tf.linalg.diag(variances) if full_output_cov else variances


class StackedRBF(Stacked):
    """C squared-exponential kernels σ² exp(−½ Σ_d (x_d − x'_d)² / ℓ_d²).

    Parameters
    ----------
    variance : σ², ``[C]``
    lengthscales : ℓ, ``[C, D]``

    Examples
    --------
    >>> kernel = StackedRBF(variance=np.array([1.0, 4.0]), lengthscales=np.array([[1.0], [2.0]]))
    >>> X = np.array([[0.0], [1.0]])
    >>> kernel(X, full_cov=True, full_output_cov=False).numpy().round(2)
    array([[[1.  , 0.61],
            [0.61, 1.  ]],
    <BLANKLINE>
           [[4.  , 3.53],
            [3.53, 4.  ]]])
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
    """C kernels of a `family` of infinitely wide networks.

    Parameters
    ----------
    variance : σ², ``[C]``
    weight_variances : ``[C, D]``
    bias_variance : ``[C]``
    """

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
    """C kernels of `ArcCosine`.

    Parameters
    ----------
    variance, weight_variances, bias_variance : ``[C]``, ``[C, D]`` and ``[C]``
    """

    family = ArcCosine


class StackedNeuralNetwork(_StackedNetworks):
    """C kernels of `NeuralNetwork`.

    Parameters
    ----------
    variance, weight_variances, bias_variance : ``[C]``, ``[C, D]`` and ``[C]``
    """

    family = NeuralNetwork

    @inherit_check_shapes
    def variances(self, X: Tensor) -> Tensor:
        """σ² (2/π) asin(2s / (1 + 2s)) with s = s(x, x)."""
        squares = tf.reduce_sum(tf.square(self._left(X[None])), axis=-1)
        return self.family.link(squares, self.variance[:, None])


class StackedInducingPoints(gpflow.inducing_variables.InducingVariables):
    """C sets of M inducing points in one parameter.

    Parameters
    ----------
    Z : ``[C, M, D]``
    """

    @check_shapes("Z: [C, M, D]")
    def __init__(self, Z: np.ndarray) -> None:
        super().__init__()
        self.Z = gpflow.Parameter(Z)

    @property
    def num_inducing(self) -> Tensor:
        """M, the number of inducing points of each process."""
        return tf.shape(self.Z)[1]

    def part(self, chosen: slice) -> "StackedInducingPoints":
        """Some of the sets, as the same parameter."""
        part = copy.copy(self)
        object.__setattr__(part, "Z", tf.convert_to_tensor(self.Z)[chosen])
        return part

    @property
    def shape(self) -> tuple[int, int, int]:
        """``[M, D, C]``, in GPflow's order."""
        C, M, D = self.Z.shape
        return M, D, C


# --- how GPflow computes with them --------------------------------------------------------------


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


class BatchedPosterior(gpflow.posteriors.IndependentPosteriorMultiOutput):
    """GPflow's posterior of independent processes, computed by `etgp_viz.core.conditional`."""

    @inherit_check_shapes
    def _conditional_fused(
        self, Xnew: Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[Tensor, Tensor]:
        q_mu, q_sqrt = tf.convert_to_tensor(self.q_mu), tf.convert_to_tensor(self.q_sqrt)
        (M, C), N = q_mu.shape, Xnew.shape[0]
        group = C if N is None else max(fitting(M * N, NUMBERS_PER_GROUP), -(-C // MAX_GROUPS))
        shared = self._shared_covariances(Xnew, full_cov)
        moments = []
        for start in range(0, C, group):
            chosen = slice(start, start + group)
            Kmm, Kmn, Knn = shared or self._stacked_covariances(chosen, Xnew, full_cov)
            q = q_mu[:, chosen], q_sqrt[chosen]
            moments.append(conditional(Kmm, Kmn, Knn, *q, white=self.whiten, full_cov=full_cov))
        means, covariances = zip(*moments, strict=True)
        mean, cov = tf.concat(means, axis=1), tf.concat(covariances, axis=0 if full_cov else 1)
        return self._post_process_mean_and_cov(mean, cov, full_cov, full_output_cov)

    def _shared_covariances(self, X: Tensor, full_cov: bool) -> tuple[Tensor, ...] | None:
        """Kmm, Kmn and Knn ``[1, …]`` of the kernel all processes share; None if they do not."""
        if not isinstance(self.kernel, Broadcast):
            return None
        Kmm = gpflow.covariances.Kuu(self.X_data, self.kernel, jitter=gpflow.default_jitter())
        Kmn = gpflow.covariances.Kuf(self.X_data, self.kernel, X)
        return Kmm[None], Kmn[None], self.kernel.kernel(X, full_cov=full_cov)[None]

    def _stacked_covariances(self, chosen: slice, X: Tensor, full_cov: bool) -> tuple[Tensor, ...]:
        """Kmm, Kmn and Knn ``[C, …]`` of some of the processes."""
        kernel, points = self.kernel.part(chosen), self.X_data.part(chosen)
        Kmm = gpflow.covariances.Kuu(points, kernel, jitter=gpflow.default_jitter())
        Kmn = gpflow.covariances.Kuf(points, kernel, X)
        Knn = kernel.covariances(X[None], X[None]) if full_cov else kernel.variances(X)
        return Kmm, Kmn, Knn


SHARED_POINTS = gpflow.inducing_variables.SharedIndependentInducingVariables


@gpflow.posteriors.get_posterior_class.register(Stacked, StackedInducingPoints)
@gpflow.posteriors.get_posterior_class.register(Broadcast, SHARED_POINTS)
def _batched_posterior(*_: object) -> type[BatchedPosterior]:
    return BatchedPosterior
