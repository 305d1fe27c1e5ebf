"""The internals of plotly that this folder uses, by name, each with a check that it is there.

plotly promises none of them. `missing` tests them once, when the first figure is made; if one has
gone, `live_figure` falls back to plotly's own widget.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import plotly
import plotly.graph_objects as go
import traitlets

# Minor versions of plotly on which the browser tests have run.
VERSIONS = ("7.1",)


@dataclass(frozen=True)
class Internal:
    """One thing that plotly might change: its name, how to find it, and what depends on it."""

    name: str
    exists: Callable[[], bool]
    check: str


@cache
def bundle() -> str:
    """JavaScript of plotly's widget, plotly.js included."""
    return str(go.FigureWidget._esm)


@cache
def missing() -> tuple[Internal, ...]:
    """The internals that this plotly does not have; empty if it is one that we know."""
    return tuple(internal for internal in INTERNALS if not _exists(internal))


def _exists(internal: Internal) -> bool:
    try:
        return internal.exists()
    except Exception:  # whatever a changed plotly raises, it is not the one that we know
        return False


def _method(name: str, *parameters: str, check: str) -> Internal:
    def exists() -> bool:
        method = getattr(go.FigureWidget, name)
        return tuple(inspect.signature(method).parameters) == ("self", *parameters)

    return Internal(f"FigureWidget.{name}({', '.join(parameters)})", exists, check)


def _trait(name: str, kind: type[traitlets.TraitType], check: str) -> Internal:
    def exists() -> bool:
        trait = go.FigureWidget.class_traits(sync=True)[name]
        return isinstance(trait, kind)

    return Internal(f"FigureWidget.{name}: a synchronised {kind.__name__}", exists, check)


def _stored(name: str, kind: type, check: str) -> Internal:
    def exists() -> bool:
        value: Any = go.Figure(go.Scatter(y=[1.0]), {"height": 100})
        for attribute in name.split("."):
            value = getattr(value, attribute)
        return isinstance(value, kind)

    return Internal(f"Figure.{name}: a {kind.__name__}", exists, check)


def _in_bundle(text: str, check: str) -> Internal:
    return Internal(f"widgetbundle.js: {text}", lambda: text in bundle(), check)


def _updates_send_one_message() -> bool:
    messages = []

    class Recorder(go.Figure):
        def _send_update_msg(self, **message: Any) -> None:
            messages.append(message)

    figure = Recorder(go.Scatter(y=[1.0]))
    figure.plotly_update({"y": [[2.0]]}, {"height": 100}, [0])
    expected = {"restyle_data": {"y": [[2.0]]}, "relayout_data": {"height": 100}}
    return messages == [{**expected, "trace_indexes": [0]}]


_MESSAGE = "figure.js and moves.js read this part of the message that LiveFigure sends"
_RELOAD = "LiveFigure.get_state fills it in when a page is loaded again"
_DRAWN = "moves.js changes what plotly has drawn there; compare with a redraw by plotly"
_DELTAS = "figure.js replaces it by nothing; is there still such a message to Python to save?"

INTERNALS = (
    Internal(
        f"plotly.__version__: {' or '.join(VERSIONS)}",
        lambda: plotly.__version__.rpartition(".")[0] in VERSIONS,
        "run tests/browser and `make bench ARGS=latency`, then add the version to VERSIONS",
    ),
    # The widget in Python: live_figure.py.
    _method(
        "_send_update_msg", "restyle_data", "relayout_data", "trace_indexes", "source_view_id",
        check="LiveFigure overrides it to send a change as one message instead of four",
    ),
    _method(
        "_normalize_trace_indexes", "trace_indexes",
        check="LiveFigure._send_update_msg calls it, as plotly's own does",
    ),
    Internal(
        "Figure.plotly_update calls _send_update_msg once", _updates_send_one_message,
        "plotting.move counts on it to send what has changed and nothing else",
    ),
    _trait("_py2js_update", traitlets.Dict, "LiveFigure sends every change through it"),
    _trait("_last_trace_edit_id", traitlets.Integer, "LiveFigure counts changes as plotly does"),
    _trait("_last_layout_edit_id", traitlets.Integer, "LiveFigure counts changes as plotly does"),
    _trait("_widget_data", traitlets.List, _RELOAD),
    _trait("_widget_layout", traitlets.Dict, _RELOAD),
    _trait("_config", traitlets.Dict, "LiveFigure hides the mode bar and follows the width"),
    _stored("_data", list, "LiveFigure.stored looks values up in it"),
    _stored("_layout", dict, "LiveFigure.stored looks values up in it"),
    _stored("_layout_obj._props", dict, _RELOAD),
    Internal(
        "HasTraits._trait_values (of traitlets): a dict",
        lambda: isinstance(traitlets.HasTraits()._trait_values, dict),
        "LiveFigure changes traits there without sending them",
    ),
    # The widget in the browser: figure.js.
    _in_bundle(" as FigureView,", "figure.js takes it from plotly's widget"),
    _in_bundle(" as default}", "figure.js calls it for {initialize, render}"),
    _in_bundle("_sendTraceDeltas(", _DELTAS),
    _in_bundle("_sendLayoutDelta(", _DELTAS),
    _in_bundle('"change:_py2js_update"', "figure.js hears of changes by this event"),
    _in_bundle(".style_data", _MESSAGE),
    _in_bundle(".style_traces", _MESSAGE),
    _in_bundle(".layout_data", _MESSAGE),
    # What plotly.js has drawn: moves.js and panels.js.
    _in_bundle("._fullData", "moves.js and panels.js find traces in it, with uid and legendgroup"),
    _in_bundle("._fullLayout", "moves.js and panels.js find axes in it, with range"),
    _in_bundle(".c2p", "moves.js asks an axis for the pixel of a value"),
    _in_bundle(".p2d", "panels.js asks an axis for the value at a pixel"),
    _in_bundle("nsewdrag", "panels.js takes it for the area of a panel, and data-subplot with it"),
    _in_bundle('"data-subplot"', "panels.js reads the names of a panel's axes from it"),
    _in_bundle('"trace scatter trace"+', f"the class of a trace's group. {_DRAWN}"),
    _in_bundle('"js-line"', f"the class of a line. {_DRAWN}"),
    _in_bundle("._ownFill", f"the area of a trace. {_DRAWN}"),
    _in_bundle("._nextFill", f"the area between two traces of a stack. {_DRAWN}"),
    _in_bundle('"points"', f"the group of a trace's dots. {_DRAWN}"),
    _in_bundle('"point"', f"the class of a dot. {_DRAWN}"),
    _in_bundle('"textpoint"', f"the class of a name beside a line. {_DRAWN}"),
    _in_bundle('"data-index"', f"the number of a shape. {_DRAWN}"),
    _in_bundle("imagelayer", f"the group of images. {_DRAWN}"),
    _in_bundle("shapelayer", f"the group of shapes. {_DRAWN}"),
    _in_bundle("._offset", f"where an axis begins. {_DRAWN}"),
    _in_bundle('"hm"', f"the group of a heat map. {_DRAWN}"),
)  # fmt: skip
