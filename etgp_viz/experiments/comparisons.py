"""How each claim of the paper is held against a table: comparisons, with their figures in words.

Each function takes the evidence and yields one comparison for everything that the table can say on
its claim; none if it can say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from etgp_viz.experiments.evidence import Evidence, Found
from etgp_viz.experiments.settings import FLOWS, KERNELS

__all__ = ["CLOSE", "COMPETITIVE", "ORDER", "Comparison"]

#: "comparable" and "similar" allow this much, or two standard errors of the difference
CLOSE = 0.01
#: the paper's "one order of magnitude"
ORDER = 10.0
#: "competitive in terms of training time"
COMPETITIVE = 3.0

STATIONARY = ("svgp-rbf", "svgp-rbfcorr")
SMALL, LARGE = ("vowel", "absenteeism"), ("avila", "devangari", "characterfont")


@dataclass(frozen=True)
class Comparison:
    """One comparison: whether it came out as claimed, and its figures in words."""

    as_claimed: bool
    words: str


def _better(name: str, first: Found | None, second: Found | None) -> Iterator[Comparison]:
    """Whether the first mean lies above the second."""
    if first is not None and second is not None:
        yield Comparison(first.leads(second) > 0.0, f"{name}: {_against(first, second)}")


def _close(name: str, first: Found | None, second: Found | None) -> Iterator[Comparison]:
    """Whether the first mean is at least nearly the second."""
    if first is not None and second is not None:
        room = float(np.nanmax([CLOSE, first.doubt(second)]))
        told = f"{name}: {_against(first, second)} with {room:.3f} allowed"
        yield Comparison(first.leads(second) >= -room, told)


def _against(first: Found, second: Found) -> str:
    """Both scores and their difference, over the seeds that both have."""
    common = set(first.scores) & set(second.scores)
    some = 0 < len(common) < max(first.seeds, second.seeds)
    over = f" over {len(common)} common seed{'s' * (len(common) > 1)}" if some else ""
    return f"{first} against {second}: {first.leads(second):+.3f}{over}"


def avila_beats_svgp(evidence: Evidence) -> Iterator[Comparison]:
    rival = evidence.one("avila", "svgp-rbf", "separate")
    for flow in ("etgp-linear", "etgp-tanh"):
        yield from _better("avila", evidence.best("avila", [flow]), rival)


def avila_near_rbfcorr(evidence: Evidence) -> Iterator[Comparison]:
    rival = evidence.best("avila", ["svgp-rbfcorr"])
    yield from _close("avila", evidence.one("avila", "etgp-tanh"), rival)


def large_sets(evidence: Evidence) -> Iterator[Comparison]:
    for name in ("devangari", "characterfont"):
        rival = evidence.best(name, STATIONARY)
        yield from _better(name, evidence.best(name, FLOWS), rival)


def vowel_shared_is_best(evidence: Evidence) -> Iterator[Comparison]:
    shared = evidence.one("vowel", "svgp-rbf", "shared")
    yield from _better("vowel", shared, evidence.one("vowel", "svgp-rbf", "separate"))
    yield from _better("vowel", shared, evidence.best("vowel", FLOWS))


def vowel_some_runs(evidence: Evidence) -> Iterator[Comparison]:
    shared = evidence.one("vowel", "svgp-rbf", "shared")
    table = evidence.table
    runs = table[(table["dataset"] == "vowel") & table["model"].isin(FLOWS)]
    runs = runs[(runs["status"] == "ok") & runs["test_accuracy"].notna()]
    if shared is None or not len(runs):
        return
    top = runs.loc[runs["test_accuracy"].idxmax()]
    told = f"{top['model']} {top['inference']}, dropout {top['dropout']:g}, M {top['num_inducing']}"
    yield Comparison(
        top["test_accuracy"] >= shared.mean,
        f"vowel: the best of {len(runs)} ETGP runs on the TEST rows ({told}) "
        f"{top['test_accuracy']:.3f} against {shared}",
    )


def absenteeism_similar(evidence: Evidence) -> Iterator[Comparison]:
    rival = evidence.best("absenteeism", STATIONARY)
    for flow in ("etgp-linear", "etgp-tanh"):
        yield from _close("absenteeism", evidence.best("absenteeism", [flow]), rival)


def sal_is_worst(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        for flow in ("etgp-linear", "etgp-tanh"):
            yield from _better(name, evidence.best(name, [flow]), evidence.best(name, ["etgp-sal"]))


def sharing_costs(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        if name != "vowel":
            for kernel in STATIONARY:
                separate, shared = (evidence.one(name, kernel, w) for w in ("separate", "shared"))
                yield from _better(name, separate, shared)


def likelihood_follows(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        ours, theirs = evidence.best(name, FLOWS), evidence.best(name, STATIONARY)
        if ours is not None and theirs is not None and ours.leads(theirs) >= 0.0:
            score = {"metric": "log_likelihood"}
            yield from _better(
                name, evidence.best(name, FLOWS, **score), evidence.best(name, STATIONARY, **score)
            )


def _bayesian(evidence: Evidence, name: str, num_inducing: int | None = None) -> Iterator[tuple]:
    """Pairs (BA, PE) of the log-likelihood of each flow, of the same trainings."""
    for flow in FLOWS:
        pair = evidence.both_ways(name, flow, num_inducing)
        if pair is not None:
            yield pair


def bayesian_helps_small(evidence: Evidence) -> Iterator[Comparison]:
    for name in SMALL:
        for ba, pe in _bayesian(evidence, name):
            yield from _better(name, ba, pe)


def bayesian_no_gain_large(evidence: Evidence) -> Iterator[Comparison]:
    for name in LARGE:
        for ba, pe in _bayesian(evidence, name):
            yield from _close(name, pe, ba)


def neural_kernel_is_worse(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        neural = evidence.best(name, ["svgp-nnet"])
        yield from _better(name, evidence.best(name, ["svgp-arccos"]), neural)
        yield from _better(name, evidence.best(name, FLOWS), neural)


def beats_non_stationary(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        for metric in ("accuracy", "log_likelihood"):
            if name == "vowel" and metric == "accuracy":  # the paper's own exception
                continue
            ours = evidence.best(name, FLOWS, metric=metric)
            for kernel in ("svgp-arccos", "svgp-nnet"):
                theirs = evidence.best(name, [kernel], metric=metric)
                yield from _better(f"{name}, {metric.replace('_', '-')}", ours, theirs)


def order_of_magnitude(evidence: Evidence) -> Iterator[Comparison]:
    for rival in ("svgp-rbf separate (gpflow)", "svgp-rbf separate (batched)"):
        for race, times in evidence.times_sooner(rival).items():
            told = f"{race}: an epoch of {rival} takes {times} as long as LINEAR's"
            yield Comparison(times.times >= ORDER, told)


def shared_is_competitive(evidence: Evidence) -> Iterator[Comparison]:
    for race, times in evidence.times_sooner("svgp-rbf shared (batched)").items():
        told = f"{race}: an epoch of SVGP RBF shared takes {times} as long as LINEAR's"
        yield Comparison(times.times <= COMPETITIVE, told)


def prediction_time(evidence: Evidence) -> Iterator[Comparison]:
    metric = "prediction_seconds_per_1000"
    for name in evidence.datasets:
        ours = evidence.one(name, "etgp-linear", metric=metric)
        theirs = evidence.one(name, "svgp-rbf", "separate", metric=metric)
        if ours is not None and theirs is not None:
            times = theirs.mean / ours.mean
            told = f"{name}: SVGP RBF separate takes {times:.1f} times as long as LINEAR PE"
            yield Comparison(times >= ORDER, told)


def _fewer(evidence: Evidence, name: str) -> Iterator[tuple[Found, Found]]:
    """Pairs (fewer inducing points, all of them) of the accuracy of a flow, for each smaller M."""
    for flow in ("etgp-linear", "etgp-tanh"):
        for way in ("pe", "ba"):
            most, *less = [
                _at(evidence.one(name, flow, way, num_inducing=M), M)
                for M in evidence.counts(name, flow)
            ] or [None]
            yield from ((few, most) for few in less if few is not None and most is not None)


def _at(found: Found | None, num_inducing: int) -> Found | None:
    if found is None:
        return None
    return Found(f"{found.who}, M {num_inducing},", found.scores)


def fewer_regularise(evidence: Evidence) -> Iterator[Comparison]:
    for few, most in _fewer(evidence, "vowel"):
        yield from _better("vowel", few, most)


def fewer_match(evidence: Evidence) -> Iterator[Comparison]:
    for name in ("avila", "absenteeism"):
        rival = evidence.one(name, "svgp-rbf", "separate")
        for few, _ in _fewer(evidence, name):
            yield from _close(name, few, rival)


def fewer_bayesian(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        for M in evidence.counts(name, "etgp-linear")[1:]:
            for ba, pe in _bayesian(evidence, name, M):
                yield from _better(f"{name}, M = {M}", ba, pe)


def competitive(evidence: Evidence) -> Iterator[Comparison]:
    for name in evidence.datasets:
        yield from _close(name, evidence.best(name, FLOWS), evidence.best(name, KERNELS))
