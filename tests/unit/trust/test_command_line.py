"""Every wrong command ends in one clear line on stderr, and nothing is half done."""

import errno
import os
import re

import pytest

from etgp_viz import timing
from etgp_viz.cli import main
from etgp_viz.timing.race import Race

HUGE = "9" * 5000
NUMBERS = ("--classes", "--num-data", "--num-inducing")
WRONG = [
    *(["timing", flag, value] for flag in NUMBERS for value in ("x", "", "2,", "1.5", HUGE)),
    *(["timing", flag, "x"] for flag in ("--num-inputs", "--repeats", "--budget", "--minutes")),
    *(["experiment", flag, "x"] for flag in ("--seeds", "--num-inducing", "--steps", "--workers")),
    ["experiment", "--steps", HUGE],
    ["class", "init", "somewhere", "--students", "x"],
    ["class", "init", "somewhere", "--memory", "x"],
]


def one_line(text, verb):
    """The error without the lines about usage, in which no private name appears."""
    last = text.strip().splitlines()[-1]
    assert last.startswith(f"etgp-viz {verb}"), text
    for private in ("Traceback", "[Errno", "_numbers", "_whole", "_words", "invalid int"):
        assert private not in text
    assert len(last) < 400
    return last


@pytest.mark.parametrize("arguments", WRONG, ids=lambda words: " ".join(words)[:40])
def test_a_number_that_is_none_is_named(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "expected a" in one_line(capsys.readouterr().err, " ".join(arguments[:1]))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["claims", "nowhere.csv"],
            "results: expected a result file of a grid of experiments, got",
        ),
        (["claims", "."], "results: expected a result file"),
        (["claims", "/dev/zero"], "results: expected a result file"),
        (["timing", "--picture", "file/race.png"], "picture: expected a file that can be written"),
        (["timing", "--out", "file/race.csv"], "out: expected a file that can be written"),
        (["timing", "--out", "."], "expected a"),
        (["timing", "--repeats", "0"], "repeats: expected an integer in 1..10000000, got 0"),
        (["timing", "--budget", "nan"], "budget: expected a finite number > 0, got nan"),
        (["timing", "--num-inputs", "9" * 4000], "num_inputs: expected"),
        (["experiment", "--output", "file/a.csv"], "output: expected a file that can be written"),
        (["experiment", "--output", "/dev/zero"], "output: expected"),
        (["experiment", "--seeds", "-1"], "seed: expected an integer in 0..2147483647, got -1"),
        (["experiment", "--seeds", "4294967296"], "seed: expected"),
        (["experiment", "--datasets", "no.csv:x"], "path: expected a CSV file"),
        (["course", "progress", "nowhere"], "folder: expected a folder"),
        (["course", "build", "--lessons", "99"], "lessons: expected"),
        (["class", "init", "file"], "file"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_one_line_on_stderr(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(Race, "__iter__", lambda *_: pytest.fail("the race began"))
    assert main(arguments) == 2
    heard = capsys.readouterr()
    assert says in one_line(heard.err, arguments[0])
    assert "expected" not in heard.out


@pytest.mark.skipif(os.name == "nt", reason="such names are not allowed there")
@pytest.mark.parametrize("name", ["a\x1b[2Jb\nc.csv", "x" * 300, "\udcff.csv", "\u202eb.csv"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["claims"], ["course", "progress"], ["class", "init"], ["lab", "--folder"],
        ["timing", "--out"], ["timing", "--resume", "--out"], ["timing", "--picture"],
        ["experiment", "--output"], ["course", "build", "--no-handouts", "--output"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_hostile_name_of_a_file_stays_on_one_printable_line(
    arguments, name, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    if len(name) < 256:
        (tmp_path / name).write_text("neither a table nor a folder")
    assert main([*arguments, name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert re.match(rf"etgp-viz {arguments[0]}: [a-z]+: expected .+, got .+", line), line
    assert len(line) < 700


def test_a_class_without_files_is_an_error(capsys, tmp_path):
    assert main(["course", "progress", str(tmp_path)]) == 2
    heard = capsys.readouterr()
    assert heard.out == ""
    assert "folder: expected files NAME/progress.json" in heard.err


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_an_error_of_the_system_in_the_middle_of_a_race_is_told(monkeypatch, capsys, code):
    def sweep(*_, **__):
        raise OSError(code, os.strerror(code), "race.csv")

    monkeypatch.setattr(timing, "sweep", sweep)
    assert main(["timing", "--out", "race.csv"]) == 2
    assert "race.csv: " in one_line(capsys.readouterr().err, "timing")


def test_a_machine_without_memory_is_told(monkeypatch, capsys):
    def sweep(*_, **__):
        raise MemoryError

    monkeypatch.setattr(timing, "sweep", sweep)
    assert main(["timing"]) == 2
    assert one_line(capsys.readouterr().err, "timing") == "etgp-viz timing: MemoryError"
