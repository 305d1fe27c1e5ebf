"""`fit` that stops by itself: when validation rows show no improvement, or when time is up."""

import numpy as np
import pytest

from etgp_viz import build, fit
from etgp_viz.core.training import IMPROVEMENT, MAX_FALLS, SLOWER, _falls

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (X[:, :1] > 0.0).astype(int)
NOISE = RNG.integers(0, 2, size=(60, 1))  # labels that say nothing: soon nothing improves


def make(seed=0):
    return build("etgp-linear", X, 2, num_inducing=5, hidden=(4,), dropout=0.0, seed=seed)


@pytest.mark.parametrize(
    ("scores", "falls"),
    [
        ([], 0),
        ([1.0, 2.0, 3.0, 4.0], 0),
        ([1.0, 0.9, 0.8], 1),
        ([1.0, 1.0 + 0.5 * IMPROVEMENT, 1.0 + 0.9 * IMPROVEMENT], 1),  # too little to count
        ([1.0, 0.9, 0.8, 0.7, 0.6], 2),
        ([1.0, 0.9, 2.0, 1.9, 1.8, 1.7], 1),
        ([0.9 * IMPROVEMENT * k for k in range(40)], 0),  # small steps that add up
    ],
)
def test_falls_count_scores_in_a_row_without_improvement(scores, falls):
    assert _falls(scores, patience=2) == falls
    assert _falls(scores, patience=None) == 0


def test_training_stops_without_improvement_and_keeps_the_best_score():
    model = make()
    options = {"learning_rate": 0.05, "validation": (X, NOISE), "patience": 3, "progress": False}
    result = fit(model, (X, NOISE[::-1]), epochs=500, **options)
    assert result.stopped == "no improvement"
    assert len(result.elbo) < 500
    assert _falls(list(result.validation), 3) == MAX_FALLS
    assert result.best_epoch == int(np.argmax(result.validation))
    score = np.mean(model.predict_log_density((X, NOISE)))
    assert score == pytest.approx(result.validation.max(), abs=1e-9)


def test_the_rate_falls_each_time(monkeypatch):
    from etgp_viz.core.optimiser import Optimiser

    rates = []
    step = Optimiser.step

    def recorded(self, rows=None):
        rates.append(self.learning_rate)
        return step(self, rows)

    monkeypatch.setattr(Optimiser, "step", recorded)
    options = {"learning_rate": 0.05, "validation": (X, NOISE), "patience": 3, "progress": False}
    fit(make(), (X, NOISE[::-1]), epochs=500, **options)
    expected = [0.05 * SLOWER**k for k in range(MAX_FALLS)]
    np.testing.assert_allclose(list(dict.fromkeys(rates)), expected, rtol=1e-6)


def test_training_stops_when_time_is_up():
    result = fit(make(), (X, Y), epochs=10_000_000, seconds=0.05, progress=False)
    assert result.stopped == "out of time"
    assert sum(result.seconds[1:]) >= 0.05 > sum(result.seconds[1:-1])


def test_a_resumed_run_remembers_how_long_it_waited(tmp_path):
    options = {"learning_rate": 0.05, "validation": (X, NOISE), "patience": 3, "progress": False}
    whole = fit(make(), (X, NOISE[::-1]), epochs=500, **options)
    parts = {**options, "checkpoint": tmp_path / "run.npz"}
    half = len(whole.elbo) // 2
    fit(make(), (X, NOISE[::-1]), epochs=half, **parts)
    resumed = fit(make(), (X, NOISE[::-1]), epochs=500, **parts)
    np.testing.assert_array_equal(resumed.elbo, whole.elbo)
    assert resumed.stopped == "no improvement"
    again = fit(make(), (X, NOISE[::-1]), epochs=500, **parts)  # nothing is left to do
    np.testing.assert_array_equal(again.elbo, whole.elbo)


def test_patience_needs_validation_rows():
    with pytest.raises(ValueError, match="patience"):
        fit(make(), (X, Y), epochs=2, patience=3, progress=False)
