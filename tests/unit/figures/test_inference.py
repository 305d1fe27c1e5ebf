"""Pictures of what a model has learnt: trainings that are compared."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from etgp_viz.figures import node_errors, optimisers, regions, style
from etgp_viz.figures.print import inference as print_inference
from etgp_viz.records.inference import NodeErrors
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
    assert np.max(figure.data[-1].x) * 1.001 < figure.layout.xaxis2.range[1]  # names are drawn


def test_the_printed_trainings_are_the_same(trainings):
    steps, seconds = print_inference.optimisers(trainings).axes
    assert [line.get_label() for line in steps.lines] == ["Adam", "natural"]
    np.testing.assert_allclose(seconds.lines[1].get_xdata(), trainings.seconds[1])
    np.testing.assert_allclose(seconds.lines[1].get_ydata(), trainings.elbo[1])
    assert (steps.get_ylabel(), seconds.get_xlabel()) == (
        "ELBO, nats",
        "seconds, without compiling",
    )


# Decision regions -----------------------------------------------------------------------------


def classes(p: np.ndarray, **fields: np.ndarray) -> SimpleNamespace:
    window = SimpleNamespace(x=np.arange(float(p.shape[2])), y=np.arange(float(p.shape[1])))
    points = {"Z": np.array([[1.0, 0.5]]), "trail": np.array([[[0.0, 0.5]]])}
    return SimpleNamespace(probabilities=p, window=window, **(points | fields))


def test_regions_have_the_colour_of_the_likeliest_class_and_are_pale_where_unsure():
    p = np.full((3, 8, 8), 1 / 3)
    p[:, :4, :4] = np.array([1.0, 0.0, 0.0])[:, None, None]  # at the lower left class 1 is certain
    p[:, :4, 4:] = np.array([0.0, 0.0, 1.0])[:, None, None]  # at the lower right class 3
    pixels = regions.paint(classes(p))
    lower_left, lower_right, upper_left = pixels[-1, 0], pixels[-1, -1], pixels[0, 0]
    np.testing.assert_allclose(lower_left[:3], to_rgb(style.PALETTE[0]))
    np.testing.assert_allclose(lower_right[:3], to_rgb(style.PALETTE[2]))
    np.testing.assert_allclose([lower_left[3], upper_left[3]], [regions.FULL, regions.FAINT])


def test_regions_are_smooth():
    """Between two points of the window, opacity changes little by little."""
    share = np.linspace(0.5, 0.8, 5)  # where the entropy is above half its maximum
    p = np.stack([np.tile(share, (5, 1)), np.tile(1.0 - share, (5, 1))])
    opacity = regions.paint(classes(p))[0, :, 3]
    assert len(opacity) == 15
    assert np.max(np.abs(np.diff(opacity))) < 0.05


def test_half_the_entropy_is_a_grey_line():
    p = np.tile(np.linspace(0.5, 1.0, 30), (30, 1))
    pixels = regions.paint(classes(np.stack([p, 1.0 - p])))
    grey = np.linalg.norm(pixels[..., :3] - to_rgb(style.NEUTRAL), axis=-1) < 0.15
    columns = np.unique(np.nonzero(grey)[1])
    top = 0.5 + 0.5 * columns / (pixels.shape[1] - 1)
    entropy = -(top * np.log2(top) + (1 - top) * np.log2(1 - top))
    assert len(columns)
    np.testing.assert_allclose(entropy, 0.5, atol=0.05)


def test_inducing_points_are_crosses_at_the_end_of_their_trails():
    record = classes(np.full((2, 3, 3), 0.5))
    assert regions.trails(record.trail, record.Z) == "M0.000,0.500L1.000,0.500"
    arm = regions.ARM * 2.0
    assert regions.crosses(record.Z, record.window).startswith(f"M{1 - arm:.3f},0.500")


def test_rounding_errors_are_not_drawn_as_data():
    rng = np.random.default_rng(0)
    nodes, draws = np.array([1, 2, 4]), np.array([1, 16])
    noise = [1e-16 * rng.uniform(1, 9, n) for n in (3, 2, 2)]
    fig = node_errors.make(NodeErrors(nodes, noise[0], draws, noise[1], noise[2], 2))
    assert all(np.ptp(trace.y) == 0.0 for trace in fig.data)
    assert "no error yet" in fig.layout.annotations[0].text
    node_errors.update(fig, NodeErrors(nodes, 1e12 * noise[0], draws, noise[1], noise[2], 2))
    assert np.ptp(fig.data[0].y) > 0.0
    assert "rms over rows" in fig.layout.annotations[0].text
