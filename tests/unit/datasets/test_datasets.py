"""The record of a data set, splits and scaling, `load`, and the cards against the real files."""

import os
from pathlib import Path

import numpy as np
import pytest

from etgp_viz import datasets
from etgp_viz.datasets import Card, Dataset, fetch, tables
from etgp_viz.datasets.dataset import Table, draw_groups, draw_stratified, split_and_scale

RNG = np.random.default_rng(0)


def dataset(**changes):
    fields = {
        "name": "three",
        "X": RNG.normal(size=(6, 2)),
        "Y": [0, 1, 2, 0, 1, 2],
        "class_names": ["a", "b", "c"],
    }
    return Dataset(**fields | changes)


# --- the record ---------------------------------------------------------------------------------


def test_a_record_has_parts_and_names():
    rows = {"train": [0, 1, 2, 5], "test": [3, 4]}
    data = dataset(rows=rows, feature_names=["u", "v"])
    X, Y = data.test
    np.testing.assert_array_equal(X, data.X[[3, 4]])
    assert Y.tolist() == [[0], [1]]
    assert data.validation is None
    X, y = data.xy("train")
    assert y.tolist() == ["a", "b", "c", "c"]
    assert data.counts() == {"train": {"a": 1, "b": 1, "c": 2}, "test": {"a": 1, "b": 1, "c": 0}}
    assert repr(data) == "Dataset('three', D=2, C=3, train=4, test=2)"
    assert dataset().feature_names == ("x0", "x1")
    assert dataset().test is None


def test_a_record_cannot_be_changed():
    X = np.zeros((6, 2))
    data = dataset(X=X)
    X[0, 0] = 7.0
    assert data.X[0, 0] == 0.0
    for array in (data.X, data.Y, data.rows["train"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        data.X = X
    with pytest.raises(TypeError):
        data.rows["test"] = [1]


def test_a_record_describes_itself():
    card = Card("Three", source="here", licence="free", defects=("one is odd", "so is two"))
    text = dataset(card=card).describe()
    for words in ("6 (6 train)", "classes      3", "here", "free", "one is odd", "so is two"):
        assert words in text
    assert "none known" in dataset().describe()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"X": np.zeros(6)}, "X: expected a [N, D] array"),
        ({"X": np.full((6, 2), np.nan)}, "X: expected a [N, D] array of float64 numbers, got nan"),
        ({"Y": [0, 1, 3, 0, 1, 2]}, "Y: expected [6, 1] integer labels in 0..2, got 3 in row 2"),
        ({"Y": [0, 1]}, "Y: expected [6, 1] integer labels in 0..2, got 2 rows"),
        ({"class_names": ["a"]}, "num_classes: expected an integer ≥ 2, got 1"),
        ({"class_names": ["a", "b", "a"]}, "class_names: expected different names, got 'a' twice"),
        ({"feature_names": ["u"]}, "feature_names: expected 2 names, got 1"),
        ({"rows": {"train": [0, 1], "test": [1]}}, "rows: expected no row in two splits"),
        ({"rows": {"train": [0, 6]}}, "rows: expected row numbers in 0..5, got 6"),
        ({"rows": {"test": [0]}}, "rows: expected rows to train on, got none"),
        ({"rows": {"exam": [0]}}, "rows: expected one of 'train', 'validation', 'test', got"),
        ({"image_shape": (2, 2)}, "image_shape: expected 2 pixels, got 2 × 2"),
    ],
)
def test_a_bad_record_is_refused(changes, says):
    with pytest.raises(ValueError, match="expected") as caught:
        dataset(**changes)
    assert str(caught.value).startswith(says)


def test_a_split_that_is_not_there():
    with pytest.raises(ValueError, match="split: three has no rows for 'test'"):
        dataset().xy("test")
    with pytest.raises(ValueError, match="split: expected one of"):
        dataset().part("exam")


# --- splits and scaling -------------------------------------------------------------------------


def table(labels=None, **changes):
    labels = RNG.integers(5, size=200) if labels is None else labels
    X = 3.0 + 2.0 * RNG.normal(size=(len(labels), 3))
    fields = {"name": "t", "X": X, "labels": labels, "class_names": list("abcde")}
    return Table(**fields | {"numeric": np.array([True, True, False]), "card": Card("t")} | changes)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 0.9])
def test_a_draw_takes_its_share_of_every_class(share):
    labels = np.repeat(np.arange(5), [1, 2, 3, 40, 154])
    rows = draw_stratified(labels, share, np.random.default_rng(0))
    taken = np.bincount(labels[rows], minlength=5)
    counts = np.bincount(labels)
    assert (taken < counts).all(), "a class is left without a row"
    assert (np.floor(share * counts) <= taken + (taken == counts - 1)).all()
    assert (taken <= np.floor(share * counts) + 1).all()
    if share < 0.9:
        assert len(rows) == round(share * 200)
    assert len(np.unique(rows)) == len(rows)


def test_groups_are_drawn_whole():
    groups = np.repeat([3, 7, 8, 11], [2, 5, 1, 4])
    sizes = {share: set() for share in (0.0, 0.1, 0.5, 0.99)}
    for share, seen in sizes.items():
        for seed in range(20):
            rows = draw_groups(groups, share, np.random.default_rng(seed))
            drawn = set(groups[rows])
            assert set(np.flatnonzero(np.isin(groups, list(drawn)))) == set(rows)
            seen.add(len(drawn))
    assert sizes == {0.0: {0}, 0.1: {1}, 0.5: {2}, 0.99: {3}}


def test_splits_are_a_partition_drawn_by_seed():
    source = table()
    data = split_and_scale(source, test=0.25, validation=0.2, seed=1)
    assert sorted(np.concatenate(list(data.rows.values()))) == list(range(200))
    assert [len(data.rows[s]) for s in ("train", "validation", "test")] == [120, 30, 50]
    again, other = (split_and_scale(source, test=0.25, validation=0.2, seed=s) for s in (1, 2))
    np.testing.assert_array_equal(again.rows["validation"], data.rows["validation"])
    assert not np.array_equal(other.rows["test"], data.rows["test"])
    # Asking for validation rows leaves the test set as it was.
    plain = split_and_scale(source, test=0.25, seed=1)
    np.testing.assert_array_equal(plain.rows["test"], data.rows["test"])


def test_statistics_come_from_the_training_rows():
    source = table()
    data = split_and_scale(source, validation=0.2)
    train = data.rows["train"]
    mean, deviation = source.X[train].mean(axis=0), source.X[train].std(axis=0)
    np.testing.assert_allclose(data.X[:, :2], ((source.X - mean) / deviation)[:, :2])
    np.testing.assert_array_equal(data.X[:, 2], source.X[:, 2])


def test_a_constant_column_becomes_zero():
    X = np.full((200, 3), 0.1)
    X[:, 1] = RNG.normal(size=200)
    data = split_and_scale(table(X=X))
    assert (data.X[:, 0] == data.X[0, 0]).all()
    assert abs(data.X[0, 0]) < 1e-9


def test_a_published_test_set_is_kept():
    source = table(test=np.arange(150, 200))
    data = split_and_scale(source, validation=0.5)
    np.testing.assert_array_equal(data.rows["test"], np.arange(150, 200))
    assert len(data.rows["validation"]) == 75
    with pytest.raises(
        ValueError, match=r"test: expected None \(t has its own test set\), got 0\.3"
    ):
        split_and_scale(source, test=0.3)


# --- load ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "num_classes"),
    [("digits", (1797, 64), 10), ("wine", (178, 13), 3), ("iris", (150, 4), 3)],
)
def test_what_comes_with_scikit_learn(name, shape, num_classes):
    data = datasets.load(name, validation=0.2, seed=3)
    assert data.X.shape == shape
    assert data.num_classes == num_classes
    assert len(data.rows["test"]) == pytest.approx(shape[0] / 4, abs=1)
    if name == "digits":
        assert (data.X.min(), data.X.max(), data.image_shape) == (0.0, 1.0, (8, 8))
        assert np.flatnonzero(np.ptp(data.X, axis=0) == 0).tolist() == [0, 32, 39]
    else:
        np.testing.assert_allclose(data.train[0].mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(data.train[0].std(axis=0), 1.0)
    if name == "iris":
        assert len(np.unique(data.X, axis=0)) == 149


def test_toys_by_name():
    data = datasets.load("spirals", num_data=90, num_classes=3, noise=0.2, seed=5, test=0.2)
    toy = datasets.toys.spirals(num_data=90, num_classes=3, noise=0.2, seed=5)
    np.testing.assert_array_equal(data.X, toy.X)
    assert len(data.rows["test"]) == 18
    assert datasets.load("waves").test is None


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("mnist", {}, "name: expected one of 'vowel', 'absenteeism', "),
        ("wine", {"target": "x"}, "target: expected an option of 'wine' (it has none), got"),
        ("spirals", {"turns": 2}, "turns: expected an option of 'spirals' (num_data, num_classes"),
        ("wine", {"test": 1.5}, "test: expected a number in [0, 1), got 1.5"),
        ("wine", {"validation": -1}, "validation: expected a number in [0, 1), got -1"),
        ("wine", {"seed": 0.5}, "seed: expected an integer in 0..2147483647, got 0.5"),
        ("absenteeism", {"target": "age"}, "target: expected one of 'hours', 'reason', got 'age'"),
    ],
)
def test_bad_arguments(name, options, says):
    with pytest.raises(ValueError, match="expected") as caught:
        datasets.load(name, **options)
    assert str(caught.value).startswith(says)


# --- the real files, and what the cards say of them ---------------------------------------------

FOLDER = os.environ.get("ETGP_VIZ_DATA")
real = pytest.mark.skipif(
    not (FOLDER and (Path(FOLDER) / tables.VOWEL.file).exists()),
    reason="ETGP_VIZ_DATA has no data",
)


@real
def test_vowel():
    data = datasets.load("vowel")
    assert repr(data) == "Dataset('vowel', D=10, C=11, train=528, test=462)"
    raw = np.loadtxt(Path(FOLDER) / tables.VOWEL.file, delimiter=",")
    assert set(raw[data.rows["train"], 1]) == set(range(8))  # speakers
    assert set(raw[data.rows["test"], 1]) == set(range(8, 15))
    np.testing.assert_array_equal(raw[:, 13], data.Y[:, 0])
    restored = data.X * raw[:528, 3:13].std(axis=0) + raw[:528, 3:13].mean(axis=0)
    np.testing.assert_allclose(restored, raw[:, 3:13], atol=1e-12)
    for seed in range(3):  # a speaker of eight, with every vowel six times
        validation = datasets.load("vowel", validation=0.1, seed=seed).rows["validation"]
        assert len(set(raw[validation, 1])) == 1
        assert len(validation) == 66
    # "Each speaker says each vowel six times"
    _, counts = np.unique(raw[:, [1, 13]], axis=0, return_counts=True)
    assert (counts == 6).all()


def test_what_is_at_hand_needs_no_network(tmp_path, monkeypatch):
    monkeypatch.delenv("ETGP_VIZ_DATA", raising=False)
    monkeypatch.setenv("ETGP_VIZ_CACHE", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("asked the network"))
    assert datasets.at_hand("digits")
    datasets.obtain("digits")
    for source in (tables.AVILA_TRAIN, tables.AVILA_TEST):
        assert not datasets.at_hand("avila")
        (tmp_path / source.file).parent.mkdir(exist_ok=True)
        (tmp_path / source.file).touch()
    assert datasets.at_hand("avila")


def test_every_file_has_its_data_set():
    declared = vars(tables).values()
    used = {source for _, sources in datasets.PUBLISHED.values() for source in sources}
    assert used == {value for value in declared if isinstance(value, fetch.Source)}
    assert len(used) == 7


@real
def test_avila():
    data = datasets.load("avila")
    assert repr(data) == "Dataset('avila', D=10, C=12, train=10428, test=10437)"
    assert "".join(name[-1] for name in data.class_names) == "ABCDEFGHIWXY"
    counts = data.counts()
    assert (counts["train"]["copyist B"], counts["test"]["copyist B"]) == (5, 5)
    assert counts["train"]["copyist A"] / 10428 == pytest.approx(0.41, abs=0.005)
    assert np.abs(data.X).max() == pytest.approx(20.4, abs=0.05)
    train = data.train[0]
    lowest = [(train[:, d] == train[:, d].min()).sum() for d in (0, 2)]
    assert lowest == [307, 626]
    raw = np.genfromtxt(Path(FOLDER) / tables.AVILA_TRAIN.file, delimiter=",", usecols=range(10))
    assert raw[tables.AVILA_BROKEN].max(axis=1).round() == pytest.approx([386, 43])


@real
def test_a_copy_with_other_separators_is_the_same_table(tmp_path, monkeypatch):
    expected = datasets.load("avila")
    for source in (tables.AVILA_TRAIN, tables.AVILA_TEST):
        copy = tmp_path / source.file
        copy.parent.mkdir(exist_ok=True)
        copy.write_text((Path(FOLDER) / source.file).read_text("utf-8").replace(",", " "), "utf-8")
    monkeypatch.setenv("ETGP_VIZ_DATA", str(tmp_path))
    np.testing.assert_array_equal(datasets.load("avila").X, expected.X)


@real
@pytest.mark.parametrize(
    ("target", "num_classes", "num_inputs"), [("hours", 19, 68), ("reason", 28, 41)]
)
def test_absenteeism(target, num_classes, num_inputs):
    data = datasets.load("absenteeism", target=target)
    assert data.X.shape == (740, num_inputs)
    assert data.num_classes == num_classes
    months = [f"Month of absence = {month}" for month in range(13)]
    columns = [data.feature_names.index(month) for month in months]
    np.testing.assert_array_equal(data.X[:, columns].sum(axis=1), 1.0)
    assert data.X[:, columns[0]].sum() == 3  # "Three rows have month 0"
    raw = np.genfromtxt(Path(FOLDER) / tables.ABSENTEEISM.file, delimiter=";", skip_header=1)
    assert len(raw) - len(np.unique(raw, axis=0)) == 34
    no_reason = raw[raw[:, 1] == 0, -1]
    assert (len(no_reason), (no_reason == 0).sum()) == (43, 43)
    values, counts = np.unique(raw[:, -1 if target == "hours" else 1], return_counts=True)
    assert values[counts == 1].tolist() == ([7, 48, 104] if target == "hours" else [2, 3, 17])
    assert set(range(29)) - set(raw[:, 1]) == {20}


@real
def test_leaves100():
    data = datasets.load("leaves100", validation=0.25)
    assert repr(data) == "Dataset('leaves100', D=64, C=100, train=900, validation=300, test=400)"
    assert {n for split in data.counts().values() for n in split.values()} == {9, 3, 4}
    assert data.class_names[0] == "Acer Campestre"
    raw = np.genfromtxt(Path(FOLDER) / tables.LEAVES.file, delimiter=",")[:, 1:]
    np.testing.assert_allclose(raw * 512, np.round(raw * 512), atol=5e-3)  # steps of 1/512
    assert min(len(np.unique(column)) for column in raw.T) == 10
    assert 19 < np.abs((raw - raw.mean(axis=0)) / raw.std(axis=0)).max() < 20
