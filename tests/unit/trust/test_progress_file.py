"""Two kernels on one progress file lose nothing, and a killed one leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from etgp_viz.course.progress import update

progress = sys.modules["etgp_viz.course.progress"]  # `course.progress` is a function
POSIX = pytest.mark.skipif(os.name == "nt", reason="no locks and signals of this kind")
WORKER = """
import sys
from dataclasses import replace
from etgp_viz.course.progress import update
for n in range(int(sys.argv[2])):
    _, message = update(sys.argv[1], lambda record: replace(record, attempts=record.attempts + 1))
    assert not message, message
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "_unsaved", {})


def worker(exercise, count):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen([sys.executable, "-c", WORKER, exercise, str(count)], env=environment)


def attempt(record):
    return record.after(progress.WRONG)


@POSIX
def test_four_kernels_lose_no_update():
    """Of 200 updates by two kernels 104 were kept, by four 82."""
    kernels = [worker(exercise, 50) for exercise in ("01.1", "01.1", "02.1", "03.1")]
    assert [kernel.wait() for kernel in kernels] == [0] * 4
    kept = {name: record.attempts for name, record in progress.load().records.items()}
    assert kept == {"01.1": 100, "02.1": 50, "03.1": 50}
    assert os.listdir() == ["progress.json"]


@POSIX
def test_a_killed_kernel_leaves_a_whole_file_and_nothing_beside_it():
    """47 temporary files were left behind by 60 kills."""
    for n in range(4):
        before = progress.load()["01.1"].attempts
        kernel = worker("01.1", 100_000)
        while progress.load()["01.1"].attempts == before and kernel.poll() is None:
            time.sleep(0.002)
        time.sleep(0.003 * n)
        kernel.send_signal(signal.SIGKILL)
        kernel.wait()
    before = progress.load()["01.1"].attempts
    assert before > 0
    record, message = update("01.1", attempt)
    assert (record.attempts, message) == (before + 1, "")
    assert os.listdir() == ["progress.json"]


@POSIX
def test_a_leftover_of_a_killed_writer_goes_and_one_in_use_stays(tmp_path):
    from etgp_viz.files import replacing

    leftover = tmp_path / ".progress.json.abc123.partial"
    leftover.write_text("half")
    with replacing(tmp_path / "progress.json") as file:
        file.write(b"mine")
        (in_use,) = (path for path in tmp_path.iterdir() if path.suffix == ".partial")
        with replacing(tmp_path / "progress.json") as other:
            other.write(b"theirs")
        assert in_use.exists()
    assert os.listdir() == ["progress.json"]
    assert (tmp_path / "progress.json").read_bytes() == b"mine"


@POSIX
def test_a_kernel_that_holds_the_lock_delays_an_update_and_loses_none(monkeypatch):
    from etgp_viz.files import locked

    monkeypatch.setattr(progress, "SECONDS_TO_WAIT", 0.05)
    update("01.1", attempt)
    with locked("progress.json"):
        record, message = update("01.1", attempt)
    assert record.attempts == 2
    assert "another notebook is saving it" in message
    record, message = update("01.2", attempt)
    assert not message
    stored = json.loads(Path("progress.json").read_text())["exercises"]
    assert (stored["01.1"]["attempts"], stored["01.2"]["attempts"]) == (2, 1)


def test_what_could_not_be_saved_is_added_to_what_others_saved_meanwhile(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(progress, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        record, message = update("01.1", attempt)
    assert (record.attempts, message) == (1, progress_cannot("full"))
    theirs = {"format": 1, "exercises": {"01.1": {"attempts": 5, "hints": 2}}}
    Path("progress.json").write_text(json.dumps(theirs))
    record = progress.load()["01.1"]
    assert (record.attempts, record.hints) == (6, 2)
    record, message = update("01.1", attempt)
    assert (record.attempts, record.hints, message) == (7, 2, "")


def progress_cannot(why):
    return f"Progress cannot be saved in this folder ({why})."


def test_two_kernels_that_find_a_broken_file_rename_it_once(monkeypatch):
    Path("progress.json").write_text("{")
    rename = os.rename

    def renamed_by_the_other(source, target):
        rename(source, target)
        raise FileNotFoundError(2, "gone")

    monkeypatch.setattr(os, "rename", renamed_by_the_other)
    assert progress.load().writable


# --- what a record and a file may hold ------------------------------------------------------------


def test_a_check_without_an_answer_is_not_an_attempt():
    record = progress.Record(attempts=3)
    assert record.after(progress.NOT_YET) is record
    update("01.1", lambda record: record.after(progress.NOT_YET))
    assert os.listdir() == []


def test_the_file_holds_every_field_but_an_empty_time():
    record = progress.Record(True, 2, 1, False)
    expected = {"solved": True, "attempts": 2, "hints": 1, "solution": False}
    assert record.to_json() == expected
    time_of_day = "2026-05-04T10:30:00"
    assert progress.Record(True, 2, 1, False, time_of_day).to_json() == {
        **expected,
        "seen": time_of_day,
    }


@pytest.mark.parametrize(
    "content",
    [
        {"format": 2, "exercises": {}},
        {"format": 1, "exercises": []},
        {"format": 1, "exercises": {"01.1": {"seen": "yesterday"}}},
        {"format": 1, "exercises": {"01.1": {"solved": 1}}},
        {"format": 1, "exercises": {"01.1": {"hints": -1}}},
        {"format": 1, "exercises": {"01.1": {"hints": progress.MAX_COUNT + 1}}},
        {"format": 1, "exercises": {f"{n}": {} for n in range(progress.MAX_EXERCISES + 1)}},
    ],
)
def test_a_file_of_another_kind_is_refused(content):
    Path("progress.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"progress\.json could not be understood"):
        progress.read(Path("progress.json"))


def test_a_file_at_its_bounds_is_read():
    exercises = {f"{n}": {"attempts": progress.MAX_COUNT} for n in range(progress.MAX_EXERCISES)}
    Path("progress.json").write_text(json.dumps({"format": 1, "exercises": exercises}))
    assert progress.read(Path("progress.json"))["7"].attempts == progress.MAX_COUNT


def test_broken_files_are_set_aside_one_after_another():
    for number in (1, 2, 3):
        Path("progress.json").write_text(f"broken {number}")
        assert f"renamed to progress.broken-{number}.json" in progress.load().message
    names = [f"progress.broken-{number}.json" for number in (1, 2, 3)]
    assert [Path(name).read_text() for name in names] == ["broken 1", "broken 2", "broken 3"]
    assert sorted(os.listdir()) == names


def test_a_file_that_cannot_be_read_is_not_replaced(monkeypatch):
    update("01.1", attempt)
    update("01.1", attempt)
    before = Path("progress.json").read_bytes()

    def unreadable(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(progress, "read", unreadable)
    record, message = update("01.1", attempt)
    assert record.attempts == 1  # of this session
    assert message == "progress.json cannot be read (Permission denied): nothing is saved."
    assert Path("progress.json").read_bytes() == before


def test_a_solved_exercise_stays_solved():
    record = progress.Record()
    assert not record.after(progress.WRONG).solved
    assert record.after(progress.RIGHT).solved
    assert record.after(progress.RIGHT).after(progress.WRONG).solved
    assert record.after(progress.WRONG).after(progress.RIGHT).attempts == 2


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (progress.Record(), "· not begun"),
        (progress.Record(attempts=1), "… begun, 1 attempt, 0 hints"),
        (progress.Record(hints=1), "… begun, 0 attempts, 1 hint"),
        (progress.Record(solution=True), "… begun, 0 attempts, 0 hints, solution shown"),
        (progress.Record(True, 3, 2, True), "✓ right, 3 attempts, 2 hints, solution shown"),
    ],
)
def test_a_record_in_words(record, words):
    assert str(record) == words


def test_the_table_counts_what_is_solved():
    records = (("01.1", progress.Record(True, 1)), ("01.2", progress.Record()))
    lines = str(progress.Table((("01 Gaussian processes", records),), "beware")).splitlines()
    assert lines[:3] == [
        "01 Gaussian processes: 1 of 2",
        "  01.1  ✓ right, 1 attempt, 0 hints",
        "  01.2  · not begun",
    ]
    assert lines[3:] == [progress.NOTE, "beware"]
