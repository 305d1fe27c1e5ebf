"""Scores of predictions, against loops over rows and bins."""

import numpy as np
import pytest

from etgp_viz import experiments
from etgp_viz.experiments import scoring


def predictions(confidence, num_classes=20):
    """Rows ``[N, C]`` whose largest entry is the first, with these confidences."""
    confidence = np.asarray(confidence)
    rest = np.repeat((1.0 - confidence)[:, None], num_classes - 1, axis=1) / (num_classes - 1)
    return np.column_stack([confidence, rest])


def test_each_confidence_is_in_its_own_bin():
    """(k/10, (k + 1)/10], and both ends: with twenty classes a confidence may be below 0.1."""
    confidence = [0.06, 0.1, 0.11, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.9, 0.95, 1.0]
    found = scoring.reliability(predictions(confidence), np.zeros(13, dtype=int), 10)
    assert found.count.tolist() == [2, 1, 1, 1, 1, 1, 1, 1, 2, 2]
    np.testing.assert_allclose(found.confidence[[0, 1, 8, 9]], [0.08, 0.11, 0.875, 0.975])


def test_reliability_agrees_with_a_loop_also_where_a_bin_has_one_row_or_none():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(4, 0.4), size=30)
    labels = rng.integers(4, size=30)
    found = scoring.reliability(p, labels, 25)
    for k in range(25):
        rows = [n for n in range(30) if k / 25 < max(p[n]) <= (k + 1) / 25]
        assert found.count[k] == len(rows)
        right = [list(p[n]).index(max(p[n])) == labels[n] for n in rows]
        assert found.accuracy[k] == pytest.approx(sum(right) / max(len(rows), 1))
        mean = sum(max(p[n]) for n in rows) / max(len(rows), 1)
        assert found.confidence[k] == pytest.approx(mean)


def test_scores_of_three_rows():
    p = np.array([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]])
    log_p = np.log([0.7, 0.4, 0.9])
    found = scoring.scores(p, log_p, np.array([0, 0, 0]))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["log_likelihood"] == pytest.approx(log_p.mean())
    # Each row is alone in its bin: |1 − 0.7|, |0 − 0.6| and |1 − 0.9|.
    assert found["ece"] == pytest.approx((0.3 + 0.6 + 0.1) / 3)


def test_calibrated_predictions_err_by_the_binomial_s_mean_deviation():
    """One bin of n rows with confidence π: E|k/n − π| of a binomial k, summed by hand."""
    from scipy.stats import binom

    n, share = 40, 0.7
    expected = sum(binom.pmf(k, n, share) * abs(k / n - share) for k in range(n + 1))
    found = scoring.calibrated_ece(predictions(np.full(n, share)))
    error = expected / np.sqrt(scoring.RESAMPLES)  # of the mean; its spread is below its size
    assert found.mean == pytest.approx(expected, abs=4 * error)
    low, high = (abs(binom.ppf(q, n, share) / n - share) for q in (0.5, 0.975))
    assert low <= found.low + 1e-9 < found.high <= high + 0.03
    assert found == scoring.calibrated_ece(predictions(np.full(n, share)), seed=0)


def test_a_confidence_beyond_one_by_rounding_is_in_the_last_bin():
    p = np.array([[np.nextafter(1.0, 2.0), 0.0]])
    assert scoring.reliability(p, np.zeros(1, dtype=int), 10).count.tolist() == [0] * 9 + [1]


def test_without_a_finished_run_nothing_is_selected():
    table = experiments.reference()
    failed = table.head(4).assign(status="failed: out of memory")
    chosen = scoring.select(failed)
    assert len(chosen) == 0
    assert {"selected_on", "tries"} <= set(chosen.columns)
    assert list(scoring.summarise(chosen)["seeds"]) == []
