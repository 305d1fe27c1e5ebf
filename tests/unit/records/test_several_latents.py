"""Ties between two classes: the formula against the draws that are shown with it."""

import numpy as np
import pytest

from etgp_viz.figures import latent_ties
from etgp_viz.figures.print.several_latents import latent_ties as in_print
from etgp_viz.records.several_latents import ties


def test_one_latent_ties_two_classes_and_further_ones_loosen_them():
    record = ties(draws=20_000)
    x, y = record.values[0]
    np.testing.assert_allclose(x, y)  # on a straight line
    np.testing.assert_allclose([record.correlation[0], record.estimate[0]], 1.0, atol=1e-12)
    assert record.error[0] == pytest.approx(0.0, abs=1e-12)
    inner = slice(1, None)
    assert np.all(np.abs(record.correlation[inner]) < 0.9)
    difference = np.abs(record.estimate - record.correlation)
    assert np.all(difference[inner] < 4.0 * record.error[inner])


def test_a_negative_slope_turns_the_correlation_round():
    record, turned = ties(), ties(slopes=(1.0, -2.0))
    np.testing.assert_allclose(turned.correlation, -record.correlation)


def test_the_picture_shows_the_draws_and_their_correlation():
    record = ties((1, 2))
    fig = latent_ties.make(record)
    for k, trace in enumerate(fig.data):
        np.testing.assert_allclose([trace.x, trace.y], record.values[k])
    assert "2 latents: correlation 0.54" in fig.layout.annotations[1].text
    assert tuple(fig.layout.xaxis.range) == tuple(fig.layout.xaxis2.range)
    other = ties((1, 2), slopes=(1.0, -1.0))
    latent_ties.update(fig, other)
    np.testing.assert_allclose(fig.data[1].y, other.values[1, 1])
    assert "−0.54" in fig.layout.annotations[1].text
    panels = in_print(record).axes
    assert [panel.get_title()[:9] for panel in panels] == ["1 latent:", "2 latents"]
    np.testing.assert_allclose(panels[1].lines[0].get_xydata().T, record.values[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"latents": (4,)}, r"mixing: expected a \[2, L\] matrix with L ≥ 4"),
        ({"latents": (0,)}, "latents: expected an integer"),
        ({"slopes": (1.0,)}, "slopes: expected two numbers"),
        ({"draws": 1}, "draws: expected an integer ≥ 2"),
        ({"mixing": [[1.0], [np.nan]], "latents": (1,)}, "mixing: expected finite"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        ties(**arguments)
