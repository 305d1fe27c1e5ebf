"""Imports go down the house only: what is listed later may use what is listed earlier."""

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "etgp_viz"

PLOTS = {"matplotlib", "plotly"}
WIDGETS = {"anywidget", "ipywidgets"}
TENSORFLOW = {"check_shapes", "gpflow", "tensorflow", "tensorflow_probability", "tf_keras"}

# From the ground up: the rooms that share a floor, and what none of them ever imports.
FLOORS = (
    ({"backend", "checks", "files", "lazy", "messages", "moved"}, PLOTS | WIDGETS),
    ({"datasets"}, PLOTS | WIDGETS | {"etgp_viz.backend"}),
    ({"core"}, PLOTS | WIDGETS | {"etgp_viz.datasets"}),
    ({"extensions"}, PLOTS | WIDGETS),
    ({"rivals"}, PLOTS | WIDGETS),
    ({"classifier"}, PLOTS | WIDGETS),
    ({"timing"}, PLOTS | WIDGETS),
    ({"experiments"}, PLOTS | WIDGETS),
    ({"records"}, PLOTS | WIDGETS),
    ({"figures"}, WIDGETS | {"etgp_viz.backend"}),
    ({"explorers"}, set()),
    ({"course"}, set()),
    ({"hub"}, set()),
    ({"cli"}, set()),
)
FLOOR = {room: floor for floor, (rooms, _) in enumerate(FLOORS) for room in rooms}

# What loads no TensorFlow by being imported.
LIGHT = (
    "etgp_viz",
    "etgp_viz.checks",
    "etgp_viz.files",
    "etgp_viz.cli.main",
    "etgp_viz.course",
    "etgp_viz.datasets",
    "etgp_viz.experiments",
    "etgp_viz.experiments.claims",
    "etgp_viz.figures",
    "etgp_viz.figures.covariance",
    "etgp_viz.figures.flow",
    "etgp_viz.figures.inference",
    "etgp_viz.figures.posterior",
    "etgp_viz.figures.results",
    "etgp_viz.figures.shared_latent",
    "etgp_viz.figures.timing",
    "etgp_viz.explorers.posterior",
    "etgp_viz.records.posterior",
    "etgp_viz.records.results",
    "etgp_viz.records.timing",
    "etgp_viz.timing",
)


def imported(source: str) -> list[str]:
    """Dotted names of everything that a source imports at run time, wherever in it."""
    names = []
    for node in _at_run_time(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{'.' * node.level}{node.module or ''}.{a.name}" for a in node.names]
    return names


def _at_run_time(node: ast.AST):
    """Every node below this one, except what stands under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
            continue
        yield child
        yield from _at_run_time(child)


def complaints(room: str, source: str) -> list[str]:
    """What a module in a room imports against the rules of the house."""
    if room not in FLOOR:
        return [f"{room} has no room: give it one in {Path(__file__).name} and CONTRIBUTING.md"]
    found = []
    never = FLOORS[FLOOR[room]][1] | (TENSORFLOW if room != "backend" else set())
    for name in imported(source):
        top, _, rest = name.partition(".")
        if name.startswith("."):
            found.append(f"{room} imports {name}: write the name in full")
        elif any(f"{name}.".startswith(f"{library}.") for library in never):
            found.append(f"{room} imports {name}, which its room never touches")
        elif top == "etgp_viz" and FLOOR.get(rest.split(".")[0], len(FLOORS)) > FLOOR[room]:
            found.append(f"{room} looks up: it imports {name}")
    return found


SOURCES = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_room_looks_up(path):
    room = path.relative_to(PACKAGE).with_suffix("").parts[0]
    assert complaints(room, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_one_job_a_file(path):
    assert lines_without_examples(path.read_text(encoding="utf-8")) <= 500


def lines_without_examples(source: str) -> int:
    """Lines to read; an example in a docstring makes a file longer, but not harder to read."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    docs = list(filter(None, map(ast.get_docstring, nodes)))
    examples = [e for doc in docs for e in doctest.DocTestParser().get_examples(doc)]
    headings = [h for doc in docs for h in re.findall(r"\n\n(?:Examples\n-+\n)?(?=>>> )", doc)]
    in_examples = [*(e.source + e.want for e in examples), *(h[1:] for h in headings)]
    return len(source.splitlines()) - sum(text.count("\n") for text in in_examples)


def test_examples_are_not_counted():
    source = 'def f():\n    """One.\n\n    Examples\n    --------\n    >>> f()\n    1\n    """\n'
    assert lines_without_examples(source) == 3


def test_the_core_is_small_enough_to_read_in_an_afternoon():
    sources = [path.read_text(encoding="utf-8") for path in (PACKAGE / "core").glob("*.py")]
    assert sum(map(lines_without_examples, sources)) <= 2450


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("core", "from etgp_viz.rivals.svgp import TGP"),
        ("core", "from etgp_viz import datasets"),
        ("core", "def late():\n    from etgp_viz import explorers"),
        ("core", "import etgp_viz.figures.flow as flow"),
        ("core", "import tensorflow as tf"),
        ("core", "from check_shapes import check_shapes"),
        ("core", "from . import model"),
        ("core", "from etgp_viz import ETGP"),
        ("datasets", "from etgp_viz.backend import tf"),
        ("figures", "from etgp_viz.explorers import FlowExplorer"),
        ("figures", "from etgp_viz.backend import tf"),
        ("records", "import plotly.graph_objects as go"),
        ("attic", "import numpy as np"),
    ],
)
def test_the_rule_sees_a_breach(room, source):
    assert len(complaints(room, source)) == 1


def test_the_rule_lets_good_imports_pass():
    assert complaints("explorers", "import plotly\nfrom etgp_viz.records import prior") == []
    assert complaints("core", "from etgp_viz.backend import gpflow, tf") == []
    assert complaints("backend", "import tensorflow as tf") == []
    types = "if TYPE_CHECKING:\n    from etgp_viz.explorers import FlowExplorer"
    assert complaints("figures", types) == []


def test_what_needs_no_tensorflow_does_not_load_it():
    code = (
        "import importlib, sys\n"
        f"for name in {LIGHT!r}:\n"
        "    importlib.import_module(name)\n"
        "    heavy = {'tensorflow', 'gpflow'} & set(sys.modules)\n"
        "    assert not heavy, f'{name} loads {heavy}'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
