"""Covariances between warped processes by formula, checked against Monte Carlo.

Each function compares a `HermiteSeries` (for linear flows its one term is Proposition 1) with joint
draws F ``[C, S, N]`` of the same C processes at N inputs, or describes the series: its spectrum,
its terms, and the correlation between two classes at one input.

>>> from etgp_viz import covariance, flows, prior
>>> from etgp_viz.records import covariance_check
>>> x, K, flow = np.arange(2.0), np.eye(2), flows.Linear()
>>> params = np.array([[[1.0, 0.0]] * 2, [[-2.0, 1.0]] * 2])  # f¹ = f₀ and f² = 1 − 2·f₀
>>> series = covariance.hermite_series(K, flow, params, order=3)
>>> F = flow.forward(prior.draw(K, prior.noise(0, 1000, 2)), params[:, None]).numpy()

>>> covariance_check.variances(x, K, series, F).analytic.round(6)
array([[1., 1.],
       [4., 4.]])
>>> comparison = covariance_check.compare(x, series, F, (0, 1))
>>> comparison.share, comparison.agrees
(1.0, True)
>>> error = covariance_check.convergence(series, F, comparison).error
>>> bool(error[-1] < error[0])  # all draws are better than the first few
True
>>> covariance_check.equal_inputs(x, series).correlation.round(6)
array([[-1., -1.]])
>>> round(covariance_check.two_classes(x, series, F, 0, 1, at=0.9).correlation, 6)
-1.0
>>> covariance_check.spectrum(series).rank  # of 4, since two values of f₀ determine all
2
>>> covariance_check.terms(series, 1).share.round(6)  # linear flows have one term
array([[1., 0., 0.],
       [1., 0., 0.]])
"""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from etgp_viz.backend import check_shapes
from etgp_viz.records.covariance import (
    HermiteSeries,
    correlation_at_equal_inputs,
    empirical,
    empirical_of_first,
)

__all__ = [
    *("Comparison", "Convergence", "EqualInputs", "Spectrum", "Terms", "TwoClasses", "Variances"),
    *("EXPECTED_SHARE", "WITHIN", "compare", "convergence", "equal_inputs"),
    *("share_deviation_bound", "spectrum", "terms", "two_classes", "variances"),
]

# Tolerance in standard errors, and the share of entries expected inside it by chance.
WITHIN = 3.0
EXPECTED_SHARE = float(norm.cdf(WITHIN) - norm.cdf(-WITHIN))
# Eigenvalues below this share of the largest are rounding errors.
RANK_TOLERANCE = 1e-13
# The smallest sample of a convergence curve, and the number of samples.
FIRST_SIZE, NUM_SIZES = 20, 14
# Number of joint draws of two classes that are shown as dots.
NUM_DOTS = 200


@dataclass(frozen=True)
class Variances:
    """Var[f^c(x)] of each class, by the series and by Monte Carlo."""

    x: np.ndarray  # inputs [N]
    latent: np.ndarray  # K(x, x) [N]
    analytic: np.ndarray  # by the series [C, N]
    estimate: np.ndarray  # by Monte Carlo [C, N]
    standard_error: np.ndarray  # of the estimate [C, N]
    at: float  # the marked input


@dataclass(frozen=True)
class EqualInputs:
    """Corr[f^c(x), f^d(x)] of each pair of classes."""

    x: np.ndarray  # inputs [N]
    pairs: tuple[tuple[int, int], ...]  # the classes c < d of each row of `correlation`
    correlation: np.ndarray  # [C(C−1)/2, N]; NaN where a process does not vary
    at: float  # the marked input


@dataclass(frozen=True)
class TwoClasses:
    """Joint draws of two classes at one input: points on a curve, whatever their correlation.

    They are a cloud if the classes mix several latents in different shares.
    """

    at: float  # the input
    c: int  # the first class
    d: int  # the second class
    values: np.ndarray  # draws of f^c(at) and f^d(at), sorted by the first [2, S]
    correlation: float  # Corr[f^c(at), f^d(at)] by the series
    is_curve: bool = True  # whether each value determines the other


@dataclass(frozen=True)
class Comparison:
    """A covariance by the series and by Monte Carlo, entry by entry.

    Examples
    --------
    >>> off = np.array([[0.01, -0.02], [-0.02, 0.1]])  # how far off the estimate is
    >>> x, K, error = np.arange(2.0), np.eye(2), np.full((2, 2), 0.01)
    >>> record = Comparison(x, (0,), (0,), K, K + off, error, num_draws=500, share_deviation=0.25)
    >>> record.difference.round(6).tolist()
    [[1.0, -2.0], [-2.0, 10.0]]
    >>> record.share, record.share > record.least_by_chance, record.agrees  # few entries: by chance
    (0.75, True, True)
    """

    x: np.ndarray  # inputs [N]
    rows: tuple[int, ...]  # classes of the blocks from the top
    columns: tuple[int, ...]  # and from the left
    analytic: np.ndarray  # by the series [N·rows, N·columns]
    estimate: np.ndarray  # by Monte Carlo, the same shape
    standard_error: np.ndarray  # of the estimate, the same shape
    num_draws: int  # S
    share_deviation: float  # bound on that of `share`, see `share_deviation_bound`
    tolerance: ClassVar[float] = WITHIN
    expected_share: ClassVar[float] = EXPECTED_SHARE

    @property
    def difference(self) -> np.ndarray:
        """(estimate − analytic)/standard error; 0 where the draws do not vary."""
        rounding = max(1e-12 * np.max(np.abs(self.analytic)), 1e-24)
        gap = self.estimate - self.analytic
        varies = self.standard_error > rounding
        return np.divide(gap, self.standard_error, out=np.zeros_like(gap), where=varies)

    @property
    def share(self) -> float:
        """Share of the entries that agree within `WITHIN` standard errors."""
        return float(np.mean(np.abs(self.difference) <= WITHIN))

    @property
    def least_by_chance(self) -> float:
        """Lowest share that chance explains: three standard deviations below the expected one."""
        return max(EXPECTED_SHARE - 3.0 * self.share_deviation, 0.0)

    @property
    def agrees(self) -> bool:
        """Whether chance explains the differences."""
        return self.share >= self.least_by_chance


@dataclass(frozen=True)
class Convergence:
    """The error of a Monte Carlo covariance against the number of draws.

    Errors are root mean squares over the entries, as shares of that of the analytic covariance.
    """

    sizes: np.ndarray  # numbers m of draws [K]
    error: np.ndarray  # of the estimate from the first m draws [K]
    expected: np.ndarray  # the standard error with m draws, falling like 1/√m [K]
    left_out: float  # estimate of the series' own error, which no number of draws can reduce


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the joint covariance of all C·N values, falling, as shares of their sum."""

    joint: np.ndarray  # of the C processes that share f₀ [C·N]
    independent: np.ndarray  # of C independent processes with the same covariances [C·N]
    num_inputs: int  # N
    num_terms: int  # terms in the sum of the series; each has a rank of at most N

    @property
    def rank(self) -> int:
        """Number of eigenvalues of the joint covariance above rounding error.

        Examples
        --------
        >>> shares = np.array([0.75, 0.25, 0.0, 0.0])
        >>> Spectrum(joint=shares, independent=np.full(4, 0.25), num_inputs=2, num_terms=1).rank
        2
        """
        return int(np.sum(self.joint > RANK_TOLERANCE * self.joint[0]))


@dataclass(frozen=True)
class Terms:
    """The share of the variance that each term of the series explains."""

    share: np.ndarray  # Σ_x h_n^c(x)² / Σ_x Var[f^c(x)] for n = 1, 2, … [C, order]
    left_out: np.ndarray  # the share of all terms beyond `num_terms` [C]
    num_terms: int  # terms in the sum


@check_shapes("x: [N]", "K: [N, N]", "F: [C, S, N]")
def variances(
    x: np.ndarray, K: np.ndarray, series: HermiteSeries, F: np.ndarray, at: float = 0.0
) -> Variances:
    """Variances of all classes over x, by the series and by Monte Carlo.

    At equal inputs ρ = 1, so Var[f^c(x)] = Σ_{n≥1} h_n^c(x)².

    Parameters
    ----------
    x, K, at : inputs ``[N]``, the covariance of f₀ there ``[N, N]``, and an input to mark
    series, F : of the C processes, see `covariance.hermite_series`, and draws ``[C, S, N]``

    Returns
    -------
    a `Variances` record
    """
    S = F.shape[1]
    squares = (F - F.mean(axis=1, keepdims=True)) ** 2
    return Variances(
        x=x,
        latent=np.diag(K),
        analytic=np.sum(series.coefficients[:, :, 1:] ** 2, axis=-1),
        estimate=squares.sum(axis=1) / (S - 1),
        standard_error=squares.std(axis=1) / np.sqrt(S),
        at=at,
    )


@check_shapes("x: [N]")
def equal_inputs(x: np.ndarray, series: HermiteSeries, at: float = 0.0) -> EqualInputs:
    """Correlations of all pairs of classes at equal inputs.

    Parameters
    ----------
    x, series, at : inputs ``[N]``, the series of the C processes there, and an input to mark

    Returns
    -------
    an `EqualInputs` record
    """
    correlation = correlation_at_equal_inputs(series)
    pairs = tuple(combinations(range(len(correlation)), 2))
    return EqualInputs(x, pairs, np.stack([correlation[pair] for pair in pairs]), at)


@check_shapes("x: [N]", "F: [C, S, N]")
def two_classes(
    x: np.ndarray, series: HermiteSeries, F: np.ndarray, c: int, d: int, at: float
) -> TwoClasses:
    """Joint draws of two classes at the input nearest to `at`.

    Parameters
    ----------
    x, series, F : inputs ``[N]``, and the series and draws ``[C, S, N]`` of the C processes there
    c, d, at : the two classes, 0 … C−1, and an input

    Returns
    -------
    a `TwoClasses` record
    """
    n = int(np.argmin(np.abs(x - at)))
    values = F[[c, d], :NUM_DOTS, n]
    correlation = float(correlation_at_equal_inputs(series)[c, d, n])
    is_curve = series.overlap is None or bool(np.isclose(abs(series.overlap[c, d]), 1.0))
    values = values[:, np.argsort(values[0])]
    return TwoClasses(float(x[n]), c, d, values, correlation, is_curve)


@check_shapes("x: [N]", "F: [C, S, N]")
def compare(
    x: np.ndarray, series: HermiteSeries, F: np.ndarray, pair: tuple[int, int] | None = None
) -> Comparison:
    """The covariance of two classes, or of all classes stacked, by formula and by Monte Carlo.

    Parameters
    ----------
    x, series, F : inputs ``[N]``, and the series and draws ``[C, S, N]`` of the C processes there
    pair : classes (c, d) of the rows and columns; None for all classes

    Returns
    -------
    a `Comparison` record
    """
    all_classes = tuple(range(len(F)))
    rows, columns = (all_classes, all_classes) if pair is None else ((pair[0],), (pair[1],))
    estimate, standard_error = empirical(_stacked(F, rows), _stacked(F, columns))
    return Comparison(
        x=x,
        rows=rows,
        columns=columns,
        analytic=series.joint() if pair is None else series.pair(*pair),
        estimate=estimate,
        standard_error=standard_error,
        num_draws=F.shape[1],
        share_deviation=share_deviation_bound(series.correlation),
    )


@check_shapes("F: [C, S, N]")
def convergence(series: HermiteSeries, F: np.ndarray, comparison: Comparison) -> Convergence:
    """The error of a comparison's estimate against the number of draws.

    Parameters
    ----------
    series, F, comparison : the series, the draws ``[C, S, N]``, and what `compare` made of them

    Returns
    -------
    a `Convergence` record
    """
    rows, columns = comparison.rows, comparison.columns
    S = comparison.num_draws
    sizes = np.unique(np.geomspace(FIRST_SIZE, S, NUM_SIZES).astype(int))
    estimates = empirical_of_first(_stacked(F, rows), _stacked(F, columns), sizes.tolist())
    left_out = np.block([[series.error_estimate(c, d) for d in columns] for c in rows])
    scale = _rms(comparison.analytic) or 1.0
    error = np.sqrt(np.mean((estimates - comparison.analytic) ** 2, axis=(1, 2)))
    expected = _rms(comparison.standard_error) * np.sqrt(S / sizes)
    return Convergence(sizes, error / scale, expected / scale, _rms(left_out) / scale)


def spectrum(series: HermiteSeries) -> Spectrum:
    """Eigenvalues of the joint covariance of all classes, and those of independent classes.

    Parameters
    ----------
    series : of the C processes at N inputs, see `covariance.hermite_series`

    Returns
    -------
    a `Spectrum` record
    """
    joint = series.joint()
    C, N = series.coefficients.shape[:2]
    blocks = [joint[c * N : (c + 1) * N, c * N : (c + 1) * N] for c in range(C)]
    total = np.trace(joint) or 1.0
    shared, independent = np.linalg.eigvalsh(joint), np.linalg.eigvalsh(np.stack(blocks))
    return Spectrum(
        np.sort(shared)[::-1] / total, np.sort(independent.ravel())[::-1] / total, N, series.order
    )


def terms(full: HermiteSeries, num_terms: int) -> Terms:
    """The share of the variance that each term of a series explains.

    Parameters
    ----------
    full, num_terms : a long series of the C processes at N inputs, and where its sum ends

    Returns
    -------
    a `Terms` record
    """
    squares = full.coefficients[:, :, 1:] ** 2
    total = np.sum(squares, axis=(1, 2)) + np.sum(full.remainder, axis=1)
    safe = np.where(total > 0.0, total, 1.0)
    left = np.sum(full.up_to(num_terms).remainder, axis=1)
    return Terms(np.sum(squares, axis=1) / safe[:, None], left / safe, num_terms)


@check_shapes("correlation: [N, N]")
def share_deviation_bound(correlation: np.ndarray) -> float:
    """A bound on the standard deviation of the share of entries within `WITHIN` standard errors.

    Entries of an empirical covariance move together. For linear flows those at (i, j) and (k, l)
    have the correlation

        r = (ρ_ik ρ_jl + ρ_il ρ_jk) / √((1 + ρ_ij²)(1 + ρ_kl²)),

    whatever the classes. Whether an entry lies within the tolerance is an even function of it, so
    by Mehler's formula two such events have a correlation of at most r². The variance of the share
    is then at most p(1 − p)·mean(r²): as with 1/mean(r²) independent entries. The mean in turn is
    bounded by (u + v)² ≤ 2u² + 2v². For other flows this is a guide, not a bound.

    Parameters
    ----------
    correlation : ρ of f₀ ``[N, N]``

    Returns
    -------
    standard deviation of the share

    Examples
    --------
    >>> from etgp_viz.records import covariance_check
    >>> few, many = (covariance_check.share_deviation_bound(np.eye(N)) for N in (4, 40))
    >>> many < few  # independent inputs: the more there are, the steadier the share
    True
    """
    squares = correlation**2
    weights = 1.0 / (1.0 + squares)
    mean_r2 = 4.0 * np.sum(weights * (squares @ weights @ squares)) / correlation.size**2
    return float(np.sqrt(EXPECTED_SHARE * (1.0 - EXPECTED_SHARE) * min(mean_r2, 1.0)))


# Their names in version 0.1.
Together, together, wobble_of_share = TwoClasses, two_classes, share_deviation_bound


def _stacked(F: np.ndarray, classes: tuple[int, ...]) -> np.ndarray:
    """Draws of several classes side by side, [S, N·classes]."""
    return np.concatenate([F[c] for c in classes], axis=-1)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
