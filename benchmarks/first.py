"""Time from "run all" in a new kernel to the first picture, painted and moving.

`make bench ARGS=first`. Two notebooks take turns: lesson 00, and one with nothing but a
`FlowExplorer`. "Painted" is when its first curve or bar is on screen, "moving" when it has followed
a key press on the first slider. Needs Chromium, as the browser tests do.
"""

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.latency import notebook_of
from etgp_viz.cli.doctor import find_browser
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, serve

ROUNDS = 3
LESSON = Path(__file__).parents[1] / "notebooks" / "00_start_here.ipynb"
EXPLORER = "explorer.ipynb"
VALUES = "(plot) => JSON.stringify(plot.data.map(({ x, y }) => [Array.from(x), Array.from(y)]))"


def seconds(lab: Lab, notebook_name: str) -> tuple[float, float]:
    """Seconds until the first figure is painted, and until it has moved, in a new kernel."""
    with lab.open(notebook_name, width=1366, height=768) as notebook:
        start = time.perf_counter()
        notebook.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        plot = notebook.page.locator(".js-plotly-plot", has=notebook.page.locator(".trace")).first
        plot.locator(".trace").first.wait_for(timeout=120_000)
        painted = time.perf_counter() - start
        before = plot.evaluate(VALUES)
        handle = notebook.page.locator(".widget-slider:visible .noUi-handle").first
        while plot.evaluate(VALUES) == before:
            handle.press("ArrowRight")
        return painted, time.perf_counter() - start


def main() -> None:
    """Print the seconds of each round, and their median."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "lab")
        root.mkdir()
        shutil.copy(LESSON, root)
        (root / EXPLORER).write_text(
            notebook_of(["from etgp_viz.explorers import FlowExplorer\nFlowExplorer()"])
        )
        with serve(root, Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch_persistent_context(
                Path(folder, "browser"), executable_path=find_browser(), args=CHROMIUM_OPTIONS
            )
            names = (LESSON.name, EXPLORER)
            rounds = [
                [seconds(Lab(address, browser), name) for name in names] for _ in range(ROUNDS)
            ]
            browser.close()
    for name, times in zip(names, np.swapaxes(rounds, 0, 1), strict=True):
        for what, values in zip(("painted", "moving"), times.T, strict=True):
            each = ", ".join(f"{value:.1f}" for value in values)
            print(f"{name:24s}{what:>8s} after {each} s; median {np.median(values):.1f} s")


if __name__ == "__main__":
    main()
