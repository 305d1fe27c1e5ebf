"""Exercises of lesson 05, inference. What is heavy is loaded when it is needed."""

from collections.abc import Callable

import numpy as np

from etgp_viz.course.answers import ArrayFunction, Number, Numbers
from etgp_viz.course.exercise import Exercise, Lesson, Mistake
from etgp_viz.course.lessons.lesson_05_quadrature import QUADRATURE, READ

__all__ = ["LESSON"]


# 05.1 -----------------------------------------------------------------------------------------

_GUESSED = ("KLs, SVGP", "KLs, ETGP", "integral, SVGP", "integral, ETGP")


def _guess(*counts: float) -> dict[str, float]:
    return dict(zip(_GUESSED, counts, strict=True))


PREDICT = Exercise(
    id="05.1",
    kind="predict-then-reveal",
    prompt=(
        "A classifier has C = 10 classes. An SVGP has ten independent Gaussian processes, an ETGP "
        "one process and ten flows. Both are trained by a bound of the form *fit to the data minus "
        "distance from the prior*, where the distance of a Gaussian process is a KL between two "
        "Gaussians. How many such KLs does each bound have? And the fit of one row is an "
        "expectation over the unknown values of the latents there: over how many dimensions is "
        "that integral, for each model (dropout aside)?"
    ),
    stub=(
        "prediction = {\n"
        '    "KLs, SVGP": None,\n'
        '    "KLs, ETGP": None,\n'
        '    "integral, SVGP": None,\n'
        '    "integral, ETGP": None,\n'
        "}"
    ),
    name="prediction",
    answer=Numbers(_GUESSED, tolerance=0.01),
    truth=lambda: _guess(10, 1, 10, 1),
    mistakes={
        "KL multiplied by C": Mistake(
            lambda: _guess(10, 10, 10, 1),
            "You multiplied the KL by C. ETGP has one latent, and so one q to keep near one prior; "
            "bending both by the same flows changes nothing in their KL.",
        ),
        "a dimension for each flow": Mistake(
            lambda: _guess(10, 1, 10, 10),
            "Ten flows of *one* unknown number: once f₀(x) is known, all ten values are. The "
            "integral has one dimension.",
        ),
        "class by class": Mistake(
            lambda: _guess(10, 1, 1, 1),
            "The softmax needs all ten values at once, and in an SVGP they are ten independent "
            "unknowns: the integral does not split into one for each class.",
        ),
        "one KL for ten processes": Mistake(
            lambda: _guess(1, 1, 10, 1),
            "An SVGP has ten processes, each with a q of its own: ten KLs.",
        ),
    },
    hints=(
        "Count unknown functions, not classes.",
        "Each unknown function has inducing values with a q and a prior, hence a KL; and at each "
        "input it has one unknown value.",
        "SVGP: ten unknown functions. ETGP: one.",
    ),
    solution=(
        "prediction = {\n"
        '    "KLs, SVGP": 10,\n'
        '    "KLs, ETGP": 1,\n'
        '    "integral, SVGP": 10,\n'
        '    "integral, ETGP": 1,\n'
        "}"
    ),
    explanation=(
        "One latent is one KL and one dimension, whatever C is. With 20 nodes in each dimension, "
        "quadrature would need 20 evaluations for ETGP and 20¹⁰ for the SVGP, which is why that "
        "one draws random numbers."
    ),
)


# 05.2 -----------------------------------------------------------------------------------------


def latent_posterior(
    Kxx: np.ndarray, Kxz: np.ndarray, Kzz: np.ndarray, m: np.ndarray, S: np.ndarray
) -> np.ndarray:
    """Means and variances of q(f₀) at N inputs, ``[2, N]``."""
    A = np.linalg.solve(Kzz, Kxz.T).T  # Kxz Kzz⁻¹, [N, M]
    return np.stack([A @ m, Kxx - np.sum(A @ (Kzz - S) * A, axis=1)])


def _some_moments(rng: np.random.Generator) -> list[np.ndarray]:
    """Kxx, Kxz, Kzz, m and S of an RBF kernel with variance 1.5 at random places."""
    x, z = rng.uniform(-2.0, 2.0, 4), np.array([-1.5, 0.0, 1.5]) + rng.uniform(-0.3, 0.3, 3)

    def kernel(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 1.5 * np.exp(-0.5 * (u[:, None] - v[None, :]) ** 2)

    root = np.tril(rng.normal(size=(3, 3)))
    return [np.full(4, 1.5), kernel(x, z), kernel(z, z), rng.normal(size=3), 0.3 * root @ root.T]


def _with(
    mean: Callable[..., np.ndarray] | None = None, variance: Callable[..., np.ndarray] | None = None
) -> Callable[..., np.ndarray]:
    """The function, with another mean or variance of (A, Kxx, Kxz, Kzz, m, S)."""

    def function(
        Kxx: np.ndarray, Kxz: np.ndarray, Kzz: np.ndarray, m: np.ndarray, S: np.ndarray
    ) -> np.ndarray:
        right = latent_posterior(Kxx, Kxz, Kzz, m, S)
        given = (np.linalg.solve(Kzz, Kxz.T).T, Kxx, Kxz, Kzz, m, S)
        return np.stack(
            [f(*given) if f else row for f, row in zip((mean, variance), right, strict=True)]
        )

    return function


def _spread(A: np.ndarray, S: np.ndarray) -> np.ndarray:
    return np.sum(A @ S * A, axis=1)


POSTERIOR = Exercise(
    id="05.2",
    kind="write-a-function",
    prompt=(
        "Write `latent_posterior(Kxx, Kxz, Kzz, m, S)`: means and variances of q(f₀) at N inputs, "
        "as an array of shape [2, N], means first. Kxx holds the N prior variances K(x, x), Kxz "
        "has shape [N, M], Kzz and S have shape [M, M], and m has length M."
    ),
    stub="def latent_posterior(Kxx, Kxz, Kzz, m, S):\n    return ...",
    name="latent_posterior",
    answer=ArrayFunction(
        "latent_posterior",
        ("Kxx", "Kxz", "Kzz", "m", "S"),
        ("means and variances",),
        _some_moments,
        shape=(2, 4),
    ),
    truth=lambda: latent_posterior,
    mistakes={
        "Kzz + S": Mistake(
            lambda: _with(variance=lambda A, Kxx, Kxz, Kzz, m, S: Kxx - _spread(A, Kzz + S)),
            "This is Kzz + S, as the paper prints it: a slip, which even gives negative variances. "
            "Not knowing u₀ must add variance: Kzz − S.",
        ),
        "S forgotten": Mistake(
            lambda: _with(variance=lambda A, Kxx, Kxz, Kzz, m, S: Kxx - _spread(A, Kzz)),
            "This is the variance if u₀ were known exactly. It is not: S must come in.",
        ),
        "the prior forgotten": Mistake(
            lambda: _with(variance=lambda A, Kxx, Kxz, Kzz, m, S: _spread(A, S)),
            "Only the part that comes from not knowing u₀ is there. Between the inducing points f₀ "
            "is uncertain even if u₀ is known.",
        ),
        "nothing taken away": Mistake(
            lambda: _with(variance=lambda A, Kxx, Kxz, Kzz, m, S: Kxx + _spread(A, S)),
            "Knowing something about u₀ must lower the prior variance: the term with Kzz is "
            "missing.",
        ),
        "standard deviations": Mistake(
            lambda: _with(
                variance=lambda A, Kxx, Kxz, Kzz, m, S: np.sqrt(Kxx - _spread(A, Kzz - S))
            ),
            "These are standard deviations. Asked are variances: no square root.",
        ),
        "no Kzz⁻¹": Mistake(
            lambda: _with(mean=lambda A, Kxx, Kxz, Kzz, m, S: Kxz @ m),
            "The mean is Kxz Kzz⁻¹ m, and here Kzz⁻¹ is missing.",
        ),
    },
    hints=(
        "Compute A = Kxz Kzz⁻¹ first; both results are made of it.",
        "The mean is A m. The variance is the prior's, minus what knowing u₀ takes away, plus what "
        "not quite knowing it gives back.",
        "A = np.linalg.solve(Kzz, Kxz.T).T; the variances are Kxx - np.sum(A @ (Kzz - S) * A, "
        "axis=1), and np.stack([means, variances]) has the right shape.",
    ),
    solution=(
        "def latent_posterior(Kxx, Kxz, Kzz, m, S):\n"
        "    A = np.linalg.solve(Kzz, Kxz.T).T  # Kxz Kzz⁻¹, [N, M]\n"
        "    variances = Kxx - np.sum(A @ (Kzz - S) * A, axis=1)  # the diagonal of A (…) Aᵀ\n"
        "    return np.stack([A @ m, variances])"
    ),
    explanation=(
        "Kxx − A Kzz Aᵀ is what is left when u₀ is known, and A S Aᵀ is what not knowing it adds. "
        "Together: Kxx − A (Kzz − S) Aᵀ, with a minus."
    ),
    properties={
        "If q is the prior (m = 0, S = Kzz), the variance is that of the prior.": (
            lambda function: np.allclose(function(*_prior_case())[1], 1.5)
        ),
        "At an inducing point whose value is known (S = 0), the variance is 0.": (
            lambda function: np.allclose(function(*_known_case())[1], 0.0, atol=1e-9)
        ),
    },
)


def _prior_case() -> list[np.ndarray]:
    Kxx, Kxz, Kzz, m, _ = _some_moments(np.random.default_rng(1))
    return [Kxx, Kxz, Kzz, 0.0 * m, Kzz]


def _known_case() -> list[np.ndarray]:
    _, _, Kzz, m, S = _some_moments(np.random.default_rng(1))
    return [np.diag(Kzz), Kzz, Kzz, m, 0.0 * S]


# 05.3 -----------------------------------------------------------------------------------------

BOUND = Exercise(
    id="05.3",
    kind="numeric",
    prompt=(
        "A step of training sees a mini-batch of B = 50 out of N = 600 rows, of C = 5 classes. The "
        "expected log-likelihoods of the 50 rows add up to −40, KL[q(u₀) ‖ p(u₀)] is 12, and the "
        "weight decay KL_W is 3. What is the ELBO (its estimate from this step)?"
    ),
    stub="elbo = ...",
    name="elbo",
    answer=Number(tolerance=1e-3),
    truth=lambda: 600 / 50 * -40 - 12 - 3,
    mistakes={
        "mini-batch scale forgotten": Mistake(
            lambda: -40 - 12 - 3,
            "You forgot the scale of the mini-batch: 50 rows stand for 600, so their sum counts "
            "N/B = 12 times.",
        ),
        "everything scaled": Mistake(
            lambda: 12 * (-40 - 12 - 3),
            "Only the sum over rows is scaled by N/B. The KLs are there once, however many rows "
            "there are.",
        ),
        "KL multiplied by C": Mistake(
            lambda: 12 * -40 - 5 * 12 - 3,
            "You multiplied the KL by C. There is one latent, and so one KL.",
        ),
        "KL added": Mistake(
            lambda: 12 * -40 + 12 + 3,
            "The KLs are a price: they are subtracted.",
        ),
        "the mean of the rows": Mistake(
            lambda: -40 / 50 - 12 - 3,
            "This takes the mean over rows. The ELBO has the sum over all N of them.",
        ),
    },
    hints=(
        "Which of the three numbers are sums over rows, and which are there once?",
        "50 rows stand for 600: multiply their sum by 600/50. Then subtract both KLs.",
        "600 / 50 * (-40) - 12 - 3",
    ),
    solution="elbo = 600 / 50 * (-40) - 12 - 3",
    explanation=(
        "The sum over rows is scaled by N/B, which makes the estimate right on average over "
        "mini-batches; one KL for the one latent, one penalty for the network, and no C anywhere."
    ),
)


LESSON = Lesson(
    number="05",
    title="Inference",
    setup=(
        "import numpy as np\n"
        "from scipy.special import log_softmax\n\n"
        "from etgp_viz.course import check, hint, progress, solution"
    ),
    exercises=(PREDICT, POSTERIOR, BOUND, QUADRATURE, READ),
    teaching={
        "": (
            "**Timing** (50 minutes): Predict 4, Play 8, inducing points with 05.2 12, the bound "
            "with 05.3 10, quadrature with 05.4 and 05.5 10, training 4, Reflect 2. In 35 minutes "
            "give 05.4 as homework."
        ),
        "Predict": (
            "**Ask.** What exactly is unknown in an ETGP with ten classes? Collect answers on the "
            "board (ten functions? ten flows? one function and some weights?) before any formula."
        ),
        "Play": (
            "**Show with *present*.** Preset *A class that is at home in one place*: press play "
            "and let the room say, while it learns, which picture shows f₀ and which the flows."
        ),
        "Derive: a few points that stand for all": (
            "**What goes wrong.** The sign. Let them test a formula before they believe it: put "
            "S = Kzz, q is then the prior, and ask what the variance must be. The printed formula "
            "fails this in one line."
        ),
        "Derive: the bound, step by step": (
            "**What goes wrong.** *KL times C* and *Jacobians in the bound* are the same mistake: "
            "bending is seen as adding uncertainty. Say: q and prior are bent alike, so nothing "
            "between them changes. Scaling the KL by N/B is the other classic."
        ),
        "Derive: one dimension": (
            "**Ask.** Why is an expectation over C bent values an integral over one number? Let "
            "somebody say LOTUS in their own words: average h(G(f₀)) over f₀, never look for the "
            "density of G(f₀)."
        ),
        "Reflect": (
            "**Discussion.** With dropout, KL_W is a stand-in for a KL. Is the ELBO here still a "
            "lower bound of anything? What would you need to compare two values of it honestly?"
        ),
    },
)
