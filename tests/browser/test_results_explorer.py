"""The results explorer in a real JupyterLab: scores and one run as drawn, and a change of both."""

import numpy as np

from etgp_viz import experiments
from etgp_viz.experiments.settings import COMPARED
from etgp_viz.figures.results import MAX_ROWS
from etgp_viz.records.results import WAYS
from tests.browser.lab import violations, wait_until

CELLS = ["from etgp_viz.explorers import ResultsExplorer\nResultsExplorer()"]
SIZE = (1600, 1400)


def choose(notebook, field, label):
    notebook.page.locator(f".etgp-field-{field} select").select_option(label=label)


def x(plot, name):
    plot.settle()
    find = "(plot, name) => Array.from(plot._fullData.find(t => t.name === name).x)"
    return np.array(plot.element.evaluate(find, name))


def point_estimates(table, column):
    """Means over seeds of the flows on digits with the largest M, from the rows of the table."""
    rows = experiments.select(table)
    rows = rows[
        (rows["dataset"] == "digits") & (rows["inference"] == "pe") & (rows["sharing"] == "")
    ]
    rows = rows[rows["num_inducing"].isin((0, rows["num_inducing"].max()))]
    means = rows.groupby("model")[column].mean()
    return means[[name for name in COMPARED if name in means]].to_numpy()


def test_scores_are_those_of_the_table(notebook):
    table, drawn = experiments.reference(), notebook.plot("scores")
    expected = point_estimates(table, "test_accuracy")
    np.testing.assert_allclose(x(drawn, WAYS["pe"]), expected, rtol=1e-6)
    choose(notebook, "metric", "log-likelihood")
    expected = point_estimates(table, "test_log_likelihood")
    wait_until(lambda: np.allclose(x(drawn, WAYS["pe"]), expected), "the log-likelihoods", 20)


def test_another_run_changes_every_picture(notebook, screenshots):
    look = experiments.closest_look(experiments.reference())
    look = look[(look["dataset"] == "digits") & (look["model"] == "svgp-rbf")]
    look = look[look["num_inducing"] == look["num_inducing"].max()].set_index("sharing")
    detail = experiments.reference_detail(look.loc["separate", "id"])
    choose(notebook, "model", "SVGP RBF separate")
    hard = [row["probabilities"][row["label"]] for row in detail["hardest"][:MAX_ROWS]]
    plot = notebook.plot("hardest")
    name = "probability of the label"
    wait_until(lambda: np.allclose(x(plot, name), hard), "the hardest rows of the SVGP", 20)
    images = plot.element.locator("image")
    assert images.count() == len(hard)
    notebook.rest()
    value = notebook.plot("elbo").y("ELBO")
    np.testing.assert_allclose(value, detail["elbo"]["value"])
    drawn = notebook.plot("offset")
    first = detail["class_names"][detail["line"]["classes"][0]]
    np.testing.assert_allclose(drawn.y(f"class {first}"), detail["line"]["mean"][0])
    notebook.screenshot(screenshots / "results_explorer.png")


def test_axe_finds_nothing(notebook, axe):
    assert violations(notebook.page, axe, ".etgp-viz") == []


# Where the frames in a matrix are, in rows and columns; and the lines that are not faded.
FRAMES = """plot => { const panel = plot.querySelector('.nsewdrag').getBoundingClientRect();
  return [...plot.closest('.etgp-figure').querySelectorAll('.etgp-band')].map((band) => {
    const box = band.getBoundingClientRect();
    return [(box.top - panel.top) / panel.height, (box.left - panel.left) / panel.width]
      .map((share) => Math.round(10 * share)); }); }"""
BRIGHT = """plot => plot._fullData.filter((trace) => trace.visible === true
  && trace.mode === 'lines'
  && plot.querySelector(`.trace${trace.uid} .lines`).style.opacity !== '0.15'
).map((trace) => trace.name)"""


def test_a_cell_of_the_matrix_lights_its_class_up_everywhere(notebook, screenshots):
    """By mouse in the row of the digit 3, and by keyboard in the legend."""
    lines, matrix = notebook.plot("offset"), notebook.plot("confusion").element
    panel = matrix.locator(".nsewdrag").bounding_box()
    at_row = panel["y"] + 0.35 * panel["height"]
    notebook.page.mouse.move(panel["x"] + 0.75 * panel["width"], at_row)
    wait_until(lambda: matrix.evaluate(FRAMES) == [[3, 0], [0, 3]], "the row and column of 3", 15)
    notebook.screenshot(screenshots / "results-class.png", ".etgp-viz")
    notebook.page.mouse.move(panel["x"] - 5, panel["y"] - 60)
    wait_until(lambda: matrix.evaluate(FRAMES) == [], "the light to go out", 15)
    legend = notebook.page.get_by_role("group", name="classes").get_by_role("button", name="3")
    legend.focus()
    legend.press("Enter")  # it stays in other views
    wait_until(lambda: matrix.evaluate(FRAMES) == [[3, 0], [0, 3]], "the row and column of 3", 15)
    lines.settle()
    wait_until(lambda: lines.element.evaluate(BRIGHT) == ["class 3"], "its line alone", 15)
    legend.press("Enter")
    legend.blur()
    wait_until(lambda: len(lines.element.evaluate(BRIGHT)) > 3, "all lines", 15)
