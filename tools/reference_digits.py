"""Train the classifier that lesson 00 opens with, and write it and its answers into the package.

`python tools/reference_digits.py` takes about a minute; with `--answers`, the classifier stays.
"""

import sys

import numpy as np

from etgp_viz import ETGPClassifier, datasets
from etgp_viz.course.first_look import ANSWERS, FILE, draw, summarise
from etgp_viz.files import write_arrays


def write_answers() -> None:
    """Write what the classifier says to each test image."""
    model = ETGPClassifier.load(FILE).model_
    inputs, _ = datasets.load("digits").xy("test")
    answers = [summarise(draw(model, image)) for image in np.asarray(inputs)]
    write_arrays(ANSWERS, {"answers": np.array(answers, dtype=np.float32)})


def main() -> None:
    """Train on the training rows of digits, and print the accuracy on the test rows."""
    data = datasets.load("digits")
    classifier = ETGPClassifier(
        num_inducing=40, hidden=(50,), dropout=0.25, standardise=False, random_state=0, verbose=1
    )
    classifier.fit(*data.xy("train"))
    inputs, labels = data.xy("test")
    print(f"{np.mean(classifier.predict(inputs) == labels):.3f} of the test rows are right")
    classifier.save(FILE)


if __name__ == "__main__":
    if "--answers" not in sys.argv:
        main()
    write_answers()
