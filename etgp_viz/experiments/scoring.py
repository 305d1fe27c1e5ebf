"""What a prediction is worth: accuracy, log-likelihood, calibration; plain NumPy."""

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
    count : rows of each bin ``[B]``
    confidence : their mean confidence ``[B]``, 0 where there are none
    accuracy : the share that is right ``[B]``, 0 where there are none
    """

    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def reliability(p: np.ndarray, labels: np.ndarray, num_bins: int = NUM_BINS) -> Reliability:
    """Bins (k/B, (k+1)/B] of the confidence of the predictions ``p [N, C]``, ``labels [N]``."""
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
    """ECE = Σ_b (n_b / N) |accuracy_b − confidence_b|, over the bins of `reliability`."""
    bins = reliability(p, labels, num_bins)
    gaps = np.abs(bins.accuracy - bins.confidence)
    return float(np.sum(bins.count * gaps) / len(labels))


def scores(p: np.ndarray, log_p: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy, mean log-likelihood and ECE.

    Parameters
    ----------
    p : class probabilities ``[N, C]``
    log_p : log probability of each row's label ``[N]``, which may be far below the smallest float's
    labels : ``[N]``
    """
    return {
        "accuracy": float(np.mean(p.argmax(axis=1) == labels)),
        "log_likelihood": float(np.mean(log_p)),
        "ece": expected_calibration_error(p, labels),
    }
