"""Lesson 01 on the posterior: what it says in its own words, and what it says of wrong answers."""

import re

import numpy as np
import pytest

from etgp_viz.course import check
from etgp_viz.course.checking import RIGHT, WRONG, lesson
from etgp_viz.explorers import PosteriorExplorer
from etgp_viz.records.posterior import Kernel, condition
from tests.unit.course import cells
from tests.unit.course.test_lesson_texts import NOTEBOOKS, prose

LESSON = re.sub(r"\s+", " ", prose(NOTEBOOKS[1]))


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Progress is saved in the working folder."""
    monkeypatch.chdir(tmp_path)


def band(explorer, x):
    """Half the width of the posterior band at an input."""
    record = explorer.records["functions"]
    return 2.0 * record.deviation[np.argmin(np.abs(record.x - x))]


def test_the_band_at_between_and_far_from_two_observations():
    assert "At an observation without noise nothing is left to doubt" in LESSON
    values = PosteriorExplorer.presets["Two points, and the band pinches"].values
    explorer = PosteriorExplorer(**values)
    at, between, far = band(explorer, 1.0), band(explorer, -0.25), band(explorer, 4.0)
    assert at < 0.01 < 0.3 < between < 0.9 * far
    assert far == pytest.approx(2.0, abs=0.01)


def test_dragging_up_and_down_leaves_the_width_alone():
    assert "The width does not change" in LESSON
    explorer = PosteriorExplorer(observations=(-1.5, 1.0, 1.0, -0.5, 3.0, 0.0), noise=0.0)
    before, mean = explorer.records["functions"].deviation, explorer.records["functions"].mean
    explorer.set(observations=(-1.5, 1.0, 1.0, -0.5, 3.0, 2.0))
    np.testing.assert_allclose(explorer.records["functions"].deviation, before, atol=1e-12)
    assert np.max(np.abs(explorer.records["functions"].mean - mean)) > 1.5


def test_about_ten_measurements_find_the_truth():
    assert "with ℓ = 1 and eight units of x, about ten" in LESSON
    counts = []
    for seed in range(6):
        explorer = PosteriorExplorer(observations=(), noise=0.0, seed=seed)
        truth = explorer.records["functions"].draws[0]
        while np.max(np.abs(explorer.records["functions"].mean - truth)) > 0.15:
            explorer.observe_draw()
        counts.append(len(explorer.state.observations) // 2)
    assert 9 <= np.mean(counts) <= 11


def test_the_evidence_table():
    """Short: the fit is closest and flexibility is paid for. Long: the fit is punished."""
    seen = cells.run("01", "evidence", np=np)
    x, y = seen["x_seen"], seen["y_seen"]
    fit, price, evidence = {}, {}, {}
    for lengthscale in (0.15, 1.3, 3.0):
        known = condition(Kernel("rbf", lengthscale), x, y, 0.1)
        fit[lengthscale] = -0.5 * y @ known.weights(y)
        price[lengthscale] = -np.sum(np.log(np.diag(known.root)))
        evidence[lengthscale] = known.log_marginal_likelihood
    assert evidence[1.3] > evidence[0.15] + 5.0 > evidence[3.0]
    assert abs(fit[0.15] - fit[1.3]) < 1.0 < price[1.3] - price[0.15]
    assert fit[3.0] < fit[1.3] - 20.0
    preset = PosteriorExplorer.presets["Too short a lengthscale"].values["observations"]
    assert preset == tuple(np.column_stack([x, y]).ravel())


def test_what_four_kernels_say_far_from_the_data():
    assert "RBF: nothing, it is back at the prior" in LESSON
    presets = PosteriorExplorer.presets
    trend = PosteriorExplorer(**presets["A trend and wiggles"].values)
    assert trend.records["functions"].mean[-1] > 1.5
    wiggles = 2.0 * np.sqrt(trend.state.variance2)
    assert band(trend, 4.0) > wiggles
    rhythm = PosteriorExplorer(**presets["A rhythm goes on"].values)
    assert band(rhythm, 4.0) < 0.4
    fading = PosteriorExplorer(**presets["A rhythm that changes"].values)
    after_one_period = fading.records["functions"].mean[
        np.argmin(np.abs(fading.records["functions"].x - 0.5))
    ]
    assert after_one_period > 0.5
    assert band(fading, 0.5) < 1.3 < 1.8 < band(fading, 4.0)
    alone = PosteriorExplorer(**{**presets["A trend and wiggles"].values, "kernel": "rbf",
                                 "variance": 1.0, "combine": "alone"})  # fmt: skip
    assert band(alone, 4.0) == pytest.approx(2.0, rel=0.01)


def test_how_often_draws_of_matern_kernels_can_be_differentiated():
    """Differences of order m + 1 shrink like h^m·√h beyond a draw's m derivatives (ν = m + ½)."""
    assert "with two derivatives, with one, with none" in LESSON
    for name, derivatives in (("matern52", 2), ("matern32", 1), ("matern12", 0)):
        kernel, order = Kernel(name), derivatives + 1
        weights = np.array([1.0])
        for _ in range(order):
            weights = np.convolve(weights, [1.0, -1.0])
        sizes = []
        for h in (0.02, 0.01):
            x = h * np.arange(order + 1)
            sizes.append(np.sqrt(weights @ kernel(x, x) @ weights))
        assert np.log2(sizes[0] / sizes[1]) == pytest.approx(derivatives + 0.5, abs=0.05)


@pytest.mark.parametrize(
    ("exercise", "answer", "outcome", "word"),
    [
        ("01.6", {"A": 0, "B": 1.0, "C": 0, "D": 1, "E": -1}, RIGHT, "without any observation"),
        ("01.6", {"A": 1, "B": 1, "C": 0, "D": 1, "E": -1}, WRONG, "1 for 'A' is too large"),
        ("01.6", {"A": -1, "B": 1, "C": 1, "D": 1, "E": 1}, WRONG, "In "),
        ("01.6", {"A": 0}, WRONG, "'B' is missing"),
        ("01.7", lambda K, k, v, y, s: (0.0, v), WRONG, "it should be"),
        ("01.7", lambda K, k, v, y, s: k @ y, WRONG, "returned 1"),
        ("01.7", lambda K, k, v, y, s: np.array([
            k @ np.linalg.inv(K + s**2 * np.eye(len(K))) @ y,
            v - k @ np.linalg.inv(K + s**2 * np.eye(len(K))) @ k]), RIGHT, "regression"),
    ],
)  # fmt: skip
def test_other_answers(exercise, answer, outcome, word):
    reply = check(exercise, answer)
    assert reply.outcome == outcome, reply.text
    assert word in reply.text


def test_the_widths_of_exercise_01_6_by_hand():
    """One observation: variance 1 − e^(−1/ℓ²)/(1 + σₙ²); two at one place halve the noise."""
    by_hand = {
        "now": 1.0 - np.exp(-1.0) / 2.0,
        "B": 1.0 - np.exp(-1.0) / 1.5,
        "D": 1.0 - np.exp(-1.0) / 1.01,
        "E": 1.0 - np.exp(-1.0 / 0.09) / 2.0,
    }
    (exercise,) = (each for each in lesson("01").exercises if each.id == "01.6")
    for letter, variance in by_hand.items():
        words = f"{4.0 * np.sqrt(variance):.2f} " + (
            "at first" if letter == "now" else f"in {letter}"
        )
        assert words in exercise.reveal()
    assert exercise.truth() == {"A": 0, "B": 1, "C": 0, "D": 1, "E": -1}
