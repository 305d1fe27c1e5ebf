"""The contestants as TensorFlow models, and the one training step that is timed."""

import numpy as np
import pytest

from etgp_viz import build, fit, timing
from etgp_viz.rivals.names import PREDICTIVE_DRAWS
from etgp_viz.timing.contestant_models import actions, training_step
from etgp_viz.timing.contestants import random_data

SIZE = timing.Size(classes=3, num_data=20, num_inducing=4, num_inputs=2)
TENSORFLOW = [name for name, model in timing.MODELS.items() if model.library == "tensorflow"]


@pytest.mark.parametrize(
    ("name", "options"), [("etgp-linear", {}), ("svgp-rbf", {"batched": True})]
)
def test_the_timed_step_is_the_step_of_fit(name, options):
    X, Y = random_data(SIZE)
    timed, fitted = (build(name, X, 3, num_inducing=4, **options) for _ in range(2))
    step = training_step(timed, (X, Y), learning_rate=0.05, seed=7)
    elbos = [step() for _ in range(4)]
    result = fit(fitted, (X, Y), epochs=4, learning_rate=0.05, seed=7, progress=False)
    assert len(set(elbos)) == 4
    np.testing.assert_array_equal(elbos, result.elbo)


def test_a_step_takes_a_mini_batch():
    X, Y = random_data(SIZE)
    step = training_step(build("etgp-linear", X, 3, num_inducing=4), (X, Y))
    rows = np.arange(5)
    alone = build("etgp-linear", X, 3, num_inducing=4)
    expected = -alone.training_loss((X[rows], Y[rows])).numpy()
    assert step(rows) == pytest.approx(float(expected))


@pytest.mark.slow
@pytest.mark.parametrize("name", TENSORFLOW)
def test_every_contestant_trains_and_predicts(name):
    calls = actions(name, SIZE)
    quantities = ["step", "prediction", "prediction_ba"]
    timed = [quantity for quantity in calls if quantity != "prediction_error"]
    assert timed == quantities[: 3 if name.startswith("etgp") else 2]
    assert calls["step"]() < calls["step"]() or not name.startswith("etgp")  # a higher ELBO
    assert ("prediction_error" in calls) == timing.MODELS[name].is_monte_carlo
    if "prediction_error" in calls:  # sd of a probability ≤ ½, over draws in pairs
        assert 0.0 < calls["prediction_error"]() < 0.5 / np.sqrt(PREDICTIVE_DRAWS / 2)
    for quantity in timed[1:]:
        p = calls[quantity]()
        assert p.shape == (20, 3)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)


def test_every_prediction_by_monte_carlo_has_the_same_draws():
    errors = [
        actions("svgp-batched", SIZE, draws)["prediction_error"]()
        for draws in (10, PREDICTIVE_DRAWS)
    ]
    assert errors[1] < 0.5 * errors[0]
    default = actions("svgp-batched", SIZE)["prediction_error"]()
    assert default == errors[1]
    svgp = [model for model in timing.MODELS.values() if model.is_monte_carlo]
    assert not any("num_predictive" in model.options for model in svgp)


def test_data_use_every_class_equally_often():
    X, Y = random_data(timing.Size(4, 20, 5, 3))
    assert X.shape == (20, 3)
    assert np.bincount(Y[:, 0]).tolist() == [5] * 4
