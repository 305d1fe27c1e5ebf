"""``etgp-viz class``: set up a JupyterHub for a class, and start a student's server in it."""

import importlib.util
import os
import sys
from argparse import Namespace
from pathlib import Path

import psutil

from etgp_viz.cli import lab
from etgp_viz.course.classroom import HUB_FOLDER
from etgp_viz.hub import recipe
from etgp_viz.hub.plan import Plan

__all__ = ["print_report"]


def print_report(options: Namespace) -> int:
    """Carry out the task that the options name, and return the exit status."""
    return {"init": _init, "start": _start}[options.task](options)


def _init(options: Namespace) -> int:
    """Write the recipe and print the plan."""
    memory = options.memory
    if memory is None:
        memory = round(psutil.virtual_memory().total / 2**30)
    plan = Plan(options.students, memory)
    for path in recipe.write_recipe(options.folder, plan):
        print(f"✓ {path}")
    print(*plan.lines(), sep="\n")
    print(f"Next: follow {options.folder / 'README.md'}.")
    return 0


def _start(options: Namespace) -> int:
    """Update the student's notebooks, and become the student's Jupyter server."""
    if importlib.util.find_spec("jupyterhub") is None:
        fix = f"{sys.executable} -m pip install jupyterhub"
        raise ValueError(f"jupyterhub is not installed here: run {fix}")
    try:
        for sentence in lab.copy_notebooks(lab.shipped_notebooks(), Path.home() / HUB_FOLDER):
            print(sentence)
    except (OSError, ValueError) as error:  # even with a full disk, students must reach their files
        print(f"etgp-viz class: the notebooks could not be copied: {error}", file=sys.stderr)
    sys.stdout.flush()
    command = [sys.executable, "-m", "jupyterhub.singleuser", *options.jupyter_options]
    os.execv(sys.executable, command)
