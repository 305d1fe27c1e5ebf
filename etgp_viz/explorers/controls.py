"""Custom controls: a function of x, points added by clicks, and the fields of the latent f₀."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import numpy as np
import traitlets

from etgp_viz.explorers import fields
from etgp_viz.explorers.fields import TOOLTIP, Choice, Control, Number, Whole, controlled
from etgp_viz.explorers.posterior_controls import Observations
from etgp_viz.messages import describe
from etgp_viz.records import prior

MAX_POINTS = 60  # added by clicks: a link must stay short

# A function of x ----------------------------------------------------------------------------------

_CURVE = np.linspace(0.0, 1.0, 41)


class Knots(anywidget.AnyWidget):
    """A small curve whose knots follow the mouse, a finger or the arrow keys."""

    # As text: anywidget keeps every widget whose code is given as a path.
    _esm = Path(__file__).with_name("knots.js").read_text(encoding="utf-8")
    value = traitlets.List(traitlets.Float()).tag(sync=True)
    curve = traitlets.List(traitlets.Float()).tag(sync=True)  # through the knots
    low = traitlets.Float().tag(sync=True)
    high = traitlets.Float().tag(sync=True)
    step = traitlets.Float().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)


class ProfileControl(widgets.VBox):
    """A slider for the level of a function of x, and knots to drag for its shape.

    `value` is a tuple of the function's values at equally spaced knots.
    """

    value = traitlets.Tuple()
    disabled = traitlets.Bool(False)

    def __init__(self, spec: "Profile", value: tuple[float, ...]) -> None:
        low, high, step, label = spec.low, spec.high, spec.step, spec.label
        self.slider = widgets.FloatSlider(
            float(np.mean(value)), min=low, max=high, step=step, description=label,
            style=fields.LABEL_STYLE, layout={"flex": "1 1 auto"}, **{TOOLTIP: spec.tooltip},
        )  # fmt: skip
        self.opener = widgets.ToggleButton(
            False, description="∿", tooltip=f"Let {label} vary with x",
            layout={"width": "30px", "flex": "0 0 auto"},
        )  # fmt: skip
        self.knots = Knots(low=low, high=high, step=step, label=label)
        self.knots.layout.display = "none"
        # Deviations of the knots from the level, kept when the slider reaches the end of its range.
        self._shape = np.zeros(len(value))
        self._is_following = False
        row = widgets.HBox([self.slider, self.opener], layout={"width": "100%"})
        super().__init__([row, self.knots], layout={"width": "100%"})
        self.slider.observe(self._on_slide, "value")
        self.knots.observe(self._on_drag, "value")
        self.opener.observe(self._on_open, "value")
        widgets.dlink((self, "disabled"), (self.slider, "disabled"))
        self._draw(np.array(value))
        self.value = tuple(value)

    @traitlets.observe("value")
    def _on_value(self, change: Any) -> None:
        """Update knots and curve, and the slider unless it moved first."""
        values = np.array(self.value)
        if self.opener.value:
            self._draw(values)
        if not self._is_following:
            self._move_slider(values)
        if np.ptp(values) > 0.0:
            self.opener.value = True

    def _move_slider(self, values: np.ndarray) -> None:
        self._is_following = True
        try:
            # To one of its steps, or the browser would move it there, and the knots with it.
            low, step = self.slider.min, self.slider.step
            level = low + round((float(values.mean()) - low) / step) * step
            self._shape = values - level
            self.slider.value = round(level, 10)
        finally:
            self._is_following = False

    def _draw(self, values: np.ndarray) -> None:
        with self.knots.hold_sync():
            self.knots.value = values.tolist()
            self.knots.curve = prior.profile(values, _CURVE).tolist()

    def _on_slide(self, change: Any) -> None:
        if self._is_following:
            return
        self._is_following = True
        try:
            values = np.clip(self.slider.value + self._shape, self.slider.min, self.slider.max)
            self.value = tuple(values.tolist())
        finally:
            self._is_following = False

    def _on_drag(self, change: Any) -> None:
        self.value = tuple(np.clip(self.knots.value, self.slider.min, self.slider.max).tolist())

    def _on_open(self, change: Any) -> None:
        self._draw(np.array(self.value))
        self.knots.layout.display = "" if self.opener.value else "none"


@dataclass(frozen=True)
class Profile(Control):
    """A function of x, given by its values at equally spaced knots, each from `low` to `high`."""

    low: float
    high: float
    step: float = 0.05
    knots: int = 5

    def nearest(self, value: float) -> float:
        """The step of the slider that is nearest to a value."""
        inside = min(max(value, self.low), self.high)
        return round(self.low + round((inside - self.low) / self.step) * self.step, 10)

    def check(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) != self.knots:
            raise ValueError(f"expected {self.knots} numbers, got {describe(value)}")
        # Rounded, since links are longer with the rounding errors of a slider.
        return tuple(round(fields.check_number(knot, self.low, self.high), 6) for knot in value)

    def widget(self, value: tuple[float, ...]) -> widgets.Widget:
        return ProfileControl(self, value)

    def samples(self) -> tuple[tuple[float, ...], ...]:
        ramp = np.linspace(self.low, self.high, self.knots).tolist()
        return (self.low,) * self.knots, tuple(ramp), (self.high,) * self.knots

    def positions(self, value: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
        """The same shape at other levels, as far as it stays between the ends."""
        mean = sum(value) / len(value)
        moved = (
            tuple(min(max(round(knot - mean + level, 6), self.low), self.high) for knot in value)
            for level in fields.evenly_spaced(self.low, self.high)
        )
        return tuple(sorted({value, *moved}, key=sum))

    def format_value(self, value: tuple[float, ...]) -> str:
        return f"{sum(value) / len(value):.3g}" + (" on average" if len(set(value)) > 1 else "")


# Points added by clicks ---------------------------------------------------------------------------


class PointsControl(widgets.HBox):
    """The number of points added by clicks, and buttons to remove them; `value` is a flat tuple."""

    value = traitlets.Tuple()

    def __init__(self, value: tuple[float, ...], label: str) -> None:
        self._label = label
        self._count = widgets.HTML(layout={"flex": "1 1 auto"})
        self.undo = widgets.Button(description="undo", tooltip="Remove the last added point")
        self.clear = widgets.Button(description="clear", tooltip="Remove all added points")
        for button in (self.undo, self.clear):
            button.layout.width = "auto"
        self.undo.on_click(lambda _: self.set_trait("value", self.value[:-3]))
        self.clear.on_click(lambda _: self.set_trait("value", ()))
        super().__init__([self._count, self.undo, self.clear], layout={"width": "100%"})
        self.value = tuple(value)
        self._on_value()

    @traitlets.observe("value")
    def _on_value(self, _: Any = None) -> None:
        self._count.value = f"{self._label}: <b>{len(self.value) // 3}</b>"
        self.undo.disabled = self.clear.disabled = not self.value


@dataclass(frozen=True)
class Points(Control):
    """Points in the plane with their class, three numbers each: x₁, x₂ and the class (from 1).

    All are in one flat tuple, since a state holds nothing but numbers, texts and tuples of them.
    """

    reach: float
    classes: int

    def check(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) % 3:
            raise ValueError(f"expected three numbers for each point, got {describe(value)}")
        if len(value) > 3 * MAX_POINTS:
            raise ValueError(f"expected at most {MAX_POINTS} points, got {len(value) // 3}")
        place = Number("place", -self.reach, self.reach, 0.001)
        kinds = (place, place, Whole("class", 1, self.classes))
        return tuple(kinds[k % 3].check(number) for k, number in enumerate(value))

    def widget(self, value: tuple[float, ...]) -> widgets.Widget:
        return PointsControl(value, self.label)

    def samples(self) -> tuple[tuple[float, ...], ...]:
        points = [(x / 20.0, -x / 30.0, x % self.classes + 1) for x in range(MAX_POINTS)]
        few, most = (tuple(n for point in part for n in point) for part in (points[:2], points))
        return (), self.check(few), self.check(most)


# Fields of the latent process f₀, which several explorers share -----------------------------------

_LATENT: dict[str, tuple[Any, Control]] = {
    "kernel": ("rbf", Choice("kernel", prior.KERNELS)),
    "lengthscale": (1.0, Number("lengthscale ℓ", 0.1, 5.0, log=True, effect="smoother")),
    "variance": (1.0, Number("variance σ²", 0.1, 5.0, log=True, effect="larger swings")),
    "period": (2.0, Number("period", 0.5, 6.0, effect="the pattern repeats less often",
                           when=lambda state: state.kernel == "periodic")),
    "seed": (0, Whole("draw number", 0, 9999, typed=True)),
    "held": ((), Observations(
        "held points", Number("x", -3.0, 3.0), Number("f₀(x)", -5.0, 5.0, 0.01), "", 5,
        "held point", "Drag f₀ in the picture; double-click a point to let it go.",
    )),
}  # fmt: skip


def latent(name: str, **changes: Any) -> Any:
    """A field that shapes the latent f₀, or chooses its noise (`seed`), with a changed control."""
    default, control = _LATENT[name]
    return controlled(default, replace(control, **{"group": "Latent", **changes}))


def kernel_arguments(state: Any) -> tuple[str, float, float, float]:
    """The arguments of `prior.kernel` in a state: kernel, lengthscale, variance, period."""
    return state.kernel, state.lengthscale, state.variance, state.period


@dataclass(frozen=True)
class Held:
    """Where a draw on a grid of inputs is held: the numbers of the inputs, and the values there."""

    places: tuple[int, ...]
    values: tuple[float, ...]

    @classmethod
    def on_grid(cls, held: tuple[float, ...], x: np.ndarray) -> "Held":
        """The held points of a state; at each input the last one counts."""
        nearest = (int(np.argmin(np.abs(x - place))) for place in held[::2])
        points = dict(zip(nearest, held[1::2], strict=True))
        return cls(tuple(points), tuple(points.values()))

    def stretched(self, by: float) -> "Held":
        """The same inputs, with values so many times as large."""
        return replace(self, values=tuple(by * value for value in self.values))

    def bend(self, paths: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Draws ``[L, N]``, the first of them conditioned on the held points."""
        if not self.places:
            return paths
        first = prior.condition(paths[:1], K, self.places, self.values)
        return np.concatenate([first, paths[1:]])

    def points(self, x: np.ndarray) -> np.ndarray:
        """Inputs and values ``[2, H]``."""
        return np.array([x[list(self.places)], self.values])

    @property
    def sentence(self) -> str:
        """What the points do to f₀, in words; nothing if there are none."""
        count = len(self.places)
        points = "one point" if count == 1 else f"{count} points"
        return f" f₀ is conditioned on {points}." if count else ""

    def code(self, paths: str) -> list[str]:
        """The lines of a script that bend draws of that name, and note the points as `held`."""
        if not self.places:
            return ["held = None"]
        places, values = list(self.places), list(self.values)
        call = f"{paths}[:1] = prior.condition({paths}[:1], K, {places}, {values})"
        return [call, f"held = np.array([x[{places}], {values}])"]
