"""Every notebook runs from top to bottom in a fresh kernel, and is stored without outputs."""

import subprocess
from pathlib import Path

import nbformat
import pytest

from etgp_viz.course.publish.notebooks import budget, execute

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS][:1] == ["00_start_here"]


# A machine that does other things as well takes up to twice as long; a lesson that has become slow
# takes longer than that. `etgp-viz course times` holds quiet runs against the budgets themselves.
BUSY = 2.0


# The longest come first, so that two workers end at about the same time.
LONGEST_FIRST = sorted(NOTEBOOKS, key=lambda path: (budget(path.stem), path.stem), reverse=True)


@pytest.mark.parametrize("path", LONGEST_FIRST, ids=lambda path: path.stem)
def test_it_runs_in_time(path):
    notebook = nbformat.read(path, as_version=4)
    seconds = execute(notebook)
    assert seconds <= BUSY * budget(path.stem)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    noise = [output.text for output in outputs if output.get("name") == "stderr"]
    assert noise == [], "a lesson must not show warnings or logs"


def committed(path: Path) -> str:
    """A notebook as git has it: `make lab` adds outputs to the file. Without git, the file."""
    git = ["git", "-C", str(path.parent), "show", f"HEAD:./{path.name}"]
    try:
        return subprocess.run(git, check=True, capture_output=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError):
        return path.read_text(encoding="utf-8")


@each_notebook
def test_it_is_stored_clean(path):
    notebook = nbformat.reads(committed(path), as_version=4)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@each_notebook
def test_it_is_in_the_table_of_lessons(path):
    start = nbformat.read(NOTEBOOKS[0], as_version=4)
    assert f"`{path.stem}`" in start.cells[-1].source
