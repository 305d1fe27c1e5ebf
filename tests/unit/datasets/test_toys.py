"""Toy data: shapes, balance, the geometry that each docstring promises, and bad arguments."""

import numpy as np
import pytest

from etgp_viz.datasets.toys import TOYS, blobs, moons, region, spirals, waves

every_toy = pytest.mark.parametrize("make", TOYS.values(), ids=TOYS)


@every_toy
def test_sizes_classes_and_seed(make):
    data = make(num_data=400, num_classes=5, noise=0.2, seed=3)
    assert data.X.shape == (400, data.num_inputs)
    assert data.Y.shape == (400, 1)
    assert set(np.unique(data.Y)) == set(range(5))
    assert np.abs(data.X).max() < 5
    np.testing.assert_array_equal(data.train[0], data.X)
    again, other = (make(num_data=400, num_classes=5, noise=0.2, seed=s) for s in (3, 4))
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.Y, data.Y)
    assert not np.array_equal(other.X, data.X)


@every_toy
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"num_classes": 1}, "num_classes: expected an integer ≥ "),
        ({"num_data": 2, "num_classes": 3}, "num_data: expected an integer ≥ 3"),
        ({"noise": -0.1}, "noise: expected a finite number ≥ 0, got -0.1"),
        ({"seed": -1}, "seed: expected an integer in 0..2147483647, got -1"),
    ],
)
def test_bad_arguments(make, options, says):
    with pytest.raises(ValueError, match="expected") as caught:
        make(**options)
    assert str(caught.value).startswith(says)


def test_bad_number_of_inputs():
    for make in (blobs, region):
        with pytest.raises(ValueError, match="num_inputs: expected one of 1, 2, got 3"):
            make(num_inputs=3)


def test_waves_are_bands_of_equal_share():
    data = waves(num_data=40_000, num_classes=4, noise=0.0)
    height = np.sin(2 * data.X[:, 0])
    lower = [height[data.Y[:, 0] == c].min() for c in range(4)]
    upper = [height[data.Y[:, 0] == c].max() for c in range(4)]
    assert all(upper[c] <= lower[c + 1] for c in range(3))
    # x covers 6/π of a period, not a whole number of them: shares are equal only nearly.
    np.testing.assert_allclose(np.bincount(data.Y[:, 0]) / 40_000, 0.25, atol=0.03)


def test_spirals_turn_by_a_class():
    data = spirals(num_data=900, num_classes=3, noise=0.0)
    radius = np.linalg.norm(data.X, axis=1)
    assert 0.2 <= radius.min() < radius.max() <= 2.0
    turns = np.arctan2(data.X[:, 1], data.X[:, 0]) / (2 * np.pi)
    own = (turns - (radius - 0.2) / 1.8) * 3  # what is left of the angle, in thirds of a turn
    away = np.abs((own - data.Y[:, 0] + 1.5) % 3 - 1.5)
    np.testing.assert_allclose(away, 0, atol=1e-9)


def test_moons_are_half_circles_by_turns():
    data = moons(num_data=600, num_classes=6, noise=0.0)
    for c in range(6):
        own = data.X[data.Y[:, 0] == c]
        side = 1 if c % 2 == 0 else -1
        centre = np.array([c - 2.5, -0.25 * side])
        np.testing.assert_allclose(np.linalg.norm(own - centre, axis=1), 1.0)
        assert (side * (own[:, 1] - centre[1]) >= 0).all()


@pytest.mark.parametrize("num_inputs", [1, 2])
def test_blobs_have_their_centres_and_spread(num_inputs):
    data = blobs(num_data=40_000, num_classes=4, noise=0.5, num_inputs=num_inputs)
    centres = np.stack([data.X[data.Y[:, 0] == c].mean(axis=0) for c in range(4)])
    expected = np.linspace(-2.5, 2.5, 4)[:, None]
    if num_inputs == 2:
        expected = np.array([[2, 0], [0, 2], [-2, 0], [0, -2]])
    np.testing.assert_allclose(centres, expected, atol=4 * 0.5 / 100)
    np.testing.assert_allclose((data.X - expected[data.Y[:, 0]]).std(), 0.5, rtol=0.02)


def test_the_last_class_of_region_exists_there_only():
    line, plane = region(noise=0.0, num_inputs=1), region(noise=0.0, num_data=2000)
    inside = np.abs(line.X[:, 0] - 1.5) < 0.5
    np.testing.assert_array_equal(line.Y[:, 0] == 3, inside)
    inside = np.linalg.norm(plane.X - 1, axis=1) < 0.8
    np.testing.assert_array_equal(plane.Y[:, 0] == 3, inside)
    assert inside.sum() > 100
    with pytest.raises(ValueError, match="num_classes: expected an integer ≥ 3, got 2"):
        region(num_classes=2)


@every_toy
def test_noise_blurs_the_classes(make):
    """The nearest neighbour of a point is of its class less often when there is more noise."""

    def agreement(noise):
        data = make(num_data=1000, num_classes=4, noise=noise)
        distance = np.linalg.norm(data.X[:, None] - data.X[None], axis=-1)
        np.fill_diagonal(distance, np.inf)
        return np.mean(data.Y[np.argmin(distance, axis=1)] == data.Y)

    assert agreement(0.01) > 0.9
    assert agreement(0.01) > agreement(1.0) + 0.1
