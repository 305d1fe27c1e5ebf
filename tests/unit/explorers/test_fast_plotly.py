"""The fast path leans on plotly's internals; with a plotly that lacks one, the stock path works.

When plotly changes, `test_plotly_has_what_we_use` names what is gone and what to check. Until then
figures are plotly's own widgets.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest
from ipywidgets import embed
from packaging.version import Version

import etgp_viz
from etgp_viz import explorers
from etgp_viz.explorers import fields
from etgp_viz.explorers.fast_plotly import internals, live_figure
from etgp_viz.explorers.fast_plotly.live_figure import STOCK, LiveFigure, StockFigure

PACKAGE = Path(etgp_viz.__file__).parent
FOLDER = PACKAGE / "explorers" / "fast_plotly"
# Private attributes of plotly's objects, in Python and in JavaScript; ours begin with _etgp.
PRIVATE = re.compile(
    r"(?:self|figure|fig|plot|trace|value|prototype|_layout_obj|at\(-1\))\??\.(_\w+)"
)
OURS = re.compile(r"_etgp|_on_|_is_|_page|_esm|_css|_repr_")
# An older plotly is supported with its own widgets; a newer one must be looked at first.
on_the_fast_path = pytest.mark.skipif(
    Version(plotly.__version__) < Version(internals.VERSIONS[0]),
    reason=f"plotly {plotly.__version__} draws with its own widgets",
)


@on_the_fast_path
@pytest.mark.parametrize("internal", internals.INTERNALS, ids=lambda internal: internal.name)
def test_plotly_has_what_we_use(internal):
    assert internal not in internals.missing(), (
        f"plotly {plotly.__version__} has no {internal.name} any more, so all figures are plotly's "
        f"own widgets, which are slower. To check: {internal.check}. Adapt {FOLDER.name}/ and "
        "internals.py; then run tests/browser and `make bench ARGS=latency`."
    )


def private_names(path):
    return {name for name in PRIVATE.findall(path.read_text("utf-8")) if not OURS.match(name)}


def test_every_internal_that_is_used_is_named():
    named = " ".join(internal.name for internal in internals.INTERNALS)
    for path in [*sorted(FOLDER.glob("*.js")), FOLDER / "live_figure.py"]:
        unnamed = {name for name in private_names(path) if name not in named}
        assert not unnamed, f"{path.name} uses {unnamed}: name and check them in internals.py"


def test_nothing_else_uses_an_internal():
    named = {
        name
        for internal in internals.INTERNALS
        for name in re.findall(r"\b(_[a-z]\w{4,}|nsewdrag|widgetbundle)", internal.name)
    }
    assert {"_send_update_msg", "_widget_data", "_fullData", "_ownFill", "nsewdrag"} <= named
    for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.css")]:
        if FOLDER not in path.parents:
            words = set(re.findall(r"\w+", path.read_text("utf-8")))
            found = (words & named) - {"_layout"}
            assert not found, f"{path.relative_to(PACKAGE)} uses {found} of plotly"
    for path in (PACKAGE / "figures").rglob("*.py"):
        assert not re.findall(r"\bfig(?:ure)?\._", path.read_text("utf-8")), path.name


# Which path is taken --------------------------------------------------------------------------


@pytest.fixture
def fresh():
    """Let the next figure check plotly again, and the tests after this one too."""
    internals.missing.cache_clear()
    internals.bundle.cache_clear()
    yield
    internals.missing.cache_clear()
    internals.bundle.cache_clear()


def another_signature(self, restyle, relayout):
    """What a plotly of the future might have."""


@on_the_fast_path
@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("target", "name", "value", "missing"),
    [
        (plotly, "__version__", "99.1.0", "plotly.__version__: 7.1"),
        (go.FigureWidget, "_send_update_msg", another_signature, "FigureWidget._send_update_msg"),
        (go.FigureWidget, "_normalize_trace_indexes", None, "_normalize_trace_indexes"),
        (go.Figure, "plotly_update", lambda *_: None, "plotly_update calls _send_update_msg"),
        (go.FigureWidget, "class_traits", lambda **_: {}, "_py2js_update"),
        (internals, "bundle", lambda: "var FigureView;", "widgetbundle.js: _sendTraceDeltas("),
        (go.FigureWidget, "_esm", "var FigureView;", "widgetbundle.js:  as FigureView,"),
    ],
)
def test_a_plotly_without_one_internal_is_unknown(monkeypatch, target, name, value, missing):
    figure = go.Figure(go.Scatter(y=[1.0, 2.0]))
    with monkeypatch.context() as patch:
        if name == "_esm":
            internals.bundle.cache_clear()
        patch.setattr(target, name, value)
        assert any(missing in internal.name for internal in internals.missing())
        assert not live_figure.is_fast()
    assert isinstance(live_figure.live_figure(figure), StockFigure)  # decided once
    internals.missing.cache_clear()
    internals.bundle.cache_clear()
    assert isinstance(live_figure.live_figure(figure), LiveFigure)


@on_the_fast_path
def test_the_stock_path_can_be_asked_for(monkeypatch):
    figure = go.Figure(go.Scatter(y=[1.0, 2.0]))
    assert isinstance(live_figure.live_figure(figure, leads=True), LiveFigure)
    monkeypatch.setenv(STOCK, "1")
    assert isinstance(live_figure.live_figure(figure, leads=True), StockFigure)


# The stock path -------------------------------------------------------------------------------


def drawn(explorer):
    """All that the figures hold, except for the identifiers that plotly draws at random."""
    return {
        name: [
            [
                {key: value for key, value in trace.to_plotly_json().items() if key != "uid"}
                for trace in figure.data
            ],
            figure.layout.to_plotly_json(),
        ]
        for name, figure in explorer.figures.items()
    }


def assert_same(one, other, path=""):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            assert_same(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list | tuple) and any(isinstance(part, dict | list) for part in one):
        assert len(one) == len(other), path
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{path}[{k}]")
    else:
        np.testing.assert_array_equal(one, other, err_msg=path)


@pytest.fixture
def stock(monkeypatch):
    monkeypatch.setenv(STOCK, "1")

    def make(name="FlowExplorer"):
        explorer = getattr(explorers, name)()
        assert all(isinstance(figure, StockFigure) for figure in explorer.figures.values())
        return explorer

    return make


@on_the_fast_path
@pytest.mark.slow
@pytest.mark.parametrize("name", explorers.__all__)
def test_every_control_moves_the_stock_figures_as_the_fast_ones(name, stock, monkeypatch):
    slow = stock(name)
    with monkeypatch.context() as patch:
        patch.delenv(STOCK)
        fast = getattr(explorers, name)()
    assert all(isinstance(figure, LiveFigure) for figure in fast.figures.values())
    assert_same(drawn(fast), drawn(slow))
    for field, control in fields.controls_of(fast.State).items():
        default = getattr(fast.State(), field)
        for value in (control.samples()[0], control.samples()[-1]):
            for explorer in (fast, slow):
                explorer.controls[field].value = value
                assert "role='alert'" not in explorer._page.message, explorer._page.message
            assert_same(drawn(fast), drawn(slow), field)
            assert fast.summary == slow.summary
        for explorer in (fast, slow):
            explorer.set(**{field: default})
    assert fast.table() == slow.table()
    assert fast.to_code() == slow.to_code()
    assert fast.link() == slow.link()


def test_a_stock_figure_sends_its_changes(stock):
    explorer, sent = stock(), []
    explorer.figures["paths"].observe(lambda change: sent.append(change.new), "_py2js_update")
    explorer.set(linear_a=(-1.0,) * 5)
    (message,) = filter(None, sent)
    np.testing.assert_array_equal(
        message["style_data"]["y"][0], explorer.figures["paths"].data[message["style_traces"][0]].y
    )


def test_a_page_loaded_later_gets_the_stock_figures_as_they_are(stock):
    explorer = stock()
    explorer.set(linear_a=(-1.0,) * 5)
    for figure in explorer.figures.values():
        state = figure.get_state()
        for sent, trace in zip(state["_widget_data"], figure.data, strict=True):
            assert sent["name"] == trace.name
            if isinstance(trace.y, np.ndarray) and trace.y.dtype == float:
                np.testing.assert_array_equal(np.frombuffer(sent["y"]["buffer"]), trace.y)
        assert state["_widget_layout"]["height"] == figure.layout.height


def test_clicks_presentation_presets_and_downloads_work_on_stock_figures(stock, monkeypatch):
    explorer, sent = stock(), []
    explorer._on_message({"click": "paths", "panel": "xy", "x": 2.0, "y": 0.0})
    assert explorer.state.at == 2.0
    assert explorer.figures["paths"].layout.shapes[0].x0 == 2.0
    size = explorer.figures["paths"].layout.font.size
    explorer._present(True)
    assert explorer.figures["paths"].layout.font.size > (size or 13)
    explorer._choose_preset("Two levels")
    assert explorer.state.flow == "tanh"
    monkeypatch.setattr(explorer._page.frame, "download", lambda *file: sent.append(file))
    explorer._download("csv")
    explorer._download("svg")
    assert [name for name, _, _ in sent] == ["flow.csv", "flow.svg"]
    explorer.reset()
    assert json.loads(explorer.link()) == {"explorer": "FlowExplorer"}


# Where figures find plotly's code ---------------------------------------------------------------


@pytest.mark.parametrize("path", ["fast", "stock"])
def test_a_page_that_follows_references_finds_plotly_once(path, monkeypatch):
    monkeypatch.setenv(STOCK, "1" if path == "stock" else "")
    explorer = explorers.FlowExplorer()
    models = embed.dependency_state(explorer._page._view, drop_defaults=False).values()
    (library,) = (model["state"] for model in models if "source" in model["state"])
    assert library["source"] == internals.bundle()
    figures = [model["state"] for model in models if "_widget_data" in model["state"]]
    assert len(figures) == len(explorer.figures)
    assert all(len(figure["_esm"]) < 50_000 for figure in figures)


def test_a_library_that_was_closed_is_replaced():
    figure = go.Figure(go.Scatter(y=[1.0, 2.0]))
    before = live_figure.live_figure(figure).library
    assert live_figure.live_figure(figure).library is before
    before.close()
    after = live_figure.live_figure(figure).library
    assert after is not before
    assert after.comm is not None


COLAB = """
import sys
from types import ModuleType, SimpleNamespace
calls = []
output = ModuleType("google.colab.output")
output.enable_custom_widget_manager = lambda: calls.append("enabled")
output._widgets = SimpleNamespace(_installed_url="https://colab.test/manager.js")
sys.modules["google.colab.output"] = output

from etgp_viz.explorers import FlowExplorer
_, metadata = FlowExplorer()._repr_mimebundle_()
FlowExplorer()
assert calls == ["enabled"], calls
(colab,) = metadata.values()
assert colab["colab"]["custom_widget_manager"]["url"] == output._widgets._installed_url, metadata
"""


def test_colab_is_asked_to_load_the_widgets():
    done = subprocess.run([sys.executable, "-c", COLAB], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


OLD_PLOTLY = """
import sys
import plotly.graph_objects as go
from ipywidgets import DOMWidget
go.FigureWidget = type("FigureWidget", (DOMWidget,), {})  # as in plotly 5
sys.modules["plotly"].__version__ = "5.24.1"
from etgp_viz.explorers import FlowExplorer
FlowExplorer()
"""


def test_an_old_plotly_is_named_in_one_line():
    done = subprocess.run([sys.executable, "-c", OLD_PLOTLY], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: explorers need plotly 6 or later, and plotly 5.24.1 is installed. "
        "Run: pip install --upgrade plotly. Then restart the kernel."
    )


# What an import sends to the page ---------------------------------------------------------------

IMPORTS = """
import sys
from ipywidgets import Widget
opened, open_widget = [], Widget.open
Widget.open = lambda widget: (opened.append(widget.get_state()), open_widget(widget))

from etgp_viz import explorers
assert not {"tensorflow", "gpflow"} & set(sys.modules), "importing explorers loads TensorFlow"
for name in explorers.__all__:
    getattr(explorers, name)
    assert not opened, f"looking up {name} opens a widget"

def compute_records(self, state):
    libraries = [state for state in opened if "source" in state]
    assert len(libraries) == 1, "plotly's code is not on its way while numbers are computed"
    yield from original(self, state)
original = explorers.FlowExplorer.compute_records
explorers.FlowExplorer.compute_records = compute_records
explorers.FlowExplorer()
explorers.FlowExplorer()
figures = [state for state in opened if "_widget_data" in state]
assert len(figures) == 12 and all(state["_widget_data"] for state in figures)
"""


def test_no_import_sends_anything_to_a_page():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
