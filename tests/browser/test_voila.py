"""An explorer in Voilà: the notebook as a page of its own, with no code and no JupyterLab."""

import numpy as np

from benchmarks.latency import notebook_of
from tests.browser.lab import PATIENCE, Notebook, serve_voila, violations, wait_until
from tests.browser.test_every_explorer import CELLS, NAMES


def test_an_explorer_answers_in_voila(lab, screenshots, tmp_path, axe):
    path = tmp_path / "page.ipynb"
    path.write_text(notebook_of(["from etgp_viz.explorers import FlowExplorer\nFlowExplorer()"]))
    with serve_voila(path, tmp_path) as address:
        page = lab.browser.new_page()
        page.set_viewport_size({"width": 1300, "height": 1200})
        page.goto(address, timeout=PATIENCE * 1000)
        notebook = Notebook(page)
        plot, slider = notebook.plot("paths"), notebook.slider("shift b")
        before = plot.y("warped f(x)")
        slider.press("ArrowRight", times=2)
        follows = lambda: np.allclose(plot.y("warped f(x)"), before + 0.1, atol=1e-6)  # noqa: E731
        wait_until(follows, "the curve to follow", 30)
        notebook.screenshot(screenshots / "flow-voila.png")
        assert violations(page, axe, ".etgp-viz") == []
        page.close()


def test_axe_finds_nothing_on_any_explorer(lab, tmp_path, axe):
    path = tmp_path / "page.ipynb"
    path.write_text(notebook_of(CELLS))
    with serve_voila(path, tmp_path) as address:
        page = lab.browser.new_page()
        page.set_viewport_size({"width": 1366, "height": 768})
        page.goto(address, timeout=PATIENCE * 1000)
        explorers = page.locator(".etgp-viz[data-layout]")
        wait_until(lambda: explorers.count() == len(NAMES), "all explorers")
        for explorer in explorers.all():
            explorer.scroll_into_view_if_needed()
            explorer.locator(".main-svg:visible").first.wait_for(timeout=PATIENCE * 1000)
        assert violations(page, axe, ".etgp-viz") == []
        page.close()
