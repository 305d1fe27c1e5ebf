"""A lesson as slides: the pieces of its handout, cut where a screen is full.

A heading begins a slide, a figure or an explorer has one of its own, and text goes on to the next
when it would be too small to read. The metadata that JupyterLab's own slide menu writes are obeyed
where they say "skip". The script needs no reveal.js: no package that comes from an index brings a
whole copy of it, and what a lecture needs of it is short (slides.js).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbformat import NotebookNode

from etgp_viz.course.publish.handout import page, title
from etgp_viz.course.publish.render import Piece, Renderer

__all__ = ["Slide", "cut", "slides"]

LINES = 16.0  # that a slide holds
WITH_STUB = 1.4  # times as many, in smaller letters, so that an exercise stays in one place
PLOTS = 2  # pictures of an explorer on a slide: the handout has them all


@dataclass
class Slide:
    """Pieces under a heading; ``section`` is the heading of level 2 above them, as text."""

    section: str = ""
    pieces: list[Piece] = field(default_factory=list)

    @property
    def lines(self) -> float:
        """About how many lines are on it."""
        return sum(piece.lines for piece in self.pieces)


def slides(notebook: NotebookNode, folder: Path) -> str:
    """The slides of an executed notebook as one page."""
    renderer = Renderer(folder)
    cells = [cell for cell in notebook.cells if not _is_skipped(cell)]
    found = cut(piece for cell in cells for piece in _projected(renderer.pieces(cell)))
    body = "\n".join(_section(slide) for slide in found)
    frame = '<div id="progress"></div><p id="place" role="status"></p>'
    return page(
        title(notebook),
        f"<main>\n{body}\n</main>{frame}",
        ("page.css", "slides.css"),
        ["slides.js"],
    )


def cut(pieces: Iterable[Piece]) -> list[Slide]:
    """Slides from pieces: a heading, a picture or a full screen begins another one."""
    found, section = [Slide()], ""
    for piece in pieces:
        if piece.kind == "heading" and piece.level <= 2:
            section = _words(piece.html)
        if found[-1].pieces and _begins(piece, found[-1]):
            found.append(Slide(section, _leading_line(found[-1]) if piece.kind == "text" else []))
        found[-1].pieces.append(piece)
    return found


def _begins(piece: Piece, slide: Slide) -> bool:
    """Whether a piece goes on a slide of its own and not on this one."""
    if piece.kind == "heading" or any(map(_ends_a_slide, slide.pieces)):
        return True
    room = WITH_STUB * LINES if piece.kind == "exercise" else LINES
    has_text = any(each.kind != "heading" for each in slide.pieces)
    return has_text and (_is_picture(piece) or slide.lines + piece.lines > room)


def _leading_line(slide: Slide) -> list[Piece]:
    """A single line at the end, such as "After this lesson you can", goes with what follows."""
    last = slide.pieces[-1]
    if last.kind != "text" or last.lines > 1.5 or len(slide.pieces) < 2:
        return []
    return [slide.pieces.pop()]


def _is_skipped(cell: NotebookNode) -> bool:
    chosen = cell.metadata.get("slideshow", {}).get("slide_type", "")
    return chosen in ("skip", "notes") or "setup" in cell.metadata.get("tags", ())


def _projected(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces of a cell as a hall sees them: no code above a picture, few pictures at a time."""
    pieces = list(pieces)
    pictures = any(map(_is_picture, pieces))
    for piece in pieces:
        if piece.kind == "code" and pictures:
            continue
        yield replace(piece, html=_main_plots(piece.html)) if piece.kind == "explorer" else piece


def _main_plots(still: str) -> str:
    """An explorer with its first wide pictures, or with the first ones if none is wide."""
    plots = re.findall(r"<div class='plot(?: wide)?'.*?</div>", still)
    kept = ([plot for plot in plots if "plot wide" in plot] or plots)[:PLOTS]
    for plot in plots:
        still = still if plot in kept else still.replace(plot, "", 1)
    return re.sub(r"<details>.*?</details>", "", still, flags=re.DOTALL)


def _is_picture(piece: Piece) -> bool:
    return piece.kind in ("figure", "explorer")


def _ends_a_slide(piece: Piece) -> bool:
    return _is_picture(piece) or piece.kind == "exercise"


def _words(rendered: str) -> str:
    return re.sub(r"<[^>]+>", "", rendered).strip()


def _section(slide: Slide) -> str:
    starts = slide.pieces[0].kind == "heading"
    running = "" if starts or not slide.section else f"<p class='running'>{slide.section}</p>"
    kind = "picture" if any(map(_is_picture, slide.pieces)) else "text"
    if starts and slide.pieces[0].level == 1:
        kind += " first"
    body = "\n".join(
        f"<div class='exercise'>{piece.html}</div>" if piece.kind == "exercise" else piece.html
        for piece in slide.pieces
    )
    return f"<section class='{kind}'>{running}<div class='body'>\n{body}\n</div></section>"
