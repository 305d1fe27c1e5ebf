"""``etgp-viz doctor``: one line for each thing that must work, and the fix if it does not."""

import html
import os
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

__all__ = ["Finding", "Report", "examine", "find_browser", "print_report"]

#: the two packages that hold `etgp_viz`, with TensorFlow and without
FULL, LIGHT = "etgp-viz", "etgp-viz-light"
VERSIONS_CHECKED = ("tensorflow", "gpflow", "tensorflow-probability", "tf-keras", "numpy")
WIDGET_EXTENSIONS = {
    "@jupyter-widgets/jupyterlab-manager": "ipywidgets",
    "anywidget": "anywidget",
}
#: what draws the explorers on Colab, where no extensions are needed
COLAB_WIDGETS = ("ipywidgets", "anywidget", "plotly")
#: packages whose module has another name
MODULES = {"scikit-learn": "sklearn"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MEMORY_GIB = 2.0


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes
    ----------
    subject : what was checked
    ok : whether it works
    result : what the check found
    advice : how to fix it, if it does not work
    required : whether the notebooks need it
    """

    subject: str
    ok: bool
    result: str
    advice: str = ""
    required: bool = True

    def __str__(self) -> str:
        advice = "" if self.ok else f" → {self.advice}"
        return f"{'✓' if self.ok else '✗'} {self.subject}: {self.result}{advice}"


@dataclass(frozen=True)
class Report:
    """All findings; prints as lines, and shows itself as a list in a notebook."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether everything that the notebooks need works."""
        return all(finding.ok or not finding.required for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))

    def _repr_html_(self) -> str:
        lines = (f"<li>{html.escape(str(finding))}</li>" for finding in self.findings)
        return f"<ul style='list-style: none; padding: 0'>{''.join(lines)}</ul>"


def examine() -> Report:
    """Check everything, which takes some seconds because a small model is trained.

    Returns
    -------
    a `Report`, which shows itself in a notebook
    """
    return Report(tuple(findings()))


def print_report() -> int:
    """Print each finding as soon as it is known; exit status 0 if all that is required works."""
    printed = []
    for finding in findings():
        print(finding, flush=True)
        printed.append(finding)
    return 0 if Report(tuple(printed)).ok else 1


def findings() -> Iterator[Finding]:
    """All findings one by one, quick checks first."""
    yield python_version()
    if _is_installed(LIGHT):
        yield light()
    yield from (package_version(name) for name in VERSIONS_CHECKED if name in _requirements())
    yield loaded_packages()
    if in_colab():
        yield from colab()
    else:
        yield widget_front_end()
    yield memory()
    yield browser()
    if _package() == FULL:
        yield training()


def light() -> Finding:
    """Whether the light package is installed without the full one."""
    return Finding(
        "Light installation",
        not _is_installed(FULL),
        f"{LIGHT} is installed"
        + (f" together with {FULL}, which has the same files" * _is_installed(FULL))
        + "; it shows data, figures and results, but cannot train models",
        f"run: pip uninstall {FULL} {LIGHT}, then install one of them",
    )


def python_version() -> Finding:
    """Whether the package was tested with this version of Python."""
    allowed = SpecifierSet(metadata.metadata(_package())["Requires-Python"])
    version = platform.python_version()
    return Finding(
        "Python",
        version in allowed,
        version,
        f"create a new environment with Python {allowed}",
    )


def package_version(name: str) -> Finding:
    """Whether a package is installed in a version that was tested."""
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
            "installed together with tensorflow-cpu, which has the same files",
            f"run: pip uninstall tensorflow tensorflow-cpu, then pip install '{name}{tested}'",
        )
    return Finding(name, version in tested, f"{version} (tested: {tested})", install)


def _requirements() -> dict[str, SpecifierSet]:
    """What the package needs on this machine, without its extras."""
    lines = map(Requirement, metadata.requires(_package()) or ())
    return {
        line.name: line.specifier
        for line in lines
        if line.marker is None or line.marker.evaluate({"extra": ""})
    }


def _package() -> str:
    """The package that holds this module."""
    return FULL if _is_installed(FULL) else LIGHT


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def widget_front_end() -> Finding:
    """Whether JupyterLab finds the extensions that draw the widgets."""
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
        f"no extension from {' and '.join(missing)}" if missing else "ipywidgets and anywidget",
        f"run: pip install --force-reinstall {' '.join(missing)}",
    )


def in_colab() -> bool:
    """Whether this is Google Colab: in a notebook, or as a command in one."""
    return "google.colab" in sys.modules or "COLAB_RELEASE_TAG" in os.environ


def colab() -> Iterator[Finding]:
    """What draws the explorers on Google Colab."""
    release = os.environ.get("COLAB_RELEASE_TAG", "release unknown")
    yield Finding("Google Colab", True, f"{release}; anywidget asks Colab to load the explorers")
    yield from map(package_version, COLAB_WIDGETS)


def loaded_packages() -> Finding:
    """Whether the packages loaded in this session are the installed versions."""
    stale = []
    for name in _requirements():
        module = sys.modules.get(MODULES.get(name, name.replace("-", "_")))
        loaded = getattr(module, "__version__", None)
        if loaded and _is_installed(name) and loaded != metadata.version(name):
            stale.append(f"{name} {loaded} is loaded, {metadata.version(name)} is installed")
    return Finding(
        "Loaded packages",
        not stale,
        "; ".join(stale) or "as installed",
        "restart the kernel (on Colab: Runtime, Restart session), and run the cells again",
    )


def memory() -> Finding:
    """Whether there is enough free memory for the models of the lessons."""
    free = psutil.virtual_memory().available / 2**30
    return Finding(
        "Free memory",
        free >= MEMORY_GIB,
        f"{free:.1f} GiB",
        f"close other programs or kernels: the lessons need {MEMORY_GIB:.0f} GiB",
    )


def browser() -> Finding:
    """Whether there is a browser for the tests; the notebooks do not need one here."""
    path = find_browser()
    return Finding(
        "Browser for the tests",
        path is not None,
        path or "none found",
        "only `make test` needs one: install chromium, or run: playwright install chromium",
        required=False,
    )


def find_browser() -> str | None:
    """Path of a Chromium: from the PATH, else Playwright's own, else None."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    if not _is_installed("playwright"):
        return None
    # In another process, because Playwright's synchronous interface does not start in a notebook.
    code = (
        "from playwright.sync_api import sync_playwright as start\n"
        "with start() as playwright: print(playwright.chromium.executable_path)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    path = done.stdout.strip()
    return path if path and Path(path).exists() else None


def training(train: Callable[[], tuple[float, float]] | None = None) -> Finding:
    """Whether ten training steps improve a model with two classes."""
    advice = "create a new environment; TF_CPP_MIN_LOG_LEVEL=0 makes TensorFlow print what is wrong"
    try:
        before, after = (train or _train_ten_steps)()
    except Exception as error:  # whatever broke, report it and continue
        return Finding("Training", False, f"{type(error).__name__}: {error}", advice)
    result = f"ten steps took the ELBO from {before:.1f} to {after:.1f}"
    return Finding("Training", after > before, result, advice)


def _train_ten_steps() -> tuple[float, float]:
    """ELBO of a two-class ETGP before and after ten training steps."""
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
