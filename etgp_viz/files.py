"""The only writers of the package: files replaced in one move, checkpoints, tables that grow."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from etgp_viz.checks import fail

__all__ = [
    "UNREADABLE",
    "Checkpoint",
    "GrowingTable",
    "TableContents",
    "csv_line",
    "read_arrays",
    "replacing",
    "write",
    "write_arrays",
]

# What `read_arrays` raises for a file that is damaged or does not hold arrays.
UNREADABLE = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of ``path`` once the block has succeeded.

    At every moment ``path`` is the old file or the complete new one. If the block fails, the old
    file stays and the temporary one is removed.

    Parameters
    ----------
    path : the file to write; its folder is made if it is missing

    Yields
    ------
    a binary file, open for writing and reading back
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write(path: str | Path, content: bytes | str) -> None:
    """Replace a file in one move.

    Parameters
    ----------
    path, content : the file, as in `replacing`; bytes, or text to encode as UTF-8
    """
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def write_arrays(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Replace an ``.npz`` file of named arrays in one move.

    Parameters
    ----------
    path, arrays : the file, as in `replacing`; name → array
    """
    with replacing(path) as file:
        np.savez(file, **arrays)


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read all arrays of an ``.npz`` file that `write_arrays` wrote, without trusting it.

    Nothing in the file is executed, and nothing is unpacked that is larger than the file itself.

    Parameters
    ----------
    path : the file; any other one raises one of `UNREADABLE`

    Returns
    -------
    name → array
    """
    size = Path(path).stat().st_size
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("its arrays are compressed")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its arrays are longer than the file")
    with np.load(path, allow_pickle=False) as file:
        return dict(file.items())


def _permissions(path: Path) -> int:
    """Permissions of the file being replaced, or those that ``open`` would give a new one."""
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class Checkpoint:
    """The file of one run: named groups of arrays, and one JSON text of what a run must share.

    Parameters
    ----------
    path : the file
    seconds : least time between two saves
    settings, data : JSON values and, by name, arrays; a later call must share all to resume
    """

    def __init__(
        self,
        path: str | Path,
        seconds: float,
        settings: Mapping[str, Any],
        data: Mapping[str, Sequence[Any] | None],
    ) -> None:
        self.path = Path(path)
        self.seconds = seconds
        digests = {name: arrays and _digest(arrays) for name, arrays in data.items()}
        self.settings = json.loads(json.dumps({**settings, **digests}))
        self.saved_at = time.perf_counter()

    def load(self) -> dict[str, dict[str, np.ndarray]] | None:
        """The groups that `save` was given, in the same order; None if there is no file yet.

        A file that is damaged or belongs to another run is a ValueError.
        """
        if not self.path.exists():
            return None
        try:
            arrays = read_arrays(self.path)
            stored = json.loads(str(arrays.pop("settings")))
        except UNREADABLE as error:
            raise ValueError(
                f"checkpoint: expected a file written by fit, got an unreadable {self.path.name} "
                f"({type(error).__name__}); remove it to start afresh"
            ) from error
        pairs = {key: (stored.get(key), value) for key, value in self.settings.items()}
        different = [_difference(key, *pair) for key, pair in pairs.items() if pair[0] != pair[1]]
        if different:
            raise ValueError(
                "checkpoint: expected the model, data and settings that this call has, got "
                f"{self.path.name} of a run with another {', '.join(different)}"
            )
        groups: dict[str, dict[str, np.ndarray]] = {}
        for key, array in arrays.items():
            group, name = key.split(".")
            groups.setdefault(group, {})[name] = array
        return groups

    def save(self, groups: Mapping[str, Mapping[Any, Any]], now: bool = False) -> None:
        """Replace the file by groups of named arrays; if the last save is recent, only `now`."""
        if not now and time.perf_counter() - self.saved_at < self.seconds:
            return
        arrays: dict[str, Any] = {"settings": json.dumps(self.settings)}
        for group, members in groups.items():
            arrays |= {f"{group}.{name}": np.asarray(array) for name, array in members.items()}
        write_arrays(self.path, arrays)
        self.saved_at = time.perf_counter()


def _digest(arrays: Sequence[Any]) -> str:
    """A fingerprint of a data set: shapes, dtypes and values."""
    digest = hashlib.blake2b(digest_size=16)
    for array in map(np.asarray, arrays):
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _difference(key: str, stored: Any, current: Any) -> str:
    short = all(isinstance(value, (int, float, str, type(None))) for value in (stored, current))
    return f"{key} (there {stored!r}, here {current!r})" if short else key


@dataclass(frozen=True)
class TableContents:
    """What a growing table holds: its header, its complete lines, and where each of them ends."""

    header: dict[str, Any]  # the JSON object of the first line
    rows: list[dict[str, str]]  # column → text, one dictionary per complete line
    ends: list[int]  # number of bytes up to the end of each of these lines
    start: int  # number of bytes of the first two lines

    @property
    def end(self) -> int:
        """Number of bytes up to the end of the last complete line."""
        return self.ends[-1] if self.ends else self.start


class GrowingTable:
    """A CSV file to which lines are only ever added, below one comment line of JSON.

        # {"machine": …}
        model,classes,value
        etgp-linear,2,0.0031

    Lines are added in one write that reaches the disk, so whatever ends the program, at most the
    last line is incomplete. Reading leaves such a line out.

    Parameters
    ----------
    path, columns : the file, and the names of its columns
    argument, kind : in messages, the user's name for the file, and what it should be
    added : those of the columns that files of an earlier version lack; read as empty
    """

    def __init__(
        self,
        path: str | Path,
        columns: Sequence[str],
        argument: str,
        kind: str,
        added: Sequence[str] = (),
    ) -> None:
        self.path, self.columns = Path(path), tuple(columns)
        self.argument, self.kind = argument, kind
        self.earlier_columns = tuple(name for name in self.columns if name not in added)

    @property
    def has_begun(self) -> bool:
        """Whether the file holds more than the incomplete beginning of a header."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return False
        is_ours = content[:3] == b"# {"[: len(content)]
        return not is_ours or content.count(b"\n") >= 2

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write the first two lines of a new file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"")
        self._append(self.text(header))

    def text(self, header: Mapping[str, Any], rows: Iterable[Iterable[Any]] = ()) -> str:
        """The text of a whole file with this header and these rows."""
        return "".join([f"# {json.dumps(dict(header))}\n", *map(csv_line, (self.columns, *rows))])

    def add(self, rows: Iterable[Iterable[Any]]) -> None:
        """Add rows, each with a value for every column, in one write."""
        self._append("".join(map(csv_line, rows)))

    def read(self) -> TableContents:
        """Read the file; a file of another kind is a ValueError."""
        content = self.path.read_bytes()
        first, _, rest = content.partition(b"\n")
        names, _, body = rest.partition(b"\n")
        try:
            header = json.loads(first.decode().removeprefix("# "))
            columns = tuple(_values(names))
        except ValueError:
            header = None
        if not first.startswith(b"# ") or not isinstance(header, dict):
            fail(self.argument, self.kind, self.path.name)
        if columns not in (self.columns, self.earlier_columns):
            fail(self.argument, self.kind, f"{self.path.name}, which has other columns")
        start = len(first) + len(names) + 2
        rows: list[dict[str, str]] = []
        ends: list[int] = []
        for line in body.splitlines(keepends=True):
            if not line.endswith(b"\n"):  # incomplete: the program ended here
                break
            values = _values(line)
            if len(values) != len(columns):
                self.fail_at(len(rows))
            rows.append(dict.fromkeys(self.columns, "") | dict(zip(columns, values, strict=True)))
            ends.append((ends[-1] if ends else start) + len(line))
        return TableContents(header, rows, ends, start)

    def add_columns(self) -> None:
        """Give a file of an earlier version the columns that it lacks, empty, in one move."""
        names = self.path.read_bytes().split(b"\n", 2)[1]
        if tuple(_values(names)) == self.columns:
            return
        with self.locked():
            contents = self.read()
            rows = ([row[name] for name in self.columns] for row in contents.rows)
            write(self.path, self.text(contents.header, rows))

    def fail_at(self, row: int) -> NoReturn:
        """Refuse the file because of one of its rows, counted from 0 below the column names."""
        fail(self.argument, self.kind, f"{self.path.name} with a broken line {row + 3}")

    def truncate(self, size: int) -> None:
        """Cut the file off after ``size`` bytes, the end of what is complete."""
        with open(self.path, "r+b") as file:
            file.truncate(size)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep out other programs that ask for the same lock, where the system has locks."""
        with open(self.path, "r+b") as file:
            with contextlib.suppress(ImportError):  # Windows has no fcntl
                import fcntl

                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    expected = "a file that no other program is writing to"
                    fail(self.argument, expected, self.path.name)
            yield

    def _append(self, text: str) -> None:
        """Add whole lines in one write, and wait until they are on the disk."""
        content = text.encode("utf-8")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o644)
        try:
            before = os.fstat(descriptor).st_size
            if os.write(descriptor, content) < len(content):
                os.ftruncate(descriptor, before)
                raise OSError(f"{self.argument}: no room left on the disk for {self.path.name}")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def csv_line(values: Iterable[Any]) -> str:
    r"""One line of CSV.

    Parameters
    ----------
    values : one for each column

    Returns
    -------
    the line with its end; floating-point numbers have six digits

    >>> csv_line(["etgp-linear", 2, 1 / 3])
    'etgp-linear,2,0.333333\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(
        f"{value:.6g}" if isinstance(value, float) else value for value in values
    )
    return text.getvalue()


def _values(line: bytes) -> list[str]:
    """The values of one line, none if it is not CSV."""
    try:
        return next(csv.reader([line.decode()]), [])
    except (UnicodeDecodeError, csv.Error):
        return []
