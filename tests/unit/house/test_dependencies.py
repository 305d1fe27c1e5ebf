"""pyproject.toml, constraints.txt, environment.yml and what is installed say the same thing."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# The package names itself where one extra contains another.
REQUIREMENTS = [
    requirement
    for line in [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    if (requirement := Requirement(line)).name != PROJECT["name"]
]


def pins(lines) -> dict[str, str]:
    """Canonical name → version of ``name==version`` lines; comments are left out."""
    found = {}
    for line in filter(None, (line.split("#")[0].strip() for line in lines)):
        assert re.fullmatch(r"[\w.-]+==[\w.]+", line), f"not a plain name==version: {line}"
        name, version = line.split("==")
        assert canonicalize_name(name) not in found, f"listed twice: {name}"
        found[canonicalize_name(name)] = version
    return found


CONSTRAINTS = pins((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())


def test_every_bound_starts_at_what_was_tested():
    for requirement in REQUIREMENTS:
        tested = CONSTRAINTS[canonicalize_name(requirement.name)]
        assert tested in requirement.specifier, requirement
        assert tested in {bound.version for bound in requirement.specifier}, requirement


def test_conda_gets_the_same_set():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (from_pip,) = (entry["pip"] for entry in conda if isinstance(entry, dict))
    assert {"-c constraints.txt", "-e ."} <= set(from_pip)
    needed = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
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
    installed = {name: metadata.version(name) for name in closure(REQUIREMENTS)}
    assert installed == {name: CONSTRAINTS.get(name) for name in installed}


def test_one_tensorflow_only():
    names = {canonicalize_name(found.name) for found in metadata.distributions()}
    assert "tensorflow" in names
    assert "tensorflow-cpu" not in names
