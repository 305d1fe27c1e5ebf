"""The writers of the package: files replaced in one move, and tables that only grow."""

import json
import os
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest

from etgp_viz import files
from etgp_viz.files import (
    GrowingTable,
    csv_line,
    read_arrays,
    replacing,
    whole,
    write,
    write_arrays,
)

# --- files replaced in one move -----------------------------------------------------------------


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_at_the_end_of_the_block(tmp_path):
    path = tmp_path / "deep" / "notes.txt"
    with replacing(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    with replacing(path) as file:
        file.write(b"newer")
        file.flush()
        assert path.read_bytes() == b"new"
    assert path.read_bytes() == b"newer"
    assert names(path.parent) == ["notes.txt"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(tmp_path, error):
    path = tmp_path / "notes.txt"

    def fail():
        with replacing(path) as file:
            file.write(b"half of the ")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == []
    path.write_text("old")
    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["notes.txt"]


def test_what_was_written_can_be_read_back_before_it_takes_its_place(tmp_path):
    with replacing(tmp_path / "notes.txt") as file:
        file.write(b"a longer draft")
        file.seek(0)
        assert file.read() == b"a longer draft"
        file.seek(0)
        file.truncate()
        file.write(b"short")
    assert (tmp_path / "notes.txt").read_bytes() == b"short"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_permissions_are_those_of_the_old_file_or_of_a_new_one(tmp_path):
    path, usual = tmp_path / "notes.txt", tmp_path / "usual.txt"
    usual.touch()
    write(path, "new")
    assert path.stat().st_mode == usual.stat().st_mode
    for mode in (0o600, 0o640, 0o664):
        path.chmod(mode)
        write(path, "newer")
        assert path.stat().st_mode & 0o777 == mode


def test_text_is_utf_8_and_bytes_are_left_alone(tmp_path):
    write(tmp_path / "text", "μ ± σ\n")
    write(str(tmp_path / "bytes"), b"\x00\r\n")
    assert (tmp_path / "text").read_bytes() == "μ ± σ\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\r\n"


def test_readers_see_whole_files_while_many_write(tmp_path):
    path = tmp_path / "shared.txt"
    contents = [letter * 50_000 for letter in "abcd"]
    write(path, contents[0])
    seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            seen.append(path.read_text())

    def replace(content):
        for _ in range(25):
            write(path, content)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=replace, args=(content,)) for content in contents]
    reader.start()
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert len(seen) > 1
    assert set(seen) <= set(contents)
    assert names(tmp_path) == ["shared.txt"]


# --- arrays -------------------------------------------------------------------------------------


def test_arrays_come_back(tmp_path):
    arrays = {"a.b": np.arange(6.0).reshape(2, 3), "text": np.array("{}"), "none": np.zeros((0, 2))}
    write_arrays(tmp_path / "arrays.npz", arrays)
    stored = read_arrays(tmp_path / "arrays.npz")
    assert list(stored) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(stored[name], array)
    assert names(tmp_path) == ["arrays.npz"]


def test_files_that_do_not_hold_plain_arrays_are_refused(tmp_path):
    path = tmp_path / "arrays.npz"
    with pytest.raises(files.UNREADABLE):
        read_arrays(path)
    for content in (b"", b"hello"):
        path.write_bytes(content)
        with pytest.raises(files.UNREADABLE):
            read_arrays(path)
    np.savez_compressed(path, a=np.zeros(100))
    with pytest.raises(ValueError, match="its arrays are compressed"):
        read_arrays(path)
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        read_arrays(path)
    write_arrays(path, {"a": np.zeros(100)})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(files.UNREADABLE):
        read_arrays(path)


def test_a_reason_is_one_short_line():
    assert files.reason(ValueError("first\nsecond")) == "first"
    assert files.reason(ValueError()) == "ValueError"
    assert files.reason(OSError("odd")) == "odd"
    assert files.reason(OSError(28, "No space left on device")) == "no space left on device"
    missing = FileNotFoundError(2, "No such file or directory", "mine.csv")
    assert files.reason(missing) == "mine.csv: no such file or directory"


@pytest.mark.skipif(whole.fcntl is None, reason="needs locks")
def test_a_file_counts_as_in_use_until_it_takes_its_place(tmp_path, monkeypatch):
    path, replace = tmp_path / "notes.txt", os.replace

    def replace_late(temporary, place):
        whole._remove_leftovers(path)  # as another program does that replaces the same file
        replace(temporary, place)

    monkeypatch.setattr(os, "replace", replace_late)
    write(path, "mine")
    assert path.read_text() == "mine"


@pytest.mark.skipif(whole.fcntl is None, reason="needs locks")
def test_the_lock_is_that_of_the_file_that_is_there(tmp_path, monkeypatch):
    path, other, lock = tmp_path / "notes.txt", tmp_path / "other.txt", whole.fcntl.flock
    other.write_text("new")

    def lock_late(file, how):
        if other.exists():  # another program replaces the file after it was opened here
            os.replace(other, path)
        lock(file, how)

    monkeypatch.setattr(whole.fcntl, "flock", lock_late)
    with files.locked(path) as file:
        assert os.path.samestat(os.fstat(file.fileno()), path.stat())


def test_a_limit_is_the_largest_size_that_is_read(tmp_path):
    path = tmp_path / "five"
    path.write_bytes(b"12345")
    assert files.read_bytes(path, 5) == files.read_bytes(path) == b"12345"
    with pytest.raises(OSError, match="Larger than 4 bytes"):
        files.read_bytes(path, 4)


# --- tables that only grow ----------------------------------------------------------------------

COLUMNS = ("model", "classes", "seconds")
HEADER = {"machine": "this “one”", "cores": 2}
ROWS = [("etgp-linear", 2, 1 / 3), ('svgp, "rbf"', 20, 1e-7)]
TEXTS = [
    {"model": "etgp-linear", "classes": "2", "seconds": "0.333333"},
    {"model": 'svgp, "rbf"', "classes": "20", "seconds": "1e-07"},
]


@pytest.fixture
def table(tmp_path):
    return GrowingTable(tmp_path / "folder" / "log.csv", COLUMNS, "out", "a log of this test")


def test_rows_are_added_below_the_header(table):
    assert not table.has_begun
    table.begin(HEADER)
    assert table.has_begun
    assert table.read().rows == []
    table.add(ROWS[:1])
    table.add(ROWS[1:])
    first, second, *rest = table.path.read_text("utf-8").splitlines()
    assert json.loads(first.removeprefix("# ")).items() >= HEADER.items()
    assert second == "model,classes,seconds,crc"
    assert [line[:-9] for line in rest] == ["etgp-linear,2,0.333333", '"svgp, ""rbf""",20,1e-07']
    assert [int(line[-8:], 16) for line in rest] == [zlib.crc32(x[:-9].encode()) for x in rest]
    contents = table.read()
    assert contents.header == HEADER
    assert contents.rows == TEXTS
    assert table.text(HEADER, ROWS) == table.path.read_text("utf-8")


def test_ends_say_where_a_file_can_be_cut_off(table):
    table.begin(HEADER)
    assert table.read().end == table.read().start == table.path.stat().st_size
    table.add(ROWS)
    contents = table.read()
    assert contents.end == contents.ends[-1] == table.path.stat().st_size
    table.truncate(contents.ends[0])
    assert table.read().rows == TEXTS[:1]
    table.truncate(contents.start)
    assert table.read().rows == []


def test_an_incomplete_last_line_is_left_out(table):
    table.begin(HEADER)
    table.add(ROWS)
    whole = table.path.read_bytes()
    contents = table.read()
    for size in range(contents.ends[0], len(whole)):
        table.path.write_bytes(whole[:size])
        assert table.read().rows == TEXTS[:1]
        assert table.read().end == contents.ends[0]
    table.truncate(table.read().end)
    table.add(ROWS[1:])
    assert table.path.read_bytes() == whole


def test_an_incomplete_beginning_is_not_yet_a_table(table):
    table.begin(HEADER)
    whole = table.path.read_bytes()
    for size in range(len(whole)):
        table.path.write_bytes(whole[:size])
        assert not table.has_begun, whole[:size]
    table.begin(HEADER)
    assert table.path.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b"hello\n", "log.csv"),
        (b"model,classes,seconds\na,2,3\n", "log.csv"),
        (b"# [1]\nmodel,classes,seconds\n", "log.csv"),
        (b"# {\nmodel,classes,seconds\n", "log.csv"),
        (b"\xff\xfe\x00\n\n", "log.csv"),
        (b"# {}\nmodel,classes\na,2\n", "log.csv, which has other columns"),
        (b"# {}\nmodel,classes,seconds\na,2,3\nb,2\n", "log.csv with a broken line 4"),
        (b"# {}\nmodel,classes,seconds\n\xff,2,3\n", "log.csv with a broken line 3"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(table, content, got):
    table.path.parent.mkdir()
    table.path.write_bytes(content)
    assert table.has_begun
    with pytest.raises(ValueError, match="expected") as caught:
        table.read()
    assert str(caught.value) == f"out: expected a log of this test, got {got}"
    assert table.path.read_bytes() == content


def test_a_changed_bit_is_noticed_wherever_it_is(table):
    """Of 400 flips in a file without checksums, half changed a number in silence."""
    table.begin(HEADER)
    table.add(ROWS)
    whole, unnoticed = table.path.read_bytes(), []
    for position in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << bit
            table.path.write_bytes(damaged)
            try:
                contents = table.read()
            except ValueError:
                continue
            # The last line's end may be lost: the line then counts as incomplete, and is redone.
            if (contents.header, contents.rows) not in ((HEADER, TEXTS), (HEADER, TEXTS[:1])):
                unnoticed.append((position, bit))
    assert unnoticed == []


def test_a_file_without_checksums_is_brought_up_to_date(table):
    table.path.parent.mkdir()
    old = b'# {"cores": 2}\nmodel,classes,seconds\na,2,0.5\n'
    table.path.write_bytes(old)
    assert [row["seconds"] for row in table.read().rows] == ["0.5"]
    table.bring_up_to_date()
    assert table.path.read_bytes().split(b"\n")[1].endswith(b",crc")
    assert [row["seconds"] for row in table.read().rows] == ["0.5"]
    table.add(ROWS)
    assert len(table.read().rows) == 3


def test_text_with_line_ends_stays_on_its_line(table):
    table.begin(HEADER)
    table.add([("a\nb\r\nc", 2, 0.5), ("\ud800", 3, 0.5)])
    assert [row["model"] for row in table.read().rows] == ["a b c", "?"]


def test_a_missing_table_is_named(table):
    message = r"^out: expected a log of this test, got .*log\.csv \(no such file or directory\)$"
    with pytest.raises(ValueError, match=message):
        table.read()


def test_a_file_with_line_ends_of_windows_can_be_read(table):
    table.path.parent.mkdir()
    table.path.write_bytes(table.text(HEADER, ROWS).replace("\n", "\r\n").encode())
    assert table.read().rows == TEXTS


def test_a_full_disk_leaves_the_lines_before_as_they_were(table, monkeypatch):
    table.begin(HEADER)
    table.add(ROWS[:1])
    before = table.path.read_bytes()
    original = os.write
    monkeypatch.setattr(os, "write", lambda file, content: original(file, content[:5]))
    with pytest.raises(OSError, match=r"out: no room left on the disk for log\.csv"):
        table.add(ROWS[1:])
    assert table.path.read_bytes() == before


def test_lines_of_many_programs_do_not_mix(table):
    table.begin(HEADER)
    code = (
        "import sys\n"
        "from etgp_viz.files import GrowingTable\n"
        "table = GrowingTable(sys.argv[1], ('model', 'classes', 'seconds'), 'out', 'a log')\n"
        "for i in range(100):\n"
        "    table.add([(sys.argv[2] * 200, i, 0.5)] * 3)\n"
    )
    programs = [
        subprocess.Popen([sys.executable, "-c", code, str(table.path), letter]) for letter in "abc"
    ]
    assert [program.wait() for program in programs] == [0, 0, 0]
    rows = table.read().rows
    assert len(rows) == 900
    for letter in "abc":
        numbers = [int(row["classes"]) for row in rows if row["model"] == letter * 200]
        assert numbers == [i for i in range(100) for _ in range(3)]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_a_locked_table_keeps_other_programs_out(table):
    table.begin(HEADER)
    message = r"^out: expected a file that no other program is writing to, got log\.csv$"
    with table.locked():
        table.add(ROWS)
        other = GrowingTable(table.path, COLUMNS, "out", "a log of this test")
        with pytest.raises(ValueError, match=message), other.locked():
            pytest.fail("the lock was given twice")
        code = (
            "import sys\n"
            "from etgp_viz.files import GrowingTable\n"
            "with GrowingTable(sys.argv[1], ('model',), 'out', 'a log').locked():\n"
            "    pass\n"
        )
        command = [sys.executable, "-c", code, str(table.path)]
        refused = subprocess.run(command, capture_output=True, text=True)
        assert "expected a file that no other program is writing to" in refused.stderr
    subprocess.run(command, check=True)
    with table.locked():
        assert table.read().rows == TEXTS


def test_a_table_that_cannot_be_locked_is_told_in_words(tmp_path):
    missing = GrowingTable(tmp_path / "nowhere" / "log.csv", COLUMNS, "out", "a log of this test")
    says = (
        r"^out: expected a file that can be written, got .*log\.csv \(no such file or directory\)$"
    )
    with pytest.raises(ValueError, match=says), missing.locked():
        pass


def test_a_line_of_csv():
    assert csv_line([1, 2.0, "a,b", None, np.float64(1 / 3)]) == '1,2,"a,b",,0.333333\n'


def test_a_probe_refuses_a_name_that_is_too_long_once_the_file_is_replaced(tmp_path):
    """A file is written under a longer, temporary name first."""
    write(files.probe(tmp_path / ("x" * 200), "out"), b"")
    for length in (240, 300):
        path = tmp_path / ("x" * length)
        with pytest.raises(OSError, match="too long"):
            write(path, b"")
        with pytest.raises(ValueError, match=r"^out: expected a file that can be written, got "):
            files.probe(path, "out")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_probe_does_not_mind_if_its_file_is_taken_for_a_leftover(tmp_path, monkeypatch):
    whole = sys.modules["etgp_viz.files.whole"]
    temporary = whole._temporary

    def removed_at_once(path):
        file, name = temporary(path)
        os.unlink(name)
        return file, name

    monkeypatch.setattr(whole, "_temporary", removed_at_once)
    assert files.probe(tmp_path / "a.csv", "out") == tmp_path / "a.csv"
    assert list(tmp_path.iterdir()) == []
