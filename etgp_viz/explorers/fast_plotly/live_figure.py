"""Live figures: plotly's FigureWidget, made to start fast, and to be current after a page reload.

plotly's own widget sends its five megabytes of JavaScript with every figure, tells the browser what
to draw only after it has told it to draw, and remembers for a reload what it drew first. Here all
figures of a kernel share one copy of the library, are complete when the browser hears of them, and
answer a reload with what they show now.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import plotly
import plotly.graph_objects as go
import traitlets

_HERE = Path(__file__).parent
_BUNDLE = Path(plotly.__file__).with_name("package_data") / "widgetbundle.js"


@contextmanager
def _absent(module: str) -> Iterator[None]:
    """Let an optional module look as if it were not installed."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


# FigureWidget imports nbformat, that imports jsonschema, and that builds a parser of international
# web addresses if it can: seconds of work, for a check of a kind that no notebook asks for.
with _absent("rfc3987_syntax"):
    from plotly.graph_objects import FigureWidget


class Library(anywidget.AnyWidget):
    """plotly's JavaScript, sent to the browser once."""

    _esm = _HERE / "library.js"
    source = traitlets.Unicode().tag(sync=True)


@cache
def library() -> Library:
    """The one copy of this kernel."""
    return Library(source=_BUNDLE.read_text(encoding="utf-8"))


class LiveFigure(FigureWidget):
    """A complete figure as a widget that follows the width of its place."""

    _esm = "\n".join((_HERE / name).read_text("utf-8") for name in ("moves.js", "figure.js"))
    leads = traitlets.Bool(False).tag(sync=True)  # whether it is drawn before the others

    def __init__(self, figure: go.Figure, leads: bool = False) -> None:
        library()
        self._is_complete = False
        super().__init__(figure)
        self.leads = leads
        self._config = {"responsive": True, "displayModeBar": False}
        self._is_complete = True
        self.open()

    def open(self) -> None:
        """Tell the browser of this widget, once there is something to draw."""
        if self._is_complete:
            super().open()

    def _send_update_msg(
        self,
        restyle_data: dict[str, Any],
        relayout_data: dict[str, Any],
        trace_indexes: Any = None,
        source_view_id: str | None = None,
    ) -> None:
        """A change as one message to the browser, where plotly itself would send four."""
        with self.hold_sync():
            self._last_trace_edit_id += 1
            self._last_layout_edit_id += 1
            self._py2js_update = {
                "style_data": restyle_data,
                "layout_data": relayout_data,
                "style_traces": self._normalize_trace_indexes(trace_indexes),
                "trace_edit_id": self._last_trace_edit_id,
                "layout_edit_id": self._last_layout_edit_id,
                "source_view_id": source_view_id,
            }
        self._trait_values["_py2js_update"] = None  # it has been sent, and a reload needs it not

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """What a page that is loaded now needs: the figure as it is now."""
        if key is None:
            # Straight into the store: as traits they would be sent, and this is no change.
            self._trait_values["_widget_data"] = deepcopy(self._data)
            self._trait_values["_widget_layout"] = deepcopy(self._layout_obj._props)
        return super().get_state(key, drop_defaults)
