"""An exercise with everything about it in one place, and the lesson that holds it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etgp_viz.checks import check_choice, fail
from etgp_viz.course.answers import Answer, InvalidAnswer, NotYet

__all__ = ["KINDS", "NOT_YET", "RIGHT", "WRONG", "Exercise", "Lesson", "Mistake", "Verdict"]

KINDS = (
    "predict-then-reveal",
    "numeric",
    "write-a-function",
    "match-the-target",
    "read-the-plot",
)
RIGHT, WRONG, NOT_YET = "right", "wrong", "not yet"


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
    answer: Answer
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
        """Judge the form of an answer, then its values, then its properties."""
        try:
            value = self.answer.read(answer)
        except NotYet:
            return Verdict(
                NOT_YET, "Replace ... or None by your answer, and run the cell once more."
            )
        except InvalidAnswer as error:
            return Verdict(WRONG, f"{error}.")
        truth = self.answer.read(self.truth())
        if not self.answer.close(value, truth).all():
            return Verdict(WRONG, self._explain_error(value, truth))
        for sentence, holds in self.properties.items():
            try:
                is_kept = holds(answer)
            except Exception as error:  # whatever the student's code raises
                reason = f"{sentence} Your function raised {type(error).__name__}: {error}."
                return Verdict(WRONG, reason)
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


@dataclass(frozen=True)
class Lesson:
    """The exercises of a lesson, and notes for whoever teaches it.

    Attributes
    ----------
    number : two digits, as the notebook's name begins
    title : as in the notebook
    setup : code of the notebook's first cell
    exercises : in the order of the notebook
    teaching : heading of a section → Markdown for the instructor, shown under that heading;
        "" is the top of the notebook
    """

    number: str
    title: str
    setup: str
    exercises: tuple[Exercise, ...]
    teaching: Mapping[str, str] = field(default_factory=dict)
