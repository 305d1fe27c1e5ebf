"""How lively training looks: pictures a second, seconds to a step, and a first point of a race.

`make bench ARGS=training`. An `InferenceExplorer` trains in JupyterLab, as it opens. Frames of the
browser count if the map of regions, or the ELBO, is another one than before. Then come changes that
keep all shapes, so that nothing is compiled again: the seconds from the click or key press until
the page shows a step that was taken after it. Last, the seconds from *run* to the first point that
a `TimingExplorer` measures itself. Needs Chromium, as the browser tests do.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.latency import notebook_of
from etgp_viz.cli.doctor import find_browser
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, Notebook, serve, wait_until

CELLS = [
    f"from etgp_viz import explorers\nexplorers.{name}Explorer()"
    for name in ("Inference", "Timing")
]
ROUNDS, SECONDS, MANY = 3, 5.0, 100
GOAL_UPDATES, GOAL_SECONDS, GOAL_RACE = 8.0, 1.0, 10.0

# How many frames of the browser show another picture than the frame before, by figure.
COUNT = """(seconds) => new Promise((done) => {
  const plot = (name) => document.querySelector(`.etgp-figure-${name} .js-plotly-plot`);
  const parts = (name, selector, key) => [...plot(name).querySelectorAll(selector)]
    .map((part) => part.getAttribute(key)).join();
  const shown = {
    "map of regions": () => parts("point", "image", "href"),
    ELBO: () => parts("elbo", "path.js-line", "d"),
  };
  const count = Object.fromEntries(Object.keys(shown).map((name) => [name, 0]));
  let before = null;
  const start = performance.now();
  const look = () => {
    const now = Object.fromEntries(Object.entries(shown).map(([name, of]) => [name, of()]));
    if (before) for (const name in count) count[name] += now[name] !== before[name];
    before = now;
    if (performance.now() - start < 1000 * seconds) requestAnimationFrame(look);
    else done(count);
  };
  requestAnimationFrame(look);
})"""


class Training:
    """The page of an explorer, as one who trains uses it."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook, self.page = notebook, notebook.page
        self._title = self.page.locator(".etgp-viz h3").first

    @property
    def steps(self) -> int:
        """The step in the title, 0 before training."""
        last = self._title.inner_text().rpartition(" step ")[2]
        return int(last) if last.isdigit() else 0

    def play(self) -> float:
        """Press *play*; seconds until the first step is shown."""
        start, before = time.perf_counter(), self.steps
        self.page.locator(".etgp-toggle").press("Enter")
        wait_until(lambda: self.steps > before, "a step")
        return time.perf_counter() - start

    def seconds_after(self, change: Callable[[], None], is_new: Callable[[], bool]) -> float:
        """Seconds from a change until a step that was taken after it is shown."""
        start = time.perf_counter()
        change()
        wait_until(is_new, "the change")
        held = self.steps
        wait_until(lambda: self.steps > held, "a step")
        return time.perf_counter() - start

    def points(self) -> int:
        """The number of drawn points."""
        return self.page.locator(".etgp-figure-point .js-plotly-plot").evaluate(
            "plot => plot._fullData.filter(t => (t.name ?? '').startsWith('data of'))"
            ".reduce((sum, t) => sum + (t.x?.length ?? 0), 0)"
        )

    def paint(self, round_: int) -> float:
        """A click in the map."""
        box = self.page.locator(".etgp-figure-point .nsewdrag").first.bounding_box()
        assert box is not None
        x, y = box["x"] + (0.2 + 0.1 * round_) * box["width"], box["y"] + 0.06 * box["height"]
        held = self.points()
        return self.seconds_after(
            lambda: self.page.mouse.click(x, y), lambda: self.points() == held + 1
        )

    def other_rows(self, press: Callable[[], None]) -> float:
        """A press that makes other data, for which a new model trains: steps are counted anew."""
        wait_until(lambda: self.steps > MANY, "many steps")
        held = self.steps
        return self.seconds_after(press, lambda: self.steps < held)


def first_point(notebook: Notebook) -> float:
    """Seconds from the start of a race to the first point of its own."""
    plot = notebook.plot("classes").element
    own = """plot => plot._fullData.some(({ name, y }) => /measured$/.test(name) && y?.length)"""
    run = notebook.page.locator(".etgp-viz").nth(1).locator("button", has_text="run").first
    start = time.perf_counter()
    run.press("Enter")
    wait_until(lambda: plot.evaluate(own), "a point")
    return time.perf_counter() - start


def measure(lab: Lab) -> tuple[float, dict[str, list[float]], dict[str, list[float]], float]:
    """Seconds to the first step, updates a second, seconds after each change, and to the race's."""
    updates: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    with lab.open("training.ipynb", width=1366, height=768) as notebook:
        notebook.page.evaluate("jupyterapp.shell.collapseLeft()")
        notebook.run_all()
        notebook.plot("point")
        notebook.rest()
        training = Training(notebook)
        first = training.play()
        notebook.page.wait_for_timeout(3000)  # until everything else is compiled too
        for k in range(ROUNDS):
            for name, count in notebook.page.evaluate(COUNT, SECONDS).items():
                updates.setdefault(name, []).append(count / SECONDS)
            seconds.setdefault("a painted point", []).append(training.paint(k))
            for name, press in (
                ("other noise", lambda: notebook.slider("noise").press("ArrowRight")),
                ("another draw", lambda: notebook.press_button("resample")),
            ):
                seconds.setdefault(name, []).append(training.other_rows(press))
        training.page.locator(".etgp-toggle").press("Enter")
        notebook.rest()
        race = first_point(notebook)
    return first, updates, seconds, race


def main() -> None:
    """Print both tables beside their goals."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "lab")
        root.mkdir()
        (root / "training.ipynb").write_text(notebook_of(CELLS))
        with serve(root, Path(folder)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch_persistent_context(
                Path(folder, "browser"), executable_path=find_browser(), args=CHROMIUM_OPTIONS
            )
            first, updates, seconds, race = measure(Lab(address, browser))
            browser.close()
    print(f"first step of all, with compiling: {first:.1f} s")
    for name, rates in updates.items():
        each = ", ".join(f"{rate:.1f}" for rate in rates)
        print(f"{name}: {each} updates a second, median {np.median(rates):.1f}"
              f" (goal: at least {GOAL_UPDATES:.0f})")  # fmt: skip
    for name, times in seconds.items():
        each = ", ".join(f"{value:.2f}" for value in times)
        print(f"{name}: {each} s to the next step, median {np.median(times):.2f}"
              f" (goal: at most {GOAL_SECONDS:.0f})")  # fmt: skip
    print(f"first point of a race: {race:.1f} s (goal: at most {GOAL_RACE:.0f})")


if __name__ == "__main__":
    main()
