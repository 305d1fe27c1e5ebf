"""Live figures: plotly's FigureWidget, quick to appear and to change, current after a page reload.

plotly's own widget sends its five megabytes of JavaScript with every figure, tells the browser to
draw before it says what, and answers a reload with what it drew first. Here all figures of a kernel
share one copy of the library, are complete when the browser hears of them, and answer a reload with
what they show now. One copy is also what a busy machine can load: anywidget gives up on a widget
whose code takes more than two seconds.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from pathlib import Path
from typing import Any

import anywidget
import plotly
import plotly.graph_objects as go
import traitlets
from ipywidgets import widget_serialization

from etgp_viz.explorers.fast_plotly import internals

#: Environment variable: if it is "1", all figures are plotly's own widgets.
STOCK = "ETGP_VIZ_STOCK_PLOTLY"
CONFIG = {"responsive": True, "displayModeBar": False}


def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


#: Functions for the page around the figures: the value under the mouse, one class standing out.
PANELS_JS = _source("panels.js")


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


# FigureWidget imports nbformat, which imports jsonschema, which builds a parser for international
# web addresses if it can: seconds of work for a check that no notebook needs.
with _absent("rfc3987_syntax"):
    from plotly.graph_objects import FigureWidget

if not issubclass(FigureWidget, anywidget.AnyWidget):
    raise ImportError(
        f"explorers need plotly 6 or later, and plotly {plotly.__version__} is installed. "
        "Run: pip install --upgrade plotly. Then restart the kernel."
    )


_MORPHS = ContextVar("_MORPHS", default=False)


@contextmanager
def morphing() -> Iterator[None]:
    """Let figures glide to what is drawn, unless the reader has asked for less motion."""
    token = _MORPHS.set(True)
    try:
        yield
    finally:
        _MORPHS.reset(token)


class Library(anywidget.AnyWidget):
    """plotly's JavaScript, sent to the browser once; every figure refers to it."""

    _esm = _source("library.js") + "export default { initialize({ model }) { load(model); } };"
    name = traitlets.Unicode().tag(sync=True)  # figures with the same share a copy
    source = traitlets.Unicode().tag(sync=True)


_LIBRARIES: dict[str, Library] = {}


def _library(kind: type[FigureWidget]) -> Library:
    """The one copy of this kernel for a kind of figure."""
    name = f"plotly {plotly.__version__} for {kind.__name__}"
    # `Widget.close_all()` closes this one too, and later figures need another.
    if name not in _LIBRARIES or _LIBRARIES[name].comm is None:
        _LIBRARIES[name] = Library(name=name, source=internals.bundle())
    return _LIBRARIES[name]


class _SharingFigure(FigureWidget):
    """A complete figure as a widget that takes plotly's code from the library that it refers to."""

    library = traitlets.Instance(Library).tag(sync=True, **widget_serialization)
    is_complete = False
    holds_axes = (
        False  # whether axes and colours stay, whatever is drawn: while something is dragged
    )

    def __init__(self, figure: go.Figure, **traits: Any) -> None:
        super().__init__(figure)
        for name, value in {"_config": CONFIG, **traits}.items():
            if self.has_trait(name):
                self.set_trait(name, value)
        self.is_complete = True
        self.open()

    @traitlets.default("library")
    def _shared_library(self) -> Library:
        return _library(type(self))

    def open(self) -> None:
        """Tell the browser about this widget, once there is something to draw."""
        if self.is_complete:
            super().open()


class LiveFigure(_SharingFigure):
    """A figure that is quick to appear and to change; it follows the width of its place."""

    _esm = "\n".join(map(_source, ("library.js", "moves.js", "motion.js", "figure.js")))
    leads = traitlets.Bool(False).tag(sync=True)  # whether it is drawn before the others

    def stored(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Traces and layout as plotly keeps them, to look values up without its checks."""
        return self._data, self._layout

    def _send_update_msg(
        self,
        restyle_data: dict[str, Any],
        relayout_data: dict[str, Any],
        trace_indexes: Any = None,
        source_view_id: str | None = None,
    ) -> None:
        """Send a change as one message to the browser; plotly itself would send four."""
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
                "morph": _MORPHS.get(),
            }
        self._trait_values["_py2js_update"] = None  # already sent; a reload must not replay it

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """What a page that is loaded now needs: the figure as it is now."""
        if key is None:
            # Past the traits, which would send it to pages that show it already.
            self._trait_values["_widget_data"] = deepcopy(self._data)
            layout = deepcopy(self._layout_obj._props)
            layout.pop("height", None)  # the page decides
            self._trait_values["_widget_layout"] = layout
        return super().get_state(key, drop_defaults)


class StockFigure(_SharingFigure):
    """plotly's own widget, with nothing of plotly's replaced but where its code comes from."""

    _esm = "\n".join(map(_source, ("library.js", "stock.js")))

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """As plotly does it, after what plotly does before it shows a figure: make it current."""
        if key is None:
            self._repr_mimebundle_()
        return super().get_state(key, drop_defaults)


def is_fast() -> bool:
    """Whether figures are `LiveFigure`: this plotly is known, and `STOCK` is not set."""
    return os.environ.get(STOCK) != "1" and not internals.missing()


def live_figure(figure: go.Figure, leads: bool = False) -> FigureWidget:
    """A figure as a widget: `LiveFigure`, or `StockFigure` with a plotly that we do not know.

    Parameters
    ----------
    figure : a complete figure
    leads : whether the browser draws it before the other figures of its page
    """
    return LiveFigure(figure, leads=leads) if is_fast() else StockFigure(figure)


def prepare_page() -> None:
    """Send plotly's JavaScript to the page, which loads it while the first numbers are computed."""
    _library(LiveFigure if is_fast() else StockFigure)
