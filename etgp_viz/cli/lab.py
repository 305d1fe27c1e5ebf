"""The shipped notebooks: a copy in the student's own folder, and JupyterLab started on it."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

FIRST = "00_start_here.ipynb"
MANIFEST = ".shipped.json"


def shipped_notebooks() -> Path:
    """Return the folder of notebooks in the installed package, or in the checkout it runs from."""
    package = Path(__file__).parents[1]
    installed = package / "_notebooks"
    return installed if installed.is_dir() else package.parent / "notebooks"


def copy_notebooks(source: Path, folder: Path) -> Iterator[str]:
    """Bring the notebooks in ``folder`` up to date and yield a sentence for each that needs one.

    A file is replaced only while it is exactly what was shipped into this folder before; the
    folder's manifest remembers that as a digest for each name. A file that a student deleted
    comes back.
    """
    if folder.resolve() == source.resolve():
        return
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / MANIFEST
    known = json.loads(manifest.read_text()) if manifest.exists() else {}
    for original in sorted(path for path in source.rglob("*") if path.is_file()):
        name = original.relative_to(source).as_posix()
        # Not what Jupyter leaves behind, nor what somebody did with the exercises there.
        if any(part.startswith((".", "__pycache__", "progress.")) for part in Path(name).parts):
            continue
        copy, digest = folder / name, _digest(original)
        if copy.exists() and _digest(copy) not in (digest, known.get(name)):
            yield f"{name}: kept as you changed it (rename it to get the shipped one beside it)."
            continue
        if not copy.exists() or _digest(copy) != digest:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original, copy)
        known[name] = digest
    manifest.write_text(json.dumps(known, indent=1))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def start(folder: Path, arguments: Sequence[str]) -> int:
    """Copy the notebooks to ``folder`` and run JupyterLab there until it is stopped."""
    try:
        for sentence in copy_notebooks(shipped_notebooks(), folder):
            print(sentence)
    except (OSError, ValueError) as error:
        print(f"The notebooks could not be copied to {folder}: {error}", file=sys.stderr)
        return 1

    from jupyterlab.labapp import LabApp

    # JupyterLab's own defaults bind to localhost with a token. It refuses to run as root, which
    # is what one is in a container.
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    LabApp.launch_instance(
        [
            f"--ServerApp.root_dir={folder.resolve()}",
            f"--LabApp.default_url=/lab/tree/{FIRST}",
            "--LabApp.news_url=None",  # nothing is fetched, and no question lies over a lesson
            *as_root,
            *arguments,
        ]
    )
    return 0
