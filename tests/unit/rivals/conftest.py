"""The same random numbers for every test, in any order of tests."""

import pytest

from etgp_viz.backend import tf
from tests.unit.rivals import models


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    models.rng.bit_generator.state = models.STATE
    tf.random.set_seed(0)


@pytest.fixture
def quick_points(monkeypatch):
    """The first rows as inducing points, where k-means is not under test."""
    monkeypatch.setattr(
        "etgp_viz.rivals.build_model.kmeans", lambda X, num_inducing, seed: X[:num_inducing]
    )
