"""Every notebook runs from top to bottom in a fresh kernel, and is stored without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS][:1] == ["00_start_here"]


@each_notebook
def test_it_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    noise = [output.text for output in outputs if output.get("name") == "stderr"]
    assert noise == [], "a lesson must not show warnings or logs"


@each_notebook
def test_it_is_stored_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@each_notebook
def test_it_is_in_the_table_of_lessons(path):
    start = nbformat.read(NOTEBOOKS[0], as_version=4)
    assert f"`{path.stem}`" in start.cells[-1].source
