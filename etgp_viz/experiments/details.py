"""`detail`: what a close-up of one run needs, in a few tens of kilobytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from etgp_viz.experiments.scoring import reliability

if TYPE_CHECKING:
    from etgp_viz.experiments.run import Prediction, Trained

__all__ = ["detail", "principal_directions"]

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
    - ``elbo``: ``epoch`` and ``value``, at most 100 of them; none for a model without epochs
    - ``confusion``: ``[true class, predicted class, count]`` of the test rows, without zeros
    - ``reliability``: way of predicting → bins of `etgp_viz.experiments.scoring.reliability`
    - ``hardest``: the test rows whose labels were least expected: ``row`` (of the data set),
      ``label``, ``probabilities [C]``
    - ``line``: along the first principal direction, see `_along_line`
    - ``projection``: data and inducing points in two dimensions, see `_projection`
    """
    point, data = tested["pe"], trained.data
    elbo = np.empty(0) if trained.history is None else trained.history.elbo
    rows = data.rows["test"]
    centre, directions = principal_directions(data.train[0])
    counts = np.bincount(point.labels, minlength=data.num_classes)
    shown = np.sort(np.argsort(-counts, kind="stable")[:CLASSES])
    count = min(len(elbo), ELBO_POINTS)
    epochs = np.linspace(0, len(elbo) - 1, count).round().astype(int)
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

    The keys are ``t [T]``, ``classes``, and, ``[classes, T]`` each, for an ETGP

        b = G(0),    a = (G(1) − G(−1)) / 2

    of the flows G(·; θᶜ(x)): for LINEAR its bᶜ(x) and aᶜ(x), for others the offset and mean slope;
    for another model with Gaussian processes, or an ETGP with several latents, the ``mean`` and the
    ``deviation`` of each class; for a model without them the ``probability`` of the class and its
    logarithm ``log_probability``.
    """
    kind = trained.run.kind
    scores = (trained.data.train[0] - centre) @ direction
    t = np.linspace(scores.min(), scores.max(), LINE_POINTS)
    X = centre + t[:, None] * direction
    line = {"t": t, "classes": classes}
    if kind.num_params and trained.model.num_latent_gps == 1:
        network = trained.model.network
        params = network(X)  # [T, C, P]
        low, middle, high = (
            network.flow.forward(np.full(params.shape[:2], f0), params).numpy()[:, classes].T
            for f0 in (-1.0, 0.0, 1.0)
        )
        return line | {"a": (high - low) / 2.0, "b": middle}
    if kind.has_inducing_points:
        with trained.as_trained():
            mean, variance = (part.numpy()[:, classes].T for part in trained.model.predict_f(X))
        return line | {"mean": mean, "deviation": np.sqrt(np.maximum(variance, 0.0))}
    p = trained.probabilities(X)[:, classes].T
    logarithm = np.log(np.maximum(p, np.finfo(float).tiny))
    return line | {"probability": p, "log_probability": logarithm}


def _projection(
    trained: Trained, centre: np.ndarray, directions: np.ndarray, classes: np.ndarray
) -> dict[str, Any]:
    """``data`` and ``inducing`` points ``[·, 2]``, at most 300 of each, with the data's labels.

    If an SVGP has separate inducing points, those of a few classes, named by ``inducing_labels``.
    There are none for a model without them, or with its inducing points among the features of a
    network, which are not inputs.
    """
    X, Y = trained.data.train
    few = np.random.default_rng(0).permutation(len(X))[:PROJECTED]
    shown = {"data": (X[few] - centre) @ directions.T, "labels": Y[few, 0]}
    kind = trained.run.kind
    is_deep = kind.has_network and not kind.num_params  # a network in front of the processes
    if is_deep or not kind.has_inducing_points:
        return shown | {"inducing": [], "inducing_labels": []}
    variable = trained.model.inducing_variable
    Z = getattr(variable, "inducing_variable", variable).Z.numpy()
    sets = Z if Z.ndim == 3 else Z[None]  # [C | 1, M, D]
    owners = [-1] if len(sets) == 1 else classes[: max(1, PROJECTED // len(sets[0]))].tolist()
    chosen = np.concatenate([sets[owner] for owner in owners])
    return shown | {
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
