"""Exercises of lesson 09, what comes next."""

from collections.abc import Callable
from typing import Any

import numpy as np

from etgp_viz.course.answers import Function, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.choices import Conditions, multiple_choice

__all__ = ["LESSON", "mixed_correlation"]


# 09.1 -----------------------------------------------------------------------------------------

_CORRELATIONS = Numbers(("one latent", "1, 1 and 1, 0", "1, 1 and 1, -1"), tolerance=0.03)
_ROWS = {"1, 1 and 1, 0": ((1.0, 1.0), (1.0, 0.0)), "1, 1 and 1, -1": ((1.0, 1.0), (1.0, -1.0))}


def _drawn_correlations() -> str:
    from etgp_viz.records.several_latents import ties

    both = [ties((1, 2), mixing, draws=4000).estimate for mixing in _ROWS.values()]
    found = (both[0][0], both[0][1], both[1][1])
    words = "In 4000 joint draws they are {:.2f}, {:.2f} and {:.2f}.".format(*found)
    return words.replace("-", "−")


PREDICT = Exercise(
    id="09.1",
    kind="predict-then-reveal",
    prompt=(
        "At one input x two independent latents f₁ and f₂ have variance 1. Predict the correlation "
        "of two classes at this x in three cases: both classes are the first latent alone, f¹ = f₁ "
        "and f² = f₁; the weights of the two latents are (1, 1) in class 1 and (1, 0) in class 2, "
        "so f¹ = f₁ + f₂ and f² = f₁; and the weights are (1, 1) and (1, −1), so f¹ = f₁ + f₂ and "
        "f² = f₁ − f₂."
    ),
    stub='prediction = {"one latent": None, "1, 1 and 1, 0": None, "1, 1 and 1, -1": None}',
    name="prediction",
    answer=_CORRELATIONS,
    truth=lambda: _CORRELATIONS.named(1.0, np.sqrt(0.5), 0.0),
    mistakes={
        "still one latent": Mistake(
            lambda: _CORRELATIONS.named(1, 1, -1),
            "This is what one latent does: one class determines the other. Here f₂ is drawn "
            "independently of f₁, so f¹ holds something that f² knows nothing about.",
        ),
        "covariances": Mistake(
            lambda: _CORRELATIONS.named(1, 1, 0),
            "These are covariances. In the second case f¹ has variance 2, so divide by √2.",
        ),
        "the share of the variance": Mistake(
            lambda: _CORRELATIONS.named(1, 0.5, 0),
            "One half is the share of the variance of f¹ that comes from f₁. A correlation divides "
            "by standard deviations, not by variances: take the square root.",
        ),
    },
    hints=(
        "Independent latents with variance 1: the covariance of two classes is the sum of the "
        "products of their weights, latent by latent.",
        "The variance of a class is the sum of its squared weights.",
        "1·1/(1·1), then (1·1 + 1·0)/(√2·1), then (1·1 − 1·1)/(√2·√2).",
    ),
    solution=(
        'prediction = {"one latent": 1, "1, 1 and 1, 0": 1 / np.sqrt(2), "1, 1 and 1, -1": 0}'
    ),
    explanation=(
        "The correlation is the cosine of the angle between the two rows of weights: 0°, 45° and "
        "90°. With one latent there is only one direction, so the angle is 0° or 180°."
    ),
    reveal=_drawn_correlations,
)


# 09.2 -----------------------------------------------------------------------------------------


def mixed_correlation(weights: np.ndarray, scales: np.ndarray, variances: np.ndarray) -> float:
    """Correlation of two classes a_c Σ_l A_cl f_l + b_c at one input, from A ``[2, L]``."""
    rows = scales[:, None] * weights * np.sqrt(variances)
    first, second = rows
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))


def _covariance(weights: np.ndarray, scales: np.ndarray, variances: np.ndarray) -> float:
    first, second = scales[:, None] * weights
    return float(np.sum(first * second * variances))


def _random_classes(rng: np.random.Generator) -> list[Any]:
    scales = np.array([rng.uniform(0.5, 2.0), -rng.uniform(0.5, 2.0)])
    return [rng.normal(size=(2, 3)), scales, rng.uniform(0.3, 3.0, size=3)]


def _is_one_with_one_latent(function: Callable[..., float]) -> bool:
    one = [
        function(np.array([[0.7], [w]]), np.array([1.0, 2.0]), np.array([1.3])) for w in (0.4, -2.0)
    ]
    return bool(np.allclose(one, [1.0, -1.0]))


FORMULA = Exercise(
    id="09.2",
    kind="write-a-function",
    prompt=(
        "Write `mixed_correlation(weights, scales, variances)`: the correlation at one input of "
        "the two classes fᶜ = a·(weighted sum of the latents) + b. `weights` has a row for "
        "each of the two classes and a column for each latent, `scales` holds the two a, and "
        "`variances` those of the independent latents at this input. The result is one number."
    ),
    stub="def mixed_correlation(weights, scales, variances):\n    return ...",
    name="mixed_correlation",
    answer=Function(
        "mixed_correlation",
        ("weights", "scales", "variances"),
        ("the correlation",),
        _random_classes,
    ),
    truth=lambda: mixed_correlation,
    mistakes={
        "a covariance": Mistake(
            lambda: _covariance,
            "This is the covariance. Divide it by the standard deviations of both classes.",
        ),
        "variances forgotten": Mistake(
            lambda: lambda weights, scales, _: mixed_correlation(weights, scales, np.ones(3)),
            "You treat all latents alike. A latent that varies more at this input counts for more: "
            "multiply each product of weights by its variance.",
        ),
        "variances twice": Mistake(
            lambda: lambda weights, scales, v: mixed_correlation(weights, scales, v**2),
            "Each product of two weights is multiplied by the variance of its latent once. You "
            "multiplied both weights by it.",
        ),
        "the sign lost": Mistake(
            lambda: lambda weights, _, variances: mixed_correlation(weights, np.ones(2), variances),
            "The size is right and the sign is not. The size of a scale cancels, but its sign does "
            "not: a negative scale turns its class upside down.",
        ),
        "one latent only": Mistake(
            lambda: (
                lambda weights, scales, variances: float(
                    np.sign(np.prod(scales) * np.prod(weights[:, 0]))
                )
            ),
            "This is the answer for one latent. Sum over all of them.",
        ),
    },
    hints=(
        "Start with the covariance: the latents are independent, so only products of the same "
        "latent survive.",
        "Cov = a₁·a₂·Σ weights[0]·weights[1]·variances. The variances of the two classes follow "
        "the same pattern, with a class taken twice.",
        "With rows = scales[:, None] * weights * np.sqrt(variances), the covariance is "
        "rows[0] @ rows[1], and the variances are rows[0] @ rows[0] and rows[1] @ rows[1].",
    ),
    solution=(
        "def mixed_correlation(weights, scales, variances):\n"
        "    first, second = scales[:, None] * weights * np.sqrt(variances)\n"
        "    return first @ second / np.sqrt((first @ first) * (second @ second))"
    ),
    explanation=(
        "It is the cosine of the angle between two rows of numbers, so it lies between −1 and 1; "
        "it reaches the ends only if the rows are parallel, and with one latent they always are."
    ),
    properties={"With one latent the correlation is 1 or −1.": _is_one_with_one_latent},
)


# 09.3 -----------------------------------------------------------------------------------------

RETURNING = multiple_choice(
    "09.3",
    "Flow parameters can come from a network with fixed dropout, from one that learns its dropout "
    "rates, from a network whose last layer has Gaussian weights (mean field), or from Gaussian "
    "processes. Which of these sources can *promise* that very far from all rows the parameters "
    "are back at their prior, whatever the rows and labels were?",
    [
        (
            "All four, because each of them is a distribution over the parameters.",
            "A distribution need not know where the data were. Weights that have learnt something "
            "have learnt it for every x.",
        ),
        (
            "The Gaussian processes alone.",
            "",
        ),
        (
            "The Gaussian processes and the mean field, because both are Gaussian.",
            "A weight that the data have settled stays settled, wherever you look: the last layer "
            "of the mean-field network is the same at every x. If its parameters look like their "
            "prior far away, they never left it.",
        ),
        (
            "The learnt dropout rates alone, because they fall as rows come in.",
            "A learnt rate is one number for the whole network. It can say how many rows there "
            "were, but not where they were.",
        ),
    ],
    "B",
    "Far away, a kernel gives no weight to the rows, so each process returns to its own prior. "
    "Weights of a network are shared by all x, so what they have learnt holds everywhere.",
    (
        "What links the parameters at one x to the rows that were seen elsewhere?",
        "A network uses the same weights at every x. A kernel fades with distance.",
        "Only one of the four sources has a kernel.",
    ),
)


# 09.4 -----------------------------------------------------------------------------------------


def _covariance_of(numbers: np.ndarray) -> float:
    """Of the classes w1·f₁ + w2·f₂ and f₁ + 2·f₂, where Var[f₁] = 1 and Var[f₂] = 4."""
    return float(numbers[0] * 1.0 * 1.0 + numbers[1] * 2.0 * 4.0)


_WEIGHTS = Conditions(
    ("w1", "w2"),
    tolerance=1e-9,
    conditions={
        "both weights must differ from zero, so that class 1 uses both latents.": lambda w: bool(
            np.all(np.abs(w) > 1e-6)
        ),
        "the two classes still vary together: their covariance is not 0. Remember the variances, "
        "1 and 4.": lambda w: bool(abs(_covariance_of(w)) < 1e-6 * max(1.0, np.abs(w).max())),
    },
)
_TIED = (
    "The two classes still vary together: w1·1·1 + w2·2·4 is not 0. Each product of weights is "
    "multiplied by the variance of its latent, 1 and 4."
)

COUNTEREXAMPLE = Exercise(
    id="09.4",
    kind="counterexample",
    prompt=(
        "“Two classes that share two latents must be correlated.” Show that this is wrong. At "
        "some x, f₁ has variance 1 and f₂ has variance 4, and class 2 is f² = f₁ + 2·f₂. Give "
        "weights w1 and w2, both different from zero, such that f¹ = w1·f₁ + w2·f₂ is "
        "uncorrelated with f²."
    ),
    stub='weights = {"w1": ..., "w2": ...}',
    name="weights",
    answer=_WEIGHTS,
    truth=lambda: _WEIGHTS.named(8.0, -1.0),
    mistakes={
        "right angles, but not in these units": Mistake(lambda: _WEIGHTS.named(2.0, -1.0), _TIED),
        "deviations for variances": Mistake(lambda: _WEIGHTS.named(4.0, -1.0), _TIED),
        "a latent left out": Mistake(
            lambda: _WEIGHTS.named(0.0, 0.0),
            "Both weights must differ from zero, so that class 1 uses both latents.",
        ),
    },
    hints=(
        "Write the covariance of f¹ and f² as a sum over the two latents.",
        "Cov = w1·1·1 + w2·2·4. Set it to 0.",
        "w1 = −8·w2: choose any w2 other than 0.",
    ),
    solution='weights = {"w1": 8, "w2": -1}',
    explanation=(
        "The covariance is w1 + 8·w2. One equation for two weights has infinitely many solutions. "
        "With one latent there is nothing to balance: only a weight of 0 would do."
    ),
)


LESSON = Lesson(
    number="09",
    title="What comes next",
    setup=(
        "import numpy as np\n\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up"
    ),
    exercises=(PREDICT, FORMULA, RETURNING, COUNTEREXAMPLE),
    teaching={
        "": (
            "**Timing** (50 minutes): Touch 3, warm-up 2, Predict 5, Play 6, Derive with 09.2 12, "
            "who returns to the prior with 09.3 10, three more changes 6, Check 4, Reflect 2. The "
            "comparison on real data takes under an hour on two cores: start it before the lesson "
            "if you want to discuss its table."
        ),
        "Predict": (
            "**Ask.** Before anybody computes: can two classes that are made from the same two "
            "latents be uncorrelated? Vote first."
        ),
        "Derive: how tightly are two classes tied?": (
            "**What goes wrong.** Students expect the scales to matter. Let them halve one, and "
            "watch the correlation stay. Only a change of sign shows."
        ),
        "Code: where do the parameters come from?": (
            "**Discussion.** Returning to the prior is honest, and it is not free: between two "
            "clusters of rows the Gaussian processes forget what a network would carry across. "
            "Which of the two is right depends on the data."
        ),
        "Reflect": (
            "**Grading.** A good answer names a change, what it should improve, the comparison "
            "that would show it, and a result that would make one drop the idea."
        ),
    },
)
