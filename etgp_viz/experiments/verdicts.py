"""`Claim` and `Finding`: how comparisons become a verdict.

Each comparison is as claimed, not as claimed or undecided (`etgp_viz.experiments.intervals`). A
claim needs *all* of its comparisons to come out as claimed, *most* (more than half), or *some* (at
least one). It

- *holds here* if enough comparisons are as claimed, however the undecided ones would turn out;
- *does not hold here* if too few would be, even if all undecided ones turned out as claimed;
- is *undecided here* otherwise;
- is *not tested here* if the table has nothing to compare.

A verdict is *partly tested* if the table lacks some of the data sets or models that the claim
names, or one of several models of which the best is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from etgp_viz.datasets import has_test_set
from etgp_viz.experiments.comparisons import Comparison, Evidence
from etgp_viz.experiments.intervals import AS_CLAIMED, NOT_AS_CLAIMED, NOT_TESTED, UNDECIDED
from etgp_viz.experiments.settings import short_name

__all__ = ["FAILS", "HOLDS", "OPEN", "PAPER_DATASETS", "UNTESTED", "Claim", "Finding"]

HOLDS, FAILS, OPEN, UNTESTED = (
    *("holds here", "does not hold here"),
    *("undecided here", "not tested here"),
)
MARKS = {AS_CLAIMED: "✓", NOT_AS_CLAIMED: "✗", UNDECIDED: "?"}
#: how many of n comparisons must come out as claimed, and in words
NEEDED: dict[str, tuple[Callable[[int], int], str]] = {
    "all": (lambda n: n, "in all comparisons"),
    "most": (lambda n: n // 2 + 1, "in more than half of the comparisons"),
    "some": (lambda n: 1, "in at least one comparison"),
}

PAPER_DATASETS = ("vowel", "absenteeism", "avila", "devangari", "characterfont")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, or a referee's question as a claim.

    Attributes
    ----------
    name, where, words : a short name, the section of the paper, the claim in a sentence
    rule : what is compared, and when a comparison counts as claimed
    compare : evidence and data set → comparisons
    datasets : the data sets that the claim is about; none for whatever the table has
    others : whether it is tested on data sets that the paper does not have, too
    needs : how many comparisons must come out as claimed: ``"all"``, ``"most"`` or ``"some"``
    """

    name: str
    where: str
    words: str
    rule: str
    compare: Callable[[Evidence, str], Iterator[Comparison]]
    datasets: tuple[str, ...] = PAPER_DATASETS
    others: bool = False
    needs: str = "all"

    def examine(self, evidence: Evidence) -> Finding:
        """Check the claim against the evidence."""
        known = PAPER_DATASETS if self.datasets else ()
        others = [name for name in evidence.datasets if self.others and name not in known]
        comparisons: dict[Comparison, None] = {}
        for dataset in (*self.datasets, *others):
            if dataset in evidence.datasets:
                comparisons |= dict.fromkeys(self.compare(evidence, dataset))
            else:
                comparisons[Comparison(dataset, NOT_TESTED, f"{dataset}: no runs")] = None
        tested = [each for each in comparisons if each.outcome != NOT_TESTED]
        named = self.datasets or others
        missing = [each for each in comparisons if each not in tested and each.dataset in named]
        return Finding(self, tuple(tested), tuple(missing))


@dataclass(frozen=True)
class Finding:
    """A claim, the comparisons that test it, and those that the table has no models for."""

    claim: Claim
    comparisons: tuple[Comparison, ...]
    missing: tuple[Comparison, ...] = ()

    def count(self, outcome: str) -> int:
        """The number of comparisons with an outcome."""
        return sum(comparison.outcome == outcome for comparison in self.comparisons)

    @property
    def verdict(self) -> str:
        """`HOLDS`, `FAILS`, `OPEN` or `UNTESTED`."""
        if not self.comparisons:
            return UNTESTED
        needed = NEEDED[self.claim.needs][0](len(self.comparisons))
        if self.count(AS_CLAIMED) >= needed:
            return HOLDS
        return FAILS if self.count(AS_CLAIMED) + self.count(UNDECIDED) < needed else OPEN

    @property
    def seeds(self) -> dict[str, tuple[int, ...]]:
        """Data set → the numbers of seeds that its comparisons have; 0 for a race of steps."""
        found: dict[str, set[int]] = {}
        for comparison in self.comparisons:
            found.setdefault(comparison.dataset, set()).add(comparison.num_seeds)
        return {dataset: tuple(sorted(counts)) for dataset, counts in found.items()}

    @property
    def is_partly_tested(self) -> bool:
        """Whether the table lacks some of the data sets or models that the claim names."""
        lacks = any(comparison.lacks for comparison in self.comparisons)
        return bool(self.comparisons and (self.missing or lacks))

    @property
    def headline(self) -> str:
        """The verdict; if it is partly tested, also on which data sets.

        Such as "holds here (partly tested: only avila out of avila, devangari, characterfont)".
        """
        if not self.is_partly_tested:
            return self.verdict
        named = self.claim.datasets or tuple(self.seeds)
        tested = [name for name in named if name in self.seeds]
        untested = [name for name in named if name not in tested]
        part = f"not on {', '.join(untested)}" if untested else "without some of the models"
        if untested and len(tested) == 1:
            part = f"only {tested[0]} out of {', '.join(named)}"
        return f"{self.verdict} (partly tested: {part})"

    def __str__(self) -> str:
        verdict, _, part = self.headline.partition(" (")
        lines = [
            f"{verdict.upper()}{f' ({part}' if part else ''}: "
            f"{self.claim.words} ({self.claim.where})",
            f"    Rule: {self.claim.rule}, {NEEDED[self.claim.needs][1]}.",
        ]
        if self.comparisons:
            counts = ", ".join(f"{self.count(outcome)} {outcome}" for outcome in MARKS)
            lines += [f"    Data: {self._data()}.", f"    Comparisons: {counts}."]
        lines += [f"    {MARKS[each.outcome]} {each.words}" for each in self.comparisons]
        missing = [each.words for each in self.missing]
        missing += [
            f"{each.dataset}: {', '.join(each.lacks)}" for each in self.comparisons if each.lacks
        ]
        if missing and (self.comparisons or self.claim.datasets):
            lines.append(f"    Not in the table: {'; '.join(dict.fromkeys(missing))}.")
        return "\n".join(lines)

    def _data(self) -> str:
        """Data sets with their seeds, and whether other test rows are covered."""
        words = []
        for dataset, counts in self.seeds.items():
            seeds = " or ".join(map(str, filter(None, counts)))
            rows = "published test rows" if has_test_set(dataset) else "test rows drawn anew"
            note = f" ({seeds} seed{'s' * (counts[-1] > 1)}, {rows})" if seeds else ""
            words.append(short_name(dataset) + note)
        return ", ".join(words)
