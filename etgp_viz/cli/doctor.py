"""Is this installation well? One line for each thing that must work, and what to do if not."""

import html
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

VERSIONS_CHECKED = ("tensorflow", "gpflow", "tensorflow-probability", "tf-keras", "numpy")
WIDGET_EXTENSIONS = {
    "@jupyter-widgets/jupyterlab-manager": "ipywidgets",
    "anywidget": "anywidget",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MEMORY_GIB = 2.0


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: what was found and, if it is not well, what to do."""

    subject: str
    well: bool
    found: str
    advice: str = ""
    needed: bool = True

    def __str__(self) -> str:
        advice = "" if self.well else f" → {self.advice}"
        return f"{'✓' if self.well else '✗'} {self.subject}: {self.found}{advice}"


@dataclass(frozen=True)
class Report:
    """All findings; prints as lines and shows as a list in a notebook."""

    findings: tuple[Finding, ...]

    @property
    def well(self) -> bool:
        """Whether everything that is needed works."""
        return all(finding.well or not finding.needed for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))

    def _repr_html_(self) -> str:
        lines = (f"<li>{html.escape(str(finding))}</li>" for finding in self.findings)
        return f"<ul style='list-style: none; padding: 0'>{''.join(lines)}</ul>"


def examine() -> Report:
    """Check everything. Trains a small model, so it takes some seconds."""
    return Report(tuple(findings()))


def print_report() -> int:
    """Print each finding as soon as it is known; 0 if all that is needed works, else 1."""
    known = []
    for finding in findings():
        print(finding, flush=True)
        known.append(finding)
    return 0 if Report(tuple(known)).well else 1


def findings() -> Iterator[Finding]:
    """Yield the findings one by one, the quick ones first."""
    yield python_version()
    for name in VERSIONS_CHECKED:
        yield package_version(name)
    yield widget_front_end()
    yield memory()
    yield browser()
    yield training()


def python_version() -> Finding:
    """Whether this Python is one that the package was tested with."""
    allowed = SpecifierSet(metadata.metadata("etgp-viz")["Requires-Python"])
    version = platform.python_version()
    return Finding(
        "Python",
        version in allowed,
        version,
        f"make the environment anew with a Python {allowed}",
    )


def package_version(name: str) -> Finding:
    """Whether a package is there in a version that the tests stand for."""
    tested = _requirements()[name]
    install = f"run: pip install '{name}{tested}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", install)
    if name == "tensorflow" and _is_installed("tensorflow-cpu"):
        return Finding(
            name,
            False,
            "installed beside tensorflow-cpu, which owns the same files",
            f"run: pip uninstall tensorflow tensorflow-cpu, then pip install '{name}{tested}'",
        )
    known = ", ".join(bound.version for bound in tested)
    return Finding(name, version in tested, f"{version} (tested with {known})", install)


def _requirements() -> dict[str, SpecifierSet]:
    needed = map(Requirement, metadata.requires("etgp-viz") or ())
    return {need.name: need.specifier for need in needed if need.marker is None}


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def widget_front_end() -> Finding:
    """Whether JupyterLab sees the extensions that draw the widgets."""
    from jupyter_core.paths import jupyter_path

    folders = [Path(path) for path in jupyter_path("labextensions")]
    missing = [
        package
        for extension, package in WIDGET_EXTENSIONS.items()
        if not any((folder / extension / "package.json").is_file() for folder in folders)
    ]
    return Finding(
        "Widgets in JupyterLab",
        not missing,
        f"no extension of {' and '.join(missing)}" if missing else "ipywidgets and anywidget",
        f"run: pip install --force-reinstall {' '.join(missing)}",
    )


def memory() -> Finding:
    """Whether enough memory is free for the models in the lessons."""
    free = psutil.virtual_memory().available / 2**30
    return Finding(
        "Free memory",
        free >= MEMORY_GIB,
        f"{free:.1f} GiB",
        f"close other programs or kernels: {MEMORY_GIB:.0f} GiB are needed",
    )


def browser() -> Finding:
    """Whether the browser tests could run. Using the notebooks does not need this."""
    path = find_browser()
    return Finding(
        "Browser for the tests",
        path is not None,
        path or "none found",
        "only `make test` needs one: install chromium, or run `playwright install chromium`",
        needed=False,
    )


def find_browser() -> str | None:
    """Return a Chromium from the PATH, else Playwright's own, else None."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    if not _is_installed("playwright"):
        return None
    # In a process of its own: Playwright's plain interface refuses to start in a notebook.
    ask = (
        "from playwright.sync_api import sync_playwright as start\n"
        "with start() as playwright: print(playwright.chromium.executable_path)"
    )
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    path = answer.stdout.strip()
    return path if path and Path(path).exists() else None


def training(train: Callable[[], tuple[float, float]] | None = None) -> Finding:
    """Whether a model with two classes gets better in ten steps."""
    advice = (
        "make the environment anew; with TF_CPP_MIN_LOG_LEVEL=0 set, TensorFlow says what it misses"
    )
    try:
        before, after = (train or _train_ten_steps)()
    except Exception as error:  # whatever broke, the doctor says it and goes on
        return Finding("Training", False, f"{type(error).__name__}: {error}", advice)
    found = f"ten steps took the ELBO from {before:.1f} to {after:.1f}"
    return Finding("Training", after > before, found, advice)


def _train_ten_steps() -> tuple[float, float]:
    """Return the evidence lower bound of a two-class ETGP before and after ten steps."""
    import numpy as np

    from etgp_viz.backend import gpflow
    from etgp_viz.core.flows import Linear
    from etgp_viz.core.model import ETGP
    from etgp_viz.core.network import FlowNetwork
    from etgp_viz.core.training import fit

    X = np.linspace(-2.0, 2.0, 40)[:, None]
    Y = (X > 0.0).astype(int)
    network = FlowNetwork(num_inputs=1, num_classes=2, flow=Linear(), hidden=(10,), dropout=0.0)
    model = ETGP(gpflow.kernels.SquaredExponential(), network, X[::8].copy())
    before = float(model.elbo((X, Y)))
    fit(model, (X, Y), epochs=10, progress=False)
    return before, float(model.elbo((X, Y)))
