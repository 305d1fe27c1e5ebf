"""`detail`: what a close-up of one run needs, as plain numbers of a few tens of kilobytes.

Inputs have many dimensions and a page has two. Everything is therefore shown along the first
principal directions v₁, v₂ of the training rows: f₀ and the flows on the line x̄ + t v₁, the
inducing points by their coordinates (v₁ᵀ(z − x̄), v₂ᵀ(z − x̄)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from etgp_viz.experiments.scoring import reliability

if TYPE_CHECKING:
    from etgp_viz.experiments.run import Prediction, Trained

__all__ = ["confusion", "detail", "principal_directions"]

ELBO_POINTS = 100
HARDEST = 8
CLASSES = 8
LINE_POINTS = 41
PROJECTED = 300
DIGITS = 4


def detail(trained: Trained, tested: Mapping[str, Prediction]) -> dict[str, Any]:
    """The details of a run, ready for JSON.

    Parameters
    ----------
    trained : the model of the run
    tested : its predictions of the test rows, for each way of predicting

    Returns
    -------
    dictionary with the keys

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
    point = tested["pe"]
    centre, directions = principal_directions(trained.data.train[0])
    classes = np.argsort(
        -np.bincount(point.labels, minlength=trained.data.num_classes), kind="stable"
    )
    shown = np.sort(classes[:CLASSES])
    return _rounded(
        {
            "run": trained.run.settings() | {"id": trained.run.id},
            "class_names": list(trained.data.class_names),
            "elbo": _elbo(trained.history.elbo),
            "confusion": confusion(point.p, point.labels),
            "reliability": {
                way: asdict(reliability(test.p, test.labels)) for way, test in tested.items()
            },
            "hardest": _hardest(point, trained.data.rows["test"]),
            "line": _along_line(trained, centre, directions[0], shown),
            "projection": _projection(trained, centre, directions, shown),
        }
    )


def confusion(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Triplets (true class, predicted class, count) ``[K, 3]`` of all pairs that occur."""
    pairs = np.stack([labels, p.argmax(axis=1)], axis=1)
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    return np.column_stack([distinct, counts])


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


def _elbo(values: np.ndarray) -> dict[str, np.ndarray]:
    epochs = np.unique(np.linspace(0, len(values) - 1, ELBO_POINTS).round().astype(int))
    return {"epoch": epochs, "value": values[epochs]}


def _hardest(point: Prediction, rows: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"row": rows[n], "label": point.labels[n], "probabilities": point.p[n]}
        for n in np.argsort(point.log_p, kind="stable")[:HARDEST]
    ]


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
    sets = _inducing_points(trained.model)
    owners = [-1] if len(sets) == 1 else classes[: max(1, PROJECTED // len(sets[0]))].tolist()
    chosen = np.concatenate([sets[owner] for owner in owners])
    return {
        "data": (X[few] - centre) @ directions.T,
        "labels": Y[few, 0],
        "inducing": ((chosen - centre) @ directions.T)[:PROJECTED],
        "inducing_labels": np.repeat(owners, len(sets[0]))[:PROJECTED],
    }


def _inducing_points(model: Any) -> np.ndarray:
    """All sets of inducing points ``[C | 1, M, D]``."""
    variable = getattr(model.inducing_variable, "inducing_variable", model.inducing_variable)
    Z = variable.Z.numpy()
    return Z if Z.ndim == 3 else Z[None]


def _rounded(value: Any) -> Any:
    """The same with lists of rounded numbers in place of arrays."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return _rounded(value.tolist())
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
