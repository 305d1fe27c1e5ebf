"""The inference explorer: what it draws, and how it behaves while a training goes on.

Most tests train with a stand-in for the optimiser, which moves q(u₀) and takes no time to compile.
"""

import asyncio
import time

import numpy as np
import pytest

from etgp_viz.core.optimiser import TrainingError
from etgp_viz.datasets import toys
from etgp_viz.explorers import InferenceExplorer, inference
from etgp_viz.explorers.inference_sentences import worth_of_latent
from etgp_viz.records.inference import Contribution
from etgp_viz.records.live_training import LiveTraining
from tests.unit.explorers.test_explorers import _plain

pytestmark = pytest.mark.slow  # all together; see `make test-fast`


KIND = InferenceExplorer


ON_A_LINE = {"data": "waves", "num_data": 200, "num_inducing": 15, "learning_rate": 0.02}


@pytest.fixture
def explorer(shared):
    """Three waves along a line, before training."""
    shared.reset()
    shared.set(**ON_A_LINE)
    shared.start_over()
    forget(shared)
    return shared


def forget(explorer):
    """Nothing is left to undo."""
    explorer._past.clear()
    explorer._undo.disabled = True


@pytest.fixture
def quick(monkeypatch):
    """Steps that need no compiler."""

    def step(self, count=1):
        time.sleep(0.002)
        if not self.steps:
            self.model.q_mu.assign(np.zeros(self.model.q_mu.shape))
        self.model.q_mu.assign_add(np.full(self.model.q_mu.shape, 0.01))
        self._measured.append((-100.0 + self.steps, 3.0, 0.5))
        self._record_step()

    monkeypatch.setattr(LiveTraining, "step", step)
    monkeypatch.setattr(LiveTraining, "is_compiled", property(lambda self: self.steps > 0))
    monkeypatch.setattr(inference, "PAUSE", 0.02)


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
    under_the_mouse = drawn(explorer, "point", "probability of the likeliest class")
    winner = np.argmax(record.probabilities, axis=0)
    np.testing.assert_array_equal(np.array(under_the_mouse.text, dtype=int), winner + 1)
    top = record.probabilities.max(axis=0)
    np.testing.assert_allclose(under_the_mouse.z, top, atol=6e-4)
    layout = explorer.figures["point"].layout
    assert layout.yaxis.scaleanchor == "x"
    assert layout.images[0].source.startswith("data:image/png;base64,")
    assert layout.images[0].visible


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
    explorer.controls["added"].clear.click()
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
    weights.assign(np.random.default_rng(0).normal(scale=2.0, size=weights.shape))
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
    sentence = worth_of_latent(Contribution(-0.2, lost, at_mean))
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
        await until(lambda: explorer._snapshot.saved.history[-1][1] == pytest.approx(0.1))
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
    elbo = f"{curve.elbo[-1]:.1f}".replace("-", "−")
    assert f"After {explorer.steps} steps the ELBO is {elbo}" in explorer.summary
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


# Nothing that was learnt is lost ------------------------------------------------------------


def learnt(explorer):
    """What the steps of `quick` have added to the first entry, which begins at 0, in steps."""
    return explorer._session.training.model.q_mu.numpy()[0, 0] / 0.01


def test_it_opens_on_spirals_partly_trained():
    explorer = InferenceExplorer()
    assert explorer.state.data == "spirals"
    assert explorer.steps == 60
    record = explorer.records["point"]
    assert 0.7 < record.accuracy < 0.95
    # What is shown is what the model computes.
    model = explorer._session.training.model
    rows = record.window.inputs[::97]
    expected = model.predict_y(rows)[0].numpy().T
    found = record.probabilities.reshape(3, -1)[:, ::97]
    np.testing.assert_allclose(found, expected, atol=0.011)
    elbo = model.elbo(explorer._session.data, samples=None)
    assert float(elbo) == pytest.approx(explorer.records["elbo"].elbo[-1], rel=0.15)
    assert len(record.trail) == 12
    explorer.start_over()
    assert explorer.steps == 0
    explorer.undo()
    assert explorer.steps == 60


def test_a_click_while_training_joins_it(explorer, quick):
    async def main():
        explorer.play()
        await until(lambda: explorer.steps > 10)
        before, session, model = explorer.steps, explorer._session, explorer._session.training.model
        explorer._on_message({"click": "point", "panel": "xy", "x": 0.1, "y": 0.2})
        assert explorer.is_training
        assert explorer._toggle.pressed
        await until(lambda: len(explorer.records["point"].X) == 201)
        assert explorer.steps >= before
        assert explorer._session is session
        assert explorer._session.training.model is model
        assert learnt(explorer) >= before
        explorer.controls["paint"].value = 2  # a swatch changes nothing else
        await until(lambda: explorer.steps > before + 5)
        explorer.pause()
        await ended(explorer)
        assert not explorer._toggle.pressed

    asyncio.run(main())


def test_a_click_on_a_paused_model_keeps_what_it_has_learnt(explorer, quick):
    explorer.play(steps=7)
    explorer.wait()
    before = learnt(explorer)
    explorer.on_click("point", "xy", 0.1, 0.2)
    assert (explorer.steps, learnt(explorer)) == (7, before)
    assert len(explorer.records["point"].X) == 201
    assert explorer.records["elbo"].steps[-1] == 6
    explorer.play(steps=2)
    explorer.wait()
    assert explorer.steps == 9


def test_undo_takes_back_points_and_training(explorer, quick):
    assert explorer._undo.disabled
    explorer.play(steps=5)
    explorer.wait()
    explorer.on_click("point", "xy", 0.1, 0.2)
    explorer.play(steps=4)
    explorer.wait()
    explorer.start_over()
    explorer.controls["num_inducing"].value = 9
    found = []
    while not explorer._undo.disabled:
        explorer._undo.click()
        Z = explorer.records["latent"].Z
        found.append((explorer.steps, len(explorer.state.added) // 3, len(Z)))
        assert explorer._session.training.steps == explorer.steps
        if explorer.steps:
            assert learnt(explorer) == pytest.approx(explorer.steps)
        assert len(explorer._session.data[0]) == len(explorer.records["point"].X)
    assert found == [(0, 1, 15), (9, 1, 15), (5, 1, 15), (5, 0, 15), (0, 0, 15)]


def test_undo_while_training_goes_on_from_there(explorer, quick):
    async def main():
        explorer.play()
        await until(lambda: explorer.steps > 5)
        explorer.on_click("point", "xy", 0.1, 0.2)
        await until(lambda: explorer.steps > 60)
        explorer.undo()
        assert explorer.is_training
        assert explorer.steps < 60
        await until(lambda: len(explorer.records["point"].X) == 200)
        assert explorer.state.added == ()
        explorer.pause()
        await ended(explorer)

    asyncio.run(main())


def test_one_stroke_is_one_change(explorer, quick):
    explorer.set(data="spirals", paint=3)
    forget(explorer)
    for k in range(4):
        explorer._on_stroke({"brush": "point", "begins": k == 0, "x": 0.1 * k, "y": 0.5})
    explorer._on_stroke({"ends": True})
    assert explorer.state.added == (0.0, 0.5, 3, 0.1, 0.5, 3, 0.2, 0.5, 3, 0.3, 0.5, 3)
    assert len(explorer.records["bayes"].X) == 204
    explorer.undo()
    assert explorer.state.added == ()
    assert explorer._undo.disabled


def test_points_can_be_added_by_keyboard(explorer):
    explorer.set(data="spirals", paint=2)
    control = explorer.controls["added"]
    control.places[0].value, control.places[1].value = 0.5, -1.25
    control.adder.click()
    assert explorer.state.added == (0.5, -1.25, 2)


def test_other_data_of_the_same_shape_train_at_once(explorer, quick):
    async def main():
        explorer.play()
        await until(lambda: explorer.steps > 5)
        engine = explorer._session.training._optimiser
        explorer.controls["noise"].value = 0.3
        assert explorer.is_training
        assert explorer._session.training._optimiser is engine
        await until(lambda: explorer.steps > 0)
        explorer.pause()
        await ended(explorer)
        toy = toys.waves(200, 3, noise=0.3, seed=0)
        np.testing.assert_array_equal(explorer.records["point"].X, toy.X)

    asyncio.run(main())


@pytest.mark.slow
def test_the_compiled_step_takes_points_without_a_new_trace(explorer):
    explorer.set(num_data=60, num_inducing=5, hidden=5)
    explorer.play(steps=2)
    explorer.wait()
    compiled = explorer._session.training._optimiser._compiled
    assert len(compiled) == 1
    for change in (
        lambda: explorer.on_click("point", "xy", 0.1, 0.2),
        explorer.undo,
        lambda: explorer.set(noise=0.3),
        explorer.start_over,
    ):
        change()
        explorer.play(steps=1)
        explorer.wait()
        assert explorer._session.training._optimiser._compiled is compiled
        assert len(compiled) == 1


# Somebody's own data ------------------------------------------------------------------------


@pytest.fixture
def flowers(tmp_path):
    rng = np.random.default_rng(0)
    kinds = np.repeat(["rose", "lily", "iris"], 20)
    X = rng.normal(size=(60, 4)) + 3.0 * np.repeat(np.arange(3), 20)[:, None]
    path = tmp_path / "flowers.csv"
    rows = [",".join([*map(str, x), kind]) for x, kind in zip(X, kinds, strict=True)]
    path.write_text("\n".join(["a,b,c,d,kind", *rows]))
    return path, X, kinds


def test_own_data_are_shown_in_a_projection_that_says_so(flowers, quick):
    path, X, kinds = flowers
    explorer = InferenceExplorer.of(path)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    values = np.linalg.eigvalsh(np.cov(standard.T))
    share = values[-2:].sum() / values.sum()
    words = "60 rows in a 2-d projection: the first two principal components of 4 standardised"
    assert words in explorer.summary
    assert f"{share:.0%} of their variance" in explorer.summary
    assert "Class 1 is iris, 2 is lily, 3 is rose." in explorer.summary
    record = explorer.records["point"]
    np.testing.assert_allclose(np.cov(record.X.T)[0, 1], 0.0, atol=1e-12)
    assert explorer.controls["paint"].names[:3] == ["iris", "lily", "rose"]
    explorer.play(steps=3)
    explorer.wait()
    assert explorer.steps == 3
    same = InferenceExplorer.of(X, kinds)
    np.testing.assert_allclose(same.records["point"].X, record.X)
    explorer.set(data="moons")  # the toys are still there
    assert "principal" not in explorer.summary


def test_two_columns_are_shown_as_they_are(flowers):
    _, X, kinds = flowers
    explorer = InferenceExplorer.of(X[:, :2], kinds)
    shown = explorer.records["point"].X
    np.testing.assert_allclose(shown, (X[:, :2] - X[:, :2].mean(0)) / X[:, :2].std(0))
    assert "60 rows of x0 and x1, standardised" in explorer.summary
    line = InferenceExplorer.of(X[:, :1], kinds)
    assert line.records["point"].window.y is None


def test_names_of_columns_are_text_and_nothing_else(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("<img src=x>,b,kind\n" + "\n".join(f"{k},{k % 3},{k % 2}" for k in range(30)))
    explorer = InferenceExplorer.of(path)
    assert "<img" not in explorer.presets["Your data"].story
    assert "<img" not in explorer._page.message


def test_the_code_of_own_data_gives_the_same_numbers(flowers, monkeypatch):
    explorer = InferenceExplorer.of(flowers[0], num_inducing=5)
    monkeypatch.setattr("plotly.graph_objects.Figure.show", lambda self: None)
    space = {}
    exec(compile(explorer.to_code(), "script", "exec"), space)
    for name in ("point", "latent"):
        expected, found = _plain(explorer.records[name]), _plain(space["records"][name])
        np.testing.assert_allclose(found["Z"], expected["Z"])


def test_data_that_cannot_be_shown_are_refused(flowers):
    X = flowers[1]
    with pytest.raises(ValueError, match="Y: expected at most 8 classes"):
        InferenceExplorer.of(X, np.arange(60) // 6)
    with pytest.raises(ValueError, match="Y: expected labels"):
        InferenceExplorer.of(X)


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
    explorer.play(steps=3)
    explorer.wait()
    explorer.on_click("point", "xy", 2.5, 0.0)
    explorer.play(steps=4)
    explorer.wait()
    explorer.controls["learning_rate"].value = 0.05
    explorer.play(steps=3)
    explorer.wait()
    explorer.stop()
    history = explorer._snapshot.saved.history
    assert history == ((3, 0.02), (4, 0.02), (3, pytest.approx(0.05)), (0, 0.0))
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


@pytest.mark.parametrize(
    ("extension", "kind"),
    [
        ("concrete", "ConcreteDropoutNetwork"),
        ("mean-field", "MeanFieldNetwork"),
        ("gp", "GPNetwork"),
        ("features", "DeepKernelETGP"),
    ],
)
def test_an_extension_can_be_trained(explorer, extension, kind):
    explorer.set(num_data=60, num_inducing=5, hidden=5, extension=extension)
    explorer.play(steps=3)
    explorer.wait()
    model = explorer._session.training.model
    assert kind in (type(model).__name__, type(model.network).__name__)
    assert len(explorer.records["elbo"].steps) == 3
    probabilities = explorer.records["point"].probabilities
    np.testing.assert_allclose(np.sum(probabilities, axis=0), 1.0, rtol=1e-6)
    assert "role='alert'" not in explorer._page.message
    option = "features='shared'" if extension == "features" else f"parameters={extension!r}"
    assert option in explorer.to_code()


def test_a_flow_of_the_zoo_can_be_trained(explorer):
    explorer.set(num_data=60, num_inducing=5, hidden=5, flow="spline")
    explorer.play(steps=3)
    explorer.wait()
    assert explorer._session.training.model.network.flow.num_params == 13
    assert len(explorer.records["elbo"].steps) == 3
    probabilities = explorer.records["point"].probabilities
    np.testing.assert_allclose(np.sum(probabilities, axis=0), 1.0, rtol=1e-6)
    assert np.ptp(probabilities) > 0.0
