"""What needs no model works where TensorFlow is not installed; the rest says so in one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.house.test_dependencies import HEAVY, ROOT

SENTENCE = "This part of etgp_viz needs TensorFlow and GPflow, which are not installed here"
FIXTURES = ROOT / "tests" / "fixtures" / "v0_1_0"


def run_light(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process where the packages that the light installation lacks are missing."""
    missing = {name.replace("-", "_") for name in HEAVY} | {"dask"}
    hidden = f"import sys; sys.modules.update(dict.fromkeys({sorted(missing)}))\n"
    return subprocess.run(
        [sys.executable, "-c", hidden + code, *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


CLI = "from etgp_viz.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("from etgp_viz import datasets; print(datasets.load('iris'))", "Dataset('iris'"),
        ("from etgp_viz import experiments; print(experiments.reference().shape)", "("),
        ("from etgp_viz import timing; print(timing.describe(timing.reference())[0])", "C ="),
        ("from etgp_viz.explorers import PosteriorExplorer as E; print(E().summary)", "the band"),
        ("from etgp_viz.explorers import ResultsExplorer as E; print(E().summary)", "Best on"),
        ("from etgp_viz.explorers import TimingExplorer as E; print(E().summary)", "Reference"),
        ("from etgp_viz.explorers import TimingExplorer as E; print(E().picture()[1:4])", "PNG"),
    ],
)
def test_what_needs_no_model_works(code, printed):
    done = run_light(code)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["claims"], "HOLDS HERE"),
        (["course", "progress", FIXTURES], "student"),
        (["--help"], "doctor"),
    ],
)
def test_commands_that_need_no_model_work(arguments, printed):
    done = run_light(CLI, *arguments)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "from etgp_viz.explorers import FlowExplorer",
        "from etgp_viz import fit",
        "import etgp_viz.core.model",
        "from etgp_viz import ETGPClassifier as E; E().fit([[1.0], [2.0], [3.0]], [0, 1, 0])",
        "from etgp_viz import timing; timing.sweep(['etgp-linear'], classes=(2,))",
    ],
)
def test_what_needs_a_model_says_so(code):
    done = run_light(code)
    assert done.returncode == 1
    assert SENTENCE in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("verb", ["timing", "experiment"])
def test_commands_that_need_a_model_say_so_in_one_line(verb, tmp_path):
    options = ["--output", tmp_path / "grid.csv", "--datasets", "digits"]
    done = run_light(CLI, verb, *(options if verb == "experiment" else []))
    assert done.returncode == 1
    assert done.stderr.startswith(f"etgp-viz {verb}: {SENTENCE}")
    assert done.stderr.count("\n") == 1
