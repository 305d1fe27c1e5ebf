"""Training step by step does what `fit` does, and records what it did."""

import numpy as np
import pytest

from etgp_viz import build, fit
from etgp_viz.datasets import toys
from etgp_viz.records.live_training import POINTS, TRAIL_LENGTH, LiveTraining

TOY = toys.waves(60, 3)
DATA = TOY.X, TOY.Y


def new_model(**options):
    return build("etgp-linear", TOY.X, 3, inducing_points=TOY.X[:5], hidden=(4,), **options)


class Stub:
    """An optimiser with given ELBOs that records how it was called."""

    learning_rate = 0.0

    def __init__(self, elbos):
        self.elbos, self.moves, self.restored = iter(elbos), 0, None

    def step(self, rows):
        self.moves += 1
        self.last_good = self.moves
        return next(self.elbos)

    def restore(self, values):
        self.restored = values


def stubbed(elbos, **options):
    training = LiveTraining(new_model(), DATA, **options)
    training.__dict__ |= {"_optimiser": Stub(elbos), "_penalties": lambda: (2.0, 0.5)}
    return training


def test_the_parts_add_up_and_long_curves_are_thinned():
    training = stubbed(np.arange(1000.0))
    assert len(training.curve().steps) == 0
    training.step(1000)
    curve = training.curve()
    assert POINTS / 2 < len(curve.steps) <= POINTS + 1
    assert curve.steps[-1] == 999
    np.testing.assert_array_equal(curve.elbo, curve.steps)
    np.testing.assert_array_equal(curve.expected - curve.kl - curve.penalty, curve.elbo)
    assert set(curve.kl) == {2.0}


def test_the_history_tells_how_to_do_it_again():
    training = stubbed(np.arange(100.0), learning_rate=0.1)
    training.step(3)
    training.step()
    training.learning_rate = 0.2
    training.step(2)
    assert training._optimiser.learning_rate == 0.2
    training.keep_best()
    training.step()
    assert training.history == [(4, 0.1), (2, 0.2), (0, 0.0), (1, 0.2)]


def test_the_best_epoch_counts_and_not_the_best_step():
    # Two steps an epoch; the means are 5, 7 and 6, and the best single step is in the last.
    training = stubbed([4.0, 6.0, 7.0, 7.0, 0.0, 12.0], batch_size=30)
    training.step(6)
    training.keep_best()
    assert training._optimiser.restored == 4


def test_nothing_to_keep_before_the_first_epoch():
    training = stubbed([])
    training.keep_best()
    assert training.history == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 61}, "batch_size: expected"),
        ({"learning_rate": 0.0}, "learning_rate: expected"),
        ({"seed": -1}, "seed: expected"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        LiveTraining(new_model(), DATA, **options)


@pytest.mark.slow
def test_it_is_the_training_of_fit():
    by_fit, live = new_model(dropout=0.3), new_model(dropout=0.3)
    settings = {"learning_rate": 0.05, "batch_size": 20, "seed": 3}
    result = fit(by_fit, DATA, epochs=4, progress=False, **settings)
    training = LiveTraining(live, DATA, **settings)
    training.step(12)
    training.keep_best()
    elbos = training.curve().elbo.reshape(4, 3).mean(axis=1)
    np.testing.assert_allclose(elbos, result.elbo, rtol=1e-9)
    np.testing.assert_allclose(live.q_mu.numpy(), by_fit.q_mu.numpy(), rtol=1e-9)


@pytest.mark.slow
def test_the_expected_log_likelihood_is_that_of_the_model():
    model = new_model(dropout=0.0)
    expected = np.sum(model.variational_expectations(*DATA))
    kl, penalty = float(model.prior_kl()), float(model.network.prior_penalty())
    training = LiveTraining(model, DATA)
    training.step()
    curve = training.curve()
    assert curve.expected[0] == pytest.approx(expected, rel=1e-9)
    assert (curve.kl[0], curve.penalty[0]) == pytest.approx((kl, penalty))


# Data that change -----------------------------------------------------------------------------

MORE = np.vstack([TOY.X, [[0.3], [-1.2]]]), np.vstack([TOY.Y, [[0], [2]]])


def growing(model=None, **options):
    options = {"learning_rate": 0.05, "capacity": 70, **options}
    return LiveTraining(model or new_model(dropout=0.3), DATA, **options)


@pytest.fixture(scope="module")
def grown():
    """A training of ten steps, then of ten with two more rows; and what it was in between."""
    training = growing()
    training.step(10)
    saved, before = training.save(), training.model.q_mu.numpy()
    training.replace_data(MORE)
    kept = training.model.q_mu.numpy()
    training.step(10)
    return training, saved, before, kept


@pytest.mark.slow
def test_rows_up_to_the_capacity_count_for_nothing(grown):
    plain = LiveTraining(new_model(dropout=0.3), DATA, learning_rate=0.05)
    plain.step(10)
    np.testing.assert_allclose(grown[0].curve().elbo[:10], plain.curve().elbo, rtol=1e-6)


@pytest.mark.slow
def test_more_rows_keep_the_parameters_and_the_compiled_step(grown):
    training, _, before, kept = grown
    np.testing.assert_array_equal(kept, before)
    assert len(training._optimiser._compiled) == 1
    assert training.steps == 20
    assert training.history == [(10, 0.05), (10, 0.05)]
    training.model.network.dropout = 0.0
    rows = MORE[0], MORE[1]
    expected = float(training.model.elbo(rows, samples=None))
    training._load()
    batch = training._optimiser._batch(None)
    found = float(training.model.elbo(batch[:2], samples=None, weights=batch[2]))
    training.model.network.dropout = 0.3
    # The model's `num_data` of 60 stands for all rows; weights count each row once.
    scaled = expected + float(training.model.prior_kl() + training.model.network.prior_penalty())
    scaled *= 62 / 60
    scaled -= float(training.model.prior_kl() + training.model.network.prior_penalty())
    assert found == pytest.approx(scaled, rel=1e-6)


@pytest.mark.slow
def test_a_training_returns_to_an_earlier_moment(grown):
    training, saved, before, _ = grown
    then = training.curve(), training.trail(), training.save()
    training.restore(saved)
    assert (training.steps, len(training.data[0])) == (10, 60)
    np.testing.assert_array_equal(training.model.q_mu.numpy(), before)
    training.replace_data(MORE)
    training.step(10)
    np.testing.assert_allclose(training.curve().elbo, then[0].elbo, rtol=1e-9)
    np.testing.assert_allclose(training.trail(), then[1], rtol=1e-9)
    assert training.history == list(then[2].history)
    assert len(training._optimiser._compiled) == 1


@pytest.mark.slow
def test_a_new_training_takes_over_the_compiled_step(grown):
    training, saved, *_ = grown
    fresh = training.restarted(new_model(dropout=0.3), DATA, learning_rate=0.05)
    assert (fresh.steps, fresh.history) == (0, [])
    fresh.step(10)
    np.testing.assert_allclose([elbo for elbo, *_ in saved.measured], fresh.curve().elbo, rtol=1e-9)
    assert len(training._optimiser._compiled) == 1


@pytest.mark.slow
def test_mini_batches_of_growing_data_are_those_of_fit():
    settings = {"batch_size": 20, "seed": 3}
    by_fit = new_model(dropout=0.3)
    result = fit(by_fit, DATA, epochs=3, progress=False, learning_rate=0.05, **settings)
    training = growing(**settings)
    training.step(9)
    elbos = training.curve().elbo.reshape(3, 3).mean(axis=1)
    np.testing.assert_allclose(elbos, result.elbo, rtol=1e-6)
    training.replace_data(MORE)
    training.step(4)  # 62 rows are three batches, and the rest waits for the next epoch
    assert len(training._optimiser._compiled) == 1


def test_the_trail_of_the_inducing_points_is_where_they_were():
    training = stubbed(np.arange(1000.0))
    assert training.trail().shape == (0, 5, 1)
    training.step(11)
    np.testing.assert_array_equal(training.trail(), [TOY.X[:5]] * 3)
    training.step(900)
    assert len(training.trail()) == TRAIL_LENGTH


@pytest.mark.parametrize(
    ("capacity", "message"), [(None, "capacity: expected"), (61, "data: expected")]
)
def test_rows_without_room(capacity, message):
    training = LiveTraining(new_model(), DATA, capacity=capacity)
    with pytest.raises(ValueError, match=message):
        training.replace_data(MORE)
    assert len(training.data[0]) == 60
