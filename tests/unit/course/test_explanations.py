"""Answers in words: right, half right, wrong, empty, off the topic, and denied."""

import re

import pytest

from etgp_viz.course.answers import NotYet
from etgp_viz.course.checking import LESSONS, NOT_YET, RIGHT, WRONG, lesson
from etgp_viz.course.explanations import MOST_LETTERS, Explanation, Idea, thoughts_of
from etgp_viz.course.lessons import in_your_words

EXERCISES = {e.id: e for n in LESSONS for e in lesson(n).exercises if e.kind == "explain-why"}

#: as students write; different words for the same ideas
RIGHT_ANSWERS = {
    "03.6": (
        "No. The mean of f is b(x), and it is not constant.",
        "The friend is wrong: the expectation rises from left to right, so it is non-stationary.",
        "It isn't stationary because the mean depends on x, even though the covariance doesn't.",
        "f is not stationary since b(x) shifts the mean.",
        "Not right, since stationarity also needs a constant mean, and here the mean varies.",
        "The friend only checked the covariance. E[f(x)] = b(x) is not the same everywhere, so f "
        "isn't stationary.",
        "The process cannot be stationary, as its expected value drifts upwards.",
        "No, the covariance is stationary but the level of the process changes with x.",
    ),
    "04.7": (
        "Both are invertible functions of the same f₀(x), so one determines the other.",
        "They share one latent. If you know f¹ you can undo the flow and get the other one.",
        "There's only a single draw of f0 behind both, so given one value you know the second.",
        "Because all classes are bent from one latent: f2 is a function of f1.",
        "It's not because of the softmax. Each class warps the same draw, and from the pivot I can "
        "compute the rest.",
        "There is only one source of randomness, f0(x), and each class is an invertible "
        "transformation of it.",
        "Both come from f_0, and since flows can be inverted, f^1 tells you f^2.",
    ),
    "05.7": (
        "The network extrapolates: its tanh units saturate. f0 goes back to the prior.",
        "The shifts b(x) stay different far away, but the latent returns to its prior.",
        "f₀ isn't to blame, it becomes uncertain; the flows keep their offsets.",
        "The Gaussian process is honest (it reverts to the prior), the network isn't: it stays "
        "confident because its shifts are constant there.",
        "The network does not return to a prior. The GP does: it is wide out there, as uncertain "
        "as before any data.",
        "Blame the network, whose hidden units saturate. The belief about f0 is as wide as the "
        "prior.",
    ),
    "06.6": (
        "The GP work is the same for any C, but the flows and the softmax grow with C.",
        "Only the Gaussian process part doesn't depend on C. The network's output layer grows.",
        "The Cholesky factorisation does not grow with C; that of the flows increases linearly.",
        "What does not grow is the Gaussian process work. What grows are flows, network, softmax.",
        "The kernel matrix is factorised only once, whereas the softmax needs a term per class.",
        "M³ + N·M² is independent of C, but there are C flows to evaluate.",
        "GP work is independent of C, while flows do depend on it.",
    ),
}

#: answer, whether nothing right was found, and words of the reply
WRONG_ANSWERS = {
    "03.6": (
        ("Yes, because the covariance depends on x − x′ only.", "half of the definition"),
        ("The friend is right, the matrix is constant along its diagonals.", "half of the"),
        ("No, because the variance grows with x.", "does not notice a shift"),
        ("It is not stationary, I think.", "1 of 2 ideas found: you say that f is not stationary."),
        ("The mean of the process is b(x).", "Is f stationary or not?"),
        ("The process is stationary, as its mean is not random.", "half of the definition"),
    ),
    "04.7": (
        ("The probabilities of a softmax must sum to one.", "before the softmax"),
        ("The kernel makes nearby values similar.", "*different* inputs"),
        ("Because they were trained on the same data.", "before any data"),
        ("They don't share a latent, each class has its own.", "0 of 2"),
        ("They share the same latent function.", "1 of 2 ideas found: you say that both are made"),
        ("One value never determines the other.", "0 of 2"),
    ),
    "05.7": (
        ("The latent is overconfident far from the data.", "first column"),
        ("There are too few data, more data would be needed.", "hundred times as many"),
        ("Dropout with more masks would help.", "point estimate"),
        ("The network is to blame.", "1 of 2 ideas found: you say that the network keeps"),
        ("f0 does not return to the prior.", "0 of 2"),
        ("The network is not to blame.", "0 of 2"),
    ),
    "06.6": (
        ("The sentence is right, since there is one GP.", "slope of the whole step"),
        ("It grows just like that of an SVGP.", "one more class costs far less"),
        ("The GP work does not grow with C.", "1 of 2 ideas found: you say that the Gaussian"),
        ("The Gaussian process work grows with C.", "0 of 2"),
        ("Flows and softmax grow with C, of course.", "Which part of the work is the same"),
    ),
}
OFF_TOPIC = (
    "I like Gaussian processes a lot, really.",
    "The quick brown fox jumps over the lazy dog.",
    "I do not know, sorry about that.",
)


def test_at_least_three_lessons_ask_for_words():
    assert len({name.partition(".")[0] for name in EXERCISES}) >= 3
    assert {exercise.id for exercise in EXERCISES.values()} == set(RIGHT_ANSWERS)
    assert len(in_your_words.__all__) == len(EXERCISES)


@pytest.mark.parametrize(
    ("name", "answer"), [(name, answer) for name, said in RIGHT_ANSWERS.items() for answer in said]
)
def test_the_same_ideas_in_other_words_are_right(name, answer):
    verdict = EXERCISES[name].check(answer)
    assert verdict.outcome == RIGHT, verdict.reason


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [(name, *pair) for name, said in WRONG_ANSWERS.items() for pair in said],
)
def test_a_wrong_answer_is_told_what_is_missing(name, answer, words):
    verdict = EXERCISES[name].check(answer)
    assert verdict.outcome == WRONG
    assert words in verdict.reason


@pytest.mark.parametrize("name", EXERCISES)
def test_empty_and_off_the_topic(name):
    for empty in ("", "   ", None, ...):
        assert EXERCISES[name].check(empty).outcome == NOT_YET
    for answer in OFF_TOPIC:
        verdict = EXERCISES[name].check(answer)
        assert verdict.outcome == WRONG
        assert "0 of 2 ideas found." in verdict.reason
    for answer in ("because", 3, ["f0"], "f0 " * MOST_LETTERS):
        verdict = EXERCISES[name].check(answer)
        assert verdict.outcome == WRONG
        assert "Expected a sentence or two" in verdict.reason


@pytest.mark.parametrize("name", EXERCISES)
def test_the_question_is_not_its_own_answer(name):
    question = EXERCISES[name].prompt.partition(" (Write")[0]
    assert EXERCISES[name].check(question).outcome == WRONG


@pytest.mark.parametrize("name", EXERCISES)
def test_every_idea_has_an_example_and_the_opposite_does_not_count(name):
    rubric = EXERCISES[name].answer
    everything = (*rubric.ideas, *rubric.misconceptions)
    for idea in everything:
        thoughts = thoughts_of(idea.example)
        assert [other.name for other in everything if other.found_in(thoughts)] == [idea.name]
        denied = thoughts_of(f"It is not true that {idea.example[0].lower()}{idea.example[1:]}")
        assert not idea.found_in(denied), idea.name


def test_a_denial_reaches_as_far_as_its_thought():
    rain = Idea("it rains", "", "", says=r"\brain")
    dry = Idea("it is dry", "", "", denies=r"\brain")

    def found(text):
        thoughts = thoughts_of(text)
        return rain.found_in(thoughts), dry.found_in(thoughts)

    assert found("It rains in the north.") == (True, False)
    assert found("It doesn’t rain there.") == (False, True)
    assert found("It never snows, but it rains.") == (True, False)
    assert found("It does not rain, it pours.") == (False, True)
    assert found("It's not that it does not rain.") == (True, False)
    assert found("Not because of rain but because of snow.") == (False, True)
    assert found("Rain is not the reason.") == (False, True)


def test_a_blank_answer_is_not_read():
    with pytest.raises(NotYet):
        Explanation((), ()).read(" \n ")


def test_the_prompt_says_how_it_is_judged():
    for exercise in EXERCISES.values():
        (number,) = re.findall(r"words of (\w+) ideas", exercise.prompt)
        assert number == {2: "two", 3: "three"}[len(exercise.answer.ideas)]
