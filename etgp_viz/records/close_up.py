"""Close-ups of one run: its confusions, calibration, hardest rows, training and what it learnt.

Each function takes the details of a run, from `etgp_viz.experiments.reference_detail` or
`etgp_viz.experiments.load_detail`; `etgp_viz.experiments.details.detail` says what they hold.

>>> from etgp_viz.records import close_up
>>> detail = {"class_names": ["cat", "dog"], "confusion": [[0, 0, 5], [0, 1, 2], [1, 1, 7]]}
>>> close_up.confusion(detail).worst()
('cat', 'dog', 2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from etgp_viz.checks import check_choice
from etgp_viz.experiments.scoring import Calibrated, calibrated_ece

__all__ = [
    *("Confusion", "Curve", "Hardest", "Lines", "Projection", "ReliabilityBins"),
    *("confusion", "elbo", "hardest", "lines", "projection", "reliability_bins"),
]


@dataclass(frozen=True)
class Confusion:
    """Confusion matrix of the test rows.

    Examples
    --------
    >>> confusion = Confusion(("cat", "dog"), np.array([[8, 2], [1, 9]]))
    >>> confusion.share.tolist()
    [[0.8, 0.2], [0.1, 0.9]]
    >>> confusion.worst()
    ('cat', 'dog', 2)
    """

    names: tuple[str, ...]  # of the C classes
    counts: np.ndarray  # rows by true class (down) and predicted class (across) [C, C]

    @property
    def share(self) -> np.ndarray:
        """The share of each true class that was predicted as each class ``[C, C]``."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)

    def worst(self) -> tuple[str, str, int]:
        """True class, predicted class and count of the most frequent confusion."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        true, predicted = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        return self.names[true], self.names[predicted], int(wrong[true, predicted])


@dataclass(frozen=True)
class ReliabilityBins:
    """Accuracy against confidence, in those bins of the confidence that hold test rows."""

    way: str  # "pe" or "ba"
    confidence: np.ndarray  # mean of each bin [B]
    accuracy: np.ndarray  # share of its rows that are right [B]
    count: np.ndarray  # number of its rows [B]
    calibrated: Calibrated  # the ECE that these predictions would have if they were calibrated

    @property
    def ece(self) -> float:
        """Σ_b (n_b / N) |accuracy_b − confidence_b|.

        Examples
        --------
        >>> from etgp_viz import experiments
        >>> run_id = experiments.Collection().run("digits", "etgp-tanh", "pe", 100)["id"]
        >>> bins = reliability_bins(experiments.reference_detail(run_id), "pe")
        >>> 0.0 < bins.ece < 0.1
        True
        """
        gaps = np.abs(self.accuracy - self.confidence)
        return float(self.count @ gaps / self.count.sum())


@dataclass(frozen=True)
class Hardest:
    """The test rows whose labels were least expected, the hardest first."""

    rows: np.ndarray  # indices of rows of the data set [H]
    labels: tuple[str, ...]  # names of the H true classes
    said: tuple[str, ...]  # names of the H most probable classes
    of_label: np.ndarray  # probabilities of the true classes [H]
    of_said: np.ndarray  # probabilities of the most probable classes [H]
    images: np.ndarray | None  # [H, height, width], of `digits` only


@dataclass(frozen=True)
class Curve:
    """The ELBO ``value [T]`` at the end of the epochs ``epoch [T]``; T = 0 without epochs."""

    epoch: np.ndarray  # [T]
    value: np.ndarray  # [T]


@dataclass(frozen=True)
class Lines:
    """A function of each of a few classes along the first principal direction of the data."""

    words: str  # what the function is
    t: np.ndarray  # positions on the line x̄ + t v₁ [T]
    classes: np.ndarray  # indices of the classes [K]
    names: tuple[str, ...]  # of these classes
    values: np.ndarray  # [K, T]
    num_classes: int  # of the data set


@dataclass(frozen=True)
class Projection:
    """Training rows and inducing points on the first two principal directions of the data."""

    data: np.ndarray  # some training rows [N, 2]
    labels: np.ndarray  # their classes [N]
    inducing: np.ndarray  # [M, 2]; M = 0 for a model without inducing inputs
    names: tuple[str, ...]  # of the C classes
    is_shared: bool  # whether all classes use these inducing points, or only a few


def confusion(detail: Mapping[str, Any]) -> Confusion:
    """The confusion matrix of the point estimate.

    Parameters
    ----------
    detail : of a run, from `etgp_viz.experiments.reference_detail` or `load_detail`

    Returns
    -------
    a `Confusion` of the C classes
    """
    names = tuple(detail["class_names"])
    counts = np.zeros((len(names), len(names)), dtype=int)
    true, predicted, count = np.array(detail["confusion"], dtype=int).reshape(-1, 3).T
    counts[true, predicted] = count
    return Confusion(names, counts)


def reliability_bins(detail: Mapping[str, Any], way: str = "pe") -> ReliabilityBins:
    """The reliability diagram of a way of predicting.

    The confidences of a bin are close together, so its mean stands for each of them in the ECE of a
    calibrated model.

    Parameters
    ----------
    detail : of a run, from `etgp_viz.experiments.reference_detail` or `load_detail`
    way : "pe" for the point estimate or "ba" for the Bayesian average

    Returns
    -------
    `ReliabilityBins`, without empty ones

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> from etgp_viz.records import close_up
    >>> row = experiments.Collection().run("digits", "etgp-linear", "pe", 100)
    >>> detail = experiments.reference_detail(row["id"])
    >>> bool(0.0 <= close_up.reliability_bins(detail, "ba").ece <= 1.0)
    True
    """
    bins = detail["reliability"][check_choice(way, "way", tuple(detail["reliability"]))]
    count = np.array(bins["count"])
    full = count > 0
    confidence, accuracy = (np.array(bins[name])[full] for name in ("confidence", "accuracy"))
    rows = np.repeat(confidence, count[full])
    return ReliabilityBins(way, confidence, accuracy, count[full], calibrated_ece(rows[:, None]))


def hardest(detail: Mapping[str, Any]) -> Hardest:
    """The rows whose labels the point estimate expected least.

    Parameters
    ----------
    detail : of a run, from `etgp_viz.experiments.reference_detail` or `load_detail`

    Returns
    -------
    a `Hardest` record, the hardest row first

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> from etgp_viz.records import close_up
    >>> row = experiments.Collection().run("digits", "etgp-linear", "pe", 100)
    >>> detail = experiments.reference_detail(row["id"])
    >>> hardest = close_up.hardest(detail)
    >>> bool((hardest.of_label <= hardest.of_said).all())
    True
    """
    stored, names = detail["hardest"], detail["class_names"]
    p = np.array([row["probabilities"] for row in stored], dtype=float)
    labels = np.array([row["label"] for row in stored], dtype=int)
    rows = np.array([row["row"] for row in stored], dtype=int)
    said, first = p.argmax(axis=1), np.arange(len(p))
    return Hardest(
        rows=rows,
        labels=tuple(names[c] for c in labels),
        said=tuple(names[c] for c in said),
        of_label=p[first, labels],
        of_said=p[first, said],
        # The images of other data sets need files that may be missing.
        images=_digits()[rows] if detail["run"]["dataset"] == "digits" else None,
    )


@cache
def _digits() -> np.ndarray:
    """All images of the data set ``[N, height, width]``."""
    from etgp_viz import datasets

    data = datasets.load("digits")
    assert data.image_shape is not None
    return data.X.reshape(-1, *data.image_shape)


def elbo(detail: Mapping[str, Any]) -> Curve:
    """The ELBO over the epochs.

    Parameters
    ----------
    detail : of a run, from `etgp_viz.experiments.reference_detail` or `load_detail`

    Returns
    -------
    a `Curve`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> from etgp_viz.records import close_up
    >>> row = experiments.Collection().run("digits", "etgp-linear", "pe", 100)
    >>> detail = experiments.reference_detail(row["id"])
    >>> curve = close_up.elbo(detail)
    >>> bool(curve.value[-1] > curve.value[0])
    True
    """
    return Curve(np.array(detail["elbo"]["epoch"]), np.array(detail["elbo"]["value"], float))


def lines(detail: Mapping[str, Any], part: str = "scale") -> Lines:
    """What a model has learnt, along the first principal direction of the data.

    The part "scale" is the aᶜ(x) of an ETGP's flows, "offset" their bᶜ(x). For SVGPs, which have
    no flows, it is the standard deviation or the mean of fᶜ(x), and for models without Gaussian
    processes the probability of the class or its logarithm.

    Parameters
    ----------
    detail : of a run, from `etgp_viz.experiments.reference_detail` or `load_detail`
    part : "scale" or "offset", see above

    Returns
    -------
    `Lines`, one for each of a few classes

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> from etgp_viz.records import close_up
    >>> row = experiments.Collection().run("digits", "etgp-linear", "pe", 100)
    >>> detail = experiments.reference_detail(row["id"])
    >>> lines = close_up.lines(detail, "offset")
    >>> lines.values.shape == (len(lines.names), len(lines.t))
    True
    """
    is_scale = check_choice(part, "part", ("scale", "offset")) == "scale"
    line, names = detail["line"], detail["class_names"]
    slope = "scale" if detail["run"]["model"] == "etgp-linear" else "mean slope"
    kinds = (
        (("a", f"{slope} aᶜ(x)"), ("b", "offset bᶜ(x)")),
        (("deviation", "standard deviation of fᶜ(x)"), ("mean", "mean of fᶜ(x)")),
        (("probability", "probability πᶜ(x)"), ("log_probability", "log πᶜ(x)")),
    )
    (key, words) = next(pair[not is_scale] for pair in kinds if pair[0][0] in line)
    values = line[key]
    classes = np.array(line["classes"], dtype=int)
    shown = tuple(names[c] for c in classes)
    t, curves = np.array(line["t"]), np.array(values, dtype=float)
    return Lines(words, t, classes, shown, curves, len(names))


def projection(detail: Mapping[str, Any]) -> Projection:
    """Data and inducing points on the first two principal directions.

    Parameters
    ----------
    detail : of a run, from `etgp_viz.experiments.reference_detail` or `load_detail`

    Returns
    -------
    a `Projection`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> from etgp_viz.records import close_up
    >>> row = experiments.Collection().run("digits", "etgp-linear", "pe", 100)
    >>> detail = experiments.reference_detail(row["id"])
    >>> close_up.projection(detail).inducing.shape
    (100, 2)
    """
    points = detail["projection"]
    return Projection(
        data=np.array(points["data"], dtype=float),
        labels=np.array(points["labels"], dtype=int),
        inducing=np.array(points["inducing"], dtype=float).reshape(-1, 2),
        names=tuple(detail["class_names"]),
        is_shared=set(points["inducing_labels"]) == {-1},
    )
