"""What all explorers share on screen: title, summary, controls, figures and a bar of actions."""

import html
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import plotly.graph_objects as go
import traitlets

from etgp_viz.explorers.fast_plotly.live_figure import PANELS_JS


def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


class Frame(anywidget.AnyWidget):
    """An invisible line that brings the style, and does what only a browser can: see frame.js."""

    _css = _source("page.css")
    _esm = f"{PANELS_JS}\n{_source('frame.js')}"
    alt = traitlets.Unicode().tag(sync=True)

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self.send({"copy": text})

    def download(self, name: str, kind: str, data: bytes) -> None:
        """Offer data as a file of that name and MIME type."""
        self.send({"download": name, "type": kind}, buffers=[data])


class Group(widgets.VBox):
    """Controls under a heading that folds them away."""

    def __init__(self, title: str, controls: Iterable[widgets.Widget]) -> None:
        self._title = title
        self._body = widgets.VBox(list(controls), layout={"width": "100%"})
        self._heading = widgets.Button(tooltip=f"Fold or unfold: {title}")
        self._heading.add_class("etgp-group")
        self._heading.on_click(lambda _: self.fold(self._body.layout.display != "none"))
        self.fold(False)
        super().__init__([self._heading, self._body], layout={"width": "100%"})

    def fold(self, away: bool) -> None:
        """Hide the controls, or show them."""
        self._body.layout.display = "none" if away else ""
        self._heading.description = f"{'▸' if away else '▾'} {self._title}"


class Page:
    """The page of an explorer.

    Parameters
    ----------
    groups : heading → the controls under it
    figures : name → figure; a click in a figure reaches `on_message` with the figure's name
    full_width : names of the figures that take a row of their own and share an x axis
    bar : the actions below the figures
    on_message : called with each message from the browser, see frame.js
    top : a row of buttons above the figures, if any
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
        self._title, self._message = widgets.HTML(), widgets.HTML()
        self._note = widgets.VBox(layout={"width": "100%"})
        self.frame = Frame()
        self.frame.on_msg(lambda _, message, __: on_message(message))
        # In a narrow window the figures go below the controls.
        left = widgets.VBox(
            [Group(title, controls) for title, controls in groups.items()],
            layout={"flex": "1 0 300px", "max_width": "360px"},
        )
        boxes = []
        for name, figure in figures.items():
            flex = "1 1 100%" if name in full_width else "1 1 300px"
            # When the width changes, plotly also takes the height of its box, so that needs one.
            place = {"flex": flex, "min_width": "0", "height": f"{figure.layout.height}px"}
            boxes.append(widgets.Box([figure], layout=place))
            boxes[-1].add_class(f"etgp-figure-{name}")
            boxes[-1].add_class("etgp-figure")
            if name in full_width:
                boxes[-1].add_class("etgp-shares-x")
        # Small figures stand side by side, as many as there is room for.
        right = widgets.HBox(
            boxes, layout={"flex": "100 1 480px", "min_width": "0", "flex_flow": "row wrap"}
        )
        both = widgets.HBox([left, right], layout={"flex_flow": "row wrap", "width": "100%"})
        actions = widgets.HBox(list(bar), layout={"flex_flow": "row wrap", "width": "100%"})
        actions.add_class("etgp-bar")
        row = widgets.HBox(list(top), layout={"flex_flow": "row wrap", "width": "100%"})
        self._view = widgets.VBox(
            [self._title, self._message, row, both, actions, self._note, self.frame]
        )
        self._view.add_class("etgp-viz")

    @property
    def message(self) -> str:
        """The summary or warning on the page now, as HTML."""
        return self._message.value

    def show_title(self, title: str) -> None:
        """Put a title on the page."""
        self._title.value = f"<h3>{html.escape(title)}</h3>"

    def show_summary(self, summary: str) -> None:
        """Put a summary under the title; it is also the alt text, and screen readers read it."""
        self._message.value = f"<p role='status'>{html.escape(summary)}</p>"
        self.frame.alt = summary

    def warn(self, warning: str) -> None:
        """Put a warning in the place of the summary; the figures stay."""
        self._message.value = f"<p role='alert'>{html.escape(warning)}</p>"

    def show_note(self, *content: widgets.Widget) -> None:
        """Put widgets under the bar of actions, in place of what was there."""
        self._note.children = content

    def enlarge(self, large: bool) -> None:
        """Switch thicker lines and larger text on or off, for the back row of a lecture hall."""
        (self._view.add_class if large else self._view.remove_class)("etgp-present")

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The page for a notebook, and its summary for places that show no widgets.

        Widgets of ipywidgets 7 have no such method. anywidget's have it with every ipywidgets, and
        know what Colab wants to be told.
        """
        bundle = self.frame._repr_mimebundle_()
        assert bundle is not None  # as it would be for a widget without a view
        data, metadata = bundle
        data["application/vnd.jupyter.widget-view+json"]["model_id"] = self._view.model_id
        return {**data, "text/plain": self.frame.alt}, metadata
