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
