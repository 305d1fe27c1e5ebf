"""What the covariance explorer draws and says, against numbers of its own."""

import contextlib
import itertools
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from etgp_viz.explorers import CovarianceExplorer
from etgp_viz.explorers.covariance_session import MAX_TERMS, X
from etgp_viz.extensions.mixed_covariance import mixed_linear
from etgp_viz.figures import style
from etgp_viz.records import covariance, covariance_check, prior, shared_latent

K = np.exp(-0.5 * (X[:, None] - X[None, :]) ** 2)


KIND = CovarianceExplorer


def drawn(explorer, name):
    return np.array(explorer.figures[name].data[0].z, dtype=float)


def test_proposition_1_is_drawn(explorer):
    a1, a2 = (prior.profile(knots, (X + 3) / 6) for knots in (explorer.state.a1, explorer.state.a2))
    expected = covariance.pair_linear(K, a1, a2)
    np.testing.assert_allclose(drawn(explorer, "analytic"), expected, atol=1e-3)
    variance = explorer.figures["variance"].data
    np.testing.assert_allclose(variance[2].y, a2**2)
    dots = variance[5]
    assert dots.name == "f², Monte Carlo"
    assert np.mean(np.abs(dots.y - a2**2) <= 1.5 * dots.error_y.array) > 0.8
    axis = explorer.figures["analytic"].layout.yaxis
    assert axis.range == (30.5, -0.5)  # rows downwards
    assert axis.title.text == "x of f¹"


def test_formula_and_monte_carlo_share_their_colours(explorer):
    for values in ({}, {"a1": (3.0,) * 5}, {"a1": (0.1,) * 5}, {"family": "tanh"}):
        explorer.set(**values)
        left, right = (explorer.figures[name].data[0] for name in ("analytic", "estimate"))
        assert (left.zmin, left.zmax) == (right.zmin, right.zmax)
        assert left.zmin == -left.zmax
    assert explorer.figures["difference"].data[0].zmax == 4.0


def test_all_classes_stand_in_blocks(explorer):
    explorer.set(view="joint")
    joint = drawn(explorer, "analytic")
    assert joint.shape == (48, 48)
    figure = explorer.figures["analytic"]
    assert figure.layout.xaxis.ticktext == ("f¹", "f²", "f³")
    assert figure.data[0].x[16] == "f²(−3.0)"
    assert figure.layout.shapes[0].visible
    blocks = [0, 1, 2]
    meta = figure.data[0].meta  # each block lights its class up
    assert (meta["rows"], meta["columns"], meta["names"]) == (blocks, blocks, ["f¹", "f²", "f³"])
    explorer.set(view="pair")
    np.testing.assert_allclose(joint[:16, 16:32], drawn(explorer, "analytic")[::2, ::2], atol=2e-3)
    assert not figure.layout.shapes[0].visible


def test_mean_and_shifts_matter_to_bent_flows_alone(explorer):
    start = drawn(explorer, "analytic")
    explorer.set(mean=1.5, b1=(2.0,) * 5)
    np.testing.assert_allclose(drawn(explorer, "analytic"), start, atol=1e-3)
    explorer.set(family="sal", mean=0.0)
    bent = drawn(explorer, "analytic")
    explorer.set(b1=(-2.0,) * 5)
    np.testing.assert_allclose(drawn(explorer, "analytic"), bent, atol=1e-3)
    explorer.set(mean=1.5)
    assert np.max(np.abs(drawn(explorer, "analytic") - bent)) > 0.1 * np.max(bent)


def test_without_non_linearity_every_flow_is_linear(explorer):
    start = drawn(explorer, "analytic")
    for family in ("sal", "tanh"):
        explorer.set(family=family, amount=0.0)
        np.testing.assert_allclose(drawn(explorer, "analytic"), start, atol=1e-3)
        assert explorer.records["together"].correlation == pytest.approx(1.0, abs=1e-6)
    explorer.set(amount=1.0)
    assert explorer.records["together"].correlation < 0.9


def test_one_term_is_not_enough_and_more_are(explorer):
    explorer._choose_preset("One term is not enough")
    assert not explorer.records["difference"].agrees
    assert "the terms left out of the series make a difference" in explorer.summary
    level = explorer.figures["convergence"].data[2]
    assert level.visible
    assert level.name == "left out by the series (estimate)"
    explorer.set(terms=MAX_TERMS)
    assert explorer.records["difference"].agrees
    assert "nothing here contradicts the formula" in explorer.summary


@pytest.mark.parametrize("preset", ["All signs flipped", "The same classes from another scale"])
def test_flows_that_no_covariance_tells_apart(explorer, preset):
    """a → −a, and (σ², a) → (4σ², a/2), leave every covariance between classes as it was."""
    before = dict(explorer.records)
    explorer._choose_preset(preset)
    for c in range(1, 4):
        assert getattr(explorer.state, f"a{c}") != getattr(type(explorer.state)(), f"a{c}")
    for name, parts in {
        "analytic": ("analytic", "estimate", "standard_error"),
        "variance": ("analytic", "estimate"),
        "correlation": ("correlation",),
        "spectrum": ("joint",),
    }.items():
        for part in parts:
            values, same = (getattr(records[name], part) for records in (explorer.records, before))
            np.testing.assert_allclose(values, same, atol=1e-9)
    is_scaled = explorer.state.variance == 4.0
    np.testing.assert_allclose(explorer.records["latent"].values, (4.0 if is_scaled else 1.0) * K)


def test_ranks_of_the_presets(explorer):
    explorer._choose_preset("Three classes, one rank")
    assert explorer.records["spectrum"].rank == 16
    assert "rank 16" in explorer.summary
    explorer._choose_preset("Bent flows")
    assert explorer.records["spectrum"].rank == 32
    assert explorer.records["together"].correlation < 0.7


def test_a_change_of_sign_has_no_correlation_where_nothing_varies(explorer):
    explorer._choose_preset("A change of sign")
    line = explorer.figures["correlation"].data[0]
    assert line.y[np.argmin(np.abs(line.x))] is None
    there = [height is not None for height in line.y]
    heights = np.array(line.y, dtype=float)[there]
    np.testing.assert_allclose(heights, np.sign(np.array(line.x)[there]))
    assert "role='alert'" not in explorer._page.message


def test_the_verdict_gives_its_figures(explorer):
    record = explorer.records["difference"]
    for number in (record.share, covariance_check.EXPECTED_SHARE, record.least_by_chance):
        assert f"{number:.1%}" in explorer.summary


def test_more_draws_begin_with_the_same_ones(explorer):
    few = explorer.records["convergence"]
    explorer.set(draws=5000)
    many = explorer.records["convergence"]
    assert many.sizes[-1] == 5000
    assert many.error[0] == pytest.approx(few.error[0])


def test_a_view_control_computes_nothing_again(explorer):
    before = dict(explorer.records)
    explorer.set(at=1.0)
    for name in ("analytic", "convergence", "spectrum", "terms", "latent"):
        assert explorer.records[name] is before[name], name
    assert explorer.records["together"].at == pytest.approx(1.0)


def test_a_click_marks_the_nearest_input(explorer):
    explorer.on_click("variance", "xy", 1.27, 0.0)
    assert explorer.state.at == pytest.approx(1.2)
    for name in ("variance", "correlation"):
        assert explorer.figures[name].layout.shapes[0].x0 == pytest.approx(1.2)
    explorer.on_click("spectrum", "xy", 3.0, 0.0)
    assert explorer.state.at == pytest.approx(1.2)


def test_classes_are_told_by_more_than_colour(explorer):
    lines = explorer.figures["variance"].data[1:4]
    assert len({line.line.dash for line in lines}) == 3
    assert [line.legendgroup for line in lines] == ["0", "1", "2"]
    assert list(explorer.figures["variance"].data[-1].text) == [
        "f₀", *(style.process(c) for c in range(3)),
    ]  # fmt: skip


def test_the_correlation_jumps_and_does_not_pass_through_zero(explorer):
    """A change of sign: no drawn line leads from −1 to 1."""
    explorer._choose_preset("A change of sign")
    trace = next(t for t in explorer.figures["correlation"].data if t.name == "f¹, f²")
    heights = list(trace.y)
    assert None in heights
    for before, after in itertools.pairwise(heights):
        if before is not None and after is not None:
            assert before * after > 0.0
    # The other classes do not change sign: their line has no gap.
    other = next(t for t in explorer.figures["correlation"].data if t.name == "f¹, f³")
    assert None not in list(other.y)


def test_where_a_class_does_not_vary_there_is_no_correlation(explorer):
    explorer._choose_preset("A change of sign")
    explorer.set(at=0.0)
    heading = explorer.figures["together"].layout.annotations[0].text
    assert "nan" not in heading + explorer.summary
    assert "a class does not vary here" in heading
    assert "±1 (none where a class does not vary)" in explorer.summary


def times_scheduled():
    """How often the system has let each native thread run."""
    ours = {thread.native_id for thread in threading.enumerate()}
    counts = {}
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has just ended
            lines = (task / "status").read_text().splitlines()
            counts[int(task.name)] = [line for line in lines if "ctxt_switches" in line]
    return {thread: count for thread, count in counts.items() if thread not in ours}


def threads_woken_by(work):
    """Native threads that ran during some work; those of BLAS spin a while before they sleep."""
    time.sleep(0.2)
    before = times_scheduled()
    work()
    time.sleep(0.2)
    return {thread for thread, count in times_scheduled().items() if count != before.get(thread)}


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which threads have run")
def test_a_change_never_waits_for_threads_of_blas(explorer):
    """With the machine busy, each such wait took a hundred times longer than the work: 36 s."""
    square = np.ones((600, 600))
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        blas = threads_woken_by(lambda: [square @ (square + k) for k in range(3)])
        if not blas:
            pytest.skip("this BLAS has no threads")
        explorer.set(draws=20000, view="joint", family="sal")
        changes = ({"seed": 4}, {"family": "tanh"}, {"lengthscale": 0.5}, {"view": "pair"})

        def move():
            for values in changes:
                explorer.set(**values)

        assert not blas & threads_woken_by(move)


def test_several_latents_untie_two_classes(explorer):
    """By the closed form of linear coregionalisation, and by the drawn cloud."""
    explorer.set(latents=2, mixing=0.5, a2=(2.0,) * 5, draws=20000)
    record = explorer.records["together"]
    assert record.correlation == pytest.approx(np.cos(np.pi / 4))
    assert not record.is_curve
    assert not explorer.figures["together"].data[0].visible
    assert "neither determines the other" in explorer.summary
    assert "rank 32" in explorer.summary  # of 2 latents at 16 inputs
    mixing = shared_latent.mixing_matrix(3, 2, 0.5)[:2]
    expected = mixed_linear(np.stack([K, K]), np.array([1.0, 2.0]), mixing)
    compared = explorer.records["difference"]
    np.testing.assert_allclose(compared.analytic, expected[0, 1], atol=1e-5)
    assert compared.agrees
    explorer.set(mixing=0.0)
    assert explorer.records["together"].is_curve
    assert "exactly ±1" in explorer.summary


@pytest.mark.parametrize("family", ["sal", "tanh"])
def test_bent_flows_of_several_latents_agree_with_monte_carlo(explorer, family):
    explorer.set(latents=3, mixing=0.7, family=family, draws=20000, view="joint")
    assert explorer.records["difference"].agrees
