"""Training that can be watched: step by step, with the parts of the ELBO recorded at every step.

`LiveTraining` uses the same guarded step and the same mini-batches as `fit`. It draws nothing and
starts no thread: the caller decides how often to look.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from etgp_viz.backend import tf
from etgp_viz.checks import check_count, check_positive
from etgp_viz.core.model import ETGP
from etgp_viz.core.optimiser import Optimiser
from etgp_viz.core.training import Batches, FitResult

__all__ = ["Curve", "LiveTraining", "Trainings", "compare"]

# The approximate number of points in a long curve.
POINTS = 150


@dataclass(frozen=True)
class Curve:
    """The ELBO and its parts over the steps of a training run: elbo = expected − kl − penalty."""

    steps: np.ndarray  # steps taken before each measurement [K]: 0, 1, …, thinned if many
    elbo: np.ndarray  # [K]
    expected: np.ndarray  # expected log-likelihood, scaled from the mini-batch to all data [K]
    kl: np.ndarray  # KL[q(u₀) ‖ p(u₀)] [K]
    penalty: np.ndarray  # KL_W, the weight decay of the network [K]


@dataclass(frozen=True)
class Trainings:
    """The ELBO of K trainings of the same model, over steps and over time."""

    names: tuple[str, ...]  # [K]
    elbo: tuple[np.ndarray, ...]  # after 0, 1, … steps [E], K of them
    seconds: tuple[np.ndarray, ...]  # since the first step, without tracing and compiling, the same


def compare(results: Mapping[str, FitResult]) -> Trainings:
    """A record of trainings in which every epoch was one step.

    The first step of a fit is traced and compiled, which says nothing about the optimiser. It is
    counted as if it took the median time of the others.

    Parameters
    ----------
    results : name → the `FitResult` of a fit with full batches

    Returns
    -------
    a `Trainings` record
    """
    seconds = [
        np.cumsum([0.0, np.median(result.seconds[1:]), *result.seconds[1:-1]])
        for result in results.values()
    ]
    elbo = tuple(result.elbo for result in results.values())
    return Trainings(tuple(results), elbo, tuple(seconds))


class LiveTraining:
    """A training run that advances by as many steps as you ask for.

    Parameters
    ----------
    model : an ETGP whose `num_data` is N
    data : ``(X [N, D], Y [N, 1])``
    learning_rate : of Adam; it may be changed between two steps
    batch_size : rows per step; None for all N
    seed : of the mini-batches and of dropout

    Attributes
    ----------
    history : pairs (number of steps, learning rate) so far, in order; `keep_best` adds (0, 0.0)

    Examples
    --------
    >>> from etgp_viz import build
    >>> from etgp_viz.datasets import toys
    >>> from etgp_viz.records.live_training import LiveTraining
    >>> toy = toys.waves(60, 3)
    >>> model = build("etgp-linear", toy.X, 3, inducing_points=toy.X[:5], hidden=(4,))
    >>> training = LiveTraining(model, (toy.X, toy.Y), learning_rate=0.02)
    >>> training.steps
    0

    Then ``training.step(50)`` takes 50 steps, and ``training.curve()`` returns the ELBO so far.
    """

    def __init__(
        self,
        model: ETGP,
        data: tuple[Any, Any],
        *,
        learning_rate: float = 0.01,
        batch_size: int | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model
        X, Y = model.check_data(data)
        self._data = tf.convert_to_tensor(X), tf.convert_to_tensor(Y)
        if batch_size is not None:
            check_count(batch_size, "batch_size", maximum=len(X), because="the number of rows")
        self.learning_rate = check_positive(learning_rate, "learning_rate")
        self._seed = check_count(seed, "seed", minimum=0)
        self._batches = Batches(len(X), batch_size, seed)
        # Rows of each step, epoch after epoch without end; None for all rows.
        self._rows = itertools.chain.from_iterable(map(self._batches.of_epoch, itertools.count()))
        self._measured: list[tuple[float, float, float]] = []
        self._best_elbo: float = -np.inf
        self._best: list[Any] | None = None
        self.history: list[tuple[int, float]] = []

    @property
    def steps(self) -> int:
        """Number of steps taken so far."""
        return len(self._measured)

    def step(self, count: int = 1) -> None:
        """Take `count` steps. The first one compiles the model, which takes a few seconds."""
        count = check_count(count, "count")
        self._optimiser.learning_rate = self.learning_rate
        for _ in range(count):
            kl, penalty = (float(part) for part in self._penalties())
            self._measured.append((self._optimiser.step(next(self._rows)), kl, penalty))
            self._record_step()

    def keep_best(self) -> None:
        """Give the model the parameters of its best epoch, as `fit` does at the end."""
        if self._best is not None:
            self._optimiser.restore(self._best)
            self.history.append((0, 0.0))

    def curve(self) -> Curve:
        """The ELBO and its parts at up to about `POINTS` steps, the last one included."""
        stride = max(1, -(-self.steps // POINTS))
        steps = np.arange(self.steps)[::-1][::stride][::-1]
        measured = np.array(self._measured, dtype=float).reshape(-1, 3)[steps]
        elbo, kl, penalty = measured.T
        return Curve(steps, elbo, elbo + kl + penalty, kl, penalty)

    @cached_property
    def _optimiser(self) -> Optimiser:
        return Optimiser(
            self.model, self._data, None, learning_rate=self.learning_rate, seed=self._seed
        )

    @cached_property
    def _penalties(self) -> Any:
        """KL[q(u₀) ‖ p(u₀)] and KL_W, compiled."""
        model = self.model
        return tf.function(
            lambda: (model.prior_kl(), model.network.prior_penalty()), autograph=False
        )

    def _record_step(self) -> None:
        """Record the step, and the parameters if it completes the best epoch so far."""
        done, rate = self.history[-1] if self.history else (0, 0.0)
        if done and rate == self.learning_rate:
            self.history[-1] = (done + 1, rate)
        else:
            self.history.append((1, self.learning_rate))
        if self.steps % self._batches.per_epoch == 0:
            epoch = self._measured[-self._batches.per_epoch :]
            elbo = sum(elbo for elbo, _, _ in epoch) / len(epoch)
            if elbo > self._best_elbo:
                self._best_elbo, self._best = elbo, self._optimiser.last_good
