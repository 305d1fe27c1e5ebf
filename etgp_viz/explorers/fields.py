"""What a field of an explorer's state looks like on screen, and which values it takes.

A state is a frozen dataclass. Each field says with `shown` how it is controlled, once; its widget,
its tooltip, the check of a link and the tests all follow from that.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from etgp_viz.explorers.profile import ProfileControl

LABEL = {"description_width": "118px"}
POSITIONS = 11  # of a slider on paper
FULL_WIDTH = {"width": "auto"}


@dataclass(frozen=True)
class Control(ABC):
    """One control: `words` with its symbol, and the `group` it stands in.

    `right` says what more of it does. `when(state)` tells whether the control matters; where it
    does not, it is hidden.
    """

    words: str
    group: str = dataclasses.field(default="View", kw_only=True)
    right: str = dataclasses.field(default="", kw_only=True)
    when: Callable[[Any], bool] = dataclasses.field(default=lambda state: True, kw_only=True)

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value itself if this control can take it; a ValueError that says why if not."""

    @abstractmethod
    def widget(self, value: Any) -> widgets.Widget:
        """The widget, whose trait `value` is the value of the field."""

    @abstractmethod
    def samples(self) -> tuple[Any, ...]:
        """The least, a middle and the greatest value."""

    def stops(self, value: Any) -> tuple[Any, ...]:
        """A few positions from left to right, `value` among them, for a page without a kernel."""
        return self.samples()

    def told(self, value: Any) -> str:
        """A value as it is read out."""
        return str(value)

    @property
    def tooltip(self) -> str:
        """What moving the control to the right does."""
        return f"To the right: {self.right}." if self.right else self.words

    def _look(self) -> dict[str, Any]:
        look = {"description": self.words, "style": LABEL, "layout": FULL_WIDTH}
        return {**look, "tooltip": self.tooltip}


@dataclass(frozen=True)
class Number(Control):
    """A number between `low` and `high`, in steps of `step`, on a logarithmic slider if `log`.

    The browser's slider rounds what it shows to its steps and sends that back, so values are
    rounded here first: to `step`, or to six digits on a logarithmic slider, which has no steps but
    those of its arrow keys (frame.js).
    """

    low: float
    high: float
    step: float = 0.05
    log: bool = dataclasses.field(default=False, kw_only=True)

    def check(self, value: Any) -> float:
        number = _number(value, self.low, self.high)
        return float(f"{number:.6g}") if self.log else on_step(number, self.low, self.step)

    def widget(self, value: float) -> widgets.Widget:
        if not self.log:
            return widgets.FloatSlider(
                value, min=self.low, max=self.high, step=self.step, **self._look()
            )
        low, high = math.log10(self.low), math.log10(self.high)
        slider = widgets.FloatLogSlider(
            value, min=low, max=high, step=1e-9, readout_format=".2f", **self._look()
        )
        slider.add_class("etgp-log")
        return slider

    def samples(self) -> tuple[float, ...]:
        middle = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        return self.low, self.check(middle), self.high

    def stops(self, value: float) -> tuple[float, ...]:
        if not self.log:
            return _among(value, map(self.check, _evenly(self.low, self.high)))
        powers = _evenly(math.log10(self.low), math.log10(self.high))
        places = (float(f"{10**power:.2g}") for power in powers)
        return _among(value, (min(max(place, self.low), self.high) for place in places))

    def told(self, value: float) -> str:
        return f"{value:.3g}"


@dataclass(frozen=True)
class Whole(Control):
    """A whole number between `low` and `high`; typed instead of slid if `typed`."""

    low: int
    high: int
    step: int = 1
    typed: bool = dataclasses.field(default=False, kw_only=True)

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"expected a whole number, got {value!r}")
        return int(_number(value, self.low, self.high))

    def widget(self, value: int) -> widgets.Widget:
        kind = widgets.BoundedIntText if self.typed else widgets.IntSlider
        return kind(value, min=self.low, max=self.high, step=self.step, **self._look())

    def samples(self) -> tuple[int, ...]:
        return self.low, (self.low + self.high) // 2, self.high

    def stops(self, value: int) -> tuple[int, ...]:
        return _among(value, map(round, _evenly(self.low, self.high)))


@dataclass(frozen=True)
class Choice(Control):
    """One of several values, each with its words."""

    options: Mapping[Any, str]

    def check(self, value: Any) -> Any:
        for option in self.options:
            if type(option) is type(value) and option == value:
                return option
        raise ValueError(f"expected one of {', '.join(map(repr, self.options))}, got {value!r}")

    def widget(self, value: Any) -> widgets.Widget:
        pairs = [(words, option) for option, words in self.options.items()]
        return widgets.Dropdown(options=pairs, value=value, **self._look())

    def samples(self) -> tuple[Any, ...]:
        return tuple(self.options)

    def told(self, value: Any) -> str:
        return self.options[value]


@dataclass(frozen=True)
class Switch(Control):
    """On or off."""

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"expected true or false, got {value!r}")
        return value

    def widget(self, value: bool) -> widgets.Widget:
        return widgets.Checkbox(value, indent=False, **self._look())

    def samples(self) -> tuple[bool, ...]:
        return False, True

    def told(self, value: bool) -> str:
        return "on" if value else "off"


@dataclass(frozen=True)
class Profile(Control):
    """A function of x, given by its values at `knots` places: a slider for its level, and a curve
    whose knots can be dragged for its shape.
    """

    low: float
    high: float
    step: float = 0.05
    knots: int = 5

    def check(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) != self.knots:
            raise ValueError(f"expected {self.knots} numbers, got {value!r}")
        return tuple(_number(knot, self.low, self.high) for knot in value)

    def widget(self, value: tuple[float, ...]) -> widgets.Widget:
        return ProfileControl(
            value, low=self.low, high=self.high, step=self.step, words=self.words, tip=self.tooltip
        )

    def samples(self) -> tuple[tuple[float, ...], ...]:
        ramp = [self.low + (self.high - self.low) * k / (self.knots - 1) for k in range(self.knots)]
        return (self.low,) * self.knots, tuple(ramp), (self.high,) * self.knots

    def stops(self, value: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
        level = sum(value) / len(value)
        moved = (
            tuple(min(max(round(knot - level + to, 6), self.low), self.high) for knot in value)
            for to in _evenly(self.low, self.high)
        )
        return tuple(sorted({value, *moved}, key=sum))

    def told(self, value: tuple[float, ...]) -> str:
        return f"{sum(value) / len(value):.3g}" + (" on average" if len(set(value)) > 1 else "")


def shown(default: Any, control: Control) -> Any:
    """A field of a state with this default, controlled like this."""
    return dataclasses.field(default=default, metadata={"control": control})


def controls_of(state: type) -> dict[str, Control]:
    """The control of each field, by the field's name."""
    return {field.name: field.metadata["control"] for field in dataclasses.fields(state)}


def checked(state: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, each checked by the control of its field."""
    controls = controls_of(state)
    unknown = [name for name in values if name not in controls]
    if unknown:
        raise ValueError(f"{unknown[0]!r}: expected one of {', '.join(controls)}")
    good = {}
    for name, value in values.items():
        try:
            good[name] = controls[name].check(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return good


def _evenly(low: float, high: float) -> list[float]:
    return [low + (high - low) * k / (POSITIONS - 1) for k in range(POSITIONS)]


def _among(value: Any, others: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted({value, *others}))


def on_step(value: float, low: float, step: float) -> float:
    """The nearest of low, low + step, low + 2·step, …, free of rounding errors."""
    return round(low + round((value - low) / step) * step, 10)


def _number(value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {value!r}")
    slack = 1e-9 * (high - low)  # a logarithmic slider's end is a rounding error away from it
    if not low - slack <= value <= high + slack:
        raise ValueError(f"expected a number from {low:g} to {high:g}, got {value!r}")
    return min(max(float(value), float(low)), float(high))
