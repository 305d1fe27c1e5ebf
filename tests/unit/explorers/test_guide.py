"""Guided tours, through the card that leads a reader; test_explorers.py walks through all."""

import pytest

from etgp_viz.explorers import PosteriorExplorer, Preset, Step, tours
from etgp_viz.explorers.guide import HOW

KIND = PosteriorExplorer


@pytest.fixture
def guide(explorer):
    yield explorer._guide
    explorer._guide.stop()


@pytest.fixture
def card(explorer, guide):
    explorer._on_message({"preset": "Guided tour"})
    return guide.card


def go(guide, where="on"):
    guide._on_message({"go": where})


def test_a_tour_begins_with_its_story_and_says_how_it_works(explorer, guide, card):
    assert card.say == f"{tours.POSTERIOR.story} {HOW}"
    assert (card.count, card.onward, card.is_first) == ("a tour of 5 steps", "next", True)
    assert explorer._page._note.children == (card,)
    assert explorer._page.frame.preset == guide.name == "Guided tour"
    assert explorer.state.observations == ()


def test_a_step_marks_its_place_and_waits_for_the_move_of_the_reader(explorer, guide, card):
    go(guide)
    assert (card.target, card.place) == (".etgp-figure-functions", "picture: Functions")
    go(guide)
    assert card.target == ".etgp-field-observations"
    assert (card.onward, card.is_done, card.then) == ("show me", False, "")
    explorer.set(noise=0.2)  # not the move
    assert not card.is_done
    explorer.on_click("functions", "xy", 2.0, -1.0)
    assert card.is_done
    assert card.then.startswith("Every function that misses")
    assert card.onward == "next"
    go(guide)
    assert explorer.state.observations == (2.0, -1.0)  # the reader's own, not the tour's
    assert card.target == ".etgp-field-lengthscale"


def test_a_reader_can_be_shown_and_go_back_and_leave(explorer, guide, card):
    for _ in range(3):
        go(guide)
    assert card.is_done  # shown
    assert explorer.state.observations == (0.5, 1.0)
    go(guide)
    go(guide, "back")
    assert (card.count, card.is_done) == ("step 2 of 5", False)
    assert explorer.state.observations == ()
    go(guide, "back")
    go(guide, "back")
    assert card.is_first
    go(guide, "end")
    assert explorer._page._note.children == ()
    assert explorer._page.frame.preset == ""


def test_a_reader_who_is_ahead_finds_something_to_do(explorer, guide, card):
    for _ in range(3):
        go(guide)
    explorer.set(lengthscale=4.0)  # what the next step will ask for
    go(guide)
    assert not card.is_done
    assert explorer.state.lengthscale == 1.0


def test_a_step_chooses_its_view_and_unfolds_its_group(explorer, guide):
    frame = explorer._page.frame
    group = next(g for g in explorer._page._groups if g.has(explorer.controls["turn"]))
    group.fold(True)
    steps = (Step("Look.", "picture: kernel"), Step("Turn.", "turn", view="Evidence"))
    explorer.add_preset("Mine", Preset("Short.", steps=steps))
    frame.hides = True
    explorer._on_message({"preset": "Mine"})
    go(guide)
    assert frame.views[frame.view][0] == "Kernel"
    go(guide)
    assert frame.views[frame.view][0] == "Evidence"
    assert "etgp-folded" not in group._dom_classes
    frame.hides, frame.view = False, 0


def test_a_button_can_be_the_move(explorer, guide):
    steps = (
        Step("Press it.", "maximise the evidence", until="maximise the evidence", then="Done."),
        Step("Another draw.", "resample", until="resample"),
    )
    explorer.add_preset("Buttons", Preset("Two buttons.", steps=steps))
    explorer._on_message({"preset": "Buttons"})
    go(guide)
    card = guide.card
    assert card.target == ".etgp-button-maximise-the-evidence"
    guide._buttons["maximise the evidence"].click()
    assert (card.then, card.is_done) == ("Done.", True)
    go(guide)
    assert card.target == '[data-action="resample"]'
    explorer._on_message({"do": "resample"})
    assert card.is_done
    assert card.onward == "finish"
    go(guide)
    assert guide.name == ""


def test_a_note_covers_the_card_for_a_while(explorer, guide, card):
    explorer._on_message({"do": "table"})
    assert card not in explorer._page._note.children
    explorer._page._close.click()
    assert explorer._page._note.children == (card,)
    explorer._on_message({"do": "reset"})
    assert explorer._page.frame.preset == "Guided tour"
    explorer._on_message({"preset": "Noise"})
    assert guide.name == ""
    assert "Noise" in explorer._page._note.children[0].value


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (Step("?", "lenghtscale"), "at: expected a place of functions, evidence"),
        (Step("?", "kernel"), "at: say 'control: kernel' or 'picture: kernel'"),
        (Step("?", "period"), "the control 'period' is hidden"),
        (Step("?", values={"noise": 7.0}), "noise: expected a number"),
        (Step("?", view="Nowhere"), "view: expected one of Functions"),
        (Step("?", until="press"), "until: expected a button of undo"),
        (Step("?", until=lambda s: s.noise == 1.0, move={"draws": 2}), "own move does not end"),
        (Step("?", until=lambda s: s.noise < 1.0, move={"noise": 0.0}), "true on arrival"),
    ],
)
def test_a_tour_that_cannot_work_is_refused_with_its_step(explorer, step, says):
    before = list(explorer.presets)
    with pytest.raises(ValueError, match=rf"^step 2: .*{says}"):
        explorer.add_preset("Broken", Preset("", steps=(Step("Fine.", "functions"), step)))
    assert list(explorer.presets) == before == explorer._page.frame.presets
