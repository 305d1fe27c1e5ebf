"""Time from a key press to the painted plot in JupyterLab: explorers and a bare FigureWidget.

`make bench ARGS=latency`. All take turns, press by press, so that other load on the machine affects
them alike. Needs Chromium, as the browser tests do.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from etgp_viz.cli.doctor import find_browser
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, Notebook, serve

PRESSES, WARM_UP = 40, 5

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
    ("FlowExplorer()", "scale a", ("paths", "parameters", "map", "density", "covariance")),
    ("SharedLatentExplorer()", "variation", ("processes", "probabilities", "pivot")),
    ("CovarianceExplorer()", "scale a¹", ("variance", "analytic", "estimate", "together")),
    ("InferenceExplorer()", "noise", ("point",)),
    ("TimingExplorer(show_guess=True)", "slope of others", ("classes", "num_inducing")),
)

# Records when the key went down and when each plot was painted after it, which is right after the
# frame in which plotly reports that it has drawn.
WATCH = """(plots) => {
  window.etgpTimes = {};
  document.addEventListener('keydown', () => { window.etgpDown = performance.now(); }, true);
  for (const [name, plot] of Object.entries(plots)) {
    const drawn = () => requestAnimationFrame(() => setTimeout(() => {
      window.etgpTimes[name] ??= performance.now() - window.etgpDown;
    }));
    plot.on('plotly_afterplot', drawn);
    plot.addEventListener('etgp-moved', drawn);
  }
}"""


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


def press(notebook: Notebook, scope: str, label: str, watched: list[str], key: str) -> list[float]:
    """Milliseconds from one key press on a slider until each watched plot was painted."""
    notebook.page.evaluate("() => { window.etgpTimes = {}; }")
    row = notebook.page.locator(f"{scope} .widget-slider", has_text=label).first
    handle = row.locator(".noUi-handle")
    notebook.page.locator(scope).first.scroll_into_view_if_needed()
    handle.focus()
    handle.press(key)
    names = json.dumps(watched)
    notebook.page.wait_for_function(
        f"() => {names}.every(name => name in window.etgpTimes)", timeout=20000
    )
    times = notebook.page.evaluate("() => window.etgpTimes")
    notebook.page.wait_for_timeout(400)  # until everything else on the page has settled
    return [times[name] for name in watched]


def measure(lab: Lab) -> dict[str, np.ndarray]:
    """Milliseconds of all presses, by the watched plot."""
    times: dict[str, list[float]] = {}
    # Tall enough for all figures of an explorer: those outside the window are not drawn.
    with lab.open("latency.ipynb", width=1600, height=2400) as notebook:
        notebook.run_all()
        places = {"bare": (".bare", "bare", ["bare"])}
        for k, (_, label, figures) in enumerate(CASES):
            places[f"case{k}"] = (f".case{k}", label, [f"case{k}-{name}" for name in figures])
        for name, (scope, _, watched) in places.items():
            for figure in watched:
                inner = "" if name == "bare" else f".etgp-figure-{figure.partition('-')[2]} "
                plot = notebook.page.locator(f"{scope} {inner}.js-plotly-plot")
                plot.locator(".main-svg").first.wait_for()
                plot.evaluate(f"(plot) => ({WATCH})({{ {json.dumps(figure)}: plot }})")
        for turn in range(WARM_UP + PRESSES):
            key = "ArrowRight" if turn % 20 < 10 else "ArrowLeft"
            for scope, label, watched in places.values():
                milliseconds = press(notebook, scope, label, watched, key)
                for figure, value in zip(watched, milliseconds, strict=True):
                    if turn >= WARM_UP:
                        times.setdefault(figure, []).append(value)
    return {name: np.array(values) for name, values in times.items()}


def main() -> None:
    """Print medians and 95 % quantiles, alone and beside the bare line."""
    cells = [BARE]
    for k, (explorer, _, _) in enumerate(CASES):
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
            times = measure(Lab(address, browser))
            browser.close()
    base = np.median(times["bare"])
    print(f"{'figure':44s} {'median ms':>9s} {'p95':>6s} {'p95/median':>10s} {'/ bare':>7s}")
    for name, values in times.items():
        case, _, figure = name.partition("-")
        label = "bare FigureWidget line" if not figure else f"{CASES[int(case[4:])][0]} {figure}"
        median, p95 = np.median(values), np.percentile(values, 95)
        print(f"{label:44s} {median:9.0f} {p95:6.0f} {p95 / median:10.2f} {median / base:7.2f}")


if __name__ == "__main__":
    main()
