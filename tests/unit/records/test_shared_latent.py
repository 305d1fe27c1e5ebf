"""One latent or many: the numbers against loops and closed forms, and what the explorer draws."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import spearmanr

from etgp_viz.core import flows
from etgp_viz.explorers import SharedLatentExplorer
from etgp_viz.figures.classes import DIM, MAX_CLASSES
from etgp_viz.records import prior, shared_latent

X = np.linspace(-3.0, 3.0, 121)
FLOWS = {"linear": flows.Linear(), "sal": flows.SAL(1), "tanh": flows.Tanh(2, 1)}


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def softplus(raw):
    return np.log1p(np.exp(raw))


def by_hand(name, f, raw):
    """G(f) of one number from raw parameters, as the formulas are written."""
    if name == "linear":
        return raw[0] * f + raw[1]
    if name == "sal":
        a, b, d, e = raw[0], softplus(raw[1]), softplus(raw[2]), raw[3]
        return d * np.sinh(b * np.arcsinh(f) - a) + e
    steps = [(softplus(raw[k]), softplus(raw[k + 1]), raw[k + 2]) for k in (0, 3)]
    return f + sum(a * np.tanh(b * (f + c)) for a, b, c in steps)


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("model", shared_latent.MODELS)
def test_processes_are_the_formulas(model, name, rng):
    draws, params = rng.normal(size=(5, 4)), rng.normal(size=(3, 4, FLOWS[name].num_params))
    latents = shared_latent.latents(model, np.arange(4.0), draws, 3)
    assert latents.values.shape == ((1, 4) if model == "etgp" else (3, 4))
    actual = shared_latent.warp(model, FLOWS[name], latents.values, params)
    for c in range(3):
        for n in range(4):
            f = draws[0 if model == "etgp" else c, n]
            expected = f if model == "independent" else by_hand(name, f, params[c, n])
            assert actual[c, n] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", FLOWS)
def test_the_pivot_determines_the_others(name, rng):
    """The inverse by a root finder on the formula, and joint draws that lie on the maps."""
    flow, raw = FLOWS[name], rng.normal(size=(3, FLOWS[name].num_params))
    draws = shared_latent.joint_draws("etgp", flow, raw, 1.5, rng.normal(size=(3, 50)))
    record = shared_latent.pivot("etgp", flow, raw, 1.5, draws, draws[:, 0], 0.0, 2, 1)
    ends = sorted(by_hand(name, s * 2.0 * np.sqrt(1.5), raw[2]) for s in (-1, 1))
    np.testing.assert_allclose(record.grid[[0, -1]], ends)
    for k in (0, 17, 40, 80):
        f = brentq(lambda f, k=k: by_hand(name, f, raw[2]) - record.grid[k], -5, 5, xtol=1e-14)
        expected = [by_hand(name, f, raw[c]) for c in range(3)]
        np.testing.assert_allclose(record.maps[:, k], expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(record.draws, draws[[2, 1]])
    for known, other in record.draws.T[:10]:
        f = brentq(lambda f, g=known: by_hand(name, f, raw[2]) - g, -9, 9, xtol=1e-14)
        assert by_hand(name, f, raw[1]) == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("model", ["independent", "tgp"])
def test_there_are_no_maps_between_separate_latents(model, rng):
    flow, raw = flows.Linear(), rng.normal(size=(3, 2))
    draws = shared_latent.joint_draws(model, flow, raw, 1.0, rng.normal(size=(3, 5)))
    record = shared_latent.pivot(model, flow, raw, 1.0, draws, draws[:, 0], 0.0, 2)
    assert record.maps is None
    assert record.partner == 0  # the class after the last is the first


def test_dependence_is_spearmans_and_tells_the_models_apart(rng):
    flow, raw = flows.Linear(), rng.normal(size=(4, 2))
    noise, S = rng.normal(size=(4, 400)), 400
    for model in shared_latent.MODELS:
        draws = shared_latent.joint_draws(model, flow, raw, 2.0, noise)
        record = shared_latent.dependence(0.0, draws)
        expected = spearmanr(draws, axis=1).statistic
        np.testing.assert_allclose(record.rank_correlation, expected, atol=1e-12)
        pairs = expected[np.triu_indices(4, 1)]
        assert record.strength == pytest.approx(np.mean(np.abs(pairs)))
        if model == "etgp":  # each pair is ±1, by the signs of the two slopes
            signs = np.sign(np.outer(raw[:, 0], raw[:, 0]))
            np.testing.assert_allclose(record.rank_correlation, signs, atol=1e-12)
        else:  # the standard error of Spearman's correlation of independent values
            assert np.max(np.abs(pairs)) < 4.0 / np.sqrt(S - 1)


def test_the_amount_of_a_random_network_is_a_straight_line():
    flow = FLOWS["tanh"]
    one, some = (
        shared_latent.flow_params(prior.random_network(flow, 3, amount=amount, seed=4), X)
        for amount in (1.0, 0.3)
    )
    np.testing.assert_allclose(shared_latent.change(flow, one, 0.3), some, atol=1e-12)


def test_a_draw_of_the_network_is_one_network_at_every_x():
    """Each draw uses the same hidden units at all x: parameters of a smooth function."""
    network = prior.random_network(flows.Linear(), 2, hidden=(6,), dropout=0.5, seed=1)
    params = shared_latent.flow_params(network, X, samples=40)
    hidden = np.tanh(X[:, None] @ network.layers[0].weights.numpy() + network.layers[0].bias)
    features = np.column_stack([hidden * 2.0, np.ones(len(X))])  # 1/(1 − 0.5), and the bias
    output = np.vstack([network.output.weights.numpy(), network.output.bias.numpy()])
    seen = set()
    for s in range(40):
        # Which units were kept: the least squares that explain the draw have weights 0 or 1.
        columns = features * output[:, 0]
        kept, *_ = np.linalg.lstsq(columns, params[s, 0, :, 0], rcond=None)
        assert np.all(np.isclose(kept, 0.0, atol=1e-5) | np.isclose(kept, 1.0, atol=1e-5))
        seen.add(tuple(np.round(kept[:-1])))
    assert len(seen) > 10


def test_the_band_holds_ninety_percent_of_the_draws(rng):
    drawn = rng.normal(size=(21, 2, 3))
    band = shared_latent.processes(np.arange(3.0), drawn[0], drawn).band
    for c in range(2):
        for n in range(3):  # of 21 sorted draws the second and the last but one
            ordered = np.sort(drawn[:, c, n])
            np.testing.assert_allclose(band[c, :, n], ordered[[1, -2]])


def test_bad_arguments_say_what_is_wrong():
    with pytest.raises(ValueError, match="model: expected one of"):
        shared_latent.latents("gp", X, np.zeros((4, 121)), 3)
    with pytest.raises(ValueError, match="num_classes: expected"):
        shared_latent.latents("etgp", X, np.zeros((4, 121)), 5)


# What the explorer draws ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared():
    return SharedLatentExplorer()


@pytest.fixture
def explorer(shared):
    shared.reset()
    return shared


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
    assert "1.00 in size" in explorer.summary
    assert explorer.title(explorer.state) == "One latent, four classes"
    explorer.set(model="independent")
    assert "f¹ says nothing" in explorer.summary
    assert "1.00 in size" not in explorer.summary
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
