"""Points to click, drag or type, and turning draws."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from etgp_viz.explorers import fields
from etgp_viz.explorers.fast_plotly.live_figure import PANELS_JS
from etgp_viz.explorers.fields import Control, Number
from etgp_viz.messages import describe

MAX_OBSERVATIONS = 40  # a link must stay short, and the table readable
MAX_UNDO = 100
DEGREES_PER_FRAME, DEGREES_PER_STEP = 3.0, 30.0  # of a smooth turn, and where motion is unwelcome


def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


# Observations -------------------------------------------------------------------------------------


class ObservationsControl(anywidget.AnyWidget):
    """A table of observations, which also lets them be dragged in a figure: see observations.js.

    `value` is a flat tuple, x and y of one observation after another. `undo` returns to what it
    was before the last change; a drag is one change.
    """

    _esm = f"{PANELS_JS}\n{_source('observations.js')}"
    _css = _source("observations.css")
    value = traitlets.Tuple().tag(sync=True)
    held = traitlets.Bool(False).tag(sync=True)  # while an observation is dragged
    can_undo = traitlets.Bool(False).tag(sync=True)
    figure = traitlets.Unicode().tag(sync=True)  # the name of the figure
    limits = traitlets.List(traitlets.Float()).tag(sync=True)  # lowest and highest x, then y
    steps = traitlets.List(traitlets.Float()).tag(sync=True)  # to which x and y are rounded
    most = traitlets.Int().tag(sync=True)
    nouns = traitlets.List(traitlets.Unicode()).tag(sync=True)  # for one, and for several
    help = traitlets.Unicode().tag(sync=True)
    unit = traitlets.Float(1.0).tag(sync=True)  # of y in the figure

    def __init__(self, spec: "Observations", value: tuple[float, ...]) -> None:
        self._history: list[tuple[float, ...]] = []
        self._is_dragged = False
        super().__init__(
            value=tuple(value), figure=spec.figure,
            limits=[spec.x.low, spec.x.high, spec.y.low, spec.y.high],
            steps=[spec.x.step, spec.y.step],
            most=spec.most, nouns=[spec.noun, spec.label], help=spec.help,
        )  # fmt: skip
        self.observe(self._remember, "value")
        self.observe(self._on_hold, "held")
        self.on_msg(self._on_message)

    def undo(self) -> None:
        """Return to the observations before the last change."""
        if self._history:
            before = self._history.pop()
            self.unobserve(self._remember, "value")
            try:
                self.value = before
            finally:
                self.observe(self._remember, "value")
            self.can_undo = bool(self._history)

    def _on_message(self, _: Any, message: dict[str, Any], __: Any) -> None:
        if message.get("undo"):
            self.undo()

    def _remember(self, change: Any) -> None:
        if not self._is_dragged:
            self._history = [*self._history[1 - MAX_UNDO :], change.old]
        self._is_dragged = self.held
        self.can_undo = True

    def _on_hold(self, change: Any) -> None:
        self._is_dragged = False


@dataclass(frozen=True)
class Observations(Control):
    """Observations in the plane, x and y of one after another in a flat tuple."""

    x: Number
    y: Number
    figure: str  # the name of the figure in which they can be dragged
    most: int = MAX_OBSERVATIONS
    noun: str = "observation"
    help: str = (
        "Click into the picture to add one, drag it to move it, double-click it to remove it."
    )

    def check(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) % 2:
            raise ValueError(f"expected two numbers for each {self.noun}, got {describe(value)}")
        if len(value) > 2 * self.most:
            raise ValueError(f"expected at most {self.most} {self.label}, got {len(value) // 2}")
        return tuple((self.y if k % 2 else self.x).check(part) for k, part in enumerate(value))

    def widget(self, value: tuple[float, ...]) -> widgets.Widget:
        return ObservationsControl(self, value)

    def samples(self) -> tuple[tuple[float, ...], ...]:
        """None, two that contradict each other, and as many as there may be."""
        span = self.x.high - self.x.low
        many = ((self.x.low + span * k / self.most, (-1) ** k * self.y.high / 2)
                for k in range(self.most))  # fmt: skip
        most = self.check([number for place in many for number in place])
        return (), self.check([1.0, -1.0, 1.0, 1.0]), most

    def positions(self, value: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
        """The first few observations, then more and more of them."""
        count = len(value) // 2
        numbers = sorted({round(k) for k in fields.evenly_spaced(0, count)})
        return tuple(value[: 2 * number] for number in numbers) if count else self.samples()

    def format_value(self, value: tuple[float, ...]) -> str:
        return str(len(value) // 2)


# Turning draws ------------------------------------------------------------------------------------


class Player(anywidget.AnyWidget):
    """A button that plays and pauses: see turn.js. Its clock is the browser's.

    A page that is hidden does not play. Where a person has asked for less motion, each press takes
    one step and nothing moves by itself.
    """

    _esm = _source("turn.js")
    frames = traitlets.Int(0).tag(sync=True)  # drawn so far: the browser waits for each


class TurnControl(widgets.HBox):
    """A slider for an angle, and a button that turns it; `value` is in degrees."""

    value = traitlets.Float()
    disabled = traitlets.Bool(False)

    def __init__(self, slider: widgets.FloatSlider) -> None:
        self.slider, self.player = slider, Player(layout={"flex": "0 0 auto", "width": "auto"})
        slider.layout.flex, slider.layout.width = "1 1 auto", "auto"
        super().__init__([slider, self.player], layout={"width": "100%"})
        self.value = slider.value
        widgets.link((self, "value"), (slider, "value"))
        widgets.link((self, "disabled"), (slider, "disabled"))
        self.player.on_msg(lambda _, message, __: self._turn(message))

    def _turn(self, message: dict[str, Any]) -> None:
        degrees = DEGREES_PER_STEP if message.get("turn") == "step" else DEGREES_PER_FRAME
        self.value = (self.value + degrees) % self.slider.max
        self.player.frames += 1


@dataclass(frozen=True)
class Turn(Number):
    """An angle with a play button."""

    def widget(self, value: float) -> widgets.Widget:
        return TurnControl(super().widget(value))
