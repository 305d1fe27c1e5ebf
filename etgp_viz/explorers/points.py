"""A control for points that somebody adds to the data by clicking."""

from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import traitlets

from etgp_viz.explorers.fields import Control, Number, Whole

# A link must stay short.
MOST = 60


class PointsControl(widgets.HBox):
    """Says how many points were added, and takes them away again; `value` is a flat tuple."""

    value = traitlets.Tuple()

    def __init__(self, value: tuple[float, ...], words: str) -> None:
        self._words = words
        self._count = widgets.HTML(layout={"flex": "1 1 auto"})
        self.undo = widgets.Button(description="undo", tooltip="Take the last point away")
        self.clear = widgets.Button(description="clear", tooltip="Take all added points away")
        for button in (self.undo, self.clear):
            button.layout.width = "auto"
        self.undo.on_click(lambda _: self.set_trait("value", self.value[:-3]))
        self.clear.on_click(lambda _: self.set_trait("value", ()))
        super().__init__([self._count, self.undo, self.clear], layout={"width": "100%"})
        self.value = tuple(value)
        self._moved()

    @traitlets.observe("value")
    def _moved(self, _: Any = None) -> None:
        self._count.value = f"{self._words}: <b>{len(self.value) // 3}</b>"
        self.undo.disabled = self.clear.disabled = not self.value


@dataclass(frozen=True)
class Points(Control):
    """Points in a plane with their class, each as three numbers: x₁, x₂ and the class (from 1).

    All stand in one flat tuple: a state holds nothing but numbers, texts and tuples of them.
    """

    reach: float
    classes: int

    def check(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) % 3:
            raise ValueError(f"expected three numbers for each point, got {value!r}")
        if len(value) > 3 * MOST:
            raise ValueError(f"expected at most {MOST} points, got {len(value) // 3}")
        place = Number("place", -self.reach, self.reach, 0.001)
        kinds = (place, place, Whole("class", 1, self.classes))
        return tuple(kinds[k % 3].check(number) for k, number in enumerate(value))

    def widget(self, value: tuple[float, ...]) -> widgets.Widget:
        return PointsControl(value, self.words)

    def samples(self) -> tuple[tuple[float, ...], ...]:
        points = [(x / 20.0, -x / 30.0, x % self.classes + 1) for x in range(MOST)]
        few, most = (tuple(n for point in part for n in point) for part in (points[:2], points))
        return (), self.check(few), self.check(most)
