"""Classifiers that version 0.1.0 saved still open and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pytest

from etgp_viz.classifier import ETGPClassifier

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0_1_0"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
X = np.array(EXPECTED["X"])


@pytest.mark.parametrize("flow", EXPECTED["classifiers"])
def test_a_saved_classifier_opens(flow):
    expected = EXPECTED["classifiers"][flow]
    classifier = ETGPClassifier.load(FIXTURES / f"classifier-{flow}.npz")
    assert classifier.flow == flow
    assert classifier.predict(X).tolist() == expected["labels"]
    probabilities = np.array(expected["probabilities"])
    predicted = classifier.predict_proba(X[: len(probabilities)])
    np.testing.assert_allclose(predicted, probabilities, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("flow", EXPECTED["classifiers"])
def test_it_is_saved_in_the_same_format(flow, tmp_path):
    path = FIXTURES / f"classifier-{flow}.npz"
    ETGPClassifier.load(path).save(tmp_path / "again.npz")
    with np.load(path) as before, np.load(tmp_path / "again.npz") as after:
        assert set(before) == set(after)
        header = json.loads(str(after["header"]))
        assert header == json.loads(str(before["header"]))
        assert header["format"] == "etgp_viz.ETGPClassifier"
        for name in set(before) - {"header"}:
            np.testing.assert_array_equal(before[name], after[name])
