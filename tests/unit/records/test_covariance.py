"""Covariances of the warped processes against loops, closed forms, each other and Monte Carlo."""

import numpy as np
import pytest

from etgp_viz.core import flows
from etgp_viz.core.hermite import MAX_ORDER
from etgp_viz.records import covariance

N, C = 5, 3
RNG = np.random.default_rng(0)
X = np.linspace(0.0, 2.0, N)
# Not stationary, and with variances that differ.
SCALE = np.array([0.7, 1.0, 1.3, 0.9, 1.1])
K = np.outer(SCALE, SCALE) * np.exp(-0.5 * (X[:, None] - X[None, :]) ** 2)
A = RNG.normal(size=(C, N))
MEAN = RNG.normal(scale=0.5, size=N)


def draws(size: int, mean: np.ndarray | None = None) -> np.ndarray:
    """Joint draws of f0 at the inputs, [S, N]."""
    noise = np.random.default_rng(1).standard_normal((size, N))
    return (0.0 if mean is None else mean) + noise @ np.linalg.cholesky(K).T


def params_of(flow: flows.Flow, seed: int = 2) -> np.ndarray:
    """Parameters well away from the identity (TANH's amplitudes start near zero)."""
    rng = np.random.default_rng(seed)
    return np.maximum(flow.identity_params(), -1.0) + rng.normal(
        scale=0.4, size=(C, N, flow.num_params)
    )


def test_linear_pair_and_joint_entry_by_entry() -> None:
    joint = covariance.joint_linear(K, A)
    for c in range(C):
        for d in range(C):
            pair = covariance.pair_linear(K, A[c], A[d])
            for n in range(N):
                for m in range(N):
                    expected = A[c, n] * A[d, m] * K[n, m]
                    assert pair[n, m] == pytest.approx(expected)
                    assert joint[c * N + n, d * N + m] == pytest.approx(expected)


def test_linear_joint_is_degenerate() -> None:
    """C·N values of rank N: the stacked map A has N columns."""
    spectrum = np.linalg.eigvalsh(covariance.joint_linear(K, A))
    assert np.sum(spectrum > 1e-10 * spectrum.max()) == N
    assert spectrum.min() > -1e-12


def test_any_flow_gives_proposition_1_for_linear_ones() -> None:
    params = np.stack([A, RNG.normal(size=(C, N))], axis=-1)
    series = covariance.hermite_series(K, flows.Linear(), params, mean=MEAN)
    assert series.order == 1
    np.testing.assert_allclose(series.joint(), covariance.joint_linear(K, A), atol=1e-12)
    np.testing.assert_allclose(series.error_estimate(0, 1), 0.0, atol=1e-12)
    # With a GP mean µ the mean of f^c is b^c + a^c ⊙ µ.
    np.testing.assert_allclose(series.coefficients[:, :, 0], params[:, :, 1] + A * MEAN, atol=1e-12)
    np.testing.assert_allclose(
        covariance.pair(K, flows.Linear(), params[0], params[2]),
        covariance.pair_linear(K, A[0], A[2]),
        atol=1e-12,
    )


def test_exponential_flow_has_a_closed_form() -> None:
    """exp of jointly Gaussian values: Cov = E E' (exp(s s' K) − 1), the log-normal covariance."""
    flow = flows.Compose([flows.Linear(), flows.Exp()])
    slopes = np.array([[0.5] * N, [0.8] * N])
    params = np.stack([slopes, np.full((2, N), 0.1)], axis=-1)
    series = covariance.hermite_series(K, flow, params, mean=MEAN, tolerance=1e-12)
    variance = np.diag(K)
    means = np.exp(slopes * MEAN + 0.1 + 0.5 * slopes**2 * variance)
    np.testing.assert_allclose(series.coefficients[:, :, 0], means, rtol=1e-12)
    expected = np.outer(means[0], means[1]) * np.expm1(np.outer(slopes[0], slopes[1]) * K)
    np.testing.assert_allclose(series.pair(0, 1), expected, rtol=1e-9)


@pytest.mark.parametrize("flow", [flows.SAL(length=1), flows.Tanh(elements=2)], ids=repr)
@pytest.mark.parametrize("mean", [None, MEAN], ids=["zero mean", "with mean"])
def test_series_against_monte_carlo(flow: flows.Flow, mean: np.ndarray | None) -> None:
    params = params_of(flow)
    series = covariance.hermite_series(K, flow, params, mean=mean)
    f0 = draws(200_000, mean)
    F = flow.forward(f0[None], params[:, None]).numpy()  # [C, S, N]
    for c, d in [(0, 0), (0, 1), (2, 1)]:
        estimate, error = covariance.empirical(F[c], F[d])
        assert np.max(np.abs(estimate - series.pair(c, d)) / error) < 4


def test_terms_add_up_and_the_error_stays_below_its_estimate() -> None:
    flow = flows.Tanh(elements=2)
    params = params_of(flow)
    full = covariance.hermite_series(K, flow, params, order=MAX_ORDER)
    for order in (1, 3, 6):
        cut = covariance.hermite_series(K, flow, params, order=order)
        terms = sum(cut.term(n, 0, 1) for n in range(1, order + 1))
        np.testing.assert_allclose(cut.pair(0, 1), terms, atol=1e-12)
        left_out = np.abs(full.pair(0, 1) - cut.pair(0, 1))
        assert np.all(left_out <= cut.error_estimate(0, 1) + 1e-9)


def test_order_is_the_least_that_meets_the_tolerance() -> None:
    flow = flows.SAL(length=1)
    params = params_of(flow)
    loose = covariance.hermite_series(K, flow, params, tolerance=1e-2)
    tight = covariance.hermite_series(K, flow, params, tolerance=1e-5)
    assert 1 <= loose.order < tight.order
    for series, tolerance in ((loose, 1e-2), (tight, 1e-5)):
        variance = np.sum(tight.coefficients[:, :, 1:] ** 2, axis=-1) + tight.remainder
        assert series.remainder.max() <= tolerance * variance.max() * (1 + 1e-9)
        shorter = covariance.hermite_series(K, flow, params, order=series.order - 1)
        assert shorter.remainder.max() > tolerance * variance.max()


def test_joint_is_symmetric_and_positive_semi_definite() -> None:
    flow = flows.Tanh(elements=2)
    joint = covariance.joint(K, flow, params_of(flow))
    np.testing.assert_allclose(joint, joint.T, atol=1e-12)
    assert np.linalg.eigvalsh(joint).min() > -1e-10


@pytest.mark.parametrize("level", [-50.0, 0.0, 50.0])
def test_a_constant_process_has_no_correlation(level) -> None:
    """Its coefficients are rounding errors, which grow with its level."""
    linear = np.stack([np.ones((2, N)), np.zeros((2, N))], axis=-1)
    linear[1] = (0.0, level)
    series = covariance.hermite_series(K, flows.Linear(), linear)
    correlation = covariance.correlation_at_equal_inputs(series)
    assert np.isnan(correlation[[0, 1, 1], [1, 0, 1]]).all()
    np.testing.assert_allclose(correlation[0, 0], 1.0)


def test_correlation_at_equal_inputs() -> None:
    linear = np.stack([A, np.zeros((C, N))], axis=-1)
    series = covariance.hermite_series(K, flows.Linear(), linear)
    signs = np.sign(A[:, None] * A[None, :])
    np.testing.assert_allclose(covariance.correlation_at_equal_inputs(series), signs, atol=1e-12)

    flow = flows.Tanh(elements=2)
    bent = covariance.correlation_at_equal_inputs(
        covariance.hermite_series(K, flow, params_of(flow))
    )
    np.testing.assert_allclose(np.einsum("ccn->cn", bent), 1.0)
    between = bent[0, 1]
    assert np.all(between < 1.0 - 1e-4)
    assert np.all(between > 0.0)


def test_empirical_standard_error_is_the_spread_of_repeated_estimates() -> None:
    f0 = draws(4000)
    estimates, errors = zip(
        *(covariance.empirical(part, part**3) for part in np.split(f0, 40)), strict=True
    )
    spread = np.std(estimates, axis=0)
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.5)
    expected = np.cov(f0[:, 0], f0[:, 3] ** 3)[0, 1]
    assert covariance.empirical(f0, f0**3)[0][0, 3] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": K - np.diag(np.diag(K))}, "K: .*positive semidefinite"),
        ({"order": 0}, "order"),
        ({"order": MAX_ORDER + 1}, "order"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_input_says_what_is_wrong(change: dict, message: str) -> None:
    flow = flows.Linear()
    arguments = {"K": K, "flow": flow, "params": np.ones((C, N, 2))} | change
    with pytest.raises(ValueError, match=message):
        covariance.hermite_series(**arguments)


def test_a_series_can_be_ended_earlier_and_thinned() -> None:
    flow = flows.Tanh(elements=2)
    params = params_of(flow)
    full = covariance.hermite_series(K, flow, params, order=30)
    cut = covariance.hermite_series(K, flow, params, order=4)
    ended = full.up_to(4)
    np.testing.assert_allclose(ended.coefficients, cut.coefficients, atol=1e-14)
    np.testing.assert_allclose(ended.remainder, cut.remainder, atol=1e-12)
    np.testing.assert_allclose(full.every(2).pair(0, 1), full.pair(0, 1)[::2, ::2])
    with pytest.raises(ValueError, match="order"):
        full.up_to(31)


def test_estimates_of_growing_samples_in_one_pass() -> None:
    f0 = 3.0 + draws(450)
    sizes = [2, 100, 101, 333, 450]
    estimates = covariance.empirical_of_first(f0, f0**2, sizes)
    for size, estimate in zip(sizes, estimates, strict=True):
        expected = np.cov(f0[:size].T, (f0[:size] ** 2).T)[:N, N:]
        np.testing.assert_allclose(estimate, expected, rtol=1e-9, atol=1e-9)
    for bad in ([1, 5], [5, 5], [5, 451]):
        with pytest.raises(ValueError, match="sizes: expected"):
            covariance.empirical_of_first(f0, f0, bad)


def test_a_matrix_that_cannot_fit_is_named_with_its_bytes(monkeypatch):
    monkeypatch.setattr("etgp_viz.checks.free_memory", lambda: 100)
    expected = (
        r": expected a size that fits into 100 free bytes, got a matrix of 4 × 4 numbers, 128 "
    )
    with pytest.raises(ValueError, match=f"^params{expected}"):
        covariance.joint(np.eye(2), flows.Linear(), np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match=f"^a{expected}"):
        covariance.joint_linear(np.eye(2), np.ones((2, 2)))
    assert covariance.joint_linear(np.eye(1), np.ones((3, 1))).shape == (3, 3)  # 72 bytes
