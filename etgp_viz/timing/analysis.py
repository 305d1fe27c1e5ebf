"""What the times of a race say: slopes in C, speed-ups, a cost model, and sentences about them.

Two processes of the same program differ in speed more than two rounds in one of them. So a session
(one process) counts as one observation, its median round, and intervals come from how sessions
differ. A sweep has few sessions but many cells: their deviations are pooled and resampled (a
residual bootstrap), and scaled to each cell's own spread as far as so few sessions reveal it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

import numpy as np
import pandas as pd

from etgp_viz.checks import check_choice, check_count, fail
from etgp_viz.timing.contestants import MODELS, Size, operations
from etgp_viz.timing.log import QUANTITIES

__all__ = ["CostFit", "crossover", "describe", "fit_cost", "per_epoch", "slopes", "speedups"]

Key = TypeVar("Key", bound=Hashable)

#: level of confidence intervals, and of the intervals for a repeated race
CONFIDENCE = 0.95
REPEAT = 0.99
BOOTSTRAP = 4000
#: weight of the pooled spread beside a cell's own, in sessions
PRIOR_SESSIONS = 4
#: least drift of clocks and processors between runs, in log time
SMALLEST_SPREAD = 0.01

AXES = ("classes", "num_inducing", "num_data")


def slopes(table: pd.DataFrame, quantity: str = "step", over: str = "classes") -> pd.DataFrame:
    """Slope of log time in log C (or M, or N) of each model, by least squares.

    Parameters
    ----------
    table : of `sweep`, `read` or `reference`
    quantity : ``"step"``, ``"prediction"`` or ``"prediction_ba"``
    over : ``"classes"``, ``"num_inducing"`` or ``"num_data"``

    Returns
    -------
    data frame : ``model``, ``slope``, and its 95 % bootstrap confidence interval ``low``, ``high``;
        NaN for a model that was timed at fewer than two sizes. A slope of 1 is proportional to C,
        a slope of 0 independent of it.

    Examples
    --------
    >>> from etgp_viz import timing
    >>> slope = timing.slopes(timing.reference()).set_index("model")["slope"]
    >>> bool(slope["etgp-linear"] < 0.5 < slope["svgp-batched"])
    True
    """
    check_choice(quantity, "quantity", QUANTITIES)
    check_choice(over, "over", AXES)
    timed = _timed(table, quantity)
    logs = {
        index: [np.log(session) for session in rounds]
        for index, rounds in timed[f"{quantity}_rounds"].items()
    }
    draws = bootstrap(logs)
    rows = []
    for model in dict.fromkeys(table["model"]):
        own = timed[timed["model"] == model]
        x = np.log(own[over].to_numpy(float))
        if len(set(x)) < 2:
            rows.append((model, np.nan, np.nan, np.nan))
            continue
        # The least-squares slope is linear in the log times: Σ (x − x̄) y / Σ (x − x̄)².
        weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
        estimate = weights @ [_medians(logs[index]).mean() for index in own.index]
        sample = weights @ np.stack([draws[index] for index in own.index])
        rows.append((model, estimate, *_interval(sample, CONFIDENCE)))
    return pd.DataFrame(rows, columns=["model", "slope", "low", "high"])


def speedups(
    table: pd.DataFrame, fast: str = "etgp-linear", quantity: str = "step"
) -> pd.DataFrame:
    """Speed-up of one model over each of the others, at each size.

    The models took turns, so the ratio is taken round by round, and whatever slowed both down
    cancels.

    Parameters
    ----------
    table : of `sweep`, `read` or `reference`
    fast : the model in the denominator
    quantity : ``"step"``, ``"prediction"`` or ``"prediction_ba"``

    Returns
    -------
    data frame : ``model``, its size, ``speedup`` (how many times as long as ``fast`` it takes), and
        ``low``, ``high``: the interval in which the speed-up of a repeated race lies in 99 of 100
        cases

    Examples
    --------
    >>> from etgp_viz import timing
    >>> speedup = timing.speedups(timing.reference()).set_index(["model", "classes"])["speedup"]
    >>> bool(speedup["svgp-batched", 50] > 10)
    True
    """
    check_choice(quantity, "quantity", QUANTITIES)
    check_choice(fast, "fast", tuple(dict.fromkeys(table["model"])))
    timed, rounds = _timed(table, quantity), f"{quantity}_rounds"
    rounds_of_fast = timed[timed["model"] == fast].set_index(list(AXES))[rounds]
    ratios = {}
    for row in timed[timed["model"] != fast].to_dict("records"):
        size = tuple(row[axis] for axis in AXES)
        if size in rounds_of_fast.index:  # in each session that both have
            sessions = zip(row[rounds], rounds_of_fast[size], strict=False)
            ratios[(row["model"], *size)] = [
                np.log(a[: len(b)]) - np.log(b[: len(a)]) for a, b in sessions
            ]
    first, second = bootstrap(ratios, seed=0), bootstrap(ratios, seed=1)
    rows = []
    for key, logs in ratios.items():
        centre = float(_medians(logs).mean())
        interval = _interval(centre + first[key] - second[key], REPEAT)
        rows.append((*key, *(float(np.exp(value)) for value in (centre, *interval))))
    return pd.DataFrame(rows, columns=["model", *AXES, "speedup", "low", "high"])


def crossover(table: pd.DataFrame, rival: str, fast: str = "etgp-linear") -> float:
    """The number of classes above which ``fast`` takes less time per step than ``rival``.

    Parameters
    ----------
    table : of `sweep`, `read` or `reference`, with one N and one M
    rival, fast : two models of the table

    Returns
    -------
    number of classes, interpolated in log C between two sizes of the sweep; 0 if ``fast`` was
        faster at every size, infinity if it is slower at the largest, NaN if the two were never
        timed at the same size

    Examples
    --------
    >>> from etgp_viz import timing
    >>> timing.crossover(timing.reference(), "svgp-batched")
    0.0
    """
    ratio = speedups(table[table["model"].isin([fast, rival])], fast)
    if len(ratio) == 0:
        return np.nan
    if ratio[["num_data", "num_inducing"]].drop_duplicates().shape[0] > 1:
        fail("table", "one num_data and one num_inducing", "several of them")
    ratio = ratio.sort_values("classes")
    x, y = np.log(ratio["classes"].to_numpy(float)), np.log(ratio["speedup"].to_numpy())
    slower = np.flatnonzero(y <= 0)
    if len(slower) == 0:
        return 0.0
    last = slower[-1]
    if last == len(y) - 1:
        return np.inf
    part = -y[last] / (y[last + 1] - y[last])
    return float(np.exp(x[last] + part * (x[last + 1] - x[last])))


def per_epoch(table: pd.DataFrame, rows: int) -> pd.Series:
    """Seconds of one epoch over a data set, in mini-batches of the sweep's N.

    Parameters
    ----------
    table : of `sweep`, `read` or `reference`
    rows : number of rows of the data set

    Returns
    -------
    series : step · rows / N, one value per row of the table

    Examples
    --------
    >>> from etgp_viz import timing
    >>> table = timing.reference()  # steps of N = 1000 rows
    >>> bool(np.allclose(timing.per_epoch(table, rows=5000), 5.0 * table["step"]))
    True
    """
    return table["step"] * check_count(rows, "rows") / table["num_data"]


def bootstrap(
    rounds: Mapping[Key, Sequence[np.ndarray]], size: int = BOOTSTRAP, seed: int = 0
) -> dict[Key, np.ndarray]:
    """Draws ``[size]`` of each cell's log time (or log ratio), the mean of its sessions' medians.

    Deviations of sessions from their cell's mean, enlarged by √(S/(S−1)) for the mean they were
    taken from, are pooled over the cells. A draw of a cell with S sessions is its mean plus the
    mean of S of them. If no cell has two sessions, nothing is known about how sessions differ, and
    the deviations of single rounds take their place, one to a draw. ``rounds`` maps a cell to the
    logarithms of its rounds, one array per session.
    """
    if not rounds:
        return {}
    rng = np.random.default_rng(seed)
    medians = {key: _medians(sessions) for key, sessions in rounds.items()}
    if several := [v for v in medians.values() if len(v) > 1]:
        scaled = [(v - v.mean()) * np.sqrt(len(v) / (len(v) - 1)) for v in several]
    else:
        scaled = [np.asarray(v) - np.median(v) for sessions in rounds.values() for v in sessions]
    residuals = np.concatenate(scaled)
    pooled = np.sqrt(np.mean(residuals**2))
    draws = {}
    for key, values in medians.items():
        S = len(values)
        deviation = np.sum((values - values.mean()) ** 2)
        spread = np.sqrt((PRIOR_SESSIONS * pooled**2 + deviation) / (PRIOR_SESSIONS + S - 1))
        chosen = rng.choice(residuals, size=(size, S)).mean(axis=1)
        drift = SMALLEST_SPREAD * rng.normal(size=size)
        draws[key] = values.mean() + chosen * spread / max(pooled, 1e-12) + drift
    return draws


def _medians(sessions: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([np.median(session) for session in sessions])


def _timed(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """The cells that have times of this quantity."""
    return table[table[f"{quantity}_rounds"].map(len) > 0]


def _interval(sample: np.ndarray, level: float) -> tuple[float, float]:
    low, high = np.quantile(sample, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# --- the cost model ------------------------------------------------------------------------------


@dataclass(frozen=True)
class CostFit:
    """The paper's cost model, fitted to the times of one contestant.

        seconds ≈ overhead + β₁·(GP work, once) + β₂·(GP work of each class) + β₃·(flows, softmax)

    with the operations of `etgp_viz.timing.operations` and β ≥ 0. In a sweep over C alone, terms
    that are proportional to one another cannot be told apart, and form one group.

    Attributes
    ----------
    model : the contestant, a key of `MODELS`
    terms, coefficients : names of the terms in each group, and β, its seconds per operation
    error : largest relative deviation of the fit from the measured times

    Examples
    --------
    >>> from etgp_viz import timing
    >>> size = timing.Size(classes=50, num_data=1000, num_inducing=100, num_inputs=10)
    >>> fit = timing.fit_cost(timing.reference(), "etgp-linear")
    >>> bool(np.isclose(fit.seconds(size), sum(fit.parts(size).values())))
    True
    >>> rival = timing.fit_cost(timing.reference(), "svgp-batched")
    >>> bool(fit.fixed_share(size) > rival.fixed_share(size))  # less of it grows with C
    True
    """

    model: str
    terms: tuple[tuple[str, ...], ...]
    coefficients: tuple[float, ...]
    error: float

    def parts(self, size: Size) -> dict[str, float]:
        """Seconds of each group at a `size`, named after its terms."""
        columns = _cost_terms(self.model, size)
        return {
            " and ".join(group): beta * sum(columns[term] for term in group)
            for group, beta in zip(self.terms, self.coefficients, strict=True)
        }

    def seconds(self, size: Size) -> float:
        """Fitted time of a step at a `size`."""
        return sum(self.parts(size).values())

    def fixed_share(self, size: Size) -> float:
        """The share of the time at a `size` that does not depend on C, between 0 and 1."""
        parts, doubled = self.parts(size), self.parts(replace(size, classes=2 * size.classes))
        fixed = sum(seconds for name, seconds in parts.items() if doubled[name] == seconds)
        return fixed / self.seconds(size)


def fit_cost(table: pd.DataFrame, model: str, quantity: str = "step") -> CostFit | None:
    """Fit the cost model of a step by non-negative least squares on relative errors.

    Parameters
    ----------
    table, model : of `sweep`, `read` or `reference`, and a model of it
    quantity : the column of times, ``"step"``

    Returns
    -------
    `CostFit`, or None if the model was timed at fewer than two sizes

    Examples
    --------
    >>> from etgp_viz import timing
    >>> fit = timing.fit_cost(timing.reference(), "etgp-linear")
    >>> fit.terms
    (('overhead', 'GP work, once'), ('flows, network and softmax',))
    """
    from scipy.optimize import nnls  # slow to import

    check_choice(model, "model", tuple(MODELS))
    rows = table[(table["model"] == model) & table[quantity].notna()]
    if len(rows) < 2:
        return None
    columns = pd.DataFrame([_cost_terms(model, size) for size in _sizes(rows)])
    groups = _groups(columns)
    seconds = rows[quantity].to_numpy(float)
    design = np.stack([columns[list(group)].sum(axis=1).to_numpy(float) for group in groups], 1)
    scale = design.max(axis=0)
    solution, _ = nnls(design / scale / seconds[:, None], np.ones(len(seconds)))
    error = np.max(np.abs(design / scale @ solution / seconds - 1.0))
    return CostFit(model, groups, tuple(solution / scale), float(error))


def _sizes(rows: pd.DataFrame) -> list[Size]:
    D = int(rows.attrs["settings"]["num_inputs"])
    return [Size(row.classes, row.num_data, row.num_inducing, D) for row in rows.itertuples()]


def _cost_terms(name: str, size: Size) -> dict[str, int]:
    """Operations by what they depend on, without the terms that a model does not have."""
    count, model = operations(name, size), MODELS[name]
    kernel = count["kernel"] + count["factors"] + count["solves"]
    per_class = count["flows"] + count["softmax"]
    if outputs := size.classes * model.num_params:
        # The first layer of the network, N H D, is the same for any C.
        per_class += count["network"] * outputs // (size.num_inputs + outputs)
    columns = {
        "overhead": 1,
        "GP work, once": (0 if model.kernel_per_class else kernel)
        + (0 if model.process_per_class else count["moments"]),
        "GP work of each class": (kernel if model.kernel_per_class else 0)
        + (count["moments"] if model.process_per_class else 0),
        "flows, network and softmax" if model.num_params else "softmax": per_class,
        "mixing": count["mixing"],
    }
    return {term: number for term, number in columns.items() if number}


def _groups(columns: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """Names of columns, those proportional to one another together."""
    groups: list[list[str]] = []
    for name in columns:
        for group in groups:
            ratio = columns[name] / columns[group[0]]
            if np.allclose(ratio, ratio.iloc[0], rtol=1e-6):
                group.append(name)
                break
        else:
            groups.append([name])
    return tuple(map(tuple, groups))


# --- sentences ------------------------------------------------------------------------------------


def describe(table: pd.DataFrame, fast: str | None = None) -> list[str]:
    """Sentences about a race: speed-ups of a step, growth with C, draws, and what did not run.

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
    return [*about_fast, *_about_predictions(table), *_about_all(table)]


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
        yield _verdict(table, ratios[ratios["model"] == rival], fast)


def _verdict(table: pd.DataFrame, ratios: pd.DataFrame, fast: str) -> str:
    """At which C one model is faster than a rival: only where the whole interval says so."""
    ratios = ratios.sort_values("classes")
    verdicts = np.select([ratios["low"] > 1.0, ratios["high"] < 1.0], ["faster", "slower"], "equal")
    pairs = zip(verdicts.tolist(), ratios["classes"].tolist(), strict=True)
    stretches = [(key, [C for _, C in group]) for key, group in groupby(pairs, itemgetter(0))]
    rival, label = ratios["model"].iloc[0], _label(ratios["model"].iloc[0])
    if len(stretches) == 1:
        how = {"equal": "about as fast as"}.get(verdicts[0], f"{verdicts[0]} than")
        return f"{_label(fast)} is {how} {label} at every C in the race."
    parts = []
    for number, (verdict, classes) in enumerate(stretches):
        where = f"from C = {classes[0]} to C = {classes[-1]}"
        if number == 0:
            where = f"up to C = {classes[-1]}"
        elif number == len(stretches) - 1:
            where = f"from C = {classes[0]} on"
        elif len(classes) == 1:
            where = f"at C = {classes[0]}"
        parts.append(f"{'about equally fast' if verdict == 'equal' else verdict} {where}")
    crossing = ""
    if [verdict for verdict, _ in stretches] == ["slower", "faster"]:
        crossing = f"; the two lines cross at about C = {crossover(table, rival, fast):.0f}"
    text = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Compared with {label}, {_label(fast)} is {text}{crossing}."


def _growth(table: pd.DataFrame, fast: str) -> Iterator[str]:
    """How much ETGP's time grows with C, and which part of it grows."""
    rows = table[(table["model"] == fast) & table["step"].notna()].sort_values("classes")
    rows = rows.drop_duplicates("classes")
    if len(rows) < 2 or not fast.startswith("etgp"):
        return
    first, last = rows.iloc[0], rows.iloc[-1]
    ratio, more = last["step"] / first["step"], last["classes"] / first["classes"]
    slope = slopes(table).set_index("model").loc[fast]
    grows = "grows with C, but less than in proportion"
    if slope["low"] <= 0.0:
        grows = "shows no growth with C beyond the noise"
    elif slope["high"] >= 1.0:
        grows = "grows with C, in proportion or faster"
    yield (
        f"A step of {_label(fast)} {grows}: from {1e3 * first['step']:.1f} ms at "
        f"C = {first['classes']} to {1e3 * last['step']:.1f} ms at C = {last['classes']}, a factor "
        f"of {ratio:.2f} for {more:.0f} times as many classes."
    )
    if fit := fit_cost(table, fast):
        size = _sizes(rows)[-1]
        share = 1.0 - fit.fixed_share(size)
        yield (
            f"According to the fitted cost model, {share:.0%} of its step at C = {size.classes} is "
            f"spent on the flows, their network and the softmax, which grow with C; the other "
            f"{1 - share:.0%}, the one Gaussian process and the overhead, does not. (The fit is "
            f"within {fit.error:.0%} of every measured time.)"
        )


def _about_predictions(table: pd.DataFrame) -> Iterator[str]:
    """The draws behind times of Monte Carlo predictions, and the error that they leave."""
    rows = table[table["prediction"].notna()]
    rows = rows[[MODELS[model].is_monte_carlo for model in rows["model"]]]
    if len(rows) == 0:
        return
    labels = ", ".join(map(_label, dict.fromkeys(rows["model"])))
    error = rows["prediction_error"].max()
    left = "an error that was not recorded"
    if np.isfinite(error):
        left = f"a standard error of up to {error:.2g} in a class probability"
    yield (
        f"Predictions by Monte Carlo ({labels}) average over {table.attrs['predictive_draws']} "
        f"draws, which leaves {left}; the other models predict by quadrature."
    )


def _about_all(table: pd.DataFrame) -> Iterator[str]:
    """Growth of every model, cells that did not run, and a machine that was not quiet."""
    for row in slopes(table).dropna().itertuples():
        yield (
            f"{_label(row.model)}: time grows like C to the power {row.slope:.2f} "
            f"(95 % interval: {row.low:.2f} to {row.high:.2f})."
        )
    for row in table[table["status"] != "ok"].itertuples():
        yield f"{_label(row.model)} at C = {row.classes}: {row.status}."
    load, cores = table.attrs.get("load", 0.0), table.attrs.get("machine", {}).get("cores") or 1
    if load > cores / 2:
        yield (
            f"Other programs were busy when the race began (load {load:.1f} on {cores} cores): "
            "times are longer and intervals wider than on a quiet machine."
        )


def _label(model: str) -> str:
    return MODELS[model].label
