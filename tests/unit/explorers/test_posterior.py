"""The posterior explorer: what is drawn, what a click does, and what stays when a slider moves."""

import numpy as np
import pytest

from etgp_viz.explorers import PosteriorExplorer
from etgp_viz.explorers.posterior import PLACE, X, build_kernel
from etgp_viz.explorers.posterior_controls import MAX_OBSERVATIONS
from etgp_viz.records import posterior

KIND = PosteriorExplorer


def trace(explorer, figure, name):
    (found,) = (trace for trace in explorer.figures[figure].data if trace.name == name)
    return found


def curve(explorer, name, figure="functions"):
    return np.array(trace(explorer, figure, name).y)


def band(explorer, at, name="posterior, mean ± 2 sd"):
    """Width of a band at an input."""
    low, high = curve(explorer, name).reshape(2, -1)
    return (high[::-1] - low)[np.argmin(np.abs(X - at))]


def test_a_click_pinches_the_band_where_it_is(explorer):
    wide, elsewhere = band(explorer, 3.0), band(explorer, -3.3)
    explorer.on_click("functions", "xy", 3.001, 1.234)
    assert explorer.state.observations[-2:] == (3.0, 1.23)
    assert band(explorer, 3.0) < 0.12 * wide
    assert band(explorer, -3.3) == pytest.approx(elsewhere, rel=1e-3)
    assert curve(explorer, "mean of the posterior")[280] == pytest.approx(1.23, abs=0.05)
    assert band(explorer, 3.0, "prior, mean ± 2 sd") == pytest.approx(4.0)
    assert "6 observations" in explorer.summary
    explorer.on_click("evidence", "xy", 1.0, 1.0)
    assert len(explorer.state.observations) == 12


def test_a_click_beside_the_axes_stays_within_them(explorer):
    explorer.on_click("functions", "xy", 9.0, -99.0)
    assert explorer.state.observations[-2:] == (4.0, -6.0)


def test_observations_can_lie_where_the_curves_are_drawn():
    """Their grid is that of the pictures, bit for bit, so that the pinch is seen."""
    assert {PLACE.check(x) for x in X} == set(X.tolist())


def test_a_full_table_says_so(explorer):
    explorer.set(observations=(0.0, 0.0) * MAX_OBSERVATIONS)
    explorer.on_click("functions", "xy", 0.0, 0.0)
    assert "room for 40 observations" in explorer._page.message
    assert len(explorer.state.observations) == 2 * MAX_OBSERVATIONS


def test_draws_pass_observations_without_noise_and_keep_their_noise(explorer):
    explorer.set(observations=(-1.0, 1.0, 1.0, -0.5), noise=0.0)
    for k in range(4):
        draw = curve(explorer, f"draw {k + 1} from the posterior")
        np.testing.assert_allclose(draw[[120, 200]], [1.0, -0.5], atol=0.02)
    prior = curve(explorer, "draw 1 from the prior")
    explorer.set(observations=(2.0, 2.0), noise=0.5)
    np.testing.assert_array_equal(curve(explorer, "draw 1 from the prior"), prior)
    explorer.set(lengthscale=1.02)
    assert np.max(np.abs(curve(explorer, "draw 1 from the prior") - prior)) < 0.3
    explorer.resample()
    assert np.max(np.abs(curve(explorer, "draw 1 from the prior") - prior)) > 0.5


def test_observing_a_draw_leads_to_it(explorer):
    explorer.set(observations=(), noise=0.0, lengthscale=1.2)
    truth = curve(explorer, "draw 1 from the posterior")
    for _ in range(11):
        explorer.observe_draw()
    np.testing.assert_allclose(curve(explorer, "mean of the posterior"), truth, atol=0.2)
    assert np.max(explorer.records["functions"].deviation) < 0.1


def test_the_evidence_is_maximised(explorer):
    explorer._choose_preset("Too short a lengthscale")
    before = explorer.records["evidence"]
    explorer.maximise_evidence()
    after = explorer.records["evidence"]
    assert explorer.state.lengthscale == pytest.approx(before.best, rel=1e-5)
    assert after.at_log_likelihood == pytest.approx(before.best_log_likelihood, abs=1e-6)
    assert after.at_log_likelihood > before.at_log_likelihood + 5.0
    assert "no other lengthscale gives more" in explorer.summary


@pytest.mark.parametrize(
    ("values", "field", "axis"),
    [
        ({"kernel": "matern32"}, "lengthscale", "lengthscale ℓ"),
        ({"kernel": "linear", "combine": "×", "kernel2": "rbf"}, "lengthscale2", "second kernel"),
        ({"kernel": "linear"}, "variance", "variance σ²"),
        ({"kernel": "linear", "combine": "+", "kernel2": "linear"}, "variance", "variance σ²"),
    ],
)
def test_the_evidence_is_that_of_a_parameter_which_the_kernel_has(explorer, values, field, axis):
    explorer.set(**values)
    assert axis in explorer.figures["evidence"].layout.xaxis.title.text
    best = explorer.records["evidence"].best
    explorer.maximise_evidence()
    assert getattr(explorer.state, field) == pytest.approx(best, rel=1e-5)


def test_hidden_controls_change_nothing(explorer):
    """A product has one variance; a linear kernel has no lengthscale; a lone kernel is alone."""
    for values, hidden in (
        ({"combine": "×"}, {"variance2": 3.0}),
        ({"combine": "alone", "kernel": "linear"}, {"lengthscale": 0.3}),
        ({"combine": "alone", "kernel": "rbf"}, {"kernel2": "linear", "period": 5.0}),
    ):
        explorer.set(**values)
        assert all(explorer.controls[name].layout.display == "none" for name in hidden)
        before = explorer.table()
        explorer.set(**hidden)
        assert explorer.table() == before


@pytest.mark.parametrize(
    ("shows", "expected"),
    [("posterior", (False, True)), ("prior", (True, False)), ("both", (True, True))],
)
def test_prior_against_posterior(explorer, shows, expected):
    explorer.set(shows=shows, draws=2, shows_new=True)
    names = ("prior, mean ± 2 sd", "posterior, mean ± 2 sd")
    for name, visible in zip(names, expected, strict=True):
        assert trace(explorer, "functions", name).visible is visible
    for k in range(6):
        for kind, visible in zip(("prior", "posterior"), expected, strict=True):
            shown = trace(explorer, "functions", f"draw {k + 1} from the {kind}").visible
            assert shown is (visible and k < 2)
    assert trace(explorer, "functions", "new observation, + 2 sd").visible is expected[1]
    assert trace(explorer, "functions", "observations").visible is True


def test_a_new_observation_is_scattered_by_the_noise_too(explorer):
    explorer.set(noise=0.4, shows_new=True)
    record = explorer.records["functions"]
    spread = curve(explorer, "new observation, + 2 sd") - record.mean
    np.testing.assert_allclose(spread, 2.0 * np.sqrt(record.deviation**2 + 0.16))
    bars = trace(explorer, "functions", "observations").error_y.array
    np.testing.assert_allclose(bars, 0.8)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"observations": ()}, "the posterior is the prior, whose band (mean ± 2 sd) is 0 ± 2.00"),
        ({"observations": (1.0, 0.0), "noise": 0.0}, "1 observation narrows the band from ± 2.00"),
        ({"observations": (1.0, -1.0, 1.0, 1.0), "noise": 0.0},
         "two observations differ by far more than the noise sd of 0.001 allows"),
        ({"observations": (1.0, -1.0, 1.0, 1.0), "noise": 0.5}, "The log marginal likelihood is"),
        ({"observations": (-1.0, 3.0, 1.0, -3.0)}, "(an end of the slider) would give the most"),
    ],
)  # fmt: skip
def test_it_says_what_it_shows(explorer, values, words):
    explorer.set(**values)
    assert words in explorer.summary
    assert ("far more" in explorer.summary) == (values == {
        "observations": (1.0, -1.0, 1.0, 1.0), "noise": 0.0})  # fmt: skip


def test_every_preset_tells_what_its_story_says(explorer):
    explorer._choose_preset("Two points, and the band pinches")
    assert max(band(explorer, -1.5), band(explorer, 1.0)) < 0.01 < band(explorer, -0.25)
    explorer._choose_preset("A rhythm goes on")
    assert band(explorer, 3.5) < 0.7
    explorer.set(kernel="rbf")
    assert band(explorer, 3.5) > 3.9
    explorer._choose_preset("A trend and wiggles")
    assert curve(explorer, "mean of the posterior")[-1] > 2.0
    explorer._choose_preset("A rhythm that changes")
    assert band(explorer, 0.0) < band(explorer, 1.0) < band(explorer, 4.0)
    explorer._choose_preset("Noise")
    assert band(explorer, 0.0) < 1.1 < 2 * 2 * explorer.state.noise


# The table of observations ------------------------------------------------------------------


def test_undo_takes_back_one_change_at_a_time(explorer):
    control = explorer.controls["observations"]
    start = control.value
    explorer.on_click("functions", "xy", 2.0, 1.0)
    control.set_state({"value": [0.0, 0.0]})  # as a page sends it
    assert explorer.state.observations == (0.0, 0.0)
    control._on_message(control, {"undo": True}, [])
    assert explorer.state.observations == (*start, 2.0, 1.0)
    control.undo()
    assert explorer.state.observations == start


def test_a_drag_is_one_change(explorer):
    control = explorer.controls["observations"]
    start = control.value
    for held in (True, False):
        control.held = held
        for x in (0.5, 0.6, 0.7):
            if held:
                control.value = (*start, x, 0.0)
    explorer.on_click("functions", "xy", 2.0, 1.0)
    control.undo()
    assert control.value == (*start, 0.7, 0.0)
    control.undo()
    assert control.value == start


def test_the_handout_adds_one_observation_after_another(explorer):
    label, walk = explorer.tour()
    widths = {position: (text, band(explorer, -1.2)) for position, text, _ in walk}
    assert label == "observations"
    assert [widths[k][0] for k in sorted(widths)] == ["0", "1", "2", "3", "4", "5"]
    assert widths[0][1] > 3.9 > 0.6 > widths[3][1]
    assert len(explorer.state.observations) == 10


# Turning draws ------------------------------------------------------------------------------


def test_the_player_turns_the_draws_and_nothing_else(explorer):
    control = explorer.controls["turn"]
    draw, mean = "draw 1 from the posterior", "mean of the posterior"
    before, still = curve(explorer, draw), curve(explorer, mean)
    words, frames = explorer.summary, control.player.frames
    control._turn({"turn": "frame"})
    assert (control.value, explorer.state.turn, control.slider.value) == (3.0, 3.0, 3.0)
    assert control.player.frames == frames + 1
    assert 0.0 < np.max(np.abs(curve(explorer, draw) - before)) < 0.5
    np.testing.assert_array_equal(curve(explorer, mean), still)
    assert explorer.summary == words
    control._turn({"turn": "step"})
    assert explorer.state.turn == 33.0
    explorer.set(turn=357.0)
    control._turn({"turn": "frame"})
    assert explorer.state.turn == 0.0
    np.testing.assert_allclose(curve(explorer, draw), before)


def test_the_kernel_of_the_state(explorer):
    explorer.set(kernel="matern12", variance=2.0, combine="+", kernel2="periodic", variance2=0.5)
    expected = posterior.Kernel("matern12", 1.0, 2.0) + posterior.Kernel("periodic", 1.0, 0.5)
    assert build_kernel(explorer.state) == expected
    assert explorer.title(explorer.state).endswith("(Matérn 1/2 + periodic kernel)")
