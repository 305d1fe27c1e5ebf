"""Exercises, and what students call about them: `check`, `hint`, `solution` and `progress`."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from etgp_viz.checks import check_choice, describe, fail
from etgp_viz.course.answers import Answer, InvalidAnswer, NotYet
from etgp_viz.course.progress import NOT_YET, RIGHT, WRONG, Table, load, update
from etgp_viz.course.protection import own_settings, protected

if TYPE_CHECKING:
    from etgp_viz.course.choices import Choice, Order
    from etgp_viz.course.explanations import Explanation

__all__ = [
    *("KINDS", "LESSONS", "NOT_YET", "RIGHT", "WRONG"),
    *("Exercise", "Lesson", "Mistake", "Reply", "Verdict"),
    *("check", "exercise_ids", "find_exercise", "hint", "lesson", "progress", "solution"),
]

#: number of a lesson → the module with its exercises, imported on first use
LESSONS = {
    number: f"etgp_viz.course.lessons.lesson_{number}"
    for number in ("01", "02", "03", "04", "05", "06", "07", "08", "09")
}
KINDS = (
    *("predict-then-reveal", "numeric", "write-a-function", "match-the-target", "read-the-plot"),
    *("multiple-choice", "parsons", "find-the-bug", "counterexample", "explain-why"),
)


# Exercises and lessons -------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """An ``outcome`` (right, wrong or not yet) and its ``reason`` in a sentence or two."""

    outcome: str
    reason: str


@dataclass(frozen=True)
class Mistake:
    """A common mistake: ``answer()`` is an answer that makes it, ``message`` the feedback."""

    answer: Callable[[], Any]
    message: str


@dataclass(frozen=True)
class Exercise:
    """A question, how its answers are judged, and the help that is offered.

    Attributes
    ----------
    id : lesson and number, such as ``"06.2"``
    kind : one of `KINDS`
    prompt : Markdown, exactly as above the cell in the notebook
    stub : code of the student's cell; it runs as it is and leaves ``name`` unanswered
    name : the variable or function that the cell passes to `check`
    answer : how an answer is read and compared
    truth : returns the right answer
    mistakes : name → a mistake that is recognised
    hints : three, each saying more than the last
    solution : code that can replace the stub
    explanation : why the solution is right
    properties : sentence → whether an answer with the right values also has this property
    reveal : what the figures say, shown with a right answer
    """

    id: str
    kind: str
    prompt: str
    stub: str
    name: str
    answer: "Answer | Choice | Order | Explanation"
    truth: Callable[[], Any]
    mistakes: Mapping[str, Mistake]
    hints: tuple[str, str, str]
    solution: str
    explanation: str
    properties: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    reveal: Callable[[], str] = lambda: ""

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", KINDS)
        if len(self.hints) != 3:
            fail("hints", "three", str(len(self.hints)))

    @property
    def cell(self) -> str:
        """The student's cell: the stub and the line that checks it."""
        gap = "\n\n\n" if self.stub.startswith("def ") else "\n\n"
        return f"{self.stub}{gap}{self.check_line}"

    @property
    def check_line(self) -> str:
        """The line that checks the answer."""
        return f'check("{self.id}", {self.name})'

    def check(self, answer: Any) -> Verdict:
        """Judge the form of an answer, then its values, then its properties.

        Nothing that an answer does ends a check, or changes what is right: see `protection`.
        """
        with own_settings():
            return self._check(answer)

    def _check(self, answer: Any) -> Verdict:
        try:
            if answer is None or answer is Ellipsis:
                raise NotYet
            # What the truth imports does not count as time of an answer that is read by the same
            # code; a function is timed by itself.
            truth = None if callable(answer) else self.answer.read(self.truth())
            value = protected(self.answer.read, answer)
        except NotYet:
            reason = (
                "Put your answer in place of ..., None or the empty quotes, and run the cell again."
            )
            return Verdict(NOT_YET, reason)
        except InvalidAnswer as error:
            return Verdict(WRONG, f"{error}.")
        truth = self.answer.read(self.truth()) if truth is None else truth
        if not self.answer.close(value, truth).all():
            return Verdict(WRONG, self._explain_error(value, truth))
        for sentence, holds in self.properties.items():
            try:
                is_kept = protected(partial(_holds, holds), answer)
            except (InvalidAnswer, NotYet) as error:  # whatever the student's code raises
                return Verdict(WRONG, f"{sentence} {error}.")
            if not is_kept:
                return Verdict(WRONG, f"The values are right, but this does not hold: {sentence}")
        return Verdict(RIGHT, f"{self.explanation} {self.reveal()}".strip())

    def _explain_error(self, value: np.ndarray, truth: np.ndarray) -> str:
        """Message of the known mistake that explains most, or where the answer is wrong."""
        candidates: list[tuple[float, float, str]] = []
        for mistake in self.mistakes.values():
            mistaken = self.answer.read(mistake.answer())
            # A mistake shows in the parts where it differs from the truth: in all of them, or
            # only in some if the student made another mistake as well.
            differs = ~self.answer.close(mistaken, truth)
            explained = differs & self.answer.close(value, mistaken)
            if explained.any():
                distance = float(np.abs(value - mistaken)[:, explained].max())
                candidates.append((-explained.sum() / differs.sum(), distance, mistake.message))
        if candidates:
            return min(candidates, key=lambda candidate: candidate[:2])[2]
        return self.answer.explain_error(value, truth)


def _holds(condition: Callable[[Any], Any], answer: Any) -> bool:
    return bool(condition(answer))  # inside of what is protected: an object may refuse


@dataclass(frozen=True)
class Lesson:
    """The exercises of a lesson in the order of its notebook, and notes for whoever teaches it.

    ``teaching`` maps the heading of a section to Markdown for the instructor, shown under that
    heading; "" is the top of the notebook.
    """

    number: str  # two digits, with which the notebook's name begins
    title: str
    setup: str  # code of the notebook's import cell
    exercises: tuple[Exercise, ...]
    teaching: Mapping[str, str] = field(default_factory=dict)


# What students call ----------------------------------------------------------------------------

_ICONS = {RIGHT: "✓", WRONG: "✗", NOT_YET: "…", "hint": "?", "solution": "★"}
_TITLES = {RIGHT: "right", WRONG: "not right", NOT_YET: "not yet"}
_COLOURS = {RIGHT: "#009E73", WRONG: "#D55E00"}
_NEUTRAL = "#0072B2"


@dataclass(frozen=True)
class Reply:
    """A reply to a student: text with an icon, shown as a box in a notebook."""

    outcome: str  # right, wrong, not yet, hint or solution
    title: str  # id of the exercise and the outcome in words
    text: str  # reason, hint or explanation
    code: str = ""  # of a solution
    message: str = ""  # about the progress file, usually empty

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
    answer : what the exercise asks for: a number, a dictionary of numbers, a function, an explorer,
        a letter, or a sentence or two

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
    exercise = find_exercise(exercise_id)
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
    exercise = find_exercise(exercise_id)
    last = len(exercise.hints)
    record, message = update(exercise.id, lambda old: replace(old, hints=min(old.hints + 1, last)))
    text = exercise.hints[record.hints - 1]
    if record.hints == last:
        text += f' (This is the last hint. solution("{exercise.id}") shows a solution.)'
    return Reply("hint", f"{exercise.id}: hint {record.hints} of {last}", text, message=message)


def solution(exercise_id: str) -> Reply:
    """Show a solution and why it is right, once there was an attempt or all hints were shown.

    Parameters
    ----------
    exercise_id : as for `check`

    Returns
    -------
    code and explanation, as a `Reply` that shows itself in a notebook

    Examples
    --------
    >>> from etgp_viz.course import solution
    >>> solution("01.1").outcome  # before an attempt
    'not yet'
    """
    exercise = find_exercise(exercise_id)
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
    01 Gaussian processes in one sitting: 0 of 7
    """
    journal, lessons = load(), [lesson(number) for number in LESSONS]
    rows = tuple(
        (f"{each.number} {each.title}", tuple((e.id, journal[e.id]) for e in each.exercises))
        for each in lessons
    )
    return Table(rows, journal.message)


def lesson(number: str) -> Lesson:
    """The lesson with this two-digit number, such as ``"06"``."""
    return import_module(LESSONS[number]).LESSON


def exercise_ids() -> list[str]:
    """Ids of all exercises of the course, in order."""
    return [exercise.id for number in LESSONS for exercise in lesson(number).exercises]


def find_exercise(exercise_id: str) -> Exercise:
    """The exercise with this id, such as ``"06.1"``; a ValueError names those that exist."""
    number = exercise_id.partition(".")[0] if isinstance(exercise_id, str) else ""
    if number not in LESSONS:
        numbers = ", ".join(LESSONS)
        fail("exercise", f"an exercise of lesson {numbers}, such as '06.1'", describe(exercise_id))
    exercises = {exercise.id: exercise for exercise in lesson(number).exercises}
    if exercise_id not in exercises:
        fail("exercise", f"one of {', '.join(exercises)} in lesson {number}", repr(exercise_id))
    return exercises[exercise_id]
