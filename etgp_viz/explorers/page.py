"""What all explorers share on screen: title, sentence, controls, pictures and a bar of actions."""

import html
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import plotly.graph_objects as go
import traitlets

from etgp_viz.figures import style


class Frame(anywidget.AnyWidget):
    """An invisible line that brings the style, and does what only a browser can: see frame.js."""

    _css = style.CSS
    _esm = Path(__file__).with_name("frame.js")
    alt = traitlets.Unicode().tag(sync=True)

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self.send({"copy": text})

    def download(self, name: str, kind: str, data: bytes) -> None:
        """Offer data as a file of that name and MIME type."""
        self.send({"download": name, "type": kind}, buffers=[data])


class Group(widgets.VBox):
    """Controls under a heading that folds them away."""

    def __init__(self, words: str, controls: Iterable[widgets.Widget]) -> None:
        self._words = words
        self._body = widgets.VBox(list(controls), layout={"width": "100%"})
        self._heading = widgets.Button(tooltip=f"Fold or unfold: {words}")
        self._heading.add_class("etgp-group")
        self._heading.on_click(lambda _: self.fold(self._body.layout.display != "none"))
        self.fold(False)
        super().__init__([self._heading, self._body], layout={"width": "100%"})

    def fold(self, away: bool) -> None:
        """Hide the controls, or show them."""
        self._body.layout.display = "none" if away else ""
        self._heading.description = f"{'▸' if away else '▾'} {self._words}"


class Page:
    """A page of an explorer.

    Parameters
    ----------
    groups : heading → the controls under it
    figures : name → figure; a figure's name reaches `on_message` with a click in it
    full_width : names of the figures that take a row of their own, one x axis under another
    bar : the actions below the pictures
    on_message : what to do with a message of the browser, see frame.js
    top : a row of buttons above the pictures, if any
    """

    def __init__(
        self,
        groups: Mapping[str, Iterable[widgets.Widget]],
        figures: Mapping[str, go.FigureWidget],
        full_width: Container[str],
        bar: Iterable[widgets.Widget],
        on_message: Callable[[dict[str, Any]], None],
        top: Iterable[widgets.Widget] = (),
    ) -> None:
        self._title, self._sentence = widgets.HTML(), widgets.HTML()
        self._note = widgets.VBox(layout={"width": "100%"})
        self.frame = Frame()
        self.frame.on_msg(lambda _, message, __: on_message(message))
        # In a narrow window the pictures go below the controls.
        left = widgets.VBox(
            [Group(words, controls) for words, controls in groups.items()],
            layout={"flex": "1 0 300px", "max_width": "360px"},
        )
        boxes = []
        for name, figure in figures.items():
            flex = "1 1 100%" if name in full_width else "1 1 300px"
            # plotly takes the height of its place when the width changes: it must have one.
            place = {"flex": flex, "min_width": "0", "height": f"{figure.layout.height}px"}
            boxes.append(widgets.Box([figure], layout=place))
            boxes[-1].add_class(f"etgp-figure-{name}")
            boxes[-1].add_class("etgp-figure")
            if name in full_width:
                boxes[-1].add_class("etgp-shares-x")
        # Small pictures stand side by side, as many as the screen has room for.
        right = widgets.HBox(
            boxes, layout={"flex": "100 1 480px", "min_width": "0", "flex_flow": "row wrap"}
        )
        both = widgets.HBox([left, right], layout={"flex_flow": "row wrap", "width": "100%"})
        actions = widgets.HBox(list(bar), layout={"flex_flow": "row wrap", "width": "100%"})
        actions.add_class("etgp-bar")
        row = widgets.HBox(list(top), layout={"flex_flow": "row wrap", "width": "100%"})
        self._view = widgets.VBox(
            [self._title, self._sentence, row, both, actions, self._note, self.frame]
        )
        self._view.add_class("etgp-viz")

    @property
    def sentence(self) -> str:
        """The sentence that stands there now, as HTML."""
        return self._sentence.value

    def head(self, title: str) -> None:
        """Put a title on the page."""
        self._title.value = f"<h3>{html.escape(title)}</h3>"

    def say(self, sentence: str) -> None:
        """Put a sentence under the title; screen readers read it out, and it is the alt text."""
        self._sentence.value = f"<p role='status'>{html.escape(sentence)}</p>"
        self.frame.alt = sentence

    def warn(self, sentence: str) -> None:
        """Say that something cannot be done; the picture stays."""
        self._sentence.value = f"<p role='alert'>{html.escape(sentence)}</p>"

    def note(self, *content: widgets.Widget) -> None:
        """Put something under the bar, in place of what was there."""
        self._note.children = content

    def present(self, large: bool) -> None:
        """Thicker lines and larger words, for the back row of a lecture hall."""
        (self._view.add_class if large else self._view.remove_class)("etgp-present")

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._view._repr_mimebundle_(**options)
