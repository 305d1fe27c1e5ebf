"""C sparse GPs in batched operations: q(f) without a loop over kernels or Cholesky factors.

GPflow evaluates separate kernels in a Python loop and factorises them one by one in ``tf.map_fn``.
Here the C matrices ``[C, M, M]`` go through every operation together. Importing this module teaches
GPflow's ``SVGP`` to do so for the kernels `Stacked` (C kernels, C sets of inducing points) and
`Broadcast` (one of each).
"""

import copy

import numpy as np

from etgp_viz.backend import check_shapes, gpflow, inherit_check_shapes, tf
from etgp_viz.core.conditional import batched_conditional
from etgp_viz.rivals.kernels import Broadcast, Stacked

__all__ = ["StackedInducingPoints"]

# Processes go through in groups whose [C, M, N] temporaries have about this many numbers: small
# enough for the allocator to reuse their memory, where larger ones come fresh from the system.
GROUP_SIZE = 1_000_000


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
    def num_inducing(self) -> tf.Tensor:
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


@gpflow.covariances.Kuu.register(StackedInducingPoints, Stacked)
def _stacked_kuu(
    inducing_variable: StackedInducingPoints, kernel: Stacked, *, jitter: float = 0.0
) -> tf.Tensor:
    covariances = kernel.covariances(inducing_variable.Z, inducing_variable.Z)
    diagonal = tf.linalg.diag_part(covariances)
    return tf.linalg.set_diag(covariances, diagonal + jitter)  # [C, M, M]


@gpflow.covariances.Kuf.register(StackedInducingPoints, Stacked, object)
def _stacked_kuf(
    inducing_variable: StackedInducingPoints, kernel: Stacked, Xnew: tf.Tensor
) -> tf.Tensor:
    return kernel.covariances(inducing_variable.Z, Xnew[None])  # [C, M, N]


class BatchedPosterior(gpflow.posteriors.IndependentPosteriorMultiOutput):
    """GPflow's posterior of independent processes, computed by `batched_conditional`."""

    @inherit_check_shapes
    def _conditional_fused(
        self, Xnew: tf.Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        q_mu, q_sqrt = tf.convert_to_tensor(self.q_mu), tf.convert_to_tensor(self.q_sqrt)
        (M, C), N = q_mu.shape, Xnew.shape[0]
        group = C if N is None else max(GROUP_SIZE // (M * N), -(-C // 64))
        shared = self._shared_moments(Xnew, full_cov)
        moments = []
        for start in range(0, C, group):
            chosen = slice(start, start + group)
            Kmm, Kmn, Knn = shared or self._stacked_moments(chosen, Xnew, full_cov)
            q = q_mu[:, chosen], q_sqrt[chosen]
            moments.append(
                batched_conditional(Kmm, Kmn, Knn, *q, white=self.whiten, full_cov=full_cov)
            )
        means, covariances = zip(*moments, strict=True)
        mean, cov = tf.concat(means, axis=1), tf.concat(covariances, axis=0 if full_cov else 1)
        return self._post_process_mean_and_cov(mean, cov, full_cov, full_output_cov)

    def _shared_moments(self, X: tf.Tensor, full_cov: bool) -> tuple[tf.Tensor, ...] | None:
        """Kmm, Kmn and Knn ``[1, …]`` of the one kernel that all processes share, if they do."""
        if not isinstance(self.kernel, Broadcast):
            return None
        Kmm = gpflow.covariances.Kuu(self.X_data, self.kernel, jitter=gpflow.default_jitter())
        Kmn = gpflow.covariances.Kuf(self.X_data, self.kernel, X)
        return Kmm[None], Kmn[None], self.kernel.kernel(X, full_cov=full_cov)[None]

    def _stacked_moments(self, chosen: slice, X: tf.Tensor, full_cov: bool) -> tuple:
        """Kmm, Kmn and Knn ``[C, …]`` of some of the processes."""
        kernel, points = self.kernel.part(chosen), self.X_data.part(chosen)
        Kmm = gpflow.covariances.Kuu(points, kernel, jitter=gpflow.default_jitter())
        Kmn = gpflow.covariances.Kuf(points, kernel, X)
        Knn = kernel.covariances(X[None], X[None]) if full_cov else kernel.variances(X)
        return Kmm, Kmn, Knn


@gpflow.posteriors.get_posterior_class.register(Stacked, StackedInducingPoints)
def _stacked_posterior(*_: object) -> type[BatchedPosterior]:
    return BatchedPosterior


@gpflow.posteriors.get_posterior_class.register(
    Broadcast, gpflow.inducing_variables.SharedIndependentInducingVariables
)
def _broadcast_posterior(*_: object) -> type[BatchedPosterior]:
    return BatchedPosterior
