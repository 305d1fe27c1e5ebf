"""The functions that students call: `check`, `hint`, `solution` and `progress`."""

import html
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from etgp_viz.checks import describe, fail
from etgp_viz.course.exercise import NOT_YET, RIGHT, WRONG, Exercise, Lesson
from etgp_viz.course.progress import Table, load, update

__all__ = ["LESSONS", "Reply", "check", "exercise_ids", "hint", "lesson", "progress", "solution"]

#: number of a lesson → the module with its exercises, imported on first use
LESSONS = {
    number: f"etgp_viz.course.lessons.lesson_{number}"
    for number in ("01", "02", "03", "04", "05", "06", "07", "08")
}

_ICONS = {RIGHT: "✓", WRONG: "✗", NOT_YET: "…", "hint": "?", "solution": "★"}
_TITLES = {RIGHT: "right", WRONG: "not right", NOT_YET: "not yet"}
_COLOURS = {RIGHT: "#009E73", WRONG: "#D55E00"}
_NEUTRAL = "#0072B2"


@dataclass(frozen=True)
class Reply:
    """A reply to a student: text with an icon, shown as a box in a notebook.

    Attributes
    ----------
    outcome : right, wrong, not yet, hint or solution
    title : id of the exercise and the outcome in words
    text : reason, hint or explanation
    code : of a solution
    message : about the progress file, usually empty
    """

    outcome: str
    title: str
    text: str
    code: str = ""
    message: str = ""

    def __str__(self) -> str:
        lines = (f"{_ICONS[self.outcome]} {self.title}", self.code, self.text, self.message)
        return "\n".join(filter(None, lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        colour = _COLOURS.get(self.outcome, _NEUTRAL)
        icon = f"<span aria-hidden='true'>{_ICONS[self.outcome]}</span>"
        code = f"<pre>{html.escape(self.code)}</pre>" if self.code else ""
        note = f"<p><em>{html.escape(self.message)}</em></p>" if self.message else ""
        return (
            f"<div role='status' style='border-left: 4px solid {colour}; padding-left: 0.8em; "
            f"max-width: 50em'><strong>{icon} {html.escape(self.title)}</strong>{code}"
            f"<p style='margin: 0.3em 0'>{html.escape(self.text)}</p>{note}</div>"
        )


def check(exercise_id: str, answer: Any = None) -> Reply:
    """Judge an answer (right, wrong or not yet) and say why.

    Attempts are counted in ``progress.json`` in the working folder.

    Parameters
    ----------
    exercise_id : lesson and number, such as ``"06.1"``
    answer : what the exercise asks for: a number, a dictionary of numbers, a function, an explorer

    Returns
    -------
    a `Reply`, which shows itself in a notebook

    Examples
    --------
    >>> import contextlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     print(check("06.1", {"svgp-separate": 1, "svgp-shared": 1, "etgp": 1}).title)
    06.1: not right
    """
    exercise = _find_exercise(exercise_id)
    verdict = exercise.check(answer)
    _, message = update(exercise.id, lambda record: record.after(verdict.outcome))
    title = f"{exercise.id}: {_TITLES[verdict.outcome]}"
    help_ = f' For help, call hint("{exercise.id}").' if verdict.outcome == WRONG else ""
    return Reply(verdict.outcome, title, verdict.reason + help_, message=message)


def hint(exercise_id: str) -> Reply:
    r"""Show the next of an exercise's three hints, or the third again after that.

    Parameters
    ----------
    exercise_id : such as ``"06.1"``

    Returns
    -------
    the hint, as a `Reply` that shows itself in a notebook

    Examples
    --------
    >>> import contextlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     print(hint("06.1").title, hint("06.1").title, sep="\n")
    06.1: hint 1 of 3
    06.1: hint 2 of 3
    """
    exercise = _find_exercise(exercise_id)
    last = len(exercise.hints)
    record, message = update(
        exercise.id, lambda record: replace(record, hints=min(record.hints + 1, last))
    )
    text = exercise.hints[record.hints - 1]
    if record.hints == last:
        text += f' (This is the last hint. solution("{exercise.id}") shows a solution.)'
    return Reply("hint", f"{exercise.id}: hint {record.hints} of {last}", text, message=message)


def solution(exercise_id: str) -> Reply:
    """Show a solution and why it is right, once there was an attempt or all hints were shown.

    Parameters
    ----------
    exercise_id : as for `hint`

    Returns
    -------
    code and explanation, as a `Reply` that shows itself in a notebook

    Examples
    --------
    >>> import contextlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     print(solution("06.1").text)
    Try it first, or ask for the hints: hint("06.1").
    """
    exercise = _find_exercise(exercise_id)
    before = load()[exercise.id]
    if not before.attempts and before.hints < len(exercise.hints):
        text = f'Try it first, or ask for the hints: hint("{exercise.id}").'
        return Reply(NOT_YET, f"{exercise.id}: no solution yet", text)
    _, message = update(exercise.id, lambda record: replace(record, solution=True))
    title = f"{exercise.id}: a solution"
    return Reply("solution", title, exercise.explanation, exercise.solution, message)


def progress() -> Table:
    """Your progress so far: every exercise of every lesson, as a table.

    Returns
    -------
    a `Table`, which shows itself in a notebook

    Examples
    --------
    >>> import contextlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     print(str(progress()).splitlines()[0])
    01 Gaussian processes in one sitting: 0 of 5
    """
    journal = load()
    rows = tuple(
        (
            f"{number} {lesson(number).title}",
            tuple((exercise.id, journal[exercise.id]) for exercise in lesson(number).exercises),
        )
        for number in LESSONS
    )
    return Table(rows, journal.message)


def lesson(number: str) -> Lesson:
    """The lesson with this two-digit number, such as ``"06"``."""
    return import_module(LESSONS[number]).LESSON


def exercise_ids() -> list[str]:
    """Ids of all exercises of the course, in order."""
    return [exercise.id for number in LESSONS for exercise in lesson(number).exercises]


def _find_exercise(exercise_id: str) -> Exercise:
    number = exercise_id.partition(".")[0] if isinstance(exercise_id, str) else ""
    if number not in LESSONS:
        numbers = ", ".join(LESSONS)
        fail("exercise", f"an exercise of lesson {numbers}, such as '06.1'", describe(exercise_id))
    exercises = {exercise.id: exercise for exercise in lesson(number).exercises}
    if exercise_id not in exercises:
        fail("exercise", f"one of {', '.join(exercises)} in lesson {number}", repr(exercise_id))
    return exercises[exercise_id]
