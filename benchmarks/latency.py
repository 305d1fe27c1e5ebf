"""How soon and how smoothly plots follow a slider in JupyterLab: explorers and a bare FigureWidget.

`make bench ARGS=latency`. For each figure: milliseconds from a key press to the first painted move
and to the settled plot (plotly's own data have changed and are painted, and nothing is left to
draw), and painted updates a second while the slider is dragged for two seconds. In a drag, figures
move steadily from one answer of Python to the next, so that there are more updates than answers.
All take turns, press by press, so that other load on the machine affects them alike. Names choose
explorers: `python -m benchmarks.latency Flow`.
Needs Chromium, as the browser tests do.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Error, Locator, sync_playwright

from etgp_viz.cli.doctor import find_browser
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, Notebook, serve

PRESSES, WARM_UP, DRAGS, DRAG_SECONDS = 24, 4, 3, 2.0

BARE = """
import ipywidgets as widgets, numpy as np, plotly.graph_objects as go
x = np.linspace(0, 6, 200)
bare = go.FigureWidget(go.Figure(go.Scatter(x=x, y=np.sin(x)), layout={"height": 400}))
slider = widgets.FloatSlider(1.0, min=-20, max=20, step=0.05, description="bare")
def move(change):
    with bare.batch_update():
        bare.data[0].y = np.sin(x + change.new)
slider.observe(move, "value")
box = widgets.VBox([slider, bare])
box.add_class("bare")
box
"""

# (explorer and its arguments, label of the slider, figures to watch)
CASES = (
    ("PosteriorExplorer()", "lengthscale", ("functions", "evidence", "kernel")),
    ("FlowExplorer()", "scale a", ("paths", "parameters", "map", "density", "covariance")),
    ("SharedLatentExplorer()", "variation", ("processes", "probabilities", "pivot")),
    ("CovarianceExplorer()", "scale a¹", ("variance", "analytic", "estimate", "together")),
    ("InferenceExplorer()", "cut at", ("warped",)),
    ("TimingExplorer(show_guess=True)", "slope of others", ("classes", "num_inducing")),
    ("ResultsExplorer()", "error bars", ("scores",)),
)
# Figures with a heat map, which may take longer.
HEAT_MAPS = ("covariance", "analytic", "estimate", "together")

# Notes for each plot when it was first painted after a key press, when plotly's own data had
# changed and were painted, and in how many frames of the browser it moved.
WATCH = """(plot, name) => {
  const none = { first: {}, settled: {}, frames: {} };
  const bench = (window.etgpBench ??= { ...none, before: {}, plots: {} });
  bench.plots[name] = plot;
  const sum = (values) => Array.from(values ?? []).flat().reduce(
    (total, value, k) => total + (Number(value) || 0) * (1 + k % 7), 0);
  bench.sum ??= (plot) => JSON.stringify(plot.data.map(
    ({ x, y, z, error_x, error_y }) => [x, y, z, error_x?.array, error_y?.array].map(sum)));
  const painted = (then) => requestAnimationFrame((frame) => setTimeout(() => then(frame)));
  const moved = () => bench.down && painted((frame) => {
    bench.first[name] ??= performance.now() - bench.down;
    (bench.frames[name] ??= new Set()).add(frame);
  });
  const complete = () => {
    if (!bench.down || bench.sum(plot) === bench.before[name]) return;
    painted(() => { bench.settled[name] ??= performance.now() - bench.down; });
  };
  plot.addEventListener('etgp-moved', ({ detail }) => {
    moved();
    if (detail.isComplete) complete();
  });
  plot.on('plotly_afterplot', () => { moved(); complete(); });
}"""
READY = """() => {
  const bench = window.etgpBench, pressed = () => { bench.down = performance.now(); };
  Object.assign(bench, { first: {}, settled: {}, frames: {}, down: 0 });
  for (const [name, plot] of Object.entries(bench.plots)) bench.before[name] = bench.sum(plot);
  for (const name of ['keydown', 'pointerdown'])
    window.addEventListener(name, pressed, { capture: true, once: true });
}"""
FRAMES = """() => Object.fromEntries(
  Object.entries(etgpBench.frames).map(([name, frames]) => [name, frames.size]))"""


def notebook_of(cells: list[str]) -> str:
    """The content of a notebook file with these cells."""
    code = [
        {"cell_type": "code", "id": f"cell-{k}", "metadata": {}, "outputs": [],
         "execution_count": None, "source": source}
        for k, source in enumerate(cells)
    ]  # fmt: skip
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": code, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    )


class Case:
    """One slider and the plots that follow it."""

    def __init__(self, notebook: Notebook, scope: str, label: str, figures: dict[str, str]) -> None:
        self.page, self._scope, self._label = notebook.page, scope, label
        self.names = list(figures)
        self.page.locator(scope).first.scroll_into_view_if_needed()
        for name, selector in figures.items():
            plot = self.page.locator(f"{scope} {selector}.js-plotly-plot").first
            plot.locator(".main-svg").first.wait_for(timeout=60000)
            plot.evaluate(f"(plot) => ({WATCH})(plot, {json.dumps(name)})")

    def _handle(self) -> Locator:
        self.page.locator(self._scope).first.scroll_into_view_if_needed()
        row = self.page.locator(f"{self._scope} .widget-slider:visible", has_text=self._label).first
        return row.locator(".noUi-handle")

    def press(self, key: str) -> dict[str, tuple[float, float]]:
        """Milliseconds from one key press to the first move and to the settled plot."""
        handle = self._handle()
        handle.focus()
        self.page.evaluate(READY)
        handle.press(key)
        missing = f"{json.dumps(self.names)}.filter((name) => !(name in window.etgpBench.settled))"
        try:
            self.page.wait_for_function(f"() => !{missing}.length", timeout=20000)
        except Error:
            raise RuntimeError(f"never settled: {self.page.evaluate(missing)}") from None
        bench = self.page.evaluate("({ first: etgpBench.first, settled: etgpBench.settled })")
        self.page.wait_for_timeout(300)  # until everything else on the page has settled
        return {name: (bench["first"][name], bench["settled"][name]) for name in self.names}

    def drag(self) -> dict[str, float]:
        """Painted updates a second while the slider is dragged to and fro."""
        box = self._handle().bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.evaluate(READY)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        start = time.monotonic()
        while (passed := time.monotonic() - start) < DRAG_SECONDS:
            self.page.mouse.move(x - 40.0 * np.sin(2.0 * np.pi * passed / DRAG_SECONDS), y)
        frames = self.page.evaluate(FRAMES)
        self.page.mouse.move(x, y)
        self.page.mouse.up()
        self.page.wait_for_timeout(1000)
        return {name: frames.get(name, 0) / passed for name in self.names}


def measure(lab: Lab, cases: list[tuple[str, str, tuple[str, ...]]]) -> dict[str, np.ndarray]:
    """First move and settled plot of all presses in milliseconds, and updates a second, by plot."""
    times: dict[str, list[tuple[float, float]]] = {}
    rates: dict[str, list[float]] = {}
    # Tall enough for all figures of an explorer: those outside the window are not drawn.
    with lab.open("latency.ipynb", width=1920, height=1300) as notebook:
        notebook.page.evaluate("jupyterapp.shell.collapseLeft()")
        notebook.run_all()
        places = [Case(notebook, ".bare", "bare", {"bare FigureWidget line": ""})]
        for k, (explorer, label, figures) in enumerate(cases):
            short = explorer.partition("Explorer")[0]
            names = {f"{short} {name}": f".etgp-figure-{name} " for name in figures}
            places.append(Case(notebook, f".case{k}", label, names))
        for turn in range(WARM_UP + PRESSES):
            key = "ArrowRight" if turn % 8 < 4 else "ArrowLeft"
            for place in places:
                for name, both in place.press(key).items():
                    if turn >= WARM_UP:
                        times.setdefault(name, []).append(both)
        for _ in range(DRAGS):
            for place in places:
                for name, rate in place.drag().items():
                    rates.setdefault(name, []).append(rate)
    return {name: np.array([*np.array(both).T, np.resize(rates[name], len(both))])
            for name, both in times.items()}  # fmt: skip


def main(chosen: list[str]) -> None:
    """Print first move, settled plot and updates in a drag, beside those of the bare line."""
    cases = [case for case in CASES if not chosen or case[0].partition("Explorer")[0] in chosen]
    cells = [BARE]
    for k, (explorer, _, _) in enumerate(cases):
        cells.append(
            f"from etgp_viz import explorers\nexplorer = explorers.{explorer}\n"
            f"explorer._page._view.add_class('case{k}')\nexplorer"
        )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "lab")
        root.mkdir()
        (root / "latency.ipynb").write_text(notebook_of(cells))
        with serve(root, Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch_persistent_context(
                Path(folder, "browser"), executable_path=find_browser(), args=CHROMIUM_OPTIONS
            )
            measured = measure(Lab(address, browser), cases)
            browser.close()
    bare, *_ = (np.median(values, axis=1) for values in measured.values())
    columns = ("first ms", "/ bare", "settled ms", "p95", "p95/median", "/ bare", "frames/s")
    print(f"{'figure':26s}" + "".join(f"{column:>12s}" for column in columns))
    for name, (first, settled, rate) in measured.items():
        p95, middle = np.percentile(settled, 95), np.median(settled)
        label = f"{name} (heat map)" if name.rpartition(" ")[2] in HEAT_MAPS else name
        print(
            f"{label:26s}{np.median(first):12.0f}{np.median(first) / bare[0]:12.2f}{middle:12.0f}"
            f"{p95:12.0f}{p95 / middle:12.2f}{middle / bare[1]:12.2f}{np.median(rate):12.0f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
