"""Data of your own: arrays, data frames and CSV files, and what is said when they do not fit."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from etgp_viz import datasets
from etgp_viz.datasets import from_arrays, from_csv, from_dataframe, load

NUMBERS = "an [N, D] array of numbers (from_dataframe takes columns of text)"
RNG = np.random.default_rng(0)
X = RNG.normal(5.0, 3.0, size=(40, 3))
Y = np.repeat(["low", "high", "middle", "none"], 10)


def frame(**columns):
    return pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "kind": Y} | columns)


@pytest.mark.parametrize(
    ("y", "class_names"),
    [
        (Y, ("high", "low", "middle", "none")),
        (Y[:, None], ("high", "low", "middle", "none")),
        (list(Y), ("high", "low", "middle", "none")),
        (pd.Series(Y, dtype="category"), ("high", "low", "middle", "none")),
        (np.repeat([7, -1, 30, 4], 10), ("-1", "4", "7", "30")),
        (np.repeat([7.0, -1.0, 30.0, 4.0], 10), ("-1", "4", "7", "30")),
        (np.repeat([True, False], 20), ("False", "True")),
    ],
)
def test_labels_of_any_kind(y, class_names):
    data = from_arrays(X, y, test=0.5)
    assert data.class_names == class_names
    flat = np.asarray(y).ravel()
    shown = [str(int(v)) if isinstance(v, float) else str(v) for v in flat.tolist()]
    assert [data.class_names[c] for c in data.Y[:, 0]] == shown


def test_arrays_are_split_and_scaled():
    data = from_arrays(X, Y, test=0.25, validation=0.2, feature_names=["u", "v", "w"], name="mine")
    assert repr(data) == "Dataset('mine', D=3, C=4, train=24, validation=6, test=10)"
    np.testing.assert_allclose(data.train[0].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_array_equal(from_arrays(X, Y, standardise=False).X, X)
    whole = from_arrays(X.round().astype(int), Y, test=0.0)
    assert whole.test is None


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        (X[:, 0], Y, "X: expected a [N, D] array of float64 numbers, got shape [40]"),
        (np.where(X > 9, np.inf, X), Y, f"X: expected {NUMBERS}, got inf in row"),
        (Y[:, None], Y, f"X: expected {NUMBERS}, got dtype str"),
        (X, Y[:-1], "y: expected one label for each of 40 rows, got shape [39]"),
        (X, X, "y: expected one label for each of 40 rows, got shape [40, 3]"),
        (X, X[:, 0], "y: expected one label for each of 40 rows, classes and not measurements"),
        (X, np.zeros(40), "y: expected at least two classes, got 1"),
        (X, [*Y[:-2], None, np.nan], "y: expected one label for each of 40 rows, got 2 missing"),
        (X, np.arange(40), "y: expected classes that repeat, got 40 different labels"),
    ],
)
def test_bad_arrays(x, y, says):
    with pytest.raises(ValueError, match="expected") as caught:
        from_arrays(x, y)
    assert str(caught.value).startswith(says)


def test_columns_of_a_frame():
    colours = np.tile(["red", "blue"], 20)
    whole = np.arange(40) % 7
    table = frame(colour=colours, n=whole, flag=whole > 3, group=pd.Categorical(whole % 3))
    data = from_dataframe(table, target="kind")
    groups = tuple(f"group = {g}" for g in range(3))
    names = ("u", "v", "colour = blue", "colour = red", "n", "flag", *groups)
    assert data.feature_names == names
    np.testing.assert_array_equal(data.X[:, 2], colours == "blue")
    np.testing.assert_array_equal(data.X[:, 5], whole > 3)
    np.testing.assert_array_equal(data.X[:, 6:], np.eye(3)[whole % 3])
    train = data.rows["train"]
    np.testing.assert_allclose(
        data.X[:, 4], (whole - whole[train].mean()) / whole[train].std(), atol=1e-12
    )
    assert from_dataframe(table, "kind", drop=["colour", 0]).feature_names[:2] == ("v", "n")
    by_position = from_dataframe(table, target=2)
    np.testing.assert_array_equal(by_position.X, data.X)
    raw = from_dataframe(table, "kind", standardise=False)
    np.testing.assert_array_equal(raw.X[:, :2], X[:, :2])


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (X, {}, "frame: expected a pandas data frame, got ndarray"),
        (frame().iloc[:0], {}, "frame: expected rows, got none"),
        (frame(), {"target": "sort"}, "target: expected a column ('u', 'v', 'kind'), got 'sort'"),
        (frame(), {"target": 7}, "target: expected a column ('u', 'v', 'kind'), got 7"),
        (frame(), {"target": "kind", "drop": ["w"]}, "drop: expected a column"),
        (frame(), {"target": "kind", "drop": ["kind"]}, "drop: expected columns other than the"),
        (frame()[["kind"]], {}, "frame: expected a column besides the target, got none"),
        (
            frame(a=[None, *X[1:, 0]], b=[*[None] * 2, *Y[2:]], kind=[*Y[:-1], None]),
            {"target": "kind"},
            "frame: expected no missing values, got some in the columns 'kind' (1), 'a'",
        ),
        (frame(a=[np.inf, *X[1:, 0]]), {"target": "kind"}, "frame: expected finite numbers in"),
        (frame(a=pd.date_range("2020", periods=40)), {"target": "kind"}, "frame: expected numbers"),
        (
            frame(id=[f"row {i}" for i in range(40)]),
            {"target": "kind"},
            "frame: the column 'id' has 40 different values in 40 rows; leave it out with drop=['",
        ),
        (pd.concat([frame(), frame()], axis=1), {}, "frame: expected different column names"),
        (
            frame(c=np.tile(["x", "y"], 20)).assign(**{"c = x": 1.0}),
            {"target": "kind"},
            "frame: expected different input names, got 'c = x' twice",
        ),
    ],
)
def test_bad_frames(table, options, says):
    with pytest.raises(ValueError, match=": ") as caught:
        from_dataframe(table, **options)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file_is_the_frame(tmp_path, separator):
    path = tmp_path / "mine.csv"
    table = frame(colour=np.tile(["red", "blue"], 20))
    table.to_csv(path, sep=separator, index=False)
    data, expected = from_csv(path, target="kind"), from_dataframe(table, target="kind")
    np.testing.assert_allclose(data.X, expected.X)
    np.testing.assert_array_equal(data.Y, expected.Y)
    assert data.name == "mine"
    assert data.feature_names == expected.feature_names


@pytest.mark.parametrize("odd", ["?", "n/a?", "1,5"])
def test_a_number_column_with_a_word_in_it_is_told(odd):
    numbers = [str(n) for n in range(39)]
    with pytest.raises(ValueError, match=r"^frame: the column 'w' holds numbers, but also '"):
        from_dataframe(frame(w=[*numbers, odd]), target="kind")
    kinds = from_dataframe(frame(w=np.tile(["1", "2"], 20)), target="kind")  # words on purpose
    assert kinds.feature_names[-2:] == ("w = 1", "w = 2")


def test_rows_with_missing_values_can_be_left_out():
    table = frame(w=[np.nan, np.nan, *range(38)])
    with pytest.raises(ValueError, match=r"'w' \(2\); fill them, .* or rows with missing='drop'$"):
        from_dataframe(table, target="kind")
    data = from_dataframe(table, target="kind", missing="drop")
    assert len(data.X) == 38
    assert data.card.defects == ("2 rows with missing values were left out: 'w' (2).",)
    with pytest.raises(ValueError, match=r"^frame: every row has a missing value"):
        from_dataframe(frame(w=np.full(40, np.nan)), target="kind", missing="drop")


def test_a_class_may_be_called_none(tmp_path):
    path = tmp_path / "mine.csv"
    frame(kind=np.repeat(["None", "NA", "low", "high"], 10)).to_csv(path, index=False)
    assert from_csv(path, "kind").class_names == ("NA", "None", "high", "low")
    content = path.read_text("utf-8").replace(",NA\n", ",\n", 1)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"missing values, got some in the columns 'kind' \(1\)"):
        from_csv(path, "kind")


def test_a_missing_label_does_not_make_words_of_numbers(tmp_path):
    path = tmp_path / "mine.csv"
    kinds = np.repeat(np.arange(20.0), 2)
    frame(kind=[np.nan, *kinds[1:]]).to_csv(path, index=False)
    names = from_csv(path, "kind", missing="drop", test=0.0).class_names
    assert names == tuple(map(str, range(20)))
    frame(kind=[np.nan, *X[1:, 2]]).to_csv(path, index=False)
    with pytest.raises(ValueError, match="classes and not measurements"):
        from_csv(path, "kind", missing="drop")


def test_files_of_other_habits(tmp_path):
    """A byte order mark, blank lines first, commas within quotes, decimal commas, other codes."""
    path = tmp_path / "mine.csv"
    rows = "".join(
        f"{u:.3f};{v:.3f};{kind}\n".replace(".", ",") for (u, v, _), kind in zip(X, Y, strict=True)
    )
    path.write_bytes(f'\ufeff\n"breadth, cm";"größe, cm";kind\n{rows}'.encode())
    data = from_csv(path, "kind", decimal=",", standardise=False)
    assert data.feature_names == ("breadth, cm", "größe, cm")
    np.testing.assert_allclose(data.X, X[:, :2], atol=6e-4)
    path.write_bytes(path.read_text("utf-8-sig").encode("cp1252"))
    with pytest.raises(ValueError, match=r"^path: expected a CSV file, got mine\.csv: "):
        from_csv(path, "kind", decimal=",")
    again = from_csv(path, "kind", decimal=",", encoding="cp1252", standardise=False)
    np.testing.assert_array_equal(again.X, data.X)
    assert again.feature_names == data.feature_names
    with pytest.raises(ValueError, match=r"mine\.csv: unknown encoding"):
        from_csv(path, encoding="none such")


def test_rows_may_end_in_a_separator(tmp_path):
    path = tmp_path / "mine.csv"
    frame().to_csv(path, index=False)
    expected = from_csv(path, "kind")
    header, rows = path.read_text("utf-8").split("\n", 1)
    path.write_text(header + "\n" + rows.replace("\n", ",\n"), encoding="utf-8")
    np.testing.assert_array_equal(from_csv(path, "kind").X, expected.X)


def test_what_stands_for_a_missing_value_can_be_said(tmp_path):
    path = tmp_path / "mine.csv"
    frame(w=["?", *range(39)]).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"the column 'w' holds numbers, but also '\?'"):
        from_csv(path, "kind", missing="drop")
    assert len(from_csv(path, "kind", missing="drop", na_values=["?"]).X) == 39


def test_row_numbers_are_not_an_input(tmp_path):
    path = tmp_path / "mine.csv"
    frame().to_csv(path)  # with the index
    with pytest.raises(ValueError, match=r"^path: column 1 has no name; .* drop=\[0\]"):
        from_csv(path, "kind")
    assert from_csv(path, "kind", drop=[0]).feature_names == ("u", "v")


def test_a_csv_file_can_be_loaded_by_name(tmp_path):
    path = tmp_path / "mine.csv"
    frame().to_csv(path, index=False)
    named = datasets.load(f"{path}:kind", test=0.5, validation=0.2, seed=3)
    expected = from_csv(path, "kind", test=0.5, validation=0.2, seed=3)
    np.testing.assert_array_equal(named.X, expected.X)
    for split in ("train", "validation", "test"):
        np.testing.assert_array_equal(named.rows[split], expected.rows[split])


def test_a_csv_file_without_a_header(tmp_path):
    path = tmp_path / "mine.csv"
    np.savetxt(path, np.column_stack([X, np.arange(40) % 4]), delimiter=",")
    data = from_csv(str(path), header=False)
    assert (data.X.shape, data.num_classes) == ((40, 3), 4)
    with pytest.raises(ValueError, match=r"mine\.csv: the first line holds numbers.*header=False"):
        from_csv(path)
    pd.DataFrame(np.column_stack([X, np.arange(40) % 4])).to_csv(path, index=False)
    assert from_csv(path).X.shape == (40, 3)  # a header of 0, 1, 2, 3 is one


def test_bad_csv_files(tmp_path):
    with pytest.raises(ValueError, match=r"path: expected a CSV file, got .*which does not exist"):
        from_csv(tmp_path / "none.csv")
    for content in (b"", b"\xff\xfe\x00", b"a,b\n1,2\n1,2,3\n", b"a,b\n1,2,9\n3,4,9\n"):
        path = tmp_path / "bad.csv"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"path: expected a CSV file, got bad\.csv: "):
            from_csv(path)


def test_a_csv_file_needs_no_tensorflow_and_no_scikit_learn(tmp_path):
    path = tmp_path / "mine.csv"
    frame().to_csv(path, index=False)
    code = (
        "import sys\n"
        "from etgp_viz import datasets\n"
        "assert 'pandas' not in sys.modules\n"
        "print(datasets.from_csv(sys.argv[1], 'kind'))\n"
        "assert not {'tensorflow', 'gpflow', 'sklearn', 'scipy', 'PIL'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.stdout == "Dataset('mine', D=2, C=4, train=30, test=10)\n", done.stderr


def test_the_names_are_listed():
    listed = [
        "vowel",
        "absenteeism",
        "avila",
        "devangari",
        "characterfont",
        "leaves100",
        "digits",
        "wine",
        "iris",
    ]
    assert list(datasets.names()[:9]) == listed


# --- what was misread in silence ----------------------------------------------------------------


def test_large_labels_do_not_merge_into_one_class():
    """As 64-bit integers, 1e300 and 2e300 are the same number."""
    with pytest.raises(ValueError, match=r"^y: expected labels up to 2⁵³, .*, got 2e\+300$"):
        from_arrays([[1.0], [2.0]] * 4, [1e300, 2e300] * 4)
    assert from_arrays([[1.0], [2.0]] * 4, [2.0**53, 1.0] * 4).num_classes == 2


@pytest.mark.parametrize(
    ("lines", "has_names"),
    [
        (["5.1,3.5,setosa", "4.9,3.0,setosa"], False),
        (["setosa,5.1", "setosa,4.9"], False),
        (["5.1,3.5", "4.9,3.0"], False),
        (["5,setosa", "4,setosa"], False),
        (["width,length,kind", "4.9,3.0,setosa"], True),
        (["0,1,kind", "4.9,3.0,setosa"], True),
        (["2019,2020,2021,kind", "4.9,3.0,1.0,setosa"], True),
        (["0,1,2", "4.9,3.0,9"], True),
        (["colour,kind", "red,setosa"], True),
        (["7,kind", "red,9"], True),
    ],
)
def test_a_first_line_of_data_is_not_lost(tmp_path, lines, has_names):
    """With words as labels, the first row of a file without names became its header."""
    path = tmp_path / "flowers.csv"
    rest = [lines[1], lines[1].replace("setosa", "virginica").replace("9", "8")]
    path.write_text("\n".join([lines[0], *rest * 3]))
    if has_names:
        assert len(from_csv(path, test=0.0).X) == 3 * len(rest)
    else:
        with pytest.raises(ValueError, match=r"if it is data, pass header=False"):
            from_csv(path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"separator": ",,"}, "separator: expected a single character, got ',,'"),
        ({"separator": ""}, "separator: expected a single character, got ''"),
        ({"separator": 7}, "separator: expected a single character, got 7"),
        ({"decimal": ""}, "decimal: expected a single character, got ''"),
        ({"decimal": ".."}, "decimal: expected a single character, got '..'"),
        ({"encoding": None}, "encoding: expected the name of an encoding"),
        ({"encoding": "klingon"}, "path: expected a CSV file"),
        ({"na_values": 3}, "na_values: expected a list of texts"),
        ({"na_values": "?"}, "na_values: expected a list of texts"),
        ({"target": ["kind"]}, "target: expected a column"),
        ({"target": None}, "target: expected a column"),
    ],
)
def test_a_strange_option_is_named(tmp_path, options, says):
    path = tmp_path / "a.csv"
    path.write_text("size,kind\n1,a\n2,a\n8,b\n9,b\n")
    with pytest.raises(ValueError, match="expected") as caught:
        from_csv(path, **options)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"\xff\xfe\x00", b"x" * 2_000_000, b'"' + b"x" * 200_000, b"a,b\n" + b"\0" * 99],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^(path|target|frame|y): ") as caught:
        from_csv(path)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes and devices of this kind")
def test_a_pipe_or_an_endless_device_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero", tmp_path):
        with pytest.raises(ValueError, match=r"^path: expected a CSV file, got .*ordinary file$"):
            from_csv(path)


@pytest.mark.parametrize("name", [None, 3, [], b"iris", "", "\ud800.csv:a", "a\0.csv:b"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match=r"^(name|path): expected"):
        load(name)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"drop": 3}, "drop"),
        ({"drop": None}, "drop"),
        ({"drop": "a"}, "drop"),
        ({"drop": [[1]]}, "drop"),
        ({"decimal": None}, "decimal"),
        ({"separator": ",,"}, "separator"),
        ({"na_values": "?"}, "na_values"),
        ({"na_values": [["?"]]}, "na_values"),
        ({"target": [1]}, "target"),
        ({"target": 10**5000}, "target"),
        ({"name": 3}, "name"),
        ({"encoding": "nobody's"}, "path"),
    ],
)
def test_a_bad_option_of_a_csv_file_is_named(tmp_path, options, name):
    path = tmp_path / "mine.csv"
    path.write_text("a,b,kind\n1,2,x\n2,3,y\n3,4,x\n5,6,y\n")
    with pytest.raises(ValueError, match=rf"^{name}: expected .+, got .+"):
        from_csv(path, **options)


def test_a_file_whose_rows_are_longer_than_its_names_is_refused_also_without_labels(tmp_path):
    """A label that may be missing is read a second time, as text."""
    path = tmp_path / "mine.csv"
    path.write_bytes(b"c,b\nx,y,None\nNone,\x00\n\r,2020-01-01\n2.5")
    with pytest.raises(ValueError, match=r"^path: expected a CSV file, got mine\.csv: its rows"):
        from_csv(path, target=0)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [[1], [2], [3], [4]], "kind": [*"xyxy"]},
        {"a": [1, 2, 3, 4], "kind": [[1], [2], [1], [2]]},
        {None: [1, 2, 3, 4], "kind": [*"xyxy"]},
        {("a", 1): [1, 2, 3, 4], ("kind", 2): [*"xyxy"]},
    ],
    ids=["lists as inputs", "lists as labels", "no name", "two levels"],
)
def test_a_frame_that_is_not_a_plain_table_is_refused(columns):
    with pytest.raises(ValueError, match=r"^(frame|y): expected .+, got .+"):
        from_dataframe(pd.DataFrame(columns))
