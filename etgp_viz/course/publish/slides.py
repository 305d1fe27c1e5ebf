"""A lesson as slides: the pieces of its handout, cut where a screen is full.

A heading begins a slide, a figure or an explorer has its own slide, and text continues on the
next slide before it becomes too small to read. A cell that JupyterLab's slide menu marks "skip" is
left out. The slides need a few keys and a progress bar (slides.js) and not all of reveal.js, which
no Python package contains in full.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbformat import NotebookNode

from etgp_viz.course.publish.handouts import Piece, Renderer, body_of, page, title

__all__ = ["Slide", "cut", "slides"]

LINES = 16.0  # that fit on a slide
WITH_STUB = 1.4  # factor for an exercise, whose prompt and stub stay together in smaller letters
PLOTS = 2  # of an explorer on a slide; the handout has them all


@dataclass
class Slide:
    """Pieces of one screen; ``section`` is the text of the level-2 heading above them."""

    section: str = ""
    pieces: list[Piece] = field(default_factory=list)

    @property
    def lines(self) -> float:
        """Approximate height in lines."""
        return sum(piece.lines for piece in self.pieces)


def slides(notebook: NotebookNode, folder: Path) -> str:
    """HTML page with the slides of an executed notebook; pictures come from ``folder``."""
    renderer = Renderer(folder)
    cells = [cell for cell in notebook.cells if not _is_skipped(cell)]
    screens = cut(piece for cell in cells for piece in _projected(renderer.pieces(cell)))
    body = "\n".join(_section_html(slide) for slide in screens)
    frame = '<div id="progress"></div><p id="place" role="status"></p>'
    return page(
        title(notebook),
        f"<main>\n{body}\n</main>{frame}",
        ("page.css", "slides.css"),
        ["slides.js"],
    )


def cut(pieces: Iterable[Piece]) -> list[Slide]:
    """Slides from pieces: a heading, a plot or a full screen begins a new one."""
    screens, section = [Slide()], ""
    for piece in pieces:
        if piece.kind == "heading" and piece.level <= 2:
            section = _plain_text(piece.html)
        if screens[-1].pieces and _begins_a_slide(piece, screens[-1]):
            opening = _take_leading_line(screens[-1]) if piece.kind == "text" else []
            screens.append(Slide(section, opening))
        screens[-1].pieces.append(piece)
    return screens


def _begins_a_slide(piece: Piece, slide: Slide) -> bool:
    """Whether a piece must not be added to this slide."""
    if piece.kind == "heading" or any(map(_ends_a_slide, slide.pieces)):
        return True
    room = WITH_STUB * LINES if piece.kind == "exercise" else LINES
    has_text = any(other.kind != "heading" for other in slide.pieces)
    return has_text and (_is_plot(piece) or slide.lines + piece.lines > room)


def _take_leading_line(slide: Slide) -> list[Piece]:
    """Take a single last line, such as "After this lesson you can", to go with what follows."""
    last = slide.pieces[-1]
    if last.kind != "text" or last.lines > 1.5 or len(slide.pieces) < 2:
        return []
    return [slide.pieces.pop()]


def _is_skipped(cell: NotebookNode) -> bool:
    slide_type = cell.metadata.get("slideshow", {}).get("slide_type", "")
    return slide_type in ("skip", "notes") or "setup" in cell.metadata.get("tags", ())


def _projected(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces of a cell for a lecture hall: no code above plots, and only the main plots."""
    pieces = list(pieces)
    has_plots = any(map(_is_plot, pieces))
    for piece in pieces:
        if piece.kind == "code" and has_plots:
            continue
        yield replace(piece, html=_main_plots(piece.html)) if piece.kind == "explorer" else piece


def _main_plots(still: str) -> str:
    """An explorer with its first wide plots, or its first plots if none is wide."""
    plots = re.findall(r"<div class='plot(?: wide)?'.*?</div>", still)
    kept = ([plot for plot in plots if "plot wide" in plot] or plots)[:PLOTS]
    for plot in plots:
        still = still if plot in kept else still.replace(plot, "", 1)
    return re.sub(r"<details>.*?</details>", "", still, flags=re.DOTALL)


def _is_plot(piece: Piece) -> bool:
    return piece.kind in ("figure", "explorer")


def _ends_a_slide(piece: Piece) -> bool:
    return _is_plot(piece) or piece.kind == "exercise"


def _plain_text(rendered: str) -> str:
    return re.sub(r"<[^>]+>", "", rendered).strip()


def _section_html(slide: Slide) -> str:
    has_heading = slide.pieces[0].kind == "heading"
    repeated = slide.section and not has_heading
    running = f"<p class='running'>{slide.section}</p>" if repeated else ""
    kind = "picture" if any(map(_is_plot, slide.pieces)) else "text"
    if has_heading and slide.pieces[0].level == 1:
        kind += " first"
    body = body_of(slide.pieces)
    return f"<section class='{kind}'>{running}<div class='body'>\n{body}\n</div></section>"
