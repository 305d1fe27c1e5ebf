"""The results explorer on a result file of somebody's own."""

import json
import shutil
from types import SimpleNamespace

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


def test_it_tells_how_a_run_was_trained_and_what_f0_is_worth(own):
    """Findings 9 to 11: budget, configuration, draws and their error beside the scores."""
    told = {"patience": 100, "max_seconds": 20.0, "stopped": "no improvement", "epochs": 33}
    told |= {"latent_lost_at_zero": 0.123, "latent_lost_at_mean": 0.004, "predictive_draws": 100}
    told |= {"prediction_error": 0.0056, "test_ece": 0.07, "test_ece_if_calibrated": 0.041}
    table = experiments.load(own).assign(**told)
    new = own.with_name("new.csv")
    file = results.ResultFile(new, "typed")
    for run_id, rows in table.groupby("id", sort=False):
        outcome = experiments.Outcome(rows.to_dict("records"))
        file.add(SimpleNamespace(id=run_id), outcome)
    shutil.copytree(results.details_folder(own), results.details_folder(new))
    explorer = ResultsExplorer.of(new, model="etgp-tanh", metric="ece")
    for words in (
        *("dropout 0.75, weight decay", "33 passes", "limit 20 s", "stopped: no improvement"),
        *("With f₀ set to 0 it loses 0.123 nats", "set to its mean 0.004", "100 draws", "0.0056"),
    ):
        assert words in explorer.summary
    assert 0.041 in explorer.figures["scores"].data[0].x
    explorer.set(metric="latent")
    marks = explorer.records["scores"].series[0]
    assert set(marks.mean.tolist()) == {0.123}
    shipped = ResultsExplorer()  # made before these columns were there: less is said, none wrong
    assert "nan" not in shipped.summary


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


def test_a_class_has_one_colour_in_all_panels():
    explorer = ResultsExplorer(dataset="digits", model="etgp-tanh")
    lines, points = explorer.figures["offset"], explorer.figures["projection"]
    record, shown = explorer.records["offset"], explorer.records["projection"]
    rows = dict(zip(shown.labels.tolist(), points.data[0].marker.color, strict=True))
    checked = [c for c in record.classes.tolist() if c in rows]
    assert len(checked) > 3
    for k, c in enumerate(record.classes.tolist()):
        if c in rows:
            assert lines.data[k].line.color == rows[c]
            assert lines.data[-1].textfont.color[k] == rows[c]


def test_digits_are_large_enough_to_read():
    explorer = ResultsExplorer(dataset="digits", model="etgp-tanh")
    figure = explorer.figures["hardest"]
    low, high = sorted(figure.layout.yaxis.range)
    margin = figure.layout.template.layout.margin
    height = figure.layout.height - (figure.layout.margin.t or margin.t) - margin.b
    image = figure.layout.images[0]
    assert image.visible
    assert image.sizey * height / (high - low) >= 50  # pixels
