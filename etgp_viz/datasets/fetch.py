"""Find the file behind a data set: in your own folder, in the cache, or by download.

`find` looks in this order, and checks a file wherever it finds it:

1. the folder that the environment variable ``ETGP_VIZ_DATA`` names. It is only read. A file there
   that differs from the published one is an error.
2. the cache (`cache_folder`; ``ETGP_VIZ_CACHE`` names another). A file that differs from the
   published one is set aside as ``….damaged`` and fetched again. (An archive without a published
   checksum is only checked for being complete.)
3. the network. A download is bounded in size and time and checked before it replaces anything in
   the cache. From an archive, one file is taken by its name, and nothing else is unpacked.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import sys
import time
import urllib.request
import warnings
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tqdm.auto import tqdm

from etgp_viz.files import replacing

__all__ = ["UCI", "DataNotFoundError", "Source", "cache_folder", "find", "local_paths", "uci"]

UCI = "https://archive.ics.uci.edu"

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
    """A data set's file was not found and not downloaded; the message says where to put it.

    Examples
    --------
    >>> from etgp_viz import datasets
    >>> issubclass(datasets.DataNotFoundError, OSError)  # ``except OSError`` catches it
    True
    """


@dataclass(frozen=True)
class Source:
    """One published file.

    Attributes
    ----------
    file : its path under the data folder and the cache, e.g. ``vowel/vowel-context.data``
    page : where people find it
    urls : where it is downloaded from; the first address that works is used. If a zip archive
        comes and ``file`` is not one, the archive's member of the same name is taken.
    limit : most bytes that are accepted, of a download and of the file
    sha256 : checksum of the file's bytes, or None where none is published
    fields_sha256 : checksum of its `fields` alone, which the same table with other separators or
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
        """The file's name without its folder."""
        return PurePosixPath(self.file).name


def uci(number: int, file: str, limit: int, archive: str, old: str, *checksums: str) -> Source:
    """A file of the UCI machine learning repository, by the number of its data set there.

    ``archive`` is its zip file under ``static/public``; its ``old`` address under
    ``ml/machine-learning-databases`` is tried second. ``checksums`` are the sha256 of the file and
    of its fields, or none.
    """
    urls = f"{UCI}/static/public/{number}/{archive}", f"{UCI}/ml/machine-learning-databases/{old}"
    return Source(file, f"{UCI}/dataset/{number}", urls, limit, *checksums)


def cache_folder() -> Path:
    """The folder where downloads are kept.

    Returns
    -------
    ``ETGP_VIZ_CACHE``, or else ``etgp-viz`` in the platform's folder for caches

    Examples
    --------
    >>> from etgp_viz import datasets
    >>> datasets.cache_folder().is_absolute()
    True
    """
    if chosen := os.environ.get("ETGP_VIZ_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "etgp-viz"


def local_paths(source: Source) -> list[Path]:
    """Where a file may be on this machine: in the folder of ``ETGP_VIZ_DATA``, in the cache."""
    folders = (os.environ.get("ETGP_VIZ_DATA"), cache_folder())
    return [Path(folder).expanduser() / source.file for folder in folders if folder]


def find(source: Source, *, progress: bool = True) -> Path:
    """Path of a checked file on this machine, downloaded if necessary.

    Raises
    ------
    ValueError : for a file in the folder of ``ETGP_VIZ_DATA`` that is not the published one
    DataNotFoundError : when the file is not here and cannot be downloaded
    """
    *data_folder, cached = local_paths(source)
    for path in data_folder:
        if path.exists():
            if problem := _problem(source, path):
                raise ValueError(f"{path}: {problem}. Replace the file or remove it")
            return path
    if cached.exists():
        problem = _problem(source, cached)
        if not problem:
            return cached
        aside = cached.with_name(cached.name + ".damaged")
        with suppress(FileNotFoundError):  # another process was faster
            os.replace(cached, aside)
        warnings.warn(
            f"{cached}: {problem}. It was set aside as {aside.name} and will be downloaded again",
            RuntimeWarning,
            stacklevel=2,
        )
    try:
        _fetch(source, cached, progress)
    except OSError as error:
        raise DataNotFoundError(
            f"{source.name} is not at {' or '.join(map(str, local_paths(source)))}, and could not "
            f"be downloaded ({error}). Get it from {source.page} and put it at {cached}, or at "
            f"{source.file} in a folder that the environment variable ETGP_VIZ_DATA names"
        ) from error
    return cached


def fields(content: bytes) -> bytes:
    r"""A table's text with every run of commas, semicolons and white space made one space.

    >>> fields(b"1.5; a\r\n2.5; b\r\n")
    b'1.5 a 2.5 b'
    """
    return re.sub(rb"[\s,;]+", b" ", content).strip()


def _problem(source: Source, path: Path) -> str | None:
    """What is wrong with a file on this machine, in words, or None."""
    if not path.is_file():
        return "expected a file"
    with open(path, "rb") as file:
        return _difference(source, file)


def _difference(source: Source, file: BinaryIO) -> str | None:
    """How an open file differs from the published one, in words, or None."""
    size = file.seek(0, os.SEEK_END)
    if size > source.limit:
        return f"expected at most {source.limit} bytes, got {size}"
    if source.sha256 is None:
        return None if zipfile.is_zipfile(file) else "expected a complete zip archive"
    file.seek(0)
    content = file.read()
    checksum = hashlib.sha256(content).hexdigest()
    same_table = hashlib.sha256(fields(content)).hexdigest() == source.fields_sha256
    if checksum == source.sha256 or same_table:
        return None
    return f"expected sha256 {source.sha256}, got {checksum} ({size} bytes)"


def _fetch(source: Source, path: Path, progress: bool) -> None:
    """Download a file; it takes its place only once it is complete and checked."""
    failures = []
    for url in source.urls:
        try:
            with replacing(path) as file:
                _download(url, file, source, progress)
                if path.suffix != ".zip" and zipfile.is_zipfile(file):
                    content = _member(file, source)
                    file.seek(0)
                    file.truncate()
                    file.write(content)
                if difference := _difference(source, file):
                    raise ValueError(difference)
            return
        except FAILURES as error:
            failures.append(f"{url}: {error}")
    raise OSError("; ".join(failures))


def _download(url: str, file: BinaryIO, source: Source, progress: bool) -> None:
    """Download an address into a file, within the limits on size and time."""
    deadline = time.monotonic() + DEADLINE
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
            while chunk := answer.read1(CHUNK):  # whatever has arrived, without waiting for more
                received += len(chunk)
                if received > source.limit:
                    raise ValueError(f"expected at most {source.limit} bytes, got more")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"not complete after {DEADLINE:.0f} seconds")
                file.write(chunk)
                bar.update(len(chunk))
    if announced is not None and received != announced:
        raise ValueError(f"expected {announced} bytes, got {received}")


def _member(archive: BinaryIO, source: Source) -> bytes:
    """The one member of a zip archive with the file's name, in whichever folder it is."""
    with zipfile.ZipFile(archive) as members:
        named = [m for m in members.infolist() if PurePosixPath(m.filename).name == source.name]
        if len(named) != 1:
            raise ValueError(f"expected one {source.name} in the archive, got {len(named)}")
        # The size stated in an archive can be wrong, so the bytes that come out are counted too.
        with members.open(named[0]) as member:
            content = member.read(source.limit + 1)
    if len(content) > source.limit:
        raise ValueError(f"expected at most {source.limit} bytes of {source.name}, got more")
    return content
