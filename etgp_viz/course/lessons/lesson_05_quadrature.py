"""Exercises 05.4 and 05.5: quadrature in one dimension, and Monte Carlo beside it."""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from etgp_viz.course.answers import Function, Number
from etgp_viz.course.exercise import Exercise, Mistake

__all__ = ["QUADRATURE", "READ", "example_model", "expected_log_likelihood"]


def _values(mean: float, deviation: float, a: np.ndarray, b: np.ndarray, nodes: np.ndarray) -> Any:
    return a * (mean + deviation * nodes)[:, None] + b  # [Q, C]


def expected_log_likelihood(
    mean: float,
    variance: float,
    a: np.ndarray,
    b: np.ndarray,
    label: int,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> float:
    """E[log softmax(a·f₀ + b)_label] for f₀ ~ N(mean, variance), by quadrature."""
    f = _values(mean, np.sqrt(variance), a, b, nodes)
    return float(weights @ log_softmax(f, axis=1)[:, label])


def _own_latents(
    mean: float,
    variance: float,
    a: np.ndarray,
    b: np.ndarray,
    label: int,
    nodes: np.ndarray,
    weights: np.ndarray,
) -> float:
    """The same with an independent latent for each of three classes: a grid of Q³ nodes."""
    f = _values(mean, np.sqrt(variance), a, b, nodes)
    grid = logsumexp(np.stack(np.meshgrid(*f.T, indexing="ij")), axis=0)
    return float(weights @ f[:, label] - np.einsum("ijk,i,j,k->", grid, weights, weights, weights))


def _some_row(rng: np.random.Generator) -> list[Any]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    a, b = rng.normal(size=3), rng.normal(size=3)
    mean, variance = round(float(rng.normal()), 2), round(float(rng.uniform(1.5, 4.0)), 2)
    return [mean, variance, a, b, int(rng.integers(3)), nodes, weights / weights.sum()]


QUADRATURE = Exercise(
    id="05.4",
    kind="write-a-function",
    prompt=(
        "Write `expected_log_likelihood(mean, variance, a, b, label, nodes, weights)`: the "
        "expectation of log softmax(f¹, …, fᶜ) at the row's label, for f₀ ~ N(mean, variance) and "
        "linear flows with scales a and shifts b (arrays of length C). `nodes` and `weights` are a "
        "Gauss–Hermite rule for a standard normal z: E[h(z)] is about the sum of weights·h(nodes). "
        "`log_softmax(values, axis=1)` from the first cell is at hand."
    ),
    stub=(
        "def expected_log_likelihood(mean, variance, a, b, label, nodes, weights):\n    return ..."
    ),
    name="expected_log_likelihood",
    answer=Function(
        "expected_log_likelihood",
        ("mean", "variance", "a", "b", "label", "nodes", "weights"),
        ("the expectation",),
        _some_row,
    ),
    truth=lambda: expected_log_likelihood,
    mistakes={
        "variance for standard deviation": Mistake(
            lambda: lambda mean, variance, *rest: expected_log_likelihood(mean, variance**2, *rest),
            "You stretched the nodes by the variance. f₀ = mean + (standard deviation)·z: take the "
            "square root.",
        ),
        "log of the mean": Mistake(
            lambda: (
                lambda mean, variance, a, b, label, nodes, weights: float(
                    np.log(
                        weights
                        @ np.exp(log_softmax(_values(mean, variance**0.5, a, b, nodes), axis=1))
                    )[label]
                )
            ),
            "This is the log of the expected probability. The ELBO has the expectation of the log, "
            "which is lower (Jensen's inequality).",
        ),
        "at the mean": Mistake(
            lambda: lambda mean, variance, a, b, label, *_: log_softmax(a * mean + b)[label],
            "This looks at the mean of f₀ alone. The uncertainty of f₀ must come in, node by node.",
        ),
        "a new latent for each class": Mistake(
            lambda: _own_latents,
            "You used a latent of its own for each class. All classes bend the same f₀: at a node "
            "they all see the same number.",
        ),
        "no weights": Mistake(
            lambda: (
                lambda mean, variance, a, b, label, nodes, weights: float(
                    np.mean(
                        log_softmax(_values(mean, variance**0.5, a, b, nodes), axis=1)[:, label]
                    )
                )
            ),
            "The nodes are not equally likely: sum with the weights instead of taking the mean.",
        ),
        "no normalisation": Mistake(
            lambda: lambda mean, variance, a, b, label, *_: a[label] * mean + b[label],
            "This is the expectation of the label's own value. The log of the softmax also takes "
            "log Σ exp of all classes away.",
        ),
    },
    hints=(
        "Where are the nodes on the axis of f₀? At mean + √variance·nodes.",
        "Bend all of them for all classes: an array of shape [Q, C], a * f0[:, None] + b.",
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
        "one-dimensional. LOTUS lets us integrate over f₀ and never over the bent values."
    ),
    properties={
        "With equal flows all classes are equally likely: −log C.": (
            lambda function: np.isclose(
                function(0.3, 2.0, np.ones(4), np.zeros(4), 1, *_some_row(_rng())[-2:]), -np.log(4)
            )
        ),
        "Without variance it is the log softmax itself.": (
            lambda function: np.isclose(
                function(1.0, 0.0, np.array([2.0, 0.0]), np.zeros(2), 0, *_some_row(_rng())[-2:]),
                log_softmax([2.0, 0.0])[0],
            )
        ),
    },
)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


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
    """The error of quadrature with NODES nodes, the standard error of Monte Carlo with DRAWS."""
    from etgp_viz.records import inference as inference_records

    found = inference_records.node_errors(*example_model())
    nodes, draws = list(found.nodes), list(found.draws)
    return (
        float(found.quadrature[nodes.index(NODES)]),
        float(found.standard_error[draws.index(DRAWS)]),
    )


def _power(number: float) -> float:
    return float(np.log10(number))


def _needed() -> float:
    quadrature, monte_carlo = _errors()
    return DRAWS * (monte_carlo / quadrature) ** 2


READ = Exercise(
    id="05.5",
    kind="read-the-plot",
    prompt=(
        f"Read two numbers off the picture above: the error of quadrature with Q = {NODES} nodes, "
        f"and the standard error of Monte Carlo with S = {DRAWS} draws. How many draws for each "
        f"row would Monte Carlo need, for a standard error as small as the error of {NODES} nodes? "
        "Give the power of ten: 3 for a thousand, 3.5 for about three thousand, 4 for ten thousand."
    ),
    stub="power_of_ten = ...",
    name="power_of_ten",
    answer=Number(tolerance=0.06),
    truth=lambda: _power(_needed()),
    mistakes={
        "linear": Mistake(
            lambda: _power(DRAWS * _errors()[1] / _errors()[0]),
            "A standard error falls with the square root of the number of draws: for a tenth of "
            "it, a hundred times as many.",
        ),
        "the factor alone": Mistake(
            lambda: _power((_errors()[1] / _errors()[0]) ** 2),
            f"This is how many times as many draws are needed. {DRAWS} of them were drawn already: "
            "multiply.",
        ),
        "the number itself": Mistake(
            _needed,
            "This is the number of draws. Asked is its power of ten: its logarithm to the base 10.",
        ),
        "upside down": Mistake(
            lambda: _power(DRAWS * (_errors()[0] / _errors()[1]) ** 2),
            "Upside down: quadrature is the more exact one here, so Monte Carlo needs more than "
            f"{DRAWS} draws.",
        ),
    },
    hints=(
        "Both axes are logarithmic. Point at a marker to read its value.",
        "The standard error is σ/√S. If it must become r times smaller, S must become r² times "
        "larger.",
        f"np.log10({DRAWS} * (standard_error / error_of_quadrature) ** 2)",
    ),
    solution=(
        "from etgp_viz.records import inference as inference_records\n"
        "from etgp_viz.course.lessons.lesson_05_quadrature import example_model\n\n"
        "errors = inference_records.node_errors(*example_model())\n"
        f"ratio = errors.standard_error[list(errors.draws).index({DRAWS})]\n"
        f"ratio /= errors.quadrature[list(errors.nodes).index({NODES})]\n"
        f"power_of_ten = np.log10({DRAWS} * ratio**2)"
    ),
    explanation=(
        "Each further digit costs Monte Carlo a hundred times the draws, and quadrature a few "
        "nodes. That is the prize of one dimension; with C independent latents it is not to be had."
    ),
    reveal=lambda: f"By the unrounded figures: about {_needed():.1g} draws for each row.",
)
