"""What a model believes: against its own compiled predictions, closed forms and plain loops."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_softmax

from etgp_viz import build
from etgp_viz.datasets import toys
from etgp_viz.records import inference as inference_records


def new_model(flow, data, C=3, **options):
    return build(
        f"etgp-{flow}", data.X, C, inducing_points=data.X[:8], hidden=(6,), dropout=0.3, **options
    )


def disturbed(flow, data, C=3, **options):
    """A model whose q and flows are somewhere, as after some training."""
    model, rng = new_model(flow, data, C, **options), np.random.default_rng(1)
    model.q_mu.assign(rng.normal(size=model.q_mu.shape))
    model.q_sqrt.assign(0.3 * np.tril(rng.normal(size=model.q_sqrt.shape)))
    weights = model.network.output.weights
    weights.assign(rng.normal(size=weights.shape))
    return model


@pytest.fixture(scope="module", params=["waves", "moons"])
def seen(request):
    toy = toys.TOYS[request.param](40, 3)
    model = disturbed("tanh", toy)
    where = inference_records.window(toy.X)
    data = toy.X, toy.Y
    return model, data, inference_records.look(model, where, data, cut=0.3, samples=4, seed=2)


@pytest.mark.slow
def test_probabilities_are_those_of_the_compiled_prediction(seen):
    model, (X, Y), beliefs = seen
    rows = np.concatenate([beliefs.point.window.inputs, X])
    G = len(rows) - len(X)
    for record, samples in ((beliefs.point, None), (beliefs.bayes, 4)):
        expected = model.predict_y(rows, samples, 2)[0].numpy()
        np.testing.assert_allclose(record.probabilities.reshape(3, -1).T, expected[:G], atol=1e-10)
        right = sum(int(np.argmax(p) == y) for p, y in zip(expected[G:], Y[:, 0], strict=True))
        assert record.accuracy == pytest.approx(right / len(X))


def test_the_map_is_the_right_way_round(seen):
    model, _, beliefs = seen
    record = beliefs.latent
    where = record.window
    i, j = 5, 1
    at = [[where.x[i]]] if where.y is None else [[where.x[i], where.y[j]]]
    mean, variance = (float(moment[0, 0]) for moment in model.predict_latent(np.array(at)))
    place = i if where.y is None else (j, i)
    assert record.mean[place] == pytest.approx(mean)
    assert record.deviation[place] == pytest.approx(np.sqrt(variance))


def test_quantiles_of_linear_flows_are_gaussian():
    """f^c ~ N(aµ + b, a²σ²), also where a is negative."""
    toy = toys.moons(40, 3)
    model = disturbed("linear", toy)
    where = inference_records.window(toy.X)
    record = inference_records.look(model, where, (toy.X, toy.Y), cut=0.3).warped
    line = np.column_stack([where.x, np.full(len(where.x), 0.3)])
    mean, variance = (moment.numpy() for moment in model.predict_latent(line))
    a, b = np.moveaxis(model.network(line).numpy(), -1, 0)  # [G, C]
    assert np.any(a < 0.0)
    np.testing.assert_allclose(record.median, (a * mean + b).T)
    reach = 1.959963984540054 * np.abs(a) * np.sqrt(variance)
    np.testing.assert_allclose(record.band, [(a * mean + b - reach).T, (a * mean + b + reach).T])


def test_the_cut_alone_gives_the_same_as_a_whole_look(seen):
    model, _, beliefs = seen
    alone, whole = inference_records.warped(model, beliefs.latent.window, 0.3), beliefs.warped
    np.testing.assert_allclose(alone.median, whole.median, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(alone.band, whole.band, rtol=1e-9, atol=1e-12)
    assert alone.cut == whole.cut


@pytest.mark.parametrize("flow", ["linear", "sal", "tanh"])
def test_before_training_all_classes_are_equally_likely(flow):
    toy = toys.waves(40, 4)
    where, data = inference_records.window(toy.X), (toy.X, toy.Y)
    beliefs = inference_records.look(new_model(flow, toy, 4), where, data, samples=3)
    for record, samples in ((beliefs.point, 0), (beliefs.bayes, 3)):
        expected = inference_records.undecided(where, data, 4, samples)
        np.testing.assert_allclose(record.probabilities, 0.25, atol=1e-12)
        np.testing.assert_array_equal(expected.probabilities, 0.25)
        assert (record.samples, record.accuracy) == (expected.samples, expected.accuracy)


def test_a_window_holds_the_data_in_square_cells():
    X = toys.moons(100, 6).X
    where = inference_records.window(X)
    assert where.x[0] < X[:, 0].min() < X[:, 0].max() < where.x[-1]
    assert where.y[0] < X[:, 1].min() < X[:, 1].max() < where.y[-1]
    assert len(where.x) == inference_records.CELLS > len(where.y)
    assert np.diff(where.x)[0] == pytest.approx(np.diff(where.y)[0], rel=0.15)
    np.testing.assert_array_equal(
        where.inputs.reshape(*where.shape, 2)[2, 7], [where.x[7], where.y[2]]
    )


def test_strength_and_uncertainty_go_from_one_extreme_to_the_other():
    p = np.array([[1 / 3, 1.0, 0.5], [1 / 3, 0.0, 0.5], [1 / 3, 0.0, 0.0]])
    toy = toys.waves(10, 3)
    record = inference_records.Classes(
        inference_records.Window(np.arange(3.0), None), p, toy.X, toy.Y, 0, 0.0
    )
    np.testing.assert_allclose(record.strength, [0.0, 1.0, 0.25], atol=1e-12)
    np.testing.assert_allclose(record.uncertainty, [1.0, 0.0, np.log(2) / np.log(3)], atol=1e-12)
    assert record.winner[1] == 0


def test_errors_of_quadrature_and_of_monte_carlo():
    """Against adaptive integration, row by row."""
    toy = toys.waves(6, 3)
    model = disturbed("linear", toy, num_quadrature=7)
    record = inference_records.node_errors(model, (toy.X, toy.Y), seed=3)
    moments = (moment.numpy()[:, 0] for moment in model.predict_latent(toy.X))
    exact, variance, by_two = [], [], []
    for mu, v, params, y in zip(*moments, model.network(toy.X).numpy(), toy.Y[:, 0], strict=True):

        def log_p(z, mu=mu, v=v, a=params[:, 0], b=params[:, 1], y=y):
            return log_softmax(a * (mu + np.sqrt(v) * z) + b)[y]

        def mean(power, log_p=log_p):
            def weighted(z):
                return log_p(z) ** power * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)

            return quad(weighted, -9.0, 9.0, epsabs=1e-9, limit=60)[0]

        exact.append(mean(1))
        variance.append(mean(2) - exact[-1] ** 2)
        by_two.append(0.5 * (log_p(-1.0) + log_p(1.0)))  # the two nodes of Gauss and Hermite
    error = abs(np.mean(by_two) - np.mean(exact))
    assert record.quadrature[list(record.nodes).index(2)] == pytest.approx(error, rel=1e-5)
    assert record.quadrature[-1] < 1e-3 * error
    np.testing.assert_allclose(
        record.standard_error, np.sqrt(np.sum(variance)) / 6 / np.sqrt(record.draws), rtol=1e-5
    )
    assert np.all(record.monte_carlo < 4.0 * record.standard_error)
    assert np.all(record.monte_carlo > 1e-3 * record.standard_error)
    assert record.used == 7
