"""What all explorers share on screen: title, summary, presets, actions, controls and the stage.

The stage shows one *view* at a time, a few figures that tell one part of the story, or all figures
side by side if the page is wide enough. The browser decides which, see frame.js.
"""

import html
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import plotly.graph_objects as go
import traitlets

from etgp_viz.explorers.fast_plotly.live_figure import PANELS_JS

# Label → rows of names of figures, as in CSS: ("a a b", "a a c") puts b and c beside a large a.
Views = Mapping[str, Sequence[str]]
SCRIPTS = ("access.js", "titles.js", "classes.js", "frame.js")


def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


class Frame(anywidget.AnyWidget):
    """The bar of presets, actions and views, and what only a browser can do: see frame.js."""

    _css = _source("page.css")
    _esm = "\n".join((PANELS_JS, *map(_source, SCRIPTS)))
    kind = traitlets.Unicode().tag(sync=True)  # the class of the explorer
    cell = traitlets.Unicode().tag(sync=True)  # id of the cell that shows it, or ""
    is_new = traitlets.Bool(True).tag(sync=True)  # until a browser has shown it
    alt = traitlets.Unicode().tag(sync=True)
    presets = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tours = traitlets.List(traitlets.Unicode()).tag(sync=True)  # presets with steps
    # Types in quotation marks: Colab's traitlets cannot be subscripted.
    actions: "traitlets.List[Any]" = traitlets.List().tag(sync=True)  # label and tooltip of each
    downloads: "traitlets.List[Any]" = traitlets.List().tag(sync=True)  # name and label of each
    views: "traitlets.List[Any]" = traitlets.List().tag(sync=True)  # label and rows of each
    all_rows: "traitlets.List[Any]" = traitlets.List().tag(
        sync=True
    )  # rows of a page that shows all figures
    preset = traitlets.Unicode().tag(sync=True)  # the one chosen last, or ""
    view = traitlets.Int(0).tag(sync=True)
    hides = traitlets.Bool(False).tag(sync=True)  # whether the browser shows one view only
    presents = traitlets.Bool(False).tag(sync=True)
    holds = traitlets.Bool(False).tag(sync=True)  # while the mouse drags a control or a figure
    pointer = traitlets.Dict().tag(sync=True)  # where the mouse has dragged something: frame.js

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self.send({"copy": text})

    def download(self, name: str, kind: str, data: bytes) -> None:
        """Offer data as a file of that name and MIME type."""
        self.send({"download": name, "type": kind}, buffers=[data])

    @property
    def shown(self) -> set[str]:
        """Names of the figures that the browser shows now; all of them before it says so."""
        rows = self.views[self.view][1] if self.hides else self.all_rows
        return {name for row in rows for name in row.split()}


class Group(widgets.VBox):
    """Controls under a heading that folds them away."""

    def __init__(self, title: str, controls: Iterable[widgets.Widget], folded: bool) -> None:
        self._body = widgets.VBox(list(controls), layout={"width": "100%"})
        self._heading = widgets.Button(description=title, tooltip=f"Fold or unfold: {title}")
        self._heading.add_class("etgp-heading")
        self._heading.on_click(lambda _: self.fold(self._body.layout.display != "none"))
        super().__init__([self._heading, self._body], layout={"width": "100%"})
        self.add_class("etgp-group")
        self.fold(folded)

    def has(self, control: widgets.Widget | None) -> bool:
        """Whether a control is under this heading."""
        return control in self._body.children

    def fold(self, away: bool) -> None:
        """Hide the controls, or show them."""
        self._body.layout.display = "none" if away else ""
        (self.add_class if away else self.remove_class)("etgp-folded")


class Page:
    """The page of an explorer.

    Parameters
    ----------
    groups : heading → the controls under it
    folded : headings whose controls are folded away at first
    figures : name → figure; a click in a figure reaches `on_message` with the figure's name
    shares_x : names of the figures that share an x axis
    frame : the bar, which knows presets, actions and views
    on_message : called with each message from the browser, see frame.js
    top : buttons above the controls, if any
    """

    def __init__(
        self,
        groups: Mapping[str, Iterable[widgets.Widget]],
        folded: Container[str],
        figures: Mapping[str, go.FigureWidget],
        shares_x: Container[str],
        frame: Frame,
        on_message: Callable[[dict[str, Any]], None],
        top: Sequence[widgets.Widget] = (),
    ) -> None:
        self._title, self._message = widgets.HTML(), widgets.HTML()
        self._title.add_class("etgp-title")
        self._message.add_class("etgp-message")
        self._note = widgets.HBox()
        self._note.add_class("etgp-note")
        self._close = widgets.Button(description="✕", tooltip="Close this note")
        self._close.add_class("etgp-close")
        self._close.on_click(lambda _: self.show_note())
        self._pinned: widgets.Widget | None = None
        self.frame = frame
        self.frame.on_msg(lambda _, message, __: on_message(message))
        self.frame.add_class("etgp-frame")
        self._groups = [
            Group(title, controls, title in folded) for title, controls in groups.items()
        ]
        sections: list[widgets.Widget] = list(self._groups)
        if top:
            sections.insert(0, widgets.HBox(list(top), layout={"flex_flow": "row wrap"}))
            sections[0].add_class("etgp-top")
        controls = widgets.VBox(sections)
        controls.add_class("etgp-controls")
        boxes = []
        for name, figure in figures.items():
            boxes.append(widgets.Box([figure]))
            boxes[-1].add_class(f"etgp-figure-{name}")
            boxes[-1].add_class("etgp-figure")
            if name in shares_x:
                boxes[-1].add_class("etgp-shares-x")
        stage = widgets.Box(boxes)
        stage.add_class("etgp-stage")
        self._view = widgets.VBox(
            [self._title, self.frame, self._message, self._note, controls, stage]
        )
        self._view.add_class("etgp-viz")
        self.roots = self._view, self._close  # all other widgets of the page are theirs

    @property
    def message(self) -> str:
        """The summary or warning on the page now, as HTML."""
        return self._message.value

    @property
    def title(self) -> str:
        """The title on the page now, as HTML."""
        return self._title.value

    def show_title(self, title: str) -> None:
        """Put a title on the page."""
        self._title.value = f"<h3>{html.escape(title)}</h3>"

    def show_summary(self, summary: str) -> None:
        """Put a summary under the title; it is also the alt text.

        Screen readers hear it from frame.js, once nothing has moved for a moment.
        """
        # A long text scrolls, and whoever has no mouse needs the focus for that.
        words = f"<p role='status' aria-live='off' tabindex='0'>{html.escape(summary)}</p>"
        self._message.value = words
        self.frame.alt = summary

    def add_remark(self, remark: str) -> None:
        """Put a remark on a control that has moved by itself after the summary."""
        self._message.value += f"<p class='etgp-said'>{html.escape(remark)}</p>"
        self.frame.alt += f" {remark}"

    def warn(self, warning: str) -> None:
        """Put a warning in the place of the summary; the figures stay."""
        self._message.value = f"<p role='alert'>{html.escape(warning)}</p>"

    def show_note(self, *content: widgets.Widget) -> None:
        """Put widgets under the summary, in place of what was there; none closes the note."""
        pinned = () if self._pinned is None else (self._pinned,)
        self._note.children = (*content, self._close) if content else pinned

    def pin(self, widget: widgets.Widget | None) -> None:
        """Put a widget in the place of notes, to which it returns when they are closed."""
        self._pinned = widget
        self.show_note()

    def reveal(self, view: str, picture: str, control: widgets.Widget | None) -> None:
        """Choose a view, or one with a picture that is hidden, and unfold the group of a control.

        Empty names, and None, stand for nothing.
        """
        for k, (label, rows) in enumerate(self.frame.views):
            is_wanted = label == view if view else picture in " ".join(rows).split()
            if is_wanted and (view or picture not in self.frame.shown):
                self.frame.view = k
                break
        for group in self._groups:
            if group.has(control):
                group.fold(False)

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


def button(label: str, tooltip: str, action: Callable[[], None]) -> widgets.Button:
    """A button that calls a function."""
    made = widgets.Button(description=label, tooltip=tooltip, layout={"width": "auto"})
    made.on_click(lambda _: action())
    return made


def label_of(name: str) -> str:
    """The label of a view that shows one picture."""
    return name.replace("_", " ").capitalize()


def in_rows(names: list[str]) -> Iterator[str]:
    """Rows of pictures for a wide page, as equal as possible; the last picture fills its row."""
    columns = math.ceil(math.sqrt(len(names)))
    for start in range(0, len(names), columns):
        row = names[start : start + columns]
        yield " ".join(row + row[-1:] * (columns - len(row)))
