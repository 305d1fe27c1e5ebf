"""SVGPs and TGP against GPflow's own models, against brute force, and against one another."""

import numpy as np
import pytest

from etgp_viz.backend import as_written, gpflow, tf
from etgp_viz.core import flows
from etgp_viz.rivals import kernels
from etgp_viz.rivals import svgp as svgp_models
from tests.unit.rivals.models import (
    MIXING,
    NOISE,
    C,
    D,
    M,
    N,
    S,
    X,
    Y,
    Z,
    gpflow_svgp,
    latents,
    mixed,
    rng,
    same_moments,
    single_kernels,
    svgp,
    tgp,
)

pytestmark = pytest.mark.slow  # all together; see `make test-fast`


def randomise(network):
    """Move the flows away from the identity."""
    for variable in network.trainable_variables:
        variable.assign_add(0.4 * rng.normal(size=variable.shape))


# --- against GPflow -----------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["separate", "shared"])
def test_elbo_equals_gpflow_for_the_same_noise(sharing):
    theirs = gpflow_svgp(*latents(sharing))
    theirs.likelihood.num_monte_carlo_points = S
    moments = as_written(theirs.predict_f)(X)
    expected = theirs.likelihood._variational_expectations(X, *moments, Y, epsilon=NOISE)
    for is_batched in (False, True):
        ours = svgp(sharing, is_batched).expected_log_likelihood((X, Y), NOISE)
        np.testing.assert_allclose(ours, expected, rtol=1e-9)


@pytest.mark.slow
def test_elbo_with_its_own_noise_agrees_with_gpflow():
    ours, theirs = svgp("shared", num_monte_carlo=4000), gpflow_svgp(*latents("shared"))
    theirs.likelihood.num_monte_carlo_points = 4000
    means = [[float(model.elbo((X, Y))) for _ in range(8)] for model in (ours, theirs)]
    error = np.hypot(*(np.std(values, ddof=1) for values in means)) / np.sqrt(8)
    assert abs(np.mean(means[0]) - np.mean(means[1])) < 3 * error


# --- the mixing matrix --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("is_batched", [False, True])
@pytest.mark.parametrize("sharing", ["separate", "shared"])
def test_mixed_svgp_equals_gpflow_coregionalisation(sharing, is_batched):
    iv = gpflow.inducing_variables
    if sharing == "shared":
        kernel_list = [single_kernels()[0]] * C
        points = iv.SharedIndependentInducingVariables(iv.InducingPoints(Z[0]))
    else:
        kernel_list, points = single_kernels(), latents()[1]
    theirs = gpflow_svgp(gpflow.kernels.LinearCoregionalization(kernel_list, MIXING), points)
    ours = mixed(sharing, is_batched)
    same_moments(ours, theirs, "full_cov", "full_output_cov")
    np.testing.assert_allclose(ours.prior_kl(), theirs.prior_kl(), rtol=1e-10)


def test_mixed_svgp_keeps_the_covariance_between_classes():
    model = mixed("shared", True, num_monte_carlo=200_000)
    mean, covariance = (moment.numpy() for moment in model.predict_f(X, full_output_cov=True))
    draws = 200_000
    for n in range(2):
        F = rng.multivariate_normal(mean[n], covariance[n], size=draws)
        independent = mean[n] + rng.normal(size=(draws, C)) * np.sqrt(np.diag(covariance[n]))
        log_p = [f[:, Y[n, 0]] - np.log(np.exp(f).sum(axis=1)) for f in (F, independent)]
        ours = float(model.expected_log_likelihood((X[n : n + 1], Y[n : n + 1]))[0])
        error = np.sqrt(2.0) * log_p[0].std() / np.sqrt(draws)
        assert abs(ours - log_p[0].mean()) < 4 * error
        # The test can tell: marginal variances alone give another number.
        assert abs(log_p[1].mean() - log_p[0].mean()) > 20 * error


class Counting(gpflow.kernels.RBF):
    """Counts its evaluations between two sets of rows."""

    count = 0

    def K(self, X, X2=None):  # noqa: N802
        self.count += 1
        return super().K(X, X2)


@pytest.mark.parametrize("wrapper", [gpflow.kernels.SharedIndependent, kernels.Broadcast])
def test_a_shared_kernel_is_evaluated_once(wrapper):
    kernel, points = Counting(), latents("shared")[1]
    svgp_models.MixedSVGP(wrapper(kernel, C), points, C).elbo((X, Y))
    assert kernel.count == 2  # once for Kzz and once for Kzx, whatever C is
    theirs = gpflow.kernels.LinearCoregionalization([kernel] * C, MIXING)
    kernel.count = 0
    as_written(gpflow_svgp(theirs, points).elbo)((X, Y))
    assert kernel.count == 2 * C


# --- flows --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tgp_with_identity_flows_equals_svgp():
    ours, plain = tgp("separate", True), svgp("separate", True)
    for a, b in zip(ours.predict_f(X), plain.predict_f(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_allclose(ours.predict_y(X)[0], plain.predict_y(X)[0], atol=1e-14)
    np.testing.assert_allclose(
        ours.expected_log_likelihood((X, Y), NOISE), plain.expected_log_likelihood((X, Y), NOISE)
    )
    draws = ours.predict_f_samples(X, 2, seed=3), plain.predict_f_samples(X, 2, seed=3)
    np.testing.assert_allclose(*draws, atol=1e-12)


@pytest.mark.slow
def test_tgp_warps_each_process_by_its_own_flow():
    model = tgp("separate", True, flow=flows.Tanh(elements=2))
    randomise(model.network)
    mean, variance = (moment.numpy() for moment in model.predict_latent(X))
    params = model.network(X).numpy()
    g = mean + np.sqrt(variance) * rng.normal(size=(100_000, N, C))
    f = np.stack(
        [model.network.flow.forward(g[..., c], params[:, c]).numpy() for c in range(C)], axis=-1
    )
    f_mean, f_variance = model.predict_f(X)
    assert (np.abs(f_mean - f.mean(axis=0)) < 5 * f.std(axis=0) / np.sqrt(len(f))).all()
    np.testing.assert_allclose(f_variance, f.var(axis=0), rtol=0.05)
    log_p = np.take_along_axis(f, Y[None], axis=2)[..., 0] - np.log(np.exp(f).sum(axis=-1))
    model.likelihood.num_monte_carlo_points = 100_000
    error = np.sqrt(2.0) * log_p.std(axis=0) / np.sqrt(len(f))
    difference = model.expected_log_likelihood((X, Y)) - log_p.mean(axis=0)
    assert (np.abs(difference) < 5 * error).all()


@pytest.mark.slow
def test_tgp_objective_has_the_weight_decay_and_one_dropout_sample():
    model = tgp("shared", True, dropout=0.5, num_monte_carlo=1)
    randomise(model.network)
    twin = gpflow.utilities.deepcopy(model)
    expected = twin.expected_log_likelihood((X, Y))
    total = tf.reduce_sum(expected) - twin.prior_kl() - twin.network.prior_penalty()
    np.testing.assert_allclose(model.elbo((X, Y)), total, rtol=1e-12)
    assert not np.allclose(
        twin.expected_log_likelihood((X, Y), NOISE[:1]),
        twin.expected_log_likelihood((X, Y), NOISE[:1]),
    )


@pytest.mark.slow
def test_tgp_averages_probabilities_over_dropout():
    model = tgp("shared", True, dropout=0.5, num_predictive=50)
    randomise(model.network)
    point, average = model.predict_y(X)[0], model.predict_y(X, samples=3)[0]
    assert not np.allclose(point, average)
    np.testing.assert_array_equal(average, model.predict_y(X, samples=3)[0])
    assert not np.allclose(average, model.predict_y(X, samples=3, seed=1)[0])
    model.network.dropout = 0.0
    np.testing.assert_allclose(model.predict_y(X, samples=3)[0], point, rtol=1e-12)


# --- predictions --------------------------------------------------------------------------------


def test_predictions_equal_brute_force():
    model = mixed("separate", True, num_predictive=20_000)
    mean, covariance = (moment.numpy() for moment in model.predict_f(X, full_output_cov=True))
    F = np.stack(
        [rng.multivariate_normal(m, c, 100_000) for m, c in zip(mean, covariance, strict=True)]
    )
    p = np.exp(F) / np.exp(F).sum(axis=-1, keepdims=True)
    error = p.std(axis=1) * np.sqrt(1 / 20_000 + 1 / 100_000)
    probabilities, variances = model.predict_y(X)
    assert (np.abs(probabilities - p.mean(axis=1)) < 4 * error).all()
    np.testing.assert_allclose(tf.reduce_sum(probabilities, axis=1), 1.0)
    np.testing.assert_allclose(variances, probabilities * (1 - probabilities))
    chosen = np.take_along_axis(probabilities.numpy(), Y, axis=1)[:, 0]
    np.testing.assert_allclose(model.predict_log_density((X, Y)), np.log(chosen))


@pytest.mark.parametrize("make", [svgp, mixed])
def test_the_stated_error_is_the_spread_over_seeds(make):
    model = make("shared", True, num_predictive=100)

    @tf.function(autograph=False)
    def prediction(seed):
        model.seed = seed
        return model.predict_y(X)[0], model.prediction_error(X)

    predictions, errors = zip(*map(prediction, tf.range(200)), strict=True)
    spread, stated = np.std(predictions, axis=0), np.mean(errors, axis=0)
    assert (stated > 1e-3).any()
    np.testing.assert_allclose(stated, spread, rtol=0.25, atol=1e-6)


@pytest.mark.slow
def test_predictions_do_not_depend_on_the_rows_beside_them(monkeypatch):
    model = svgp("shared", num_predictive=10)
    together = model.predict_y(X)[0]
    np.testing.assert_array_equal(together, model.predict_y(X)[0])
    np.testing.assert_allclose(together[2:3], model.predict_y(X[2:3])[0], rtol=1e-12)
    monkeypatch.setattr(
        "etgp_viz.core.blocks.NUMBERS_PER_CHUNK", 3 * C * M
    )  # blocks of 3 rows, then of one
    np.testing.assert_allclose(together, model.predict_y(X)[0], rtol=1e-12)
    any_rows = tf.function(
        lambda X: model.predict_y(X)[0], input_signature=[tf.TensorSpec([None, D], tf.float64)]
    )
    np.testing.assert_allclose(together, any_rows(tf.constant(X)), rtol=1e-12)


def test_log_density_of_an_impossible_label_is_finite():
    model = svgp("shared", num_predictive=10)
    model.q_mu.assign(1e4 * np.array([1.0, -1.0, 0.0]) * np.ones((M, 1)))
    model.q_sqrt.assign(1e-3 * np.tile(np.eye(M), [C, 1, 1]))
    assert np.isfinite(model.predict_log_density((X, Y))).all()
    assert float(tf.reduce_min(model.predict_log_density((X, Y)))) < -800


def test_joint_samples_have_the_posterior_moments():
    model = mixed("shared")
    draws = model.predict_f_samples(X, 20_000, seed=5).numpy()
    np.testing.assert_array_equal(draws[:9], model.predict_f_samples(X, 20_000, seed=5)[:9])
    mean, covariance = (m.numpy() for m in model.predict_f(X, full_cov=True, full_output_cov=True))
    flat = draws.reshape(len(draws), -1)
    covariance = covariance.reshape(N * C, N * C)
    scale = np.sqrt(np.diag(covariance))
    assert (np.abs(flat.mean(axis=0) - mean.ravel()) < 5 * scale / np.sqrt(len(flat))).all()
    error = np.sqrt((covariance**2 + np.outer(scale, scale) ** 2) / len(flat))
    assert (np.abs(np.cov(flat.T) - covariance) < 5 * error).all()


# --- as GPflow models ---------------------------------------------------------------------------


def test_mini_batches_average_to_the_full_elbo(monkeypatch):
    model = svgp("shared", True, num_data=6)

    def elbo(rows):
        noise = tf.constant(NOISE[:, rows])
        monkeypatch.setattr(model.generator, "normal", lambda shape, dtype: noise)
        return float(model.elbo((X[rows], Y[rows])))

    batches = [elbo(rows) for rows in np.arange(6).reshape(3, 2)]
    full = elbo(np.arange(6))
    np.testing.assert_allclose(np.mean(batches), full, rtol=1e-12)
    model.num_data = None  # nothing to scale
    np.testing.assert_allclose(elbo(np.arange(6)), full, rtol=1e-12)


@pytest.mark.parametrize("make", [svgp, mixed, tgp])
def test_restoring_gives_the_same_model_bit_for_bit(make, tmp_path):
    model, other = make("separate", True), make("separate", True, seed=9)
    for variable in model.trainable_variables:
        variable.assign_add(0.1 * rng.normal(size=variable.shape))
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "model"))
    other.seed = model.seed
    tf.train.Checkpoint(model=other).restore(path).assert_existing_objects_matched()
    np.testing.assert_array_equal(model.predict_y(X)[0], other.predict_y(X)[0])
    # The state of the generator is restored with the rest: the next draws are the same too.
    np.testing.assert_array_equal(model.elbo((X, Y)), other.elbo((X, Y)))


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: svgp("shared").predict_y(X, samples=5), "samples: expected None.*got 5"),
        (lambda: svgp("shared").predict_y(X[:, :1]), r"X: expected .*\[N, 2\]"),
        (lambda: svgp("shared").elbo((X, Y + 1)), r"Y: .* 0..2"),
        (lambda: svgp("shared").elbo((X, Y[1:])), "Y: "),
        (lambda: svgp("shared", num_predictive=3), "num_predictive: expected an even"),
        (lambda: svgp("shared", num_monte_carlo=0), "num_monte_carlo: "),
        (lambda: tgp("shared").predict_f(X, full_cov=True), "full_cov: expected False"),
        (lambda: tgp("shared").predict_y(X, samples=0), "samples: "),
        (
            lambda: svgp_models.MixedSVGP(*latents("shared"), C, mixing=np.eye(2)),
            r"mixing: expected shape \[3, 3\], got \[2, 2\]",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
