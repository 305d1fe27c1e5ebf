"""What every explorer does: controls → frozen state → records → figures, and the actions around.

A subclass names its `State` (see `fields`), its `presets` and its `pictures`, and says how a state
becomes records, sentences, code and a print figure. Everything else is here, once.
"""

import dataclasses
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import ipywidgets as widgets

from etgp_viz.explorers import fields
from etgp_viz.explorers.fast_plotly.live_figure import live_figure, prepare_page
from etgp_viz.explorers.page import Page
from etgp_viz.figures import plotting
from etgp_viz.figures.plotting import Picture

MIME_TYPES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}


@dataclass(frozen=True)
class Preset:
    """A setting that tells a story: what to look at, and the values that are not defaults."""

    story: str
    values: Mapping[str, Any]


def _unchecked() -> AbstractContextManager[Any]:
    """A context in which models do not check shapes.

    Explorers of shipped results have no model, and work without TensorFlow.
    """
    backend = sys.modules.get("etgp_viz.backend")
    return nullcontext() if backend is None else backend.unchecked()


class _FromLink:
    """`from_link`: called on a class it makes an explorer, called on an explorer it moves it."""

    def __get__(self, explorer: "Explorer | None", kind: type["Explorer"]) -> Callable[[str], Any]:
        def from_link(text: str) -> "Explorer":
            """The explorer in the state of a link; a bad link raises a ValueError, nothing moves.

            Parameters
            ----------
            text : what `link` returned
            """
            values = fields.read_link(kind.__name__, kind.State, text)
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
    summary : what the figures show now, in words
    """

    State: ClassVar[type]
    pictures: ClassVar[Mapping[str, Picture]]
    full_width: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]] = MappingProxyType({})
    #: sliders that a handout may keep; the first active one is used
    handout: ClassVar[tuple[str, ...]]

    def __init__(self, **values: Any) -> None:
        prepare_page()
        start = self.State(**fields.check_values(self.State, values))
        self._specs = fields.controls_of(self.State)
        self.controls = {
            name: spec.widget(getattr(start, name)) for name, spec in self._specs.items()
        }
        with _unchecked():
            self._records = dict(self.compute_records(start))
        leader = next(iter(self._records))
        self.figures = {
            name: live_figure(picture.make(self._records[name]), leads=name == leader)
            for name, picture in self.pictures.items()
        }
        self._is_held = False
        self._page = Page(
            self._grouped_controls(), self.figures, self.full_width, self._action_bar(),
            self._on_message, [_button(*action) for action in self.actions()],
        )  # fmt: skip
        self._update_text(start)
        for name, control in self.controls.items():
            control.add_class(f"etgp-field-{name}")
            control.observe(self._on_change, "value")

    # What a subclass defines ----------------------------------------------------------------------

    @abstractmethod
    def compute_records(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Name and record of each picture, in the order of drawing.

        A picture is on its way to the browser while the record of the next one is computed. A
        record that is the same object as before is not drawn again.
        """

    @abstractmethod
    def title(self, state: Any) -> str:
        """What the page shows, in a few words."""

    @abstractmethod
    def describe(self, state: Any) -> str:
        """One or two sentences about what the figures show now, with numbers from the records."""

    @abstractmethod
    def code(self, state: Any) -> str:
        """A short script that computes the same `records` and draws them."""

    @abstractmethod
    def print_figure(self) -> Any:
        """The main picture as a matplotlib figure, for slides and papers."""

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:  # noqa: B027
        """Respond to a click in a panel, at a point in the units of its axes; by default not."""

    def actions(self) -> Iterable[tuple[str, str, Callable[[], None]]]:
        """Buttons above the figures, as label, tooltip and what to call; by default none."""
        return ()

    # What a user calls ----------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """The values of the controls now."""
        values = {name: control.value for name, control in self.controls.items()}
        return self.State(**fields.check_values(self.State, values))

    @property
    def summary(self) -> str:
        """What the figures show now, in words."""
        return self.describe(self.state)

    @property
    def records(self) -> Mapping[str, Any]:
        """The numbers behind the figures, by the picture's name."""
        return self._records

    def set(self, **values: Any) -> None:
        """Move several controls at once and draw once; a bad value raises, and nothing moves.

        Parameters
        ----------
        values : the new values, by the names of the fields of `State`

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> explorer = FlowExplorer()
        >>> explorer.set(lengthscale=0.5, seed=3)
        >>> explorer.state.lengthscale
        0.5
        """
        checked = fields.check_values(self.State, values)
        with self._without_drawing():
            for name, value in checked.items():
                self.controls[name].value = value
        self._redraw()

    def to_code(self) -> str:
        """A short runnable script that reproduces the figures.

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> print(FlowExplorer(kernel="matern32").to_code().splitlines()[5])
        kernel = prior.kernel('matern32', 1.0, 1.0, 2.0)
        """
        return self.code(self.state)

    def link(self) -> str:
        """The state as a short text, which `from_link` reads.

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> text = FlowExplorer(kernel="matern32", at=1.5).link()
        >>> text
        '{"explorer":"FlowExplorer","kernel":"matern32","at":1.5}'
        >>> FlowExplorer.from_link(text).state.at
        1.5
        """
        return fields.write_link(type(self).__name__, self.state)

    from_link = _FromLink()

    def reset(self) -> None:
        """Return every control to its default, and fit the axes."""
        self.set(**dataclasses.asdict(self.State()))
        self._fit_axes()

    def resample(self) -> None:
        """Take the next draw of the noise; nothing else changes."""
        seed = self._specs["seed"]
        assert isinstance(seed, fields.Whole)
        self.set(seed=(self.state.seed + 1) % (seed.high + 1))

    def picture(self, kind: str = "png") -> bytes:
        """The print figure as the content of a file.

        Parameters
        ----------
        kind : "png", "svg" or "pdf"

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> FlowExplorer().picture("svg")[:5]
        b'<?xml'
        """
        if kind not in MIME_TYPES:
            raise ValueError(f"kind: expected one of {', '.join(MIME_TYPES)}, got {kind!r}")
        content = io.BytesIO()
        self.print_figure().savefig(content, format=kind, dpi=200, bbox_inches="tight")
        return content.getvalue()

    def table(self) -> str:
        """Everything that is drawn, as CSV: figure, trace, x, y and, for heat maps, z.

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> header, first, *_ = FlowExplorer().table().splitlines()
        >>> header
        'figure,trace,x,y,z'
        """
        return plotting.table(self.figures)

    def tour(self, name: str = "") -> tuple[str, Iterator[tuple[int, str, bool]]]:
        """The label of one control and a walk along it, for pages that have no kernel.

        The walk goes from where the control is to the right, and then to the left, so that the axes
        grow as they do for somebody who moves it. In the end everything is as before.

        Parameters
        ----------
        name : the field to walk along; without it, the first of `handout` that the state uses

        Returns
        -------
        label : the label of the control
        walk : at each stop its position from the left, its value as text, and whether a reader
            should begin there
        """
        if not name:
            name = next(field for field in self.handout if self._specs[field].when(self.state))
        return self._specs[name].label, self._walk(name)

    def _walk(self, name: str) -> Iterator[tuple[int, str, bool]]:
        spec, start = self._specs[name], getattr(self.state, name)
        values = spec.positions(start)
        here = values.index(start)
        for way in (range(here, len(values)), range(here - 1, -1, -1), ()):
            self.set(**{name: start})
            self._fit_axes()
            for position in way:
                self.set(**{name: values[position]})
                yield position, spec.format_value(values[position]), position == here

    # How it works ---------------------------------------------------------------------------------

    @contextmanager
    def _without_drawing(self) -> Iterator[None]:
        """Let controls move without a redraw."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def _on_change(self, _: Any) -> None:
        if not self._is_held:
            self._redraw()

    def _redraw(self, refit: bool = False) -> None:
        try:
            state = self.state
            with _unchecked():  # the controls have checked their values
                for name, record in self.compute_records(state):
                    if refit or record is not self._records[name]:
                        self.pictures[name].update(self.figures[name], record, refit)
                        self._records[name] = record
            self._update_text(state)
        except Exception as error:  # the last good figures stay, and the page says why
            self._page.warn(f"This setting cannot be drawn: {error}")

    def _fit_axes(self) -> None:
        self._redraw(refit=True)

    def _update_text(self, state: Any) -> None:
        """Update the title, the summary, and which controls are visible."""
        self._page.show_title(self.title(state))
        self._page.show_summary(self.describe(state))
        for name, spec in self._specs.items():
            self.controls[name].layout.display = None if spec.when(state) else "none"

    def _on_message(self, message: dict[str, Any]) -> None:
        """Respond to the browser: see frame.js."""
        if "default" in message:
            name = message["default"]
            self.set(**{name: getattr(self.State(), name)})
        if "click" in message:
            self.on_click(message["click"], message["panel"], message["x"], message["y"])
        if message.get("copied") is False:
            self._page.warn("The browser did not allow copying: select the text below and copy it.")

    def _grouped_controls(self) -> dict[str, list[widgets.Widget]]:
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
        self._page.enlarge(large)
        for figure in self.figures.values():
            plotting.enlarge(figure, large)

    def _action_bar(self) -> list[widgets.Widget]:
        stories = [("presets …", ""), *((name, name) for name in self.presets)]
        downloads = [("download …", "")]
        downloads += [(f"picture ({kind.upper()})", kind) for kind in MIME_TYPES]
        downloads += [("numbers (CSV)", "csv")]
        buttons = [
            ("reset", "Return every control to its default", self.reset),
            ("rescale", "Fit the axes to what is drawn", self._fit_axes),
            ("copy as code", "A script that reproduces these pictures", self._show_code),
            ("share", "A link to this state, and a box to open one", self._show_link),
        ]
        if "seed" in self._specs:
            buttons.insert(1, ("resample", "Another draw of the noise", self.resample))
        bar = [_menu(stories, "Settings that each tell a story", self._choose_preset)]
        bar += [_button(*button) for button in buttons]
        return [*bar, _menu(downloads, "Save the picture or its numbers", self._download)]

    def _choose_preset(self, name: str) -> None:
        preset = self.presets[name]
        self.set(**{**dataclasses.asdict(self.State()), **preset.values})
        self._fit_axes()
        self._page.show_note(widgets.HTML(f"<p><b>{name}.</b> {preset.story}</p>"))

    def _show_code(self) -> None:
        code = self.to_code()
        rows = code.count("\n") + 1
        self._page.show_note(widgets.Textarea(code, rows=rows, layout={"width": "100%"}))
        self._page.frame.copy(code)

    def _show_link(self) -> None:
        box = widgets.Text(
            self.link(),
            description="link",
            continuous_update=False,
            layout={"width": "100%"},
            **{fields.TOOLTIP: "Copy this link, or paste one and press Enter"},
        )
        box.observe(lambda change: self._open_link(change.new), "value")
        self._page.show_note(
            box,
            widgets.HTML(
                f"<p>Copied. In code: <code>{type(self).__name__}.from_link('…')</code>. "
                "To see what somebody else sees, paste their link here and press Enter.</p>"
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
            self._page.frame.download(f"{name}.{kind}", MIME_TYPES[kind], self.picture(kind))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._page._repr_mimebundle_(**options)


def _button(label: str, tooltip: str, action: Callable[[], None]) -> widgets.Button:
    button = widgets.Button(description=label, tooltip=tooltip, layout={"width": "auto"})
    button.on_click(lambda _: action())
    return button


def _menu(
    options: list[tuple[str, str]], tooltip: str, action: Callable[[str], None]
) -> widgets.Dropdown:
    """A menu of actions: choosing one runs it, and the menu returns to its first line."""
    place = {"width": "170px"}
    menu = widgets.Dropdown(options=options, value="", layout=place, **{fields.TOOLTIP: tooltip})

    def choose(change: Any) -> None:
        if change.new:
            menu.value = ""
            action(change.new)

    menu.observe(choose, "value")
    return menu
