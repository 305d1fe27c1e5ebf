"""Exercises of lesson 01, Gaussian processes in one sitting."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from etgp_viz.course.answers import ArrayFunction, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.choices import Conditions
from etgp_viz.course.lessons.lesson_01_posterior import NARROW, REGRESS

__all__ = ["LESSON", "PICTURES"]


def _kernel_matrix(x: Any, lengthscale: float, variance: float) -> np.ndarray:
    """RBF kernel at all pairs of inputs, ``[N, N]``, computed by the package."""
    from etgp_viz.records import prior

    return prior.covariance_matrix(prior.kernel("rbf", lengthscale, variance), np.asarray(x))


# 01.1 -----------------------------------------------------------------------------------------

_FACTORS = Numbers(("four times the variance", "twice the lengthscale"), tolerance=0.05)


def _half_width(lengthscale: float, variance: float) -> float:
    """Half the width of the central 95 % of f₀(x)."""
    from etgp_viz.records.flow import Z95

    return Z95 * float(np.sqrt(_kernel_matrix([0.0], lengthscale, variance)[0, 0]))


@cache
def _width_factors() -> dict[str, float]:
    usual = _half_width(1.0, 1.0)
    return _FACTORS.named(_half_width(1.0, 4.0) / usual, _half_width(2.0, 1.0) / usual)


PREDICT = Exercise(
    id="01.1",
    kind="predict-then-reveal",
    prompt=(
        "At each x, f₀(x) lies inside the shaded band of the pictures here with probability 95 %. "
        "Before you move anything else, predict two factors: by what factor does the width of this "
        "band change when the variance σ² becomes four times as large, and by what factor when the "
        "lengthscale ℓ becomes twice as large?"
    ),
    stub='factors = {"four times the variance": None, "twice the lengthscale": None}',
    name="factors",
    answer=_FACTORS,
    truth=_width_factors,
    mistakes={
        "variance for standard deviation": Mistake(
            lambda: _FACTORS.named(4, 1),
            "You used the variance where the standard deviation is needed. The width is a "
            "multiple of the standard deviation, which is the square root of the variance.",
        ),
        "a longer lengthscale is a wider band": Mistake(
            lambda: _FACTORS.named(2, 2),
            "The lengthscale says how far apart two inputs must be before their values have "
            "little to do with each other. It does not appear in the variance of a single value: "
            "look at k(x, x).",
        ),
        "a longer lengthscale is a narrower band": Mistake(
            lambda: _FACTORS.named(2, 0.5),
            "Smoother paths are not smaller paths. The lengthscale does not appear in k(x, x), "
            "the variance of a single value.",
        ),
    },
    hints=(
        "The band is about one value at a time. Which parameter of the kernel says how far f₀(x) "
        "spreads?",
        "The variance of f₀(x) is k(x, x). The band goes from −1.96 to 1.96 standard deviations.",
        "Four times the variance is √4 times the standard deviation. k(x, x) = σ² has no ℓ in it.",
    ),
    solution='factors = {"four times the variance": 2, "twice the lengthscale": 1}',
    explanation=(
        "The width of the band is proportional to the standard deviation, σ = √(σ²). The "
        "lengthscale relates two inputs, so the marginal at a single input does not depend on it."
    ),
    reveal=lambda: (
        f"Half the width is {_half_width(1.0, 1.0):.2f} at first, {_half_width(1.0, 4.0):.2f} "
        f"with four times the variance, and {_half_width(2.0, 1.0):.2f} with twice the lengthscale."
    ),
)


# 01.2 -----------------------------------------------------------------------------------------

#: "1 if the inputs are at most 1 apart, else 0" at x = 0, 1 and 2
_NOT_A_KERNEL = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
_WEIGHTS = Conditions(
    ("f0(0)", "f0(1)", "f0(2)"),
    tolerance=1e-9,
    conditions={
        "the variance of your weighted sum must be negative.": (
            lambda weights: bool(weights @ _NOT_A_KERNEL @ weights < 0.0)
        ),
        "the weights must not all be zero.": lambda weights: bool(np.any(weights != 0.0)),
    },
)

KERNEL = Exercise(
    id="01.2",
    kind="counterexample",
    prompt=(
        "A colleague proposes a simple kernel: k(x, x′) = 1 if the two inputs are at most 1 apart, "
        "and 0 otherwise. Show that no Gaussian process has this covariance. At x = 0, 1 and 2 the "
        "matrix would be [[1, 1, 0], [1, 1, 1], [0, 1, 1]]. Find three weights for which the sum "
        "of the weighted values f₀(0), f₀(1) and f₀(2) would have a negative variance."
    ),
    stub='weights = {"f0(0)": ..., "f0(1)": ..., "f0(2)": ...}',
    name="weights",
    answer=_WEIGHTS,
    truth=lambda: _WEIGHTS.named(1.0, -1.0, 1.0),
    mistakes={
        "all zero": Mistake(
            lambda: _WEIGHTS.named(0.0, 0.0, 0.0),
            "With all weights zero the sum is 0, whose variance is 0. Every matrix allows that.",
        ),
        "a plain sum": Mistake(
            lambda: _WEIGHTS.named(1.0, 1.0, 1.0),
            "The variance of this sum is not negative. Write it out: add the matrix entries, each "
            "multiplied by the weights of its row and its column. Which entries can you make "
            "count with a minus?",
        ),
        "a difference of neighbours": Mistake(
            lambda: _WEIGHTS.named(1.0, -1.0, 0.0),
            "The variance of this sum is not negative. Write it out: add the matrix entries, each "
            "multiplied by the weights of its row and its column. Which entries can you make "
            "count with a minus?",
        ),
        "the ends against each other": Mistake(
            lambda: _WEIGHTS.named(1.0, 0.0, -1.0),
            "The variance of this sum is not negative. Write it out: add the matrix entries, each "
            "multiplied by the weights of its row and its column. Which entries can you make "
            "count with a minus?",
        ),
    },
    hints=(
        "The variance of a weighted sum is the sum over all entries of K, each times the weights "
        "of its row and its column.",
        "f₀(0) and f₀(1) should be the same number, and so should f₀(1) and f₀(2). But f₀(0) and "
        "f₀(2) should have nothing to do with each other. Use this contradiction.",
        "Give the middle value a weight of the opposite sign.",
    ),
    solution='weights = {"f0(0)": 1, "f0(1)": -1, "f0(2)": 1}',
    explanation=(
        "The variance would be 3 − 4 = −1. A correlation of 1 between neighbours forces all three "
        "values to be equal, so a covariance of 0 between the ends is impossible: not every "
        "function of two inputs is a kernel."
    ),
)


# 01.3 -----------------------------------------------------------------------------------------


def _draw_inputs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A covariance matrix of four values, and the noise of three draws."""
    root = rng.uniform(0.0, 1.0, (4, 4))
    return root @ root.T + 0.1 * np.eye(4), rng.standard_normal((3, 4))


def _reference_draw(K: np.ndarray, noise: np.ndarray) -> np.ndarray:
    from etgp_viz.records import prior

    return prior.draw(K, noise)


def _recovers_covariance(draw: Callable) -> bool:
    """With noise e₁ … e_N the draws are the columns of L, and Σ over them is L Lᵀ = K."""
    K = _kernel_matrix([0.0, 0.5, 1.2, 2.0], 0.6, 1.5)
    columns = np.asarray(draw(K, np.eye(4)))
    return bool(np.allclose(columns.T @ columns, K, rtol=1e-4, atol=1e-4))


DRAW = Exercise(
    id="01.3",
    kind="write-a-function",
    prompt=(
        "Write `draw(K, noise)`: `K` is a covariance matrix of shape [N, N], `noise` an array of "
        "standard normal numbers of shape [R, N], one row for each draw. The function returns R "
        "draws from N(0, K), of shape [R, N], made with the lower Cholesky factor L of K, which "
        "`np.linalg.cholesky(K)` returns."
    ),
    stub="def draw(K, noise):\n    return ...",
    name="draw",
    answer=ArrayFunction(
        "draw", ("K", "noise"), ("draws",), _draw_inputs, tolerance=1e-4, shape=(3, 4)
    ),
    truth=lambda: _reference_draw,
    mistakes={
        "K in place of its root": Mistake(
            lambda: lambda K, noise: noise @ K,
            "You multiplied by K itself, which is using the variance for the standard deviation "
            "in N dimensions. These draws have the covariance K·K. You need a root of K.",
        ),
        "not transposed": Mistake(
            lambda: lambda K, noise: noise @ np.linalg.cholesky(K),
            "Each draw is a row here. f = L ε for a column becomes noise @ L.T for rows; without "
            "the transpose the covariance is LᵀL, which is not K.",
        ),
        "independent values": Mistake(
            lambda: lambda K, noise: noise * np.sqrt(np.diag(K)),
            "Every value has the right variance, but no two values are correlated: you used only "
            "the diagonal of K.",
        ),
    },
    hints=(
        "In one dimension a draw is σ·ε, where σ is the root of the variance. Here L is that root.",
        "A column ε becomes the draw L ε. Your noise has its draws in rows, so transpose.",
        "(L @ noise.T).T, or shorter noise @ L.T",
    ),
    solution="def draw(K, noise):\n    L = np.linalg.cholesky(K)\n    return noise @ L.T",
    explanation=(
        "Cov[L ε] = L Cov[ε] Lᵀ = L Lᵀ = K. The noise does not depend on the kernel: with the "
        "same noise, another kernel gives another shape of the same draw."
    ),
    properties={
        "With the identity matrix as noise, the draws D satisfy DᵀD = K.": _recovers_covariance
    },
)


# 01.4 -----------------------------------------------------------------------------------------


def _conditioned(
    slope: Callable = lambda v, r: r, variance: Callable = lambda v, r: v * (1 - r**2)
) -> dict[str, float]:
    """Mean and deviation of f₀(1) given f₀(0) = 1.5, by functions of σ² and ρ, right or wrong."""
    K = _kernel_matrix([0.0, 1.0], 1.0, 2.0)
    v, r = float(K[0, 0]), float(K[0, 1] / K[0, 0])
    return {"mean": 1.5 * slope(v, r), "standard deviation": float(np.sqrt(variance(v, r)))}


CONDITION = Exercise(
    id="01.4",
    kind="numeric",
    prompt=(
        "An RBF kernel has variance σ² = 2 and lengthscale ℓ = 1. You are told that f₀(0) = 1.5. "
        "Compute the mean and the standard deviation of f₀(1) given this value."
    ),
    stub='f1 = {"mean": ..., "standard deviation": ...}',
    name="f1",
    answer=Numbers(("mean", "standard deviation"), tolerance=0.02),
    truth=_conditioned,
    mistakes={
        "variance for standard deviation": Mistake(
            lambda: _conditioned(variance=lambda v, r: (v * (1 - r**2)) ** 2),
            "This is the variance σ²(1 − ρ²). The standard deviation is its root.",
        ),
        "covariance for correlation": Mistake(
            lambda: _conditioned(slope=lambda v, r: v * r),
            "You multiplied the known value by the covariance k(0, 1). Divide that by the "
            "variance k(0, 0): the factor is the correlation ρ.",
        ),
        "nothing learnt": Mistake(
            lambda: _conditioned(variance=lambda v, r: v),
            "This is the standard deviation before you were told anything. Knowing a correlated "
            "value reduces it by the factor √(1 − ρ²).",
        ),
        "correlation not squared": Mistake(
            lambda: _conditioned(variance=lambda v, r: v * (1 - r)),
            "In the variance the correlation is squared: σ²(1 − ρ²).",
        ),
    },
    hints=(
        "First compute the correlation of the two values: ρ = k(0, 1)/σ².",
        "The mean is ρ times the known value. The variance is σ²(1 − ρ²).",
        "ρ = exp(−1/2). Then 1.5·ρ, and the root of 2·(1 − ρ²).",
    ),
    solution=(
        "rho = np.exp(-0.5)\n"
        'f1 = {"mean": 1.5 * rho, "standard deviation": np.sqrt(2 * (1 - rho**2))}'
    ),
    explanation=(
        "The mean follows the known value as far as the correlation lets it, and the spread "
        "shrinks to √(1 − ρ²) of what it was. With many known values this is GP regression."
    ),
)


# 01.5 -----------------------------------------------------------------------------------------

#: letter in the picture of exercise 01.5 → kernel
PICTURES = {"A": "periodic", "B": "nnet", "C": "matern32", "D": "arccos"}


@cache
def _stationarity() -> dict[str, int]:
    """Whether each matrix is constant along its diagonals."""
    from etgp_viz.records import flow as flow_records
    from etgp_viz.records import prior

    x = np.linspace(-3.0, 3.0, 30)
    matrices = {
        letter: prior.covariance_matrix(prior.kernel(name), x) for letter, name in PICTURES.items()
    }
    return {letter: int(flow_records.not_toeplitz(K) < 1e-6) for letter, K in matrices.items()}


READ = Exercise(
    id="01.5",
    kind="read-the-plot",
    prompt=(
        "Four kernels, four covariance matrices over x and x′ from −3 to 3. Which of the four "
        "processes are stationary? Write 1 for stationary and 0 for not stationary."
    ),
    stub='stationary = {"A": None, "B": None, "C": None, "D": None}',
    name="stationary",
    answer=Numbers(tuple(PICTURES), tolerance=0.1),
    truth=_stationarity,
    mistakes={
        "a constant variance is enough": Mistake(
            lambda: _stationarity() | {"D": 1},
            "In D the main diagonal has a single colour, so the variance is the same everywhere. "
            "But look at the diagonals beside it: near the centre the covariance falls faster "
            "than near the corners. All diagonals must be constant.",
        ),
        "stripes are not stationary": Mistake(
            lambda: _stationarity() | {"A": 0},
            "The stripes of A run along the diagonals, so the value depends only on x − x′. It "
            "does not matter that it repeats after one period.",
        ),
        "symmetry is enough": Mistake(
            lambda: _stationarity() | {"B": 1},
            "B is symmetric, as every covariance matrix is. But its main diagonal changes colour: "
            "the variance depends on x.",
        ),
    },
    hints=(
        "Stationary means that the covariance depends only on x − x′. Where in the picture is x − "
        "x′ the same?",
        "Along each diagonal from upper left to lower right. Follow the main one first: does its "
        "colour change?",
        "Then follow a diagonal beside it. One of the four has a constant main diagonal, but "
        "other diagonals that change.",
    ),
    solution='stationary = {"A": 1, "B": 0, "C": 1, "D": 0}',
    explanation=(
        "A is the periodic kernel and C the Matérn 3/2: both are functions of x − x′. B is the "
        "neural-network kernel and D the arc-cosine kernel: both have the point x = 0 built in."
    ),
)


LESSON = Lesson(
    number="01",
    title="Gaussian processes in one sitting",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz import prior\n"
        "from etgp_viz.course import check, hint, progress, solution\n"
        "from etgp_viz.records import flow as flow_records"
    ),
    exercises=(PREDICT, KERNEL, DRAW, CONDITION, READ, NARROW, REGRESS),
    teaching={
        "": (
            "**Timing** (80 minutes): Touch 3, Predict 5, Play 10, Derive 10, Code 10, linked "
            "points 6, Stationarity 6, The posterior 27, Check 3. In two sittings, break before "
            "the posterior. The setup cell loads TensorFlow: run it while you talk."
        ),
        "Predict": (
            "Collect guesses by a show of hands before anybody moves a slider. Many say 4 for the "
            "variance: let them keep it until the picture contradicts them."
        ),
        "Play": (
            "Before each of the three sliders, ask what will stay the same. Variance: the shape "
            "of the draws. Draws: the band. Kernel: the band again, and the noise behind the "
            "draws. Let the class guess how many of 40 draws will be inside the band at x = 0 "
            "(about 38)."
        ),
        "Derive": (
            "What students get wrong: that a Gaussian process is a function with Gaussian shape; "
            "that the kernel is the function; that the 95 % band holds 95 % of *paths* (it holds "
            "95 % at each x, and many paths leave it somewhere)."
        ),
        "Two linked points": (
            "Ask the class: beyond what distance does one value say nothing about the other? With "
            "this kernel it is never exactly nothing."
        ),
        "Stationarity": (
            "For discussion: name a quantity in your own field for which stationarity is wrong, "
            "and say what changes along x: the level, the size, or the links between neighbours. "
            "Lesson 03 lets the first two change, but not the third."
        ),
        "Check: find the mistake": (
            "Draw two sketches on the board: a smooth draw inside a band, and a jagged one inside "
            "the same band. Both have the same marginals. What students get wrong: that the mean "
            "and the band are the whole posterior."
        ),
        "The posterior: what data say": (
            "Project the explorer and let the class call out where to click next; then ask who "
            "can *widen* the band by moving an observation (nobody can, unless they move it "
            "sideways). What students get wrong: that a surprising reading makes the band wider; "
            "that the band holds new observations (it holds the function; tick *band of a new "
            "observation*); that the largest evidence is the truth (it compares kernels on these "
            "data, no more). For discussion: what would you have to believe to extrapolate?"
        ),
    },
)
