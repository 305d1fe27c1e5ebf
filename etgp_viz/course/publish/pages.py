"""A lesson as one HTML file, as a handout or as slides, with sliders that work without a kernel.

The cells of an executed notebook become pieces of HTML that need nothing from a network. A handout
puts all of them on one page; slides are cut where a screen is full. The slides need a few keys and
a progress bar (slides.js) and not all of reveal.js, which no Python package contains in full.
"""

import copy
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Any

from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from plotly.offline import get_plotlyjs

from etgp_viz.course.publish.mathml import to_mathml
from etgp_viz.course.publish.notebooks import execute, is_exercise, is_for_colab
from etgp_viz.course.publish.stills import EXPLORER, FIGURE, FIGURES, PERSONAL, WIDGET

__all__ = ["Piece", "Renderer", "Slide", "cut", "executed", "handout", "markdown", "slides"]

LINES = 11.0  # of text on a slide: one idea
LONGEST_CODE = 18.0  # lines that are shown; more would be too small to read
WITH_STUB = 1.4  # factor for an exercise, whose prompt and stub stay together in smaller letters
PLOTS = 2  # of an explorer on a slide; the handout has them all
LINE_LENGTH = 62  # letters in a line of a slide
ONLY_LIVE = "<p class='note'>This part works only in the notebook: open it there to use it.</p>"
HIDDEN = "hidden"
_INSTALL = "from etgp_viz.course.publish import stills as _stills\n_stills.install(get_ipython())"


# Execution ------------------------------------------------------------------------------------


def executed(notebook: NotebookNode, on_cell: Callable[[], Any] = lambda: None) -> NotebookNode:
    """A copy of the notebook, run in a kernel that publishes stills instead of widgets.

    An explorer keeps one slider: the one that it chooses itself (``Explorer.handout``), or the
    field that its cell's metadata name as ``"handout"``. ``on_cell`` is called after each code
    cell, including one hidden cell before each.
    """
    run = copy.deepcopy(notebook)
    cells = [_hidden_cell(_INSTALL)]
    for cell in run.cells:
        if cell.cell_type == "code":
            cells.append(_hidden_cell(f"_stills.keep_slider({cell.metadata.get('handout', '')!r})"))
        cells.append(cell)
    run.cells = cells
    execute(run, on_cell)
    run.cells = [cell for cell in run.cells if HIDDEN not in cell.metadata.get("tags", ())]
    return run


def _hidden_cell(source: str) -> NotebookNode:
    return new_code_cell(source, metadata={"tags": [HIDDEN]})


# Pages ----------------------------------------------------------------------------------------


def handout(notebook: NotebookNode, folder: Path) -> str:
    """HTML page of an executed notebook; pictures of its Markdown come from ``folder``."""
    renderer = Renderer(folder)
    body = body_of(piece for cell in notebook.cells for piece in renderer.pieces(cell))
    return page(title(notebook), f"<main>\n{body}\n</main>", ("page.css", "handout.css"))


def title(notebook: NotebookNode) -> str:
    """Text of the first heading."""
    opening = next(cell.source for cell in notebook.cells if cell.source.startswith("# "))
    return opening.partition("\n")[0].lstrip("# ").strip()


def page(name: str, body: str, styles: Iterable[str], scripts: Iterable[str] = ()) -> str:
    """A whole HTML page that contains everything it needs; plotly only if there are plots."""
    libraries = [get_plotlyjs(), static("stills.js")] if "class='still" in body else []
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # Without this line a browser would request an icon.
            '<link rel="icon" href="data:,">',
            f"<title>{html.escape(name)}</title>",
            f"<style>{''.join(map(static, styles))}</style>",
            "</head>",
            "<body>",
            body,
            *(f"<script>{script}</script>" for script in (*libraries, *map(static, scripts))),
            "</body>",
            "</html>",
        ]
    )


@cache
def static(name: str) -> str:
    """Text of a file in the folder ``static``."""
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")


# Pieces ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A part of a page that stays in one piece."""

    kind: str  # "heading", "text", "fold", "code", "exercise", "output", "figure" or "explorer"
    html: str
    level: int = 0  # of a heading, 1 to 6
    lines: float = 1.0  # approximate height in lines of text


def body_of(pieces: Iterable[Piece]) -> str:
    """HTML of pieces, one below the other; exercises are marked for the style sheet."""
    return "\n".join(
        f"<div class='exercise'>{piece.html}</div>" if piece.kind == "exercise" else piece.html
        for piece in pieces
    )


class _Markdown(IPythonRenderer):
    """Markdown with formulas as MathML, one piece for each paragraph, list or table."""

    def __call__(self, tokens: Any, state: Any) -> Any:
        rendered = ((token, self.render_token(token, state)) for token in tokens)
        return [_text_piece(token, text) for token, text in rendered if text.strip()]

    def block_html(self, text: str) -> str:
        # nbconvert parses HTML to embed pictures, which closes a <details> that goes on.
        return super().block_html(text) if "<img" in text else f"{text}\n"

    def block_math(self, body: str) -> str:
        return to_mathml(body, display=True)

    def inline_math(self, body: str) -> str:
        return to_mathml(body)

    def latex_environment(self, name: str, body: str) -> str:
        return to_mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", display=True)


def markdown(source: str, folder: Path) -> list[Piece]:
    """Pieces of Markdown with LaTeX between dollar signs; its pictures are in ``folder``.

    Pictures are embedded, and links to notebooks lead to handouts.
    """
    renderer = _Markdown(
        escape=False, embed_images=True, exclude_anchor_links=True, path=str(folder)
    )
    pieces: Any = MarkdownWithMath(renderer=renderer).parse(source)[0]
    return [
        replace(piece, html=re.sub(r'href="(\d\d)_\w+\.ipynb', r'href="\1.html', piece.html))
        for piece in _with_folds(pieces)
    ]


def _with_folds(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces from ``<details>`` to ``</details>`` joined into one that stays together."""
    fold: list[Piece] = []
    for piece in pieces:
        if fold or piece.html.lstrip().startswith("<details"):
            fold.append(piece)
            if "</details>" in piece.html:
                yield Piece("fold", "\n".join(part.html for part in fold), lines=1.5)
                fold = []
        else:
            yield piece
    yield from fold


def _text_piece(token: dict[str, Any], rendered: str) -> Piece:
    if token["type"] == "heading":
        return Piece("heading", rendered, token["attrs"]["level"], 2.0)
    breaks = len(re.findall(r"<(?:li|tr|br|pre)\b", rendered))
    tall = 2.0 * rendered.count('display="block"')
    return Piece("text", rendered, 0, max(_height(rendered), breaks) + tall + 0.5)


class Renderer:
    """Turns the cells of one page into pieces; pictures in Markdown come from ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ids = count(1)  # of sliders
        self._highlight = Highlight2HTML(pygments_lexer="ipython3")

    def pieces(self, cell: NotebookNode) -> Iterator[Piece]:
        """Pieces of a cell, from top to bottom; none of one for Colab."""
        if is_for_colab(cell):
            return
        if cell.cell_type == "markdown":
            yield from markdown(cell.source, self.folder)
        elif cell.cell_type == "code" and cell.source.strip():
            personal = any(PERSONAL in output.get("data", ()) for output in cell.outputs)
            if personal and not is_exercise(cell):
                return
            kind = "exercise" if is_exercise(cell) else "code"
            height = 1.0 + cell.source.count("\n")
            yield Piece(kind, self._highlight(cell.source), lines=height)
            for output in _joined(cell.outputs):
                yield from self._output(output)

    def _output(self, output: NotebookNode) -> Iterator[Piece]:
        if output.output_type == "stream":
            if output.name == "stdout":
                yield _printed_output(output.text)
            return
        data = output.get("data", {})
        if EXPLORER in data:
            yield Piece("explorer", self.explorer(data[EXPLORER]))
        elif FIGURE in data:
            yield Piece("figure", self.figure(data[FIGURE]))
        elif FIGURES in data:
            yield Piece("figure", self.figures(data[FIGURES]["figures"]))
        elif WIDGET in data:
            yield Piece("output", ONLY_LIVE)
        elif "text/html" in data:
            rows, drawn = data["text/html"].count("<tr"), "<svg" in data["text/html"]
            shown = f"<div class='output'>{data['text/html']}</div>"
            yield Piece("figure" if drawn else "output", shown, lines=rows + 1)
        elif "text/markdown" in data:
            yield from markdown(data["text/markdown"], self.folder)
        elif "image/png" in data:
            source = f"data:image/png;base64,{data['image/png'].strip()}"
            alt = html.escape(data.get("text/plain", "picture"), quote=True)
            yield Piece("figure", f'<img src="{source}" alt="{alt}">')
        elif "text/plain" in data:
            yield _printed_output(data["text/plain"])

    def figure(self, figure: dict[str, Any]) -> str:
        """A plot; see stills.js."""
        plot, content = self._plot("", figure, wide=True), self._json([figure], [""], [])
        return f"<div class='still'>{plot}{content}</div>"

    def figures(self, figures: Sequence[dict[str, Any]]) -> str:
        """Plots side by side, as they stand in a box of widgets."""
        names = [str(number) for number in range(len(figures))]
        plots = "".join(map(self._plot, names, figures, [False] * len(figures)))
        content = self._json(figures, names, [])
        return f"<div class='still'><div class='plots'>{plots}</div>{content}</div>"

    def explorer(self, still: dict[str, Any]) -> str:
        """An explorer with title, summary, one slider and its plots; see stills.js.

        Above the plots stand the names of the tabs on which the notebook shows them.
        """
        frames, start = still["frames"], still["start"]
        opening, number = frames[start], next(self._ids)
        stories = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(story)}</dd>"
            for name, story in still["stories"]
        )
        plots, tabs, above = "", still.get("tabs", {}), ""
        for name, figure in still["figures"]:
            tab = tabs.get(name, "")
            plots += f"<p class='tab'>{html.escape(tab)}</p>" if tab != above else ""
            plots, above = plots + self._plot(name, figure, name in still["wide"]), tab
        frames = [{**frame, "changes": [*frame["changes"].items()]} for frame in frames]
        names, figures = zip(*still["figures"], strict=True)
        content = self._json(figures, names, frames)
        return (
            f"<div class='still explorer'><p class='title'>{html.escape(opening['title'])}</p>"
            f"<p role='status'>{html.escape(opening['words'])}</p>"
            f"<p class='slider'><label for='slider-{number}'>{html.escape(still['slider'])}</label>"
            f"<input type='range' id='slider-{number}' min='0' max='{len(frames) - 1}' step='1' "
            f"value='{start}' aria-valuetext='{html.escape(opening['label'], quote=True)}'>"
            f"<output for='slider-{number}'>{html.escape(opening['label'])}</output></p>"
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


def _joined(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Outputs in which lines that were printed one after the other are one."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" and output.name == last.get("name"):
            joined[-1] = NotebookNode({**last, "text": last["text"] + output.text})
        else:
            joined.append(output)
    return joined


def _printed_output(text: str) -> Piece:
    content = html.escape(text.rstrip("\n"))
    return Piece("output", f"<pre class='printed'>{content}</pre>", lines=1.0 + content.count("\n"))


# Slides ----------------------------------------------------------------------------------------


@dataclass
class Slide:
    """Pieces of one screen; ``section`` is the text of the level-2 heading above them."""

    section: str = ""
    pieces: list[Piece] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # HTML for the speaker

    @property
    def lines(self) -> float:
        """Approximate height in lines."""
        return sum(piece.lines for piece in self.pieces)

    def opens(self, heading: str) -> bool:
        """Whether the slide begins with this heading; "" stands for the title."""
        opening = self.pieces[0]
        if opening.kind != "heading":
            return False
        return opening.level == 1 if not heading else _words(opening.html) == heading


def slides(notebook: NotebookNode, folder: Path, teaching: Mapping[str, str] | None = None) -> str:
    """HTML page with the slides of an executed notebook; pictures come from ``folder``.

    A cell that JupyterLab's slide menu marks "skip" or "notes" is left out. Folded answers,
    legends and the notes for ``teaching`` (by heading, "" for the title) are notes for the
    speaker: the key S shows them below the slide.
    """
    renderer = Renderer(folder)
    cells = [cell for cell in notebook.cells if not _is_skipped(cell)]
    screens = cut(piece for cell in cells for piece in _projected(renderer.pieces(cell)))
    for heading, note in (teaching or {}).items():
        opening = (slide for slide in screens if slide.opens(heading))
        for slide in islice(opening, 1):
            slide.notes[:0] = [piece.html for piece in markdown(note, folder)]
    body = "\n".join(map(_section_html, screens))
    frame = '<div id="progress"></div><p id="place" role="status"></p>'
    body = f"<main>\n{body}\n</main>{frame}"
    return page(title(notebook), body, ("page.css", "slides.css"), ["slides.js"])


def cut(pieces: Iterable[Piece]) -> list[Slide]:
    """Slides from pieces: a heading, a plot or a full screen begins a new one.

    Text continues on the next slide before it becomes too small to read.
    """
    screens, section = [Slide()], ""
    for piece in pieces:
        if _is_for_the_speaker(piece):
            screens[-1].notes.append(piece.html)
            continue
        if piece.kind == "heading" and piece.level <= 2:
            section = _words(piece.html)
        if screens[-1].pieces and _begins_a_slide(piece, screens[-1]):
            opening = _take_leading_line(screens[-1]) if piece.kind == "text" else []
            screens.append(Slide(section, opening))
        screens[-1].pieces.append(piece)
    return screens


def _is_for_the_speaker(piece: Piece) -> bool:
    """Whether a piece is said rather than shown: a folded answer, a legend, or long code."""
    long_code = piece.kind == "code" and piece.lines > LONGEST_CODE
    return long_code or piece.kind == "fold" or piece.html.startswith("<p><strong>Legend.")


def _words(text: str) -> str:
    """Words of HTML, such as a heading."""
    return html.unescape(re.sub(r"<[^>]+>", "", text)).strip()


def _begins_a_slide(piece: Piece, slide: Slide) -> bool:
    """Whether a piece must not be added to this slide; a heading does not stand alone on one."""
    if piece.kind == "heading":
        return any(other.kind != "heading" for other in slide.pieces)
    if any(_is_plot(other) or other.kind == "exercise" for other in slide.pieces):
        return True
    if piece.kind == "text" and all(map(_leads_on, slide.pieces)):
        return False
    room = WITH_STUB * LINES if piece.kind == "exercise" else LINES
    has_text = any(other.kind != "heading" for other in slide.pieces)
    return has_text and (_is_plot(piece) or slide.lines + piece.lines > room)


def _take_leading_line(slide: Slide) -> list[Piece]:
    """Take a single last line, such as "After this lesson you can", to go with what follows."""
    *others, last = slide.pieces
    is_leading = last.kind == "text" and _leads_on(last) and not all(map(_leads_on, others))
    return [slide.pieces.pop()] if is_leading else []


def _leads_on(piece: Piece) -> bool:
    """Whether a piece is nothing without what follows: a heading, or a single line."""
    return piece.kind == "heading" or (piece.kind == "text" and piece.lines <= 1.5)


def _is_skipped(cell: NotebookNode) -> bool:
    slide_type = cell.metadata.get("slideshow", {}).get("slide_type", "")
    return slide_type in ("skip", "notes") or "setup" in cell.metadata.get("tags", ())


def _projected(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces of a cell for a lecture hall: no code above plots, only the main plots, no help."""
    pieces = [piece for piece in pieces if not piece.html.startswith("<p>Stuck? Run <code>hint")]
    has_plots = any(map(_is_plot, pieces))
    for piece in pieces:
        if piece.kind == "code" and has_plots:
            continue
        if piece.kind == "explorer":
            yield replace(piece, html=_main_plots(piece.html))
        else:
            yield from _parts_of_a_list(piece)


def _parts_of_a_list(piece: Piece) -> Iterator[Piece]:
    """A list that does not fit on a slide as several, each as long as fits; or the piece itself."""
    found = re.fullmatch(r"<([ou]l)>(.*)</\1>", piece.html.strip(), flags=re.DOTALL)
    if piece.lines <= LINES or not found or re.search(r"<[ou]l", found[2]):
        yield piece
        return
    kind, items = found[1], re.findall(r"<li>.*?</li>", found[2], flags=re.DOTALL)
    first = 0
    while first < len(items):
        last, lines = first, 0.5
        while last < len(items) and (last == first or lines + _height(items[last]) <= LINES):
            lines += _height(items[last])
            last += 1
        opening = f"<ol start='{first + 1}'>" if kind == "ol" and first else f"<{kind}>"
        yield Piece("text", f"{opening}{''.join(items[first:last])}</{kind}>", lines=lines)
        first = last


def _height(text: str) -> float:
    """Lines of running text, in HTML."""
    words = re.sub(r"<annotation.*?</annotation>|<[^>]+>", "", text)
    return float(sum(1 + len(line) // LINE_LENGTH for line in words.splitlines() if line.strip()))


def _main_plots(still: str) -> str:
    """An explorer with its first wide plots, or its first plots if none is wide."""
    plots = re.findall(r"<div class='plot(?: wide)?'.*?</div>", still)
    kept = ([plot for plot in plots if "plot wide" in plot] or plots)[:PLOTS]
    for plot in plots:
        still = still if plot in kept else still.replace(plot, "", 1)
    return re.sub(r"<details>.*?</details>|<p class='tab'>.*?</p>", "", still, flags=re.DOTALL)


def _is_plot(piece: Piece) -> bool:
    return piece.kind in ("figure", "explorer")


def _section_html(slide: Slide) -> str:
    opening = slide.pieces[0]
    repeated = slide.section and opening.kind != "heading"
    running = f"<p class='running'>{slide.section}</p>" if repeated else ""
    kind = "picture" if any(map(_is_plot, slide.pieces)) else "text"
    kind += " first" if opening.kind == "heading" and opening.level == 1 else ""
    body = body_of(slide.pieces)
    notes = "\n".join(slide.notes).replace("<details>", "<details open>")
    aside = f"<aside class='speaker'>{notes}</aside>" if notes else ""
    return f"<section class='{kind}'>{running}<div class='body'>\n{body}\n</div>{aside}</section>"
