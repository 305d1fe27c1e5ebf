"""The course: exercises that answer back.

    from etgp_viz.course import check, hint, progress, solution

TensorFlow is loaded only when an exercise needs it.
"""

from etgp_viz.course.checking import check, hint, progress, solution
from etgp_viz.course.classroom import export

__all__ = ["check", "export", "hint", "progress", "solution"]
