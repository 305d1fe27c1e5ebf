"""Answers in words: a sentence or two, in which a rubric looks for ideas and misconceptions.

A rubric is a list of ideas, each with the words by which it is recognised, affirmed or denied. It
is not a reader: it says which ideas it has found, and the prompt says that it looks for words.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from etgp_viz.checks import describe
from etgp_viz.course.answers import InvalidAnswer, NotYet
from etgp_viz.course.checking import Exercise, Mistake

__all__ = ["Explanation", "Idea", "explain_why"]

FEWEST_WORDS, MOST_LETTERS = 4, 1000
NOTE = (
    "(Write a sentence or two. The check looks for the words of {} ideas and says which it finds.)"
)

_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|none|nothing|without|hardly|false|untrue)\b")
#: where a thought ends: what is denied before it is not denied after it
_ENDS = re.compile(
    r"[.;!?]|\b(?:but|while|whereas|although|though|yet|however|so|as(?= its\b))\b"
    r"|(?<!not )\b(?:because|since)\b"
)


@dataclass(frozen=True)
class Idea:
    """An idea, right or wrong, and the regular expressions by which it is recognised.

    Attributes
    ----------
    name : what a student says who has the idea, after "you say that"
    reply : to somebody who lacks a right idea, or who has a wrong one
    example : a sentence that contains this idea and no other
    says : an expression that must be affirmed
    denies : an expression that must be denied
    """

    name: str
    reply: str
    example: str
    says: str = r"(?!)"
    denies: str = r"(?!)"

    def found_in(self, thoughts: Sequence[str]) -> bool:
        """Whether one of the thoughts affirms what the idea says, or denies what it denies."""
        return any(
            _is_denied(thought, *hit.span("hit")) is denied
            for expression, denied in ((self.says, False), (self.denies, True))
            for thought in thoughts
            for hit in re.finditer(f"(?=(?P<hit>{expression}))", thought)
        )


def thoughts_of(text: str) -> list[str]:
    """Plain lower-case words, cut where a thought ends.

    >>> thoughts_of("It isn't f₀, but the network’s shifts.")
    ['it is not f0,', "the network's shifts"]
    """
    plain = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("f_0", "f0")
    plain = re.sub(r"n't\b", " not", plain).replace("cannot", "can not")
    parts = (" ".join(part.split()) for part in _ENDS.split(plain))
    return [part for part in parts if part]


def _is_denied(thought: str, start: int, end: int) -> bool:
    """Whether the words from start to end are denied, by themselves or by words beside them."""
    before = re.split("[,:(]", thought[:start])[-1]
    after = re.split("[,:(]", thought[end:])[0][:25]
    return len(_NEGATION.findall(f"{before}{thought[start:end]}{after}")) % 2 == 1


@dataclass(frozen=True)
class Explanation:
    """A sentence or two that must contain all ideas and none of the misconceptions.

    >>> why = Explanation((Idea("it rains", "", "", says="rain"),), ())
    >>> why.read("It does not rain today."), why.read("It rains all day.")
    (array([[0.]]), array([[1.]]))
    """

    ideas: tuple[Idea, ...]
    misconceptions: tuple[Idea, ...]
    parts: tuple[str, ...] = ("your explanation",)

    def read(self, answer: Any) -> np.ndarray:
        """A number whose binary digits say what was found, as ``[1, 1]``."""
        if answer is None or answer is Ellipsis or (isinstance(answer, str) and not answer.strip()):
            raise NotYet
        if not isinstance(answer, str) or len(answer.split()) < FEWEST_WORDS:
            raise InvalidAnswer(
                f"Expected a sentence or two in quotation marks, got {describe(answer)}"
            )
        if len(answer) > MOST_LETTERS:
            raise InvalidAnswer(
                f"Expected a sentence or two of at most {MOST_LETTERS} letters, got {len(answer)}"
            )
        thoughts = thoughts_of(answer)
        found = [idea.found_in(thoughts) for idea in (*self.ideas, *self.misconceptions)]
        return np.array([[float(sum(2**place for place, one in enumerate(found) if one))]])

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether the same was found in both, ``[1]``."""
        return np.all(value == other, axis=0)

    def explain_error(self, value: np.ndarray, truth: np.ndarray) -> str:
        """A reply to the first misconception, which ideas were found, and what to think about."""
        code = int(value[0, 0])
        found = [bool(code >> place & 1) for place in range(len(self.ideas + self.misconceptions))]
        right, wrong = found[: len(self.ideas)], found[len(self.ideas) :]
        replies = [idea.reply for idea, one in zip(self.misconceptions, wrong, strict=True) if one]
        said = [idea.name for idea, one in zip(self.ideas, right, strict=True) if one]
        missing = [idea.reply for idea, one in zip(self.ideas, right, strict=True) if not one]
        count = f"{len(said)} of {len(self.ideas)} ideas found"
        count += f": you say that {' and that '.join(said)}." if said else "."
        return " ".join([*replies[:1], count, *missing[:1]])


def explain_why(
    exercise_id: str,
    question: str,
    ideas: Sequence[Idea],
    misconceptions: Sequence[Idea],
    model_answer: str,
    explanation: str,
    hints: tuple[str, str, str],
) -> Exercise:
    """An exercise whose answer is a sentence or two.

    Parameters
    ----------
    exercise_id, question, explanation, hints : as in `Exercise`
    ideas, misconceptions : what a right answer contains, and what it does not
    model_answer : a right answer, on one line
    """
    rubric = Explanation(tuple(ideas), tuple(misconceptions))
    examples = {f"thinks that {idea.name}": idea.example for idea in misconceptions}
    examples |= {f"says only that {idea.name}": idea.example for idea in ideas}
    right = rubric.read(model_answer)
    number = ("no", "one", "two", "three", "four")[len(ideas)]
    return Exercise(
        id=exercise_id,
        kind="explain-why",
        prompt=f"{question} {NOTE.format(number)}",
        stub='why = ""  # your words, in quotation marks',
        name="why",
        answer=rubric,
        truth=lambda: model_answer,
        mistakes={
            name: Mistake(partial(str, text), rubric.explain_error(rubric.read(text), right))
            for name, text in examples.items()
        },
        hints=hints,
        solution=f'why = "{model_answer}"',
        explanation=explanation,
    )
