"""pyproject.toml, the sets of versions, environment.yml and what is installed agree."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
NEEDED = [Requirement(line) for line in PROJECT["dependencies"]]
# The package names itself where one extra contains another.
REQUIREMENTS = [
    *NEEDED,
    *(
        requirement
        for extra in EXTRAS.values()
        for requirement in map(Requirement, extra)
        if requirement.name != PROJECT["name"]
    ),
]
LINUX, MAC = (
    {"sys_platform": "linux", "platform_machine": "x86_64"},
    {"sys_platform": "darwin", "platform_machine": "arm64"},
)


def pins(lines) -> dict[str, str]:
    """Canonical name → version of ``name==version`` lines; comments are left out."""
    found = {}
    for line in filter(None, (line.split("#")[0].strip() for line in lines)):
        assert re.fullmatch(r"[\w.-]+==[\w.]+", line), f"not a plain name==version: {line}"
        name, version = line.split("==")
        assert canonicalize_name(name) not in found, f"listed twice: {name}"
        found[canonicalize_name(name)] = version
    return found


def versions_in(file: str) -> dict[str, str]:
    return pins((ROOT / file).read_text(encoding="utf-8").splitlines())


SETS = {path.name: versions_in(path.name) for path in sorted(ROOT.glob("constraints*.txt"))}
CONSTRAINTS = SETS["constraints.txt"]


def system_of(file: str) -> dict[str, str]:
    """The system whose markers a set follows."""
    return MAC if "mac" in file else LINUX


def test_the_four_sets_are_there():
    assert set(SETS) == {
        "constraints.txt", "constraints-oldest.txt", "constraints-colab.txt", "constraints-mac.txt"
    }  # fmt: skip


@pytest.mark.parametrize("file", SETS)
def test_every_set_lies_within_the_bounds(file):
    for requirement in NEEDED:
        if requirement.marker is None or requirement.marker.evaluate(system_of(file)):
            assert SETS[file][canonicalize_name(requirement.name)] in requirement.specifier, file


@pytest.mark.parametrize("requirement", NEEDED, ids=str)
def test_every_bound_says_what_was_tested_and_no_more(requirement):
    """The floor is the oldest tested version, the ceiling the first series after the newest."""
    name = canonicalize_name(requirement.name)
    tested = [
        Version(versions[name])
        for file, versions in SETS.items()
        if requirement.marker is None or requirement.marker.evaluate(system_of(file))
    ]
    bounds = {bound.operator: Version(bound.version) for bound in requirement.specifier}
    assert set(bounds) == {">=", "<"}
    assert bounds[">="] == min(tested)
    newest = max(tested)
    next_series = (Version(f"{newest.major}.{newest.minor + 1}"), Version(f"{newest.major + 1}"))
    assert bounds["<"] in next_series


#: What `etgp-viz-light` does without: the model, and experiments on many processes.
HEAVY = {
    "check-shapes", "cryptography", "distributed", "gpflow", "setuptools", "tensorflow",
    "tensorflow-probability", "tf-keras",
}  # fmt: skip


def test_the_light_package_asks_for_the_same_versions():
    light = tomllib.loads((ROOT / "light/pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [line for line in PROJECT["dependencies"] if Requirement(line).name not in HEAVY]
    assert light["dependencies"] == needed
    assert light["requires-python"] == PROJECT["requires-python"]
    assert light["scripts"] == PROJECT["scripts"]


def test_every_tool_is_pinned_to_what_was_tested():
    for requirement in (each for each in REQUIREMENTS if each not in NEEDED):
        (bound,) = requirement.specifier
        assert bound.operator == "~="
        assert bound.version == CONSTRAINTS[canonicalize_name(requirement.name)]


def test_conda_gets_the_same_set():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (from_pip,) = (entry["pip"] for entry in conda if isinstance(entry, dict))
    assert {"-c constraints.txt", "-e ."} <= set(from_pip)
    needed = {canonicalize_name(requirement.name) for requirement in NEEDED}
    listed = pins(line for line in from_pip if not line.startswith("-"))
    assert listed == {name: CONSTRAINTS[name] for name in needed}


def test_conda_gets_the_same_python():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (python,) = (entry for entry in conda if str(entry).startswith("python="))
    allowed = Requirement(f"python{PROJECT['requires-python']}").specifier
    assert f"{python.removeprefix('python=')}.0" in allowed


def closure(requirements) -> set[str]:
    """Names of all installed distributions that the requirements bring in."""
    seen: set[tuple[str, str]] = set()
    todo = [(r, extra) for r in requirements for extra in ("", *r.extras)]
    while todo:
        requirement, extra = todo.pop()
        key = (canonicalize_name(requirement.name), extra)
        if key in seen:
            continue
        try:
            needs = metadata.requires(requirement.name) or ()
        except metadata.PackageNotFoundError:  # an extra that is not installed
            continue
        seen.add(key)
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                todo += [(need, more) for more in ("", *need.extras)]
    return {name for name, _ in seen}


def test_installed_is_what_is_pinned():
    """In an environment that `make` built, which says here from which set."""
    pinned = SETS[os.environ.get("ETGP_VIZ_CONSTRAINTS", "constraints.txt")]
    installed = {name: metadata.version(name) for name in closure(REQUIREMENTS)}
    assert installed == {name: pinned.get(name) for name in installed}


def test_one_tensorflow_only():
    names = {canonicalize_name(found.name) for found in metadata.distributions()}
    assert "tensorflow" in names
    assert "tensorflow-cpu" not in names


# One question to the package index for each system and Python that the README names.
RESOLVED = [
    (platform, python)
    for platform in ("x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin")
    for python in (("3.11.7", "3.12") if "apple" in platform else ("3.11.7", "3.13"))
]


def resolve(platform: str, python: str) -> subprocess.CompletedProcess[str]:
    """Ask for the versions that an installation without constraints would take, wheels only."""
    return subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--quiet", "--no-header",
         "--no-annotate", "--only-binary", ":all:", "--python-version", python,
         "--python-platform", platform],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def index():
    """Skip where no package index answers."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "-"]
    answer = subprocess.run(command, input="six", capture_output=True, text=True, check=False)
    if answer.returncode:
        pytest.skip("no package index can be reached")


@pytest.mark.slow
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(("platform", "python"), RESOLVED)
def test_an_installation_resolves(platform, python):
    answer = resolve(platform, python)
    assert answer.returncode == 0, answer.stderr
    versions = pins(answer.stdout.splitlines())
    assert versions["tensorflow"] == CONSTRAINTS["tensorflow"]
    line = "2.11." if platform == "aarch64-apple-darwin" else "2.9."
    assert versions["gpflow"].startswith(line)


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_python_313_on_apple_silicon_is_not_promised():
    """The GPflow that installs there wants NumPy 1.26, which has no wheel for Python 3.13."""
    answer = resolve("aarch64-apple-darwin", "3.13")
    assert answer.returncode != 0
    assert "numpy" in answer.stderr
