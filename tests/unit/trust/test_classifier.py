"""What scikit-learn promises, and files that were tampered with: quick, with one tiny fit."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from etgp_viz import ETGPClassifier
from etgp_viz.core import training
from etgp_viz.files import read_arrays, write_arrays

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
Y = np.where(X[:, 0] > 0, "right", "left")
TINY = {"num_inducing": 4, "hidden": (3,), "epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return ETGPClassifier(**TINY).fit(X, Y)


@pytest.fixture
def saved(fitted, tmp_path):
    fitted.save(tmp_path / "mine.npz")
    return tmp_path / "mine.npz"


def interrupted(*_, **__):
    """A fit in the middle of which somebody presses Ctrl-C: it returns, and says so."""
    history = {name: [] for name in training.COLUMNS}
    return training._result(history, "interrupted", 1e-6, None)


# --- interrupts and failures ----------------------------------------------------------------------


def test_an_interrupt_leaves_a_fit_as_an_interrupt(monkeypatch):
    """A half-trained classifier was returned as fitted, and scored by `cross_val_score`."""
    monkeypatch.setattr(training, "fit", interrupted)
    classifier = ETGPClassifier(**TINY)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(X, Y)
    with pytest.raises(NotFittedError):
        classifier.predict(X)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(ETGPClassifier(**TINY), X, Y, cv=2)


@pytest.mark.parametrize("error", [None, RuntimeError("x"), MemoryError()])
def test_a_fit_that_fails_leaves_the_fitted_classifier_as_it_was(fitted, monkeypatch, error):
    classifier = copy.deepcopy(fitted)
    before = classifier.predict_proba(X)

    def failing(*_, **__):
        if error is None:
            return interrupted()
        raise error

    monkeypatch.setattr(training, "fit", failing)
    with pytest.raises((KeyboardInterrupt, RuntimeError, MemoryError)):
        classifier.fit(X[:, :1] * 7.0, np.arange(24) % 3)
    assert classifier.classes_.tolist() == ["left", "right"]
    np.testing.assert_array_equal(classifier.predict_proba(X), before)


def test_epochs_and_log_probabilities(fitted):
    assert fitted.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))


# --- outliers -----------------------------------------------------------------------------------


def test_outliers_that_set_the_scale_are_told():
    """Three percent of values of 1e4 took the accuracy to 0.36, without a word."""
    classifier, wild = ETGPClassifier(), RNG.normal(size=(100, 2))
    classifier.n_features_in_ = 2
    wild[:3, 1] = 1e4
    for inputs, squeezed in ((wild, True), (wild[3:], False), (np.eye(100)[:, :2], False)):
        classifier._set_scale(inputs)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            classifier._warn_of_outliers(classifier._scaled(inputs))
        assert len(heard) == squeezed
        if squeezed:
            assert str(heard[0].message).startswith("X: outliers set the scale of the inputs 1: ")


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"hidden": (9, 9)}, {"flow": "tanh"}, {"dropout": 0.9}])
def test_settings_changed_after_the_fit_do_not_make_a_file_unreadable(fitted, tmp_path, change):
    changed = copy.deepcopy(fitted).set_params(**change)
    changed.save(tmp_path / "mine.npz")
    loaded = ETGPClassifier.load(tmp_path / "mine.npz")
    np.testing.assert_allclose(loaded.predict_proba(X), fitted.predict_proba(X))
    unpickled = pickle.loads(pickle.dumps(changed))
    np.testing.assert_allclose(unpickled.predict_proba(X), fitted.predict_proba(X))


def header_with(**changes):
    def change(arrays):
        header = json.loads(str(arrays["header"]))
        arrays["header"] = np.array(json.dumps({**header, **changes}))

    return change


def header_text(text):
    return lambda arrays: arrays.update(header=np.array(text))


def array(name, value):
    return lambda arrays: arrays.update({name: value})


Z = "parameter.inducing_variable.Z"
DAMAGE = {
    "jitter NaN": header_with(jitter=float("nan")),
    "jitter negative": header_with(jitter=-1.0),
    "jitter huge": header_with(jitter=1e300),
    "jitter true": header_with(jitter=True),
    "jitter text": header_with(jitter="1e-6"),
    "params list": header_with(params=[1, 2]),
    "params none": header_with(params=None),
    "labels list": header_with(labels=["O"]),
    "version": header_with(version=99),
    "deep JSON": header_text("[" * 100_000),
    "deep objects": header_text('{"a":' * 50_000),
    "no JSON": header_text("hello"),
    "a list": header_text("[1, 2]"),
    "huge number": header_text('{"format": ' + "9" * 5000 + "}"),
    "one class": array("classes", np.array(["a"])),
    "classes 2-d": array("classes", np.array([["a", "b"]])),
    "complex mean": array("mean", np.ones(2) * 1j),
    "scale of text": array("scale", np.array(["a", "b"])),
    "scale zero-d": array("scale", np.array(1.0)),
    "integers for Z": array(Z, np.ones((4, 2), dtype=int)),
    "Z of text": array(Z, np.full((4, 2), "a")),
    "Z not finite": array(Z, np.full((4, 2), np.nan)),
    "Z empty": array(Z, np.ones((0, 2))),
    "variance 2-d": array("parameter.kernel.variance", np.ones((3, 3))),
    "no variance": lambda arrays: arrays.pop("parameter.kernel.variance"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_was_tampered_with_is_refused(saved, damage):
    arrays = read_arrays(saved)
    damage(arrays)
    write_arrays(saved, arrays)
    message = r"^path: expected a file written by ETGPClassifier\.save, got .*mine\.npz: "
    with pytest.raises(ValueError, match=message) as caught:
        ETGPClassifier.load(saved)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_any_changed_byte_is_noticed_or_harmless(saved, fitted):
    """A flip in a file is refused with a ValueError, or the classifier is the same."""
    whole, positions = saved.read_bytes(), np.random.default_rng(1)
    expected = fitted.predict_proba(X)
    for position in positions.integers(0, len(whole), size=40):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(positions.integers(8))
        saved.write_bytes(damaged)
        try:
            loaded = ETGPClassifier.load(saved)
        except ValueError:
            continue
        np.testing.assert_array_equal(loaded.predict_proba(X), expected)


@pytest.mark.parametrize("path", [None, 3, b"mine.npz", "", "a\0b", "\ud800", ".", "/dev/zero"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match=r"^path: expected"):
        ETGPClassifier.load(path)
