"""A CSV table that only grows, one checked line at a time."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from etgp_viz.checks import check_path, fail
from etgp_viz.files.whole import locked, probe, read_bytes, write

__all__ = ["GrowingTable", "TableContents", "csv_line"]

CHECKSUM = "crc"  # the last column, and a key of the header
SECONDS_TO_BEGIN = 5.0  # how long a program waits for another that is beginning the same table


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

        # {"machine": …, "crc": "5ab1de77"}
        model,classes,value,crc
        etgp-linear,2,0.0031,07d9ac2b

    Lines are added in one write that reaches the disk, so whatever ends the program, at most the
    last line is incomplete. Reading leaves such a line out. Each line ends with a checksum (CRC-32)
    of what stands before it, so that a damaged number is noticed; files of earlier versions have no
    checksums and are read without them.

    Parameters
    ----------
    path, columns : the file, and the names of its columns without the checksum
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
        self.path, self.columns = check_path(path, argument), tuple(columns)
        self.argument, self.kind = argument, kind
        self.earlier_columns = tuple(name for name in self.columns if name not in added)

    @property
    def has_begun(self) -> bool:
        """Whether the file holds more than the incomplete beginning of a header."""
        if not os.path.exists(self.path):
            return False
        content = self._content()
        is_ours = content[:3] == b"# {"[: len(content)]
        return not is_ours or content.count(b"\n") >= 2

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write the first two lines, unless another program has just done so."""
        probe(self.path, self.argument)
        deadline = time.monotonic() + SECONDS_TO_BEGIN
        while not self.has_begun:
            try:
                with locked(self.path):
                    if not self.has_begun:
                        self._write_first_lines(header)
            except BlockingIOError:  # another program is at this very point
                if time.monotonic() > deadline:
                    self._fail_locked()
                time.sleep(0.01)

    def _write_first_lines(self, header: Mapping[str, Any]) -> None:
        self.truncate(0)
        try:
            self._append(self.text(header))
        except OSError:
            self.path.unlink()  # an empty file would be mistaken for something
            raise

    def text(self, header: Mapping[str, Any], rows: Iterable[Iterable[Any]] = ()) -> str:
        """The text of a whole file with this header and these rows."""
        checked = {**header, CHECKSUM: _checksum(json.dumps(dict(header)).encode())}
        names = csv_line((*self.columns, CHECKSUM))
        return "".join([f"# {json.dumps(checked)}\n", names, *map(_checked_line, rows)])

    def add(self, rows: Iterable[Iterable[Any]]) -> None:
        """Add rows, each with a value for every column, in one write."""
        self._append("".join(map(_checked_line if self._is_checked else csv_line, rows)))

    def read(self) -> TableContents:
        """Read the file; a file of another kind, or a damaged one, is a ValueError."""
        content = self._content()
        if not content:
            fail(self.argument, self.kind, f"{self.path.name}, in which nothing is written yet")
        first, _, rest = content.partition(b"\n")
        names, _, body = rest.partition(b"\n")
        try:
            header = json.loads(first.decode().removeprefix("# "))
            columns = tuple(_values(names))
        except (ValueError, RecursionError):
            header = None
        if not first.startswith(b"# ") or not isinstance(header, dict):
            fail(self.argument, self.kind, self.path.name)
        is_checked = columns[-1:] == (CHECKSUM,)
        columns = columns[:-1] if is_checked else columns
        checksum = header.pop(CHECKSUM, None)
        if is_checked and checksum != _checksum(json.dumps(header).encode()):
            self._fail_damaged(1)
        if columns not in (self.columns, self.earlier_columns):
            fail(self.argument, self.kind, f"{self.path.name}, which has other columns")
        start = len(first) + len(names) + 2
        rows: list[dict[str, str]] = []
        ends: list[int] = []
        *lines, _ = body.split(b"\n")  # behind the last line end: what a killed program began
        for line in lines:
            values = _values(_verified(line) if is_checked else line)
            if len(values) != len(columns):
                self.fail_at(len(rows))
            rows.append(dict.fromkeys(self.columns, "") | dict(zip(columns, values, strict=True)))
            ends.append((ends[-1] if ends else start) + len(line) + 1)
        return TableContents(header, rows, ends, start)

    def bring_up_to_date(self) -> None:
        """Give a file of an earlier version the columns and checksums it lacks, in one move."""
        names = self._content().split(b"\n", 2)[1]
        if tuple(_values(names)) == (*self.columns, CHECKSUM):
            return
        with self.locked():
            contents = self.read()
            rows = ([row[name] for name in self.columns] for row in contents.rows)
            write(self.path, self.text(contents.header, rows))
        self.__dict__.pop("_is_checked", None)

    def fail_at(self, row: int) -> NoReturn:
        """Refuse the file because of one of its rows, counted from 0 below the column names."""
        self._fail_damaged(row + 3)

    def truncate(self, size: int) -> None:
        """Cut the file off after ``size`` bytes, the end of what is complete."""
        with open(self.path, "r+b") as file:
            file.truncate(size)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep out other programs that ask for the same lock, where the system has locks."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self.path))
            except BlockingIOError:
                self._fail_locked()
            except OSError as error:
                got = f"{self.path} ({(error.strerror or str(error)).lower()})"
                fail(self.argument, "a file that can be written", got)
            yield

    @cached_property
    def _is_checked(self) -> bool:
        """Whether the lines of this file have checksums, unlike those of version 0.1."""
        return _values(self._content().split(b"\n", 2)[1])[-1:] == [CHECKSUM]

    def _content(self) -> bytes:
        try:
            return read_bytes(self.path)
        except OSError as error:
            fail(self.argument, self.kind, f"{self.path} ({(error.strerror or '').lower()})")

    def _fail_locked(self) -> NoReturn:
        fail(self.argument, "a file that no other program is writing to", self.path.name)

    def _fail_damaged(self, line: int) -> NoReturn:
        fail(self.argument, self.kind, f"{self.path.name} with a broken line {line}")

    def _append(self, text: str) -> None:
        """Add whole lines in one write, and wait until they are on the disk."""
        content = text.encode("utf-8", errors="replace")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o644)
        try:
            before = os.fstat(descriptor).st_size
            if _written(descriptor, content) < len(content):
                os.ftruncate(descriptor, before)
                raise OSError(f"{self.argument}: no room left on the disk for {self.path.name}")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _written(descriptor: int, content: bytes) -> int:
    """Number of bytes that one write could place; fewer than all of them on a full disk."""
    try:
        return os.write(descriptor, content)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
            raise
        return 0


def _checksum(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"


def _checked_line(values: Iterable[Any]) -> str:
    """A line of CSV with the checksum of its values behind them."""
    line = csv_line(values).removesuffix("\n")
    return f"{line},{_checksum(line.encode('utf-8', errors='replace'))}\n"


def _verified(line: bytes) -> bytes:
    """A line without its checksum; nothing at all if the two do not agree."""
    content, _, checksum = line.removesuffix(b"\r").rpartition(b",")
    return content if checksum == _checksum(content).encode() else b""


def csv_line(values: Iterable[Any]) -> str:
    r"""One line of CSV.

    Parameters
    ----------
    values : one for each column

    Returns
    -------
    the line with its end; floating-point numbers have six digits, text is on one line

    >>> csv_line(["etgp-linear", 2, 1 / 3])
    'etgp-linear,2,0.333333\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(_field, values))
    return text.getvalue()


def _field(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.splitlines())
    return f"{value:.6g}" if isinstance(value, float) else value


def _values(line: bytes) -> list[str]:
    """The values of one line, none if it is not CSV."""
    try:
        return next(csv.reader([line.decode()]), [])
    except (UnicodeDecodeError, csv.Error):
        return []
