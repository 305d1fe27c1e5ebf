"""Flow parameters from Gaussian processes instead of a network.

    g_1, …, g_R ~ GP(0, k) independent,    raw parameter_j(x) = Σ_r g_r(x) w_rj + b_j

R sparse processes with one kernel and one set of inducing points are mixed into all C·P raw
parameters, so that the work on them does not grow with C. Far from the data every g_r returns to
its prior N(0, 1), and the raw parameters to N(b, Wᵀ W), whatever the labels were.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.core.conditional import conditional, standard_deviation
from etgp_viz.core.flows import Flow
from etgp_viz.core.network import Dense, FlowNetwork

__all__ = ["GPNetwork"]

MOST_PROCESSES = 10  # unless their number is given
START = 0.1  # deviation of every whitened inducing variable


class GPNetwork(FlowNetwork):
    """x ↦ raw parameters of C flows, mixed from R sparse Gaussian processes.

    It stands in the place of a `FlowNetwork`: its last shared layer is g(x), and a draw of g plays
    the part of a dropout draw. Each row has its own draw, or with ``one_mask`` a draw is one
    function of x; the point estimate is the mean of g. The mixing weights W and the biases b are
    point estimates. The kernel has variance 1, since W scales the processes.

    Parameters
    ----------
    num_inputs, num_classes, flow, seed, start, precision : as for `FlowNetwork`
    inducing_points : ``[M, D]``, shared by all processes and trained
    num_processes : R, at most C·P; R = C·P starts with one process for each raw parameter (W is
        the identity), fewer with random W; None for the smaller of C·P and 10
    lengthscale : of the squared exponential kernel at the start, one for each input
    weight_decay : λ of the mixing weights

    Examples
    --------
    >>> from etgp_viz import flows
    >>> network = GPNetwork(1, 3, flows.Linear(), np.array([[-1.0], [0.0], [1.0]]))
    >>> print(network(np.zeros((5, 1)), samples=4).shape, network.q_mu.shape)
    (4, 5, 3, 2) (3, 6)
    """

    def __init__(
        self,
        num_inputs: int,
        num_classes: int,
        flow: Flow,
        inducing_points: Any,
        num_processes: int | None = None,
        lengthscale: float = 2.0,
        weight_decay: float = 1e-5,
        seed: int = 0,
        start: Sequence[float] | np.ndarray | None = None,
        precision: str = "float64",
    ) -> None:
        options: dict[str, Any] = {"weight_decay": weight_decay, "seed": seed, "start": start}
        super().__init__(
            num_inputs, num_classes, flow, (), dropout=0.0, precision=precision, **options
        )
        Z = np.array(checks.check_inputs(inducing_points, "inducing_points", self.num_inputs))
        outputs = self.num_classes * flow.num_params
        bound = {"maximum": outputs, "because": "the number of raw parameters"}
        R = checks.check_optional(checks.check_count, num_processes, "num_processes", **bound)
        R = min(MOST_PROCESSES, outputs) if R is None else R
        lengthscales = np.full(self.num_inputs, checks.check_positive(lengthscale, "lengthscale"))
        self.kernel = gpflow.kernels.SquaredExponential(lengthscales=lengthscales)
        gpflow.set_trainable(self.kernel.variance, False)
        self.inducing_variable = gpflow.inducing_variables.InducingPoints(Z)
        # q is on the whitened inducing variables of each process.
        self.q_mu = gpflow.Parameter(np.zeros((len(Z), R)))
        deviations = START * np.stack([np.eye(len(Z))] * R)
        self.q_sqrt = gpflow.Parameter(deviations, transform=gpflow.utilities.triangular())
        mixing = np.random.default_rng(seed).normal(scale=R**-0.5, size=(R, outputs))
        mixing = np.eye(R) if outputs == R else mixing
        self.output = Dense(mixing, self.output.bias.numpy())

    def features(
        self, X: Tensor, samples: int | None = None, seed: Any = None, one_mask: bool = False
    ) -> Tensor:
        """The mean of g(X) [N, R], or with `samples` draws of it [S, N, R]."""
        is_joint = samples is not None and one_mask
        mean, variance = self.moments(X, full_cov=is_joint)
        if samples is None:
            return tf.cast(mean, self.precision)
        if seed is None:
            seed = self.generator.uniform_full_int([], tf.int32)
        # Rows first: a row's noise depends on its position, not on how many rows follow.
        shape = [tf.shape(mean)[0], samples, mean.shape[1]]
        noise = tf.random.stateless_normal(shape, tf.stack([seed, 0]), dtype=mean.dtype)
        if is_joint:
            jitter = gpflow.default_jitter() * tf.eye(tf.shape(mean)[0], dtype=mean.dtype)
            root = tf.linalg.cholesky(variance + jitter)  # [R, N, N]
            g = mean + tf.einsum("rnm,msr->snr", root, noise)
        else:
            g = mean + standard_deviation(variance) * tf.transpose(noise, [1, 0, 2])
        return tf.cast(g, self.precision)

    def moments(self, X: Tensor, full_cov: bool = False) -> tuple[Tensor, Tensor]:
        """Mean [N, R] and variance [N, R] (or covariance [R, N, N]) of q(g(X))."""
        Z, kernel = self.inducing_variable, self.kernel
        Kzz = gpflow.covariances.Kuu(Z, kernel, jitter=gpflow.default_jitter())[None]
        Kzx = gpflow.covariances.Kuf(Z, kernel, X)[None]
        Kxx = kernel(X, full_cov=full_cov)[None]
        return conditional(Kzz, Kzx, Kxx, self.q_mu, self.q_sqrt, True, full_cov)

    def prior_penalty(self) -> Tensor:
        """KL[q(g) ‖ p(g)] of the R processes, and λ Σ w² of the mixing weights."""
        kl = gpflow.kullback_leiblers.gauss_kl(self.q_mu, self.q_sqrt)
        return kl + self.weight_decay * tf.reduce_sum(self.output.weights**2)
