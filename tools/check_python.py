"""Say in one sentence when this Python is not one that pyproject.toml allows.

Runs on any Python, however old: it is the first thing that `make` starts.
"""

import os
import re
import sys

PROJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "pyproject.toml")


def allowed():
    """Return the bounds in `requires-python`, lowest and first excluded version."""
    with open(PROJECT) as file:
        bounds = re.search(r'requires-python = ">=(\d+)\.(\d+),<(\d+)\.(\d+)"', file.read())
    numbers = [int(number) for number in bounds.groups()]
    return tuple(numbers[:2]), tuple(numbers[2:])


def complaint(version):
    """Return what is wrong with a version, an empty string when nothing is."""
    lowest, excluded = allowed()
    if lowest <= version < excluded:
        return ""
    return (
        "etgp-viz needs Python {0}.{1}, and {2} is Python {3}.{4}, which is too {5}: install "
        "Python {0}.{1} and try again, or name it with `make PYTHON=/path/to/python{0}.{1} ...`."
    ).format(
        lowest[0],
        lowest[1],
        sys.executable or "this one",
        version[0],
        version[1],
        "old" if version < lowest else "new",
    )


if __name__ == "__main__":
    sys.exit(complaint(tuple(sys.version_info[:2])) or 0)
