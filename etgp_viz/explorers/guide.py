"""Guided tours: a card on the page leads a reader through the steps of a preset."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from etgp_viz.explorers.page import Page, label_of
from etgp_viz.explorers.presets import Preset, Step

HOW = (
    "Each step frames a place on this page. If it asks for a move, make it, or let the tour show "
    "you. F6 moves the keyboard focus to that place and back."
)


class Card(anywidget.AnyWidget):
    """The words of a step and the buttons of a tour; marks a place on the page: see guide.js."""

    # As text: anywidget would watch a file for changes, and keep the widget for good.
    _esm = Path(__file__).with_name("guide.js").read_text(encoding="utf-8")
    _css = Path(__file__).with_name("guide.css").read_text(encoding="utf-8")
    name = traitlets.Unicode().tag(sync=True)  # of the tour
    count = traitlets.Unicode().tag(sync=True)  # which step of how many
    say = traitlets.Unicode().tag(sync=True)
    then = traitlets.Unicode().tag(sync=True)  # the answer, once it may be shown
    is_done = traitlets.Bool(False).tag(sync=True)  # whether the move has been made
    place = traitlets.Unicode().tag(sync=True)  # the name of the marked place
    target = traitlets.Unicode().tag(sync=True)  # its CSS selector
    onward = traitlets.Unicode().tag(sync=True)  # label of the button that goes on
    is_first = traitlets.Bool(True).tag(sync=True)


@dataclass(frozen=True)
class Place:
    """Somewhere on the page: its name, its CSS selector, and the picture or the control there."""

    name: str
    selector: str
    picture: str = ""
    field: str = ""


class Guide:
    """Leads a reader through tours of one explorer.

    Parameters
    ----------
    explorer : the explorer
    page : its page
    buttons : the buttons and toggles above its controls; other widgets are left out

    Attributes
    ----------
    card : the card, which is part of the page while a tour is running
    """

    def __init__(self, explorer: Any, page: Page, buttons: Iterable[widgets.Widget]) -> None:
        self._explorer, self._page, self.card = explorer, page, Card()
        self.card.on_msg(lambda _, message, __: self._on_message(message))
        self._buttons = {name: button for button in buttons if (name := _name_of(button))}
        for name, button in self._buttons.items():
            button.add_class(_class_of(name))
            is_toggle = not isinstance(button, widgets.Button)
            watch = partial(button.observe, names="pressed") if is_toggle else button.on_click
            watch(partial(self._on_button, name))
        self._preset = Preset("")
        self._number = 0  # of the step, from 1; 0 is the story before the first one

    @property
    def name(self) -> str:
        """The name of the tour that is running, or ""."""
        return self.card.name

    @property
    def is_waiting(self) -> bool:
        """Whether the tour waits for a move."""
        return bool(self._step.until) and not self.card.is_done

    @property
    def _step(self) -> Step:
        return (
            self._preset.steps[self._number - 1]
            if self._number
            else Step(f"{self._preset.story} {HOW}")
        )

    def check(self, preset: Preset) -> None:
        """Raise a ValueError unless every place of a tour is there and every wait can end."""
        pairs = preset.walk(self._explorer.State)
        for number, (step, (arrival, after)) in enumerate(zip(preset.steps, pairs, strict=True), 1):
            try:
                self._check_step(step, arrival, after)
            except ValueError as error:
                raise ValueError(f"step {number}: {error}") from None

    def _check_step(self, step: Step, arrival: Any, after: Any) -> None:
        if not self._is_visible(self._place(step.at), arrival):
            raise ValueError(f"the control {step.at!r} is hidden in this state")
        if step.view not in ("", *self._explorer.views):
            known = ", ".join(self._explorer.views)
            raise ValueError(f"view: expected one of {known}, got {step.view!r}")
        if callable(step.until):
            if step.until(arrival):
                raise ValueError("there is nothing to wait for: `until` is true on arrival")
            if not step.until(after):
                raise ValueError("its own move does not end the wait")
        elif step.until and step.until not in self._all_buttons:
            known = ", ".join(self._all_buttons)
            raise ValueError(f"until: expected a button of {known}, got {step.until!r}")

    def start(self, name: str, preset: Preset) -> None:
        """Show the story of a tour; its steps follow."""
        self._preset, self.card.name = preset, name
        self._show(0)
        self._page.pin(self.card)

    def stop(self) -> None:
        """End the tour, if one is running."""
        if self.name:
            self.card.name, self._preset, self._number = "", Preset(""), 0
            self._page.pin(None)
            self._page.frame.preset = ""

    def go_on(self) -> None:
        """Show the answer or make the move that a step waits for; then go to the next step."""
        step = self._step
        if self.is_waiting:
            self._make_move(step)
            self._be_done()
        elif step.then and not self.card.then:
            self._be_done()
        elif self._number < len(self._preset.steps):
            self._go_to(self._number + 1)
        else:
            self.stop()

    def go_back(self) -> None:
        """Return to the step before, as a reader finds it who makes no other moves."""
        if self._number > 1:
            self._go_to(self._number - 1, afresh=True)
        elif self._number == 1:
            self._show(0)

    def on_change(self, state: Any) -> None:
        """Note that the state has changed: it may be the move that the tour waits for."""
        until = self._step.until
        if self.is_waiting and callable(until) and until(state):
            self._be_done()

    def on_press(self, button: str) -> None:
        """Note that a button was pressed."""
        if self.is_waiting and self._step.until == button:
            self._be_done()

    def _on_button(self, name: str, event: Any) -> None:
        """Note a press of a button above the controls; a toggle that comes up is not a press."""
        if isinstance(event, widgets.Button) or event.new:
            self.on_press(name)

    # How it works ---------------------------------------------------------------------------------

    def _go_to(self, number: int, afresh: bool = False) -> None:
        """Go to a step: with the reader's own state where it fits, else with the tour's."""
        step = self._preset.steps[number - 1]
        state = dataclasses.replace(self._explorer.state, **step.values)
        is_ahead = callable(step.until) and step.until(state)
        if afresh or is_ahead or not self._is_visible(self._place(step.at), state):
            state = list(self._preset.walk(self._explorer.State))[number - 1][0]
        self._number = 0  # what moves now is not the reader's move
        if state != self._explorer.state:
            self._explorer.set(**dataclasses.asdict(state))
            self._explorer._fit_axes()
        self._show(number)
        if isinstance(step.until, str) and getattr(self._buttons.get(step.until), "pressed", False):
            self._be_done()

    def _is_visible(self, place: Place, state: Any) -> bool:
        return not place.field or self._explorer._specs[place.field].when(state)

    def _show(self, number: int) -> None:
        self._number = number
        step, total = self._step, len(self._preset.steps)
        place = self._place(step.at)
        self._page.reveal(step.view, place.picture, self._explorer.controls.get(place.field))
        with self.card.hold_sync():
            self.card.say, self.card.then, self.card.is_done = step.say, "", False
            self.card.place, self.card.target = place.name, place.selector
            self.card.count = f"step {number} of {total}" if number else f"a tour of {total} steps"
            self.card.is_first = not number
            self.card.onward = self._onward()

    def _onward(self) -> str:
        """The label of the button that goes on."""
        if self.is_waiting:
            return "show me"
        if self._step.then and not self.card.then:
            return "answer"
        return "next" if self._number < len(self._preset.steps) else "finish"

    def _be_done(self) -> None:
        with self.card.hold_sync():
            self.card.then, self.card.is_done = self._step.then, bool(self._step.until)
            self.card.onward = self._onward()

    def _make_move(self, step: Step) -> None:
        if callable(step.until):
            self._explorer.set(**step.move)
        elif isinstance(button := self._buttons.get(step.until), widgets.Button):
            button.click()
        elif button is not None:
            button.pressed = True
        else:
            self._explorer._actions()[step.until][1]()

    @property
    def _all_buttons(self) -> Mapping[str, str]:
        """Label → CSS selector of every button."""
        actions = {name: f'[data-action="{name}"]' for name in self._explorer._actions()}
        return {**actions, **{name: f".{_class_of(name)}" for name in self._buttons}}

    def _place(self, name: str) -> Place:
        """Where a step points; a ValueError if there is no such place."""
        specs, pictures = self._explorer._specs, self._explorer.pictures
        if not name:
            return Place("", "")
        if name in specs and name in pictures:
            raise ValueError(f"at: say 'control: {name}' or 'picture: {name}', there are both")
        field, picture = name.removeprefix("control: "), name.removeprefix("picture: ")
        if field in specs:
            return Place(specs[field].label, f".etgp-field-{field}", field=field)
        if picture in pictures:
            return Place(f"picture: {label_of(picture)}", f".etgp-figure-{picture}", picture)
        if name in self._all_buttons:
            return Place(name, self._all_buttons[name])
        known = ", ".join((*pictures, *self._all_buttons, *specs))
        raise ValueError(f"at: expected a place of {known}, got {name!r}")

    def _on_message(self, message: dict[str, Any]) -> None:
        {"on": self.go_on, "back": self.go_back, "end": self.stop}[message["go"]]()


def _name_of(button: widgets.Widget) -> str:
    """The label of a button without the symbol before it; "" for other widgets."""
    label = getattr(button, "label", "")
    if isinstance(button, widgets.Button):
        label = button.description
    return re.sub(r"^\W+", "", label)


def _class_of(button: str) -> str:
    return "etgp-button-" + button.replace(" ", "-")
