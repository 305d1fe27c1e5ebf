"""Every notebook has its links and the cell for Colab, with the address in pyproject.toml."""

import sys
from types import ModuleType

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from tools import colab_cells

each_notebook = pytest.mark.parametrize("path", colab_cells.NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(text: str) -> list:
    """The cells as they were written: without what running them in `make lab` adds."""
    cells = nbformat.reads(text, as_version=4).cells
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        for name in set(cell.metadata) - {"tags"}:
            del cell.metadata[name]
    return cells


@each_notebook
def test_a_notebook_agrees_with_the_setting(path):
    cells = cells_of(path.read_text(encoding="utf-8"))
    assert cells == cells_of(colab_cells.with_colab_cells(path)), "run: python tools/colab_cells.py"


def test_a_notebook_that_was_run_still_agrees():
    notebook = nbformat.read(colab_cells.NOTEBOOKS[0], as_version=4)
    before = cells_of(nbformat.writes(notebook))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.metadata["trusted"] = 7, True
    assert cells_of(nbformat.writes(notebook)) == before
    notebook.cells[0].source += " and another link"
    assert cells_of(nbformat.writes(notebook)) != before


@pytest.mark.parametrize("path", colab_cells.DOCUMENTS, ids=lambda path: path.name)
def test_a_document_agrees_with_the_setting(path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    assert text == colab_cells.with_links(text), "run: python tools/colab_cells.py"
    monkeypatch.setattr(colab_cells, "published", lambda: ("somebody/else", "next"))
    assert "(https://mybinder.org/v2/gh/somebody/else/next?" in colab_cells.with_links(text)


def test_the_address_is_one_setting(monkeypatch):
    path = colab_cells.NOTEBOOKS[1]
    monkeypatch.setattr(colab_cells, "published", lambda: ("somebody/else", "next"))
    cells = nbformat.reads(colab_cells.with_colab_cells(path), as_version=4).cells
    github = (
        f"https://colab.research.google.com/github/somebody/else/blob/next/notebooks/{path.name}"
    )
    binder = f"https://mybinder.org/v2/gh/somebody/else/next?urlpath=lab/tree/notebooks/{path.name}"
    assert cells[0].source.endswith(f"]({github}) [Open in Binder]({binder})")
    assert cells[1].source.startswith("# 01")
    assert "git+https://github.com/somebody/else@next" in cells[2].source
    assert [cell.id for cell in cells].count("install-on-colab") == 1  # replaced, not added


def test_links_to_the_project_follow_the_setting(monkeypatch):
    monkeypatch.setattr(colab_cells, "published", lambda: ("somebody/else", "next"))
    text = colab_cells.with_colab_cells(colab_cells.NOTEBOOKS[0])
    assert "https://github.com/somebody/else/blob/next/docs/errata.md" in text
    assert "OWNER" not in text


@pytest.mark.parametrize("place", ["colab", "elsewhere"])
def test_it_installs_on_colab_and_nowhere_else(place, monkeypatch):
    shell, installed = InteractiveShell(), []
    shell.register_magic_function(installed.append, "line", "pip")
    if place == "colab":
        monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    else:
        monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    _, install = colab_cells.colab_cells("explorers.ipynb")
    shell.run_cell(install.source).raise_error()
    repository, branch = colab_cells.published()
    line = f'install --quiet "etgp-viz @ git+https://github.com/{repository}@{branch}"'
    assert installed == ([line] if place == "colab" else [])
