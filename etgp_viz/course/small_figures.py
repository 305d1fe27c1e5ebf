"""Small pictures with one idea and one control, for places where a whole explorer is too much.

A picture is SVG text, so it needs no plotly, follows the theme of the page and prints. `OneIdea`
puts a slider above it and a sentence below. The numbers of the sentence follow the slider, and one
of them can be dragged itself.
"""

import html
from collections.abc import Callable, Sequence
from itertools import pairwise

import ipywidgets as widgets
import numpy as np

from etgp_viz.course.touching import Sentence
from etgp_viz.figures import plotting, style

__all__ = ["OneIdea", "bars", "curves", "dragged", "number", "pixels", "svg", "units"]

BLUE, ORANGE, GREEN, RED = style.PALETTE[:4]
FRAMES = 13  # positions of a slider on a page without a kernel
_SHOW_FRAME = (
    "this.closest('.idea').querySelectorAll('.frame')"
    ".forEach((frame, place) => (frame.hidden = place !== this.valueAsNumber))"
)
_TEXT = "font-family='sans-serif' font-size='13' fill='currentColor'"


class OneIdea(widgets.VBox):
    """A slider, the picture that it moves, and a sentence.

    Parameters
    ----------
    draw : value → SVG
    say : value → a sentence in HTML; mark its numbers with `number`, and with `dragged` the one
        that stands for the slider
    label, low, high, step, start : of the slider
    names : words for 0, 1, … in place of numbers beside the slider

    Examples
    --------
    >>> idea = OneIdea(lambda v: svg(10, 10, ""), "Twice {0} is twice {0}.".format, "a", 0, 3, 1, 1)
    >>> idea.slider.value = 2
    >>> idea.sentence.value
    'Twice 2.0 is twice 2.0.'
    >>> idea.sentence.number = 3  # as if it had been dragged
    >>> idea.slider.value
    3.0
    """

    def __init__(
        self,
        draw: Callable[[float], str],
        say: Callable[[float], str],
        label: str,
        low: float,
        high: float,
        step: float,
        start: float,
        names: Sequence[str] = (),
    ) -> None:
        self._draw, self._say = draw, say
        looks = {
            "description": label,
            "style": {"description_width": "initial"},
            "layout": {"width": "min(32em, 95%)"},
        }
        if names:
            options = [(name, float(place)) for place, name in enumerate(names)]
            self.slider = widgets.SelectionSlider(options=options, value=float(start), **looks)
        else:
            digits = "d" if float(step).is_integer() else ".2f"
            self.slider = widgets.FloatSlider(
                start, min=low, max=high, step=step, readout_format=digits, **looks
            )
        self.picture = widgets.HTML()
        self.sentence = Sentence(number=start, low=low, high=high, step=step, label=label)
        widgets.link((self.slider, "value"), (self.sentence, "number"))
        self.slider.observe(lambda _: self._show(), "value")
        self._show()
        super().__init__([self.slider, self.picture, self.sentence])

    def _show(self) -> None:
        value = self.slider.value
        self.picture.value = self._draw(value)
        self.sentence.value = self._say(value)

    @property
    def positions(self) -> list[float]:
        """Where the slider of a page without a kernel can stand: about `FRAMES` places."""
        low, high, step = self.sentence.low, self.sentence.high, self.sentence.step
        steps = np.linspace(0, (high - low) / step, FRAMES).round()
        return sorted({round(low + step * k, 6) for k in steps} | {float(self.slider.value)})

    @property
    def page(self) -> str:
        """For pages without a kernel: a slider, and a picture and a sentence for each position."""
        start, hidden = self.positions.index(float(self.slider.value)), " hidden=''"
        frames = "".join(
            f"<div class='frame'{hidden if place != start else ''}>{self._draw(value)}"
            f"<p>{_fixed(self._say(value))}</p></div>"
            for place, value in enumerate(self.positions)
        )
        label = html.escape(self.sentence.label, quote=True)
        return (
            f"<div class='idea'><p class='slider'><span>{label}</span><input type='range' min='0' "
            f"max='{len(self.positions) - 1}' value='{start}' aria-label='{label}' "
            f'oninput="{_SHOW_FRAME}"/></p>{frames}</div>'
        )


def _fixed(sentence: str) -> str:
    """A sentence for a page on which its number cannot be dragged."""
    return sentence.replace("data-drag='' ", "").replace("3px dotted", "3px solid")


def dragged(text: object, colour: str = BLUE) -> str:
    """The number of a sentence that can be dragged in place of the slider.

    >>> dragged(3)
    "<b data-drag='' style='border-bottom: 3px dotted #0072B2'>3</b>"
    """
    return (
        f"<b data-drag='' style='border-bottom: 3px dotted {colour}'>{html.escape(str(text))}</b>"
    )


def number(text: object, colour: str = BLUE) -> str:
    """A number inside a sentence that follows the slider, in bold and underlined in a colour.

    >>> number(3)
    "<b style='border-bottom: 3px solid #0072B2'>3</b>"
    """
    return f"<b style='border-bottom: 3px solid {colour}'>{html.escape(str(text))}</b>"


def svg(width: float, height: float, body: str, alt: str = "") -> str:
    """An SVG picture that shrinks with the page; ``alt`` is read out by screen readers."""
    return (
        f"<svg viewBox='0 0 {width:g} {height:g}' width='{width:g}' role='img' "
        f"aria-label='{html.escape(alt, quote=True)}' style='max-width: 100%; height: auto'>"
        f"{body}</svg>"
    )


def bars(
    values: Sequence[float], labels: Sequence[str], low: Sequence[float], high: Sequence[float],
    alt: str, width: float = 520,
) -> str:  # fmt: skip
    """Bars from 0 to 1, one above the other, with whiskers from ``low`` to ``high``."""
    rows, left, room, name = [], 90.0, width - 150, f"text-anchor='end' {_TEXT}"
    best = int(np.argmax(values))
    for row, (value, text, a, b) in enumerate(zip(values, labels, low, high, strict=True)):
        y = 22 * row
        colour = BLUE if row == best else style.NEUTRAL
        rows.append(
            f"<text x='{left - 8}' y='{y + 15}' {name}>{html.escape(text)}</text>"
            f"<rect x='{left}' y='{y + 3}' width='{room * value:.1f}' height='15' fill='{colour}'/>"
            f"<path d='M{left + room * a:.1f},{y + 10.5}H{left + room * b:.1f}' "
            f"stroke='currentColor' stroke-width='2'/>"
            f"<text x='{left + room * max(value, b) + 6:.1f}' y='{y + 15}' {_TEXT}>"
            f"{value:.2f}</text>"
        )
    return svg(width, 22 * len(labels) + 4, "".join(rows), alt)


def pixels(image: np.ndarray, alt: str, size: float = 160) -> str:
    """A grey image with values from 0 (white) to 1 (black)."""
    rows, columns = image.shape
    side = size / max(rows, columns)
    cells = "".join(
        f"<rect x='{side * j:g}' y='{side * i:g}' width='{side + 0.3:g}' height='{side + 0.3:g}' "
        f"fill='#{3 * f'{round(255 * (1 - value)):02x}'}'/>"
        for (i, j), value in np.ndenumerate(image)
    )
    frame = f"<rect width='{side * columns:g}' height='{side * rows:g}' fill='none' stroke='gray'/>"
    return svg(side * columns, side * rows, cells + frame, alt)


def curves(
    x: np.ndarray, lines: Sequence[tuple[str, np.ndarray, str]], alt: str,
    limits: tuple[float, float], width: float = 520, height: float = 200,
    band: tuple[np.ndarray, np.ndarray] | None = None,
) -> str:  # fmt: skip
    """Lines over x: pairs of a label, values ``[N]`` and a colour; ``band`` is shaded behind."""
    low, high = limits
    across = 10 + (width - 90) * (x - x[0]) / (x[-1] - x[0])

    def up(values: np.ndarray) -> np.ndarray:
        return height - 10 - (height - 20) * (np.clip(values, low, high) - low) / (high - low)

    def path(points: np.ndarray, heights: np.ndarray) -> str:
        return "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(points, heights, strict=True))

    body = (
        f"<path d='M10,{up(np.zeros(1))[0]:.1f}H{width - 80}' stroke='currentColor' opacity='.3'/>"
    )
    if band is not None:
        there, back = (up(edge) for edge in band)
        outline = path(np.append(across, across[::-1]), np.append(there, back[::-1]))
        body += f"<path d='M{outline}Z' fill='{style.NEUTRAL}' opacity='.25'/>"
    ends = np.array([up(values[-1:])[0] + 4 for label, values, _ in lines if label])
    named = iter(plotting.spread(ends, 15.0))
    for label, values, colour in lines:
        end = next(named) if label else 0.0
        body += (
            f"<path d='M{path(across, up(values))}' fill='none' stroke='{colour}' "
            "stroke-width='2.5'/>"
            f"<text x='{width - 76}' y='{end:.0f}' font-family='sans-serif' font-size='13' "
            f"fill='{colour}'>{html.escape(label)}</text>"
        )
    return svg(width, height, body, alt)


def units(layers: Sequence[np.ndarray], alt: str, width: float = 420, height: float = 190) -> str:
    """A small network: layers of units, open circles where a unit has been switched off."""
    places = []
    for number_, layer in enumerate(layers):
        across = 40 + (width - 80) * number_ / (len(layers) - 1)
        gap = (height - 30) / max(len(layer), 1)
        top = (height - gap * (len(layer) - 1)) / 2
        places.append([(across, top + gap * row, bool(on)) for row, on in enumerate(layer)])
    body = "".join(
        f"<path d='M{x1:.0f},{y1:.0f}L{x2:.0f},{y2:.0f}' stroke='{BLUE}' "
        f"opacity='{0.55 if on1 and on2 else 0.0}'/>"
        for left, right in pairwise(places)
        for x1, y1, on1 in left
        for x2, y2, on2 in right
    )
    body += "".join(
        f"<circle cx='{x:.0f}' cy='{y:.0f}' r='8' stroke='{BLUE if on else style.NEUTRAL}' "
        f"stroke-width='2' fill='{BLUE if on else 'none'}' "
        f"stroke-dasharray='{'none' if on else '3'}'/>"
        for layer in places
        for x, y, on in layer
    )
    return svg(width, height, body, alt)
