"""The claims of the paper, checked against a table of results.

Each verdict is *holds here*, *does not hold here* or *not tested here*. No verdict is hard-coded:
a claim is a function of the table that returns comparisons, with their figures and whether
they came out as the paper says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pandas as pd

from etgp_viz.experiments import comparisons
from etgp_viz.experiments.comparisons import CLOSE, COMPETITIVE, ORDER, Comparison, Evidence
from etgp_viz.experiments.results import made_by

__all__ = ["CLAIMS", "Claim", "Comparison", "Finding", "examine", "page"]

HOLDS, FAILS, UNTESTED = "holds here", "does not hold here", "not tested here"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    name, where, words : a short name, the section of the paper, the claim in a sentence
    rule : what is compared, and when the claim counts as true
    compare : evidence → comparisons; none if the table has nothing to compare
    share : the share of comparisons that must come out as claimed; 1 for all
    """

    name: str
    where: str
    words: str
    rule: str
    compare: Callable[[Evidence], Iterator[Comparison]]
    share: float = 1.0

    def examine(self, evidence: Evidence) -> Finding:
        """Check the claim against the evidence."""
        finding = Finding(self, UNTESTED, tuple(self.compare(evidence)))
        if not finding.comparisons:
            return finding
        holds = finding.num_as_claimed >= self.share * len(finding.comparisons)
        return replace(finding, verdict=HOLDS if holds else FAILS)


@dataclass(frozen=True)
class Finding:
    """A claim, its verdict (`HOLDS`, `FAILS` or `UNTESTED`), and the comparisons behind it."""

    claim: Claim
    verdict: str
    comparisons: tuple[Comparison, ...]

    @property
    def num_as_claimed(self) -> int:
        """The number of comparisons that came out as claimed."""
        return sum(comparison.as_claimed for comparison in self.comparisons)

    def __str__(self) -> str:
        lines = [
            f"{self.verdict.upper()}: {self.claim.words} ({self.claim.where})",
            f"    Rule: {self.claim.rule}",
        ]
        if total := len(self.comparisons):
            lines.append(f"    As claimed in {self.num_as_claimed} of {total} comparisons:")
        for comparison in self.comparisons:
            lines.append(f"    {'✓' if comparison.as_claimed else '✗'} {comparison.words}")
        return "\n".join(lines)


def examine(table: pd.DataFrame, *, paper: bool = False) -> tuple[Finding, ...]:
    """Every claim with its verdict.

    Parameters
    ----------
    table : of `etgp_viz.experiments.load` or `etgp_viz.experiments.reference`
    paper : pick the SVGPs on test rows, as the paper did

    Returns
    -------
    tuple of `Finding`, one for each claim in `CLAIMS`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> from etgp_viz.experiments import claims
    >>> table = experiments.reference()
    >>> findings = claims.examine(table[table["dataset"] == "vowel"])
    >>> [finding.claim.name for finding in findings if finding.verdict == claims.UNTESTED][0]
    'avila: better than SVGP'
    """
    evidence = Evidence(table, paper)
    return tuple(claim.examine(evidence) for claim in CLAIMS)


def page(table: pd.DataFrame, *, paper: bool = False) -> str:
    """The findings of `examine` as text, below what a reader must know about the table."""
    evidence = Evidence(table, paper)
    findings = tuple(claim.examine(evidence) for claim in CLAIMS)
    counts = Counter(finding.verdict for finding in findings)
    seeds = sorted(set(evidence.summary["seeds"])) or [0]
    over = f"{seeds[0]}" + (f" to {seeds[-1]}" if seeds[-1] > seeds[0] else "")
    over += " seed" + "s" * (seeds[-1] != 1)
    rows = "on TEST rows, as in the paper" if paper else "on validation rows"
    head = [
        f"Data sets: {', '.join(evidence.datasets) or 'none'}.",
        f"Configurations of ETGPs were picked on validation rows; those of SVGPs {rows}.",
        "The best of several models is the one with the best score of the same kind on validation "
        "rows.",
        f"Means over {over}, ± standard error; with so few seeds a small lead means little. Models "
        "are compared seed by seed, because a seed also decides the splits.",
        ", ".join(f"{counts[verdict]} {verdict}" for verdict in (HOLDS, FAILS, UNTESTED)) + ".",
        made_by(table),
    ]
    return "\n".join(head) + "\n\n" + "\n\n".join(map(str, findings))


_ABOVE = "the first is above the second, on average over the seeds that both have"
_NEAR = f"the first is at most {CLOSE} or two standard errors of the difference below the second"

CLAIMS = (
    Claim(
        "competitive",
        "section 6, conclusions",
        "ETGP is as good as the sparse GPs it is compared with, or better.",
        f"accuracy of the best ETGP and of the best SVGP, on every data set: {_NEAR}",
        comparisons.competitive,
    ),
    Claim(
        "avila: better than SVGP",
        "section 5.1",
        "On avila, LINEAR and TANH are more accurate than SVGP with separate kernels.",
        f"accuracy: {_ABOVE}",
        comparisons.avila_beats_svgp,
    ),
    Claim(
        "avila: near RBFCORR",
        "section 5.1",
        "On avila, TANH is comparable with SVGPs whose processes are mixed.",
        f"accuracy of TANH and of the best RBFCORR: {_NEAR}",
        comparisons.avila_near_rbfcorr,
    ),
    Claim(
        "large data sets",
        "section 5.1",
        "With many rows and classes, ETGP is clearly more accurate than stationary SVGPs.",
        f"accuracy on devangari and characterfont: {_ABOVE}",
        comparisons.large_sets,
    ),
    Claim(
        "vowel: shared is best",
        "section 5.1",
        "On vowel, whose test speakers are new, SVGP with a shared kernel is the most accurate.",
        f"accuracy of SVGP RBF shared against separate, and against the best ETGP: {_ABOVE}",
        comparisons.vowel_shared_is_best,
    ),
    Claim(
        "vowel: some runs match",
        "section 5.1",
        "Some ETGP runs on vowel, mostly with much dropout, reach the shared kernel's accuracy.",
        "the highest test accuracy of all ETGP runs against the mean of SVGP RBF shared",
        comparisons.vowel_some_runs,
    ),
    Claim(
        "absenteeism: similar",
        "section 5.1",
        "On absenteeism, ETGP is about as accurate as stationary SVGPs.",
        f"accuracy of LINEAR and TANH against the best stationary SVGP: {_NEAR}",
        comparisons.absenteeism_similar,
    ),
    Claim(
        "SAL is the worst flow",
        "section 5.1 and appendix",
        "Of the three flows, SAL gives the lowest accuracy on every data set.",
        f"accuracy of LINEAR, and of TANH, against SAL: {_ABOVE}",
        comparisons.sal_is_worst,
    ),
    Claim(
        "sharing costs accuracy",
        "section 5.1",
        "Sharing kernel and inducing points makes stationary SVGPs less accurate, except on vowel.",
        f"accuracy of separate against shared: {_ABOVE}",
        comparisons.sharing_costs,
    ),
    Claim(
        "log-likelihood follows accuracy",
        "section 5.1 and appendix",
        "Log-likelihoods tell the same story as accuracies.",
        "where the best ETGP is at least as accurate as the best stationary SVGP, its mean "
        "log-likelihood is higher too",
        comparisons.likelihood_follows,
    ),
    Claim(
        "BA on small data",
        "section 5.1",
        "On small data sets, the Bayesian average has a much better log-likelihood than the point "
        "estimate.",
        f"log-likelihood of BA against PE on vowel and absenteeism, flow by flow: {_ABOVE}",
        comparisons.bayesian_helps_small,
    ),
    Claim(
        "BA on larger data",
        "section 5.1",
        "On medium and large data sets, the Bayesian average gains nothing.",
        f"log-likelihood of PE against BA on avila, devangari, characterfont: {_NEAR}",
        comparisons.bayesian_no_gain_large,
    ),
    Claim(
        "NNET is often worse",
        "section 5.2",
        "The neural-network kernel is often less accurate than the arc-cosine kernel and ETGP.",
        f"accuracy on every data set, in more than half of the comparisons: {_ABOVE}",
        comparisons.neural_kernel_is_worse,
        share=0.51,
    ),
    Claim(
        "better than non-stationary kernels",
        "section 5.2",
        "ETGP beats both non-stationary kernels, also in log-likelihood (accuracy: not on vowel).",
        f"accuracy and log-likelihood of the best ETGP against ARCCOS and NNET: {_ABOVE}",
        comparisons.beats_non_stationary,
    ),
    Claim(
        "training: an order of magnitude",
        "section 5.3",
        "An epoch of ETGP is about ten times faster than one of SVGP with separate kernels.",
        f"medians over turns of a few steps, on equal batches: at least {ORDER:.0f} times, against "
        "GPflow's own SVGP and against batched operations (in brackets: with quartiles)",
        comparisons.order_of_magnitude,
    ),
    Claim(
        "training: shared is competitive",
        "section 5.3",
        "SVGP with a shared kernel trains about as fast as ETGP.",
        f"medians over turns of a few steps, on equal batches: at most {COMPETITIVE:.0f} times as "
        "long (batched)",
        comparisons.shared_is_competitive,
    ),
    Claim(
        "prediction: an order of magnitude",
        "appendix, prediction time",
        "Predictions of ETGP can be ten times faster than those of SVGP.",
        f"prediction of 1000 rows, each after its own training, SVGP batched: at least {ORDER:.0f} "
        "times on some data set",
        comparisons.prediction_time,
        share=1e-9,
    ),
    Claim(
        "fewer inducing points regularise",
        "section 5.4",
        "On vowel, ETGP becomes more accurate with fewer inducing points.",
        f"accuracy with fewer M against the largest M, in more than half of the cases: {_ABOVE}",
        comparisons.fewer_regularise,
        share=0.51,
    ),
    Claim(
        "fewer inducing points are enough",
        "section 5.4",
        "On avila and absenteeism, ETGP with fewer inducing points matches SVGP with all of them.",
        f"accuracy: {_NEAR}",
        comparisons.fewer_match,
    ),
    Claim(
        "fewer inducing points, BA",
        "appendix, using less inducing points",
        "With fewer inducing points, the Bayesian average has the better log-likelihood.",
        f"log-likelihood of BA against PE at every smaller M: {_ABOVE}",
        comparisons.fewer_bayesian,
    ),
)
