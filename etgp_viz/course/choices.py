"""Answers that are chosen rather than computed: a letter, an order of lines, a counterexample.

`multiple_choice`, `parsons` and `find_the_bug` make whole exercises from what an author has to
say: the options, what misconception stands behind each wrong one, and the reply to it.
"""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from etgp_viz.checks import describe
from etgp_viz.course.answers import InvalidAnswer, NotYet, Number, Numbers
from etgp_viz.course.checking import Exercise, Mistake

__all__ = [
    *("Choice", "Conditions", "Magnitude", "Order"),
    *("find_the_bug", "multiple_choice", "parsons"),
]


def _is_blank(answer: Any) -> bool:
    return answer is None or answer is Ellipsis


@dataclass(frozen=True)
class Choice:
    """One letter out of ``letters``; upper and lower case count alike.

    >>> Choice("ABCD").read(" b ")
    array([[1.]])
    """

    letters: str
    parts: tuple[str, ...] = ("your choice",)

    def read(self, answer: Any) -> np.ndarray:
        """The position of the letter, as ``[1, 1]``."""
        if _is_blank(answer):
            raise NotYet
        letter = answer.strip().upper() if isinstance(answer, str) else ""
        if len(letter) != 1 or letter not in self.letters:
            letters = ", ".join(map(repr, self.letters))
            raise InvalidAnswer(f"Expected one of the letters {letters}, got {describe(answer)}")
        return np.array([[float(self.letters.index(letter))]])

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether both are the same letter, ``[1]``."""
        return np.all(value == other, axis=0)

    def explain_error(self, value: np.ndarray, truth: np.ndarray) -> str:
        """Feedback on a letter that has no reply of its own."""
        return f"It is not {self.letters[int(value[0, 0])]}."


@dataclass(frozen=True)
class Order:
    """Letters of lines in their order, as a string or a list; unwanted lines are left out.

    ``also`` lists orders that are as good as the true one, each with the order it stands for.

    >>> Order("ABCD").read("c, a d").tolist() == Order("ABCD").read(["C", "A", "D"]).tolist()
    True
    """

    letters: str
    also: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ("your order",)

    def read(self, answer: Any) -> np.ndarray:
        """A number that stands for the order, as ``[1, 1]``."""
        if _is_blank(answer):
            raise NotYet
        if isinstance(answer, list | tuple) and all(isinstance(part, str) for part in answer):
            answer = "".join(answer)
        order = re.sub(r"[\s,;>→-]", "", answer).upper() if isinstance(answer, str) else ""
        if not order or set(order) - set(self.letters) or len(set(order)) != len(order):
            raise InvalidAnswer(
                f"Expected letters from {self.letters[0]} to {self.letters[-1]} in the order of "
                f"the lines, each at most once, such as 'CAB', got {describe(answer)}"
            )
        return np.array([[self._encode(self.also.get(order, order))]])

    def _encode(self, order: str) -> float:
        base = len(self.letters) + 1
        digits = [self.letters.index(letter) + 1 for letter in order]
        return float(sum(digit * base**place for place, digit in enumerate(digits)))

    def _decode(self, code: float) -> str:
        order, rest, base = "", int(code), len(self.letters) + 1
        while rest:
            rest, digit = divmod(rest, base)
            order += self.letters[digit - 1]
        return order

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether both are the same order, ``[1]``."""
        return np.all(value == other, axis=0)

    def explain_error(self, value: np.ndarray, truth: np.ndarray) -> str:
        """How many lines from the top are right, and which one is the first that is not."""
        order, right = self._decode(value[0, 0]), self._decode(truth[0, 0])
        kept = 0
        while kept < min(len(order), len(right)) and order[kept] == right[kept]:
            kept += 1
        begin = f"The first {kept} of your lines are right" if kept > 1 else ""
        begin = "The first of your lines is right" if kept == 1 else begin
        if kept == len(order):
            return f"{begin}, but lines are missing after {order[-1]}."
        if kept == len(right):
            return f"{begin}, and nothing should follow them: leave out {order[kept:]}."
        here = order[kept]
        wrong = "does not belong here at all" if here not in right else "comes later"
        return f"{begin}{'; then ' if begin else 'Already at the top: '}{here} {wrong}."


@dataclass(frozen=True)
class Conditions(Numbers):
    """Numbers of your own that must meet conditions, as in a counterexample.

    There are many right answers, so conditions are compared and not numbers: `read` returns a 1
    for each condition that is met. A condition is a sentence and a test of the numbers, in the
    order of ``parts``.
    """

    conditions: Mapping[str, Callable[[np.ndarray], bool]] = field(default_factory=dict)

    def read(self, answer: Any) -> np.ndarray:
        """Which conditions are met, ``[1, P]``."""
        numbers = super().read(answer)[0]
        return np.array([[float(holds(numbers)) for holds in self.conditions.values()]])

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Which conditions agree, ``[P]``."""
        return np.all(value == other, axis=0)

    def explain_error(self, value: np.ndarray, truth: np.ndarray) -> str:
        """The first condition that is not met."""
        missing = int(np.argmin(value[0]))
        return f"Not yet a counterexample: {list(self.conditions)[missing]}"


@dataclass(frozen=True)
class Magnitude(Number):
    """A positive number that is right within a factor, such as 2.

    >>> bool(Magnitude(tolerance=2).close(np.array([[190.0]]), np.array([[100.0]]))[0])
    True
    """

    def read(self, answer: Any) -> np.ndarray:
        """The number as ``[1, 1]``."""
        value = super().read(answer)
        if value[0, 0] <= 0.0:
            raise InvalidAnswer(f"Expected a number above zero, got {value[0, 0]:g}")
        return value

    def close(self, value: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether the ratio is within the factor, ``[1]``."""
        return np.all(np.abs(np.log(value / other)) <= np.log(self.tolerance), axis=0)


# Whole exercises ------------------------------------------------------------------------------


def multiple_choice(
    exercise_id: str,
    question: str,
    options: Sequence[tuple[str, str]],
    right: str,
    explanation: str,
    hints: tuple[str, str, str],
    kind: str = "multiple-choice",
) -> Exercise:
    """An exercise whose answer is a letter.

    Parameters
    ----------
    exercise_id, question, explanation, hints : as in `Exercise`
    options : pairs of an option and the reply to somebody who chooses it; the right option's
        reply is not used
    right : letter of the right option
    """
    letters = string.ascii_uppercase[: len(options)]
    listed = "\n".join(f"- **{a}.** {text}" for a, (text, _) in zip(letters, options, strict=True))
    mistakes = {
        f"option {letter}": Mistake(partial(str, letter), reply)
        for letter, (_, reply) in zip(letters, options, strict=True)
        if letter != right
    }
    return Exercise(
        id=exercise_id,
        kind=kind,
        prompt=f"{question}\n\n{listed}",
        stub=f"choice = ...  # a letter in quotation marks: {letters[0]} to {letters[-1]}",
        name="choice",
        answer=Choice(letters),
        truth=lambda: right,
        mistakes=mistakes,
        hints=hints,
        solution=f'choice = "{right}"',
        explanation=explanation,
    )


def find_the_bug(
    exercise_id: str,
    question: str,
    code: str,
    replies: Mapping[str, str],
    explanation: str,
    hints: tuple[str, str, str],
) -> Exercise:
    """An exercise that asks which line of some code is wrong.

    ``code`` has a letter and two spaces in front of each line that may be chosen; ``replies`` says
    of each letter why its line is right, and nothing of the one that is wrong.
    """
    letters = "".join(re.findall(r"^([A-Z])  ", code, flags=re.MULTILINE))
    (right,) = set(letters) - set(replies)
    exercise = multiple_choice(
        exercise_id,
        question,
        [("", replies.get(letter, "")) for letter in letters],
        right,
        explanation,
        hints,
        "find-the-bug",
    )
    return replace(exercise, prompt=f"{question}\n\n```text\n{code}\n```")


def parsons(
    exercise_id: str,
    question: str,
    lines: Mapping[str, str],
    right: str,
    mistakes: Mapping[str, tuple[str, str]],
    explanation: str,
    hints: tuple[str, str, str],
    also: Sequence[str] = (),
) -> Exercise:
    """An exercise that asks for the order of some lines, among them lines that do not belong.

    Parameters
    ----------
    lines : letter → line, in Markdown
    right, also : the order of the letters, and other orders that are as good
    mistakes : name → a wrong order, and the reply to it
    """
    listed = "\n".join(f"- **{letter}.** {line}" for letter, line in lines.items())
    return Exercise(
        id=exercise_id,
        kind="parsons",
        prompt=f"{question}\n\n{listed}",
        stub='order = ...  # letters in quotation marks, such as "CAB"',
        name="order",
        answer=Order("".join(lines), dict.fromkeys(also, right)),
        truth=lambda: right,
        mistakes={
            name: Mistake(partial(str, order), reply) for name, (order, reply) in mistakes.items()
        },
        hints=hints,
        solution=f'order = "{right}"',
        explanation=explanation,
    )
