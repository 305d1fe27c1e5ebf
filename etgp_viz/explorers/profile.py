"""A control for a function of x: a slider for its level, and knots to drag for its shape."""

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import numpy as np
import traitlets

from etgp_viz.records import prior

_CURVE = np.linspace(0.0, 1.0, 41)


class Knots(anywidget.AnyWidget):
    """A small curve whose knots follow the mouse, a finger or the arrow keys."""

    _esm = Path(__file__).with_name("knots.js")
    value = traitlets.List(traitlets.Float()).tag(sync=True)
    curve = traitlets.List(traitlets.Float()).tag(sync=True)  # what is drawn between the knots
    low = traitlets.Float().tag(sync=True)
    high = traitlets.Float().tag(sync=True)
    step = traitlets.Float().tag(sync=True)
    words = traitlets.Unicode().tag(sync=True)


class ProfileControl(widgets.VBox):
    """A function of x by its values at equally spaced knots; `value` is a tuple of them."""

    value = traitlets.Tuple()
    disabled = traitlets.Bool(False)

    def __init__(
        self,
        value: tuple[float, ...],
        *,
        low: float,
        high: float,
        step: float,
        words: str,
        tip: str,
    ) -> None:
        self.slider = widgets.FloatSlider(
            float(np.mean(value)),
            min=low,
            max=high,
            step=step,
            description=words,
            tooltip=tip,
            style={"description_width": "118px"},
            layout={"flex": "1 1 auto"},
        )
        self.opener = widgets.ToggleButton(
            False,
            description="∿",
            tooltip=f"Let {words} vary with x",
            layout={"width": "30px", "flex": "0 0 auto"},
        )
        self.knots = Knots(low=low, high=high, step=step, words=words)
        self.knots.layout.display = "none"
        # Deviations of the knots from the level; they outlive a slide to the end of the range.
        self._shape = np.zeros(len(value))
        self._following = False
        row = widgets.HBox([self.slider, self.opener], layout={"width": "100%"})
        super().__init__([row, self.knots], layout={"width": "100%"})
        self.slider.observe(self._slid, "value")
        self.knots.observe(self._dragged, "value")
        self.opener.observe(self._opened, "value")
        widgets.dlink((self, "disabled"), (self.slider, "disabled"))
        self._show(np.array(value))
        self.value = tuple(value)

    @traitlets.observe("value")
    def _moved(self, change: Any) -> None:
        """The knots, the curve between them and, unless it moved first, the slider follow."""
        values = np.array(self.value)
        if self.opener.value:
            self._show(values)
        if not self._following:
            self._follow(values)
        if np.ptp(values) > 0.0:
            self.opener.value = True

    def _follow(self, values: np.ndarray) -> None:
        self._following = True
        try:
            # On a step of the slider, or the browser would move it there, and the knots with it.
            low, step = self.slider.min, self.slider.step
            level = low + round((float(values.mean()) - low) / step) * step
            self._shape = values - level
            self.slider.value = round(level, 10)
        finally:
            self._following = False

    def _show(self, values: np.ndarray) -> None:
        with self.knots.hold_sync():
            self.knots.value = values.tolist()
            self.knots.curve = prior.profile(values, _CURVE).tolist()

    def _slid(self, change: Any) -> None:
        if self._following:
            return
        self._following = True
        try:
            level = np.clip(self.slider.value + self._shape, self.slider.min, self.slider.max)
            self.value = tuple(level.tolist())
        finally:
            self._following = False

    def _dragged(self, change: Any) -> None:
        self.value = tuple(np.clip(self.knots.value, self.slider.min, self.slider.max).tolist())

    def _opened(self, change: Any) -> None:
        self._show(np.array(self.value))
        self.knots.layout.display = "" if self.opener.value else "none"
