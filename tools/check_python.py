"""Print one sentence if pyproject.toml does not allow this Python.

Runs on any Python, however old, because `make` starts it first. Given the path of another Python,
it also says if that one has a different version.
"""

import os
import re
import subprocess
import sys

PROJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "pyproject.toml")


def allowed():
    """Return the bounds in `requires-python`: the lowest and the first excluded version."""
    with open(PROJECT) as file:
        bounds = re.search(r'requires-python = ">=(\d+)\.(\d+),<(\d+)\.(\d+)"', file.read())
    numbers = [int(number) for number in bounds.groups()]
    return tuple(numbers[:2]), tuple(numbers[2:])


def complaint(version):
    """Return what is wrong with a version, or an empty string."""
    lowest, excluded = allowed()
    if lowest <= version < excluded:
        return ""
    newest = str(excluded[0]) + "." + str(excluded[1] - 1)
    return (
        "etgp-viz needs Python {0}.{1} to {2}, but {3} is Python {4}.{5}, which is too {6}: "
        "install Python {2} and try again, or choose one with `make PYTHON=/path/to/python{2} ...`."
    ).format(
        lowest[0],
        lowest[1],
        newest,
        sys.executable or "this one",
        version[0],
        version[1],
        "old" if version < lowest else "new",
    )


def difference(python):
    """Return what to do if another Python has a different version, or an empty string."""
    code = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    other = subprocess.check_output([python, "-c", code]).decode().strip()
    this = ".".join(map(str, sys.version_info[:2]))
    if other == this:
        return ""
    sentence = "The environment was made with Python OTHER, but you asked for THIS: " + (
        "run `make clean` first, or leave out PYTHON to keep it."
    )
    return sentence.replace("OTHER", other).replace("THIS", this)


if __name__ == "__main__":
    sys.exit(
        complaint(tuple(sys.version_info[:2]))
        or "".join(difference(python) for python in sys.argv[1:])
        or 0
    )
