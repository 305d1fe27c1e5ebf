"""Find the file behind a data set: in a folder of yours, in the cache, or by download.

`find` looks in this order, and checks a file wherever it finds it:

1. the folder that the environment variable ``ETGP_VIZ_DATA`` names. It is only read. A file there
   that is not the published one is an error.
2. the cache (`cache_folder`; ``ETGP_VIZ_CACHE`` names another). A file that is not the published
   one is set aside as ``….damaged`` and fetched again. (Of an archive without a known checksum
   only its end is looked at here.)
3. the network. What comes is bounded in size and time, checked, and only then put into the cache,
   in one move. Of an archive one file is taken, by its name, and nothing else is unpacked.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import sys
import tempfile
import time
import urllib.request
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from tqdm.auto import tqdm

__all__ = ["DataNotFoundError", "Source", "cache_folder", "find", "places"]

TIMEOUT = 30.0  # seconds without a byte
DEADLINE = 1800.0  # seconds for a whole file
CHUNK = 1 << 18
# How a server, a disk or an archive fails.
FAILURES = (
    OSError,
    ValueError,
    http.client.HTTPException,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,  # an archive that is encrypted or packed in an unknown way
)


class DataNotFoundError(OSError):
    """A data set's file is nowhere to be had; the message says where to put which file."""


@dataclass(frozen=True)
class Source:
    """One published file.

    Attributes
    ----------
    file : where it is kept under the data folder and the cache, e.g. ``vowel/vowel-context.data``
    page : where people find it
    urls : where it is downloaded from; the first that answers counts. If a zip archive comes and
        ``file`` is not one, the archive's member of the same name is taken.
    limit : most bytes that are accepted, of a download and of the file
    sha256 : of the file's bytes, or None where no checksum is known
    fields_sha256 : of its fields alone, see `fields`: the same table with other separators or
        line ends passes too
    """

    file: str
    page: str
    urls: tuple[str, ...]
    limit: int
    sha256: str | None = None
    fields_sha256: str | None = None

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.file).name


def cache_folder() -> Path:
    """Where downloads are kept: ``ETGP_VIZ_CACHE``, or a folder of the platform's choice."""
    if chosen := os.environ.get("ETGP_VIZ_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "etgp-viz"


def places(source: Source) -> list[Path]:
    """Where a file may be on this machine: in the folder of ``ETGP_VIZ_DATA``, in the cache."""
    folders = (os.environ.get("ETGP_VIZ_DATA"), cache_folder())
    return [Path(folder).expanduser() / source.file for folder in folders if folder]


def find(source: Source, *, progress: bool = True) -> Path:
    """Return the path of a checked file, downloading it if need be."""
    *folders, cached = places(source)
    for own in folders:
        if own.exists():
            if problem := _problem(source, own):
                raise ValueError(f"{own}: {problem}. Replace the file, or take it away")
            return own
    if cached.exists():
        problem = _problem(source, cached)
        if not problem:
            return cached
        aside = cached.with_name(cached.name + ".damaged")
        with suppress(FileNotFoundError):  # another process was faster
            os.replace(cached, aside)
        warnings.warn(
            f"{cached}: {problem}. It was set aside as {aside.name} and is fetched again",
            RuntimeWarning,
            stacklevel=2,
        )
    try:
        _fetch(source, cached, progress)
    except OSError as error:
        raise DataNotFoundError(
            f"{source.name} is not at {' or '.join(map(str, places(source)))}, and could not be "
            f"downloaded ({error}). Get it from {source.page} and put it at {cached}, or at "
            f"{source.file} in a folder that the environment variable ETGP_VIZ_DATA names"
        ) from error
    return cached


def fields(content: bytes) -> bytes:
    """A table's text with every run of commas, semicolons and white space made one space."""
    return re.sub(rb"[\s,;]+", b" ", content).strip()


def _problem(source: Source, path: Path) -> str | None:
    """What is wrong with a file, in words, or None."""
    if not path.is_file():
        return "expected a file"
    size = path.stat().st_size
    if size > source.limit:
        return f"expected at most {source.limit} bytes, got {size}"
    if source.sha256 is None:
        return None if zipfile.is_zipfile(path) else "expected a complete zip archive"
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    same_table = hashlib.sha256(fields(content)).hexdigest() == source.fields_sha256
    if found == source.sha256 or same_table:
        return None
    return f"expected sha256 {source.sha256}, got {found} ({size} bytes)"


def _fetch(source: Source, path: Path, progress: bool) -> None:
    """Download a file and put it in its place only when it is complete and right."""
    path.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in source.urls:
        try:
            with _temporary(path) as (download, file):
                _download(url, file, source, progress)
                if zipfile.is_zipfile(download) and path.suffix != ".zip":
                    with _temporary(path) as (unpacked, member):
                        _unpack(download, source, member)
                        _put(source, unpacked, path)
                else:
                    _put(source, download, path)
            return
        except FAILURES as error:
            failures.append(f"{url}: {error}")
    raise OSError("; ".join(failures))


@contextmanager
def _temporary(path: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A new file beside ``path``, gone at the end unless it was moved away."""
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield Path(name), file
    finally:
        Path(name).unlink(missing_ok=True)


def _put(source: Source, partial: Path, path: Path) -> None:
    if problem := _problem(source, partial):
        raise ValueError(problem)
    partial.chmod(0o644)  # a temporary file is its owner's alone; a cache may be shared
    os.replace(partial, path)


def _download(url: str, file: IO[bytes], source: Source, progress: bool) -> None:
    ends = time.monotonic() + DEADLINE
    request = urllib.request.Request(url, headers={"User-Agent": "etgp-viz"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        length = answer.headers.get("Content-Length")
        announced = int(length) if length and length.isdigit() else None
        if announced is not None and announced > source.limit:
            raise ValueError(f"expected at most {source.limit} bytes, got {announced}")
        bar = tqdm(
            total=announced, unit="B", unit_scale=True, desc=source.name, disable=not progress
        )
        received = 0
        with bar:
            while chunk := answer.read1(CHUNK):  # what there is, and no waiting for more
                received += len(chunk)
                if received > source.limit:
                    raise ValueError(f"expected at most {source.limit} bytes, got more")
                if time.monotonic() > ends:
                    raise TimeoutError(f"not complete after {DEADLINE:.0f} seconds")
                file.write(chunk)
                bar.update(len(chunk))
    if announced is not None and received != announced:
        raise ValueError(f"expected {announced} bytes, got {received}")
    _finish(file)


def _unpack(archive: Path, source: Source, file: IO[bytes]) -> None:
    """Copy the one member that has the file's name; its folder in the archive does not matter."""
    with zipfile.ZipFile(archive) as members:
        found = [m for m in members.infolist() if PurePosixPath(m.filename).name == source.name]
        if len(found) != 1:
            raise ValueError(f"expected one {source.name} in the archive, got {len(found)}")
        # The size that the archive states may lie, so what comes out is counted too.
        with members.open(found[0]) as member:
            content = member.read(source.limit + 1)
    if len(content) > source.limit:
        raise ValueError(f"expected at most {source.limit} bytes of {source.name}, got more")
    file.write(content)
    _finish(file)


def _finish(file: IO[bytes]) -> None:
    """Bring a file to the disk and close it: an open one cannot be moved everywhere."""
    file.flush()
    os.fsync(file.fileno())
    file.close()
