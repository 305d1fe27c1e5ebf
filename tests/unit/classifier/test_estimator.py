"""`ETGPClassifier`: what it learns, its settings, its company, and its file."""

import copy
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import gpflow
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import classification_report
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from etgp_viz import ETGPClassifier, flows
from etgp_viz.classifier.base import parameter_values
from etgp_viz.datasets import from_csv, toys
from etgp_viz.datasets.dataset import draw_stratified

pytestmark = pytest.mark.slow  # all together; see `make test-fast`

ROOT = Path(__file__).parents[3]
SMALL = {"num_inducing": 10, "hidden": (10,), "epochs": 60, "learning_rate": 0.1}
X, Y = toys.blobs(num_data=90, num_classes=3, noise=0.4).train
NAMES = np.array(["ape", "bee", "cat"])[Y[:, 0]]


def small(**options):
    return ETGPClassifier(**SMALL | {"random_state": 0} | options)


@pytest.fixture(scope="module")
def fitted():
    """A classifier of string labels, fitted to a data frame."""
    return small().fit(pd.DataFrame(X, columns=["u", "v"]), NAMES)


def frame(inputs=X):
    return pd.DataFrame(inputs, columns=["u", "v"])


# --- learning and predicting --------------------------------------------------------------------


def test_it_learns_names_from_a_frame(fitted):
    assert fitted.classes_.tolist() == ["ape", "bee", "cat"]
    assert fitted.feature_names_in_.tolist() == ["u", "v"]
    assert fitted.score(frame(), NAMES) > 0.95
    probabilities = fitted.predict_proba(frame())
    assert probabilities.shape == (90, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(frame())
    )


def test_it_is_the_model_on_standardised_inputs(fitted):
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_array_equal(fitted.predict_proba(frame()), fitted.model_.predict_y(scaled)[0])
    assert fitted.model_.inducing_variable.num_inducing == 10
    assert len(fitted.history_.elbo) == 60


def test_bayesian_predictions_average_dropout_draws(fitted):
    bayesian = copy.deepcopy(fitted).set_params(prediction="ba", samples=7)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = fitted.model_.predict_y(scaled, samples=7)[0]
    np.testing.assert_array_equal(bayesian.predict_proba(frame()), expected)
    assert not np.allclose(expected, fitted.predict_proba(frame()), atol=1e-4)
    assert bayesian.__sklearn_tags__().non_deterministic
    assert not fitted.__sklearn_tags__().non_deterministic


def test_a_raised_jitter_is_used_in_predictions(fitted, monkeypatch):
    seen = []
    original = type(fitted.model_).predict_y

    def predict_y(self, *args, **options):
        seen.append(gpflow.default_jitter())
        return original(self, *args, **options)

    monkeypatch.setattr(type(fitted.model_), "predict_y", predict_y)
    monkeypatch.setattr(fitted, "_jitter", 1e-4)
    fitted.predict(frame())
    assert seen == [1e-4]
    assert gpflow.default_jitter() == 1e-6


@pytest.mark.slow
def test_inputs_as_they_are():
    raw = small(standardise=False, epochs=2).fit(X, Y[:, 0])
    np.testing.assert_array_equal(raw.mean_, 0.0)
    np.testing.assert_array_equal(raw.predict_proba(X), raw.model_.predict_y(X)[0])


@pytest.mark.slow
def test_a_constant_input_and_few_rows():
    inputs = np.column_stack([X, np.full(90, 0.1)])[:8]
    few = small(num_inducing=100, batch_size=1000, epochs=2).fit(inputs, Y[:8, 0])
    assert few.model_.inducing_variable.num_inducing == 8
    assert few.scale_[2] == 1.0
    assert np.isfinite(few.predict_proba(inputs + 1.0)).all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"epochs": None, "batch_size": 30}, (667, 30)),  # 3 steps an epoch
        ({"epochs": None, "batch_size": 500}, (2000, 90)),
        ({"epochs": 3, "batch_size": 40}, (3, 40)),
    ],
)
def test_the_steps_are_bounded_whatever_the_rows(fitted, monkeypatch, options, expected):
    asked = []

    def fit(model, data, *, epochs, batch_size, learning_rate, half_life, **others):
        asked.append((epochs, batch_size))
        assert learning_rate * 0.5 ** (epochs / half_life) == pytest.approx(0.001)
        return fitted.history_

    monkeypatch.setattr("etgp_viz.core.training.fit", fit)
    small(**options).fit(X, NAMES)
    assert asked == [expected]


@pytest.mark.slow
def test_a_seed_repeats_a_fit():
    first, second, other = (small(random_state=s, epochs=5).fit(X, NAMES) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert not np.allclose(first.predict_proba(X), other.predict_proba(X))


@pytest.mark.slow
def test_early_stopping_keeps_what_validates_best():
    """Random labels: the longer the training, the worse the validation."""
    rng = np.random.default_rng(0)
    inputs, labels = rng.normal(size=(80, 2)), rng.integers(3, size=80)
    model = small(epochs=400, validation=0.5, patience=30, num_inducing=30).fit(inputs, labels)
    scores = model.history_.validation
    best = int(np.argmax(scores))
    assert model.history_.stopped == "callback"
    assert len(scores) == best + 31 < 400
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    rows = draw_stratified(labels, 0.5, np.random.default_rng(seed))
    held_out = model.predict_proba(inputs[rows])[np.arange(len(rows)), labels[rows]]
    assert np.log(held_out).mean() == pytest.approx(scores[best], rel=1e-9)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"flow": "cubic"}, "flow: expected one of 'linear', 'sal', 'tanh', 'arcsinh', "),
        ({"num_inducing": 0}, "num_inducing: expected an integer ≥ 1, got 0"),
        ({"hidden": (0,)}, "hidden: expected an integer ≥ 1, got 0"),
        ({"dropout": 1.0}, "dropout: expected a number in [0, 1), got 1.0"),
        ({"weight_decay": -1.0}, "weight_decay: expected a finite number ≥ 0, got -1.0"),
        ({"epochs": 0}, "epochs: expected an integer ≥ 1, got 0"),
        ({"batch_size": 0}, "batch_size: expected an integer ≥ 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate: expected a finite number > 0, got 0.0"),
        ({"prediction": "map"}, "prediction: expected one of 'pe', 'ba', got 'map'"),
        ({"samples": 0}, "samples: expected an integer ≥ 1, got 0"),
        ({"validation": 1.0}, "validation: expected a number in [0, 1), got 1.0"),
        ({"patience": 0}, "patience: expected an integer ≥ 1, got 0"),
    ],
)
def test_bad_settings_are_named(options, says):
    with pytest.raises(ValueError, match="expected") as caught:
        small(**options).fit(X, NAMES)
    assert str(caught.value).startswith(says)


def test_one_class_is_not_enough():
    with pytest.raises(ValueError, match="y: expected at least two classes, got 1 class"):
        small().fit(X, np.zeros(90))


@pytest.mark.slow
def test_importing_it_loads_no_tensorflow():
    code = (
        "import sys, etgp_viz.classifier\n"
        "assert 'sklearn' not in sys.modules\n"
        "from etgp_viz.classifier import ETGPClassifier\n"
        "assert etgp_viz.ETGPClassifier is ETGPClassifier\n"
        "ETGPClassifier()\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.slow
def test_progress_is_shown_when_asked_for(capsys):
    small(verbose=1, epochs=2).fit(X, NAMES)
    assert "ELBO" in capsys.readouterr().err


# --- in company ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_in_a_pipeline_and_a_grid_search():
    steps = make_pipeline(MinMaxScaler(), small())
    grid = {"etgpclassifier__hidden": [(), (10,)], "etgpclassifier__flow": ["linear"]}
    search = GridSearchCV(steps, grid, cv=2).fit(frame(), NAMES)
    assert search.best_score_ > 0.9
    assert len(search.cv_results_["mean_test_score"]) == 2
    assert set(search.predict(frame())) <= {"ape", "bee", "cat"}


@pytest.mark.slow
def test_a_csv_file_of_many_classes_goes_straight_through(tmp_path):
    """Numbers, 25 classes, thousands of rows: file → data set → classifier → report."""
    toy = toys.blobs(num_data=3000, num_classes=25, noise=0.05)
    table = pd.DataFrame(toy.X * [100.0, 0.01], columns=["width", "height"])
    path = tmp_path / "mine.csv"
    table.assign(species=[f"s{c}" for c in toy.Y[:, 0]]).to_csv(path, index=False)

    data = from_csv(path, target="species")
    classifier = ETGPClassifier(epochs=60, num_inducing=50, random_state=0)
    classifier.fit(*data.xy("train"))
    inputs, labels = data.xy("test")
    report = classification_report(labels, classifier.predict(inputs), output_dict=True)
    assert data.num_classes == 25
    assert report["accuracy"] > 0.97


# --- the file -----------------------------------------------------------------------------------


def test_a_file_brings_it_back(fitted, tmp_path):
    path = tmp_path / "folder" / "model.npz"
    fitted.save(path)
    again = ETGPClassifier.load(path)
    np.testing.assert_array_equal(again.predict_proba(frame()), fitted.predict_proba(frame()))
    np.testing.assert_array_equal(again.predict(frame()), fitted.predict(frame()))
    assert again.get_params() == fitted.get_params()
    assert again.feature_names_in_.tolist() == ["u", "v"]
    assert again.history_ is None
    assert again.classes_.dtype == fitted.classes_.dtype
    assert [file.name for file in path.parent.iterdir()] == ["model.npz"]


@pytest.mark.parametrize("flow", ["spline", "inverse-boxcox"])
def test_a_flow_of_the_zoo_comes_back(flow, tmp_path):
    one = small(flow=flow, epochs=3).fit(X, NAMES)
    one.save(tmp_path / "m.npz")
    again = ETGPClassifier.load(tmp_path / "m.npz")
    assert again.model_.network.flow == one.model_.network.flow != flows.Linear()
    np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))


def test_one_hidden_layer_may_be_a_number(tmp_path):
    one = small(hidden=7, epochs=2).fit(X, NAMES)
    one.save(tmp_path / "m.npz")
    again = ETGPClassifier.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))
    assert again.hidden == (7,)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 5, 8]),
        np.array([-1, 0, 1], dtype=np.int8),
        np.array([0.0, 1.0, 2.0]),
        np.array(["a", "ö", "Ω"]),
        np.array(["a", "b", "c"], dtype=object),
    ],
)
def test_labels_of_every_kind_come_back(fitted, tmp_path, labels):
    renamed = copy.deepcopy(fitted)
    renamed.classes_ = labels
    renamed.save(tmp_path / "m.npz")
    again = ETGPClassifier.load(tmp_path / "m.npz")
    assert again.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(again.classes_, labels)


@pytest.mark.slow
def test_booleans_come_back(tmp_path):
    model = small(epochs=1).fit(X, Y[:, 0] > 0)
    model.save(tmp_path / "m.npz")
    again = ETGPClassifier.load(tmp_path / "m.npz")
    assert again.predict(X).dtype == bool
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_cannot_be_saved(fitted, tmp_path):
    with pytest.raises(NotFittedError):
        small().save(tmp_path / "m.npz")
    strange = copy.deepcopy(fitted)
    strange.classes_ = np.array([("a",), ("b",), ("c",)], dtype=[("x", "U1")])
    with pytest.raises(ValueError, match="classes_: expected labels that are strings, numbers"):
        strange.save(tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def arrays_of(fitted, tmp_path):
    fitted.save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        return dict(file.items())


def header_with(arrays, **changes):
    header = json.loads(str(arrays["header"]))
    params = header["params"] | changes.pop("params", {})
    return np.array(json.dumps(header | {"params": params} | changes))


class Bomb:
    """Ends the test run if it is ever unpickled."""

    def __reduce__(self):
        return (exit, ("unpickled",))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda a: a | {"header": header_with(a, version=99)}, "it has format version 99"),
        (lambda a: a | {"header": header_with(a, format="other")}, "it holds something else"),
        (lambda a: a | {"header": np.array("[1, 2]")}, "it holds something else"),
        (lambda a: a | {"header": np.array("{")}, "property name"),
        (lambda a: a | {"header": np.array([Bomb()], dtype=object)}, "Object arrays cannot be"),
        (lambda a: a | {"classes": np.array([Bomb()] * 3, dtype=object)}, "Object arrays cannot"),
        (lambda a: a | {"header": header_with(a, params={"evil": 1})}, "settings differ in evil"),
        (
            lambda a: a | {"header": header_with(a, params={"flow": "os"})},
            "flow: expected one of 'linear'",
        ),
        (
            lambda a: a | {"header": header_with(a, params={"hidden": [10**9, 10**9]})},
            "its network has more weights than the file holds",
        ),
        (lambda a: a | {"header": header_with(a, params={"hidden": [9]})}, "shape"),
        (lambda a: a | {"mean": a["mean"][:1]}, "its labels or scales have the wrong shape"),
        (lambda a: a | {"scale": a["scale"] * np.nan}, "scale does not hold finite numbers"),
        (lambda a: a | {"classes": a["classes"][:1]}, "its labels or scales have the wrong shape"),
        (lambda a: {k: v for k, v in a.items() if k != "mean"}, "mean"),
        (lambda a: {k: v for k, v in a.items() if "q_mu" not in k}, "q_mu"),
        (
            lambda a: a | {"parameter.inducing_variable.Z": np.zeros((4, 3))},
            "its inducing points have the wrong shape",
        ),
    ],
)
def test_a_hostile_file_is_refused(fitted, tmp_path, damage, says):
    path = tmp_path / "bad.npz"
    np.savez(path, **damage(arrays_of(fitted, tmp_path)))
    with pytest.raises(ValueError, match="path: expected a file written by") as caught:
        ETGPClassifier.load(path)
    assert says in str(caught.value)


def test_a_broken_file_is_refused(fitted, tmp_path):
    arrays = arrays_of(fitted, tmp_path)
    content = (tmp_path / "good.npz").read_bytes()
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    long = io.BytesIO()
    with zipfile.ZipFile(long, "w") as archive:
        archive.writestr(
            "header.npy",
            b"\x93NUMPY\x01\x00F\x00{'descr': '<f8', 'fortran_order': "
            b"False, 'shape': (1000000000000,)}  \n",
        )
    path = tmp_path / "bad.npz"
    for damaged, says in (
        (content[: len(content) // 2], "not a zip file"),
        (content.replace(arrays["mean"].tobytes(), bytes(16)), "Bad CRC-32"),
        (b"", "not a zip file"),
        (b"hello", "not a zip file"),
        (packed.getvalue(), "its arrays are compressed"),
        (long.getvalue(), "allocate"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="path: expected a file written by") as caught:
            ETGPClassifier.load(path)
        assert says in str(caught.value)
    with pytest.raises(ValueError, match="path: expected a file written by"):
        ETGPClassifier.load(tmp_path / "none.npz")
    with pytest.raises(ValueError, match="path: expected a file written by"):
        ETGPClassifier.load(tmp_path)


def test_a_copy_has_the_same_values(fitted):
    stored = parameter_values(fitted.model_)
    other = copy.deepcopy(fitted)
    assert other.model_ is not fitted.model_
    assert parameter_values(other.model_).keys() == stored.keys()
    for path, value in parameter_values(other.model_).items():
        np.testing.assert_array_equal(value, stored[path])
