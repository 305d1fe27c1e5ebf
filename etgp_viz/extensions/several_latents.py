"""ETGP with several latents: L shared Gaussian processes, mixed for each class.

    f_1, …, f_L ~ GP(0, K_l) independent,    f^c = G(Σ_l A_cl f_l; θ^c)  or  Σ_l A_cl G(f_l; θ^cl)

L = 1 with A = 1 is `etgp_viz.core.model.ETGP`; L = C with A = I is the naive TGP. In between, the
GP work grows with L and not with C, and two classes are no longer functions of each other: at one
input, C values that are mixed before the flows are warps of a Gaussian with a covariance of rank L.

Expectations are over L dimensions instead of one (`etgp_viz.extensions.latent_grid`).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf, tfp
from etgp_viz.core import expectations
from etgp_viz.core.blocks import in_row_blocks
from etgp_viz.core.conditional import conditional, standard_deviation
from etgp_viz.core.expectations import _log_softmax, by_rows, differentiable, finer
from etgp_viz.core.flows import Values
from etgp_viz.core.model import ETGP, Moments
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.latent_grid import default_nodes, latent_grid
from etgp_viz.extensions.mixed_covariance import mixed_joint_moments
from etgp_viz.extensions.mixed_flow import MixedFlow

__all__ = ["MixedETGP"]


class Grid(NamedTuple):
    """The arguments of `latent_grid`."""

    latents: int
    num_nodes: int
    seed: int = 0


class MixedETGP(ETGP):
    """ETGP with L latents, a GPflow model with the methods of `ETGP`.

    ELBO = Σ_n E_{q(f_1(x_n)) … q(f_L(x_n)) q(W)}[ log p(y_n | f^1, …, f^C) ] − Σ_l KL_l − KL_W

    A start at which all latents are alike stays there: set `q_mu` or the mixing apart, as
    `etgp_viz.build` does. The rule has a fixed number of nodes. (`ETGP` refines its own.)

    Parameters
    ----------
    kernel : one GPflow kernel that all latents share, or a list of L
    network : a `FlowNetwork` of a `MixedFlow`: a `ConstantMixing` has one matrix A, any other one
        that depends on x
    inducing_variable : M inducing points ``[M, D]`` (or GPflow inducing variables) that all latents
        share, or a list of L of them
    num_quadrature : nodes for each latent, 20, 12 and 8 for L = 1, 2 and 3; for more latents the
        number of Sobol points, a power of two, 256 unless given
    seed : of the Sobol points
    **options : ``likelihood``, ``mean_function`` (of every latent), ``num_data``, ``whiten`` as for
        `ETGP`

    Examples
    --------
    >>> from etgp_viz import flows
    >>> from etgp_viz.extensions.mixed_flow import ConstantMixing
    >>> X = np.linspace(-1.0, 1.0, 6)[:, None]
    >>> network = ConstantMixing(1, 3, MixedFlow(flows.Linear(), latents=2))
    >>> model = MixedETGP([gpflow.kernels.SquaredExponential() for _ in range(2)], network, X[::2])
    >>> mean, variance = model.predict_latent(X)
    >>> mean.shape, model.predict_y(X)[0].shape
    (TensorShape([6, 2]), TensorShape([6, 3]))
    """

    def __init__(
        self,
        kernel: gpflow.kernels.Kernel | Sequence[gpflow.kernels.Kernel],
        network: FlowNetwork,
        inducing_variable: Any,
        *,
        num_quadrature: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        flow = getattr(network, "flow", None)
        if not isinstance(flow, MixedFlow):
            checks.fail("network", "a FlowNetwork of a MixedFlow", repr(flow or network))
        L, D = flow.latents, network.num_inputs
        kernels = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
        is_own = isinstance(inducing_variable, (list, tuple)) and np.ndim(inducing_variable[0]) != 1
        points = list(inducing_variable) if is_own else [inducing_variable]
        for name, given in (("kernel", kernels), ("inducing_variable", points)):
            if len(given) not in (1, L):
                checks.fail(name, f"one for all latents or a list of {L}", str(len(given)))
        if "quadrature_tolerance" in options:
            checks.fail("quadrature_tolerance", "a model with one latent", f"{L} latents")
        super().__init__(kernels[0], network, points[0], quadrature_tolerance=None, **options)
        for other in kernels[1:]:
            checks.check_kernel(other, D)
        self.num_latent_gps, self.seed = L, checks.check_seed(seed)
        given = checks.check_optional(checks.check_count, num_quadrature, "num_quadrature")
        self.num_quadrature = given or default_nodes(L)
        self._grid()  # refuses a number of nodes that is not possible
        if len(kernels) > 1:
            self.kernel = gpflow.kernels.SeparateIndependent(kernels)
        M = int(self.inducing_variable.num_inducing)
        if len(points) > 1:
            self.inducing_variable = _separate(points, M, D)
        self.q_mu = gpflow.Parameter(np.zeros((M, L)))
        identity = np.tile(np.eye(M), [L, 1, 1])
        self.q_sqrt = gpflow.Parameter(identity, transform=gpflow.utilities.triangular())

    @property
    def latents(self) -> list[tuple[Any, gpflow.kernels.Kernel]]:
        """Inducing variables and kernel of each latent."""
        separate = gpflow.inducing_variables.SeparateIndependentInducingVariables
        L = self.num_latent_gps
        points, kernels = [self.inducing_variable] * L, [self.kernel] * L
        if isinstance(self.inducing_variable, separate):
            points = self.inducing_variable.inducing_variables
        if isinstance(self.kernel, gpflow.kernels.SeparateIndependent):
            kernels = self.kernel.kernels
        return list(zip(points, kernels, strict=True))

    def prior_kl(self) -> Tensor:
        """Σ_l KL[q(u_l) ‖ p(u_l)]."""
        prior_kl = partial(gpflow.kullback_leiblers.prior_kl, whiten=self.whiten)
        each_mu, each_sqrt = tf.split(self.q_mu, self.num_latent_gps, axis=1), self.q_sqrt[:, None]
        each = zip(self.latents, each_mu, tf.unstack(each_sqrt), strict=True)
        return tf.add_n([prior_kl(*latent, mu, sqrt) for latent, mu, sqrt in each])

    def predict_latent(self, X: Tensor, full_cov: bool = False) -> Moments:
        """Means [N, L] and variances [N, L] (or covariances [L, N, N]) of q(f_1(X)) … q(f_L(X))."""
        X = self._inputs(X)
        latents = self.latents
        if all(part is latents[0][k] for pair in latents for k, part in enumerate(pair)):
            latents = latents[:1]  # what they share is computed once
        jitter = gpflow.default_jitter()
        Kzz = tf.stack([gpflow.covariances.Kuu(*latent, jitter=jitter) for latent in latents])
        Kzx = tf.stack([gpflow.covariances.Kuf(*latent, X) for latent in latents])
        Kxx = tf.stack([kernel(X, full_cov=full_cov) for _, kernel in latents])
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
        """Posterior mean [N, C] and variance [N, C] of the C processes; see `ETGP.predict_f`."""
        if not full_cov:
            return super().predict_f(X, False, full_output_cov, samples, seed)
        checks.check_optional(checks.check_draws, samples, "samples")
        mean, covariance = self.predict_latent(X, full_cov=True)
        params = self.network(X, samples, checks.check_seed(seed), one_mask=True)
        params = params[None] if samples is None else params
        flow: Any = self.network.flow
        moments = partial(mixed_joint_moments, flow, full_output_cov)
        return tuple(tf.numpy_function(moments, [mean, covariance, params], [mean.dtype] * 2))

    def predict_joint_samples(
        self, X: Tensor, num_samples: int = 1, seed: int = 0, dropout: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Joint posterior draws of the latents [S, N, L] and of the C processes [S, N, C]."""
        S = checks.check_draws(num_samples, "num_samples")
        seed = checks.check_seed(seed)
        mean, covariance = self.predict_latent(X, full_cov=True)
        L, N = self.num_latent_gps, tf.shape(mean)[0]
        jitter = gpflow.default_jitter() * tf.eye(N, dtype=mean.dtype)
        noise = tf.random.stateless_normal([L, N, S], [seed, 0], dtype=mean.dtype)
        f = tf.transpose(mean)[:, :, None] + tf.linalg.cholesky(covariance + jitter) @ noise
        f = tf.transpose(f, [2, 1, 0])
        params = self.network(X, S, seed, one_mask=True) if dropout else self.network(X)
        return f, self.network.flow.forward(f[:, :, None], params)

    # ------------------------------------------------------------------ expectations

    @property
    def _rule(self) -> Grid:
        return Grid(self.num_latent_gps, self.num_quadrature, self.seed)

    def _grid(self, is_fine: bool = False) -> tuple[np.ndarray, np.ndarray]:
        L, Q, seed = self._rule
        return latent_grid(L, finer(Q) if is_fine and L == 1 else Q, seed)

    def _latent_and_features(self, X: Tensor, samples: int | None, seed: Any) -> tuple[Tensor, ...]:
        """Means and deviations [N, L] of the latents, and the last shared layer [S, N, H]."""
        mean, variance = self.predict_latent(X)
        features = self.network.features(X, samples, seed)
        return mean, standard_deviation(variance), features[None] if samples is None else features

    def _over_draws(
        self, expectation: Callable, X: Tensor, targets: list, samples: int | None, seed: Any
    ) -> Tensor:
        """Mean over draws of a compiled expectation, as in `ETGP`."""
        mean, deviation, features = self._latent_and_features(X, samples, seed)
        flow, S = self.network.flow, features.shape[0]
        over_latents = OVER_LATENTS[expectation]
        in_logs = expectation is expectations.log_expected_softmax
        add = tfp.math.log_add_exp if in_logs else tf.add

        def at_rows(features: Tensor, mean: Tensor, deviation: Tensor, *targets: Any) -> Any:
            # Class-major: [B, L, N] and P × [B, C, N] of B blocks of N rows.
            mean, deviation = (tf.transpose(moment, [0, 2, 1]) for moment in (mean, deviation))

            def at_draw(h: Tensor) -> Tensor:  # [B, N, H]
                params = tf.transpose(self.network.params_of(h), [3, 0, 2, 1])
                values = flow.constrained(tf.unstack(params))
                return over_latents(flow, self._rule, mean, deviation, values, *targets)

            first = at_draw(features[0])
            if S == 1:
                return first
            return tf.foldl(lambda total, h: add(total, at_draw(h)), features[1:], first)

        numbers = (2 * flow.num_params + 6) * self.num_classes  # of a row at a node
        tensors = [features, mean, deviation, *targets]
        total = in_row_blocks(at_rows, tensors, [1, *[0] * (len(tensors) - 1)], numbers)
        return total - np.log(S) if in_logs else total / S


def _separate(points: list, M: int, D: int) -> Any:
    """L sets of M inducing variables as one of GPflow's."""
    kinds = gpflow.inducing_variables
    for k, one in enumerate(points):
        if not isinstance(one, kinds.InducingVariables):
            points[k] = kinds.InducingPoints(checks.check_inputs(one, "inducing_variable", D))
        if (found := int(points[k].num_inducing)) != M:
            checks.fail("inducing_variable", f"{M} for each latent, as the first has", str(found))
    return kinds.SeparateIndependentInducingVariables(points)


def expected_log_softmax(
    flow: MixedFlow, rule: Grid, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> Tensor:
    """E[log softmax(f^1, …, f^C)_y] of each row ``[B, N]``, with labels y in 0..C−1 ``[B, N]``.

    Means and deviations ``[B, L, N]`` are those of the latents; values are the constrained
    parameters of the flow, each ``[B, C, N]``. A compiled loop over the nodes sums up value and
    gradients in one pass, and stores nothing of size Q·N·C.
    """
    compiled = _over_blocks(_value_and_gradients, flow, rule, 3 + flow.num_params)

    def value_and_pull_back(mean: Tensor, deviation: Tensor, *values: Tensor) -> tuple:
        return by_rows(*compiled(mean, deviation, values, labels))

    return differentiable(value_and_pull_back, mean, deviation, *values)


def expected_softmax(
    flow: MixedFlow, rule: Grid, mean: Tensor, deviation: Tensor, values: Values
) -> Tensor:
    """Class probabilities E[softmax(f^1, …, f^C)] ``[B, C, N]``; arguments as above."""

    def as_written(g: Tensor) -> Tensor:
        return tf.tensordot(latent_grid(*rule)[1], tf.nn.softmax(g, axis=2), 1)

    compiled = _over_blocks(_probabilities, flow, rule, 1)
    return _prediction(compiled, as_written, flow, rule, mean, deviation, *values)


def log_expected_softmax(
    flow: MixedFlow, rule: Grid, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> Tensor:
    """log E[softmax(f^1, …, f^C)_y] of each row ``[B, N]``, without underflow."""

    def as_written(g: Tensor) -> Tensor:
        one_hot = tf.one_hot(labels, g.shape[2], axis=1, dtype=g.dtype)
        log_p = tf.reduce_sum(one_hot * tf.nn.log_softmax(g, axis=2), axis=2)
        return tf.reduce_logsumexp(np.log(latent_grid(*rule)[1])[:, None, None] + log_p, axis=0)

    def compiled(*inputs: Any) -> list[Tensor]:
        return _over_blocks(_log_probability, flow, rule, 1)(*inputs, labels)

    return _prediction(compiled, as_written, flow, rule, mean, deviation, *values)


def _prediction(
    compiled: Callable, as_written: Callable, flow: MixedFlow, rule: Grid, *inputs: Tensor
) -> Tensor:
    """A prediction by its compiled loop, with its gradient by the rule as written, as in `core`.

    `as_written` takes the processes at all Q nodes [Q, B, C, N].
    """

    @tf.custom_gradient
    def prediction(*inputs: Tensor) -> tuple[Tensor, Callable]:
        def gradient(upstream: Tensor) -> list[Tensor]:
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                mean, deviation, *values = inputs
                nodes = latent_grid(*rule)[0][:, None, :, None]
                latents = tf.unstack(mean + nodes * deviation, axis=2)  # L × [Q, B, N]
                result = as_written(flow._forward([f[:, :, None] for f in latents], values))
            return tape.gradient(result, inputs, upstream)

        mean, deviation, *values = map(tf.stop_gradient, inputs)
        return compiled(mean, deviation, values)[0], gradient

    return prediction(*map(tf.convert_to_tensor, inputs))


# What takes the place of an expectation over one latent.
OVER_LATENTS: Any = {
    expectations.expected_log_softmax: expected_log_softmax,
    expectations.expected_softmax: expected_softmax,
    expectations.log_expected_softmax: log_expected_softmax,
}


@lru_cache(maxsize=64)
def _over_blocks(
    loop: Callable, flow: MixedFlow, rule: Grid, num_outputs: int
) -> Callable[..., Any]:
    """``loop(flow, rule, µ, σ [L, N], values P × [C, N], …)``, compiled for inputs [B, …]."""

    @tf.function(jit_compile=True, autograph=False)
    def over_blocks(*inputs: Any) -> list[Tensor]:
        signature = [inputs[0].dtype] * num_outputs
        return tf.map_fn(
            lambda block: loop(flow, rule, *block), inputs, fn_output_signature=signature
        )

    return over_blocks


def _over_nodes(rule: Grid, add_node: Callable, start: list[Tensor]) -> list[Tensor]:
    """``add_node(z [L, 1], w, totals)`` for each node in turn."""
    points, weights = latent_grid(*rule)

    def step(q: Tensor, totals: list[Tensor]) -> tuple:
        z = tf.gather(points, q)[:, None]
        return q + 1, add_node(z, tf.gather(weights, q), totals)

    _, totals = tf.while_loop(lambda q, _: q < len(points), step, (0, start))
    return totals


def _probabilities(
    flow: MixedFlow, rule: Grid, mean: Tensor, deviation: Tensor, values: Values
) -> list[Tensor]:
    def add_node(z: Tensor, w: Tensor, totals: list[Tensor]) -> list[Tensor]:
        g = flow._forward(tf.unstack(mean + z * deviation), values)
        return [totals[0] + w * tf.nn.softmax(g, axis=0)]

    return _over_nodes(rule, add_node, [tf.zeros_like(values[0])])


def _log_probability(
    flow: MixedFlow, rule: Grid, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    def add_node(z: Tensor, w: Tensor, totals: list[Tensor]) -> list[Tensor]:
        log_p = _log_softmax(flow._forward(tf.unstack(mean + z * deviation), values), labels)
        return [tfp.math.log_add_exp(totals[0], log_p + tf.math.log(w))]

    lowest = tf.constant(-np.inf, mean.dtype)
    return _over_nodes(rule, add_node, [tf.fill(tf.shape(mean[0]), lowest)])


def _value_and_gradients(
    flow: MixedFlow, rule: Grid, mean: Tensor, deviation: Tensor, values: Values, labels: Tensor
) -> list[Tensor]:
    """E[log softmax(f^1, …, f^C)_y], and its gradients in µ, σ [L, N] and parameters [C, N]."""

    def add_node(z: Tensor, w: Tensor, sums: list[Tensor]) -> list[Tensor]:
        f = mean + z * deviation
        with tf.GradientTape() as tape:
            tape.watch([f, *values])
            g = flow._forward(tf.unstack(f), values)
            term = w * _log_softmax(g, labels)
        by_f, *by_values = tape.gradient(term, [f, *values])
        terms = [term, by_f, z * by_f, *by_values]
        return [total + term for total, term in zip(sums, terms, strict=True)]

    return _over_nodes(
        rule, add_node, [tf.zeros_like(x) for x in (mean[0], mean, deviation, *values)]
    )
