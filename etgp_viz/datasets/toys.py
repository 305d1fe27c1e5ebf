"""Toy data with C classes in one or two dimensions, drawn from a seed.

All generators return a `Dataset` of training rows and take the same arguments: ``num_data`` N and
``num_classes`` C, with N ≥ C, ``noise``, which scales standard normal ε (0 makes the classes
separable), and the ``seed`` of all random numbers. The inputs lie within a few units of the origin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from etgp_viz.checks import (
    check_choice,
    check_count,
    check_memory,
    check_nonnegative,
    check_seed,
    describe,
)
from etgp_viz.datasets.dataset import Card, Dataset

__all__ = ["TOYS", "blobs", "moons", "region", "spirals", "waves"]


def waves(num_data: int = 300, num_classes: int = 3, noise: float = 0.1, seed: int = 0) -> Dataset:
    """One input x in [−3, 3]; the class is the band that sin(2x) + noise·ε falls into.

    The C bands are about equally likely: −cos(πk/C) are the quantiles of a sine's height.

    Parameters
    ----------
    num_data, num_classes : N and C, with N ≥ C
    noise, seed : standard deviation of the height around the sine; seed of all random numbers

    Returns
    -------
    a `Dataset` of training rows

    Examples
    --------
    >>> waves(num_data=5)
    Dataset('waves', D=1, C=3, train=5)
    """
    rng = _checked_rng(num_data, num_classes, noise, seed)
    X = rng.uniform(-3.0, 3.0, (num_data, 1))
    height = np.sin(2.0 * X[:, 0]) + noise * rng.normal(size=num_data)
    return _toy("waves", X, _band(height, num_classes), num_classes, "bands of a noisy sine wave")


def spirals(
    num_data: int = 500, num_classes: int = 3, noise: float = 0.1, seed: int = 0
) -> Dataset:
    """Two inputs, noise·ε off C arms that wind once around the origin, from radius 0.2 to 2.

    Parameters
    ----------
    num_data, num_classes : N and C, with N ≥ C
    noise, seed : standard deviation of the distance from an arm; seed of all random numbers

    Returns
    -------
    a `Dataset` of training rows

    Examples
    --------
    >>> spirals(num_data=9).counts()
    {'train': {'class 0': 3, 'class 1': 3, 'class 2': 3}}
    """
    rng = _checked_rng(num_data, num_classes, noise, seed)
    labels = _balanced(rng, num_data, num_classes)
    along = rng.uniform(size=num_data)
    angle = 2.0 * np.pi * (along + labels / num_classes)
    X = (0.2 + 1.8 * along)[:, None] * _circle(angle) + noise * rng.normal(size=(num_data, 2))
    return _toy("spirals", X, labels, num_classes, "arms of a spiral")


def moons(num_data: int = 500, num_classes: int = 4, noise: float = 0.1, seed: int = 0) -> Dataset:
    """Two inputs; C half circles of radius 1 in a row, open downwards and upwards in turn.

    Each reaches into its neighbours; the points are noise·ε off them.

    Parameters
    ----------
    num_data, num_classes : N and C, with N ≥ C
    noise, seed : standard deviation of the distance from a half circle; seed of all random numbers

    Returns
    -------
    a `Dataset` of training rows

    Examples
    --------
    >>> moons(num_data=8).X.shape
    (8, 2)
    """
    rng = _checked_rng(num_data, num_classes, noise, seed)
    labels = _balanced(rng, num_data, num_classes)
    side = np.where(labels % 2 == 0, 1.0, -1.0)
    points = _circle(np.pi * rng.uniform(size=num_data))
    X = np.column_stack([points[:, 0] + labels, side * (points[:, 1] - 0.25)])
    X += noise * rng.normal(size=X.shape) - [(num_classes - 1) / 2, 0.0]
    return _toy("moons", X, labels, num_classes, "interlocking half circles")


def blobs(
    num_data: int = 500,
    num_classes: int = 4,
    noise: float = 0.8,
    seed: int = 0,
    num_inputs: int = 2,
) -> Dataset:
    """One or two inputs; C Gaussian clouds.

    Their centres are spread evenly over [−2.5, 2.5] (one input) or on a circle of radius 2 (two);
    ``noise`` is the standard deviation of a cloud.

    Parameters
    ----------
    num_data, num_classes : N and C, with N ≥ C
    noise, seed : standard deviation of a cloud; seed of all random numbers
    num_inputs : D, 1 or 2

    Returns
    -------
    a `Dataset` of training rows

    Examples
    --------
    >>> blobs(num_data=4, num_inputs=1, noise=0.0).X[:, 0].round(1).tolist()
    [0.8, -2.5, -0.8, 2.5]
    """
    rng = _checked_rng(num_data, num_classes, noise, seed, num_inputs)
    labels = _balanced(rng, num_data, num_classes)
    centres = np.linspace(-2.5, 2.5, num_classes)[:, None]
    if num_inputs == 2:
        centres = 2.0 * _circle(2.0 * np.pi * np.arange(num_classes) / num_classes)
    X = centres[labels] + noise * rng.normal(size=(num_data, num_inputs))
    return _toy("blobs", X, labels, num_classes, "overlapping Gaussian clouds")


def region(
    num_data: int = 500,
    num_classes: int = 4,
    noise: float = 0.1,
    seed: int = 0,
    num_inputs: int = 2,
) -> Dataset:
    """One or two inputs; the last class exists only in one region, the others everywhere else.

    With one input, x in [−3, 3], the last class owns 1 < x < 2, and the others are bands of
    sin(2x) as in `waves`. With two inputs, [−2, 2]², it owns a disc of radius 0.8 around (1, 1),
    and the others are equal sectors around the origin. A row's label is read off at its inputs plus
    ``noise``·ε, which blurs every border. C is at least 3.

    Parameters
    ----------
    num_data, num_classes : N and C, with N ≥ C ≥ 3
    noise, seed : standard deviation of the blur of every border; seed of all random numbers
    num_inputs : D, 1 or 2

    Returns
    -------
    a `Dataset` of training rows

    Examples
    --------
    >>> data = region(num_inputs=1, noise=0.0)
    >>> last = data.X[data.Y == 3]
    >>> bool((last > 1).all() and (last < 2).all())
    True
    """
    check_count(num_classes, "num_classes", minimum=3)
    rng = _checked_rng(num_data, num_classes, noise, seed, num_inputs)
    half = 3.0 if num_inputs == 1 else 2.0
    X = rng.uniform(-half, half, (num_data, num_inputs))
    moved = X + noise * rng.normal(size=X.shape)
    others = num_classes - 1
    if num_inputs == 1:
        labels = _band(np.sin(2.0 * moved[:, 0]), others)
        inside = np.abs(moved[:, 0] - 1.5) < 0.5
    else:
        turn = np.arctan2(moved[:, 1], moved[:, 0]) / (2.0 * np.pi) % 1.0
        labels = np.minimum((turn * others).astype(int), others - 1)
        inside = np.sum((moved - 1.0) ** 2, axis=1) < 0.8**2
    labels = np.where(inside, others, labels)
    return _toy("region", X, labels, num_classes, "a class that exists in one region only")


TOYS: dict[str, Callable[..., Dataset]] = {
    toy.__name__: toy for toy in (waves, spirals, moons, blobs, region)
}


def _checked_rng(
    num_data: int, num_classes: int, noise: float, seed: int, num_inputs: int = 1
) -> np.random.Generator:
    """Random numbers of a seed, once the arguments that all toys share have been checked."""
    check_count(num_classes, "num_classes", minimum=2)
    check_count(num_data, "num_data", minimum=num_classes, because="one row per class")
    check_memory(100 * int(num_data), "num_data", f"{describe(num_data)} rows")
    check_nonnegative(noise, "noise")
    check_choice(num_inputs, "num_inputs", (1, 2))
    return np.random.default_rng(check_seed(seed))


def _balanced(rng: np.random.Generator, num_data: int, num_classes: int) -> np.ndarray:
    """Labels ``[N]`` in random order; the sizes of two classes differ by one at most."""
    return rng.permutation(np.arange(num_data) % num_classes)


def _band(height: np.ndarray, num_bands: int) -> np.ndarray:
    """Number of the band that each height in [−1, 1] falls into."""
    return np.digitize(height, -np.cos(np.pi * np.arange(1, num_bands) / num_bands))


def _circle(angle: np.ndarray) -> np.ndarray:
    """Points ``[N, 2]`` on the unit circle."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _toy(name: str, X: np.ndarray, labels: np.ndarray, num_classes: int, title: str) -> Dataset:
    card = Card(f"Toy data: {title}", source="drawn by etgp_viz.datasets.toys", licence="none")
    names = [f"class {c}" for c in range(num_classes)]
    return Dataset(name, X, labels[:, None], names, card=card)
