"""Curves of a race, ready to be drawn: the titles of the axes, and a line for each contestant.

>>> from etgp_viz import timing
>>> record = timing.curves(timing.reference(), "memory")
>>> record.y_title, record.lines[0].label
('peak memory of a step (MiB)', 'ETGP LINEAR')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from etgp_viz.checks import check_choice, check_count
from etgp_viz.timing.analysis import AXES, fit_cost, per_epoch
from etgp_viz.timing.contestants import MODELS, SAMPLES, Size

__all__ = ["Curves", "Line", "Score", "cholesky_curves", "curves", "score"]

#: what can be drawn: column of the table → title of the axis
QUANTITIES = {
    "step": "one training step (seconds)",
    "epoch": "one epoch (seconds)",
    "prediction": "prediction, point estimate (seconds)",
    "prediction_ba": f"prediction, Bayesian, {SAMPLES} dropout draws (seconds)",
    "first_step": "first step: tracing and compiling (seconds)",
    "memory": "peak memory of a step (MiB)",
    "operations": "multiply–adds on paper",
}
NAMES = {
    "classes": "number of classes C",
    "num_inducing": "number of inducing points M",
    "num_data": "number of rows N",
}
#: measured now, measured elsewhere, fitted, and guessed by the reader
KINDS = ("measured", "reference", "fit", "guess")
SHOWN = ("measured", "reference")  # with points of their own


@dataclass(frozen=True)
class Line:
    """Points of one contestant.

    Examples
    --------
    >>> from etgp_viz import timing
    >>> line = timing.curves(timing.reference(), "memory").lines[0]
    >>> line.name, line.x[:3].tolist(), line.begin().x.tolist()
    ('etgp-linear', [2.0, 5.0, 10.0], [2.0])
    """

    name: str  # of the contestant in tables
    label: str  # in the figure
    kind: str  # one of `KINDS`
    x: np.ndarray  # sizes [K]
    y: np.ndarray  # medians [K]
    low: np.ndarray  # lower quartiles [K]; y itself where there are none
    high: np.ndarray  # upper quartiles [K], the same

    def begin(self) -> Line:
        """The first point alone."""
        first = (values[:1] for values in (self.x, self.y, self.low, self.high))
        return Line(self.name, self.label, self.kind, *first)


@dataclass(frozen=True)
class Score:
    """How good a prediction was."""

    points: int  # from 0 to 100
    factors: Mapping[str, float]  # label → predicted over true value at the largest size


@dataclass(frozen=True)
class Curves:
    """The lines of one figure."""

    slots: tuple[str, ...]  # names that a line may have, so that a figure can keep a place for each
    lines: tuple[Line, ...]  # what is drawn
    x_title: str  # of the horizontal axis
    y_title: str  # of the vertical axis
    log: bool  # whether both axes are logarithmic


def curves(
    table: pd.DataFrame,
    quantity: str = "step",
    over: str = "classes",
    *,
    log: bool = True,
    reference: pd.DataFrame | None = None,
    fit: bool = False,
    guess: Mapping[str, float] | None = None,
    rows: int | None = None,
    hide: bool = False,
) -> Curves:
    """Curves of a race over C, M or N.

    Parameters
    ----------
    table, reference : of `etgp_viz.timing.sweep`, `read` or `reference`, also of an unfinished
        race; another one, drawn behind
    quantity, over : a key of `QUANTITIES`; ``"classes"``, ``"num_inducing"`` or ``"num_data"``
    log : whether both axes are logarithmic
    fit : add the fitted cost model (of steps, over the sizes of the table, or of the reference for
        models that are not in it)
    guess : model → the slope that somebody expects in log-log, drawn from the model's first point,
        measured here or in the reference
    rows : number of rows of the data set whose epoch ``quantity="epoch"`` shows
    hide : keep only the first point of each line; the rest is to be predicted

    Returns
    -------
    `Curves`, which `etgp_viz.figures.timing` draws
    """
    check_choice(quantity, "quantity", tuple(QUANTITIES))
    check_choice(over, "over", AXES)
    if quantity == "epoch":
        rows = check_count(rows, "rows")
        table = _with_epochs(table, rows)
        reference = None if reference is None else _with_epochs(reference, rows)
    lines = _lines(table, quantity, over, "measured")
    if reference is not None:
        lines += _lines(reference, quantity, over, "reference")
    if fit and quantity == "step" and not hide:
        own = {line.name for line in lines if line.kind == "measured" and len(line.x)}
        fits = [
            _fitted(table if line.name in own else reference, line, over)
            for line in lines
            if (line.kind == "measured") == (line.name in own) and len(line.x)
        ]
        lines += [line for line in fits if line is not None]
    # What was measured here counts, but the first point of a race does not make a line.
    timed = {line.name: line for line in sorted(lines, key=_is_long) if line.kind in SHOWN}
    for name, slope in (guess or {}).items():
        if (line := timed.get(name)) is not None and len(line.x):
            y = line.y[0] * (line.x / line.x[0]) ** slope
            lines.append(Line(name, line.label, "guess", line.x, y, y, y))
    if hide:
        lines = [line if line.kind == "guess" else line.begin() for line in lines]
    title = QUANTITIES[quantity] + _draws_of(quantity, table, reference)
    return Curves(tuple(MODELS), tuple(lines), NAMES[over], title, log)


def _is_long(line: Line) -> tuple[bool, bool, bool]:
    """An order in which lines that a prediction can start from come last."""
    return len(line.x) > 0, len(line.x) > 1, line.kind == "measured"


def score(truth: Curves, guess: Mapping[str, float]) -> Score | None:
    """How near a prediction of slopes comes to the truth, at the largest size of each line.

    A prediction that is off by a factor of ten earns no points, one that is off by a factor of k
    earns 100·(1 − |log₁₀ k|); the score is the mean over models.

    Parameters
    ----------
    truth : curves without anything hidden
    guess : model → the slope that was predicted, in log-log

    Returns
    -------
    a `Score`, or None if no line is long enough

    Examples
    --------
    >>> from etgp_viz import timing
    >>> from etgp_viz.records.timing import score
    >>> score(timing.curves(timing.reference()), {"etgp-linear": 0.1}).points > 90
    True
    """
    lines = {line.name: line for line in sorted(truth.lines, key=_is_long) if line.kind in SHOWN}
    factors = {}
    for name, slope in guess.items():
        line = lines.get(name)
        if line is not None and len(line.x) > 1:
            predicted = line.y[0] * (line.x[-1] / line.x[0]) ** slope
            factors[line.label] = float(predicted / line.y[-1])
    if not factors:
        return None
    each = [max(0.0, 1.0 - abs(np.log10(factor))) for factor in factors.values()]
    return Score(round(100 * float(np.mean(each))), factors)


def _draws_of(quantity: str, *tables: pd.DataFrame | None) -> str:
    """The draws behind times of predictions, for the title of their axis."""
    races = [table for table in tables if table is not None and len(table)]
    if quantity != "prediction" or not races:
        return ""
    draws = dict.fromkeys(str(table.attrs["predictive_draws"]) for table in races)
    return f"; SVGPs: {' and '.join(draws)} draws"


def cholesky_curves(table: pd.DataFrame, num_inducing: int, *, log: bool = True) -> Curves:
    """Curves of the micro-lab (`etgp_viz.timing.cholesky`) for one M.

    Parameters
    ----------
    table, num_inducing : of `etgp_viz.timing.cholesky.ways`, and one of its M
    log : whether both axes are logarithmic

    Returns
    -------
    `Curves`, which `etgp_viz.figures.timing` draws

    Examples
    --------
    >>> from etgp_viz import timing
    >>> from etgp_viz.timing import cholesky
    >>> table = cholesky.ways(classes=(2, 4), num_inducing=(5,), repeats=1)
    >>> timing.cholesky_curves(table, 5).log
    True
    """
    labels = {
        "one": "one factor",
        "batched": "C factors, batched",
        "map_fn": "C factors, tf.map_fn",
        "python": "C factors, one by one",
    }
    check_choice(num_inducing, "num_inducing", sorted({int(M) for M in table["num_inducing"]}))
    lines = []
    for way, label in labels.items():
        rows = table[(table["way"] == way) & (table["num_inducing"] == num_inducing)]
        rows = rows.sort_values("classes")
        values = (rows[name].to_numpy(float) for name in ("classes", "seconds", "low", "high"))
        lines.append(Line(way, label, "measured", *values))
    y_title = f"Cholesky factors of {num_inducing}×{num_inducing} (seconds)"
    return Curves(tuple(labels), tuple(lines), NAMES["classes"], y_title, log)


def _with_epochs(table: pd.DataFrame, rows: int) -> pd.DataFrame:
    """The table with seconds of an epoch and their quartiles."""
    per_step = per_epoch(table, rows) / table["step"]
    columns = {f"epoch{end}": table[f"step{end}"] * per_step for end in ("", "_low", "_high")}
    return table.assign(**columns)


def _lines(table: pd.DataFrame, quantity: str, over: str, kind: str) -> list[Line]:
    lines = []
    for name in dict.fromkeys(table["model"]):
        rows = table[(table["model"] == name) & table[quantity].notna()]
        rows = rows.drop_duplicates(over).sort_values(over)
        x, y = rows[over].to_numpy(float), rows[quantity].to_numpy(float)
        low, high = (
            rows[column].to_numpy(float) if (column := f"{quantity}_{end}") in rows else y
            for end in ("low", "high")
        )
        lines.append(Line(name, MODELS[name].label, kind, x, y, low, high))
    return lines


def _fitted(table: pd.DataFrame | None, line: Line, over: str) -> Line | None:
    """The cost model along a line of a table."""
    fit = None if table is None else fit_cost(table, line.name)
    if fit is None or table is None:
        return None
    first = table[table["model"] == line.name].iloc[0]
    size = {axis: int(first[axis]) for axis in AXES}
    size["num_inputs"] = int(table.attrs["settings"]["num_inputs"])
    x = np.geomspace(line.x[0], line.x[-1], 40)
    y = np.array([fit.seconds(Size(**(size | {over: max(round(at), 1)}))) for at in x])
    return Line(line.name, line.label, "fit", np.round(x), y, y, y)
