"""Train the classifier that lesson 00 opens with, and write it into the package.

`python tools/reference_digits.py` takes about a minute.
"""

import numpy as np

from etgp_viz import ETGPClassifier, datasets
from etgp_viz.course.first_look import FILE


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
    main()
