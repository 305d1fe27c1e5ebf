"""ETGPs with each source of flow parameters: built by name, trained, saved, continued."""

import json
from unittest import mock

import numpy as np
import pytest

from etgp_viz import ETGPClassifier, build, fit
from etgp_viz.backend import gpflow, tf
from etgp_viz.classifier.base import LATER, parameter_values
from etgp_viz.core.optimiser import Optimiser
from etgp_viz.datasets import toys
from etgp_viz.extensions.concrete_dropout import ConcreteDropoutNetwork
from etgp_viz.extensions.gp_parameters import GPNetwork
from etgp_viz.extensions.mean_field import MeanFieldNetwork
from etgp_viz.rivals.build_model import NETWORKS
from etgp_viz.rivals.names import PARAMETERS

KINDS = {"concrete": ConcreteDropoutNetwork, "mean-field": MeanFieldNetwork, "gp": GPNetwork}
X, Y = toys.waves(120).train
NEW_X, NEW_Y = toys.waves(400, seed=1).train


def made(parameters: str, **options: object):
    hidden = {} if parameters == "gp" else {"hidden": (10,)}
    options = {"num_inducing": 8, "parameters": parameters, **hidden, **options}
    return build("etgp-linear", X, 3, **options)


def test_every_source_has_a_name():
    assert tuple(NETWORKS) == PARAMETERS


@pytest.mark.parametrize("parameters", KINDS)
def test_build_makes_it_with_its_own_options(parameters):
    own = {
        "concrete": {"temperature": 0.3, "dropout": 0.4},
        "mean-field": {"output_decay": 2.0},
        "gp": {"num_processes": 3},
    }
    network = made(parameters, **own[parameters]).network
    assert type(network) is KINDS[parameters]
    for name in set(own[parameters]) - {"num_processes"}:
        assert getattr(network, name) == own[parameters][name]
    if parameters == "gp":
        assert network.q_mu.shape == (8, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": "magic"}, "parameters: expected one of 'dropout', .*'gp', got 'magic'"),
        ({"parameters": "gp", "hidden": (5,)}, "hidden: expected an option of 'etgp-linear'"),
        ({"parameters": "mean-field", "dropout": 0.1}, "dropout: expected an option of"),
        ({"temperature": 0.1}, "temperature: expected an option of"),
    ],
)
def test_build_refuses_what_does_not_belong_together(options, message):
    with pytest.raises(ValueError, match=message):
        build("etgp-linear", X, 3, num_inducing=4, **options)


def test_only_an_etgp_has_the_option():
    with pytest.raises(ValueError, match="parameters: expected an option of 'network'"):
        build("network", X, 3, parameters="gp")


@pytest.fixture(scope="module")
def trained():
    """Source → a model after 300 steps, and its history."""
    results = {}
    for parameters in PARAMETERS:
        model = made(parameters)
        result = fit(model, (X, Y), epochs=300, learning_rate=0.03, progress=False)
        results[parameters] = model, result
    return results


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
@pytest.mark.parametrize("samples", [None, 50])
def test_trained_it_predicts_about_as_well_as_with_dropout(trained, parameters, samples):
    def scores(name: str) -> tuple[float, float]:
        model = trained[name][0]
        p = model.predict_y(NEW_X, samples=samples)[0].numpy()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
        log_density = model.predict_log_density((NEW_X, NEW_Y), samples=samples).numpy()
        return np.mean(p.argmax(axis=1) == NEW_Y[:, 0]), log_density.mean()

    accuracy, log_density = scores(parameters)
    fixed_accuracy, fixed_log_density = scores("dropout")
    assert accuracy > fixed_accuracy - 0.03 > 0.8
    assert log_density > fixed_log_density - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
def test_the_elbo_rises_and_stays_below_zero(trained, parameters):
    elbo = trained[parameters][1].elbo
    assert elbo.max() < 0.0
    assert elbo[-20:].mean() > 0.5 * elbo[:5].mean()


@pytest.mark.slow
def test_training_moves_what_is_particular_to_each_source(trained):
    for parameters, path in (
        ("concrete", ".network.rates"),
        ("mean-field", ".network.deviations"),
        ("gp", ".network.q_mu"),
        ("gp", ".network.q_sqrt"),
        ("gp", ".network.kernel.lengthscales"),
        ("gp", ".network.inducing_variable.Z"),
        ("gp", ".network.output.weights"),
    ):
        before, after = (
            gpflow.utilities.parameter_dict(model)[path].numpy()
            for model in (made(parameters), trained[parameters][0])
        )
        assert np.abs(after - before).max() > 1e-3, path


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
def test_predictions_agree_with_the_rule_as_written(trained, parameters):
    """The compiled softmax through `last_layer` is the plain sum over nodes of `__call__`."""
    model = trained[parameters][0]
    x = tf.constant(NEW_X[:30])
    mean, variance = (moment.numpy()[:, 0] for moment in model.predict_latent(x))
    for samples in (None, 7):
        theta = model.network(x, samples, seed=4).numpy()
        theta = theta if samples else theta[None]
        z, w = np.polynomial.hermite_e.hermegauss(60)
        f0 = mean[:, None] + np.sqrt(variance)[:, None] * z  # [N, Q]
        F = theta[..., None, :, 0] * f0[None, ..., None] + theta[..., None, :, 1]  # [S, N, Q, C]
        p = np.exp(F - F.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        expected = np.einsum("snqc,q->nc", p, w / w.sum()) / len(theta)
        ours = model.predict_y(x, samples=samples, seed=4)[0]
        np.testing.assert_allclose(ours, expected, atol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
def test_a_joint_draw_is_one_function_of_x(trained, parameters):
    """Neighbouring inputs get neighbouring values, in every draw."""
    model = trained[parameters][0]
    x = np.linspace(-3.0, 3.0, 301)[:, None]
    F = model.predict_f_samples(x, 5, seed=0, dropout=True).numpy()
    assert F.shape == (5, 301, 3)
    assert np.abs(np.diff(F, axis=1)).max() < 0.2 * np.ptp(F)
    mean, covariance = model.predict_f(x[::30], full_cov=True, samples=20)
    assert mean.shape == (11, 3)
    assert np.linalg.eigvalsh(covariance).min() > -1e-6 * np.max(covariance)


@pytest.mark.parametrize("parameters", KINDS)
def test_a_step_is_traced_once(parameters):
    model = made(parameters)
    optimiser = Optimiser(model, (X, Y), learning_rate=0.01)
    kind = type(model.network)
    with mock.patch.object(kind, "features", autospec=True, side_effect=kind.features) as traced:
        losses = [optimiser.step(tf.range(k, k + 40)) for k in range(5)]
    assert traced.call_count == 1
    assert len(set(losses)) == 5


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KINDS)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_training_resumes_on_the_same_trajectory(parameters, precision, tmp_path):
    settings = {"learning_rate": 0.02, "batch_size": 40, "progress": False}
    whole, parts = (made(parameters, precision=precision) for _ in range(2))
    fit(whole, (X, Y), epochs=6, **settings)
    for epochs in (3, 6):
        parts = made(parameters, precision=precision)
        fit(parts, (X, Y), epochs=epochs, checkpoint=tmp_path / "run.npz", **settings)
    for path, value in parameter_values(whole).items():
        np.testing.assert_array_equal(parameter_values(parts)[path], value, err_msg=path)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_classifier_comes_back_from_its_file(parameters, tmp_path):
    settings = {"num_inducing": 4, "epochs": 20, "learning_rate": 0.1, "random_state": 0}
    for prediction in ("pe", "ba"):
        classifier = ETGPClassifier(parameters=parameters, prediction=prediction, **settings)
        classifier.fit(X, Y[:, 0])
        classifier.save(tmp_path / "mine.npz")
        again = ETGPClassifier.load(tmp_path / "mine.npz")
        assert again.get_params()["parameters"] == parameters
        assert type(again.model_.network) is NETWORKS[parameters][0]
        np.testing.assert_array_equal(again.predict_proba(NEW_X), classifier.predict_proba(NEW_X))


@pytest.mark.slow
def test_a_file_from_before_the_option_is_still_read(tmp_path):
    path = tmp_path / "old.npz"
    classifier = ETGPClassifier(num_inducing=4, hidden=(5,), epochs=2, random_state=0)
    classifier.fit(X, Y[:, 0]).save(path)
    with np.load(path) as stored:
        header = json.loads(str(stored["header"]))
    assert not set(LATER) & set(header["params"])  # as in a file of version 0.1
    again = ETGPClassifier.load(path)
    assert again.parameters == "dropout"
    np.testing.assert_array_equal(again.predict_proba(NEW_X), classifier.predict_proba(NEW_X))


def test_a_classifier_refuses_an_unknown_source():
    with pytest.raises(ValueError, match=r"parameters: expected one of 'dropout'.*, got 'magic'"):
        ETGPClassifier(parameters="magic").fit(X, Y[:, 0])
