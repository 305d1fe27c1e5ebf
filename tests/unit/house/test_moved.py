"""What version 0.1 offered is still found: names without a warning, moved modules with one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "etgp_viz"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0_1_0"
IMPORTS = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))["imports"]

# Public module of version 0.1 → the names that it offered.
NAMES = json.loads((FIXTURES / "public_names.json").read_text(encoding="utf-8"))

# Every module of version 0.1, by package.
MODULES_OF_0_1 = {
    "": """agreement arguments backend baselines batched blocks building checkpoints cli
        course_report covariance doctor elementwise estimator experiment_report flow_base flows
        history kernels lab live_training model monte_carlo networks optimisation posterior prior
        quadrature saved shared_latent style timing_report training validation warping""",
    "course": """answers build checking classroom exercise handout lesson_01 lesson_02
        lesson_02_shape lesson_03 lesson_04 lesson_04_target lesson_05 lesson_05_quadrature
        lesson_06 lesson_07 lesson_07_scores lesson_08 lesson_08_flow mathml progress render run
        slides stills versions""",
    "datasets": "fetch images own prepare record sources tables toys",
    "experiments": """claims close_up cluster collection columns comparisons detail estimate
        evidence execution panels presets results run scoring selection settings shipped speed
        summary trained""",
    "explorers": """background base covariance covariance_stages fields flow inference latent_fields
        links live page points profile results shared_latent study timing""",
    "figures": """class_lines class_regions classes comparison confusion convergence density
        dependence elbo equal_inputs flow_map frames hardest latent_matrix latent_posterior latents
        matrix node_errors orders parameters paths pivot print_agreement print_inference
        print_scores print_shared print_warping probabilities processes projection reliability
        scores spectrum timing timing_print together training_curve two_points variances
        warped_posterior""",
    "timing": """analysis cholesky costs curves data machine paper peer processes race records
        rivals words worker""",
}
OLD_MODULES = [
    ".".join(filter(None, ("etgp_viz", package, name)))
    for package, names in MODULES_OF_0_1.items()
    for name in names.split()
]

# What ``from etgp_viz import …`` offered in version 0.1.
PUBLIC_NAMES = """
    ETGP ETGPClassifier FitResult FlowNetwork build fit agreement backend baselines building course
    covariance datasets doctor estimator experiments explorers figures flows kernels live_training
    model networks posterior prior shared_latent style timing training warping
"""

# The warnings at the first import of each module, and those later: at a second import, and at the
# import of the new home.
IMPORT_TWICE = """
import importlib, json, pkgutil, sys, warnings

def messages(load, name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            load(name)
        except ModuleNotFoundError as error:
            if error.name not in ("gpytorch", "torch"):  # the race does without them
                raise
    return [str(w.message) for w in caught if w.category is FutureWarning]

def report(name):
    first, later = messages(importlib.import_module, name), []
    if name in sys.modules:
        later = messages(importlib.import_module, name)
        for message in first:
            later += messages(pkgutil.resolve_name, message.split()[-2])
    return {"first": first, "later": later}

print(json.dumps({name: report(name) for name in sys.argv[1:]}))
"""

# Runs lines of code; what version 0.1 promised must work, with FutureWarnings as errors or without.
RUN_LINES = """
import json, sys, traceback, warnings

for category, lines in json.load(sys.stdin):
    warnings.simplefilter(category, FutureWarning)
    for line in lines:
        try:
            exec(line, {})
        except Exception:
            print(line, traceback.format_exc(limit=1).splitlines()[-1], sep=": ")
"""
SAME_MODULE = (
    "import etgp_viz.warping\n"
    "from etgp_viz.warping import Matrix\n"
    "from etgp_viz.records import flow\n"
    "assert etgp_viz.warping is flow and Matrix is flow.Matrix\n"
    "assert flow.__name__ == flow.__spec__.name == 'etgp_viz.records.flow'\n"
)


def is_gone(module):
    path = PACKAGE.parent.joinpath(*module.split("."))
    return not (path.with_suffix(".py").exists() or path.is_dir())


GONE = [module for module in OLD_MODULES if is_gone(module)]


def run(code, *arguments, **options):
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_list_is_that_of_version_0_1():
    assert len(OLD_MODULES) == 161
    assert len(PUBLIC_NAMES.split()) == 30
    assert len(GONE) > 50


@pytest.mark.slow
def test_modules_are_found_with_one_warning_if_they_moved_and_with_none_if_they_stayed():
    stayed = [module for module in OLD_MODULES if not is_gone(module)]
    said = json.loads(run(IMPORT_TWICE, *stayed, *GONE))
    assert {module: said[module] for module in stayed if said[module]["first"]} == {}
    for module in GONE:
        (first,) = said[module]["first"]
        form = rf"{re.escape(module)} has moved: import etgp_viz\.[.\w]+ instead"
        assert re.fullmatch(form, first), module
        assert said[module]["later"] == [], module


@pytest.mark.slow
def test_public_names_work_without_a_warning_and_earlier_imports_still_work():
    public = [f"from etgp_viz import {name}" for name in PUBLIC_NAMES.split()]
    of_modules = [
        f"from etgp_viz import {module}; {module}.{name}"
        for module, names in NAMES.items()
        for name in names
    ]
    lines = [("error", public + of_modules), ("ignore", [*IMPORTS, SAME_MODULE])]
    assert run(RUN_LINES, input=json.dumps(lines)) == ""


def test_a_module_that_never_was_is_still_an_error():
    with pytest.raises(ModuleNotFoundError, match=r"etgp_viz\.no_such_module"):
        __import__("etgp_viz.no_such_module")
    with pytest.raises(ImportError, match="no_such_name"):
        from etgp_viz import no_such_name  # noqa: F401
