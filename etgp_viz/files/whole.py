"""Whole files: replaced in one move, locked, read without trusting them; arrays in an ``.npz``."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import struct
import tempfile
import time
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from etgp_viz.checks import check_path, fail
from etgp_viz.messages import one_line

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "UNREADABLE",
    "create",
    "locked",
    "probe",
    "read_arrays",
    "read_bytes",
    "reason",
    "replacing",
    "write",
    "write_arrays",
]

# What reading arrays, JSON and text from a damaged or hostile file may raise.
UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)

PARTIAL = ".partial"  # end of the name of a file that is being written


def reason(error: BaseException) -> str:
    """What went wrong in one short line, without the numbers of the operating system.

    Parameters
    ----------
    error : any error

    Returns
    -------
    for an error of the operating system the file and the problem, else the first line

    Examples
    --------
    >>> reason(FileNotFoundError(2, "No such file or directory", "mine.csv"))
    'mine.csv: no such file or directory'
    """
    if isinstance(error, OSError) and error.strerror:
        words = error.strerror[:1].lower() + error.strerror[1:]
        return one_line(f"{error.filename}: {words}") if error.filename else words
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return one_line(lines[0])


@contextlib.contextmanager
def locked(path: str | Path, seconds: float = 0.0) -> Iterator[BinaryIO]:
    """Hold the lock of a file, which is made if it is missing; it keeps out those who ask for it.

    The system releases the lock however the program ends. If somebody replaces the file while this
    program waits, the lock of the new file is taken.

    Parameters
    ----------
    path : the file, in a folder that exists
    seconds : how long to wait for a program that holds the lock, before a BlockingIOError

    Yields
    ------
    the file, open for reading and writing
    """
    deadline = time.monotonic() + seconds
    while True:
        with open(path, "a+b") as file:
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)
                continue
            except OSError:  # a file system without locks
                pass
            if fcntl is None or os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                yield file
                return


def probe(path: str | Path, argument: str) -> Path:
    """Check that a file can be written, before hours of work that end in writing it.

    Parameters
    ----------
    path : the file; its folder is made if it is missing, and nothing else changes
    argument : the user's name for it, in the message

    Returns
    -------
    the path
    """
    path = check_path(path, argument)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        # Under the name that `replacing` would give it: a longer one may be too long.
        file, temporary = _temporary(path)
        try:
            with file:
                file.write(b"\0")
        finally:
            with contextlib.suppress(FileNotFoundError):  # removed as a leftover, once unlocked
                os.unlink(temporary)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        fail(argument, "a file that can be written", f"{path} ({problem})")
    return path


def read_bytes(path: str | Path, limit: int | None = None) -> bytes:
    """The content of an ordinary file; a pipe, a device or a folder is an OSError.

    Reading from a pipe or a device may never end.

    Parameters
    ----------
    path, limit : the file, and the number of bytes beyond which it is refused with an OSError

    Returns
    -------
    all bytes of the file
    """
    # Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "Not an ordinary file", str(path))
        content = file.read(-1 if limit is None else limit + 1)
    if limit is not None and len(content) > limit:
        raise OSError(errno.EFBIG, f"Larger than {limit} bytes", str(path))
    return content


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of ``path`` once the block has succeeded.

    At every moment ``path`` is the old file or the complete new one. If the block fails, the old
    file stays and the temporary one is removed. What a killed program left behind is removed by the
    next one that replaces the same file.

    Parameters
    ----------
    path : the file to write; its folder is made if it is missing

    Yields
    ------
    a binary file, open for writing and reading back
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    file, temporary = _temporary(path)
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        if fcntl is None:  # Windows moves no open file
            file.close()
        os.chmod(temporary, _permissions(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()  # may fail itself: it writes what is left
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    file.close()


def _temporary(path: Path) -> tuple[BinaryIO, str]:
    """A new file beside another one, locked as long as it is open, which marks it as in use."""
    while True:
        descriptor, name = tempfile.mkstemp(PARTIAL, f".{path.name}.", path.parent)
        file = os.fdopen(descriptor, "w+b")
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # else somebody took it for a leftover before the lock
            return file, name
        file.close()


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of ``path`` whose program has ended, as their free locks show."""
    if fcntl is None:
        return
    start = f".{path.name}."
    for name in os.listdir(path.parent):
        if name.startswith(start) and name.endswith(PARTIAL):
            with contextlib.suppress(OSError), open(path.parent / name, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path.parent / name)


def write(path: str | Path, content: bytes | str) -> None:
    """Replace a file in one move.

    Parameters
    ----------
    path, content : the file, as in `replacing`; bytes, or text to encode as UTF-8
    """
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def create(path: str | Path, content: bytes | str) -> bool:
    """Write a new file in one move, unless there is one.

    Of many programs that do so at the same time, one succeeds.

    Parameters
    ----------
    path, content : as for `write`

    Returns
    -------
    whether the file is new
    """
    path = Path(path)
    if path.exists():
        return False
    file, temporary = _temporary(path)
    try:
        with file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.chmod(temporary, _permissions(path))
            os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return True


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
    content = read_bytes(path)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("its arrays are compressed")
    if sum(member.file_size for member in members) > len(content):
        raise ValueError("its arrays are longer than the file")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file.items())


def _permissions(path: Path) -> int:
    """Permissions of the file being replaced, or those that ``open`` would give a new one."""
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
