"""Imports go down the house only: what is listed later may use what is listed earlier."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "etgp_viz"

PLOTS = {"matplotlib", "plotly"}
WIDGETS = {"anywidget", "ipywidgets"}
TENSORFLOW = {"check_shapes", "gpflow", "tensorflow", "tensorflow_probability", "tf_keras"}

# From the ground up: the modules that share a floor, and the libraries that they never touch.
ROOMS = (
    ({"arguments", "backend", "validation"}, PLOTS | WIDGETS),
    ({"datasets"}, PLOTS | WIDGETS),
    ({"elementwise", "blocks"}, PLOTS | WIDGETS),
    ({"flow_base", "flows", "quadrature", "monte_carlo"}, PLOTS | WIDGETS),
    ({"kernels", "batched"}, PLOTS | WIDGETS),
    ({"networks"}, PLOTS | WIDGETS),
    ({"model"}, PLOTS | WIDGETS),
    ({"baselines", "building"}, PLOTS | WIDGETS),
    ({"training", "history", "optimisation", "checkpoints"}, PLOTS | WIDGETS),
    ({"estimator", "saved"}, PLOTS | WIDGETS),
    (
        {"prior", "covariance", "warping", "shared_latent", "agreement", "timing", "experiments"},
        PLOTS | WIDGETS,
    ),
    ({"posterior", "live_training"}, PLOTS | WIDGETS),
    ({"style", "figures"}, TENSORFLOW | WIDGETS | {"etgp_viz.backend"}),
    ({"explorers"}, set()),
    ({"course"}, set()),
    ({"doctor", "lab", "timing_report", "experiment_report", "course_report", "cli"}, set()),
)
FLOOR = {module: floor for floor, (modules, _) in enumerate(ROOMS) for module in modules}


def imported(source: str) -> list[str]:
    """Dotted names of everything that a source imports, wherever in it."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{'.' * node.level}{node.module or ''}.{a.name}" for a in node.names]
    return names


def complaints(module: str, source: str) -> list[str]:
    """What a module of the package imports against the rules of the house."""
    if module not in FLOOR:
        return [f"{module} has no room: give it one in {Path(__file__).name} and CONTRIBUTING.md"]
    found = []
    never = ROOMS[FLOOR[module]][1] | (TENSORFLOW if module != "backend" else set())
    for name in imported(source):
        top, _, rest = name.partition(".")
        if name.startswith("."):
            found.append(f"{module} imports {name}: write the name in full")
        elif any(f"{name}.".startswith(f"{library}.") for library in never):
            found.append(f"{module} imports {name}, which its room never touches")
        elif top == "etgp_viz" and FLOOR.get(rest.split(".")[0], len(ROOMS)) > FLOOR[module]:
            found.append(f"{module} looks up: it imports {name}")
    return found


SOURCES = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_room_looks_up(path):
    module = path.relative_to(PACKAGE).with_suffix("").parts[0]
    assert complaints(module, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("flows", "from etgp_viz.model import ETGP"),
        ("flows", "def late():\n    from etgp_viz import explorers"),
        ("model", "import etgp_viz.figures.paths as paths"),
        ("figures", "from etgp_viz.explorers import FlowExplorer"),
        ("figures", "from etgp_viz.backend import tf"),
        ("prior", "import plotly.graph_objects as go"),
        ("model", "import tensorflow as tf"),
        ("model", "from check_shapes import check_shapes"),
        ("training", "from . import model"),
        ("networks", "from etgp_viz import ETGP"),
        ("attic", "import numpy as np"),
    ],
)
def test_the_rule_sees_a_breach(module, source):
    assert len(complaints(module, source)) == 1


def test_the_rule_lets_good_imports_pass():
    assert complaints("explorers", "import plotly\nfrom etgp_viz import prior\nimport numpy") == []
    assert complaints("model", "from etgp_viz.backend import gpflow, tf") == []
    assert complaints("backend", "import tensorflow as tf") == []
