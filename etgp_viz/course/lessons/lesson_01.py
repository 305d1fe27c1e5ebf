"""Exercises of lesson 01, Gaussian processes in one sitting."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from etgp_viz.course.answers import ArrayFunction, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake

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


def _width_factors() -> dict[str, float]:
    usual = _half_width(1.0, 1.0)
    return _FACTORS.named(_half_width(1.0, 4.0) / usual, _half_width(2.0, 1.0) / usual)


PREDICT = Exercise(
    id="01.1",
    kind="predict-then-reveal",
    prompt=(
        "At each x, f₀(x) lies inside the shaded band of the explorer below with probability 95 %. "
        "Before you move anything, predict two factors: by what factor does the width of this band "
        "change when the variance σ² becomes four times as large, and by what factor when the "
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


def _rbf(power: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A kernel matrix with another formula of distance, ℓ and σ² than σ²·exp(−d²/2ℓ²)."""

    def rbf(x: np.ndarray, lengthscale: float, variance: float) -> np.ndarray:
        return power(np.abs(x[:, None] - x[None, :]), lengthscale, variance)

    return rbf


def _is_stationary(rbf: Callable) -> bool:
    x = np.array([-1.0, 0.2, 0.5, 2.0])
    return bool(np.allclose(rbf(x, 0.8, 1.7), rbf(x + 3.0, 0.8, 1.7)))


KERNEL = Exercise(
    id="01.2",
    kind="write-a-function",
    prompt=(
        "Write `rbf(x, lengthscale, variance)`: for N inputs in the array `x` it returns the "
        "matrix of all covariances, k(x, x′) = σ² exp(−(x − x′)² / (2ℓ²)), of shape [N, N]. You "
        "need no loop: `x[:, None] - x[None, :]` holds all differences."
    ),
    stub="def rbf(x, lengthscale, variance):\n    return ...",
    name="rbf",
    answer=ArrayFunction(
        "rbf",
        ("x", "lengthscale", "variance"),
        ("a kernel matrix",),
        lambda rng: (rng.uniform(-2.0, 2.0, 4), *rng.uniform(0.5, 2.0, 2).round(2)),
        shape=(4, 4),
    ),
    truth=lambda: _kernel_matrix,
    mistakes={
        "variance for standard deviation": Mistake(
            lambda: _rbf(lambda d, ell, v: v**2 * np.exp(-0.5 * (d / ell) ** 2)),
            "The argument is already the variance σ², and you squared it again. The diagonal "
            "should be the variance itself.",
        ),
        "no variance": Mistake(
            lambda: _rbf(lambda d, ell, v: np.exp(-0.5 * (d / ell) ** 2)),
            "This is the correlation: its diagonal is 1. A covariance carries the factor σ².",
        ),
        "no half": Mistake(
            lambda: _rbf(lambda d, ell, v: v * np.exp(-((d / ell) ** 2))),
            "The 2 in 2ℓ² is missing: at a distance of ℓ the kernel should have fallen to "
            "exp(−1/2) of its height.",
        ),
        "lengthscale not squared": Mistake(
            lambda: _rbf(lambda d, ell, v: v * np.exp(-0.5 * d**2 / ell)),
            "Divide by ℓ², not by ℓ: divide the distance by ℓ first, then square.",
        ),
        "distance not squared": Mistake(
            lambda: _rbf(lambda d, ell, v: v * np.exp(-0.5 * d / ell)),
            "The distance is not squared. The result is also a kernel, one with rough paths, but "
            "it is not the RBF kernel.",
        ),
    },
    hints=(
        "Compute the matrix of differences first; everything after that works element by element.",
        "Divide the differences by the lengthscale, square, multiply by −1/2, take np.exp.",
        "variance * np.exp(-0.5 * (difference / lengthscale) ** 2)",
    ),
    solution=(
        "def rbf(x, lengthscale, variance):\n"
        "    difference = x[:, None] - x[None, :]\n"
        "    return variance * np.exp(-0.5 * (difference / lengthscale) ** 2)"
    ),
    explanation=(
        "The diagonal holds the variances, and every other entry says how much two values share. "
        "Only differences of inputs appear, and that makes this kernel stationary."
    ),
    properties={"Moving all inputs by the same amount changes nothing.": _is_stationary},
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
        "standard normal numbers of shape [S, N], one row for each draw. The function returns S "
        "draws from N(0, K), of shape [S, N], made with the lower Cholesky factor L of K, which "
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
    exercises=(PREDICT, KERNEL, DRAW, CONDITION, READ),
    teaching={
        "": (
            "About 45 minutes: Predict 5, Play 10, Derive 10, Code 10, Two linked points 5, "
            "Stationarity 5. The import cell loads TensorFlow: run it while you talk."
        ),
        "Predict": (
            "Collect guesses by show of hands before anybody moves a slider. Many say 4 for the "
            "variance: let them keep it until the explorer contradicts them."
        ),
        "Play": (
            "Tick *present*. Move the lengthscale slowly from right to left and ask what stays "
            "the same: the band, and the noise behind the draw. Then *resample*, and ask what "
            "stays the same now."
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
    },
)
