"""``fit``: train any model here with Adam, keep its best parameters, stop and resume at will."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from etgp_viz import checks
from etgp_viz.backend import Tensor, jitter, tf
from etgp_viz.checks import check_count, check_model, check_optional, check_pair, check_positive
from etgp_viz.core.optimiser import Optimiser, TrainingError
from etgp_viz.files import Checkpoint

__all__ = ["EpochRecord", "FitResult", "TrainingError", "fit"]

IMPROVEMENT = 1e-3  # nats per validation row; anything less does not count
SLOWER, MAX_FALLS = 0.25, 3  # factor of the rate without improvement; the third fall ends training
LATENT_ROWS = 1000  # of the training data, to measure what f0 contributes

# What is recorded as training goes on: the first fields of `FitResult`.
COLUMNS = {"elbo": float, "seconds": float, "validation": float, "validation_epochs": int}


@dataclass(frozen=True)
class EpochRecord:
    """What the callback receives after each epoch; values as in `FitResult`."""

    epoch: int  # counted from 0
    elbo: float
    seconds: float
    validation: float | None  # if it was measured after this epoch
    best_epoch: int  # the best so far, this epoch included
    best_elbo: float


@dataclass(frozen=True)
class FitResult:
    """The history of a fit of E finished epochs.

    Attributes
    ----------
    elbo : ``[E]``, the mean over an epoch's steps of minus the training loss (log priors such as
        ETGP's weight decay included), each measured just before its update
    seconds : ``[E]``, time of the epochs' steps, without validation and callback; the first
        includes tracing and compiling
    validation, validation_epochs : ``[V]``, mean log density of the validation data at the
        parameters an epoch ended with, and the epochs after which it was measured
    best_epoch, best_elbo : the epoch whose parameters the model now has, that of the highest ELBO
        (with ``patience``: of the best validation score), and its ELBO; None and −inf if no epoch
        finished and the model is as it was
    stopped : "finished" (all epochs), "no improvement" (``patience``), "out of time" (``seconds``),
        "callback", "interrupted" (Ctrl-C or kernel interrupt) or "failed" (only seen as
        ``TrainingError.result``)
    jitter : GPflow's jitter at the end, higher than ``gpflow.default_jitter()`` after a recovery
    latent : what f0 contributes (`ETGP.latent_contribution`) on the validation rows, or else on up
        to 1000 training rows; None for a model without it
    """

    elbo: np.ndarray
    seconds: np.ndarray
    validation: np.ndarray
    validation_epochs: np.ndarray
    best_epoch: int | None
    best_elbo: float
    stopped: str
    jitter: float
    latent: Any = None


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
    patience: int | None = None,
    seconds: float | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 30.0,
) -> FitResult:
    """Maximise a model's ELBO and leave the model with the parameters of its best epoch.

    *Best parameters.* An epoch's ELBO is the mean of its steps' ELBOs, and its parameters are those
    at which the last of them was measured: the state after the last update has not been measured,
    and may be one step into a divergence. They are in the model however training ends; only a
    ``TrainingError`` about a parameter leaves the *last* good ones. An ELBO that cannot be (for
    classes: above zero) is a ``TrainingError`` too.

    *Mini-batches* all have the same size, so that one compiled step serves all. Each epoch shuffles
    the rows anew and, if B does not divide N, leaves out the last N mod B rows of that order: every
    row has the same chance of being used, and the ELBO stays unbiased.

    *Failed steps* (a loss or gradient that is NaN or infinite, a failed Cholesky decomposition)
    return to the last good parameters with ten times the jitter, for the rest of the fit, with a
    warning. A natural gradient step that leaves the covariance matrices is an error at once, since
    no jitter shortens it.

    Parameters
    ----------
    model : any model with GPflow's ``training_loss((X, Y))``
    data : ``(X [N, D], Y)`` with N rows each
    epochs : passes over the data, including those of a checkpoint that is resumed
    batch_size : rows B per step; None for all N
    learning_rate, half_life : Adam's rate in epoch e = 0, 1, … is learning_rate · 2^(−e /
        half_life), or constant without a half-life
    natural_gradients : step size γ of natural gradients on ``(q_mu, q_sqrt)``, alternating with
        Adam on the other parameters; None leaves all to Adam. γ = 1 solves a conjugate model in one
        step; other likelihoods want about 0.1.
    seed : of the shuffling and of the model's draws from TensorFlow's implicit stream
    progress : show a progress bar with the ELBO, in a terminal or a notebook
    callback : called after each epoch with an ``EpochRecord``; a true return value stops training.
        It sees the model at the parameters the epoch ended with, and must not change them.
    validation, validation_every : ``(X, Y)`` whose mean log density is recorded, and the number of
        epochs from one score to the next
    patience : number of scores without an improvement of 0.001 nats per row after which Adam's rate
        falls to a quarter, and, the third time, training stops; the model then has the parameters
        of the best score. None trains for all epochs and keeps the best ELBO.
    seconds : time limit for the steps; the first epoch, which also compiles, does not count
    checkpoint : a file to save the run to and to resume it from: the same call continues on the
        same trajectory, bit for bit (unless the model draws from TensorFlow's implicit random
        stream, whose position cannot be saved). ``epochs`` may be raised to train for longer.
    checkpoint_seconds : least time between two saves; the end of training always saves, an
        interrupt does not, since it falls inside an epoch

    Returns
    -------
    FitResult; a ``TrainingError``, raised when recovery fails, has it in ``result``

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
    settings: dict[str, Any] = {
        "learning_rate": check_positive(learning_rate, "learning_rate"),
        "half_life": check_optional(check_positive, half_life, "half_life"),
        "natural_gradients": check_optional(check_positive, natural_gradients, "natural_gradients"),
        "validation_every": check_count(validation_every, "validation_every"),
        "patience": check_optional(check_count, patience, "patience"),
        "seconds": check_optional(check_positive, seconds, "seconds"),
        "seed": checks.check_seed(seed),
    }
    epochs = check_count(epochs, "epochs")
    checkpoint_seconds = check_positive(checkpoint_seconds, "checkpoint_seconds")
    data = check_pair(data, "data", model)
    validation = check_optional(check_pair, validation, "validation", model=model)
    if patience is not None and validation is None:
        checks.fail("patience", "validation data, whose score decides when to stop", "none")
    N = int(data[0].shape[0])
    bound = {"maximum": N, "because": "the number of rows of X"}
    batch_size = check_optional(check_count, batch_size, "batch_size", **bound)
    check_model(model, N, batch_size, natural=natural_gradients is not None)
    rates: Any = {"learning_rate": learning_rate, "natural_gradients": natural_gradients}
    optimiser = Optimiser(model, data, validation, **rates, seed=seed)
    batches = Batches(N, batch_size, seed)
    history: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    best = optimiser.last_good
    store = None
    if checkpoint is not None:
        settings |= {"batch_size": batch_size, **_identity(optimiser)}
        arrays = {"data": data, "validation": validation}
        store = Checkpoint(checkpoint, checkpoint_seconds, settings, arrays)
        history, best = _resume(store, optimiser, epochs) or (history, best)
    best_epoch, best_elbo = _best(history, patience)
    falls = _falls(history["validation"], patience)
    done, steps, highest = len(history["elbo"]), batches.per_epoch, checks.highest_elbo(model)
    stopped = _why_stop(history, patience, seconds)
    bar = tqdm(total=epochs * steps, initial=done * steps, unit="step", disable=not progress)
    try:
        for epoch in range(done, epochs if stopped == "finished" else done):
            start = time.perf_counter()
            total = 0.0
            decay = 1.0 if half_life is None else 2.0 ** (-epoch / half_life)
            optimiser.learning_rate = learning_rate * SLOWER**falls * decay
            for step, rows in enumerate(batches.of_epoch(epoch), start=1):
                total += optimiser.step(rows)
                bar.set_postfix_str(f"ELBO {total / step:.6g}", refresh=False)
                bar.update()
            elbo, duration = total / steps, time.perf_counter() - start
            if elbo > highest:
                raise TrainingError(f"epoch {epoch}: ELBO {elbo:.6g}, which cannot exceed 0", "")
            history["elbo"].append(elbo)
            history["seconds"].append(duration)
            is_due = validation is not None and (epoch + 1) % validation_every == 0
            score = optimiser.score() if is_due else None
            if score is not None:
                history["validation"].append(score)
                history["validation_epochs"].append(epoch)
            best_epoch, best_elbo = _best(history, patience)
            if best_epoch == epoch:
                best = optimiser.last_good if patience is None else optimiser.current
            falls = _falls(history["validation"], patience)
            record = EpochRecord(epoch, elbo, duration, score, best_epoch, best_elbo)
            is_told = callback is not None and callback(record)
            stopped = "callback" if is_told else _why_stop(history, patience, seconds)
            if stopped != "finished":
                break
            _save(store, optimiser, history, best)
        _save(store, optimiser, history, best, now=True)
    except KeyboardInterrupt:
        stopped = "interrupted"
    except TrainingError as error:
        best = optimiser.last_good if error.parameter else best
        error.result = _result(history, "failed", optimiser.jitter, patience)
        raise
    finally:
        bar.close()
        optimiser.restore(best)
    latent = _latent(model, data if validation is None else validation, optimiser.jitter)
    return _result(history, stopped, optimiser.jitter, patience, latent)


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
        used = order[: self.per_epoch * self.batch_size]
        yield from map(tf.constant, used.reshape(self.per_epoch, self.batch_size))


def _best(history: dict[str, list[Any]], patience: int | None) -> tuple[Any, float]:
    """The first epoch of the highest ELBO (with patience: of the best score), and its ELBO."""
    elbo, scores = history["elbo"], history["validation"]
    if not elbo or (patience is not None and not scores):
        return (len(elbo) - 1, elbo[-1]) if elbo else (None, -np.inf)
    if patience is None:
        return int(np.argmax(elbo)), max(elbo)
    epoch = history["validation_epochs"][int(np.argmax(scores))]
    return epoch, elbo[epoch]


def _falls(scores: list[float], patience: int | None) -> int:
    """How many times `patience` scores in a row brought no improvement.

    >>> _falls([1.0, 2.0, 1.9, 1.8, 2.5, 2.4, 2.3], patience=2)
    2
    """
    best, waited, falls = -np.inf, 0, 0
    for score in scores if patience is not None else ():
        waited += 1
        if score > best + IMPROVEMENT:  # many small improvements add up to one
            best, waited = score, 0
        if waited == patience:
            waited, falls = 0, falls + 1
    return falls


def _why_stop(history: dict[str, list[Any]], patience: int | None, seconds: float | None) -> str:
    """Why no further epoch is due; "finished" if one is, unless all are done."""
    if _falls(history["validation"], patience) >= MAX_FALLS:
        return "no improvement"
    is_late = seconds is not None and sum(history["seconds"][1:]) >= seconds
    return "out of time" if is_late else "finished"


def _latent(model: Any, data: tuple[Any, Any], level: float) -> Any:
    """What f0 contributes on some rows of the data, with the jitter of the training."""
    if not hasattr(model, "latent_contribution"):
        return None
    N = int(data[0].shape[0])
    rows = np.linspace(0, N - 1, min(N, LATENT_ROWS)).astype(int)
    with jitter(level):
        return model.latent_contribution(tuple(np.asarray(part)[rows] for part in data))


def _result(
    history: dict[str, list[Any]],
    stopped: str,
    level: float,
    patience: int | None,
    latent: Any = None,
) -> FitResult:
    columns: Any = {name: np.array(history[name], dtype=kind) for name, kind in COLUMNS.items()}
    columns |= dict(zip(("best_epoch", "best_elbo"), _best(history, patience), strict=True))
    return FitResult(**columns, stopped=stopped, jitter=level, latent=latent)


def _identity(optimiser: Optimiser) -> dict[str, Any]:
    """Description of a model, which must match when a checkpoint is resumed."""
    shapes = {path: variable.shape.as_list() for path, variable in optimiser.variables.items()}
    return {
        "model": type(optimiser.model).__name__,
        "parts of the model": [type(part).__name__ for part in optimiser.model.submodules],
        "parameters of the model": shapes,
        "trainable parameters": list(optimiser.trained),
    }


def _resume(store: Checkpoint, optimiser: Optimiser, epochs: int) -> Any:
    """Continue from the checkpoint, if there is one: its history and its best parameters."""
    good = optimiser.last_good
    if (stored := store.load({"state": optimiser.state, "last_good": good, "best": good})) is None:
        return None
    history = {name: array.tolist() for name, array in stored["history"].items()}
    done = len(history["elbo"])
    check_count(epochs, "epochs", done, because=f"{done} are already in the checkpoint")
    (optimiser.jitter,) = history.pop("jitter")
    optimiser.last_good = list(stored["last_good"].values())
    optimiser.restore(stored["state"].values())
    return history, list(stored["best"].values())


def _save(
    store: Checkpoint | None, optimiser: Optimiser, history: dict, best: list, now: bool = False
) -> None:
    if store is not None:
        variables = {"state": optimiser.state, "last_good": optimiser.last_good, "best": best}
        groups = {name: dict(enumerate(values)) for name, values in variables.items()}
        store.save({"history": {**history, "jitter": [optimiser.jitter]}, **groups}, now)
