"""Scores of predictions: accuracy, log-likelihood and calibration, in plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["NUM_BINS", "Reliability", "expected_calibration_error", "reliability", "scores"]

NUM_BINS = 15


@dataclass(frozen=True)
class Reliability:
    """Predictions in B bins of equal width by their confidence max_c p_c.

    Attributes
    ----------
    count : number of rows in each bin ``[B]``
    confidence : their mean confidence ``[B]``, 0 for an empty bin
    accuracy : the share of them that is right ``[B]``, 0 for an empty bin
    """

    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def reliability(p: np.ndarray, labels: np.ndarray, num_bins: int = NUM_BINS) -> Reliability:
    """Accuracy against confidence in the bins (k/B, (k+1)/B].

    Parameters
    ----------
    p : class probabilities ``[N, C]``
    labels : ``[N]``
    num_bins : B

    Returns
    -------
    `Reliability`
    """
    confidence = p.max(axis=1)
    right = p.argmax(axis=1) == labels
    bins = np.clip(np.ceil(confidence * num_bins).astype(int) - 1, 0, num_bins - 1)
    count = np.bincount(bins, minlength=num_bins)
    rows = np.maximum(count, 1)
    return Reliability(
        count=count,
        confidence=np.bincount(bins, confidence, num_bins) / rows,
        accuracy=np.bincount(bins, right, num_bins) / rows,
    )


def expected_calibration_error(
    p: np.ndarray, labels: np.ndarray, num_bins: int = NUM_BINS
) -> float:
    """ECE = Σ_b (n_b / N) |accuracy_b − confidence_b|, over the bins of `reliability`.

    Parameters
    ----------
    p : class probabilities ``[N, C]``
    labels : ``[N]``
    num_bins : B

    Examples
    --------
    Predictions that are certain, and right in three cases of four:

    >>> p = np.array([[1.0, 0.0]] * 4)
    >>> expected_calibration_error(p, np.array([0, 0, 0, 1]))
    0.25
    """
    bins = reliability(p, labels, num_bins)
    gaps = np.abs(bins.accuracy - bins.confidence)
    return float(np.sum(bins.count * gaps) / len(labels))


def scores(p: np.ndarray, log_p: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy, mean log-likelihood and ECE.

    Parameters
    ----------
    p : class probabilities ``[N, C]``
    log_p : log probability of each row's label ``[N]``; the probability itself may underflow
    labels : ``[N]``

    Returns
    -------
    dictionary : ``accuracy``, ``log_likelihood``, ``ece``
    """
    return {
        "accuracy": float(np.mean(p.argmax(axis=1) == labels)),
        "log_likelihood": float(np.mean(log_p)),
        "ece": expected_calibration_error(p, labels),
    }
