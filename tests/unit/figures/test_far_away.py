"""The pictures of how sure flow parameters are: drawn values, in plotly and in print."""

import numpy as np

from etgp_viz.figures import concentration, return_to_prior
from etgp_viz.figures.print import far_away as prints
from etgp_viz.records.far_away import Concentration, FarAway

NAMES = ("dropout", "gp")
FAR = FarAway(
    NAMES,
    np.linspace(0.0, 10.0, 5),
    2.0,
    4,
    np.array([[1.0, 0.9, 0.8, 0.7, 0.6], [1.0, 0.6, 0.3, 0.3, 0.3]]),
    np.array([[0.0, 0.1, 0.1, 0.1, 0.1], [0.2, 0.7, 0.99, 1.01, 1.0]]),
    np.array([[0.5] * 5, [0.8, 0.3, 0.0, 0.01, 0.02]]),
)
MORE = Concentration(
    NAMES,
    np.array([100, 1000]),
    np.array([[0.5, 0.4], [1.0, 0.2]]),
    np.array([[0.25, 0.25], [np.nan, np.nan]]),
)


def test_both_curves_of_every_model_and_what_it_does():
    fig = return_to_prior.make(FAR)
    drawn = {trace.name: np.asarray(trace.y) for trace in fig.data}
    np.testing.assert_array_equal(drawn["gp, largest probability"], FAR.confidence[1])
    np.testing.assert_array_equal(drawn["gp, spread"], FAR.spread[1])
    np.testing.assert_array_equal(drawn["dropout, spread"], [1e-4, 0.1, 0.1, 0.1, 0.1])
    assert [text.strip() for text in fig.data[-1].text] == [
        "dropout: does not return",
        "gp: returns to its prior",
    ]
    assert (fig.layout.shapes[0].x0, fig.layout.shapes[0].x1) == (0.0, 2.0)
    assert fig.layout.shapes[1].y0 == 0.25  # one of four classes


def test_the_picture_moves_to_another_record():
    fig = return_to_prior.make(FAR)
    other = FarAway(NAMES, FAR.x, 3.0, 2, FAR.confidence, FAR.spread[::-1], FAR.offset[::-1])
    return_to_prior.update(fig, other)
    assert [text.strip() for text in fig.data[-1].text] == [
        "dropout: returns to its prior",
        "gp: does not return",
    ]
    assert fig.layout.shapes[0].x1 == 3.0


def test_spread_and_rate_over_the_number_of_rows():
    fig = concentration.make(MORE)
    drawn = {trace.name: np.asarray(trace.y) for trace in fig.data}
    np.testing.assert_array_equal(drawn["gp"], [1.0, 0.2])
    np.testing.assert_array_equal(drawn["dropout, dropout rate"], [0.25, 0.25])
    assert drawn["gp, dropout rate"].size == 0


def test_in_print_the_lines_hold_the_same_numbers():
    above, below = prints.return_to_prior(FAR).axes
    np.testing.assert_array_equal(above.lines[1].get_ydata(), FAR.confidence[1])
    np.testing.assert_array_equal(below.lines[1].get_ydata(), FAR.spread[1])
    left, right = prints.concentration(MORE).axes
    np.testing.assert_array_equal(left.lines[1].get_ydata(), MORE.spread[1])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), [0.25, 0.25])
