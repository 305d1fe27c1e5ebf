"""``fit``: train any model here with Adam, keep its best parameters, stop and resume at will."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from etgp_viz.backend import gpflow, tf
from etgp_viz.checks import check_count, check_positive, check_same_rows
from etgp_viz.core import checkpoints
from etgp_viz.core.optimiser import Optimiser, TrainingError, assign

__all__ = ["EpochRecord", "FitResult", "TrainingError", "fit"]


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


def fit(
    model: Any,
    data: tuple[Any, Any],
    *,
    epochs: int,
    batch_size: int | None = None,
    learning_rate: float = 0.01,
    half_life: float | None = None,
    natural_gradients: float | None = None,
    seed: int = 0,
    progress: bool = True,
    callback: Callable[[EpochRecord], Any] | None = None,
    validation: tuple[Any, Any] | None = None,
    validation_every: int = 1,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 30.0,
) -> FitResult:
    """Maximise a model's ELBO and leave the model with the parameters of its best epoch.

    *Best parameters.* An epoch's ELBO is the mean of its steps' ELBOs, and its parameters are those
    at which the last of them was measured (the state just before the epoch's last update). With the
    full batch an epoch is one step, and the parameters kept are exactly those with the ELBO on
    record. With mini-batches they are the newest ones that this average covers: the state after the
    last update has not been measured, and may be one step into a divergence. The best parameters
    are in the model however training ends: also after a stop by the callback, an interrupt
    or an error in the callback. Only a ``TrainingError`` leaves the *last* good ones instead.

    *Mini-batches* all have the same size, so that one compiled step serves all. Each epoch shuffles
    the rows anew and, if B does not divide N, leaves out the last N mod B rows of that order: every
    row has the same chance of being used, and the ELBO stays unbiased.

    *Failed steps* (a loss or gradient that is NaN or infinite, a failed Cholesky decomposition)
    return to the last good parameters with ten times the jitter, and are tried again. The raised
    jitter stays for the rest of the fit, and a warning tells. A natural gradient step that leaves
    the covariance matrices is an error at once, since no jitter shortens it.

    Parameters
    ----------
    model : any model with GPflow's ``training_loss((X, Y))``
    data : ``(X [N, D], Y)`` with N rows each
    epochs : passes over the data, including those of a checkpoint that is resumed
    batch_size : rows B per step; None for all N
    learning_rate : Adam's
    half_life : epochs in which the learning rate halves: epoch e, counted from 0, has
        learning_rate · 2^(−e / half_life). None keeps it as it is. Large steps at first and small
        ones at the end let mini-batches and dropout shake the parameters less and less.
    natural_gradients : step size γ of natural gradients on ``(q_mu, q_sqrt)``, alternating with
        Adam on the other parameters; None leaves all to Adam. γ = 1 solves a conjugate model in one
        step; other likelihoods want about 0.1.
    seed : of the shuffling and of the model's draws from TensorFlow's implicit stream
    progress : show a progress bar with the ELBO, in a terminal or a notebook
    callback : called after each epoch with an ``EpochRecord``; a true return value stops training.
        It sees the model at the parameters the epoch ended with, and must not change them.
    validation : ``(X, Y)`` whose mean log density is recorded
    validation_every : epochs between two validation scores
    checkpoint : a file to save the run to and to resume it from: the same call continues on the
        same trajectory, bit for bit (unless the model draws from TensorFlow's implicit random
        stream, whose position cannot be saved). ``epochs`` may be raised to go on for longer.
    checkpoint_seconds : least time between two saves; the end of training always saves, an
        interrupt does not, since it falls inside an epoch

    Returns
    -------
    FitResult

    Raises
    ------
    ValueError : for bad arguments, before anything changes
    TrainingError : when recovery fails; it names the parameter and has the history in ``result``
    """
    epochs = check_count(epochs, "epochs")
    seed = check_count(seed, "seed", minimum=0)
    validation_every = check_count(validation_every, "validation_every")
    learning_rate = check_positive(learning_rate, "learning_rate")
    checkpoint_seconds = check_positive(checkpoint_seconds, "checkpoint_seconds")
    if half_life is not None:
        half_life = check_positive(half_life, "half_life")
    tensors = _tensors(model, data, "data")
    num_rows = int(tensors[0].shape[0])
    if batch_size is not None:
        batch_size = check_count(
            batch_size, "batch_size", maximum=num_rows, because="the number of rows of X"
        )
    if natural_gradients is not None:
        natural_gradients = check_positive(natural_gradients, "natural_gradients")
    _check_model(model, num_rows, batch_size, natural=natural_gradients is not None)
    optimiser = Optimiser(
        model,
        tensors,
        None if validation is None else _tensors(model, validation, "validation"),
        learning_rate=learning_rate,
        natural_gradients=natural_gradients,
        seed=seed,
    )
    batches = Batches(num_rows, batch_size, seed)
    settings = {
        "learning_rate": learning_rate,
        "half_life": half_life,
        "batch_size": batch_size,
        "natural_gradients": natural_gradients,
        "validation_every": validation_every,
        "seed": seed,
    }
    store = None
    history, best = History(), optimiser.last_good
    if checkpoint is not None:
        store = _Store(Path(checkpoint), checkpoint_seconds, optimiser, settings)
        history, best = store.resume(epochs, best)
    bar = tqdm(
        total=epochs * batches.per_epoch,
        initial=len(history.elbo) * batches.per_epoch,
        unit="step",
        disable=not progress,
    )
    stopped = "finished"
    try:
        for epoch in range(len(history.elbo), epochs):
            start = time.perf_counter()
            total = 0.0
            if half_life is not None:
                optimiser.learning_rate = learning_rate * 2.0 ** (-epoch / half_life)
            for step, rows in enumerate(batches.of_epoch(epoch), start=1):
                total += optimiser.step(rows)
                bar.set_postfix_str(f"ELBO {total / step:.6g}", refresh=False)
                bar.update()
            if history.add(total / batches.per_epoch, time.perf_counter() - start):
                best = optimiser.last_good
            score = None
            if validation is not None and (epoch + 1) % validation_every == 0:
                score = history.add_validation(optimiser.score())
            if callback is not None and callback(history.latest(score)):
                stopped = "callback"
                break
            if store is not None:
                store.save(history, best)
        if store is not None:
            store.save(history, best, now=True)
    except KeyboardInterrupt:
        stopped = "interrupted"
    except TrainingError as error:
        error.result = history.result("failed", optimiser.jitter)
        raise
    except BaseException:
        optimiser.restore(best)
        raise
    finally:
        bar.close()
    optimiser.restore(best)
    return history.result(stopped, optimiser.jitter)


class Batches:
    """Row indices of an epoch's mini-batches, a function of the seed and the epoch alone."""

    def __init__(self, num_rows: int, batch_size: int | None, seed: int) -> None:
        self.num_rows = num_rows
        self.batch_size = num_rows if batch_size is None else batch_size
        self.per_epoch = num_rows // self.batch_size
        self.seed = seed

    def of_epoch(self, epoch: int) -> Iterator[tf.Tensor | None]:
        """Yield indices ``[B]`` per step; None stands for all rows in their order."""
        if self.batch_size == self.num_rows:
            yield None
            return
        order = np.random.default_rng([self.seed, epoch]).permutation(self.num_rows)
        for step in range(self.per_epoch):
            yield tf.constant(order[step * self.batch_size : (step + 1) * self.batch_size])


class _Store:
    """The checkpoint file of a run and what must agree for a later call to resume it."""

    def __init__(
        self, path: Path, seconds: float, optimiser: Optimiser, settings: dict[str, Any]
    ) -> None:
        self.path = path
        self.seconds = seconds
        self.optimiser = optimiser
        variables = {path: v.shape.as_list() for path, v in optimiser.variables.items()}
        self.settings = {
            "model": type(optimiser.model).__name__,
            "parts of the model": [type(part).__name__ for part in optimiser.model.submodules],
            "parameters of the model": variables,
            "trainable parameters": optimiser.trained,
            "data": checkpoints.data_digest(optimiser.data),
            "validation": checkpoints.data_digest(optimiser.validation),
            **settings,
        }
        self.saved_at = time.perf_counter()

    def resume(self, epochs: int, best: list[Any]) -> tuple[History, list[Any]]:
        """Return the history and the best values so far, and put the run back where it was."""
        if not self.path.exists():
            return History(), best
        columns, state = checkpoints.load(self.path, self.settings)
        done = len(columns["elbo"])
        check_count(epochs, "epochs", done, because=f"{done} are already in the checkpoint")
        (self.optimiser.jitter,) = columns.pop("jitter")
        self.optimiser.last_good = state["last_good"]
        assign(self.optimiser.state(), state["state"])
        return History(**columns), state["best"]

    def save(self, history: History, best: list[Any], now: bool = False) -> None:
        """Save, unless the last save is too recent."""
        if now or time.perf_counter() - self.saved_at >= self.seconds:
            columns = {**asdict(history), "jitter": [self.optimiser.jitter]}
            state = {
                "state": self.optimiser.state(),
                "last_good": self.optimiser.last_good,
                "best": best,
            }
            checkpoints.save(self.path, self.settings, columns, state)
            self.saved_at = time.perf_counter()


def _tensors(model: Any, data: Any, name: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Check data as strictly as the model can: it knows its labels, ``fit`` only counts rows."""
    try:
        X, Y = getattr(model, "check_data", check_same_rows)(data)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return tf.convert_to_tensor(X), tf.convert_to_tensor(Y)


def _check_model(model: Any, num_rows: int, batch_size: int | None, natural: bool) -> None:
    """Refuse a model that would train on the wrong objective or not at all."""
    if not hasattr(model, "training_loss"):
        raise ValueError(f"model: expected a training_loss method, got {type(model).__name__}")
    num_data = getattr(model, "num_data", None)
    is_batch = batch_size is not None and batch_size < num_rows
    if (num_data is None and is_batch) or (num_data is not None and int(num_data) != num_rows):
        raise ValueError(
            f"model.num_data: expected {num_rows}, the number of rows of X, by which the ELBO is "
            f"scaled, got {num_data}"
        )
    if natural:
        q_sqrt = getattr(model, "q_sqrt", None)
        if not isinstance(q_sqrt, gpflow.Parameter) or q_sqrt.shape.rank != 3:
            raise ValueError(
                "natural_gradients: expected a model with q_mu and a full q_sqrt [L, M, M], got "
                + (type(model).__name__ if q_sqrt is None else f"q_sqrt of shape {q_sqrt.shape}")
            )
    elif not model.trainable_variables:
        raise ValueError("model: expected a trainable parameter, got none")
