"""Handouts and slides in a browser, opened from the disk, with every way to a network closed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from etgp_viz.course.publish.pages import executed, handout, slides
from tests.browser.lab import CHROMIUM_OPTIONS, violations

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FLOW = """from etgp_viz.explorers import FlowExplorer

FlowExplorer(linear_a=(1.0,) * 5, linear_b=(0.0,) * 5)"""
FIGURE = """import plotly.graph_objects as go

go.FigureWidget(go.Figure(go.Scatter(y=[1.0, 4.0, 9.0], name="squares")))"""
BOXED = """import ipywidgets as widgets

widgets.HBox([go.FigureWidget(go.Figure(go.Scatter(y=[2.0, 3.0], name="boxed")))])"""
# What is drawn for a trace; arrays that were packed have been read by plotly.
Y = "(plot, name) => Array.from(plot._fullData.find((trace) => trace.name === name).y)"


@pytest.fixture(scope="module")
def lesson():
    """A short lesson that has all that is special on a page, run in a kernel."""
    plain = new_notebook(
        cells=[
            new_markdown_cell("# 99 · Short\n\nA formula: $\\frac{1}{2}$.\n\n## Play"),
            new_code_cell(FLOW),
            new_code_cell(FLOW, metadata={"handout": "lengthscale"}),
            new_markdown_cell("## Code\n\nSome words."),
            new_code_cell(FIGURE),
            new_code_cell(BOXED),
            new_code_cell("from etgp_viz.course import formulas\n\nformulas.pivot()"),
        ]
    )
    nbformat.validate(plain)
    with ThreadPoolExecutor(1) as thread:  # Playwright has an event loop in this one
        return thread.submit(executed, plain).result()


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a page from the disk; the test fails if it asks for anything else or has an error."""
    kind, path = chromium
    browser = kind.launch(executable_path=path, args=CHROMIUM_OPTIONS)
    asked, broken = [], []

    def visit(content):
        file = tmp_path / "page.html"
        file.write_text(content, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 800}, offline=True)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield visit
    browser.close()
    assert [url for url in asked if not url.startswith(("data:", "file:", "blob:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == 1, "one file is the page"
    assert broken == []


def plot(page, number, name):
    """A drawn plot of the explorer or figure with that number."""
    plot = page.locator(f".still >> nth={number}").locator(f".plot[data-name='{name}']")
    plot.scroll_into_view_if_needed()
    plot.locator(".main-svg").first.wait_for()
    return plot


def test_a_slider_of_a_handout_moves_what_is_drawn(opened, lesson, screenshots):
    page = opened(handout(lesson, screenshots))
    assert page.locator("math mfrac").count() == 1
    assert page.locator("math mfrac").bounding_box()["height"] > 15  # drawn, and not as a line
    drawn = plot(page, 0, "paths")
    before, latent = (np.array(drawn.evaluate(Y, name)) for name in ("warped f(x)", "latent f₀(x)"))
    np.testing.assert_allclose(before, latent, rtol=1e-5)
    slider = page.get_by_label("scale a")
    summary = page.locator(".still >> nth=0 >> [role=status]")
    before_text = summary.inner_text()
    slider.focus()
    slider.press("End")
    np.testing.assert_allclose(drawn.evaluate(Y, "warped f(x)"), 3.0 * latent, rtol=1e-4)
    np.testing.assert_allclose(drawn.evaluate(Y, "latent f₀(x)"), latent, rtol=1e-5)
    assert summary.inner_text() != before_text
    assert "3.00 times" in summary.inner_text()
    assert page.locator(".still >> nth=0 >> output").inner_text() == "3"
    assert slider.get_attribute("aria-valuetext") == "3"
    slider.press("Home")
    np.testing.assert_allclose(drawn.evaluate(Y, "warped f(x)"), -3.0 * latent, rtol=1e-4)
    page.screenshot(path=screenshots / "handout.png")


def test_metadata_of_a_cell_choose_another_slider(opened, lesson, screenshots):
    page = opened(handout(lesson, screenshots))
    drawn = plot(page, 1, "paths")
    rough = np.array(drawn.evaluate(Y, "latent f₀(x)"))
    slider = page.get_by_label("lengthscale ℓ")
    slider.focus()
    slider.press("End")
    smooth = np.array(drawn.evaluate(Y, "latent f₀(x)"))
    assert np.abs(np.diff(smooth)).max() < 0.5 * np.abs(np.diff(rough)).max()


def test_plots_can_be_zoomed_and_stay_so(opened, lesson, screenshots):
    page = opened(handout(lesson, screenshots))
    drawn = plot(page, 2, "")
    assert drawn.evaluate(Y, "squares") == [1, 4, 9]
    assert plot(page, 3, "0").evaluate(Y, "boxed") == [2, 3]  # a figure inside of other widgets
    for number, name in ((2, ""), (0, "paths")):
        drawn = plot(page, number, name)
        before = drawn.evaluate("plot => plot._fullLayout.xaxis.range")
        box = drawn.bounding_box()
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.4 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=5)
        page.mouse.up()
        after = drawn.evaluate("plot => plot._fullLayout.xaxis.range")
        assert after[1] - after[0] < 0.5 * (before[1] - before[0])
    page.get_by_label("scale a").press("ArrowRight")
    assert drawn.evaluate("plot => plot._fullLayout.xaxis.range") == pytest.approx(after)


def test_a_term_lights_up_what_it_is_in_the_picture(opened, lesson, screenshots):
    """Under the pointer and with the focus; and the picture lights up the term."""
    page = opened(handout(lesson, screenshots))
    formula = page.locator(".etgp-formula")
    parts, sentence = formula.locator(".parts [data-term]"), formula.locator("p:visible")

    def lit():
        found = parts.evaluate_all(
            "all => all.filter((part) => getComputedStyle(part).opacity === '1')"
            ".map((part) => part.dataset.term)"
        )
        return *found, sentence.inner_text()[:20]

    assert lit() == ("result", "What follows: f² = −")
    undo = formula.locator("button[data-term='undo']")
    plain = undo.evaluate("term => getComputedStyle(term).backgroundColor")
    undo.hover()
    assert lit() == ("undo", "The inverse of the f")
    formula.locator("g[data-term='pivot'] text").hover()
    assert lit() == ("pivot", "The value that is kn")
    page.mouse.move(1, 1)
    assert lit()[0] == "result"
    formula.locator("button[data-term='bend again']").focus()
    assert lit() == ("bend again", "The second flow take")
    page.keyboard.press("Tab")
    assert lit() == ("undo", "The inverse of the f")
    assert undo.evaluate("term => getComputedStyle(term).backgroundColor") != plain
    formula.screenshot(path=screenshots / "formula.png")


def test_slides_turn_and_their_slider_keeps_its_keys(opened, lesson, screenshots):
    page = opened(slides(lesson, screenshots))
    shown, place = page.locator("section.shown"), page.locator("#place")
    assert shown.count() == 1
    assert "Short" in shown.inner_text()
    count = page.locator("main > section").count()
    assert place.inner_text() == f"1 / {count}"
    page.keyboard.press("ArrowRight")
    assert place.inner_text() == f"2 / {count}"
    drawn = plot(page, 0, "paths")
    slider = shown.get_by_label("scale a")
    slider.focus()
    slider.press("End")
    latent = np.array(drawn.evaluate(Y, "latent f₀(x)"))
    np.testing.assert_allclose(drawn.evaluate(Y, "warped f(x)"), 3.0 * latent, rtol=1e-4)
    assert place.inner_text() == f"2 / {count}", "the slider's arrows turn no slide"
    page.screenshot(path=screenshots / "slide.png")
    slider.press("Escape")
    page.keyboard.press("End")
    assert place.inner_text() == f"{count} / {count}"
    page.keyboard.press("ArrowLeft")
    assert page.url.endswith(f"#{count - 1}")
    box = shown.locator(".body").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280
    assert box["y"] + box["height"] <= 800


@pytest.mark.parametrize("kind", [handout, slides])
def test_axe_finds_nothing(opened, lesson, screenshots, kind, axe):
    page = opened(kind(lesson, screenshots))
    page.keyboard.press("ArrowRight")
    plot(page, 0, "paths")
    assert violations(page, axe) == []


def test_a_handout_fits_a_narrow_window(opened, lesson, screenshots):
    page = opened(handout(lesson, screenshots))
    page.set_viewport_size({"width": 320, "height": 640})
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("number", ["04", "05", "07"])
def test_the_text_of_a_lesson_fits_a_phone(opened, screenshots, number):
    """Long formulas, tables and code scroll by themselves; the page does not."""
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    page = opened(handout(nbformat.read(path, as_version=4), path.parent))
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.screenshot(path=screenshots / f"phone-{number}.png")


@pytest.mark.parametrize("number", ["05", "07"])
def test_no_slide_of_a_lesson_is_cut(opened, number):
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    page = opened(slides(nbformat.read(path, as_version=4), path.parent))
    for place in range(page.locator("main > section").count()):
        body = page.locator("section.shown .body")
        hidden = body.evaluate(
            "b => [b.scrollHeight - b.clientHeight, b.scrollWidth - b.clientWidth]"
        )
        assert max(hidden) <= 2, (place + 1, body.inner_text()[:60])
        page.keyboard.press("ArrowRight")
    assert "Stuck? Run" not in page.locator("main").inner_html()
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    cut = page.locator("section .body").evaluate_all(
        "all => all.filter((b) => b.scrollHeight > b.clientHeight + 2 ||"
        " b.scrollWidth > b.clientWidth + 2).map((b) => b.innerText.slice(0, 60))"
    )
    assert cut == []
    paper = page.locator("main > section").first.bounding_box()
    assert (round(paper["width"]), round(paper["height"])) == (1123, 627)  # 297 mm by 166 mm
