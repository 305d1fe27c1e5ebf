"""Lesson 04: a target to be matched, and its other answers against something independent."""

from types import SimpleNamespace

import numpy as np
import pytest

from etgp_viz.course.checking import NOT_YET, RIGHT, WRONG
from etgp_viz.course.lessons.lesson_04 import BENT, MATCH, blocks_of, hidden_covariance
from etgp_viz.explorers.covariance import CovarianceState


class Shaped:
    """An explorer, as far as a target looks at it."""

    def __init__(self, **state):
        latent = {"kernel": "matern32", "lengthscale": 1.0, "variance": 1.0}
        self.state = SimpleNamespace(family="linear", **latent, **state)


HIDDEN = {
    "a1": [1.5, 1.0, 0.6, 1.0, 1.5],
    "a2": [0.4, 0.8, 1.2, 1.6, 2.0],
    "a3": [-2.0, -1.5, -1.0, -0.6, -0.3],
}


@pytest.mark.parametrize(
    "answer",
    [
        HIDDEN,
        list(HIDDEN.values()),
        np.array(list(HIDDEN.values())),
        -np.array(list(HIDDEN.values())),  # f₀ and −f₀ have the same law
        1.03 * np.array(list(HIDDEN.values())),  # 6 % in every covariance
        Shaped(**HIDDEN),
    ],
    ids=["dictionary", "lists", "array", "signs turned", "near enough", "explorer"],
)
def test_a_target_takes_numbers_or_an_explorer(answer):
    assert MATCH.check(answer).outcome == RIGHT


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({**HIDDEN, "a3": [-2.0, -1.5, -1.0, -0.6, -1.5]}, "3 of 6 parts"),
        (0.5 * np.array(list(HIDDEN.values())), "75% away from the target"),
        ({**HIDDEN, "a2": [0.4, 0.8, 1.2, 1.6]}, "5 numbers for 'a2'"),
        ({"a1": [1.0] * 5}, "'a2' is missing"),
        ([1.0, [2.0, 3.0], "word"], "5 numbers for 'a1'"),
        (Shaped(**{**HIDDEN, "a3": [-1.0, -0.75, -0.5, -0.3, -0.15]}), "of f³ and f³, 75% away"),
    ],
)
def test_a_target_says_how_far_and_where(answer, words):
    reply = MATCH.check(answer)
    assert reply.outcome == WRONG
    assert words in reply.reason


def test_a_target_wants_the_explorer_that_it_was_made_with():
    shaped = Shaped(**HIDDEN)
    shaped.state.kernel = "rbf"
    assert (
        "made with kernel = 'matern32', but your explorer has 'rbf'" in MATCH.check(shaped).reason
    )
    assert "no such control" in MATCH.check(SimpleNamespace(state=object())).reason
    assert MATCH.check({**HIDDEN, "a2": ...}).outcome == NOT_YET


def test_the_distance_to_a_target_is_that_of_matrices():
    target = MATCH.answer
    hidden = np.array(list(HIDDEN.values()))
    distances = target._distances(target.read(1.5 * hidden), target.read(hidden))
    np.testing.assert_allclose(distances, 1.5**2 - 1.0)  # a covariance grows with the square
    for name, block in blocks_of(hidden).items():
        assert block.shape == (25, 25), name
    assert np.linalg.norm(target.read(hidden)[:, 0]) == pytest.approx(
        np.linalg.norm(hidden_covariance()[:25, :25])
    )


def test_the_explorer_opens_with_the_flows_that_are_named():
    state = CovarianceState(kernel="matern32")
    assert "with which the explorer opens" in MATCH.check(SimpleNamespace(state=state)).reason


def test_the_correlation_of_a_bent_class_by_draws():
    z = np.random.default_rng(0).standard_normal(400_000)
    assert np.corrcoef(z, np.exp(z))[0, 1] == pytest.approx(BENT.truth(), abs=0.01)
