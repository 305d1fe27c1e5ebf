"""What a student types: `check`, `hint`, `solution` and `progress`."""

import html
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from etgp_viz.checks import describe, fail
from etgp_viz.course.exercise import NOT_YET, RIGHT, WRONG, Exercise, Lesson
from etgp_viz.course.progress import Table, load, update

__all__ = ["LESSONS", "Reply", "check", "hint", "lesson", "progress", "solution"]

#: number of a lesson → the module with its exercises, loaded when it is first asked for
LESSONS = {
    number: f"etgp_viz.course.lessons.lesson_{number}"
    for number in ("01", "02", "03", "04", "05", "06", "07", "08")
}

_ICONS = {RIGHT: "✓", WRONG: "✗", NOT_YET: "…", "hint": "?", "solution": "★"}
_COLOURS = {RIGHT: "#009E73", WRONG: "#D55E00"}
_NEUTRAL = "#0072B2"


@dataclass(frozen=True)
class Reply:
    """What comes back: an icon and words, in a notebook as a box.

    Attributes
    ----------
    outcome : right, wrong, not yet, hint or solution
    title : the outcome in words, with the exercise's id
    text : why, or the hint, or the explanation
    code : of a solution
    message : about the file of progress, mostly empty
    """

    outcome: str
    title: str
    text: str
    code: str = ""
    message: str = ""

    def __str__(self) -> str:
        told = (f"{_ICONS[self.outcome]} {self.title}", self.code, self.text, self.message)
        return "\n".join(filter(None, told))

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
    """Judge an answer: right, wrong or not yet, and why. Attempts are kept in ``progress.json``."""
    exercise = _find(exercise_id)
    verdict = exercise.check(answer)
    _, message = update(exercise.id, lambda record: record.after(verdict.outcome))
    title = {RIGHT: "right", WRONG: "not right", NOT_YET: "not yet"}[verdict.outcome]
    help_ = f' More help: hint("{exercise.id}").' if verdict.outcome == WRONG else ""
    return Reply(
        verdict.outcome, f"{exercise.id}: {title}", verdict.reason + help_, message=message
    )


def hint(exercise_id: str) -> Reply:
    """The next of three hints; the third again when there are no more."""
    exercise = _find(exercise_id)
    last = len(exercise.hints)
    record, message = update(
        exercise.id, lambda record: replace(record, hints=min(record.hints + 1, last))
    )
    text = exercise.hints[record.hints - 1]
    if record.hints == last:
        text += f' (The last hint; solution("{exercise.id}") shows a solution.)'
    return Reply("hint", f"{exercise.id}: hint {record.hints} of {last}", text, message=message)


def solution(exercise_id: str) -> Reply:
    """A solution and why it is one, after an attempt or after the hints."""
    exercise = _find(exercise_id)
    before = load()[exercise.id]
    if not before.attempts and before.hints < len(exercise.hints):
        text = f'Try it first, or ask for the hints: hint("{exercise.id}").'
        return Reply(NOT_YET, f"{exercise.id}: no solution yet", text)
    _, message = update(exercise.id, lambda record: replace(record, solution=True))
    title = f"{exercise.id}: a solution"
    return Reply("solution", title, exercise.explanation, exercise.solution, message)


def progress() -> Table:
    """Every lesson's exercises and what became of them so far, as a table."""
    journal = load()
    rows = (
        (
            f"{number} {lesson(number).title}",
            tuple((each.id, journal[each.id]) for each in lesson(number).exercises),
        )
        for number in LESSONS
    )
    return Table(tuple(rows), journal.message)


def lesson(number: str) -> Lesson:
    """The exercises of a lesson, by its number as text."""
    return import_module(LESSONS[number]).LESSON


def _find(exercise_id: str) -> Exercise:
    number = exercise_id.partition(".")[0] if isinstance(exercise_id, str) else ""
    if number not in LESSONS:
        known = ", ".join(LESSONS)
        fail("exercise", f"an exercise of lesson {known}, such as '06.1'", describe(exercise_id))
    exercises = {each.id: each for each in lesson(number).exercises}
    if exercise_id not in exercises:
        fail("exercise", f"one of {', '.join(exercises)} in lesson {number}", repr(exercise_id))
    return exercises[exercise_id]
