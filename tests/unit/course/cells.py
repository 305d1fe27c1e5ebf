"""Cells of the notebooks, run by themselves."""

import ast
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).parents[3] / "notebooks"


def source(lesson: str, cell: str) -> str:
    """The source of a cell, by the number of its lesson and its id."""
    (path,) = FOLDER.glob(f"{lesson}_*.ipynb")
    (found,) = (each for each in nbformat.read(path, as_version=4).cells if each.id == cell)
    return found.source


def run(lesson: str, *cells: str, **names: Any) -> dict[str, Any]:
    """The names that some code cells leave, each given those before it and `names`.

    The last expression of a cell, which a notebook would show, is not evaluated.
    """
    for cell in cells:
        tree = ast.parse(source(lesson, cell))
        if isinstance(tree.body[-1], ast.Expr) and not ast.unparse(tree.body[-1]).startswith(
            "print"
        ):
            tree.body.pop()
        exec(compile(tree, f"{lesson} {cell}", "exec"), names)  # code of the course
    return names
