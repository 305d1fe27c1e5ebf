"""Explorers on pages that show each cell in a document of its own, as Google Colab does.

Such a document has nothing but the widgets that its cell refers to, and a `define` for modules in
the manner of RequireJS: see cell.html. `make test-colab-widgets` runs these tests with Colab's
ipywidgets 7 in Python and in the browser.
"""

from base64 import b64encode
from pathlib import Path
from urllib.parse import urlsplit

import anywidget
import ipykernel.comm
import ipywidgets
import numpy as np
import pytest
import widgetsnbextension
from ipywidgets import Widget, embed, widget_serialization

from etgp_viz import explorers
from etgp_viz.explorers.fast_plotly.live_figure import STOCK
from tests.browser.lab import CHROMIUM_OPTIONS, PATIENCE, Notebook, wait_until

ADDRESS = "http://cells.test"
WARPED = "warped f(x)"
CELL = Path(__file__).with_name("cell.html")
# What each package brings for the classic notebook.
CLASSIC = {
    "/nbextensions/jupyter-js-widgets": Path(widgetsnbextension.__file__).parent / "static",
    "/nbextensions/anywidget": Path(anywidget.__file__).parent / "nbextension",
}
# Many libraries begin like this; plotly's may one day.
LOOKS_FOR_DEFINE = """
if (typeof define === "function" && define.amd) throw new Error("a module for RequireJS");
"""
# Whether all figures of these names show lines, dots, bars or a heat map.
ARE_PAINTED = """(names) => names.every((name) => {
  const plot = document.querySelector(`.etgp-figure-${name} .js-plotly-plot`);
  const marks = plot?.querySelectorAll(".js-line, .point, .hm image") ?? [];
  return [...marks].some((mark) => mark.getBoundingClientRect().width > 0);
})"""


def widgets_of(explorer):
    """What a document can learn about an explorer: all widgets that its page refers to."""
    data, _ = explorer._repr_mimebundle_()
    root = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    models = embed.dependency_state(explorer._page._view, drop_defaults=False)
    return {"root": root, "models": models}


class Kernel:
    """Stands in for the kernel between a page and the widgets of this process."""

    def __init__(self, monkeypatch):
        self._sent = []

        def send(widget, message, buffers=None):
            texts = [b64encode(buffer).decode() for buffer in buffers or ()]
            self._sent.append({"id": widget.model_id, "data": message, "buffers": texts})

        monkeypatch.setattr(Widget, "_send", send)
        # Widgets send nothing if their comms know of no kernel.
        monkeypatch.setattr(ipykernel.comm.Comm, "kernel", self)

    def ask(self, model_id, message):
        """Give a page's message to a widget, and return what all widgets send to the page."""
        self._sent = []
        widget = widget_serialization["from_json"](f"IPY_MODEL_{model_id}", None)
        widget._handle_msg({"content": {"data": message}, "buffers": []})
        return self._sent


@pytest.fixture(scope="module")
def browser(chromium):
    kind, path = chromium
    browser = kind.launch(executable_path=path, args=CHROMIUM_OPTIONS)
    yield browser
    browser.close()


@pytest.fixture
def show(browser, monkeypatch):
    """Opens a page with a document for each cell; returns the page and the documents."""
    page = browser.new_page()

    def show(cells):
        frames = (f"<iframe src='/cell?{k}' width=1250 height=1150></iframe>" for k in cells)

        def answer(route):
            address = urlsplit(route.request.url)
            if address.path == "/":
                route.fulfill(body="".join(frames), content_type="text/html")
            elif address.path == "/cell":
                route.fulfill(path=CELL)
            elif address.path == "/widgets":
                route.fulfill(json=cells[address.query])
            else:
                folder, _, name = address.path.rpartition("/")
                route.fulfill(path=CLASSIC[folder] / name)

        page.set_viewport_size({"width": 1300, "height": 1200 * len(cells)})
        page.route(f"{ADDRESS}/**", answer)
        page.expose_function("askKernel", Kernel(monkeypatch).ask)
        page.goto(ADDRESS)
        return page, {k: page.frame(url=f"{ADDRESS}/cell?{k}") for k in cells}

    yield show
    page.close()


def assert_painted(document, explorer):
    """In every view: it shows its figures when they are asked for."""
    page = Notebook(document)
    for name in explorer.figures:
        page.show_view_of(name)
        document.wait_for_function(ARE_PAINTED, arg=[name], timeout=PATIENCE * 1000)


def test_every_document_paints_its_figures(show, screenshots):
    names = ("FlowExplorer", "CovarianceExplorer", "SharedLatentExplorer")
    shown = {name: getattr(explorers, name)() for name in names}
    page, documents = show({name: widgets_of(explorer) for name, explorer in shown.items()})
    for name, explorer in shown.items():
        assert_painted(documents[name], explorer)
    page.screenshot(path=screenshots / f"own-documents-{ipywidgets.__version__}.png")


def assert_slider_moves_curve(label, document, explorer):
    def curve():
        """The warped path that Python has."""
        traces = explorer.figures["paths"].data
        return np.array(next(trace.y for trace in traces if trace.name == WARPED))

    plot, slider = document.plot("paths"), document.slider(label)
    value, before = slider.value, curve()
    np.testing.assert_allclose(plot.y(WARPED), before, atol=1e-6)
    slider.press("ArrowRight", times=3)
    wait_until(lambda: slider.value > value, f"the number beside {label}")
    wait_until(lambda: np.ptp(curve() - before) > 0.01, f"Python to hear of {label}")
    wait_until(lambda: np.allclose(plot.y(WARPED), curve(), atol=1e-6), "the drawn curve")
    slider.press("Delete")
    wait_until(lambda: slider.value == value, f"the default of {label}")
    wait_until(lambda: np.allclose(plot.y(WARPED), before, atol=1e-6), "the first curve")


@pytest.mark.parametrize("path", ["fast", "stock"])
def test_sliders_move_the_drawn_curve(path, show, monkeypatch):
    monkeypatch.setenv(STOCK, "1" if path == "stock" else "")
    explorer = explorers.FlowExplorer()
    _, documents = show({"FlowExplorer": widgets_of(explorer)})
    document = Notebook(documents["FlowExplorer"])
    assert_slider_moves_curve("scale a", document, explorer)
    assert_slider_moves_curve("lengthscale ℓ", document, explorer)  # logarithmic


@pytest.mark.parametrize("path", ["fast", "stock"])
def test_plotly_is_not_taken_for_a_module_of_requirejs(path, show, monkeypatch):
    monkeypatch.setenv(STOCK, "1" if path == "stock" else "")
    explorer = explorers.FlowExplorer()
    cell = widgets_of(explorer)
    (library,) = (m["state"] for m in cell["models"].values() if "source" in m["state"])
    library["source"] = LOOKS_FOR_DEFINE + library["source"]
    _, documents = show({"FlowExplorer": cell})
    assert_painted(documents["FlowExplorer"], explorer)
    assert documents["FlowExplorer"].evaluate("typeof define.amd") == "object"  # still there
