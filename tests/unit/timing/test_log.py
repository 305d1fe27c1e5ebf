"""The file of a sweep: what goes in comes out, and nothing wrong gets in."""

import dataclasses
import json
import platform
from pathlib import Path

import numpy as np
import pytest

from etgp_viz import timing
from etgp_viz.files import GrowingTable
from etgp_viz.rivals.names import PREDICTIVE_DRAWS
from etgp_viz.timing.log import COLUMNS, Log, Measurement, Settings

SETTINGS = {
    "models": ("etgp-linear", "svgp-shared"),
    "classes": (2, 10),
    "num_data": (50,),
    "num_inducing": (10,),
    "num_inputs": 2,
    "repeats": 4,
    "sessions": 2,
    "budget": 60.0,
    "memory": False,
    "memory_limit": None,
}


def settings(**changes):
    return Settings(**(SETTINGS | changes))


def filled(path):
    log = Log(settings(), path)
    for session, seconds in ((0, (0.01, 0.03, 0.02)), (1, (0.05, 0.04))):
        for value in seconds:
            log.add(Measurement("etgp-linear", 2, 50, 10, session, "step", value))
        log.add(Measurement("etgp-linear", 2, 50, 10, session, "spent", 9.0))
    log.add(Measurement("etgp-linear", 2, 50, 10, 0, "first_step", 3.5))
    log.add(Measurement("svgp-shared", 10, 50, 10, 0, "status", 'failed: a, "b"'))
    return log


def rewrite(path, change):
    """Change the header of a file, as if it had been begun with another one."""
    file = GrowingTable(path, COLUMNS, "file", "a race")
    contents = file.read()
    change(contents.header)
    path.write_text(file.text(contents.header, (row.values() for row in contents.rows)))


def test_the_table_of_a_file_is_the_table_of_the_sweep(tmp_path):
    log = filled(tmp_path / "a.csv")
    table = log.table()
    assert timing.read(tmp_path / "a.csv").to_json() == table.to_json()
    assert timing.read(tmp_path / "a.csv").attrs == table.attrs
    row = table.iloc[0]
    assert row["step_rounds"] == [[0.01, 0.03, 0.02], [0.05, 0.04]]
    assert (row["step_low"], row["step"], row["step_high"]) == (0.02, 0.03, 0.04)
    assert (row["sessions"], row["rounds"], row["first_step"]) == (2, 5, 3.5)
    assert list(table["status"]) == ["ok", "unfinished", "unfinished", 'failed: a, "b"']
    assert list(zip(table["model"], table["classes"], strict=True)) == [
        ("etgp-linear", 2),
        ("etgp-linear", 10),
        ("svgp-shared", 2),
        ("svgp-shared", 10),
    ]


def test_the_header_tells_the_machine_and_no_names(tmp_path):
    filled(tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    header = json.loads(text.splitlines()[0].removeprefix("# "))
    assert {"processor", "cores", "memory_gib", "system", "versions"} == set(header["machine"])
    assert header["machine"]["versions"]["tensorflow"].startswith("2.")
    for secret in (platform.node(), str(Path.home()), str(tmp_path), str(Path.cwd())):
        assert secret not in text


def test_half_a_line_is_left_out_and_then_overwritten(tmp_path):
    path = tmp_path / "a.csv"
    whole = filled(path).table()
    with open(path, "a") as file:
        file.write("svgp-shared,2,50,10,0,st")
    assert timing.read(path).to_json() == whole.to_json()
    log = Log(settings(), path, resume=True)
    log.add(Measurement("svgp-shared", 2, 50, 10, 0, "step", 0.5))
    assert timing.read(path).to_json() == log.table().to_json()
    assert log.table().iloc[2]["step"] == 0.5


@pytest.mark.parametrize(
    "content",
    ["", "nonsense\n", "# {}\nmodel\n", '# {"settings": 3}\n', "# [1\n", "\udcff"],
)
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"file: expected a file written by timing.sweep"):
        timing.read(path)


def test_a_broken_line_inside_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    filled(path)
    GrowingTable(path, COLUMNS, "file", "a race").add(
        [("svgp-shared", "two", 50, 10, 0, "step", 1)]
    )
    with pytest.raises(ValueError, match=r"file: expected .* got a.csv with a broken line 12$"):
        timing.read(path)


def test_other_settings_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    filled(path)
    with pytest.raises(ValueError, match=r"resume: .*same settings.*repeats \(there 4, here 8\)"):
        Log(settings(repeats=8), path, resume=True)
    with pytest.raises(ValueError, match=r"out: expected a new file, or resume .*got a.csv"):
        Log(settings(), path)
    rewrite(path, lambda header: header["machine"].update(cores=9))
    with pytest.raises(ValueError, match=r"resume: .*same machine.*cores \(there 9"):
        Log(settings(), path, resume=True)


def test_a_file_is_continued_with_the_draws_it_began_with(tmp_path):
    path = tmp_path / "a.csv"
    filled(path)
    draws = timing.read(path).attrs["predictive_draws"]
    assert draws == PREDICTIVE_DRAWS
    rewrite(path, lambda header: header.update(predictive_draws=7))
    assert timing.read(path).attrs["predictive_draws"] == 7
    assert Log(settings(), path, resume=True).predictive_draws == 7
    rewrite(path, lambda header: header.pop("predictive_draws"))  # as written by version 0.1
    assert timing.read(path).attrs["predictive_draws"] == 100
    assert Log(settings(), path, resume=True).predictive_draws == 100


def test_resume_without_a_file_begins_one(tmp_path):
    assert len(Log(settings(), tmp_path / "sub" / "a.csv", resume=True).table()) == 4
    assert (tmp_path / "sub" / "a.csv").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ("etgp-cubic",)}, "models: expected one of 'etgp-linear'"),
        ({"models": ()}, "models: expected one or more different"),
        ({"classes": (2, 2)}, "classes: expected one or more different"),
        ({"classes": (1,)}, "classes: .* in 2\\.\\..*, got 1"),
        ({"num_inducing": (60,)}, "num_inducing: .*in 1..50"),
        ({"repeats": 0}, "repeats: "),
        ({"sessions": 5}, "sessions: .*in 1..4"),
        ({"budget": 0.0}, "budget: "),
        ({"memory": "yes"}, "memory: "),
        ({"memory_limit": -1.0}, "memory_limit: "),
    ],
)
def test_bad_settings_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        settings(**changes)


def test_rounds_are_split_evenly():
    split = settings(repeats=20, sessions=3)
    assert [split.rounds(session) for session in range(3)] == [7, 7, 6]


def test_every_combination_is_raced_small_ones_first():
    sizes = list(settings(classes=(10, 2), num_inducing=(10, 5)).sizes())
    assert [(s.num_inducing, s.classes) for s in sizes] == [(5, 2), (5, 10), (10, 2), (10, 10)]


def test_a_sweep_that_has_nothing_yet_has_a_table():
    table = Log(settings()).table()
    assert np.isnan(table["step"]).all()
    assert list(table["status"]) == ["unfinished"] * 4


def test_numbers_of_numpy_can_be_written(tmp_path):
    """JSON has no int64: the race ended before it began."""
    numbers = {"classes": tuple(np.array([2, 10])), "num_data": (np.int64(50),)}
    numbers |= {"num_inputs": np.int32(2), "repeats": np.int64(4), "budget": np.float64(60.0)}
    log = Log(settings(**numbers), tmp_path / "a.csv")
    assert log.settings == settings()
    assert timing.read(tmp_path / "a.csv").attrs["settings"]["classes"] == [2, 10]


def test_two_races_do_not_add_to_one_file(tmp_path):
    log = filled(tmp_path / "a.csv")
    message = r"^file: expected a file that no other program is writing to, got a\.csv$"
    with log.locked(), pytest.raises(ValueError, match=message):
        Log(settings(), tmp_path / "a.csv", resume=True)
    with log.locked():
        log.add(Measurement("etgp-linear", 10, 50, 10, 0, "step", 0.5))
    assert Log(settings(), tmp_path / "a.csv", resume=True).table().iloc[1]["step"] == 0.5


def test_a_cell_that_failed_is_tried_again_when_the_race_is_resumed(tmp_path):
    """A killed process was recorded as failed for ever."""
    path = tmp_path / "a.csv"
    filled(path)
    assert timing.read(path).iloc[3]["status"].startswith("failed")
    log = Log(settings(), path, resume=True)
    assert log.of_cell(("svgp-shared", 10, 50, 10)) == []
    assert timing.read(path).iloc[3]["status"].startswith("failed")
    log.add(Measurement("svgp-shared", 10, 50, 10, 0, "step", 0.7))
    log.add(Measurement("svgp-shared", 10, 50, 10, 0, "spent", 1.0))
    row = timing.read(path).iloc[3]
    assert (row["status"], row["step"]) == ("ok", 0.7)
    assert timing.read(path).to_json() == log.table().to_json()
    assert Log(settings(), path, resume=True).table().to_json() == log.table().to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {}},
        {"settings": {"models": 3}},
        {"settings": {**dataclasses.asdict(settings()), "more": 1}},
        {"settings": {**dataclasses.asdict(settings()), "classes": "ab"}},
        {"machine": 3},
        {"load": "x"},
        {"predictive_draws": None},
    ],
)
def test_a_header_of_another_kind_is_refused(tmp_path, change):
    path = tmp_path / "race.csv"
    header = {"settings": dataclasses.asdict(settings()), **change}
    path.write_text(f"# {json.dumps(header)}\n{','.join(COLUMNS)}\n")
    expected = r"^file: expected a file written by timing\.sweep, got race\.csv with another header"
    with pytest.raises(ValueError, match=expected):
        timing.read(path)
