"""Lesson 09: its formula against the package and draws, its pictures against what it says."""

import re

import numpy as np
import pytest

from etgp_viz.course import ideas
from etgp_viz.course.lessons.lesson_09 import COUNTEREXAMPLE, mixed_correlation
from etgp_viz.extensions import mixed_covariance
from tests.unit.course.cells import run

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("latents", [1, 2, 4])
def test_the_correlation_is_that_of_the_package_and_of_draws(latents):
    weights, scales = RNG.normal(size=(2, latents)), np.array([0.7, -1.6])
    variances = RNG.uniform(0.3, 3.0, latents)
    found = mixed_correlation(weights, scales, variances)
    package = mixed_covariance.mixed_correlation(variances, scales, weights)[0, 1]
    assert found == pytest.approx(package, rel=1e-12)
    f = np.sqrt(variances)[:, None] * RNG.normal(size=(latents, 100_000))
    drawn = np.corrcoef(scales[:, None] * (weights @ f) + [[1.0], [-3.0]])[0, 1]
    assert abs(drawn - found) <= 4.0 * (1.0 - found**2) / np.sqrt(100_000) + 1e-9


def test_the_counterexample_is_one():
    names = {}
    exec(COUNTEREXAMPLE.solution, names)  # code of the course
    weights = np.array([list(names["weights"].values()), [1.0, 2.0]])
    assert np.all(weights != 0)
    assert mixed_correlation(weights, np.ones(2), np.array([1.0, 4.0])) == pytest.approx(0.0)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0, 1.7])
def test_the_small_picture_says_the_correlation(weight):
    idea = ideas.loosen_the_tie()
    idea.slider.value = weight
    (said,) = re.findall(r">(−?\d\.\d\d)<", idea.sentence.value)
    expected = mixed_correlation(np.array([[1.0, weight], [1.0, -weight]]), np.ones(2), np.ones(2))
    assert float(said.replace("−", "-")) == pytest.approx(expected, abs=0.005)


@pytest.mark.slow
def test_what_the_lesson_says_about_returning():
    """Only the Gaussian processes leave their prior among the data and come back to it beyond."""
    away = run("09", "setup", "ties", "sources")["away"]
    among, beyond = away.spread[:, away.x < 2.5].mean(axis=1), away.spread[:, -1]
    inside, outside = (dict(zip(away.names, part, strict=True)) for part in (among, beyond))
    assert inside["gp"] < 0.7
    assert outside["gp"] == pytest.approx(1.0, abs=0.05)
    for source in ("dropout", "concrete"):
        assert max(inside[source], outside[source]) < 0.2
    assert min(inside["mean-field"], outside["mean-field"]) > 0.9
