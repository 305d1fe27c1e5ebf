"""Result files that version 0.1.0 wrote can be read and resumed."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from etgp_viz import experiments
from etgp_viz.experiments import Outcome, Run
from etgp_viz.experiments.settings import ADDED_COLUMNS, COLUMNS, TEXT_COLUMNS

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0_1_0"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())["grid"]
TINY = {"num_inducing": 6, "steps": 5, "batch_size": 50, "samples": 4, "start": "paper"}
#: the runs of the file
ETGP = Run("iris", "etgp-linear", hidden=(5,), dropout=0.5, **TINY)
SVGP = Run("iris", "svgp-rbf", "shared", **TINY)
NEW = Run("iris", "svgp-nnet", "shared", **TINY)


@pytest.fixture
def grid(tmp_path):
    shutil.copytree(FIXTURES / "grid-details", tmp_path / "grid-details")
    return Path(shutil.copy(FIXTURES / "grid.csv", tmp_path))


def carried_out(path, *runs):
    """The table after these runs, and the runs that were executed."""
    executed = []

    def execute(run):
        executed.append(run)
        row = dict.fromkeys(COLUMNS) | run.settings() | {"id": run.id, "rows": 1, "status": "ok"}
        return Outcome([row | {"inference": "pe", "test_accuracy": 0.25}])

    table = experiments.carry_out(runs, path, workers=0, progress=False, execute=execute)
    return table, executed


def scores(table):
    return table[["id", "model", "inference", "test_accuracy"]].to_numpy().tolist()


def test_a_result_file_is_read(grid):
    table = experiments.load(grid)
    assert scores(table) == EXPECTED
    assert table.attrs["command"] == "etgp-viz experiment"
    collection = experiments.Collection(grid)
    assert collection.models == {"etgp-linear": "ETGP LINEAR", "svgp-rbf-shared": "SVGP RBF shared"}
    for row in collection.looks.itertuples():
        detail = experiments.load_detail(grid, row.id)
        assert detail["run"]["model"] == row.model
        records = collection.close_up_records(row.id, row.inference)
        assert records["confusion"].counts.sum() == row.num_test
    assert experiments.panel(table, "iris").labels == ("LINEAR", "RBF")


def test_columns_that_it_did_not_have_are_empty_and_are_added_when_a_grid_goes_on(grid):
    content = grid.read_bytes()
    before = experiments.load(grid)
    for name in ADDED_COLUMNS:
        assert before[name].eq("").all() if name in TEXT_COLUMNS else before[name].isna().all()
    assert grid.read_bytes() == content  # reading changes nothing
    after, _ = carried_out(grid, ETGP, SVGP)
    pd.testing.assert_frame_equal(after, before)
    assert grid.read_text().splitlines()[1].split(",") == [*COLUMNS, "crc"]


def test_the_ids_of_runs_are_the_same():
    assert [ETGP.id, ETGP.id, SVGP.id] == [row[0] for row in EXPECTED]


def test_finished_runs_are_not_done_again(grid):
    table, executed = carried_out(grid, ETGP, SVGP)
    assert executed == []
    assert scores(table) == EXPECTED
    content = grid.read_bytes()
    table, executed = carried_out(grid, ETGP, SVGP, NEW)
    assert executed == [NEW]
    assert scores(table) == [*EXPECTED, [NEW.id, "svgp-nnet", "pe", 0.25]]
    assert grid.read_bytes().startswith(content)


@pytest.mark.parametrize("lines", [1, 2])
def test_half_a_run_is_done_again(grid, lines):
    """Without the last run the file ends in a whole one, without one row more in half of one."""
    head = grid.read_bytes().splitlines(keepends=True)[: -1 - lines]
    grid.write_bytes(b"".join(head) + b"ee3aa4")
    _, executed = carried_out(grid, ETGP, SVGP)
    assert executed == [ETGP, SVGP]
