"""Progress of a class: good files, broken ones, and none at all."""

import csv
import json
import os
import subprocess
import sys

import pytest

from etgp_viz.cli import main
from etgp_viz.course import check, classroom, export
from etgp_viz.course import progress as progress_of_the_course
from etgp_viz.course.checking import LESSONS, lesson

IDS = [each.id for number in LESSONS for each in lesson(number).exercises]


def record(**values):
    return {"solved": False, "attempts": 0, "hints": 0, "solution": False, **values}


def content(**exercises):
    return json.dumps({"format": 1, "exercises": exercises})


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "class"
    (place / "ann").mkdir(parents=True)
    done = {
        "06.1": record(solved=True, attempts=2, hints=1),
        "06.3": record(attempts=4, hints=3, solution=True),
    }
    (place / "ann" / "progress.json").write_text(content(**done))
    (place / "bob.json").write_text(content())
    (place / "cy.json").write_text('{"format": 1, "exercises": {"06.1": {"solved": "yes"}}}')
    (place / "dora").mkdir()
    (place / "eve" / "progress.json").mkdir(parents=True)
    (place / "=sum(A1)").mkdir()
    (place / "=sum(A1)" / "progress.json").write_bytes(b"\xff\xfe")
    (place / "zoe.json").write_text(content(**{"77.1": record(solved=True, attempts=1)}))
    (place / "notes.txt").write_text("not a student")
    (place / ".hidden").mkdir()
    return place


def read(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_a_row_for_each_student(folder, tmp_path, capsys):
    table = tmp_path / "table.csv"
    assert main(["course", "progress", str(folder), "--output", str(table)]) == 0
    rows = read(table)
    assert list(rows) == ["'=sum(A1)", "ann", "bob", "cy", "dora", "eve", "zoe"]
    ann = rows["ann"]
    totals = [ann[name] for name in classroom.TOTALS[1:]]
    assert totals == ["1", "6", "4", "1", "ok"]
    assert [ann[f"06.3 {what}"] for what in ("solved", "attempts", "hints", "solution")] == [
        *("0", "4", "3", "1")
    ]
    assert {f"{name} attempts" for name in IDS} <= set(ann)
    assert (rows["bob"]["solved"], rows["bob"]["file"]) == ("0", "ok")
    assert rows["zoe"]["77.1 solved"] == "1"
    assert rows["ann"]["77.1 solved"] == ""
    out = capsys.readouterr().out
    assert "do not base marks on them" in out
    assert "broken: could not be understood" in out


def test_the_table_needs_no_tensorflow_and_little_time(folder):
    code = (
        "import sys, time; from etgp_viz.cli import main; status = main(sys.argv[1:]);"
        "assert not {'tensorflow', 'gpflow'} & set(sys.modules);"
        "assert time.process_time() < 2.0, time.process_time(); sys.exit(status)"
    )
    command = [sys.executable, "-c", code, "course", "progress", str(folder)]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "ann" in done.stdout


def test_what_is_wrong_with_a_file_is_said(folder):
    rows = {row["student"]: row for row in classroom.collect(folder)}
    assert rows["cy"] == {"student": "cy", "file": "broken: could not be understood"}
    assert rows["'=sum(A1)"]["file"].startswith("broken")
    assert rows["dora"]["file"] == "no progress.json"
    assert rows["eve"]["file"].startswith("cannot be read")
    assert not list(folder.rglob("*broken*")), "students' files are left as they are"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_student_cannot_make_the_table_wait_for_ever(folder):
    os.mkfifo(folder / "dora" / "progress.json")
    rows = {row["student"]: row for row in classroom.collect(folder)}
    assert rows["dora"]["file"] == "cannot be read: not an ordinary file"


def test_nothing_to_join(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for folder, says in (("empty", "without any"), ("nowhere", "a folder with students' files")):
        assert main(["course", "progress", str(tmp_path / folder)]) == 2
        heard = capsys.readouterr()
        assert says in heard.err
        assert heard.out == ""


def test_a_student_s_own_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["etgp_viz.course.progress"], "_unsaved", {})
    check("06.1", {"svgp-separate": 1, "svgp-shared": 1, "etgp": 0})
    check("06.4", 1.0)
    assert export("Ann") == "progress.csv: 1 exercise solved in 2 attempts."
    (row,) = read(tmp_path / "progress.csv").values()
    assert (row["student"], row["06.1 solved"], row["06.4 attempts"]) == ("Ann", "1", "1")
    assert "1 of 6" in str(progress_of_the_course())
    # The same figures as the instructor gets from the file itself.
    (joined,) = classroom.collect(tmp_path)
    assert joined["student"] == os.path.basename(tmp_path)
    assert {k: str(v) for k, v in joined.items() if k != "student"} == {
        k: v for k, v in row.items() if k != "student"
    }
