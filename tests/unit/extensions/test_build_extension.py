"""Extended ETGPs by options of `build` and of `ETGPClassifier`: starts, training, files."""

import pickle

import numpy as np
import pytest

from etgp_viz import ETGPClassifier, fit
from etgp_viz.backend import gpflow, tf
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.build_extension import Extension
from etgp_viz.extensions.deep_kernel import DeepKernelETGP
from etgp_viz.extensions.mixed_flow import ConstantMixing
from etgp_viz.extensions.several_latents import MixedETGP
from etgp_viz.rivals.build_model import build

N, C, M = 40, 4, 6
RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(N, 2))
SMALL = {"inducing_points": X[:M], "hidden": (4,), "dropout": 0.0}


def two_boundaries(num_rows, seed):
    """Four classes, the quadrants that two wavy lines cut out: each line needs its own latent."""
    X = np.random.default_rng(seed).uniform(-2.0, 2.0, size=(num_rows, 2))
    first, second = np.sin(2.0 * X[:, 0]) > X[:, 1], np.cos(2.0 * X[:, 1]) > X[:, 0]
    return X, (2 * first + second).astype(int)[:, None]


Y = (2 * (np.sin(2.0 * X[:, :1]) > X[:, 1:]) + (np.cos(2.0 * X[:, 1:]) > X[:, :1])).astype(int)


@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.parametrize("options", [
    {}, {"mixing": "after"}, {"mixing_from": "network"},
], ids=str)  # fmt: skip
def test_latents_start_apart_and_every_class_equally_likely(options, whiten):
    model = build("etgp-tanh", X, C, latents=2, **options, whiten=whiten, **SMALL)
    assert type(model) is MixedETGP
    assert model.q_mu.shape == (M, 2)
    np.testing.assert_allclose(model.predict_y(X)[0], 1.0 / C, atol=1e-12)
    f = model.predict_latent(X)[0].numpy()
    assert abs(np.corrcoef(f.T)[0, 1]) < 0.9
    mixing = model.network(X).numpy()[..., :2]
    np.testing.assert_allclose(mixing, 1.0 / np.sqrt(2.0))
    # The first step moves the mixing, of each latent and class by itself.
    network = model.network
    is_constant = isinstance(network, ConstantMixing)
    assert is_constant == ("mixing_from" not in options)
    source = (network.mixing if is_constant else network.output.bias).unconstrained_variable
    with tf.GradientTape() as tape:
        loss = model.training_loss((X, Y))
    slopes = tape.gradient(loss, source).numpy()
    slopes = slopes if is_constant else slopes[: 2 * C].reshape(2, C).T
    assert np.all(np.abs(slopes) > 1e-6)
    assert np.all(np.abs(slopes[:, 0] - slopes[:, 1]) > 1e-6)


@pytest.mark.parametrize("source", ["constant", "network"])
def test_the_start_of_the_paper_mixes_at_random_so_that_latents_can_part(source):
    model = build("etgp-linear", X, C, latents=2, mixing_from=source, start="paper", **SMALL)
    np.testing.assert_array_equal(model.q_mu, 0.0)
    with tf.GradientTape() as tape:
        loss = model.training_loss((X, Y))
    slopes = tape.gradient(loss, model.q_mu.unconstrained_variable).numpy()
    assert np.max(np.abs(slopes[:, 0] - slopes[:, 1])) > 0.1
    mixing = model.network(X[:1]).numpy()[0, :, :2]
    assert np.min(np.abs(mixing[:, 0] - mixing[:, 1])) > 1e-3


@pytest.mark.parametrize("features", ["shared", "own"])
def test_deep_kernels_by_name(features):
    model = build("etgp-linear", X, C, features=features, **SMALL)
    assert type(model) is DeepKernelETGP
    assert (model.trunk is None) == (features == "shared")
    trunk = model.trunk or model.network
    H = trunk.features(X).numpy()
    distances = np.sqrt(np.sum((H[:, None] - H[None]) ** 2, axis=-1))
    expected = np.sqrt(np.mean(distances**2))
    np.testing.assert_allclose(model.kernel.base.lengthscales, expected, rtol=1e-10)
    if features == "own":
        assert not np.allclose(model.trunk.layers[0].weights, model.network.layers[0].weights)
    with tf.GradientTape() as tape:
        loss = model.training_loss((X, Y))
    first = model.network.output.weights.unconstrained_variable
    assert np.max(np.abs(tape.gradient(loss, first))) > 1e-3


def test_one_latent_is_the_plain_model():
    model = build("etgp-linear", X, C, latents=1, features=None, **SMALL)
    assert type(model) is ETGP
    assert type(model.network) is FlowNetwork


class OtherNetwork(FlowNetwork):
    """A network that makes its parameters in another way."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build("etgp-sal", X, C, latents=0), r"latents: expected an integer in 1..100"),
        (lambda: build("etgp-sal", X, C, latents=2.0), r"latents: expected an integer in 1..100"),
        (lambda: build("etgp-sal", X, C, mixing="after"), "mixing: expected at least two latents"),
        (lambda: build("etgp-sal", X, C, mixing_from="network"), "mixing_from: .*two latents"),
        (lambda: build("etgp-sal", X, C, latents=2, mixing="mid"), "mixing: expected one of"),
        (lambda: build("etgp-sal", X, C, latents=2, mixing_from="x"), "mixing_from: .* one of"),
        (lambda: build("etgp-sal", X, C, features="deep"), "features: expected one of None"),
        (lambda: build("etgp-sal", X, C, latents=2, features="own"), "features: .*several latents"),
        (lambda: build("svgp-rbf", X, C, latents=2), "latents: expected an option of 'svgp-rbf'"),
        (
            lambda: build("etgp-sal", X, C, latents=2, quadrature_tolerance=0.1, **SMALL),
            "quadrature_tolerance: .* got 2 latents",
        ),
        (lambda: Extension(latents=2).network(OtherNetwork), "mixing_from: expected 'network'"),
        (lambda: Extension(features="own").network(OtherNetwork), "features: expected None beside"),
        (lambda: ETGPClassifier(latents=0).fit(X, Y[:, 0]), "latents: expected an integer"),
        (lambda: ETGPClassifier(features="x").fit(X, Y[:, 0]), "features: expected one of None"),
    ],
)
def test_bad_options_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ------------------------------------------------------------------ trained models


@pytest.mark.slow
def test_two_boundaries_that_have_nothing_to_do_with_each_other_want_two_latents():
    """With constant flows; flows that change with x make up for much of a missing latent."""
    train, test = two_boundaries(200, seed=0), two_boundaries(1000, seed=100)
    scores = {}
    for latents in (1, 2):
        options = {"latents": latents, "hidden": (), "dropout": 0.0, "num_inducing": 25}
        model = build("etgp-linear", train[0], C, **options)
        gpflow.set_trainable(model.network.output.weights, False)
        result = fit(model, train, epochs=300, learning_rate=0.05, progress=False)
        assert np.all(result.elbo < 0.0)
        scores[latents] = np.mean(model.predict_log_density(test)), result.best_elbo
        assert result.latent.lost_at_zero > 0.1
    assert np.all(np.subtract(scores[2], scores[1]) > [0.2, 20.0])
    # Nothing of that was gained from the rule's error.
    ours = float(model.elbo(train, samples=None))
    model.num_quadrature = 40
    np.testing.assert_allclose(ours, model.elbo(train, samples=None), atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    {"latents": 2}, {"latents": 4}, {"features": "shared"}, {"features": "own"},
], ids=str)  # fmt: skip
def test_a_classifier_with_an_extension_is_copied_and_saved(options, tmp_path):
    settings = {"num_inducing": M, "hidden": (4,), "epochs": 3, "batch_size": 20}
    classifier = ETGPClassifier(**settings, **options, random_state=0).fit(X, Y[:, 0])
    assert np.all(classifier.history_.elbo < 0.0)
    p = classifier.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict_proba(X), p)
    classifier.save(tmp_path / "mine.npz")
    again = ETGPClassifier.load(tmp_path / "mine.npz")
    assert again.get_params() == classifier.get_params()
    np.testing.assert_array_equal(again.predict_proba(X), p)
    with np.load(tmp_path / "mine.npz") as file:
        assert set(options) <= set(str(file["header"]).replace('"', " ").split())


@pytest.mark.slow
def test_natural_gradients_train_several_latents():
    model = build("etgp-linear", X, C, latents=2, **SMALL)
    gpflow.set_trainable(model.inducing_variable, False)
    options = {"natural_gradients": 0.1, "epochs": 10, "progress": False}
    result = fit(model, (X, Y), **options)
    assert result.elbo[-1] > result.elbo[0] + 1.0
