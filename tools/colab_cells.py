"""Give every notebook its links to Colab, Binder and the project, and the cell for Colab.

The README and docs/install.md get the links to Colab and Binder. The address is set in one line of
pyproject.toml, `published` in `[tool.etgp-viz]`. After changing it, or adding a notebook, run
`python tools/colab_cells.py`.
"""

import base64
import re
import tomllib
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from etgp_viz.course.publish.notebooks import COLAB, is_for_colab
from etgp_viz.files import write

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "install.md")
FIRST = "00_start_here.ipynb"

# The picture is stored in the notebook, so that it shows without a network.
BADGE = Path(__file__).with_name("open-in-colab.png")
INSTALL = """\
# Installs what the lesson needs on Google Colab, without a restart; elsewhere it does nothing.
import sys

if "google.colab" in sys.modules:
    %pip install --quiet "etgp-viz @ git+https://github.com/{repository}@{branch}"\
"""


def published() -> tuple[str, str]:
    """Repository on GitHub, as owner/name, and branch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    repository, _, branch = project["tool"]["etgp-viz"]["published"].partition("@")
    return repository, branch


def on_colab(name: str) -> str:
    """The address of a notebook on Colab."""
    repository, branch = published()
    return f"https://colab.research.google.com/github/{repository}/blob/{branch}/notebooks/{name}"


def on_binder(name: str) -> str:
    """The address of a notebook on Binder."""
    repository, branch = published()
    return f"https://mybinder.org/v2/gh/{repository}/{branch}?urlpath=lab/tree/notebooks/{name}"


def with_links(text: str) -> str:
    """The text of a document with its line of links to Colab and Binder."""
    links = f"[Open in Colab]({on_colab(FIRST)}) · [Open in Binder]({on_binder(FIRST)})"
    return re.sub(r"^\[Open in Colab\].*$", lambda _: links, text, flags=re.MULTILINE)


def with_project_links(text: str) -> str:
    """The text of a cell with its links to pages of the project."""
    repository, branch = published()
    project = rf"https://github.com/{repository}/blob/{branch}/docs/"
    return re.sub(r"https://github\.com/[\w.-]+/[\w.-]+/blob/[\w.-]+/docs/", project, text)


def colab_cells(name: str) -> list[NotebookNode]:
    """The two cells for the notebook of that file name."""
    repository, branch = published()
    picture = {"image/png": base64.b64encode(BADGE.read_bytes()).decode()}
    badge = new_markdown_cell(
        f"[![Open in Colab](attachment:{BADGE.name})]({on_colab(name)}) "
        f"[Open in Binder]({on_binder(name)})",
        id="open-in-colab",
        attachments={BADGE.name: picture},
    )
    install = new_code_cell(
        INSTALL.format(repository=repository, branch=branch), id="install-on-colab"
    )
    for cell in (badge, install):
        cell.metadata["tags"] = [COLAB]
    return [badge, install]


def with_colab_cells(path: Path) -> str:
    """The text of a notebook with the links as its first cell, and the other below the title."""
    notebook = nbformat.read(path, as_version=4)
    title, *others = (cell for cell in notebook.cells if not is_for_colab(cell))
    links, install = colab_cells(path.name)
    for cell in others:
        if cell.cell_type == "markdown":
            cell.source = with_project_links(cell.source)
    notebook.cells = [links, title, install, *others]
    return nbformat.writes(notebook) + "\n"


if __name__ == "__main__":
    for path in NOTEBOOKS:
        write(path, with_colab_cells(path))
    for path in DOCUMENTS:
        write(path, with_links(path.read_text(encoding="utf-8")))
