"""One exercise, with everything about it in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etgp_viz.checks import check_choice, fail
from etgp_viz.course.answers import Answer, Nonsense, NotYet

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
    """``outcome`` is right, wrong or not yet; ``reason`` says why, in a sentence or two."""

    outcome: str
    reason: str


@dataclass(frozen=True)
class Mistake:
    """A mistake that people make: ``answer()`` is an answer that makes it, ``message`` tells it."""

    answer: Callable[[], Any]
    message: str


@dataclass(frozen=True)
class Exercise:
    """What is asked, how an answer is judged, and what helps.

    Attributes
    ----------
    id : lesson and number, such as ``"06.2"``
    kind : one of `KINDS`
    prompt : Markdown, as it stands above the cell in the notebook
    stub : code of the student's cell; it runs as it is, and leaves ``name`` without an answer
    name : what the cell hands to `check`
    answer : how an answer is read and compared
    truth : makes the right answer
    mistakes : name → a mistake that is recognised
    hints : three, each saying more
    solution : code that can stand in the stub's place
    explanation : why it is so
    properties : sentence → whether an answer with right values also has this property
    reveal : what the figures say, told with a right answer
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
        """The student's cell: the stub, and its check."""
        gap = "\n\n\n" if self.stub.startswith("def ") else "\n\n"
        return f"{self.stub}{gap}{self.check_line}"

    @property
    def check_line(self) -> str:
        """The line that checks the answer."""
        return f'check("{self.id}", {self.name})'

    def check(self, answer: Any) -> Verdict:
        """Judge an answer, in the order shape → value → property."""
        try:
            value = self.answer.read(answer)
        except NotYet:
            return Verdict(
                NOT_YET, "Put your answer in the place of ... or None, and run the cell again."
            )
        except Nonsense as why:
            return Verdict(WRONG, f"{why}.")
        truth = self.answer.read(self.truth())
        if not self.answer.close(value, truth).all():
            return Verdict(WRONG, self._mistaken(value, truth))
        for sentence, holds in self.properties.items():
            try:
                kept = holds(answer)
            except Exception as error:  # whatever the student's code raises
                return Verdict(WRONG, f"{sentence} Here it raised {type(error).__name__}: {error}.")
            if not kept:
                return Verdict(WRONG, f"The values are right, but not this: {sentence}")
        return Verdict(RIGHT, f"{self.explanation} {self.reveal()}".strip())

    def _mistaken(self, value: np.ndarray, truth: np.ndarray) -> str:
        """The known mistake that explains most, or where the answer misses."""
        made: list[tuple[float, float, str]] = []
        for mistake in self.mistakes.values():
            other = self.answer.read(mistake.answer())
            # A mistake shows in the parts where it leads away from the truth: in all of them, or
            # in some if other things went wrong too.
            differs = ~self.answer.close(other, truth)
            same = differs & self.answer.close(value, other)
            if same.any():
                distance = float(np.abs(value - other)[:, same].max())
                made.append((-same.sum() / differs.sum(), distance, mistake.message))
        if made:
            return min(made, key=lambda each: each[:2])[2]
        return self.answer.where_it_misses(value, truth)


@dataclass(frozen=True)
class Lesson:
    """A lesson: what it asks, and what its teacher should know.

    Attributes
    ----------
    number : two digits, as the notebook's name begins
    title : as it stands in the notebook
    setup : the code that its cells begin with
    exercises : in the order of the notebook
    teaching : heading of a section → Markdown for the instructor, to stand under that heading;
        "" is the top of the notebook
    """

    number: str
    title: str
    setup: str
    exercises: tuple[Exercise, ...]
    teaching: Mapping[str, str] = field(default_factory=dict)
