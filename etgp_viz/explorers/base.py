"""What every explorer does: controls → frozen state → numbers → figures, and the actions around.

A subclass names its `State` (see `fields`), its `presets` and its `pictures`, and says how a state
becomes numbers, words, code and a print figure. Everything else is here, once.
"""

import dataclasses
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import ipywidgets as widgets
import plotly.graph_objects as go

from etgp_viz.backend import unchecked
from etgp_viz.explorers import fields, links
from etgp_viz.explorers.fast_plotly.live_figure import LiveFigure
from etgp_viz.explorers.page import Page
from etgp_viz.figures import plotting

PICTURES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}


class Picture(Protocol):
    """A module of `etgp_viz.figures`."""

    def make(self, record: Any) -> go.Figure:
        """A complete figure."""

    def update(self, fig: go.Figure, record: Any, refit: bool = False) -> None:
        """Move a figure to another record; `refit` fits the axes to it again."""


@dataclass(frozen=True)
class Preset:
    """A story: what to look at, and the values that differ from the start."""

    story: str
    values: Mapping[str, Any]


class _Opener:
    """`from_link` of a class makes a new explorer; that of an explorer changes this one."""

    def __get__(self, explorer: "Explorer | None", kind: type["Explorer"]) -> Callable[[str], Any]:
        def from_link(text: str) -> "Explorer":
            """Go to the state in a link. A link that is not in order raises and changes nothing."""
            values = links.read(kind.__name__, kind.State, text)
            if explorer is None:
                return kind(**values)
            explorer.set(**values)
            return explorer

        return from_link


class Explorer(ABC):
    """Base of all explorers; shows itself as the last line of a notebook cell.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `State`

    Attributes
    ----------
    controls : name → widget, one for each field of the state
    figures : name → figure
    state : the values of the controls now, frozen
    summary : what the picture shows now, in words
    """

    State: ClassVar[type]
    pictures: ClassVar[Mapping[str, Picture]]
    full_width: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]] = MappingProxyType({})
    #: fields whose slider may live on in a handout: the first that matters in the state there
    handout: ClassVar[tuple[str, ...]]

    def __init__(self, **values: Any) -> None:
        start = self.State(**fields.checked(self.State, values))
        self._specs = fields.controls_of(self.State)
        self.controls = {
            name: spec.widget(getattr(start, name)) for name, spec in self._specs.items()
        }
        with unchecked():
            self._records = dict(self.numbers(start))
        leader = next(iter(self._records))
        self.figures = {
            name: LiveFigure(picture.make(self._records[name]), leads=name == leader)
            for name, picture in self.pictures.items()
        }
        self._held = False
        self._page = Page(
            self._groups(), self.figures, self.full_width, self._bar(), self._on_message,
            [_button(*action) for action in self.actions()],
        )  # fmt: skip
        self._tell(start)
        for name, control in self.controls.items():
            control.add_class(f"etgp-field-{name}")
            control.observe(self._on_change, "value")

    # What a subclass says -------------------------------------------------------------------

    @abstractmethod
    def numbers(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Name and record of each picture, in the order of drawing.

        A picture is on its way to the browser while the numbers of the next one are computed. A
        record that is the same object as before is not drawn again.
        """

    @abstractmethod
    def title(self, state: Any) -> str:
        """What you see, in a few words."""

    @abstractmethod
    def words(self, state: Any) -> str:
        """One sentence or two about what the picture shows now, from the records' figures."""

    @abstractmethod
    def code(self, state: Any) -> str:
        """A short script that computes `records`, the same numbers, and draws them."""

    @abstractmethod
    def print_figure(self) -> Any:
        """The main picture as a matplotlib figure, for slides and papers."""

    def clicked(self, figure: str, panel: str, x: float, y: float) -> None:  # noqa: B027
        """Somebody clicked into a panel, at a place in the units of its axes. Most do nothing."""

    def actions(self) -> Iterable[tuple[str, str, Callable[[], None]]]:
        """Buttons above the pictures, as words, a tip and what to do; most explorers have none."""
        return ()

    # What a user calls ----------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """The values of the controls now."""
        values = {name: control.value for name, control in self.controls.items()}
        return self.State(**fields.checked(self.State, values))

    @property
    def summary(self) -> str:
        """What the picture shows now, in words."""
        return self.words(self.state)

    @property
    def records(self) -> Mapping[str, Any]:
        """The numbers behind the pictures, by the picture's name."""
        return self._records

    def set(self, **values: Any) -> None:
        """Move several controls at once and draw once. Bad values raise and change nothing."""
        good = fields.checked(self.State, values)
        with self._hold():
            for name, value in good.items():
                self.controls[name].value = value
        self._redraw()

    def to_code(self) -> str:
        """A short runnable script that reproduces the picture."""
        return self.code(self.state)

    def link(self) -> str:
        """The state as a short text; `from_link` reads it."""
        return links.write(type(self).__name__, self.state)

    from_link = _Opener()

    def reset(self) -> None:
        """Every control back to its default."""
        self.set(**dataclasses.asdict(self.State()))
        self._rescale()

    def resample(self) -> None:
        """The next draw of the noise; nothing else changes."""
        seed = self._specs["seed"]
        assert isinstance(seed, fields.Whole)
        self.set(seed=(self.state.seed + 1) % (seed.high + 1))

    def picture(self, kind: str = "png") -> bytes:
        """The print figure as the content of a "png", "svg" or "pdf" file."""
        if kind not in PICTURES:
            raise ValueError(f"kind: expected one of {', '.join(PICTURES)}, got {kind!r}")
        content = io.BytesIO()
        self.print_figure().savefig(content, format=kind, dpi=200, bbox_inches="tight")
        return content.getvalue()

    def table(self) -> str:
        """Everything that is drawn, as CSV: figure, trace, x, y and, for heat maps, z."""
        return plotting.table(self.figures)

    def tour(self, name: str = "") -> tuple[str, Iterator[tuple[int, str, bool]]]:
        """The words of one control, and a walk along it, for pages that have no kernel.

        The walk goes from where the control stands to the right, and then to the left, so that
        axes grow as they do for somebody who moves it. At each halt it yields the position, its
        value in words, and whether a reader should begin there. In the end all is as before.
        """
        if not name:
            name = next(field for field in self.handout if self._specs[field].when(self.state))
        return self._specs[name].words, self._walk(name)

    def _walk(self, name: str) -> Iterator[tuple[int, str, bool]]:
        spec, start = self._specs[name], getattr(self.state, name)
        stops = spec.stops(start)
        here = stops.index(start)
        for way in (range(here, len(stops)), range(here - 1, -1, -1), ()):
            self.set(**{name: start})
            self._rescale()
            for position in way:
                self.set(**{name: stops[position]})
                yield position, spec.told(stops[position]), position == here

    # How it works ---------------------------------------------------------------------------

    @contextmanager
    def _hold(self) -> Iterator[None]:
        """Controls that move in here do not draw."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def _on_change(self, _: Any) -> None:
        if not self._held:
            self._redraw()

    def _redraw(self, refit: bool = False) -> None:
        try:
            state = self.state
            with unchecked():  # the controls have checked their values
                for name, record in self.numbers(state):
                    if refit or record is not self._records[name]:
                        self.pictures[name].update(self.figures[name], record, refit)
                        self._records[name] = record
            self._tell(state)
        except Exception as error:  # the last good picture stays, and the page says why
            self._page.warn(f"This setting cannot be drawn: {error}")

    def _rescale(self) -> None:
        self._redraw(refit=True)

    def _tell(self, state: Any) -> None:
        self._page.head(self.title(state))
        self._page.say(self.words(state))
        for name, spec in self._specs.items():
            self.controls[name].layout.display = None if spec.when(state) else "none"

    def _on_message(self, message: dict[str, Any]) -> None:
        if "default" in message:
            name = message["default"]
            self.set(**{name: getattr(self.State(), name)})
        if "click" in message:
            self.clicked(message["click"], message["panel"], message["x"], message["y"])
        if message.get("copied") is False:
            self._page.warn("The browser did not let us copy: mark the text below and copy it.")

    def _groups(self) -> dict[str, list[widgets.Widget]]:
        groups: dict[str, list[widgets.Widget]] = {}
        for name, spec in self._specs.items():
            groups.setdefault(spec.group, []).append(self.controls[name])
        present = widgets.Checkbox(
            False, description="present: larger text, thicker lines", indent=False
        )
        present.observe(lambda change: self._present(change.new), "value")
        groups.setdefault("View", []).append(present)
        return groups

    def _present(self, large: bool) -> None:
        self._page.present(large)
        for figure in self.figures.values():
            plotting.enlarge(figure, large)

    def _bar(self) -> list[widgets.Widget]:
        stories = [("presets …", ""), *((name, name) for name in self.presets)]
        downloads = [("download …", "")]
        downloads += [(f"picture ({kind.upper()})", kind) for kind in PICTURES]
        downloads += [("numbers (CSV)", "csv")]
        buttons = [
            ("reset", "Every control back to its default", self.reset),
            ("rescale", "Fit the axes to what is drawn", self._rescale),
            ("copy as code", "A script that reproduces this picture", self._give_code),
            ("share", "A link to this state, and a place to open one", self._give_link),
        ]
        if "seed" in self._specs:
            buttons.insert(1, ("resample", "Another draw of the noise", self.resample))
        bar = [_menu(stories, "A setting that tells a story", self._choose_preset)]
        bar += [_button(*button) for button in buttons]
        return [*bar, _menu(downloads, "Save the picture or its numbers", self._download)]

    def _choose_preset(self, name: str) -> None:
        preset = self.presets[name]
        self.set(**{**dataclasses.asdict(self.State()), **preset.values})
        self._rescale()
        self._page.note(widgets.HTML(f"<p><b>{name}.</b> {preset.story}</p>"))

    def _give_code(self) -> None:
        code = self.to_code()
        rows = code.count("\n") + 1
        self._page.note(widgets.Textarea(code, rows=rows, layout={"width": "100%"}))
        self._page.frame.copy(code)

    def _give_link(self) -> None:
        box = widgets.Text(
            self.link(),
            description="link",
            tooltip="Copy this, or paste one and press Enter",
            continuous_update=False,
            layout={"width": "100%"},
        )
        box.observe(lambda change: self._open_link(change.new), "value")
        self._page.note(
            box,
            widgets.HTML(
                f"<p>Copied. In code: <code>{type(self).__name__}.from_link('…')</code>. "
                "Paste somebody's link over this one and press Enter to see what they see.</p>"
            ),
        )
        self._page.frame.copy(self.link())

    def _open_link(self, text: str) -> None:
        try:
            self.from_link(text)
        except ValueError as error:
            self._page.warn(str(error))

    def _download(self, kind: str) -> None:
        name = type(self).__name__.removesuffix("Explorer").lower()
        if kind == "csv":
            self._page.frame.download(f"{name}.csv", "text/csv", self.table().encode())
        else:
            self._page.frame.download(f"{name}.{kind}", PICTURES[kind], self.picture(kind))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._page._repr_mimebundle_(**options)


def _button(words: str, tip: str, action: Callable[[], None]) -> widgets.Button:
    button = widgets.Button(description=words, tooltip=tip, layout={"width": "auto"})
    button.on_click(lambda _: action())
    return button


def _menu(
    options: list[tuple[str, str]], tip: str, action: Callable[[str], None]
) -> widgets.Dropdown:
    """A menu of actions: what is chosen happens, and the menu goes back to its first line."""
    menu = widgets.Dropdown(options=options, value="", tooltip=tip, layout={"width": "170px"})

    def choose(change: Any) -> None:
        if change.new:
            menu.value = ""
            action(change.new)

    menu.observe(choose, "value")
    return menu
