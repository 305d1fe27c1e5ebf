"""ETGP: one Gaussian process, warped through C input-dependent flows.

    f0 ~ GP(m, K),    f^c(x) = G(f0(x); θ^c(x)),    y | x ~ softmax(f^1(x), …, f^C(x))

One latent means that every expectation below, for any C, is a 1-d Gauss–Hermite quadrature over
q(f0(x)) = N(µ, σ²), and that the GP work does not depend on C.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, as_written, check_shapes, gpflow, tf, tfp
from etgp_viz.core import expectations
from etgp_viz.core.blocks import in_chunks, in_row_blocks, padded
from etgp_viz.core.conditional import conditional, standard_deviation
from etgp_viz.core.expectations import Rule, at_nodes, average, gauss_hermite
from etgp_viz.core.hermite import joint_moments
from etgp_viz.core.network import FlowNetwork

__all__ = ["ETGP", "LatentContribution"]

Data = tuple[Tensor, Tensor]  # X and Y
Moments = tuple[Tensor, Tensor]  # a mean and a variance or covariance
# Likelihoods whose Y is a label 0..C−1.
LABELLED = (gpflow.likelihoods.Softmax, gpflow.likelihoods.MultiClass)


class LatentContribution(NamedTuple):
    """Mean log density of some rows: as predicted, with f0 set to its mean µ(x), and set to 0.

    What is lost at zero is what the Gaussian process is worth; what is lost at the mean is what its
    uncertainty is worth. Both are in nats per row, and negative if predictions are better that way.

    >>> worth = LatentContribution(log_likelihood=-0.25, at_mean=-0.5, at_zero=-1.0)
    >>> worth.lost_at_mean, worth.lost_at_zero
    (0.25, 0.75)
    """

    log_likelihood: float
    at_mean: float
    at_zero: float

    @property
    def lost_at_mean(self) -> float:
        """Nats per row that are lost when f0 is set to its mean."""
        return self.log_likelihood - self.at_mean

    @property
    def lost_at_zero(self) -> float:
        """Nats per row that are lost when f0 is set to 0."""
        return self.log_likelihood - self.at_zero


class ETGP(gpflow.models.GPModel, gpflow.models.ExternalDataTrainingLossMixin):
    """Efficient Transformed Gaussian Process, a GPflow model.

    ELBO = Σ_n E_{q(f0(x_n)) q(W)}[ log p(y_n | f^1(x_n), …, f^C(x_n)) ] − KL[q(u0) ‖ p(u0)] − KL_W

    Parameters
    ----------
    kernel, mean_function : of f0: any GPflow kernel, and a mean that is zero unless given
    network : from x to the parameters of the C flows, with KL_W as its weight decay
    inducing_variable : M inducing points [M, D] or GPflow (inter-domain) inducing variables, of f0
    likelihood : GPflow likelihood of Y given the C processes; softmax unless given. A scalar one
        applies to each process by itself: ``Bernoulli()`` makes the model multi-label (Y [N, C] of
        zeros and ones), ``Gaussian()`` a multi-output regression (Y [N, C]).
    num_data : N, to scale mini-batches up; None for full batches
    num_quadrature : Q, nodes of the Gauss–Hermite rule
    quadrature_tolerance : estimated error of a probability above which a finer rule takes over
        (`etgp_viz.core.expectations.Rule`): that of the worst row in predictions, the mean over
        rows in the ELBO; None for never
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
    >>> model.variational_expectations(X, Y).numpy().round(3)  # log(1/3) for each row
    array([-1.099, -1.099, -1.099, -1.099, -1.099, -1.099])
    >>> model.check_data((X, Y + 1))
    Traceback (most recent call last):
    ValueError: Y: expected [6, 1] integer labels in 0..2, got 3 in row 4, outside 0..2
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
        quadrature_tolerance: float | None = 5e-3,
        whiten: bool = True,
    ) -> None:
        if gpflow.default_float() != np.float64:
            got = np.dtype(gpflow.default_float()).name
            checks.fail("gpflow.default_float()", "float64, in which ETGP computes", got)
        if not isinstance(network, FlowNetwork):
            checks.fail("network", "a FlowNetwork", type(network).__name__)
        D, C = network.num_inputs, network.num_classes
        likelihood = gpflow.likelihoods.Softmax(C) if likelihood is None else likelihood
        checks.check_likelihood(likelihood, C)
        if isinstance(likelihood, LABELLED):
            checks.check_count(C, "network.num_classes", minimum=2)
        points = gpflow.inducing_variables.InducingPoints
        if not isinstance(inducing_variable, gpflow.inducing_variables.InducingVariables):
            Z = checks.check_inputs(inducing_variable, "inducing_variable", D)
            inducing_variable = points(Z)
        elif isinstance(inducing_variable, points):
            checks.check_inputs(inducing_variable.Z, "inducing_variable", D)
        checks.check_kernel(kernel, D)
        M = int(inducing_variable.num_inducing)
        if num_data is not None:
            checks.check_count(num_data, "num_data")
            checks.check_count(M, "inducing_variable", maximum=num_data, because="M ≤ num_data")

        super().__init__(kernel, likelihood, mean_function, num_latent_gps=1)
        self.network, self.num_classes = network, C
        self.inducing_variable = inducing_variable
        self.num_data = num_data
        self.num_quadrature = checks.check_nodes(num_quadrature)
        self.quadrature_tolerance = checks.check_optional(
            checks.check_positive, quadrature_tolerance, "quadrature_tolerance"
        )
        self.whiten = bool(whiten)
        self.q_mu = gpflow.Parameter(np.zeros((M, 1)))
        self.q_sqrt = gpflow.Parameter(np.eye(M)[None], transform=gpflow.utilities.triangular())

    def check_data(self, data: Data) -> Data:
        """The `data` (X, Y), checked against the model.

        Y holds labels 0..C−1 [N, 1] for a likelihood of classes, zeros and ones [N, C] for
        ``Bernoulli``, and any numbers, one column for each process, for other likelihoods.
        """
        if isinstance(self.likelihood, LABELLED):
            return checks.check_data(data, self.num_classes, self.network.num_inputs)
        X, Y = checks.check_same_rows(data)
        checks.check_inputs(X, "X", self.network.num_inputs)
        if isinstance(self.likelihood, gpflow.likelihoods.Bernoulli):
            Y = checks.check_zeros_and_ones(Y)
        return X, checks.check_inputs(Y, "Y", self.likelihood.observation_dim or self.num_classes)

    # ------------------------------------------------------------------ objective

    @as_written
    def elbo(self, data: Data, samples: int | None = 1, weights: Tensor | None = None) -> Tensor:
        """Evidence lower bound of `data` (X [N, D], Y), which stand for all `num_data` rows.

        `samples` new dropout draws are averaged over; None turns dropout off. `weights` [N] say
        how many rows each row stands for, 0 if it does not count; without them `num_data` / N.
        """
        X, Y = map(tf.convert_to_tensor, self.check_data(data))
        S = checks.check_optional(checks.check_count, samples, "samples")
        expected_log_likelihood = self.variational_expectations(X, Y, S)  # [N]
        scale = 1.0 if self.num_data is None else self.num_data / tf.shape(X)[0]
        each = tf.cast(scale, X.dtype) if weights is None else weights
        total = tf.reduce_sum(each * expected_log_likelihood)
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
        """E_{q(f0) q(W)}[log p(y_n | f^1, …, f^C)] of each row of X [N, D] and Y, [N].

        It averages over `samples` new dropout draws; None turns dropout off.
        """
        if self._is_softmax:  # the same number, compiled
            return self._over_draws(expectations.expected_log_softmax, X, [Y[:, 0]], samples, None)

        def at_rows(rows: slice, *latent: Any) -> Tensor:
            log_likelihood = partial(self._log_likelihood, X[rows], Y[rows])
            tolerance = self.quadrature_tolerance
            return expectations.expected_log_likelihood(
                log_likelihood, *latent, tolerance=tolerance
            )

        return self._in_row_chunks(at_rows, X, samples, None)

    # ------------------------------------------------------------------ predictions

    def predict_latent(self, X: Tensor, full_cov: bool = False) -> Moments:
        """Mean and variance of q(f0) at X [N, D], [N, 1]; with `full_cov` covariance [1, N, N]."""
        X = self._inputs(X)
        Z = self.inducing_variable
        Kzz = gpflow.covariances.Kuu(Z, self.kernel, jitter=gpflow.default_jitter())[None]
        Kzx = gpflow.covariances.Kuf(Z, self.kernel, X)[None]
        Kxx = self.kernel(X, full_cov=full_cov)[None]
        q = self.q_mu, self.q_sqrt
        mean, variance = conditional(Kzz, Kzx, Kxx, *q, self.whiten, full_cov)
        return mean + self.mean_function(X), variance

    def predict_f(
        self,
        X: Tensor,
        full_cov: bool = False,
        full_output_cov: bool = False,
        samples: int | None = None,
        seed: int = 0,
    ) -> Moments:
        """Posterior mean [N, C] and variance [N, C] of the C warped processes at X [N, D].

        With `full_output_cov` the second is the covariance between the processes, [N, C, C]; with
        `full_cov` that between inputs, [C, N, N]; with both [N, C, N, C]. Covariances between
        inputs are Hermite series, without gradients, and all inputs share each dropout draw, as in
        `predict_joint_samples`. `samples` and `seed` are as in `predict_y`.
        """
        if full_cov:
            S, seed = _draws(samples, seed)
            mean, covariance = self.predict_latent(X, full_cov=True)
            params = self.network(X, S, seed, one_mask=True)
            latent = [mean[:, 0], covariance[0], params[None] if S is None else params]
            moments_over_inputs = partial(joint_moments, self.network.flow, full_output_cov)
            return tuple(tf.numpy_function(moments_over_inputs, latent, [mean.dtype] * 2))

        def moments(rows: slice, *latent: Any) -> Moments:
            F, grid = at_nodes(*latent), latent[-1]
            mean = average(F, grid)
            centred = F - mean[:, None]
            if not full_output_cov:
                return mean, average(centred**2, grid)
            weighted = centred * grid[1][:, None] / F.shape[0]
            return mean, tf.einsum("snqc,snqd->ncd", weighted, centred)

        return self._in_row_chunks(moments, self._inputs(X), *_draws(samples, seed))

    def predict_y(self, X: Tensor, samples: int | None = None, seed: int = 0) -> Moments:
        """Predictive mean and variance of Y at X [N, D], each [N, C]: for softmax p and p(1 − p).

        `samples` is None for the point estimate (PE), or the number of dropout draws whose
        probabilities are averaged (BA); `seed` is that of the draws.
        """
        X, draws = self._inputs(X), _draws(samples, seed)
        if self._is_softmax:
            p = tf.transpose(self._predicted(expectations.expected_softmax, X, [], *draws))
            return p, p * (1.0 - p)

        def moments(rows: slice, *latent: Any) -> Moments:
            F, grid = at_nodes(*latent), latent[-1]
            flat = _flat(X[rows][:, None], F), _flat(F, F)
            mean_given_f = tf.reshape(self.likelihood.conditional_mean(*flat), tf.shape(F))
            variance_given_f = tf.reshape(self.likelihood.conditional_variance(*flat), tf.shape(F))
            mean = average(mean_given_f, grid)
            # Law of total variance.
            return mean, average(variance_given_f + (mean_given_f - mean[:, None]) ** 2, grid)

        return self._in_row_chunks(moments, X, *draws)

    def predict_log_density(self, data: Data, samples: int | None = None, seed: int = 0) -> Tensor:
        """log p(y_n | x_n) of each row of `data`, [N]; `samples`, `seed` are as in `predict_y`."""
        X, Y = map(tf.convert_to_tensor, self.check_data(data))
        draws = S, _ = _draws(samples, seed)
        if self._is_softmax:
            return self._predicted(expectations.log_expected_softmax, X, [Y[:, 0]], *draws)

        def log_density(rows: slice, *latent: Any) -> Tensor:
            log_p = self._log_likelihood(X[rows], Y[rows], at_nodes(*latent))
            return tf.reduce_logsumexp(log_p + np.log(latent[-1][1]), axis=[0, 2]) - np.log(S or 1)

        return self._in_row_chunks(log_density, X, *draws)

    def latent_contribution(
        self, data: Data, samples: int | None = None, seed: int = 0
    ) -> LatentContribution:
        """How much of the log density of `data` (X, Y) is lost without f0, in nats per row.

        A model in which the network does all the work loses nothing. `samples` and `seed` are as in
        `predict_y`.
        """
        X, Y = map(tf.convert_to_tensor, self.check_data(data))
        fine, single = self._grid(is_fine=True), gauss_hermite(1)

        def log_densities(rows: slice, flow: Any, mean: Any, deviation: Any, *latent: Any) -> Any:
            def log_density(mean: Tensor, deviation: Tensor, grid: tuple) -> Tensor:
                F = at_nodes(flow, mean, deviation, latent[0], grid)
                log_p = self._log_likelihood(X[rows], Y[rows], F) + np.log(grid[1])
                return tf.reduce_logsumexp(log_p, axis=[0, 2]) - np.log(F.shape[0])

            nothing = tf.zeros_like(mean)
            values = (mean, deviation, fine), (mean, nothing, single), (nothing, nothing, single)
            return tuple(log_density(*value) for value in values)

        scores = self._in_row_chunks(log_densities, X, *_draws(samples, seed))
        return LatentContribution(*(float(tf.reduce_mean(score)) for score in scores))

    def predict_f_samples(
        self, X: Tensor, num_samples: int = 1, seed: int = 0, dropout: bool = False
    ) -> Tensor:
        """Joint posterior draws of the C processes, [S, N, C]; see `predict_joint_samples`."""
        return self.predict_joint_samples(X, num_samples, seed, dropout)[1]

    def predict_joint_samples(
        self, X: Tensor, num_samples: int = 1, seed: int = 0, dropout: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Joint posterior draws of f0 [S, N] and of its C warps [S, N, C] at X [N, D].

        There are S = `num_samples` of them, which depend on `seed`. With `dropout` each has its own
        draw of the network, one mask for all inputs; else all share the point estimate.
        """
        _, seed = _draws(None, seed)
        S = checks.check_draws(num_samples, "num_samples")
        mean, covariance = self.predict_latent(X, full_cov=True)
        N = tf.shape(mean)[0]
        jitter = gpflow.default_jitter() * tf.eye(N, dtype=mean.dtype)
        noise = tf.random.stateless_normal([N, S], tf.stack([seed, 0]), dtype=mean.dtype)
        f0 = tf.transpose(mean + tf.linalg.cholesky(covariance[0] + jitter) @ noise)
        params = self.network(X, S, seed, one_mask=True) if dropout else self.network(X)
        return f0, self.network.flow.forward(f0[:, :, None], params)

    # ------------------------------------------------------------------ expectations over f0 and W

    @property
    def _is_softmax(self) -> bool:
        return isinstance(self.likelihood, gpflow.likelihoods.Softmax)

    def _inputs(self, X: Tensor) -> Tensor:
        return tf.convert_to_tensor(checks.check_inputs(X, "X", self.network.num_inputs))

    def _latent_and_features(self, X: Tensor, samples: int | None, seed: Any) -> tuple[Tensor, ...]:
        """Mean [N] and deviation [N] of q(f0), and the network's last shared layer [S, N, H].

        The GP is evaluated once for all dropout draws; S = 1 without dropout.
        """
        mean, variance = self.predict_latent(X)
        features = self.network.features(X, samples, seed)
        features = features[None] if samples is None else features
        return mean[:, 0], standard_deviation(variance[:, 0]), features

    def _grid(self, is_fine: bool = False) -> tuple[np.ndarray, np.ndarray]:
        Q = self.num_quadrature
        return gauss_hermite(expectations.finer(Q) if is_fine else Q)

    def _in_row_chunks(self, function: Callable, X: Tensor, samples: int | None, seed: Any) -> Any:
        """``function(rows, flow, µ, σ, params, grid)`` over chunks of rows, to limit memory use."""
        mean, deviation, features = self._latent_and_features(X, samples, seed)
        flow, grid = self.network.flow, self._grid()

        def at_rows(rows: slice) -> Any:
            params = self.network.params_of(features[:, rows])
            return function(rows, flow, mean[rows], deviation[rows], params, grid)

        nodes = len(self._grid(self.quadrature_tolerance is not None)[1])  # if all are refined
        return in_chunks(at_rows, X.shape[0], features.shape[0] * nodes * self.num_classes)

    def _log_likelihood(self, X: Tensor, Y: Tensor, F: Tensor) -> Tensor:
        """log p(y_n | f^1, …, f^C) at the nodes, [S, N, Q], for any GPflow likelihood."""
        flat = (_flat(tensor, F) for tensor in (X[:, None], F, Y[:, None]))
        return tf.reshape(self.likelihood.log_prob(*flat), tf.shape(F)[:-1])

    def _over_draws(
        self, expectation: Callable, X: Tensor, targets: list, samples: int | None, seed: Any
    ) -> Tensor:
        """Mean over draws of a compiled expectation."""
        mean, deviation, features = self._latent_and_features(X, samples, seed)
        flow, S = self.network.flow, features.shape[0]
        # Errors of many draws average out.
        tolerance = self.quadrature_tolerance and np.sqrt(S) * self.quadrature_tolerance
        in_logs = expectation is expectations.log_expected_softmax
        is_repeated = S > 1 or expectations.is_training.get()
        is_quick = is_repeated and self.network.precision == "float32"
        quick = expectations.QUICK.get(expectation) if is_quick else None
        rule = Rule(self.num_quadrature, tolerance, S == 1)
        add = tfp.math.log_add_exp if in_logs else tf.add

        def at_rows(features: Tensor, mean: Tensor, deviation: Tensor, *targets: Any) -> Any:
            def at_draw(draw: Tensor) -> Tensor:  # [B, N, H]
                h, W = self.network.last_layer(draw)

                def exact() -> Tensor:
                    values = flow.unstack(expectations.raw_params(flow, h, W), axis=1)
                    return expectation(flow, mean, deviation, values, *targets, *rule)

                if quick is None:
                    return exact()
                value, is_safe = quick(flow, rule, mean, deviation, h, W, *targets)
                return tf.cond(is_safe, lambda: value, exact)

            first = at_draw(features[0])
            if S == 1:
                return first
            return tf.foldl(lambda total, h: add(total, at_draw(h)), features[1:], first)

        tensors = [features, mean, deviation, *targets]
        numbers = (2 * flow.num_params + 6) * self.num_classes  # of a row at a node
        total = in_row_blocks(at_rows, tensors, [1, *[0] * (len(tensors) - 1)], numbers)
        return total - np.log(S) if in_logs else total / S

    def _predicted(self, expectation: Callable, X: Tensor, targets: list, *draws: Any) -> Tensor:
        """`_over_draws`, traced once for each number of rows (padded) and cache key."""
        parts = (self.kernel, self.network, self.inducing_variable, self.mean_function)
        rule = self.num_quadrature, self.quadrature_tolerance, self.network.precision
        # A change of any of these forces a retrace.
        key = gpflow.default_jitter(), *rule, self.whiten, self.network.dropout, *map(id, parts)
        arguments = expectation, padded(X), list(map(padded, targets)), *draws
        return self._traced_over_draws(key, *arguments)[..., : tf.shape(X)[0]]

    @tf.function(autograph=False)
    def _traced_over_draws(self, key: tuple, *arguments: Any) -> Tensor:
        return self._over_draws(*arguments)


def _draws(samples: int | None, seed: int) -> tuple[int | None, Tensor]:
    """Number of dropout draws and their seed, a tensor so that a new one needs no new graph."""
    seed = tf.constant(checks.check_seed(seed), tf.int32)
    return checks.check_optional(checks.check_draws, samples, "samples"), seed


def _flat(tensor: Tensor, F: Tensor) -> Tensor:
    """One row for each draw, input and node of F [S, N, Q, C]: not every likelihood broadcasts."""
    shape = tf.concat([tf.shape(F)[:-1], tf.shape(tensor)[-1:]], axis=0)
    return tf.reshape(tf.broadcast_to(tensor, shape), [-1, tensor.shape[-1]])
