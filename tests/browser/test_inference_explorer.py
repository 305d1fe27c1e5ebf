"""Training in the background of a real JupyterLab, while the page answers."""

import numpy as np
import pytest

from etgp_viz.datasets import toys
from tests.browser.lab import wait_until

CELLS = [
    "from etgp_viz.explorers import InferenceExplorer\nexplorer = InferenceExplorer()\nexplorer",
    "from etgp_viz.explorers import FlowExplorer\nFlowExplorer()",
]
SIZE = (1600, 1700)


def title(notebook):
    return notebook.page.locator(".etgp-viz h3").first.inner_text()


def steps(notebook):
    words = title(notebook).replace(",", " ").split()
    return max([int(word) for word in words if word.isdigit()][1:], default=0)


def test_the_data_are_drawn(notebook):
    toy = toys.waves(200, 3, noise=0.1, seed=0)
    drawn = notebook.plot("point")
    wait_until(lambda: "data of class 2" in drawn.names(), "the data", 15)
    place = drawn.element.evaluate(
        "plot => Array.from(plot._fullData.find(t => t.name === 'data of class 2').x)"
    )
    np.testing.assert_allclose(place, toy.X[toy.Y[:, 0] == 1, 0])
    np.testing.assert_allclose(drawn.y("probability of class 1"), 1 / 3)


def test_play_trains_while_other_sliders_answer(notebook, screenshots):
    notebook.press_button("play")
    wait_until(lambda: "compiling" in title(notebook), "the page to say so", 10)
    # A slider of another explorer, while this one compiles and trains.
    other = notebook.page.locator(".etgp-viz").nth(1).locator("[role=status]")
    before = other.inner_text()
    notebook.slider("scale a").press("ArrowRight")
    wait_until(lambda: other.inner_text() != before, "the other explorer to answer", 15)
    assert "compiling" in title(notebook) or "training" in title(notebook)
    wait_until(lambda: steps(notebook) > 20, "some steps")
    first = notebook.plot("elbo").y("ELBO")
    wait_until(lambda: steps(notebook) > 200, "more steps")
    elbo = notebook.plot("elbo").y("ELBO")
    assert elbo[-1] > first[0] + 20.0
    notebook.screenshot(screenshots / "inference-training.png")


def test_pause_holds_and_the_classes_have_been_learnt(notebook, screenshots):
    notebook.press_button("pause")
    wait_until(lambda: "training" not in title(notebook), "the training to hold", 30)
    held = steps(notebook)
    toy = toys.waves(200, 3, noise=0.1, seed=0)
    drawn = notebook.plot("point")
    x = drawn.element.evaluate(
        "plot => Array.from(plot._fullData.find(t => t.name === 'probability of class 1').x)"
    )
    p = np.array([drawn.y(f"probability of class {c + 1}") for c in range(3)])
    np.testing.assert_allclose(p.sum(axis=0), 1.0, atol=1e-9)
    near = np.argmin(np.abs(np.array(x)[:, None] - toy.X[:, 0]), axis=0)
    assert np.mean(np.argmax(p[:, near], axis=0) == toy.Y[:, 0]) > 0.85
    notebook.press_button("step")
    wait_until(lambda: steps(notebook) == held + 1, "one step", 30)
    notebook.screenshot(screenshots / "inference-1d.png")


def summary(notebook):
    return notebook.text(".etgp-viz [role=status] >> nth=0")


def test_the_page_says_what_f0_is_worth(notebook, screenshots):
    """The bars and the words agree: waves need f₀."""
    drawn = notebook.plot("contribution")
    drawn.settle()
    lost = drawn.element.evaluate("plot => Array.from(plot._fullData[0].x)")
    wait_until(lambda: "nats per row on these points" in summary(notebook), "the words", 15)
    assert lost[0] > 0.05
    assert f"would lose {lost[0]:.2f} nats per row" in summary(notebook)
    assert "the GP matters" in summary(notebook)
    axis = drawn.element.evaluate("plot => plot._fullLayout.xaxis.title.text")
    assert "nats per row" in axis
    notebook.screenshot(screenshots / "inference-contribution.png", ".etgp-figure-contribution")


def test_looking_far_away_by_keyboard(notebook, screenshots):
    """f₀ returns to its prior far from the data; the class probabilities do not return to 1/3."""
    held, near = steps(notebook), notebook.plot("point").range("xaxis")
    switch = notebook.page.locator(".etgp-field-far input").first
    switch.focus()
    switch.press("Space")
    wait_until(
        lambda: notebook.plot("point").range("xaxis")[1] > near[1] + 5.0, "the wide picture", 15
    )
    assert steps(notebook) == held
    upper = notebook.plot("latent").y("prior of f₀, +2 sd")
    band = notebook.plot("latent").y("q(f₀), mean ± 2 sd")
    np.testing.assert_allclose(band[[0, -1]], [-upper[0], upper[0]], rtol=0.05)
    p = np.array([notebook.plot("point").y(f"probability of class {c + 1}") for c in range(3)])
    confidence = np.mean(np.max(p[:, [0, -1]], axis=0))
    wait_until(lambda: "far from the data" in summary(notebook), "the words", 15)
    assert f"still has probability {confidence:.2f} by PE" in summary(notebook)
    assert confidence > 0.38
    notebook.screenshot(screenshots / "inference-far.png")
    switch.press("Space")
    wait_until(lambda: notebook.plot("point").range("xaxis") == near, "the near picture", 15)


def test_a_click_adds_a_point_and_begins_anew(notebook):
    panel = notebook.plot("point").element.locator(".nsewdrag").first
    panel.click()
    wait_until(lambda: "before training" in title(notebook), "the new data", 15)
    wait_until(lambda: "201 points" in summary(notebook), "words", 15)


def test_a_map_in_the_plane_is_not_stretched(notebook, screenshots):
    notebook.page.locator(".etgp-field-data select").first.select_option("spirals (2-d)")
    drawn = notebook.plot("point")
    look = """plot => [plot._fullLayout.xaxis, plot._fullLayout.yaxis]
      .map(axis => axis._length / (axis.range[1] - axis.range[0]))"""
    wait_until(lambda: np.isclose(*drawn.element.evaluate(look), rtol=0.01), "square units", 15)
    notebook.press_button("play")
    wait_until(lambda: steps(notebook) > 150, "some steps")
    notebook.screenshot(screenshots / "inference-2d.png")
    notebook.press_button("stop")
    wait_until(lambda: "training" not in title(notebook), "the training to stop", 30)
    z = drawn.element.evaluate("plot => plot._fullData[0].z.map(row => Array.from(row))")
    assert len(np.unique(np.floor(z))) == 3


@pytest.mark.parametrize("width", [1100, 1920])
def test_it_fits_the_window(notebook, screenshots, width):
    notebook.resize(width, 1700)
    page = notebook.page.locator(".etgp-viz").first
    wait_until(
        lambda: page.bounding_box()["x"] + page.bounding_box()["width"] <= width, "to fit", 15
    )
    notebook.screenshot(screenshots / f"inference-{width}.png")
