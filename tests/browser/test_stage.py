"""The page around every explorer: one screen, views, present mode, names, a saved picture."""

import re

import numpy as np
import pytest

from tests.browser.lab import violations, wait_until

CELLS = ["from etgp_viz.explorers import SharedLatentExplorer\nSharedLatentExplorer()"]
SIZE = (1366, 768)
PAGE = ".etgp-viz"
# Whether the y axis of a plot holds every line that it shows.
FITS = """plot => {
  const [low, high] = plot._fullLayout.yaxis.range;
  const shown = plot._fullData.filter((trace) => trace.visible === true);
  const values = shown.flatMap((trace) => Array.from(trace.y));
  return values.every((y) => low <= y && y <= high);
}"""


@pytest.fixture(scope="module", autouse=True)
def opened(notebook):
    """With the side bar closed and the page scrolled into view, as a lecturer has it."""
    notebook.page.evaluate("jupyterapp.commands.execute('filebrowser:toggle-main')")
    notebook.plot("processes")
    scroll(notebook)


def scroll(notebook):
    notebook.page.locator(PAGE).evaluate("page => page.scrollIntoView({ block: 'start' })")
    notebook.page.wait_for_timeout(500)


def is_inside(notebook, selector, width, height):
    box = notebook.page.locator(f"{PAGE} {selector}").first.bounding_box()
    return (
        box["x"] >= 0 and box["y"] >= 0
        and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
    )  # fmt: skip


def test_everything_that_matters_is_on_one_screen(notebook, screenshots):
    parts = ("h3", "[role=status]", ".etgp-chips", ".etgp-enter", ".etgp-controls", ".etgp-tabs")
    for part in (*parts, ".etgp-figure-latents", ".etgp-figure-processes .main-svg"):
        assert is_inside(notebook, part, *SIZE), part
    hero = notebook.page.locator(".etgp-figure-processes").bounding_box()
    assert hero["width"] > 800
    assert hero["height"] > 240
    notebook.screenshot(screenshots / "stage-1366.png")


def test_hidden_pictures_are_neither_computed_nor_drawn_until_they_are_chosen(notebook):
    pivot = notebook.page.locator(".etgp-figure-pivot")
    assert not pivot.is_visible()
    assert pivot.locator(".main-svg").count() == 0
    notebook.slider("variation").press("ArrowRight")
    tab = notebook.page.get_by_role("tab", name="One class gives all")
    tab.click()
    assert tab.get_attribute("aria-selected") == "true"
    pivot.locator(".main-svg").first.wait_for()
    drawn = notebook.plot("pivot").element
    wait_until(
        lambda: abs(drawn.bounding_box()["height"] - pivot.bounding_box()["height"]) < 3,
        "the figure to fill its place", 15,
    )  # fmt: skip
    notebook.slider("variation").press("Delete")
    notebook.page.get_by_role("tab", name="One latent").click()


def test_axe_finds_nothing(notebook, axe):
    assert violations(notebook.page, axe, PAGE) == []
    notebook.theme("JupyterLab Dark")
    assert violations(notebook.page, axe, PAGE) == []
    notebook.theme("JupyterLab Light")


def test_sliders_say_their_names_and_values_in_real_units(notebook):
    for label in ("lengthscale ℓ", "classes C"):
        slider = notebook.slider(label)
        handle = slider.element.locator(".noUi-handle")
        assert handle.get_attribute("aria-label") == label
        slider.press("ArrowRight")
        wait_until(
            lambda handle=handle, slider=slider: (
                float(handle.get_attribute("aria-valuetext")) == slider.value
            ),
            "the value to be said", 10,
        )  # fmt: skip
        slider.press("Delete")
    heading = notebook.page.get_by_role("button", name="Latent", exact=True)
    assert heading.get_attribute("aria-expanded") == "true"
    heading.click()
    wait_until(lambda: heading.get_attribute("aria-expanded") == "false", "it to fold", 10)
    heading.click()
    wait_until(lambda: heading.get_attribute("aria-expanded") == "true", "it to unfold", 10)


def type_into(notebook, label, text):
    notebook.slider(label).element.locator(".widget-readout").click()
    notebook.page.keyboard.press("Control+A")
    notebook.page.keyboard.type(text)
    notebook.page.keyboard.press("Enter")


def test_a_decimal_comma_is_understood_and_a_number_out_of_range_answered(notebook):
    slider = notebook.slider("lengthscale ℓ")
    type_into(notebook, "lengthscale ℓ", "0,5")
    wait_until(lambda: slider.value == 0.5, "one half", 10)
    type_into(notebook, "lengthscale ℓ", "50")
    remark = slider.element.locator(".etgp-remark")
    remark.wait_for()
    assert "from 0.1 to 5: 50 became 5" in remark.inner_text()
    wait_until(lambda: slider.value == 5.0, "the end of the range", 10)
    slider.press("Delete")
    wait_until(lambda: slider.value == 1.0, "the default", 10)
    assert remark.count() == 0


def test_a_number_that_is_too_large_for_its_box_is_answered(notebook):
    box = notebook.page.get_by_label("draw number")
    remark = notebook.page.locator(".etgp-field-seed .etgp-remark")
    box.fill("99999")
    box.press("Enter")
    remark.wait_for()
    assert remark.inner_text() == "99999 became 9999, the largest number here."
    assert remark.get_attribute("role") == "alert"
    box.fill("0")
    box.press("Enter")
    remark.wait_for(state="detached")


OPACITIES = """plot => {
  const stack = plot._fullData.filter((trace) => trace.stackgroup && trace.visible === true);
  const areas = stack.map((trace, k) => (k ? stack[k - 1]._nextFill : trace._ownFill));
  return areas.map((area) => area.node().style.opacity);
}"""


def test_the_area_under_the_mouse_stands_out_and_no_other(notebook):
    notebook.page.get_by_role("tab", name="Class probabilities").click()
    plot = notebook.plot("probabilities")
    notebook.rest()
    shares = [plot.y(f"class of f{c}")[60] for c in "¹²³⁴"]
    box = plot.element.locator(".nsewdrag").first.bounding_box()
    for c in (1, 2):
        height = sum(shares[:c]) + shares[c] / 2
        y = box["y"] + box["height"] * (1 - height)
        notebook.page.mouse.move(box["x"] + box["width"] / 2, y)
        expected = ["" if k == c else "0.15" for k in range(4)]
        wait_until(lambda e=expected: plot.element.evaluate(OPACITIES) == e, "the area", 10)
    notebook.page.mouse.move(5, 5)
    wait_until(lambda: plot.element.evaluate(OPACITIES) == [""] * 4, "all areas", 10)


def test_the_line_that_marks_x_can_be_dragged(notebook):
    box = notebook.plot("probabilities").element.locator(".nsewdrag").first.bounding_box()
    y, at = box["y"] + box["height"] / 2, lambda x: box["x"] + box["width"] * (x + 3.0) / 6.0
    notebook.page.mouse.move(at(1.0), y)
    notebook.page.mouse.down()
    notebook.page.mouse.move(at(-2.0), y, steps=6)
    notebook.page.mouse.up()
    slider = notebook.slider("input x")
    wait_until(lambda: np.isclose(slider.value, -2.0, atol=0.06), "x to follow", 15)
    notebook.page.get_by_role("tab", name="One latent").click()


def test_the_numbers_of_a_view_are_a_table(notebook):
    notebook.page.get_by_role("button", name="table").click()
    table = notebook.page.locator(".etgp-note table").first
    table.wait_for()
    assert table.locator("caption").inner_text() == "latents"
    assert "latent f₀(x)" in table.inner_text()
    notebook.page.get_by_role("button", name="close this note").click()
    table.wait_for(state="detached")


# Words in figures that are shown now and reach beyond the edge of their figure.
CUT_OFF = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap((plot) => {
  const room = plot.getBoundingClientRect();
  return [...plot.querySelectorAll('.main-svg text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return room.width && box.width && text.textContent.trim() && (box.left < room.left - 1
      || box.right > room.right + 1 || box.top < room.top - 1 || box.bottom > room.bottom + 1);
  }).map((text) => text.textContent);
})"""


def widths(plot):
    return plot.element.evaluate(
        """plot => Object.fromEntries([...plot.querySelectorAll('.js-line')].map((line) => [
          line.closest('.trace').className.baseVal,
          parseFloat(getComputedStyle(line).strokeWidth),
        ]))"""
    )


def test_present_mode_shows_one_large_view_and_tells_a_story(notebook, screenshots, axe):
    page, title = notebook.page, notebook.page.locator(f"{PAGE} h3")
    before = widths(notebook.plot("processes"))
    page.get_by_role("button", name="present").click()
    note = page.locator(".etgp-note")
    wait_until(lambda: "All begin alike" in note.inner_text(), "the first story", 15)
    assert page.locator(f"{PAGE} .noUi-handle:visible").count() == 2
    box = page.locator(PAGE).bounding_box()
    assert box["x"] == box["y"] == 0
    assert box["width"] == SIZE[0]
    tick = page.locator(".etgp-figure-processes .ytick text").first
    size = lambda: float(tick.evaluate("t => parseFloat(getComputedStyle(t).fontSize)"))  # noqa: E731
    wait_until(lambda: abs(size() - 24) < 0.1, "large text", 15)
    notebook.rest()
    after = widths(notebook.plot("processes"))
    for name, width in before.items():
        assert after[name] == pytest.approx(width * 24 / 13, rel=0.01)
    wait_until(lambda: page.evaluate(CUT_OFF) == [], "all words to be inside their figures", 15)
    page.keyboard.press("ArrowRight")
    wait_until(lambda: "Straight maps" in note.inner_text(), "the next story", 15)
    drawn = notebook.plot("processes").element
    wait_until(lambda: drawn.evaluate(FITS), "the lines to glide there", 15)
    notebook.rest()
    assert drawn.evaluate(FITS)
    notebook.screenshot(screenshots / "stage-present.png")
    assert violations(page, axe, PAGE) == []
    page.keyboard.press("ArrowLeft")
    wait_until(lambda: "All begin alike" in note.inner_text(), "the story before", 15)
    page.keyboard.press("Escape")
    wait_until(lambda: page.locator(PAGE).get_attribute("data-layout") == "tabs", "the page", 15)
    wait_until(lambda: abs(size() - 13) < 0.1, "usual text", 15)
    assert title.is_visible()
    page.get_by_role("button", name="reset").click()


def test_a_wide_window_shows_all_pictures_at_once(notebook, screenshots):
    notebook.resize(1920, 1080)
    scroll(notebook)
    notebook.rest()
    for name in ("latents", "processes", "probabilities", "pivot", "dependence"):
        box = notebook.page.locator(f".etgp-figure-{name}")
        box.locator(".main-svg").first.wait_for()
        assert is_inside(notebook, f".etgp-figure-{name} .main-svg", 1920, 1080), name
    image = notebook.plot("dependence").element.locator(".hm image").first
    wait_until(
        lambda: abs(image.bounding_box()["width"] / image.bounding_box()["height"] - 1) < 0.02,
        "a square heat map", 10,
    )  # fmt: skip
    notebook.screenshot(screenshots / "stage-1920.png")
    notebook.resize(*SIZE)


def test_a_saved_notebook_shows_the_last_picture_without_a_kernel(notebook, screenshots):
    slider = notebook.slider("classes C")
    slider.press("ArrowRight")
    title = "One latent, five classes"
    wait_until(lambda: title in notebook.text(f"{PAGE} h3"), "five classes", 15)
    saved = lambda: [  # noqa: E731
        "".join(output["data"]["text/html"])
        for output in notebook.outputs()
        if "text/html" in output.get("data", {})
    ]
    wait_until(lambda: title in saved()[-1] and "<img" in saved()[-1], "the picture", 40)
    still = notebook.page.locator(".etgp-still")
    assert not still.is_visible()  # the explorer is alive
    notebook.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    notebook.page.wait_for_timeout(1500)
    notebook.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    notebook.page.wait_for_timeout(1000)
    notebook.page.reload()
    still.wait_for(timeout=60000)
    assert title in still.inner_text()
    assert "Run the cell above it" in still.inner_text()
    assert still.locator("img").bounding_box()["width"] > 400
    notebook.page.wait_for_timeout(3000)
    assert not notebook.page.get_by_text(re.compile("Error displaying widget")).first.is_visible()
    notebook.screenshot(screenshots / "stage-saved.png")
