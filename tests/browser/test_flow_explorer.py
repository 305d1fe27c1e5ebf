"""The flow explorer in a real browser, as a student meets it in 00_start_here."""

import re

import numpy as np
import pytest

from tests.browser.lab import violations, wait_until

LATENT, WARPED = "latent f₀(x)", "warped f(x)"


@pytest.fixture(scope="module")
def notebook(lab):
    with lab.open("00_start_here.ipynb") as notebook:
        notebook.run_all()
        yield notebook


def expected_latent():
    """The first draw of seed 0, from NumPy alone."""
    x = np.linspace(-3.0, 3.0, 200)
    K = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2) + 1e-6 * np.eye(200)
    return np.linalg.cholesky(K) @ np.random.default_rng(0).standard_normal((3, 200))[0]


def paths(notebook):
    return notebook.plot("paths")


def summary(notebook):
    return notebook.text(".etgp-viz [role=status]")


def test_the_doctor_is_content(notebook):
    pages = ["".join(o["data"].get("text/html", "")) for o in notebook.outputs()]
    report = "".join(page for page in pages if "etgp-still" not in page)
    assert report.count("✓") >= 8
    assert "✗" not in report


def test_no_widget_of_the_page_changes_the_look_of_another(notebook):
    paths(notebook)
    chip = notebook.page.locator(".etgp-viz .etgp-chip").first.bounding_box()
    assert chip["height"] > 20  # pixels: the styles of the digits once squeezed it


def test_the_curves_are_the_right_ones(notebook):
    np.testing.assert_allclose(paths(notebook).y(LATENT), expected_latent(), atol=1e-6)
    a, b = notebook.slider("scale a").value, notebook.slider("shift b").value
    np.testing.assert_allclose(paths(notebook).y(WARPED), a * expected_latent() + b, atol=1e-6)


@pytest.mark.parametrize(("label", "key"), [("scale a", "ArrowLeft"), ("shift b", "ArrowRight")])
def test_a_slider_moves_the_drawn_curve(notebook, label, key):
    plot, slider = paths(notebook), notebook.slider(label)
    held, value, before = plot.range(), slider.value, summary(notebook)
    slider.press(key, times=3)
    step = -0.05 if key == "ArrowLeft" else 0.05
    wait_until(lambda: np.isclose(slider.value, value + 3 * step), "the number to follow")
    a, b = notebook.slider("scale a").value, notebook.slider("shift b").value
    expected = a * expected_latent() + b
    wait_until(lambda: np.allclose(plot.y(WARPED), expected, atol=1e-6), "the curve to follow", 15)
    np.testing.assert_allclose(plot.y(LATENT), expected_latent(), atol=1e-6)
    assert plot.range() == held
    wait_until(lambda: summary(notebook) != before, "the sentence to follow", 15)


def test_delete_brings_a_slider_back_to_its_default(notebook):
    slider = notebook.slider("scale a")
    slider.press("ArrowRight", times=2)
    slider.press("Delete")
    wait_until(lambda: slider.value == 1.5, "the default", 15)


# In the kernel: let each change of a slider take a second, or as long as before.
SLOW = """
import time, ipywidgets
def wait(_): time.sleep(1.0)
all_widgets = list(ipywidgets.widget._instances.values())
slow = [w for w in all_widgets if getattr(w, "description", "") == "scale a"]
for w in slow: w.observe(wait, "value")
"""
QUICK = "for w in slow: w.unobserve(wait, 'value')"
IN_KERNEL = """(code) => jupyterapp.shell.currentWidget.sessionContext.session.kernel
  .requestExecute({code, store_history: false}).done.then((reply) => reply.content.status)"""


def test_earlier_keys_never_overtake_delete(notebook):
    slider = notebook.slider("scale a")
    slider.press("ArrowRight")  # away from the default, so that Delete has something to do
    notebook.rest()
    assert notebook.page.evaluate(IN_KERNEL, SLOW) == "ok"
    slider.press("ArrowRight", times=3)  # the first is with the kernel, the last waits in the page
    slider.press("Delete")
    assert slider.value > 1.6  # the kernel is busy
    notebook.rest()
    assert notebook.page.evaluate(IN_KERNEL, QUICK) == "ok"
    notebook.rest()
    assert slider.value == 1.5


def test_a_number_can_be_typed(notebook):
    slider = notebook.slider("shift b")
    box = slider.element.locator(".widget-readout")
    box.click()
    notebook.page.keyboard.press("Control+A")
    notebook.page.keyboard.type("-0.5")
    notebook.page.keyboard.press("Enter")
    expected = 1.5 * expected_latent() - 0.5
    plot = paths(notebook)
    wait_until(lambda: np.allclose(plot.y(WARPED), expected, atol=1e-6), "the curve to follow", 15)


def test_a_knot_follows_the_arrow_keys_and_the_mouse(notebook):
    notebook.page.get_by_title("Let scale a vary with x").click()
    knot = notebook.page.get_by_role("slider", name="scale a, knot 5 of 5")
    knot.focus()
    for _ in range(4):
        knot.press("ArrowUp")
    parameters = notebook.plot("parameters")
    wait_until(lambda: np.isclose(parameters.y("a")[-1], 1.7), "the parameter to follow", 15)
    np.testing.assert_allclose(parameters.y("a")[0], 1.5, atol=1e-9)
    box = knot.bounding_box()
    notebook.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    notebook.page.mouse.down()
    notebook.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 300, steps=5)
    notebook.page.mouse.up()
    wait_until(lambda: np.isclose(parameters.y("a")[-1], -3.0), "the knot to be dragged", 15)


def test_a_knot_can_be_dragged_in_the_figure(notebook):
    notebook.page.get_by_role("button", name="reset").click()
    parameters = notebook.plot("parameters")
    wait_until(lambda: np.allclose(parameters.y("a"), 1.5), "the default", 15)
    parameters.drag("knots", 7, right=0, up=60)  # the middle one of the shift b
    knots = lambda: parameters.y("knots")  # noqa: E731
    wait_until(lambda: knots()[7] > 1.0, "the knot to follow", 15)
    notebook.rest()
    expected = [*[1.5] * 5, 1.0, 1.0, knots()[7], 1.0, 1.0]
    np.testing.assert_allclose(knots(), expected, atol=1e-9)
    assert np.max(parameters.y("b")) == pytest.approx(knots()[7], abs=0.01)
    notebook.press_button("undo")
    wait_until(lambda: np.allclose(parameters.y("b"), 1.0), "the knot to go back", 15)


def test_the_latent_can_be_dragged_and_the_warped_process_obeys(notebook):
    plot, free = paths(notebook), expected_latent()
    plot.drag(LATENT, 150, right=0, up=40)
    wait_until(lambda: len(plot.y("held points")) == 1, "a held point", 15)
    notebook.rest()
    held = plot.y("held points")[0]
    place = int(np.argmin(np.abs(plot.y(LATENT) - held)))
    assert held > free[150] + 0.2
    # Matheron's rule for an RBF kernel, input by input.
    x = np.linspace(-3.0, 3.0, 200)
    n = int(np.argmin(np.abs(x - notebook_x(notebook))))
    expected = free + np.exp(-0.5 * (x - x[n]) ** 2) * (held - free[n])
    assert abs(place - 150) < 8
    np.testing.assert_allclose(plot.y(LATENT), expected, atol=1e-4)
    np.testing.assert_allclose(plot.y(WARPED), 1.5 * expected + 1.0, atol=2e-4)
    notebook.page.locator(".etgp-viz .etgp-tab").first.focus()
    notebook.page.keyboard.press("Control+z")
    wait_until(lambda: np.allclose(plot.y(LATENT), free, atol=1e-6), "the free draw", 15)


def notebook_x(notebook):
    """The x of the held point, as the table of held points says it."""
    return float(notebook.page.get_by_label("x of held point 1").input_value())


# The upper end of the y axis of a plot at every frame, while it is being noted.
NOTE_TOPS = """plot => {
  window.tops = [];
  const note = () => {
    if (!window.tops) return;
    tops.push(plot._fullLayout.yaxis.range[1]);
    requestAnimationFrame(note);
  };
  note();
}"""


def test_axes_wait_for_the_end_of_a_drag_and_then_ease(notebook):
    plot, slider = paths(notebook), notebook.slider("scale a")
    plot.settle()
    held, mouse = plot.range(), notebook.page.mouse
    box = slider.element.locator(".noUi-handle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 60, y, steps=8)
    wait_until(lambda: slider.value > 2.3, "the slider to follow", 15)
    expected = lambda: slider.value * expected_latent() + 1.0  # noqa: E731
    wait_until(lambda: np.allclose(plot.y(WARPED), expected(), atol=1e-6), "the curve", 15)
    assert plot.range() == held
    plot.element.evaluate(NOTE_TOPS)
    mouse.up()
    wait_until(lambda: plot.range()[1] > max(plot.y(WARPED)), "the axis to grow", 15)
    np.testing.assert_allclose(plot.y(WARPED), expected(), atol=1e-6)  # of the final value
    tops = notebook.page.evaluate("() => { const all = tops; window.tops = null; return all; }")
    assert len({top for top in tops if top > held[1]}) >= 3, tops  # not in one jump
    slider.press("Delete")
    wait_until(lambda: slider.value == 1.5, "the default", 15)


# Notes a value of the warped process each time that its curve is moved.
NOTE_MOVES = """(plot) => {
  const curve = () => plot._fullData.find((trace) => trace.name === 'warped f(x)').y[199];
  window.moves = [curve()];
  plot.addEventListener('etgp-moved', () => window.moves?.push(curve()));
}"""


def test_in_a_drag_the_curve_moves_steadily_to_each_answer(notebook):
    plot, slider = paths(notebook), notebook.slider("shift b")
    plot.settle()
    mouse, before = notebook.page.mouse, slider.value
    box = slider.element.locator(".noUi-handle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    plot.element.evaluate(NOTE_MOVES)
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 20, y)
    wait_until(lambda: slider.value > before, "the slider to follow", 15)
    a = notebook.slider("scale a").value
    expected = lambda: a * expected_latent() + slider.value  # noqa: E731
    wait_until(lambda: np.allclose(plot.y(WARPED), expected(), atol=1e-6), "the curve", 15)
    moves = notebook.page.evaluate("() => { const all = moves; window.moves = null; return all; }")
    mouse.up()
    assert len(set(moves)) >= 4, moves  # one step of the mouse, several of the curve
    assert moves == sorted(moves)
    slider.press("Delete")
    wait_until(lambda: slider.value == 1.0, "the default", 15)


def test_a_click_marks_an_input_everywhere(notebook):
    panel = paths(notebook).element.locator(".nsewdrag")
    box = panel.bounding_box()
    panel.click(position={"x": box["width"] * 0.75, "y": box["height"] / 2}, force=True)
    wait_until(lambda: np.isclose(notebook.slider("input x").value, 1.5, atol=0.05), "x", 15)
    wait_until(lambda: "At x = 1.5" in summary(notebook), "the sentence to follow", 15)


def test_the_pictures_have_alt_text(notebook):
    """Their own heading, and the sentence about all of them."""
    for name, heading in (("paths", "f₀"), ("density", "density at x = ")):
        label = notebook.plot(name).element
        wait_until(
            lambda e=label: e.get_attribute("aria-label").endswith(f". {summary(notebook)}"),
            "the same words", 15,
        )  # fmt: skip
        assert heading in label.get_attribute("aria-label").removesuffix(summary(notebook))


def test_code_and_link_appear_and_a_link_opens(notebook):
    notebook.page.get_by_role("button", name="copy as code").click()
    area = notebook.page.locator(".etgp-viz textarea")
    area.wait_for()
    assert "prior.params_from_profiles" in area.input_value()
    notebook.page.get_by_role("button", name="share").click()
    box = notebook.page.locator(".etgp-viz .widget-text input[type=text]").last
    wait_until(lambda: "FlowExplorer" in box.input_value(), "the link", 15)
    box.fill('{"explorer":"FlowExplorer","flow":"tanh"}')
    box.press("Enter")
    wait_until(lambda: "TANH" in notebook.text(".etgp-viz h3"), "the state in the link", 15)
    box.fill("nonsense")
    box.press("Enter")
    notebook.page.locator(".etgp-viz [role=alert]").wait_for()
    assert "TANH" in notebook.text(".etgp-viz h3")


def test_numbers_can_be_downloaded(notebook):
    with notebook.page.expect_download() as waiting:
        menu = notebook.page.get_by_label("download")
        menu.select_option(label="numbers (CSV)")
    assert waiting.value.suggested_filename == "flow.csv"


def test_a_reload_shows_the_current_state(notebook):
    drawn = paths(notebook).y(WARPED)
    notebook.reload()
    wait_until(lambda: np.allclose(paths(notebook).y(WARPED), drawn), "the same curve", 30)
    assert "TANH" in notebook.text(".etgp-viz h3")
    notebook.page.get_by_role("button", name="reset").click()
    a, b = 1.5, 1.0
    wait_until(
        lambda: np.allclose(paths(notebook).y(WARPED), a * expected_latent() + b, atol=1e-6),
        "the explorer to answer after the reload", 15,
    )  # fmt: skip


def fits(notebook):
    """Whether every picture is inside the explorer, and they take the width that there is."""
    explorer = notebook.page.locator(".etgp-viz").bounding_box()
    right = explorer["x"] + explorer["width"]
    boxes = [
        plot.locator(".main-svg").first.bounding_box()
        for plot in notebook.page.locator(".etgp-viz .js-plotly-plot:visible").all()
    ]
    inside = all(box["x"] + box["width"] <= right + 1 and box["height"] > 150 for box in boxes)
    furthest = max(box["x"] + box["width"] for box in boxes)
    return inside and abs(right - furthest) < 12


@pytest.mark.parametrize("width", [1300, 1100, 1920])
def test_it_fits_the_window(notebook, screenshots, width):
    paths(notebook)
    notebook.resize(width, 1080)
    wait_until(lambda: fits(notebook), "the pictures to fit", 15)
    right = notebook.page.locator(".etgp-viz").bounding_box()
    assert right["x"] + right["width"] <= width
    notebook.screenshot(screenshots / f"flow-{width}.png")


def test_the_dark_theme(notebook, screenshots):
    notebook.theme("JupyterLab Dark")
    tick = paths(notebook).element.locator(".xtick text").first
    colour = tick.evaluate("text => getComputedStyle(text).fill")
    assert min(map(int, re.findall(r"\d+", colour)[:3])) > 150, colour
    notebook.screenshot(screenshots / "flow-dark.png")
    notebook.theme("JupyterLab Light")


def test_it_follows_when_the_side_bar_closes(notebook, screenshots):
    notebook.resize(1300, 900)
    before = notebook.page.locator(".etgp-viz").bounding_box()["width"]
    notebook.page.evaluate("jupyterapp.commands.execute('filebrowser:toggle-main')")
    page = notebook.page.locator(".etgp-viz")
    wait_until(lambda: page.bounding_box()["width"] > before + 100, "the page to widen", 15)
    wait_until(lambda: fits(notebook), "the pictures to fit", 15)
    page.scroll_into_view_if_needed()
    notebook.screenshot(screenshots / "flow-explorer.png")


def test_axe_finds_nothing(notebook, axe):
    assert violations(notebook.page, axe, ".etgp-viz") == []
