"""Formula against Monte Carlo: the comparison itself, against loops, NumPy and repeated draws."""

import numpy as np
import pytest

from etgp_viz.core import flows
from etgp_viz.records import covariance, covariance_check, prior

C, N, S = 3, 6, 3000
X = np.linspace(-1.0, 1.5, N)
K = prior.covariance_matrix(prior.kernel("matern32", 0.8, 1.3), X)
MEAN = np.full(N, 0.4)
RNG = np.random.default_rng(0)
SCALE, SHIFT = RNG.normal(size=(2, C, N))
STEP = flows.SinhArcsinh()
BENT = flows.Compose([STEP, flows.Linear()])
BEND = np.array([[-1.0, 1.2, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.0, 0.7, 1.0, 0.0]])


def params_of(flow, amount=1.0):
    if isinstance(flow, flows.Linear):
        return np.stack([SCALE, SHIFT], axis=-1)
    return prior.then_linear(prior.interpolate_from_identity(STEP, BEND, amount), SCALE, SHIFT)


def case(flow, amount=1.0, order=40):
    """The series, and S draws of the C processes from NumPy's own Cholesky factor."""
    params = params_of(flow, amount)
    series = covariance.hermite_series(K, flow, params, mean=MEAN, order=order)
    noise = np.random.default_rng(5).standard_normal((S, N))
    f0 = MEAN + noise @ np.linalg.cholesky(K).T
    return series, flow.forward(f0, params[:, None]).numpy()


@pytest.fixture(scope="module", params=["linear", "bent"])
def both(request):
    return case(flows.Linear() if request.param == "linear" else BENT)


def test_variances_are_those_of_numpy_and_of_the_formula(both):
    series, F = both
    record = covariance_check.variances(X, K, series, F)
    np.testing.assert_allclose(record.estimate, F.var(axis=1, ddof=1))
    np.testing.assert_allclose(record.latent, np.diag(K))
    for c in range(C):
        np.testing.assert_allclose(record.analytic[c], np.diag(series.pair(c, c)))
    assert np.all(np.abs(record.estimate - record.analytic) < 4 * record.standard_error)


@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (2, 1), None])
def test_formula_and_monte_carlo_agree_within_four_standard_errors(both, pair):
    series, F = both
    record = covariance_check.compare(X, series, F, pair)
    assert np.max(np.abs(record.difference)) < 4
    assert record.agrees
    assert record.num_draws == S
    rows = F.transpose(1, 0, 2).reshape(S, -1) if pair is None else F[pair[0]]
    columns = rows if pair is None else F[pair[1]]
    n = rows.shape[1]
    np.testing.assert_allclose(record.estimate, np.cov(rows.T, columns.T)[:n, n:], atol=1e-12)


def test_a_wrong_formula_does_not_agree():
    _, F = case(BENT)
    wrong = covariance.hermite_series(2.0 * K, BENT, params_of(BENT), mean=MEAN)
    record = covariance_check.compare(X, wrong, F, (0, 0))
    assert not record.agrees
    assert record.share < 0.5


def test_linear_joint_is_proposition_1_of_rank_n():
    series, F = case(flows.Linear())
    record = covariance_check.compare(X, series, F)
    np.testing.assert_allclose(record.analytic, covariance.joint_linear(K, SCALE), atol=1e-12)
    assert covariance_check.spectrum(series).rank == N


@pytest.mark.parametrize("num_terms", [1, 2, 40])
def test_each_term_brings_a_rank_of_at_most_n(num_terms):
    series = case(BENT)[0].up_to(num_terms)
    record = covariance_check.spectrum(series)
    assert record.num_terms == num_terms
    assert record.rank == min(num_terms, C) * N
    assert record.joint.min() > -1e-14
    assert np.all(np.diff(record.joint) <= 0.0)
    assert record.joint.sum() == pytest.approx(1.0)
    assert record.independent.sum() == pytest.approx(1.0)
    assert np.sum(record.independent > 1e-13) == C * N


def test_flows_that_differ_in_skew_alone_have_rank_2n():
    """sinh(b·u − a) = cosh(a) sinh(b·u) − sinh(a) cosh(b·u): two functions of f₀ for any C."""
    bend = np.array([[a, 1.2, 1.0, 0.0] for a in (-1.0, 0.3, 1.0)])
    params = prior.then_linear(prior.interpolate_from_identity(STEP, bend, 1.0), SCALE, SHIFT)
    record = covariance_check.spectrum(covariance.hermite_series(K, BENT, params, order=40))
    assert record.rank == 2 * N


@pytest.mark.parametrize("pair", [(0, 1), None])
def test_convergence_uses_the_first_draws_of_the_same_sample(both, pair):
    series, F = both
    compared = covariance_check.compare(X, series, F, pair)
    record = covariance_check.convergence(series, F, compared)
    assert record.sizes[0] == covariance_check.FIRST_SIZE
    assert record.sizes[-1] == S
    whole = np.sqrt(np.mean(compared.analytic**2))
    for size, error in zip(record.sizes, record.error, strict=True):
        part = covariance_check.compare(X, series, F[:, :size], pair).estimate
        assert error == pytest.approx(np.sqrt(np.mean((part - compared.analytic) ** 2)) / whole)
    np.testing.assert_allclose(record.expected * np.sqrt(record.sizes / S), record.expected[-1])


def test_the_expected_error_is_that_of_repeated_samples():
    series, F = case(flows.Linear())
    record = covariance_check.convergence(series, F, covariance_check.compare(X, series, F, (0, 1)))
    k = 5
    size = int(record.sizes[k])
    parts = [F[:, s : s + size] for s in range(0, S - size, size)]
    truth = series.pair(0, 1)
    errors = [
        np.mean((covariance.empirical(part[0], part[1])[0] - truth) ** 2) / np.mean(truth**2)
        for part in parts
    ]
    assert np.sqrt(np.mean(errors)) == pytest.approx(record.expected[k], rel=0.25)


def test_draws_do_not_close_the_gap_of_a_cut_series():
    full, F = case(BENT)
    cut = full.up_to(1)
    record = covariance_check.convergence(cut, F, covariance_check.compare(X, cut, F, (0, 0)))
    missing = full.pair(0, 0) - cut.pair(0, 0)
    whole = np.sqrt(np.mean(cut.pair(0, 0) ** 2))
    assert record.left_out >= np.sqrt(np.mean(missing**2)) / whole
    assert record.left_out > 10 * covariance_check.convergence(
        full, F, covariance_check.compare(X, full, F, (0, 0))
    ).left_out  # fmt: skip


def test_terms_share_the_variance():
    full, _ = case(BENT)
    record = covariance_check.terms(full, 3)
    np.testing.assert_allclose(record.share[:, :3].sum(axis=1) + record.left_out, 1.0)
    for c in range(C):
        total = np.trace(full.pair(c, c)) + full.remainder[c].sum()
        assert record.share[c, 1] == pytest.approx(np.trace(full.term(2, c, c)) / total)
    linear = covariance_check.terms(case(flows.Linear())[0], 1)
    np.testing.assert_allclose(linear.share[:, 0], 1.0)
    np.testing.assert_allclose(linear.left_out, 0.0, atol=1e-12)


def test_correlations_at_equal_inputs_and_the_draws_there():
    linear, _ = case(flows.Linear())
    record = covariance_check.equal_inputs(X, linear)
    assert record.pairs == ((0, 1), (0, 2), (1, 2))
    np.testing.assert_allclose(np.abs(record.correlation), 1.0)
    series, F = case(BENT)
    found = covariance_check.two_classes(X, series, F, 0, 1, at=0.1)
    assert found.at == X[2]
    np.testing.assert_array_equal(found.values[0], np.sort(F[0, : covariance_check.NUM_DOTS, 2]))
    # One value determines the other: both are monotone in f₀, so sorting one sorts the other.
    assert len(np.unique(np.sign(np.diff(found.values[1])))) == 1
    sampled = np.corrcoef(F[0, :, 2], F[1, :, 2])[0, 1]
    assert found.correlation == pytest.approx(sampled, abs=4.0 / np.sqrt(S))
    assert abs(found.correlation) < 0.97


def test_a_process_that_does_not_vary_has_no_correlation_and_no_difference():
    params = np.stack([SCALE * [1.0, 0.0, 1.0, 1.0, 1.0, 1.0], SHIFT], axis=-1)
    series = covariance.hermite_series(K, flows.Linear(), params)
    assert np.all(np.isnan(covariance_check.equal_inputs(X, series).correlation[:, 1]))
    f0 = np.random.default_rng(0).standard_normal((100, N)) @ np.linalg.cholesky(K).T
    F = flows.Linear().forward(f0, params[:, None]).numpy()
    record = covariance_check.compare(X, series, F, (0, 0))
    assert np.all(record.difference[1] == 0.0)
    assert np.all(np.isfinite(record.difference))


def test_the_share_within_three_errors_varies_no_more_than_stated():
    """Many samples of a smooth process: 99.7 % on average, and a spread below its bound."""
    x = np.linspace(-3.0, 3.0, 12)
    smooth = prior.covariance_matrix(prior.kernel("rbf", 1.0, 1.0), x)
    series = covariance.hermite_series(smooth, flows.Linear(), np.ones((1, 12, 2)), order=1)
    rng, L = np.random.default_rng(1), np.linalg.cholesky(smooth + 1e-10 * np.eye(12))
    shares = []
    for _ in range(300):
        F = 1.0 + rng.standard_normal((1, 1000, 12)) @ L.T
        record = covariance_check.compare(x, series, F, (0, 0))
        shares.append(record.share)
    spread = np.std(shares)
    error = spread / np.sqrt(len(shares))
    assert np.mean(shares) == pytest.approx(covariance_check.EXPECTED_SHARE, abs=4 * error)
    assert spread <= record.share_deviation <= 4 * spread
    # The share of independent entries would vary far less.
    alone = np.sqrt(covariance_check.EXPECTED_SHARE * (1 - covariance_check.EXPECTED_SHARE) / 144)
    assert record.share_deviation > 2 * alone


def test_the_deviation_bounds_the_mean_square_correlation_of_the_entries():
    rho = K / K[0, 0]
    total = 0.0
    for i in range(N):
        for j in range(N):
            for k in range(N):
                for m in range(N):
                    top = rho[i, k] * rho[j, m] + rho[i, m] * rho[j, k]
                    total += top**2 / ((1 + rho[i, j] ** 2) * (1 + rho[k, m] ** 2))
    p = covariance_check.EXPECTED_SHARE
    exact = np.sqrt(p * (1 - p) * total / N**4)
    assert exact <= covariance_check.share_deviation_bound(rho) <= np.sqrt(2.0) * exact


def test_a_step_can_be_interpolated_from_the_identity():
    raw = prior.interpolate_from_identity(STEP, BEND, 0.0)
    f = np.linspace(-3.0, 3.0, 7)
    np.testing.assert_allclose(STEP.forward(f, raw[:, None]).numpy(), np.tile(f, (3, 1)))
    half = STEP.constrain(prior.interpolate_from_identity(STEP, BEND, 0.5)).numpy()
    np.testing.assert_allclose(half[0], [-0.5, 1.1, 1.0, 0.0])
    params = prior.then_linear(prior.interpolate_from_identity(STEP, BEND, 1.0), SCALE, SHIFT)
    expected = SCALE[1] * np.sinh(np.arcsinh(0.3) - 1.0) + SHIFT[1]
    np.testing.assert_allclose(BENT.forward(np.full(N, 0.3), params[1]).numpy(), expected)
