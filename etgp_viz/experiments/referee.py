"""What a referee asks, apart from the paper's claims.

Does the Gaussian process contribute? Would something simpler do? The questions are put as claims,
and judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from etgp_viz.experiments.comparisons import Comparison, Evidence
from etgp_viz.experiments.intervals import MARGINS, NOT_TESTED, Lead, better
from etgp_viz.experiments.paper_claims import ACCURACY, BETTER, NATS, in_both_scores
from etgp_viz.experiments.settings import model_label, short_name
from etgp_viz.experiments.verdicts import Claim
from etgp_viz.rivals.names import ETGPS

__all__ = ["QUESTIONS"]

Comparisons = Iterator[Comparison]


def beats_network(evidence: Evidence, dataset: str) -> Comparisons:
    """Flow by flow, so that both have as many tries; in both scores and ways of predicting."""
    for metric, way, model in product(MARGINS, ("pe", "ba"), ETGPS):
        network = evidence.one(dataset, "network", way, metric=metric)
        yield evidence.one(dataset, model, way, metric=metric).better_than(network)


def loses_without(evidence: Evidence, dataset: str, *, column: str, change: str) -> Comparisons:
    """Each flow as trained, in PE, against the same model with a changed f0."""
    for model in ETGPS:
        lost = evidence.one(dataset, model, metric=column)
        if not lost.scores:
            yield Comparison(
                dataset, NOT_TESTED, f"{short_name(dataset)}: no {column} of {lost.who}"
            )
            continue
        lead = Lead.of(list(lost.scores.values()), lost.overlap)
        words = f"{short_name(dataset)}: {lost.who} loses {lead} nats with {change}"
        outcome = better(lead, MARGINS["log_likelihood"])
        yield Comparison(dataset, outcome, words, lead.num_seeds)


def _question(
    name: str, words: str, rule: str, compare: Callable[[Evidence, str], Comparisons]
) -> Claim:
    return Claim(name, "a referee", words, rule, compare, (), others=True, needs="most")


_PREDICTIONS = f"{ACCURACY} and {NATS} of the best ETGP"

QUESTIONS = (
    _question(
        "better than its network",
        "ETGP is better than its network alone, without a Gaussian process.",
        f"{ACCURACY} and {NATS} of each flow against the same hidden layers with b^c(x) alone, PE "
        f"against PE and BA against BA: {BETTER}",
        beats_network,
    ),
    _question(
        "f0 counts",
        "ETGP predicts worse if f0 is set to 0.",
        f"{NATS} of each flow on test rows, PE, as trained and with f0 = 0: {BETTER}",
        partial(loses_without, column="latent_lost_at_zero", change="f0 = 0"),
    ),
    _question(
        "the uncertainty of f0 counts",
        "ETGP predicts worse if f0 is set to its posterior mean.",
        f"{NATS} of each flow on test rows, PE, as trained and with f0 = µ(x): {BETTER}",
        partial(loses_without, column="latent_lost_at_mean", change="f0 = µ(x)"),
    ),
    *(
        _question(
            f"better than {rival}",
            f"ETGP is better than {words}.",
            f"{_PREDICTIONS} against {model_label(rival)}: {BETTER}",
            partial(in_both_scores, models=ETGPS, rivals=(rival,)),
        )
        for rival, words in (
            ("logistic", "logistic regression"),
            ("boosting", "gradient-boosted trees"),
            ("svgp-deep", "an SVGP with a deep kernel, on features of the same hidden layers"),
            ("svgp-robustmax", "an SVGP with the robust-max likelihood"),
        )
    ),
)
