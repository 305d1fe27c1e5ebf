"""The timing explorer: a race that can be watched, paused and stopped, with a race of the tests."""

import time

import numpy as np
import pytest

from etgp_viz import timing
from etgp_viz.explorers import TimingExplorer
from etgp_viz.records.timing import Line, score

pytestmark = pytest.mark.slow  # all together; see `make test-fast`

TURNS = 60


class FakeRace:
    """Takes turns like `timing.Race`; its table is the reference run, one model a turn."""

    made: list["FakeRace"] = []  # noqa: RUF012

    def __init__(self, settings, early):
        assert early  # somebody is watching
        self.settings, self.turns, self.is_closed = settings, 0, False
        FakeRace.made.append(self)

    def __iter__(self):
        try:
            for turn in range(TURNS):
                yield timing.Progress(turn, TURNS, f"turn {turn}")
                time.sleep(0.03)
                self.turns = turn + 1
            yield timing.Progress(TURNS, TURNS, "done")
        finally:
            self.is_closed = True

    def table(self):
        table = timing.reference()
        return table[table["model"].isin(list(timing.MODELS)[: self.turns])]


@pytest.fixture
def explorer(monkeypatch):
    monkeypatch.setattr(timing, "Race", FakeRace)
    FakeRace.made = []
    return TimingExplorer()


def measured(explorer):
    """Names of the models that have measured points in the picture."""
    return {
        trace.name.partition(",")[0]
        for trace in explorer.figures["classes"].data
        if trace.name.endswith("measured") and len(trace.y)
    }


def wait_for_the_end(explorer):
    worker = explorer._worker
    if worker is not None:
        worker.join(20)
    assert explorer._worker is None


def test_before_a_race_only_the_reference_is_drawn(explorer):
    assert measured(explorer) == set()
    assert "Reference run on" in explorer.summary
    machine = timing.reference().attrs["machine"]
    assert machine["processor"] in explorer.summary


def test_a_race_runs_to_its_end_and_is_drawn(explorer):
    explorer.run()
    wait_for_the_end(explorer)
    assert measured(explorer) == set(timing.reference()["model"]) & set(list(timing.MODELS)[:TURNS])
    assert explorer.summary.startswith("Race: done.")
    assert FakeRace.made[0].is_closed
    assert FakeRace.made[0].settings.classes == (2, 10, 50)
    assert "timing.sweep" in explorer.to_code().splitlines()[4]


def test_a_paused_race_goes_on_where_it_was(explorer):
    explorer.run()
    while FakeRace.made[0].turns < 2:
        time.sleep(0.01)
    explorer.pause()
    wait_for_the_end(explorer)
    assert "paused" in explorer.summary
    explorer.run()
    wait_for_the_end(explorer)
    assert "done" in explorer.summary
    assert len(FakeRace.made) == 1
    assert FakeRace.made[0].turns == TURNS


@pytest.mark.parametrize("paused", [False, True])
def test_a_stopped_race_ends_its_processes_and_keeps_its_times(explorer, paused):
    explorer.run()
    while FakeRace.made[0].turns < 2:
        time.sleep(0.01)
    if paused:
        explorer.pause()
        wait_for_the_end(explorer)
    explorer.stop()
    wait_for_the_end(explorer)
    assert FakeRace.made[0].is_closed
    assert "stopped" in explorer.summary
    assert measured(explorer)
    explorer.run()
    wait_for_the_end(explorer)
    assert len(FakeRace.made) == 2


def test_a_race_that_fails_says_so_and_another_can_be_run(explorer, monkeypatch):
    def broken(self):
        raise RuntimeError("no processes left")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(FakeRace, "__iter__", broken)
        explorer.run()
        wait_for_the_end(explorer)
    assert "no processes left" in explorer._page.message
    explorer.run()
    wait_for_the_end(explorer)
    assert "done" in explorer.summary


def test_nobody_to_race(monkeypatch):
    none = {name: False for name in TimingExplorer().controls if name.startswith(("svgp", "etgp"))}
    explorer = TimingExplorer(**none, tgp=False)
    explorer.run()
    assert "cannot be run: models" in explorer._page.message


def test_the_guess_starts_at_the_first_point_and_has_its_slope(explorer):
    explorer.set(show_guess=True, guess_svgp=1.5)
    lines = {(line.name, line.kind): line for line in explorer.records["classes"].lines}
    known, guess = lines["svgp-separate", "reference"], lines["svgp-separate", "guess"]
    assert guess.y[0] == known.y[0]
    slope = np.diff(np.log(guess.y)) / np.diff(np.log(guess.x))
    np.testing.assert_allclose(slope, 1.5)
    flat = lines["etgp-linear", "guess"]
    np.testing.assert_allclose(flat.y, flat.y[0])


def test_whoever_moves_a_slope_sees_the_prediction(explorer):
    explorer.reset()
    assert not explorer.state.show_guess
    explorer.controls["guess_svgp"].value = 0.5
    assert explorer.state.show_guess
    explorer.reset()
    assert not explorer.state.show_guess


def test_an_epoch_is_so_many_steps(explorer):
    step = {line.name: line.y for line in explorer.records["classes"].lines}
    explorer.set(quantity="epoch", dataset="vowel")
    for line in explorer.records["classes"].lines:
        np.testing.assert_allclose(line.y, step[line.name] * 528 / 1000)


# What is said, and what is predicted ----------------------------------------------------------


def test_the_sentence_is_about_what_the_title_shows(explorer):
    explorer.set(quantity="memory")
    lines = {line.name: line for line in explorer.records["classes"].lines}
    own, rival = lines["etgp-linear"], lines["svgp-separate"]
    assert "the peak memory of a step of ETGP LINEAR is" in explorer.summary
    assert f"{own.y[-1]:.3g} MiB" in explorer.summary
    assert f"SVGP separate {rival.y[-1] / own.y[-1]:.3g} times that" in explorer.summary
    assert "a step of SVGP" not in explorer.summary
    explorer.set(quantity="first_step")
    assert "the first step, with tracing and compiling, of ETGP LINEAR takes" in explorer.summary
    assert "MiB" not in explorer.summary
    explorer.set(quantity="step")
    assert "a step of SVGP separate takes" in explorer.summary


def test_the_fitted_cost_model_appears_when_it_is_ticked(explorer):
    explorer._choose_preset("The paper's claim")
    dotted = [
        trace
        for trace in explorer.figures["classes"].data
        if trace.name.endswith("fit") and len(trace.x)
    ]
    assert {trace.name for trace in dotted} >= {"etgp-linear, fit", "svgp-separate, fit"}
    reference = {line.name: line for line in explorer.records["classes"].lines[:4]}
    for trace in dotted:
        assert trace.line.dash == "dot"
        line = reference[trace.name.removesuffix(", fit")]
        assert trace.y[-1] == pytest.approx(line.y[-1], rel=0.5)
    explorer.set(quantity="memory")
    assert explorer.controls["fit"].layout.display == "none"  # there is no such model of memory


def test_predict_then_reveal(explorer):
    explorer._choose_preset("Predict, then reveal")
    shown = {line.name: line for line in explorer.records["classes"].lines if line.kind != "guess"}
    assert all(len(line.x) == 1 for line in shown.values())
    assert "press reveal" in explorer.summary
    assert "times as long" not in explorer.summary
    truth = {line.name: line for line in explorer._truth(explorer.state).lines}
    first = next(line for name, line in truth.items() if name.startswith("svgp"))
    explorer.on_click("classes", "xy", first.x[-1], first.y[-1])  # exactly where it will be
    slope = np.log(first.y[-1] / first.y[0]) / np.log(first.x[-1] / first.x[0])
    assert explorer.state.guess_svgp == pytest.approx(slope, abs=0.026)
    explorer.set(sketch="etgp")
    explorer.on_click("classes", "xy", 20.0, 1000.0)
    assert explorer.state.guess_etgp == 2.0
    explorer.reveal()
    lines = [line for line in explorer.records["classes"].lines if line.kind == "reference"]
    assert all(len(line.x) > 1 for line in lines)
    assert "Your prediction scores" in explorer.summary
    assert "furthest off for ETGP LINEAR" in explorer.summary
    assert "too high at the largest C" in explorer.summary


def test_a_perfect_prediction_scores_100():
    x, y = np.array([2.0, 20.0]), np.array([1.0, 10.0])
    line = Line("tgp", "TGP", "measured", x, y, y, y)
    curves = timing.Curves(("tgp",), (line,), "", "", True)
    assert score(curves, {"tgp": 1.0}).points == 100
    assert score(curves, {"tgp": 0.5}).points == 50  # off by √10
    assert score(curves, {"tgp": 2.0}).points == 0
    assert score(curves, {"etgp-linear": 2.0}) is None


def test_there_is_a_progress_bar_from_the_first_turn(explorer):
    assert explorer._bar.value == ""
    explorer.run()
    assert "<progress" in explorer._bar.value
    while FakeRace.made[0].turns < 3:
        time.sleep(0.01)
    explorer.pause()
    wait_for_the_end(explorer)
    share = float(explorer._bar.value.partition("value='")[2].partition("'")[0])
    assert 0.0 < share < 1.0
    explorer.run()
    wait_for_the_end(explorer)
    assert "value='1.000'" in explorer._bar.value
