"""Training to be watched: step by step, with the parts of the ELBO on record at every step.

`LiveTraining` drives the same guarded step and the same mini-batches as `fit`. It draws nothing and
starts no thread: whoever watches decides how often to look.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from etgp_viz.backend import tf
from etgp_viz.checks import check_count, check_positive
from etgp_viz.core.model import ETGP
from etgp_viz.core.optimiser import Optimiser
from etgp_viz.core.training import Batches

__all__ = ["Curve", "LiveTraining"]

# A curve is drawn with at most about this many points.
POINTS = 150


@dataclass(frozen=True)
class Curve:
    """The ELBO and its parts over the steps of a training: elbo = expected − kl − penalty.

    Attributes
    ----------
    steps : moves made before each measurement ``[K]``: 0, 1, … or every so many of them
    elbo : ``[K]``
    expected : expected log-likelihood, scaled from the mini-batch to all data ``[K]``
    kl : KL[q(u₀) ‖ p(u₀)] ``[K]``
    penalty : KL_W, the weight decay of the network ``[K]``
    """

    steps: np.ndarray
    elbo: np.ndarray
    expected: np.ndarray
    kl: np.ndarray
    penalty: np.ndarray


class LiveTraining:
    """A model, its data and an optimiser that goes on when told to.

    Parameters
    ----------
    model : an ETGP whose `num_data` is N
    data : ``(X [N, D], Y [N, 1])``
    learning_rate : Adam's; it may be changed between two steps
    batch_size : rows B per step; None for all N
    seed : of the shuffling

    Attributes
    ----------
    history : what was done so far, as (steps, learning rate) in order; `keep_best` adds (0, 0.0)
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
        self._rows = self._endless()
        self._measured: list[tuple[float, float, float]] = []
        self._best_elbo: float = -np.inf
        self._best: list[Any] | None = None
        self.history: list[tuple[int, float]] = []

    @property
    def steps(self) -> int:
        """Moves made so far."""
        return len(self._measured)

    def step(self, count: int = 1) -> None:
        """Make so many moves. The first one compiles the model, which takes some seconds."""
        count = check_count(count, "count")
        self._optimiser.learning_rate = self.learning_rate
        for _ in range(count):
            kl, penalty = (float(part) for part in self._penalties())
            self._measured.append((self._optimiser.step(next(self._rows)), kl, penalty))
            self._note()

    def keep_best(self) -> None:
        """Give the model the parameters of its best epoch, as `fit` does in the end."""
        if self._best is not None:
            self._optimiser.restore(self._best)
            self.history.append((0, 0.0))

    def curve(self) -> Curve:
        """The ELBO and its parts, at about `POINTS` steps that end with the last one."""
        stride = max(1, -(-self.steps // POINTS))
        steps = np.arange(self.steps)[::-1][::stride][::-1]
        measured = np.array(self._measured, dtype=float).reshape(-1, 3)[steps]
        elbo, kl, penalty = measured.T
        return Curve(steps, elbo, elbo + kl + penalty, kl, penalty)

    @cached_property
    def _optimiser(self) -> Optimiser:
        options: dict[str, Any] = {"natural_gradients": None, "seed": self._seed}
        return Optimiser(self.model, self._data, None, learning_rate=self.learning_rate, **options)

    @cached_property
    def _penalties(self) -> Any:
        """KL[q(u₀) ‖ p(u₀)] and KL_W, compiled."""
        model = self.model

        @tf.function(autograph=False)
        def penalties() -> tuple[tf.Tensor, tf.Tensor]:
            return model.prior_kl(), model.network.prior_penalty()

        return penalties

    def _endless(self) -> Iterator[tf.Tensor | None]:
        epoch = 0
        while True:
            yield from self._batches.of_epoch(epoch)
            epoch += 1

    def _note(self) -> None:
        """Remember the move, and the parameters if an epoch ended that is the best so far."""
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
