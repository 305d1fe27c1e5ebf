"""The inference explorer: what it draws, and how it behaves while a training goes on.

Most tests train with a stand-in for the optimiser, which moves q(u₀) and takes no time to compile.
"""

import asyncio
import time

import numpy as np
import pytest

from etgp_viz.core.optimiser import TrainingError
from etgp_viz.datasets import toys
from etgp_viz.explorers import InferenceExplorer, background
from etgp_viz.explorers.inference import _worth_of_latent
from etgp_viz.records.inference import Contribution
from etgp_viz.records.live_training import LiveTraining
from tests.unit.explorers.test_explorers import _plain

pytestmark = pytest.mark.slow  # all together; see `make test-fast`


KIND = InferenceExplorer


@pytest.fixture
def explorer(shared):
    shared.start_over()
    shared.reset()
    return shared


@pytest.fixture
def quick(monkeypatch):
    """Steps that need no compiler."""

    def step(self, count=1):
        time.sleep(0.002)
        self.model.q_mu.assign_add(np.full(self.model.q_mu.shape, 0.01))
        self._measured.append((-100.0 + self.steps, 3.0, 0.5))
        self.history.append((1, self.learning_rate))

    monkeypatch.setattr(LiveTraining, "step", step)
    monkeypatch.setattr(background, "PAUSE", 0.02)


def drawn(explorer, figure, name):
    (trace,) = (trace for trace in explorer.figures[figure].data if trace.name == name)
    return trace


def shown(explorer, figure):
    return [t.name for t in explorer.figures[figure].data if t.visible is not False]


async def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


async def ended(explorer):
    await until(lambda: not explorer.is_training)


# What is drawn ------------------------------------------------------------------------------


def test_data_over_one_input_stand_in_a_row_for_each_class(explorer):
    toy = toys.waves(200, 3, noise=0.1, seed=0)
    for c in range(3):
        trace = drawn(explorer, "point", f"data of class {c + 1}")
        np.testing.assert_array_equal(trace.x, toy.X[toy.Y[:, 0] == c, 0])
        assert len(set(trace.y)) == 1
        assert trace.y[0] > 1.0
        np.testing.assert_allclose(
            drawn(explorer, "bayes", f"probability of class {c + 1}").y, 1 / 3
        )
    assert "probability of class 4" not in shown(explorer, "point")


def test_a_map_shows_the_likeliest_class_and_how_likely_it_is(explorer):
    explorer.set(data="spirals", num_classes=4)
    toy = toys.spirals(200, 4, noise=0.1, seed=0)
    trace = drawn(explorer, "point", "data of class 4")
    np.testing.assert_array_equal(np.column_stack([trace.x, trace.y]), toy.X[toy.Y[:, 0] == 3])
    weights = explorer._session.training.model.network.output.weights
    weights.assign(np.random.default_rng(0).normal(size=weights.shape))
    explorer._session.training._measured.append((0.0, 0.0, 0.0))
    explorer.set(samples=2)
    record = explorer.records["point"]
    z = np.asarray(drawn(explorer, "point", "likeliest class (from 0) + its strength").z)
    np.testing.assert_array_equal(np.floor(z), np.argmax(record.probabilities, axis=0))
    top = record.probabilities.max(axis=0)
    np.testing.assert_allclose((z % 1.0) / 0.999 * 0.75 + 0.25, top, atol=2e-3)
    layout = explorer.figures["point"].layout
    assert layout.yaxis.scaleanchor == "x"
    scale = layout.coloraxis.colorscale or explorer.figures["point"].data[0].colorscale
    assert len(scale) == 8


def test_inducing_points_lie_on_the_axis_or_in_the_plane(explorer):
    Z = explorer._session.training.model.inducing_variable.Z
    trace = drawn(explorer, "latent", "inducing points Z")
    np.testing.assert_array_equal(trace.x, Z.numpy()[:, 0])
    assert len(set(trace.y)) == 1
    explorer.set(data="moons")
    Z = explorer._session.training.model.inducing_variable.Z
    np.testing.assert_array_equal(np.column_stack([trace.x, trace.y]), Z.numpy())


def test_going_to_two_inputs_and_back_changes_nothing(explorer):
    before = explorer.table(), explorer.figures["point"].layout.yaxis.to_plotly_json()
    explorer.set(data="moons")
    assert explorer.table() != before[0]
    explorer.set(data="waves")
    assert explorer.table() == before[0]
    assert explorer.figures["point"].layout.yaxis.to_plotly_json() == before[1]
    assert explorer.figures["latent"].layout.yaxis.scaleanchor is False


def test_a_click_adds_a_point_of_the_chosen_class(explorer):
    explorer.set(data="spirals", paint=2)
    explorer.on_click("point", "xy", 3.21234, -0.5)
    explorer.on_click("elbo", "xy", 1.0, 1.0)
    assert explorer.state.added == (3.212, -0.5, 2)
    trace = drawn(explorer, "bayes", "data of class 2")
    assert (trace.x[-1], trace.y[-1]) == (3.212, -0.5)
    assert explorer.figures["point"].layout.xaxis.range[1] > 3.212
    assert "201 points" in explorer.summary
    explorer.controls["added"].undo.click()
    assert explorer.state.added == ()
    assert "200 points" in explorer.summary


def test_clicked_points_of_a_class_that_is_gone_are_left_out(explorer):
    explorer.set(num_classes=5, paint=5)
    explorer.on_click("point", "xy", 0.5, 0.3)
    assert len(explorer.records["point"].X) == 201
    explorer.set(num_classes=3)
    assert len(explorer.records["point"].X) == 200


def test_the_bars_show_what_is_lost_without_f0(explorer, quick):
    weights = explorer._session.training.model.network.output.weights
    weights.assign(np.random.default_rng(0).normal(size=weights.shape))
    explorer.play(steps=3)
    explorer.wait()
    record = explorer.records["contribution"]
    direct = explorer._session.training.model.latent_contribution(explorer._session.data)
    bars = drawn(explorer, "contribution", "log-likelihood lost")
    np.testing.assert_allclose(bars.x, [direct.lost_at_zero, direct.lost_at_mean], atol=5e-4)
    assert abs(direct.lost_at_zero) > 0.1
    numbers = drawn(explorer, "contribution", "in numbers").text
    assert numbers[0].strip() == f"{record.lost_at_zero:.3f} nats".replace("-", "−")
    layout = explorer.figures["contribution"].layout
    assert "nats per row" in layout.xaxis.title.text
    assert layout.xaxis.range[0] <= min(0.0, *bars.x)
    assert layout.xaxis.range[1] >= max(bars.x)
    assert "Without f₀ (set to 0) the model would" in explorer.summary


@pytest.mark.parametrize(
    ("lost", "at_mean", "words"),
    [
        (0.158, 0.001, "would lose 0.16 nats per row on these points: the GP matters. With f₀ at "
         "its mean it would lose hardly anything"),
        (0.03, 0.0, "would lose 0.03 nats per row on these points: the GP matters a little."),
        (0.3, 0.05, "the GP matters. With f₀ at its mean it would lose 0.05."),
        (0.014, 0.0, "would lose hardly anything on these points: the network does the work."),
        (-0.03, 0.0, "would gain 0.03 nats per row on these points: the network does the work."),
    ],
)  # fmt: skip
def test_a_student_reads_whether_the_gp_matters(lost, at_mean, words):
    sentence = _worth_of_latent(Contribution(-0.2, lost, at_mean))
    assert sentence.startswith("Without f₀ (set to 0) the model")
    assert words in sentence


@pytest.mark.parametrize("data", ["waves", "spirals"])
def test_looking_far_away_keeps_the_model(explorer, quick, data):
    explorer.set(data=data)
    explorer.play(steps=3)
    explorer.wait()
    near, model = explorer.records["latent"], explorer._session.training.model
    explorer.set(far=True)
    record, X = explorer.records["latent"], explorer.records["point"].X
    assert explorer._session.training.model is model
    assert explorer.steps == 3
    reach = np.ptp(X[:, 0])
    assert record.window.x[0] == pytest.approx(X[:, 0].min() - 1.5 * reach)
    assert explorer.figures["bayes"].layout.xaxis.range[1] == pytest.approx(record.window.x[-1])
    p = explorer.records["point"].confidence_at_edge
    assert f"still has probability {p:.2f} by PE" in explorer.summary
    if data == "waves":
        upper = drawn(explorer, "latent", "prior of f₀, +2 sd")
        np.testing.assert_allclose(upper.y, 2.0)
        ends = np.asarray(drawn(explorer, "latent", "q(f₀), mean ± 2 sd").y)[[0, -1]]
        np.testing.assert_allclose(ends, [-2.0, 2.0], atol=0.1)
    explorer.set(far=False)
    np.testing.assert_array_equal(explorer.records["latent"].mean, near.mean)
    assert "far from the data" not in explorer.summary


def test_a_model_can_be_kept_from_refining(explorer):
    assert explorer._session.training.model.quadrature_tolerance is not None
    explorer.set(refine=False)
    assert explorer._session.training.model.quadrature_tolerance is None


# How it behaves -----------------------------------------------------------------------------


def test_training_goes_on_in_the_background_and_the_page_answers(explorer, quick):
    async def main():
        explorer.play()
        assert explorer.is_training
        assert "compiling" in explorer._page._title.value
        await until(lambda: explorer.steps > 3)
        assert f"step {explorer.steps}" in explorer._page._title.value
        # View: shown with the next look. Learning rate: at once, and the training goes on.
        explorer.controls["samples"].value = 3
        explorer.controls["learning_rate"].value = 0.1
        await until(lambda: explorer.records["bayes"].samples == 3)
        await until(lambda: explorer._snapshot.history[-1] == (1, pytest.approx(0.1)))
        explorer.pause()
        await ended(explorer)
        held = explorer.steps
        explorer.step()
        await ended(explorer)
        assert explorer.steps == held + 1

    asyncio.run(main())
    curve = explorer.records["elbo"]
    np.testing.assert_array_equal(drawn(explorer, "elbo", "ELBO").y, curve.elbo)
    np.testing.assert_allclose(curve.expected, curve.elbo + 3.5)
    assert f"After {explorer.steps} steps the ELBO is {curve.elbo[-1]:.1f}" in explorer.summary
    inputs = explorer.records["latent"].window.inputs
    mean = explorer._session.training.model.predict_latent(inputs)[0]
    np.testing.assert_allclose(drawn(explorer, "latent", "mean of q(f₀)").y, mean.numpy()[:, 0])


def test_a_change_of_the_model_leaves_the_training_behind(explorer, quick):
    async def main():
        explorer.play()
        await until(lambda: explorer.steps > 3)
        old = explorer._worker
        explorer.controls["num_inducing"].value = 7
        assert not explorer.is_training
        assert explorer.steps == 0
        assert "before training" in explorer._page._title.value
        old.join(10.0)
        await asyncio.sleep(0.05)
        assert explorer.steps == 0
        assert len(explorer.records["latent"].Z) == 7

    asyncio.run(main())


def test_a_click_while_training_begins_again_with_the_new_point(explorer, quick):
    async def main():
        explorer.play()
        await until(lambda: explorer.steps > 3)
        explorer._on_message({"click": "point", "panel": "xy", "x": 0.1, "y": 0.2})
        assert explorer.is_training
        await until(lambda: explorer.steps > 0)
        assert len(explorer.records["point"].X) == 201
        explorer.pause()
        await ended(explorer)

    asyncio.run(main())


def test_a_new_explorer_stops_the_training_of_an_older_one(explorer, quick):
    async def main():
        explorer.play()
        await until(lambda: explorer.steps > 3)
        InferenceExplorer()
        await ended(explorer)

    asyncio.run(main())


def test_stop_keeps_the_best_parameters(explorer, quick, monkeypatch):
    kept = []
    monkeypatch.setattr(LiveTraining, "keep_best", lambda self: kept.append(self.steps))

    async def main():
        explorer.play()
        await until(lambda: explorer.steps > 1)
        explorer.stop()
        await ended(explorer)

    asyncio.run(main())
    assert kept == [explorer.steps]
    explorer.stop()
    assert kept == [explorer.steps] * 2


def test_start_over_forgets_what_was_learnt(explorer, quick):
    before = explorer.table()
    explorer.play(steps=4)
    explorer.wait()
    assert explorer.steps == 4
    assert explorer.table() != before
    explorer.start_over()
    assert explorer.steps == 0
    assert explorer.table() == before


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            TrainingError("long story", ".q_mu"),
            "diverged after 0 steps because of .q_mu: choose a smaller learning rate",
        ),
        (MemoryError("no room\nat all"), "Training ended after 0 steps: no room"),
    ],
)
def test_an_error_in_the_thread_is_one_sentence_on_the_page(explorer, monkeypatch, error, words):
    def step(self, count=1):
        raise error

    monkeypatch.setattr(LiveTraining, "step", step)
    before = explorer.table()
    explorer.play()
    explorer.wait()
    assert "role='alert'" in explorer._page.message
    assert words in explorer._page.message
    assert "at all" not in explorer._page.message
    assert explorer.table() == before
    assert not explorer.is_training


@pytest.mark.slow
def test_code_repeats_a_training(explorer, monkeypatch):
    explorer.set(num_data=60, num_inducing=5, hidden=5, batch_size=16, data="spirals", noise=0.2)
    explorer.on_click("point", "xy", 2.5, 0.0)
    explorer.play(steps=7)
    explorer.wait()
    explorer.controls["learning_rate"].value = 0.05
    explorer.play(steps=3)
    explorer.wait()
    explorer.stop()
    assert explorer._snapshot.history == ((7, 0.02), (3, pytest.approx(0.05)), (0, 0.0))
    monkeypatch.setattr("plotly.graph_objects.Figure.show", lambda self: None)
    space = {}
    exec(compile(explorer.to_code(), "script", "exec"), space)
    for name, record in explorer.records.items():
        expected, found = _plain(record), _plain(space["records"][name])
        assert found.keys() == expected.keys()
        for field, value in expected.items():
            if isinstance(value, str):
                assert found[field] == value
            else:
                np.testing.assert_allclose(found[field], value, rtol=1e-6, atol=1e-7)
    assert explorer.records["elbo"].steps[-1] == 9
