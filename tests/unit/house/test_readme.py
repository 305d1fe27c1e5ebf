"""The README's examples run as printed."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from etgp_viz import ETGPClassifier

README = Path(__file__).parents[3] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def run(example: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    return names


@pytest.mark.slow
def test_the_first_example_learns(capsys):
    names = run(EXAMPLES[0])
    assert "best ELBO" in capsys.readouterr().out
    assert names["accuracy"] > 0.9
    np.testing.assert_allclose(np.sum(names["probabilities"], axis=1), 1.0)


@pytest.mark.slow
def test_your_own_data_in_five_lines(capsys, tmp_path, monkeypatch):
    iris = load_iris(as_frame=True)
    species = iris.target.map(dict(enumerate(iris.target_names)))
    iris.data.assign(species=species).to_csv(tmp_path / "mine.csv", index=False)
    monkeypatch.chdir(tmp_path)
    names = run(EXAMPLES[1])
    assert "versicolor" in capsys.readouterr().out
    predicted = ETGPClassifier.load("mine.npz").predict(names["inputs"])
    np.testing.assert_array_equal(predicted, names["classifier"].predict(names["inputs"]))
    assert np.mean(predicted == names["labels"]) > 0.9


def test_every_file_that_it_names_is_there():
    text = README.read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(
        r"^\| `([^`]+)` \| ", text, re.MULTILINE
    )
    for name in linked:
        assert (README.parent / name).exists(), name
