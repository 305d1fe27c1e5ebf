"""The grid, its result file, selection and tables, with runs that only pretend to train."""

import dataclasses
import json
import math
import os
import sys

import numpy as np
import pandas as pd
import pytest

from etgp_viz import datasets
from etgp_viz.cli import experiment, main
from etgp_viz.experiments import (
    PRESETS,
    Outcome,
    Run,
    carry_out,
    grid,
    load,
    results,
    scoring,
    select,
    speed_ups,
    summarise,
)
from etgp_viz.experiments.presets import expected_seconds
from etgp_viz.experiments.scoring import SCORES
from etgp_viz.experiments.settings import (
    ALL_MODELS,
    CELL,
    COLUMNS,
    CONFIGURATION,
    MODELS,
    describe_configuration,
)
from etgp_viz.rivals import names

RUNS = tuple(Run("iris", "etgp-linear", hidden=(5,), seed=seed) for seed in range(4))


def pretend(run: Run) -> Outcome:
    """Two rows, like those of an ETGP, with scores that depend on the run."""
    score = 0.5 + run.seed / 10
    row = dict.fromkeys(COLUMNS) | run.settings() | {"id": run.id, "rows": 2, "status": "ok"}
    row |= {"test_accuracy": score, "validation_log_likelihood": -score}
    return Outcome([row | {"inference": way} for way in ("pe", "ba")], {"seed": run.seed})


class Counting:
    """`pretend`, with a list of the seeds it was called for."""

    def __init__(self, broken: tuple[int, ...] = (), stop: int | None = None) -> None:
        self.seeds: list[int] = []
        self.broken, self.stop = broken, stop

    def __call__(self, run: Run) -> Outcome:
        if run.seed == self.stop:
            raise KeyboardInterrupt
        self.seeds.append(run.seed)
        if run.seed in self.broken:
            raise RuntimeError("the covariance\nis not one")
        return pretend(run)


def carry(path, execute=pretend, runs=RUNS):
    return carry_out(runs, path, workers=0, progress=False, execute=execute, command="typed")


# ------------------------------------------------------------------ runs


def test_a_runs_id_depends_on_every_setting_and_on_nothing_else():
    run = Run("vowel", "etgp-linear", hidden=(5,))
    changed = [
        dataclasses.replace(run, dataset="iris"),
        dataclasses.replace(run, seed=1),
        dataclasses.replace(run, hidden=(5, 5)),
        dataclasses.replace(run, dropout=0.5),
        dataclasses.replace(run, final_rate=0.1),
    ]
    assert len({run.id, *(other.id for other in changed)}) == 6
    assert run.id == dataclasses.replace(changed[0], dataset="vowel").id


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"model": "etgp"}, "model"),
        ({"sharing": "shared"}, "model"),
        ({"steps": 0}, "steps"),
        ({"seed": -1}, "seed"),
        ({"hidden": (5, 0)}, "hidden"),
        ({"dropout": 1.0}, "dropout"),
        ({"validation": 0.0}, "validation"),
        ({"patience": 0}, "patience"),
        ({"max_seconds": 0.0}, "max_seconds"),
    ],
)
def test_a_run_names_what_is_wrong_with_it(change, name):
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        Run(**{"dataset": "vowel", "model": "etgp-linear"} | change)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_compares_every_model_on_each_of_its_data_sets(preset):
    runs = grid(preset)
    assert len({run.id for run in runs}) == len(runs)
    for name in PRESETS[preset].recipes:
        found = {(run.model, run.sharing) for run in runs if run.dataset == name}
        assert found >= {ALL_MODELS[model] for model in PRESETS[preset].models} - {("speed", "")}
    seeds = [run.seed for run in runs]
    assert seeds == sorted(seeds)


def test_the_laptop_preset_is_what_the_paper_asked_for():
    runs = grid("laptop")
    assert {run.dataset for run in runs} == {"vowel", "absenteeism", "avila", "leaves100", "digits"}
    assert {run.num_inducing for run in runs} == {100, 20, 0}  # 0: models without inducing points
    assert len({run.seed for run in runs}) >= 3
    assert expected_seconds(runs, workers=2) < 7200


def test_the_extensions_preset_is_what_was_asked_for():
    runs = grid("extensions")
    assert {run.dataset for run in runs} == {"digits", "vowel", "avila", "leaves100"}
    assert {run.seed for run in runs} == {0, 1, 2}
    assert {run.model for run in runs} == {"etgp-linear", *names.EXTENDED, "network"}
    assert expected_seconds(runs, workers=2) < 3600


def test_other_presets_do_not_have_the_extensions():
    for preset in ("quick", "laptop", "paper"):
        assert set(names.EXTENDED).isdisjoint(run.model for run in grid(preset))
    runs = grid("quick", datasets=["vowel"], models=["etgp-gp"])  # unless they are asked for
    assert [(run.model, run.hidden, run.dropout) for run in runs] == [("etgp-gp", (), 0.0)]


def test_a_run_has_no_setting_that_its_extension_does_not_have():
    network = {"hidden": (5,), "dropout": 0.5, "weight_decay": 0.1}
    runs = {
        name: Run("iris", f"etgp-{name}", **network) for name in ("concrete", "mean-field", "gp")
    }
    found = {name: (run.hidden, run.dropout, run.weight_decay) for name, run in runs.items()}
    assert found == {
        "concrete": ((5,), 0.5, 0.1),
        "mean-field": ((5,), 0.0, 0.1),
        "gp": ((), 0.0, 0.1),
    }
    described = {name: describe_configuration(run.settings()) for name, run in runs.items()}
    assert described == {
        "concrete": "hidden layers 5, dropout 0.5, weight decay 0.1, rate 0.01",
        "mean-field": "hidden layers 5, weight decay 0.1, rate 0.01",
        "gp": "weight decay 0.1, rate 0.01",
    }


def test_two_latents_take_longer_to_predict_with_than_one():
    seconds = {
        model: expected_seconds(grid("extensions", datasets=["avila"], models=[model], seeds=[0]))
        for model in ("etgp-linear", "etgp-latents")
    }
    assert seconds["etgp-latents"] > seconds["etgp-linear"]


@pytest.mark.parametrize("preset", ["quick", "laptop", "extensions"])
def test_all_models_on_a_data_set_are_trained_under_equal_conditions(preset):
    """Finding 10: one batch size, one patience, one limit; and one number of tries (finding 11)."""
    for name in PRESETS[preset].recipes:
        runs = [r for r in grid(preset, seeds=[0]) if r.dataset == name and r.model != "speed"]
        budgets = {
            (r.batch_size, r.steps, r.patience, r.max_seconds, r.final_rate, r.samples, r.start)
            for r in runs
            if r.kind.is_trained_by_fit
        }
        assert len(budgets) == 1
        draws = {r.num_monte_carlo for r in runs if r.kind.is_monte_carlo}
        assert draws == (set() if preset == "extensions" else {20})  # without SVGPs
        tries = {}
        for run in runs:
            if run.num_inducing != 20 or preset == "quick":  # fewer inducing points: one try
                tries.setdefault((run.model, run.sharing), []).append(run)
        assert len({len(found) for found in tries.values()}) == 1
        compared = {ALL_MODELS[model] for model in PRESETS[preset].models}
        assert set(tries) == compared - {("speed", "")}
        assert all(r.patience > 0 for r in runs if r.kind.is_trained_by_fit)


def test_the_paper_preset_keeps_the_papers_fixed_number_of_steps():
    runs = [run for run in grid("paper", datasets=["vowel"]) if run.model != "speed"]
    runs = [run for run in runs if run.kind.is_trained_by_fit]
    assert {(run.steps, run.batch_size) for run in runs} == {(15_000, 1000)}
    assert {(run.patience, run.max_seconds, run.start) for run in runs} == {(None, None, "paper")}


def test_seeds_of_svgps_are_dropped_before_rivals():
    seeds = {}
    for run in grid("laptop", datasets=["digits"]):
        seeds.setdefault(run.model, set()).add(run.seed)
    assert {name for name, found in seeds.items() if len(found) == 3} == {
        *("etgp-linear", "etgp-sal", "etgp-tanh", "network", "svgp-rbf", "logistic", "boosting")
    }
    assert set(seeds) - {"speed"} == {model for model, _ in MODELS.values()} - {"speed"}


def test_a_model_without_inducing_points_has_none():
    assert Run("iris", "network", num_inducing=7).num_inducing == 0
    assert Run("iris", "network", num_inducing=7).id == Run("iris", "network").id
    runs = grid("quick", datasets=["vowel"], models=["logistic"], num_inducing=[10, 20])
    assert [run.num_inducing for run in runs] == [0]


def test_a_grid_can_be_cut_down():
    runs = grid("laptop", datasets=["vowel"], models=["svgp-rbf-shared"], seeds=[7], steps=3)
    assert {(r.dataset, r.model, r.sharing, r.seed, r.steps) for r in runs} == {
        ("vowel", "svgp-rbf", "shared", 7, 3)
    }
    for wrong in ({"datasets": ["mnist"]}, {"datasets": ["rings"]}, {"models": ["svgp-rbf"]}):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))}: expected one of"):
            grid("laptop", **wrong)


def test_a_grid_takes_data_sets_that_its_preset_does_not_know(tmp_path):
    file = tmp_path / "mine.csv"
    numbers = np.random.default_rng(0).normal(size=(60, 2))
    rows = [f"{a},{b},{'yes' if a > b else 'no'}" for a, b in numbers]
    file.write_text("\n".join(["a,b,is it?", *rows]), encoding="utf-8")
    chosen = {"datasets": ["wine", f"{file}:is it?"], "models": ["etgp-linear"]}
    runs = grid("quick", **chosen)
    assert {run.dataset.partition("#")[0] for run in runs} == set(chosen["datasets"])
    assert grid("quick", **chosen) == runs
    with pytest.raises(ValueError, match=r"^num_inducing: expected at most 41, the distinct"):
        grid("laptop", **chosen)
    file.write_text(file.read_text("utf-8") + "\n0.5,0.1,yes", encoding="utf-8")
    changed = grid("quick", **chosen)
    assert {run.id for run in runs if "wine" not in run.dataset}.isdisjoint(r.id for r in changed)
    with pytest.raises(ValueError, match=r"got a file that has changed$"):
        datasets.load(runs[-1].dataset)
    for wrong, message in (
        (f"{file}:c", "target: expected a column"),
        ("no.csv:c", "path: expected"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            grid("quick", datasets=[wrong])


# ------------------------------------------------------------------ result file


def test_a_finished_grid_is_not_done_again(tmp_path):
    path = tmp_path / "results.csv"
    table = carry(path)
    again = Counting()
    pd.testing.assert_frame_equal(carry(path, again), table)
    assert again.seeds == []
    assert table["test_accuracy"].tolist() == [0.5, 0.5, 0.6, 0.6, 0.7, 0.7, 0.8, 0.8]
    assert table.attrs["command"] == "typed"
    details = sorted((tmp_path / "results-details").iterdir())
    assert [path.stem for path in details] == sorted(run.id for run in RUNS)
    assert {json.loads(path.read_text())["seed"] for path in details} == {0, 1, 2, 3}


def test_what_a_row_says_comes_back_as_it_was(tmp_path):
    run = Run("iris", "svgp-nnet", "separate", learning_rate=0.003)
    row = dict.fromkeys(COLUMNS) | run.settings() | {"id": run.id, "rows": 1, "status": "ok"}
    row |= {"inference": "pe", "test_ece": 1 / 3, "versions": 'a "b", c'}
    row |= {"latent_lost_at_zero": math.nan}  # not applicable; what is None was not measured
    table = carry(tmp_path / "r.csv", lambda _: Outcome([row]), [run])
    back = table.iloc[0]
    assert back["versions"] == 'a "b", c'
    assert back["hidden"] == ""
    assert back["test_ece"] == pytest.approx(1 / 3, rel=1e-5)
    assert math.isnan(back["test_accuracy"])
    assert math.isnan(back["latent_lost_at_zero"])


@pytest.mark.parametrize("missing", [1, 30, 1.0, 1.3])
def test_a_run_that_is_half_in_the_file_is_done_again(tmp_path, missing):
    """Of the last run a piece of its second line, or its second line and more, is not there."""
    path = tmp_path / "results.csv"
    whole = carry(path)
    content = path.read_bytes()
    line = len(content.splitlines(keepends=True)[-1])
    path.write_bytes(content[: -(missing if isinstance(missing, int) else int(missing * line))])
    assert len(load(path)) == 6
    again = Counting()
    pd.testing.assert_frame_equal(carry(path, again), whole)
    assert again.seeds == [3]
    assert path.read_bytes() == content


@pytest.mark.parametrize("size", [0, 5, 40])
def test_a_file_that_was_hardly_begun_is_begun_anew(tmp_path, size):
    path = tmp_path / "results.csv"
    carry(path, runs=RUNS[:1])
    path.write_bytes(path.read_bytes()[:size])
    assert len(carry(path)) == 8


@pytest.mark.parametrize("content", [b"name,age\nAda,36\n", b"\x00\xff", b'{"a": 1}'])
def test_a_file_of_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^output: expected a result file"):
        carry(path)
    assert path.read_bytes() == content


def test_text_in_a_column_of_numbers_is_told(tmp_path):
    """Files of version 0.1 have no checksums."""
    path, row = tmp_path / "earlier.csv", dict.fromkeys(COLUMNS, "")
    row |= {"id": "a", "rows": "1", "status": "ok", "test_accuracy": "0.8x"}
    path.write_text(f"# {{}}\n{','.join(COLUMNS)}\n{','.join(row.values())}\n")
    with pytest.raises(ValueError, match="with text in the column test_accuracy"):
        load(path)
    path.write_text(path.read_text().replace(",1,", ",²,"))
    with pytest.raises(ValueError, match="with a broken line 3"):
        load(path)


def test_a_broken_line_in_the_middle_is_told_and_nothing_is_lost(tmp_path):
    path = tmp_path / "results.csv"
    carry(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4][20:]
    path.write_bytes(b"".join(lines))
    with pytest.raises(ValueError, match="line 5"):
        carry(path)
    assert path.read_bytes() == b"".join(lines)


def test_a_failed_run_has_a_row_and_is_tried_again(tmp_path):
    path = tmp_path / "results.csv"
    table = carry(path, Counting(broken=(1,)))
    assert table["status"].tolist().count("ok") == 6
    (failed,) = table[table["status"] != "ok"].itertuples()
    assert (failed.seed, failed.status) == (1, "failed: RuntimeError: the covariance is not one")
    again = Counting()
    assert carry(path, again)["status"].tolist() == ["ok"] * 8
    assert again.seeds == [1]


def test_a_stopped_grid_keeps_what_is_finished(tmp_path):
    path = tmp_path / "results.csv"
    with pytest.raises(KeyboardInterrupt):
        carry(path, Counting(stop=2))
    assert load(path)["seed"].unique().tolist() == [0, 1]
    again = Counting()
    carry(path, again)
    assert again.seeds == [2, 3]


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks of this kind")
def test_two_grids_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "results.csv"
    with results.ResultFile(path).locked(), pytest.raises(ValueError, match="no other program"):
        carry(path)
    assert len(carry(path)) == 8


def test_a_disk_without_room_leaves_whole_lines(tmp_path, monkeypatch):
    path = tmp_path / "results.csv"
    carry(path, runs=RUNS[:2])
    content = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, text: write(file, text[:50]))
    with pytest.raises(OSError, match="no room"):
        carry(path)
    assert path.read_bytes() == content


# ------------------------------------------------------------------ scores, selection, tables


def test_calibration_error_agrees_with_a_loop():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.5), size=200)
    labels = rng.integers(0, 4, size=200)
    total = 0.0
    for b in range(10):
        inside = [n for n in range(200) if b / 10 < p[n].max() <= (b + 1) / 10]
        if inside:
            right = np.mean([p[n].argmax() == labels[n] for n in inside])
            sure = np.mean([p[n].max() for n in inside])
            total += len(inside) / 200 * abs(right - sure)
    assert scoring.expected_calibration_error(p, labels, 10) == pytest.approx(total, rel=1e-12)


def test_certain_and_right_is_calibrated_certain_and_wrong_is_not():
    p = np.eye(3)
    assert scoring.expected_calibration_error(p, np.arange(3)) == 0.0
    assert scoring.expected_calibration_error(p, np.array([1, 2, 0])) == 1.0


def test_a_perfectly_calibrated_model_scores_within_the_range():
    """Finding 4: its ECE is not 0, and as often below and above the range as it should be."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(10, 0.3), size=450)
    expected = scoring.calibrated_ece(p, seed=1)
    scored = []
    for _ in range(300):
        labels = np.array([rng.choice(10, p=row) for row in p])  # from p itself
        scored.append(scoring.expected_calibration_error(p, labels))
    assert 0.03 < expected.low < expected.mean < expected.high < 0.09
    assert np.mean(scored) == pytest.approx(expected.mean, rel=0.03)
    inside = [expected.low <= score <= expected.high for score in scored]
    assert 0.84 <= np.mean(inside) <= 0.96
    assert expected == scoring.calibrated_ece(p, seed=1)
    half_as_sure = 0.5 * p + 0.05
    wrong = scoring.expected_calibration_error(half_as_sure, p.argmax(axis=1))
    assert wrong > scoring.calibrated_ece(half_as_sure).high


def table_of(seeds=3):
    """Two data sets, three models, three configurations, with random scores."""
    rng = np.random.default_rng(1)
    rows = []
    for dataset in ("iris", "wine"):
        for model, sharing in (("etgp-tanh", ""), ("svgp-rbf", "shared"), ("svgp-rbf", "separate")):
            for rate in (0.1, 0.01, 0.001):
                for seed in range(seeds):
                    run = Run(dataset, model, sharing, learning_rate=rate, seed=seed)
                    row = dict.fromkeys(COLUMNS, np.nan) | run.settings()
                    row |= {"id": run.id, "rows": 1, "status": "ok", "inference": "pe"}
                    for split in ("validation", "test"):
                        for score in SCORES:
                            row[f"{split}_{score}"] = rng.normal()
                    rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("by", SCORES)
def test_selection_agrees_with_a_loop(paper, by):
    table = table_of()
    chosen = select(table, by=by, paper=paper)
    cells = 0
    for dataset in ("iris", "wine"):
        for model, sharing in (("etgp-tanh", ""), ("svgp-rbf", "shared"), ("svgp-rbf", "separate")):
            split = "test" if paper and model == "svgp-rbf" else "validation"
            best, best_rate = -np.inf, None
            for rate in (0.1, 0.01, 0.001):
                total = 0.0
                for _, row in table.iterrows():
                    here = (row["dataset"], row["model"], row["sharing"], row["learning_rate"])
                    if here == (dataset, model, sharing, rate):
                        total += row[f"{split}_{by}"] / 3
                if total > best:
                    best, best_rate = total, rate
            here = (
                (chosen["dataset"] == dataset)
                & (chosen["model"] == model)
                & (chosen["sharing"] == sharing)
            )
            assert set(chosen[here]["learning_rate"]) == {best_rate}
            assert chosen[here]["seed"].tolist() == [0, 1, 2]
            assert set(chosen[here]["selected_on"]) == {split}
            cells += 1
    assert len(chosen) == 3 * cells


def test_a_configuration_that_failed_somewhere_does_not_compete():
    table = table_of()
    best = select(table).iloc[0]
    table.loc[table["id"] == best["id"], "status"] = "failed: lost"
    other = select(table).iloc[0]
    assert (other["dataset"], other["model"]) == (best["dataset"], best["model"])
    assert other["learning_rate"] != best["learning_rate"]


def test_a_grid_that_was_stopped_compares_on_the_seeds_that_all_have():
    table = table_of()
    first = table["dataset"].eq("iris") & table["model"].eq("etgp-tanh")
    table.loc[first, "validation_log_likelihood"] = -2.0
    better = first & table["learning_rate"].eq(0.001)
    table.loc[better, "validation_log_likelihood"] = -1.0
    stopped = table[~(better & table["seed"].gt(0))]  # the others have more seeds, and lose
    chosen = select(stopped)
    chosen = chosen[chosen["dataset"].eq("iris") & chosen["model"].eq("etgp-tanh")]
    assert chosen[["learning_rate", "seed"]].to_numpy().tolist() == [[0.001, 0]]


def test_cell_and_configuration_cover_a_run():
    names = {field.name for field in dataclasses.fields(Run)}
    assert {*CELL, *CONFIGURATION} == (names - {"seed", "samples"}) | {"inference"}


def test_summary_has_means_and_standard_errors():
    chosen = select(table_of(4))
    summary = summarise(chosen)
    assert len(summary) == 6
    values = chosen["test_accuracy"].to_numpy()[:4]
    spread = math.sqrt(sum((v - sum(values) / 4) ** 2 for v in values) / 3)
    assert summary["test_accuracy"][0] == pytest.approx(sum(values) / 4)
    assert summary["test_accuracy_se"][0] == pytest.approx(spread / 2)
    assert summary["seeds"].tolist() == [4] * 6
    assert summarise(select(table_of(1)))["test_accuracy_se"].isna().all()


def test_a_summary_tells_what_was_tried_and_what_was_allowed():
    """Finding 11: weight decay, network, budget and tries stand where the scores stand."""
    table = table_of()
    table["stopped"] = ["no improvement", "out of time", "no improvement"] * (len(table) // 3)
    table = table.assign(weight_decay=0.3, max_seconds=20.0, patience=100, hidden="5x5", epochs=7)
    failed = table.iloc[:1].assign(status="failed: why", learning_rate=0.7, inference="")
    summary = summarise(select(pd.concat([table, failed])))
    assert summary["tries"].tolist() == [4, *[3] * 5]  # one that failed was tried too
    assert set(summary["stopped"]) == {"2 no improvement, 1 out of time"}
    for name in ("weight_decay", "max_seconds", "patience", "batch_size", "hidden", "epochs"):
        assert summary[name].tolist() == [table[name].iloc[0]] * 6
    text = experiment.format_tables(table)
    for words in ("5x5", "20 s", "passes", "tries"):
        assert words in text


def test_the_table_says_when_rivals_were_picked_on_test():
    table = table_of()
    assert "TEST" not in experiment.format_tables(table)
    text = experiment.format_tables(table, paper=True)
    assert experiment.PICKED_ON_TEST in text
    assert text.count(" test ") == 4  # rows of the two SVGPs on two data sets


def test_speed_ups_are_ratios_of_epochs():
    common = {"id": "a", "status": "ok", "inference": "speed", "dataset": "iris", "hidden": "5"}
    rows = [
        ("etgp-linear", "", "etgp", 0.5, 0.05, 0.06),
        ("svgp-rbf", "separate", "gpflow", 6.0, 0.54, 0.7),
    ]
    names = ("model", "sharing", "implementation", "seconds_per_epoch")
    names += ("seconds_per_step_low", "seconds_per_step_high")
    table = pd.DataFrame(
        [common | {"num_inducing": 20} | dict(zip(names, row, strict=True)) for row in rows]
    )
    found = speed_ups(table)[["times", "low", "high"]].to_numpy()
    np.testing.assert_allclose(found, [[12.0, 0.54 / 0.06, 0.7 / 0.05]])
    assert len(speed_ups(table_of())) == 0


def test_a_number_of_threads_is_told_to_every_library():
    assert set(results.thread_limits(3).values()) == {3}
    assert {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"} <= set(results.thread_limits(1))


# ------------------------------------------------------------------ what a person types


@pytest.fixture
def no_network(tmp_path, monkeypatch):
    """A machine that has no data set but scikit-learn's."""

    def unreachable(*_, **__):
        raise OSError("no network")

    monkeypatch.delenv("ETGP_VIZ_DATA", raising=False)
    monkeypatch.setenv("ETGP_VIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("urllib.request.urlopen", unreachable)


@pytest.mark.usefixtures("no_network")
def test_missing_data_are_reported_before_the_first_run(tmp_path, capsys):
    output = tmp_path / "r.csv"
    assert main(["experiment", "--output", str(output)]) == 2
    text = capsys.readouterr().err
    assert "vowel-context.data is not at" in text
    assert "without them, pass --datasets digits" in text
    assert len(load(output)) == 0


def test_the_command_says_what_it_will_do_and_prints_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        experiment.experiments,
        "carry_out",
        lambda runs, output, **_: carry(output, runs=runs),
    )
    monkeypatch.setattr(datasets, "obtain", lambda name: None)
    arguments = ["--models", "etgp-linear", "--seeds", "0,1", "--output", str(tmp_path / "r.csv")]
    assert main(["experiment", *arguments]) == 0
    text = capsys.readouterr().out
    assert text.startswith("4 runs; about ")
    assert "0.5500 ± 0.0500" in text
    assert load(tmp_path / "r.csv").attrs["command"].startswith("etgp-viz experiment --models")


def test_the_command_tells_how_to_go_on_after_ctrl_c(tmp_path, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "obtain", lambda name: None)
    monkeypatch.setattr(experiment.experiments, "carry_out", stop)
    assert main(["experiment", "--output", str(tmp_path / "r.csv")]) == 130
    assert "the same command continues" in capsys.readouterr().out


def test_the_command_names_what_is_wrong(tmp_path, capsys):
    assert main(["experiment", "--datasets", "mnist", "--output", str(tmp_path / "r")]) == 2
    assert "datasets: expected one of" in capsys.readouterr().err
