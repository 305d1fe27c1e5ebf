"""A notebook run from top to bottom, in a fresh kernel and a folder of its own."""

import tempfile
import time
from collections.abc import Callable
from typing import Any

from nbclient import NotebookClient
from nbformat import NotebookNode

__all__ = ["BUDGETS", "budget", "execute"]

#: seconds that a lesson may take to run, where it is not the usual minute
BUDGETS = {"06": 180, "07": 180}
USUAL = 60
LONGEST = 600  # seconds of one cell


def budget(name: str) -> int:
    """Seconds that a notebook may take, by its name such as ``06_cost_versus_classes``."""
    return BUDGETS.get(name[:2], USUAL)


def execute(notebook: NotebookNode, on_cell: Callable[[], Any] = lambda: None) -> float:
    """Run every cell in place, and return the seconds, the kernel's start among them.

    ``on_cell`` is called after each code cell. A cell that fails raises nbclient's
    ``CellExecutionError``.
    """
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=LONGEST,
            store_widget_state=False,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            on_cell_executed=lambda **_: on_cell(),
        ).execute()
    return time.perf_counter() - start
