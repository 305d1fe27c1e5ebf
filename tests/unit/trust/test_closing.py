"""A closed explorer leaves nothing behind, and a re-run cell closes what it showed before."""

import gc
import threading
import weakref
from collections import Counter

import ipywidgets as widgets
import psutil
import pytest

from etgp_viz import build, explorers
from etgp_viz.backend import gpflow, tf
from etgp_viz.datasets import toys
from etgp_viz.explorers import InferenceExplorer, PosteriorExplorer, TimingExplorer, closing
from etgp_viz.explorers.base import Explorer
from etgp_viz.explorers.fast_plotly.live_figure import prepare_page
from etgp_viz.explorers.inference import MAX_ENGINES
from etgp_viz.records.glance import Glance
from etgp_viz.records.inference import window
from etgp_viz.records.live_training import LiveTraining

comm = pytest.importorskip("comm", reason="ipykernel keeps the comms itself in old versions")


def open_widgets():
    """How many widgets of each kind are open."""
    known = getattr(widgets.widget, "_instances", None)  # of ipywidgets 8; 7 has a public one
    known = widgets.Widget.widgets if known is None else known
    return Counter(type(widget).__name__ for widget in known.values())


@pytest.fixture(autouse=True)
def nothing_shown(monkeypatch):
    prepare_page()
    monkeypatch.setattr(closing, "_cells_of", {})


@pytest.fixture
def cell(monkeypatch):
    """Pretend that a cell runs: ``cell("a", 1)``."""

    def run(name, number):
        monkeypatch.setattr(closing, "_current_cell", lambda: (name, f"{name}{number}"))

    return run


def left_behind():
    """Open widgets, their comms, threads, files, and models and their variables in memory."""
    gc.collect()
    held = gc.get_objects()
    return {
        "widgets": open_widgets(),
        "comms": len(comm.get_comm_manager().comms),
        "threads": threading.active_count(),
        "files": psutil.Process().num_fds(),
        "explorers": sum(issubclass(type(thing), Explorer) for thing in held),
        "models": sum(issubclass(type(thing), gpflow.base.Module) for thing in held),
        "variables": sum(issubclass(type(thing), tf.Variable) for thing in held),
    }


def test_fifty_explorers_made_shown_and_closed_leave_nothing_behind():
    kinds = [getattr(explorers, name) for name in explorers.__all__ if name.endswith("Explorer")]
    for kind in kinds:  # caches hold what the last two of a kind have computed
        kind().close()
        kind().close()
    before = left_behind()
    for kind in [*kinds * 2, *[PosteriorExplorer] * (50 - 2 * len(kinds))]:  # the quickest of them
        explorer = kind()
        explorer._repr_mimebundle_()
        assert open_widgets().total() > before["widgets"].total() + 50
        explorer.close()
        assert open_widgets() == before["widgets"], kind.__name__
    del explorer
    assert left_behind() == before


def test_a_cell_that_is_run_again_closes_what_it_showed(cell):
    """21 re-runs left 2 942 widgets."""
    counts = []
    for number in range(3):
        cell("a", number)
        TimingExplorer()._repr_mimebundle_()
        counts.append(open_widgets())
    assert counts[1] - counts[0] == counts[2] - counts[1] == Counter()
    assert len(closing._cells_of) == 1


def test_what_another_cell_shows_stays_open(cell):
    first, second = TimingExplorer(), TimingExplorer()
    cell("a", 1)
    first._repr_mimebundle_()
    second._repr_mimebundle_()  # two in one run of a cell
    cell("b", 1)
    first._repr_mimebundle_()
    cell("a", 2)
    third = TimingExplorer()
    third._repr_mimebundle_()
    assert first.controls["log"].comm is not None
    assert second.controls["log"].comm is None
    cell("b", 2)
    first._repr_mimebundle_()  # the same one again
    assert first.controls["log"].comm is not None
    first.close()
    third.close()


def test_outside_of_a_notebook_nothing_is_closed():
    explorer = TimingExplorer()
    explorer._repr_mimebundle_()
    TimingExplorer()._repr_mimebundle_()
    assert explorer.controls["log"].comm is not None
    explorer.close()
    explorer.close()  # twice is as good as once


def test_undo_keeps_no_compiled_steps():
    """Each trained model among the sixty that *undo* remembers kept its graphs."""
    explorer, trainings = InferenceExplorer(), []
    for number in range(5, 12):
        explorer.set(num_inducing=number)
        trainings.append(explorer._session.training)
        trainings[-1]._optimiser._compiled["_step", 0.0] = object()  # as a training would
        trainings[-1]._penalties  # noqa: B018  a compiled function, made when first needed
    forgotten = len(trainings) - MAX_ENGINES
    assert [training.is_compiled for training in trainings] == [False] * forgotten + [True] * 4
    assert ["_penalties" in vars(training) for training in trainings[:forgotten]] == [False] * 3
    explorer.undo()
    assert explorer._session.training is trainings[-2]
    explorer.close()


@pytest.fixture
def trained():
    toy = toys.waves(40, 2)
    model = build("etgp-sal", toy.X, 2, inducing_points=toy.X[:3], hidden=(4,))
    return LiveTraining(model, (toy.X, toy.Y)), toy


def test_a_training_leaves_no_graph_behind(trained):
    """TensorFlow kept the graph of every training step for ever, because of its gradients."""
    training, _ = trained
    training.step()
    (compiled,) = training._optimiser._compiled.values()
    graphs = [weakref.ref(compiled.graph), weakref.ref(training._penalties.graph)]
    del compiled
    training.step()  # it still works
    assert all(graph() is not None for graph in graphs)
    training.forget_compiled()
    gc.collect()
    assert [graph() for graph in graphs] == [None, None]


def test_a_glance_leaves_no_graph_behind(trained):
    training, toy = trained
    glance, where = Glance(training.model), window(toy.X)
    glance(where, (toy.X, toy.Y), None)
    glance.bayes(where, (toy.X, toy.Y), 2)
    compiled = glance._at.get_concrete_function(tf.zeros((512, 1), tf.float64))
    assert glance._at.experimental_get_tracing_count() == 1
    graph = weakref.ref(compiled.graph)
    del compiled, glance
    gc.collect()
    assert graph() is None


def test_gradients_of_other_graphs_are_left_alone(trained):
    training, _ = trained

    @tf.custom_gradient
    def doubled(x):
        return 2.0 * x, lambda upstream: 5.0 * upstream

    function = tf.function(doubled).get_concrete_function(tf.constant(1.0))
    training.step()
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    assert float(tape.gradient(y, x)) == 5.0


def test_closing_ends_a_race(monkeypatch):
    """A deleted explorer went on racing."""
    explorer, turn, ended = TimingExplorer(), threading.Event(), threading.Event()

    class Race:
        """A race that waits for a while in each turn, and notes that it was ended."""

        def __iter__(self):
            try:
                while True:
                    turn.set()
                    yield type("Step", (), {"done": 0, "total": 1, "words": "…"})
                    threading.Event().wait(0.01)
            finally:
                ended.set()

        def table(self):
            return None

    monkeypatch.setattr("etgp_viz.timing.Race", lambda *_, **__: Race())
    monkeypatch.setattr(explorer, "_show", lambda _: None)
    explorer.run()
    assert turn.wait(5.0)
    explorer.close()
    assert ended.wait(5.0)
