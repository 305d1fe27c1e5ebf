"""What a model believes: against its own compiled predictions, closed forms and plain loops."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_softmax

from etgp_viz import build
from etgp_viz.core.flows import Flow
from etgp_viz.datasets import toys
from etgp_viz.records import inference as inference_records
from etgp_viz.records.glance import BLOCK, Glance

NO_POINTS = np.empty((0, 2)), np.empty((0, 0, 2))


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
    model.quadrature_tolerance = None  # which rows are refined depends on their neighbours
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


@pytest.mark.parametrize("name", ["waves", "moons"])
def test_a_glance_shows_what_a_look_shows(name):
    toy = toys.TOYS[name](40, 3)
    model = disturbed("linear", toy)
    where, data = inference_records.window(toy.X), (toy.X, toy.Y)
    beliefs = inference_records.look(model, where, data, samples=4)
    glance = Glance(model)
    latent, point = glance(where, data, beliefs.latent.cut, np.ones((2, *beliefs.point.Z.shape)))
    for field in ("mean", "deviation", "prior", "Z"):
        expected = getattr(beliefs.latent, field)
        np.testing.assert_allclose(getattr(latent, field), expected, atol=1e-9)
    np.testing.assert_allclose(point.probabilities, beliefs.point.probabilities, atol=0.05)
    assert np.mean(np.abs(point.probabilities - beliefs.point.probabilities)) < 0.005
    assert point.accuracy == pytest.approx(beliefs.point.accuracy, abs=0.03)
    assert point.is_glance
    assert point.trail.shape == (2, *point.Z.shape)
    bayes = glance.bayes(where, data, 4)
    difference = np.abs(bayes.probabilities - beliefs.bayes.probabilities)
    assert np.mean(difference) < 0.01
    assert bayes.samples == 4


@pytest.fixture
def evaluated(monkeypatch):
    """The number of values that each evaluation of a flow computes, in order."""
    sizes = []

    def forward(self, f, params):
        values = original(self, f, params)
        sizes.append(np.prod(values.shape))
        return values

    original = Flow.forward
    monkeypatch.setattr(Flow, "forward", forward)
    return sizes


def test_no_large_array_is_made_for_any_number_of_classes_and_nodes(evaluated):
    """One change took 3 GB and half a minute, and TensorFlow did not give the memory back."""
    toy = toys.moons(60, 8)
    model = disturbed("tanh", toy, 8, num_quadrature=40)
    where, data = inference_records.window(toy.X), (toy.X, toy.Y)
    inference_records.look(model, where, data, samples=1)
    inference_records.node_errors(model, data)
    most = inference_records.PER_CHUNK / model.network.flow.num_params
    assert most / 2 < max(evaluated) <= most
    evaluated.clear()
    Glance(model)(where, data, 0.0)
    Glance(model).bayes(where, data, samples=4)
    assert max(evaluated) == BLOCK * 2 * 40 * 8


def test_before_training_no_flow_is_needed_for_probabilities(evaluated):
    toy = toys.moons(60, 3)
    model, where = new_model("tanh", toy), inference_records.window(toy.X)
    beliefs = inference_records.look(model, where, (toy.X, toy.Y))
    np.testing.assert_array_equal(beliefs.point.probabilities, 1.0 / 3.0)
    np.testing.assert_array_equal(beliefs.bayes.probabilities, 1.0 / 3.0)
    assert evaluated == [len(where.x) * 3 * 3]  # three quantiles along the cut


def test_points_inside_a_window_do_not_move_it():
    X = toys.moons(100, 3).X
    where = inference_records.window(X)
    inside, outside = np.array([[where.x[1], where.y[1]]]), np.array([[where.x[-1] + 1.0, 0.0]])
    same = inference_records.window(X, beside=inside)
    np.testing.assert_array_equal(same.inputs, where.inputs)
    assert inference_records.window(X, beside=outside).x[-1] > where.x[-1] + 1.0


def test_errors_of_quadrature_and_of_monte_carlo():
    """Root mean squares over rows, against adaptive integration, row by row."""
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
    error = np.sqrt(np.mean(np.subtract(by_two, exact) ** 2))
    assert record.quadrature[list(record.nodes).index(2)] == pytest.approx(error, rel=1e-5)
    assert record.quadrature[-1] < 1e-3 * error
    np.testing.assert_allclose(
        record.standard_error, np.sqrt(np.mean(variance) / record.draws), rtol=1e-5
    )
    assert np.all(record.monte_carlo < 4.0 * record.standard_error)
    assert np.all(record.monte_carlo > 1e-3 * record.standard_error)
    assert record.used == 7


@pytest.mark.parametrize("tolerance", [None, 5e-3])
def test_too_few_nodes_are_refined_unless_that_is_switched_off(tolerance):
    """Against the trapezium rule with a thousand points."""
    toy = toys.waves(40, 3)
    model = disturbed("tanh", toy, num_quadrature=2)
    model.q_sqrt.assign(10.0 * model.q_sqrt)
    model.quadrature_tolerance = tolerance
    where, data = inference_records.window(toy.X), (toy.X, toy.Y)
    record = inference_records.look(model, where, data, samples=2).point
    z = np.linspace(-9.0, 9.0, 1001)
    density = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    F = inference_records.processes_at(model, where.inputs, z[None])
    exact = np.einsum("nkc,k->cn", np.exp(log_softmax(F, axis=-1)), density)
    error = np.max(np.abs(record.probabilities - exact))
    assert error < 2.0 * tolerance if tolerance else error > 0.1


def test_what_f0_contributes_is_measured_row_by_row():
    """f₀ integrated out, at its mean and at 0, with linear flows written out."""
    toy = toys.waves(30, 3)
    model = disturbed("linear", toy)
    record = inference_records.contribution(model, (toy.X, toy.Y))
    mean, variance = (moment.numpy()[:, 0] for moment in model.predict_latent(toy.X))
    z = np.linspace(-9.0, 9.0, 1001)
    density = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    rows = []
    for mu, v, theta, y in zip(
        mean, variance, model.network(toy.X).numpy(), toy.Y[:, 0], strict=True
    ):
        f0 = np.array([*(mu + np.sqrt(v) * z), mu, 0.0])
        log_p = log_softmax(np.outer(f0, theta[:, 0]) + theta[:, 1], axis=1)[:, y]
        rows.append((np.log(np.exp(log_p[:-2]) @ density), *log_p[-2:]))
    predicted, at_mean, at_zero = np.mean(rows, axis=0)
    assert record.log_likelihood == pytest.approx(predicted, abs=1e-4)
    assert record.lost_at_mean == pytest.approx(predicted - at_mean, abs=1e-4)
    assert record.lost_at_zero == pytest.approx(predicted - at_zero, abs=1e-4)
    assert abs(record.lost_at_zero) > 0.05


def test_a_latent_that_all_classes_follow_alike_contributes_nothing():
    """Equal slopes: softmax cancels what all classes share, so the network does all the work."""
    toy = toys.waves(30, 3)
    model = disturbed("linear", toy)
    bias = model.network.output.bias
    bias.assign(np.repeat([1.0, 0.0], 3))
    weights = model.network.output.weights.numpy()
    weights[:, :3] = 0.0  # slopes
    model.network.output.weights.assign(weights)
    record = inference_records.contribution(model, (toy.X, toy.Y))
    assert record.lost_at_zero == pytest.approx(0.0, abs=1e-9)
    assert record.lost_at_mean == pytest.approx(0.0, abs=1e-9)
    assert record.log_likelihood < -0.1


@pytest.mark.parametrize("name", ["waves", "moons"])
def test_far_away_f0_returns_to_its_prior_and_probabilities_do_not_return(name):
    """The parameters of the flows saturate with the hidden layer, at whatever they are there."""
    toy = toys.TOYS[name](40, 3)
    model = disturbed("linear", toy)
    model.kernel.variance.assign(2.0)
    near, far = (
        inference_records.look(model, where, (toy.X, toy.Y), samples=2)
        for where in (inference_records.window(toy.X), inference_records.window(toy.X, 4.0))
    )
    np.testing.assert_allclose(far.latent.prior, np.sqrt(2.0))
    assert far.latent.return_to_prior == pytest.approx(1.0, abs=1e-3)
    assert near.latent.return_to_prior < 0.9
    edges = far.point.probabilities[:, :1] if name == "waves" else far.point.probabilities[:, 0]
    assert far.point.confidence_at_edge > 0.4
    assert np.max(edges) < 1.0


def test_the_edge_of_a_window_is_all_around_it():
    toy = toys.moons(10, 3)
    where = inference_records.Window(np.arange(3.0), np.arange(2.0))
    p = np.array([[[1.0, 0.5, 1.0], [0.5, 1.0, 0.5]], [[0.0, 0.5, 0.0], [0.5, 0.0, 0.5]]])
    record = inference_records.Classes(where, p, toy.X, toy.Y, 0, 0.0, *NO_POINTS)
    assert record.confidence_at_edge == pytest.approx(0.75)
    line = inference_records.Classes(
        inference_records.Window(np.arange(3.0), None), p[:, 0], toy.X, toy.Y, 0, 0.0, *NO_POINTS
    )
    assert line.confidence_at_edge == 1.0
