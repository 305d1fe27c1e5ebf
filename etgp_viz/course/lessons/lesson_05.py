"""Exercises of lesson 05, inference."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from etgp_viz.course.answers import ArrayFunction, Function, Numbers
from etgp_viz.course.checking import Exercise, Lesson, Mistake
from etgp_viz.course.choices import Magnitude
from etgp_viz.course.lessons.concepts import AVERAGING, DERIVATION
from etgp_viz.course.lessons.in_your_words import FAR_AWAY

__all__ = ["LESSON", "example_model", "expected_log_likelihood", "latent_posterior"]

# 05.1 -----------------------------------------------------------------------------------------

_COUNTS = Numbers(("KLs, SVGP", "KLs, ETGP", "integral, SVGP", "integral, ETGP"), tolerance=0.01)

PREDICT = Exercise(
    id="05.1",
    kind="predict-then-reveal",
    prompt=(
        "A classifier has C = 10 classes and a softmax. An SVGP has ten independent Gaussian "
        "processes, an ETGP one process and ten flows. Both are trained by a bound of the form "
        "*fit to the data minus distance from the prior*, where the distance of a Gaussian process "
        "is a KL between two Gaussians. How many such KLs does each bound have? The fit of one row "
        "is an expectation over the unknown values of the latents there. How many dimensions does "
        "that integral have for each model (ignore dropout)?"
    ),
    stub="\n".join(["prediction = {", *(f'    "{name}": None,' for name in _COUNTS.parts), "}"]),
    name="prediction",
    answer=_COUNTS,
    truth=lambda: _COUNTS.named(10, 1, 10, 1),
    mistakes={
        "KL multiplied by C": Mistake(
            lambda: _COUNTS.named(10, 10, 10, 1),
            "You multiplied the KL by C. ETGP has one latent, so it has one q to keep near one "
            "prior; warping both with the same flows does not change their KL.",
        ),
        "a dimension for each flow": Mistake(
            lambda: _COUNTS.named(10, 1, 10, 10),
            "Ten flows of *one* unknown number: once f₀(x) is known, all ten values are. The "
            "integral has one dimension.",
        ),
        "class by class": Mistake(
            lambda: _COUNTS.named(10, 1, 1, 1),
            "The softmax needs all ten values at once, and in an SVGP they are ten independent "
            "unknowns: the integral does not split into one for each class.",
        ),
        "one KL for ten processes": Mistake(
            lambda: _COUNTS.named(1, 1, 10, 1),
            "An SVGP has ten processes, each with a q of its own: ten KLs.",
        ),
    },
    hints=(
        "Count unknown functions, not classes.",
        "Each unknown function has inducing values with a q and a prior, and so one KL. At each "
        "input it has one unknown value.",
        "SVGP: ten unknown functions. ETGP: one.",
    ),
    solution=(
        'prediction = {"KLs, SVGP": 10, "KLs, ETGP": 1, "integral, SVGP": 10, "integral, ETGP": 1}'
    ),
    explanation=(
        "One latent means one KL and one dimension, whatever C is. With 20 nodes in each "
        "dimension, quadrature needs 20 evaluations for ETGP and 20¹⁰ for the SVGP, which is why "
        "an SVGP with a softmax uses Monte Carlo. (Other likelihoods do not force it to.)"
    ),
)


# 05.2 -----------------------------------------------------------------------------------------


def _posterior(
    variance: Callable = lambda Kxx, explained, uncertain: Kxx - explained + uncertain,
    mean: Callable = lambda A, Kxz, m: A @ m,
) -> Callable[..., np.ndarray]:
    """Function for means and variances, from ``diag(A Kzz Aᵀ)`` and ``diag(A S Aᵀ)``."""

    def function(*matrices: np.ndarray) -> np.ndarray:
        Kxx, Kxz, Kzz, m, S = matrices
        A = np.linalg.solve(Kzz, Kxz.T).T  # Kxz Kzz⁻¹, [N, M]
        explained, uncertain = (np.sum(A @ matrix * A, axis=1) for matrix in (Kzz, S))
        return np.stack([mean(A, Kxz, m), variance(Kxx, explained, uncertain)])

    return function


#: means and variances of q(f₀) at N inputs, ``[2, N]``
latent_posterior = _posterior()


def _random_moments(rng: np.random.Generator) -> list[np.ndarray]:
    """Kxx, Kxz, Kzz, m and S of an RBF kernel with variance 1.5 at random places."""
    x, z = rng.uniform(-2.0, 2.0, 4), np.array([-1.5, 0.0, 1.5]) + rng.uniform(-0.3, 0.3, 3)

    def kernel(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return 1.5 * np.exp(-0.5 * (u[:, None] - v[None, :]) ** 2)

    root = np.tril(rng.normal(size=(3, 3)))
    return [np.full(4, 1.5), kernel(x, z), kernel(z, z), rng.normal(size=3), 0.3 * root @ root.T]


_KXX, _KXZ, _KZZ, _M, _S = _random_moments(np.random.default_rng(1))

POSTERIOR = Exercise(
    id="05.2",
    kind="write-a-function",
    prompt=(
        "Write `latent_posterior(Kxx, Kxz, Kzz, m, S)`: means and variances of q(f₀) at N inputs, "
        "as an array of shape [2, N], means first. Kxx holds the N prior variances k(x, x), Kxz "
        "has shape [N, M], Kzz and S have shape [M, M], and m has length M."
    ),
    stub="def latent_posterior(Kxx, Kxz, Kzz, m, S):\n    return ...",
    name="latent_posterior",
    answer=ArrayFunction(
        "latent_posterior",
        ("Kxx", "Kxz", "Kzz", "m", "S"),
        ("means and variances",),
        _random_moments,
        shape=(2, 4),
    ),
    truth=lambda: latent_posterior,
    mistakes={
        "Kzz + S": Mistake(
            lambda: _posterior(lambda Kxx, explained, uncertain: Kxx - explained - uncertain),
            "This is Kzz + S, as printed in the paper: a slip, which can even give negative "
            "variances. Uncertainty about u₀ must add variance: Kzz − S.",
        ),
        "S forgotten": Mistake(
            lambda: _posterior(lambda Kxx, explained, uncertain: Kxx - explained),
            "This would be the variance if u₀ were known exactly. It is not, so S must appear.",
        ),
        "the prior forgotten": Mistake(
            lambda: _posterior(lambda Kxx, explained, uncertain: uncertain),
            "You have only the part that comes from not knowing u₀. Between the inducing points, "
            "f₀ is uncertain even if u₀ is known.",
        ),
        "nothing taken away": Mistake(
            lambda: _posterior(lambda Kxx, explained, uncertain: Kxx + uncertain),
            "Knowing something about u₀ must lower the prior variance: the term with Kzz is "
            "missing.",
        ),
        "standard deviations": Mistake(
            lambda: lambda *matrices: latent_posterior(*matrices) ** [[1.0], [0.5]],
            "These are standard deviations. The exercise asks for variances: no square root.",
        ),
        "no Kzz⁻¹": Mistake(
            lambda: _posterior(mean=lambda A, Kxz, m: Kxz @ m),
            "The mean is Kxz Kzz⁻¹ m, and here Kzz⁻¹ is missing.",
        ),
    },
    hints=(
        "Compute A = Kxz Kzz⁻¹ first; you need it for both results.",
        "The mean is A m. The variance is the prior's, minus what knowing u₀ removes, plus what "
        "the uncertainty about u₀ adds.",
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
        "Kxx − A Kzz Aᵀ remains when u₀ is known, and A S Aᵀ is added by not knowing it. "
        "Together: Kxx − A (Kzz − S) Aᵀ, with a minus."
    ),
    properties={
        "If q is the prior (m = 0, S = Kzz), the variance is that of the prior.": (
            lambda function: np.allclose(function(_KXX, _KXZ, _KZZ, 0 * _M, _KZZ)[1], 1.5)
        ),
        "At an inducing point whose value is known (S = 0), the variance is 0.": (
            lambda function: np.allclose(
                function(np.diag(_KZZ), _KZZ, _KZZ, _M, 0 * _S)[1], 0.0, atol=1e-9
            )
        ),
    },
)


# 05.4 -----------------------------------------------------------------------------------------


def _values(mean: float, variance: float, a: np.ndarray, b: np.ndarray, nodes: np.ndarray) -> Any:
    """Values of all classes at the nodes, ``[Q, C]``."""
    return a * (mean + np.sqrt(variance) * nodes)[:, None] + b


def _averaged(average: Callable[..., Any]) -> Callable[..., float]:
    """Function that averages the log probabilities ``[Q, C]`` at the nodes."""

    def function(*row: Any) -> float:
        mean, variance, a, b, label, nodes, weights = row
        log_p = log_softmax(_values(mean, variance, a, b, nodes), axis=1)
        return float(average(log_p, label, weights))

    return function


#: E[log softmax(a·f₀ + b)_label] for f₀ ~ N(mean, variance), by quadrature
expected_log_likelihood = _averaged(lambda log_p, label, weights: weights @ log_p[:, label])


def _own_latents(*row: Any) -> float:
    """The same with an independent latent for each of three classes: a grid of Q³ nodes."""
    mean, variance, a, b, label, nodes, w = row
    f = _values(mean, variance, a, b, nodes)
    grid = logsumexp(np.stack(np.meshgrid(*f.T, indexing="ij")), axis=0)
    return float(w @ f[:, label] - np.einsum("ijk,i,j,k->", grid, w, w, w))


_nodes, _weights = np.polynomial.hermite_e.hermegauss(20)
_RULE = _nodes, _weights / _weights.sum()  # for a standard normal


def _random_row(rng: np.random.Generator) -> list[Any]:
    a, b = rng.normal(size=3), rng.normal(size=3)
    mean, variance = round(float(rng.normal()), 2), round(float(rng.uniform(1.5, 4.0)), 2)
    return [mean, variance, a, b, int(rng.integers(3)), *_RULE]


QUADRATURE = Exercise(
    id="05.4",
    kind="write-a-function",
    prompt=(
        "Write `expected_log_likelihood(mean, variance, a, b, label, nodes, weights)`: the "
        "expectation of log softmax(f¹, …, fᶜ) at the row's label, for f₀ ~ N(mean, variance) and "
        "linear flows with scales a and shifts b (arrays of length C). `nodes` and `weights` are "
        "a Gauss–Hermite rule for a standard normal z: E[h(z)] is approximately the sum of "
        "weights·h(nodes). You can use `log_softmax(values, axis=1)` from the import cell."
    ),
    stub=(
        "def expected_log_likelihood(mean, variance, a, b, label, nodes, weights):\n    return ..."
    ),
    name="expected_log_likelihood",
    answer=Function(
        "expected_log_likelihood",
        ("mean", "variance", "a", "b", "label", "nodes", "weights"),
        ("the expectation",),
        _random_row,
    ),
    truth=lambda: expected_log_likelihood,
    mistakes={
        "variance for standard deviation": Mistake(
            lambda: lambda mean, variance, *rest: expected_log_likelihood(mean, variance**2, *rest),
            "You scaled the nodes by the variance. f₀ = mean + (standard deviation)·z: take the "
            "square root.",
        ),
        "log of the mean": Mistake(
            lambda: _averaged(lambda log_p, label, weights: np.log(weights @ np.exp(log_p))[label]),
            "This is the log of the expected probability. The ELBO has the expectation of the log, "
            "which is lower (Jensen's inequality).",
        ),
        "at the mean": Mistake(
            lambda: lambda mean, variance, a, b, label, *_: log_softmax(a * mean + b)[label],
            "You used only the mean of f₀. The uncertainty of f₀ must enter, node by node.",
        ),
        "a new latent for each class": Mistake(
            lambda: _own_latents,
            "You used a separate latent for each class. All classes warp the same f₀: at a node "
            "they all see the same number.",
        ),
        "no weights": Mistake(
            lambda: _averaged(lambda log_p, label, weights: np.mean(log_p[:, label])),
            "The nodes are not equally likely: sum with the weights instead of taking the mean.",
        ),
        "no normalisation": Mistake(
            lambda: lambda mean, variance, a, b, label, *_: a[label] * mean + b[label],
            "This is the expectation of the label's own value. The log of the softmax also "
            "subtracts log Σ exp of all classes.",
        ),
    },
    hints=(
        "Where are the nodes on the axis of f₀? At mean + √variance·nodes.",
        "Apply the flows of all classes to all of them: a * f0[:, None] + b has shape [Q, C].",
        "weights @ log_softmax(a * f0[:, None] + b, axis=1)[:, label]",
    ),
    solution=(
        "def expected_log_likelihood(mean, variance, a, b, label, nodes, weights):\n"
        "    f0 = mean + np.sqrt(variance) * nodes  # [Q]\n"
        "    f = a * f0[:, None] + b  # all classes at each node, [Q, C]\n"
        "    return weights @ log_softmax(f, axis=1)[:, label]"
    ),
    explanation=(
        "Q evaluations of a softmax, whatever C is: one latent makes the integral "
        "one-dimensional. LOTUS lets us integrate over f₀ and never over the warped values."
    ),
    properties={
        "With equal flows all classes are equally likely: −log C.": (
            lambda function: np.isclose(
                function(0.3, 2.0, np.ones(4), np.zeros(4), 1, *_RULE), -np.log(4)
            )
        ),
        "Without variance it is the log softmax itself.": (
            lambda function: np.isclose(
                function(1.0, 0.0, np.array([2.0, 0.0]), np.zeros(2), 0, *_RULE),
                log_softmax([2.0, 0.0])[0],
            )
        ),
    },
)


# 05.5 -----------------------------------------------------------------------------------------


def example_model() -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
    """An ETGP of four classes with random SAL flows and a wide q(u₀), and data for it."""
    from etgp_viz.core import flows
    from etgp_viz.core.model import ETGP
    from etgp_viz.records import prior

    rng, C, Z = np.random.default_rng(0), 4, np.linspace(-3.0, 3.0, 10)
    network = prior.random_network(flows.SAL(1), C, seed=7)
    model = ETGP(prior.kernel("rbf"), network, Z[:, None], whiten=False)
    # A belief that is as smooth as the prior: m = L v and S = 0.7² L Lᵀ with L Lᵀ = Kzz.
    root = np.linalg.cholesky(prior.covariance_matrix(model.kernel, Z) + 1e-6 * np.eye(len(Z)))
    model.q_mu.assign(root @ rng.normal(size=(len(Z), 1)))
    model.q_sqrt.assign(0.7 * root[None])
    return model, (np.linspace(-3, 3, 60)[:, None], rng.integers(0, C, (60, 1)))


NODES, DRAWS = 8, 256


@lru_cache(maxsize=1)
def _errors() -> tuple[float, float]:
    """Root-mean-square errors of one row: quadrature with NODES nodes, and DRAWS draws."""
    from etgp_viz.records import inference as inference_records

    errors = inference_records.node_errors(*example_model())
    quadrature = errors.quadrature[list(errors.nodes).index(NODES)]
    return float(quadrature), float(errors.standard_error[list(errors.draws).index(DRAWS)])


def _needed_draws() -> float:
    quadrature, monte_carlo = _errors()
    return DRAWS * (monte_carlo / quadrature) ** 2


READ = Exercise(
    id="05.5",
    kind="read-the-plot",
    prompt=(
        "Read two numbers off the picture above. Both are errors of one row: that of quadrature "
        f"with Q = {NODES} nodes, and the standard error of Monte Carlo with R = {DRAWS} draws. "
        "How many draws for one row would Monte Carlo need to make its standard error as small as "
        f"the error of {NODES} nodes? Any answer within a factor of 2 is right."
    ),
    stub="draws = ...",
    name="draws",
    answer=Magnitude(tolerance=2.0),
    truth=_needed_draws,
    mistakes={
        "linear": Mistake(
            lambda: DRAWS * _errors()[1] / _errors()[0],
            "A standard error falls with the square root of the number of draws: for a tenth of "
            "it, a hundred times as many.",
        ),
        "the factor alone": Mistake(
            lambda: (_errors()[1] / _errors()[0]) ** 2,
            f"This is only the factor: multiply it by the {DRAWS} draws you started from.",
        ),
        "the power of ten": Mistake(
            lambda: np.log10(_needed_draws()),
            "This is the power of ten. The exercise asks for the number of draws itself.",
        ),
        "upside down": Mistake(
            lambda: DRAWS * (_errors()[0] / _errors()[1]) ** 2,
            "You inverted the ratio: quadrature is more accurate here, so Monte Carlo needs more "
            f"than {DRAWS} draws.",
        ),
    },
    hints=(
        "Both axes are logarithmic. Hover over a marker to read its value.",
        "The standard error falls like 1/√R. If it must become ten times smaller, R must become "
        "a hundred times larger.",
        f"{DRAWS} * (standard_error / error_of_quadrature) ** 2",
    ),
    solution=(
        "from etgp_viz.course.lessons.lesson_05 import example_model\n"
        "from etgp_viz.records import inference as inference_records\n\n"
        "errors = inference_records.node_errors(*example_model())\n"
        f"ratio = errors.standard_error[list(errors.draws).index({DRAWS})]\n"
        f"ratio /= errors.quadrature[list(errors.nodes).index({NODES})]\n"
        f"draws = {DRAWS} * ratio**2"
    ),
    explanation=(
        "Each further digit costs Monte Carlo a hundred times as many draws, but quadrature only "
        "a few nodes. That is the benefit of one dimension; a softmax of C independent latents "
        "does not have it."
    ),
    reveal=lambda: f"From the unrounded errors: about {_needed_draws():.1g} draws for one row.",
)


LESSON = Lesson(
    number="05",
    title="Inference",
    setup=(
        "import numpy as np\n"
        "from scipy.special import log_softmax\n\n"
        "from etgp_viz.course import check, hint, progress, review, solution, warm_up"
    ),
    exercises=(PREDICT, POSTERIOR, DERIVATION, QUADRATURE, READ, AVERAGING, FAR_AWAY),
    teaching={
        "": (
            "**Timing** (80 minutes): Touch 3, warm-up 2, Predict 5, Play 8, inducing points with "
            "05.2 12, the bound with 05.3 14, quadrature with 05.4 and 05.5 12, training 8, "
            "dropout and far away with 05.7 10, what labels cannot see 4, Reflect 2. In two "
            "sittings, which is more comfortable, break before *Code: training*. With only 45 "
            "minutes, give 05.4 as homework and leave out natural gradients and everything after "
            "PE and BA except the dropout table."
        ),
        "Predict": (
            "**Ask.** What exactly is unknown in an ETGP with ten classes? Collect answers on the "
            "board (ten functions? ten flows? one function and some weights?) before any formula."
        ),
        "Play": (
            "**Show with *present*.** Preset *A class that is at home in one place*: press play, "
            "and while it learns let the class say which picture shows f₀ and which the flows."
        ),
        "Derive: a few points that stand for all": (
            "**What goes wrong.** The sign. Let them test a formula before they believe it: with "
            "S = Kzz, q is the prior: what must the variance be? The printed formula fails this "
            "in one line."
        ),
        "Derive: the bound, step by step": (
            "**What goes wrong.** *KL times C* and *Jacobians in the bound* are the same mistake: "
            "students think that warping adds uncertainty. Say: q and the prior are warped alike, "
            "so nothing between them changes. Scaling the KL by N/B is the other classic."
        ),
        "Derive: one dimension": (
            "**Ask.** Why is an expectation over C warped values an integral over one number? Let "
            "somebody say LOTUS in their own words: average h(G(f₀)) over f₀, never look for the "
            "density of G(f₀)."
        ),
        "Reflect": (
            "**Discussion.** With dropout, KL_W is a stand-in for a KL. Is the ELBO here still a "
            "lower bound of anything? What would you need to compare two values of it honestly?"
        ),
    },
)
