"""The timing explorer: a race that can be watched, paused and stopped, with a race of the tests."""

import time

import numpy as np
import pytest

from etgp_viz import timing
from etgp_viz.explorers import TimingExplorer

pytestmark = pytest.mark.slow  # all together; see `make test-fast`

TURNS = 60


class FakeRace:
    """Takes turns like `timing.Race`; its table is the reference run, one model a turn."""

    made: list["FakeRace"] = []  # noqa: RUF012

    def __init__(self, settings):
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


def test_an_epoch_is_so_many_steps(explorer):
    step = {line.name: line.y for line in explorer.records["classes"].lines}
    explorer.set(quantity="epoch", dataset="vowel")
    for line in explorer.records["classes"].lines:
        np.testing.assert_allclose(line.y, step[line.name] * 528 / 1000)
