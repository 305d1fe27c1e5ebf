"""What lesson 00 opens with: a trained ETGP that reads digits, and what it costs to have C classes.

The classifier comes with the package (``tools/reference_digits.py`` makes it), so that there is
something to touch before anything has to be explained or trained. So do its answers to all test
images: they are shown, and follow the slider, before TensorFlow is loaded.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
from scipy.special import softmax

from etgp_viz.course import small_figures
from etgp_viz.course.touching import Gallery
from etgp_viz.files import read_arrays

__all__ = ["ANSWERS", "FILE", "TURNS", "CostOfClasses", "DigitReader", "draw", "summarise"]

FILE = Path(__file__).parents[1] / "reference" / "digits_classifier.npz"
ANSWERS = FILE.with_name("digits_answers.npz")  # `summarise` of what it says to each test image
DRAWS = 200  # of f₀ and of the network, for each image
#: images to click on: easy ones, two that are badly written, and one that is read wrongly
GALLERY = (0, 1, 2, 3, 4, 5, 6, 13, 21, 23, 399)

#: what can be done to an image before it is read
TURNS = {
    "as it is": lambda image: image,
    "upside down": lambda image: image[::-1, ::-1],
    "on its side": lambda image: np.rot90(image),
    "lower half erased": lambda image: np.vstack([image[:4], np.zeros((4, 8))]),
    "only noise": lambda image: np.random.default_rng(0).permutation(image.ravel()).reshape(8, 8),
}


class DigitReader(widgets.VBox):
    """Pick an image of a digit that the model has not seen, spoil it, and see what it says.

    Attributes
    ----------
    gallery, image, turn : the controls; the gallery shows a few of all images
    """

    def __init__(self) -> None:
        from etgp_viz import datasets

        self._answers = read_arrays(ANSWERS)["answers"]
        inputs, labels = datasets.load("digits").xy("test")
        self._images, self._labels = np.asarray(inputs).reshape(-1, 8, 8), np.asarray(labels)
        words = {"style": {"description_width": "initial"}, "layout": {"width": "min(32em, 95%)"}}
        self.image = widgets.IntSlider(
            21, min=0, max=len(self._images) - 1, description="image number", **words
        )
        self.turn = widgets.Dropdown(options=list(TURNS), description="shown", **words)
        self.picture, self.answer, self.sentence = (widgets.HTML() for _ in range(3))
        self.gallery = Gallery(
            pictures=[
                (i, small_figures.pixels(self._images[i], f"image {i}", 44)) for i in GALLERY
            ],
            chosen=self.image.value,
            label="images to click on",
        )
        widgets.link((self.gallery, "chosen"), (self.image, "value"))
        for control in (self.image, self.turn):
            control.observe(lambda _: self._show(), "value")
        self._show()
        both = widgets.HBox([self.picture, self.answer], layout={"flex_flow": "row wrap"})
        super().__init__([self.gallery, self.image, self.turn, both, self.sentence])

    @cached_property
    def _model(self) -> Any:
        from etgp_viz.classifier.estimator import ETGPClassifier

        return ETGPClassifier.load(FILE).model_

    @property
    def probabilities(self) -> np.ndarray:
        """Class probabilities ``[draws, C]`` of the image that is shown."""
        return self.draws(self._shown())

    def _shown(self) -> np.ndarray:
        return TURNS[self.turn.value](self._images[self.image.value])

    def draws(self, image: np.ndarray) -> np.ndarray:
        """Class probabilities ``[draws, C]`` of one image, over draws of f₀ and of the network."""
        return draw(self._model, image)

    def _show(self) -> None:
        if self.turn.value == "as it is":
            mean, low, high = self._answers[self.image.value]
        else:
            mean, low, high = summarise(self.probabilities)
        first, second = np.argsort(mean)[::-1][:2]
        said = (
            f"“{first}” with probability {mean[first]:.2f}, then “{second}” with {mean[second]:.2f}"
        )
        names = [f"digit {digit}" for digit in range(len(mean))]
        self.picture.value = small_figures.pixels(self._shown(), f"image {self.image.value}")
        self.answer.value = small_figures.bars(mean, names, low, high, said)
        label = self._labels[self.image.value]
        spoilt = "" if self.turn.value == "as it is" else f" ({self.turn.value})"
        truth = f"It was written as a {label}{spoilt}."
        self.sentence.value = f"<p role='status'>The model says {said}. {truth}</p>"

    @property
    def page(self) -> str:
        """What is shown now, for pages without a kernel."""
        return (
            f"<div class='idea'>{self.picture.value}{self.answer.value}{self.sentence.value}</div>"
        )


def draw(model: Any, image: np.ndarray) -> np.ndarray:
    """Class probabilities ``[draws, C]`` that a model gives to one image."""
    row = image.reshape(1, -1).astype(float)
    f = model.predict_f_samples(row, DRAWS, seed=0, dropout=True).numpy()[:, 0]
    return softmax(f, axis=1)


def summarise(draws: np.ndarray) -> np.ndarray:
    """Mean, 5 % and 95 % quantile of class probabilities ``[draws, C]``, as ``[3, C]``."""
    return np.stack([draws.mean(axis=0), *np.quantile(draws, [0.05, 0.95], axis=0)])


class CostOfClasses(small_figures.OneIdea):
    """Seconds of one training step of two models, for C from 3 to 100.

    The times follow the cost model that was fitted to the reference race, and the sentence says
    so, and up to which C the race went.
    """

    models = ("etgp-linear", "svgp-separate")

    def __init__(self) -> None:
        from etgp_viz import timing

        table = timing.reference()
        settings = table.attrs["settings"]
        self.measured = max(settings["classes"])
        self._fits = {name: timing.fit_cost(table, name) for name in self.models}
        self._size = {
            "num_data": settings["num_data"][0],
            "num_inducing": settings["num_inducing"][0],
            "num_inputs": settings["num_inputs"],
        }
        super().__init__(self._bars, self._words, "classes C", 3, 100, 1, 3)

    def seconds(self, classes: float) -> list[float]:
        """Seconds of a step of each model."""
        from etgp_viz.timing import Size

        size = Size(classes=int(classes), **self._size)
        return [float(fit.seconds(size)) for fit in self._fits.values() if fit is not None]

    def _bars(self, classes: float) -> str:
        longest = max(self.seconds(100))
        shares = np.array(self.seconds(classes)) / longest
        times = [f"{1e3 * value:.0f} ms" for value in self.seconds(classes)]
        rows = "".join(
            f"<text x='0' y='{34 * row + 20}' font-family='sans-serif' font-size='13' "
            f"fill='currentColor'>{name}</text><rect x='150' y='{34 * row + 5}' "
            f"width='{max(340 * share, 1):.1f}' height='22' fill='{colour}'/>"
            f"<text x='{158 + 340 * share:.1f}' y='{34 * row + 21}' font-family='sans-serif' "
            f"font-size='13' fill='currentColor'>{time}</text>"
            for row, (name, share, colour, time) in enumerate(
                zip(
                    ("one GP (ETGP)", "C GPs (SVGP)"),
                    shares,
                    (small_figures.BLUE, small_figures.RED),
                    times,
                    strict=True,
                )
            )
        )
        return small_figures.svg(570, 72, rows, f"{times[0]} against {times[1]}")

    def _words(self, classes: float) -> str:
        etgp, svgp = self.seconds(classes)
        number = small_figures.number
        return (
            f"With {small_figures.dragged(int(classes))} classes, a training step of the SVGP "
            f"takes {number(f'{svgp / etgp:.0f}', small_figures.RED)} times as long as one of the "
            f"ETGP. (By a cost model that was fitted to times measured up to C = {self.measured}.)"
        )
