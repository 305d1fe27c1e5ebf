"""What docs/security.md promises and no other file here tests: text, code, rights, archives."""

import ast
import csv
import io
import os
import stat
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etgp_viz.cli.doctor import Finding, Report
from etgp_viz.course.checking import WRONG, Reply
from etgp_viz.course.progress import Record, Table
from etgp_viz.datasets import Dataset, fetch
from etgp_viz.figures import plotting
from etgp_viz.figures.results import class_lines, confusion, hardest, projection
from etgp_viz.files import replacing, write
from etgp_viz.records.close_up import Confusion, Hardest, Lines, Projection
from etgp_viz.records.own_data import in_the_plane

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "etgp_viz").rglob("*.py"))
EVIL = "<script>alert(1)</script><a href='https://evil'>x</a>&lt;b&gt;\x1b[2J\n=HYPERLINK(0)"
any_text = st.one_of(st.text(max_size=40), st.just(EVIL), st.just("</p><img src=x onerror=1>"))
quick = settings(max_examples=60, deadline=None)


class Tags(HTMLParser):
    """The tags and the text of a piece of HTML."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))

    def handle_data(self, data):
        self.text += data


# --- text in HTML, plotly and CSV -----------------------------------------------------------------


@given(any_text)
@quick
def test_text_in_html_is_text(text):
    made = {
        "reply": lambda t: Reply(WRONG, t, t, t, t)._repr_html_(),
        "table": lambda t: Table(((t, ((t, Record()),)),), t)._repr_html_(),
        "report": lambda t: Report((Finding(t, False, t, t),))._repr_html_(),
    }
    for make in made.values():
        # Non-empty plain text in its place has the same tags: none comes from the text itself.
        assert Tags(make(text or "x")).tags == Tags(make("x")).tags


def test_text_on_the_page_of_an_explorer_is_text():
    from etgp_viz.explorers.page import Frame, Page

    page = Page({}, (), {}, (), Frame(), lambda _: None)
    page.show_title(EVIL)
    page.show_summary(EVIL)
    assert [tag for tag, _ in Tags(page._title.value).tags] == ["h3"]
    assert [tag for tag, _ in Tags(page.message).tags] == ["p"]
    page.warn(EVIL)
    assert [tag for tag, _ in Tags(page.message).tags] == ["p"]


@given(any_text)
@quick
def test_plotly_shows_names_letter_by_letter(name):
    shown = plotting.plain_text(name)
    assert Tags(shown).tags == []
    assert shown.isprintable()
    assert "<" not in shown


def texts(figure):
    """All texts of a figure that plotly would take tags from."""
    found = []

    def walk(value):
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, (list, tuple, np.ndarray)):
            for item in value:
                walk(item)

    walk(figure.to_plotly_json())
    return found


def test_names_of_classes_bring_no_tags_into_figures():
    names, t = (EVIL, "<b>dog</b>"), np.linspace(0.0, 1.0, 3)
    two = np.zeros((2, 2))
    for picture, record in (
        (confusion, Confusion(names, np.eye(2, dtype=int))),
        (hardest, Hardest(np.arange(2), names, names, t[:2], t[:2], None)),
        (class_lines, Lines("a", t, np.arange(2), names, np.ones((2, 3)), 2)),
        (projection, Projection(two, np.arange(2), two, names, True)),
    ):
        for text in texts(picture.make(record)):
            allowed = {"b", "br", "i", "span", "extra"}
            assert {tag for tag, _ in Tags(text).tags} <= allowed
            assert "evil" not in " ".join(str(attrs) for _, attrs in Tags(text).tags)


def test_names_of_your_own_data_move_no_cursor_and_turn_no_sentence():
    names, rows = ("a\x1b[2J\nb", "\u202ec"), np.arange(8.0)[:, None]
    data = Dataset("d\n", rows, np.arange(8) % 2, names, feature_names=("x\r",))
    own = in_the_plane(data)
    for text in (own.name, own.words, *own.class_names, *own.axes):
        assert text.isprintable()


@given(any_text)
@quick
def test_numbers_of_a_figure_hold_no_formula(name):
    figure = go.Figure(go.Scatter(x=["=1+1", "b"], y=[-1.0, 2.0], name=name))
    rows = list(csv.reader(io.StringIO(plotting.table({name: figure}))))[1:]
    for figure_name, trace, x, y, _ in rows:
        for cell in (figure_name, trace, x):
            assert not cell.lstrip(" \ufffd").startswith(("=", "+", "-", "@"))
        assert float(y) in (-1.0, 2.0)


# --- code ---------------------------------------------------------------------------------------


FORBIDDEN = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_that_is_loaded_is_executed(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN, f"line {node.lineno}"
            for keyword in node.keywords:
                value = getattr(keyword.value, "value", None)
                assert (keyword.arg, value) != ("shell", True), f"line {node.lineno}"
                assert (keyword.arg, value) != ("allow_pickle", True), f"line {node.lineno}"
            called = ast.unparse(node.func)
            assert called not in ("os.system", "os.popen"), f"line {node.lineno}"
            assert not called.endswith(".extractall"), f"line {node.lineno}"
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_MODULES
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN_MODULES


def test_nothing_listens_to_the_world():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert "0.0.0.0" not in text, path
        assert 'create_server(("",' not in text, path


# --- rights -------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_a_file_is_nobody_else_s_while_it_is_written_and_has_the_usual_rights_then(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "mine.npz") as file:
            file.write(b"secret")
            (partial,) = tmp_path.iterdir()
            assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "mine.npz").stat().st_mode) == 0o640
        (tmp_path / "mine.npz").chmod(0o600)
        write(tmp_path / "mine.npz", "more")
        assert stat.S_IMODE((tmp_path / "mine.npz").stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(tmp_path):
    (tmp_path / "precious").write_text("as it was")
    (tmp_path / "progress.json").symlink_to(tmp_path / "precious")
    write(tmp_path / "progress.json", "{}")
    assert (tmp_path / "precious").read_text() == "as it was"
    assert not (tmp_path / "progress.json").is_symlink()


# --- archives -----------------------------------------------------------------------------------


def archive(**members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name.replace("__", "/"), data)
    content.seek(0)
    return content


SOURCE = fetch.Source("set/data.csv", "the web", (), 1000, "0" * 64)


def test_a_member_is_taken_by_its_name_alone_and_nothing_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fetch._member(archive(**{"..__..__data.csv": b"a,b"}), SOURCE) == b"a,b"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "members",
    [
        {"data.csv": b"0" * 10**7},
        {"other.csv": b"a"},
        {"a__data.csv": b"a", "b__data.csv": b"b"},
        {},
    ],
    ids=["bomb", "nothing", "two", "empty"],
)
def test_an_archive_with_a_bomb_or_a_riddle_is_refused(members):
    with pytest.raises(ValueError, match="expected"):
        fetch._member(archive(**members), SOURCE)
