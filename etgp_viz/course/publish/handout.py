"""A lesson as one HTML file: executed, with plots to zoom and sliders that move, and no network."""

import copy
import html
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from plotly.offline import get_plotlyjs

from etgp_viz.course.publish.render import Renderer
from etgp_viz.course.publish.run import execute

__all__ = ["executed", "handout", "page"]

HIDDEN = "hidden"
_INSTALL = "from etgp_viz.course import stills as _stills\n_stills.install(get_ipython())"


def executed(notebook: NotebookNode, on_cell: Callable[[], Any] = lambda: None) -> NotebookNode:
    """A copy of the notebook, run in a kernel that gives out stills in place of widgets.

    An explorer keeps the slider that it names itself (``Explorer.handout``), or the one of the
    field that the metadata of its cell name as ``"handout"``.
    """
    run = copy.deepcopy(notebook)
    cells = [_hidden(_INSTALL)]
    for cell in run.cells:
        if cell.cell_type == "code":
            cells.append(_hidden(f"_stills.slide({cell.metadata.get('handout', '')!r})"))
        cells.append(cell)
    run.cells = cells
    execute(run, on_cell)
    run.cells = [cell for cell in run.cells if HIDDEN not in cell.metadata.get("tags", ())]
    return run


def _hidden(source: str) -> NotebookNode:
    return new_code_cell(source, metadata={"tags": [HIDDEN]})


def handout(notebook: NotebookNode, folder: Path) -> str:
    """The page of an executed notebook; pictures of its Markdown come from ``folder``."""
    renderer = Renderer(folder)
    pieces = [piece for cell in notebook.cells for piece in renderer.pieces(cell)]
    body = "\n".join(
        f"<div class='exercise'>{piece.html}</div>" if piece.kind == "exercise" else piece.html
        for piece in pieces
    )
    return page(title(notebook), f"<main>\n{body}\n</main>", ("page.css", "handout.css"))


def title(notebook: NotebookNode) -> str:
    """The first heading."""
    return notebook.cells[0].source.partition("\n")[0].lstrip("# ").strip()


def page(name: str, body: str, styles: Iterable[str], scripts: Iterable[str] = ()) -> str:
    """A whole page with everything that it needs inside; plotly only where it draws."""
    draws = "class='still" in body
    libraries = [get_plotlyjs(), static("stills.js")] if draws else []
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # No page of the course asks for anything, not even for an icon.
            '<link rel="icon" href="data:,">',
            f"<title>{html.escape(name)}</title>",
            f"<style>{''.join(map(static, styles))}</style>",
            "</head>",
            "<body>",
            body,
            *(f"<script>{script}</script>" for script in (*libraries, *map(static, scripts))),
            "</body>",
            "</html>",
        ]
    )


@cache
def static(name: str) -> str:
    """A file of ``course/static``."""
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")
