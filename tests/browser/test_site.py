"""The documentation site in a browser, opened from the disk, with every way to a network closed."""

import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from tests.browser.lab import CHROMIUM_OPTIONS, violations

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
# One page of each kind.
PAGES = (
    *("index", "five_pictures", "install", "guide/fit_your_data", "lessons/00", "lessons/04"),
    *("gallery", "gallery/flow", "api", "api/etgp_viz", "api/etgp_viz.explorers", "commands"),
    *("glossary", "reading_the_core", "results", "claims", "errata", "changelog", "search"),
)

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="the site is not built: run `make docs`"
)


@pytest.fixture(scope="module")
def browser(chromium):
    kind, path = chromium
    browser = kind.launch(executable_path=path, args=CHROMIUM_OPTIONS)
    yield browser
    browser.close()


@pytest.fixture
def visit(browser):
    """Opens a page of the site; the test fails if it asks a network, or has an error."""
    asked, broken = [], []

    def visit(name, width=1366, theme="light"):
        page = browser.new_page(
            viewport={"width": width, "height": 800}, offline=True, color_scheme=theme
        )
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.goto((SITE / f"{name}.html").as_uri())
        return page

    yield visit
    assert [url for url in asked if not url.startswith(("data:", "file:", "blob:"))] == []
    assert broken == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_into_a_narrow_window(visit, name):
    page = visit(name, width=320)
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


#: Texts of a plot that are cut off. With tiny panels it is wider than the page, and scrolls.
CUT = """plot => [...plot.querySelectorAll('.main-svg text')].filter(text => {
  const place = text.getBoundingClientRect();
  const edge = plot.querySelector('.main-svg').getBoundingClientRect();
  return place.width > 0 && (place.left < edge.left - 1 || place.right > edge.right + 1);
}).map(text => text.textContent)"""


@pytest.mark.parametrize("name", ["five_pictures", "gallery/inference", "results"])
def test_no_text_of_a_plot_is_cut_off_on_a_phone(visit, name):
    page = visit(name, width=390)
    plots = page.locator(".still .plot")
    for plot in plots.all():
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for()
        assert plot.evaluate(CUT) == []
    assert plots.count() > 5
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_first_picture_moves_with_the_keyboard(visit, screenshots):
    page = visit("index")
    plot = page.locator(".plot[data-name=processes]")
    plot.locator(".main-svg").first.wait_for()
    drawn = """plot => plot._fullData.filter(t => t.visible === true && /^f.\\(x\\)/.test(t.name))
        .map(t => Array.from(t.y))"""
    before = np.array(plot.evaluate(drawn))
    slider = page.get_by_label("variation")
    slider.focus()
    slider.press("Home")
    after = np.array(plot.evaluate(drawn))
    assert np.ptp(before, axis=0).max() > 1.0  # the classes differ,
    np.testing.assert_allclose(after, after[:1].repeat(len(after), axis=0), atol=0.05)  # or not
    assert "25%" in page.locator(".still [role=status]").inner_text()  # four equal classes
    assert slider.get_attribute("aria-valuetext") == "0"
    page.screenshot(path=screenshots / "site.png")


def test_the_keyboard_reaches_the_content_first(visit):
    page = visit("install")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip() == "Skip to main content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    inside = "document.querySelector('#main-content').contains(document.activeElement)"
    assert page.evaluate(inside)


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("whiten", "glossary.html#whiten"),
        ("ETGPClassifier", "api/etgp_viz.html#etgp_viz.ETGPClassifier"),
        ("fit my CSV", "guide/fit_your_data.html"),
        ("what does whiten mean", "glossary.html"),
        ("show the covariance of classes 2 and 3", "guide/read_a_covariance.html#show-the-"),
        ("run the race up to C = 100", "guide/race_on_your_machine.html#run-the-race"),
        ("use it in class next week", "guide/teach_a_class.html#use-it-in-class"),
        ("covariance classes", "guide/read_a_covariance.html"),
        ("teach class", "guide/teach_a_class.html"),
    ],
)
def test_search_answers_without_a_network(visit, words, target):
    """What a new user would type leads to the answer, which is among the first three."""
    page = visit("search")
    page.goto(f"{(SITE / 'search.html').as_uri()}?q={quote(words)}")
    page.locator("#search-results ul.search li a").first.wait_for()
    page.wait_for_timeout(1000)
    links = page.locator("#search-results ul.search li a").evaluate_all(
        "all => all.map(a => a.href)"
    )
    places = [re.sub(r"\?[^#]*", "", link) for link in links[:3]]  # without what is highlighted
    assert any(target in place for place in places), places


def test_the_search_box_opens_with_its_key(visit):
    page = visit("start")
    page.keyboard.press("Control+k")
    page.keyboard.type("covariance")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=covariance*")
    page.locator("#search-results ul.search li a").first.wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_violation(visit, axe, name, theme):
    page = visit(name, theme=theme)
    page.wait_for_timeout(500)
    assert violations(page, axe, "html") == []
