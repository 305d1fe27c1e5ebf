"""Time from "run all" in a new kernel to the first picture, painted and moving.

`make bench ARGS=first`. Two notebooks take turns: lesson 00, whose first picture is the reader of
digits, and one with nothing but a `FlowExplorer`. "Painted" is when the picture is on screen,
"moving" when it has followed a key press on its first slider. Below it: where the time goes in
Python, in a process of its own. Needs Chromium, as the browser tests do.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.latency import notebook_of
from etgp_viz.cli.doctor import find_browser
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, serve

ROUNDS, GOAL = 3, 5.0
LESSON = Path(__file__).parents[1] / "notebooks" / "00_start_here.ipynb"
EXPLORER = "explorer.ipynb"
# A part of the first picture of each notebook that follows its first slider: bars, and a curve.
PICTURES = {LESSON.name: ".jp-OutputArea svg[width='520']", EXPLORER: ".etgp-viz .js-line"}
# The picture as text, "" until it is there. JupyterLab lays out only cells near the window.
DRAWN = """(selector) => {
  const mark = document.querySelector(selector);
  mark?.scrollIntoView({ block: "nearest" });
  return mark?.getClientRects().length ? mark.getAttribute("d") ?? mark.innerHTML : "";
}"""
STEPS = """
import time
def timed(name, code):
    start = time.perf_counter()
    exec(code, globals())
    print(f"  {name:44s}{time.perf_counter() - start:6.1f} s")
timed("import TensorFlow", "import tensorflow")
timed("import GPflow and TensorFlow Probability", "import etgp_viz.backend")
timed("import plotly and ipywidgets", "import plotly.graph_objects, ipywidgets, anywidget")
timed("import the explorer", "from etgp_viz.explorers import FlowExplorer")
timed("make the explorer", "FlowExplorer()")
"""


def seconds(lab: Lab, name: str) -> tuple[float, float]:
    """Seconds until the first picture is painted, and until it has moved, in a new kernel."""
    with lab.open(name, width=1366, height=768) as notebook:
        page, picture = notebook.page, PICTURES[name]
        start = time.perf_counter()
        # Not waiting for the end of all cells, which this command promises.
        page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")
        while not (before := page.evaluate(DRAWN, picture)):
            assert time.perf_counter() - start < 120.0, f"no picture in {name}"
            page.wait_for_timeout(20)
        painted = time.perf_counter() - start
        handle = page.locator(".widget-slider .noUi-handle").first
        while page.evaluate(DRAWN, picture) == before:
            assert time.perf_counter() - start < 120.0, f"nothing moves in {name}"
            handle.press("ArrowRight")
            page.wait_for_timeout(20)
        return painted, time.perf_counter() - start


def main() -> None:
    """Print the seconds of each round and their median, and where they go."""
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
            rounds = [
                [seconds(Lab(address, browser), name) for name in PICTURES] for _ in range(ROUNDS)
            ]
            browser.close()
    for name, times in zip(PICTURES, np.swapaxes(rounds, 0, 1), strict=True):
        for what, values in zip(("painted", "moving"), times.T, strict=True):
            each = ", ".join(f"{value:.1f}" for value in values)
            middle = f"median {np.median(values):.1f} s (goal: at most {GOAL:.0f} s)"
            print(f"{name:24s}{what:>8s} after {each} s; {middle}")
    print("In Python alone:", flush=True)
    subprocess.run([sys.executable, "-c", STEPS], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
