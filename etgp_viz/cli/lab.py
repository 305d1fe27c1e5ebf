"""``etgp-viz lab``: copy the shipped notebooks to the student's folder and start JupyterLab."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from etgp_viz.checks import fail
from etgp_viz.files import UNREADABLE, read_bytes, reason, write

__all__ = ["copy_notebooks", "shipped_notebooks", "start"]

FIRST = "00_start_here.ipynb"
MANIFEST = ".shipped.json"
MAX_MANIFEST = 2**20  # bytes
#: folder of what JupyterLab takes for its defaults; people's own settings come first
SETTINGS = Path(__file__).with_name("lab_settings")


def shipped_notebooks() -> Path:
    """Folder of the notebooks in the installed package, or in the checkout it runs from."""
    package = Path(__file__).parents[1]
    installed = package / "_notebooks"
    return installed if installed.is_dir() else package.parent / "notebooks"


def copy_notebooks(source: Path, folder: Path) -> Iterator[str]:
    """Update the notebooks in ``folder`` and yield a sentence for each one that is left as it is.

    A file is replaced only if it is exactly what was copied into this folder before, which the
    folder's manifest records as a digest for each name. A file that a student deleted is copied
    again.

    Parameters
    ----------
    source : folder of the shipped notebooks
    folder : the student's folder, created if it is missing
    """
    if folder.resolve() == source.resolve():
        return
    folder.mkdir(parents=True, exist_ok=True)
    copied = _read_manifest(folder / MANIFEST)
    before = dict(copied)
    try:
        yield from _copy(source, folder, copied)
    finally:  # also after a full disk: what was copied is known to be ours
        if copied != before:
            write(folder / MANIFEST, json.dumps(copied, indent=1))


def _read_manifest(path: Path) -> dict[str, str]:
    """Name → digest of what was copied; nothing if the manifest is missing or damaged.

    Without it, a notebook that differs from the shipped one counts as changed by the student.
    """
    try:
        copied = json.loads(read_bytes(path, MAX_MANIFEST))
    except UNREADABLE:
        return {}
    is_ours = isinstance(copied, dict) and all(isinstance(value, str) for value in copied.values())
    return copied if is_ours else {}


def _copy(source: Path, folder: Path, copied: dict[str, str]) -> Iterator[str]:
    """Copy what may be copied and note its digest; yield a sentence for everything else."""
    for original in sorted(path for path in source.rglob("*") if path.is_file()):
        name = original.relative_to(source).as_posix()
        # Skip what Jupyter leaves behind, and somebody else's progress.
        if any(part.startswith((".", "__pycache__", "progress.")) for part in Path(name).parts):
            continue
        copy, digest = folder / name, _digest(original)
        if copy.exists() and _digest(copy) not in (digest, copied.get(name)):
            yield f"{name}: kept with your changes (rename it to get the shipped version too)."
            continue
        if not copy.exists() or _digest(copy) != digest:
            write(copy, original.read_bytes())
        copied[name] = digest


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def start(folder: Path, arguments: Sequence[str]) -> int:
    """Copy the notebooks and run JupyterLab until it is stopped.

    Parameters
    ----------
    folder : the student's folder
    arguments : further options for JupyterLab

    Returns
    -------
    the exit status
    """
    try:
        for sentence in copy_notebooks(shipped_notebooks(), folder):
            print(sentence)
    except OSError as error:
        fail(
            "folder", "a folder that the notebooks can be copied to", f"{folder} ({reason(error)})"
        )

    from jupyterlab.labapp import LabApp

    # JupyterLab binds to localhost with a token. It refuses to run as root, the usual user in a
    # container, unless it is told to.
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    LabApp.launch_instance(
        [
            f"--ServerApp.root_dir={folder.resolve()}",
            f"--LabApp.default_url=/lab/tree/{FIRST}",
            "--LabApp.news_url=None",  # no network request …
            f"--LabApp.app_settings_dir={SETTINGS}",  # … and no question in front of a lesson
            *as_root,
            *arguments,
        ]
    )
    return 0
