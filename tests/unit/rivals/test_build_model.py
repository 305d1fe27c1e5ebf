"""`build` and `kmeans`: initial values, options, and what is refused."""

import numpy as np
import pytest

from etgp_viz import flows
from etgp_viz.backend import gpflow, tf
from etgp_viz.rivals.build_model import MODELS, build, kmeans
from tests.unit.rivals.models import C, D, M, X, rng

pytestmark = pytest.mark.slow  # all together; see `make test-fast`


@pytest.mark.slow
@pytest.mark.usefixtures("quick_points")
@pytest.mark.parametrize("name", [name for name, m in MODELS.items() if m.is_trained_by_fit])
def test_build_makes_a_model_that_learns(name):
    inputs = rng.normal(size=(40, D))
    labels = (inputs[:, :1] > 0).astype(int) + (inputs[:, 1:] > 0.5)
    options = {"hidden": (4,)} if MODELS[name].has_network else {}
    if "shared" in MODELS[name].sharings:
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
@pytest.mark.parametrize("name", [name for name, m in MODELS.items() if "shared" in m.sharings])
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


@pytest.mark.usefixtures("quick_points")
def test_an_etgp_takes_any_flow():
    named = build("etgp", X, C, num_inducing=M, flow="tanh", elements=2, seed=3)
    same = build("etgp-tanh", X, C, num_inducing=M, elements=2, seed=3)
    for ours, theirs in zip(named.parameters, same.parameters, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert named.network.flow == same.network.flow
    assert build("etgp", X, C, num_inducing=M).network.flow == flows.Linear()
    flow = flows.Compose([flows.StepSum(1, 0, 1), flows.Linear()])
    for name in ("etgp", "tgp"):
        network = build(name, X, C, num_inducing=M, flow=flow).network
        assert network.flow is flow
        np.testing.assert_allclose(network(X[:1])[0, 0], flow.near_identity_params())
    spline = build("etgp", X, C, num_inducing=M, flow="spline", bins=3, bound=2.0).network.flow
    assert spline.flows == (flows.RationalQuadraticSpline(3, 2.0), flows.Linear())


@pytest.mark.usefixtures("quick_points")
def test_with_a_likelihood_one_process_is_enough():
    likelihood = gpflow.likelihoods.Gaussian()
    model = build("etgp", X, 1, num_inducing=M, likelihood=likelihood)
    assert model.likelihood is likelihood
    assert model.predict_y(X)[0].shape == (len(X), 1)
    with pytest.raises(ValueError, match=r"network.num_classes: expected an integer ≥ 2"):
        build("etgp", X, 1, num_inducing=M, likelihood=gpflow.likelihoods.Softmax(1))


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
        (lambda: build("etgp", X, C, flow=flows.Linear), "flow: expected one of 'linear'"),
        (lambda: build("etgp", X, C, flow="spline", elements=2), "elements: expected an option of"),
        (lambda: build("etgp", X, C, flow=flows.SAL(), length=2), "length: expected an option of"),
        (lambda: build("etgp-linear", X, C, flow="sal"), "flow: expected an option of"),
        (lambda: build("etgp", X, 1), "num_classes: expected an integer ≥ 2"),
        (lambda: build("svgp-rbf", X, C, num_inducing=M, sharing="all"), "sharing: expected one"),
        (lambda: build("svgp-rbf", X, C, num_inducing=M, batched="yes"), "batched: expected one"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
