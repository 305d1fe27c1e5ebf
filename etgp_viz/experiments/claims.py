"""The claims of the paper and a referee's questions, checked against a table of results.

No verdict is hard-coded. The rules are in `etgp_viz.experiments.intervals` (one comparison) and in
`etgp_viz.experiments.verdicts` (a claim); `etgp_viz.experiments.paper_claims` and
`etgp_viz.experiments.referee` say what is compared. `page` says first where ETGP is behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pandas as pd

from etgp_viz.datasets import has_test_set
from etgp_viz.experiments.budgets import describe_data, unfinished
from etgp_viz.experiments.comparisons import LOSES, WINS, Comparison, Duel, Evidence
from etgp_viz.experiments.intervals import LEVEL, MARGINS
from etgp_viz.experiments.paper_claims import CLAIMS
from etgp_viz.experiments.referee import QUESTIONS
from etgp_viz.experiments.results import made_by
from etgp_viz.experiments.settings import short_name
from etgp_viz.experiments.verdicts import FAILS, HOLDS, OPEN, UNTESTED, Claim, Finding

__all__ = [
    "CLAIMS",
    "FAILS",
    "HOLDS",
    "OPEN",
    "QUESTIONS",
    "UNTESTED",
    "Claim",
    "Comparison",
    "Finding",
    "examine",
    "page",
]


def examine(
    table: pd.DataFrame, *, paper: bool = False, claims: Sequence[Claim] = CLAIMS
) -> tuple[Finding, ...]:
    """Every claim with its verdict.

    Parameters
    ----------
    table : of `etgp_viz.experiments.load` or `etgp_viz.experiments.reference`
    paper : pick the rivals on test rows, as the paper did
    claims : by default the paper's; a referee's are `QUESTIONS`

    Returns
    -------
    tuple of `Finding`, one for each claim

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
    return tuple(claim.examine(evidence) for claim in claims)


def page(table: pd.DataFrame, *, paper: bool = False) -> str:
    """The findings of `examine` as text: where ETGP is behind, how to read it, all verdicts."""
    evidence = Evidence(table, paper)
    claims, questions = (
        [claim.examine(evidence) for claim in group] for group in (CLAIMS, QUESTIONS)
    )
    sections = (
        ("Where ETGP is behind", [*_behind(list(evidence.duels(beyond=True)))]),
        ("How to read this page", [*_how_to_read(evidence, paper)]),
        (
            "Data and budgets",
            [*describe_data(evidence.table), *unfinished(evidence.table), made_by(table)],
        ),
        (f"The paper's claims: {_counts(claims)}", ["\n\n".join(map(str, claims))]),
        (f"A referee's questions: {_counts(questions)}", ["\n\n".join(map(str, questions))]),
    )
    return "\n\n\n".join(
        "\n".join([title, "-" * len(title), *filter(None, lines)]) for title, lines in sections
    )


def _counts(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.verdict for finding in findings)
    partly = sum(finding.is_partly_tested for finding in findings)
    verbs = {HOLDS: "hold", FAILS: "do not hold", OPEN: "undecided", UNTESTED: "not tested"}
    words = ", ".join(f"{counts[verdict]} {verb}" for verdict, verb in verbs.items())
    return f"{words} ({partly} only partly tested)"


def _and(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> _and(["vowel", "avila", "digits"])
    'vowel, avila and digits'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _behind(duels: Sequence[Duel]) -> Iterator[str]:
    """The duels in which ETGP is behind, those that are decided first; then how many it wins."""
    lost = [duel for duel in duels if duel.result == LOSES]
    behind = [duel for duel in duels if duel not in lost and duel.lead.mean < 0.0]
    yield "The best ETGP against the paper's best SVGP, and against each rival beyond the paper."
    for words, some in (("loses", lost), ("is behind on average, but not decidedly, in", behind)):
        yield f"ETGP {words} {len(some)} of {len(duels)}{':' if some else '.'}"
        for duel in some:
            score = duel.etgp.metric.replace("_", "-")
            name = short_name(duel.etgp.dataset)
            yield f"    {name}, {score}: {duel.etgp} against {duel.rival}: {duel.lead}"
    yield f"ETGP wins {sum(duel.result == WINS for duel in duels)} of {len(duels)}."


def _how_to_read(evidence: Evidence, paper: bool) -> Iterator[str]:
    seeds = sorted(set(evidence.summary["seeds"])) or [0]
    over = f"{seeds[0]}" + (f" to {seeds[-1]}" if seeds[-1] > seeds[0] else "")
    over += " seed" + "s" * (seeds[-1] != 1)
    picked = (
        "Configurations of ETGPs were picked on validation rows, those of rivals on TEST rows, "
        "as in the paper."
        if paper
        else "All configurations were picked on validation rows."
    )
    fixed = [short_name(name) for name in evidence.datasets if has_test_set(name)]
    drawn = [short_name(name) for name in evidence.datasets if not has_test_set(name)]
    yield f"Means over {over}. Passes over the training rows and seconds are those of a median run."
    yield (
        f"Models are compared seed by seed. In brackets is the {LEVEL:.0%} interval of the lead "
        "(Student's t; corrected after Nadeau and Bengio where every seed draws its own test "
        "rows). One seed has no interval, and decides nothing."
    )
    if fixed:
        speakers = " (on vowel: other speakers)" if "vowel" in fixed else ""
        yield (
            f"The test rows of {_and(fixed)} are published and never change: there the interval "
            f"covers training, not other test rows{speakers}."
        )
    yield (
        f"The margin is {MARGINS['accuracy']} in accuracy and {MARGINS['log_likelihood']} nats in "
        "log-likelihood, whatever the noise. A model is better if the interval of its lead is "
        "above 0 and the mean is at least the margin; it is not better if the interval is below "
        "the margin. A model is better or close if the interval is above −margin, and neither if "
        "it is below. ✓ as claimed, ✗ not as claimed, ? undecided."
    )
    yield (
        "The probability that chance alone decides a comparison wrongly is at most "
        f"{(1.0 - LEVEL) / 2.0:.1%}. There are many comparisons, so a few may be wrong."
    )
    yield (
        f"{picked} The best of several models is the one with the best score of the same kind on "
        "validation rows."
    )
    if drawn and seeds[-1] > 1:
        yield (
            f"On {_and(drawn)} a configuration is picked by its mean over seeds, and the "
            "validation rows of one seed may be test rows of another: this flatters all models "
            "slightly, and all alike."
        )
