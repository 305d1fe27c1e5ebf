"""ETGP against GPflow's own models where one is equivalent, Monte Carlo, and its own invariants."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import softmax

from etgp_viz.backend import gpflow, tf, tfp
from etgp_viz.core import flows
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork

N, D, M, C = 30, 2, 6, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = RNG.integers(0, C, size=(N, 1))
Z = X[:M].copy()


def make(flow: flows.Flow | None = None, seed: int = 0, dropout: float = 0.0, **options) -> ETGP:
    """A small model away from its initial values."""
    network = FlowNetwork(D, C, flow or flows.Linear(), hidden=(4,), dropout=dropout, seed=seed)
    kernel = gpflow.kernels.SquaredExponential(lengthscales=[0.8, 1.3])
    model = ETGP(kernel, network, Z, **options)
    rng = np.random.default_rng(seed)
    # TANH's amplitudes start near zero.
    network.output.bias.assign(np.maximum(network.output.bias, -1.0))
    for layer in [*network.layers, network.output]:
        for parameter in layer.parameters:
            parameter.assign(parameter + rng.normal(scale=0.4, size=parameter.shape))
    model.q_mu.assign(rng.normal(size=(M, 1)))
    model.q_sqrt.assign(np.tril(rng.normal(scale=0.3, size=(1, M, M))) + 0.5 * np.eye(M))
    return model


def constant_linear(a: np.ndarray, b: np.ndarray, **options) -> ETGP:
    """f^c = a_c f0 + b_c, the same at every input."""
    model = make(**options)
    model.network.output.weights.assign(np.zeros(model.network.output.weights.shape))
    model.network.output.bias.assign(np.concatenate([a, b]))
    return model


class Bias(gpflow.functions.MeanFunction):
    """The mean b of the C outputs."""

    def __init__(self, b: np.ndarray) -> None:
        super().__init__()
        self.b = b

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        return tf.zeros([tf.shape(X)[0], 1], tf.float64) + self.b


def coregionalised(model: ETGP, a: np.ndarray, b: np.ndarray) -> gpflow.models.SVGP:
    """GPflow's model of C outputs mixed from one latent GP: W = a, mean b."""
    svgp = gpflow.models.SVGP(
        gpflow.kernels.LinearCoregionalization([model.kernel], W=a[:, None]),
        gpflow.likelihoods.Softmax(C),
        gpflow.inducing_variables.SharedIndependentInducingVariables(
            gpflow.inducing_variables.InducingPoints(Z)
        ),
        mean_function=Bias(b),
        num_latent_gps=1,
        whiten=model.whiten,
    )
    svgp.q_mu.assign(model.q_mu)
    svgp.q_sqrt.assign(model.q_sqrt)
    return svgp


A, B = np.array([1.5, -0.7, 0.4]), np.array([0.2, 0.0, -0.5])


@pytest.mark.parametrize("whiten", [True, False])
def test_constant_linear_flows_are_coregionalisation_of_one_latent(whiten: bool) -> None:
    model = constant_linear(A, B, whiten=whiten)
    svgp = coregionalised(model, A, B)
    mean, covariance = model.predict_f(X, full_output_cov=True)
    svgp_mean, svgp_covariance = svgp.predict_f(X, full_output_cov=True)
    np.testing.assert_allclose(mean, svgp_mean, atol=1e-8)
    np.testing.assert_allclose(covariance, svgp_covariance, atol=1e-8)
    np.testing.assert_allclose(model.prior_kl(), svgp.prior_kl(), atol=1e-10)
    gradients = []
    for each in (model, svgp):
        with tf.GradientTape() as tape:
            kl = each.prior_kl()
        gradients.append(
            tape.gradient(kl, [p.unconstrained_variable for p in (each.q_mu, each.q_sqrt)])
        )
    for own, reference in zip(*gradients, strict=True):
        np.testing.assert_allclose(own, reference, atol=1e-10)


@pytest.mark.slow
def test_elbo_is_that_of_coregionalisation_within_its_monte_carlo_error() -> None:
    """GPflow's Softmax would drop the covariance between classes, so the draws are made here."""
    model = constant_linear(A, B)
    mean, covariance = coregionalised(model, A, B).predict_f(X, full_output_cov=True)
    rng = np.random.default_rng(1)
    S = 20_000
    totals = np.zeros(S)
    for n in range(N):
        F = rng.multivariate_normal(mean[n], covariance[n], size=S, method="eigh")
        totals += np.log(softmax(F, axis=1)[:, Y[n, 0]])
    expected = totals.mean() - float(model.prior_kl()) - float(model.network.prior_penalty())
    error = totals.std() / np.sqrt(S)
    assert abs(float(model.elbo((X, Y))) - expected) < 3 * error


@pytest.mark.slow
def test_identity_flows_give_equal_probabilities() -> None:
    network = FlowNetwork(D, 5, flows.Linear())
    model = ETGP(gpflow.kernels.Matern32(), network, Z)
    np.testing.assert_allclose(model.predict_y(X)[0], 1 / 5, atol=1e-14)
    np.testing.assert_allclose(
        model.predict_log_density((X, Y), samples=4), np.log(1 / 5), atol=1e-13
    )


def test_latent_is_that_of_gpflow_with_mean_function_and_any_kernel() -> None:
    kernel = gpflow.kernels.Matern52() + gpflow.kernels.Linear(variance=[0.3, 0.1])
    mean_function = gpflow.functions.Linear(A=np.array([[0.5], [-1.0]]), b=np.array([0.3]))
    model = ETGP(kernel, FlowNetwork(D, C, flows.Linear()), Z, mean_function=mean_function)
    model.q_mu.assign(RNG.normal(size=(M, 1)))
    svgp = gpflow.models.SVGP(kernel, gpflow.likelihoods.Gaussian(), Z, mean_function=mean_function)
    svgp.q_mu.assign(model.q_mu)
    for full_cov in (False, True):
        for own, reference in zip(
            model.predict_latent(X, full_cov=full_cov),
            svgp.predict_f(X, full_cov=full_cov),
            strict=True,
        ):
            np.testing.assert_allclose(own, reference, atol=1e-8)


def test_posterior_variance_formula() -> None:
    """Kxx − Kxz Kzz⁻¹ (Kzz − S) Kzz⁻¹ Kzx, entry by entry; Kzz + S would go below zero."""
    model = make(whiten=False)
    K = model.kernel
    Kzz = K(Z).numpy() + gpflow.default_jitter() * np.eye(M)
    inverse, S = np.linalg.inv(Kzz), model.q_sqrt[0].numpy() @ model.q_sqrt[0].numpy().T
    mean, variance = (moment.numpy() for moment in model.predict_latent(X))
    for n in range(5):
        k = K(X[n : n + 1], Z).numpy()[0]
        assert mean[n, 0] == pytest.approx(k @ inverse @ model.q_mu.numpy()[:, 0], abs=1e-8)
        expected = 1.0 - k @ inverse @ (Kzz - S) @ inverse @ k
        assert variance[n, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_whitened_equals_unwhitened() -> None:
    white, plain = make(whiten=True), make(whiten=False)
    L = np.linalg.cholesky(white.kernel(Z).numpy() + gpflow.default_jitter() * np.eye(M))
    plain.q_mu.assign(L @ white.q_mu.numpy())
    plain.q_sqrt.assign((L @ white.q_sqrt.numpy()[0])[None])
    np.testing.assert_allclose(white.elbo((X, Y)), plain.elbo((X, Y)), atol=1e-7)
    np.testing.assert_allclose(white.predict_y(X)[0], plain.predict_y(X)[0], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("flow", [flows.SAL(length=2), flows.Tanh(elements=2)], ids=repr)
def test_predictions_against_a_million_draws(flow: flows.Flow) -> None:
    model = make(flow, num_quadrature=40)
    x = X[:2]
    mean, variance = model.predict_latent(x)
    S = 1_000_000
    f0 = mean[:, 0] + np.sqrt(variance[:, 0]) * np.random.default_rng(0).normal(size=(S, 2))
    F = flow.forward(f0[:, :, None], model.network(x)).numpy()
    p = softmax(F, axis=-1)
    error = p.std(axis=0) / np.sqrt(S)
    assert np.max(np.abs(model.predict_y(x)[0] - p.mean(axis=0)) / error) < 4
    f_mean, f_covariance = model.predict_f(x, full_output_cov=True)
    assert np.max(np.abs(f_mean - F.mean(axis=0)) / (F.std(axis=0) / np.sqrt(S))) < 4
    for n in range(2):
        centred = F[:, n] - F[:, n].mean(axis=0)
        products = centred[:, :, None] * centred[:, None, :]
        error = products.std(axis=0) / np.sqrt(S)
        assert np.max(np.abs(f_covariance[n] - products.mean(axis=0)) / error) < 4


def test_variance_is_the_diagonal_of_the_covariance() -> None:
    model = make(flows.Tanh(elements=2), dropout=0.5)
    for samples in (None, 3):
        variance = model.predict_f(X, samples=samples)[1]
        covariance = model.predict_f(X, full_output_cov=True, samples=samples)[1]
        np.testing.assert_allclose(variance, np.einsum("ncc->nc", covariance), atol=1e-12)


@pytest.mark.slow
def test_bayesian_without_dropout_equals_point_estimate() -> None:
    model = make(flows.Tanh(elements=2), dropout=0.0)
    np.testing.assert_allclose(model.predict_y(X, samples=5)[0], model.predict_y(X)[0], atol=1e-13)
    np.testing.assert_allclose(
        model.predict_log_density((X, Y), samples=5),
        model.predict_log_density((X, Y)),
        atol=1e-12,
    )
    np.testing.assert_allclose(model.elbo((X, Y), samples=3), model.elbo((X, Y), None), atol=1e-9)


@pytest.mark.slow
def test_bayesian_averages_probabilities_over_draws_of_the_network() -> None:
    model = make(dropout=0.5)
    params = model.network(X, samples=4, seed=9).numpy()
    mean, variance = model.predict_latent(X)
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    f0 = mean + np.sqrt(variance) * nodes  # [N, Q]
    expected = np.zeros((N, C))
    for draw in params:
        F = model.network.flow.forward(f0[:, :, None], draw[:, None])  # one mask for all nodes
        expected += np.einsum("nqc,q->nc", softmax(F, axis=-1), weights / weights.sum()) / 4
    probabilities = model.predict_y(X, samples=4, seed=9)[0]
    np.testing.assert_allclose(probabilities, expected, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_log_density((X, Y), samples=4, seed=9),
        np.log(expected[np.arange(N), Y[:, 0]]),
        atol=1e-11,
    )


@pytest.mark.slow
def test_mini_batches_average_to_the_full_elbo() -> None:
    model = make(num_data=N)
    batches = [model.elbo((X[i : i + 10], Y[i : i + 10])) for i in range(0, N, 10)]
    np.testing.assert_allclose(np.mean(batches), model.elbo((X, Y)), atol=1e-9)


@pytest.mark.slow
def test_blocks_of_rows_change_nothing() -> None:
    """Above 128 rows the work is split into padded blocks."""
    model = make(flows.Tanh(elements=2))
    rows = np.random.default_rng(2).integers(0, N, size=301)
    many = (X[rows], Y[rows])
    np.testing.assert_allclose(
        model.predict_y(many[0])[0], model.predict_y(X)[0].numpy()[rows], atol=1e-12
    )
    np.testing.assert_allclose(
        model.variational_expectations(*map(tf.constant, many)),
        model.variational_expectations(tf.constant(X), tf.constant(Y)).numpy()[rows],
        atol=1e-11,
    )


@pytest.mark.slow
def test_any_likelihood_takes_the_same_expectations_as_softmax() -> None:
    """The general path with a softmax in disguise equals the compiled one, gradients too."""

    class Disguised(gpflow.likelihoods.Likelihood):
        def __init__(self) -> None:
            super().__init__(input_dim=None, latent_dim=C, observation_dim=C)

        def _log_prob(self, X: tf.Tensor, F: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
            return tf.reduce_sum(Y * tf.nn.log_softmax(F), axis=-1)

        def _conditional_mean(self, X: tf.Tensor, F: tf.Tensor) -> tf.Tensor:
            return tf.nn.softmax(F)

        def _conditional_variance(self, X: tf.Tensor, F: tf.Tensor) -> tf.Tensor:
            return tf.nn.softmax(F) * (1.0 - tf.nn.softmax(F))

        def _predict_mean_and_var(self, *_: object) -> None: ...

        def _predict_log_density(self, *_: object) -> None: ...

        def _variational_expectations(self, *_: object) -> None: ...

    compiled = make(flows.Tanh(elements=2))
    general = make(flows.Tanh(elements=2), likelihood=Disguised())
    one_hot = np.eye(C)[Y[:, 0]]
    gradients = []
    for model, target in ((compiled, Y), (general, one_hot)):
        with tf.GradientTape() as tape:
            elbo = model.elbo((X, target))
        gradients.append([elbo, *tape.gradient(elbo, model.trainable_variables)])
    for own, reference in zip(*gradients, strict=True):
        np.testing.assert_allclose(own, reference, atol=1e-9)
    for own, reference in zip(compiled.predict_y(X), general.predict_y(X), strict=True):
        np.testing.assert_allclose(own, reference, atol=1e-12)
    np.testing.assert_allclose(
        compiled.predict_log_density((X, Y)), general.predict_log_density((X, one_hot)), atol=1e-12
    )


def test_multi_output_regression_has_a_closed_form() -> None:
    """Linear flows and a Gaussian likelihood: E log N(y; a f0 + b, s²) by the moments of f0."""
    noise = 0.3
    model = constant_linear(A, B, likelihood=gpflow.likelihoods.Gaussian(variance=noise))
    target = RNG.normal(size=(N, C))
    mean, variance = model.predict_latent(X)
    square = (target - mean * A - B) ** 2 + variance * A**2
    expected = np.sum(-0.5 * np.log(2 * np.pi * noise) - 0.5 * square / noise, axis=1)
    ours = model.variational_expectations(tf.constant(X), tf.constant(target))
    np.testing.assert_allclose(ours, expected, atol=1e-9)
    y_mean, y_variance = model.predict_y(X)
    np.testing.assert_allclose(y_mean, mean * A + B, atol=1e-10)
    np.testing.assert_allclose(y_variance, variance * A**2 + noise, atol=1e-10)
    assert np.isfinite(model.training_loss((X, target)))


def test_multi_label() -> None:
    model = make(likelihood=gpflow.likelihoods.Bernoulli())
    target = RNG.integers(0, 2, size=(N, C)).astype(float)
    probabilities = model.predict_y(X)[0]
    draws = model.likelihood.invlink(model.predict_f_samples(X[:3], 20_000)).numpy()
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.max(np.abs(draws.mean(axis=0) - probabilities[:3]) / error) < 4
    with tf.GradientTape() as tape:
        loss = model.training_loss((X, target))
    assert all(np.all(np.isfinite(g)) for g in tape.gradient(loss, model.trainable_variables))
    assert np.all(model.predict_log_density((X, target)) < 0.0)


def test_joint_samples_have_the_posterior_moments_and_are_warps_of_one_latent() -> None:
    model = make(flows.Tanh(elements=2))
    S = 20_000
    f0, F = (draws.numpy() for draws in model.predict_joint_samples(X[:4], S, seed=1))
    mean, covariance = (moment.numpy() for moment in model.predict_latent(X[:4], full_cov=True))
    centred = f0 - mean[:, 0]
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(axis=0) / np.sqrt(S)
    assert np.max(np.abs(products.mean(axis=0) - covariance[0]) / error) < 4
    # Any class determines f0 and so all others: the pivot.
    params = model.network(X[:4]).numpy()
    back = model.network.flow.inverse(F[:50, :, 1], params[:, 1])
    np.testing.assert_allclose(back, f0[:50], atol=1e-8)
    np.testing.assert_array_equal(F, model.predict_f_samples(X[:4], S, seed=1))


@pytest.mark.slow
def test_interdomain_inducing_variables() -> None:
    """GPflow's multiscale features of width → 0 are inducing points."""
    points = make()
    scales = gpflow.inducing_variables.Multiscale(Z, np.full(Z.shape, 1e-9))
    model = make()
    features = ETGP(model.kernel, model.network, scales)
    features.q_mu.assign(model.q_mu)
    features.q_sqrt.assign(model.q_sqrt)
    np.testing.assert_allclose(features.predict_y(X)[0], points.predict_y(X)[0], atol=1e-5)
    assert np.isfinite(features.training_loss((X, Y)))


@pytest.mark.slow
def test_is_a_gpflow_model_in_full(tmp_path) -> None:
    model = make(dropout=0.3, num_data=N)
    names = gpflow.utilities.parameter_dict(model)
    assert {".kernel.lengthscales", ".q_mu", ".q_sqrt", ".network.output.weights"} <= set(names)
    gpflow.utilities.print_summary(model)
    before = model.predict_y(X, samples=3)[0].numpy()

    checkpoint = tf.train.Checkpoint(model=model)
    path = checkpoint.write(str(tmp_path / "model"))
    other = make(seed=5, dropout=0.3, num_data=N)
    tf.train.Checkpoint(model=other).read(path).assert_consumed()
    np.testing.assert_array_equal(other.predict_y(X, samples=3)[0], before)
    np.testing.assert_array_equal(other.elbo((X, Y)), model.elbo((X, Y)))  # the next dropout draw

    third = make(seed=7, dropout=0.3, num_data=N)
    gpflow.utilities.multiple_assign(third, gpflow.utilities.read_values(model))
    np.testing.assert_array_equal(third.predict_y(X)[0], model.predict_y(X)[0])
    np.testing.assert_array_equal(
        gpflow.utilities.deepcopy(model).predict_y(X)[0], model.predict_y(X)[0]
    )

    gpflow.set_trainable(model.kernel, False)
    assert not any("lengthscales" in v.name for v in model.kernel.trainable_variables)
    loss = model.training_loss_closure((X, Y))
    start = float(loss())
    gpflow.set_trainable([model.q_mu, model.q_sqrt], False)
    natural = gpflow.optimizers.NaturalGradient(gamma=0.1)
    for _ in range(10):
        natural.minimize(loss, [(model.q_mu, model.q_sqrt)])
    assert float(loss()) < start


def test_priors_enter_the_training_loss() -> None:
    model = make()
    plain = float(model.training_loss((X, Y)))
    assert plain == pytest.approx(-float(model.elbo((X, Y))))
    variance = model.kernel.variance
    variance.prior = tfp.distributions.Gamma(np.float64(2.0), np.float64(3.0))
    variance.assign(0.5)
    log_prior = np.log(3**2 * 0.5) - 3 * 0.5  # Gamma(2, 3) at 0.5
    assert float(model.training_loss((X, Y)) + model.elbo((X, Y))) == pytest.approx(-log_prior)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m, "kernel", gpflow.kernels.Matern12(lengthscales=0.1)),
        lambda m: setattr(m, "num_quadrature", 1),
        lambda m: setattr(m.network, "dropout", 0.0),
        lambda m: gpflow.config.set_default_jitter(0.1),
    ],
    ids=["kernel", "num_quadrature", "dropout", "jitter"],
)
def test_predictions_follow_what_is_changed_after_the_first(change: Callable) -> None:
    model = make(dropout=0.5)
    before = model.predict_y(X, samples=3)[0].numpy()
    with gpflow.config.as_context():
        change(model)
        after = model.predict_y(X, samples=3)[0].numpy()
        fresh = gpflow.utilities.deepcopy(model).predict_y(X, samples=3)[0].numpy()
    assert np.max(np.abs(after - before)) > 1e-6
    np.testing.assert_allclose(after, fresh, atol=1e-12)


@pytest.mark.slow
def test_predictions_have_gradients() -> None:
    """By finite differences along one direction of the inputs."""
    model = make(flows.Tanh(elements=2))
    x, direction = tf.constant(X[:5]), RNG.normal(size=(5, D))
    weights, step = RNG.normal(size=(5, C)), 1e-5

    def probabilities(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(weights * model.predict_y(x)[0])

    def log_density(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(weights[:, 0] * model.predict_log_density((x, Y[:5])))

    for function in (probabilities, log_density):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = function(x)
        slope = np.sum(tape.gradient(value, x) * direction)
        numeric = function(x + step * direction) - function(x - step * direction)
        assert slope == pytest.approx(float(numeric) / (2 * step), rel=1e-5)


def test_second_derivatives_are_refused_rather_than_wrong() -> None:
    model = make()
    q_mu = model.q_mu.unconstrained_variable
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            elbo = model.elbo((X, Y))
        gradient = inner.gradient(elbo, q_mu)
    with pytest.raises(LookupError, match="second derivatives"):
        outer.gradient(gradient, q_mu)


def test_ill_conditioned_inducing_points() -> None:
    """Many inducing points close together, a large variance: no variance falls below zero."""
    inputs = np.linspace(-3.0, 3.0, 300)[:, None]
    kernel = gpflow.kernels.SquaredExponential(variance=100.0, lengthscales=2.0)
    network = FlowNetwork(1, 2, flows.Linear())
    points = np.linspace(-3.0, 3.0, 100)[:, None]
    model = ETGP(kernel, network, points)
    svgp = gpflow.models.SVGP(kernel, gpflow.likelihoods.Gaussian(), points)
    for each in (model, svgp):
        each.q_sqrt.assign(1e-5 * np.eye(100)[None])
    mean, variance = model.predict_latent(inputs)
    np.testing.assert_allclose(variance, svgp.predict_f(inputs)[1], atol=1e-9)
    assert np.all(variance > 0.0)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(model.predict_f_samples(inputs, 2)))


def test_chunks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(flows.Tanh(elements=2), dropout=0.5)
    whole = model.predict_f(X, full_output_cov=True, samples=2)
    monkeypatch.setattr("etgp_viz.core.blocks.NUMBERS_PER_CHUNK", 7 * 2 * 20 * C)
    for own, reference in zip(
        model.predict_f(X, full_output_cov=True, samples=2), whole, strict=True
    ):
        np.testing.assert_allclose(own, reference, atol=1e-12)


def test_single_precision_is_refused() -> None:
    model = make()
    single = gpflow.config.as_context(gpflow.config.Config(float=np.float32))
    with single, pytest.raises(ValueError, match="expected float64"):
        ETGP(model.kernel, model.network, Z)


def test_another_likelihood_of_classes() -> None:
    """GPflow's RobustMax: the probability that a process is the largest, nearly."""
    model = constant_linear(A, B, likelihood=gpflow.likelihoods.MultiClass(C))
    assert np.isfinite(model.elbo((X, Y)))
    np.testing.assert_allclose(np.sum(model.predict_y(X)[0], axis=1), 1.0, atol=1e-9)


@pytest.mark.slow
def test_quadrature_error_at_the_default_number_of_nodes() -> None:
    """Q = 20 against Q = 150 for latents of standard deviation about 1: what to expect of it."""
    for flow, bound in ((flows.Linear(), 1e-5), (flows.SAL(length=1), 2e-3), (flows.Tanh(), 2e-2)):
        coarse = make(flow)
        coarse.q_sqrt.assign(np.eye(M)[None])
        fine = gpflow.utilities.deepcopy(coarse)
        fine.num_quadrature = 150
        few, many = (
            m.variational_expectations(tf.constant(X), tf.constant(Y)) for m in (coarse, fine)
        )
        assert np.max(np.abs(few - many)) < bound


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: ETGP(gpflow.kernels.RBF(), "network", Z), "network: expected a FlowNetwork"),
        (lambda: make(likelihood=gpflow.likelihoods.Softmax(7)), "likelihood: .*3.* got .*7"),
        (lambda: make(num_data=M - 1), "inducing_variable: .*num_data.*got 6"),
        (lambda: make(num_quadrature=0), "num_quadrature"),
        (lambda: make(likelihood="softmax"), "likelihood: expected a GPflow"),
        (lambda: ETGP("rbf", make().network, Z), "kernel: expected a GPflow kernel"),
        (lambda: ETGP(gpflow.kernels.RBF(lengthscales=[1.0] * 5), make().network, Z), "kernel"),
        (
            lambda: ETGP(
                gpflow.kernels.SharedIndependent(gpflow.kernels.RBF(), 2), make().network, Z
            ),
            "kernel: .*several outputs",
        ),
        (
            lambda: ETGP(
                gpflow.kernels.RBF(),
                make().network,
                gpflow.inducing_variables.InducingPoints(Z[:, :1]),
            ),
            "inducing_variable",
        ),
        (lambda: make().elbo((X, Y), samples=0), "samples"),
        (lambda: make().predict_y(X, seed=1.5), "seed"),
        (
            lambda: make(likelihood=gpflow.likelihoods.Bernoulli()).elbo((X, np.full((N, C), 7.0))),
            "Y: expected zeros and ones.*row 0",
        ),
        (lambda: ETGP(gpflow.kernels.RBF(), make().network, Z[:, :1]), "inducing_variable"),
        (lambda: make().elbo((X[:, :1], Y)), "X: expected"),
        (lambda: make().elbo((X, Y + 1)), "Y: expected .*0..2.*got 3"),
        (lambda: make().elbo((X, Y[:-1])), "Y: expected .*30"),
        (lambda: make().predict_y(np.full((2, D), np.nan)), "X: .*nan in row 0"),
        (lambda: make().predict_y(X.astype(np.float32)), "X: .*float32"),
        (lambda: make().predict_y(X, samples=0), "samples"),
        (lambda: make().predict_f_samples(X, 0), "num_samples"),
        (
            lambda: make(likelihood=gpflow.likelihoods.Bernoulli()).elbo((X, Y % 2)),
            r"Y: expected a \[N, 3\]",
        ),
    ],
)
def test_bad_input_says_what_is_wrong(act, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        act()
