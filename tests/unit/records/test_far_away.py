"""How sure flow parameters are, against plain NumPy."""

import numpy as np
import pytest

from etgp_viz import build
from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.gp_parameters import GPNetwork
from etgp_viz.extensions.mean_field import MeanFieldNetwork
from etgp_viz.records.far_away import concentrate, look_away, prior_deviation
from etgp_viz.rivals.names import PARAMETERS

C = 3
X = np.linspace(-1.0, 1.0, 12)[:, None]
AWAY = np.array([0.0, 0.5, 60.0])


def stirred(parameters: str, scale: float = 1.0):
    """A model whose parameters depend on x."""
    small = {} if parameters == "gp" else {"hidden": (8,)}
    model = build("etgp-linear", X, C, num_inducing=4, parameters=parameters, **small)
    rng = np.random.default_rng(0)
    model.network.output.weights.assign(scale * rng.normal(size=model.network.output.weights.shape))
    if parameters == "gp":
        model.network.q_mu.assign(rng.normal(size=model.network.q_mu.shape))
    return model


MODELS = {parameters: stirred(parameters) for parameters in PARAMETERS}


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_prior_deviation_is_that_of_draws_from_the_prior(parameters):
    """Draw what is random in the prior: output weights, or processes at each input."""
    network, rng = MODELS[parameters].network, np.random.default_rng(1)
    P, outputs = network.flow.num_params, network.output.bias.shape[0]
    if isinstance(network, GPNetwork):
        g = rng.normal(size=(20_000, len(AWAY), network.q_mu.shape[1]))  # variance 1 everywhere
        raw = g @ network.output.weights.numpy()
    else:
        decay = getattr(network, "output_decay", network.weight_decay)
        W = rng.normal(scale=np.sqrt(1.0 / (2.0 * decay)), size=(20_000, 8, outputs))
        layer = network.layers[0]
        raw = np.tanh(AWAY[:, None] @ layer.weights.numpy() + layer.bias.numpy()) @ W
    drawn = raw.std(axis=0).reshape(-1, P, C).transpose(0, 2, 1)
    ours = prior_deviation(network, AWAY[:, None])
    np.testing.assert_allclose(ours, drawn, rtol=0.03)


def test_without_a_prior_there_is_nothing_to_return_to():
    network = FlowNetwork(1, C, flows.Linear(), weight_decay=0.0)
    with pytest.raises(ValueError, match="network: expected a weight decay > 0"):
        prior_deviation(network, X)


@pytest.fixture(scope="module")
def record():
    return look_away(MODELS, np.array([0.5, 1.0, 60.0]), edge=1.0, samples=4000)


def test_only_processes_return_to_their_prior(record):
    assert record.names == PARAMETERS
    assert record.has_returned == (False, False, False, True)
    assert abs(record.spread[3, -1] - 1.0) < 0.03
    assert record.offset[3, -1] < 0.05
    assert abs(record.spread[3, 0] - 1.0) > 0.2  # among the data it knows more


def test_spread_and_offset_of_dropout_by_its_formula(record):
    """Var = p/(1−p) Σ φ² w², from masks of 0 or 1/(1−p); the mean is the point estimate."""
    network = MODELS["dropout"].network
    W = network.output.weights.numpy()
    layer = network.layers[0]
    h = np.tanh(60.0 * layer.weights.numpy() + layer.bias.numpy())  # [1, H]
    prior = np.linalg.norm(h) * np.sqrt(1.0 / 2e-5)
    deviation = np.sqrt(0.25 / 0.75 * (h**2 @ W**2))
    np.testing.assert_allclose(
        record.spread[0, -1], np.sqrt(np.mean((deviation / prior) ** 2)), rtol=0.03
    )
    np.testing.assert_allclose(
        record.offset[0, -1], np.sqrt(np.mean((h @ W / prior) ** 2)), rtol=0.05
    )


def test_confidence_is_the_largest_averaged_probability(record):
    p = MODELS["mean-field"].predict_y(record.x[:, None], samples=4000)[0].numpy()
    np.testing.assert_allclose(record.confidence[2], p.max(axis=1))
    assert record.num_classes == C


def test_a_line_in_any_direction():
    inputs = np.random.default_rng(0).normal(size=(10, 2))
    model = build("etgp-linear", inputs, C, num_inducing=4, parameters="gp")
    looked = look_away({"GP": model}, np.array([0.0, 99.0]), 1.0, np.array([0.6, -0.8]), 3000)
    assert looked.has_returned == (True,)


def test_concentration_measures_the_spread_of_centred_logits():
    model = MODELS["mean-field"]
    assert isinstance(model.network, MeanFieldNetwork)
    record = concentrate({"one": {10: model, 20: stirred("mean-field", 0.0)}}, X, samples=4000)
    layer, s = model.network.layers[0], model.network.deviations.numpy()
    h = np.tanh(X @ layer.weights.numpy() + layer.bias.numpy())
    slope, shift = np.split(h**2 @ s**2, 2, axis=1)  # variances of a and b [N, C]
    f0 = model.predict_latent(X)[0].numpy()
    variance = slope * f0**2 + shift  # of each logit; they are independent between classes
    centred = variance * (1.0 - 2.0 / C) + variance.mean(axis=1, keepdims=True) / C
    np.testing.assert_allclose(record.spread[0, 0], np.sqrt(centred.mean()), rtol=0.03)
    assert record.num_data.tolist() == [10, 20]
    assert np.isnan(record.rates).all()


def test_rates_are_those_of_the_networks():
    concrete = stirred("concrete")
    concrete.network.rates.assign([0.07])
    models = {"dropout": {10: MODELS["dropout"]}, "concrete": {10: concrete}}
    np.testing.assert_allclose(concentrate(models, X, samples=5).rates, [[0.25], [0.07]])


def test_every_name_needs_the_same_sizes():
    models = {"a": {10: MODELS["gp"]}, "b": {20: MODELS["gp"]}}
    with pytest.raises(ValueError, match="models: expected the same numbers of rows"):
        concentrate(models, X)
