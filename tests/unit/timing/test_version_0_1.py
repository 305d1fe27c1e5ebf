"""Races that version 0.1.0 wrote can be read and resumed."""

import json
import shutil
from pathlib import Path

import pytest

from etgp_viz import timing
from etgp_viz.timing import log
from tests.unit.timing.test_race import Clock, FakeChildren

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0_1_0"


@pytest.fixture
def race(tmp_path, monkeypatch):
    """A copy of the race, on a machine that is the one it was run on."""
    path = Path(shutil.copy(FIXTURES / "race.csv", tmp_path))
    header = json.loads(path.read_text().splitlines()[0].removeprefix("# "))
    monkeypatch.setattr(log, "describe_machine", lambda: header["machine"])
    return path


def settings_of(table):
    values = table.attrs["settings"].items()
    return timing.Settings(**{k: tuple(v) if isinstance(v, list) else v for k, v in values})


def resumed(path):
    """The table of the resumed race, and what its children were asked for."""
    children = FakeChildren(Clock())
    race = timing.Race(settings_of(timing.read(path)), path, resume=True, start=children)
    assert [step.words for step in race][-1] == "done"
    assert children.draws <= {100}  # of that version's predictions
    return race.table(), children.asked


def test_a_race_is_read():
    table = timing.read(FIXTURES / "race.csv")
    expected = json.loads((FIXTURES / "expected.json").read_text())["race"]
    assert [list(row) for row in table[["model", "classes", "step"]].to_numpy()] == expected
    assert set(table["status"]) == {"ok"}
    assert table.attrs["machine"]["versions"]["etgp-viz"] == "0.1.0"


def test_a_finished_race_is_not_run_again(race):
    content = race.read_bytes()
    table, asked = resumed(race)
    assert asked == []
    assert table.to_json() == timing.read(FIXTURES / "race.csv").to_json()
    assert race.read_bytes() == content


def test_an_interrupted_race_is_resumed_where_it_stopped(race):
    lines = race.read_bytes().splitlines(keepends=True)
    kept = b"".join(lines[:-4])  # etgp-linear at C = 3 lacks its last predictions
    race.write_bytes(kept + lines[-4][:9])
    table, asked = resumed(race)
    assert race.read_bytes().startswith(kept)
    assert set(table["status"]) == {"ok"}
    assert table["rounds"].tolist() == [2] * 4
    assert {what[1] for what in asked} == {3}
    timed = [what for what in asked if what[2] == "time"]
    missing = [line.split(b",")[5].decode() for line in lines[-4:]]
    assert len(timed) == sum(name in ("step", "prediction", "prediction_ba") for name in missing)


def test_the_race_of_another_machine_is_not_resumed(race, monkeypatch):
    monkeypatch.setattr(log, "describe_machine", lambda: {"cores": 1000})
    with pytest.raises(ValueError, match=r"resume: .*same machine.*cores \(there 2, here 1000\)"):
        resumed(race)
