"""Observations clicked, dragged and typed in a real JupyterLab, and the band that follows them."""

import json

import numpy as np
import pytest

from etgp_viz.explorers import sharing
from tests.browser.lab import KERNEL_IS_IDLE, PATIENCE, Notebook, violations, wait_until

CELLS = ["from etgp_viz.explorers import PosteriorExplorer\nPosteriorExplorer()"]
SIZE = (1366, 768)
BAND, DRAW = "posterior, mean ± 2 sd", "draw 1 from the posterior"


@pytest.fixture
def plot(notebook):
    return notebook.plot("functions")


def observations(plot):
    """Places of the dots as drawn, one [x, y] after another."""
    plot.settle()
    return plot.element.evaluate(
        """plot => { const { x, y } = plot._fullData.find(t => t.name === 'observations');
                     return Array.from(x, (value, k) => [value, y[k]]); }"""
    )


def width(plot, x):
    """How wide the drawn band is at an input."""
    low, high = plot.y(BAND).reshape(2, -1)
    return (high[::-1] - low)[round((x + 4.0) / 0.025)]


def pixel(plot, x, y):
    """Where a point of the picture is in the window."""
    box = plot.element.locator(".nsewdrag").first.bounding_box()
    low, high = plot.range()
    across, up = (x + 4.0) / 8.0, (y - low) / (high - low)
    return box["x"] + across * box["width"], box["y"] + (1.0 - up) * box["height"]


def focused(notebook):
    """What a screen reader calls the element with the focus."""
    return notebook.page.evaluate("document.activeElement.getAttribute('aria-label')")


def test_a_click_adds_an_observation_and_the_band_pinches(notebook, plot, screenshots):
    before = width(plot, 2.5), width(plot, -3.3)
    notebook.screenshot(screenshots / "posterior-1366.png")
    notebook.page.mouse.click(*pixel(plot, 2.5, 1.0))
    wait_until(lambda: len(observations(plot)) == 6, "the sixth dot", 15)
    assert observations(plot)[-1] == pytest.approx([2.5, 1.0], abs=0.03)
    assert before[0] > 3.5
    assert width(plot, 2.5) < 0.45
    assert width(plot, -3.3) == pytest.approx(before[1], rel=0.01)
    wait_until(lambda: "6 observations" in notebook.text(".etgp-viz [role=status]"), "words", 15)


def test_a_drag_moves_it_and_undo_brings_it_back(notebook, plot):
    mouse, (x, y) = notebook.page.mouse, observations(plot)[-1]
    mouse.move(*pixel(plot, x, y))
    mouse.down()
    for share in np.linspace(0.1, 1.0, 10):
        mouse.move(*pixel(plot, x + share * 0.5, y - share * 1.5))
    mouse.up()
    wait_until(lambda: observations(plot)[-1] == pytest.approx([3.0, -0.5], abs=0.04), "move", 15)
    assert len(observations(plot)) == 6  # the press was not a click for another one
    assert width(plot, 3.0) < 0.45 < width(plot, 2.0)
    notebook.rest()
    notebook.press_button("undo")
    wait_until(lambda: observations(plot)[-1] == [x, y], "undo", 15)


def test_a_double_click_removes_it(notebook, plot):
    notebook.page.mouse.dblclick(*pixel(plot, *observations(plot)[-1]))
    wait_until(lambda: len(observations(plot)) == 5, "five dots", 15)
    assert width(plot, 2.5) > 3.5


def test_the_same_by_keyboard_alone(notebook, plot):
    keyboard = notebook.page.keyboard
    notebook.press_button("add")
    wait_until(lambda: focused(notebook) == "x of observation 6", "the focus", 15)
    keyboard.type("3.1")
    keyboard.press("Tab")
    assert focused(notebook) == "y of observation 6"
    for _ in range(5):
        keyboard.press("ArrowUp")
    wait_until(lambda: observations(plot)[-1] == [3.1, 0.5], "the typed place", 15)
    assert width(plot, 3.1) < 0.45
    keyboard.press("Tab")
    assert focused(notebook) == "remove observation 6"
    keyboard.press("Delete")
    wait_until(lambda: len(observations(plot)) == 5, "five dots", 15)
    assert focused(notebook) == "remove observation 5"


def test_maximise_the_evidence(notebook):
    star = "plot => Array.from(plot._fullData.find(t => t.name === 'maximum').x)[0]"
    best = notebook.plot("evidence").element.evaluate(star)
    assert notebook.slider("lengthscale").value != pytest.approx(best, abs=0.01)
    notebook.press_button("maximise the evidence")
    reached = lambda: abs(notebook.slider("lengthscale").value - best) < 0.006  # noqa: E731
    wait_until(reached, "the best lengthscale", 15)


def test_draws_play_and_pause_and_stand_still_for_those_who_ask(notebook, plot):
    page, turn = notebook.page, notebook.slider("turn")
    button = page.locator("button.etgp-play")
    notebook.rest()
    before, mean = plot.y(DRAW), plot.y("mean of the posterior")
    button.focus()
    button.press("Enter")
    wait_until(lambda: turn.value >= 30.0, "the draws to turn", 30)
    button.press("Enter")
    assert "play" in button.inner_text()
    page.wait_for_timeout(500)
    angle = turn.value
    page.wait_for_timeout(500)
    assert turn.value == angle
    assert np.max(np.abs(plot.y(DRAW) - before)) > 0.1
    np.testing.assert_array_equal(plot.y("mean of the posterior"), mean)
    page.emulate_media(reduced_motion="reduce")
    wait_until(lambda: button.inner_text() == "next", "the calm button", 15)
    button.press("Enter")
    wait_until(lambda: turn.value == (angle + 30.0) % 360.0, "one step", 15)
    page.wait_for_timeout(500)
    assert turn.value == (angle + 30.0) % 360.0
    page.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_it_fits_the_window(notebook, plot, screenshots, theme):
    notebook.theme(theme)
    notebook.resize(1920, 1080)
    page = notebook.page.locator(".etgp-viz").first
    box = page.bounding_box
    wait_until(lambda: box()["x"] + box()["width"] <= 1920, "to fit", 15)
    notebook.screenshot(screenshots / f"posterior-1920-{theme.split()[1].lower()}.png")


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_everybody_can_use_it(notebook, axe, theme):
    notebook.theme(theme)
    assert violations(notebook.page, axe, ".etgp-viz") == []


def test_a_guided_tour_needs_no_mouse(notebook, plot, screenshots, axe):
    page = notebook.page
    notebook.resize(*SIZE)
    chip = page.get_by_role("button", name="Guided tour")
    chip.focus()
    page.keyboard.press("Enter")
    onward, words = page.locator(".etgp-onward"), page.locator(".etgp-tour [aria-live=polite]")
    has_focus = lambda element: element.evaluate("e => e === document.activeElement")  # noqa: E731
    wait_until(lambda: onward.count() == 1 and has_focus(onward), "the card to take over", 15)
    described = page.locator(f"#{onward.get_attribute('aria-describedby')}")
    assert "How does a Gaussian process learn" in described.inner_text()
    for step in (1, 2):
        page.keyboard.press("Enter")
        wait_until(lambda k=step: f"step {k} of" in notebook.text(".etgp-count"), "the step", 15)
    assert "Observe something" in words.inner_text()
    assert page.locator(".etgp-pointed").get_attribute("class").count("etgp-field-observations")
    page.keyboard.press("F6")
    page.keyboard.press("Enter")  # the button that adds an observation
    wait_until(lambda: "Every function that misses" in words.inner_text(), "the answer", 15)
    assert violations(page, axe, ".etgp-viz") == []
    notebook.screenshot(screenshots / "posterior-tour.png")
    page.keyboard.press("F6")
    assert has_focus(onward)
    page.keyboard.press("Enter")
    lengthscale = page.locator(".etgp-field-lengthscale.etgp-pointed")
    lengthscale.wait_for()
    page.keyboard.press("F6")
    assert has_focus(lengthscale.locator(".noUi-handle"))
    page.keyboard.press("F6")
    page.keyboard.press("Enter")  # show me
    wait_until(lambda: notebook.slider("lengthscale").value == 3.0, "the move", 15)
    page.locator(".etgp-end").press("Enter")
    wait_until(lambda: page.locator(".etgp-tour, .etgp-pointed").count() == 0, "the end", 15)
    wait_until(lambda: has_focus(chip), "the focus to return", 15)


def test_a_shared_link_opens_the_notebook_in_this_state(notebook, lab, screenshots, axe):
    before = notebook.text(".etgp-message")
    notebook.slider("noise").press("ArrowRight", times=5)
    wait_until(lambda: notebook.text(".etgp-message") != before, "the kernel", 30)
    notebook.press_button("share")
    box = notebook.page.get_by_label("link", exact=True)
    box.wait_for()
    code = notebook.page.locator(".etgp-qr")
    assert code.evaluate("image => image.complete && image.naturalWidth > 100")
    assert violations(notebook.page, axe, ".etgp-viz") == []
    notebook.screenshot(screenshots / "posterior-share.png")
    link = box.input_value()
    assert link.startswith(f"{lab.address}/lab/tree/test_posterior_explorer.ipynb?etgp=")
    noise = json.loads(sharing.text_of(link))["noise"]
    assert noise != 0.1
    notebook.page.evaluate(  # as it is on a JupyterHub
        """() => { const place = document.getElementById('jupyter-config-data');
          place.textContent = JSON.stringify({ baseUrl: '/', hubPrefix: '/hub/' }); }"""
    )
    notebook.press_button("share")
    on_hub = f"{lab.address}/hub/user-redirect/lab/tree/test_posterior_explorer.ipynb?etgp="
    wait_until(lambda: box.input_value().startswith(on_hub), "the link on a hub", 15)
    other = Notebook(lab.browser.new_page())
    other.page.goto(link)
    other.page.wait_for_function(KERNEL_IS_IDLE, timeout=PATIENCE * 1000)
    other.run_all()
    wait_until(lambda: other.slider("noise").value == noise, "the state of the link", 30)
    assert "link that you opened" in other.text(".etgp-note")
    other.page.close()
