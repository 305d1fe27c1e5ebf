"""Time from "run all" in a new kernel to the first explorer on screen, TensorFlow included.

`make bench ARGS=first`. Needs Chromium, as the browser tests do.
"""

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from etgp_viz.cli.doctor import find_browser
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, serve

ROUNDS = 3
NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "00_start_here.ipynb"


def seconds(lab: Lab) -> float:
    """Seconds until the first figure is drawn in a new kernel."""
    with lab.open(NOTEBOOK.name, width=1300, height=1000) as notebook:
        start = time.perf_counter()
        notebook.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        drawn = notebook.page.locator(".etgp-figure-paths .js-plotly-plot .scatterlayer .trace")
        drawn.first.wait_for(timeout=120_000)
        return time.perf_counter() - start


def main() -> None:
    """Print the seconds of each round, and their median."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "lab")
        root.mkdir()
        shutil.copy(NOTEBOOK, root)
        with serve(root, Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch_persistent_context(
                Path(folder, "browser"), executable_path=find_browser(), args=CHROMIUM_OPTIONS
            )
            times = [seconds(Lab(address, browser)) for _ in range(ROUNDS)]
            browser.close()
    rounds = ", ".join(f"{value:.1f}" for value in times)
    print(f"first explorer on screen after {rounds} s; median {np.median(times):.1f} s")


if __name__ == "__main__":
    main()
