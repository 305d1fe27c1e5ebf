"""Intervals from few seeds, the three outcomes, and how often chance decides."""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from etgp_viz import datasets
from etgp_viz.experiments import intervals
from etgp_viz.experiments.comparisons import Evidence
from etgp_viz.experiments.intervals import AS_CLAIMED, NOT_AS_CLAIMED, UNDECIDED, Lead
from tests.unit.experiments.tables import cell, table

MARGIN = 0.01


def test_the_interval_of_independent_seeds_is_students():
    differences = [0.02, 0.05, 0.01, 0.03]
    lead = Lead.of(differences)
    expected = stats.t.interval(0.95, 3, np.mean(differences), stats.sem(differences))
    np.testing.assert_allclose((lead.low, lead.high), expected, rtol=1e-12)
    assert (lead.mean, lead.num_seeds) == (np.mean(differences), 4)


def test_overlapping_splits_widen_the_interval():
    """Nadeau and Bengio: the variance of the mean is s²(1/n + n_test/n_train)."""
    plain, wide = (Lead.of([0.0, 0.01, 0.05], overlap) for overlap in (0.0, 100 / 300))
    assert (wide.high - wide.mean) / (plain.high - plain.mean) == pytest.approx(math.sqrt(2.0))
    assert wide.mean == plain.mean


def test_one_seed_has_no_interval():
    lead = Lead.of([0.5])
    assert np.isnan([lead.low, lead.high]).all()
    assert intervals.better(lead, MARGIN) == intervals.close(lead, MARGIN) == UNDECIDED
    assert str(lead) == "+0.500 [no interval]"


@pytest.mark.parametrize(
    ("low", "mean", "high", "better", "close"),
    [
        (0.001, 0.020, 0.039, AS_CLAIMED, AS_CLAIMED),  # a lead that matters
        (0.001, 0.002, 0.003, NOT_AS_CLAIMED, AS_CLAIMED),  # sure, and too small to matter
        (0.001, 0.009, 0.017, UNDECIDED, AS_CLAIMED),  # a lead, perhaps too small
        (-0.001, 0.020, 0.041, UNDECIDED, AS_CLAIMED),  # perhaps no lead
        (-0.009, 0.000, 0.009, NOT_AS_CLAIMED, AS_CLAIMED),  # equal within the margin
        (-0.030, 0.000, 0.030, UNDECIDED, UNDECIDED),  # too noisy
        (-0.040, -0.020, 0.000, NOT_AS_CLAIMED, UNDECIDED),  # behind, perhaps by little
        (-0.040, -0.030, -0.020, NOT_AS_CLAIMED, NOT_AS_CLAIMED),  # behind by more than the margin
    ],
)
def test_the_outcome_of_a_comparison(low, mean, high, better, close):
    lead = Lead(mean, low, high, 3)
    assert intervals.better(lead, MARGIN) == better
    assert intervals.close(lead, MARGIN) == close


def test_noise_never_helps_a_claim():
    """The more the seeds differ, the less is decided; a margin of two errors was the reverse."""
    behind = -0.02
    quiet, loud = (Lead.of([behind - noise, behind, behind + noise]) for noise in (0.001, 0.05))
    assert intervals.close(quiet, MARGIN) == NOT_AS_CLAIMED
    assert intervals.close(loud, MARGIN) == UNDECIDED
    ahead = [Lead.of([0.02 - noise, 0.02, 0.02 + noise]) for noise in (0.001, 0.05)]
    assert [intervals.better(lead, MARGIN) for lead in ahead] == [AS_CLAIMED, UNDECIDED]


@lru_cache
def leads_by_chance(overlap, corrected, draws, seeds=3):
    """Leads of models that are equally good, whose differences have a standard deviation of 1.

    From seed to seed they have a correlation of ρ = r / (1 + r), since they share rows if each seed
    splits the same data.
    """
    rng, rho = np.random.default_rng(0), overlap / (1.0 + overlap)
    common = rng.normal(size=(draws, 1)) * math.sqrt(rho)
    own = rng.normal(size=(draws, seeds)) * math.sqrt(1.0 - rho)
    return [Lead.of(row, overlap if corrected else 0.0) for row in common + own]


def share(truth, spread, overlap, rule, outcome, corrected=True, draws=20_000):
    """The share of tables in which the rule has an outcome, with a true lead and its noise."""
    leads = (
        Lead(*(truth + spread * end for end in (lead.mean, lead.low, lead.high)))
        for lead in leads_by_chance(overlap, corrected, draws)
    )
    return sum(rule(lead, MARGIN) == outcome for lead in leads) / draws


# 2.5 %, and four standard errors of 20 000 draws
ALLOWED = 0.025 + 4.0 * math.sqrt(0.025 * 0.975 / 20_000)


@pytest.mark.parametrize("spread", [0.003, 0.02, 1.0])
@pytest.mark.parametrize("overlap", [0.0, 1 / 3], ids=["published", "resplits"])
@pytest.mark.parametrize(
    ("truth", "rule", "outcome"),
    [
        (0.0, intervals.better, AS_CLAIMED),
        (MARGIN, intervals.better, NOT_AS_CLAIMED),
        (-MARGIN, intervals.close, AS_CLAIMED),
        (-MARGIN, intervals.close, NOT_AS_CLAIMED),
    ],
)
def test_chance_decides_wrongly_in_at_most_one_case_of_forty(truth, rule, outcome, overlap, spread):
    assert share(truth, spread, overlap, rule, outcome) <= ALLOWED


def test_without_the_correction_resplits_give_false_alarms():
    alarms = share(0.0, 1.0, 1 / 3, intervals.better, AS_CLAIMED, corrected=False)
    assert alarms > 1.5 * 0.025


@pytest.mark.parametrize("truth", [0.05, -0.05])
def test_a_large_difference_is_mostly_seen(truth):
    """With three seeds that differ by 0.01."""
    outcome = AS_CLAIMED if truth > 0.0 else NOT_AS_CLAIMED
    assert share(truth, 0.01, 0.0, intervals.better, outcome) > 0.8


# --- which interval belongs to which data set ----------------------------------------------------


def test_the_data_set_decides_which_interval():
    for dataset, overlap in (("vowel", 0.0), ("avila", 0.0), ("digits", 100 / 300)):
        evidence = Evidence(table(cell(dataset, "etgp-linear", accuracy=[0.5, 0.6, 0.7])))
        score = evidence.one(dataset, "etgp-linear")
        assert score.overlap == overlap
    own = "folder/mine.csv:species#0123"
    assert Evidence(table(cell(own, "etgp-linear"))).one(own, "etgp-linear").overlap == 100 / 300


def test_a_table_without_sizes_decides_nothing():
    made = table(
        cell("digits", "etgp-linear", accuracy=[0.9, 0.9, 0.91], num_train=0, num_validation=0),
        cell("digits", "svgp-rbf", "shared", accuracy=0.5),
    )
    made["num_train"] = made["num_validation"] = 0
    evidence = Evidence(made)
    compared = evidence.one("digits", "etgp-linear").better_than(
        evidence.one("digits", "svgp-rbf", "shared")
    )
    assert compared.outcome == UNDECIDED


@pytest.mark.parametrize("name", [name for name in datasets.published() if datasets.at_hand(name)])
def test_has_test_set_agrees_with_the_data(name):
    if name in ("devangari", "characterfont"):
        pytest.skip("takes minutes to read")
    first, second = (datasets.load(name, seed=seed).rows["test"] for seed in (0, 1))
    assert datasets.has_test_set(name) == np.array_equal(first, second)
