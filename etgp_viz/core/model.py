"""ETGP: one Gaussian process, warped through C input-dependent flows.

    f0 ~ GP(m, K),    f^c(x) = G(f0(x); θ^c(x)),    y | x ~ softmax(f^1(x), …, f^C(x))

One latent means that every expectation below, for any C, is a 1-d Gauss–Hermite quadrature over
q(f0(x)) = N(µ, σ²), and that the GP work does not depend on C.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from etgp_viz.backend import as_written, check_shapes, gpflow, tf, tfp
from etgp_viz.checks import (
    check_count,
    check_data,
    check_inputs,
    check_same_rows,
    check_zeros_and_ones,
)
from etgp_viz.core.conditional import batched_conditional, standard_deviation
from etgp_viz.core.expectations import (
    expected_log_softmax,
    expected_softmax,
    gauss_hermite,
    in_row_blocks,
    log_expected_softmax,
    padded,
)
from etgp_viz.core.network import FlowNetwork

__all__ = ["ETGP"]

Data = tuple[tf.Tensor, tf.Tensor]

# Likelihoods whose Y is a label 0..C−1.
LABELLED = (gpflow.likelihoods.Softmax, gpflow.likelihoods.MultiClass)

# Predictions of moments go in chunks of rows with about this many values of the processes.
CHUNK_SIZE = 10_000_000


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
            raise ValueError(
                "gpflow.default_float(): expected float64, in which ETGP computes, got "
                f"{np.dtype(gpflow.default_float()).name}"
            )
        if not isinstance(network, FlowNetwork):
            raise ValueError(f"network: expected a FlowNetwork, got {type(network).__name__}")
        C = network.num_classes
        likelihood = gpflow.likelihoods.Softmax(C) if likelihood is None else likelihood
        if not isinstance(likelihood, gpflow.likelihoods.Likelihood):
            raise ValueError(f"likelihood: expected a GPflow likelihood, got {likelihood!r}")
        if likelihood.latent_dim not in (None, C):
            raise ValueError(
                f"likelihood: expected one of {C} processes, as the network has, got one of "
                f"{likelihood.latent_dim}"
            )
        if not isinstance(inducing_variable, gpflow.inducing_variables.InducingVariables):
            inducing_variable = gpflow.inducing_variables.InducingPoints(
                check_inputs(inducing_variable, "inducing_variable", network.num_inputs)
            )
        elif isinstance(inducing_variable, gpflow.inducing_variables.InducingPoints):
            check_inputs(inducing_variable.Z, "inducing_variable", network.num_inputs)
        _check_kernel(kernel, network.num_inputs)
        M = int(inducing_variable.num_inducing)
        if num_data is not None:
            check_count(num_data, "num_data")
            check_count(M, "inducing_variable", maximum=num_data, because="M ≤ num_data")

        super().__init__(kernel, likelihood, mean_function, num_latent_gps=1)
        self.network = network
        self.inducing_variable = inducing_variable
        self.num_data = num_data
        self.num_quadrature = check_count(num_quadrature, "num_quadrature")
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
            return check_data(data, self.num_classes, self.network.num_inputs)
        X, Y = check_same_rows(data)
        check_inputs(X, "X", self.network.num_inputs)
        if isinstance(self.likelihood, gpflow.likelihoods.Bernoulli):
            Y = check_zeros_and_ones(Y, "Y")
        return X, check_inputs(Y, "Y", self.likelihood.observation_dim or self.num_classes)

    # ------------------------------------------------------------------ objective

    @as_written
    def elbo(self, data: Data, samples: int | None = 1) -> tf.Tensor:
        """Evidence lower bound.

        Parameters
        ----------
        data : (X [N, D], Y); a mini-batch stands for all `num_data` rows
        samples : dropout draws over which the expected log-likelihood is averaged, new ones at
            each call; None turns dropout off
        """
        X, Y = (tf.convert_to_tensor(part) for part in self.check_data(data))
        expectations = self.variational_expectations(X, Y, _draws(samples))
        scale = 1.0 if self.num_data is None else self.num_data / tf.shape(X)[0]
        total = tf.cast(scale, expectations.dtype) * tf.reduce_sum(expectations)
        return total - self.prior_kl() - self.network.prior_penalty()

    def maximum_log_likelihood_objective(self, data: Data) -> tf.Tensor:
        return self.elbo(data)

    def prior_kl(self) -> tf.Tensor:
        """KL[q(u0) ‖ p(u0)]: warping both by the same maps leaves it unchanged."""
        return gpflow.kullback_leiblers.prior_kl(
            self.inducing_variable, self.kernel, self.q_mu, self.q_sqrt, whiten=self.whiten
        )

    @check_shapes("X: [N, D]", "return: [N]")
    def variational_expectations(
        self, X: tf.Tensor, Y: tf.Tensor, samples: int | None = None
    ) -> tf.Tensor:
        """E_{q(f0) q(W)}[log p(y_n | f^1, …, f^C)] for each row."""
        if self._is_softmax:
            total = self._over_draws(expected_log_softmax, tf.add, X, [Y[:, 0]], samples, None)
            return total / (samples or 1)

        def expected(F: tf.Tensor, X: tf.Tensor, Y: tf.Tensor) -> tuple[tf.Tensor]:
            log_p = self._log_likelihood(F, X, Y)
            return (tf.reduce_mean(tf.linalg.matvec(log_p, self._weights), axis=0),)

        return self._at_nodes(expected, [X, Y], samples, None)[0]

    # ------------------------------------------------------------------ predictions

    def predict_latent(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean [N, 1] and variance [N, 1] (or covariance [1, N, N]) of q(f0(X))."""
        X = tf.convert_to_tensor(check_inputs(X, "X", self.network.num_inputs))
        Z = self.inducing_variable
        Kzz = gpflow.covariances.Kuu(Z, self.kernel, jitter=gpflow.default_jitter())
        Kzx = gpflow.covariances.Kuf(Z, self.kernel, X)
        Kxx = self.kernel(X, full_cov=full_cov)
        mean, variance = batched_conditional(
            Kzz[None],
            Kzx[None],
            Kxx[None],
            self.q_mu,
            self.q_sqrt,
            white=self.whiten,
            full_cov=full_cov,
        )
        return mean + self.mean_function(X), variance

    def predict_f(
        self,
        X: tf.Tensor,
        full_cov: bool = False,
        full_output_cov: bool = False,
        samples: int | None = None,
        seed: int = 0,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Posterior moments of the C warped processes at each input.

        Returns
        -------
        mean [N, C], and variance [N, C] or, with `full_output_cov`, covariance [N, C, C]
        """
        if full_cov:
            raise ValueError(
                "full_cov: only covariances at one input are computed in closed form; "
                "predict_f_samples draws jointly over inputs"
            )
        X = tf.convert_to_tensor(check_inputs(X, "X", self.network.num_inputs))

        def moments(F: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            mean = self._average(F)
            centred = F - mean[:, None]
            if not full_output_cov:
                return mean, self._average(centred**2)
            weighted = centred * self._weights[:, None] / F.shape[0]
            return mean, tf.einsum("snqc,snqd->ncd", weighted, centred)

        return self._at_nodes(moments, [X], _draws(samples), _seed(seed))

    def predict_y(
        self, X: tf.Tensor, samples: int | None = None, seed: int = 0
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Predictive mean and variance of Y, each [N, C]: for softmax p and p(1 − p).

        Parameters
        ----------
        X : [N, D]
        samples : None for the point estimate (PE), or the number of dropout draws whose
            probabilities are averaged (BA)
        seed : of the dropout draws
        """
        X = tf.convert_to_tensor(check_inputs(X, "X", self.network.num_inputs))
        if self._is_softmax:
            seed = _seed(seed)
            p = self._class_probabilities(padded(X), _draws(samples), seed, self._frozen)[
                : tf.shape(X)[0]
            ]
            return p, p * (1.0 - p)

        def moments(F: tf.Tensor, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            flat = _flat(X[:, None], F), _flat(F, F)
            mean_given_f = tf.reshape(self.likelihood.conditional_mean(*flat), tf.shape(F))
            variance_given_f = tf.reshape(self.likelihood.conditional_variance(*flat), tf.shape(F))
            mean = self._average(mean_given_f)
            # Law of total variance.
            return mean, self._average(variance_given_f + (mean_given_f - mean[:, None]) ** 2)

        return self._at_nodes(moments, [X], _draws(samples), _seed(seed))

    def predict_log_density(
        self, data: Data, samples: int | None = None, seed: int = 0
    ) -> tf.Tensor:
        """log p(y_n | x_n, data) for each row, [N]; arguments as in `predict_y`."""
        X, Y = (tf.convert_to_tensor(part) for part in self.check_data(data))
        S = _draws(samples)
        if self._is_softmax:
            inputs = padded(X), padded(Y)[:, 0], S, _seed(seed), self._frozen
            return self._label_log_probability(*inputs)[: tf.shape(X)[0]]

        def log_density(F: tf.Tensor, X: tf.Tensor, Y: tf.Tensor) -> tuple[tf.Tensor]:
            log_p = self._log_likelihood(F, X, Y) + tf.math.log(self._weights)
            return (tf.reduce_logsumexp(log_p, axis=[0, 2]) - np.log(S or 1),)

        return self._at_nodes(log_density, [X, Y], S, _seed(seed))[0]

    def predict_f_samples(
        self, X: tf.Tensor, num_samples: int = 1, seed: int = 0, dropout: bool = False
    ) -> tf.Tensor:
        """Joint posterior draws of the C processes over all inputs, [S, N, C]."""
        return self.predict_joint_samples(X, num_samples, seed, dropout)[1]

    def predict_joint_samples(
        self, X: tf.Tensor, num_samples: int = 1, seed: int = 0, dropout: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Joint posterior draws of f0 [S, N] and of its C warps [S, N, C].

        With `dropout` each draw of f0 goes with its own draw of the network, else all go with its
        point estimate.
        """
        S = check_count(num_samples, "num_samples")
        seed = _seed(seed)
        mean, covariance = self.predict_latent(X, full_cov=True)
        jitter = gpflow.default_jitter() * tf.eye(tf.shape(mean)[0], dtype=mean.dtype)
        noise = tf.random.stateless_normal(
            [tf.shape(mean)[0], S], tf.stack([seed, 0]), dtype=mean.dtype
        )
        f0 = tf.transpose(mean + tf.linalg.cholesky(covariance[0] + jitter) @ noise)
        params = self.network(X, S, seed) if dropout else self.network(X)
        return f0, self.network.flow.forward(f0[:, :, None], params)

    # ------------------------------------------------------------------ expectations over f0 and W

    @property
    def _is_softmax(self) -> bool:
        return isinstance(self.likelihood, gpflow.likelihoods.Softmax)

    @property
    def _weights(self) -> tf.Tensor:
        return tf.constant(gauss_hermite(self.num_quadrature)[1], gpflow.default_float())

    def _latent_moments(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean [N] and standard deviation [N] of q(f0) at each input."""
        mean, variance = self.predict_latent(X)
        return mean[:, 0], standard_deviation(variance[:, 0])

    @property
    def _frozen(self) -> tuple:
        """What a traced graph holds fixed: after one of these changes, it is traced anew."""
        parts = (self.kernel, self.network, self.inducing_variable, self.mean_function)
        settings = (self.num_quadrature, self.whiten, self.network.dropout)
        return (gpflow.default_jitter(), *settings, *map(id, parts))

    @tf.function(autograph=False)
    def _class_probabilities(
        self, X: tf.Tensor, samples: int | None, seed: tf.Tensor, frozen: tuple
    ) -> tf.Tensor:
        total = self._over_draws(expected_softmax, tf.add, X, [], samples, seed)
        return tf.transpose(total) / (samples or 1)

    @tf.function(autograph=False)
    def _label_log_probability(
        self,
        X: tf.Tensor,
        labels: tf.Tensor,
        samples: int | None,
        seed: tf.Tensor,
        frozen: tuple,
    ) -> tf.Tensor:
        add = tfp.math.log_add_exp
        total = self._over_draws(log_expected_softmax, add, X, [labels], samples, seed)
        return total - np.log(samples or 1)

    def _over_draws(
        self,
        expectation: Callable[..., tf.Tensor],
        add: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
        X: tf.Tensor,
        targets: list[tf.Tensor],
        samples: int | None,
        seed: int | None,
    ) -> tf.Tensor:
        """Sum over dropout draws of ``expectation(flow, µ, σ, values, *targets, Q)``, [..., N].

        The GP is evaluated once for all draws, and the shared layers of the network as far as the
        first dropout.
        """
        mean, deviation = self._latent_moments(X)
        features = self.network.features(X, samples, seed)
        if samples is None:
            features = features[None]

        def at_rows(features: tf.Tensor, mean: tf.Tensor, deviation: tf.Tensor, *own: Any) -> Any:
            def at_draw(draw: tf.Tensor) -> tf.Tensor:  # [B, N, H]
                values = self.network.flow.unstack(self.network.class_major(draw), axis=1)
                flow, Q = self.network.flow, self.num_quadrature
                return expectation(flow, mean, deviation, values, *own, Q)

            first = at_draw(features[0])
            if features.shape[0] == 1:
                return first
            return tf.foldl(lambda total, h: add(total, at_draw(h)), features[1:], first)

        tensors = [features, mean, deviation, *targets]
        return in_row_blocks(at_rows, tensors, axes=[1, *[0] * (len(tensors) - 1)])

    def _at_nodes(
        self,
        reduce: Callable[..., tuple[tf.Tensor, ...]],
        tensors: Sequence[tf.Tensor],
        samples: int | None,
        seed: int | tf.Tensor | None,
    ) -> tuple[tf.Tensor, ...]:
        """Apply ``reduce(F, *tensors)`` to the C processes at quadrature nodes, F [S, N, Q, C].

        `tensors` begin with X. Rows go in chunks, which bounds the memory; each result has a row
        for each row of X.
        """
        X = tensors[0]
        mean, deviation = self._latent_moments(X)
        f0 = mean[:, None] + deviation[:, None] * gauss_hermite(self.num_quadrature)[0]
        features = self.network.features(X, samples, seed)
        if samples is None:
            features = features[None]

        def of(rows: slice) -> tuple[tf.Tensor, ...]:
            params = self.network.params_of(features[:, rows])  # [S, N, C, P]
            F = self.network.flow.forward(f0[rows, :, None], params[:, :, None])
            return reduce(F, *(tensor[rows] for tensor in tensors))

        per_row = (samples or 1) * self.num_quadrature * self.num_classes
        chunk = max(1, CHUNK_SIZE // per_row)
        if X.shape[0] is None or X.shape[0] <= chunk:
            return of(slice(None))
        parts = [of(slice(i, i + chunk)) for i in range(0, X.shape[0], chunk)]
        return tuple(tf.concat(part, axis=0) for part in zip(*parts, strict=True))

    def _log_likelihood(self, F: tf.Tensor, X: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
        """log p(y_n | f^1, …, f^C) at the nodes, [S, N, Q], for any GPflow likelihood."""
        flat = (_flat(tensor, F) for tensor in (X[:, None], F, Y[:, None]))
        return tf.reshape(self.likelihood.log_prob(*flat), tf.shape(F)[:-1])

    def _average(self, at_nodes: tf.Tensor) -> tf.Tensor:
        """Mean over draws and nodes: [S, N, Q, C] → [N, C]."""
        return tf.einsum("snqc,q->nc", at_nodes, self._weights) / at_nodes.shape[0]


def _draws(samples: int | None) -> int | None:
    return None if samples is None else check_count(samples, "samples")


def _seed(seed: int) -> tf.Tensor:
    """As a tensor: a new seed then needs no new graph."""
    return tf.constant(check_count(seed, "seed", minimum=0), tf.int32)


def _check_kernel(kernel: Any, num_inputs: int) -> None:
    """Refuse what is not a single-output kernel of D inputs, before anything is built on it."""
    expected = f"kernel: expected a GPflow kernel with one output, of {num_inputs} inputs"
    if not isinstance(kernel, gpflow.kernels.Kernel):
        raise ValueError(f"{expected}, got {kernel!r}")
    if isinstance(kernel, gpflow.kernels.MultioutputKernel):
        raise ValueError(f"{expected}, got a {type(kernel).__name__} with several outputs")
    try:
        kernel(tf.zeros([1, num_inputs], gpflow.default_float()))
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        raise ValueError(f"{expected}, got a {type(kernel).__name__} that refuses them") from error


def _flat(tensor: tf.Tensor, F: tf.Tensor) -> tf.Tensor:
    """One row for each draw, input and node of F [S, N, Q, C]: not every likelihood broadcasts."""
    shape = tf.concat([tf.shape(F)[:-1], tf.shape(tensor)[-1:]], axis=0)
    return tf.reshape(tf.broadcast_to(tensor, shape), [-1, tensor.shape[-1]])
