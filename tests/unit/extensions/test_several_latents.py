"""ETGP with several latents against the models that it contains, GPflow, and Monte Carlo."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.core.expectations import at_nodes
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.latent_grid import latent_grid
from etgp_viz.extensions.mixed_flow import ConstantMixing, MixedFlow
from etgp_viz.extensions.several_latents import MixedETGP
from etgp_viz.rivals.svgp import TGP
from tests.unit.extensions.mixed import C, D, M, N, X, Y, Z, kernels, mixed, randomise, set_q

LIMITS = [flows.Linear(), pytest.param(flows.Tanh(2), marks=pytest.mark.slow)]
VARIANTS = [
    pytest.param(L, mixing, source, marks=pytest.mark.slow if L > 2 else ())
    for L in (2, 4)
    for mixing in ("before", "after")
    for source in ("constant", "network")
]
BENT = [flows.Linear(), pytest.param(flows.SAL(1), marks=pytest.mark.slow)]


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("mixing", ["before", "after"])
@pytest.mark.parametrize("flow", LIMITS, ids=repr)
def test_one_latent_with_mixing_one_is_etgp_to_the_last_digit(flow, mixing):
    options = {"hidden": (4,), "dropout": 0.3}
    plain = randomise(FlowNetwork(D, C, flow, **options))
    network = randomise(ConstantMixing(D, C, MixedFlow(flow, 1, mixing), **options))
    etgp = set_q(ETGP(kernels(1)[0], plain, Z, quadrature_tolerance=None))
    model = set_q(MixedETGP(kernels(1), network, Z))
    np.testing.assert_array_equal(network.mixing, 1.0)
    for method in (
        lambda m: m.elbo((X, Y), samples=2),
        lambda m: m.predict_latent(X)[1],
        lambda m: m.predict_f(X)[1],
        lambda m: m.predict_f(X, full_output_cov=True, samples=2)[1],
        lambda m: m.predict_f(X, full_cov=True)[1],
        lambda m: m.predict_y(X, samples=3, seed=4)[0],
        lambda m: m.predict_log_density((X, Y)),
        lambda m: m.predict_f_samples(X, 3, dropout=True),
        lambda m: m.latent_contribution((X, Y)),
    ):
        np.testing.assert_allclose(method(model), method(etgp), rtol=0.0, atol=2e-15)
    gradients = []
    for one in (etgp, model):
        sources = [one.q_mu, one.q_sqrt, one.network.output.weights, one.network.layers[0].weights]
        with tf.GradientTape() as tape:
            value = one.elbo((X, Y), samples=None)
        gradients.append(
            tape.gradient(value, [source.unconstrained_variable for source in sources])
        )
    for ours, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-13)


def naive_tgp(model):
    """The naive TGP with the kernels, q and network parameters of a model of C latents."""
    classes = model.num_classes
    plain = randomise(FlowNetwork(D, classes, model.network.flow.flow, hidden=(4,), dropout=0.0))
    inducing = gpflow.inducing_variables
    points = inducing.SharedIndependentInducingVariables(inducing.InducingPoints(Z))
    kernel = gpflow.kernels.SeparateIndependent(list(model.kernel.kernels))
    return set_q(TGP(kernel, plain, points))


@pytest.mark.parametrize("flow", LIMITS, ids=repr)
def test_as_many_latents_as_classes_unmixed_are_the_naive_tgp(flow):
    classes = 4
    model = mixed(classes, flow=flow, classes=classes)
    model.network.mixing.assign(np.eye(classes))
    tgp = naive_tgp(model)
    points, _ = latent_grid(classes, 256)
    noise = np.broadcast_to(points[:, None], (256, N, classes))  # the same points for every row
    ours = model.variational_expectations(X, tf.constant(Y))
    np.testing.assert_allclose(ours, tgp.expected_log_likelihood((X, Y), noise), atol=1e-12)
    np.testing.assert_allclose(model.prior_kl(), tgp.prior_kl(), rtol=1e-12)


def test_three_unmixed_latents_against_the_monte_carlo_of_a_naive_tgp():
    model = mixed(C, num_quadrature=20)
    model.network.mixing.assign(np.eye(C))
    tgp = naive_tgp(model)
    for ours, theirs in zip(model.predict_f(X), tgp.predict_f(X), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    draws = np.random.default_rng(0).normal(size=(40, 1000, N, C))
    batches = [np.sum(tgp.expected_log_likelihood((X, Y), noise)) for noise in draws]
    ours = np.sum(model.variational_expectations(X, tf.constant(Y)))
    error = np.std(batches) / np.sqrt(len(batches))
    assert abs(np.mean(batches) - ours) < 4.0 * error < 0.02 * abs(ours)


@pytest.mark.parametrize("whiten", [True, False])
def test_constant_linear_flows_are_coregionalisation_of_several_latents(whiten):
    a, b, L = np.array([1.5, -0.7, 0.4]), np.array([0.2, 0.0, -0.5]), 2
    model = mixed(L, whiten=whiten)
    model.network.output.weights.assign(np.zeros(model.network.output.weights.shape))
    model.network.output.bias.assign(np.concatenate([a, b]))
    inducing = gpflow.inducing_variables
    svgp = gpflow.models.SVGP(
        gpflow.kernels.LinearCoregionalization(
            list(model.kernel.kernels), W=a[:, None] * model.network.mixing.numpy()
        ),
        gpflow.likelihoods.Softmax(C),
        inducing.SharedIndependentInducingVariables(inducing.InducingPoints(Z)),
        num_latent_gps=L,
        whiten=whiten,
    )
    svgp.q_mu.assign(model.q_mu)
    svgp.q_sqrt.assign(model.q_sqrt)
    for options in (
        {"full_output_cov": True},
        {"full_cov": True},
        {"full_cov": True, "full_output_cov": True},
    ):
        mean, covariance = model.predict_f(X, **options)
        their_mean, their_covariance = svgp.predict_f(X, **options)
        np.testing.assert_allclose(mean, their_mean + b, atol=1e-8)
        np.testing.assert_allclose(covariance, their_covariance, atol=1e-6)
    np.testing.assert_allclose(model.prior_kl(), svgp.prior_kl(), rtol=1e-10)


def test_what_latents_share_may_as_well_be_given_to_each():
    network = randomise(ConstantMixing(D, C, MixedFlow(flows.Linear(), 2), hidden=(4,)))
    kernel, points = kernels(1)[0], [Z.copy(), Z.copy()]
    one, many = MixedETGP(kernel, network, Z), MixedETGP([kernel, kernels(1)[0]], network, points)
    assert many.inducing_variable.num_inducing == M
    for model in (one, many):
        set_q(model)
    for full_cov in (False, True):
        moments = (model.predict_latent(X, full_cov) for model in (one, many))
        for ours, theirs in zip(*moments, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(one.prior_kl(), many.prior_kl(), rtol=1e-12)
    assert len(many.trainable_variables) == len(one.trainable_variables) + 3  # Z, two of the kernel


# ------------------------------------------------------------------ expectations


@pytest.mark.parametrize(("latents", "mixing", "source"), VARIANTS)
def test_elbo_and_predictions_against_plain_numpy(latents, mixing, source):
    model = mixed(latents, mixing, source=source)
    mean, variance = (moment.numpy() for moment in model.predict_latent(X))
    params = model.network(X).numpy()
    A, warp = params[..., :latents], params[..., latents:]
    points, weights = latent_grid(latents, {2: 12, 4: 256}[latents])
    elbo, p = -float(model.prior_kl()) - float(model.network.prior_penalty()), np.zeros((N, C))
    for n in range(N):
        for z, w in zip(points, weights, strict=True):
            f = mean[n] + np.sqrt(variance[n]) * z
            if mixing == "before":
                g = warp[n, :, 0] * (A[n] @ f) + warp[n, :, 1]
            else:
                g = sum(
                    A[n, :, k] * (warp[n, :, 2 * k] * f[k] + warp[n, :, 2 * k + 1])
                    for k in range(latents)
                )
            elbo += w * log_softmax(g)[Y[n, 0]]
            p[n] += w * np.exp(log_softmax(g))
    np.testing.assert_allclose(model.elbo((X, Y), samples=None), elbo, rtol=1e-10)
    np.testing.assert_allclose(model.predict_y(X)[0], p, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_log_density((X, Y)), np.log(p[np.arange(N), Y[:, 0]]), atol=1e-10
    )


@pytest.mark.parametrize("mixing", ["before", "after"])
@pytest.mark.parametrize("flow", BENT, ids=repr)
def test_compiled_gradients_are_those_of_the_general_rule(flow, mixing):
    """The ELBO's expectation, and both predictions, with the processes at all nodes written out."""
    model = mixed(2, mixing, flow=flow, source="network")
    labels = tf.constant(Y)
    log_w = np.log(model._grid()[1])

    def general():
        latent = model._latent_and_features(tf.constant(X), None, None)
        params = model.network.params_of(latent[2])
        F = at_nodes(model.network.flow, *latent[:2], params, model._grid())[0]  # [N, Q, C]
        log_p = tf.gather(tf.nn.log_softmax(F), labels[:, 0], axis=2, batch_dims=1)
        return (
            tf.reduce_sum(tf.exp(log_w) * log_p),
            tf.reduce_sum(tf.reduce_logsumexp(log_w + log_p, axis=1)),
            tf.reduce_sum(tf.einsum("q,nqc->nc", tf.exp(log_w), tf.nn.softmax(F))[:, 0]),
        )

    with tf.GradientTape(persistent=True) as tape:
        compiled = (
            tf.reduce_sum(model.variational_expectations(X, labels)),
            tf.reduce_sum(model.predict_log_density((X, labels))),
            tf.reduce_sum(model.predict_y(X)[0][:, 0]),
        )
        written = general()
    np.testing.assert_allclose(compiled, written, rtol=1e-12)
    for variable in model.trainable_variables:
        for ours, theirs in zip(compiled, written, strict=True):
            ours, theirs = (
                tape.gradient(value, variable, unconnected_gradients="zero")
                for value in (ours, theirs)
            )
            np.testing.assert_allclose(ours, theirs, atol=1e-10 * (1.0 + np.max(np.abs(theirs))))


@pytest.mark.parametrize("mixing", ["before", "after"])
def test_no_slope_makes_an_expected_log_probability_positive(mixing):
    model = mixed(2, mixing)
    model.network.output.bias.assign(1e6 * model.network.output.bias)
    assert np.max(model.variational_expectations(X, tf.constant(Y))) <= 0.0
    assert np.max(model.predict_log_density((X, Y))) <= 1e-12


def test_mini_batches_and_weights_scale_the_elbo():
    model = mixed(2, num_data=3 * N)
    expected = model.variational_expectations(X, tf.constant(Y))
    penalty = model.prior_kl() + model.network.prior_penalty()
    whole = 3.0 * np.sum(expected) - penalty
    np.testing.assert_allclose(model.elbo((X, Y), samples=None), whole, rtol=1e-12)
    weights = tf.constant(np.arange(N, dtype=float))
    weighted = np.sum(weights * expected) - penalty
    np.testing.assert_allclose(model.elbo((X, Y), None, weights), weighted, rtol=1e-12)


def test_other_likelihoods_and_their_own_parameters():
    labels = np.random.default_rng(3).integers(0, 2, size=(N, C)).astype(float)
    link = {"likelihood": gpflow.likelihoods.Bernoulli(invlink=tf.sigmoid)}
    model = mixed(2, num_quadrature=20, **link)
    draws = model.predict_f_samples(X[:1], 20_000).numpy()[:, 0]
    probability = model.predict_y(X[:1])[0].numpy()[0]
    error = expit(draws).std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(expit(draws).mean(axis=0) - probability) < 4.0 * error)
    assert float(model.elbo((X, labels))) < 0.0
    regression = mixed(2, likelihood=gpflow.likelihoods.Gaussian(0.3))
    with tf.GradientTape() as tape:
        value = regression.elbo((X, labels))
    slope = tape.gradient(value, regression.likelihood.variance.unconstrained_variable)
    assert abs(float(slope)) > 1e-3


# ------------------------------------------------------------------ moments and draws


@pytest.mark.parametrize("mixing", ["before", "after"])
@pytest.mark.parametrize("flow", BENT, ids=repr)
def test_covariances_between_inputs_and_classes_against_draws(flow, mixing):
    model = mixed(2, mixing, flow=flow, source="network", num_quadrature=20)
    rows = X[:4]
    mean, covariance = model.predict_f(rows, full_cov=True, full_output_cov=True)
    draws = model.predict_f_samples(rows, 40_000, seed=3).numpy().reshape(-1, 4 * C)
    matrix = covariance.numpy().reshape(4 * C, 4 * C)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean.numpy().ravel()) < 4.5 * error)
    centred = draws - mean.numpy().ravel()
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(products.mean(axis=0) - matrix) < 4.5 * error + 1e-5)
    # The other shapes are parts of this one.
    between_inputs = np.einsum("icjc->cij", covariance)
    np.testing.assert_allclose(
        model.predict_f(rows, full_cov=True)[1], between_inputs, rtol=1e-4, atol=1e-6
    )
    at_inputs = np.einsum("icid->icd", covariance)
    np.testing.assert_allclose(
        model.predict_f(rows, full_output_cov=True)[1], at_inputs, rtol=1e-3, atol=1e-5
    )


def test_covariances_include_the_spread_over_dropout_draws():
    model = mixed(2, source="network", dropout=0.5)
    rows = X[:3]
    mean, covariance = model.predict_f(rows, full_cov=True, full_output_cov=True, samples=4, seed=5)
    params = model.network(rows, 4, 5, one_mask=True).numpy()
    latent, K = (moment.numpy() for moment in model.predict_latent(rows, full_cov=True))
    means, second = [], []
    for draw in params:
        rows_of_A = draw[..., 2, None] * draw[..., :2]  # a_c A_cl
        means.append(np.einsum("ncl,nl->nc", rows_of_A, latent) + draw[..., 3])
        second.append(np.einsum("icl,jdl,lij->icjd", rows_of_A, rows_of_A, K))
        second[-1] += np.einsum("ic,jd->icjd", means[-1], means[-1])
    average = np.mean(means, axis=0)
    expected = np.mean(second, axis=0) - np.einsum("ic,jd->icjd", average, average)
    np.testing.assert_allclose(mean, average, atol=1e-10)
    np.testing.assert_allclose(covariance, expected, atol=1e-8)


def test_two_latents_loosen_the_tie_between_classes():
    """With one latent and linear flows the correlation at an input is ±1."""
    for latents in (1, 2):
        _, covariance = mixed(latents).predict_f(X[:1], full_output_cov=True)
        deviation = np.sqrt(np.diag(covariance[0]))
        correlation = np.abs(covariance[0] / np.outer(deviation, deviation))
        assert np.linalg.matrix_rank(covariance[0], tol=1e-10) == latents
        if latents == 1:
            np.testing.assert_allclose(correlation, 1.0, atol=1e-10)
        else:
            assert correlation[0, 1] < 0.99


# ------------------------------------------------------------------ bad input


def network_of(latents):
    return ConstantMixing(D, C, MixedFlow(flows.Linear(), latents))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MixedETGP(kernels(1), FlowNetwork(D, C, flows.Linear()), Z), "network: .*MixedFl"),
        (lambda: MixedETGP(kernels(3), network_of(2), Z), "kernel: expected one .* list of 2, got"),
        (lambda: MixedETGP(kernels(2), network_of(2), [Z, Z, Z]), "inducing_variable: .* got 3"),
        (lambda: MixedETGP(kernels(2), network_of(2), [Z, Z[1:]]), "inducing_variable: .* 5 for"),
        (lambda: mixed(2, quadrature_tolerance=0.1), "quadrature_tolerance: .* got 2 latents"),
        (lambda: mixed(2, num_quadrature=0), "num_quadrature: expected an integer ≥ 1, got 0"),
        (lambda: mixed(3, num_quadrature=41), "num_quadrature: expected an integer in 1..40"),
        (lambda: mixed(4, num_quadrature=100), "num_quadrature: expected a power of two"),
        (lambda: MixedFlow(flows.Linear(), 0), "latents: expected an integer"),
        (lambda: MixedFlow(flows.Linear(), 2, "later"), "mixing: expected one of 'before'"),
        (lambda: ConstantMixing(D, C, flows.Linear()), "flow: expected a MixedFlow"),
        (lambda: MixedFlow(flows.Linear(), 2).forward([1.0], np.zeros(4)), "f: expected 2 latents"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_mixture_has_no_inverse():
    flow = MixedFlow(flows.Linear(), 2)
    for method in (flow._inverse, flow._log_derivative):
        with pytest.raises(NotImplementedError):
            method(tf.constant(1.0), [])
