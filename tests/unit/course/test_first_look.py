"""What the lessons open with: the digit reader, the cost of C classes, and the small pictures."""

import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from etgp_viz import timing
from etgp_viz.course import formulas, ideas
from etgp_viz.course.first_look import TURNS, CostOfClasses, DigitReader, summarise
from tests.unit.course.test_lesson_texts import NOTEBOOKS, prose

LESSON_00 = re.sub(r"\s+", " ", prose(NOTEBOOKS[0]))


@pytest.fixture(scope="module")
def reader():
    return DigitReader()


def said(reader, image, turn="as it is"):
    """The likeliest digit, its probability, and the label."""
    reader.image.value, reader.turn.value = image, turn
    mean = reader.probabilities.mean(axis=0)
    return int(np.argmax(mean)), float(np.max(mean)), int(reader._labels[image])


def test_the_reader_is_good_on_images_that_it_has_not_seen(reader):
    rows = reader._images.reshape(len(reader._images), -1)
    p = reader._model.predict_y(rows, samples=20)[0].numpy()
    assert np.mean(np.argmax(p, axis=1) == reader._labels.astype(int)) > 0.97
    assert len(rows) == 449
    assert "449 that it has never seen" in LESSON_00


def test_what_lesson_00_says_about_single_images(reader):
    for unsure in (399, 21):
        assert said(reader, unsure)[1] < 0.6
    digit, probability, label = said(reader, 2)
    assert digit != label
    assert probability > 0.95
    noise = [said(reader, image, "only noise")[1] for image in range(12)]
    assert np.mean(np.array(noise) > 0.9) > 0.3  # "may call noise a 1 with probability above 0.9"


def test_the_average_of_the_draws_is_the_prediction(reader):
    said(reader, 21)
    row = reader._images[21].reshape(1, -1)
    exact = reader._model.predict_y(row, samples=500)[0].numpy()[0]
    error = reader.probabilities.std(axis=0) / np.sqrt(len(reader.probabilities))
    assert np.all(np.abs(reader.probabilities.mean(axis=0) - exact) < 4 * error + 0.02)


def test_the_answers_that_come_with_the_package_are_those_of_the_model(reader):
    assert reader._answers.shape == (len(reader._images), 3, 10)
    for image in (0, 2, 21, 399, len(reader._images) - 1):
        draws = reader.draws(reader._images[image])
        np.testing.assert_allclose(reader._answers[image], summarise(draws), atol=1e-4)
    reader.image.value, reader.turn.value = 21, "upside down"
    turned = summarise(reader.draws(reader._images[21][::-1, ::-1]))[0]
    assert f"“{np.argmax(turned)}” with probability {np.max(turned):.2f}" in reader.sentence.value


def test_the_reader_answers_before_tensorflow_is_there():
    code = (
        "import sys; from etgp_viz.course.first_look import DigitReader; reader = DigitReader(); "
        "before = reader.answer.value; reader.image.value = 3; "
        "assert reader.answer.value != before and 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("turn", TURNS)
def test_every_turn_keeps_an_image(turn, reader):
    turned = TURNS[turn](reader._images[3])
    assert turned.shape == (8, 8)
    assert 0.0 <= turned.min() <= turned.max() <= 1.0


def test_the_cost_is_that_of_the_race():
    dial, table = CostOfClasses(), timing.reference()
    for C in (10, 50):
        for name, seconds in zip(dial.models, dial.seconds(C), strict=True):
            rows = table[(table["model"] == name) & (table["classes"] == C)]
            assert seconds == pytest.approx(float(rows["step"].iloc[0]), rel=0.35)
    dial.slider.value = 100
    etgp, svgp = dial.seconds(100)
    assert f">{svgp / etgp:.0f}<" in dial.sentence.value
    for dial.slider.value in (10, 100):  # at no C is the picture a measurement
        assert f"fitted to times measured up to C = {dial.measured}." in dial.sentence.value


@pytest.mark.parametrize("name", ideas.__all__)
def test_a_small_picture_moves_and_is_well_formed(name):
    idea = getattr(ideas, name)()
    before = idea.picture.value, idea.sentence.value
    for value in (idea.sentence.low, idea.sentence.high):
        idea.slider.value = value
        assert idea.sentence.value.count("data-drag") == 1
        ET.fromstring(f"<div>{idea.page}</div>")
        assert "nan" not in idea.page
        assert re.search(r"aria-label='[^']{10,}'", idea.page)
    assert (idea.picture.value, idea.sentence.value) != before


def test_a_dragged_number_moves_the_slider_and_the_picture():
    idea = ideas.change_the_variance()
    idea.sentence.number = 4.0
    assert idea.slider.value == 4.0
    assert ">2.00<" in idea.sentence.value
    assert "data-drag='' style='border-bottom: 3px dotted #0072B2'>4.00<" in idea.sentence.value
    named = ideas.change_the_kernel()
    named.sentence.number = 3.0
    assert named.slider.label == "periodic"
    assert named.picture.value != ideas.change_the_kernel().picture.value


def test_a_page_without_a_kernel_has_a_slider_too():
    idea = ideas.change_the_variance()
    idea.slider.value = 2.25
    page = ET.fromstring(idea.page)
    frames = [each for each in page.iter("div") if each.get("class") == "frame"]
    (slider,) = page.iter("input")
    assert int(slider.get("max")) + 1 == len(frames) == len(idea.positions) > 10
    (shown,) = (frame for frame in frames if frame.get("hidden") is None)
    assert frames.index(shown) == int(slider.get("value")) == idea.positions.index(2.25)
    assert "2.25" in "".join(shown.itertext())
    assert "data-drag" not in idea.page
    words = ["".join(frame.find("p").itertext()) for frame in frames]
    assert "0.25" in words[0]
    assert "4.00" in words[-1]
    assert len(ET.tostring(page)) < 200_000


def test_an_image_of_the_gallery_is_read(reader):
    numbers = [number for number, _ in reader.gallery.pictures]
    assert {2, 21, 399} <= set(numbers)  # those that the lesson names
    assert {int(reader._labels[number]) for number in numbers} == set(range(10))
    reader.gallery.chosen = 399
    assert reader.image.value == 399
    assert "written as a 7" in reader.sentence.value
    reader.image.value = 40  # not in the gallery: none is pressed
    assert reader.gallery.chosen == 40


@pytest.mark.parametrize("name", ["bound", "pivot", "proposition_1"])
def test_every_term_of_a_formula_has_its_part_of_the_picture(name):
    formula = getattr(formulas, name)()
    assert formula.value == formula.page
    page = ET.fromstring(formula.page)
    written = {button.get("data-term"): button for button in page.iter("button")}
    picture, meanings = page.find("div[@class='parts']"), page.find("div[@role='status']")
    assert list(written) == [term.name for term in formula.named]
    assert len(written) >= 3
    for term in formula.named:
        (part,) = (each for each in picture.iter() if each.get("data-term") == term.name)
        assert len(list(part.iter())) > 2
        (meaning,) = meanings.findall(f"p[@data-term='{term.name}']")
        assert meaning.text == term.meaning
        assert written[term.name].get("aria-describedby") == meaning.get("id")
        assert written[term.name].find("math") is not None
        # Under the pointer or with the focus, the part and the sentence are shown.
        for state in (":hover", ":focus"):
            assert re.search(rf"\[data-term='{term.name}'\]{state}\)", page.findtext("style"))


def test_two_formulas_of_a_page_have_ids_of_their_own():
    pages = [formulas.pivot().page for _ in range(2)]
    first, second = (set(re.findall(r" id='([^']+)'", page)) for page in pages)
    assert first
    assert not first & second


def test_what_the_small_pictures_say():
    equal = ideas.from_same_to_different()
    assert ">0.33<" in equal.sentence.value
    equal.slider.value = 1.0
    assert ">3<" in equal.sentence.value
    belief = ideas.distance_between_beliefs()
    belief.slider.value = 2.0
    assert f">{0.5 * (0.36 + 4.0 - 1.0) - np.log(0.6):.2f}<" in belief.sentence.value
    sure = ideas.be_sure()
    for probability, cost in ((0.5, "0.69"), (0.05, "3.00"), (0.005, "5.30")):  # as lesson 07 says
        sure.slider.value = probability
        assert f">{cost}<" in sure.sentence.value
    again = ideas.draw_again()
    again.slider.value = 40
    assert ">38<" in again.sentence.value  # "about 19 of 20"
    smooth = ideas.change_the_lengthscale()
    smooth.slider.value = 2.0
    assert f">{np.exp(-0.5 / 4.0):.2f}<" in smooth.sentence.value
