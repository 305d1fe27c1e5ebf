"""The course: exercises that answer back.

    from etgp_viz.course import check, hint, progress, review, solution, warm_up

TensorFlow is loaded only when an exercise needs it.
"""

from etgp_viz.course.checking import check, hint, progress, solution
from etgp_viz.course.classroom import export
from etgp_viz.course.review import answer, review, warm_up

__all__ = ["answer", "check", "export", "hint", "progress", "review", "solution", "warm_up"]
