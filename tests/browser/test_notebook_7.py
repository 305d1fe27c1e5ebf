"""An explorer in Jupyter Notebook 7, which shares JupyterLab's parts but not its page."""

import numpy as np
import pytest

from benchmarks.latency import notebook_of
from tests.browser.lab import KERNEL_IS_IDLE, PATIENCE, Notebook, serve_notebook_7, wait_until


def test_an_explorer_answers_in_notebook_7(lab, screenshots, tmp_path):
    pytest.importorskip("notebook", "7", reason="Notebook 7 is not installed")
    cells = ["from etgp_viz.explorers import FlowExplorer\nFlowExplorer()"]
    (tmp_path / "page.ipynb").write_text(notebook_of(cells))
    with serve_notebook_7(tmp_path, tmp_path) as address:
        page = lab.browser.new_page()
        page.goto(f"{address}/notebooks/page.ipynb")
        page.wait_for_function(KERNEL_IS_IDLE, timeout=PATIENCE * 1000)
        notebook = Notebook(page)
        notebook.run_all()
        plot, sentence = notebook.plot("paths"), notebook.text(".etgp-viz [role=status]")
        before = plot.y("warped f(x)")
        notebook.slider("shift b").press("ArrowRight", times=2)
        follows = lambda: np.allclose(plot.y("warped f(x)"), before + 0.1, atol=1e-6)  # noqa: E731
        wait_until(follows, "the curve to follow", 30)
        assert notebook.text(".etgp-viz [role=status]") != sentence
        notebook.slider("shift b").press("d", times=2)  # to Notebook: delete this cell
        assert page.locator(".jp-Cell .etgp-viz").count() == 1
        notebook.screenshot(screenshots / "notebook_7.png")
        notebook.close()
