"""Links and scripts that version 0.1.0 wrote: all open, with the same numbers."""

import json
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from etgp_viz import explorers
from tests.unit.explorers.test_explorers import _plain

pytestmark = pytest.mark.slow  # all together; see `make test-fast`

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0_1_0"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
LINKS = {f"{link['explorer']} {link['preset']}".strip(): link for link in EXPECTED["links"]}


@pytest.fixture(scope="module")
def opened():
    """Opens links in one explorer of each kind."""
    kinds = {}

    def open_link(link):
        name, text = link["explorer"], link["link"]
        if name not in kinds:
            kinds[name] = getattr(explorers, name).from_link(text)
        return kinds[name].from_link(text)

    return open_link


def figures_in(sentence):
    return Counter(re.findall(r"\d+(?:\.\d+)?", sentence))


@pytest.mark.parametrize("name", LINKS)
def test_a_link_opens(name, opened):
    link = LINKS[name]
    explorer = opened(link)
    assert explorer.link() == link["link"]
    for field, value in json.loads(link["link"]).items():
        if field != "explorer":
            state = getattr(explorer.state, field)
            assert (list(state) if isinstance(state, tuple) else state) == value
    assert "role='alert'" not in explorer._page.message
    expected, found = figures_in(link["summary"]), figures_in(explorer.summary)
    if "quantity" in json.loads(link["link"]):  # the sentence is now about that quantity
        assert not re.search("a step of .* takes", explorer.summary)
    elif link["explorer"] == "TimingExplorer":  # sentences now also name the level of an interval
        assert found - expected == Counter({"99": found["99"]} if found["99"] else {})
        assert not expected - found
    elif link["explorer"] != "ResultsExplorer":  # its results have been made anew
        assert found == expected
    if link["preset"]:
        assert link["preset"] in explorer.presets
        explorer.reset()
        explorer._choose_preset(link["preset"])
        then, now = json.loads(link["link"]), json.loads(explorer.link())
        assert then.items() <= now.items()  # a preset may set what 0.1 did not have


RESULTS = [name for name in EXPECTED["scripts"] if name.startswith("ResultsExplorer")]
HANDLES = {"knots"}  # dots to drag, which the pictures of version 0.1 did not have


@pytest.mark.parametrize("name", RESULTS)
def test_a_script_for_the_results_of_0_1_says_that_they_are_gone(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with pytest.raises(ValueError, match=r"run_id: expected .* in the results of this version"):
            exec(compile(EXPECTED["scripts"][name], name, "exec"), {})


@pytest.mark.parametrize("name", [name for name in EXPECTED["scripts"] if name not in RESULTS])
def test_a_script_runs_and_gives_the_numbers_of_its_explorer(name, opened, monkeypatch):
    shown = []
    monkeypatch.setattr("plotly.graph_objects.Figure.show", lambda self: shown.append(self))
    space = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FutureWarning)  # names that have moved
        exec(compile(EXPECTED["scripts"][name], name, "exec"), space)
    explorer = opened(LINKS[name])
    assert len(shown) == len(space["records"])
    assert space["records"].keys() <= explorer.records.keys()  # there may be new figures
    for key in space["records"]:
        expected, found = _plain(explorer.records[key]), _plain(space["records"][key])
        assert found.keys() == expected.keys()
        for field, value in expected.items():
            if field in HANDLES:
                assert np.size(found[field]) == 0
            elif isinstance(value, str) or value is None:
                assert found[field] == value
            else:
                np.testing.assert_allclose(
                    np.array(found[field], float), np.array(value, float),
                    rtol=1e-7, atol=1e-7, err_msg=f"{key}.{field}",
                )  # fmt: skip
