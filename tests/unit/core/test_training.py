"""``fit``: its trajectory, best parameters, stops, checkpoints and recovery from failed steps."""

import signal

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from etgp_viz import files
from etgp_viz.core import training
from etgp_viz.core.optimiser import Optimiser
from etgp_viz.core.training import TrainingError, fit
from etgp_viz.rivals.build_model import build

RNG = np.random.default_rng(0)
X = np.linspace(-2, 2, 23)[:, None]
Y = np.sin(2 * X) + 0.1 * RNG.normal(size=X.shape)
Z = X[::5].copy()
Adam = gpflow.keras.tf_keras.optimizers.Adam


def svgp(inducing=Z):
    return gpflow.models.SVGP(
        gpflow.kernels.RBF(), gpflow.likelihoods.Gaussian(0.1), inducing.copy(), num_data=len(X)
    )


class Line(tf.Module):
    """Least squares with one weight: quick to trace, and easy to overshoot, shake or break."""

    def __init__(self, weight=0.0, noise=None):
        super().__init__()
        self.weight = gpflow.Parameter(weight)
        self.offset = gpflow.Parameter(0.5)
        self.generator = tf.random.Generator.from_seed(1)
        self.noise = noise
        self.num_data = len(X)
        self.traced = []

    def training_loss(self, data):
        inputs, targets = data
        self.traced.append(inputs.shape)
        shake = tf.constant(0.0, tf.float64)
        if self.noise == "generator":
            shake = self.generator.normal([], dtype=tf.float64)
        if self.noise == "implicit":
            shake = tf.random.normal([], dtype=tf.float64)
        error = targets - (self.weight + 0.1 * shake) * inputs - self.offset
        return tf.reduce_sum(error**2) * self.num_data / inputs.shape[0]

    def predict_log_density(self, data):
        return -((data[1] - self.weight * data[0] - self.offset) ** 2)


def parameters(model):
    return {path: np.asarray(p) for path, p in gpflow.utilities.read_values(model).items()}


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for path in ours:
        np.testing.assert_array_equal(ours[path], theirs[path], err_msg=path)


def run(model, **options):
    options = {"epochs": 5, "learning_rate": 0.1, "progress": False} | options
    return fit(model, options.pop("data", (X, Y)), **options)


# --- the trajectory -----------------------------------------------------------------------------


def test_full_batch_follows_a_plain_adam_loop():
    ours, theirs = Line(), Line()
    result = run(ours, epochs=8)
    adam, elbos, states = Adam(0.1), [], []
    for _ in range(8):
        states.append(parameters(theirs))
        with tf.GradientTape() as tape:
            loss = theirs.training_loss((tf.constant(X), tf.constant(Y)))
        elbos.append(-loss.numpy())
        variables = theirs.trainable_variables
        adam.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    np.testing.assert_allclose(result.elbo, elbos, rtol=1e-10)
    assert result.elbo[-1] > result.elbo[0] + 1
    assert result.stopped == "finished"
    assert result.seconds.shape == (8,)
    for path, value in parameters(ours).items():
        np.testing.assert_allclose(value, states[result.best_epoch][path], atol=1e-9)


def test_mini_batches_follow_a_plain_adam_loop():
    """Also pins the convention: the best epoch's parameters before its last update are kept."""
    ours, theirs = Line(), Line()
    result = run(ours, epochs=6, batch_size=5, seed=3)
    adam, elbos, kept = Adam(0.1), [], []
    for epoch in range(6):
        order = np.random.default_rng([3, epoch]).permutation(len(X))
        losses = []
        for rows in order[:20].reshape(4, 5):
            before = parameters(theirs)
            with tf.GradientTape() as tape:
                loss = theirs.training_loss((tf.gather(X, rows), tf.gather(Y, rows)))
            losses.append(loss.numpy())
            variables = theirs.trainable_variables
            adam.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        elbos.append(-np.mean(losses))
        kept.append(before)
    np.testing.assert_allclose(result.elbo, elbos, rtol=1e-10)
    assert 0 < result.best_epoch == np.argmax(elbos)
    for path, value in parameters(ours).items():
        np.testing.assert_allclose(value, kept[result.best_epoch][path], rtol=1e-10)


def test_the_learning_rate_halves_on_time():
    ours, theirs = Line(), Line()
    result = run(ours, epochs=6, half_life=2.0)
    adam, elbos = Adam(0.1), []
    for epoch in range(6):
        adam.learning_rate.assign(0.1 * 0.5 ** (epoch / 2))
        with tf.GradientTape() as tape:
            loss = theirs.training_loss((tf.constant(X), tf.constant(Y)))
        elbos.append(-loss.numpy())
        variables = theirs.trainable_variables
        adam.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    np.testing.assert_allclose(result.elbo, elbos, rtol=1e-10)
    assert not np.allclose(result.elbo, run(Line(), epochs=6).elbo, rtol=1e-3)


def test_the_step_is_traced_once_with_a_static_batch_size():
    model = Line()
    run(model, batch_size=5)
    assert model.traced == [(5, 1)]


def test_each_epoch_shuffles_and_every_row_is_used():
    batches = training.Batches(23, 5, seed=0)
    epochs = [np.concatenate(list(batches.of_epoch(e))) for e in range(8)]
    assert all(len(np.unique(rows)) == 20 for rows in epochs)
    assert not np.array_equal(epochs[0], epochs[1])
    assert set(np.concatenate(epochs)) == set(range(23))


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["generator", "implicit"])
def test_a_seed_fixes_the_trajectory(noise):
    first, second = (run(Line(noise=noise), batch_size=7, seed=4).elbo for _ in range(2))
    other = run(Line(noise=noise), batch_size=7, seed=5).elbo
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_the_global_random_stream_is_left_alone():
    tf.random.set_seed(11)
    expected = tf.random.normal([3])
    tf.random.set_seed(11)
    run(Line(noise="implicit"), epochs=2)
    np.testing.assert_array_equal(tf.random.normal([3]), expected)


# --- the best parameters and the ways to stop ---------------------------------------------------


def elbo_of(model):
    return -model.training_loss((tf.constant(X), tf.constant(Y))).numpy()


def assert_best_is_restored(model, result):
    """The model's ELBO is the best on record (which is not the last)."""
    assert result.best_epoch == np.argmax(result.elbo)
    assert result.best_epoch < len(result.elbo) - 1
    assert result.best_elbo == result.elbo[result.best_epoch]
    assert elbo_of(model) == pytest.approx(result.best_elbo, rel=1e-12)


def overshooting(**options):
    """Run with a learning rate so high that the best epoch is an early one."""
    model = Line(0.3)
    return model, run(model, learning_rate=0.2, epochs=9, **options)


def test_the_best_parameters_are_restored():
    model, result = overshooting()
    assert len(result.elbo) == 9
    assert_best_is_restored(model, result)


def test_a_true_value_from_the_callback_stops():
    records = []

    def callback(record):
        records.append(record)
        return record.epoch == 6

    model, result = overshooting(callback=callback)
    assert result.stopped == "callback"
    assert_best_is_restored(model, result)
    np.testing.assert_array_equal([record.elbo for record in records], result.elbo)
    assert [record.epoch for record in records] == list(range(7))
    assert records[-1].best_epoch == result.best_epoch
    assert records[-1].best_elbo == result.best_elbo
    assert records[-1].validation is None


def test_an_interrupt_in_a_callback_keeps_history_and_best():
    def callback(record):
        if record.epoch == 6:
            signal.raise_signal(signal.SIGINT)

    model, result = overshooting(callback=callback)
    assert result.stopped == "interrupted"
    assert len(result.elbo) == 7
    assert_best_is_restored(model, result)


def interrupt_step(number, monkeypatch):
    """Let somebody press Ctrl-C in the step with this number."""
    step, calls = Optimiser.step, []

    def interrupted(self, rows=None):
        calls.append(rows)
        if len(calls) == number:
            raise KeyboardInterrupt
        return step(self, rows)

    monkeypatch.setattr(Optimiser, "step", interrupted)


def test_an_interrupt_in_a_step_keeps_history_and_best(monkeypatch):
    interrupt_step(7, monkeypatch)
    model, result = overshooting()
    assert result.stopped == "interrupted"
    assert len(result.elbo) == 6
    assert_best_is_restored(model, result)


def test_an_interrupt_in_the_first_epoch_leaves_the_model_as_it_was(monkeypatch):
    interrupt_step(3, monkeypatch)
    model = Line()
    result = run(model, batch_size=5)
    assert (result.best_epoch, result.best_elbo, len(result.elbo)) == (None, -np.inf, 0)
    assert_same(parameters(model), parameters(Line()))


def test_an_error_in_the_callback_restores_the_best():
    elbos = []

    def callback(record):
        elbos.append(record.elbo)
        if record.epoch == 6:
            raise ZeroDivisionError

    model = Line(0.3)
    with pytest.raises(ZeroDivisionError):
        run(model, learning_rate=0.2, epochs=9, callback=callback)
    assert elbo_of(model) == pytest.approx(max(elbos), rel=1e-12)


def test_validation_scores_are_recorded_with_their_epochs():
    model, seen = Line(), []
    held_out = (X[:4] + 0.1, Y[:4])

    def callback(record):
        expected = np.mean(model.predict_log_density(held_out))
        seen.append((record.validation, expected))

    result = run(model, validation=held_out, validation_every=2, callback=callback)
    np.testing.assert_array_equal(result.validation_epochs, [1, 3])
    assert [score for score, _ in seen] == [
        None,
        result.validation[0],
        None,
        result.validation[1],
        None,
    ]
    np.testing.assert_allclose(result.validation, [seen[1][1], seen[3][1]])


def test_a_validation_score_that_is_nan_is_not_recorded():
    model = Line()
    model.predict_log_density = lambda data: data[0] * np.nan
    result = run(model, validation=(X, Y))
    assert result.validation.size == result.validation_epochs.size == 0
    assert len(result.elbo) == 5


def test_progress_shows_the_elbo_or_nothing(capsys):
    result = run(Line(), progress=True, epochs=3)
    shown = capsys.readouterr()
    assert f"ELBO {result.elbo[-1]:.6g}" in shown.err
    assert "3/3" in shown.err
    run(Line(), progress=False, epochs=3)
    shown = capsys.readouterr()
    assert shown.out + shown.err == ""


# --- natural gradients --------------------------------------------------------------------------


@pytest.mark.slow
def test_natural_gradients_solve_a_conjugate_model_after_each_adam_step():
    """γ = 1 gives the optimal q for the kernel, noise and Z that Adam has just moved to."""
    model, start = svgp(), parameters(svgp())
    exact = gpflow.models.SGPR((X, Y), gpflow.kernels.RBF(), Z.copy())

    def callback(record):
        now = parameters(model)
        if record.epoch == 1:  # in the first step q is the prior, and the kernel has no gradient
            assert all(not np.array_equal(now[path], start[path]) for path in start)
        gpflow.utilities.multiple_assign(
            exact, {path: now[path] for path in parameters(exact) if path in now}
        )
        np.testing.assert_allclose(model.elbo((X, Y)), exact.elbo(), rtol=1e-6)

    result = run(model, natural_gradients=1.0, epochs=2, callback=callback)
    assert result.elbo[1] > result.elbo[0] + 1


@pytest.mark.slow
def test_a_natural_gradient_step_too_long_is_explained():
    model = svgp()
    with pytest.raises(TrainingError, match=r"\.q_sqrt = .* natural gradient step too long"):
        run(model, natural_gradients=1e3)
    assert_same(parameters(model), parameters(svgp()))


# --- recovery -----------------------------------------------------------------------------------


def assert_finite(model):
    assert all(np.isfinite(value).all() for value in parameters(model).values())


@pytest.mark.slow
def test_a_failed_cholesky_is_repaired_by_jitter():
    """Two equal inducing points make Kzz singular; the fit is then that with GPflow's jitter."""
    model = svgp(np.concatenate([Z, Z]))
    expected = model.elbo((X, Y))
    with gpflow.config.as_context(gpflow.config.Config(jitter=0.0)):
        assert np.isnan(model.elbo((X, Y)))
        with pytest.warns(RuntimeWarning, match=r"the loss .*NaN.* jitter is now 1e-06"):
            result = run(model)
        assert gpflow.default_jitter() == 0.0
    assert result.jitter == 1e-6
    np.testing.assert_allclose(result.elbo[0], expected, rtol=1e-9)
    assert result.elbo[-1] > result.elbo[0] + 1


class Breaking(Line):
    """Fails as soon as the weight passes 0.3, in the way asked for."""

    def __init__(self, how, below=np.inf):
        super().__init__()
        self.how = how
        self.below = below

    def training_loss(self, data):
        loss = super().training_loss(data)
        if gpflow.default_jitter() >= self.below:
            return loss
        passed = self.weight > 0.3
        if self.how == "loss":
            return tf.where(passed, tf.constant(np.nan, tf.float64), loss)
        if self.how == "gradient":  # ∂√0 = ∞
            return loss + tf.sqrt(tf.nn.relu(0.3 - self.weight))
        matrix = tf.where(passed, -tf.eye(2, dtype=tf.float64), tf.eye(2, dtype=tf.float64))
        return loss + tf.linalg.logdet(matrix)


def rising_weight_data():
    return X, 2 * X


@pytest.mark.parametrize("how", ["loss", "gradient", "cholesky"])
def test_a_failure_that_jitter_cannot_repair_names_the_parameter(how):
    model, seen = Breaking(how), []
    with (
        gpflow.config.as_context(gpflow.config.Config(jitter=1e-4)),
        pytest.warns(RuntimeWarning, match="jitter is now 1e-03"),
        pytest.raises(TrainingError, match=r"jitter 1e-03: \.weight = 0\.[34]") as caught,
    ):
        run(
            model,
            data=rising_weight_data(),
            epochs=50,
            callback=lambda record: seen.append(record.elbo),
        )
    assert caught.value.parameter == ".weight"
    assert caught.value.result.stopped == "failed"
    assert 3 <= len(caught.value.result.elbo) < 50
    np.testing.assert_array_equal(caught.value.result.elbo, seen)
    assert_finite(model)
    assert 0.1 < model.weight.numpy() <= 0.3
    elbo = -model.training_loss(tuple(map(tf.constant, rising_weight_data()))).numpy()
    np.testing.assert_allclose(elbo, seen[-1], rtol=1e-12)


@pytest.mark.slow
def test_training_goes_on_once_the_jitter_is_high_enough():
    model = Breaking("loss", below=0.9e-4)
    with pytest.warns(RuntimeWarning, match="jitter is now") as warned:
        result = run(model, data=rising_weight_data(), epochs=30)
    assert len(warned) == 2
    assert result.jitter == pytest.approx(1e-4)
    assert len(result.elbo) == 30
    assert model.weight.numpy() > 0.4
    assert gpflow.default_jitter() == 1e-6


def test_a_failure_in_the_first_step_names_the_most_extreme_parameter():
    model = Line(1e200)
    with (
        gpflow.config.as_context(gpflow.config.Config(jitter=1e-3)),
        pytest.raises(TrainingError, match=r"\.weight = 1e\+200 is the most extreme") as caught,
    ):
        run(model)
    assert len(caught.value.result.elbo) == 0
    assert model.weight.numpy() == 1e200


def test_an_error_of_the_program_is_not_taken_for_a_numerical_one():
    model = Line()
    model.training_loss = lambda data: tf.gather(data[0], [99])[0, 0] * model.weight
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(model)


# --- checkpoints --------------------------------------------------------------------------------


class KilledError(Exception):
    """Stands for the end of the process."""


def kill_after(epoch):
    def callback(record):
        if record.epoch == epoch:
            raise KilledError

    return callback


def resumable(path, **options):
    """Return options of a run with everything that a checkpoint must carry."""
    return {
        "epochs": 7,
        "batch_size": 5,
        "seed": 2,
        "learning_rate": 0.4,
        "half_life": 50.0,
        "validation": (X, Y),
        "checkpoint": path,
        "checkpoint_seconds": 1e-9,
    } | options


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the checkpoint of one epoch."""
    path = tmp_path_factory.mktemp("saved") / "run.npz"
    run(Line(), **resumable(path, epochs=1))
    return path


def test_resuming_gives_the_same_trajectory_bit_for_bit(tmp_path):
    path = tmp_path / "new" / "run.npz"
    straight, killed, resumed = (Line(noise="generator") for _ in range(3))
    expected = run(straight, **resumable(None))
    with pytest.raises(KilledError):
        run(killed, **resumable(path, callback=kill_after(3)))
    epochs = []
    result = run(resumed, **resumable(path, callback=lambda record: epochs.append(record.epoch)))
    assert epochs == [3, 4, 5, 6]
    np.testing.assert_array_equal(result.elbo, expected.elbo)
    np.testing.assert_array_equal(result.validation, expected.validation)
    np.testing.assert_array_equal(result.validation_epochs, expected.validation_epochs)
    assert result.best_epoch == expected.best_epoch
    assert_same(parameters(resumed), parameters(straight))
    np.testing.assert_array_equal(resumed.generator.state, straight.generator.state)
    assert [file.name for file in path.parent.iterdir()] == ["run.npz"]


@pytest.mark.slow
def test_a_finished_run_is_read_back_and_may_go_on(tmp_path):
    path = tmp_path / "run.npz"
    first, again, longer, straight = (Line(0.3) for _ in range(4))
    options = {"learning_rate": 0.4, "checkpoint": path}
    done = run(first, epochs=4, **options)
    read = run(again, epochs=4, **options)
    np.testing.assert_array_equal(read.elbo, done.elbo)
    assert again.traced == []
    assert_same(parameters(again), parameters(first))
    np.testing.assert_array_equal(
        run(longer, epochs=9, **options).elbo,
        run(straight, epochs=9, learning_rate=0.4).elbo,
    )
    untouched = Line()
    with pytest.raises(ValueError, match=r"epochs: expected an integer ≥ 9 .*checkpoint.*got 3"):
        run(untouched, epochs=3, **options)
    assert_same(parameters(untouched), parameters(Line()))


@pytest.mark.slow
def test_a_raised_jitter_is_resumed(tmp_path):
    path = tmp_path / "run.npz"
    options = {"data": rising_weight_data(), "checkpoint": path}
    with pytest.warns(RuntimeWarning):
        run(Breaking("loss", below=0.9e-4), epochs=10, **options)
    result = run(Breaking("loss", below=0.9e-4), epochs=12, **options)  # warns no more
    assert result.jitter == pytest.approx(1e-4)


def test_a_failure_in_the_first_resumed_step_is_explained(tmp_path):
    options = {"data": rising_weight_data(), "checkpoint": tmp_path / "run.npz"}
    with gpflow.config.as_context(gpflow.config.Config(jitter=1e-3)):
        run(Breaking("loss"), epochs=4, **options)
        with pytest.raises(TrainingError, match=r"\.weight = 0\.[34].* makes the loss not finite"):
            run(Breaking("loss"), epochs=5, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "natural_gradients"),
    [
        ("etgp-linear", 0.1),
        *((name, None) for name in ("etgp-tanh", "svgp-rbfcorr", "svgp-deep", "tgp", "network")),
    ],
)
def test_models_of_the_package_train_and_resume(tmp_path, name, natural_gradients):
    inputs = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.digitize(inputs[:, :1], [-0.5, 0.5])
    options = {"data": (inputs, labels), "natural_gradients": natural_gradients}
    straight, killed, resumed = (build(name, inputs, 3, num_inducing=8) for _ in range(3))
    options |= resumable(None, epochs=4, batch_size=16, learning_rate=0.02, validation=None)
    expected = run(straight, **options)
    options["checkpoint"] = tmp_path / "run.npz"
    with pytest.raises(KilledError):
        run(killed, callback=kill_after(2), **options)
    result = run(resumed, **options)
    assert expected.best_epoch > 0
    np.testing.assert_array_equal(result.elbo, expected.elbo)
    assert_same(parameters(resumed), parameters(straight))


@pytest.mark.parametrize(
    ("model", "change", "says"),
    [
        (Line, {"learning_rate": 0.2}, "learning_rate (there 0.4, here 0.2)"),
        (Line, {"half_life": None}, "half_life (there 50.0, here None)"),
        (Line, {"batch_size": None}, "batch_size (there 5, here None)"),
        (Line, {"seed": 9}, "seed (there 2, here 9)"),
        (Line, {"data": (X, Y + 1)}, "another data (there "),
        (Line, {"validation": None}, "another validation (there "),
        (svgp, {}, "another model (there 'Line', here 'SVGP'), parts of the model, parameters"),
    ],
)
def test_the_checkpoint_of_another_run_is_refused(saved, model, change, says):
    other = model()
    before = parameters(other)
    with pytest.raises(ValueError, match=r"checkpoint: expected .*run.npz") as caught:
        run(other, **resumable(saved, **change))
    assert says in str(caught.value)
    assert_same(parameters(other), before)


@pytest.mark.parametrize("damage", ["truncated", "text", "flipped", "fewer", "shorter", "list"])
def test_a_damaged_checkpoint_is_refused(saved, tmp_path, damage):
    content, path = saved.read_bytes(), tmp_path / "run.npz"
    arrays = files.read_arrays(saved)
    elbo = arrays["history.elbo"]
    flipped = content.replace(elbo.tobytes(), (elbo + 1).tobytes())
    half = content[: len(content) // 2]
    if damage == "fewer":  # one variable of the model would keep its value
        del arrays["best.0"]
    elif damage == "shorter":
        arrays["state.0"] = np.zeros(7)
    elif damage == "list":
        arrays["settings"] = np.array("[1, 2]")
    if damage in ("fewer", "shorter", "list"):
        files.write_arrays(path, arrays)
    else:
        path.write_bytes({"flipped": flipped, "truncated": half, "text": b"hello"}[damage])
    model = Line()
    with pytest.raises(ValueError, match=r"checkpoint: expected .*unreadable .*remove it"):
        run(model, **resumable(path))
    assert_same(parameters(model), parameters(Line()))


def test_a_save_that_fails_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    run(Line(), **resumable(path, epochs=2))
    content = path.read_bytes()

    def full_disk(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full_disk)
    model = Line()
    with pytest.warns(RuntimeWarning, match=r"run\.npz could not be written \(no space left\)"):
        result = run(model, **resumable(path, epochs=5))
    assert len(result.elbo) == 5  # the training and its history are worth more than the file
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("place", [".", "file/run.npz", "\0"])
def test_a_checkpoint_that_cannot_be_written_is_told_before_the_first_step(tmp_path, place):
    """It was told after the last one, and the history was lost."""
    (tmp_path / "file").write_text("not a folder")
    model = Line()
    model.training_loss = lambda data: pytest.fail("training began")
    with pytest.raises(ValueError, match=r"^checkpoint: expected .*, got"):
        run(model, **resumable(f"{tmp_path}/{place}"))


def test_checkpoints_are_rationed_by_time(tmp_path, monkeypatch):
    saves = []
    monkeypatch.setattr(files.checkpoint, "write_arrays", lambda *args: saves.append(args))
    run(Line(), **resumable(tmp_path / "run.npz", checkpoint_seconds=3600.0))
    assert len(saves) == 1  # the one at the end


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epochs": 0}, "epochs: expected an integer ≥ 1, got 0"),
        ({"epochs": 2.5}, "epochs: expected an integer ≥ 1, got 2.5"),
        ({"batch_size": 24}, "batch_size: expected an integer in 1..23 (the number of rows of X)"),
        ({"batch_size": 0}, "batch_size: expected an integer in 1..23"),
        ({"learning_rate": 0.0}, "learning_rate: expected a finite number > 0, got 0.0"),
        ({"seed": -1}, "seed: expected an integer in 0..2147483647, got -1"),
        ({"validation_every": 0}, "validation_every: expected an integer ≥ 1, got 0"),
        ({"checkpoint_seconds": -1}, "checkpoint_seconds: expected a finite number > 0, got -1"),
        ({"half_life": 0}, "half_life: expected a finite number > 0, got 0"),
        ({"natural_gradients": 0}, "natural_gradients: expected a finite number > 0, got 0"),
        ({"natural_gradients": 1}, "natural_gradients: expected a model with q_mu and a full q_"),
        ({"data": X}, "data: data: expected a pair (X, Y), got ndarray"),
        ({"data": (X, Y[:-1])}, "data: Y: expected a numeric array with 23 rows, like X, got"),
        ({"data": (X * np.nan, Y)}, "data: X: expected a [N, D] array of float64 numbers, got nan"),
        ({"data": (X, Y * np.inf)}, "data: Y: expected a numeric array"),
        ({"data": (X[:9], Y[:9])}, "model.num_data: expected 9, the number of rows of X"),
        ({"validation": (X[0], Y)}, "validation: X: expected a [N, D] array"),
    ],
)
def test_bad_arguments(options, says):
    model = Line()
    with pytest.raises(ValueError, match=": expected") as caught:
        run(model, **options)
    assert str(caught.value).startswith(says)
    assert model.traced == []


def test_bad_models():
    with pytest.raises(ValueError, match="model: expected a training_loss method, got object"):
        run(object())
    fixed = Line()
    gpflow.set_trainable(fixed, False)
    with pytest.raises(ValueError, match="model: expected a trainable parameter, got none"):
        run(fixed)
    unscaled = Line()
    unscaled.num_data = None
    with pytest.raises(ValueError, match=r"model\.num_data: expected 23.*got None"):
        run(unscaled, batch_size=5)


def test_the_model_checks_its_own_labels():
    class Strict(Line):
        def check_data(self, data):
            raise ValueError("Y: expected labels in 0..2, got 7")

    with pytest.raises(ValueError, match=r"^data: Y: expected labels in 0\.\.2, got 7"):
        run(Strict())
