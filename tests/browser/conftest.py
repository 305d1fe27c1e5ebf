"""One JupyterLab server and one browser for all browser tests."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from benchmarks.latency import notebook_of
from etgp_viz.cli.doctor import find_browser
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, serve

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def chromium():
    """Playwright's Chromium and where it is; there can be one Playwright in a process."""
    path = find_browser()
    if path is None:
        how = "No Chromium: install one (Debian: `apt install chromium`), or run "
        how += "`.venv/bin/playwright install chromium`."
        pytest.fail(how) if os.environ.get("CI") == "true" else pytest.skip(how)
    with sync_playwright() as playwright:
        yield playwright.chromium, path


@pytest.fixture(scope="session")
def axe():
    """The code of axe-core, which finds what keeps people from using a page."""
    place = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    path = Path(os.environ.get("ETGP_VIZ_AXE", place))
    if not path.exists():
        how = f"No axe-core in {path}: run `make test-browser`, which needs npm."
        pytest.fail(how) if os.environ.get("CI") == "true" else pytest.skip(how)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def lab(chromium, tmp_path_factory):
    kind, path = chromium
    home = tmp_path_factory.mktemp("home")
    notebooks = tmp_path_factory.mktemp("lab") / "notebooks"
    shutil.copytree(ROOT / "notebooks", notebooks)
    with serve(notebooks, home) as address:
        browser = kind.launch_persistent_context(
            home / "browser", executable_path=path, args=CHROMIUM_OPTIONS
        )
        yield Lab(address, browser, notebooks)
        browser.close()


@pytest.fixture(scope="module")
def notebook(lab, request):
    """The notebook of a test module, run: its `CELLS`, in a window of its `SIZE`."""
    name = f"{request.module.__name__.rpartition('.')[2]}.ipynb"
    (lab.folder / name).write_text(notebook_of(request.module.CELLS))
    width, height = request.module.SIZE
    with lab.open(name, width=width, height=height) as notebook:
        notebook.run_all()
        yield notebook


@pytest.fixture(scope="session")
def screenshots():
    """Where pictures for people go; not part of the project."""
    return ROOT / "build" / "screenshots"
