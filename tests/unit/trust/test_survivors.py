"""Mutants that once survived: what the code does here was not held by any test."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from etgp_viz.backend import gpflow, tf
from etgp_viz.core.flows import Linear
from etgp_viz.core.network import FlowNetwork
from etgp_viz.core.optimiser import Optimiser
from etgp_viz.experiments import Run, scoring, workers
from etgp_viz.rivals.build_model import kmeans

# --- dropout ------------------------------------------------------------------------------------


def test_each_layer_drops_its_own_units():
    """Behind two layers that pass on what is kept, a unit is there if both masks keep it."""
    H, dropout = 200, 0.5
    network = FlowNetwork(1, 2, Linear(), hidden=(H, H), dropout=dropout)
    first, second = network.layers
    first.weights.assign(np.zeros((1, H)))
    first.bias.assign(np.full(H, 50.0))  # tanh = 1, so that the mask itself comes out
    second.weights.assign(50.0 * np.eye(H))
    kept = network.features(np.zeros((1, 1)), samples=20, seed=3).numpy() > 0.0
    assert kept.mean() == pytest.approx((1.0 - dropout) ** 2, abs=0.03)  # 0.5 with one mask


# --- recovery -------------------------------------------------------------------------------------


class Line(gpflow.base.Module):
    """Loss (w − 1)², which is NaN for negative w."""

    def __init__(self) -> None:
        super().__init__()
        self.w = gpflow.Parameter(3.0)

    def training_loss(self, data):
        return tf.square(tf.sqrt(self.w) - 1.0)


def test_recovery_returns_to_the_last_good_parameters_with_more_jitter():
    model = Line()
    optimiser = Optimiser(model, (np.zeros((2, 1)), np.zeros((2, 1))), learning_rate=0.1)
    optimiser.step()
    good = float(optimiser.last_good[0])
    before = optimiser.jitter
    model.w.assign(-5.0)  # as one step too far
    error = tf.errors.InvalidArgumentError(None, None, "the loss : Tensor had NaN values")
    with pytest.warns(RuntimeWarning, match="the jitter is now"):
        optimiser._recover(error, None)
    assert float(model.w.unconstrained_variable) == good
    assert optimiser.jitter == pytest.approx(10 * before)


# --- k-means ------------------------------------------------------------------------------------


def test_k_means_starts_from_its_seed():
    X = np.random.default_rng(0).uniform(size=(120, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once, again, other = (kmeans(X, 15, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(once, again)
    assert not np.allclose(np.sort(once, axis=0), np.sort(other, axis=0))


# --- calibration --------------------------------------------------------------------------------


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    """Bins are (b/10, (b + 1)/10]: 0.45 and 0.5 share one, in which half of the rows are right."""
    p = np.array([[0.5, 0.3, 0.2], [0.45, 0.3, 0.25]])
    error = scoring.expected_calibration_error(p, np.array([0, 1]), 10)
    assert error == pytest.approx(abs(0.475 - 0.5))
    bins = scoring.reliability(p, np.array([0, 1]), 10)
    assert bins.count[bins.count > 0].tolist() == [2]


# --- retries ------------------------------------------------------------------------------------


def test_a_run_that_raises_an_error_is_tried_once_more(monkeypatch):
    """Dask tries it again, if it is told to when the run is submitted."""
    distributed, told = pytest.importorskip("distributed"), []

    class Completed(list):
        add = list.append

    class Client:
        def submit(self, execute, run, **options):
            told.append(options["retries"])
            done = SimpleNamespace(release=lambda: None, result=lambda: execute(run))
            done.key = options["key"]
            return done

    monkeypatch.setattr(distributed, "as_completed", Completed)
    runs = [Run("iris", "etgp-linear", seed=seed) for seed in range(3)]
    outcomes = workers._submitted(Client(), lambda run: run.seed, runs, window=2, is_local=False)
    assert [(run.seed, outcome) for run, outcome in outcomes] == [(0, 0), (1, 1), (2, 2)]
    assert told == [1, 1, 1]
