"""The network without a Gaussian process: an ETGP whose latent does not matter."""

import numpy as np
import pytest

from etgp_viz import fit
from etgp_viz.backend import gpflow, tf
from etgp_viz.core import blocks, flows
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals.build_model import build
from etgp_viz.rivals.network import NetworkClassifier, Shift
from tests.unit.rivals.models import C, D, X, Y, rng

OPTIONS = {"hidden": (5,), "dropout": 0.5, "weight_decay": 0.1, "seed": 3}


def twins(num_data=None):
    """A network and an ETGP LINEAR with the same weights and biases, and a = 0."""
    alone = NetworkClassifier(FlowNetwork(D, C, Shift(), **OPTIONS), num_data=num_data)
    for variable in alone.network.trainable_variables:
        variable.assign_add(0.5 * rng.normal(size=variable.shape))
    warp = FlowNetwork(D, C, flows.Linear(), **OPTIONS)
    for layer, other in zip(alone.network.layers, warp.layers, strict=True):
        other.weights.assign(layer.weights)
        other.bias.assign(layer.bias)
    # Columns p·C + c of the output: first all slopes a, then all b.
    zeros = np.zeros_like(alone.network.output.weights)
    warp.output.weights.assign(np.concatenate([zeros, alone.network.output.weights], axis=1))
    warp.output.bias.assign(np.concatenate([np.zeros(C), alone.network.output.bias]))
    etgp = ETGP(gpflow.kernels.RBF(), warp, X[:4], num_data=num_data)
    return alone, etgp


@pytest.mark.parametrize("samples", [None, 4])
def test_it_equals_an_etgp_whose_slopes_are_zero(samples):
    alone, etgp = twins()
    for a, b in zip(alone.predict_y(X, samples, 7), etgp.predict_y(X, samples, 7), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    log_p = [m.predict_log_density((X, Y), samples, 7) for m in (alone, etgp)]
    np.testing.assert_allclose(*log_p, rtol=1e-10)


@pytest.mark.parametrize("num_data", [None, 100])
def test_its_elbo_is_that_of_the_etgp_without_the_latent(num_data):
    for samples in (None, 1, 3):  # the generators of both networks have the same seed
        alone, etgp = twins(num_data)
        expected = etgp.elbo((X, Y), samples) + etgp.prior_kl()
        np.testing.assert_allclose(alone.elbo((X, Y), samples), expected, rtol=1e-10)
        assert alone.elbo((X, Y), samples) < 0.0


def test_chunks_of_rows_change_nothing(monkeypatch):
    alone, _ = twins()
    whole = alone.predict_y(X, 4)[0], alone.predict_log_density((X, Y), 4), alone.elbo((X, Y), None)
    monkeypatch.setattr(blocks, "NUMBERS_PER_CHUNK", 2 * 4 * C)  # two rows at a time
    parts = alone.predict_y(X, 4)[0], alone.predict_log_density((X, Y), 4), alone.elbo((X, Y), None)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_an_impossible_label_has_a_finite_log_probability():
    alone, _ = twins()
    alone.network.output.bias.assign([1e4, 0.0, -1e4])
    log_p = alone.predict_log_density((X, np.full_like(Y, 2)), samples=3)
    assert np.isfinite(log_p).all()
    assert (log_p.numpy() < -1e4).all()


def test_it_trains_with_fit_and_resumes_from_a_checkpoint(tmp_path):
    inputs = rng.normal(size=(60, D))
    labels = (inputs[:, :1] > 0).astype(int) + (inputs[:, 1:] > 0.5)
    options = {"batch_size": 20, "learning_rate": 0.05, "progress": False}

    def model():
        return build("network", inputs, C, hidden=(8,), dropout=0.2, num_inducing=1)

    whole = model()
    result = fit(whole, (inputs, labels), epochs=12, **options)
    assert result.elbo[-1] > 0.6 * result.elbo[0]  # both are negative
    path = tmp_path / "run.npz"
    for epochs in (5, 12):
        parts = model()
        resumed = fit(parts, (inputs, labels), epochs=epochs, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.elbo, result.elbo)
    np.testing.assert_array_equal(parts.predict_y(inputs)[0], whole.predict_y(inputs)[0])


def test_restoring_gives_the_same_model(tmp_path):
    (model, _), other = twins(), NetworkClassifier(FlowNetwork(D, C, Shift(), **OPTIONS))
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "model"))
    tf.train.Checkpoint(model=other).restore(path).assert_existing_objects_matched()
    np.testing.assert_array_equal(model.predict_y(X)[0], other.predict_y(X)[0])
    np.testing.assert_array_equal(model.elbo((X, Y)), other.elbo((X, Y)))


def test_a_shift_is_a_flow():
    f, b = rng.normal(size=(5,)), rng.normal(size=(5, 1))
    np.testing.assert_allclose(Shift().forward(f, b), f + b[:, 0])
    np.testing.assert_allclose(Shift().inverse(f + b[:, 0], b), f)
    np.testing.assert_array_equal(Shift().log_derivative(f, b), np.zeros(5))
    np.testing.assert_array_equal(Shift().forward(f, Shift().identity_params()), f)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: NetworkClassifier(FlowNetwork(D, C, flows.Linear())), "network: .*Shift"),
        (lambda m: NetworkClassifier(m.network, num_data=0), "num_data: "),
        (lambda m: m.predict_y(X[:, :1]), r"X: expected .*\[N, 2\]"),
        (lambda m: m.predict_y(X, samples=0), "samples: "),
        (lambda m: m.predict_y(X, seed=-1), "seed: "),
        (lambda m: m.elbo((X, Y + 1)), r"Y: .* 0..2"),
        (lambda m: build("network", X, C, batched=True), "batched: .*'network'.*hidden"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(twins()[0])
