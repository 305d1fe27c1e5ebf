"""Explorers on pages that show each cell in a document of its own, as Google Colab does.

Such a document has nothing but the widgets that its cell refers to, and a `define` for modules in
the manner of RequireJS: see cell.html.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from ipywidgets import embed

from etgp_viz import explorers
from etgp_viz.explorers.fast_plotly.live_figure import STOCK
from tests.browser.lab import PATIENCE

ADDRESS = "http://cells.test"
CELL = Path(__file__).with_name("cell.html")
CLASSIC = Path(sys.prefix) / "share" / "jupyter"
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


@pytest.fixture
def show(lab):
    """Opens a page with a document for each cell; returns the page and the documents."""
    page = lab.browser.new_page()

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
                route.fulfill(path=CLASSIC / address.path.lstrip("/"))

        page.set_viewport_size({"width": 1300, "height": 1200 * len(cells)})
        page.route(f"{ADDRESS}/**", answer)
        page.goto(ADDRESS)
        return page, {k: page.frame(url=f"{ADDRESS}/cell?{k}") for k in cells}

    yield show
    page.close()


def assert_painted(document, explorer):
    document.wait_for_function(ARE_PAINTED, arg=list(explorer.figures), timeout=PATIENCE * 1000)


def test_every_document_paints_its_figures(show, screenshots):
    names = ("FlowExplorer", "CovarianceExplorer", "SharedLatentExplorer")
    shown = {name: getattr(explorers, name)() for name in names}
    page, documents = show({name: widgets_of(explorer) for name, explorer in shown.items()})
    for name, explorer in shown.items():
        assert_painted(documents[name], explorer)
    page.screenshot(path=screenshots / "own-documents.png")


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
