"""The shared-latent explorer in a real browser: what is drawn against numbers from NumPy."""

import numpy as np
import pytest

from tests.browser.lab import REDRAW, wait_until

CELLS = [
    """
from etgp_viz.explorers import SharedLatentExplorer
SharedLatentExplorer(flow="linear", network_seed=0, at=0.5)
"""
]
SIZE = (1600, 1500)
X = np.linspace(-3.0, 3.0, 121)
LATENT = "latent f₀(x)"
MARKED = "plot => plot._fullLayout.shapes[0].x0"


def latents(count):
    """The first draws of seed 0, from NumPy alone."""
    K = np.exp(-0.5 * (X[:, None] - X) ** 2) + 1e-6 * np.eye(121)
    noise = np.random.default_rng(0).standard_normal((20, 121 + 200))[:count, :121]
    return noise @ np.linalg.cholesky(K).T


def processes(notebook, C):
    plot = notebook.plot("processes")
    return np.array([plot.y(f"f{'¹²³⁴⁵'[c]}(x)") for c in range(C)])


def shown(notebook, figure):
    """The names of the traces that are to be seen."""
    return notebook.plot(figure).element.evaluate(
        "plot => plot._fullData.filter(t => t.visible === true).map(t => t.name)"
    )


def softmax(F):
    return np.exp(F) / np.exp(F).sum(axis=0)


def probabilities_fit(notebook, C):
    plot = notebook.plot("probabilities")
    P = np.array([plot.y(f"class of f{'¹²³⁴⁵'[c]}") for c in range(C)])
    return np.allclose(P, softmax(processes(notebook, C)), atol=1e-6)


def expected_network():
    """Slopes and shifts of network 0 over x, [C, N] each, by plain NumPy."""
    rng = np.random.default_rng(0)
    limit = np.sqrt(6.0 / 21.0)
    weights = 2.0 * rng.uniform(-limit, limit, size=(1, 20))
    rng = np.random.default_rng(0)
    hidden = np.tanh(X[:, None] @ weights + rng.normal(size=20))
    slopes, shifts = [], []
    for _ in range(4):
        own = rng.normal(size=(21, 2))
        theta = hidden @ own[:-1] / np.sqrt(20) + 0.5 * own[-1] + [1.0, 0.0]
        slopes.append(theta[:, 0])
        shifts.append(theta[:, 1])
    return np.array(slopes), np.array(shifts)


def test_all_classes_come_from_the_one_latent(notebook, screenshots):
    f0, (slopes, shifts) = latents(1)[0], expected_network()
    np.testing.assert_allclose(notebook.plot("latents").y(LATENT), f0, atol=1e-6)
    np.testing.assert_allclose(processes(notebook, 4), slopes * f0 + shifts, atol=1e-5)
    assert probabilities_fit(notebook, 4)
    assert len([name for name in shown(notebook, "processes") if name.endswith("(x)")]) == 4
    notebook.screenshot(screenshots / "shared-latent.png", ".etgp-viz")


def test_a_slider_stretches_the_same_draw(notebook):
    f0, (slopes, shifts) = latents(1)[0], expected_network()
    slider, plot = notebook.slider("variance σ²"), notebook.plot("latents")
    slider.press("ArrowRight", times=4)
    by = (5.0 / 0.1) ** (4 / 80 / 2)  # four of 80 steps on a logarithmic scale; √ of the variance
    wait_until(lambda: np.allclose(plot.y(LATENT), by * f0, atol=1e-4), "the latent to follow", 15)
    expected = slopes * by * f0 + shifts
    wait_until(
        lambda: np.allclose(processes(notebook, 4), expected, atol=1e-4), "the processes", 15
    )
    wait_until(lambda: probabilities_fit(notebook, 4), "the probabilities to follow", 15)
    slider.press("Delete")
    wait_until(lambda: np.allclose(plot.y(LATENT), f0, atol=1e-4), "the default", 15)


def test_a_click_marks_x_in_every_panel(notebook):
    panel = notebook.plot("probabilities").element.locator(".nsewdrag").first
    box = panel.bounding_box()
    notebook.page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.5 * box["height"])
    for figure in ("latents", "processes", "probabilities"):
        element = notebook.plot(figure).element
        wait_until(lambda e=element: abs(e.evaluate(MARKED) - 1.5) < 0.06, "the mark", 15)
    wait_until(lambda: "x = 1.5" in notebook.text(".etgp-viz [role=status]"), "the words", 15)


def test_the_panels_share_their_x_axis(notebook):
    boxes = [
        notebook.plot(figure).element.locator(".nsewdrag").first.bounding_box()
        for figure in ("latents", "processes", "probabilities")
    ]
    assert np.ptp([box["x"] for box in boxes]) < 0.6
    assert np.ptp([box["width"] for box in boxes]) < 0.6


def test_all_classes_obey_a_dragged_latent(notebook):
    before, plot = processes(notebook, 4), notebook.plot("latents")
    (slopes, shifts), mouse = expected_network(), notebook.page.mouse
    plot.drag(LATENT, 30, right=5, up=-25)
    wait_until(lambda: plot.y("held points").size == 1, "a held point", 15)
    notebook.rest()
    f0 = plot.y(LATENT)
    assert f0[30] < latents(1)[0][30] - 0.1
    expected = slopes * f0 + shifts
    wait_until(lambda: np.allclose(processes(notebook, 4), expected, atol=1e-5), "all classes", 15)
    mouse.dblclick(*plot.pixel("held points", 0))
    wait_until(lambda: np.allclose(processes(notebook, 4), before, atol=1e-6), "to let go", 15)


DIMMED = """page => [...page.querySelectorAll('.etgp-figure .trace.scatter')].filter(
  group => [...group.children].some(mark => mark.style.opacity === '0.15')).length"""


def test_the_legend_lights_a_class_up_everywhere_by_keyboard(notebook):
    page, explorer = notebook.page, notebook.page.locator(".etgp-viz").first
    legend = page.get_by_role("group", name="classes").get_by_role("button")
    assert [name.strip() for name in legend.all_inner_texts()] == ["f¹", "f²", "f³", "f⁴"]
    assert explorer.evaluate(DIMMED) == 0
    dims = DIMMED.replace(".etgp-figure ", "")
    for name in ("processes", "probabilities", "pivot"):
        plot = notebook.plot(name).element
        legend.nth(1).focus()
        wait_until(lambda p=plot: p.evaluate(dims) >= 3, "the other classes to fade", 15)
        legend.nth(1).blur()
        assert plot.evaluate(dims) == 0
    legend.nth(1).press("Enter")  # it stays
    legend.nth(1).blur()
    processes = notebook.plot("processes")
    wait_until(lambda: processes.element.evaluate(dims) >= 3, "the light in another view", 15)
    notebook.slider("variation").press("ArrowRight")
    processes.settle()
    wait_until(lambda: processes.element.evaluate(dims) >= 3, "the light to stay on", 15)
    notebook.slider("variation").press("ArrowLeft")
    legend.nth(1).press("Enter")
    legend.nth(1).blur()
    assert explorer.evaluate(DIMMED) == 0


def test_classes_appear_when_the_slider_moves(notebook):
    first = processes(notebook, 4)
    notebook.slider("classes C").press("ArrowRight")
    wait_until(lambda: "f⁵(x)" in shown(notebook, "processes"), "the fifth class", 15)
    wait_until(lambda: probabilities_fit(notebook, 5), "its probabilities", 15)
    np.testing.assert_allclose(processes(notebook, 4), first, atol=1e-6)


def test_independent_processes_are_their_latents(notebook, screenshots):
    notebook.page.locator(".etgp-field-model select").select_option("C independent GPs")
    wait_until(lambda: LATENT not in shown(notebook, "latents"), "f₀ to go", 15)
    expected = latents(5)
    wait_until(
        lambda: np.allclose(processes(notebook, 5), expected, atol=1e-5), "the processes", 15
    )
    maps = lambda: [name for name in shown(notebook, "pivot") if name.startswith("map to")]  # noqa: E731
    wait_until(lambda: not maps(), "the maps to go", 15)
    notebook.page.wait_for_timeout(500)
    notebook.screenshot(screenshots / "shared-latent-independent.png", ".etgp-viz")


# Where all lines and areas lie before a press, when they have moved at once, and when plotly has
# drawn them from its own data: the box around each, and the length of lines.
SHAPES = """async (plot) => {
  const shapes = () => [...plot.querySelectorAll('.js-line, .js-fill')]
    .filter((path) => path.getAttribute('d'))
    .map((path) => { const box = path.getBBox();
      const length = path.matches('.js-line') ? path.getTotalLength() : 0;
      return [box.x, box.y, box.width, box.height, length]; });
  const before = shapes();
  const late = (_, fail) => setTimeout(() => fail(new Error('nothing moves')), 20000);
  const soon = (wait) => Promise.race([new Promise(wait), new Promise(late)]);
  await soon((done) => plot.addEventListener('etgp-moved', done, { once: true }));
  const atOnce = shapes();
  await (REDRAW)(plot);
  return [before, atOnce, shapes()];
}""".replace("REDRAW", REDRAW)


@pytest.mark.parametrize("name", ["processes", "probabilities"])
def test_what_moves_at_once_lies_where_plotly_draws_it(notebook, name):
    notebook.page.get_by_role("button", name="reset").click()
    drawn = notebook.plot(name)
    wait_until(lambda: notebook.slider("variation").value == 1.0, "the default", 20)
    drawn.settle()
    slider = notebook.page.locator(".etgp-viz .widget-slider", has_text="variation").first
    handle = slider.locator(".noUi-handle")
    handle.focus()
    shapes = drawn.element.evaluate_handle(f"(plot) => ({{ seen: ({SHAPES})(plot) }})")
    notebook.page.keyboard.press("ArrowLeft")
    before, at_once, by_plotly = np.array(shapes.evaluate("async (all) => await all.seen"))
    assert not np.allclose(before, at_once, atol=0.5)
    np.testing.assert_allclose(at_once, by_plotly, atol=0.5, rtol=0.002)
