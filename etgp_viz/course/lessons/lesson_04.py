"""Exercises of lesson 04, one latent and C processes."""

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from etgp_viz.course.answers import ArrayFunction, Function, Number, Numbers, Target
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.concepts import CONSTANT_CLASSIFIER
from etgp_viz.course.lessons.in_your_words import NEVER_INDEPENDENT

__all__ = ["LESSON", "hidden_covariance"]

# 04.1 -----------------------------------------------------------------------------------------

_CORRELATIONS = Numbers(("f1, f2", "f1, f3", "own latents"), tolerance=0.05)
_SCALES, _SHIFTS = (2.0, 5.0, -0.6), (1.0, -3.0, 4.0)


def _drawn_correlations() -> str:
    from etgp_viz.core import flows
    from etgp_viz.records import prior, shared_latent

    params, noise = np.column_stack([_SCALES, _SHIFTS]), prior.noise(0, 3, 2000)
    etgp, tgp = (
        np.corrcoef(shared_latent.joint_draws(model, flows.Linear(), params, 1.0, noise))
        for model in ("etgp", "tgp")
    )
    return (
        f"In 2000 joint draws they are {etgp[0, 1]:.2f}, {etgp[0, 2]:.2f} and {tgp[0, 1]:.2f}."
    ).replace("-", "−")


PREDICT = Exercise(
    id="04.1",
    kind="predict-then-reveal",
    prompt=(
        "At one input x let f₀(x) have variance 1. Three classes have linear flows: f¹ = 2·f₀ + "
        "1, f² = 5·f₀ − 3 and f³ = −0.6·f₀ + 4. Predict three correlations at this x: that of f¹ "
        "and f²; that of f¹ and f³; and that of f¹ and f² in the naive TGP, where the flows are "
        "the same but each class warps a draw of its own."
    ),
    stub='prediction = {"f1, f2": None, "f1, f3": None, "own latents": None}',
    name="prediction",
    answer=_CORRELATIONS,
    truth=lambda: _CORRELATIONS.named(1, -1, 0),
    mistakes={
        "a new latent for each class": Mistake(
            lambda: _CORRELATIONS.named(0, 0, 0),
            "You drew a new latent for each class. In ETGP there is one draw of f₀, and every "
            "class warps that same draw.",
        ),
        "covariances": Mistake(
            lambda: _CORRELATIONS.named(10, -1.2, 0),
            "These are covariances, aᶜ·aᵈ·Var[f₀]. For a correlation, divide by both standard "
            "deviations, |aᶜ| and |aᵈ|.",
        ),
        "scales matter": Mistake(
            lambda: _CORRELATIONS.named(0.4, -0.3, 0),
            "A correlation does not depend on how strongly a class is stretched: dividing by the "
            "standard deviations removes |aᶜ|. Only the sign of aᶜ remains.",
        ),
        "the sign": Mistake(
            lambda: _CORRELATIONS.named(1, 1, 0),
            "The scale of f³ is negative: when f₀ goes up, f³ goes down.",
        ),
        "equal flows link": Mistake(
            lambda: _CORRELATIONS.named(1, -1, 1),
            "In the naive TGP each class has a latent of its own, independent of the others. "
            "Flows warp values; they do not make them dependent.",
        ),
    },
    hints=(
        "Write f² as a function of f¹: solve f¹ = 2·f₀ + 1 for f₀ first.",
        "If one number is a linear function of another, f² = s·f¹ + t, their correlation is 1 for "
        "s > 0 and −1 for s < 0, whatever the size of s.",
        "Rising line: 1. Falling line: −1. Independent draws: 0.",
    ),
    solution='prediction = {"f1, f2": 1, "f1, f3": -1, "own latents": 0}',
    explanation=(
        "With linear flows, each class is a linear function of every other class at the same x, "
        "so the correlation is exactly 1 or −1. Without the shared draw they are independent."
    ),
    reveal=_drawn_correlations,
)


# 04.2 -----------------------------------------------------------------------------------------


def from_pivot(f1: float, a1: float, b1: float, a2: float, b2: float) -> float:
    """Value of f², computed from the pivot f¹ through f₀."""
    f0 = (f1 - b1) / a1
    return a2 * f0 + b2


PIVOT = Exercise(
    id="04.2",
    kind="write-a-function",
    prompt=(
        "Write `from_pivot(f1, a1, b1, a2, b2)`: the value of f² at some x, given the value f1 of "
        "the pivot there and the linear flows f¹ = a1·f₀ + b1 and f² = a2·f₀ + b2."
    ),
    stub="def from_pivot(f1, a1, b1, a2, b2):\n    return ...",
    name="from_pivot",
    answer=Function(
        "from_pivot",
        ("f1", "a1", "b1", "a2", "b2"),
        ("f²",),
        lambda rng: [round(float(value), 2) for value in rng.uniform(0.5, 3.0, 5)],
    ),
    truth=lambda: from_pivot,
    mistakes={
        "the pivot for the latent": Mistake(
            lambda: lambda f1, a1, b1, a2, b2: a2 * f1 + b2,
            "You put f¹ into the second flow as if it were f₀. First undo the first flow: f₀ = "
            "(G¹)⁻¹(f¹).",
        ),
        "the shift of the pivot": Mistake(
            lambda: lambda f1, a1, b1, a2, b2: a2 * f1 / a1 + b2,
            "The shift b1 of the pivot is still there: subtract it before you divide by a1.",
        ),
        "divided before shifted": Mistake(
            lambda: lambda f1, a1, b1, a2, b2: a2 * (f1 / a1 - b1) + b2,
            "Undo the steps in reverse order: the shift came last, so remove it first. (f1 − "
            "b1)/a1, not f1/a1 − b1.",
        ),
        "not undone": Mistake(
            lambda: lambda f1, a1, b1, a2, b2: a2 * (a1 * f1 + b1) + b2,
            "You applied the first flow again. You need its inverse: (f1 − b1)/a1.",
        ),
        "only the latent": Mistake(
            lambda: lambda f1, a1, b1, a2, b2: (f1 - b1) / a1,
            "This is f₀, so you are halfway there. Now apply the second flow to it.",
        ),
    },
    hints=(
        "Two steps: back from f¹ to f₀, then forward from f₀ to f².",
        "Solve f1 = a1·f₀ + b1 for f₀.",
        "f0 = (f1 - b1) / a1, and then a2 * f0 + b2.",
    ),
    solution=(
        "def from_pivot(f1, a1, b1, a2, b2):\n"
        "    f0 = (f1 - b1) / a1  # undo the first flow\n"
        "    return a2 * f0 + b2  # apply the second one"
    ),
    explanation=(
        "f² = G²((G¹)⁻¹(f¹)): one value determines all others, with no randomness left. This "
        "needs a1 ≠ 0: a constant pivot says nothing about f₀."
    ),
    properties={
        "A class is its own image: from_pivot(f1, a, b, a, b) is f1.": (
            lambda function: abs(function(0.7, -2.0, 0.3, -2.0, 0.3) - 0.7) < 1e-9
        ),
        "Going to f² and back gives the pivot again.": (
            lambda function: (
                abs(function(function(0.7, 2.0, 1.0, -3.0, 4.0), -3.0, 4.0, 2.0, 1.0) - 0.7) < 1e-9
            )
        ),
    },
)


# 04.3 -----------------------------------------------------------------------------------------


def joint_covariance(K: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Covariance of all C·N values of linear flows with scales ``[C, N]``."""
    from etgp_viz.records import covariance

    return covariance.joint_linear(K, a)


def _in_blocks(block: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A joint covariance whose block (c, d) is ``block(K, a, c, d)``."""

    def function(K: np.ndarray, a: np.ndarray) -> np.ndarray:
        classes = range(len(a))
        return np.block([[block(K, a, c, d) for d in classes] for c in classes])

    return function


def _by_input(K: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Joint covariance in the other order: first all classes at the first input."""
    order = np.arange(a.size).reshape(a.shape).T.ravel()
    return joint_covariance(K, a)[np.ix_(order, order)]


def _random_covariance(rng: np.random.Generator, N: int) -> np.ndarray:
    root = rng.normal(size=(N, N))
    return root @ root.T


def _has_rank(function: Callable[..., np.ndarray]) -> bool:
    rng = np.random.default_rng(1)
    joint = np.asarray(function(_random_covariance(rng, 2), rng.normal(size=(5, 2))))
    return joint.shape == (10, 10) and np.linalg.matrix_rank(joint) == 2


WRITE = Exercise(
    id="04.3",
    kind="write-a-function",
    prompt=(
        "Write `joint_covariance(K, a)`: the covariance of **all** C·N values of C processes with "
        "linear flows, for K of shape [N, N] and scales a of shape [C, N]. Rows and columns go "
        "class by class: first f¹ at the N inputs, then f² at the N inputs, and so on."
    ),
    stub="def joint_covariance(K, a):\n    return ...",
    name="joint_covariance",
    answer=ArrayFunction(
        "joint_covariance",
        ("K", "a"),
        ("the joint covariance",),
        lambda rng: [_random_covariance(rng, 4), rng.normal(size=(3, 4))],
        shape=(12, 12),
    ),
    truth=lambda: joint_covariance,
    mistakes={
        "forgot the second scale": Mistake(
            lambda: _in_blocks(lambda K, a, c, d: a[c][:, None] * K),
            "You forgot aᵈ(x′): the rows of each block are scaled by aᶜ, its columns must be "
            "scaled by aᵈ as well.",
        ),
        "one class's scale twice": Mistake(
            lambda: _in_blocks(lambda K, a, c, d: np.outer(a[c], a[c]) * K),
            "Block (c, d) has aᶜ on both sides: its columns belong to class d and take aᵈ.",
        ),
        "variance for standard deviation": Mistake(
            lambda: _in_blocks(lambda K, a, c, d: np.outer(a[c] ** 2, a[d] ** 2) * K),
            "You squared the scales. aᶜ acts like a standard deviation: it appears once on each "
            "side, so its square arises by itself where c = d.",
        ),
        "a new latent for each class": Mistake(
            lambda: _in_blocks(lambda K, a, c, d: (c == d) * np.outer(a[c], a[c]) * K),
            "The blocks between different classes are zero: that is a new latent for each class. "
            "Here all classes warp the same f₀.",
        ),
        "input by input": Mistake(
            lambda: _by_input,
            "The entries are right, but their order is not: go class by class, so that the first "
            "N rows are f¹ at all inputs.",
        ),
        "a matrix product": Mistake(
            lambda: _in_blocks(lambda K, a, c, d: np.outer(a[c], a[d]) @ K),
            "aᶜ(aᵈ)ᵀ and K are multiplied entry by entry (⊙, in NumPy *), not as matrices (@).",
        ),
    },
    hints=(
        "Start with one pair of classes c, d: an N×N block with entries aᶜ(x)·aᵈ(x′)·k(x, x′).",
        "np.outer(a[c], a[d]) * K is that block; np.block joins a list of lists of blocks. Or "
        "stack the maps: F = A f₀ with A of shape [C·N, N].",
        "A = np.concatenate([np.diag(a_c) for a_c in a]), and the joint covariance is A @ K @ A.T.",
    ),
    solution=(
        "def joint_covariance(K, a):\n"
        "    A = np.concatenate([np.diag(a_c) for a_c in a])  # [C·N, N]\n"
        "    return A @ K @ A.T"
    ),
    explanation=(
        "All C·N values are one linear map A of N values of f₀. So their distribution is "
        "Gaussian, with or without the pivot among them, and its covariance A K Aᵀ has rank at "
        "most N."
    ),
    properties={
        "Five classes at two inputs are 10 values, and their covariance has rank 2.": _has_rank,
        "With all scales 1, every block is K itself.": (
            lambda function: np.allclose(
                function(np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones((3, 2))),
                np.tile([[2.0, 0.5], [0.5, 1.0]], (3, 3)),
            )
        ),
    },
)


# 04.4 -----------------------------------------------------------------------------------------

BENT = Exercise(
    id="04.4",
    kind="numeric",
    prompt=(
        "At one input let f₀ be standard normal. Class 1 is f₀ itself, and class 2 has a curved "
        "flow: f² = exp(f₀). Compute the correlation of f¹ and f², to two digits or more. You may "
        "use three facts about a standard normal z: E[exp(z)] = √e, E[exp(2z)] = e², E[z·exp(z)] "
        "= √e."
    ),
    stub="correlation = ...",
    name="correlation",
    answer=Number(tolerance=0.01),
    truth=lambda: 1.0 / np.sqrt(np.e - 1.0),
    mistakes={
        "one determines the other": Mistake(
            lambda: 1.0,
            "Each value does determine the other, but not along a straight line. A correlation is "
            "1 only for a straight line.",
        ),
        "variance for standard deviation": Mistake(
            lambda: np.sqrt(np.e) / (np.e * (np.e - 1.0)),
            "You divided by the variance of f². A correlation divides by its standard deviation, "
            "the square root.",
        ),
        "a covariance": Mistake(
            lambda: np.sqrt(np.e), "√e is the covariance. Divide by both standard deviations."
        ),
        "the second moment": Mistake(
            lambda: np.exp(-0.5),
            "e² is the second moment E[exp(2z)]. The variance of f² is that minus the square of "
            "its mean, e² − e.",
        ),
        "uncorrelated": Mistake(lambda: 0.0, "Both rise with f₀, so their covariance is positive."),
    },
    hints=(
        "First the covariance: E[f¹·f²] − E[f¹]·E[f²], where E[f¹] = 0.",
        "Var[f¹] = 1, and Var[f²] = E[exp(2z)] − E[exp(z)]².",
        "√e divided by √(e² − e).",
    ),
    solution="correlation = np.sqrt(np.e) / np.sqrt(np.e**2 - np.e)",
    explanation=(
        "1/√(e − 1) is below 1, although f² is a function of f¹. A correlation measures only the "
        "linear part of a dependence, here the first of the Hermite terms."
    ),
)


# 04.5 -----------------------------------------------------------------------------------------

KERNEL, NUM_INPUTS, KNOTS = "matern32", 25, 5

_HIDDEN = np.array(
    [[1.5, 1.0, 0.6, 1.0, 1.5], [0.4, 0.8, 1.2, 1.6, 2.0], [-2.0, -1.5, -1.0, -0.6, -0.3]]
)
# The scales with which the explorer opens.
_OPENING = np.array([[1.0] * KNOTS, [0.3, 0.6, 1.0, 1.4, 1.7], [-0.8] * KNOTS])


@lru_cache(maxsize=1)
def _inputs() -> tuple[np.ndarray, np.ndarray]:
    """Inputs at which the target is compared, and K there."""
    from etgp_viz.records import prior

    x = np.linspace(-3.0, 3.0, NUM_INPUTS)
    return x, prior.covariance_matrix(prior.kernel(KERNEL), x)


def _joint(scales: np.ndarray) -> np.ndarray:
    """Joint covariance of linear flows whose scales have these values at five knots over x."""
    from etgp_viz.records import covariance, prior

    x, K = _inputs()
    share = (x - x[0]) / (x[-1] - x[0])
    return covariance.joint_linear(K, np.stack([prior.profile(knots, share) for knots in scales]))


def hidden_covariance() -> np.ndarray:
    """Target covariance of exercise 04.5, ``[3·25, 3·25]``: three classes at 25 inputs."""
    return _joint(_HIDDEN)


def blocks_of(scales: np.ndarray) -> dict[str, np.ndarray]:
    """Name → block ``[25, 25]`` of the joint covariance for these scales."""
    blocks = _joint(scales).reshape(3, NUM_INPUTS, 3, NUM_INPUTS)
    return {
        f"the covariance of f{'¹²³'[c]} and f{'¹²³'[d]}": blocks[c, :, d]
        for c, d in combinations_with_replacement(range(3), 2)
    }


MATCH = Exercise(
    id="04.5",
    kind="match-the-target",
    prompt=(
        "Find linear flows whose covariance is the hidden target. Give the scales of three "
        "classes at five knots over x (x = −3, −1.5, 0, 1.5 and 3): either the explorer above, "
        "once you have shaped a¹, a² and a³ in it, or a dictionary with five numbers each for a1, "
        "a2 and a3. Every block must be within 10 % of the target; the reply says how close you "
        "are. Flipping all signs together gives the same covariance, so both answers count."
    ),
    stub="shaped = ...",
    name="shaped",
    answer=Target(
        ("a1", "a2", "a3"),
        KNOTS,
        blocks_of,
        tolerance=0.1,
        given={"family": "linear", "kernel": KERNEL, "lengthscale": 1.0, "variance": 1.0},
    ),
    truth=lambda: _HIDDEN,
    mistakes={
        "variance for standard deviation": Mistake(
            lambda: np.sign(_HIDDEN) * _HIDDEN**2,
            "You took variances for scales. Var[fᶜ(x)] = aᶜ(x)²·k(x, x), so a scale is the square "
            "root of a variance.",
        ),
        "no signs": Mistake(
            lambda: np.abs(_HIDDEN),
            "The sizes are right, but a sign is wrong. A variance does not show the sign of aᶜ; "
            "the covariance with another class does.",
        ),
        "classes exchanged": Mistake(lambda: _HIDDEN[[0, 2, 1]], "You swapped classes 2 and 3."),
        "back to front": Mistake(
            lambda: _HIDDEN[:, ::-1],
            "The scales run from right to left: the first of the five numbers belongs to x = −3.",
        ),
        "as it opened": Mistake(
            lambda: _OPENING,
            "These are the flows with which the explorer opens. Move the scales: ∿ beside a scale "
            "shows its five knots.",
        ),
    },
    hints=(
        "Start on the diagonal: k(x, x) = 1 here, so the variance of class c at x is aᶜ(x)².",
        "The table has variances at the five knots. Their square roots are the sizes of the "
        "scales; the signs follow from the covariances with f¹. You may choose one class to be "
        "positive.",
        "size = np.sqrt(...) of Var[f¹], Var[f²], Var[f³] in the table, and a minus for class 3.",
    ),
    solution=(
        "joint = target.reshape(3, 25, 3, 25)  # [class, input, class, input]\n"
        "size = np.sqrt([np.diag(joint[c, :, c]) for c in range(3)])  # Var = a²·k(x, x)\n"
        "sign = np.sign([np.diag(joint[0, :, c]) for c in range(3)])  # of Cov[f¹, fᶜ]\n"
        "a1, a2, a3 = (sign * size)[:, ::6]  # every sixth input is a knot\n"
        'shaped = {"a1": a1, "a2": a2, "a3": a3}'
    ),
    explanation=(
        "Variances give the sizes of the scales and covariances their signs, up to one common "
        "sign: f₀ and −f₀ have the same distribution, so a and −a give the same covariance."
    ),
)


LESSON = Lesson(
    number="04",
    title="One latent, C processes",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz import prior\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up\n"
        "from etgp_viz.course.lessons.lesson_04 import hidden_covariance\n\n"
        "x = np.linspace(-3, 3, 25)\n"
        f'K = prior.covariance_matrix(prior.kernel("{KERNEL}"), x)  # of f₀ at 25 inputs\n'
        "target = hidden_covariance()  # for exercise 04.5"
    ),
    exercises=(PREDICT, PIVOT, WRITE, BENT, MATCH, CONSTANT_CLASSIFIER, NEVER_INDEPENDENT),
    teaching={
        "": (
            "**Timing** (60 minutes): opening question 5, warm-up 2, Predict 5, Play 7, pivot 7, "
            "Proposition 1 with 04.3 12, limits 6, the case that hurts 4, target 6, Check 4, "
            "Reflect 2. The "
            "Hermite section is optional reading; exercise 04.4 does not need it.\n\n"
            "**Open with a vote.** Read the question at the top aloud and ask who agrees. Then "
            "move the slider of *Touch* from left to right, slowly, without a word."
        ),
        "Predict": (
            "**What goes wrong.** Most answer with ratios of scales. Ask the class for the "
            "correlation between a height in metres and the same height in feet.\n\n"
            "**Ask.** Which of the three numbers changes if all shifts change?"
        ),
        "Play": (
            "**Show with *present*.** SharedLatentExplorer, preset *Straight maps*, then switch "
            "the model to the naive TGP and back: the line of dots becomes a cloud, and a line "
            "again. One switch is the whole lesson."
        ),
        "Derive: the pivot": (
            "**What goes wrong.** Students read the product of Dirac deltas as a further source of "
            "randomness. Say it in words: draw one, compute the rest."
        ),
        "Derive: Proposition 1, for every pair of classes": (
            "**What goes wrong.** 04.3 looks like index gymnastics. Do the 2×2 example on the "
            "board first, one entry each for four students, and only then let them write the "
            "code.\n\n"
            "**Ask.** Where in the derivation did we use that one of the two classes is the pivot? "
            "(Nowhere.)"
        ),
        "Optional: any flow, the Hermite series": (
            "**Depth.** If the class has not met orthogonal polynomials, say only: a curve is a "
            "straight part plus wiggles that are uncorrelated with it, and each wiggle of order n "
            "forgets distance as ρⁿ."
        ),
        "A real case where one latent hurts": (
            "**Ask for guesses first.** Most expect a small loss. The point is where the work is "
            "done: with constant flows one number has to tell ten digits apart, and it cannot."
        ),
        "Reflect": (
            "**Discussion.** Is a correlation of ±1 at each input a defect for classification? "
            "Let one group defend *yes* (two classes cannot be uncertain for separate reasons) "
            "and one *no* (shifts and scales are free functions of x)."
        ),
    },
)
