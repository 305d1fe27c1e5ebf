"""The computing behind `CovarianceExplorer`, from settings to records, without any widget.

Each stage is cached, and computed again only when something that it depends on has changed: a scale
leaves the draws of f₀ alone, the marked x leaves the matrices alone.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from etgp_viz.core import flows
from etgp_viz.records import covariance as formula
from etgp_viz.records import covariance_check, prior, shared_latent
from etgp_viz.records.flow import Matrix

X = np.linspace(-3.0, 3.0, 31)
THIN = 2  # the joint covariance of all classes uses every second input
CLASSES = 3
MAX_TERMS = 40
OTHER_LATENT = 10_000  # what is added to a seed for each further latent: no draw number is so large

STEPS = {"sal": flows.SinhArcsinh(), "tanh": flows.TanhSum(1)}
LATENT_NAME = "latent: K(x, x′)"
Latent = tuple[str, float, float, float]


@dataclass(frozen=True)
class Source:
    """Kernel, mean, seed and number of the draws of f₀, and the mixture of several latents.

    A mixture is their number L and how much of the others is mixed with the first one.
    """

    latent: Latent
    mean: float
    seed: int
    draws: int
    mixture: tuple[int, float] = (1, 0.0)

    @property
    def mixing(self) -> np.ndarray:
        """The mixing matrix ``[C, L]``."""
        return shared_latent.mixing_matrix(CLASSES, *self.mixture)


@dataclass(frozen=True)
class Shape:
    """The flows of all classes: a step that is bent by `amount`, then scale and shift over x."""

    family: str
    bend: tuple[tuple[float, ...], ...]  # constrained parameters of the step; none if linear
    amount: float
    scale: tuple[tuple[float, ...], ...]
    shift: tuple[tuple[float, ...], ...]

    @property
    def flow(self) -> flows.Flow:
        """The flow that all classes share; their parameters differ."""
        if not self.bend:
            return flows.Linear()
        return flows.Compose([STEPS[self.family], flows.Linear()])

    def code(self) -> list[str]:
        """Lines that make `flow` and `params` from scale and shift."""
        if not self.bend:
            return ["flow = flows.Linear()", "params = np.stack([scale, shift], axis=-1)"]
        step = STEPS[self.family]
        return [
            f"step = flows.{step!r}",
            "flow = flows.Compose([step, flows.Linear()])",
            f"values = {[list(row) for row in self.bend]}  # {', '.join(step.param_names)}",
            f"bend = prior.interpolate_from_identity(step, np.array(values), {self.amount!r})",
            "params = prior.then_linear(bend, scale, shift)",
        ]


@lru_cache(maxsize=2)
def _kernel_matrix(latent: Latent) -> np.ndarray:
    return prior.covariance_matrix(prior.kernel(*latent), X)


@lru_cache(maxsize=2)
def latent_matrix(latent: Latent) -> Matrix:
    """K(x, x′)."""
    return Matrix(X, _kernel_matrix(latent), LATENT_NAME)


@lru_cache(maxsize=4)
def _noise(seed: int, draws: int) -> np.ndarray:
    # In blocks, whose matrix products are quick; a larger sample begins with the smaller one.
    return prior.noise(seed, draws // formula.BLOCK, formula.BLOCK, len(X))


@lru_cache(maxsize=4)
def _latent(latent: Latent, seed: int, draws: int) -> np.ndarray:
    """Draws of one latent without its mean, ``[S, N]``."""
    return prior.draw(_kernel_matrix(latent), _noise(seed, draws)).reshape(draws, len(X))


@lru_cache(maxsize=2)
def _f0(source: Source) -> np.ndarray:
    """f₀ ``[1, S, N]``, or the mixture of latents of each class ``[C, S, N]``."""
    L, _ = source.mixture
    seeds = (source.seed + OTHER_LATENT * k for k in range(L))
    draws = np.stack([_latent(source.latent, seed, source.draws) for seed in seeds])
    mixed = draws if L == 1 else np.tensordot(source.mixing, draws, 1)
    return source.mean + mixed


@lru_cache(maxsize=2)
def _bent(source: Source, family: str, bend: Any, amount: float) -> np.ndarray:
    """f₀ after the non-linear step, before scale and shift, ``[C, S, N]``."""
    if not bend:
        return _f0(source)
    step = STEPS[family]
    raw = prior.interpolate_from_identity(step, np.array(bend), amount)
    return step.forward(_f0(source), raw[:, None, None]).numpy()


@lru_cache(maxsize=2)
def _params(shape: Shape) -> np.ndarray:
    """Raw parameters of the flows, ``[C, N, P]``."""
    knots, share = np.array([*shape.scale, *shape.shift]), (X - X[0]) / (X[-1] - X[0])
    scale, shift = np.split(prior.profile(knots.T, share).T, 2)
    if not shape.bend:
        return np.stack([scale, shift], axis=-1)
    step, values = STEPS[shape.family], np.array(shape.bend)
    bend = prior.interpolate_from_identity(step, values, shape.amount)
    return prior.then_linear(bend, scale, shift)


@lru_cache(maxsize=2)
def _draws(source: Source, shape: Shape) -> np.ndarray:
    bent = _bent(source, shape.family, shape.bend, shape.amount)
    return flows.Linear().forward(bent, _params(shape)[:, None, :, -2:]).numpy()


@lru_cache(maxsize=2)
def _full(latent: Latent, mean: float, shape: Shape) -> formula.HermiteSeries:
    K, means = _kernel_matrix(latent), np.full(len(X), mean)
    return formula.hermite_series(K, shape.flow, _params(shape), mean=means, order=MAX_TERMS)


@lru_cache(maxsize=2)
def _series(source: Source, shape: Shape, num_terms: int) -> formula.HermiteSeries:
    series = _full(source.latent, source.mean, shape).up_to(num_terms)
    return series if source.mixture[0] == 1 else series.mixed(source.mixing)


@lru_cache(maxsize=2)
def variances(
    source: Source, shape: Shape, num_terms: int, at: float
) -> covariance_check.Variances:
    """Variances of all classes."""
    series = _series(source, shape, num_terms)
    K = _kernel_matrix(source.latent)
    return covariance_check.variances(X, K, series, _draws(source, shape), at)


@lru_cache(maxsize=2)
def equal_inputs(
    source: Source, shape: Shape, num_terms: int, at: float
) -> covariance_check.EqualInputs:
    """Correlations at equal inputs."""
    return covariance_check.equal_inputs(X, _series(source, shape, num_terms), at)


@lru_cache(maxsize=2)
def comparison(
    source: Source, shape: Shape, num_terms: int, pair: tuple[int, int] | None
) -> covariance_check.Comparison:
    """Covariances by formula and by Monte Carlo: of a pair, or of all classes at fewer inputs."""
    series, F = _series(source, shape, num_terms), _draws(source, shape)
    if pair is None:
        return covariance_check.compare(X[::THIN], series.every(THIN), F[:, :, ::THIN])
    return covariance_check.compare(X, series, F, pair)


@lru_cache(maxsize=2)
def convergence(
    source: Source, shape: Shape, num_terms: int, pair: tuple[int, int] | None
) -> covariance_check.Convergence:
    """The error of that comparison as draws come in."""
    series, F = _series(source, shape, num_terms), _draws(source, shape)
    if pair is None:
        series, F = series.every(THIN), F[:, :, ::THIN]
    return covariance_check.convergence(series, F, comparison(source, shape, num_terms, pair))


@lru_cache(maxsize=2)
def together(
    source: Source, shape: Shape, num_terms: int, pair: tuple[int, int], at: float
) -> covariance_check.TwoClasses:
    """Joint draws of a pair at one input."""
    series = _series(source, shape, num_terms)
    return covariance_check.two_classes(X, series, _draws(source, shape), *pair, at)


@lru_cache(maxsize=2)
def spectrum(source: Source, shape: Shape, num_terms: int) -> covariance_check.Spectrum:
    """Eigenvalues of the joint covariance at fewer inputs."""
    return covariance_check.spectrum(_series(source, shape, num_terms).every(THIN))


@lru_cache(maxsize=2)
def terms(source: Source, shape: Shape, num_terms: int) -> covariance_check.Terms:
    """The contribution of each term of the series."""
    return covariance_check.terms(_full(source.latent, source.mean, shape), num_terms)
