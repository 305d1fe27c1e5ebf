"""One notebook for students, and one for the instructor made from it."""

import copy
import re
from collections.abc import Iterator

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from etgp_viz.course.exercise import Exercise, Lesson

__all__ = ["instructor", "student"]

#: how a note for the instructor begins, so that it is recognised
MARK = "For the instructor"
_LINE = '<div style="border-left: 6px solid #CC79A7; padding-left: 1em">'


def student(notebook: NotebookNode) -> NotebookNode:
    """The notebook as it is shipped: no outputs, nobody's numbers of execution."""
    stripped = copy.deepcopy(notebook)
    stripped.metadata.pop("widgets", None)
    for cell in stripped.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return stripped


def instructor(notebook: NotebookNode, lesson: Lesson) -> NotebookNode:
    """The student's notebook with solutions in their places, and what a teacher should know.

    Each exercise is followed by its explanation, the mistakes that its check recognises and its
    hints; notes for teaching stand under the headings that they belong to.
    """
    made = student(notebook)
    exercises = {each.cell: each for each in lesson.exercises}
    notes = dict(lesson.teaching)
    cells: list[NotebookNode] = []
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cells += _with_notes(cell, notes)
            continue
        exercise = exercises.get(cell.source) if _is_exercise(cell) else None
        if exercise is not None:
            cell.source = solved(exercise)
        cells.append(cell)
        if exercise is not None:
            cells.append(_box(cell.id, "about", f"exercise {exercise.id}", _about(exercise)))
    if notes:
        known = ", ".join(map(repr, notes))
        raise ValueError(f"teaching: expected headings of lesson {lesson.number}, got {known}")
    made.cells = cells
    return made


def solved(exercise: Exercise) -> str:
    """The cell of an exercise with its solution, and the stub as a comment above it."""
    stub = "\n".join(f"# {line}".rstrip() for line in exercise.stub.splitlines())
    gap = "\n\n\n" if exercise.solution.startswith("def ") else "\n\n"
    solution = exercise.cell.replace(exercise.stub, exercise.solution)
    return f"# The student's cell begins with:\n{stub}{gap}{solution}"


def _is_exercise(cell: NotebookNode) -> bool:
    return "exercise" in cell.metadata.get("tags", ())


def _with_notes(cell: NotebookNode, notes: dict[str, str]) -> Iterator[NotebookNode]:
    """A cell of Markdown, cut after the headings that have a note."""
    parts = re.split(r"(?m)^(#{1,6} .*)$", cell.source)
    text, number = parts[0], 0
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        text += heading
        name = heading.lstrip("#").strip()
        # The title of a notebook is its top.
        key = "" if heading.startswith("# ") and "" in notes else name
        if key in notes:
            number += 1
            yield _part(cell, text, number)
            yield _box(cell.id, f"note-{number}", "teaching", notes.pop(key))
            text = ""
        text += body
    if text.strip():
        yield _part(cell, text, 0)


def _part(cell: NotebookNode, text: str, number: int) -> NotebookNode:
    part = copy.deepcopy(cell)
    part.source = text.strip("\n")
    part.id = f"{cell.id}-{number}"[-64:] if number else cell.id
    return part


def _box(cell_id: str, suffix: str, about: str, text: str) -> NotebookNode:
    """A note with a line along its side, which can be seen on white and on black."""
    source = f"{_LINE}\n\n**{MARK}: {about}.**\n\n{text}\n\n</div>"
    return new_markdown_cell(
        source, id=f"{cell_id}-{suffix}"[-64:], metadata={"tags": ["instructor"]}
    )


def _about(exercise: Exercise) -> str:
    mistakes = "\n".join(
        f"- *{_plain(name)}*: {_plain(mistake.message)}"
        for name, mistake in exercise.mistakes.items()
    )
    hints = "\n".join(f"{number}. {_plain(hint)}" for number, hint in enumerate(exercise.hints, 1))
    why = _plain(exercise.explanation)
    return f"{why}\n\n**Mistakes that its check recognises**\n\n{mistakes}\n\n**Hints**\n\n{hints}"


def _plain(text: str) -> str:
    """Text that is no Markdown, such as a hint, in which a star is a star."""
    return re.sub(r"([*_`$<])", r"\\\1", text)
