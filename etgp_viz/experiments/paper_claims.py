"""The claims of the paper: for each, a function that yields comparisons, and a `Claim`.

A function yields every comparison that the claim calls for on one data set, also those that the
table has no models for: their outcome is *not tested*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from etgp_viz.experiments.budgets import predictive_draws
from etgp_viz.experiments.comparisons import LOSES, WINS, Comparison, Duel, Evidence, Score
from etgp_viz.experiments.intervals import (
    AS_CLAIMED,
    MARGINS,
    NOT_AS_CLAIMED,
    NOT_TESTED,
    UNDECIDED,
    at_least,
    at_most,
)
from etgp_viz.experiments.settings import model_label, short_name
from etgp_viz.experiments.verdicts import PAPER_DATASETS, Claim
from etgp_viz.rivals.names import ETGPS, NON_STATIONARY, STATIONARY, SVGPS

__all__ = ["ACCURACY", "BETTER", "CLAIMS", "NATS", "in_both_scores"]

#: the paper's "one order of magnitude"
ORDER = 10.0
#: "competitive in terms of training time"
COMPETITIVE = 3.0

SMALL, LARGE = ("vowel", "absenteeism"), ("avila", "devangari", "characterfont")
#: the data sets on which the paper also trained with fewer inducing points
FEWER = ("vowel", "absenteeism", "avila")
FLOWS = ("etgp-linear", "etgp-tanh")

Comparisons = Iterator[Comparison]


def competitive(evidence: Evidence, dataset: str) -> Comparisons:
    yield evidence.best(dataset, ETGPS).close_to(evidence.best(dataset, SVGPS))


def in_both_scores(
    evidence: Evidence, dataset: str, models: Sequence[str], rivals: Sequence[str]
) -> Comparisons:
    """The best of some models against the best of their rivals, in accuracy and log-likelihood."""
    for metric in MARGINS:
        best, rival = (evidence.best(dataset, who, metric=metric) for who in (models, rivals))
        yield best.better_than(rival)


def beats_separate(evidence: Evidence, dataset: str) -> Comparisons:
    for model in FLOWS:
        svgp = evidence.one(dataset, "svgp-rbf", "separate")
        yield evidence.best(dataset, [model]).better_than(svgp)


def near_rbfcorr(evidence: Evidence, dataset: str) -> Comparisons:
    mixed = evidence.best(dataset, ["svgp-rbfcorr"])
    yield evidence.one(dataset, "etgp-tanh").close_to(mixed)


def beats_stationary(evidence: Evidence, dataset: str) -> Comparisons:
    yield evidence.best(dataset, ETGPS).better_than(evidence.best(dataset, STATIONARY))


def shared_is_best(evidence: Evidence, dataset: str) -> Comparisons:
    shared = evidence.one(dataset, "svgp-rbf", "shared")
    yield shared.better_than(evidence.one(dataset, "svgp-rbf", "separate"))
    yield shared.better_than(evidence.best(dataset, ETGPS))


def some_runs_match(evidence: Evidence, dataset: str) -> Comparisons:
    """A fact about the runs in the table, picked on test rows, so it cannot be undecided."""
    shared = evidence.one(dataset, "svgp-rbf", "shared")
    table = evidence.table
    runs = table[(table["dataset"] == dataset) & table["model"].isin(ETGPS)]
    runs = runs[(runs["status"] == "ok") & runs["test_accuracy"].notna()]
    if not shared.scores or not len(runs):
        yield Comparison(dataset, NOT_TESTED, f"{short_name(dataset)}: no ETGP or no {shared.who}")
        return
    reach = runs["test_accuracy"] >= shared.mean
    top = runs.loc[runs["test_accuracy"].idxmax()]
    settings = (
        f"{top['model']} {top['inference']}, dropout {top['dropout']:g}, M {top['num_inducing']}"
    )
    yield Comparison(
        dataset,
        AS_CLAIMED if reach.any() else NOT_AS_CLAIMED,
        f"{dataset}: {reach.sum()} of {len(runs)} ETGP runs reach {shared}; the best of them, "
        f"picked on the TEST rows, has {top['test_accuracy']:.3f} ({settings})",
        runs["seed"].nunique(),
    )


def similar(evidence: Evidence, dataset: str) -> Comparisons:
    for model in FLOWS:
        svgp = evidence.best(dataset, STATIONARY)
        yield evidence.best(dataset, [model]).close_to(svgp)


def sal_is_worst(evidence: Evidence, dataset: str) -> Comparisons:
    for model in FLOWS:
        sal = evidence.best(dataset, ["etgp-sal"])
        yield evidence.best(dataset, [model]).better_than(sal)


def sharing_costs(evidence: Evidence, dataset: str) -> Comparisons:
    for model in STATIONARY:
        separate, shared = (evidence.one(dataset, model, way) for way in ("separate", "shared"))
        yield separate.better_than(shared)


def likelihood_follows(evidence: Evidence, dataset: str) -> Comparisons:
    """Whoever is better in accuracy is better in log-likelihood."""
    accuracy, nats = (
        Duel(*(evidence.best(dataset, models, metric=metric) for models in (ETGPS, STATIONARY)))
        for metric in MARGINS
    )
    tested = nats.etgp.better_than(nats.rival)
    if tested.outcome == NOT_TESTED or accuracy.result == WINS:
        yield tested
    elif accuracy.result == LOSES:
        yield nats.rival.better_than(nats.etgp)
    else:
        yield replace(
            tested,
            outcome=UNDECIDED,
            words=f"{short_name(dataset)}: neither is clearly more accurate, {accuracy.lead}",
        )


def _bayesian(evidence: Evidence, dataset: str) -> Iterator[tuple[Score, Score]]:
    """Log-likelihoods (BA, PE) of each flow, from the same runs."""
    for model in ETGPS:
        yield evidence.both_ways(dataset, model)


def bayesian_helps(evidence: Evidence, dataset: str) -> Comparisons:
    for ba, pe in _bayesian(evidence, dataset):
        yield ba.better_than(pe)


def bayesian_gains_nothing(evidence: Evidence, dataset: str) -> Comparisons:
    for ba, pe in _bayesian(evidence, dataset):
        yield pe.close_to(ba)


def neural_kernel_is_worse(evidence: Evidence, dataset: str) -> Comparisons:
    neural = evidence.best(dataset, ["svgp-nnet"])
    yield evidence.best(dataset, ["svgp-arccos"]).better_than(neural)
    yield evidence.best(dataset, ETGPS).better_than(neural)


def beats_non_stationary(evidence: Evidence, dataset: str) -> Comparisons:
    for model in NON_STATIONARY:
        accuracy, nats = in_both_scores(evidence, dataset, ETGPS, [model])
        if dataset != "vowel":  # the paper's own exception
            yield accuracy
        yield nats


def order_of_magnitude(evidence: Evidence, dataset: str) -> Comparisons:
    for rival in ("svgp-rbf separate (gpflow)", "svgp-rbf separate (batched)"):
        yield from _races(evidence, dataset, rival, at_least, ORDER)


def shared_is_competitive(evidence: Evidence, dataset: str) -> Comparisons:
    yield from _races(evidence, dataset, "svgp-rbf shared (batched)", at_most, COMPETITIVE)


def _races(
    evidence: Evidence,
    dataset: str,
    rival: str,
    rule: Callable[[float, float, float], str],
    bound: float,
) -> Comparisons:
    races = evidence.races(dataset, rival)
    if not races:
        yield Comparison(dataset, NOT_TESTED, f"{short_name(dataset)}: no race against {rival}")
    for race, speed_up in races.items():
        words = f"{race}: an epoch of {rival} takes {speed_up} as long as one of ETGP LINEAR"
        yield Comparison(dataset, rule(speed_up.low, speed_up.high, bound), words)


def prediction_time(evidence: Evidence, dataset: str) -> Comparisons:
    for way in ("pe", "ba"):
        svgp, etgp = (
            _prediction(evidence, dataset, *cell)
            for cell in (("svgp-rbf", "separate"), ("etgp-linear", way))
        )
        if not (svgp.scores and etgp.scores):
            yield svgp.better_than(etgp)
            continue
        lead = svgp.lead_over(etgp)
        times, low, high = map(math.exp, (lead.mean, lead.low, lead.high))
        ends = "no interval" if math.isnan(low) else f"{low:.1f}, {high:.1f}"
        ratio = f"{svgp.who} takes {times:.1f} [{ends}] times as long as {etgp.who}"
        words = f"{short_name(dataset)}: {ratio}"
        yield Comparison(dataset, at_least(low, high, ORDER), words, lead.num_seeds)


def _prediction(evidence: Evidence, dataset: str, model: str, way: str) -> Score:
    """Logarithms of the seconds that a prediction takes; the name includes its draws."""
    seconds = evidence.one(dataset, model, way, metric="prediction_seconds_per_1000")
    draws = [f" ({predictive_draws(row)})" for row in evidence.rows(dataset, [model], [way])[:1]]
    scores = {seed: math.log(value) for seed, value in seconds.scores.items()}
    # Times do not depend on which rows are predicted: seeds are independent.
    return replace(seconds, scores=scores, overlap=0.0, who="".join([seconds.who, *draws]))


def _fewer(evidence: Evidence, dataset: str) -> Iterator[tuple[Score, Score]]:
    """Accuracies (fewer inducing points, all of them) of a flow, for each smaller M."""
    for model in FLOWS:
        counts = evidence.counts(dataset, model)
        if len(counts) < 2:
            missing = Score(dataset, f"{model_label(model)} with fewer inducing points", {})
            yield missing, missing
        for way, M in product(("pe", "ba"), counts[1:]):
            few, most = (
                evidence.one(dataset, model, way, num_inducing=count) for count in (M, counts[0])
            )
            yield (
                replace(few, who=f"{few.who}, M {M},"),
                replace(most, who=f"{most.who}, M {counts[0]},"),
            )


def fewer_regularise(evidence: Evidence, dataset: str) -> Comparisons:
    for few, most in _fewer(evidence, dataset):
        yield few.better_than(most)


def fewer_match(evidence: Evidence, dataset: str) -> Comparisons:
    for few, _ in _fewer(evidence, dataset):
        yield few.close_to(evidence.one(dataset, "svgp-rbf", "separate"))


def fewer_bayesian(evidence: Evidence, dataset: str) -> Comparisons:
    for model in FLOWS:
        fewer = evidence.counts(dataset, model)[1:]
        if not fewer:
            words = f"{short_name(dataset)}: no {model_label(model)} with fewer inducing points"
            yield Comparison(dataset, NOT_TESTED, words)
        for M in fewer:
            ba, pe = evidence.both_ways(dataset, model, M)
            yield replace(ba, who=f"{ba.who}, M {M},").better_than(pe)


ACCURACY = f"accuracy (margin {MARGINS['accuracy']})"
NATS = f"log-likelihood (margin {MARGINS['log_likelihood']} nats)"
BETTER, CLOSE = "the first is better", "the first is better or close"
TURNS = "medians over turns of a few steps on equal batches, with quartiles in brackets"

CLAIMS = (
    Claim(
        "in general outperforms",
        "abstract, section 1",
        "In general, ETGPs outperform the state of the art in multi-class classification by GPs.",
        f"{ACCURACY} and {NATS} of the best ETGP and of the best SVGP: {BETTER}",
        partial(in_both_scores, models=ETGPS, rivals=SVGPS),
        others=True,
        needs="most",
    ),
    Claim(
        "competitive",
        "section 6, conclusions",
        "ETGP is as good as the sparse GPs it is compared with, or better.",
        f"{ACCURACY} of the best ETGP and of the best SVGP: {CLOSE}",
        competitive,
        others=True,
    ),
    Claim(
        "avila: better than SVGP",
        "section 5.1",
        "On avila, LINEAR and TANH are more accurate than SVGP with separate kernels.",
        f"{ACCURACY}: {BETTER}",
        beats_separate,
        ("avila",),
    ),
    Claim(
        "avila: near RBFCORR",
        "section 5.1",
        "On avila, TANH is comparable with SVGPs whose processes are mixed.",
        f"{ACCURACY} of TANH and of the best RBFCORR: {CLOSE}",
        near_rbfcorr,
        ("avila",),
    ),
    Claim(
        "large data sets",
        "section 5.1",
        "With many rows and classes, ETGP is clearly more accurate than stationary SVGPs.",
        f"{ACCURACY} of the best ETGP and of the best stationary SVGP: {BETTER}",
        beats_stationary,
        ("devangari", "characterfont"),
    ),
    Claim(
        "vowel: shared is best",
        "section 5.1",
        "On vowel, whose test speakers are new, SVGP with a shared kernel is the most accurate.",
        f"{ACCURACY} of SVGP RBF shared against separate, and against the best ETGP: {BETTER}",
        shared_is_best,
        ("vowel",),
    ),
    Claim(
        "vowel: some runs match",
        "section 5.1",
        "Some ETGP runs on vowel reach the shared kernel's accuracy.",
        "a fact about the runs, without interval or margin: the highest test accuracy of all ETGP "
        "runs is at least the mean of SVGP RBF shared",
        some_runs_match,
        ("vowel",),
    ),
    Claim(
        "absenteeism: similar",
        "section 5.1",
        "On absenteeism, ETGP is about as accurate as stationary SVGPs.",
        f"{ACCURACY} of LINEAR and TANH against the best stationary SVGP: {CLOSE}",
        similar,
        ("absenteeism",),
    ),
    Claim(
        "SAL is the worst flow",
        "section 5.1 and appendix",
        "Of the three flows, SAL gives the lowest accuracy on every data set.",
        f"{ACCURACY} of LINEAR, and of TANH, against SAL: {BETTER}",
        sal_is_worst,
        others=True,
    ),
    Claim(
        "sharing costs accuracy",
        "section 5.1",
        "Sharing kernel and inducing points makes stationary SVGPs less accurate, except on vowel.",
        f"{ACCURACY} of separate against shared: {BETTER}",
        sharing_costs,
        tuple(name for name in PAPER_DATASETS if name != "vowel"),
        others=True,
    ),
    Claim(
        "log-likelihood follows accuracy",
        "section 5.1 and appendix",
        "Log-likelihoods tell the same story as accuracies.",
        f"of the best ETGP and the best stationary SVGP, the one that is better in {ACCURACY} is "
        f"also better in {NATS}",
        likelihood_follows,
        others=True,
    ),
    Claim(
        "BA on small data",
        "section 5.1",
        "On small data sets, the Bayesian average has a much better log-likelihood than the point "
        "estimate.",
        f"{NATS} of BA against PE, flow by flow: {BETTER}",
        bayesian_helps,
        SMALL,
    ),
    Claim(
        "BA on larger data",
        "section 5.1",
        "On medium and large data sets, the Bayesian average gains nothing.",
        f"{NATS} of PE against BA, flow by flow: {CLOSE}",
        bayesian_gains_nothing,
        LARGE,
    ),
    Claim(
        "NNET is often worse",
        "section 5.2",
        "The neural-network kernel is often less accurate than the arc-cosine kernel and ETGP.",
        f"{ACCURACY} of ARCCOS, and of the best ETGP, against NNET: {BETTER}",
        neural_kernel_is_worse,
        others=True,
        needs="most",
    ),
    Claim(
        "better than non-stationary kernels",
        "section 5.2",
        "ETGP beats both non-stationary kernels, also in log-likelihood (accuracy: not on vowel).",
        f"{ACCURACY} and {NATS} of the best ETGP against ARCCOS and NNET: {BETTER}",
        beats_non_stationary,
        others=True,
    ),
    Claim(
        "training: an order of magnitude",
        "section 5.3",
        "An epoch of ETGP is about ten times faster than one of SVGP with separate kernels.",
        f"{TURNS}: at least {ORDER:.0f} times, against GPflow's own SVGP and against batched "
        "operations; undecided if the quartiles lie on both sides",
        order_of_magnitude,
        others=True,
    ),
    Claim(
        "training: shared is competitive",
        "section 5.3",
        "SVGP with a shared kernel trains about as fast as ETGP.",
        f"{TURNS}: at most {COMPETITIVE:.0f} times as long (batched); undecided if the quartiles "
        "lie on both sides",
        shared_is_competitive,
        others=True,
    ),
    Claim(
        "prediction: an order of magnitude",
        "appendix, prediction time",
        "Predictions of ETGP can be ten times faster than those of SVGP.",
        f"time to predict 1000 rows, SVGP batched: the whole interval of the ratio, over seeds, is "
        f"at least {ORDER:.0f} times; not as claimed if all of it is below",
        prediction_time,
        others=True,
        needs="some",
    ),
    Claim(
        "fewer inducing points regularise",
        "section 5.4",
        "On vowel, ETGP becomes more accurate with fewer inducing points.",
        f"{ACCURACY} with a smaller M against the largest M: {BETTER}",
        fewer_regularise,
        ("vowel",),
        needs="most",
    ),
    Claim(
        "fewer inducing points are enough",
        "section 5.4",
        "On avila and absenteeism, ETGP with fewer inducing points matches SVGP with all of them.",
        f"{ACCURACY}: {CLOSE}",
        fewer_match,
        ("avila", "absenteeism"),
    ),
    Claim(
        "fewer inducing points, BA",
        "appendix, using less inducing points",
        "With fewer inducing points, the Bayesian average has the better log-likelihood.",
        f"{NATS} of BA against PE at every smaller M: {BETTER}",
        fewer_bayesian,
        FEWER,
        others=True,
    ),
)
