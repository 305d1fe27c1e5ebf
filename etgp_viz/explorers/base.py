"""What every explorer does: controls → frozen state → records → figures, and the actions around.

A subclass names its `State` (see `fields`), its `presets` and its `pictures`, and says how a state
becomes records, sentences, code and a print figure. Everything else is here, once.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar

import ipywidgets as widgets

from etgp_viz.explorers import closing, fields, sharing
from etgp_viz.explorers.fast_plotly.live_figure import live_figure, morphing, prepare_page
from etgp_viz.explorers.guide import Guide
from etgp_viz.explorers.history import History, walk
from etgp_viz.explorers.page import Frame, Page, Views, button, in_rows, label_of
from etgp_viz.explorers.presets import Preset, tours_of
from etgp_viz.explorers.records_view import Records, quickly
from etgp_viz.explorers.saved_picture import MIME_TYPES, SavedPicture, file_content
from etgp_viz.explorers.shared_colours import SharedColours
from etgp_viz.figures import plotting
from etgp_viz.figures.plotting import Picture

MAIN_CONTROLS = 2  # in "present" mode


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

    Examples
    --------
    >>> from etgp_viz.explorers import FlowExplorer
    >>> explorer = FlowExplorer(lengthscale=0.5)
    >>> explorer.state.lengthscale, sorted(explorer.figures) == sorted(explorer.records)
    (0.5, True)
    >>> explorer.summary == explorer.describe(explorer.state)
    True

    What a subclass defines can be called as well:

    >>> explorer.title(explorer.state)
    'One Gaussian process, one flow: LINEAR'
    >>> [name for name, _ in explorer.compute_records(explorer.state)][:2]
    ['paths', 'parameters']
    >>> explorer.code(explorer.state) == explorer.to_code()
    True
    >>> type(explorer.print_figure()).__name__, len(list(explorer.actions()))
    ('Figure', 0)
    >>> explorer.on_click("paths", "", x=1.5, y=0.0)
    >>> explorer.state.at
    1.5
    """

    State: ClassVar[type]
    pictures: ClassVar[Mapping[str, Picture]]
    #: pictures that share an x axis; on a handout each has a row of its own
    full_width: ClassVar[tuple[str, ...]] = ()
    #: what the stage shows at a time: label → rows of pictures; without it, one picture each
    views: ClassVar[Views] = MappingProxyType({})
    #: rows of pictures on a page that is wide enough for all of them
    wide: ClassVar[tuple[str, ...]] = ()
    #: heat maps that are compared, from left to right: they have one colour scale and one bar
    same_colours: ClassVar[tuple[tuple[str, ...], ...]] = ()
    #: groups of controls that are folded away at first
    folded: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]] = MappingProxyType({})
    #: sliders that a handout may keep; the first active one is used
    handout: ClassVar[tuple[str, ...]]
    #: controls of "present" mode: the first two active ones; without it, those of a handout
    main: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        prepare_page()
        start = self.State(**fields.check_values(self.State, values))
        self._specs = fields.controls_of(self.State)
        self.controls = {
            name: spec.widget(getattr(start, name)) for name, spec in self._specs.items()
        }
        with quickly():
            self._records = Records(self.compute_records(start))
        leader = next(iter(self._records))
        self._drawn = {name: self._records[name] for name in self.pictures}
        # A figure is complete before the browser hears of it, colours included.
        self._figures = {name: picture.make(self._drawn[name])
                         for name, picture in self.pictures.items()}  # fmt: skip
        self._colours = SharedColours(self.same_colours)
        self._colours.begin(self._figures)
        self._figures = {name: live_figure(figure, leads=name == leader)
                         for name, figure in self._figures.items()}  # fmt: skip
        self._to_refit: set[str] = set()  # figures whose axes fit anew when they are drawn next
        self._is_held, self._history = False, History(start)
        top = [a if isinstance(a, widgets.Widget) else button(*a) for a in self.actions()]
        self._page = Page(
            self._grouped_controls(), self.folded, self._figures, self.full_width, self._frame(),
            self._on_message, top,
        )  # fmt: skip
        self._guide = Guide(self, self._page, top)
        self._sharing = sharing.Sharing(self, self._page)
        self._saved = SavedPicture(
            self.print_figure, lambda: (self.title(self.state), self.summary)
        )
        self._update_text(start)
        for name, control in self.controls.items():
            control.add_class(f"etgp-field-{name}")
            control.observe(self._on_change, "value")

    # What a subclass defines ----------------------------------------------------------------------

    @abstractmethod
    def compute_records(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Name and record of each picture in a `state`, in the order of drawing.

        A picture is on its way to the browser while the record of the next one is computed. A
        record that is the same object as before is not drawn again. In place of a record there may
        be a function without arguments that returns it: it is called once the record is needed,
        so that no numbers are computed for pictures that nobody looks at.
        """

    @abstractmethod
    def title(self, state: Any) -> str:
        """What the page shows in a `state`, in a few words."""

    @abstractmethod
    def describe(self, state: Any) -> str:
        """One or two sentences about the figures in a `state`, with numbers from the records."""

    @abstractmethod
    def code(self, state: Any) -> str:
        """A short script that computes the `records` of a `state` and draws them."""

    @abstractmethod
    def print_figure(self) -> Any:
        """The main picture as a matplotlib figure, for slides and papers."""

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:  # noqa: B027
        """Respond to a click in a panel; by default, do nothing.

        Parameters
        ----------
        figure, panel : the picture's name, and the name of the panel in it
        x, y : the point, in the units of the panel's axes
        """

    def on_drag(self, figure: str, dot: int, x: float, y: float) -> None:  # noqa: B027
        """Respond to a dot that is dragged; by default, do nothing.

        Parameters
        ----------
        figure, dot : the picture's name, and the number of the dot in it, from 0
        x, y : where the dot is now, in the units of the axes

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> explorer = FlowExplorer()
        >>> explorer.on_drag("parameters", 0, x=-3.0, y=2.0)  # the first knot of a
        >>> explorer.state.linear_a[0]
        2.0
        """

    def actions(self) -> Iterable[widgets.Widget | tuple[str, str, Callable[[], None]]]:
        """Buttons above the figures: widgets, or label, tooltip and what to call; default none."""
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
    def figures(self) -> Mapping[str, Any]:
        """The figures, by the picture's name, each as it is now."""
        self._draw(self._figures)
        return self._figures

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
        self._move(values)

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

    from_link = sharing.FromLink()

    def reset(self) -> None:
        """Return every control to its default, fit the axes, and end the story of a preset."""
        self._page.frame.preset = self._guide.name
        self._page.show_note()
        self._move(dataclasses.asdict(self.State()), refit=True)

    def undo(self) -> None:
        """Return to the state before the last change; a drag is one change."""
        self.set(**dataclasses.asdict(self._history.back()))

    def add_preset(self, name: str, preset: Preset) -> None:
        """Add a chip to this explorer; with steps it is a guided tour, see `Preset`.

        Parameters
        ----------
        name : the words on the chip
        preset : what it does; a bad value, a place that is not there or a wait that cannot end
            raises a ValueError that names the step

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer, Preset
        >>> explorer = FlowExplorer()
        >>> explorer.add_preset("Wild", Preset("A short lengthscale.", {"lengthscale": 0.1}))
        """
        fields.check_values(self.State, preset.values)
        self._guide.check(preset)
        self.presets = {**self.presets, name: preset}  # type: ignore[misc]
        self._page.frame.tours = tours_of(self.presets)
        self._page.frame.presets = list(self.presets)

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
        return file_content(self.print_figure, kind)

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

    def close(self) -> None:
        """Close the page, and end what works for it in the background.

        A cell that is run again does this by itself to the explorer that it showed before.

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> explorer = FlowExplorer()
        >>> explorer.close()
        """
        worker = getattr(self, "_worker", None)
        if worker is not None:
            worker.abandon()
        closing.forget(self)
        closing.close_widgets(*self._page.roots, self._guide.card)

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

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> explorer = FlowExplorer()
        >>> label, walk = explorer.tour("lengthscale")
        >>> position, value, begins_here = next(walk)
        >>> label, begins_here
        ('lengthscale ℓ', True)
        """
        return walk(self, name)

    # How it works ---------------------------------------------------------------------------------

    def _move(self, values: Mapping[str, Any], refit: bool = False) -> None:
        checked = fields.check_values(self.State, values)
        with self._without_drawing():
            for name, value in checked.items():
                self.controls[name].value = value
        self._redraw(refit)

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
            self._history.note(state)
            if refit:
                self._to_refit = set(self.pictures)
            shown = self._page.frame.shown
            with quickly():
                for name, record in self.compute_records(state):
                    self._records[name] = record
                    if name in shown:
                        self._draw((name,))
            self._update_text(state)
            self._guide.on_change(state)
        except Exception as error:  # the last good figures stay, and the page says why
            self._page.warn(f"This setting cannot be drawn: {error}")

    def _draw(self, names: Iterable[str]) -> None:
        """Bring figures up to date with their records."""
        for name in names:
            record, refit = self._records[name], name in self._to_refit
            if refit or record is not self._drawn[name]:
                self.pictures[name].update(self._figures[name], record, refit)
                self._drawn[name] = record
                self._to_refit.discard(name)
                self._colours.scale(self._figures, name, refit)

    def _fit_axes(self) -> None:
        self._redraw(refit=True)

    def _on_shown(self, _: Any) -> None:
        """Draw what the browser is about to show."""
        self._present(self._page.frame.presents)
        try:
            self._draw(sorted(self._page.frame.shown))
            self._colours.show_bars(self._figures, self._page.frame.shown)
        except Exception as error:
            self._page.warn(f"This view cannot be drawn: {error}")

    def _update_text(self, state: Any) -> None:
        """Update the title, the summary, and which controls are visible."""
        self._page.show_title(self.title(state))
        self._page.show_summary(self.describe(state))
        self._saved.renew_later()
        active = {name for name, spec in self._specs.items() if spec.when(state)}
        for name, control in self.controls.items():
            control.layout.display = None if name in active else "none"
        main = [name for name in self.main or self.handout if name in active][:MAIN_CONTROLS]
        for name in self.main or self.handout:
            control = self.controls[name]
            (control.add_class if name in main else control.remove_class)("etgp-main")

    def _on_message(self, message: dict[str, Any]) -> None:
        """Respond to the browser: see frame.js."""
        if "ask" in message:  # the reply lets the browser send first what a control held back
            self._page.frame.send({"answered": message["ask"]})
        if "default" in message:
            name = message["default"]
            self.set(**{name: getattr(self.State(), name)})
        if "open" in message:
            self._sharing.open_code(message["open"])
        if "do" in message:
            self._sharing.page = str(message.get("page", ""))
            {**self._actions(), "undo": ("", self.undo)}[message["do"]][1]()
            self._guide.on_press(message["do"])
        if "preset" in message:
            self._choose_preset(message["preset"])
        if "save" in message:
            self._download(message["save"])
        if "click" in message:
            self.on_click(message["click"], message["panel"], message["x"], message["y"])
        if message.get("copied") is False:
            self._page.warn("The browser did not allow copying: select the text below and copy it.")

    def _on_pointer(self, change: Any) -> None:
        """Follow something that the browser drags: the mark at an input, or a dot."""
        figure, drags, *at = (change.new[key] for key in ("figure", "drags", "x", "y"))
        if drags == "mark":
            self.on_click(figure, change.new["panel"], *at)
        else:
            self.on_drag(figure, drags, *at)

    def _on_hold(self, change: Any) -> None:
        """Keep the axes while something is dragged, and let them fit again in the end."""
        for figure in self._figures.values():
            figure.holds_axes = change.new
        if not change.new:
            for name in sorted(self._page.frame.shown):
                self.pictures[name].update(self._figures[name], self._drawn[name], False)
                self._colours.scale(self._figures, name)

    def _grouped_controls(self) -> dict[str, list[widgets.Widget]]:
        groups: dict[str, list[widgets.Widget]] = {}
        for name, spec in self._specs.items():
            groups.setdefault(spec.group, []).append(self.controls[name])
        return groups

    def _present(self, large: bool) -> None:
        for name in self._page.frame.shown if large else self._figures:
            if plotting.enlarge(self._figures[name], plotting.PRESENT_SCALE if large else 1.0):
                self._drawn[name] = None  # to be drawn again, with labels further apart

    def _actions(self) -> dict[str, tuple[str, Callable[[], None]]]:
        """Label → tooltip and what to call."""
        actions = {
            "undo": ("Take back the last change (Ctrl+Z)", self.undo),
            "reset": ("Return every control to its default", self.reset),
            "resample": ("Another draw of the noise", self.resample),
            "rescale": ("Fit the axes to what is drawn", self._fit_axes),
            "copy as code": ("A script that reproduces these pictures", self._show_code),
            "share": ("Copy a link to this state, or open one", lambda: self._sharing.show()),
            "table": ("The numbers of this view as a table", self._show_table),
        }
        has_own_undo = type(self).undo is not Explorer.undo  # and a button for it
        left_out = {"resample": "seed" not in self._specs, "undo": has_own_undo}
        return {name: action for name, action in actions.items() if not left_out.get(name)}

    def _frame(self) -> Frame:
        views = self.views or {label_of(name): (name,) for name in self.pictures}
        downloads = [(kind, f"picture ({kind.upper()})") for kind in MIME_TYPES]
        frame = Frame(
            kind=type(self).__name__,
            presets=list(self.presets),
            tours=tours_of(self.presets),
            actions=[(name, tooltip) for name, (tooltip, _) in self._actions().items()],
            downloads=[*downloads, ("csv", "numbers (CSV)")],
            views=[(label, list(rows)) for label, rows in views.items()],
            all_rows=list(self.wide or in_rows(list(self.pictures))),
        )
        frame.observe(self._on_shown, ["view", "hides", "presents"])
        frame.observe(self._on_pointer, "pointer")
        frame.observe(self._on_hold, "holds")
        return frame

    def _choose_preset(self, name: str) -> None:
        preset, frame = self.presets[name], self._page.frame
        self._guide.stop()
        if preset.view or frame.presents:  # "present" mode has no tabs to choose a view
            self._page.reveal(preset.view or frame.views[0][0], "", None)
        with morphing():
            self._move({**dataclasses.asdict(self.State()), **preset.values}, refit=True)
        frame.preset = name
        if preset.steps:
            self._guide.start(name, preset)
        else:
            self._page.show_note(widgets.HTML(f"<p><b>{name}.</b> {preset.story}</p>"))

    def _show_code(self) -> None:
        code = self.to_code()
        self._page.show_note(widgets.Textarea(code, rows=9, layout={"width": "100%"}))
        self._page.frame.copy(code)

    def _show_table(self) -> None:
        shown = {name: self.figures[name] for name in sorted(self._page.frame.shown)}
        self._page.show_note(widgets.HTML(plotting.html_tables(shown)))

    def _download(self, kind: str) -> None:
        name = type(self).__name__.removesuffix("Explorer").lower()
        if kind == "csv":
            self._page.frame.download(f"{name}.csv", "text/csv", self.table().encode())
        else:
            self._page.frame.download(f"{name}.{kind}", MIME_TYPES[kind], self.picture(kind))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        self._page.frame.cell = closing.note_display(self)
        return self._page._repr_mimebundle_(**options)

    def _ipython_display_(self) -> None:
        """The page, and the picture that remains of it in a saved notebook."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)
        self._saved.show()
