"""Write the badge "Open in Colab" and the cell that installs on Colab into every notebook.

Where the project is published is one line of pyproject.toml, `published` in `[tool.etgp-viz]`. Run
this after changing it, and after adding a notebook: `python tools/colab_cells.py`.
"""

import base64
import tomllib
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from etgp_viz.course.publish.notebooks import COLAB, is_for_colab
from etgp_viz.files import write

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# The picture goes into the notebook, so that it shows without a network.
BADGE = Path(__file__).with_name("open-in-colab.png")
INSTALL = """\
# On Google Colab this cell installs what the lesson needs; no restart. Elsewhere it does nothing.
import sys

if "google.colab" in sys.modules:
    %pip install --quiet "etgp-viz @ git+https://github.com/{repository}@{branch}"\
"""


def published() -> tuple[str, str]:
    """Repository on GitHub, as owner/name, and branch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    repository, _, branch = project["tool"]["etgp-viz"]["published"].partition("@")
    return repository, branch


def colab_cells(name: str) -> list[NotebookNode]:
    """The two cells for the notebook of that file name."""
    repository, branch = published()
    address = (
        f"https://colab.research.google.com/github/{repository}/blob/{branch}/notebooks/{name}"
    )
    picture = {"image/png": base64.b64encode(BADGE.read_bytes()).decode()}
    badge = new_markdown_cell(
        f"[![Open in Colab](attachment:{BADGE.name})]({address})",
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
    """The text of a notebook with both cells below its title."""
    notebook = nbformat.read(path, as_version=4)
    title, *others = (cell for cell in notebook.cells if not is_for_colab(cell))
    notebook.cells = [title, *colab_cells(path.name), *others]
    return nbformat.writes(notebook) + "\n"


if __name__ == "__main__":
    for path in NOTEBOOKS:
        write(path, with_colab_cells(path))
