"""A notebook of the course: as students get it, as the instructor gets it, and executed."""

import copy
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from etgp_viz.course.checking import Exercise, Lesson

__all__ = ["budget", "execute", "instructor", "student"]

#: tag of the cells that lead to Google Colab and Binder, or install there: see tools/colab_cells.py
COLAB = "colab"
#: in the addresses of these cells as long as nobody has said where the course is published
NOWHERE = "/OWNER/"
#: a link that leads there, around its text
DEAD_LINK = re.compile(rf"\[([^\]\n]+)\]\([^)\s]*{NOWHERE}[^)\s]*\)")
#: first words of a note for the instructor
MARK = "For the instructor"
#: seconds in which a lesson must run, where that is not the usual minute
BUDGETS = {"06": 180, "07": 180}
USUAL_BUDGET = 60
LONGEST_CELL = 600  # seconds
_BOX = '<div style="border-left: 6px solid #CC79A7; padding-left: 1em">'


def student(notebook: NotebookNode) -> NotebookNode:
    """The notebook as it is shipped, without outputs, execution counts and links to nowhere."""
    stripped = copy.deepcopy(notebook)
    stripped.metadata.pop("widgets", None)
    stripped.cells = [
        cell for cell in stripped.cells if not (is_for_colab(cell) and NOWHERE in cell.source)
    ]
    for cell in stripped.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        else:
            cell.source = DEAD_LINK.sub(r"\1", cell.source)
    return stripped


def instructor(notebook: NotebookNode, lesson: Lesson) -> NotebookNode:
    """The student's notebook with solutions in the exercise cells and notes for teaching.

    Each exercise is followed by its explanation, the mistakes that its check recognises and its
    hints. Each teaching note stands under its heading; an unknown heading is a ValueError.
    """
    annotated = student(notebook)
    exercises = {exercise.cell: exercise for exercise in lesson.exercises}
    notes = dict(lesson.teaching)
    cells: list[NotebookNode] = []
    for cell in annotated.cells:
        exercise = exercises.get(cell.source) if is_exercise(cell) else None
        if cell.cell_type == "markdown":
            cells += _with_notes(cell, notes)
        elif exercise is None:
            cells.append(cell)
        else:
            cell.source = _solved_cell(exercise)
            about = _box(cell.id, "about", f"exercise {exercise.id}", _notes_on(exercise))
            cells += [cell, about]
    if notes:
        unplaced = ", ".join(map(repr, notes))
        raise ValueError(f"teaching: expected headings of lesson {lesson.number}, got {unplaced}")
    annotated.cells = cells
    return annotated


def is_exercise(cell: NotebookNode) -> bool:
    """Whether a cell is one in which students write an answer."""
    return "exercise" in cell.metadata.get("tags", ())


def is_for_colab(cell: NotebookNode) -> bool:
    """Whether a cell has the links to Colab and Binder, or installs the package on Colab."""
    return COLAB in cell.metadata.get("tags", ())


def _solved_cell(exercise: Exercise) -> str:
    """The cell of an exercise with its solution, and the stub as a comment above it."""
    stub = "\n".join(f"# {line}".rstrip() for line in exercise.stub.splitlines())
    gap = "\n\n\n" if exercise.solution.startswith("def ") else "\n\n"
    solution = exercise.cell.replace(exercise.stub, exercise.solution)
    return f"# The student's cell begins with:\n{stub}{gap}{solution}"


def _with_notes(cell: NotebookNode, notes: dict[str, str]) -> Iterator[NotebookNode]:
    """A Markdown cell, split after each heading that has a note; placed notes leave ``notes``."""
    parts = re.split(r"(?m)^(#{1,6} .*)$", cell.source)
    text, number = parts[0], 0
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        text += heading
        name = heading.lstrip("#").strip()
        # The note for "" belongs under the title of the notebook.
        key = "" if heading.startswith("# ") and "" in notes else name
        if key in notes:
            number += 1
            yield _cell_part(cell, text, number)
            yield _box(cell.id, f"note-{number}", "teaching", notes.pop(key))
            text = ""
        text += body
    if text.strip():
        yield _cell_part(cell, text, 0)


def _cell_part(cell: NotebookNode, text: str, number: int) -> NotebookNode:
    part = copy.deepcopy(cell)
    part.source = text.strip("\n")
    part.id = f"{cell.id}-{number}"[-64:] if number else cell.id
    return part


def _box(cell_id: str, suffix: str, subject: str, text: str) -> NotebookNode:
    """A note with a coloured line beside it, visible in light and dark themes."""
    source = f"{_BOX}\n\n**{MARK}: {subject}.**\n\n{text}\n\n</div>"
    tags = {"tags": ["instructor"]}
    return new_markdown_cell(source, id=f"{cell_id}-{suffix}"[-64:], metadata=tags)


def _notes_on(exercise: Exercise) -> str:
    mistakes = "\n".join(
        f"- *{_escaped(name)}*: {_escaped(mistake.message)}"
        for name, mistake in exercise.mistakes.items()
    )
    hints = "\n".join(f"{n}. {_escaped(hint)}" for n, hint in enumerate(exercise.hints, 1))
    return (
        f"{_escaped(exercise.explanation)}\n\n**Mistakes that its check recognises**\n\n{mistakes}"
        f"\n\n**Hints**\n\n{hints}"
    )


def _escaped(text: str) -> str:
    """Plain text, such as a hint, as Markdown that shows a star as a star."""
    return re.sub(r"([*_`$<])", r"\\\1", text)


def budget(name: str) -> int:
    """Seconds in which a notebook must run, by its name.

    >>> budget("06_cost_versus_classes"), budget("explorers")
    (180, 60)
    """
    return BUDGETS.get(name[:2], USUAL_BUDGET)


def execute(notebook: NotebookNode, on_cell: Callable[[], Any] = lambda: None) -> float:
    """Run every cell in place, in a fresh kernel and an empty folder; the seconds that this took.

    A cell that fails raises nbclient's ``CellExecutionError``. ``on_cell`` is called after each
    code cell. The seconds include the start of the kernel.
    """
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=LONGEST_CELL,
            store_widget_state=False,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],  # quiet about TCP on this machine
            resources={"metadata": {"path": folder}},
            on_cell_executed=lambda **_: on_cell(),
        ).execute()
    return time.perf_counter() - start
