"""The covariance explorer in a real browser: what is drawn, against numbers from NumPy alone."""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from benchmarks.latency import notebook_of
from tests.browser.lab import REDRAW, Slider, violations, wait_until

CELL = "from etgp_viz.explorers import CovarianceExplorer\nCovarianceExplorer()"
X = np.linspace(-3.0, 3.0, 31)
K = np.exp(-0.5 * (X[:, None] - X[None, :]) ** 2)
SCALE_2 = PchipInterpolator(np.linspace(-3.0, 3.0, 5), (0.3, 0.6, 1.0, 1.4, 1.7))(X)
S = 2000


@pytest.fixture(scope="module")
def notebook(lab):
    (lab.folder / "covariance.ipynb").write_text(notebook_of([CELL]))
    with lab.open("covariance.ipynb", width=1600, height=1000) as notebook:
        notebook.run_all()
        figure(notebook, "correlation")
        yield notebook


def figure(notebook, name):
    return notebook.plot(name)


def z(plot):
    plot.settle()
    return np.array(plot.element.evaluate("p => p._fullData[0].z.map(row => Array.from(row))"))


def draws():
    """f₀ of seed 0."""
    noise = np.random.default_rng(0).standard_normal((S, 31))
    return noise @ np.linalg.cholesky(K + 1e-6 * np.eye(31)).T


def scale(notebook):
    return Slider(notebook.page.locator(".etgp-field-a1 .widget-slider"))


def check(notebook, a):
    """All that is drawn for classes 1 and 2 when the scale of class 1 is a everywhere."""
    f0 = draws()
    f1, f2 = a * f0, SCALE_2 * f0 + 1.0
    expected = a * SCALE_2[None, :] * K
    wait_until(
        lambda: np.allclose(z(figure(notebook, "analytic")), expected, atol=2e-3),
        "the formula to follow", 20,
    )  # fmt: skip
    notebook.rest()
    estimate = np.cov(f1.T, f2.T)[:31, 31:]
    products = (f1 - f1.mean(0))[:, :, None] * (f2 - f2.mean(0))[:, None, :]
    error = products.std(axis=0) / np.sqrt(S)
    np.testing.assert_allclose(z(figure(notebook, "estimate")), estimate, atol=2e-3)
    difference = z(figure(notebook, "difference"))
    np.testing.assert_allclose(difference, (estimate - expected) / error, atol=0.02)
    share = np.mean(np.abs((estimate - expected) / error) <= 3.0)
    assert f"{share:.1%} of the entries" in notebook.text(".etgp-viz [role=status]")
    variance = figure(notebook, "variance")
    wait_until(lambda: np.allclose(variance.y("f¹"), a**2, atol=1e-6), "the variances", 15)
    np.testing.assert_allclose(variance.y("f²"), SCALE_2**2, atol=1e-6)
    np.testing.assert_allclose(variance.y("f², Monte Carlo"), f2.var(axis=0, ddof=1), atol=1e-6)


def test_formula_monte_carlo_and_their_difference_are_drawn(notebook):
    check(notebook, 1.0)
    np.testing.assert_allclose(z(figure(notebook, "latent")), K, atol=1e-3)
    correlation = figure(notebook, "correlation")
    np.testing.assert_allclose(correlation.y("f¹, f²"), 1.0)
    np.testing.assert_allclose(correlation.y("f¹, f³"), -1.0)
    spectrum = figure(notebook, "spectrum").y("sharing f₀")
    assert len(spectrum) == 48
    assert np.all(spectrum[16:] < 1e-14)


def test_a_slider_moves_every_matrix(notebook, screenshots):
    scale(notebook).press("ArrowRight", times=4)
    wait_until(lambda: np.isclose(scale(notebook).value, 1.2), "the number to follow")
    check(notebook, 1.2)
    notebook.screenshot(screenshots / "covariance-explorer.png", ".etgp-viz")


def test_another_flow_brings_its_own_controls_and_numbers(notebook, screenshots):
    hidden = notebook.page.locator(".etgp-field-height")
    assert not hidden.is_visible()
    notebook.page.locator(".etgp-field-family select").select_option(label="TANH, then LINEAR")
    hidden.wait_for(state="visible")
    # f¹ = 1.2·(f + 3 tanh(2(f + 1))), its variance by a plain sum over a fine grid.
    f = np.linspace(-9.0, 9.0, 20001)
    weight = np.exp(-0.5 * f**2) / np.exp(-0.5 * f**2).sum()
    g = 1.2 * (f + 3.0 * np.tanh(2.0 * (f + 1.0)))
    expected = weight @ g**2 - (weight @ g) ** 2
    variance = figure(notebook, "variance")
    wait_until(lambda: np.allclose(variance.y("f¹"), expected, rtol=1e-3), "the variance", 20)
    correlation = figure(notebook, "correlation")
    wait_until(lambda: bool(np.all(correlation.y("f¹, f²") < 0.95)), "the correlation", 20)
    notebook.resize(1920, 1080)
    notebook.screenshot(screenshots / "covariance-explorer-tanh.png", ".etgp-viz")


@pytest.mark.parametrize("width", [1100, 1300, 1920])
def test_it_fits_the_window(notebook, screenshots, width):
    notebook.resize(width)
    for name in ("latent", "difference", "variance"):
        drawn = figure(notebook, name).element.locator(".main-svg").first
        wait_until(
            lambda drawn=drawn: (box := drawn.bounding_box())["x"] + box["width"] <= width,
            f"{name} to fit", 15,
        )  # fmt: skip
    notebook.screenshot(screenshots / f"covariance-{width}.png")


# Three images as rows of colours: before a press, drawn at once after it, and drawn by plotly.
IMAGES = """async (plot) => {
  const source = () => plot.querySelector('.hm image').getAttribute('href');
  const colours = async (href) => {
    const picture = new Image();
    picture.src = href;
    await picture.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: 31, height: 31 });
    const context = canvas.getContext('2d');
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, 0, 0, 31, 31);
    return Array.from(context.getImageData(0, 0, 31, 31).data);
  };
  const sources = [source()];
  await new Promise((done, fail) => {
    setTimeout(() => fail(new Error('nothing moves')), 20000);
    plot.addEventListener('etgp-moved', done, { once: true });
  });
  sources.push(source());
  await (REDRAW)(plot);
  return Promise.all([...sources, source()].map(colours));
}""".replace("REDRAW", REDRAW)


def test_a_heat_map_that_moves_at_once_has_the_colours_of_plotly(notebook):
    plot = figure(notebook, "analytic")
    plot.element.scroll_into_view_if_needed()
    plot.settle()
    handle = notebook.page.locator(".etgp-field-a1 .noUi-handle")
    handle.focus()
    images = plot.element.evaluate_handle(f"(plot) => ({{ colours: ({IMAGES})(plot) }})")
    notebook.page.keyboard.press("ArrowLeft")
    before, at_once, by_plotly = np.array(images.evaluate("async (all) => await all.colours"))
    assert not np.array_equal(before, at_once)
    np.testing.assert_allclose(at_once, by_plotly, atol=1.5)


def test_axe_finds_nothing(notebook, axe):
    assert violations(notebook.page, axe, ".etgp-viz") == []
