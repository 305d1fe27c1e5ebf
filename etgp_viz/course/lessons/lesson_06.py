"""Exercises of lesson 06, cost versus classes. Every figure comes from the reference run."""

import inspect
import json
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd

from etgp_viz import timing
from etgp_viz.course.answers import Function, Number, Numbers
from etgp_viz.course.exercise import Exercise, Lesson, Mistake

__all__ = ["LESSON", "gp_operations"]


#: who races in this lesson
MODELS = ["etgp-linear", "svgp-separate", "svgp-shared", "svgp-batched"]


@lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    table = timing.reference()
    return table[table["model"].isin(MODELS)]


def _steps(model: str) -> tuple[np.ndarray, np.ndarray]:
    """C and the seconds of a step, of one model in the reference run."""
    rows = _table()[_table()["model"] == model]
    return rows["classes"].to_numpy(float), rows["step"].to_numpy(float)


# 06.1 -----------------------------------------------------------------------------------------

_GUESSED = ("svgp-separate", "svgp-shared", "etgp")


def _guess(*slopes: float) -> dict[str, float]:
    return dict(zip(_GUESSED, slopes, strict=True))


def _measured_slopes() -> str:
    found = timing.slopes(_table()).set_index("model")
    told = [
        f"{timing.MODELS[model].label} {found.slope[model]:.2f} "
        f"({found.low[model]:.2f} to {found.high[model]:.2f})"
        for model in ("svgp-separate", "svgp-shared", "etgp-linear")
    ]
    return f"Measured in the reference run, for the whole step: {', '.join(told)}."


PREDICT = Exercise(
    id="06.1",
    kind="predict-then-reveal",
    prompt=(
        "Before you look at any time: think of the **Gaussian process work alone**, with many "
        "rows N and a large number of classes C. On paper with two logarithmic axes, work that "
        "grows like C to the power s is a line of slope s. Which slope does the work have in C "
        "for SVGP with separate kernels, for SVGP with one shared kernel, and for ETGP?"
    ),
    stub='prediction = {"svgp-separate": None, "svgp-shared": None, "etgp": None}',
    name="prediction",
    answer=Numbers(_GUESSED, tolerance=0.15),
    truth=lambda: _guess(1, 1, 0),
    mistakes={
        "a process per class in ETGP": Mistake(
            lambda: _guess(1, 1, 1),
            "ETGP has one Gaussian process for all classes; what it has C of are flows, and those "
            "are not Gaussian process work.",
        ),
        "sharing a kernel shares the process": Mistake(
            lambda: _guess(1, 0, 0),
            "A shared kernel is factorised once, which takes C away from M³. There are still C "
            "processes, each with its own q(u), and so C stays in front of N·M².",
        ),
        "the exponent of M": Mistake(
            lambda: _guess(3, 1, 0),
            "3 is the exponent of M. Ask what happens to C·M³ when C doubles and M stays.",
        ),
        "exponents added": Mistake(
            lambda: _guess(2, 1, 0),
            "Both terms of C·M³ + C·N·M² have one factor C. A sum of two lines of slope 1 has "
            "slope 1: exponents do not add up.",
        ),
    },
    hints=(
        "What happens to the work when C doubles, and N and M stay as they are?",
        "Count two things for each model: how many matrices are factorised, and how many processes "
        "need their mean and variance at N rows.",
        "Twice the work for twice the classes is slope 1; the same work is slope 0. Separate: C "
        "and C. Shared: 1 and C. ETGP: 1 and 1.",
    ),
    solution='prediction = {"svgp-separate": 1, "svgp-shared": 1, "etgp": 0}',
    explanation=(
        "C processes are C times the work, with one kernel or with many, as soon as C·N·M² is the "
        "larger term; one process is the same work for any C."
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


def _but(**mistaken: Callable[[int, int, int], int]) -> Callable[[int, int, int], tuple]:
    """The function, with some of its three numbers mistaken."""

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
            "These are the right three numbers in the wrong order: return separate, shared, etgp.",
        ),
        "M² for M³": Mistake(
            lambda: (
                lambda C, N, M: (
                    C * M**2 + C * N * M**2,
                    M**2 + C * N * M**2,
                    M**2 + N * M**2,
                )
            ),
            "A Cholesky factor of an M×M matrix costs of the order of M³, not M²: M² is only how "
            "many numbers there are in it.",
        ),
        "N for M in the second term": Mistake(
            lambda: (
                lambda C, N, M: (
                    C * M**3 + C * N**2 * M,
                    M**3 + C * N**2 * M,
                    M**3 + N**2 * M,
                )
            ),
            "N and M have changed places: each of the N rows costs M² (a solve with an M×M "
            "factor), so it is N·M² and not N²·M.",
        ),
        "no C at all": Mistake(
            lambda: _but(separate=lambda C, N, M: M**3 + N * M**2),
            "You forgot C in the first number: with separate kernels there are C matrices and C "
            "processes.",
        ),
        "C kernels but one process": Mistake(
            lambda: _but(separate=lambda C, N, M: C * M**3 + N * M**2),
            "C is missing in front of N·M² for separate kernels: each of the C processes needs "
            "its own mean and variance at the N rows.",
        ),
        "C in the Cholesky of the shared kernel": Mistake(
            lambda: _but(shared=lambda C, N, M: C * M**3 + C * N * M**2),
            "With one shared kernel and shared inducing points there is one matrix to factorise: "
            "no C in front of M³ in the second number.",
        ),
        "sharing a kernel shares the process": Mistake(
            lambda: _but(shared=lambda C, N, M: M**3 + N * M**2),
            "A shared kernel does not make the processes one: there are still C of them, so C "
            "stays in front of N·M² in the second number.",
        ),
        "C in ETGP": Mistake(
            lambda: _but(etgp=lambda C, N, M: M**3 + C * N * M**2),
            "ETGP has one process: no C in the third number. (Its C flows cost something too, but "
            "they are not Gaussian process work.)",
        ),
    },
    hints=(
        "For each model ask twice: how many matrices are factorised, and how many processes are "
        "there?",
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
        "Twice the classes are exactly twice the work with separate kernels.": (
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
        f"timing.slopes says {row.slope:.2f}, between {row.low:.2f} and {row.high:.2f} with 95 % "
        "confidence."
    )


COMPUTE = Exercise(
    id="06.3",
    kind="numeric",
    prompt=(
        "Now the whole step of **ETGP LINEAR**, with flows and softmax. Compute the slope of log "
        "time in log C by least squares, from the columns `classes` and `step` of its rows in the "
        "reference run."
    ),
    stub='rows = table[table["model"] == "etgp-linear"]\nslope = ...',
    name="slope",
    answer=Number(tolerance=0.05),
    truth=lambda: _line(*map(np.log, _steps("etgp-linear")))[0],
    mistakes={
        "raw values": Mistake(
            lambda: _line(*_steps("etgp-linear"))[0],
            "This is the slope of the plain values: seconds for each class more. Take the "
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
            "Upside down: this is the slope of log C in log time. np.polyfit takes x first, and "
            "here x is log C.",
        ),
        "the intercept": Mistake(
            lambda: _line(*map(np.log, _steps("etgp-linear")))[1],
            "This is the intercept. np.polyfit gives the highest power first, so the slope is [0].",
        ),
        "another model": Mistake(
            lambda: _line(*map(np.log, _steps("svgp-separate")))[0],
            "This is the slope of SVGP separate; take the rows of etgp-linear.",
        ),
    },
    hints=(
        "A power law t = k·C^s is a straight line after taking logarithms: log t = log k + s·log "
        "C. Any base will do, the same for both.",
        'The columns are rows["classes"] and rows["step"]; np.polyfit(x, y, 1) fits a line.',
        'np.polyfit(np.log(rows["classes"]), np.log(rows["step"]), 1) gives slope and intercept; '
        "take [0].",
    ),
    solution=(
        'rows = table[table["model"] == "etgp-linear"]\n'
        'slope = np.polyfit(np.log(rows["classes"]), np.log(rows["step"]), 1)[0]'
    ),
    explanation=(
        "The Gaussian process work of ETGP has slope 0 on paper. The whole step lies above that, "
        "because flows, network and softmax do grow with C."
    ),
    reveal=_slope_with_interval,
)


# 06.4 -----------------------------------------------------------------------------------------


def _at(end: int) -> tuple[float, float]:
    """Seconds of a step of the batched SVGP and of ETGP LINEAR at the smallest or largest C."""
    return float(_steps("svgp-batched")[1][end]), float(_steps("etgp-linear")[1][end])


def _speedup_with_interval() -> str:
    found = timing.speedups(_table())
    found = found[found["model"] == "svgp-batched"]
    row = found.loc[found["classes"].idxmax()]
    said = (
        f"timing.speedups says {row.speedup:.1f} times at C = {row.classes}; another run would "
        f"give between {row.low:.1f} and {row.high:.1f}."
    )
    if row.high > 2 * row.speedup:
        said += " That interval is wide: trust the order of magnitude, not the digits."
    return said


READ = Exercise(
    id="06.4",
    kind="read-the-plot",
    prompt=(
        "Read it off the picture above, at the **largest** C: how many times as long does a step "
        "of the batched SVGP (*SVGP batched*, the rival without loops) take as a step of "
        "ETGP LINEAR? A quarter more or less is near enough."
    ),
    stub="times_as_long = ...",
    name="times_as_long",
    answer=Number(tolerance=0.25),
    truth=lambda: _at(-1)[0] / _at(-1)[1],
    mistakes={
        "upside down": Mistake(
            lambda: _at(-1)[1] / _at(-1)[0],
            "Upside down: this is ETGP's time over SVGP's. Asked is how many ETGP steps fit into "
            "one of SVGP, a number above 1.",
        ),
        "decades": Mistake(
            lambda: np.log10(_at(-1)[0] / _at(-1)[1]),
            "This is the distance in decades, the power of ten. On a logarithmic axis a distance "
            "is a ratio: take 10 to this power.",
        ),
        "the smallest C": Mistake(
            lambda: _at(0)[0] / _at(0)[1],
            "This is the ratio at the smallest C. Look at the right end of the picture.",
        ),
        "a difference": Mistake(
            lambda: 1e3 * (_at(-1)[0] - _at(-1)[1]),
            "This is a difference in milliseconds. Asked is a ratio.",
        ),
        "growth with C": Mistake(
            lambda: _steps("etgp-linear")[1][-1] / _steps("etgp-linear")[1][0],
            "This is how much ETGP's own time grows from the left end to the right. Compare the "
            "two lines with each other, at the right end.",
        ),
    },
    hints=(
        "Find the two lines by their labels at the right end, and read both times off the axis. A "
        "small 2 or 5 on it is twice or five times the power of ten below.",
        "Divide the longer time by the shorter one, in the same unit. Pointing at a marker shows "
        "its value; m stands for a thousandth.",
        'The times are table[table["classes"] == table["classes"].max()], in the column step.',
    ),
    solution=(
        'last = table[table["classes"] == table["classes"].max()].set_index("model")["step"]\n'
        'times_as_long = last["svgp-batched"] / last["etgp-linear"]'
    ),
    explanation=(
        "Neither model goes through its classes one by one, so this ratio is the algorithm: one "
        "process in place of C, and quadrature in place of Monte Carlo."
    ),
    reveal=_speedup_with_interval,
)


LESSON = Lesson(
    number="06",
    title="Cost versus classes",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz import timing\n"
        "from etgp_viz.course import check, hint, progress, solution\n\n"
        f"models = {json.dumps(MODELS)}\n"
        "table = timing.reference()\n"
        'table = table[table["model"].isin(models)]'
    ),
    exercises=(PREDICT, WRITE, COMPUTE, READ),
)
