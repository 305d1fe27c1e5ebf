"""Proposition 1 and its extension against Monte Carlo: covariances of C warped processes.

Everything here compares a `HermiteSeries` (for linear flows its one term is Proposition 1) with
joint draws F ``[C, S, N]`` of the same processes, and looks into the series: its spectrum, its
terms, and the correlation that it leaves between two classes at one input.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm

from etgp_viz.backend import check_shapes
from etgp_viz.records.covariance import (
    HermiteSeries,
    correlation_at_equal_inputs,
    empirical,
    empirical_of_first,
)

# Entries are compared within so many standard errors, and so many of them are there by chance.
WITHIN = 3.0
EXPECTED_SHARE = float(norm.cdf(WITHIN) - norm.cdf(-WITHIN))
# Eigenvalues below this part of the largest are rounding errors.
RANK_TOLERANCE = 1e-13
# The first size of a growing sample, and how many sizes follow until all draws are in.
FIRST_SIZE, NUM_SIZES = 20, 14
# So many joint values of two classes are kept as dots.
NUM_DOTS = 200


@dataclass(frozen=True)
class Variances:
    """Var[f^c(x)] of each class, by the series and by Monte Carlo.

    Attributes
    ----------
    x : inputs ``[N]``
    latent : K(x, x) ``[N]``
    analytic, estimate, standard_error : ``[C, N]``
    at : an input to be marked
    """

    x: np.ndarray
    latent: np.ndarray
    analytic: np.ndarray
    estimate: np.ndarray
    standard_error: np.ndarray
    at: float


@dataclass(frozen=True)
class EqualInputs:
    """Corr[f^c(x), f^d(x)] of each pair of classes; NaN where a process does not vary.

    Attributes
    ----------
    x : inputs ``[N]``
    pairs : classes c < d of each row below
    correlation : ``[C(C−1)/2, N]``
    at : an input to be marked
    """

    x: np.ndarray
    pairs: tuple[tuple[int, int], ...]
    correlation: np.ndarray
    at: float


@dataclass(frozen=True)
class Together:
    """Joint draws of two classes at one input: points on a curve, whatever their correlation.

    Attributes
    ----------
    at : the input
    c, d : the classes
    values : f^c(at) and f^d(at), sorted by the first ``[2, draws]``
    correlation : Corr[f^c(at), f^d(at)] by the series
    """

    at: float
    c: int
    d: int
    values: np.ndarray
    correlation: float


@dataclass(frozen=True)
class Comparison:
    """A covariance by the series and by Monte Carlo, entry by entry.

    Attributes
    ----------
    x : inputs ``[N]``
    rows, columns : the classes whose blocks stand below and beside one another
    analytic, estimate, standard_error : ``[N·rows, N·columns]``
    num_draws : S
    wobble : a bound on the standard deviation of `share`, see `wobble_of_share`
    """

    x: np.ndarray
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    analytic: np.ndarray
    estimate: np.ndarray
    standard_error: np.ndarray
    num_draws: int
    wobble: float

    @property
    def difference(self) -> np.ndarray:
        """(estimate − analytic)/standard error; 0 where nothing varies."""
        rounding = max(1e-12 * np.max(np.abs(self.analytic)), 1e-24)
        gap = self.estimate - self.analytic
        varies = self.standard_error > rounding
        return np.divide(gap, self.standard_error, out=np.zeros_like(gap), where=varies)

    @property
    def share(self) -> float:
        """The share of entries that agree within `WITHIN` standard errors."""
        return float(np.mean(np.abs(self.difference) <= WITHIN))

    @property
    def least_by_chance(self) -> float:
        """A share that chance alone seldom falls below: three standard deviations down."""
        return max(EXPECTED_SHARE - 3.0 * self.wobble, 0.0)

    @property
    def agrees(self) -> bool:
        """Whether chance alone explains the differences."""
        return self.share >= self.least_by_chance


@dataclass(frozen=True)
class Convergence:
    """The error of the first m of S draws, m growing: root mean square over the entries.

    All three are parts of the root mean square of the analytic covariance.

    Attributes
    ----------
    sizes : m ``[K]``
    error : of the estimate from the first m draws ``[K]``
    expected : the standard error with m draws, falling like 1/√m ``[K]``
    left_out : a bound on what the series leaves out: no number of draws gets closer
    """

    sizes: np.ndarray
    error: np.ndarray
    expected: np.ndarray
    left_out: float


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the joint covariance of all C·N values, falling, as parts of their sum.

    Attributes
    ----------
    joint : of the C processes that share f₀ ``[C·N]``
    independent : of C independent processes with the same covariances ``[C·N]``
    num_inputs : N
    num_terms : how many terms of the series are summed; each has a rank of at most N
    """

    joint: np.ndarray
    independent: np.ndarray
    num_inputs: int
    num_terms: int

    @property
    def rank(self) -> int:
        """How many eigenvalues of the joint are more than a rounding error."""
        return int(np.sum(self.joint > RANK_TOLERANCE * self.joint[0]))


@dataclass(frozen=True)
class Terms:
    """How much of the variance each term of the series explains.

    Attributes
    ----------
    share : Σ_x h_n^c(x)² / Σ_x Var[f^c(x)] for n = 1, 2, … ``[C, order]``
    left_out : the share beyond the terms that are summed ``[C]``
    num_terms : how many terms are summed
    """

    share: np.ndarray
    left_out: np.ndarray
    num_terms: int


@check_shapes("x: [N]", "K: [N, N]", "F: [C, S, N]")
def variances(
    x: np.ndarray, K: np.ndarray, series: HermiteSeries, F: np.ndarray, at: float = 0.0
) -> Variances:
    """Variances along x. At equal inputs ρ = 1, so Var[f^c(x)] = Σ_{n≥1} h_n^c(x)²."""
    S = F.shape[1]
    squares = (F - F.mean(axis=1, keepdims=True)) ** 2
    estimate = squares.sum(axis=1) / (S - 1)
    return Variances(
        x=x,
        latent=np.diag(K),
        analytic=np.sum(series.coefficients[:, :, 1:] ** 2, axis=-1),
        estimate=estimate,
        standard_error=squares.std(axis=1) / np.sqrt(S),
        at=at,
    )


@check_shapes("x: [N]")
def equal_inputs(x: np.ndarray, series: HermiteSeries, at: float = 0.0) -> EqualInputs:
    """Correlations of all pairs of classes at equal inputs."""
    correlation = correlation_at_equal_inputs(series)
    pairs = tuple(combinations(range(len(correlation)), 2))
    return EqualInputs(x, pairs, np.stack([correlation[pair] for pair in pairs]), at)


@check_shapes("x: [N]", "F: [C, S, N]")
def together(
    x: np.ndarray, series: HermiteSeries, F: np.ndarray, c: int, d: int, at: float
) -> Together:
    """Joint draws of two classes at the input nearest to `at`."""
    n = int(np.argmin(np.abs(x - at)))
    values = F[[c, d], :NUM_DOTS, n]
    correlation = float(correlation_at_equal_inputs(series)[c, d, n])
    return Together(float(x[n]), c, d, values[:, np.argsort(values[0])], correlation)


@check_shapes("x: [N]", "F: [C, S, N]")
def compare(
    x: np.ndarray, series: HermiteSeries, F: np.ndarray, pair: tuple[int, int] | None = None
) -> Comparison:
    """Cov[f^c, f^d] of a pair (c, d), or of all classes stacked, in both ways."""
    rows, columns = _blocks(len(F), pair)
    estimate, standard_error = empirical(_stacked(F, rows), _stacked(F, columns))
    return Comparison(
        x=x,
        rows=rows,
        columns=columns,
        analytic=series.joint() if pair is None else series.pair(*pair),
        estimate=estimate,
        standard_error=standard_error,
        num_draws=F.shape[1],
        wobble=wobble_of_share(series.correlation),
    )


@check_shapes("F: [C, S, N]")
def convergence(series: HermiteSeries, F: np.ndarray, comparison: Comparison) -> Convergence:
    """How the estimate of a comparison came closer, draw by draw."""
    rows, columns = comparison.rows, comparison.columns
    S = comparison.num_draws
    sizes = np.unique(np.geomspace(FIRST_SIZE, S, NUM_SIZES).astype(int))
    estimates = empirical_of_first(_stacked(F, rows), _stacked(F, columns), sizes.tolist())
    bound = np.block([[series.truncation_error(c, d) for d in columns] for c in rows])
    whole = _rms(comparison.analytic) or 1.0
    error = np.sqrt(np.mean((estimates - comparison.analytic) ** 2, axis=(1, 2)))
    expected = _rms(comparison.standard_error) * np.sqrt(S / sizes)
    return Convergence(sizes, error / whole, expected / whole, _rms(bound) / whole)


def spectrum(series: HermiteSeries) -> Spectrum:
    """The spectrum of the joint covariance, beside that of independent classes."""
    joint = series.joint()
    C, N = series.coefficients.shape[:2]
    alone = [joint[c * N : (c + 1) * N, c * N : (c + 1) * N] for c in range(C)]
    total = np.trace(joint) or 1.0
    together, apart = np.linalg.eigvalsh(joint), np.linalg.eigvalsh(np.stack(alone))
    return Spectrum(
        np.sort(together)[::-1] / total, np.sort(apart.ravel())[::-1] / total, N, series.order
    )


def terms(full: HermiteSeries, num_terms: int) -> Terms:
    """The share of each term of a long series, and what is left when it ends at `num_terms`."""
    squares = full.coefficients[:, :, 1:] ** 2
    total = np.sum(squares, axis=(1, 2)) + np.sum(full.remainder, axis=1)
    safe = np.where(total > 0.0, total, 1.0)
    left = np.sum(full.up_to(num_terms).remainder, axis=1)
    return Terms(np.sum(squares, axis=1) / safe[:, None], left / safe, num_terms)


@check_shapes("correlation: [N, N]")
def wobble_of_share(correlation: np.ndarray) -> float:
    """A bound on the standard deviation of the share of entries within `WITHIN` errors.

    Entries of an empirical covariance move together. For linear flows those at (i, j) and (k, l)
    have the correlation

        r = (ρ_ik ρ_jl + ρ_il ρ_jk) / √((1 + ρ_ij²)(1 + ρ_kl²)),

    whatever the classes. Whether an entry lies within the bounds is an even function of it, so by
    Mehler's formula two such events have a correlation of at most r². The variance of the share
    is then at most p(1 − p)·mean(r²): as with 1/mean(r²) independent entries. The mean is bounded
    in turn by (u + v)² ≤ 2u² + 2v². For other flows this is a guide, no bound.
    """
    squares = correlation**2
    weights = 1.0 / (1.0 + squares)
    mean_r2 = 4.0 * np.sum(weights * (squares @ weights @ squares)) / correlation.size**2
    return float(np.sqrt(EXPECTED_SHARE * (1.0 - EXPECTED_SHARE) * min(mean_r2, 1.0)))


def _blocks(
    num_classes: int, pair: tuple[int, int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if pair is None:
        return tuple(range(num_classes)), tuple(range(num_classes))
    return (pair[0],), (pair[1],)


def _stacked(F: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    """Draws of several classes side by side, [S, N·classes]."""
    return np.concatenate([F[c] for c in classes], axis=-1)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
