"""Joint draws at two inputs, against the formulas of a Gaussian in the plane."""

import numpy as np
import pytest
from matplotlib.path import Path

from etgp_viz.core.flows import SAL
from etgp_viz.figures import two_points
from etgp_viz.records import flow as flow_records
from etgp_viz.records import prior

X = np.array([0.2, 1.0])
K = np.array([[2.0, 0.9], [0.9, 1.0]])
S = 20_000
FLOW, VALUES = SAL(1), np.array([[0.4, 1.3, 1.1, -0.5], [-0.8, 0.9, 0.7, 1.0]])
PARAMS = FLOW.unconstrain(VALUES).numpy()


def test_draws_have_the_covariance_and_the_contour_is_its_ellipse():
    record = flow_records.two_points(X, K, prior.noise(0, S, 2))
    # Var[f g] = K_ii K_jj + K_ij² for a Gaussian pair.
    error = np.sqrt((np.outer(np.diag(K), np.diag(K)) + K**2) / S)
    assert np.all(np.abs(np.cov(record.draws) - K) < 5 * error)
    distance = np.einsum("ik,ij,jk->k", record.contour, np.linalg.inv(K), record.contour)
    np.testing.assert_allclose(distance, -2 * np.log(0.05), rtol=1e-4)
    assert record.correlation == pytest.approx(0.9 / np.sqrt(2.0), abs=0.03)


@pytest.mark.parametrize("warp", [(), (FLOW, PARAMS)], ids=["latent", "warped"])
def test_the_contour_holds_95_percent(warp):
    record = flow_records.two_points(X, K, prior.noise(1, S, 2), *warp)
    inside = Path(record.contour.T).contains_points(record.draws.T).mean()
    assert abs(inside - 0.95) < 5 * np.sqrt(0.95 * 0.05 / S) + 1e-3  # 120 chords cut a little off


def test_each_value_goes_through_the_flow_of_its_input():
    noise = prior.noise(2, 6, 2)
    plain = flow_records.two_points(X, K, noise)
    record = flow_records.two_points(X, K, noise, FLOW, PARAMS)
    for k in range(2):
        for s in range(6):
            expected = float(FLOW.forward(plain.draws[k, s], PARAMS[k]))
            assert record.draws[k, s] == pytest.approx(expected)


def test_the_picture_shows_the_record_and_moves():
    first = flow_records.two_points(X, K, prior.noise(0, 50, 2))
    other = flow_records.two_points(X + 1.0, K, prior.noise(0, 50, 2), FLOW, PARAMS)
    fig = two_points.make(first)
    for record, name in ((first, "f₀(0.20)"), (other, "f(1.20)")):
        two_points.update(fig, record)
        for trace, values in zip(fig.data, (record.draws, record.contour), strict=True):
            np.testing.assert_array_equal([trace.x, trace.y], values)
        assert name in fig.layout.xaxis.title.text
        assert f"{record.correlation:.2f}" in fig.layout.annotations[0].text.replace("−", "-")
        for axis, values in (("xaxis", record.contour[0]), ("yaxis", record.contour[1])):
            low, high = fig.layout[axis].range
            assert low < values.min() < values.max() < high
