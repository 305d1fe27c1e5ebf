"""Every explorer at 1366×768, as a lecturer has it: all views, present mode, and axe."""

import numpy as np
import pytest

from tests.browser.lab import eventually, violations, wait_until
from tests.browser.test_stage import CUT_OFF

NAMES = ("Posterior", "Flow", "SharedLatent", "Covariance", "Inference", "Timing", "Results")
CELLS = [f"from etgp_viz import explorers\nexplorers.{name}Explorer()" for name in NAMES]
SIZE = (1366, 768)

# Parts of a page that reach beyond the window, or hide some of their words.
HIDDEN = """page => {
  const parts = ['h3', '.etgp-message', '.etgp-chips', '.etgp-bar', '.etgp-controls', '.etgp-row',
    '.etgp-stage'];
  const boxes = parts.map((part) => [part, page.querySelector(part)?.getBoundingClientRect()]);
  const outside = boxes.filter(([, box]) => !box || box.left < 0 || box.top < -1
    || box.right > innerWidth || box.bottom > innerHeight).map(([part]) => part);
  const words = page.querySelectorAll(
    '.etgp-message p, .etgp-tab, .etgp-chip, select, .widget-label');
  const cut = [...words].filter((part) => part.getClientRects().length
    && (part.scrollHeight > part.clientHeight + 2 || part.scrollWidth > part.clientWidth + 2));
  return [...outside, ...cut.map((part) => part.textContent.slice(0, 60))];
}"""
# Names of rows, lines and axes that lie over each other.
OVERLAPS = """page => [...page.querySelectorAll('.js-plotly-plot')].flatMap((plot) => {
  const room = plot.getBoundingClientRect();
  const names = [...plot.querySelectorAll('.ytick text, .annotation-text, .textpoint text')]
    .filter((name) => name.getClientRects().length && name.textContent.trim())
    .map((name) => [name.textContent, name.getBoundingClientRect()])
    .filter(([, box]) => box.bottom < room.bottom); // some names of a crowd are out of sight
  return names.flatMap(([one, a], k) => names.slice(k + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.3 * Math.min(a.height, b.height))
    .map(([other]) => `${one} / ${other}`));
})"""
# Of each visible heat map its width, and how many times as wide as tall one unit of its axes is.
MAPS = """page => [...page.querySelectorAll('.hm image')].filter(
  (image) => image.getClientRects().length).map((image) => {
    const { xaxis, yaxis } = image.closest('.js-plotly-plot')._fullLayout;
    const unit = ({ _length, range }) => _length / Math.abs(range[1] - range[0]);
    return [image.getBoundingClientRect().width, unit(xaxis) / unit(yaxis)];
  })"""
TEXT_SIZES = """page => [...page.querySelectorAll('.xtick text')].filter(
  (text) => text.getClientRects().length).map((text) => parseFloat(getComputedStyle(text).fontSize))
"""


@pytest.fixture(params=range(len(NAMES)), ids=NAMES, scope="module")
def page(request, notebook):
    """The page of one explorer, with the side bar closed, at the top of the window."""
    notebook.page.evaluate("jupyterapp.shell.collapseLeft()")
    page = notebook.page.locator(".etgp-viz").nth(request.param)
    page.evaluate("(page, name) => { page.id = name; }", f"every-{NAMES[request.param]}")
    page.evaluate("page => page.scrollIntoView({ block: 'start' })")
    page.locator(".main-svg").first.wait_for()
    notebook.rest()
    return page


def check_figures(notebook, page):
    """No words are cut off or lie over each other."""

    def check():
        assert notebook.page.evaluate(CUT_OFF) == []
        assert page.evaluate(OVERLAPS) == []

    eventually(check, 10)


def test_every_view_is_on_one_screen(notebook, page, screenshots, axe):
    tabs = page.locator(".etgp-tab")
    for k in range(tabs.count()):
        tabs.nth(k).click()
        notebook.rest()
        page.evaluate("page => page.scrollIntoView({ block: 'start' })")
        wait_until(lambda: page.evaluate(HIDDEN) == [], "everything to be in sight", 10)
        check_figures(notebook, page)
        for width, aspect in page.evaluate(MAPS):
            assert width > 210
            assert aspect == pytest.approx(1.0, abs=0.02)
        digits = page.locator(".etgp-figure-hardest image:visible")
        if digits.count():
            assert digits.first.bounding_box()["height"] >= 40  # pixels
    name = page.get_attribute("id")
    notebook.screenshot(screenshots / f"{name}-1366.png")
    assert violations(notebook.page, axe, f"#{name}") == []
    tabs.first.click()
    notebook.rest()


# What has the focus, by role and name; null outside the explorer.
FOCUSED = """page => {
  const at = document.activeElement;
  if (!page.contains(at)) return null;
  const name = at.getAttribute('aria-label') || at.labels?.[0]?.textContent || at.textContent;
  return [at.getAttribute('role') ?? at.localName, (name || at.title).trim()];
}"""


def test_tab_walks_through_named_controls_and_out_again(notebook, page):
    """As in lesson 04 by keyboard alone: no control is left out, unnamed, or a trap."""
    sliders = page.locator(".noUi-handle:visible").count()
    page.locator(".etgp-action").first.focus()
    stops = []
    while (stop := page.evaluate(FOCUSED)) and len(stops) < 150:
        stops.append(stop)
        notebook.page.keyboard.press("Tab")
    assert len(stops) < 150
    assert all(name for _, name in stops)
    assert sum(role == "slider" for role, _ in stops) >= sliders
    assert {"present", page.locator(".etgp-chip").last.inner_text()} <= {name for _, name in stops}


def test_present_mode_tells_every_story(notebook, page):
    """One after the other by an arrow key, in large text, with at most two sliders."""
    keyboard, chips = notebook.page.keyboard, page.locator(".etgp-chip")
    stories = [name for name in chips.all_inner_texts() if "tour" not in name]
    page.get_by_role("button", name="present").click()
    note = page.locator(".etgp-note")
    for k, story in enumerate(stories):
        wait_until(lambda s=story: note.inner_text().startswith(s), story, 20)
        notebook.rest()
        assert page.locator(".noUi-handle:visible").count() <= 2
        assert page.locator(".etgp-main:visible").count() in (1, 2)
        wait_until(lambda: np.allclose(page.evaluate(TEXT_SIZES), 24.0, atol=0.1), "large text", 10)
        check_figures(notebook, page)
        boxes = [figure.bounding_box() for figure in page.locator(".etgp-figure:visible").all()]
        assert max(box["width"] * box["height"] for box in boxes) > 0.15 * SIZE[0] * SIZE[1]
        if k + 1 < len(stories):
            keyboard.press("ArrowRight")
    views = page.locator(".etgp-stage").get_attribute("aria-label")
    keyboard.press("ArrowDown")  # another picture of the same story
    if page.locator(".etgp-tab").count() > 1:
        wait_until(
            lambda: page.locator(".etgp-stage").get_attribute("aria-label") != views, "a view", 10
        )
    keyboard.press("Escape")
    wait_until(lambda: page.get_attribute("data-layout") == "tabs", "the usual page", 15)
    page.get_by_role("button", name="reset").click()
    wait_until(lambda: page.locator(".etgp-note > *").count() == 0, "the end of the story", 15)
