"""How tightly two classes are tied at one input, with one latent and with more of them.

With linear flows, f^c(x) = a_c Σ_l A_cl f_l(x) + b_c, one latent puts the values of two classes on
a straight line, with a correlation of ±1. Each further latent adds a direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from etgp_viz.checks import (
    check_count,
    check_counts,
    check_draws,
    check_numbers,
    check_seed,
    describe,
    fail,
)
from etgp_viz.extensions.mixed_covariance import mixed_correlation

__all__ = ["Ties", "ties"]

# Two classes that agree in the first latent, and differ in the next two.
MIXING = ((1.0, 0.6, 0.6), (1.0, -0.5, -0.6))


@dataclass(frozen=True)
class Ties:
    """Joint draws of two classes at one input for K numbers of latents, and their correlation."""

    latents: tuple[int, ...]  # K
    values: np.ndarray  # [K, 2, S]
    correlation: np.ndarray  # [K], by formula
    estimate: np.ndarray  # [K], of the draws
    error: np.ndarray  # [K], standard error of the estimate, (1 − ρ²)/√S


def ties(
    latents: Sequence[int] = (1, 2, 3),
    mixing: Sequence[Sequence[float]] | np.ndarray = MIXING,
    slopes: Sequence[float] = (1.0, 1.0),
    draws: int = 400,
    seed: int = 0,
) -> Ties:
    """Draws of two classes at an input where all latents are standard normal.

    Parameters
    ----------
    latents : numbers of latents to compare; each uses as many columns of the mixing matrix
    mixing : A ``[2, L]``, of as many latents as the largest of these numbers or more
    slopes : a of the two classes
    draws, seed : number S of the draws, the same for every number of latents, and their seed

    Returns
    -------
    Ties

    Examples
    --------
    >>> record = ties()
    >>> record.correlation.round(2).tolist()
    [1.0, 0.54, 0.2]
    """
    numbers = check_counts(latents, "latents")
    A, a = (
        np.asarray(check_numbers(part, name), dtype=float)
        for part, name in ((mixing, "mixing"), (slopes, "slopes"))
    )
    most = max(numbers, default=1)
    if A.ndim != 2 or len(A) != 2 or A.shape[1] < most:
        fail("mixing", f"a [2, L] matrix with L ≥ {describe(most)}", f"shape {A.shape}")
    if a.shape != (2,):
        fail("slopes", "two numbers", f"shape {a.shape}")
    S = check_count(check_draws(draws, "draws"), "draws", minimum=2)
    noise = np.random.default_rng(check_seed(seed)).normal(size=(A.shape[1], S))
    values = np.stack([a[:, None] * (A[:, :L] @ noise[:L]) for L in numbers])
    correlation = np.array([mixed_correlation(np.ones(L), a, A[:, :L])[0, 1] for L in numbers])
    estimate = np.array([np.corrcoef(pair)[0, 1] for pair in values])
    error = (1.0 - correlation**2) / np.sqrt(S)
    return Ties(tuple(numbers), values, correlation, estimate, error)
