"""Close explorers: their widgets, and those that a re-run cell leaves behind.

A kernel keeps every open widget, and with it the explorer, its figures and its models. A cell that
is run again shows a new explorer in place of the old one, which nobody can reach any more.
"""

import sys
from typing import Any

import ipywidgets as widgets

from etgp_viz.explorers.fast_plotly.live_figure import Library

__all__ = ["close_widgets", "forget", "note_display"]

#: explorer → cells that show it, as cell → number of the run in which they did
_cells_of: dict[Any, dict[str, str]] = {}


def close_widgets(*roots: widgets.Widget) -> None:
    """Close widgets and all widgets that they refer to, but not plotly's code, which is shared."""
    found: dict[str, widgets.Widget] = {}
    todo = list(roots)
    while todo:
        widget = todo.pop()
        if isinstance(widget, Library) or widget.comm is None or widget.model_id in found:
            continue
        found[widget.model_id] = widget
        for value in widget.trait_values().values():
            values = value if isinstance(value, (tuple, list)) else (value,)
            todo += [item for item in values if isinstance(item, widgets.Widget)]
    for widget in found.values():
        widget.close()


def forget(explorer: Any) -> None:
    """Forget where an explorer was shown."""
    _cells_of.pop(explorer, None)


def note_display(explorer: Any) -> str:
    """Note that a cell shows an explorer, and close what an earlier run of this cell showed.

    An explorer that another cell shows too stays open. Returns the id of the cell, or "".
    """
    cell, run = _current_cell()
    if not cell:
        return ""
    for other, cells in list(_cells_of.items()):
        if other is not explorer and cells.get(cell, run) != run:
            del cells[cell]
            if not cells:
                other.close()
    _cells_of.setdefault(explorer, {})[cell] = run
    return cell


def _current_cell() -> tuple[str, str]:
    """Id of the cell that runs now, and of this run; empty outside a notebook with cell ids."""
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    try:
        parent = shell.get_parent()  # type: ignore[union-attr]
        return parent["metadata"]["cellId"], parent["header"]["msg_id"]
    except (AttributeError, KeyError, TypeError):
        return "", ""
