"""The results explorer on a result file of somebody's own."""

import json

import numpy as np
import pytest

from etgp_viz import experiments
from etgp_viz.experiments import results
from etgp_viz.explorers import ResultsExplorer


@pytest.fixture
def own(tmp_path):
    """Some of the shipped runs as a result file with its folder of details."""
    path = tmp_path / "mine.csv"
    first, names, *lines = (results.FOLDER / results.TABLE).read_text("utf-8").splitlines()
    table = experiments.reference()
    kept = table[(table["dataset"] == "vowel") & (table["num_inducing"] == 20)]
    ids = set(kept["id"])
    path.write_text(
        "\n".join([first, names, *(line for line in lines if line.split(",")[0] in ids), ""]),
        encoding="utf-8",
    )
    folder = results.details_folder(path)
    folder.mkdir()
    for run_id in set(experiments.closest_look(kept)["id"]):
        detail = experiments.reference_detail(run_id)
        (folder / f"{run_id}.json").write_text(json.dumps(detail), encoding="utf-8")
    return path


def test_it_shows_what_the_file_has(own):
    explorer = ResultsExplorer.of(own, model="svgp-rbf-shared")
    assert set(explorer.controls["num_inducing"].options) == {("20", 20), ("all, row by row", 0)}
    assert [value for _, value in explorer.controls["dataset"].options] == ["vowel"]
    assert "SVGP RBF shared, M = 20" in explorer.summary
    assert set(explorer.presets) < set(ResultsExplorer.presets)
    for preset in explorer.presets.values():
        explorer.set(**preset.values)
    assert ResultsExplorer().state.num_inducing == 100  # the package's own is as it was


def test_its_code_reads_the_file(own):
    explorer = ResultsExplorer.of(own)
    code = explorer.to_code()
    scope: dict = {}
    exec(code[: code.index("figures = {")], scope)  # our own text; the rest opens windows
    np.testing.assert_array_equal(
        scope["records"]["confusion"].counts, explorer.records["confusion"].counts
    )
    assert str(own) in code


def test_files_without_runs_or_details_are_named(own, tmp_path):
    for file in results.details_folder(own).iterdir():
        file.unlink()
    with pytest.raises(ValueError, match=r"^run_id: expected a run with details in mine-details"):
        ResultsExplorer.of(own)
    empty = tmp_path / "empty.csv"
    results.ResultFile(empty, "typed")
    with pytest.raises(ValueError, match=r"^path: expected a result file with a finished run"):
        ResultsExplorer.of(empty)
