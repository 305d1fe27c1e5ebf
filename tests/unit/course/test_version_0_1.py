"""What version 0.1.0 wrote or offered for the course still works."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from etgp_viz.course import classroom, hint, progress, solution
from etgp_viz.course.progress import Record, load, read

FILE = Path(__file__).parents[2] / "fixtures" / "v0_1_0" / "progress.json"
RECORDS = {
    "01.1": Record(attempts=1, hints=1),
    "02.1": Record(attempts=1, hints=1),
    "06.1": Record(attempts=1, hints=1, solution=True),
}


@pytest.fixture(autouse=True)
def own_file(tmp_path, monkeypatch) -> Path:
    """A copy of the file in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["etgp_viz.course.progress"], "_unsaved", {})
    return Path(shutil.copy(FILE, tmp_path))


def test_progress_is_read():
    assert read(FILE) == RECORDS
    journal = load()
    assert (journal.records, journal.message) == (RECORDS, "")
    assert "06.1  … begun, 1 attempt, 1 hint, solution shown" in str(progress())


def test_progress_continues_where_it_was(own_file):
    assert hint("06.1").title == "06.1: hint 2 of 3"
    assert solution("01.1").outcome == "solution"
    before = json.loads(FILE.read_text())
    after = json.loads(own_file.read_text())
    assert after["format"] == before["format"]
    assert after["exercises"]["02.1"] == before["exercises"]["02.1"]
    assert after["exercises"]["06.1"] == before["exercises"]["06.1"] | {"hints": 2}
    assert [path.name for path in own_file.parent.iterdir()] == ["progress.json"]


def test_progress_of_a_class_is_read(own_file):
    (row,) = classroom.collect(own_file.parent)
    assert [row[name] for name in classroom.TOTALS[1:]] == [0, 3, 3, 1, "ok"]


@pytest.mark.parametrize(
    ("line", "home"),
    [
        ("from etgp_viz.course.lesson_01 import PICTURES", "lesson_01"),
        ("from etgp_viz.course.lesson_03 import hidden_flow", "lesson_03"),
        ("from etgp_viz.course.lesson_04_target import hidden_covariance", "lesson_04"),
        ("from etgp_viz.course.lesson_05_quadrature import example_model", "lesson_05"),
    ],
)
def test_notebooks_find_what_they_import_and_are_told_where_it_is_now(line, home):
    done = subprocess.run(
        [sys.executable, "-W", "always::FutureWarning", "-c", f"{line}\n{line}"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("FutureWarning") == 1
    assert f"import etgp_viz.course.lessons.{home} instead" in done.stderr
