"""Pictures of what a model has learnt: trainings that are compared."""

from types import SimpleNamespace

import numpy as np
import pytest

from etgp_viz.figures import optimisers
from etgp_viz.figures.print import inference as print_inference
from etgp_viz.records.live_training import Trainings, compare


def result(elbo: list[float], seconds: list[float]) -> SimpleNamespace:
    """What `compare` reads of a `FitResult`."""
    return SimpleNamespace(elbo=np.array(elbo), seconds=np.array(seconds))


@pytest.fixture
def trainings() -> Trainings:
    adam = result([-9.0, -5.0, -4.0, -3.5], [8.0, 0.1, 0.3, 0.2])  # compiling took 8 s
    return compare({"Adam": adam, "natural": result([-9.0, -4.0, -3.0], [9.0, 0.4, 0.4])})


def test_time_is_counted_without_compiling(trainings):
    # The ELBO of a step is measured before its update, so the first one at time 0.
    np.testing.assert_allclose(trainings.seconds[0], [0.0, 0.2, 0.3, 0.6])
    np.testing.assert_allclose(trainings.seconds[1], [0.0, 0.4, 0.8])
    np.testing.assert_allclose(trainings.elbo[1], [-9.0, -4.0, -3.0])


def test_trainings_are_drawn_over_steps_and_over_seconds(trainings):
    figure = optimisers.make(trainings)
    *lines, names = figure.data
    assert [(line.name, line.xaxis) for line in lines] == [
        *(("Adam", "x"), ("natural", "x")),
        *(("Adam", "x2"), ("natural", "x2")),
    ]
    np.testing.assert_array_equal(lines[1].x, [0, 1, 2])
    np.testing.assert_allclose(lines[2].x, trainings.seconds[0])
    for line, elbo in zip(lines, trainings.elbo * 2, strict=True):
        np.testing.assert_allclose(line.y, elbo)
    assert list(names.text) == ["Adam", "natural"]
    assert figure.layout.yaxis.range[0] < -9.0 < -3.0 < figure.layout.yaxis.range[1]
    assert figure.layout.yaxis.title.text == "nats"
    assert figure.layout.xaxis2.title.text == "seconds, without compiling"


def test_the_printed_trainings_are_the_same(trainings):
    steps, seconds = print_inference.optimisers(trainings).axes
    assert [line.get_label() for line in steps.lines] == ["Adam", "natural"]
    np.testing.assert_allclose(seconds.lines[1].get_xdata(), trainings.seconds[1])
    np.testing.assert_allclose(seconds.lines[1].get_ydata(), trainings.elbo[1])
    assert (steps.get_ylabel(), seconds.get_xlabel()) == (
        "ELBO, nats",
        "seconds, without compiling",
    )
