"""What a race says, in sentences made from its figures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from etgp_viz.timing.analysis import crossover, fit_cost, slopes, speedups
from etgp_viz.timing.contestants import MODELS, Size

__all__ = ["describe"]


def describe(table: pd.DataFrame, fast: str | None = None) -> list[str]:
    """Sentences about one training step: speed-ups, growth with C, and what did not run.

    Parameters
    ----------
    table : of `sweep`, `read` or `reference`, also of an unfinished race
    fast : the model that the others are compared with; by default the first ETGP

    Returns
    -------
    list of sentences

    Examples
    --------
    >>> from etgp_viz import timing
    >>> table = timing.reference()
    >>> table = table[table["model"].isin(["etgp-linear", "svgp-batched"])]
    >>> print(timing.describe(table)[1])
    ETGP LINEAR is faster than SVGP batched at every C in the race.
    """
    if fast is None:
        fast = next((name for name in table["model"] if name.startswith("etgp")), None)
    about_fast = [] if fast is None else [*_comparisons(table, fast), *_growth(table, fast)]
    return [*about_fast, *_slopes(table), *_unfinished(table), *_load(table)]


def _comparisons(table: pd.DataFrame, fast: str) -> Iterator[str]:
    ratios = speedups(table, fast)
    if len(ratios) == 0:
        return
    largest = ratios[ratios["classes"] == ratios["classes"].max()].drop_duplicates("model")
    for row in largest.itertuples():
        yield (
            f"At C = {row.classes} a step of {_label(row.model)} takes {row.speedup:.3g} times as "
            f"long as a step of {_label(fast)} (99 % interval for a repeated race: {row.low:.3g} "
            f"to {row.high:.3g})."
        )
    if table["sessions"].max() < 2:
        yield (
            "There was only one session, so these intervals come from its rounds: they do not "
            "show how much two processes differ."
        )
    one_size = ratios[["num_data", "num_inducing"]].drop_duplicates().shape[0] == 1
    for rival in dict.fromkeys(ratios["model"]) if one_size else ():
        point = crossover(table, rival, fast)
        if point == 0.0:
            yield f"{_label(fast)} is faster than {_label(rival)} at every C in the race."
        elif np.isfinite(point):
            yield f"{_label(fast)} overtakes {_label(rival)} at about C = {point:.0f}."
        else:
            yield f"{_label(fast)} does not overtake {_label(rival)} in this race."


def _growth(table: pd.DataFrame, fast: str) -> Iterator[str]:
    """How much ETGP's time grows with C, and which part of it grows."""
    rows = table[(table["model"] == fast) & table["step"].notna()].sort_values("classes")
    rows = rows.drop_duplicates("classes")
    if len(rows) < 2 or not fast.startswith("etgp"):
        return
    first, last = rows.iloc[0], rows.iloc[-1]
    ratio, more = last["step"] / first["step"], last["classes"] / first["classes"]
    grows = "still grows with C, but slowly" if ratio > 1 else "shows no growth with C, only noise"
    yield (
        f"A step of {_label(fast)} {grows}: from {1e3 * first['step']:.1f} ms at "
        f"C = {first['classes']} to {1e3 * last['step']:.1f} ms at C = {last['classes']}, a factor "
        f"of {ratio:.2f} for {more:.0f} times as many classes."
    )
    fit = fit_cost(table, fast)
    if fit is not None:
        D = int(table.attrs["settings"]["num_inputs"])
        size = Size(last["classes"], last["num_data"], last["num_inducing"], D)
        share = 1.0 - fit.fixed_share(size)
        yield (
            f"According to the fitted cost model, {share:.0%} of its step at C = {size.classes} is "
            f"spent on the flows, their network and the softmax, which grow with C; the other "
            f"{1 - share:.0%}, the one Gaussian process and the overhead, does not. (The fit is "
            f"within {fit.error:.0%} of every measured time.)"
        )


def _slopes(table: pd.DataFrame) -> Iterator[str]:
    for row in slopes(table).itertuples():
        if np.isfinite(row.slope):
            interval = f"95 % interval: {row.low:.2f} to {row.high:.2f}"
            yield (
                f"{_label(row.model)}: time grows like C to the power {row.slope:.2f} ({interval})."
            )


def _unfinished(table: pd.DataFrame) -> Iterator[str]:
    for row in table[table["status"] != "ok"].itertuples():
        yield f"{_label(row.model)} at C = {row.classes}: {row.status}."


def _load(table: pd.DataFrame) -> Iterator[str]:
    load, cores = table.attrs.get("load", 0.0), table.attrs.get("machine", {}).get("cores") or 1
    if load > cores / 2:
        yield (
            f"Other programs were busy when the race began (load {load:.1f} on {cores} cores): "
            "times are longer and intervals wider than on a quiet machine."
        )


def _label(model: str) -> str:
    return MODELS[model].label
