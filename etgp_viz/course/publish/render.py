"""Cells of an executed notebook as pieces of HTML that need nothing from a network.

Handouts and slides are two ways to lay out the same pieces.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from etgp_viz.course.publish.mathml import to_mathml
from etgp_viz.course.publish.stills import EXPLORER, FIGURE, PERSONAL

__all__ = ["Piece", "Renderer", "markdown"]

WIDGET = "application/vnd.jupyter.widget-view+json"
WIDTH = 62  # letters in a line of a slide
ONLY_LIVE = "<p class='note'>This part lives in the notebook: open it there to move it.</p>"


@dataclass(frozen=True)
class Piece:
    """A part of a page that is not taken apart.

    Attributes
    ----------
    kind : "heading", "text", "code", "exercise", "output", "figure" or "explorer"
    html : how it looks
    level : of a heading, 1 to 6
    lines : about how many lines of a page it takes
    """

    kind: str
    html: str
    level: int = 0
    lines: float = 1.0


class _Markdown(IPythonRenderer):
    """Markdown whose formulas are MathML, as one piece for each paragraph, list or table."""

    def __call__(self, tokens: Any, state: Any) -> Any:
        return [
            _text_piece(kind, int(level), rendered)
            for kind, level, rendered in (
                (
                    token["type"],
                    token.get("attrs", {}).get("level", 0) if token["type"] == "heading" else 0,
                    self.render_token(token, state),
                )
                for token in tokens
            )
            if rendered.strip()
        ]

    def block_math(self, body: str) -> str:
        return to_mathml(body, display=True)

    def inline_math(self, body: str) -> str:
        return to_mathml(body)

    def latex_environment(self, name: str, body: str) -> str:
        return to_mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", display=True)


def markdown(source: str, folder: Path) -> list[Piece]:
    """Pieces of Markdown; pictures from ``folder`` go into the page, lessons link to each other."""
    renderer = _Markdown(
        escape=False, embed_images=True, exclude_anchor_links=True, path=str(folder)
    )
    pieces: Any = MarkdownWithMath(renderer=renderer).parse(source)[0]
    return [
        Piece(each.kind, re.sub(r'href="(\d\d)_\w+\.ipynb', r'href="\1.html', each.html),
              each.level, each.lines)
        for each in pieces
    ]  # fmt: skip


def _text_piece(kind: str, level: int, rendered: str) -> Piece:
    words = re.sub(r"<annotation.*?</annotation>|<[^>]+>", "", rendered)
    breaks = len(re.findall(r"<(?:li|tr|br|pre)\b", rendered))
    lines = sum(1 + len(line) // WIDTH for line in words.splitlines() if line.strip())
    tall = 2.0 * rendered.count('display="block"')
    if kind == "heading":
        return Piece("heading", rendered, level, 2.0)
    return Piece("text", rendered, 0, max(lines, breaks) + tall + 0.5)


class Renderer:
    """Makes the pieces of one page; everything that is drawn gets an id of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ids = count(1)
        self._highlight = Highlight2HTML(pygments_lexer="ipython3")

    def pieces(self, cell: NotebookNode) -> Iterator[Piece]:
        """The pieces of a cell, from top to bottom."""
        if cell.cell_type == "markdown":
            yield from markdown(cell.source, self.folder)
        elif cell.cell_type == "code" and cell.source.strip():
            is_exercise = "exercise" in cell.metadata.get("tags", ())
            if not is_exercise and any(PERSONAL in each.get("data", ()) for each in cell.outputs):
                return
            lines = 1.0 + cell.source.count("\n")
            code = self._highlight(cell.source)
            yield Piece("exercise" if is_exercise else "code", code, lines=lines)
            for output in cell.outputs:
                yield from self._output(output)

    def _output(self, output: NotebookNode) -> Iterator[Piece]:
        if output.output_type == "stream":
            if output.name == "stdout":
                yield _printed(output.text)
            return
        data = output.get("data", {})
        if EXPLORER in data:
            yield Piece("explorer", self._explorer(data[EXPLORER]))
        elif FIGURE in data:
            yield Piece("figure", self._figure(data[FIGURE]))
        elif WIDGET in data:
            yield Piece("output", ONLY_LIVE)
        elif "text/html" in data:
            rows = data["text/html"].count("<tr")
            yield Piece("output", f"<div class='output'>{data['text/html']}</div>", lines=rows + 1)
        elif "text/markdown" in data:
            yield from markdown(data["text/markdown"], self.folder)
        elif "image/png" in data:
            source = f"data:image/png;base64,{data['image/png'].strip()}"
            alt = html.escape(data.get("text/plain", "picture"), quote=True)
            yield Piece("figure", f'<img src="{source}" alt="{alt}">')
        elif "text/plain" in data:
            yield _printed(data["text/plain"])

    def _figure(self, figure: dict[str, Any]) -> str:
        plot, content = self._plot("", figure, wide=True), self._json([figure], [""], [])
        return f"<div class='still'>{plot}{content}</div>"

    def _explorer(self, still: dict[str, Any]) -> str:
        """An explorer's page: title, words, its slider and its pictures; see stills.js."""
        frames, start = still["frames"], still["start"]
        here, number = frames[start], next(self._ids)
        stories = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(story)}</dd>"
            for name, story in still["stories"]
        )
        plots = "".join(
            self._plot(name, figure, name in still["wide"]) for name, figure in still["figures"]
        )
        frames = [{**frame, "changes": [*frame["changes"].items()]} for frame in frames]
        names, figures = zip(*still["figures"], strict=True)
        content = self._json(figures, names, frames)
        return (
            f"<div class='still explorer'><p class='title'>{html.escape(here['title'])}</p>"
            f"<p role='status'>{html.escape(here['words'])}</p>"
            f"<p class='slider'><label for='slider-{number}'>{html.escape(still['slider'])}</label>"
            f"<input type='range' id='slider-{number}' min='0' max='{len(frames) - 1}' step='1' "
            f"value='{start}' aria-valuetext='{html.escape(here['label'], quote=True)}'>"
            f"<output for='slider-{number}'>{html.escape(here['label'])}</output></p>"
            f"<div class='plots'>{plots}</div><details><summary>Stories to try in the notebook, "
            f"where every control moves</summary><dl>{stories}</dl></details>{content}</div>"
        )

    def _plot(self, name: str, figure: dict[str, Any], wide: bool) -> str:
        height = figure["layout"].get("height", 420)
        kind = "plot wide" if wide else "plot"
        return f"<div class='{kind}' data-name='{name}' style='height: {height}px'></div>"

    def _json(self, figures: Sequence[Any], names: Sequence[str], frames: Sequence[Any]) -> str:
        content = {"figures": figures, "names": names, "frames": frames}
        # A closing tag inside would end the script.
        text = json.dumps(content, separators=(",", ":")).replace("</", "<\\/")
        return f"<script type='application/json'>{text}</script>"


def _printed(text: str) -> Piece:
    content = html.escape(text.rstrip("\n"))
    return Piece("output", f"<pre class='printed'>{content}</pre>", lines=1.0 + content.count("\n"))
