"""Pages that run code: lessons and the gallery, on all cores, kept until something changes."""

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from etgp_viz import explorers
from etgp_viz.files import write
from tools.site import gallery, lessons, sources, stills
from tools.site.sources import BUILD, SOURCE

__all__ = ["short", "write_pages"]

CACHE = BUILD / "docs-cache"


def write_pages(names: Sequence[str]) -> None:
    """Lessons and the gallery, on as many processes as there are cores, the longest first.

    A page is kept in `CACHE` under a digest of all that it depends on.
    """
    jobs = [("lesson", name) for name in sorted(names, reverse=True)]
    jobs = [("gallery", name) for name in explorers.__all__] + jobs
    jobs += [("explorer", options) for options in sources.places("explorer")]
    digest = _digest()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for files in pool.map(_job, jobs, [digest] * len(jobs)):
            for name, content in files.items():
                write(SOURCE / name, content)
    for folder in CACHE.iterdir():
        if folder.name != digest:  # of code that has changed
            shutil.rmtree(folder)


def _job(job: tuple[str, str], digest: str) -> dict[str, bytes]:
    """The files of one page, from the cache if nothing has changed."""
    kind, name = job
    folder = CACHE / digest / f"{kind}-{short(name)}"
    if not folder.exists():
        start = time.monotonic()
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            _write_page(kind, name, fresh)
        except Exception as error:  # some exceptions cannot be sent between processes
            raise RuntimeError(f"{kind} {name}: {error!r}") from None
        fresh.rename(folder)
        print(f"{kind} {name}: {time.monotonic() - start:.0f} s", flush=True)
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _write_page(kind: str, name: str, folder: Path) -> None:
    if kind == "lesson":
        write(folder / "lessons" / f"{name}.md", lessons.page(name))
    elif kind == "explorer":
        write(folder / "explorers" / f"{short(name)}.txt", gallery.moving(name))
    else:
        write(folder / "gallery" / f"{gallery.story_of(name)}.md", gallery.page(name))
        gallery.prints(name, folder / "prints")


def short(name: str) -> str:
    """A name that a file can have."""
    return name if name.isalnum() else hashlib.sha256(name.encode()).hexdigest()[:12]


def _digest() -> str:
    """A digest of all code, notebooks and shipped results."""
    digest = hashlib.sha256()
    for path in _dependencies():
        digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _dependencies() -> Iterator[Path]:
    for folder in ("etgp_viz", "notebooks"):
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from map(Path, ("constraints.txt", gallery.__file__, lessons.__file__, stills.__file__))
