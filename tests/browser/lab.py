"""Drives a real JupyterLab in a real Chromium, in the words of a person who uses it."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import BrowserContext, Locator, Page

# Seconds; a loaded machine with two cores takes a while to import TensorFlow in a new kernel.
PATIENCE = 120
BUSY = 4

CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing but this machine: a page that needs the internet must fail here.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]

# Everything that Jupyter would keep in a person's home goes to a folder of the tests.
PLACES = (
    *("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"),
    *("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR"),
)

# The toolbar shows a kernel as idle too early, when running cells would silently do nothing.
KERNEL_IS_IDLE = """() => {
  const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
  const kernel = session?.session?.kernel;
  return session?.isReady && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""


# Nothing is computed in the kernel, and in the window no change waits for plotly.
AT_REST = f"""() => (!window.jupyterapp || ({KERNEL_IS_IDLE})())
  && ![...(globalThis.etgpPace?.waiting.keys() ?? [])].some((view) => view.seen)"""


@contextlib.contextmanager
def serve(folder: Path, home: Path) -> Iterator[str]:
    """Run a JupyterLab server on a folder and yield its address. Without a token: tests only."""
    settings = home / "jupyterlab_settings_dir" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    no_news = settings / "notification.jupyterlab-settings"  # or a question lies over the page
    no_news.write_text('{"fetchNews": "false"}')
    options = (
        *("--allow-root", "--expose-app-in-browser", "--IdentityProvider.token="),
        *("--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
        f"--ServerApp.root_dir={folder}",
    )
    with _server("jupyterlab", options, home) as address:
        yield address


@contextlib.contextmanager
def serve_notebook_7(folder: Path, home: Path) -> Iterator[str]:
    """Run a Jupyter Notebook 7 server on a folder and yield its address, as `serve` does."""
    options = (
        *("--allow-root", "--JupyterNotebookApp.expose_app_in_browser=True"),
        *("--IdentityProvider.token=", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
        f"--ServerApp.root_dir={folder}",
    )
    with _server("notebook", options, home) as address:
        yield address


@contextlib.contextmanager
def serve_voila(notebook: Path, home: Path) -> Iterator[str]:
    """Run Voilà on a notebook and yield its address."""
    with _server("voila", (str(notebook), "--Voila.ip=127.0.0.1"), home) as address:
        yield address


@contextlib.contextmanager
def _server(module: str, options: Iterable[str], home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {name: str(home / name.lower()) for name in PLACES}
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", module, "--no-browser", f"--port={port}", *options],
            env={**os.environ, **places},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until(lambda: _listens(port), "the server to answer")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2):
        return True
    return False


# Lets plotly draw a figure anew, from its own data, by making its place narrower and wide again.
REDRAW = """async (plot) => {
  for (const width of ['80%', '']) {
    const drawn = new Promise((done) => plot.once('plotly_afterplot', done));
    plot.parentElement.style.width = width;
    window.dispatchEvent(new Event('resize'));
    await drawn;
    await new Promise((done) => setTimeout(done, 300));
  }
}"""


def wait_until(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Return as soon as a condition holds; fail with its name when patience runs out.

    `patience` is in seconds of a quiet machine; a busy one gets `BUSY` times as long.
    """
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        assert waited < BUSY * patience, f"waited {waited:.0f} s for {what}"
        time.sleep(0.05)


def eventually(check: Callable[[], None], patience: float = 20) -> None:
    """Repeat some assertions until they hold; let them fail when patience runs out."""
    end = time.monotonic() + BUSY * patience
    while True:
        try:
            check()
            return
        except AssertionError:
            if time.monotonic() > end:
                raise
        time.sleep(0.05)


class Plot:
    """One plotly figure on the page; `show` chooses a view that has it."""

    def __init__(self, element: Locator, show: Callable[[], None] = lambda: None) -> None:
        self.element, self._show = element, show

    def settle(self) -> None:
        """Bring the plot into the window and wait until plotly has caught up: see figure.js."""
        self._show()
        self.element.scroll_into_view_if_needed()
        self.element.evaluate(
            """async (plot) => {
              const waits = () => [...(globalThis.etgpPace?.waiting.keys() ?? [])];
              for (let k = 0; k < 100 && waits().some((view) => view.el === plot); k++)
                await new Promise((done) => setTimeout(done, 30));
            }"""
        )

    def y(self, name: str) -> np.ndarray:
        """The y values that are drawn for the trace of that name."""
        self.settle()
        values = self.element.evaluate(
            "(plot, name) => Array.from(plot._fullData.find(t => t.name === name).y)", name
        )
        return np.array(values)

    def pixel(self, name: str, k: int) -> tuple[float, float]:
        """Where point k of the trace of that name is in the window."""
        self.settle()
        x, y = self.element.evaluate(
            """(plot, [name, k]) => {
              const { x, y } = plot._fullData.find((t) => t.name === name && t.visible === true);
              const { left, top } = plot.querySelector('.nsewdrag').getBoundingClientRect();
              const { xaxis, yaxis } = plot._fullLayout;
              return [left + xaxis.c2p(x[k]), top + yaxis.c2p(y[k])];
            }""",
            [name, k],
        )
        return x, y

    def drag(self, name: str, k: int, right: float, up: float) -> None:
        """Take hold of point k of a trace with the mouse and move it by so many pixels."""
        mouse, (x, y) = self.element.page.mouse, (0.0, 0.0)
        while (place := self.pixel(name, k)) != (x, y):  # a longer sentence moves the page
            x, y = place
            self.element.page.wait_for_timeout(300)
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + right, y - up, steps=8)
        mouse.up()

    def names(self) -> list[str]:
        """The names of all traces."""
        return self.element.evaluate("plot => plot._fullData.map(trace => trace.name)")

    def range(self, axis: str = "yaxis") -> list[float]:
        """The limits of an axis as drawn."""
        self.settle()
        return self.element.evaluate("(plot, axis) => plot._fullLayout[axis].range", axis)


def violations(page: Page, axe: str, selector: str = "body") -> list[str]:
    """What axe-core objects to in all elements that match, in words."""
    page.evaluate(axe)
    return page.evaluate(
        """async (selector) => {
          const options = { resultTypes: ["violations"] };
          const { violations } = await axe.run({ include: [[selector]] }, options);
          return violations.flatMap(({ id, nodes }) => nodes.map(
            (node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
        }""",
        selector,
    )


class Slider:
    """One ipywidgets slider on the page."""

    def __init__(self, element: Locator) -> None:
        self.element = element

    @property
    def value(self) -> float:
        """The number beside the slider."""
        text = self.element.locator(".widget-readout").inner_text()
        return float(text.replace("−", "-"))  # d3 prints a minus sign

    def press(self, key: str, times: int = 1) -> None:
        """Focus the handle and press a key, as a person without a mouse would."""
        handle = self.element.locator(".noUi-handle, .ui-slider-handle")  # ipywidgets 8, 7
        handle.focus()
        for _ in range(times):
            handle.press(key)


class Notebook:
    """One notebook, open in JupyterLab; in Voilà only what needs no JupyterLab works."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def run_all(self) -> None:
        """Run every cell; a cell that fails or writes to stderr fails the test with its words."""
        self.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        wait_until(self._has_run, "all cells to run")
        bad = [
            "\n".join(output.get("traceback", ())) or output.get("text")
            for output in self.outputs()
            if output["output_type"] == "error" or output.get("name") == "stderr"
        ]
        assert not bad, bad

    def _cells(self) -> list[dict]:
        cells = self.page.evaluate("jupyterapp.shell.currentWidget.context.model.toJSON().cells")
        return [cell for cell in cells if cell["cell_type"] == "code"]

    def _has_run(self) -> bool:
        stopped = any(output["output_type"] == "error" for output in self.outputs())
        return stopped or (
            all(cell["execution_count"] for cell in self._cells())
            and self.page.evaluate(KERNEL_IS_IDLE)
        )

    def outputs(self) -> list[dict]:
        """All outputs of all cells, as they would be saved."""
        return [output for cell in self._cells() for output in cell["outputs"]]

    def press_button(self, label: str) -> None:
        """Press a button of an explorer by keyboard, as every button can be."""
        button = self.page.locator(".etgp-viz button", has_text=label).first
        button.focus()
        button.press("Enter")

    def plot(self, name: str) -> Plot:
        """A figure of an explorer, by its name, scrolled into view and drawn."""
        element = self.page.locator(f".etgp-figure-{name} .js-plotly-plot").first
        self.show_view_of(name)
        element.locator(".main-svg").first.wait_for(timeout=PATIENCE * 1000)
        element.scroll_into_view_if_needed()
        return Plot(element, lambda: self.show_view_of(name))

    def show_view_of(self, name: str) -> None:
        """Choose a view with the first figure of that name, if it is hidden now."""
        box = self.page.locator(f".etgp-figure-{name}").first
        box.wait_for(state="attached", timeout=PATIENCE * 1000)
        # JupyterLab lays a cell out near the window only, and an explorer needs a size.
        self.page.wait_for_function(
            """box => {
              const page = box.closest('.etgp-viz');
              if (page && !page.dataset.layout) page.scrollIntoView({ block: 'nearest' });
              return page?.dataset.layout;
            }""",
            arg=box.element_handle(),
        )
        tabs = box.locator("xpath=ancestor::*[contains(@class, 'etgp-viz')][1]").locator(
            ".etgp-tab"
        )
        for tab in tabs.all():
            if box.is_visible():
                break
            tab.click()
            self.rest()  # the kernel draws what was hidden
        box.scroll_into_view_if_needed()  # a figure is drawn when it is seen

    def slider(self, label: str) -> Slider:
        """The slider with that label."""
        return Slider(self.page.locator(".widget-slider:visible", has_text=label).first)

    def text(self, selector: str) -> str:
        """The words in an element."""
        return self.page.locator(selector).inner_text()

    def resize(self, width: int, height: int = 900) -> None:
        """Give the browser's window another size."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.wait_for_timeout(700)  # JupyterLab and plotly follow with a delay

    def rest(self) -> None:
        """Wait until the kernel has answered all there was, and plotly has drawn it."""
        calm = 0

        def is_calm() -> bool:
            nonlocal calm
            calm = calm + 1 if self.page.evaluate(AT_REST) else 0
            return calm == 5  # in a row: a key or a drag may still be on its way

        wait_until(is_calm, "the page to come to rest")

    def theme(self, name: str) -> None:
        """Choose one of JupyterLab's themes."""
        change = f"jupyterapp.commands.execute('apputils:change-theme', {{theme: '{name}'}})"
        self.page.evaluate(change)
        self.page.wait_for_function(
            f"document.body.dataset.jpThemeName === '{name}'", timeout=PATIENCE * 1000
        )
        self.page.wait_for_timeout(500)

    def reload(self) -> None:
        """Save, and load the page again; the kernel lives on."""
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        self.page.wait_for_timeout(1500)
        self.page.reload()
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=PATIENCE * 1000)

    def screenshot(self, path: Path, selector: str | None = None) -> None:
        """Save a picture of the page, or of one element on it, for people to look at."""
        path.parent.mkdir(parents=True, exist_ok=True)
        target = self.page.locator(selector) if selector else self.page
        target.screenshot(path=path)

    def close(self) -> None:
        """Stop the kernel and leave the page."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.close()


class Lab:
    """A running JupyterLab on a folder, and a browser that looks at it."""

    def __init__(self, address: str, browser: BrowserContext, folder: Path | None = None) -> None:
        self.address, self.browser, self.folder = address, browser, folder

    @contextlib.contextmanager
    def open(self, name: str, width: int = 1300, height: int = 900) -> Iterator[Notebook]:
        """Open a notebook in a workspace of its own, and close it in the end."""
        page = self.browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{self.address}/lab/workspaces/{uuid.uuid4().hex}/tree/{name}?reset")
        notebook = Notebook(page)
        page.wait_for_function(KERNEL_IS_IDLE, timeout=PATIENCE * 1000)
        try:
            yield notebook
        finally:
            notebook.close()
