"""The README's example runs as printed."""

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.slow
def test_the_first_example_learns(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert "best ELBO" in capsys.readouterr().out
    assert names["accuracy"] > 0.9
    np.testing.assert_allclose(np.sum(names["probabilities"], axis=1), 1.0)


def test_every_file_that_it_names_is_there():
    text = README.read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(
        r"^\| `([^`]+)` \| ", text, re.MULTILINE
    )
    for name in linked:
        assert (README.parent / name).exists(), name
