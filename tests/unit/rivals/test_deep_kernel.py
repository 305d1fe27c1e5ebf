"""The deep-kernel SVGP: a plain SVGP on the features of a network that is trained with it."""

import numpy as np
import pytest

from etgp_viz import fit
from etgp_viz.backend import gpflow, tf
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals.build_model import build
from etgp_viz.rivals.deep_kernel import DeepKernelSVGP
from etgp_viz.rivals.network import Shift
from etgp_viz.rivals.svgp import SVGPClassifier
from tests.unit.rivals.models import NOISE, C, D, M, X, Y, latents, rng, set_q, svgp


def deep(dropout=0.0, hidden=(), is_batched=True, weight_decay=0.1, **options):
    """Random features of two units or, without hidden layers, the inputs themselves."""
    network = FlowNetwork(D, C, Shift(), hidden, dropout, weight_decay)
    for variable in network.trainable_variables:
        variable.assign_add(0.5 * rng.normal(size=variable.shape))
    kernel, points = latents("shared", is_batched)
    return set_q(DeepKernelSVGP(kernel, network, points, **options))


def features_of(model):
    return model.network.features(X).numpy()


def test_without_hidden_layers_it_is_a_plain_svgp():
    model, plain = deep(), svgp("shared", True)
    for a, b in zip(model.predict_f(X), plain.predict_f(X), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(model.predict_y(X)[0], plain.predict_y(X)[0])
    np.testing.assert_array_equal(
        model.expected_log_likelihood((X, Y), NOISE), plain.expected_log_likelihood((X, Y), NOISE)
    )


@pytest.mark.parametrize("is_batched", [False, True])
def test_it_is_a_plain_svgp_on_its_features(is_batched):
    model = deep(hidden=(4, 2), is_batched=is_batched, seed=5)
    plain = set_q(SVGPClassifier(*latents("shared", is_batched), C, seed=5))
    features = features_of(model)
    assert features.shape == (len(X), 2)
    np.testing.assert_array_equal(model.predict_y(X)[0], plain.predict_y(features)[0])
    log_p = model.predict_log_density((X, Y)), plain.predict_log_density((features, Y))
    np.testing.assert_array_equal(*log_p)
    penalty = model.network.prior_penalty()
    assert penalty > 0.0
    np.testing.assert_allclose(model.elbo((X, Y)), plain.elbo((features, Y)) - penalty, rtol=1e-12)


def test_training_drops_units_and_predictions_do_not():
    model = deep(dropout=0.5, hidden=(4, 2))
    first, second = (model.expected_log_likelihood((X, Y), NOISE) for _ in range(2))
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(model.predict_y(X)[0], model.predict_y(X)[0])
    with pytest.raises(ValueError, match=r"samples: expected None.*got 3"):
        model.predict_y(X, samples=3)


def test_the_gradient_reaches_the_trunk_and_leaves_the_output_layer_out():
    model = deep(hidden=(4, 2))
    with tf.GradientTape() as tape:
        loss = model.training_loss((X, Y))
    trunk = [parameter.unconstrained_variable for parameter in model.network.trainable_parameters]
    assert len(trunk) == 4  # two layers
    for variable, gradient in zip(trunk, tape.gradient(loss, trunk), strict=True):
        decay = 0.2 * variable if variable.shape.rank == 2 else 0.0  # of λ Σ w²
        assert np.abs(gradient - decay).max() > 1e-3


def test_build_puts_the_points_among_the_features():
    inputs = rng.normal(size=(50, D))
    model = build("svgp-deep", inputs, C, num_inducing=6, hidden=(7,), batched=True)
    assert model.network.dropout == 0.0
    Z = model.inducing_variable.inducing_variable.Z.numpy()
    assert Z.shape == (6, 7)
    features = model.network.features(inputs).numpy()
    # Centres of clusters: each is the mean of the features that are nearest to it.
    nearest = ((features[:, None] - Z) ** 2).sum(axis=-1).argmin(axis=1)
    for m in range(6):
        np.testing.assert_allclose(Z[m], features[nearest == m].mean(axis=0), atol=1e-6)
    distances = np.sqrt(((features[:, None] - features) ** 2).sum(axis=-1).mean())
    np.testing.assert_allclose(model.kernel.kernel.lengthscales, np.full(7, distances))
    given = build("svgp-deep", inputs, C, inducing_points=inputs[:4], hidden=(7,), seed=2)
    at_points = given.network.features(inputs[:4])
    np.testing.assert_allclose(given.inducing_variable.inducing_variable.Z, at_points)


def test_it_trains_with_fit():
    inputs = rng.normal(size=(60, D))
    labels = (inputs[:, :1] * inputs[:, 1:] > 0).astype(int)
    options = {"hidden": (10,), "dropout": 0.1, "precision": "float32", "batched": True}
    model = build("svgp-deep", inputs, 2, num_inducing=8, **options)
    before = model.network.layers[0].weights.numpy().copy()
    result = fit(model, (inputs, labels), epochs=60, learning_rate=0.05, progress=False)
    assert result.elbo[-5:].mean() > 0.7 * result.elbo[0]  # both are negative
    correct = model.predict_y(inputs)[0].numpy().argmax(axis=1) == labels[:, 0]
    assert correct.mean() > 0.8
    assert np.abs(model.network.layers[0].weights - before).max() > 0.1
    assert set(gpflow.utilities.parameter_dict(model)) >= {".network.layers[0].weights", ".q_mu"}


def test_a_kernel_per_class_is_not_an_option():
    with pytest.raises(ValueError, match=r"sharing: .*'svgp-deep'"):
        build("svgp-deep", X, C, num_inducing=M, sharing="separate")
