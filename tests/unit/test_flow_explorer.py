"""The flow explorer through its traits: structure and values, never pixels."""

import numpy as np
import pytest

from etgp_viz.explorers import FlowExplorer
from etgp_viz.figures import paths


@pytest.fixture
def explorer():
    return FlowExplorer(seed=3)


def curves(explorer):
    latent, warped = explorer.figures["paths"].data
    return np.array(latent.y), np.array(warped.y)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (-2.0, 0.5), (0.0, -1.0), (0.5, 0.0)])
def test_sliders_move_the_warped_curve_only(explorer, a, b):
    before, _ = curves(explorer)
    explorer.controls["a"].value = a
    explorer.controls["b"].value = b
    latent, warped = curves(explorer)
    assert (explorer.state.a, explorer.state.b) == (a, b)
    np.testing.assert_array_equal(latent, before)
    np.testing.assert_allclose(warped, a * latent + b, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (1.0, 0.0, "changes nothing"),
        (0.0, 1.0, "constant 1.00"),
        (-1.0, 0.0, "upside down, 1.00 times as high in place"),
        (2.0, -0.5, "2.00 times as high and lowered by 0.50"),
    ],
)
def test_the_summary_says_what_is_seen(explorer, a, b, words):
    explorer.controls["a"].value = a
    explorer.controls["b"].value = b
    assert words in explorer.summary
    assert explorer.summary in explorer._page.sentence


def test_axes_hold_until_a_curve_leaves_the_frame(explorer):
    axis = explorer.figures["paths"].layout.yaxis
    held = axis.range
    explorer.controls["a"].value = 0.5
    assert axis.range == held
    explorer.controls["a"].value = 3.0
    explorer.controls["b"].value = 3.0
    grown = axis.range[1]
    assert grown > np.max(np.abs(curves(explorer))) > held[1]
    explorer.controls["a"].value = 1.0
    assert axis.range[1] == grown


def test_both_curves_are_named_in_the_picture(explorer):
    labels = explorer.figures["paths"].layout.annotations
    assert [label.text for label in labels] == ["latent<br>f₀(x)", "warped process<br>f¹(x)"]
    explorer.controls["a"].value, explorer.controls["b"].value = 1.0, 0.0
    assert abs(labels[0].y - labels[1].y) >= 2 * paths.FRAME * paths.LABEL_GAP - 1e-9


def test_an_error_keeps_the_picture_and_says_so(explorer, monkeypatch):
    before = curves(explorer)

    def broken(*_):
        raise ValueError("too steep")

    monkeypatch.setattr("etgp_viz.prior.warp", broken)
    explorer.controls["a"].value = 0.5
    assert "cannot be drawn: too steep" in explorer._page.sentence
    np.testing.assert_array_equal(curves(explorer), before)


def test_it_shows_itself(explorer):
    assert "application/vnd.jupyter.widget-view+json" in explorer._repr_mimebundle_()


def test_the_seed_chooses_the_draw():
    (first, _), (same, _), (other, _) = (curves(FlowExplorer(seed=s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert np.max(np.abs(first - other)) > 0.1
