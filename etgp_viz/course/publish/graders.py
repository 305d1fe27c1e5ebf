"""A lesson as an assignment for nbgrader or for Otter, with hidden variants of the checks.

Both start from one notebook with solutions. nbgrader's ``generate_assignment`` and ``otter
assign`` take out solutions and hidden tests; what they leave is the student's notebook, whose
stubs run as they are.
"""

import json
from collections.abc import Callable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from etgp_viz.course.checking import Exercise, Lesson
from etgp_viz.course.publish.notebooks import is_exercise, is_for_colab, student

__all__ = ["CONFIG", "GRADERS", "nbgrader", "otter"]

POINTS = 1  # for each exercise
VARIANT = 20_230_723  # seed of the hidden inputs, plus the place of the exercise
SECONDS = 600  # for a cell

#: settings that nbgrader needs: stubs run as they are, and no cell is cut short
CONFIG = f"""\
c = get_config()  # noqa: F821

# The stub stands above the solution; nothing that raises takes the solution's place.
c.ClearSolutions.code_stub = {{"python": "# write your answer above this line"}}
c.ExecutePreprocessor.timeout = {SECONDS}
# Explorers draw into a page. Without one they run, and nobody waits for them.
c.ExecutePreprocessor.interrupt_on_timeout = True
"""


def nbgrader(notebook: NotebookNode, lesson: Lesson) -> NotebookNode:
    """The source notebook of an nbgrader assignment: each exercise in two graded cells."""

    def cells(exercise: Exercise, number: int, cell: NotebookNode) -> list[NotebookNode]:
        name = exercise.id.replace(".", "-")
        answer = f"{exercise.stub}\n### BEGIN SOLUTION\n{exercise.solution}\n### END SOLUTION"
        tests = (
            f"{exercise.check_line}\n"
            f"### BEGIN HIDDEN TESTS\n{_hidden_test(exercise, number)}\n### END HIDDEN TESTS"
        )
        return [
            _graded(answer, f"{cell.id}-answer", f"answer-{name}", solution=True),
            _graded(tests, f"{cell.id}-tests", f"tests-{name}", solution=False),
        ]

    return _with_exercises(notebook, lesson, cells)


def otter(notebook: NotebookNode, lesson: Lesson) -> NotebookNode:
    """The source notebook of an Otter assignment: each exercise as a question with tests."""

    def cells(exercise: Exercise, number: int, cell: NotebookNode) -> list[NotebookNode]:
        name = "q" + exercise.id.replace(".", "_")
        prompt = "\n".join(exercise.stub.splitlines())
        answer = (
            f"# BEGIN SOLUTION NO PROMPT\n{exercise.solution}\n# END SOLUTION\n"
            f'""" # BEGIN PROMPT\n{prompt}\n""" # END PROMPT'
        )
        tests = (
            '""" # BEGIN TEST CONFIG\nhidden: true\n""" # END TEST CONFIG\n'
            f"{_hidden_test(exercise, number)}"
        )
        marked = [
            ("raw", f"# BEGIN QUESTION\nname: {name}\npoints: {POINTS}"),
            ("raw", "# BEGIN SOLUTION"),
            ("code", answer),
            ("raw", "# END SOLUTION"),
            ("raw", "# BEGIN TESTS"),
            ("code", tests),
            ("raw", "# END TESTS"),
            ("raw", "# END QUESTION"),
            ("code", exercise.check_line),
        ]
        make: dict[str, Callable[..., NotebookNode]] = {"raw": new_raw_cell, "code": new_code_cell}
        return [
            make[kind](source, id=f"{cell.id}-{place}"[-64:])
            for place, (kind, source) in enumerate(marked)
        ]

    assignment = _with_exercises(notebook, lesson, cells)
    settings = {
        "name": f"lesson_{lesson.number}",
        "init_cell": True,
        "export_cell": False,
        "check_all_cell": False,
        "generate": {"show_hidden": False},
    }
    opening = "# ASSIGNMENT CONFIG\n" + "\n".join(
        f"{key}: {json.dumps(value)}" for key, value in settings.items()
    )
    assignment.cells.insert(0, new_raw_cell(opening, id="assignment"))
    return assignment


#: name of a system → what makes its source notebook
GRADERS: dict[str, Callable[[NotebookNode, Lesson], NotebookNode]] = {
    "nbgrader": nbgrader,
    "otter": otter,
}


def _with_exercises(
    notebook: NotebookNode,
    lesson: Lesson,
    cells: Callable[[Exercise, int, NotebookNode], list[NotebookNode]],
) -> NotebookNode:
    """The student's notebook with other cells in place of each exercise."""
    assignment = student(notebook)
    exercises = {exercise.cell: exercise for exercise in lesson.exercises}
    made: list[NotebookNode] = []
    for cell in assignment.cells:
        if is_for_colab(cell):
            continue
        if is_exercise(cell):
            exercise = exercises[cell.source]
            made += cells(exercise, lesson.exercises.index(exercise), cell)
        else:
            made.append(cell)
    note = (
        "*Handed in for points: each exercise is checked again with other numbers than those that "
        "`check` uses.*"
    )
    made.insert(1, new_markdown_cell(note, id="for-points"))
    assignment.cells = made
    return assignment


def _hidden_test(exercise: Exercise, number: int) -> str:
    return (
        "from etgp_viz.course.grading import grade\n\n"
        f'verdict = grade("{exercise.id}", {exercise.name}, {VARIANT + number})\n'
        'assert verdict.outcome == "right", verdict.reason'
    )


def _graded(source: str, cell_id: str, grade_id: str, *, solution: bool) -> NotebookNode:
    settings = {
        "schema_version": 3,
        "grade": not solution,
        "grade_id": grade_id,
        "locked": not solution,
        "solution": solution,
        "task": False,
    }
    if not solution:
        settings["points"] = POINTS
    return new_code_cell(source, id=cell_id[-64:], metadata={"nbgrader": settings})
