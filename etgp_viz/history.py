"""The record of a fit: what a callback is told, what ``fit`` returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["EpochRecord", "FitResult", "History"]


@dataclass(frozen=True)
class EpochRecord:
    """What a callback is told after each epoch.

    Attributes
    ----------
    epoch : counted from 0
    elbo : the epoch's ELBO, as in ``FitResult.elbo``
    seconds : the epoch's wall-clock time
    validation : the validation score, if it was measured after this epoch
    best_epoch, best_elbo : the best so far, this epoch included
    """

    epoch: int
    elbo: float
    seconds: float
    validation: float | None
    best_epoch: int
    best_elbo: float


@dataclass(frozen=True)
class FitResult:
    """The history of a fit; E is the number of finished epochs.

    Attributes
    ----------
    elbo : ``[E]``, the mean over an epoch's steps of minus the training loss, each measured just
        before its update, so ``elbo[0]`` of a full-batch fit belongs to the initial parameters.
        A model's log priors (for ETGP the weight decay) are part of it.
    seconds : ``[E]``, wall-clock time of the epochs' steps, without validation and callback; the
        first includes tracing and compiling
    validation : ``[V]``, mean log density of the validation data at the parameters an epoch ended
        with; empty without validation data
    validation_epochs : ``[V]``, the epochs it was measured after
    best_epoch : the epoch of the highest ELBO, whose parameters the model now has; None if no epoch
        finished and the model is as it was
    best_elbo : its ELBO, −inf if there is none
    stopped : why training ended: "finished" (all epochs), "callback", "interrupted" (Ctrl-C or
        kernel interrupt) or "failed" (only seen as ``TrainingError.result``)
    jitter : GPflow's jitter at the end, higher than ``gpflow.default_jitter()`` after a recovery
    """

    elbo: np.ndarray
    seconds: np.ndarray
    validation: np.ndarray
    validation_epochs: np.ndarray
    best_epoch: int | None
    best_elbo: float
    stopped: str
    jitter: float


@dataclass
class History:
    """A ``FitResult`` in the making, with the same fields as growing lists."""

    elbo: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    validation_epochs: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._best = int(np.argmax(self.elbo)) if self.elbo else None

    @property
    def best_elbo(self) -> float:
        """The highest ELBO so far, −inf before the first epoch."""
        return -np.inf if self._best is None else self.elbo[self._best]

    def add(self, elbo: float, seconds: float) -> bool:
        """Record an epoch and tell whether it is the best so far."""
        improved = elbo > self.best_elbo
        self.elbo.append(elbo)
        self.seconds.append(seconds)
        if improved:
            self._best = len(self.elbo) - 1
        return improved

    def add_validation(self, score: float) -> float | None:
        """Record a validation score of the latest epoch; NaN stands for none."""
        if np.isnan(score):
            return None
        self.validation.append(score)
        self.validation_epochs.append(len(self.elbo) - 1)
        return score

    def latest(self, validation: float | None) -> EpochRecord:
        """Return the record of the latest epoch."""
        assert self._best is not None, "an epoch has been added"
        return EpochRecord(
            epoch=len(self.elbo) - 1,
            elbo=self.elbo[-1],
            seconds=self.seconds[-1],
            validation=validation,
            best_epoch=self._best,
            best_elbo=self.best_elbo,
        )

    def result(self, stopped: str, jitter: float) -> FitResult:
        """Return the finished record."""
        return FitResult(
            elbo=np.array(self.elbo, dtype=float),
            seconds=np.array(self.seconds, dtype=float),
            validation=np.array(self.validation, dtype=float),
            validation_epochs=np.array(self.validation_epochs, dtype=int),
            best_epoch=self._best,
            best_elbo=self.best_elbo,
            stopped=stopped,
            jitter=jitter,
        )
