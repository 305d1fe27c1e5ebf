"""Baselines against GPflow's own models, against brute force, and against one another."""

import numpy as np
import pytest

from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals import batched, kernels
from etgp_viz.rivals import svgp as svgp_models
from etgp_viz.rivals.build_model import MODELS, build, kmeans
from etgp_viz.rivals.svgp import as_written

pytestmark = pytest.mark.slow  # all together; see `make test-fast`

N, D, M, C, S = 7, 2, 4, 3, 6
rng = np.random.default_rng(1)
X = rng.normal(size=(N, D))
Y = rng.integers(0, C, size=(N, 1))
NOISE = rng.normal(size=(S, N, C))
Z = rng.normal(size=(C, M, D))
VARIANCE = rng.uniform(0.5, 2.0, C)
SCALES = rng.uniform(0.5, 2.0, (C, D))
BIAS = rng.uniform(0.5, 2.0, C)
Q_MU = rng.normal(size=(M, C))
Q_SQRT = np.tril(rng.normal(size=(C, M, M))) + 2 * np.eye(M)
MIXING = rng.normal(size=(C, C))
STATE = rng.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    rng.bit_generator.state = STATE
    tf.random.set_seed(0)


def single_kernels(family="rbf"):
    if family == "rbf":
        return [gpflow.kernels.RBF(v, s) for v, s in zip(VARIANCE, SCALES, strict=True)]
    make = {"nnet": kernels.NeuralNetwork, "arccos": lambda *p: gpflow.kernels.ArcCosine(0, *p)}
    return [make[family](*p) for p in zip(VARIANCE, SCALES, BIAS, strict=True)]


def latents(sharing="separate", is_batched=False, family="rbf"):
    """Kernel and inducing variables; the shared ones are the first of the separate ones."""
    iv = gpflow.inducing_variables
    if sharing == "shared":
        shared = kernels.Broadcast if is_batched else gpflow.kernels.SharedIndependent
        points = iv.SharedIndependentInducingVariables(iv.InducingPoints(Z[0]))
        return shared(single_kernels(family)[0], C), points
    if is_batched:
        stacks = {
            "rbf": kernels.StackedRBF,
            "nnet": kernels.StackedNeuralNetwork,
            "arccos": kernels.StackedArcCosine,
        }
        parameters = (VARIANCE, SCALES) if family == "rbf" else (VARIANCE, SCALES, BIAS)
        return stacks[family](*parameters), batched.StackedInducingPoints(Z)
    points = iv.SeparateIndependentInducingVariables([iv.InducingPoints(z) for z in Z])
    return gpflow.kernels.SeparateIndependent(single_kernels(family)), points


def set_q(model):
    model.q_mu.assign(Q_MU)
    model.q_sqrt.assign(Q_SQRT)
    return model


def svgp(*args, **options):
    return set_q(svgp_models.SVGPClassifier(*latents(*args), C, **options))


def mixed(*args, **options):
    return set_q(svgp_models.MixedSVGP(*latents(*args), C, mixing=MIXING, **options))


def tgp(*args, flow=None, dropout=0.0, **options):
    network = FlowNetwork(D, C, flow or flows.Linear(), hidden=(3,), dropout=dropout)
    kernel, points = latents(*args)
    return set_q(svgp_models.TGP(kernel, network, points, **options))


def randomise(network):
    """Move the flows away from the identity."""
    for variable in network.trainable_variables:
        variable.assign_add(0.4 * rng.normal(size=variable.shape))


def gpflow_svgp(kernel, points, whiten=True):
    likelihood = gpflow.likelihoods.Softmax(C)
    return set_q(gpflow.models.SVGP(kernel, likelihood, points, num_latent_gps=C, whiten=whiten))


def same_moments(ours, theirs, *kinds, atol=1e-8):
    """Means and marginal variances, and the kinds of full covariances that are asked for."""
    for options in ({}, *({kind: True} for kind in kinds)):
        moments = ours.predict_f(X, **options), as_written(theirs.predict_f)(X, **options)
        for a, b in zip(*moments, strict=True):
            np.testing.assert_allclose(a, b, atol=atol)


# --- against GPflow -----------------------------------------------------------------------------


FAMILIES = ["rbf", *(pytest.param(each, marks=pytest.mark.slow) for each in ("nnet", "arccos"))]


@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sharing", ["separate", "shared"])
def test_batched_svgp_equals_gpflow(sharing, family, whiten):
    ours = set_q(svgp_models.SVGPClassifier(*latents(sharing, True, family), C, whiten=whiten))
    theirs = gpflow_svgp(*latents(sharing, False, family), whiten=whiten)
    # acos is steep at 1: on the diagonal the two ArcCosine kernels themselves differ by some 1e-9,
    # which K⁻¹ enlarges where q is not whitened.
    enlarged = family == "arccos" and not whiten
    same_moments(ours, theirs, "full_cov", atol=1e-7 if enlarged else 1e-8)
    np.testing.assert_allclose(ours.prior_kl(), theirs.prior_kl(), rtol=1e-8)


@pytest.mark.parametrize("sharing", ["separate", "shared"])
@pytest.mark.parametrize("family", FAMILIES)
def test_groups_of_processes_give_what_all_give_at_once(sharing, family, monkeypatch):
    model = set_q(svgp_models.SVGPClassifier(*latents(sharing, True, family), C))
    whole = [*model.predict_f(X), *model.predict_f(X, full_cov=True)]
    monkeypatch.setattr(batched, "GROUP_SIZE", 2 * M * N)  # two processes, then one
    parts = [*model.predict_f(X), *model.predict_f(X, full_cov=True)]
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


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


@pytest.mark.slow
def test_gradients_of_the_batched_model_equal_those_of_the_looped_one():
    def gradients(model, parameters):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.expected_log_likelihood((X, Y), NOISE)) - model.prior_kl()
        return tape.gradient(loss, [p.unconstrained_variable for p in parameters])

    for sharing in ("separate", "shared"):
        a, b = svgp(sharing, False), svgp(sharing, True)
        for ours, theirs in zip(
            gradients(b, [b.q_mu, b.q_sqrt]), gradients(a, [a.q_mu, a.q_sqrt]), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)
        if sharing == "separate":
            looped = [
                *(kernel.lengthscales for kernel in a.kernel.kernels),
                *(points.Z for points in a.inducing_variable.inducing_variable_list),
            ]
            ours = gradients(b, [b.kernel.lengthscales, b.inducing_variable.Z])
            theirs = gradients(a, looped)
            theirs = [np.stack(theirs[:C]), np.stack(theirs[C:])]
        else:
            ours, theirs = (
                gradients(
                    m, [m.kernel.kernel.lengthscales, m.inducing_variable.inducing_variable.Z]
                )
                for m in (b, a)
            )
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-7)


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


@pytest.mark.slow
def test_predictions_do_not_depend_on_the_rows_beside_them(monkeypatch):
    model = svgp("shared", num_predictive=10)
    together = model.predict_y(X)[0]
    np.testing.assert_array_equal(together, model.predict_y(X)[0])
    np.testing.assert_allclose(together[2:3], model.predict_y(X[2:3])[0], rtol=1e-12)
    monkeypatch.setattr(svgp_models, "BLOCK_SIZE", 3 * C * M)  # blocks of 3 rows, then of one
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


@pytest.mark.usefixtures("quick_points")
def test_gpflow_tools_work_on_a_batched_model():
    model = build("svgp-rbfcorr", X, C, num_inducing=M, sharing="separate", batched=True)
    names = set(gpflow.utilities.parameter_dict(model))
    assert {".mixing", ".q_mu", ".kernel.lengthscales", ".inducing_variable.Z"} <= names
    assert "lengthscales" in gpflow.utilities.tabulate_module_summary(model, "plain")
    gpflow.set_trainable(model.inducing_variable, False)
    before = float(model.elbo((X, Y)))
    gpflow.optimizers.NaturalGradient(0.5).minimize(
        model.training_loss_closure((X, Y), compile=False), [(model.q_mu, model.q_sqrt)]
    )
    assert float(model.elbo((X, Y))) > before


# --- build --------------------------------------------------------------------------------------


@pytest.fixture
def quick_points(monkeypatch):
    """The first rows for inducing points, where k-means is not what is tested."""
    monkeypatch.setattr(
        "etgp_viz.rivals.build_model.kmeans", lambda X, num_inducing, seed: X[:num_inducing]
    )


@pytest.mark.slow
@pytest.mark.usefixtures("quick_points")
@pytest.mark.parametrize("name", MODELS)
def test_build_makes_a_model_that_learns(name):
    inputs = rng.normal(size=(40, D))
    labels = (inputs[:, :1] > 0).astype(int) + (inputs[:, 1:] > 0.5)
    options = {"hidden": (4,)} if "tgp" in name else {}
    if not name.startswith("etgp"):
        options |= {"sharing": "shared", "batched": True}
    model = build(name, inputs, C, num_inducing=5, **options)
    assert model.num_data == 40
    assert model.num_classes == C
    adam = gpflow.keras.tf_keras.optimizers.Adam(0.2)
    variables, losses = model.trainable_variables, []
    for _ in range(5):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = model.training_loss((inputs, labels))
        adam.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        losses.append(float(loss))
    assert losses[-1] < 0.9 * losses[0]
    assert model.predict_y(inputs)[0].shape == (40, C)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_points")
@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("etgp")])
def test_build_starts_all_variants_of_a_model_alike(name):
    reference = build(name, X, C, num_inducing=M).predict_f(X)
    for options in (
        {"batched": True},
        {"sharing": "shared"},
        {"sharing": "shared", "batched": True},
    ):
        model = build(name, X, C, num_inducing=M, **options)
        for a, b in zip(model.predict_f(X), reference, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-8)
        np.testing.assert_allclose(model.q_sqrt, 1e-5 * np.tile(np.eye(M), [C, 1, 1]))


@pytest.mark.usefixtures("quick_points")
def test_build_uses_the_initial_values_of_the_paper():
    np.testing.assert_allclose(build("etgp-sal", X, C, num_inducing=M).kernel.lengthscales, [2, 2])
    shared = {"num_inducing": M, "sharing": "shared"}
    kernel = build("svgp-arccos", X, C, **shared).kernel.kernel
    np.testing.assert_allclose(kernel.weight_variances, [0.25, 0.25])
    kernel = build("svgp-nnet", X, C, **shared).kernel.kernel
    np.testing.assert_allclose([*kernel.weight_variances.numpy(), kernel.bias_variance.numpy()], 1)
    mixing = build("svgp-rbfcorr", X, C, seed=1, **shared).mixing.numpy()
    np.testing.assert_array_equal(mixing, build("svgp-rbfcorr", X, C, seed=1, **shared).mixing)
    assert not np.allclose(mixing, build("svgp-rbfcorr", X, C, seed=2, **shared).mixing)


@pytest.mark.usefixtures("quick_points")
def test_build_passes_options_on():
    model = build("etgp-tanh", X, C, num_inducing=M, elements=2, length=2, hidden=(), whiten=False)
    assert model.network.flow.num_params == 12
    assert not model.whiten
    model = build("tgp", X, C, num_inducing=M, flow="sal", length=1, dropout=0.5, num_monte_carlo=3)
    assert model.network.flow.num_params == 4
    assert model.network.dropout == 0.5
    assert model.likelihood.num_monte_carlo_points == 3


def test_inducing_points_may_be_given():
    points = X[:3] + 0.1
    model = build("etgp-linear", X, C, inducing_points=points)
    np.testing.assert_array_equal(model.inducing_variable.Z, points)
    assert model.q_mu.shape == (3, 1)
    assert model.num_data == len(X)
    with pytest.raises(ValueError, match=r"inducing_points: expected a \[N, 2\] array"):
        build("etgp-linear", X, C, inducing_points=points[:, :1])


def test_kmeans_centres_are_the_best_clusters(monkeypatch):
    corners = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    rows = np.concatenate([corner + 0.01 * rng.normal(size=(20, 2)) for corner in corners])
    for large in (20_000, 10):  # plain k-means, then mini-batches
        monkeypatch.setattr("etgp_viz.rivals.build_model.LARGE", large)
        centres = kmeans(rows, 3)
        order = np.argsort(centres @ [1.0, 2.0])
        np.testing.assert_allclose(centres[order], corners, atol=0.02)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build("svgp", X, C), "name: expected one of 'etgp-linear'.*, got 'svgp'"),
        (lambda: build("svgp-rbf", X, 1, num_inducing=M), "num_classes: .* ≥ 2, got 1"),
        (lambda: build("svgp-rbf", X, C), "num_inducing: .* in 1..7 .*distinct rows.*, got 100"),
        (
            lambda: build("svgp-rbf", np.repeat(X[:3], 5, axis=0), C, num_inducing=4),
            "num_inducing: .* in 1..3",
        ),
        (lambda: build("svgp-rbf", X * np.nan, C), "X: expected"),
        (lambda: build("svgp-rbf", X, C, hidden=(5,)), "hidden: .*sharing, batched.*got 'hidden'"),
        (lambda: build("etgp-sal", X, C, elements=5), "elements: .*'etgp-sal'.*length"),
        (lambda: build("etgp-tanh", X, C, batched=True), "batched: .*elements, length"),
        (lambda: build("tgp", X, C, flow="cubic"), "flow: expected one of 'linear'"),
        (lambda: build("svgp-rbf", X, C, num_inducing=M, sharing="all"), "sharing: expected one"),
        (lambda: build("svgp-rbf", X, C, num_inducing=M, batched="yes"), "batched: expected one"),
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
