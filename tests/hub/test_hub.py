"""Three students in a real JupyterHub, behind its proxy and a base URL, in a real browser."""

import hashlib
import json
import os
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from benchmarks.latency import notebook_of
from etgp_viz.cli.doctor import find_browser
from etgp_viz.cli.lab import MANIFEST, shipped_notebooks
from etgp_viz.course.classroom import collect
from tests.browser.lab import CHROMIUM_OPTIONS, KERNEL_IS_IDLE, PATIENCE, Notebook, wait_until
from tests.hub.hub import FIRST_USER, PASSWORD, STUDENTS, missing, others_can_run_python, serve

pytestmark = pytest.mark.slow

LESSON = "01_gaussian_processes.ipynb"
ATTEMPT = """
from etgp_viz.course import check
check("01.2", lambda x, lengthscale, variance: 0 * x)
"""
RUN = """async (code) => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  let text = '';
  const future = kernel.requestExecute({ code });
  future.onIOPub = ({ content }) => { text += content.text ?? content.evalue ?? ''; };
  await future.done;
  return text;
}"""


@pytest.fixture(scope="module")
def hub():
    if reason := missing() or ("No Chromium." if find_browser() is None else None):
        pytest.skip(reason)
    # Not a folder of pytest: other users, the students, must get to their homes in it.
    place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with place as folder, serve(Path(folder)) as hub:
        yield hub


@pytest.fixture(scope="module")
def browser(hub):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=[*CHROMIUM_OPTIONS, "--headless"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(hub, browser):
    """One window for each student, logged in and with the first lesson open."""
    pages = {}
    for name in STUDENTS:
        page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
        page.goto(f"{hub.address}/hub/login")
        page.fill("#username_input", name)
        page.fill("#password_input", PASSWORD)
        page.click("#login_submit")
        pages[name] = page
    for name, page in pages.items():
        first = f"**/etgp/user/{name}/lab/**00_start_here.ipynb*"
        page.wait_for_url(first, timeout=1000 * PATIENCE)
    return pages


@pytest.mark.parametrize("name", STUDENTS)
def test_a_student_runs_a_lesson_and_moves_a_slider(hub, pages, name):
    notebook = Notebook(pages[name])
    notebook.page.wait_for_function(KERNEL_IS_IDLE, timeout=1000 * PATIENCE)
    notebook.run_all()
    sentence = notebook.page.locator(".etgp-viz [role=status]").first
    plot = notebook.plot("paths")
    before, drawn = sentence.inner_text(), plot.y("warped f(x)")
    notebook.slider("scale a").press("ArrowRight", times=5)
    wait_until(lambda: sentence.inner_text() != before, "the sentence to change", 30)
    wait_until(lambda: not (plot.y("warped f(x)") == drawn).all(), "the curve to change", 30)
    # The kernel was forked from the warm process, and runs as the student.
    code = "import os, sys; print(os.getuid(), sys.flags.isolated, os.getcwd())"
    user, isolated, folder = notebook.page.evaluate(RUN, code).split()
    expected = FIRST_USER + STUDENTS.index(name) if others_can_run_python() else os.getuid()
    assert (int(user), int(isolated)) == (expected, 1)
    assert folder == str(hub.notebooks(name))
    # One wrong attempt of the first student, two of the second, three of the third.
    for _ in range(STUDENTS.index(name) + 1):
        notebook.page.evaluate(RUN, ATTEMPT)


def test_progress_is_kept_apart(hub, pages):
    rows = {row["student"]: row for row in collect(hub.homes)}
    assert [rows[name]["attempts"] for name in STUDENTS] == [1, 2, 3]


def test_voila_works_behind_the_base_url(hub, pages):
    name, page = STUDENTS[0], pages[STUDENTS[0]]
    cells = ["from etgp_viz.explorers import FlowExplorer\nFlowExplorer()"]
    (hub.notebooks(name) / "page.ipynb").write_text(notebook_of(cells))
    (hub.notebooks(name) / "page.ipynb").chmod(0o644)
    page.goto(f"{hub.address}/user/{name}/voila/render/{hub.notebooks(name).name}/page.ipynb")
    notebook = Notebook(page)
    plot, slider = notebook.plot("paths"), notebook.slider("shift b")
    drawn = plot.y("warped f(x)")
    slider.press("ArrowRight", times=2)
    wait_until(lambda: not (plot.y("warped f(x)") == drawn).all(), "the curve to change", 30)


def test_a_changed_notebook_survives_an_update(hub, pages):
    name, page = STUDENTS[1], pages[STUDENTS[1]]
    folder, other = hub.notebooks(name), "02_warping_one_gp.ipynb"
    token = "document.cookie.match(/_xsrf=([^;]*)/)[1]"
    page.goto(f"{hub.address}/hub/home")
    stop = f"""async () => (await fetch('/etgp/hub/api/users/{name}/server?_xsrf=' + {token},
        {{ method: 'DELETE' }})).status"""
    assert page.evaluate(stop) in (202, 204)
    # The student has changed one notebook. Another is still as an older version brought it.
    mine = folder / LESSON
    mine.write_text(mine.read_text().replace("Gaussian processes", "My notes", 1))
    changed = mine.read_text()
    (folder / other).write_text("an older version")
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest[other] = hashlib.sha256(b"an older version").hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))
    page.wait_for_timeout(1000)
    page.goto(f"{hub.address}/hub/spawn/{name}")
    page.wait_for_url(f"**/etgp/user/{name}/lab/**", timeout=1000 * PATIENCE)
    assert mine.read_text() == changed
    assert (folder / other).read_bytes() == (shipped_notebooks() / other).read_bytes()
