"""An explorer on plotly's own widgets, as with a plotly that we do not know."""

import numpy as np

from etgp_viz.explorers.fast_plotly.live_figure import STOCK
from tests.browser.lab import wait_until
from tests.browser.test_flow_explorer import LATENT, WARPED, expected_latent

CELLS = [
    f"""
import os
os.environ["{STOCK}"] = "1"
from etgp_viz.explorers import FlowExplorer
FlowExplorer()
"""
]
SIZE = (1300, 1300)


def follows(notebook, a, b):
    expected = a * expected_latent() + b
    plot = notebook.plot("paths")
    wait_until(lambda: np.allclose(plot.y(WARPED), expected, atol=1e-6), "the curve to follow", 30)


def line(notebook):
    """The path that is drawn for the warped curve."""
    return notebook.plot("paths").element.evaluate(
        """(plot, name) => {
          const trace = plot._fullData.find((trace) => trace.name === name);
          return plot.querySelector(`.trace${trace.uid} .js-line`).getAttribute("d");
        }""",
        WARPED,
    )


def test_a_slider_moves_the_drawn_line(notebook, screenshots):
    follows(notebook, 1.5, 1.0)
    np.testing.assert_allclose(notebook.plot("paths").y(LATENT), expected_latent(), atol=1e-6)
    assert notebook.page.evaluate("globalThis.etgpPace === undefined")  # plotly's own widgets
    before = line(notebook)
    notebook.slider("scale a").press("ArrowLeft", times=3)
    follows(notebook, 1.35, 1.0)
    wait_until(lambda: line(notebook) != before, "the line to move", 15)
    np.testing.assert_allclose(notebook.plot("paths").y(LATENT), expected_latent(), atol=1e-6)
    notebook.screenshot(screenshots / "flow-stock-plotly.png")


def test_a_click_marks_an_input(notebook):
    panel = notebook.plot("paths").element.locator(".nsewdrag")
    box = panel.bounding_box()
    panel.click(position={"x": box["width"] * 0.75, "y": box["height"] / 2}, force=True)
    wait_until(lambda: np.isclose(notebook.slider("input x").value, 1.5, atol=0.05), "x", 15)
    mark = "plot => plot._fullLayout.shapes[0].x0"
    element = notebook.plot("parameters").element
    wait_until(lambda: abs(element.evaluate(mark) - 1.5) < 0.06, "the mark", 15)


def test_present_mode_enlarges_the_text(notebook):
    size = "plot => plot._fullLayout.font.size"
    element = notebook.plot("paths").element
    before = element.evaluate(size)
    notebook.page.get_by_role("button", name="present").click()
    wait_until(lambda: element.evaluate(size) > 1.5 * before, "larger text", 15)
    notebook.page.keyboard.press("Escape")
    wait_until(lambda: element.evaluate(size) == before, "usual text", 15)
    notebook.page.get_by_role("button", name="reset").click()
    follows(notebook, 1.5, 1.0)


def test_a_page_loaded_again_shows_the_present_figures(notebook, screenshots):
    notebook.slider("shift b").press("ArrowRight", times=2)
    follows(notebook, 1.5, 1.1)
    notebook.reload()
    follows(notebook, 1.5, 1.1)
    notebook.slider("shift b").press("ArrowLeft", times=2)  # and they still move
    follows(notebook, 1.5, 1.0)
    notebook.screenshot(screenshots / "flow-stock-plotly-reloaded.png")
