"""Fields of a state: which values each control takes, how it shows them, and links to a state."""

import dataclasses
import math
import re
from dataclasses import dataclass

import pytest

from etgp_viz.explorers import fields, sharing
from etgp_viz.explorers.fields import Choice, Number, Switch, Whole, controlled

PLAIN, LOG = Number("height", -1.0, 2.0, 0.25), Number("length", 0.1, 10.0, log=True)
WHOLE, TYPED = Whole("count", 2, 9), Whole("seed", 0, 99, typed=True)
MENU, SWITCH = Choice("kind", {1: "one", "2": "two"}), Switch("shown")


@dataclass(frozen=True)
class State:
    """A state with a field of each kind; `shown` had another default once."""

    height: float = controlled(0.5, PLAIN)
    length: float = controlled(1.0, LOG)
    count: int = controlled(3, WHOLE)
    shown: bool = controlled(True, SWITCH, in_links=False)


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "value", "checked"),
    [
        (PLAIN, -1, -1.0), (PLAIN, 2.0, 2.0), (PLAIN, 0.3, 0.25), (PLAIN, 0.4, 0.5),
        (PLAIN, 2.0 + 2e-9, 2.0), (PLAIN, -1.0 - 2e-9, -1.0),  # ends have rounding errors
        (Number("a", 0.0, 1.0, 0.1), 0.3, 0.3),  # not 0.30000000000000004
        (LOG, 0.1, 0.1), (LOG, 10, 10.0), (LOG, 1.23456789, 1.23457), (LOG, 0.32, 0.32),
        (WHOLE, 2, 2), (WHOLE, 9, 9), (MENU, 1, 1), (MENU, "2", "2"),
        (SWITCH, False, False), (SWITCH, True, True),
    ],
)  # fmt: skip
def test_allowed_values(control, value, checked):
    found = control.check(value)
    assert found == checked
    assert type(found) is type(checked)


@pytest.mark.parametrize(
    ("control", "value", "words"),
    [
        (PLAIN, 2.0001, "expected a number from -1 to 2, got 2.0001"),
        (PLAIN, -1.0001, "expected a number from -1 to 2, got -1.0001"),
        (PLAIN, 2.0 + 4e-9, "expected a number from -1 to 2, got 2.000000004"),
        (PLAIN, -1.0 - 4e-9, "expected a number from -1 to 2, got -1.000000004"),
        (PLAIN, math.nan, "expected a number from -1 to 2, got nan"),
        (PLAIN, True, "expected a number, got True"), (PLAIN, "1", "expected a number, got '1'"),
        (LOG, 0.0, "expected a number from 0.1 to 10, got 0.0"),
        (WHOLE, 1, "expected a number from 2 to 9, got 1"),
        (WHOLE, 10, "expected a number from 2 to 9, got 10"),
        (WHOLE, 3.0, "expected a whole number, got 3.0"),
        (WHOLE, True, "expected a whole number, got True"),
        (MENU, 1.0, "expected one of 1, '2', got 1.0"),
        (MENU, 2, "expected one of 1, '2', got 2"),
        (MENU, True, "expected one of 1, '2', got True"),
        (SWITCH, 1, "expected true or false, got 1"),
    ],
)  # fmt: skip
def test_other_values_are_refused(control, value, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        control.check(value)


def test_a_value_of_a_state_is_checked_by_its_control():
    assert fields.check_values(State, {"height": 0.3, "count": 4}) == {"height": 0.25, "count": 4}
    with pytest.raises(ValueError, match=r"^count: expected a whole number, got 'x'$"):
        fields.check_values(State, {"height": 0.3, "count": "x"})
    names = "height, length, count, shown"
    with pytest.raises(ValueError, match=rf"^'width': expected one of {names}$"):
        fields.check_values(State, {"width": 0.3})
    state = State(count=7, shown=False)
    assert fields.with_defaults(state, ["count"]) == State(shown=False)


# --- widgets, samples and positions ---------------------------------------------------------------


def test_samples_are_the_ends_and_a_middle():
    assert PLAIN.samples() == (-1.0, 0.5, 2.0)
    assert LOG.samples() == (0.1, 1.0, 10.0)
    assert WHOLE.samples() == (2, 5, 9)
    assert all(type(number) is int for number in WHOLE.samples())
    assert MENU.samples() == (1, "2")
    assert SWITCH.samples() == (False, True)


def test_positions_for_a_page_without_a_kernel():
    steps = (-1.0, -0.75, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 1.75, 2.0)
    assert PLAIN.positions(0.25) == steps
    assert PLAIN.positions(1.25) == tuple(sorted({*steps, 1.25}))
    assert LOG.positions(3.3) == (0.1, 0.16, 0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 3.3, 4.0, 6.3, 10.0)
    odd = Number("a", 0.123, 8.88, log=True)  # two digits would lie outside
    assert (odd.positions(1.0)[0], odd.positions(1.0)[-1]) == (0.123, 8.88)
    assert WHOLE.positions(2) == (2, 3, 4, 5, 6, 7, 8, 9)
    assert TYPED.positions(7) == (0, 7, 10, 20, 30, 40, 50, 59, 69, 79, 89, 99)
    many = Choice("n", {k: str(k) for k in range(20)})
    assert many.positions(3) == tuple(range(11))
    assert many.positions(15) == (*range(11), 15)
    assert SWITCH.positions(True) == (False, True)
    assert fields.evenly_spaced(0.0, 5.0) == [0.5 * k for k in range(11)]


def test_values_as_text():
    assert (PLAIN.format_value(0.25), PLAIN.format_value(1.23456)) == ("0.25", "1.23")
    assert (WHOLE.format_value(3), MENU.format_value("2")) == ("3", "two")
    assert (SWITCH.format_value(True), SWITCH.format_value(False)) == ("on", "off")


def test_widgets_have_the_range_of_their_control():
    plain, log = PLAIN.widget(0.25), LOG.widget(2.0)
    assert (plain.value, plain.min, plain.max, plain.step) == (0.25, -1.0, 2.0, 0.25)
    assert (log.value, log.min, log.max, log.step) == (2.0, -1.0, 1.0, 1e-9)
    assert "etgp-log" in log._dom_classes
    whole, typed = WHOLE.widget(4), TYPED.widget(4)
    assert (whole.value, whole.min, whole.max, whole.step) == (4, 2, 9, 1)
    assert type(whole).__name__ == "IntSlider"
    assert type(typed).__name__ == "BoundedIntText"
    assert MENU.widget("2").options == (("one", 1), ("two", "2"))
    assert SWITCH.widget(True).value is True
    told = Number("height", 0.0, 1.0, effect="higher")
    assert (told.tooltip, PLAIN.tooltip) == ("To the right: higher.", "height")
    assert getattr(plain, fields.TOOLTIP) == "height"


# --- links ----------------------------------------------------------------------------------------


def read(text):
    return fields.read_link("Some", State, text)


def test_a_link_names_what_is_not_its_default():
    assert fields.write_link("Some", State(shown=False)) == '{"explorer":"Some"}'
    state = State(height=1.0, count=4)
    link = fields.write_link("Some", state)
    assert link == '{"explorer":"Some","height":1.0,"count":4,"shown":true}'
    assert read(link) == dataclasses.asdict(state)
    assert read('{"explorer":"Some"}')["shown"] is False  # what it meant when it was written


def test_a_link_has_a_longest_length():
    link = '{"explorer":"Some","height":1.5}'
    assert read(link)["height"] == 1.5
    assert read(link.ljust(fields.MAX_LINK_LENGTH))["height"] == 1.5
    with pytest.raises(ValueError, match=r"^link: expected at most 4000 characters, got 4001$"):
        read(link.ljust(fields.MAX_LINK_LENGTH + 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"explorer":"Some","height":1.5,"height":0.5}', "a name appears twice"),
        ('{"explorer":"Some","explorer":"Some"}', "a name appears twice"),
        ('{"explorer":"Other"}', "expected one that begins with"),
        ("[1]", "expected one that begins with"),
        ('{"height":1.0}', "expected one that begins with"),
        ("{", "this is not a link to an explorer"),
        ("[" * 3000, "this is not a link to an explorer"),
        ('{"explorer":"Some","height":NaN}', "NaN is not a number"),
        ('{"explorer":"Some","height":7}', "height: expected a number from -1 to 2, got 7"),
        ('{"explorer":"Some","width":7}', "'width': expected one of"),
        (b"{}", "expected text, got bytes"),
    ],
)  # fmt: skip
def test_a_bad_link_says_why(text, words):
    with pytest.raises(ValueError, match=f"^link: .*{re.escape(words)}"):
        read(text)


def test_a_link_makes_an_explorer_or_moves_one():
    class Some:
        State, from_link = State, sharing.FromLink()

        def __init__(self, **values):
            self.values = values

        def set(self, **values):
            self.values = values

    made = Some.from_link('{"explorer":"Some","count":4}')
    assert made.values["count"] == 4
    assert made.from_link('{"explorer":"Some","count":5}') is made
    assert made.values["count"] == 5
