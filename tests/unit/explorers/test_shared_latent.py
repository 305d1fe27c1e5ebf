"""One latent or many: what the explorer draws, and what it says about it."""

import numpy as np
import pytest

from etgp_viz.core import flows
from etgp_viz.explorers import SharedLatentExplorer
from etgp_viz.figures.shared_latent import DIM, MAX_CLASSES, name_heights
from etgp_viz.records import prior, shared_latent

X = np.linspace(-3.0, 3.0, 121)


KIND = SharedLatentExplorer


def drawn(explorer, figure, name):
    (trace,) = (trace for trace in explorer.figures[figure].data if trace.name == name)
    return trace


def lines(explorer, figure="processes", name="{}(x)"):
    """The lines of the classes that are shown, [C, N]."""
    found = [drawn(explorer, figure, name.format(f"f{c}")) for c in superscripts()]
    return np.array([trace.y for trace in found if trace.visible])


def superscripts():
    digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
    return ["".join(digits[int(d)] for d in str(c + 1)) for c in range(MAX_CLASSES)]


def test_what_is_drawn_comes_from_one_latent(explorer):
    """Kernel, draw, flows and softmax written out; only the network's output is taken as given."""
    explorer.set(flow="linear", lengthscale=0.5, variance=2.0, classes=3)
    K = 2.0 * np.exp(-0.5 * ((X[:, None] - X) / 0.5) ** 2)
    noise = np.random.default_rng(0).standard_normal((20, 121 + 200))[0, :121]
    f0 = np.linalg.cholesky(K + 2e-6 * np.eye(121)) @ noise
    np.testing.assert_allclose(drawn(explorer, "latents", "latent f₀(x)").y, f0, atol=1e-5)
    theta = prior.random_network(flows.Linear(), 3, seed=7)(X[:, None]).numpy()
    F = np.array([theta[:, c, 0] * f0 + theta[:, c, 1] for c in range(3)])
    np.testing.assert_allclose(lines(explorer), F, atol=1e-4)
    P = np.exp(F) / np.exp(F).sum(axis=0)
    np.testing.assert_allclose(lines(explorer, "probabilities", "class of {}"), P, atol=1e-4)


def test_more_classes_leave_the_first_ones_as_they_are(explorer):
    for model in shared_latent.MODELS:
        explorer.set(model=model, classes=3)
        few = lines(explorer)
        explorer.set(classes=20)
        many = lines(explorer)
        assert (len(few), len(many)) == (3, 20)
        np.testing.assert_allclose(many[:3], few, atol=1e-12)
    explorer.set(classes=2)
    assert len(lines(explorer)) == 2


def test_the_first_class_of_the_naive_tgp_is_that_of_etgp(explorer):
    shared = lines(explorer)
    explorer.set(model="tgp")
    own = lines(explorer)
    np.testing.assert_allclose(own[0], shared[0])
    assert np.all(np.max(np.abs(own[1:] - shared[1:]), axis=1) > 0.1)
    assert len(lines(explorer, "latents", "latent of {}")) == 4
    assert not drawn(explorer, "latents", "latent f₀(x)").visible
    assert "one for each class" in explorer.figures["latents"].layout.annotations[1].text


def test_the_words_tell_the_models_apart(explorer):
    assert "f¹ determines all others" in explorer.summary
    assert "size of 1.00" in explorer.summary
    assert explorer.title(explorer.state) == "One latent, four classes"
    explorer.set(model="independent")
    assert "f¹ says nothing" in explorer.summary
    assert "size of 1.00" not in explorer.summary
    assert lines(explorer, "pivot", "map to {}").size == 0


def test_the_drawn_dots_lie_on_the_drawn_map(explorer):
    explorer.set(flow="linear", pivot=2, focus=4)
    dots = drawn(explorer, "pivot", "joint draws")
    line = drawn(explorer, "pivot", "map to f⁴")
    slope, shift = np.polyfit(line.x, line.y, 1)
    np.testing.assert_allclose(np.array(dots.y), slope * np.array(dots.x) + shift, atol=1e-8)
    now = drawn(explorer, "pivot", "the paths now")
    n = int(np.argmin(np.abs(X - explorer.state.at)))
    np.testing.assert_allclose(now.y, lines(explorer)[:, n])
    np.testing.assert_allclose(now.x, lines(explorer)[1, n])


def test_a_click_marks_x_everywhere(explorer):
    before = {name: explorer.figures[name].data[0].y for name in explorer.full_width}
    for figure in explorer.full_width:
        explorer._on_message({"click": figure, "panel": "xy", "x": -1.52, "y": 0.3})
        assert explorer.state.at == -1.5
        for name in explorer.full_width:
            assert explorer.figures[name].layout.shapes[0].x0 == pytest.approx(-1.5)
            np.testing.assert_array_equal(explorer.figures[name].data[0].y, before[name])
        explorer.reset()
    explorer._on_message({"click": "pivot", "panel": "xy", "x": -1.52, "y": 0.3})
    assert explorer.state == explorer.State()


def test_a_class_in_focus_dims_the_others(explorer):
    explorer.set(focus=2)
    colours = [drawn(explorer, "processes", f"f{c}(x)").line.color for c in superscripts()[:4]]
    assert [f"{DIM})" in colour for colour in colours] == [True, False, True, True]
    explorer.set(focus=0)
    assert drawn(explorer, "processes", "f¹(x)").line.color == "#0072B2"


def test_a_view_leaves_the_numbers_and_flows_leave_the_latent(explorer):
    before = dict(explorer.records)
    explorer.set(pivot=3)
    assert explorer.records["processes"] is before["processes"]
    explorer.set(amount=1.5, network_seed=3, flow="tanh", dropout=0.2)
    assert explorer.records["latents"] is before["latents"]
    assert explorer.records["processes"] is not before["processes"]


@pytest.mark.slow
def test_draws_of_the_network_fill_a_band(explorer):
    def bands():
        named = [trace for trace in explorer.figures["processes"].data if "networks" in trace.name]
        return np.array([trace.y for trace in named if trace.visible])

    assert len(bands()) == 0
    explorer.set(dropout=0.4, classes=3)
    band = bands()
    assert band.shape == (3, 2 * 121)
    low, high = band[:, :121], band[:, :120:-1]
    inside = []
    for draw in range(1, 31):
        explorer.set(network_draw=draw)
        np.testing.assert_array_equal(bands(), band)
        inside.append((low <= lines(explorer)) & (lines(explorer) <= high))
    # Quantiles 5 % and 95 % of 30 draws lie between the 2nd and 3rd from either end.
    np.testing.assert_array_equal(np.sum(inside, axis=0), 26)
    explorer.set(depth=0)
    assert len(bands()) == 0


@pytest.mark.slow
@pytest.mark.parametrize("values", [{"dropout": 0.3}, {"model": "tgp", "classes": 12}])
def test_the_print_figure_has_a_panel_for_each_picture(explorer, values):
    explorer.set(**values)
    fig = explorer.print_figure()
    titles = [axes.get_title() for axes in fig.axes]
    assert sum(bool(title) for title in titles) == 5
    assert explorer.picture("svg").startswith(b"<?xml")


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_stretched_latent_with_smaller_slopes_is_the_same_model(explorer, dropout):
    explorer.set(flow="linear", dropout=dropout, network_draw=2)
    before = [drawn(explorer, "latents", "latent f₀(x)").y, lines(explorer)]
    P = lines(explorer, "probabilities", "class of {}")
    explorer.set(stretch=2.0)
    np.testing.assert_allclose(drawn(explorer, "latents", "latent f₀(x)").y, 2.0 * before[0])
    np.testing.assert_allclose(lines(explorer), before[1], atol=1e-12)
    np.testing.assert_allclose(lines(explorer, "probabilities", "class of {}"), P, atol=1e-14)
    assert "2.00 times its height (variance 4.00) and every slope divided by 2.00" in (
        explorer.summary
    )
    assert "largest change of any class probability is" in explorer.summary
    explorer.set(stretch=1.0, shift=2.0)
    moved = lines(explorer) - before[1]
    np.testing.assert_allclose(moved, [2.0 * np.sin(2.0 * X)] * 4, atol=1e-12)
    np.testing.assert_allclose(lines(explorer, "probabilities", "class of {}"), P, atol=1e-14)
    assert "the same h(x) on top" in explorer.summary


def test_only_linear_flows_are_stretched(explorer):
    before = lines(explorer)
    explorer.set(stretch=2.0, shift=1.0)
    np.testing.assert_array_equal(lines(explorer), before)
    assert explorer.controls["stretch"].layout.display == "none"
    assert "largest change" not in explorer.summary


def test_names_of_many_classes_stand_beside_their_own_lines():
    rng = np.random.default_rng(0)
    for ends in (rng.normal(size=20), np.zeros(20), np.linspace(0.0, 0.1, 20)):
        heights = name_heights(ends, (-3.0, 3.0))
        seen = np.abs(heights) <= 3.0
        assert seen.any()
        np.testing.assert_array_equal(heights[seen], ends[seen])
        assert np.all(np.diff(np.sort(heights[seen])) >= 0.25)


def test_no_class_beyond_the_last_one_stays_chosen(explorer):
    explorer.set(classes=5, focus=5, pivot=4)
    assert "became" not in explorer._page.message
    explorer.set(classes=2)
    assert (explorer.state.focus, explorer.state.pivot) == (2, 2)
    said = "There are 2 classes: pivot class 4 became 2, class in focus 5 became 2."
    assert said in explorer._page.message
    assert said in explorer._page.frame.alt
    explorer.controls["focus"].value = 20
    assert explorer.state.focus == 2
    explorer.controls["focus"].value = 1
    assert "became" not in explorer._page.message


def test_an_explorer_that_begins_beyond_its_last_class_says_so():
    explorer = KIND.from_link('{"explorer":"SharedLatentExplorer","classes":2,"focus":20}')
    assert explorer.state.focus == 2
    assert "class in focus 20 became 2" in explorer._page.message


def test_no_class_in_focus_is_called_none(explorer):
    menu = explorer.controls["focus"]
    assert menu.label == "none"
    explorer.set(focus=3)
    assert menu.label == "class 3: f³"


def test_all_classes_obey_a_held_point(explorer):
    """Given one value of f₀, every class has the value of its flow there; others keep the rest."""
    explorer.set(flow="linear", held=(1.0, 2.5, -2.0, -1.0), classes=3)
    theta = prior.random_network(flows.Linear(), 3, seed=7)(X[:, None]).numpy()
    for place, height in ((80, 2.5), (20, -1.0)):
        assert drawn(explorer, "latents", "latent f₀(x)").y[place] == pytest.approx(height)
        obeyed = theta[place, :, 0] * height + theta[place, :, 1]
        np.testing.assert_allclose(lines(explorer)[:, place], obeyed, atol=1e-6)
    np.testing.assert_allclose(drawn(explorer, "latents", "held points").y, [2.5, -1.0])
    assert "f₀ is conditioned on 2 points." in explorer.summary
    explorer.set(model="tgp")
    held = lines(explorer, "latents", "latent of {}")
    explorer.set(held=())
    free = lines(explorer, "latents", "latent of {}")
    assert np.max(np.abs(held[0] - free[0])) > 0.5
    np.testing.assert_array_equal(held[1:], free[1:])


def test_a_held_point_is_stretched_with_f0(explorer):
    explorer.set(flow="linear", held=(1.0, 2.0))
    before = lines(explorer)
    explorer.set(stretch=2.0)
    np.testing.assert_allclose(lines(explorer), before, atol=1e-6)
    assert drawn(explorer, "latents", "held points").y[0] == pytest.approx(4.0)
    assert explorer.controls["held"].unit == 2.0


def test_undo_takes_back_one_change_at_a_time(explorer):
    explorer.set(classes=3)
    explorer.set(held=(0.0, 1.0))
    explorer.set(held=(0.0, 2.0))  # soon after: the same drag
    explorer._on_message({"do": "undo"})
    assert (explorer.state.held, explorer.state.classes) == ((), 3)
    explorer._on_message({"do": "undo"})
    assert explorer.state.classes == 4


def test_mixed_latents_turn_the_line_into_a_cloud(explorer):
    """Mixing 0 is ETGP; with more of it, one class no longer determines another."""
    explorer.set(flow="linear", network_seed=0)
    shared, line = lines(explorer), explorer.records["pivot"].draws
    explorer.set(model="mixed", mixing=0.0)
    np.testing.assert_array_equal(lines(explorer), shared)
    np.testing.assert_array_equal(explorer.records["pivot"].draws, line)
    assert "f¹ determines all others" in explorer.summary
    explorer.set(mixing=0.4, latents=3)
    assert explorer.records["pivot"].maps is None
    assert "but does not determine them" in explorer.summary
    assert explorer.title(explorer.state).startswith("Three latents, four classes")
    f0 = drawn(explorer, "latents", "latent f₀(x)").y
    others = [drawn(explorer, "latents", f"latent {name}(x)") for name in ("f₂", "f₃", "f₄")]
    assert [trace.visible for trace in others] == [True, True, False]
    mixing = shared_latent.mixing_matrix(4, 3, 0.4, seed=0)
    mixture = mixing @ np.array([f0, *(trace.y for trace in others[:2])])
    theta = prior.random_network(flows.Linear(), 4, seed=0)(X[:, None]).numpy()
    expected = theta[:, :, 0].T * mixture + theta[:, :, 1].T
    np.testing.assert_allclose(lines(explorer), expected, atol=1e-4)
