"""Every file that is written, and every fault: what is kept, and that it is kept.

| fault | what is kept |
|---|---|
| killed while writing | the last complete state; what is left beside it goes with the next write |
| full disk, read-only folder | the state before; an error, a warning or a message says so |
| two writers | a complete state; tables let one writer in, progress adds both up |
| clock set back | everything |
| truncated | the lines (tables) that are complete, or a ValueError; never less in silence |
| corrupted | a ValueError that names the file; progress is set aside, caches are fetched again |
"""

import contextlib
import errno
import os
import signal
import tempfile
import time
import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from etgp_viz.datasets import fetch
from etgp_viz.experiments import Outcome, Run
from etgp_viz.experiments.results import ResultFile, load
from etgp_viz.experiments.settings import COLUMNS
from etgp_viz.files import Checkpoint, GrowingTable, read_arrays, write_arrays
from etgp_viz.timing import log as timing_log
from etgp_viz.timing.log import Log, Measurement, Settings

progress = import_module("etgp_viz.course.progress")  # `course.progress` is a function
TOLD = (OSError, ValueError, RuntimeWarning)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, locks and signals")
RACE = Settings(("etgp-linear",), (2,), (50,), (10,), 2, 9, 1, 60.0, False, None)


class Store:
    """A file that holds numbers 1, 2, …: `write` adds the next one, `read` gives the last."""

    name = ""
    grows = False  # a table, of which a complete beginning is valid
    is_checked = True  # a changed bit is noticed

    def write(self, path, number):
        raise NotImplementedError

    def read(self, path):
        raise NotImplementedError

    def content(self, path):
        """Everything that can be read from the file, to compare."""
        return self.read(path)


class CheckpointStore(Store):
    """The checkpoint of a fit."""

    name = "run.npz"

    def _open(self, path):
        return Checkpoint(path, 1.0, {"seed": 0}, {"data": [np.arange(3)]})

    def write(self, path, number):
        self._open(path).save({"best": {"0": np.full(50, number)}}, now=True)

    def read(self, path):
        stored = self._open(path).load({"best": [np.zeros(50)]})
        return 0 if stored is None else int(stored["best"]["0"][0])


class ClassifierStore(Store):
    """The arrays of a saved classifier."""

    name = "mine.npz"

    def write(self, path, number):
        write_arrays(path, {"header": np.array("{}"), "weights": np.full(50, float(number))})

    def read(self, path):
        try:
            return int(read_arrays(path)["weights"][0])
        except FileNotFoundError:
            return 0
        except Exception as error:
            raise ValueError("path: unreadable") from error


def has_begun(path):
    """Whether a growing table has its first lines; when it is made it is empty for a moment."""
    return path.exists() and path.stat().st_size > 0


class ResultStore(Store):
    """The result file of a grid."""

    name, grows = "results.csv", True

    def write(self, path, number):
        file, run = ResultFile(path), Run("iris", "etgp-linear", seed=number)
        with file.locked():
            row = dict.fromkeys(COLUMNS) | run.settings()
            file.add(run, Outcome([row | {"id": run.id, "rows": 1, "status": "ok"}]))

    def read(self, path):
        return int(load(path)["seed"].max()) if has_begun(path) and len(load(path)) else 0

    def content(self, path):
        return load(path).to_csv()


class RaceStore(Store):
    """The file of a race."""

    name, grows = "race.csv", True

    def write(self, path, number):
        log = Log(RACE, path, resume=True)
        with log.locked():
            log.add(Measurement("etgp-linear", 2, 50, 10, 0, "step", float(number)))

    def read(self, path):
        steps = timing_log.read(path)["step_rounds"][0] if has_begun(path) else []
        return int(max(steps[0])) if steps else 0

    def content(self, path):
        return timing_log.read(path).to_csv()


class ProgressStore(Store):
    """The progress of a student."""

    name, is_checked = "progress.json", False

    def write(self, path, number):
        with contextlib.chdir(path.parent):
            progress._unsaved.clear()
            _, message = progress.update("01.1", lambda record: replace(record, attempts=number))
        if message:
            raise OSError(message)

    def read(self, path):
        records = progress.read(path) if path.exists() else {}
        return records["01.1"].attempts if "01.1" in records else 0


STORES = [CheckpointStore(), ClassifierStore(), ResultStore(), RaceStore(), ProgressStore()]
every_store = pytest.mark.parametrize("store", STORES, ids=lambda store: type(store).__name__)


@pytest.fixture(autouse=True)
def quiet():
    machine = timing_log.describe_machine()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # forks beside threads
        patch.setattr(timing_log, "describe_machine", lambda: machine)
        yield


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def in_child(action):
    """Run an action in a forked process that never returns from it; its process id."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            action()
        os._exit(0)
    return child


@every_store
def test_killed_while_writing(store, tmp_path):
    path, last = tmp_path / store.name, 0
    for n in range(6):

        def write_for_ever(first=last):
            for number in range(first + 1, 10**6):
                store.write(path, number)

        child = in_child(write_for_ever)
        deadline = time.monotonic() + 20.0
        while store.read(path) <= last and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(0.003 * n)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert store.read(path) > last
        last = store.read(path)
    store.write(path, last + 1)
    assert store.read(path) == last + 1
    assert names(tmp_path) == [store.name]


@contextlib.contextmanager
def full_disk():
    """Every write finds half of the room that it needs."""
    write = os.write

    def short(descriptor, content):
        return write(descriptor, content[: len(content) // 2])

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", short)
        patch.setattr(os, "fsync", full)
        yield


@every_store
@pytest.mark.parametrize("begun", [True, False])
def test_a_full_disk(store, tmp_path, begun):
    path = tmp_path / store.name
    if begun:
        store.write(path, 1)
    before = path.read_bytes() if begun else b""
    with full_disk(), pytest.raises(TOLD) as told:
        store.write(path, 2)
    assert str(told.value)
    assert store.read(path) == begun
    assert not begun or path.read_bytes() == before
    assert set(names(tmp_path)) <= {store.name}
    store.write(path, 3)
    assert store.read(path) == 3


@every_store
def test_a_read_only_folder(store):
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as later:
        os.chmod(place, 0o755)
        path = Path(place, store.name)
        store.write(path, 1)
        before = path.read_bytes()
        path.chmod(0o444)
        os.chmod(place, 0o555)
        later.callback(os.chmod, place, 0o755)
        if os.geteuid() == 0:  # root may write anywhere: be nobody for a moment
            later.callback(os.seteuid, 0)
            os.seteuid(65534)
        with pytest.raises(TOLD) as told:
            store.write(path, 2)
        assert str(told.value)
        assert path.read_bytes() == before
        assert names(Path(place)) == [store.name]


@every_store
def test_two_writers(store, tmp_path):
    path = tmp_path / store.name
    store.write(path, 1)

    def write_some():
        for number in range(2, 12):
            with contextlib.suppress(ValueError):  # a table lets one writer in at a time
                store.write(path, number)

    children = [in_child(write_some) for _ in range(3)]
    for child in children:
        os.waitpid(child, 0)
    assert 1 <= store.read(path) <= 11
    store.write(path, 12)
    assert store.read(path) == 12
    assert names(tmp_path) == [store.name]


def test_two_grids_that_begin_one_file_at_the_same_moment(tmp_path, monkeypatch):
    """The file was made before it was locked: two headers, and neither grid could go on."""
    append = GrowingTable._append

    def late(table, text):
        time.sleep(0.1)  # so that all of them are at this point together
        append(table, text)

    monkeypatch.setattr(GrowingTable, "_append", late)
    path = tmp_path / "results.csv"
    for child in [in_child(lambda: ResultFile(path)) for _ in range(4)]:
        os.waitpid(child, 0)
    assert path.read_bytes().count(b"# {") == 1
    ResultStore().write(path, 1)
    assert ResultStore().read(path) == 1


@every_store
def test_a_clock_that_was_set_back(store, tmp_path, monkeypatch):
    path = tmp_path / store.name
    store.write(path, 1)
    os.utime(path, (4e9, 4e9))  # from the year 2096
    monkeypatch.setattr(time, "time", lambda: 0.0)
    store.write(path, 2)
    assert store.read(path) == 2
    os.utime(path, (0, 0))
    assert store.read(path) == 2
    assert names(tmp_path) == [store.name]


@every_store
def test_truncated(store, tmp_path):
    path = tmp_path / store.name
    store.write(path, 1)
    store.write(path, 2)
    whole = path.read_bytes()
    seen = set()
    for size in {*range(0, len(whole), max(1, len(whole) // 60)), len(whole) - 1, len(whole) - 2}:
        path.write_bytes(whole[:size])
        try:
            seen.add(store.read(path))
        except ValueError as error:
            seen.add(type(error))
    assert seen <= ({0, 1, ValueError} if store.grows else {ValueError})


@every_store
def test_corrupted(store, tmp_path):
    """Half of the changed bits of a result file were read as other numbers."""
    path = tmp_path / store.name
    store.write(path, 1)
    store.write(path, 2)
    before, whole, rng = store.content(path), path.read_bytes(), np.random.default_rng(0)
    for position in rng.integers(0, len(whole) - 1, size=150):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            assert store.content(path) == before or not store.is_checked


@pytest.mark.parametrize("damage", ["truncated", "corrupted", "empty", "pipe"])
def test_a_damaged_cache_is_fetched_again(tmp_path, monkeypatch, damage):
    content = b"a,b\n1,2\n"
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "data.csv").write_bytes(content)
    monkeypatch.setenv("ETGP_VIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ETGP_VIZ_DATA", raising=False)
    checksum = fetch.hashlib.sha256(content).hexdigest()
    address = (tmp_path / "web" / "data.csv").as_uri()
    source = fetch.Source("set/data.csv", "the web", (address,), 1000, checksum)
    path = fetch.find(source, progress=False)
    path.unlink()
    if damage == "pipe":
        os.mkfifo(path)
    else:
        damaged = {"truncated": content[:5], "corrupted": b"A" + content[1:], "empty": b""}
        path.write_bytes(damaged[damage])
    with pytest.warns(RuntimeWarning, match="was set aside"):
        assert fetch.find(source, progress=False).read_bytes() == content
    assert names(path.parent) == ["data.csv", "data.csv.damaged"]
    path.unlink()
    with full_disk(), pytest.raises(fetch.DataNotFoundError, match="No space left"):
        fetch.find(source, progress=False)
    assert names(path.parent) == ["data.csv.damaged"]
