"""The lead of one model over another from few seeds: its interval, and three outcomes.

**The interval.** Two models are scored with the same seeds 1 … n, and d_i is the difference of
their scores with seed i. The 95 % interval of the lead is Student's,

    d̄ ± t · s · √(1/n + r),    t: 97.5 % quantile with n − 1 degrees of freedom,

where s is the standard deviation of d_1 … d_n. With three seeds t is 4.3, not 2.

- If every seed draws its own training and test rows from the same data, these rows overlap from
  seed to seed, and the differences are not independent. Then r = n_test / n_train, which makes up
  for it (Nadeau and Bengio, *Inference for the generalization error*, Machine Learning 52, 2003).
  Validation rows count as training rows: choosing a configuration is a part of training.
- If the test rows are published, and the same for all seeds, then r = 0. The interval then covers
  what a seed changes in training; it does not cover other test rows.

One seed has no interval.

**The margin** is the smallest lead that matters. It is fixed beforehand, and does not grow with
the noise: 0.01 in accuracy, which is one row in a hundred, and 0.05 nats in log-likelihood, which
is about the cost of one row in a hundred if its label has probability 0.01 instead of 0.99:
ln(0.99 / 0.01) / 100 = 0.046.

**The outcomes.** Each wrong decision has a probability of at most 2.5 % for normal differences:

=========  ================================  =======================  ======================
claim      as claimed                        not as claimed           wrong decisions
=========  ================================  =======================  ======================
better     the interval is above 0, and      the interval is below    "as claimed" without a
           the mean is at least the margin   the margin               lead; "not as claimed"
                                                                      with the margin's lead
close      the interval is above −margin     the interval is below    "as claimed" that far
                                             −margin                  behind; "not as
                                                                      claimed" if closer
=========  ================================  =======================  ======================

Anything else is *undecided*: more seeds would decide it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

__all__ = [
    "AS_CLAIMED",
    "LEVEL",
    "MARGINS",
    "NOT_AS_CLAIMED",
    "NOT_TESTED",
    "UNDECIDED",
    "Lead",
    "at_least",
    "at_most",
    "better",
    "close",
]

#: outcomes of a comparison
AS_CLAIMED, NOT_AS_CLAIMED, UNDECIDED = "as claimed", "not as claimed", "undecided"
#: what a comparison is called if the table lacks one of its models
NOT_TESTED = "not tested"

LEVEL = 0.95

#: score → the smallest lead that matters
MARGINS = {"accuracy": 0.01, "log_likelihood": 0.05}


@dataclass(frozen=True)
class Lead:
    """A mean lead with its interval, whose ends are NaN for fewer than two seeds.

    Examples
    --------
    >>> print(Lead.of([0.02, 0.03, 0.04]))
    +0.030 [+0.005, +0.055]
    >>> print(Lead.of([0.02, 0.03, 0.04], overlap=1 / 3))  # a quarter of the rows are tested
    +0.030 [-0.005, +0.065]
    >>> print(Lead.of([0.02]))
    +0.020 [no interval]
    """

    mean: float
    low: float = math.nan
    high: float = math.nan
    num_seeds: int = 0

    @classmethod
    def of(cls, differences: Sequence[float], overlap: float = 0.0) -> Lead:
        """The lead from differences seed by seed; ``overlap`` is r."""
        mean, n = float(np.mean(differences)), len(differences)
        if n < 2:
            return cls(mean, num_seeds=n)
        t = float(stdtrit(n - 1, (1.0 + LEVEL) / 2.0))
        reach = t * float(np.std(differences, ddof=1)) * math.sqrt(1.0 / n + overlap)
        return cls(mean, mean - reach, mean + reach, n)

    @property
    def reversed(self) -> Lead:
        """The lead of the other model."""
        return Lead(-self.mean, -self.high, -self.low, self.num_seeds)

    def __str__(self) -> str:
        ends = "no interval" if math.isnan(self.low) else f"{self.low:+.3f}, {self.high:+.3f}"
        return f"{self.mean:+.3f} [{ends}]"


# Every comparison with a NaN is False: without an interval, a claim is undecided.


def better(lead: Lead, margin: float) -> str:
    """Whether a model is better than another by enough to matter.

    >>> better(Lead(0.02, 0.01, 0.03), 0.01), better(Lead(0.002, 0.001, 0.003), 0.01)
    ('as claimed', 'not as claimed')
    """
    if lead.low > 0.0 and lead.mean >= margin:
        return AS_CLAIMED
    return NOT_AS_CLAIMED if lead.high < margin else UNDECIDED


def close(lead: Lead, margin: float) -> str:
    """Whether a model is better than another, or behind it by less than the margin.

    >>> close(Lead(-0.002, -0.004, 0.0), 0.01), close(Lead(-0.01, -0.02, 0.0), 0.01)
    ('as claimed', 'undecided')
    """
    if lead.low > -margin:
        return AS_CLAIMED
    return NOT_AS_CLAIMED if lead.high < -margin else UNDECIDED


def at_least(low: float, high: float, bound: float) -> str:
    """Whether a value between ``low`` and ``high`` is at least a bound."""
    return AS_CLAIMED if low >= bound else NOT_AS_CLAIMED if high < bound else UNDECIDED


def at_most(low: float, high: float, bound: float) -> str:
    """Whether a value between ``low`` and ``high`` is at most a bound."""
    return AS_CLAIMED if high <= bound else NOT_AS_CLAIMED if low > bound else UNDECIDED
