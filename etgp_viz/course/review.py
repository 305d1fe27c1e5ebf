"""Spaced retrieval: which earlier questions to ask now, and the quiz that asks them.

Answers are kept in ``progress.json`` with the time at which they were given. A question comes up
again if it was answered wrongly, if an exercise about the same idea went wrong, or if nobody has
asked it for a long time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from etgp_viz.checks import check_choice, check_count
from etgp_viz.course.checking import LESSONS, Reply
from etgp_viz.course.progress import RIGHT, WRONG, Record, load, update
from etgp_viz.course.questions import Question, bank

if TYPE_CHECKING:
    from etgp_viz.course.quiz import Quiz

__all__ = ["answer", "choose", "review", "warm_up"]

NEVER = ""  # sorts before every date
PER_LESSON = 3


def warm_up(lesson: str) -> Quiz:
    """Three questions from earlier lessons, chosen from what you missed or have not seen lately.

    Parameters
    ----------
    lesson : number of the lesson that is about to begin, such as ``"05"``

    Returns
    -------
    a `Quiz`, which shows itself in a notebook; its buttons can be pressed with the keyboard

    Examples
    --------
    >>> quiz = warm_up("05")
    >>> len(quiz.questions), max(question.lesson for question in quiz.questions) < "05"
    (3, True)
    """
    check_choice(lesson, "lesson", tuple(LESSONS)[1:])
    return _quiz([q for q in bank().values() if q.lesson < lesson], PER_LESSON)


def review(number: int = 5) -> Quiz:
    """A mixed set of questions from the lessons that you have begun, or from all of them.

    Parameters
    ----------
    number : how many questions

    Returns
    -------
    a `Quiz`, which shows itself in a notebook

    Examples
    --------
    >>> len(review(4).questions)
    4
    """
    number = check_count(number, "number")
    records = load().records
    begun = {name.lstrip("q").partition(".")[0] for name in records}
    questions = [q for q in bank().values() if not begun or q.lesson in begun]
    return _quiz(questions, number)


def answer(question_id: str, letter: str) -> Reply:
    """Answer a question of a quiz by its id and a letter, where there are no buttons.

    Parameters
    ----------
    question_id : such as ``"q04.1"``
    letter : ``"A"``, ``"B"`` or ``"C"``

    Returns
    -------
    a `Reply`, which shows itself in a notebook

    Examples
    --------
    >>> import contextlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     print(answer("q04.1", "C").outcome)
    right
    """
    check_choice(question_id, "question_id", tuple(bank()))
    question = bank()[question_id]
    check_choice(letter, "letter", tuple(question.letters))
    outcome = RIGHT if letter == question.right else WRONG

    def answered(record: Record) -> Record:
        # The last answer counts: what was right once may have been forgotten.
        return replace(record.after(outcome), solved=outcome == RIGHT)

    _, message = update(question.id, answered)
    where = "" if outcome == RIGHT else f" See lesson {question.lesson}."
    title = f"{question.id}: {'right' if outcome == RIGHT else 'not right'}"
    return Reply(outcome, title, question.reply(letter) + where, message=message)


def choose(
    questions: Sequence[Question], records: Mapping[str, Record], number: int, today: str
) -> list[Question]:
    """The questions to ask now, at most ``number``, from different lessons where possible.

    First what was missed: the question itself, or an exercise about the same idea. Then what has
    not been seen for longest. A question that was answered rightly today waits.

    Parameters
    ----------
    questions, records : candidates, and the student's records by id
    number : how many
    today : date, as in ``Record.seen``
    """
    ranked = sorted(questions, key=lambda question: _rank(question, records, today))
    chosen: list[Question] = []
    while ranked and len(chosen) < number:
        lessons = [question.lesson for question in chosen]
        # Of equally urgent questions, take one from a lesson that has had fewer so far.
        urgency = _rank(ranked[0], records, today)[:2]
        equal = [q for q in ranked if _rank(q, records, today)[:2] == urgency]
        chosen.append(min(equal, key=lambda question: lessons.count(question.lesson)))
        ranked.remove(chosen[-1])
    return chosen


def _rank(question: Question, records: Mapping[str, Record], today: str) -> tuple[int, str, str]:
    """Sorts first what was missed, then what was seen longest ago."""
    own = records.get(question.id, Record())
    related = [records[name] for name in question.about if name in records]
    missed = not own.solved if own.attempts else any(map(_went_wrong, related))
    fresh = own.solved and own.seen[: len(today)] == today
    # An exercise that was solved counts as having seen the idea.
    seen = own.seen or max((record.seen for record in related), default=NEVER)
    return (2 if fresh else 0 if missed else 1), seen, question.id


def _went_wrong(record: Record) -> bool:
    """Whether an exercise was left unsolved, or needed its solution."""
    return record.solution or (record.attempts > 0 and not record.solved)


def _quiz(questions: Sequence[Question], number: int) -> Quiz:
    from etgp_viz.course.quiz import Quiz

    today = datetime.now(UTC).date().isoformat()
    return Quiz(choose(questions, load().records, number, today))
