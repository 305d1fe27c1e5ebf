"""The page around an explorer, through its traits: what is hidden, presented, folded and saved."""

import re
import types
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from etgp_viz.explorers import CovarianceExplorer, FlowExplorer, page, saved_picture
from etgp_viz.explorers.fast_plotly.live_figure import LiveFigure, is_fast
from etgp_viz.figures import style

KIND = FlowExplorer
CSS = (Path(page.__file__).parent / "page.css").read_text(encoding="utf-8")


@pytest.fixture
def narrow(explorer):
    """An explorer whose browser shows one view only, as frame.js reports it."""
    frame = explorer._page.frame
    frame.view, frame.hides = 0, True
    yield explorer
    frame.presents, frame.hides, frame.view = False, False, 0


def test_hidden_pictures_wait_until_they_are_shown(narrow):
    frame, figures = narrow._page.frame, narrow._figures
    assert frame.shown == {"paths"}
    drawn = np.array(figures["density"].data[1].y)
    narrow.set(linear_a=(2.0,) * 5)
    assert figures["paths"].data[5].y == pytest.approx(2.0 * figures["paths"].data[2].y + 1.0)
    np.testing.assert_array_equal(figures["density"].data[1].y, drawn)
    frame.view = 1
    assert not np.array_equal(figures["density"].data[1].y, drawn)


def test_whoever_asks_in_code_gets_what_is_hidden_too(narrow):
    narrow.set(lengthscale=0.5)
    x = narrow.records["latent_covariance"].x
    expected = np.exp(-0.5 * (x[:, None] - x) ** 2 / 0.25)
    np.testing.assert_allclose(narrow.figures["latent_covariance"].data[0].z, expected, atol=2e-3)


def test_every_picture_is_in_a_view_and_on_a_wide_page():
    from etgp_viz import explorers

    for name in ("Flow", "SharedLatent", "Covariance", "Timing", "Results"):
        kind = getattr(explorers, f"{name}Explorer")
        rows = [row for view in kind.views.values() for row in view]
        assert {picture for row in rows for picture in row.split()} == set(kind.pictures)
        assert {picture for row in kind.wide for picture in row.split()} == set(kind.pictures)
        assert len({len(row.split()) for row in kind.wide}) == 1
        assert all(preset.view in ("", *kind.views) for preset in kind.presets.values())
        assert set(kind.main) <= set(kind.State.__dataclass_fields__)


def test_a_preset_leads_to_its_view_and_is_marked(narrow):
    frame = narrow._page.frame
    narrow._on_message({"preset": "Louder to the right"})
    assert frame.preset == "Louder to the right"
    assert frame.views[frame.view][0] == "Covariance"
    narrow._on_message({"do": "reset"})
    assert frame.preset == ""


def test_in_present_mode_a_story_without_a_view_returns_to_the_first_one(narrow):
    """There are no tabs to choose it."""
    frame = narrow._page.frame
    frame.presents = True
    narrow._on_message({"preset": "Louder to the right"})
    narrow._on_message({"preset": "Two levels"})
    assert frame.view == 0
    frame.presents = False
    frame.view = 1
    narrow._on_message({"preset": "A heavy tail"})
    assert frame.view == 1  # on a page with tabs the reader's choice stays
    narrow.reset()


def test_reset_ends_the_story_of_a_preset(narrow):
    narrow._on_message({"preset": "Two levels"})
    assert narrow._page._note.children
    narrow._on_message({"do": "reset"})
    assert not narrow._page._note.children


def test_labels_are_further_apart_in_present_mode(narrow):
    """Large names of two lines that end together would lie over each other."""
    narrow.set(linear_a=(1.0,) * 5, linear_b=(0.0,) * 5)

    def gap():
        layout = narrow._figures["paths"].layout
        low, high = layout.yaxis.range
        return (layout.annotations[1].y - layout.annotations[0].y) / (high - low)

    usual = gap()
    narrow._page.frame.presents = True
    assert gap() == pytest.approx(usual * 24 / 13)
    narrow._page.frame.presents = False
    assert gap() == pytest.approx(usual)
    narrow.reset()


def test_present_mode_enlarges_what_is_shown_and_keeps_two_controls(narrow):
    frame, paths = narrow._page.frame, narrow._figures["paths"]
    frame.presents = True
    assert paths.layout.font.size == pytest.approx(24)
    band, hero = paths.data[0], paths.data[2]
    assert band.line.width == 0
    assert hero.line.width == pytest.approx(style.HERO_WIDTH * 24 / 13)
    main = [n for n, control in narrow.controls.items() if "etgp-main" in control._dom_classes]
    assert main == ["linear_a", "linear_b"]
    frame.view = 1  # drawn large too
    assert narrow._figures["map"].layout.font.size == pytest.approx(24)
    frame.presents = False
    assert hero.line.width == pytest.approx(style.HERO_WIDTH)


def test_compared_matrices_share_their_colours(explorer):
    explorer.set(linear_a=(3.0,) * 5)
    ends = [explorer.figures[n].data[0].zmax for n in ("latent_covariance", "covariance")]
    assert ends[0] == ends[1] >= 9.0


def test_compared_matrices_have_one_colour_bar_in_every_view():
    covariance = CovarianceExplorer()
    frame, figures = covariance._page.frame, covariance._figures

    def with_a_bar():
        compared = [name for name in ("latent", "analytic", "estimate") if name in frame.shown]
        return [name for name in compared if figures[name].data[0].showscale]

    assert with_a_bar() == ["estimate"]  # on a wide page
    frame.hides = True
    assert with_a_bar() == ["estimate"]
    frame.view = 2
    assert with_a_bar() == ["analytic"]


def test_a_saved_picture_has_words_and_says_how_to_go_on(explorer):
    bundle = explorer._saved.bundle(b"PNG")
    assert explorer.summary in bundle["text/plain"]
    assert saved_picture.REVIVE in bundle["text/html"]
    assert "data:image/png;base64,UE5H" in bundle["text/html"]
    assert "<img" not in explorer._saved.bundle(b"")["text/html"]


def rgb(colour):
    if isinstance(colour, str) and colour.startswith("#"):
        return np.array([*bytes.fromhex(colour[1:])], float)
    return np.array(re.findall(r"[\d.]+", colour) if isinstance(colour, str) else colour, float)


def luminance(colour):
    parts = np.minimum(rgb(colour), 255.0) / 255.0
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


# The backgrounds of JupyterLab's and Voilà's themes.
LIGHT, DARK = ("#ffffff",), ("#111111", "#212121")


def in_css(name):
    """The values of a variable of the style sheet on a light and on a dark page."""
    found = re.findall(rf"--etgp-{name}: ([^;]+);", CSS)
    return found if len(found) == 2 else [None, None]


@pytest.mark.parametrize("c", range(len(style.PALETTE)))
def test_every_class_can_be_seen_on_light_and_dark_pages(c):
    """Lines with 3:1, names with 4.5:1."""
    drawn = style.PALETTE[c]
    stroke = "stroke: rgb({}, {}, {})".format(*bytes.fromhex(drawn[1:]))
    lines, names = in_css(f"line-{c + 1}"), in_css(f"class-{c + 1}")
    if lines[0] is not None:
        assert f'[style*="{stroke}"] {{ stroke: var(--etgp-line-{c + 1}) !important' in CSS
    for theme, backs in enumerate((LIGHT, DARK)):
        line = lines[theme] or ("#000000", "#ffffff")[theme] * (c == 7) or drawn
        for back in backs:
            assert contrast(line, back) >= 3.0, (c, back)
            assert contrast(names[theme], back) >= 4.5, (c, back)


def test_many_classes_can_be_seen_on_light_and_dark_pages():
    hues = in_css("hues")
    for C in range(len(style.PALETTE) + 1, 21):
        for colour in (style.colour(c, C) for c in range(C)):
            for hue, backs in zip(hues, (LIGHT, DARK), strict=True):
                name = rgb(colour) * float(re.fullmatch(r"brightness\((.*)\)", hue)[1])
                for back in backs:
                    assert contrast(colour, back) >= 3.0, (colour, back)
                    assert contrast(name, back) >= 4.5, (colour, back)


def test_names_of_classes_can_be_read_on_light_and_dark_pages():
    colours = re.findall(r"--etgp-class-(\d): (#\w{6})", CSS)
    light, dark = colours[:8], colours[8:]
    assert len(light) == len(dark) == len(style.PALETTE)
    for number, colour in light:
        assert contrast(colour, "#ffffff") >= 4.5, number
        drawn = style.PALETTE[int(number) - 1]
        label = "rgb({}, {}, {})".format(*bytes.fromhex(drawn[1:]))
        names = f'text[style*="fill: {label}"], tspan[style*="{drawn}" i]'
        assert f"{names}) {{ fill: var(--etgp-class-{number})" in CSS
    for number, colour in dark:
        assert contrast(colour, "#111111") >= 4.5, number
    accents = re.findall(r"--etgp-accent: (#\w{6})", CSS)
    for accent, back in zip(accents, ("#ffffff", "#111111"), strict=True):
        assert contrast(accent, back) >= 4.5


def test_axes_stay_while_something_is_dragged_and_fit_in_the_end(explorer):
    paths, frame = explorer.figures["paths"], explorer._page.frame
    held = list(paths.layout.yaxis.range)
    frame.holds = True
    explorer.set(linear_a=(3.0,) * 5)
    explorer.set(linear_b=(3.0,) * 5)
    assert list(paths.layout.yaxis.range) == held
    colours = explorer.figures["covariance"].data[0].zmax
    frame.holds = False
    top = max(np.max(trace.y) for trace in explorer.figures["paths"].data if len(trace.y))
    assert paths.layout.yaxis.range[1] > top > held[1]
    assert explorer.figures["covariance"].data[0].zmax > colours


@pytest.mark.skipif(not is_fast(), reason="this plotly draws with its own widgets")
def test_figures_glide_to_a_preset_and_jump_to_a_slider(explorer, monkeypatch):
    sent, send = [], LiveFigure.send_state
    monkeypatch.setattr(
        LiveFigure, "send_state",
        lambda figure, key=None: (sent.append(figure._py2js_update), send(figure, key))[1],
    )  # fmt: skip
    explorer.set(linear_a=(2.0,) * 5)
    assert [change["morph"] for change in sent if change]
    assert not any(change["morph"] for change in sent if change)
    sent.clear()
    explorer._choose_preset("Upside down")
    assert any(change["morph"] for change in sent if change)


class FakeLoop:
    """An event loop whose clock stands still until somebody moves it."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def time(self):
        return self.now

    def call_later(self, delay, call, *arguments):
        timer = types.SimpleNamespace(at=self.now + delay, call=partial(call, *arguments))
        timer.cancel = lambda: self.calls.remove(timer)
        self.calls.append(timer)
        return timer

    def run_until(self, end):
        while due := [timer for timer in self.calls if timer.at <= end]:
            timer = min(due, key=lambda timer: timer.at)
            self.calls.remove(timer)
            self.now = max(self.now, timer.at)
            timer.call()
        self.now = end


def test_a_picture_is_not_drawn_while_another_explorer_moves(monkeypatch):
    loop, drawn = FakeLoop(), []
    monkeypatch.setattr(saved_picture.asyncio, "get_running_loop", lambda: loop)
    monkeypatch.setattr(saved_picture.SavedPicture, "_not_before", 0.0)
    first, second = (
        saved_picture.SavedPicture(partial(drawn.append, name), lambda: ("title", "words"))
        for name in ("first", "second")
    )
    first._handle = second._handle = types.SimpleNamespace(display=lambda *_, **__: None)
    first.renew_later()
    for k in range(5):
        loop.run_until(2.0 + 2.0 * k)
        second.renew_later()
    assert drawn == []
    loop.run_until(12.0 + saved_picture.IDLE)
    assert sorted(drawn) == ["first", "second"]
