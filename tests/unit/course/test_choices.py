"""Answers by letters, orders of lines and counterexamples; exercises of these kinds."""

import ast
import re

import numpy as np
import pytest

from etgp_viz.course.answers import InvalidAnswer, NotYet
from etgp_viz.course.checking import LESSONS, RIGHT, WRONG, lesson
from etgp_viz.course.choices import Choice, Conditions, Magnitude, Order, multiple_choice
from etgp_viz.course.lessons import concepts
from etgp_viz.course.lessons.lesson_01 import KERNEL
from etgp_viz.course.lessons.lesson_03 import COUNTEREXAMPLE

HINTS = ("one", "two", "three")


def test_letters_are_read_as_people_type_them():
    choice = Choice("ABCD")
    assert choice.read("c") == choice.read(" C ") == 2.0
    for wrong in ("E", "AB", "", 2, ["A"]):
        with pytest.raises(InvalidAnswer, match="one of the letters 'A', 'B', 'C', 'D'"):
            choice.read(wrong)
    with pytest.raises(NotYet):
        choice.read(...)


def test_orders_are_read_as_people_type_them():
    order = Order("ABCDE", also={"DA": "AD"})
    for same in ("BAE", "b, a, e", ["B", "A", "E"], ("b", "a", "e"), "B → A → E"):
        assert order.read(same) == order.read("BAE")
    assert order.read("DA") == order.read("AD")
    assert order.read("AB") != order.read("BA")
    assert order.read("AB") != order.read("ABC")
    for wrong in ("", "ABA", "AX", 3, [1, 2]):
        with pytest.raises(InvalidAnswer, match="each at most once"):
            order.read(wrong)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("AEC", "The first 2 of your lines are right; then C comes later."),
        ("AED", "then D does not belong here at all."),
        ("A", "The first of your lines is right, but lines are missing after A."),
        ("AEBCD", "nothing should follow them: leave out D."),
        ("EA", "Already at the top: E comes later."),
    ],
)
def test_a_wrong_order_is_told_how_far_it_is_right(order, words):
    answer = Order("ABCDE")
    assert words in answer.explain_error(answer.read(order), answer.read("AEBC"))


def test_conditions_accept_every_counterexample():
    positive = Conditions(
        ("a", "b"),
        tolerance=0.0,
        conditions={"a is above b.": lambda n: n[0] > n[1], "b is negative.": lambda n: n[1] < 0},
    )
    assert positive.read({"a": 3, "b": -1}).tolist() == [[1.0, 1.0]]
    assert positive.read({"a": -2, "b": -1}).tolist() == [[0.0, 1.0]]
    assert "b is negative." in positive.explain_error(positive.read({"a": 3, "b": 1}), np.ones(2))


def test_a_magnitude_is_right_within_a_factor():
    answer = Magnitude(tolerance=2.0)
    truth = answer.read(1e6)
    assert [bool(answer.close(answer.read(x), truth)[0]) for x in (6e5, 1.9e6, 4e5, 3e6)] == [
        *(True, True, False, False),
    ]
    with pytest.raises(InvalidAnswer, match="above zero"):
        answer.read(-1.0)


def test_every_wrong_option_has_a_reply_of_its_own():
    lettered = [e for n in LESSONS for e in lesson(n).exercises if isinstance(e.answer, Choice)]
    assert len(lettered) >= 5
    for exercise in lettered:
        replies = [mistake.message for mistake in exercise.mistakes.values()]
        assert len(replies) == len(exercise.answer.letters) - 1
        assert len(set(replies)) == len(replies)
        assert min(map(len, replies)) > 40
        for letter in exercise.answer.letters:
            outcome = exercise.check(letter).outcome
            assert outcome == (RIGHT if letter == exercise.truth() else WRONG)


def test_the_course_has_every_kind():
    kinds = {exercise.kind for number in LESSONS for exercise in lesson(number).exercises}
    assert {"multiple-choice", "parsons", "find-the-bug", "counterexample"} <= kinds


def test_the_prompt_lists_the_options():
    exercise = multiple_choice("99.1", "Why?", [("this", ""), ("that", "No.")], "A", "So.", HINTS)
    assert exercise.prompt == "Why?\n\n- **A.** this\n- **B.** that"
    assert exercise.check("B").reason == "No."


# What the exercises claim ---------------------------------------------------------------------


def test_three_values_that_cannot_be():
    """The eigenvalues of the colleague's matrix, and a random search for negative variances."""
    K = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    assert np.linalg.eigvalsh(K).min() == pytest.approx(1 - np.sqrt(2))
    rng = np.random.default_rng(0)
    for weights in rng.normal(size=(200, 3)):
        given = dict(zip(KERNEL.answer.parts, weights, strict=True))
        assert (KERNEL.check(given).outcome == RIGHT) == (weights @ K @ weights < 0.0)


def test_the_same_variance_is_not_enough():
    answers = [dict(zip(COUNTEREXAMPLE.answer.parts, a, strict=True)) for a in
               ((2, -2, -2), (-1, 1, 1), (1, 1, -1), (1, -1, 1), (1, 1, 2))]  # fmt: skip
    outcomes = [COUNTEREXAMPLE.check(answer).outcome for answer in answers]
    assert outcomes == [RIGHT, RIGHT, RIGHT, WRONG, WRONG]


def test_the_lines_in_order_draw_a_warped_process():
    """The right lines run, and give what the package draws."""
    code = dict(re.findall(r"\*\*([A-G])\.\*\* `([^`]+)`", concepts.SAMPLING.prompt))
    from etgp_viz.core import flows

    x, flow = np.linspace(0.0, 1.0, 5), flows.SinhArcsinh()
    names = {
        "np": np, "N": 5, "x": x, "rng": np.random.default_rng(1), "flow": flow,
        "kernel": lambda x: np.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-6 * np.eye(5),
        "params": flow.unconstrain([-1.0, 1.6, 1.0, 0.0]),
    }  # fmt: skip
    for letter in concepts.SAMPLING.truth():
        exec(code[letter], names)  # code of the course
    noise = np.random.default_rng(1).standard_normal(5)
    f0 = np.linalg.cholesky(names["kernel"](x)) @ noise
    np.testing.assert_allclose(names["f"], np.sinh(1.6 * np.arcsinh(f0) + 1.0), rtol=1e-9)


def test_the_bug_in_the_average_is_the_line_that_is_named():
    """As printed the code gives another number; with the draws kept to the end it gives BA."""
    from etgp_viz import build
    from etgp_viz.backend import tf
    from etgp_viz.core.expectations import gauss_hermite

    (printed,) = re.findall(r"```text\n(.*?)\n```", concepts.AVERAGING.prompt, flags=re.DOTALL)
    source = "\n".join(line[4:] for line in printed.splitlines())
    right = source.replace("tf.reduce_mean(model.network(X, samples=20), 0)", "draws")
    ast.parse(source)
    X = np.linspace(-2.0, 2.0, 7)[:, None]
    model = build("etgp-linear", X, 3, inducing_points=X[::2], hidden=(6,), dropout=0.5)
    rng = np.random.default_rng(0)
    model.q_mu.assign(rng.normal(size=model.q_mu.shape))
    model.network.output.weights.assign(rng.normal(size=model.network.output.weights.shape))
    nodes, weights = (tf.constant(part) for part in gauss_hermite(20))
    names = {"tf": tf, "flow": model.network.flow, "nodes": nodes, "weights": weights}
    exec(source, names)
    printed_p = names["bayesian_average"](model, X).numpy()
    np.testing.assert_allclose(printed_p.sum(axis=1), 1.0)
    average = []
    for draw in model.network(X, samples=20, seed=0):
        scope = names | {"draws": draw}
        exec(right, scope)
        average.append(scope["bayesian_average"](model, X).numpy())
    exact = model.predict_y(X, samples=20, seed=0)[0].numpy()
    np.testing.assert_allclose(np.mean(average, axis=0), exact, atol=0.06)
    assert np.max(np.abs(printed_p - exact)) > 0.02


def test_the_first_call_is_what_spoils_the_clock():
    from etgp_viz import timing

    rows = timing.reference().set_index(["model", "classes"])
    assert np.all(rows["first_step"] > 3 * rows["step"])
    assert concepts.CLOCK.check("D").outcome == RIGHT
