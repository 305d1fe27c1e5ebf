"""Make the README's animated picture: a slider bends one latent into four classes.

`python tools/readme_animation.py` opens the explorer in a real JupyterLab in Chromium, moves the
slider *variation* with the arrow keys from one end towards the other and back, and writes
docs/bending-classes.webp. It needs the test tools (`make test` installs them).
"""

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.latency import notebook_of  # noqa: E402
from etgp_viz.cli.doctor import find_browser  # noqa: E402
from etgp_viz.files import write  # noqa: E402
from tests.browser.lab import CHROMIUM_OPTIONS, Lab, Notebook, serve  # noqa: E402

TARGET = ROOT / "docs" / "bending-classes.webp"
CELL = """
from etgp_viz.explorers import SharedLatentExplorer
SharedLatentExplorer(amount=0.0)
"""
PLOTS = ("latents", "processes", "probabilities")
SLIDER, LAST = "variation", 1.0
WIDTH, HEIGHT = 1720, 960  # wide enough for all plots at once
SHOWN = 1000  # pixels, the width of the README's picture
STEP, PAUSE = 110, 900  # milliseconds per frame, and at both ends
MAX_BYTES = 2_000_000


def frames(notebook: Notebook) -> Iterator[Image.Image]:
    """The explorer as the slider goes to the right, step by step."""
    slider, page = notebook.slider(SLIDER), notebook.page
    explorer, plots = page.locator(".etgp-viz").first, [notebook.plot(name) for name in PLOTS]
    slider.press("Home")
    while True:
        for plot in plots:
            plot.settle()
        page.wait_for_timeout(150)
        top, bottom = explorer.bounding_box(), plots[-1].element.bounding_box()
        height = bottom["y"] + bottom["height"] - top["y"]
        clip = {"x": top["x"], "y": top["y"], "width": top["width"], "height": height}
        yield Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
        if slider.value >= LAST:
            return
        slider.press("ArrowRight")


def animation(pictures: list[Image.Image]) -> bytes:
    """There and back again, as a WebP that repeats for ever."""
    height = min(picture.height for picture in pictures)
    size = (SHOWN, round(SHOWN * height / pictures[0].width))
    there = [p.crop((0, 0, p.width, height)).resize(size, Image.LANCZOS) for p in pictures]
    order = [*there, *there[-2:0:-1]]
    times = [STEP] * len(order)
    times[0] = times[len(there) - 1] = PAUSE
    content = io.BytesIO()
    order[0].save(
        content, "WEBP", save_all=True, append_images=order[1:], duration=times, loop=0,
        quality=70, method=6,
    )  # fmt: skip
    return content.getvalue()


def main() -> None:
    """Make the picture."""
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "home").mkdir()
        (folder / "lab").mkdir()
        (folder / "lab" / "bend.ipynb").write_text(notebook_of([CELL]))
        with (
            serve(folder / "lab", folder / "home") as address,
            sync_playwright() as playwright,
            playwright.chromium.launch_persistent_context(
                folder / "browser", executable_path=find_browser(), args=CHROMIUM_OPTIONS
            ) as browser,
            Lab(address, browser).open("bend.ipynb", width=WIDTH, height=HEIGHT) as notebook,
        ):
            notebook.run_all()
            notebook.page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
            notebook.page.wait_for_timeout(1000)
            content = animation(list(frames(notebook)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if len(content) > MAX_BYTES:
        sys.exit(f"{len(content) / 1e6:.1f} MB are too much for a README: take fewer frames")
    write(TARGET, content)
    print(f"{TARGET.relative_to(ROOT)}: {len(content) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
