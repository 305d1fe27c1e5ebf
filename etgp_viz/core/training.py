"""``fit``: train any model here with Adam, keep its best parameters, stop and resume at will."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.core.checkpoints import Checkpoint
from etgp_viz.core.optimiser import Optimiser, TrainingError

__all__ = ["EpochRecord", "FitResult", "TrainingError", "fit"]


@dataclass(frozen=True)
class EpochRecord:
    """What the callback receives after each epoch.

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
    """A ``FitResult`` in the making: the same columns as growing lists."""

    elbo: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    validation_epochs: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.best_epoch = int(np.argmax(self.elbo)) if self.elbo else None

    @property
    def best_elbo(self) -> float:
        """The highest ELBO so far, −inf before the first epoch."""
        return -np.inf if self.best_epoch is None else self.elbo[self.best_epoch]

    def add(self, elbo: float, seconds: float) -> bool:
        """Record an epoch and return whether it is the best so far."""
        is_best = elbo > self.best_elbo
        self.elbo.append(elbo)
        self.seconds.append(seconds)
        if is_best:
            self.best_epoch = len(self.elbo) - 1
        return is_best

    def add_validation(self, score: float) -> float | None:
        """Record a validation score of the latest epoch; NaN if there is none."""
        if np.isnan(score):
            return None
        self.validation.append(score)
        self.validation_epochs.append(len(self.elbo) - 1)
        return score

    def result(self, stopped: str, jitter: float) -> FitResult:
        """The finished record."""
        return FitResult(
            elbo=np.array(self.elbo, dtype=float),
            seconds=np.array(self.seconds, dtype=float),
            validation=np.array(self.validation, dtype=float),
            validation_epochs=np.array(self.validation_epochs, dtype=int),
            best_epoch=self.best_epoch,
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
    are in the model however training ends, also after a stop by the callback, an interrupt or an
    error in the callback. Only a ``TrainingError`` leaves the *last* good ones instead.

    *Mini-batches* all have the same size, so that one compiled step serves all. Each epoch shuffles
    the rows anew and, if B does not divide N, leaves out the last N mod B rows of that order: every
    row has the same chance of being used, and the ELBO stays unbiased.

    *Failed steps* (a loss or gradient that is NaN or infinite, a failed Cholesky decomposition)
    return to the last good parameters with ten times the jitter, and are tried again. The raised
    jitter stays for the rest of the fit, and a warning says so. A natural gradient step that leaves
    the covariance matrices is an error at once, since no jitter shortens it.

    Parameters
    ----------
    model : any model with GPflow's ``training_loss((X, Y))``
    data : ``(X [N, D], Y)`` with N rows each
    epochs : passes over the data, including those of a checkpoint that is resumed
    batch_size : rows B per step; None for all N
    learning_rate : Adam's
    half_life : epochs in which the learning rate halves: epoch e, counted from 0, has
        learning_rate · 2^(−e / half_life). None keeps it constant.
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
        stream, whose position cannot be saved). ``epochs`` may be raised to train for longer.
    checkpoint_seconds : least time between two saves; the end of training always saves, an
        interrupt does not, since it falls inside an epoch

    Returns
    -------
    FitResult

    Raises
    ------
    ValueError : for bad arguments, before anything changes
    TrainingError : when recovery fails; it names the parameter and has the history in ``result``

    Examples
    --------
    >>> from etgp_viz import build
    >>> X = np.linspace(-3.0, 3.0, 40)[:, None]
    >>> Y = (X > 0.0).astype(int)
    >>> model = build("etgp-linear", X, num_classes=2, num_inducing=5)
    >>> result = fit(model, (X, Y), epochs=20, learning_rate=0.05, progress=False)
    >>> print(result.stopped, len(result.elbo), result.best_elbo > result.elbo[0])
    finished 20 True
    """
    settings = {
        "learning_rate": checks.check_positive(learning_rate, "learning_rate"),
        "half_life": _positive_or_none(half_life, "half_life"),
        "natural_gradients": _positive_or_none(natural_gradients, "natural_gradients"),
        "validation_every": checks.check_count(validation_every, "validation_every"),
        "seed": checks.check_count(seed, "seed", minimum=0),
    }
    epochs = checks.check_count(epochs, "epochs")
    checkpoint_seconds = checks.check_positive(checkpoint_seconds, "checkpoint_seconds")
    tensors = _tensors(model, data, "data")
    scored = None if validation is None else _tensors(model, validation, "validation")
    num_rows = int(tensors[0].shape[0])
    if batch_size is not None:
        batch_size = checks.check_count(
            batch_size, "batch_size", maximum=num_rows, because="the number of rows of X"
        )
    _check_model(model, num_rows, batch_size, natural=natural_gradients is not None)
    optimiser = Optimiser(
        model,
        tensors,
        scored,
        learning_rate=learning_rate,
        natural_gradients=natural_gradients,
        seed=seed,
    )
    batches = Batches(num_rows, batch_size, seed)
    history, best = History(), optimiser.last_good
    store = None
    if checkpoint is not None:
        settings |= {"batch_size": batch_size, **_identity(optimiser)}
        arrays = {"data": tensors, "validation": scored}
        store = Checkpoint(checkpoint, checkpoint_seconds, settings, arrays)
        history, best = _resume(store, optimiser, epochs) or (history, best)
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
            elbo, seconds = total / batches.per_epoch, time.perf_counter() - start
            if history.add(elbo, seconds):
                best = optimiser.last_good
            score = None
            if scored is not None and (epoch + 1) % validation_every == 0:
                score = history.add_validation(optimiser.score())
            best_so_far: Any = (history.best_epoch, history.best_elbo)
            record = EpochRecord(epoch, elbo, seconds, score, *best_so_far)
            if callback is not None and callback(record):
                stopped = "callback"
                break
            if store is not None:
                _save(store, optimiser, history, best)
        if store is not None:
            _save(store, optimiser, history, best, now=True)
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

    def of_epoch(self, epoch: int) -> Iterator[Tensor | None]:
        """Yield indices ``[B]`` per step; None means all rows, in order."""
        if self.batch_size == self.num_rows:
            yield None
            return
        order = np.random.default_rng([self.seed, epoch]).permutation(self.num_rows)
        for step in range(self.per_epoch):
            yield tf.constant(order[step * self.batch_size : (step + 1) * self.batch_size])


def _identity(optimiser: Optimiser) -> dict[str, Any]:
    """Description of a model, which must match when a checkpoint is resumed."""
    return {
        "model": type(optimiser.model).__name__,
        "parts of the model": [type(part).__name__ for part in optimiser.model.submodules],
        "parameters of the model": {
            path: variable.shape.as_list() for path, variable in optimiser.variables.items()
        },
        "trainable parameters": optimiser.trained,
    }


def _resume(store: Checkpoint, optimiser: Optimiser, epochs: int) -> Any:
    """Continue from the checkpoint, if there is one: its history and its best parameters."""
    stored = store.load()
    if stored is None:
        return None
    columns, state = stored
    done = len(columns["elbo"])
    checks.check_count(epochs, "epochs", done, because=f"{done} are already in the checkpoint")
    (optimiser.jitter,) = columns.pop("jitter")
    optimiser.last_good = state["last_good"]
    optimiser.restore(state["state"])
    return History(**columns), state["best"]


def _save(
    store: Checkpoint, optimiser: Optimiser, history: History, best: list[Any], now: bool = False
) -> None:
    state = {"state": optimiser.state, "last_good": optimiser.last_good, "best": best}
    store.save({**asdict(history), "jitter": [optimiser.jitter]}, state, now)


def _positive_or_none(value: float | None, name: str) -> float | None:
    return None if value is None else checks.check_positive(value, name)


def _tensors(model: Any, data: Any, name: str) -> tuple[Tensor, Tensor]:
    """Data as tensors, checked by the model's own ``check_data`` if it has one."""
    try:
        X, Y = getattr(model, "check_data", checks.check_same_rows)(data)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return tf.convert_to_tensor(X), tf.convert_to_tensor(Y)


def _check_model(model: Any, num_rows: int, batch_size: int | None, natural: bool) -> None:
    """Refuse a model that would train on the wrong objective or not at all."""
    if not hasattr(model, "training_loss"):
        checks.fail("model", "a training_loss method", type(model).__name__)
    num_data = getattr(model, "num_data", None)
    is_batch = batch_size is not None and batch_size < num_rows
    if (num_data is None and is_batch) or (num_data is not None and int(num_data) != num_rows):
        expected = f"{num_rows}, the number of rows of X, by which the ELBO is scaled"
        checks.fail("model.num_data", expected, str(num_data))
    if natural:
        q_sqrt = getattr(model, "q_sqrt", None)
        if not isinstance(q_sqrt, gpflow.Parameter) or q_sqrt.shape.rank != 3:
            got = type(model).__name__ if q_sqrt is None else f"q_sqrt of shape {q_sqrt.shape}"
            expected = "a model with q_mu and a full q_sqrt [L, M, M]"
            checks.fail("natural_gradients", expected, got)
    elif not model.trainable_variables:
        checks.fail("model", "a trainable parameter", "none")
