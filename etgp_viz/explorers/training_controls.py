"""Controls of a training: a play button that shows its state, swatches of classes, added points."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from etgp_viz.explorers.controls import Points
from etgp_viz.explorers.fast_plotly.live_figure import PANELS_JS
from etgp_viz.explorers.fields import Whole
from etgp_viz.figures.inference import COLOURS, GLYPHS


def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


class _TrainingControl(anywidget.AnyWidget):
    _esm = f"{PANELS_JS}\n{_source('training_controls.js')}"
    _css = _source("training_controls.css")
    kind = traitlets.Unicode().tag(sync=True)


class Toggle(_TrainingControl):
    """One button that is pressed or not, as a screen reader hears too (``aria-pressed``)."""

    kind = traitlets.Unicode("toggle").tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    hint = traitlets.Unicode().tag(sync=True)
    pressed = traitlets.Bool(False).tag(sync=True)


class Swatches(_TrainingControl):
    """One radio button for each class; a drag in a figure paints points of the chosen one."""

    kind = traitlets.Unicode("swatches").tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    value = traitlets.Int(1).tag(sync=True)
    count = traitlets.Int(3).tag(sync=True)  # classes that there are now
    colours = traitlets.List(traitlets.Unicode()).tag(sync=True)
    glyphs = traitlets.List(traitlets.Unicode()).tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    figures = traitlets.List(traitlets.Unicode()).tag(sync=True)  # those that can be painted in


@dataclass(frozen=True)
class Brush(Whole):
    """The class, from 1, of the points that are painted."""

    def widget(self, value: int) -> widgets.Widget:
        names = [f"class {c + 1}" for c in range(self.high)]
        look = {"colours": list(COLOURS), "glyphs": list(GLYPHS), "names": names}
        return Swatches(label=self.label, value=value, **look)


class PaintedPoints(widgets.VBox):
    """How many points were added, a button that removes them, and boxes to add one by keyboard.

    `value` is a flat tuple, as `Points` describes it; `add` is called with x₁ and x₂.
    """

    value = traitlets.Tuple()

    def __init__(self, value: tuple[float, ...], label: str, reach: float) -> None:
        self._label = label
        self.add: Callable[[float, float], None] = lambda x, y: None
        self._count = widgets.HTML(layout={"flex": "1 1 auto"})
        self.clear = _button("remove all", "Take all added points away; the training goes on")
        self.clear.on_click(lambda _: self.set_trait("value", ()))
        self.places = [
            widgets.BoundedFloatText(
                0.0, min=-reach, max=reach, step=0.1, description=name,
                style={"description_width": "20px"}, layout={"width": "86px"},
            )
            for name in ("x₁", "x₂")
        ]  # fmt: skip
        self.adder = _button("add", "Add a point of the chosen class at these inputs")
        self.adder.layout.min_width = "52px"
        self.adder.on_click(lambda _: self.add(*(place.value for place in self.places)))
        above = widgets.HBox([self._count, self.clear], layout={"width": "100%"})
        below = widgets.HBox([*self.places, self.adder], layout={"width": "100%"})
        super().__init__([above, below], layout={"width": "100%"})
        self.value = tuple(value)
        self._on_value()

    @traitlets.observe("value")
    def _on_value(self, _: Any = None) -> None:
        self._count.value = f"{self._label}: <b>{len(self.value) // 3}</b>"
        self.clear.disabled = not self.value


@dataclass(frozen=True)
class Painted(Points):
    """Points that were added by clicks, strokes or keyboard."""

    def widget(self, value: tuple[float, ...]) -> widgets.Widget:
        return PaintedPoints(value, self.label, self.reach)


def _button(label: str, tooltip: str) -> widgets.Button:
    return widgets.Button(description=label, tooltip=tooltip, layout={"width": "auto"})
