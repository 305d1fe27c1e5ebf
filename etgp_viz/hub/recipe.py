"""The files of ``etgp-viz class init``: a JupyterHub for a class, with every choice explained."""

import json
import os
import re
import sys
from pathlib import Path
from string import Template

from etgp_viz.checks import fail
from etgp_viz.course.classroom import HUB_FOLDER
from etgp_viz.files import probe, write
from etgp_viz.hub import client
from etgp_viz.hub.plan import Plan

__all__ = ["SOCKET", "write_recipe"]

#: where the warm process listens; systemd makes the folder, which only root may write to
SOCKET = Path("/run/etgp-viz/kernels.sock")

TEMPLATES = Path(__file__).parent / "templates"
# File of the recipe → the templates that are joined to make it.
FILES = {
    "README.md": ("README.md",),
    "jupyterhub_config.py": ("students.txt", "plain_hub.txt"),
    "tljh/etgp_viz.py": ("students.txt",),
    "tljh/commands.sh": ("tljh_commands.sh",),
    "etgp-viz-warm.service": ("etgp-viz-warm.service",),
}
KERNEL = "share/kernels/python3/kernel.json"
# The name of the folder stands in a script that root runs, and in the text of a program.
FOLDER = re.compile(r"[\w/ .,@+~-]+")


def write_recipe(folder: Path, plan: Plan, socket: Path = SOCKET) -> list[Path]:
    """Write the recipe, or write it again.

    Parameters
    ----------
    folder : new, empty, or with an older recipe; it must stay where it is, readable by students
    plan : number of students and memory
    socket : where the warm process listens

    Returns
    -------
    the files
    """
    folder = folder.resolve()
    expected = "a new folder, an empty one, or one with a recipe for a class"
    if not FOLDER.fullmatch(str(folder)):
        fail("folder", "a name of letters, digits, spaces and any of /._,@+~-", repr(str(folder)))
    if os.path.exists(folder) and not os.path.isdir(folder):
        fail("folder", expected, f"{folder}, which is a file")
    if os.path.isdir(folder) and any(folder.iterdir()) and not (folder / KERNEL).is_file():
        fail("folder", expected, f"{folder}, which holds other files")
    values = {
        "folder": str(folder),
        "bin": str(Path(sys.executable).parent),
        "python": sys.executable,
        "socket": str(socket),
        "notebooks": HUB_FOLDER,
        "students": plan.students,
        "memory": f"{plan.memory:g}",
        "limit": f"{1024 * plan.limit:.0f}M",
        "plan": "\n".join(plan.lines()),
    }
    texts = {
        name: "\n".join(
            Template((TEMPLATES / part).read_text(encoding="utf-8")).substitute(values)
            for part in parts
        )
        for name, parts in FILES.items()
    }
    texts[KERNEL] = json.dumps(_kernelspec(socket), indent=1) + "\n"
    probe(folder / KERNEL, "folder")
    for name, text in texts.items():
        write(folder / name, text)
    return [folder / name for name in texts]


def _kernelspec(socket: Path) -> dict:
    """A kernel that is forked from the warm process, under the name that all notebooks ask for."""
    return {
        "argv": [sys.executable, "-IS", client.__file__, str(socket), "{connection_file}"],
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "metadata": {"debugger": True},
    }
