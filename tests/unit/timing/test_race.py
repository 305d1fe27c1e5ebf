"""The schedule of a race, with children that answer from a script and no clock of their own."""

import json

import pytest

from etgp_viz import timing
from etgp_viz.rivals.names import PREDICTIVE_DRAWS
from etgp_viz.timing import processes, race
from etgp_viz.timing.contestants import MODELS, Size, bytes_needed, operations
from etgp_viz.timing.log import Settings
from etgp_viz.timing.processes import CellError, OverBudgetError, OverMemoryError
from etgp_viz.timing.race import Race


def settings(**changes):
    values = {
        "models": ("etgp-linear", "svgp-batched"),
        "classes": (2, 5),
        "num_data": (50,),
        "num_inducing": (10,),
        "num_inputs": 2,
        "repeats": 5,
        "sessions": 2,
        "budget": 100.0,
        "memory": True,
        "memory_limit": 4.0,
    }
    return Settings(**(values | changes))


class FakeChildren:
    """Stands in for `Starter`: children that write down what they are asked, on a fake clock."""

    def __init__(self, clock, trouble=None, seconds=0.1):
        self.clock, self.trouble, self.seconds = clock, trouble or {}, seconds
        self.asked, self.alive, self.started, self.draws = [], 0, 0, set()

    def __call__(self, memory):
        self.memory = memory
        return self

    def __enter__(self):
        self.started += 1
        return self

    def __exit__(self, *_):
        assert self.alive == 0, "a child was left behind"

    def child(self, model):
        self.alive += 1
        return FakeChild(self)


class FakeChild:
    """A process that takes as long as it is told to."""

    def __init__(self, family):
        self.family, self.model, self.classes = family, "", 0

    def ask(self, request, deadline):
        if request["do"] == "build":
            self.family.draws.add(request["draws"])
            self.model, self.classes = request["model"], request["size"]["classes"]
        what = (self.model, self.classes, request["do"], request.get("quantity"))
        self.family.asked.append(what)
        trouble = self.family.trouble.get(what)
        if isinstance(trouble, BaseException):
            raise trouble
        self.family.clock.now += trouble or self.family.seconds
        if self.family.clock.now > deadline:
            raise OverBudgetError
        quantities = ["step", "prediction", "prediction_ba"]
        return {
            "value": self.family.seconds,
            "quantities": quantities[: 3 if "etgp" in self.model else 2],
        }

    def end(self):
        self.family.alive -= 1


class Clock:
    """Time passes when a child works."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(race, "time", clock)
    return clock


def finished(settings, children, **options):
    raced = Race(settings, start=children, **options)
    steps = list(raced)
    assert steps[-1].done == steps[-1].total
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    return raced.table()


def test_rivals_take_turns_round_by_round(clock):
    children = FakeChildren(clock)
    table = finished(settings(), children)
    assert list(table["status"]) == ["ok"] * 4
    assert list(table["rounds"]) == [5] * 4
    assert children.started == 2
    turns = [a[0] for a in children.asked if a[1:] == (5, "time", "step")]
    # Rounds of 3 and 2; the one who begins changes from round to round.
    e, s = "etgp-linear", "svgp-batched"
    assert turns == [e, s, s, e, e, s, e, s, s, e]
    assert table["prediction_ba"].notna().tolist() == [True, True, False, False]
    assert table["memory"].notna().all()
    # Memory is measured once, in the first session, before any prediction.
    memory = [i for i, a in enumerate(children.asked) if a == (e, 5, "memory", None)]
    predictions = [
        i for i, a in enumerate(children.asked) if a[:2] == (e, 5) and a[3] == "prediction"
    ]
    assert len(memory) == 1
    assert memory[0] < predictions[0]


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (OverMemoryError(), "over memory"),
        (CellError("failed: ValueError: no"), "failed: ValueError: no"),
        (1000.0, "over budget"),  # a first call that takes longer than the budget
    ],
)
def test_a_cell_in_trouble_is_told_and_the_others_go_on(clock, problem, status):
    trouble = {("svgp-batched", 5, "first", "step"): problem}
    table = finished(settings(), FakeChildren(clock, trouble))
    assert list(table["status"]) == ["ok", "ok", "ok", status]
    assert list(table["rounds"]) == [5, 5, 5, 0]


def test_what_was_timed_before_the_budget_ended_is_kept(clock):
    children = FakeChildren(clock, {("svgp-batched", 5, "time", "step"): 30.0})
    row = finished(settings(repeats=10, sessions=1), children).iloc[3]
    assert row["status"] == "over budget"
    assert 1 <= row["rounds"] <= 3
    assert row["step"] == 0.1


def test_a_cell_that_cannot_afford_a_second_session_is_complete(clock):
    children = FakeChildren(clock, {("svgp-batched", 5, "first", "step"): 60.0})
    table = finished(settings(), children)
    assert list(table["status"]) == ["ok"] * 4
    assert list(table["sessions"]) == [2, 2, 2, 1]


def test_trouble_in_a_later_session_leaves_the_first(clock):
    class Later(FakeChildren):
        def __enter__(self):
            super().__enter__()
            if self.started == 2:
                self.trouble = {("svgp-batched", 5, "time", "step"): CellError("failed: late")}
            return self

    table = finished(settings(), Later(clock))
    assert table.iloc[3]["status"] == "ok"
    assert table.iloc[3]["rounds"] == 3


def test_no_session_begins_that_would_end_too_late(clock):
    table = finished(settings(), FakeChildren(clock), time_limit=5.0)
    assert list(table["sessions"]) == [1] * 4
    assert list(table["status"]) == ["ok"] * 4


def test_what_cannot_fit_is_never_started(clock):
    children = FakeChildren(clock)
    assert bytes_needed("svgp-batched", Size(5, 50, 10, 2)) > 2**30 * 1e-4
    table = finished(settings(memory_limit=1e-4), children)
    assert table["status"].tolist()[2:] == ["over memory"] * 2
    assert not [a for a in children.asked if a[0] == "svgp-batched"]


def test_leaving_the_loop_ends_every_child(clock):
    children = FakeChildren(clock)
    for step in Race(settings(), start=children):
        if "round 2" in step.words:
            assert children.alive == 2
            break
    assert children.alive == 0


@pytest.mark.parametrize("stop_at", [1, 6, 20, 33])
def test_an_interrupt_loses_one_measurement_and_resuming_finishes_the_table(
    clock, tmp_path, stop_at
):
    whole = finished(settings(), FakeChildren(clock))
    path = tmp_path / "race.csv"

    class Interrupted(FakeChild):
        def ask(self, request, deadline):
            if len(self.family.asked) == stop_at:
                raise KeyboardInterrupt
            return super().ask(request, deadline)

    children = FakeChildren(clock)
    children.child = lambda model: (
        setattr(children, "alive", children.alive + 1) or Interrupted(children)
    )
    with pytest.raises(KeyboardInterrupt):
        list(Race(settings(), path, start=children))
    assert children.alive == 0
    timed = sum(a[2] == "time" for a in children.asked)
    kept = timing.read(path)
    rounds = [kept[f"{q}_rounds"] for q in ("step", "prediction", "prediction_ba")]
    assert sum(len(session) for cells in rounds for cell in cells for session in cell) == timed
    again = FakeChildren(clock)
    table = finished(settings(), again, out=path, resume=True)
    columns = [name for name in table if not name.startswith("first_")]
    assert table[columns].to_json() == whole[columns].to_json()
    assert timing.read(path).to_json() == table.to_json()
    # What was there is not done again.
    assert timed + sum(a[2] == "time" for a in again.asked) == 2 * 5 * (3 + 2)


def test_the_error_of_monte_carlo_predictions_is_measured_once(clock):
    children = FakeChildren(clock)
    models = ("etgp-linear", "svgp-batched", "svgp-robustmax")
    table = finished(settings(models=models), children)
    asked = [what[0] for what in children.asked if what[2] == "error"]
    assert asked == ["svgp-batched"] * 2  # at both sizes, in the first session alone
    has_error = table.groupby("model")["prediction_error"].agg(lambda errors: errors.notna().all())
    assert has_error.to_dict() == {
        "etgp-linear": False,
        "svgp-batched": True,
        "svgp-robustmax": False,
    }
    assert children.draws == {table.attrs["predictive_draws"]} == {PREDICTIVE_DRAWS}


def test_gpytorch_is_never_needed(monkeypatch):
    monkeypatch.setattr(race, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"models: .*'gpytorch-batched' without gpytorch"):
        Race(settings(models=("gpytorch-batched",)))


# --- on paper -----------------------------------------------------------------------------------


def counted_by_loops(model, size):
    """The multiply–adds of the textbook algorithms, one by one."""
    C, N, M, D = size.classes, size.num_data, size.num_inducing, size.num_inputs
    count = dict.fromkeys(operations(model, size), 0)
    H, Q, S, P = 50, 20, 100, MODELS[model].num_params
    per_class = not model.startswith("etgp")
    kernels = C if MODELS[model].kernel_per_class else 1
    for _ in range(kernels):
        count["kernel"] += sum(D for _ in range(M) for _ in range(M + N))
        # L_ij = (K_ij − Σ_{k<j} L_ik L_jk) / L_jj
        count["factors"] += sum(j for j in range(M) for _ in range(j, M))
        # a_i = (k_i − Σ_{k<i} L_ik a_k) / L_ii
        count["solves"] += sum(i for _ in range(N) for i in range(M))
    for _ in range(C if per_class else 1):
        for _ in range(N):
            count["moments"] += M + M + sum(M - j for j in range(M)) + M
    values = S if per_class and model != "svgp-robustmax" else Q  # draws or nodes
    for _ in range(N):
        count["network"] += H * D + sum(H for _ in range(C * P)) if P else 0
        count["flows"] += sum(P for _ in range(C) for _ in range(values))
        count["softmax"] += sum(1 for _ in range(C) for _ in range(values))
        if "rbfcorr" in model:
            count["mixing"] += sum(C for _ in range(C) for _ in range(S))
    return count


@pytest.mark.parametrize("model", MODELS)
def test_operations_equal_a_count_by_loops(model):
    size = Size(classes=3, num_data=4, num_inducing=5, num_inputs=2)
    assert operations(model, size) == counted_by_loops(model, size)


# --- the child's side -----------------------------------------------------------------------------


def test_quick_calls_are_averaged_and_slow_ones_count_as_they_are():
    now = [0.0]

    def call(seconds):
        now[0] += seconds

    assert processes._seconds_per_call(lambda: call(2.0), clock=lambda: now[0]) == 2.0
    durations = iter([0.04, *[0.004] * 100])  # the first one is cold
    assert processes._seconds_per_call(
        lambda: call(next(durations)), clock=lambda: now[0]
    ) == pytest.approx(0.004)


def test_a_request_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match=r"do: expected build.*got 'sing'"):
        processes._answer({"do": "sing"}, {})


def test_peak_memory_sees_a_temporary():
    import numpy as np

    for peak in (processes.peak_memory, processes._sampled_peak):
        before = processes.resident_memory()
        grown = peak(lambda: np.ones(20_000_000).sum()) - before
        assert 140e6 < grown < 260e6


def test_memory_of_a_container_counts(tmp_path):
    free = processes.available_memory(tmp_path)
    assert free > 0
    (tmp_path / "memory.max").write_text("1000000")
    (tmp_path / "memory.current").write_text("400000")
    assert processes.available_memory(tmp_path) == 600_000
    (tmp_path / "memory.max").write_text("max")
    assert processes.available_memory(tmp_path) == pytest.approx(free, rel=0.5)


# --- real processes ------------------------------------------------------------------------------

CHILD = """
import json, os, socket, sys, time
order = json.loads(sys.stdin.readline())
connection = socket.create_connection(("127.0.0.1", order["port"]))
lines = connection.makefile("rw")
say = lambda message: (lines.write(json.dumps(message) + "\\n"), lines.flush())
say({"token": order["token"], "pid": os.getpid()})
for line in lines:
    request = json.loads(line)
    if request["do"] == "sleep": time.sleep(60)
    if request["do"] == "eat": kept = bytearray(600 * 2**20); time.sleep(60)
    if request["do"] == "die": os._exit(1)
    if request["do"] == "fail": say({"error": "ValueError: told"})
    say({"value": 1.0})
"""


@pytest.fixture
def starter(monkeypatch, tmp_path):
    """Children that run the script above instead of TensorFlow."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    launch = processes.subprocess.Popen
    monkeypatch.setattr(processes, "CAN_FORK", False)
    monkeypatch.setattr(
        processes.subprocess,
        "Popen",
        lambda command, **options: launch([command[0], str(script)], **options),
    )
    with processes.Starter(memory_limit=300 * 2**20) as starter:
        yield starter


@pytest.mark.parametrize(
    ("request_", "seconds", "status"),
    [
        ("sleep", 0.3, "over budget"),
        ("eat", 30.0, "over memory"),
        ("die", 30.0, "failed: the process ended"),
        ("fail", 30.0, "failed: ValueError: told"),
    ],
)
def test_a_child_is_bounded(starter, request_, seconds, status):
    child = starter.child("etgp-linear")
    start = processes.time.perf_counter()
    assert child.ask({"do": "answer"}, start + 30.0) == {"value": 1.0}
    with pytest.raises(CellError) as problem:
        child.ask({"do": request_}, processes.time.perf_counter() + seconds)
    assert str(problem.value).startswith(status)
    process = child._process
    child.end()
    process.wait(5)
    assert processes.time.perf_counter() - start < 10.0


def test_a_child_that_cannot_start_says_why(monkeypatch):
    launch = processes.subprocess.Popen
    monkeypatch.setattr(
        processes.subprocess,
        "Popen",
        lambda command, **options: launch(
            [command[0], "-c", "raise SystemExit('no luck')"], **options
        ),
    )
    with processes.Starter(2**30) as starter, pytest.raises(CellError, match="failed: no luck"):
        starter.child("etgp-linear")


def test_a_child_process_that_is_gone_is_told_and_leaves_no_error(monkeypatch):
    launch = processes.subprocess.Popen
    monkeypatch.setattr(
        processes.subprocess,
        "Popen",
        lambda command, **options: launch([command[0], "-c", "import os; os.close(0)"], **options),
    )
    with processes.Starter(2**30) as starter:
        for _ in range(2):  # the second one writes to a process that has ended
            with pytest.raises(CellError, match="failed: "):
                starter.child("etgp-linear")


def test_a_stranger_is_not_taken_for_a_child(starter):
    import socket

    with socket.create_connection(starter._server.getsockname()) as stranger:
        stranger.sendall(json.dumps({"token": "guess", "pid": 1}).encode() + b"\n")
        child = starter.child("etgp-linear")
        assert child.ask({"do": "answer"}, processes.time.perf_counter() + 30.0) == {"value": 1.0}


@pytest.mark.slow
def test_a_small_race_from_end_to_end(tmp_path):
    table = timing.sweep(
        ["etgp-linear", "svgp-rbfcorr"],
        3,
        num_data=40,
        num_inducing=6,
        num_inputs=2,
        repeats=4,
        sessions=2,
        progress=False,
        out=tmp_path / "race.csv",
    )
    assert list(table["status"]) == ["ok"] * 2
    assert list(table["rounds"]) == [4] * 2
    for name in ("step", "prediction", "first_step", "memory"):
        assert (table[name] > 0).all()
    assert (table["first_step"] > table["step"]).all()
    assert timing.read(tmp_path / "race.csv").to_json() == table.to_json()
    assert "ETGP LINEAR" in timing.describe(table)[0]


def test_a_race_that_is_watched_shows_a_time_before_the_second_model_is_built(clock):
    children = FakeChildren(clock)
    watched = Race(settings(), start=children, early=True)
    steps = iter(watched)
    while not watched.table()["step"].notna().any():
        next(steps)
    assert {model for model, *_ in children.asked} == {"etgp-linear"}
    list(steps)
    rounds = [what for what in children.asked if what == ("etgp-linear", 2, "time", "step")]
    assert len(rounds) == 5  # it is one of the rounds, not one more
    assert list(watched.table()["status"]) == ["ok"] * 4
