"""Lessons 01 to 03: truths against plain NumPy, and what is said of answers that are not listed."""

import numpy as np
import pytest

from etgp_viz.course import check
from etgp_viz.course.checking import RIGHT, WRONG, lesson
from etgp_viz.course.lessons.lesson_03 import hidden_flow

S = 400_000


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Progress is saved in the working folder."""
    monkeypatch.chdir(tmp_path)


def truth(name: str):
    (exercise,) = (each for each in lesson(name[:2]).exercises if each.id == name)
    return exercise.truth()


def sal(f, a=-1.0, b=1.6, d=1.0, e=0.0):
    return d * np.sinh(b * np.arcsinh(f) - a) + e


def test_what_one_value_says_of_another():
    rho = np.exp(-0.5)
    rng = np.random.default_rng(0)
    known, other = np.sqrt(2.0) * rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], S).T
    near = other[np.abs(known - 1.5) < 0.05]
    right = truth("01.4")
    assert near.mean() == pytest.approx(right["mean"], abs=5 * near.std() / np.sqrt(len(near)))
    assert near.std() == pytest.approx(right["standard deviation"], rel=0.03)


def test_moments_and_correlation_of_warped_values():
    rho = np.exp(-0.5)
    rng = np.random.default_rng(1)
    draws = sal(np.sqrt(2.0) * rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], S))
    right = truth("02.3")
    assert draws[:, 0].mean() == pytest.approx(right["mean"], rel=0.01)
    assert draws.std() == pytest.approx(right["standard deviation"], rel=0.02)
    correlation = truth("02.5")
    assert correlation["before"] == pytest.approx(rho)
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(correlation["after"], abs=0.02)
    assert correlation["after"] < 0.97 * rho  # or there would be nothing to see


def test_the_target_is_met_by_its_solution():
    right = truth("02.4")
    draws = sal(
        np.random.default_rng(2).normal(size=S), right["skew"], 1.0, right["scale"], right["shift"]
    )
    np.testing.assert_allclose(np.quantile(draws, [0.025, 0.5, 0.975]), [-1, 0, 3], atol=0.03)


def test_the_band_of_the_hidden_flow():
    a, b = hidden_flow(np.linspace(-3.0, 3.0, 61)).T
    assert a.min() > 0.0
    assert truth("03.3") == {"a": pytest.approx(1.5), "b": pytest.approx(1.0)}
    assert np.ptp(b) > 1.0


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("01.2", {"f0(0)": -2, "f0(1)": 2.5, "f0(2)": -2}),
        ("01.4", {"mean": 0.91, "standard deviation": 1.12}),
        ("02.4", {"skew": -1.15, "scale": 0.6, "shift": -0.85}),  # where sliders can stand
        ("02.2", lambda g, flow, p: -0.5 * flow.inverse(g, p) ** 2 - 0.5 * np.log(2 * np.pi)
         - flow.log_derivative(flow.inverse(g, p), p)),
        ("03.2", {"a(-1)": -2.0, "a(0)": 2.0, "a(1)": 2.0}),
    ],
)  # fmt: skip
def test_other_right_answers(exercise, answer):
    reply = check(exercise, answer)
    assert reply.outcome == RIGHT, reply.text


@pytest.mark.parametrize(
    ("exercise", "answer", "word"),
    [
        ("01.1", {"four times the variance": 4, "twice the lengthscale": 2}, "standard deviation"),
        ("01.2", {"f0(0)": 1, "f0(1)": -1, "f0(2)": -1}, "The variance of this sum"),
        ("01.3", lambda K, noise: noise, "The shape is right"),
        ("01.5", {"A": 1, "B": 1, "C": 1, "D": 1}, "diagonal"),
        ("02.2", lambda g, flow, p: np.full_like(g, np.nan), "not finite"),
        ("02.4", {"skew": -1.15, "scale": 0.6, "shift": -0.5}, "0.33 too high"),
        ("02.4", {"skew": 0.0, "scale": -1.0, "shift": 0.0}, "scale above zero"),
        ("02.4", {"skew": 0.0, "scale": 1.0}, "'shift' is missing"),
        ("03.1", {"variance at 2": 3, "covariance": 2, "correlation": 1}, "a(2) = 3"),
        ("03.4", 100.0, "too large"),
    ],
)
def test_what_is_said_of_other_wrong_answers(exercise, answer, word):
    reply = check(exercise, answer)
    assert reply.outcome == WRONG
    assert word in reply.text


def test_a_density_that_is_right_for_one_flow_only():
    def sal_only(g, flow, params):
        if flow.num_params != 4:
            return np.zeros_like(g)
        f = flow.inverse(g, params).numpy()
        return -0.5 * f**2 - 0.5 * np.log(2 * np.pi) - flow.log_derivative(f, params).numpy()

    reply = check("02.2", sal_only)
    assert reply.outcome == WRONG
    assert "mass one" in reply.text
