"""The lessons as pages: each notebook run, its explorers with a slider that moves."""

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from etgp_viz.course.publish.build import short_name
from etgp_viz.course.publish.notebooks import is_for_colab
from etgp_viz.course.publish.pages import Renderer, executed, title
from tools.site.sources import ROOT, toctree
from tools.site.stills import raw

__all__ = ["NOTEBOOKS", "empty_page", "index", "joined", "page"]

COLUMNS = re.compile(r"^ *\S.* {2,}\S.*$", re.MULTILINE)  # a line with columns
NOTEBOOKS = {short_name(path): path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}


def index(_: str) -> str:
    """The lessons with what each is about, and the pages below."""
    parts = []
    for name, path in NOTEBOOKS.items():
        notebook = _read(path)
        parts.append(f"**[{title(notebook)}](lessons/{name}.md)**\\\n{_promise(notebook)}")
    return "\n\n".join([*parts, toctree(f"lessons/{name}" for name in NOTEBOOKS)])


def empty_page(name: str) -> str:
    """The page of a lesson that was left out of a build."""
    return (
        f"# {title(_read(NOTEBOOKS[name]))}\n\nThis lesson was left out when the site was built.\n"
    )


def _promise(notebook: NotebookNode) -> str:
    """The first paragraph below the title."""
    text = "\n\n".join(
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "markdown" and not is_for_colab(cell)
    )
    paragraphs = [part for part in text.split("\n\n")[1:] if not part.startswith(("#", "|", "-"))]
    words = re.sub(r"\]\([^)]*\.ipynb\)", "]", paragraphs[0]).replace("\n", " ")
    return words.removeprefix("**").removesuffix("**") if words.endswith("**") else words


def page(name: str) -> str:
    """The page of a lesson; running it takes up to a few minutes."""
    path = NOTEBOOKS[name]
    renderer = Renderer(path.parent)
    notebook = executed(_read(path))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    return "\n\n".join(part for cell in notebook.cells for part in _cell(cell, renderer)) + "\n"


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs of a cell; what was printed in several pieces is one output."""
    found: list[NotebookNode] = []
    for output in outputs:
        name = output.get("name")
        if name and found and found[-1].get("name") == name:
            found[-1] = NotebookNode(output, text=found[-1].text + output.text)
        else:
            found.append(output)
    return found


def _cell(cell: NotebookNode, renderer: Renderer) -> list[str]:
    parts = []
    for piece in renderer.pieces(cell):
        if piece.kind in ("code", "exercise"):
            parts.append(f"````python\n{cell.source}\n````")
        elif piece.kind == "heading":
            words = re.sub(r"<[^>]+>", "", piece.html).strip()
            parts.append(f"{'#' * piece.level} {words}")
        else:
            text = piece.html.replace('href="explorers.ipynb', 'href="explorers.html')
            if len(COLUMNS.findall(text)) > 1:  # a printed table must not wrap
                text = text.replace("<pre class='printed'>", "<pre class='printed columns'>")
            # The corner of a table is not a heading.
            parts.append(raw(text.replace("<th></th>", "<td></td>")))
    return parts


def _read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)
