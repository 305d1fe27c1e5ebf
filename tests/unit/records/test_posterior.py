"""GP regression, against GPflow's own model, loops, the joint Gaussian and Monte Carlo."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from etgp_viz.backend import gpflow
from etgp_viz.records import posterior
from etgp_viz.records.posterior import Combination, Kernel, condition

X = np.array([-2.0, -0.7, 0.1, 0.15, 1.9])
Y = np.array([-0.3, 1.1, 0.4, 0.6, -1.2])
NEW = np.linspace(-3.0, 4.0, 23)
# One of each kind, with parameters that are all different.
KINDS = {
    name: Kernel(name, 0.5 + 0.2 * k, 0.7 + 0.3 * k, 1.7)
    for k, name in enumerate(posterior.KERNELS)
}
PAIRS = [
    Combination(KINDS[first], sign, KINDS[second])
    for first, second in itertools.combinations_with_replacement(KINDS, 2)
    for sign in ("+", "×")
]
every_kernel = pytest.mark.parametrize(
    "kernel", [*KINDS.values(), *PAIRS], ids=lambda kernel: kernel.title
)


def in_gpflow(kernel):
    """The same kernel as GPflow writes it."""
    if isinstance(kernel, Combination):
        left, right = in_gpflow(kernel.left), in_gpflow(kernel.right)
        return left + right if kernel.sign == "+" else left * right
    if kernel.name == "linear":
        return gpflow.kernels.Linear(kernel.variance)
    if kernel.name == "periodic":
        base = gpflow.kernels.SquaredExponential(kernel.variance, kernel.lengthscale)
        return gpflow.kernels.Periodic(base, kernel.period)
    kinds = {
        "rbf": gpflow.kernels.SquaredExponential,
        "matern12": gpflow.kernels.Matern12,
        "matern32": gpflow.kernels.Matern32,
        "matern52": gpflow.kernels.Matern52,
    }
    return kinds[kernel.name](kernel.variance, kernel.lengthscale)


@every_kernel
def test_mean_variance_and_log_marginal_likelihood_are_those_of_gpflow(kernel):
    process = condition(kernel, X, Y, noise=0.3)
    model = gpflow.models.GPR((X[:, None], Y[:, None]), in_gpflow(kernel), noise_variance=0.09)
    mean, variance = (values.numpy()[:, 0] for values in model.predict_f(NEW[:, None]))
    found_mean, found_variance = process.predict(NEW)
    np.testing.assert_allclose(found_mean, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found_variance, variance, rtol=1e-6, atol=1e-8)
    expected = float(model.log_marginal_likelihood())
    assert process.log_marginal_likelihood == pytest.approx(expected, rel=1e-8)


def by_hand(kernel, a, b):
    """One entry of a kernel's matrix, in plain Python."""
    if isinstance(kernel, Combination):
        left, right = by_hand(kernel.left, a, b), by_hand(kernel.right, a, b)
        return left + right if kernel.sign == "+" else left * right
    d, ell = abs(a - b), kernel.lengthscale
    shape = {
        "rbf": lambda: math.exp(-(d**2) / (2 * ell**2)),
        "matern12": lambda: math.exp(-d / ell),
        "matern32": lambda: (1 + math.sqrt(3) * d / ell) * math.exp(-math.sqrt(3) * d / ell),
        "matern52": lambda: (
            (1 + math.sqrt(5) * d / ell + 5 * d**2 / (3 * ell**2))
            * math.exp(-math.sqrt(5) * d / ell)
        ),
        "periodic": lambda: math.exp(-(math.sin(math.pi * d / kernel.period) ** 2) / (2 * ell**2)),
        "linear": lambda: a * b,
    }
    return kernel.variance * shape[kernel.name]()


@every_kernel
def test_a_matrix_entry_by_entry(kernel):
    matrix = kernel(X, NEW)
    for i, j in itertools.product(range(len(X)), range(len(NEW))):
        assert matrix[i, j] == pytest.approx(by_hand(kernel, X[i], NEW[j]), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("kernel", [KINDS["rbf"], PAIRS[7]], ids=lambda kernel: kernel.title)
def test_conditioning_the_joint_gaussian_with_loops(kernel):
    """Mean and variance of one value given all others, and the density of the observations."""
    n = len(X)
    K = np.array([[by_hand(kernel, a, b) for b in X] for a in X])
    for i in range(n):
        K[i, i] += 0.2**2
    mean, variance = condition(kernel, X, Y, 0.2).predict(NEW)
    inverse = np.linalg.inv(K)
    for j, x in enumerate(NEW):
        c = [by_hand(kernel, x, a) for a in X]
        m = sum(c[i] * inverse[i, k] * Y[k] for i in range(n) for k in range(n))
        v = by_hand(kernel, x, x) - sum(
            c[i] * inverse[i, k] * c[k] for i in range(n) for k in range(n)
        )
        assert mean[j] == pytest.approx(m, rel=1e-7, abs=1e-9)
        assert variance[j] == pytest.approx(v, rel=1e-7, abs=1e-9)
    density = multivariate_normal(np.zeros(n), K).logpdf(Y)
    assert condition(kernel, X, Y, 0.2).log_marginal_likelihood == pytest.approx(density)


@pytest.mark.parametrize("kernel", [KINDS["rbf"], KINDS["matern12"], PAIRS[10]],
                         ids=lambda kernel: kernel.title)  # fmt: skip
@pytest.mark.parametrize("angle", [0.0, 40.0, 200.0])
def test_draws_have_the_mean_and_variance_of_the_posterior(kernel, angle):
    """Matheron's rule against the formula, also with observations beside the grid."""
    S, process = 20_000, condition(kernel, X, Y, 0.3)
    grid = np.array([-3.0, -0.7, 0.1, 1.0, 3.0])
    noise = posterior.turned_noise(1, angle, S, len(grid), len(X))
    record = posterior.functions(process, grid, noise)
    for draws, mean, deviation in (
        (record.draws, record.mean, record.deviation),
        (record.prior_draws, np.zeros(len(grid)), record.prior_deviation),
    ):
        error = deviation / np.sqrt(S)
        assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * error + 1e-9)
        np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=5 / np.sqrt(2 * S) + 1e-3)


def test_draws_are_bent_near_the_data_and_stay_what_they_were_far_away():
    process = condition(Kernel("rbf", 0.3), np.array([-1.0]), np.array([2.0]))
    grid = np.linspace(-3.0, 3.0, 121)
    record = posterior.functions(process, grid, posterior.turned_noise(0, 0.0, 4, 121, 1))
    np.testing.assert_allclose(record.draws[:, 40], 2.0, atol=0.01)
    np.testing.assert_allclose(record.draws[:, 90:], record.prior_draws[:, 90:], atol=1e-6)


def test_the_noise_stays_when_observations_are_added_and_turns_on_a_circle():
    few, many = (posterior.turned_noise(3, 30.0, 2, 10, n) for n in (2, 5))
    np.testing.assert_array_equal(few.grid, many.grid)
    np.testing.assert_array_equal(few.errors, many.errors[:, :2])
    start, quarter, half, there = (
        posterior.turned_noise(3, angle, 2, 10, 2).grid for angle in (0.0, 90.0, 180.0, 30.0)
    )
    np.testing.assert_allclose(half, -start, atol=1e-12)
    expected = np.cos(np.pi / 6) * start + np.sin(np.pi / 6) * quarter
    np.testing.assert_allclose(there, expected)
    full = posterior.turned_noise(3, 360.0, 2, 10, 2)
    np.testing.assert_allclose(full.errors, posterior.turned_noise(3, 0.0, 2, 10, 2).errors)


def test_the_evidence_and_its_maximum():
    values = np.geomspace(0.1, 5.0, 31)
    x = np.linspace(-3.0, 3.0, 9)
    process = condition(Kernel("rbf", 0.4), x, np.sin(x), 0.1)
    record = posterior.evidence(process, "lengthscale", values)
    for value, found in zip(values, record.log_likelihood, strict=True):
        other = condition(Kernel("rbf", value), x, np.sin(x), 0.1)
        assert found == pytest.approx(other.log_marginal_likelihood)
    fine = np.geomspace(0.1, 5.0, 4001)
    best = max(
        condition(Kernel("rbf", value), x, np.sin(x), 0.1).log_marginal_likelihood for value in fine
    )
    assert record.best_log_likelihood == pytest.approx(best, abs=1e-4)
    assert record.best_log_likelihood >= best - 1e-9
    at_best = condition(Kernel("rbf", record.best), x, np.sin(x), 0.1)
    assert at_best.log_marginal_likelihood == pytest.approx(record.best_log_likelihood)
    assert record.at == 0.4
    assert record.at_log_likelihood == process.log_marginal_likelihood


def test_the_evidence_over_a_parameter_of_the_second_kernel():
    kernel = Kernel("linear") + Kernel("periodic", 1.3, 0.5, 2.0)
    record = posterior.evidence(condition(kernel, X, Y, 0.2), "period", np.array([1.0, 2.5]), True)
    other = Kernel("linear") + Kernel("periodic", 1.3, 0.5, 2.5)
    expected = condition(other, X, Y, 0.2).log_marginal_likelihood
    assert record.log_likelihood[1] == pytest.approx(expected)
    assert record.at == 2.0
    with pytest.raises(ValueError, match="kernel: expected one kernel or two, got linear"):
        posterior.evidence(condition(kernel + kernel, X, Y), "period", np.array([1.0, 2.0]))


def test_without_observations_the_posterior_is_the_prior():
    process = condition(PAIRS[3], [], [])
    mean, variance = process.predict(NEW)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(variance, [by_hand(PAIRS[3], x, x) for x in NEW])
    assert process.log_marginal_likelihood == 0.0
    record = posterior.functions(process, NEW, posterior.turned_noise(0, 0.0, 3, len(NEW), 0))
    np.testing.assert_array_equal(record.draws, record.prior_draws)
    search = posterior.evidence(condition(Kernel("rbf", 0.7), [], []), "lengthscale", X[2:] + 1.0)
    assert (search.best_log_likelihood, search.observations) == (0.0, 0)


@every_kernel
def test_observations_that_contradict_each_other_break_nothing(kernel):
    """Two at one input without noise: the floor keeps everything finite, and the mean between."""
    x, y = np.array([1.0, 1.0, 1.0 + 1e-9]), np.array([-1.0, 1.0, 3.0])
    process = condition(kernel, x, y)
    assert process.noise == posterior.NOISE_FLOOR
    mean, variance = process.predict(np.array([1.0]))
    assert mean[0] == pytest.approx(1.0, abs=1e-2)
    assert 0.0 <= variance[0] <= posterior.NOISE_FLOOR**2
    assert np.isfinite(process.log_marginal_likelihood)
    noise = posterior.turned_noise(0, 0.0, 2, len(NEW), 3)
    record = posterior.functions(process, NEW, noise)
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        assert not isinstance(value, np.ndarray) or np.all(np.isfinite(value)), field.name


def test_the_floor_of_the_noise_is_gpflows():
    floor = gpflow.likelihoods.Gaussian().variance_lower_bound
    assert floor == pytest.approx(posterior.NOISE_FLOOR**2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Kernel("cubic"), "name: expected"),
        (lambda: Kernel("rbf", 0.0), "lengthscale: expected"),
        (lambda: Combination(KINDS["rbf"], "-", KINDS["rbf"]), "sign: expected"),
        (lambda: condition(KINDS["rbf"], X, Y[:2]), "X, Y: expected two arrays"),
        (lambda: condition(KINDS["rbf"], [0.0], [np.nan]), "X, Y: expected finite"),
        (lambda: condition(KINDS["rbf"], X, Y, -1.0), "noise: expected"),
    ],
)
def test_bad_arguments_say_so(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_slice_of_a_kernel():
    record = posterior.covariance_with(PAIRS[5], NEW, 0.5)
    np.testing.assert_allclose(record.values, [by_hand(PAIRS[5], x, 0.5) for x in NEW])
    assert record.name == PAIRS[5].title
