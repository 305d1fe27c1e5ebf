"""The models ETGP is compared with: sparse variational GPs with one latent process per class.

All share one scheme. C independent latent processes g at an input x are turned into logits
F = warp(g, x), and a softmax over F gives the class probabilities:

    `SVGPClassifier`   F = g
    `MixedSVGP`        F = W g, so that the classes are correlated
    `TGP`              F_c = G(g_c; θ_c(x)), one flow per class, parameters from a network

The softmax depends on all C processes at once, and quadrature is too costly in C dimensions, so
expectations are Monte Carlo averages. (The robust-max likelihood, in `etgp_viz.rivals.robust_max`,
needs one dimension for any C.) Sampling the *latents* and warping them keeps every dependence
between classes that a warp creates; GPflow's own ``Softmax`` sees marginal variances only, and
drops the correlations of a mixing matrix.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, as_written, check_shapes, gpflow, tf
from etgp_viz.checks import (
    check_count,
    check_data,
    check_inputs,
    check_optional,
    check_seed,
    fail,
)
from etgp_viz.core.blocks import fitting
from etgp_viz.core.conditional import standard_deviation
from etgp_viz.core.expectations import by_rows, differentiable, gauss_hermite
from etgp_viz.core.network import FlowNetwork

__all__ = [
    "TGP",
    "MixedSVGP",
    "SVGPClassifier",
    "expected_log_softmax_of_gaussians",
    "in_blocks",
]

Data = tuple[Tensor, Tensor]

# Quadrature nodes for the moments of a warped process, as many as ETGP has in its objective.
NUM_QUADRATURE = 20


class SVGPClassifier(gpflow.models.SVGP):
    """Sparse variational GP classifier with C independent latent processes and a softmax.

        ELBO = (N/B) Σ_n E_q(g_n)[ log softmax(F_n)_{y_n} ] − KL[q(u) ‖ p(u)],   B rows in the batch

    The kernel decides how q(g) is computed: ``SeparateIndependent`` and ``SharedIndependent`` by
    GPflow's own code, `Stacked` and `Broadcast` of `etgp_viz.rivals.kernels` in batched operations.

    Training draws come from `generator`, whose state ``tf.train.Checkpoint`` stores, so that a
    resumed run repeats the uninterrupted one. Predictions use a fixed set of draws, the same for
    every row: a point prediction depends on its input alone, and not on the rows beside it.

    Parameters
    ----------
    kernel, inducing_variable : a GPflow multi-output kernel of C independent processes, and
        inducing variables that fit it
    num_classes, num_data : C; N, to scale mini-batches, or None for full batches
    num_monte_carlo : draws of g per row in the ELBO, 100 like GPflow's ``Softmax``
    num_predictive : draws of g per row in predictions, an even number (they come in pairs ±ε);
        `prediction_error` is the error that they leave
    whiten : whether q is on the whitened inducing variables
    seed : of all random numbers

    Examples
    --------
    >>> points = gpflow.inducing_variables.InducingPoints(np.array([[-1.0], [0.0], [1.0]]))
    >>> points = gpflow.inducing_variables.SharedIndependentInducingVariables(points)
    >>> kernel = gpflow.kernels.SharedIndependent(gpflow.kernels.RBF(), 4)
    >>> model = SVGPClassifier(kernel, points, num_classes=4)
    >>> probabilities, _ = model.predict_y(np.array([[0.5]]))
    >>> probabilities.shape, float(np.sum(probabilities).round(6))
    (TensorShape([1, 4]), 1.0)
    """

    def __init__(
        self,
        kernel: gpflow.kernels.MultioutputKernel,
        inducing_variable: gpflow.inducing_variables.InducingVariables,
        num_classes: int,
        *,
        num_data: int | None = None,
        num_monte_carlo: int = 100,
        num_predictive: int = 1000,
        whiten: bool = True,
        seed: int = 0,
    ) -> None:
        C = check_count(num_classes, "num_classes", minimum=2)
        check_count(num_monte_carlo, "num_monte_carlo")
        if check_count(num_predictive, "num_predictive", minimum=2) % 2:
            raise ValueError(f"num_predictive: expected an even number, got {num_predictive}")
        check_optional(check_count, num_data, "num_data")
        likelihood = gpflow.likelihoods.Softmax(C)
        likelihood.num_monte_carlo_points = num_monte_carlo
        options = {"num_latent_gps": C, "whiten": whiten, "num_data": num_data}
        super().__init__(kernel, likelihood, inducing_variable, **options)
        self.num_predictive = num_predictive
        self.seed = check_seed(seed)
        self.generator = tf.random.Generator.from_seed(seed)

    @property
    def num_classes(self) -> int:
        """C, the number of classes."""
        return self.likelihood.num_classes

    @property
    def num_inputs(self) -> int:
        """D, the number of inputs."""
        return self.inducing_variable.shape[1]

    def check_data(self, data: Data) -> Data:
        """Check (X, Y) against the model: D inputs, labels 0..C−1."""
        return check_data(data, self.num_classes, self.num_inputs)

    #: of the softmax of draws in the ELBO; ``"float32"`` is faster, with a rounding error far below
    #: the Monte Carlo error
    precision: str = "float64"

    # --- what a subclass changes ---------------------------------------------------------------

    _is_warped = False  # whether the logits differ from the latents
    _training_samples: int | None = None  # dropout samples in training; None without a network

    def _features(self, X: Tensor, samples: int | None = None) -> Tensor:
        """What the kernel sees of the inputs ``[N, D]``: X itself, without a feature map."""
        return X

    def _params(self, X: Tensor, samples: int | None, seed: int | None = None) -> Tensor:
        """Parameters of the warp at each input, one set per dropout sample: ``[S, N, C, P]``.

        S = 1 if ``samples`` is None, and P = 0 without a network; without a seed they are new.
        """
        if samples is not None:
            expected = f"None, since a {type(self).__name__} does not average over dropout"
            fail("samples", expected, repr(samples))
        return tf.zeros([1, tf.shape(X)[0], self.num_classes, 0], gpflow.default_float())

    def _warp(self, g: Tensor, params: Tensor) -> Tensor:
        """Logits F ``[S, N, C]`` from latents g ``[S, N, C]`` and parameters ``[N, C, P]``."""
        return g

    # --- inference -----------------------------------------------------------------------------

    def predict_latent(
        self, X: Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Mean ``[N, C]`` and variance ``[N, C]`` of the independent latents q(g), by GPflow.

        With `full_cov` the second is the covariance over inputs, ``[C, N, N]``.
        """
        X = check_inputs(X, num_inputs=self.num_inputs)
        return self._moments(self._features(X), full_cov, full_output_cov)

    @as_written
    def _moments(
        self, features: Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[Tensor, Tensor]:
        return super().predict_f(features, full_cov, full_output_cov)

    def expected_log_likelihood(self, data: Data, noise: Tensor | None = None) -> Tensor:
        """E_q[ log p(y_n | F_n) ] of each row, by reparameterised Monte Carlo: ``[N]``.

        `noise` are standard normal draws ``[S, N, C]``; by default new ones from `generator`.
        """
        X, Y = data
        mean, variance = self._moments(self._features(X, self._training_samples))
        if noise is None:
            # Single precision: a draw is rounded by 1e-7 of itself, and costs half as much.
            shape = [self.likelihood.num_monte_carlo_points, tf.shape(X)[0], self.num_classes]
            noise = self.generator.normal(shape, dtype=tf.float32)
        if not self._is_warped:
            deviation = standard_deviation(variance)
            values = mean, deviation, noise, Y[:, 0]
            return expected_log_softmax_of_gaussians(*values, precision=self.precision)
        params = self._params(X, self._training_samples)[0]
        logits = self._warp(_draw(mean, variance, tf.cast(noise, mean.dtype)), params)  # [S, N, C]
        labels = tf.broadcast_to(tf.cast(Y[:, 0], tf.int32), tf.shape(logits)[:2])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return -tf.reduce_mean(losses, axis=0)

    @as_written
    def elbo(self, data: Data) -> Tensor:
        """Evidence lower bound, a Monte Carlo estimate with new draws in each call.

        A mini-batch ``(X [B, D], Y [B, 1])`` stands for all `num_data` rows.
        """
        X, Y = self.check_data(data)
        expected = self.expected_log_likelihood((X, Y))
        if self.num_data is None:
            return tf.reduce_sum(expected) - self.prior_kl()
        return tf.reduce_mean(expected) * self.num_data - self.prior_kl()

    # --- predictions ---------------------------------------------------------------------------

    def predict_f(
        self, Xnew: Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Mean ``[N, C]`` and variance ``[N, C]`` of the C processes F, or covariances between
        inputs (`full_cov`), between classes (`full_output_cov`) or both, in GPflow's shapes.
        """
        return self.predict_latent(Xnew, full_cov, full_output_cov)

    def predict_y(
        self, Xnew: Tensor, samples: int | None = None, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Class probabilities p ``[N, C]`` and the variances p(1 − p) of the class indicators.

        `samples` is None for the point estimate, or the number of dropout samples, with this seed,
        to average over (a ValueError for a model without a network).
        """
        p = tf.exp(self._log_probabilities(Xnew, samples, seed))
        return p, p * (1.0 - p)

    def predict_log_density(self, data: Data, samples: int | None = None, seed: int = 0) -> Tensor:
        """Log probability of each label, ``[N]``; arguments as in `predict_y`."""
        X, Y = self.check_data(data)
        return tf.gather(self._log_probabilities(X, samples, seed), Y[:, 0], axis=1, batch_dims=1)

    def predict_f_samples(self, Xnew: Tensor, num_samples: int = 1, seed: int = 0) -> Tensor:
        """Joint draws of the C processes at all inputs: ``[S, N, C]``."""
        check_count(num_samples, "num_samples")
        check_seed(seed)
        mean, cov = self.predict_latent(Xnew, full_cov=True)
        N = tf.shape(mean)[0]
        root = tf.linalg.cholesky(cov + gpflow.default_jitter() * tf.eye(N, dtype=cov.dtype))
        shape = [self.num_classes, N, num_samples]
        noise = tf.random.stateless_normal(shape, [seed, 0], dtype=cov.dtype)
        g = mean + tf.transpose(tf.matmul(root, noise), [2, 1, 0])
        return self._warp(g, self._params(Xnew, None)[0])

    def prediction_error(self, X: Tensor) -> Tensor:
        """Monte Carlo standard error of each class probability of `predict_y`, ``[N, C]``.

        Draws come in pairs ±ε, and pairs are independent: the error is the standard deviation over
        pairs of their mean probability, divided by the root of the number of pairs.
        """
        pairs = self.num_predictive // 2

        def error(draws: Iterable[Tensor]) -> Tensor:
            (log_p,) = draws
            p = tf.reshape(tf.exp(log_p), [2, pairs, -1, self.num_classes])
            return tf.math.reduce_std(tf.reduce_mean(p, 0), axis=0) / np.sqrt(max(pairs - 1, 1))

        return self._over_draws(error, X)

    def _log_probabilities(self, X: Tensor, samples: int | None, seed: int) -> Tensor:
        """log (1/S) Σ_s softmax(F_s), the logarithms of the class probabilities, ``[N, C]``.

        In logarithms throughout: a probability below the smallest float still has a logarithm.
        """

        def log_mean(draws: Iterable[Tensor]) -> Tensor:
            logs = [tf.reduce_logsumexp(log_p, axis=0) for log_p in draws]
            log_count = np.log(len(logs) * self.num_predictive)
            return tf.reduce_logsumexp(tf.stack(logs), axis=0) - log_count

        return self._over_draws(log_mean, X, samples, seed)

    @as_written
    def _over_draws(
        self,
        reduce: Callable[[Iterable[Tensor]], Tensor],
        X: Tensor,
        samples: int | None = None,
        seed: int = 0,
    ) -> Tensor:
        """``reduce`` of log softmax(F_s) ``[S, N, C]``, one for each dropout sample, in blocks."""
        X = check_inputs(X, num_inputs=self.num_inputs)
        C, M = self.num_classes, self.inducing_variable.shape[0]
        half = tf.random.stateless_normal(
            [self.num_predictive // 2, 1, C], [self.seed, 1], dtype=gpflow.default_float()
        )
        noise = tf.concat([half, -half], axis=0)  # [S, 1, C]

        def at_moments(mean: Tensor, variance: Tensor, *params: Tensor) -> Tensor:
            g = _draw(mean, variance, noise)
            return reduce(tf.nn.log_softmax(self._warp(g, p)) for p in params)

        def at_inputs(X: Tensor) -> Tensor:
            rows = fitting(C * self.num_predictive)
            params = tf.unstack(self._params(X, samples, seed))
            return in_blocks(at_moments, rows, *self.predict_latent(X), *params)

        return in_blocks(at_inputs, fitting(C * M), tf.convert_to_tensor(X))


class MixedSVGP(SVGPClassifier):
    """C latent processes mixed by a full matrix, F = W g: a linear model of coregionalisation.

    The prior is that of GPflow's ``LinearCoregionalization``, which evaluates a kernel shared by
    all latents once for each of them. Here the mixing belongs to the model, so that a shared kernel
    is evaluated once, factorised once and broadcast. The expected log-likelihood keeps the
    covariance W diag(v) Wᵀ between classes.

    Arguments are as for `SVGPClassifier`, and `mixing`, W ``[C, C]``: by default random with
    variance 1/C, so that each class keeps about the prior variance of the latents.
    """

    def __init__(
        self,
        kernel: gpflow.kernels.MultioutputKernel,
        inducing_variable: gpflow.inducing_variables.InducingVariables,
        num_classes: int,
        *,
        mixing: np.ndarray | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(kernel, inducing_variable, num_classes, seed=seed, **options)
        C = self.num_classes
        if mixing is None:
            mixing = np.random.default_rng(seed).normal(size=(C, C)) / np.sqrt(C)
        if np.shape(mixing) != (C, C):
            raise ValueError(f"mixing: expected shape [{C}, {C}], got {list(np.shape(mixing))}")
        self.mixing = gpflow.Parameter(mixing)

    _is_warped = True

    def _warp(self, g: Tensor, params: Tensor) -> Tensor:
        return tf.tensordot(g, self.mixing, [[-1], [-1]])

    def predict_f(
        self, Xnew: Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Moments of F = W g; shapes as in `SVGPClassifier.predict_f`."""
        mean, cov = self.predict_latent(Xnew, full_cov=full_cov)
        mix = gpflow.conditionals.util.mix_latent_gp
        return mix(self.mixing, mean, cov, full_cov, full_output_cov)


class TGP(SVGPClassifier):
    """Naive transformed GP: C separate GPs, each with its own input-dependent flow.

        F_c(x) = G(g_c(x); θ_c(x)),   θ(x) from one network

    It costs as much as an SVGP with C processes, plus the flows; ETGP's single process avoids that.
    Training uses one dropout sample of the network per step. Options are as for `SVGPClassifier`.
    """

    def __init__(
        self,
        kernel: gpflow.kernels.MultioutputKernel,
        network: FlowNetwork,
        inducing_variable: gpflow.inducing_variables.InducingVariables,
        **options: Any,
    ) -> None:
        super().__init__(kernel, inducing_variable, network.num_classes, **options)
        self.network = network

    _is_warped = True
    _training_samples = 1

    def _params(self, X: Tensor, samples: int | None, seed: int | None = None) -> Tensor:
        return self.network(X)[None] if samples is None else self.network(X, samples, seed)

    def _warp(self, g: Tensor, params: Tensor) -> Tensor:
        return self.network.flow.forward(g, params)

    @as_written
    def elbo(self, data: Data) -> Tensor:
        """Evidence lower bound, minus the weight decay of the network."""
        return super().elbo(data) - self.network.prior_penalty()

    def predict_f(
        self, Xnew: Tensor, full_cov: bool = False, full_output_cov: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Moments of the C warped processes by 1-d Gauss–Hermite quadrature, dropout off.

        Classes are independent given x. Covariances between inputs are not available.
        """
        if full_cov:
            raise ValueError("full_cov: expected False for a TGP, got True")
        mean, variance = self.predict_latent(Xnew)
        nodes, weights = (values[:, None, None] for values in gauss_hermite(NUM_QUADRATURE))
        values = self._warp(_draw(mean, variance, nodes), self._params(Xnew, None)[0])
        f_mean = tf.reduce_sum(weights * values, axis=0)
        f_variance = tf.reduce_sum(weights * tf.square(values - f_mean), axis=0)
        return f_mean, tf.linalg.diag(f_variance) if full_output_cov else f_variance


def _draw(mean: Tensor, variance: Tensor, noise: Tensor) -> Tensor:
    """Reparameterised values mean + √variance · ε, ``[N, C]`` and ``[S, N | 1, C | 1]``."""
    return mean + standard_deviation(variance) * noise


def in_blocks(function: Callable[..., Tensor], rows: int, *arrays: Tensor) -> Tensor:
    """``function(*arrays)`` ``[N, C]`` in blocks of about ``rows`` rows, to limit memory use."""
    N = arrays[0].shape[0] or tf.shape(arrays[0])[0]  # unknown only while a graph is traced
    blocks = -(-N // max(rows, 1))
    rows = -(-N // blocks)

    def split(array: Tensor) -> Tensor:
        padding = [[0, blocks * rows - N]] + [[0, 0]] * (array.shape.rank - 1)
        return tf.reshape(tf.pad(array, padding), [blocks, rows, *array.shape[1:]])

    results = tf.map_fn(
        lambda block: function(*block),
        tuple(split(array) for array in arrays),
        fn_output_signature=arrays[0].dtype,
        parallel_iterations=1,
    )
    return tf.reshape(results, [blocks * rows, results.shape[-1]])[:N]


@check_shapes("mean: [N, C]", "deviation: [N, C]", "noise: [S, N, C]", "labels: [N]", "return: [N]")
def expected_log_softmax_of_gaussians(
    mean: Tensor, deviation: Tensor, noise: Tensor, labels: Tensor, precision: str = "float64"
) -> Tensor:
    """E[log softmax(g)_y] of each row for g ~ N(µ, σ²), as a mean over draws µ + σ ε.

    The noise ε is standard normal, of any precision; the result is differentiable in µ and σ.
    """

    def value_and_pull_back(*moments: Tensor) -> tuple[Tensor, Callable]:
        cast = (tf.cast(x, precision) for x in moments)
        outputs = _value_and_gradients(*cast, noise, labels)
        return by_rows(*(tf.cast(x, moments[0].dtype) for x in outputs))

    return differentiable(value_and_pull_back, mean, deviation)


@tf.function(jit_compile=True, autograph=False)
def _value_and_gradients(
    mean: Tensor, deviation: Tensor, noise: Tensor, labels: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The expectation ``[N]`` and its derivatives in µ and σ, both ``[N, C]``.

    d/dg_c (g_y − log Σ exp g) = 1[c = y] − softmax(g)_c, times ε_c for σ_c.
    """
    mu, sigma = tf.transpose(mean), tf.transpose(deviation)  # [C, N]
    draws = tf.transpose(noise, [0, 2, 1])
    is_label = tf.one_hot(labels, mu.shape[0], axis=0, dtype=mu.dtype)
    num_draws = noise.shape[0]

    def add_draw(s: Tensor, value: Tensor, by_mu: Tensor, by_sigma: Tensor) -> tuple:
        epsilon = tf.cast(draws[s], mu.dtype)
        g = mu + sigma * epsilon
        largest = tf.reduce_max(g, axis=0)
        exponentials = tf.exp(g - largest)
        total = tf.reduce_sum(exponentials, axis=0)
        by_g = is_label - exponentials / total
        log_p = tf.reduce_sum(is_label * g, axis=0) - largest - tf.math.log(total)
        return s + 1, value + log_p, by_mu + by_g, by_sigma + by_g * epsilon

    start = (0, tf.zeros_like(mu[0]), tf.zeros_like(mu), tf.zeros_like(mu))
    _, *sums = tf.while_loop(lambda s, *_: s < num_draws, add_draw, start)
    value, by_mu, by_sigma = (total / num_draws for total in sums)
    return value, tf.transpose(by_mu), tf.transpose(by_sigma)
