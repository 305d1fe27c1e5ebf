"""Grades for systems such as nbgrader and Otter: a verdict on inputs that students do not see.

Not secure against somebody who reads the package, which contains the solutions.
"""

from dataclasses import replace
from typing import Any

from etgp_viz.course.answers import Function
from etgp_viz.course.checking import Verdict, find_exercise

__all__ = ["grade"]


def grade(exercise_id: str, answer: Any, variant: int) -> Verdict:
    """The verdict on an answer for a hidden variant of its check; nothing is recorded.

    A function is called with other inputs than `check` calls it with. Answers without inputs are
    judged as `check` judges them.

    Parameters
    ----------
    exercise_id, answer : as for `check`
    variant : seed of the hidden inputs

    Examples
    --------
    >>> grade("04.2", lambda f1, a1, b1, a2, b2: a2 * (f1 - b1) / a1 + b2, 7).outcome
    'right'
    """
    exercise = find_exercise(exercise_id)
    if isinstance(exercise.answer, Function):
        exercise = replace(exercise, answer=replace(exercise.answer, seed=variant))
    return exercise.check(answer)
