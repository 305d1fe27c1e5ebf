"""Exercises of lesson 06, cost versus classes. All figures come from the reference run."""

import inspect
import json
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd

from etgp_viz import timing
from etgp_viz.course.answers import Function, Number, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.concepts import CLOCK
from etgp_viz.course.lessons.in_your_words import WHAT_GROWS

__all__ = ["LESSON", "gp_operations"]


#: models that are compared in this lesson
MODELS = ["etgp-linear", "svgp-separate", "svgp-shared", "svgp-batched"]
MODELS += ["svgp-batched-shared", "svgp-robustmax"]


@lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    table = timing.reference()
    return table[table["model"].isin(MODELS)]


def _steps(model: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of classes and seconds per step of one model in the reference run."""
    rows = _table()[_table()["model"] == model]
    return rows["classes"].to_numpy(float), rows["step"].to_numpy(float)


# 06.1 -----------------------------------------------------------------------------------------

_SLOPES = Numbers(("svgp-separate", "svgp-shared", "etgp"), tolerance=0.15)


def _measured_slopes() -> str:
    slopes = timing.slopes(_table()).set_index("model")
    texts = [
        f"{timing.MODELS[model].label} {slopes.slope[model]:.2f} "
        f"({slopes.low[model]:.2f} to {slopes.high[model]:.2f})"
        for model in ("svgp-separate", "svgp-shared", "etgp-linear")
    ]
    return f"Measured in the reference run, for the whole step: {', '.join(texts)}."


PREDICT = Exercise(
    id="06.1",
    kind="predict-then-reveal",
    prompt=(
        "Before you look at any measured time, think of the **Gaussian process work alone**, with "
        "many rows N and a large number of classes C. In a plot with two logarithmic axes, work "
        "that grows like C to the power s is a line of slope s. What is the slope of this work in "
        "C for SVGP with separate kernels, for SVGP with one shared kernel, and for ETGP?"
    ),
    stub='prediction = {"svgp-separate": None, "svgp-shared": None, "etgp": None}',
    name="prediction",
    answer=_SLOPES,
    truth=lambda: _SLOPES.named(1, 1, 0),
    mistakes={
        "a process per class in ETGP": Mistake(
            lambda: _SLOPES.named(1, 1, 1),
            "ETGP has one Gaussian process for all classes. It has C flows, but flows are not "
            "Gaussian process work.",
        ),
        "sharing a kernel shares the process": Mistake(
            lambda: _SLOPES.named(1, 0, 0),
            "A shared kernel is factorised once, which removes C from the M³ term. There are "
            "still C processes, each with its own q(u), so C stays in front of N·M².",
        ),
        "the exponent of M": Mistake(
            lambda: _SLOPES.named(3, 1, 0),
            "3 is the exponent of M. What happens to C·M³ when C doubles and M stays the same?",
        ),
        "exponents added": Mistake(
            lambda: _SLOPES.named(2, 1, 0),
            "Both terms of C·M³ + C·N·M² have one factor C. A sum of two lines of slope 1 has "
            "slope 1: exponents do not add up.",
        ),
    },
    hints=(
        "What happens to the work when C doubles while N and M stay the same?",
        "Count two things for each model: how many matrices are factorised, and for how many "
        "processes we need the mean and variance at N rows.",
        "Twice the work for twice the classes is slope 1; the same work is slope 0. Separate: C "
        "matrices and C processes. Shared: 1 and C. ETGP: 1 and 1.",
    ),
    solution='prediction = {"svgp-separate": 1, "svgp-shared": 1, "etgp": 0}',
    explanation=(
        "C processes need C times the work, with one kernel or with many, as soon as C·N·M² is "
        "the larger term. One process needs the same work for any C."
    ),
    reveal=_measured_slopes,
)


# 06.2 -----------------------------------------------------------------------------------------


def gp_operations(C: int, N: int, M: int) -> tuple[int, int, int]:
    """Leading terms of the Gaussian process work of one step."""
    separate = C * M**3 + C * N * M**2
    shared = M**3 + C * N * M**2
    etgp = M**3 + N * M**2
    return separate, shared, etgp


def _with_mistakes(**mistaken: Callable[[int, int, int], int]) -> Callable[[int, int, int], tuple]:
    """`gp_operations` with other formulas for some of its three numbers."""

    def function(C: int, N: int, M: int) -> tuple:
        right = dict(zip(("separate", "shared", "etgp"), gp_operations(C, N, M), strict=True))
        return tuple((right | {name: wrong(C, N, M) for name, wrong in mistaken.items()}).values())

    return function


WRITE = Exercise(
    id="06.2",
    kind="write-a-function",
    prompt=(
        "Write `gp_operations(C, N, M)`, which returns three numbers: the leading terms of the "
        "Gaussian process work of one step for SVGP with separate kernels, for SVGP with one "
        "shared kernel, and for ETGP. Count M³ for each matrix that is factorised, and N·M² for "
        "each process whose mean and variance are needed at N rows."
    ),
    stub=(
        "def gp_operations(C, N, M):\n"
        "    separate = ...\n"
        "    shared = ...\n"
        "    etgp = ...\n"
        "    return separate, shared, etgp"
    ),
    name="gp_operations",
    answer=Function(
        "gp_operations",
        ("C", "N", "M"),
        ("separate", "shared", "etgp"),
        lambda rng: [int(rng.integers(low, high)) for low, high in ((2, 60), (50, 900), (5, 40))],
    ),
    truth=lambda: gp_operations,
    mistakes={
        "the order reversed": Mistake(
            lambda: lambda C, N, M: gp_operations(C, N, M)[::-1],
            "The three numbers are right, but their order is wrong: return separate, shared, etgp.",
        ),
        "M² for M³": Mistake(
            lambda: lambda C, N, M: (C * M**2 + C * N * M**2, M**2 + C * N * M**2, M**2 + N * M**2),
            "The Cholesky factorisation of an M×M matrix costs of the order of M³, not M²: M² is "
            "only the number of its entries.",
        ),
        "N for M in the second term": Mistake(
            lambda: lambda C, N, M: (C * M**3 + C * N**2 * M, M**3 + C * N**2 * M, M**3 + N**2 * M),
            "You swapped N and M: each of the N rows costs M² (a solve with an M×M factor), so "
            "the term is N·M² and not N²·M.",
        ),
        "no C at all": Mistake(
            lambda: _with_mistakes(separate=lambda C, N, M: M**3 + N * M**2),
            "You forgot C in the first number: with separate kernels there are C matrices and C "
            "processes.",
        ),
        "C kernels but one process": Mistake(
            lambda: _with_mistakes(separate=lambda C, N, M: C * M**3 + N * M**2),
            "C is missing in front of N·M² for separate kernels: each of the C processes needs "
            "its own mean and variance at the N rows.",
        ),
        "C in the Cholesky of the shared kernel": Mistake(
            lambda: _with_mistakes(shared=lambda C, N, M: C * M**3 + C * N * M**2),
            "With one shared kernel and shared inducing points, there is one matrix to factorise: "
            "no C in front of M³ in the second number.",
        ),
        "sharing a kernel shares the process": Mistake(
            lambda: _with_mistakes(shared=lambda C, N, M: M**3 + N * M**2),
            "A shared kernel does not turn C processes into one: there are still C of them, so C "
            "stays in front of N·M² in the second number.",
        ),
        "C in ETGP": Mistake(
            lambda: _with_mistakes(etgp=lambda C, N, M: M**3 + C * N * M**2),
            "ETGP has one process: no C in the third number. (Its C flows cost something too, but "
            "they are not Gaussian process work.)",
        ),
    },
    hints=(
        "Ask two questions for each model: how many matrices are factorised, and how many "
        "processes are there?",
        "Separate: C matrices and C processes. Shared: one matrix and C processes. ETGP: one and "
        "one.",
        "Work = (matrices)·M³ + (processes)·N·M².",
    ),
    solution=inspect.getsource(gp_operations).strip(),
    explanation=(
        "One formula, (matrices)·M³ + (processes)·N·M², with C and C, 1 and C, or 1 and 1. These "
        "are the paper's O(CM³ + CNM²), O(M³ + CNM²) and O(M³ + NM²)."
    ),
    properties={
        "With one class all three are the same.": (
            lambda function: len(set(map(float, function(1, 300, 20)))) == 1
        ),
        "With separate kernels, twice the classes need exactly twice the work.": (
            lambda function: float(function(2000, 30, 7)[0]) == 2 * float(function(1000, 30, 7)[0])
        ),
    },
)


# 06.3 -----------------------------------------------------------------------------------------


def _line(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Slope and intercept by least squares."""
    return np.polyfit(x, y, 1)


def _slope_with_interval() -> str:
    row = timing.slopes(_table()).set_index("model").loc["etgp-linear"]
    return (
        f"timing.slopes gives {row.slope:.2f}, between {row.low:.2f} and {row.high:.2f} with 95 % "
        "confidence."
    )


COMPUTE = Exercise(
    id="06.3",
    kind="numeric",
    prompt=(
        "Now consider the whole step of **ETGP LINEAR**, with flows and softmax. Fit log time "
        "against log C by least squares and compute the slope, from the columns `classes` and "
        "`step` of its rows in the reference run."
    ),
    stub='rows = table[table["model"] == "etgp-linear"]\nslope = ...',
    name="slope",
    answer=Number(tolerance=0.05),
    truth=lambda: _line(*map(np.log, _steps("etgp-linear")))[0],
    mistakes={
        "raw values": Mistake(
            lambda: _line(*_steps("etgp-linear"))[0],
            "This is the slope of the plain values, in seconds per additional class. Take the "
            "logarithm of both columns first.",
        ),
        "log of time only": Mistake(
            lambda: _line(_steps("etgp-linear")[0], np.log(_steps("etgp-linear")[1]))[0],
            "You took the logarithm of the time but not of C.",
        ),
        "log of C only": Mistake(
            lambda: _line(np.log(_steps("etgp-linear")[0]), _steps("etgp-linear")[1])[0],
            "You took the logarithm of C but not of the time.",
        ),
        "axes exchanged": Mistake(
            lambda: _line(*map(np.log, reversed(_steps("etgp-linear"))))[0],
            "You swapped the axes: this is the slope of log C against log time. np.polyfit takes "
            "x first, and here x is log C.",
        ),
        "the intercept": Mistake(
            lambda: _line(*map(np.log, _steps("etgp-linear")))[1],
            "This is the intercept. np.polyfit returns the highest power first, so the slope is "
            "[0].",
        ),
        "another model": Mistake(
            lambda: _line(*map(np.log, _steps("svgp-separate")))[0],
            "This is the slope of SVGP separate; take the rows of etgp-linear.",
        ),
    },
    hints=(
        "A power law t = k·C^s is a straight line after taking logarithms: log t = log k + s·log "
        "C. Any base will do, as long as both use the same.",
        'The columns are rows["classes"] and rows["step"]; np.polyfit(x, y, 1) fits a line.',
        'np.polyfit(np.log(rows["classes"]), np.log(rows["step"]), 1) gives slope and intercept; '
        "take [0].",
    ),
    solution=(
        'rows = table[table["model"] == "etgp-linear"]\n'
        'slope = np.polyfit(np.log(rows["classes"]), np.log(rows["step"]), 1)[0]'
    ),
    explanation=(
        "The Gaussian process work of ETGP has slope 0 on paper. The slope of the whole step is "
        "larger, because flows, network and softmax do grow with C."
    ),
    reveal=_slope_with_interval,
)


# 06.4 -----------------------------------------------------------------------------------------


def _step_times_at(end: int) -> tuple[float, float]:
    """Seconds per step of the batched SVGP and of ETGP LINEAR, at the smallest or largest C."""
    return float(_steps("svgp-batched")[1][end]), float(_steps("etgp-linear")[1][end])


def _speedup_with_interval() -> str:
    speedups = timing.speedups(_table())
    speedups = speedups[speedups["model"] == "svgp-batched"]
    row = speedups.loc[speedups["classes"].idxmax()]
    text = (
        f"timing.speedups gives a factor of {row.speedup:.1f} at C = {row.classes}; another run "
        f"would give between {row.low:.1f} and {row.high:.1f}."
    )
    if row.high > 2 * row.speedup:
        text += " That interval is wide: trust the order of magnitude, not the digits."
    return text


READ = Exercise(
    id="06.4",
    kind="read-the-plot",
    prompt=(
        "Use the picture above, at the **largest** C: how many times as long as a step of ETGP "
        "LINEAR does a step of the batched SVGP take (*SVGP batched*, the rival without loops)? "
        "Within 25 % is close enough."
    ),
    stub="times_as_long = ...",
    name="times_as_long",
    answer=Number(tolerance=0.25),
    truth=lambda: _step_times_at(-1)[0] / _step_times_at(-1)[1],
    mistakes={
        "upside down": Mistake(
            lambda: _step_times_at(-1)[1] / _step_times_at(-1)[0],
            "You inverted the ratio: this is ETGP's time over SVGP's. The exercise asks how many "
            "ETGP steps fit into one SVGP step, a number above 1.",
        ),
        "decades": Mistake(
            lambda: np.log10(_step_times_at(-1)[0] / _step_times_at(-1)[1]),
            "This is the distance in decades, that is in powers of ten. On a logarithmic axis a "
            "distance is a ratio: take 10 to this power.",
        ),
        "the smallest C": Mistake(
            lambda: _step_times_at(0)[0] / _step_times_at(0)[1],
            "This is the ratio at the smallest C. Look at the right end of the picture.",
        ),
        "a difference": Mistake(
            lambda: 1e3 * (_step_times_at(-1)[0] - _step_times_at(-1)[1]),
            "This is a difference in milliseconds. The exercise asks for a ratio.",
        ),
        "growth with C": Mistake(
            lambda: _steps("etgp-linear")[1][-1] / _steps("etgp-linear")[1][0],
            "This is how much ETGP's own time grows from the left end to the right. Compare the "
            "two lines with each other, at the right end.",
        ),
    },
    hints=(
        "Find the two lines by their labels at the right end, and read both times off the axis. A "
        "small 2 or 5 on the axis means twice or five times the power of ten below it.",
        "Divide the longer time by the shorter one, in the same unit. Hovering over a marker "
        "shows its value; m stands for a thousandth.",
        'The times are table[table["classes"] == table["classes"].max()], in the column step.',
    ),
    solution=(
        'last = table[table["classes"] == table["classes"].max()].set_index("model")["step"]\n'
        'times_as_long = last["svgp-batched"] / last["etgp-linear"]'
    ),
    explanation=(
        "Neither model loops over its classes, so this ratio is due to the algorithm: one kernel "
        "and one process instead of C, and quadrature where a softmax of C processes needs Monte "
        "Carlo."
    ),
    reveal=_speedup_with_interval,
)


LESSON = Lesson(
    number="06",
    title="Cost versus classes",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz import timing\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up\n\n"
        f"models = {json.dumps(MODELS[:4])}\n"
        f"models += {json.dumps(MODELS[4:])}\n"
        "table = timing.reference()\n"
        'table = table[table["model"].isin(models)]'
    ),
    exercises=(PREDICT, WRITE, COMPUTE, READ, CLOCK, WHAT_GROWS),
    teaching={
        "": (
            "**Timing** (55 minutes): Touch 3, warm-up 2, Predict 6, Play 8, Derive with 06.2 10, "
            "laboratory 5, Code with 06.3 and 06.4 10, Check with 06.5 and 06.6 6, Reflect 5.\n\n"
            "**Open with a poll.** Which factor would you print in an abstract: the one against "
            "the slowest rival, or against the fastest? Come back to it at the end."
        ),
        "Predict": (
            "**What goes wrong.** *Sharing a kernel shares the process.* Draw C boxes on the board "
            "and one kernel above them: the boxes are still C."
        ),
        "Derive": (
            "**What goes wrong.** M³ and NM² are taken for times. They count operations; the "
            "laboratory shows how far that is from seconds.\n\n"
            "**Ask.** Which of the four steps would you do again for a second process with the "
            "same kernel?"
        ),
        "A small laboratory: C Cholesky factors": (
            "**Show with *present*.** Run the cell while you talk; ask for bets on the ratio of "
            "loop and batch at M = 20 and at M = 100 before the picture appears."
        ),
        "Reflect": (
            "**Discussion.** Is it fair to compare with GPflow's loop? With a softmax that draws "
            "samples, where robust-max would not? Let one group defend each comparison."
        ),
    },
)
