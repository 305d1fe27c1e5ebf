"""Runs that really train, and a cluster that really loses a worker."""

import dataclasses
import json
import math
import os
import time
import warnings

import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker
from distributed.security import Security

from etgp_viz.experiments import Outcome, Run, carry_out, load, results, workers
from etgp_viz.experiments.settings import COLUMNS, MODELS
from etgp_viz.rivals.names import EXTENDED, EXTENDED_OPTIONS, PREDICTIVE_DRAWS

pytestmark = pytest.mark.slow

TINY = {"num_inducing": 6, "steps": 5, "batch_size": 50, "samples": 4}
#: the criterion for stopping, and none
PATIENT = TINY | {"steps": 100, "patience": 4, "max_seconds": 20.0}
NO_CRITERION = {"patience", "max_seconds"}
#: what only a training has, or only a race
NOT_OF_A_RACE = {
    *(c for c in COLUMNS if c.startswith(("validation_", "test_", "latent_"))),
    *("fit_seconds", "prediction_seconds_per_1000", "memory_mib", "epochs", "best_elbo"),
    *("stopped", "predictive_draws", "prediction_error"),
} | NO_CRITERION


def words(row) -> set[str]:
    """Columns in which a run left nothing."""
    return {name for name in COLUMNS if row[name] is None}


def test_an_etgp_fills_two_complete_rows_that_share_a_training():
    from etgp_viz import datasets
    from etgp_viz.experiments.run import execute, train

    run = Run("iris", "etgp-tanh", hidden=(5,), dropout=0.5, **TINY)
    pe, ba = execute(run).rows
    assert words(pe) == words(ba) == NO_CRITERION
    assert pe["stopped"] == "finished"
    assert (pe["inference"], ba["inference"], pe["rows"]) == ("pe", "ba", 2)
    assert pe["best_elbo"] == ba["best_elbo"]
    assert pe["test_log_likelihood"] != ba["test_log_likelihood"]
    assert pe["epochs"] == 3  # 101 rows, two steps an epoch
    assert pe["num_train"] + pe["num_validation"] + pe["num_test"] == 150
    # The same run once more: its predictions have these scores.
    data = datasets.load("iris", validation=0.1, seed=0)
    X, Y = data.test
    p = train(run, data).model.predict_y(X)[0].numpy()
    assert pe["test_accuracy"] == np.mean([p[n].argmax() == Y[n, 0] for n in range(len(X))])
    mean = np.mean([np.log(p[n, Y[n, 0]]) for n in range(len(X))])
    assert pe["test_log_likelihood"] == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(("model", "sharing"), [("svgp-rbf", "separate"), ("svgp-nnet", "shared")])
def test_an_svgp_fills_one_complete_row(model, sharing):
    from etgp_viz.experiments.run import execute

    (row,) = execute(Run("iris", model, sharing, **TINY)).rows
    assert words(row) == NO_CRITERION
    assert row["implementation"] == "batched"
    assert 0.0 <= row["test_ece"] <= 1.0
    assert row["test_ece_if_calibrated_low"] <= row["test_ece_if_calibrated"] <= 1.0


# One of each way to train and predict. Other flows, kernels and sharings differ in the model alone.
@pytest.mark.parametrize(
    "name",
    [
        *("etgp-linear", "svgp-rbf-separate", "svgp-arccos-shared", "svgp-robustmax-separate"),
        *("svgp-deep", "network", "logistic", "boosting"),
    ],
)
def test_each_kind_of_model_is_trained_until_it_stops_improving(name):
    """Findings 9 and 10: one criterion for all, and one number of draws where there are draws."""
    from etgp_viz.experiments.run import execute

    run = Run("iris", *MODELS[name], **PATIENT)
    if run.kind.has_network:
        run = dataclasses.replace(run, hidden=(5,), dropout=0.5)
    outcome = execute(run)
    for row in outcome.rows:
        assert words(row) == set()
        assert row["stopped"] in ("no improvement", "out of time", "finished")
        assert row["test_accuracy"] > 0.2
        is_drawn = run.kind.is_monte_carlo or row["inference"] == "ba"
        assert (row["predictive_draws"] > 0) == (row["prediction_error"] > 0.0) == is_drawn
        if run.kind.is_monte_carlo:
            assert row["predictive_draws"] == PREDICTIVE_DRAWS == Run("iris", *MODELS[name]).samples
        has_latent = name.startswith("etgp") and row["inference"] == "pe"
        assert has_latent != math.isnan(row["latent_lost_at_zero"])
        assert has_latent != math.isnan(row["latent_lost_at_mean"])
    assert [row["inference"] for row in outcome.rows] == ["pe", "ba"][: len(outcome.rows)]
    assert len(outcome.rows) == 1 + run.kind.has_bayesian_average
    assert set(outcome.detail) >= {"confusion", "line", "projection", "elbo"}


@pytest.mark.parametrize("name", EXTENDED)
def test_an_extended_etgp_fills_two_complete_rows(name):
    from etgp_viz import datasets
    from etgp_viz.experiments.run import execute, train

    run = Run("iris", name, hidden=(5,), dropout=0.5, **PATIENT | {"steps": 6})
    outcome = execute(run)
    assert [row["inference"] for row in outcome.rows] == ["pe", "ba"]
    for row in outcome.rows:
        assert words(row) == set()
        assert row["model"] == name
        assert row["test_accuracy"] > 0.2
    assert len(outcome.detail["line"]["t"]) > 0
    # It is the model that its options say, and the table of names knows its parameters.
    model = train(run, datasets.load("iris", validation=0.1, seed=0)).model
    ((option, value),) = EXTENDED_OPTIONS[name].items()
    found = {
        "latents": model.num_latent_gps,
        "features": "shared" if hasattr(model, "trunk") and model.trunk is None else None,
        "parameters": {
            "ConcreteDropoutNetwork": "concrete",
            "MeanFieldNetwork": "mean-field",
            "GPNetwork": "gp",
        }.get(type(model.network).__name__),
        "flow": "spline" if "w4" in str(model.network.flow.params) else None,
    }
    assert found[option] == value
    assert model.network.flow.num_params == EXTENDED[name].num_params


def test_patience_keeps_the_parameters_of_the_best_validation_score():
    from etgp_viz import datasets
    from etgp_viz.experiments.run import train

    data = datasets.load("iris", validation=0.2, seed=0)
    settings = PATIENT | {"steps": 400, "batch_size": 25, "learning_rate": 0.1}
    trained = train(Run("iris", "etgp-linear", hidden=(20,), **settings), data)
    history = trained.history
    assert history.stopped == "no improvement"
    assert len(history.seconds) < 100  # 400 steps, four an epoch
    score = np.mean(trained.model.predict_log_density(data.part("validation")))
    assert score == pytest.approx(max(history.validation), rel=1e-6)
    cut = train(Run("iris", "etgp-linear", hidden=(20,), **settings | {"max_seconds": 1e-4}), data)
    assert cut.history.stopped == "out of time"


def test_the_error_of_dropout_draws_falls_with_their_number():
    from etgp_viz.experiments.run import execute

    settings = TINY | {"steps": 60}
    errors = {
        samples: execute(
            Run("iris", "network", hidden=(20,), dropout=0.5, **settings | {"samples": samples})
        ).rows[1]["prediction_error"]
        for samples in (4, 64)
    }
    assert errors[4] / errors[64] == pytest.approx(4.0, rel=0.3)


def test_a_file_of_ones_own_is_a_data_set_like_others(tmp_path):
    from etgp_viz.experiments.run import execute

    file = tmp_path / "mine.csv"
    lines = [
        f"{a},{b},{'yes' if a > b else 'no'}" for a, b in np.random.default_rng(0).random((60, 2))
    ]
    file.write_text("\n".join(["a,b,is it?", *lines]), encoding="utf-8")
    outcome = execute(Run(f"{file}:is it?", "logistic", **TINY))
    row = outcome.rows[0]
    assert row["num_classes"] == 2
    assert row["num_train"] + row["num_validation"] + row["num_test"] == 60
    assert outcome.detail["class_names"] == ["no", "yes"]


def test_scores_of_steep_flows_are_those_of_a_dense_rule():
    """Finding 15: with slope × σ of about 20, the 20 nodes of training are not enough."""
    from etgp_viz import datasets
    from etgp_viz.experiments.run import train

    data = datasets.load("iris", validation=0.1, seed=0)
    trained = train(Run("iris", "etgp-sal", hidden=(5,), **TINY), data)
    model, (X, Y) = trained.model, data.test
    model.kernel.variance.assign(400.0)
    found = trained.predict("pe")["test"].log_p
    mean, variance = (part.numpy() for part in model.predict_latent(X))
    z = np.linspace(-9.0, 9.0, 20_001)
    params = model.network(X).numpy()
    for n in range(len(X)):
        f0 = mean[n] + np.sqrt(variance[n]) * z
        logits = model.network.flow.forward(
            np.repeat(f0[:, None], 3, axis=1),
            np.broadcast_to(params[n], (len(z), *params[n].shape)),
        ).numpy()
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p = p[:, Y[n, 0]] / p.sum(axis=1)
        dense = np.log(np.sum(p * np.exp(-(z**2) / 2.0)) * (z[1] - z[0]) / np.sqrt(2.0 * np.pi))
        assert found[n] == pytest.approx(dense, abs=1e-2)


def test_a_race_has_a_row_for_each_rival():
    from etgp_viz.experiments.run import CONTESTANTS, execute

    rows = execute(Run("iris", "speed", hidden=(5,), **TINY | {"steps": 2})).rows
    assert [(r["model"], r["sharing"], r["implementation"]) for r in rows] == list(CONTESTANTS)
    for row in rows:
        assert words(row) == NOT_OF_A_RACE
        assert row["seconds_per_epoch"] == pytest.approx(2 * row["seconds_per_step"])


@pytest.mark.parametrize(
    ("model", "sharing"),
    [("etgp-linear", ""), ("svgp-rbf", "separate"), ("svgp-rbfcorr", "shared")],
)
def test_details_are_small_and_say_what_the_model_says(model, sharing):
    from etgp_viz import datasets
    from etgp_viz.experiments.details import detail, principal_directions
    from etgp_viz.experiments.run import train

    data = datasets.load("iris", validation=0.1, seed=0)
    trained = train(Run("iris", model, sharing, **TINY), data)
    found = detail(trained, {way: trained.predict(way)["test"] for way in trained.inferences})
    assert len(json.dumps(found)) < 50_000
    counts = np.zeros((3, 3), int)
    for true, predicted, count in found["confusion"]:
        counts[true, predicted] = count
    X, Y = data.test
    p = trained.model.predict_y(X)[0].numpy()
    for c in range(3):
        for d in range(3):
            assert counts[c, d] == sum(p[n].argmax() == d for n in range(len(X)) if Y[n, 0] == c)
    assert sum(found["reliability"]["pe"]["count"]) == len(X)
    own = [each["probabilities"][each["label"]] for each in found["hardest"]]
    assert own == sorted(own)
    assert own[0] == pytest.approx(min(p[n, Y[n, 0]] for n in range(len(X))), rel=1e-3)
    assert [data.Y[each["row"], 0] for each in found["hardest"]] == [
        each["label"] for each in found["hardest"]
    ]
    sets = 3 if sharing == "separate" else 1
    assert np.shape(found["projection"]["inducing"]) == (6 * sets, 2)
    center, directions = principal_directions(data.train[0])
    points = center + np.outer(found["line"]["t"], directions[0])
    if model == "etgp-linear":
        names, expected = "ab", np.moveaxis(trained.model.network(points).numpy(), -1, 0)
    else:
        mean, variance = (part.numpy() for part in trained.model.predict_f(points))
        names, expected = ("mean", "deviation"), (mean, np.sqrt(variance))
    for name, values in zip(names, expected, strict=True):
        np.testing.assert_allclose(found["line"][name], values.T, rtol=1e-3, atol=1e-4)


def test_an_interrupted_training_is_not_a_result(tmp_path, monkeypatch):
    from etgp_viz.core.optimiser import Optimiser

    steps = []

    def step(self, rows=None):
        steps.append(rows)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(Optimiser, "step", step)
    output = tmp_path / "results.csv"
    with pytest.raises(KeyboardInterrupt):
        carry_out([Run("iris", "etgp-linear", **TINY)], output, workers=0, progress=False)
    assert len(steps) == 3
    assert len(load(output)) == 0


def test_principal_directions_are_eigenvectors_of_the_covariance():
    from etgp_viz.experiments.details import principal_directions

    X = np.random.default_rng(0).normal(size=(50, 4)) * [3.0, 1.0, 2.0, 0.1]
    center, directions = principal_directions(X)
    np.testing.assert_allclose(center, X.mean(axis=0))
    values, vectors = np.linalg.eigh(np.cov(X.T))
    for k, direction in enumerate(directions, start=1):
        assert abs(direction @ vectors[:, -k]) == pytest.approx(1.0)
        assert direction[np.argmax(abs(direction))] > 0
        assert np.var((X - center) @ direction, ddof=1) == pytest.approx(values[-k])


RUNS = tuple(Run("iris", "svgp-rbf", "shared", seed=seed) for seed in range(4))


def test_a_grid_survives_a_worker_that_dies_and_a_run_that_fails(tmp_path):
    def unreliable(run: Run) -> Outcome:
        died = tmp_path / "died"
        if run.seed == 1 and not died.exists():
            died.touch()
            os._exit(1)
        if run.seed == 2:
            raise ValueError("no such data")
        failed = tmp_path / "failed"
        if run.seed == 3 and not failed.exists():  # an error is tried once more
            failed.touch()
            raise RuntimeError("only this time")
        row = dict.fromkeys(COLUMNS) | run.settings()
        row |= {"id": run.id, "rows": 1, "status": "ok"}
        return Outcome([row | {"versions": os.environ["TF_NUM_INTRAOP_THREADS"]}])

    output = tmp_path / "results.csv"
    before = set(psutil.Process().children(recursive=True))
    table = carry_out(RUNS, output, workers=2, progress=False, execute=unreliable)
    assert (tmp_path / "died").exists()
    assert (tmp_path / "failed").exists()
    status = dict(zip(table["seed"], table["status"], strict=True))
    assert status == {0: "ok", 1: "ok", 2: "failed: ValueError: no such data", 3: "ok"}
    threads = set(table[table["status"] == "ok"]["versions"])
    assert threads == {str(max(1, (os.cpu_count() or 1) // 2))}
    assert set(psutil.Process().children(recursive=True)) <= before | _trackers()


def test_local_workers_listen_to_this_machine_alone():
    with results.local_workers(1):
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        heard = [c.laddr.ip for p in family for c in p.net_connections() if c.status == "LISTEN"]
    assert heard
    assert set(heard) == {"127.0.0.1"}


def test_nobody_else_on_this_machine_can_use_the_workers():
    """Dask runs whatever it is sent: with TCP alone, any local account was the owner of a grid."""
    with results.local_workers(1) as (address, security):
        assert address.startswith("tls://127.0.0.1:")
        with Client(address, security=security) as owner:
            assert owner.submit(os.getpid).result() != os.getpid()
        for other in (None, Security.temporary()):
            with pytest.raises((OSError, TypeError, ValueError)):
                Client(address, security=other, timeout=2)
        port = int(address.rpartition(":")[2])
        with pytest.raises((OSError, ValueError)):
            Client(f"tcp://127.0.0.1:{port}", timeout=2)


def test_a_deadly_run_takes_no_other_run_with_it(tmp_path):
    def deadly(run: Run) -> Outcome:
        if run.seed == 1:
            os._exit(1)
        return Outcome([{"seed": run.seed}])

    outcomes = dict(results.through_dask(RUNS, deadly, workers=2))
    killed = [run.seed for run, outcome in outcomes.items() if isinstance(outcome, KilledWorker)]
    assert killed == [1]
    assert sorted(run.seed for run in outcomes) == [0, 1, 2, 3]


def test_a_worker_that_has_grown_is_replaced(monkeypatch):
    def process(run: Run) -> Outcome:
        return Outcome([{"process": os.getpid()}])

    monkeypatch.setattr(workers, "LARGE_WORKER", 0)
    outcomes = dict(results.through_dask(RUNS[:3], process, workers=1))
    assert set(outcomes) == set(RUNS[:3])
    assert len({outcome.rows[0]["process"] for outcome in outcomes.values()}) > 1


def test_a_stopped_cluster_leaves_no_process(tmp_path):
    def slow(run: Run) -> Outcome:
        if run.seed:
            time.sleep(60)
        return Outcome([])

    before = set(psutil.Process().children(recursive=True))
    outcomes = results.through_dask(RUNS, slow, workers=2)
    assert next(outcomes)[0] == RUNS[0]
    start = time.perf_counter()
    outcomes.close()
    assert time.perf_counter() - start < 20
    assert set(psutil.Process().children(recursive=True)) <= before | _trackers()


def test_the_workers_of_a_running_cluster_are_used_and_left(tmp_path):
    def process(run: Run) -> Outcome:
        row = dict.fromkeys(COLUMNS) | run.settings()
        return Outcome([row | {"id": run.id, "rows": 1, "status": "ok", "versions": os.getpid()}])

    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    with cluster, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = [
            carry_out(
                RUNS[:count],
                tmp_path / "results.csv",
                scheduler=cluster.scheduler_address,
                progress=False,
                execute=process,
            )
            for count in (2, 4)
        ]
    assert [len(table) for table in tables] == [2, 4]
    workers = {int(process) for process in tables[1]["versions"]}
    assert len(workers) == 1  # the same one in both grids
    assert os.getpid() not in workers


def test_a_cluster_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(workers, "SECONDS_TO_CONNECT", 0.5)
    with pytest.raises(ValueError, match=r"^scheduler: expected .* tcp://127.0.0.1:9"):
        next(results.through_dask(RUNS, lambda run: Outcome([]), scheduler="tcp://127.0.0.1:9"))


def _trackers() -> set[psutil.Process]:
    """Python's own helper that outlives every child process."""
    return {
        child
        for child in psutil.Process().children()
        if any("resource_tracker" in word for word in child.cmdline())
    }
