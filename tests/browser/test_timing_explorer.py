"""A small race in a real JupyterLab: run, pause and stop by keyboard, and what is drawn."""

import csv
from importlib.resources import files

import numpy as np

from tests.browser.lab import eventually, violations, wait_until

# Two models at sizes that take milliseconds; with forty rounds there is time to pause.
CELLS = [
    """
from etgp_viz.explorers import TimingExplorer
TimingExplorer(
    svgp_separate=False, svgp_shared=False, classes="2,10", num_data=100, num_inducing=10,
    num_inputs=2, repeats=40,
)
"""
]
SIZE = (1600, 1400)


def summary(notebook):
    return notebook.text(".etgp-viz [role=status]")


def measured(notebook):
    """Times that were measured here, of both models."""
    drawn = notebook.plot("classes")
    own = [name for name in drawn.names() if name.endswith("measured")]
    return np.concatenate([drawn.y(name) for name in own]) if own else np.array([])


def test_the_reference_run_is_drawn_over_each_size(notebook):
    for over in ("classes", "num_inducing", "num_data"):
        path = files("etgp_viz") / "reference" / f"timing_{over}.csv"
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        rounds = {}
        for row in csv.DictReader(lines):
            if (row["model"], row["quantity"]) == ("etgp-linear", "step"):
                rounds.setdefault(row[over], []).append(float(row["value"]))
        times = sorted(np.median(values) for values in rounds.values())
        drawn = notebook.plot(over)
        name = next(name for name in drawn.names() if "etgp-linear" in name and "reference" in name)
        np.testing.assert_allclose(sorted(drawn.y(name)), times, rtol=1e-6)


def test_run_pause_go_on_and_stop(notebook, screenshots):
    notebook.press_button("run")
    wait_until(lambda: "Race: " in summary(notebook), "the page to say so", 20)
    wait_until(lambda: len(measured(notebook)) > 0, "the first times", 90)
    notebook.press_button("pause")
    wait_until(lambda: "Race: paused" in summary(notebook), "the pause", 30)
    held = summary(notebook)
    notebook.page.wait_for_timeout(1500)
    assert summary(notebook) == held
    notebook.press_button("run")
    wait_until(lambda: "paused" not in summary(notebook), "the race to go on", 30)
    notebook.press_button("stop")
    wait_until(lambda: "Race: stopped" in summary(notebook), "the end", 30)
    notebook.rest()
    times = measured(notebook)
    assert np.all((times > 1e-4) & (times < 5.0))
    notebook.page.screenshot(path=screenshots / "timing_explorer.png")


def test_what_was_measured_survives_a_reload(notebook):
    times = measured(notebook)
    notebook.reload()
    eventually(lambda: np.testing.assert_allclose(measured(notebook), times))
    assert "Race: stopped" in summary(notebook)


def test_axe_finds_nothing(notebook, axe):
    assert violations(notebook.page, axe, ".etgp-viz") == []
