"""Explorers and figures as JSON, for pages without a kernel.

An explorer becomes its figures at one position of one slider and, for every other position, the
changes that lead there. `install` makes a kernel publish these instead of widgets.
"""

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from ipywidgets import Box
from plotly.basedatatypes import BaseFigure

from etgp_viz.course.checking import Reply
from etgp_viz.course.progress import Table

if TYPE_CHECKING:  # explorers load TensorFlow, which a page does not need
    from etgp_viz.explorers.base import Explorer

__all__ = [
    *("EXPLORER", "FIGURE", "FIGURES", "PERSONAL", "WIDGET"),
    *("changes", "explorer_still", "figure_still", "install", "keep_slider"),
]

EXPLORER = "application/vnd.etgp-viz.explorer+json"
FIGURE = "application/vnd.etgp-viz.figure+json"
FIGURES = "application/vnd.etgp-viz.figures+json"  # side by side
PERSONAL = "application/vnd.etgp-viz.personal+json"  # progress and replies of one student
WIDGET = "application/vnd.jupyter.widget-view+json"
DIGITS = 6


def explorer_still(explorer: "Explorer", name: str = "") -> dict[str, Any]:
    """An explorer at every position of its main slider, or of the slider of the field ``name``."""
    slider, tour = explorer.tour(name)
    stops: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    start = 0
    for position, label, is_start in tour:
        start = position if is_start else start
        frame = {"label": label, "title": explorer.title(explorer.state), "words": explorer.summary}
        figures = {key: figure_still(figure) for key, figure in explorer.figures.items()}
        stops[position] = frame, figures
    frames, drawn = zip(*(stops[position] for position in sorted(stops)), strict=True)
    for frame, figures in zip(frames, drawn, strict=True):
        steps = {key: changes(drawn[start][key], figure) for key, figure in figures.items()}
        frame["changes"] = {key: some for key, some in steps.items() if some}
    return {
        "slider": slider,  # its label
        "start": start,  # the position at which the page opens
        "frames": list(frames),
        "figures": [[key, figure] for key, figure in drawn[start].items()],
        "wide": list(explorer.full_width),
        "tabs": _tabs(explorer),
        "stories": [
            [words, preset.story]
            for words, preset in explorer.presets.items()
            if not preset.steps  # a tour needs a kernel
        ],
    }


def _tabs(explorer: "Explorer") -> dict[str, str]:
    """Name of each picture → the first tab on which the notebook shows it."""
    tabs: dict[str, str] = {}
    for tab, rows in explorer.views.items():
        for name in " ".join(rows).split():
            tabs.setdefault(name, tab)
    return tabs


def figure_still(figure: BaseFigure) -> dict[str, Any]:
    """A figure as plain values that can be zoomed; the zoom survives a move of the slider."""
    content = _plain(figure.to_plotly_json())
    layout = content["layout"]
    layout |= {"dragmode": "zoom", "uirevision": "kept"}
    for axes in (layout, layout.get("template", {}).get("layout", {})):
        for key, axis in axes.items():
            if key.startswith(("xaxis", "yaxis")):
                axis["fixedrange"] = False
    return {"data": content["data"], "layout": layout}


def changes(old: Any, new: Any, path: tuple[Any, ...] = ()) -> list[list[Any]]:
    """Steps ``[path, value]`` that turn one figure into another; None removes a value.

    >>> changes({"height": 300, "title": "a"}, {"height": 300, "title": "b"})
    [[['title'], 'b']]
    """
    if isinstance(old, dict) and isinstance(new, dict) and "bdata" not in {*old, *new}:
        pairs = {key: (old.get(key), new.get(key)) for key in {**old, **new}}
    elif isinstance(old, list) and isinstance(new, list) and _are_comparable(old, new):
        pairs = dict(enumerate(zip(old, new, strict=True)))
    else:
        return [] if old == new else [[list(path), new]]
    return [step for key, (a, b) in pairs.items() for step in changes(a, b, (*path, key))]


def _are_comparable(old: list[Any], new: list[Any]) -> bool:
    """Whether to compare lists part by part (traces, annotations); numbers change as a whole."""
    return len(old) == len(new) and all(isinstance(part, dict) for part in (*old, *new))


def _plain(value: Any) -> Any:
    """Values that JSON can hold; arrays as plotly packs them, in single precision."""
    if isinstance(value, dict):
        if value.get("dtype") == "f8":
            return {**value, "dtype": "f4", "bdata": _single_precision(value["bdata"])}
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value


def _single_precision(packed: str) -> str:
    """A base64 array of doubles as singles: no screen shows the difference."""
    values = np.frombuffer(base64.b64decode(packed), dtype="<f8")
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


class _Slider:
    """The field whose slider the next explorer keeps; "" lets the explorer choose."""

    name = ""


def keep_slider(name: str) -> None:
    """Let the explorers of the next cell keep the slider of this field."""
    _Slider.name = name


def install(shell: Any) -> None:
    """Make a kernel publish stills instead of widgets, and nothing that is personal."""
    from etgp_viz.explorers.base import Explorer

    def publish(kind: str, content: dict[str, Any]) -> None:
        shell.display_pub.publish({kind: content})

    def show_figures(box: Box) -> None:
        figures = [child for child in box.children if isinstance(child, BaseFigure)]
        if figures:
            publish(FIGURES, {"figures": [figure_still(figure) for figure in figures]})
        else:
            publish(WIDGET, {})

    printers = shell.display_formatter.ipython_display_formatter
    printers.for_type(
        Explorer, lambda explorer: publish(EXPLORER, explorer_still(explorer, _Slider.name))
    )
    printers.for_type(BaseFigure, lambda figure: publish(FIGURE, figure_still(figure)))
    printers.for_type(Box, show_figures)
    for personal in (Reply, Table):
        printers.for_type(personal, lambda _: publish(PERSONAL, {}))
    shown = ("small_figures.OneIdea", "first_look.DigitReader", "first_look.CostOfClasses")
    for name in (*shown, "formulas.Formula"):
        module, _, kind = name.partition(".")
        printers.for_type_by_name(
            f"etgp_viz.course.{module}",
            kind,
            lambda idea: shell.display_pub.publish({"text/html": idea.page}),
        )
    quiz = "etgp_viz.course.quiz", "Quiz"
    printers.for_type_by_name(*quiz, lambda _: publish(PERSONAL, {}))
