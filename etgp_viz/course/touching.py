"""What can be touched on a page besides sliders: a number in a sentence, and small images."""

from pathlib import Path

import anywidget
import traitlets

__all__ = ["Gallery", "Sentence"]


def _scripts(*names: str) -> str:
    # As text: anywidget would watch a file for changes, and keep the widget for good.
    return "\n".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


class Sentence(anywidget.AnyWidget):
    """A sentence in HTML. Its number that is marked ``data-drag`` can be dragged: see sentence.js.

    Attributes
    ----------
    value : the sentence, which is rewritten when ``number`` has changed
    number, low, high, step : the number as a value, and where it may go
    label : what the number is, for screen readers
    """

    _esm = _scripts("slider_names.js", "sentence.js")
    _css = (
        "[data-drag] {cursor: ew-resize; touch-action: none; user-select: none; padding: 0 0.2em}"
    )
    value = traitlets.Unicode().tag(sync=True)
    number = traitlets.Float().tag(sync=True)
    low = traitlets.Float().tag(sync=True)
    high = traitlets.Float(1.0).tag(sync=True)
    step = traitlets.Float(1.0).tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)


class Gallery(anywidget.AnyWidget):
    """Small images in a row, one of which is chosen: see gallery.js.

    Attributes
    ----------
    pictures : pairs of a number and an SVG
    chosen : the number of the chosen one; other numbers choose none
    label : what the images are
    """

    _esm = _scripts("slider_names.js", "gallery.js")
    _css = (
        ".etgp-gallery > button {padding: 3px; margin: 2px; background: none; "
        "border: 3px solid transparent; cursor: pointer; line-height: 0} "
        ".etgp-gallery > button[aria-pressed=true] {border-color: #0072B2}"
    )
    pictures = traitlets.List(traitlets.Tuple()).tag(sync=True)
    chosen = traitlets.Int().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
