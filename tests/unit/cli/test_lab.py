"""A student's notebooks are brought up to date and never overwritten."""

import json
import os
from pathlib import Path

import pytest

from etgp_viz.cli.lab import FIRST, MANIFEST, copy_notebooks, shipped_notebooks, start


@pytest.fixture
def shipped(tmp_path):
    folder = tmp_path / "shipped"
    (folder / "images").mkdir(parents=True)
    (folder / "a.ipynb").write_text("a, first version")
    (folder / "b.ipynb").write_text("b, first version")
    (folder / "images" / "c.png").write_bytes(b"c")
    return folder


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def test_the_first_notebook_is_shipped():
    assert (shipped_notebooks() / FIRST).is_file()


def test_an_empty_folder_gets_everything(shipped, tmp_path):
    mine = tmp_path / "deep" / "mine"
    assert list(copy_notebooks(shipped, mine)) == []
    assert contents(mine) == contents(shipped)


def test_what_jupyter_leaves_behind_is_not_copied(shipped, tmp_path):
    (shipped / ".ipynb_checkpoints").mkdir()
    (shipped / ".ipynb_checkpoints" / "a.ipynb").touch()
    list(copy_notebooks(shipped, tmp_path / "mine"))
    assert not (tmp_path / "mine" / ".ipynb_checkpoints").exists()


def test_the_progress_of_somebody_else_is_not_copied(shipped, tmp_path):
    (shipped / "progress.json").touch()
    (shipped / "progress.broken-1.json").touch()
    list(copy_notebooks(shipped, tmp_path / "mine"))
    assert sorted(contents(tmp_path / "mine")) == ["a.ipynb", "b.ipynb", "images/c.png"]


def test_a_changed_notebook_stays_and_an_untouched_one_is_updated(shipped, tmp_path):
    mine = tmp_path / "mine"
    list(copy_notebooks(shipped, mine))
    (mine / "a.ipynb").write_text("a, with my notes")
    (shipped / "a.ipynb").write_text("a, second version")
    (shipped / "b.ipynb").write_text("b, second version")
    for _ in range(2):  # the second start must not take the notes for something shipped
        (sentence,) = copy_notebooks(shipped, mine)
        assert sentence.startswith("a.ipynb: kept")
        assert (mine / "a.ipynb").read_text() == "a, with my notes"
        assert (mine / "b.ipynb").read_text() == "b, second version"


def test_a_file_that_was_there_before_stays(shipped, tmp_path):
    (tmp_path / "a.ipynb").write_text("something else of that name")
    assert len(list(copy_notebooks(shipped, tmp_path))) == 1
    assert (tmp_path / "a.ipynb").read_text() == "something else of that name"


def test_a_deleted_notebook_comes_back(shipped, tmp_path):
    mine = tmp_path / "mine"
    list(copy_notebooks(shipped, mine))
    (mine / "a.ipynb").unlink()
    assert list(copy_notebooks(shipped, mine)) == []
    assert contents(mine) == contents(shipped)


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"a.ipynb": 3}', b"\xff", b"[" * 10**5])
def test_a_damaged_manifest_does_not_stop_a_lesson(shipped, tmp_path, damage):
    mine = tmp_path / "mine"
    list(copy_notebooks(shipped, mine))
    (mine / "a.ipynb").write_text("a, with my notes")
    (mine / MANIFEST).write_bytes(damage)
    assert len(list(copy_notebooks(shipped, mine))) == 1
    assert (mine / "a.ipynb").read_text() == "a, with my notes"
    (shipped / "b.ipynb").write_text("b, second version")
    list(copy_notebooks(shipped, mine))
    assert (mine / "b.ipynb").read_text() == "b, second version"


def test_a_disk_that_fills_up_leaves_whole_notebooks_that_are_still_ours(
    shipped, tmp_path, monkeypatch
):
    """A notebook that was copied before the disk was full must not count as the student's."""
    mine, fsync = tmp_path / "mine", os.fsync

    def full(descriptor):
        if "b, first version" in Path(f"/proc/self/fd/{descriptor}").read_text():
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    if not Path("/proc/self/fd").exists():
        pytest.skip("no list of open files")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            list(copy_notebooks(shipped, mine))
    assert contents(mine) == {"a.ipynb": "a, first version"}
    (shipped / "a.ipynb").write_text("a, second version")
    assert list(copy_notebooks(shipped, mine)) == []
    assert contents(mine) == contents(shipped)


def test_the_shipped_folder_itself_is_left_alone(shipped):
    before = contents(shipped)
    assert list(copy_notebooks(shipped, shipped)) == []
    assert contents(shipped) == before
    assert not (shipped / MANIFEST).exists()


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="folder: expected a folder that the notebooks can be"):
        start(tmp_path / "file", [])


def test_jupyterlab_starts_on_the_first_lesson_without_asking_about_news(monkeypatch, tmp_path):
    from jupyterlab.labapp import LabApp

    given = []
    monkeypatch.setattr(LabApp, "launch_instance", given.extend)
    assert start(tmp_path, ["--no-browser"]) == 0
    app = LabApp()
    app.parse_command_line([option for option in given if option.startswith("--LabApp")])
    assert app.news_url is None
    overrides = json.loads(Path(app.app_settings_dir, "overrides.json").read_text())
    assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert app.default_url == f"/lab/tree/{FIRST}"
    assert given[-1] == "--no-browser"
