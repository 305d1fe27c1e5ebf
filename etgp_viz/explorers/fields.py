"""The state of an explorer: which values its fields take, how each is controlled, and links to it.

A state is a frozen dataclass. Each field says once, with `controlled`, what controls it; its
widget, its tooltip, the check of a link and the tests all follow from that. See `controls` for the
controls that are more than a slider or a menu.
"""

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from etgp_viz.messages import describe

LABEL_STYLE = {"description_width": "118px"}
FULL_WIDTH = {"width": "auto"}
# What a slider, a menu or a text box calls its tooltip in ipywidgets 8, or in 7, which Colab has.
TOOLTIP = "tooltip" if hasattr(widgets.FloatSlider, "tooltip") else "description_tooltip"
POSITIONS = 11  # of a slider on a page without a kernel
MAX_LINK_LENGTH = 4000


@dataclass(frozen=True)
class Control(ABC):
    """What controls one field, under the heading `group`.

    `label` is the quantity in words with its symbol, `effect` what a larger value does, and `when`
    whether a state uses the field; if not, its control is hidden.
    """

    label: str
    _: dataclasses.KW_ONLY
    group: str = "View"
    effect: str = ""
    when: Callable[[Any], bool] = lambda state: True

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value that the field gets; a ValueError that says why if it is not allowed."""

    @abstractmethod
    def widget(self, value: Any) -> widgets.Widget:
        """A widget whose trait `value` is the value of the field."""

    @abstractmethod
    def samples(self) -> tuple[Any, ...]:
        """The smallest, a middle and the largest value."""

    def positions(self, value: Any) -> tuple[Any, ...]:
        """A few values from left to right, `value` among them, for a page without a kernel."""
        return self.samples()

    def format_value(self, value: Any) -> str:
        """A value as text."""
        return str(value)

    @property
    def tooltip(self) -> str:
        """What moving the control to the right does."""
        return f"To the right: {self.effect}." if self.effect else self.label

    def _widget_options(self) -> dict[str, Any]:
        options = {"description": self.label, "style": LABEL_STYLE, "layout": FULL_WIDTH}
        return {**options, TOOLTIP: self.tooltip}


@dataclass(frozen=True)
class Number(Control):
    """A number between `low` and `high`, in steps of `step`, on a logarithmic slider if `log`.

    The browser's slider rounds what it shows to its steps and sends that back. So values are
    rounded here first: to `step`, or to six digits on a logarithmic slider, which has no steps
    except those of its arrow keys (frame.js).
    """

    low: float
    high: float
    step: float = 0.05
    log: bool = dataclasses.field(default=False, kw_only=True)

    def check(self, value: Any) -> float:
        number = check_number(value, self.low, self.high)
        if self.log:
            return float(f"{number:.6g}")
        steps = round((number - self.low) / self.step)
        return round(self.low + steps * self.step, 10)  # free of rounding errors

    def widget(self, value: float) -> widgets.Widget:
        if not self.log:
            return widgets.FloatSlider(
                value, min=self.low, max=self.high, step=self.step, **self._widget_options()
            )
        low, high = math.log10(self.low), math.log10(self.high)
        slider = widgets.FloatLogSlider(
            value, min=low, max=high, step=1e-9, readout_format=".2f", **self._widget_options()
        )
        slider.add_class("etgp-log")
        return slider

    def samples(self) -> tuple[float, ...]:
        middle = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        return self.low, self.check(middle), self.high

    def positions(self, value: float) -> tuple[float, ...]:
        if not self.log:
            return tuple(sorted({value, *map(self.check, evenly_spaced(self.low, self.high))}))
        powers = evenly_spaced(math.log10(self.low), math.log10(self.high))
        numbers = (float(f"{10**power:.2g}") for power in powers)
        return tuple(sorted({value, *(min(max(n, self.low), self.high) for n in numbers)}))

    def format_value(self, value: float) -> str:
        return f"{value:.3g}"


@dataclass(frozen=True)
class Whole(Control):
    """A whole number between `low` and `high`, on a slider, or in a text box if `typed`."""

    low: int
    high: int
    step: int = 1
    typed: bool = dataclasses.field(default=False, kw_only=True)

    def check(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"expected a whole number, got {describe(value)}")
        return int(check_number(value, self.low, self.high))

    def widget(self, value: int) -> widgets.Widget:
        kind = widgets.BoundedIntText if self.typed else widgets.IntSlider
        return kind(value, min=self.low, max=self.high, step=self.step, **self._widget_options())

    def samples(self) -> tuple[int, ...]:
        return self.low, (self.low + self.high) // 2, self.high

    def positions(self, value: int) -> tuple[int, ...]:
        return tuple(sorted({value, *map(round, evenly_spaced(self.low, self.high))}))


@dataclass(frozen=True)
class Choice(Control):
    """One of several values, from a menu: `options` maps each value to its text."""

    options: Mapping[Any, str]

    def check(self, value: Any) -> Any:
        for option in self.options:
            if type(option) is type(value) and option == value:
                return option
        raise ValueError(
            f"expected one of {', '.join(map(repr, self.options))}, got {describe(value)}"
        )

    def widget(self, value: Any) -> widgets.Widget:
        pairs = [(text, option) for option, text in self.options.items()]
        return widgets.Dropdown(options=pairs, value=value, **self._widget_options())

    def samples(self) -> tuple[Any, ...]:
        return tuple(self.options)

    def positions(self, value: Any) -> tuple[Any, ...]:
        first = self.samples()[:POSITIONS]
        return first if value in first else (*first, value)

    def format_value(self, value: Any) -> str:
        return self.options[value]


@dataclass(frozen=True)
class Switch(Control):
    """On or off."""

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"expected true or false, got {describe(value)}")
        return value

    def widget(self, value: bool) -> widgets.Widget:
        return widgets.Checkbox(value, indent=False, **self._widget_options())

    def samples(self) -> tuple[bool, ...]:
        return False, True

    def format_value(self, value: bool) -> str:
        return "on" if value else "off"


def controlled(default: Any, control: Control, **metadata: Any) -> Any:
    """A field of a state, with its default and its control.

    ``in_links=value`` is what a link without the field means, if that is not the default: links
    must not change their meaning when a default does.
    """
    return dataclasses.field(default=default, metadata={"control": control, **metadata})


def controls_of(state: type) -> dict[str, Control]:
    """The control of each field, by the field's name."""
    return {field.name: field.metadata["control"] for field in dataclasses.fields(state)}


def with_defaults(state: Any, names: Iterable[str]) -> Any:
    """The state with the defaults of some fields: a key for what does not depend on them."""
    default = type(state)()
    return dataclasses.replace(state, **{name: getattr(default, name) for name in names})


def check_values(state: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of some fields, each checked by its control; a ValueError names the bad one."""
    controls = controls_of(state)
    unknown = [name for name in values if name not in controls]
    if unknown:
        raise ValueError(f"{describe(unknown[0])}: expected one of {', '.join(controls)}")
    checked = {}
    for name, value in values.items():
        try:
            checked[name] = controls[name].check(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return checked


def check_number(value: Any, low: float, high: float) -> float:
    """A number between two ends as a float; a ValueError if it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {describe(value)}")
    slack = 1e-9 * (high - low)  # the ends of a logarithmic slider have rounding errors
    if not low - slack <= value <= high + slack:
        raise ValueError(f"expected a number from {low:g} to {high:g}, got {describe(value)}")
    return min(max(float(value), float(low)), float(high))


def evenly_spaced(low: float, high: float) -> list[float]:
    """The positions of a slider on a page without a kernel."""
    return [low + (high - low) * k / (POSITIONS - 1) for k in range(POSITIONS)]


# Links: a state as a short text to send to somebody. JSON, checked; nothing in it is executed.


def write_link(explorer: str, state: Any) -> str:
    """A state as JSON on one line: the explorer's name, and the values that a link must name."""
    default = _link_defaults(type(state))
    changes = {name: value for name, value in vars(state).items() if value != default[name]}
    return json.dumps({"explorer": explorer, **changes}, separators=(",", ":"))


def read_link(explorer: str, state: type, text: str) -> dict[str, Any]:
    """The values of all fields in a link, each checked; a ValueError says what is wrong with it."""
    if not isinstance(text, str):
        raise ValueError(f"link: expected text, got {type(text).__name__}")
    if len(text) > MAX_LINK_LENGTH:
        raise ValueError(f"link: expected at most {MAX_LINK_LENGTH} characters, got {len(text)}")
    try:
        values = json.loads(text, parse_constant=_refuse, object_pairs_hook=_without_duplicates)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("link: this is not a link to an explorer; copy the whole link") from None
    except ValueError as error:
        raise ValueError(f"link: this is not a link to an explorer: {error}") from None
    if not isinstance(values, dict) or values.pop("explorer", None) != explorer:
        raise ValueError(f'link: expected one that begins with {{"explorer":"{explorer}"')
    try:
        checked = check_values(state, values)
    except ValueError as error:
        raise ValueError(f"link: {error}") from None
    return {**_link_defaults(state), **checked}


def _link_defaults(state: type) -> dict[str, Any]:
    """The value of each field that a link leaves out."""
    return {
        field.name: field.metadata.get("in_links", field.default)
        for field in dataclasses.fields(state)
    }


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a name appears twice")
    return dict(pairs)
