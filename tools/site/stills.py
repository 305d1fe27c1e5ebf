"""Pictures and explorers as HTML that moves without a kernel, in the form of the handouts."""

import html
import re
from typing import Any

from etgp_viz.course.publish.pages import Renderer
from etgp_viz.course.publish.stills import explorer_still, figure_still
from tools.site.sources import ROOT

__all__ = ["Stills", "colours", "raw"]

MAIN_PLOTS = 2  # of an explorer; a page of the gallery shows the others one by one


def colours() -> str:
    """The rules of the explorers that let lines and names stand out from light and dark pages."""
    style = (ROOT / "etgp_viz" / "explorers" / "page.css").read_text(encoding="utf-8")
    rules = re.findall(r"[^{}]+\{[^{}]*\}", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
    wanted = re.compile(r"--etgp-(class|line)-\d|--etgp-hues|\.textpoint text:is")
    text = "".join(rule.strip() + "\n" for rule in rules if wanted.search(rule))
    dark = text.replace('[data-jp-theme-light="false"] .etgp-viz', 'html[data-theme="dark"] .still')
    return dark.replace(".etgp-viz", ".still")


def raw(text: str) -> str:
    """HTML as a block of Markdown that is taken as it is."""
    return f"`````{{raw}} html\n{text}\n`````"


class Stills:
    """What one page shows; its sliders are numbered."""

    def __init__(self) -> None:
        self._renderer = Renderer(ROOT)

    def figure(self, figure: Any, words: str) -> str:
        """A plotly figure; `words` say what it shows to those who do not see it."""
        drawn = self._renderer.figure(figure_still(figure))
        label = html.escape(words, quote=True)
        named = f"<div role='group' aria-label='{label}' class='plot"
        return raw(drawn.replace("<div class='plot", named))

    def explorer(self, explorer: Any, slider: str = "", plots: tuple[str, ...] = ()) -> str:
        """An explorer with one slider and some of its plots, by default the main ones."""
        still = explorer_still(explorer, slider)
        names = [name for name, _ in still["figures"]]
        wide = [name for name in names if name in still["wide"]]
        shown = plots or (wide or names)[:MAIN_PLOTS]
        still["tabs"] = {}  # the page says what it shows
        still["figures"] = [[name, figure] for name, figure in still["figures"] if name in shown]
        for frame in still["frames"]:
            frame["changes"] = {k: step for k, step in frame["changes"].items() if k in shown}
        return raw(self._renderer.explorer(still))
