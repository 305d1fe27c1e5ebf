"""One student's file breaks nothing but its own row, whatever is in it."""

import csv
import io
import json
import os
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etgp_viz.cli import main
from etgp_viz.course import classroom
from etgp_viz.files import cell_text, spreadsheet

RECORD = {"solved": True, "attempts": 2, "hints": 0, "solution": False}


def content(**exercises):
    return json.dumps({"format": 1, "exercises": exercises})


def huge(**values):
    return content(**{"06.1": {**RECORD, **values}})


HOSTILE = {
    "4300 digits": f'{{"format": 1, "exercises": {{"06.1": {{"attempts": {"9" * 4300}}}}}}}',
    "4301 digits": f'{{"format": 1, "exercises": {{"06.1": {{"attempts": {"9" * 4301}}}}}}}',
    "many attempts": huge(attempts=10**9),
    "infinite": '{"format": 1, "exercises": {"06.1": {"attempts": Infinity}}}',
    "true attempts": huge(attempts=True),
    "surrogate in an exercise": content(**{"\ud800": RECORD}),
    "formula as exercise": content(**{"=HYPERLINK(0)": RECORD}),
    "escapes as exercise": content(**{"\x1b[2J": RECORD}),
    "long exercise": content(**{"x" * 10_000: RECORD}),
    "many exercises": content(**{f"77.{n}": RECORD for n in range(1500)}),
    "deep": "[" * 100_000,
    "deeper": '{"format": 1, "exercises": ' + '{"a":' * 20_000,
    "large": '{"format": 1, "exercises": {}}' + " " * 10**6,
    "not text": "\x00\x01\x02",
    "a list": "[]",
    "other types": '{"format": 1, "exercises": {"06.1": [1, 2]}}',
}


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "class"
    (place / "ann").mkdir(parents=True)
    (place / "ann" / "progress.json").write_text(content(**{"06.1": RECORD}))
    return place


def table(folder, tmp_path, capsys):
    """The rows of the CSV file by student, and what was printed."""
    output = tmp_path / "table.csv"
    assert main(["course", "progress", str(folder), "--output", str(output)]) == 0
    with output.open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert (rows["ann"]["solved"], rows["ann"]["attempts"], rows["ann"]["file"]) == ("1", "2", "ok")
    return rows, capsys.readouterr().out


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_a_row_that_says_so(folder, tmp_path, capsys, text):
    (folder / "bob.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    rows, printed = table(folder, tmp_path, capsys)
    assert rows["bob"]["file"].startswith(("broken", "cannot be read"))
    assert rows["bob"].keys() == classroom.row("bob", {}, "").keys()  # the course's own columns
    assert "\x1b" not in printed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes and devices of this kind")
@pytest.mark.parametrize("kind", ["pipe", "endless device", "loop", "no way in", "link to a pipe"])
def test_a_file_that_is_none_does_not_make_the_table_wait(folder, tmp_path, capsys, kind):
    (folder / "bob").mkdir()
    path = folder / "bob" / "progress.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a pipe":
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    elif kind == "endless device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    else:
        path.symlink_to("/proc/self/mem")
    rows, _ = table(folder, tmp_path, capsys)
    assert rows["bob"]["file"].startswith("cannot be read")


@pytest.mark.skipif(sys.platform != "linux", reason="such names are not allowed elsewhere")
@pytest.mark.parametrize(
    "name",
    ["\x1b[2J\x1b[Hgone", "two\nlines", "\n=1+1", " =1+1", "\t@sum", "\udcff", "-1", "\u202eevil"],
)
def test_a_hostile_name_is_shown_as_text(folder, tmp_path, capsys, name):
    (folder / name).mkdir()
    (folder / name / "progress.json").write_text(content())
    rows, printed = table(folder, tmp_path, capsys)
    (other,) = set(rows) - {"ann"}
    assert rows[other]["file"] == "ok"
    assert other.isprintable()
    assert not other.lstrip(" \ufffd").startswith(("=", "+", "-", "@"))
    assert all(line.isprintable() for line in printed.splitlines())


@given(st.text(alphabet=st.characters(), max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_text_becomes_one_harmless_cell(text):
    shown = cell_text(text)
    assert cell_text(shown) == shown
    shown.encode("utf-8")
    rows = list(csv.reader(io.StringIO(spreadsheet([{text: text}], [text]))))
    assert rows == [[shown], [shown]] or shown == ""
    assert not shown.lstrip(" \ufffd").startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))


@given(st.binary(max_size=200))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_are_a_row(tmp_path, data):
    (tmp_path / "bob.json").write_bytes(data)
    (row,) = classroom.collect(tmp_path)
    assert row["file"] == "ok" or row["file"].startswith("broken")
