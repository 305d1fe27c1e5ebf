"""Short questions about each lesson, for the warm-ups that open the later ones.

Each has three options. Behind every wrong one stands a misconception, and the reply speaks to it.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PREFIX", "Question", "bank"]

PREFIX = "q"  # of the ids, so that progress files tell questions from exercises


@dataclass(frozen=True)
class Question:
    """A question, its options with the replies to them, and the exercises that it is about."""

    id: str  # such as "q04.1": the first question about lesson 04
    text: str
    options: tuple[tuple[str, str], ...]  # option, and the reply to whoever chooses it
    right: str  # letter
    about: tuple[str, ...]  # exercises in which the same idea appears

    @property
    def lesson(self) -> str:
        """Number of the lesson, two digits."""
        return self.id[len(PREFIX) :].partition(".")[0]

    @property
    def letters(self) -> str:
        """Letters of the options."""
        return "ABCDEFGH"[: len(self.options)]

    def reply(self, letter: str) -> str:
        """What is said to somebody who chooses this letter."""
        return self.options[self.letters.index(letter)][1]


#: for each question a line "id | right letter | exercises", the question, and its options
FILE = Path(__file__).parent / "lessons" / "questions.txt"


@cache
def bank() -> dict[str, Question]:
    """All questions by id, in the order of the lessons."""
    blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    questions = map(_parse, blocks)
    return {question.id: question for question in questions}


def _parse(block: str) -> Question:
    head, text, *options = block.splitlines()
    name, right, about = (part.strip() for part in head.split("|"))
    pairs = (line.removeprefix("- ").split(" | ") for line in options)
    return Question(name, text, tuple((a, b) for a, b in pairs), right, tuple(about.split()))
