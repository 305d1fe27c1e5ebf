"""Explorers and figures for pages that have no kernel: what is drawn, as JSON.

An explorer becomes its figures at one position of its main slider, and for every other position
what changes in them. `install` lets a kernel give these out in place of widgets.
"""

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from plotly.basedatatypes import BaseFigure

from etgp_viz.course.checking import Reply
from etgp_viz.course.progress import Table

if TYPE_CHECKING:  # an explorer brings TensorFlow, which a page does not need
    from etgp_viz.explorers.base import Explorer

__all__ = [
    *("EXPLORER", "FIGURE", "PERSONAL"),
    *("changes", "explorer_still", "figure_still", "install", "slide"),
]

EXPLORER = "application/vnd.etgp-viz.explorer+json"
FIGURE = "application/vnd.etgp-viz.figure+json"
PERSONAL = "application/vnd.etgp-viz.personal+json"  # for one student's eyes: progress, replies
DIGITS = 6


def explorer_still(explorer: "Explorer", name: str = "") -> dict[str, Any]:
    """The explorer along its main slider, or along that of the field ``name``.

    Returns
    -------
    slider : what is moved, in words
    start : the position to begin at
    frames : for each position its label, title and words, and the changes of each figure
    figures : pairs of name and figure at the start, in the order of the page
    wide : names of the figures that take a row of their own
    stories : its presets, as name and story
    """
    slider, walk = explorer.tour(name)
    found: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    start = 0
    for position, label, here in walk:
        start = position if here else start
        frame = {
            "label": label,
            "title": explorer.title(explorer.state),
            "words": explorer.summary,
        }
        figures = {key: figure_still(figure) for key, figure in explorer.figures.items()}
        found[position] = frame, figures
    frames, drawn = zip(*(found[position] for position in sorted(found)), strict=True)
    for frame, figures in zip(frames, drawn, strict=True):
        frame["changes"] = {
            key: moved
            for key, figure in figures.items()
            if (moved := changes(drawn[start][key], figure))
        }
    return {
        "slider": slider,
        "start": start,
        "frames": list(frames),
        "figures": [[key, figure] for key, figure in drawn[start].items()],
        "wide": list(explorer.full_width),
        "stories": [[words, preset.story] for words, preset in explorer.presets.items()],
    }


def figure_still(figure: BaseFigure) -> dict[str, Any]:
    """A figure as plain values, which can be zoomed; zooming outlives a move of the slider."""
    content = _plain(figure.to_plotly_json())
    layout = content["layout"]
    layout |= {"dragmode": "zoom", "uirevision": "kept"}
    for axes in (layout, layout.get("template", {}).get("layout", {})):
        for key, axis in axes.items():
            if key.startswith(("xaxis", "yaxis")):
                axis["fixedrange"] = False
    return {"data": content["data"], "layout": layout}


def changes(old: Any, new: Any, path: tuple[Any, ...] = ()) -> list[list[Any]]:
    """What leads from one figure to another, as ``[path, value]``; None where a value is gone."""
    if isinstance(old, dict) and isinstance(new, dict) and "bdata" not in {*old, *new}:
        pairs = {key: (old.get(key), new.get(key)) for key in {**old, **new}}
    elif isinstance(old, list) and isinstance(new, list) and _are_alike(old, new):
        pairs = dict(enumerate(zip(old, new, strict=True)))
    else:
        return [] if old == new else [[list(path), new]]
    return [found for key, (a, b) in pairs.items() for found in changes(a, b, (*path, key))]


def _are_alike(old: list[Any], new: list[Any]) -> bool:
    """Lists of as many parts, such as traces or annotations; lists of numbers go as a whole."""
    return len(old) == len(new) and all(isinstance(part, dict) for part in (*old, *new))


def _plain(value: Any) -> Any:
    """Values as JSON has them; arrays as plotly packs them, in single precision."""
    if isinstance(value, dict):
        if value.get("dtype") == "f8":
            return {**value, "dtype": "f4", "bdata": _halved(value["bdata"])}
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value


def _halved(packed: str) -> str:
    """An array in base64, from double to single precision: no screen shows the difference."""
    values = np.frombuffer(base64.b64decode(packed), dtype="<f8")
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


class _Slider:
    """The field whose slider the next explorer keeps; "" lets it choose."""

    name = ""


def slide(name: str) -> None:
    """Let the explorers of the next cell keep the slider of this field."""
    _Slider.name = name


def install(shell: Any) -> None:
    """Let a kernel's shell give out stills, and nothing of what concerns one student alone."""
    from etgp_viz.explorers.base import Explorer

    def give(kind: str, content: dict[str, Any]) -> None:
        shell.display_pub.publish({kind: content})

    printers = shell.display_formatter.ipython_display_formatter
    printers.for_type(Explorer, lambda found: give(EXPLORER, explorer_still(found, _Slider.name)))
    printers.for_type(BaseFigure, lambda found: give(FIGURE, figure_still(found)))
    for personal in (Reply, Table):
        printers.for_type(personal, lambda found: give(PERSONAL, {}))
