"""The README and the pages of docs/ agree with the code, and their examples run as printed."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import etgp_viz
from etgp_viz import ETGPClassifier, timing
from tools import readme_figures
from tools.site import reference

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]


def examples(path: Path) -> list[str]:
    """The blocks of Python on a page."""
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def run(example: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(example, "example", "exec"), names)
    return names


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with the file that the examples call mine.csv."""
    iris = load_iris(as_frame=True)
    species = iris.target.map(dict(enumerate(iris.target_names)))
    iris.data.assign(species=species).to_csv(tmp_path / "mine.csv", index=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_the_first_example_learns(capsys):
    names = run(examples(ROOT / "docs/start.md")[1])
    assert "best ELBO" in capsys.readouterr().out
    assert names["accuracy"] > 0.9
    np.testing.assert_allclose(np.sum(names["probabilities"], axis=1), 1.0)


@pytest.mark.slow
@pytest.mark.usefixtures("mine")
def test_your_own_data_in_five_lines(capsys):
    (in_readme,) = (text for text in examples(README) if "from_csv" in text)
    example = examples(ROOT / "docs/guide/fit_your_data.md")[0]
    assert example.startswith(in_readme)
    names = run(example)
    assert "versicolor" in capsys.readouterr().out
    predicted = ETGPClassifier.load("mine.npz").predict(names["inputs"])
    np.testing.assert_array_equal(predicted, names["classifier"].predict(names["inputs"]))
    assert np.mean(predicted == names["labels"]) > 0.9


OTHERS = {
    example: path
    for path in PAGES
    for example in examples(path)
    if "from_csv" not in example and "best ELBO" not in example
}


@pytest.mark.slow
@pytest.mark.parametrize("example", OTHERS, ids=[path.name for path in OTHERS.values()])
def test_every_other_example_runs(example):
    run(example.replace("epochs=300", "epochs=10"))


def test_every_file_that_it_names_is_there():
    text = README.read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(
        r"^\| `([^`]+)` \| ", text, re.MULTILINE
    )
    for name in linked:
        assert (ROOT / name).exists(), name


def test_it_can_be_read_in_two_minutes():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120
    for picture in (ROOT / "docs").glob("*.webp"):
        assert picture.stat().st_size < 2_000_000


def test_its_figures_are_those_of_the_shipped_tables():
    text = README.read_text(encoding="utf-8")
    assert text == readme_figures.with_figures(text), "run: python tools/readme_figures.py"
    assert readme_figures.sentences() in text


def test_the_guide_to_the_race_knows_every_contestant():
    text = (ROOT / "docs/guide/race_on_your_machine.md").read_text(encoding="utf-8")
    assert [name for name in timing.MODELS if name not in text] == []


def test_the_wheel_on_a_page_is_the_one_that_is_built():
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    named = [version for text in texts for version in re.findall(r"etgp_viz-([\d.]+)-py3", text)]
    assert set(named) == {etgp_viz.__version__}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: os.path.relpath(path, ROOT))
def test_every_command_on_a_page_is_one(path):
    """``etgp-viz VERB`` in code is a verb that the program knows."""
    code = re.findall(r"```sh.*?```|`[^`\n]+`", path.read_text(encoding="utf-8"), re.DOTALL)
    named = {verb for text in code for verb in re.findall(r"etgp-viz ([a-z]+)", text)}
    assert named <= set(reference.verbs())
