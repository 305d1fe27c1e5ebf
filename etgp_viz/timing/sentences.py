"""What a sweep says, in sentences made from its figures."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from etgp_viz.timing.analysis import crossover, slopes, speedups
from etgp_viz.timing.contestants import MODELS, Size
from etgp_viz.timing.costs import fit_cost

__all__ = ["describe"]


def describe(table: pd.DataFrame, fast: str | None = None) -> list[str]:
    """Sentences about one training step: speed-ups, growth with C, and what did not run.

    ``fast`` is the model that the others are compared with; the first ETGP unless given.
    """
    if fast is None:
        fast = next((name for name in table["model"] if name.startswith("etgp")), None)
    told = []
    if fast is not None:
        told += [*_compared(table, fast), *_growth(table, fast)]
    return [*told, *_slopes(table), *_left_out(table), *_busy(table)]


def _compared(table: pd.DataFrame, fast: str) -> Iterator[str]:
    found = speedups(table, fast)
    if len(found) == 0:
        return
    largest = found[found["classes"] == found["classes"].max()].drop_duplicates("model")
    for row in largest.itertuples():
        yield (
            f"At C = {row.classes} a step of {_label(row.model)} takes {row.speedup:.3g} times as "
            f"long as one of {_label(fast)} (another run: {row.low:.3g} to {row.high:.3g})."
        )
    if table["sessions"].max() < 2:
        yield (
            "There was one session only, so these intervals come from its rounds: how much two "
            "processes differ is not known."
        )
    one_size = found[["num_data", "num_inducing"]].drop_duplicates().shape[0] == 1
    for rival in dict.fromkeys(found["model"]) if one_size else ():
        point = crossover(table, rival, fast)
        if point == 0.0:
            yield f"{_label(fast)} is faster than {_label(rival)} at every C of the sweep."
        elif np.isfinite(point):
            yield f"{_label(fast)} overtakes {_label(rival)} at about C = {point:.0f}."
        else:
            yield f"{_label(fast)} does not overtake {_label(rival)} in this sweep."


def _growth(table: pd.DataFrame, fast: str) -> Iterator[str]:
    """ETGP's total time still grows with C; how much of it does."""
    rows = table[(table["model"] == fast) & table["step"].notna()].sort_values("classes")
    rows = rows.drop_duplicates("classes")
    if len(rows) < 2 or not fast.startswith("etgp"):
        return
    first, last = rows.iloc[0], rows.iloc[-1]
    seen = "still grows with C, slowly" if last["step"] > first["step"] else "is mostly noise here"
    yield (
        f"The time of {_label(fast)} {seen}: from {1e3 * first['step']:.1f} ms "
        f"at C = {first['classes']} to {1e3 * last['step']:.1f} ms at C = {last['classes']}, "
        f"{last['step'] / first['step']:.2f} times, for {last['classes'] / first['classes']:.0f} "
        "times the classes."
    )
    fit = fit_cost(table, fast)
    if fit is not None:
        D = int(table.attrs["settings"]["num_inputs"])
        size = Size(last["classes"], last["num_data"], last["num_inducing"], D)
        share = 1.0 - fit.fixed_share(size)
        yield (
            f"By the fitted cost model {share:.0%} of its step at C = {size.classes} is the "
            f"flows, their network and the softmax, which grow with C; the other {1 - share:.0%}, "
            f"the one Gaussian process and the overhead, does not. (The fit is within "
            f"{fit.error:.0%} of every time.)"
        )


def _slopes(table: pd.DataFrame) -> Iterator[str]:
    for row in slopes(table).itertuples():
        if np.isfinite(row.slope):
            ends = f"{row.low:.2f} to {row.high:.2f}"
            yield f"{_label(row.model)}: time grows like C to the {row.slope:.2f} ({ends})."


def _left_out(table: pd.DataFrame) -> Iterator[str]:
    for row in table[table["status"] != "ok"].itertuples():
        yield f"{_label(row.model)} at C = {row.classes}: {row.status}."


def _busy(table: pd.DataFrame) -> Iterator[str]:
    load, cores = table.attrs.get("load", 0.0), table.attrs.get("machine", {}).get("cores") or 1
    if load > cores / 2:
        yield (
            f"Other programs were busy when the race began (load {load:.1f} on {cores} cores): "
            "times are longer than on a quiet machine, and intervals wider."
        )


def _label(model: str) -> str:
    return MODELS[model].label
