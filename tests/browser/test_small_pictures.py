"""The small pictures of the lessons in a real JupyterLab: numbers to drag, images to click."""

import pytest

from tests.browser.lab import violations, wait_until

CELLS = [
    "from etgp_viz.course import ideas\n\nideas.change_the_variance()",
    "from etgp_viz.course.first_look import DigitReader\n\nDigitReader()",
]
SIZE = (1300, 900)
NUMBER = "[data-drag]"


def sentence(notebook):
    return notebook.page.locator(f"p:has({NUMBER})").first.inner_text()


def reads(notebook, words):
    wait_until(lambda: words in sentence(notebook), words, 15)


def test_a_number_is_dragged(notebook, screenshots):
    number, mouse = notebook.page.locator(NUMBER).first, notebook.page.mouse
    number.scroll_into_view_if_needed()
    before = notebook.page.locator("svg[aria-label^='three draws']").first.inner_html()
    box = number.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    for step in range(1, 13):
        mouse.move(x + 30 * step, y)
    mouse.up()
    reads(notebook, "With variance 4.00 the standard deviation is 2.00")
    assert notebook.slider("variance σ²").value == pytest.approx(4.0)
    assert notebook.page.locator("svg[aria-label^='three draws']").first.inner_html() != before
    mouse.move(x, y)  # the button is up: nothing moves
    notebook.rest()
    reads(notebook, "With variance 4.00")
    notebook.screenshot(screenshots / "dragged-number.png")


def test_a_number_is_moved_with_keys_and_keeps_the_focus(notebook):
    notebook.page.locator(NUMBER).first.focus()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        notebook.page.keyboard.press(key)
        notebook.rest()
    reads(notebook, "With variance 0.75")
    role, label, text = notebook.page.evaluate(
        "['role', 'aria-label', 'aria-valuetext']"
        ".map((name) => document.activeElement.getAttribute(name))"
    )
    assert (role, label, text) == ("slider", "variance σ²", "0.75")
    notebook.slider("variance σ²").press("ArrowRight")  # and it follows the slider
    reads(notebook, "With variance 1.00")


def test_an_image_is_clicked(notebook, screenshots):
    page = notebook.page
    chosen = page.get_by_role("button", name="image 399", exact=True)
    chosen.click()
    wait_until(lambda: "written as a 7" in page.locator("body").inner_text(), "the label", 20)
    assert chosen.get_attribute("aria-pressed") == "true"
    assert page.locator("button[aria-pressed=true]:has(svg)").count() == 1
    assert notebook.slider("image number").value == 399
    notebook.screenshot(screenshots / "digit-reader.png")


def test_nobody_is_kept_out(notebook, axe):
    assert violations(notebook.page, axe, ".jp-OutputArea-output") == []
