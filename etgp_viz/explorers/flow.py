"""One draw of the latent process and a flow that warps it, with a slider for each parameter."""

from dataclasses import asdict, dataclass
from typing import Any

import ipywidgets as widgets
import numpy as np

from etgp_viz import prior
from etgp_viz.explorers.page import Page, live
from etgp_viz.figures import paths
from etgp_viz.flows import Linear

X = np.linspace(-3.0, 3.0, 200)
WORDS = {"a": "scale a", "b": "shift b"}


@dataclass(frozen=True)
class FlowState:
    """What the sliders say: the linear flow G(f) = a·f + b."""

    a: float = 1.5
    b: float = 1.0


class FlowExplorer:
    """See what a linear flow does to one draw of f₀.

    Parameters
    ----------
    seed : chooses the draw

    Attributes
    ----------
    controls : name → slider
    figures : name → figure
    """

    def __init__(self, seed: int = 0) -> None:
        self._flow = Linear()
        self._latent = prior.draw_latent(X, np.random.default_rng(seed).standard_normal(len(X)))
        start = asdict(FlowState())
        self.controls = {
            param.name: widgets.FloatSlider(
                value=start[param.name],
                min=param.low,
                max=param.high,
                step=0.05,
                description=WORDS[param.name],
                tooltip=f"To the right: {param.effect}.",
                style={"description_width": "60px"},
                layout={"width": "auto"},
            )
            for param in self._flow.params
        }
        self.figures = {"paths": live(paths.make(self._numbers()))}
        self._page = Page("One draw, one flow", self.controls.values(), self.figures.values())
        self._page.say(self.summary)
        for slider in self.controls.values():
            slider.observe(self._on_change, "value")

    @property
    def state(self) -> FlowState:
        """The values of the controls now."""
        return FlowState(**{name: slider.value for name, slider in self.controls.items()})

    @property
    def summary(self) -> str:
        """What the picture shows now, in words."""
        a, b = self.state.a, self.state.b
        if a == 0.0:
            return f"Scale 0 flattens every draw to the constant {b:.2f}: there is no way back."
        if (a, b) == (1.0, 0.0):
            return "The flow changes nothing: the warped process lies on the latent one."
        flipped = "upside down, " if a < 0.0 else ""
        lifted = f"and {'lifted' if b > 0.0 else 'lowered'} by {abs(b):.2f}" if b else "in place"
        return f"The warped process is the latent one {flipped}{abs(a):.2f} times as high {lifted}."

    def _numbers(self) -> prior.WarpedPath:
        return prior.warp(X, self._latent, self._flow, np.array([self.state.a, self.state.b]))

    def _on_change(self, _: Any) -> None:
        try:
            paths.update(self.figures["paths"], self._numbers())
            self._page.say(self.summary)
        except Exception as error:  # the last good picture stays, and the page says why
            self._page.say(f"This setting cannot be drawn: {error}")

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._page._repr_mimebundle_(**options)
