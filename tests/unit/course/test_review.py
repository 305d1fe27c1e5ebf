"""Warm-ups: what is asked, when, and what is remembered of it."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from etgp_viz.course import answer, check, review, warm_up
from etgp_viz.course.checking import LESSONS, RIGHT, WRONG, exercise_ids
from etgp_viz.course.classroom import collect
from etgp_viz.course.progress import Record, load
from etgp_viz.course.questions import bank
from etgp_viz.course.review import choose

NOW = datetime.now(UTC).replace(tzinfo=None)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Progress is saved in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["etgp_viz.course.progress"], "_unsaved", {})


def write(**records):
    """A progress file; `solved` records were solved at the first attempt."""
    exercises = {name.replace("_", "."): value for name, value in records.items()}
    Path("progress.json").write_text(json.dumps({"format": 1, "exercises": exercises}))


def record(days_ago: float, solved: bool = True, attempts: int = 1, solution: bool = False):
    seen = (NOW - timedelta(days=days_ago)).isoformat(timespec="seconds")
    return {"solved": solved, "attempts": attempts, "hints": 0, "solution": solution, "seen": seen}


def asked(quiz) -> list[str]:
    return [question.id for question in quiz.questions]


# The bank -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", bank())
def test_a_question_is_complete(name):
    question = bank()[name]
    assert question.lesson in LESSONS
    assert len(question.options) == 3
    assert question.right in question.letters
    assert set(question.about) <= set(exercise_ids())
    assert question.text.endswith("?")
    replies = [question.reply(letter) for letter in question.letters]
    assert len(set(replies)) == 3
    assert all(len(reply) > 25 for reply in replies)


def test_every_lesson_and_every_exercise_has_questions():
    """Whatever went wrong can come back."""
    lessons = [question.lesson for question in bank().values()]
    assert all(lessons.count(number) >= 2 for number in LESSONS)
    about = {name for question in bank().values() for name in question.about}
    assert set(exercise_ids()) - about == set()
    rights = [question.right for question in bank().values()]
    assert max(rights.count(letter) for letter in "ABC") < 0.5 * len(rights)


# What is asked --------------------------------------------------------------------------------


def test_somebody_who_was_away_for_two_weeks_is_asked_what_they_forgot():
    """Lessons 01 to 04 two weeks ago; 02.2 and 03.4 went wrong; 04 was practised yesterday."""
    write(
        **{"01_1": record(15), "01_4": record(15), "02_1": record(14.5)},
        **{"02_2": record(14, solved=False, attempts=3), "03_1": record(14)},
        **{"03_4": record(14, attempts=2, solution=True), "04_1": record(1), "04_3": record(1)},
    )
    quiz = warm_up("05")
    assert len(quiz.questions) == 3
    first, second, third = asked(quiz)
    assert {first, second} == {"q02.2", "q03.3"}  # what went wrong comes first
    assert bank()[third].lesson in ("01", "02", "03", "04")
    assert not set(bank()[third].about) & {"04.1", "04.3"}  # and what is fresh does not come


def test_what_was_answered_wrongly_comes_back_and_what_was_right_waits():
    wrong, *_ = asked(warm_up("03"))
    letters = set(bank()[wrong].letters)
    reply = answer(wrong, min(letters - {bank()[wrong].right}))
    assert reply.outcome == WRONG
    assert f"See lesson {bank()[wrong].lesson}." in reply.text
    assert asked(warm_up("03"))[0] == wrong
    assert answer(wrong, bank()[wrong].right).outcome == RIGHT
    assert wrong not in asked(warm_up("03"))


def test_a_right_answer_can_be_forgotten():
    answer("q01.1", "B")
    answer("q01.1", "A")
    assert load()["q01.1"].solved is False
    assert load()["q01.1"].attempts == 2


def test_what_was_not_seen_for_longest_comes_first():
    questions = [bank()[name] for name in ("q01.1", "q01.2", "q02.1")]
    records = {
        "q01.1": Record(True, 1, seen="2026-01-03T10:00:00"),
        "q01.2": Record(True, 1, seen="2026-01-01T10:00:00"),
        "q02.1": Record(True, 1, seen="2026-01-02T10:00:00"),
    }
    found = choose(questions, records, 3, "2026-01-20")
    assert [question.id for question in found] == ["q01.2", "q02.1", "q01.1"]


def test_a_newcomer_is_asked_about_different_lessons():
    assert sorted({bank()[name].lesson for name in asked(warm_up("05"))}) == ["01", "02", "03"]
    assert {bank()[name].lesson for name in asked(warm_up("02"))} == {"01"}


def test_a_review_keeps_to_what_was_begun():
    assert len(review(6).questions) == 6
    write(**{"02_1": record(3), "03_1": record(3)})
    assert {question.lesson for question in review(5).questions} == {"02", "03"}


def test_bad_calls_are_refused():
    with pytest.raises(ValueError, match="lesson: expected one of"):
        warm_up("01")
    with pytest.raises(ValueError, match="question_id: expected one of"):
        answer("q99.1", "A")
    with pytest.raises(ValueError, match="letter: expected one of"):
        answer("q01.1", "D")


# The page and the file ------------------------------------------------------------------------


def test_a_button_answers_and_the_reply_appears():
    quiz = warm_up("04")
    question = quiz.questions[0]
    row = quiz.children[0]
    buttons = {button.description: button for button in row.children[1].children}
    assert list(buttons) == list(question.letters)
    buttons[question.right].click()
    assert "right" in quiz.replies[question.id].value
    assert question.reply(question.right).split("'")[0] in quiz.replies[question.id].value
    assert load()[question.id].solved
    assert question.text in str(quiz)


def test_the_time_is_kept_and_old_files_stay_as_they_are():
    old = {"solved": True, "attempts": 1, "hints": 0, "solution": False}
    write(**{"06_1": old})
    check("04.2", lambda f1, a1, b1, a2, b2: 0.0)
    saved = json.loads(Path("progress.json").read_text())["exercises"]
    assert saved["06.1"] == old
    assert datetime.fromisoformat(saved["04.2"]["seen"]) >= NOW - timedelta(seconds=5)


def test_a_time_that_is_none_makes_a_broken_file():
    write(**{"06_1": {**record(1), "seen": "yesterday"}})
    assert "could not be understood" in load().message


def test_warm_ups_are_not_counted_as_exercises():
    answer("q01.1", "B")
    (row,) = collect(Path())
    assert (row["solved"], row["attempts"]) == (0, 0)
    assert not any(name.startswith("q0") for name in row)
