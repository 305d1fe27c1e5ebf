"""`execute`: one run of the grid, from the data to the rows of the table and the details.

A run trains one model and scores its predictions, or, as the model ``"speed"``, times steps of
several models in turns. It is what a worker does, so it needs nothing but the `Run`. TensorFlow is
loaded when a model is built.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import logging
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module, metadata
from typing import Any, NamedTuple

import numpy as np

from etgp_viz import datasets
from etgp_viz.datasets import Dataset
from etgp_viz.experiments.details import detail
from etgp_viz.experiments.scoring import calibrated_ece, scores
from etgp_viz.experiments.settings import COLUMNS, OFF_THE_SHELF, SPEED, SPLITS, Outcome, Run
from etgp_viz.rivals.names import ETGPS, EXTENDED_OPTIONS, PREDICTIVE_DRAWS, SHARING
from etgp_viz.timing.processes import MIB, peak_memory, resident_memory

__all__ = [
    "CONTESTANTS",
    "Prediction",
    "Trained",
    "execute",
    "train",
]

PACKAGES = ("etgp-viz", "gpflow", "tensorflow", "numpy")
SCORES_OF_PATIENCE = 10  # validation scores within `patience` steps
TIMED_ROWS = 1000
TIMED_ROUNDS, TIMED_SECONDS = 4, 10.0  # at most, and at least three rounds
STEPS_OF_A_TURN = 3

#: who takes turns in a run of the model ``"speed"``: model, sharing, implementation
CONTESTANTS = (
    *((name, "", "etgp") for name in ETGPS),
    *(("svgp-rbf", sharing, code) for sharing in SHARING for code in ("gpflow", "batched")),
)


class Prediction(NamedTuple):
    """Class probabilities ``[N, C]``, log probabilities of the labels ``[N]``, labels ``[N]``."""

    p: np.ndarray
    log_p: np.ndarray
    labels: np.ndarray


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence TensorFlow's warning about retracing, which is expected with many models."""
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@_without_warnings()
def execute(run: Run) -> Outcome:
    """Carry out one run: the rows of the table and the details of the run."""
    data = datasets.load(run.dataset, validation=run.validation, seed=run.seed)
    if run.model == SPEED:
        return Outcome(_complete(run, data, _race(run, data)))
    for module in ("core.training", "rivals.build_model"):  # not part of the model's memory
        import_module(f"etgp_viz.{module}")
    _give_back_memory()
    base = resident_memory()
    results: list[Trained] = []
    peak = peak_memory(lambda: results.append(train(run, data)))
    trained = results.pop()
    common = _training_row(trained) | {"memory_mib": (peak - base) / MIB}
    predictions = {inference: trained.predict(inference) for inference in trained.inferences}
    rows = [common | _prediction_row(*item) for item in predictions.items()]
    rows[0] |= _latent_row(trained)  # of the point estimate
    rows = [row | timed for row, timed in zip(rows, _predict_in_turns(trained), strict=True)]
    tested = {inference: splits["test"] for inference, splits in predictions.items()}
    return Outcome(_complete(run, data, rows), detail(trained, tested))


def _give_back_memory() -> None:
    """Return memory that earlier runs of this worker left to the system, if the C library can."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


# --- training ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model with its data, and what `etgp_viz.fit` says about its training.

    A model of scikit-learn, which is trained in one call, has no history.
    """

    run: Run
    data: Dataset
    model: Any
    history: Any
    fit_seconds: float

    @property
    def inferences(self) -> dict[str, int | None]:
        """Way of predicting → dropout draws."""
        has_both = self.run.kind.has_bayesian_average
        return {"pe": None, "ba": self.run.samples} if has_both else {"pe": None}

    def as_trained(self) -> contextlib.AbstractContextManager[None]:
        """A context for predictions with the jitter that training ended with."""
        from etgp_viz.backend import jitter

        return contextlib.nullcontext() if self.history is None else jitter(self.history.jitter)

    def probabilities(self, X: np.ndarray, samples: int | None = None, seed: int = 0) -> np.ndarray:
        """Class probabilities ``[N, C]``."""
        with self.as_trained():
            return self.model.predict_y(X, samples=samples, seed=seed)[0].numpy()

    def predict(self, inference: str) -> dict[str, Prediction]:
        """Predictions of every scored split, all rows in one call since each size is compiled.

        Log probabilities come from the model, since the probability of a label may be too small
        for a floating-point number.
        """
        samples = self.inferences[inference]
        X, Y = (np.concatenate(parts) for parts in zip(*map(self.data.part, SPLITS), strict=True))
        p = self.probabilities(X, samples)
        with self.as_trained():
            log_p = self.model.predict_log_density((X, Y), samples=samples).numpy()
        ends = np.cumsum([len(self.data.rows[split]) for split in SPLITS])[:-1]
        parts = zip(*(np.split(array, ends) for array in (p, log_p, Y[:, 0])), strict=True)
        return dict(zip(SPLITS, map(Prediction._make, parts), strict=True))


def train(run: Run, data: Dataset) -> Trained:
    """Build the model of a run and train it, as the run says or by scikit-learn's own method."""
    model = _build(run, data)
    start = time.perf_counter()
    history = _fit(model, run, data) if run.kind.is_trained_by_fit else None
    if history is None:
        model.train(data.train)
    return Trained(run, data, model, history, time.perf_counter() - start)


def _fit(model: Any, run: Run, data: Dataset) -> Any:
    """Train until the validation rows show no improvement, or for all steps of the run.

    With `patience` the validation rows are scored about ten times in as many steps, and the model
    ends with the parameters of the best score. Without it, the learning rate falls to
    ``final_rate`` of itself, and the model ends with the parameters of the best ELBO.
    """
    from etgp_viz.core.training import fit

    per_epoch = _steps_per_epoch(run, data)
    epochs = math.ceil(run.steps / per_epoch)
    options: dict[str, Any] = {"seconds": run.max_seconds}
    if run.patience is not None:
        every = max(1, round(run.patience / SCORES_OF_PATIENCE / per_epoch))
        options |= {"validation": data.part("validation"), "validation_every": every}
        options["patience"] = max(1, round(run.patience / per_epoch / every))
    if run.final_rate < 1.0:
        options["half_life"] = epochs / math.log2(1.0 / run.final_rate)
    history = fit(
        model,
        data.train,
        epochs=epochs,
        batch_size=_batch_size(run, data),
        learning_rate=run.learning_rate,
        seed=run.seed,
        progress=False,
        **options,
    )
    if history.stopped == "interrupted":  # a model that is half trained is not a result
        raise KeyboardInterrupt
    return history


def _build(run: Run, data: Dataset, batched: bool = True) -> Any:
    """The model of a run; an SVGP in batched operations, or in GPflow's, which are slower."""
    from etgp_viz.rivals.build_model import build

    kind = run.kind
    options: dict[str, Any] = {"start": run.start}
    if kind.has_network:
        options |= {name: getattr(run, name) for name in kind.network_settings}
        options["precision"] = "float32"  # of the network, and of a training step
    if kind.family == "svgp":
        options["batched"] = batched
    if run.sharing:
        options["sharing"] = run.sharing
    if kind.is_monte_carlo:
        options["num_monte_carlo"] = run.num_monte_carlo
        options["num_predictive"] = PREDICTIVE_DRAWS
    if kind.has_inducing_points:
        options["num_inducing"] = run.num_inducing
    if not kind.is_trained_by_fit:
        setting = OFF_THE_SHELF[kind.variant]
        value = getattr(run, setting)
        # With C = 1/(2λ) the penalty of logistic regression is λ‖W‖², like a network's.
        options |= {"C": 0.5 / value} if setting == "weight_decay" else {setting: value}
    name = run.model
    if name in EXTENDED_OPTIONS:
        name, options = "etgp", options | EXTENDED_OPTIONS[name]
    return build(name, data.train[0], data.num_classes, seed=run.seed, **options)


def _batch_size(run: Run, data: Dataset) -> int:
    """B, at most the number of training rows."""
    return min(run.batch_size, len(data.rows["train"]))


def _steps_per_epoch(run: Run, data: Dataset) -> int:
    """⌊N / B⌋."""
    return len(data.rows["train"]) // _batch_size(run, data)


# --- rows of the table ---------------------------------------------------------------------------


def _training_row(trained: Trained) -> dict[str, Any]:
    """Times of the epochs: the first, which traces and compiles, and the median of the others.

    A median is little affected by epochs in which the machine did something else. scikit-learn has
    no epochs, and no ELBO.
    """
    history, nan = trained.history, math.nan
    seconds = [nan] if history is None else history.seconds
    later = seconds[1:] if len(seconds) > 1 else [nan]
    low, per_epoch, high = np.quantile(later, [0.25, 0.5, 0.75]).tolist()
    steps = _steps_per_epoch(trained.run, trained.data)
    kind = trained.run.kind
    return {
        "seconds_per_step": per_epoch / steps,
        "seconds_per_step_low": low / steps,
        "seconds_per_step_high": high / steps,
        "seconds_per_epoch": per_epoch,
        "first_epoch_seconds": float(seconds[0]),
        "fit_seconds": trained.fit_seconds,
        "implementation": "batched" if kind.family == "svgp" else kind.family,
        "epochs": nan if history is None else len(seconds),
        "stopped": "finished" if history is None else history.stopped,
        "best_elbo": nan if history is None else float(history.best_elbo),
        "latent_lost_at_zero": nan,
        "latent_lost_at_mean": nan,
    }


def _latent_row(trained: Trained) -> dict[str, Any]:
    """Nats per test row that are lost if f₀ is set to 0 or to its mean; nothing without f₀."""
    measure = getattr(trained.model, "latent_contribution", None)
    if measure is None:
        return {}
    with trained.as_trained():
        latent = measure(trained.data.part("test"))
    return {
        "latent_lost_at_zero": float(latent.lost_at_zero),
        "latent_lost_at_mean": float(latent.lost_at_mean),
    }


def _prediction_row(inference: str, predictions: dict[str, Prediction]) -> dict[str, Any]:
    """Scores of a way of predicting."""
    row: dict[str, Any] = {"inference": inference}
    for split, prediction in predictions.items():
        row |= {f"{split}_{name}": score for name, score in scores(*prediction).items()}
    if wrong := [name for name, score in row.items() if score != score]:
        raise FloatingPointError(f"predictions are not numbers: {', '.join(wrong)}")
    expected, name = calibrated_ece(predictions["test"].p), "test_ece_if_calibrated"
    row |= {name: expected.mean, f"{name}_low": expected.low, f"{name}_high": expected.high}
    return row


def _predict_in_turns(trained: Trained) -> Iterator[dict[str, Any]]:
    """For each way of predicting: its seconds for 1000 rows, its draws, and the error they leave.

    The ways take turns, and the first round, which may have to compile, does not count; seconds are
    medians over the others. The error is the Monte Carlo standard error of the largest class
    probability, averaged over rows; it is 0 for quadrature. BA has new dropout draws in each
    round: its error is the standard deviation between rounds.
    """
    X = np.concatenate([trained.data.part(split)[0] for split in SPLITS])[:TIMED_ROWS]
    ways = trained.inferences.values()
    rounds: list[list[tuple[float, np.ndarray]]] = []
    start = time.perf_counter()
    while len(rounds) < 3 or (
        len(rounds) < TIMED_ROUNDS and time.perf_counter() - start < TIMED_SECONDS
    ):
        seed = len(rounds)
        rounds.append(
            [_timed(partial(trained.probabilities, X, samples, seed)) for samples in ways]
        )
    for samples, predictions in zip(ways, zip(*rounds[1:], strict=True), strict=True):
        seconds, p = (np.array(part) for part in zip(*predictions, strict=True))
        draws, error = 0, np.zeros(p.shape[1:])  # [N, C]
        if samples is not None:
            draws, error = samples, p.std(axis=0, ddof=1)
        elif trained.run.kind.is_monte_carlo:
            draws, error = trained.model.num_predictive, _error_of_draws(trained, X)
        largest = p[0].argmax(axis=1)[:, None]
        yield {
            "prediction_seconds_per_1000": float(np.median(seconds)) * 1000.0 / len(X),
            "predictive_draws": draws,
            "prediction_error": float(np.take_along_axis(error, largest, axis=1).mean()),
        }


def _error_of_draws(trained: Trained, X: np.ndarray) -> np.ndarray:
    """Standard errors ``[N, C]`` of the probabilities of a model that draws its processes."""
    with trained.as_trained():
        return trained.model.prediction_error(X).numpy()


def _complete(run: Run, data: Dataset, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a run with what they have in common; what was not measured is None."""
    common = run.settings() | {
        "id": run.id,
        "rows": len(rows),
        "status": "ok",
        "num_classes": data.num_classes,
        "num_inputs": data.num_inputs,
        **{f"num_{split}": len(data.rows[split]) for split in ("train", *SPLITS)},
        "versions": "; ".join(f"{name} {metadata.version(name)}" for name in PACKAGES),
    }
    return [dict.fromkeys(COLUMNS) | common | row for row in rows]


# --- steps in turns ------------------------------------------------------------------------------


def _race(run: Run, data: Dataset) -> list[dict[str, Any]]:
    """A row for each contestant: median and quartiles of a step over ``run.steps`` rounds.

    Models that are trained one after another find the machine in different states. Here they take
    turns, round by round, so that a busy minute slows down all of them. A turn is a few steps of
    `etgp_viz.fit` in a row, as in an epoch; the step before them, which finds the caches full of
    another model's numbers, does not count.
    """
    from etgp_viz.core.training import Batches
    from etgp_viz.timing.contestant_models import training_step

    batches = Batches(len(data.rows["train"]), _batch_size(run, data), run.seed)
    rows = next(iter(batches.of_epoch(0)))
    steps = []
    for name, sharing, code in CONTESTANTS:
        rival = dataclasses.replace(run, model=name, sharing=sharing)
        model = _build(rival, data, batched=code == "batched")
        if code == "gpflow":
            model = _stock_svgp(model)
        step = training_step(model, data.train, learning_rate=run.learning_rate, seed=run.seed)
        steps.append(lambda step=step: step(rows))
    first = [_seconds(step) for step in steps]
    rounds = [[_turn(step) for step in steps] for _ in range(run.steps)]
    quartiles = np.quantile(rounds, [0.25, 0.5, 0.75], axis=0).T.tolist()
    return [
        {
            "model": name,
            "sharing": sharing,
            "inference": "speed",
            "implementation": code,
            "seconds_per_step": seconds,
            "seconds_per_step_low": low,
            "seconds_per_step_high": high,
            "seconds_per_epoch": seconds * _steps_per_epoch(run, data),
            "first_epoch_seconds": tracing,
        }
        for (name, sharing, code), (low, seconds, high), tracing in zip(
            CONTESTANTS, quartiles, first, strict=True
        )
    ]


def _stock_svgp(model: Any) -> Any:
    """GPflow's stock SVGP, with GPflow's own expectations, which are slower than ours."""
    from etgp_viz.backend import gpflow

    C = model.num_classes
    return gpflow.models.SVGP(
        model.kernel,
        gpflow.likelihoods.Softmax(C),
        model.inducing_variable,
        num_latent_gps=C,
        num_data=model.num_data,
    )


def _turn(step: Callable[[], Any]) -> float:
    """Mean seconds of the steps of a turn."""
    step()
    return float(np.mean([_seconds(step) for _ in range(STEPS_OF_A_TURN)]))


def _timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that an action takes, and what it returns."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def _seconds(action: Callable[[], Any]) -> float:
    return _timed(action)[0]
