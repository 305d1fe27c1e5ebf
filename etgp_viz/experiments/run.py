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
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module, metadata
from typing import Any, NamedTuple

import numpy as np

from etgp_viz import datasets
from etgp_viz.datasets import Dataset
from etgp_viz.experiments.scoring import reliability, scores
from etgp_viz.experiments.settings import COLUMNS, SPEED, SPLITS, Outcome, Run
from etgp_viz.rivals.names import ETGPS, SHARING
from etgp_viz.timing.processes import MIB, peak_memory, resident_memory

__all__ = [
    "CONTESTANTS",
    "Prediction",
    "Trained",
    "detail",
    "execute",
    "principal_directions",
    "train",
]

PACKAGES = ("etgp-viz", "gpflow", "tensorflow", "numpy")
TIMED_ROWS = 1000
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
    rows = [common | _prediction_row(trained, *item) for item in predictions.items()]
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
    """A trained model with its data and its history."""

    run: Run
    data: Dataset
    model: Any
    history: Any
    fit_seconds: float

    @property
    def inferences(self) -> dict[str, int | None]:
        """Way of predicting → dropout draws; an SVGP has its point estimate alone."""
        return {"pe": None, "ba": self.run.samples} if self.run.is_etgp else {"pe": None}

    def as_trained(self) -> contextlib.AbstractContextManager[None]:
        """A context for predictions with the jitter that training ended with."""
        from etgp_viz.backend import jitter

        return jitter(self.history.jitter)

    def probabilities(self, X: np.ndarray, samples: int | None = None) -> np.ndarray:
        """Class probabilities ``[N, C]``."""
        with self.as_trained():
            return self.model.predict_y(X, samples=samples)[0].numpy()

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
    """Build the model of a run and fit it; the learning rate falls to ``final_rate`` of itself."""
    from etgp_viz.core.training import fit

    model = _build(run, data)
    epochs = math.ceil(run.steps / _steps_per_epoch(run, data))
    start = time.perf_counter()
    history = fit(
        model,
        data.train,
        epochs=epochs,
        batch_size=_batch_size(run, data),
        learning_rate=run.learning_rate,
        half_life=epochs / math.log2(1.0 / run.final_rate) if run.final_rate < 1.0 else None,
        seed=run.seed,
        progress=False,
    )
    if history.stopped == "interrupted":  # a model that is half trained is not a result
        raise KeyboardInterrupt
    return Trained(run, data, model, history, time.perf_counter() - start)


def _build(run: Run, data: Dataset, batched: bool = True) -> Any:
    """The model of a run; an SVGP in batched operations, or in GPflow's, which are slower."""
    from etgp_viz.rivals.build_model import build

    options: dict[str, Any] = {
        "sharing": run.sharing,
        "batched": batched,
        "num_monte_carlo": run.num_monte_carlo,
    }
    if run.is_etgp:
        options = {name: getattr(run, name) for name in ("hidden", "dropout", "weight_decay")}
        options["precision"] = "float32"  # of the network alone
    return build(
        run.model,
        data.train[0],
        data.num_classes,
        num_inducing=run.num_inducing,
        seed=run.seed,
        **options,
    )


def _batch_size(run: Run, data: Dataset) -> int:
    """B, at most the number of training rows."""
    return min(run.batch_size, len(data.rows["train"]))


def _steps_per_epoch(run: Run, data: Dataset) -> int:
    """⌊N / B⌋."""
    return len(data.rows["train"]) // _batch_size(run, data)


# --- rows of the table ---------------------------------------------------------------------------


def _training_row(trained: Trained) -> dict[str, Any]:
    """Times of the epochs: the first, which traces and compiles, and the median of the others.

    A median is little affected by epochs in which the machine did something else.
    """
    seconds = trained.history.seconds
    later = seconds[1:] if len(seconds) > 1 else [math.nan]
    low, per_epoch, high = np.quantile(later, [0.25, 0.5, 0.75]).tolist()
    steps = _steps_per_epoch(trained.run, trained.data)
    return {
        "seconds_per_step": per_epoch / steps,
        "seconds_per_step_low": low / steps,
        "seconds_per_step_high": high / steps,
        "seconds_per_epoch": per_epoch,
        "first_epoch_seconds": float(seconds[0]),
        "fit_seconds": trained.fit_seconds,
        "implementation": "etgp" if trained.run.is_etgp else "batched",
        "epochs": len(seconds),
        "best_elbo": float(trained.history.best_elbo),
    }


def _prediction_row(
    trained: Trained, inference: str, predictions: dict[str, Prediction]
) -> dict[str, Any]:
    row: dict[str, Any] = {"inference": inference}
    for split, prediction in predictions.items():
        row |= {f"{split}_{name}": score for name, score in scores(*prediction).items()}
    if wrong := [name for name, score in row.items() if score != score]:
        raise FloatingPointError(f"predictions are not numbers: {', '.join(wrong)}")
    X = np.concatenate([trained.data.part(split)[0] for split in SPLITS])[:TIMED_ROWS]
    samples = trained.inferences[inference]
    # The first call may have to compile.
    times = [_seconds(lambda: trained.probabilities(X, samples)) for _ in range(3)]
    return row | {"prediction_seconds_per_1000": min(times[1:]) * 1000.0 / len(X)}


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


def _seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


# --- details for a close-up -----------------------------------------------------------------------

ELBO_POINTS = 100
HARDEST = 8
CLASSES = 8
LINE_POINTS = 41
PROJECTED = 300
DIGITS = 4


def detail(trained: Trained, tested: Mapping[str, Prediction]) -> dict[str, Any]:
    """What a close-up of a run needs, ready for JSON, in a few tens of kilobytes.

    Inputs have many dimensions and a page has two. Everything is therefore shown along the first
    principal directions v₁, v₂ of the training rows: f₀ and the flows on the line x̄ + t v₁, the
    inducing points by their coordinates (v₁ᵀ(z − x̄), v₂ᵀ(z − x̄)). ``tested`` has the predictions of
    the test rows for each way of predicting. The keys are

    - ``run``: its settings
    - ``class_names``: C names
    - ``elbo``: ``epoch`` and ``value``, at most 100 of them
    - ``confusion``: ``[true class, predicted class, count]`` of the test rows, without zeros
    - ``reliability``: way of predicting → bins of `etgp_viz.experiments.scoring.reliability`
    - ``hardest``: the test rows whose labels were least expected: ``row`` (of the data set),
      ``label``, ``probabilities [C]``
    - ``line``: along the first principal direction, see `_along_line`
    - ``projection``: data and inducing points in two dimensions, see `_projection`
    """
    point, data, elbo = tested["pe"], trained.data, trained.history.elbo
    rows = data.rows["test"]
    centre, directions = principal_directions(data.train[0])
    counts = np.bincount(point.labels, minlength=data.num_classes)
    shown = np.sort(np.argsort(-counts, kind="stable")[:CLASSES])
    epochs = np.unique(np.linspace(0, len(elbo) - 1, ELBO_POINTS).round().astype(int))
    pairs = np.stack([point.labels, point.p.argmax(axis=1)], axis=1)
    pairs, pair_counts = np.unique(pairs, axis=0, return_counts=True)
    return _rounded(
        {
            "run": trained.run.settings() | {"id": trained.run.id},
            "class_names": list(data.class_names),
            "elbo": {"epoch": epochs, "value": elbo[epochs]},
            "confusion": np.column_stack([pairs, pair_counts]),
            "reliability": {
                way: dataclasses.asdict(reliability(test.p, test.labels))
                for way, test in tested.items()
            },
            "hardest": [
                {"row": rows[n], "label": point.labels[n], "probabilities": point.p[n]}
                for n in np.argsort(point.log_p, kind="stable")[:HARDEST]
            ],
            "line": _along_line(trained, centre, directions[0], shown),
            "projection": _projection(trained, centre, directions, shown),
        }
    )


def principal_directions(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean ``[D]`` and the first two principal directions ``[2, D]`` of the rows of X.

    With one input the second direction is zero. The largest entry of a direction is positive, so
    that it does not depend on the solver.
    """
    centre = X.mean(axis=0)
    _, _, right = np.linalg.svd(X - centre, full_matrices=False)
    directions = np.zeros((2, X.shape[1]))
    directions[: len(right[:2])] = right[:2]
    largest = np.argmax(np.abs(directions), axis=1)
    return centre, directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]


def _along_line(
    trained: Trained, centre: np.ndarray, direction: np.ndarray, classes: np.ndarray
) -> dict[str, Any]:
    """What the model has learnt on the line x̄ + t v₁, for a few classes.

    The keys are ``t [T]``, ``classes``, and, ``[classes, T]`` each, for an SVGP ``mean`` and
    ``deviation`` of the processes, for an ETGP

        b = G(0),    a = (G(1) − G(−1)) / 2

    of the flows G(·; θᶜ(x)): for LINEAR its bᶜ(x) and aᶜ(x), for others the offset and mean slope.
    """
    scores = (trained.data.train[0] - centre) @ direction
    t = np.linspace(scores.min(), scores.max(), LINE_POINTS)
    X = centre + t[:, None] * direction
    line = {"t": t, "classes": classes}
    if trained.run.is_etgp:
        network = trained.model.network
        params = network(X)  # [T, C, P]
        low, middle, high = (
            network.flow.forward(np.full(params.shape[:2], f0), params).numpy()[:, classes].T
            for f0 in (-1.0, 0.0, 1.0)
        )
        return line | {"a": (high - low) / 2.0, "b": middle}
    with trained.as_trained():
        mean, variance = (part.numpy()[:, classes].T for part in trained.model.predict_f(X))
    return line | {"mean": mean, "deviation": np.sqrt(np.maximum(variance, 0.0))}


def _projection(
    trained: Trained, centre: np.ndarray, directions: np.ndarray, classes: np.ndarray
) -> dict[str, Any]:
    """``data`` and ``inducing`` points ``[·, 2]``, at most 300 of each, with the data's labels.

    If an SVGP has separate inducing points, those of a few classes, named by ``inducing_labels``.
    """
    X, Y = trained.data.train
    few = np.random.default_rng(0).permutation(len(X))[:PROJECTED]
    variable = trained.model.inducing_variable
    Z = getattr(variable, "inducing_variable", variable).Z.numpy()
    sets = Z if Z.ndim == 3 else Z[None]  # [C | 1, M, D]
    owners = [-1] if len(sets) == 1 else classes[: max(1, PROJECTED // len(sets[0]))].tolist()
    chosen = np.concatenate([sets[owner] for owner in owners])
    return {
        "data": (X[few] - centre) @ directions.T,
        "labels": Y[few, 0],
        "inducing": ((chosen - centre) @ directions.T)[:PROJECTED],
        "inducing_labels": np.repeat(owners, len(sets[0]))[:PROJECTED],
    }


def _rounded(value: Any) -> Any:
    """The same with lists of rounded numbers in place of arrays."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return _rounded(value.tolist())
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
