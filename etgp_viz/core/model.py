"""ETGP: one Gaussian process, warped through C input-dependent flows.

    f0 ~ GP(m, K),    f^c(x) = G(f0(x); θ^c(x)),    y | x ~ softmax(f^1(x), …, f^C(x))

One latent means that every expectation below, for any C, is a 1-d Gauss–Hermite quadrature over
q(f0(x)) = N(µ, σ²), and that the GP work does not depend on C.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, as_written, check_shapes, gpflow, tf, tfp
from etgp_viz.core.blocks import in_chunks, in_row_blocks, padded
from etgp_viz.core.conditional import conditional, standard_deviation
from etgp_viz.core.expectations import (
    at_nodes,
    average,
    expected_log_likelihood,
    expected_log_softmax,
    expected_softmax,
    gauss_hermite,
    log_expected_softmax,
)
from etgp_viz.core.network import FlowNetwork

__all__ = ["ETGP"]

Data = tuple[Tensor, Tensor]
Latent = tuple[Tensor, Tensor, Tensor]  # µ [N] and σ [N] of q(f0), raw parameters [S, N, C, P]

# Likelihoods whose Y is a label 0..C−1.
LABELLED = (gpflow.likelihoods.Softmax, gpflow.likelihoods.MultiClass)


class ETGP(gpflow.models.GPModel, gpflow.models.ExternalDataTrainingLossMixin):
    """Efficient Transformed Gaussian Process, a GPflow model.

    ELBO = Σ_n E_{q(f0(x_n)) q(W)}[ log p(y_n | f^1(x_n), …, f^C(x_n)) ] − KL[q(u0) ‖ p(u0)] − KL_W

    Parameters
    ----------
    kernel : any GPflow kernel, of f0
    network : from x to the parameters of the C flows, with KL_W as its weight decay
    inducing_variable : M inducing points [M, D] or GPflow (inter-domain) inducing variables, of f0
    likelihood : GPflow likelihood of Y given the C processes; softmax unless given. A scalar one
        applies to each process by itself: ``Bernoulli()`` makes the model multi-label (Y [N, C] of
        zeros and ones), ``Gaussian()`` a multi-output regression (Y [N, C]).
    mean_function : of f0; zero unless given
    num_data : N, to scale mini-batches up; None for full batches
    num_quadrature : Q, nodes of the Gauss–Hermite rule
    whiten : whether q is on the whitened inducing variables, u0 = chol(K_zz) v

    Examples
    --------
    >>> from etgp_viz import ETGP, FlowNetwork, flows
    >>> from etgp_viz.backend import gpflow
    >>> X, Y = np.linspace(-1.0, 1.0, 6)[:, None], np.array([[0], [0], [1], [1], [2], [2]])
    >>> network = FlowNetwork(num_inputs=1, num_classes=3, flow=flows.Linear())
    >>> model = ETGP(gpflow.kernels.SquaredExponential(), network, X[::2])
    >>> print(f"{model.elbo((X, Y)):.3f}")  # identity flows: every class has probability 1/3
    -6.592
    >>> probabilities, _ = model.predict_y(X)
    >>> print(probabilities.shape)
    (6, 3)
    """

    def __init__(
        self,
        kernel: gpflow.kernels.Kernel,
        network: FlowNetwork,
        inducing_variable: Any,
        *,
        likelihood: gpflow.likelihoods.Likelihood | None = None,
        mean_function: gpflow.functions.MeanFunction | None = None,
        num_data: int | None = None,
        num_quadrature: int = 20,
        whiten: bool = True,
    ) -> None:
        if gpflow.default_float() != np.float64:
            got = np.dtype(gpflow.default_float()).name
            checks.fail("gpflow.default_float()", "float64, in which ETGP computes", got)
        if not isinstance(network, FlowNetwork):
            checks.fail("network", "a FlowNetwork", type(network).__name__)
        C = network.num_classes
        likelihood = gpflow.likelihoods.Softmax(C) if likelihood is None else likelihood
        if not isinstance(likelihood, gpflow.likelihoods.Likelihood):
            checks.fail("likelihood", "a GPflow likelihood", repr(likelihood))
        if likelihood.latent_dim not in (None, C):
            expected = f"one of {C} processes, as the network has"
            checks.fail("likelihood", expected, f"one of {likelihood.latent_dim}")
        points = gpflow.inducing_variables.InducingPoints
        if not isinstance(inducing_variable, gpflow.inducing_variables.InducingVariables):
            Z = checks.check_inputs(inducing_variable, "inducing_variable", network.num_inputs)
            inducing_variable = points(Z)
        elif isinstance(inducing_variable, points):
            checks.check_inputs(inducing_variable.Z, "inducing_variable", network.num_inputs)
        _check_kernel(kernel, network.num_inputs)
        M = int(inducing_variable.num_inducing)
        if num_data is not None:
            checks.check_count(num_data, "num_data")
            checks.check_count(M, "inducing_variable", maximum=num_data, because="M ≤ num_data")

        super().__init__(kernel, likelihood, mean_function, num_latent_gps=1)
        self.network = network
        self.inducing_variable = inducing_variable
        self.num_data = num_data
        self.num_quadrature = checks.check_count(num_quadrature, "num_quadrature")
        self.whiten = bool(whiten)
        self.q_mu = gpflow.Parameter(np.zeros((M, 1)))
        self.q_sqrt = gpflow.Parameter(np.eye(M)[None], transform=gpflow.utilities.triangular())

    @property
    def num_classes(self) -> int:
        """C, the number of warped processes."""
        return self.network.num_classes

    def check_data(self, data: Data) -> Data:
        """Check (X, Y) against the model.

        Y holds labels 0..C−1 [N, 1] for a likelihood of classes, zeros and ones [N, C] for
        ``Bernoulli``, and any numbers, one column for each process, for other likelihoods.
        """
        if isinstance(self.likelihood, LABELLED):
            return checks.check_data(data, self.num_classes, self.network.num_inputs)
        X, Y = checks.check_same_rows(data)
        checks.check_inputs(X, "X", self.network.num_inputs)
        if isinstance(self.likelihood, gpflow.likelihoods.Bernoulli):
            Y = checks.check_zeros_and_ones(Y, "Y")
        return X, checks.check_inputs(Y, "Y", self.likelihood.observation_dim or self.num_classes)

    # ------------------------------------------------------------------ objective

    @as_written
    def elbo(self, data: Data, samples: int | None = 1) -> Tensor:
        """Evidence lower bound.

        Parameters
        ----------
        data : (X [N, D], Y); a mini-batch stands for all `num_data` rows
        samples : dropout draws over which the expected log-likelihood is averaged, new ones at
            each call; None turns dropout off
        """
        X, Y = map(tf.convert_to_tensor, self.check_data(data))
        expected_log_likelihood = self.variational_expectations(X, Y, _draws(samples))  # [N]
        scale = 1.0 if self.num_data is None else self.num_data / tf.shape(X)[0]
        total = tf.cast(scale, X.dtype) * tf.reduce_sum(expected_log_likelihood)
        return total - self.prior_kl() - self.network.prior_penalty()

    def maximum_log_likelihood_objective(self, data: Data) -> Tensor:
        return self.elbo(data)

    def prior_kl(self) -> Tensor:
        """KL[q(u0) ‖ p(u0)]: warping both by the same maps leaves it unchanged."""
        return gpflow.kullback_leiblers.prior_kl(
            self.inducing_variable, self.kernel, self.q_mu, self.q_sqrt, whiten=self.whiten
        )

    @check_shapes("X: [N, D]", "return: [N]")
    def variational_expectations(self, X: Tensor, Y: Tensor, samples: int | None = None) -> Tensor:
        """E_{q(f0) q(W)}[log p(y_n | f^1, …, f^C)] of each row, for any likelihood."""
        if self._is_softmax:  # the same number, compiled
            total = self._over_draws(expected_log_softmax, tf.add, X, [Y[:, 0]], samples, None)
            return total / (samples or 1)

        def at_rows(rows: slice, latent: Latent) -> Tensor:
            def log_likelihood(F: Tensor) -> Tensor:
                return self._log_likelihood(F, X[rows], Y[rows])

            flow, Q = self.network.flow, self.num_quadrature
            return expected_log_likelihood(log_likelihood, flow, *latent, Q)

        return self._in_row_chunks(at_rows, X, samples, None)

    # ------------------------------------------------------------------ predictions

    def predict_latent(self, X: Tensor, full_cov: bool = False) -> tuple[Tensor, Tensor]:
        """Mean [N, 1] and variance [N, 1] (or covariance [1, N, N]) of q(f0(X))."""
        X = self._inputs(X)
        Z = self.inducing_variable
        Kzz = gpflow.covariances.Kuu(Z, self.kernel, jitter=gpflow.default_jitter())[None]
        Kzx = gpflow.covariances.Kuf(Z, self.kernel, X)[None]
        Kxx = self.kernel(X, full_cov=full_cov)[None]
        q = self.q_mu, self.q_sqrt
        mean, variance = conditional(Kzz, Kzx, Kxx, *q, white=self.whiten, full_cov=full_cov)
        return mean + self.mean_function(X), variance

    def predict_f(
        self,
        X: Tensor,
        full_cov: bool = False,
        full_output_cov: bool = False,
        samples: int | None = None,
        seed: int = 0,
    ) -> tuple[Tensor, Tensor]:
        """Posterior moments of the C warped processes at each input.

        Parameters
        ----------
        X : inputs [N, D]
        full_cov : must be False: covariances between inputs have no closed form
        full_output_cov : whether to return covariances between the processes
        samples, seed : as in `predict_y`

        Returns
        -------
        mean [N, C], and variance [N, C] or, with `full_output_cov`, covariance [N, C, C]
        """
        if full_cov:
            raise ValueError(
                "full_cov: only covariances at one input are computed in closed form; "
                "predict_f_samples draws jointly over inputs"
            )

        def moments(rows: slice, latent: Latent) -> tuple[Tensor, Tensor]:
            F = at_nodes(self.network.flow, *latent, self.num_quadrature)
            mean = self._average(F)
            centred = F - mean[:, None]
            if not full_output_cov:
                return mean, self._average(centred**2)
            weighted = centred * gauss_hermite(self.num_quadrature)[1][:, None] / F.shape[0]
            return mean, tf.einsum("snqc,snqd->ncd", weighted, centred)

        return self._in_row_chunks(moments, self._inputs(X), _draws(samples), _seed(seed))

    def predict_y(
        self, X: Tensor, samples: int | None = None, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Predictive mean and variance of Y, each [N, C]: for softmax p and p(1 − p).

        Parameters
        ----------
        X : inputs [N, D]
        samples : None for the point estimate (PE), or the number of dropout draws whose
            probabilities are averaged (BA)
        seed : of the dropout draws
        """
        X, S, seed = self._inputs(X), _draws(samples), _seed(seed)
        if self._is_softmax:
            p = self._class_probabilities(padded(X), S, seed, self._frozen)[: tf.shape(X)[0]]
            return p, p * (1.0 - p)

        def moments(rows: slice, latent: Latent) -> tuple[Tensor, Tensor]:
            F = at_nodes(self.network.flow, *latent, self.num_quadrature)
            flat = _flat(X[rows][:, None], F), _flat(F, F)
            mean_given_f = tf.reshape(self.likelihood.conditional_mean(*flat), tf.shape(F))
            variance_given_f = tf.reshape(self.likelihood.conditional_variance(*flat), tf.shape(F))
            mean = self._average(mean_given_f)
            # Law of total variance.
            return mean, self._average(variance_given_f + (mean_given_f - mean[:, None]) ** 2)

        return self._in_row_chunks(moments, X, S, seed)

    def predict_log_density(self, data: Data, samples: int | None = None, seed: int = 0) -> Tensor:
        """log p(y_n | x_n, data) of each row, [N]; arguments as in `predict_y`."""
        X, Y = map(tf.convert_to_tensor, self.check_data(data))
        S, seed = _draws(samples), _seed(seed)
        if self._is_softmax:
            inputs = padded(X), padded(Y)[:, 0], S, seed, self._frozen
            return self._label_log_probability(*inputs)[: tf.shape(X)[0]]

        def log_density(rows: slice, latent: Latent) -> Tensor:
            F = at_nodes(self.network.flow, *latent, self.num_quadrature)
            log_w = np.log(gauss_hermite(self.num_quadrature)[1])
            log_p = self._log_likelihood(F, X[rows], Y[rows])
            return tf.reduce_logsumexp(log_p + log_w, axis=[0, 2]) - np.log(S or 1)

        return self._in_row_chunks(log_density, X, S, seed)

    def predict_f_samples(
        self, X: Tensor, num_samples: int = 1, seed: int = 0, dropout: bool = False
    ) -> Tensor:
        """Joint posterior draws of the C processes over all inputs, [S, N, C]."""
        return self.predict_joint_samples(X, num_samples, seed, dropout)[1]

    def predict_joint_samples(
        self, X: Tensor, num_samples: int = 1, seed: int = 0, dropout: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Joint posterior draws of f0 [S, N] and of its C warps [S, N, C].

        With `dropout` each draw of f0 is paired with its own draw of the network, otherwise all
        share its point estimate.
        """
        S, seed = checks.check_count(num_samples, "num_samples"), _seed(seed)
        mean, covariance = self.predict_latent(X, full_cov=True)
        N = tf.shape(mean)[0]
        jitter = gpflow.default_jitter() * tf.eye(N, dtype=mean.dtype)
        noise = tf.random.stateless_normal([N, S], tf.stack([seed, 0]), dtype=mean.dtype)
        f0 = tf.transpose(mean + tf.linalg.cholesky(covariance[0] + jitter) @ noise)
        params = self.network(X, S, seed) if dropout else self.network(X)
        return f0, self.network.flow.forward(f0[:, :, None], params)

    # ------------------------------------------------------------------ expectations over f0 and W

    @property
    def _is_softmax(self) -> bool:
        return isinstance(self.likelihood, gpflow.likelihoods.Softmax)

    def _inputs(self, X: Tensor) -> Tensor:
        return tf.convert_to_tensor(checks.check_inputs(X, "X", self.network.num_inputs))

    def _average(self, at_nodes: Tensor) -> Tensor:
        return average(at_nodes, self.num_quadrature)

    def _latent_and_features(
        self, X: Tensor, samples: int | None, seed: int | Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Mean [N] and deviation [N] of q(f0), and the network's last shared layer [S, N, H].

        The GP is evaluated once for all dropout draws; S = 1 without dropout.
        """
        mean, variance = self.predict_latent(X)
        features = self.network.features(X, samples, seed)
        features = features[None] if samples is None else features
        return mean[:, 0], standard_deviation(variance[:, 0]), features

    def _in_row_chunks(
        self,
        function: Callable[[slice, Latent], Any],
        X: Tensor,
        samples: int | None,
        seed: int | Tensor | None,
    ) -> Any:
        """``function(rows, latent)`` over chunks of rows, to limit memory use."""
        mean, deviation, features = self._latent_and_features(X, samples, seed)

        def at_rows(rows: slice) -> Any:
            params = self.network.params_of(features[:, rows])
            return function(rows, (mean[rows], deviation[rows], params))

        per_row = features.shape[0] * self.num_quadrature * self.num_classes
        return in_chunks(at_rows, X.shape[0], per_row)

    def _log_likelihood(self, F: Tensor, X: Tensor, Y: Tensor) -> Tensor:
        """log p(y_n | f^1, …, f^C) at the nodes, [S, N, Q], for any GPflow likelihood."""
        flat = (_flat(tensor, F) for tensor in (X[:, None], F, Y[:, None]))
        return tf.reshape(self.likelihood.log_prob(*flat), tf.shape(F)[:-1])

    def _over_draws(
        self,
        expectation: Callable[..., Tensor],
        add: Callable[[Tensor, Tensor], Tensor],
        X: Tensor,
        targets: list[Tensor],
        samples: int | None,
        seed: int | Tensor | None,
    ) -> Tensor:
        """Sum over dropout draws of a compiled ``expectation(flow, µ, σ, values, *targets, Q)``."""
        mean, deviation, features = self._latent_and_features(X, samples, seed)
        flow, Q = self.network.flow, self.num_quadrature

        def at_rows(features: Tensor, mean: Tensor, deviation: Tensor, *targets: Any) -> Any:
            def at_draw(draw: Tensor) -> Tensor:  # [B, N, H]
                values = flow.unstack(self.network.class_major(draw), axis=1)
                return expectation(flow, mean, deviation, values, *targets, Q)

            first = at_draw(features[0])
            if features.shape[0] == 1:
                return first
            return tf.foldl(lambda total, h: add(total, at_draw(h)), features[1:], first)

        tensors = [features, mean, deviation, *targets]
        return in_row_blocks(at_rows, tensors, axes=[1, *[0] * (len(tensors) - 1)])

    @property
    def _frozen(self) -> tuple:
        """Cache key of a traced prediction: changing any entry forces a retrace."""
        parts = (self.kernel, self.network, self.inducing_variable, self.mean_function)
        settings = (self.num_quadrature, self.whiten, self.network.dropout)
        return (gpflow.default_jitter(), *settings, *map(id, parts))

    @tf.function(autograph=False)
    def _class_probabilities(
        self, X: Tensor, samples: int | None, seed: Tensor, frozen: tuple
    ) -> Tensor:
        total = self._over_draws(expected_softmax, tf.add, X, [], samples, seed)
        return tf.transpose(total) / (samples or 1)

    @tf.function(autograph=False)
    def _label_log_probability(
        self, X: Tensor, labels: Tensor, samples: int | None, seed: Tensor, frozen: tuple
    ) -> Tensor:
        add = tfp.math.log_add_exp
        total = self._over_draws(log_expected_softmax, add, X, [labels], samples, seed)
        return total - np.log(samples or 1)


def _draws(samples: int | None) -> int | None:
    return None if samples is None else checks.check_count(samples, "samples")


def _seed(seed: int) -> Tensor:
    """The seed as a tensor, so that a new seed needs no new graph."""
    return tf.constant(checks.check_count(seed, "seed", minimum=0), tf.int32)


def _check_kernel(kernel: Any, num_inputs: int) -> None:
    """Refuse anything but a single-output kernel of D inputs, before anything is built on it."""
    expected = f"a GPflow kernel with one output, of {num_inputs} inputs"
    if not isinstance(kernel, gpflow.kernels.Kernel):
        checks.fail("kernel", expected, repr(kernel))
    name = type(kernel).__name__
    if isinstance(kernel, gpflow.kernels.MultioutputKernel):
        checks.fail("kernel", expected, f"a {name} with several outputs")
    try:
        kernel(tf.zeros([1, num_inputs], gpflow.default_float()))
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        raise ValueError(f"kernel: expected {expected}, got a {name} that refuses them") from error


def _flat(tensor: Tensor, F: Tensor) -> Tensor:
    """One row for each draw, input and node of F [S, N, Q, C]: not every likelihood broadcasts."""
    shape = tf.concat([tf.shape(F)[:-1], tf.shape(tensor)[-1:]], axis=0)
    return tf.reshape(tf.broadcast_to(tensor, shape), [-1, tensor.shape[-1]])
