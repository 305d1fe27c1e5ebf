"""Training in a real JupyterLab, while the page answers and points are painted."""

import numpy as np
import pytest

from etgp_viz.datasets import toys
from tests.browser.lab import wait_until

CELLS = [
    "from etgp_viz.explorers import InferenceExplorer\nexplorer = InferenceExplorer()\nexplorer",
    "from etgp_viz.explorers import FlowExplorer\nFlowExplorer()",
]
SIZE = (1920, 1700)  # wide enough for all pictures


def title(notebook):
    return notebook.page.locator(".etgp-viz h3").first.inner_text()


def steps(notebook):
    words = title(notebook).replace(",", " ").split()
    return max([int(word) for word in words if word.isdigit()][1:], default=0)


def toggle(notebook):
    return notebook.page.locator(".etgp-toggle").first


def summary(notebook):
    return notebook.text(".etgp-viz [role=status] >> nth=0")


def image(notebook):
    """The picture of the regions, as an address."""
    return notebook.plot("point").element.evaluate(
        "plot => plot._fullLayout.images[0].source.slice(-400)"
    )


def points(notebook, c):
    """Where the data of a class are drawn, [N, 2]."""
    find = "(plot, name) => { const t = plot._fullData.find(t => t.name === name); "
    find += "return [Array.from(t.x), Array.from(t.y)]; }"
    drawn = notebook.plot("point").element.evaluate(find, f"data of class {c}")
    return np.array(drawn).T


def test_it_opens_on_spirals_partly_trained(notebook, screenshots):
    toy = toys.spirals(300, 3, noise=0.1, seed=0)
    wait_until(lambda: len(points(notebook, 2)) > 0, "the data", 15)
    np.testing.assert_allclose(points(notebook, 2), toy.X[toy.Y[:, 0] == 1])
    assert steps(notebook) == 60
    assert image(notebook)
    look = """plot => [plot._fullLayout.xaxis, plot._fullLayout.yaxis]
      .map(axis => axis._length / (axis.range[1] - axis.range[0]))"""
    drawn = notebook.plot("point").element
    wait_until(lambda: np.isclose(*drawn.evaluate(look), rtol=0.01), "square units", 15)
    notebook.screenshot(screenshots / "inference-opening.png")


def test_play_is_one_button_that_says_whether_it_is_down(notebook):
    assert toggle(notebook).get_attribute("aria-pressed") == "false"
    toggle(notebook).press("Enter")
    wait_until(lambda: toggle(notebook).get_attribute("aria-pressed") == "true", "the button", 10)
    # A slider of another explorer, while this one compiles and trains.
    other = notebook.page.locator(".etgp-viz").nth(1).locator("[role=status]")
    before = other.inner_text()
    notebook.slider("scale a").press("ArrowRight")
    wait_until(lambda: other.inner_text() != before, "the other explorer to answer", 15)
    wait_until(lambda: steps(notebook) > 100, "some steps")
    first, picture = notebook.plot("elbo").y("ELBO"), image(notebook)
    wait_until(lambda: steps(notebook) > 160, "more steps")
    assert notebook.plot("elbo").y("ELBO")[-1] > first[60]
    wait_until(lambda: image(notebook) != picture, "another picture", 15)


def test_points_are_painted_while_it_trains(notebook, screenshots):
    """A click and a stroke: the training goes on with what it has learnt."""
    held, ones, twos = steps(notebook), len(points(notebook, 1)), len(points(notebook, 2))
    box = notebook.plot("point").element.locator(".nsewdrag").first.bounding_box()

    def at(x, y):
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    notebook.page.mouse.click(*at(0.3, 0.05))
    wait_until(lambda: len(points(notebook, 1)) == ones + 1, "the point", 30)
    swatch = notebook.page.locator(".etgp-swatches [role=radio]").nth(1)
    swatch.click()
    wait_until(lambda: swatch.get_attribute("aria-checked") == "true", "the swatch", 15)
    notebook.page.mouse.move(*at(0.6, 0.05))
    notebook.page.mouse.down()
    for k in range(1, 6):
        notebook.page.mouse.move(*at(0.6 + 0.05 * k, 0.05))
    notebook.page.mouse.up()
    wait_until(lambda: len(points(notebook, 2)) >= twos + 3, "the stroke", 30)
    assert steps(notebook) >= held
    assert toggle(notebook).get_attribute("aria-pressed") == "true"
    notebook.screenshot(screenshots / "inference-training.png")


def test_pause_holds_and_undo_takes_back(notebook):
    toggle(notebook).press("Enter")
    wait_until(lambda: "training" not in title(notebook), "the training to hold", 30)
    assert toggle(notebook).get_attribute("aria-pressed") == "false"
    held, ones = steps(notebook), len(points(notebook, 1))
    notebook.press_button("undo")  # the stroke
    notebook.press_button("undo")  # the click
    wait_until(lambda: len(points(notebook, 1)) == ones - 1, "the point to go", 30)
    assert len(points(notebook, 2)) == 100
    notebook.rest()  # the points go first, the rest of the picture follows
    assert 60 < steps(notebook) < held
    before = steps(notebook)
    notebook.press_button("step")
    wait_until(lambda: steps(notebook) == before + 1, "one step", 30)


def test_the_page_says_what_f0_is_worth(notebook, screenshots):
    """The bars and the words agree: spirals need f₀."""
    drawn = notebook.plot("contribution")
    lost = lambda: drawn.element.evaluate("plot => plot._fullData[0].x[0]")  # noqa: E731
    words = lambda: f"would lose {lost():.2f} nats per row on these points"  # noqa: E731
    wait_until(lambda: words() in summary(notebook), "bars and words to agree", 15)
    assert lost() > 0.05
    assert "the GP matters" in summary(notebook)
    notebook.screenshot(screenshots / "inference-contribution.png", ".etgp-figure-contribution")


def test_a_point_by_keyboard(notebook):
    ones = len(points(notebook, 2))
    boxes = notebook.page.locator(".etgp-field-added input")
    for k, value in enumerate(("1.5", "-1.5")):
        boxes.nth(k).fill(value)
        boxes.nth(k).press("Enter")
    add = notebook.page.locator(".etgp-field-added button", has_text="add").first
    add.focus()
    add.press("Enter")
    wait_until(lambda: len(points(notebook, 2)) == ones + 1, "the point", 30)
    np.testing.assert_allclose(points(notebook, 2)[-1], [1.5, -1.5])


def test_on_a_line_looking_far_away(notebook, screenshots):
    """f₀ returns to its prior far from the data."""
    notebook.page.locator(".etgp-field-data select").first.select_option("waves (1-d)")
    wait_until(lambda: "before training" in title(notebook), "the waves", 30)
    notebook.rest()
    near = notebook.plot("point").range("xaxis")
    np.testing.assert_allclose(notebook.plot("point").y("probability of class 1"), 1 / 3)
    switch = notebook.page.locator(".etgp-field-far input").first
    switch.focus()
    switch.press("Space")
    wait_until(
        lambda: notebook.plot("point").range("xaxis")[1] > near[1] + 5.0, "the wide picture", 15
    )
    notebook.rest()
    upper = notebook.plot("latent").y("prior of f₀, +2 sd")
    band = notebook.plot("latent").y("q(f₀), mean ± 2 sd")
    np.testing.assert_allclose(band[[0, -1]], [-upper[0], upper[0]], rtol=0.05)
    notebook.screenshot(screenshots / "inference-far.png")


@pytest.mark.parametrize("width", [1100, 1920])
def test_it_fits_the_window(notebook, screenshots, width):
    notebook.resize(width, 1700)
    page = notebook.page.locator(".etgp-viz").first
    wait_until(
        lambda: page.bounding_box()["x"] + page.bounding_box()["width"] <= width, "to fit", 15
    )
    notebook.screenshot(screenshots / f"inference-{width}.png")
