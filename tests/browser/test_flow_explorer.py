"""The first explorer, as a student meets it in 00_start_here."""

import numpy as np
import pytest

from tests.browser.lab import wait_until

LATENT, WARPED = "latent f₀(x)", "warped process f¹(x)"


@pytest.fixture(scope="module")
def notebook(lab):
    with lab.open("00_start_here.ipynb") as notebook:
        notebook.run_all()
        yield notebook


def expected_latent():
    """The draw of seed 0, from NumPy alone."""
    x = np.linspace(-3.0, 3.0, 200)
    K = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2) + 1e-6 * np.eye(200)
    return np.linalg.cholesky(K) @ np.random.default_rng(0).standard_normal(200)


def test_the_doctor_is_content(notebook):
    (report,) = (o["data"]["text/html"] for o in notebook.outputs() if "text/html" in o["data"])
    report = "".join(report)
    assert report.count("✓") >= 8
    assert "✗" not in report


def test_the_curves_are_the_right_ones(notebook):
    plot = notebook.plot()
    assert plot.names() == [LATENT, WARPED]
    np.testing.assert_allclose(plot.y(LATENT), expected_latent(), atol=1e-6)
    a, b = notebook.slider("scale a").value, notebook.slider("shift b").value
    np.testing.assert_allclose(plot.y(WARPED), a * expected_latent() + b, atol=1e-6)


def test_a_new_picture_fits_its_place(notebook):
    wait_until(lambda: fits(notebook), "the picture to fit", 15)


@pytest.mark.parametrize(("label", "key"), [("scale a", "ArrowLeft"), ("shift b", "ArrowRight")])
def test_a_slider_moves_the_drawn_curve(notebook, label, key):
    plot, slider = notebook.plot(), notebook.slider(label)
    held, value, said = plot.range(), slider.value, notebook.text(".etgp-viz [role=status]")
    slider.press(key, times=3)
    step = -0.05 if key == "ArrowLeft" else 0.05
    wait_until(lambda: np.isclose(slider.value, value + 3 * step), "the number to follow")
    a, b = notebook.slider("scale a").value, notebook.slider("shift b").value
    expected = a * expected_latent() + b
    wait_until(lambda: np.allclose(plot.y(WARPED), expected, atol=1e-6), "the curve to follow", 15)
    np.testing.assert_allclose(plot.y(LATENT), expected_latent(), atol=1e-6)
    assert plot.range() == held
    assert notebook.text(".etgp-viz [role=status]") != said


def fits(notebook):
    """Whether the picture takes the width that the controls leave, all of it and no more."""
    explorer = notebook.page.locator(".etgp-viz").bounding_box()
    drawn = notebook.plot().element.locator(".main-svg").first.bounding_box()
    spare = explorer["x"] + explorer["width"] - drawn["x"] - drawn["width"]
    below = drawn["x"] < explorer["x"] + 100
    return abs(spare) < 5 and (below or drawn["x"] < explorer["x"] + 320)


@pytest.mark.parametrize("width", [1300, 1100, 1920])
def test_it_fits_the_window(notebook, screenshots, width):
    notebook.resize(width)
    wait_until(lambda: fits(notebook), "the picture to fit", 15)
    right = notebook.page.locator(".etgp-viz").bounding_box()
    assert right["x"] + right["width"] <= width
    notebook.screenshot(screenshots / f"flow-{width}.png")


def test_it_follows_when_the_side_bar_closes(notebook, screenshots):
    notebook.resize(1300, 720)
    before = notebook.page.locator(".etgp-viz").bounding_box()["width"]
    notebook.page.evaluate("jupyterapp.commands.execute('filebrowser:toggle-main')")
    page = notebook.page.locator(".etgp-viz")
    wait_until(lambda: page.bounding_box()["width"] > before + 100, "the page to widen", 15)
    wait_until(lambda: fits(notebook), "the picture to fit", 15)
    page.scroll_into_view_if_needed()
    notebook.screenshot(screenshots / "flow-explorer.png")  # the README's picture is a copy
