"""Lesson 08: its flows by finite differences, its likelihoods against closed forms."""

from pathlib import Path

import nbformat
import numpy as np
import pytest
from scipy.special import gammaln, ndtr

from etgp_viz import ETGP, FlowNetwork
from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.course.lessons.lesson_08 import LABELS, joint_probability

RNG = np.random.default_rng(8)
N, M, C = 5, 4, 3
X = RNG.uniform(-2.0, 2.0, (N, 1))
A, B = RNG.normal(size=C), RNG.normal(size=C)


def linear_model(likelihood: gpflow.likelihoods.Likelihood) -> ETGP:
    """An ETGP with constant linear flows and some q(u₀)."""
    network = FlowNetwork(1, C, flows.Linear(), hidden=())
    network.output.bias.assign(np.concatenate([A, B]))
    Z = np.linspace(-2.0, 2.0, M)[:, None]
    model = ETGP(gpflow.kernels.Matern32(0.8), network, Z, likelihood=likelihood, num_quadrature=40)
    rng = np.random.default_rng(0)
    model.q_mu.assign(rng.normal(size=(M, 1)))
    model.q_sqrt.assign(0.5 * np.eye(M)[None])
    return model


def test_labels_share_the_latent():
    """P(all labels 1) of the model is the exercise's, but for GPflow's link, (1 − 2ε)Φ + ε."""
    model = linear_model(gpflow.likelihoods.Bernoulli())
    mean, variance = (moment.numpy()[:, 0] for moment in model.predict_latent(X))
    of_model = np.exp(model.predict_log_density((X, np.ones((N, C)))))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    for n in range(N):
        probability = joint_probability(mean[n], variance[n], A, B, nodes, weights / weights.sum())
        assert probability == pytest.approx(of_model[n], abs=4e-3)
        f = A * (mean[n] + np.sqrt(variance[n]) * RNG.normal(size=(200_000, 1))) + B
        draws = np.prod(0.998 * ndtr(f) + 0.001, axis=1)
        assert abs(draws.mean() - of_model[n]) < 4 * draws.std() / np.sqrt(len(draws))
    assert np.max(np.abs(of_model - np.prod(model.predict_y(X)[0], axis=1))) > 0.01


def test_counts_have_a_closed_form():
    """E[log Poisson(y; exp(af + b))] = y(aµ + b) − exp(aµ + b + a²σ²/2) − log y!."""
    model = linear_model(gpflow.likelihoods.Poisson())
    counts = RNG.poisson(2.0, (N, C)).astype(float)
    mean, variance = model.predict_latent(X)
    centre = A * mean.numpy() + B
    rate = np.exp(centre + 0.5 * A**2 * variance.numpy())
    expected = np.sum(counts * centre - rate - gammaln(counts + 1.0), axis=1)
    computed = model.variational_expectations(tf.constant(X), tf.constant(counts))
    np.testing.assert_allclose(computed, expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_y(X)[0], rate, rtol=1e-9)


def test_the_known_mistake_is_the_product_of_marginals():
    mean, variance, a, b, nodes, weights = LABELS.answer.inputs()[0]
    apart = LABELS.mistakes["a new latent for each label"].answer()
    each = [
        joint_probability(mean, variance, a[c : c + 1], b[c : c + 1], nodes, weights)
        for c in range(3)
    ]
    assert apart(mean, variance, a, b, nodes, weights) == pytest.approx(np.prod(each))


@pytest.mark.parametrize("p", [0.3, 1.0, 2.4])
def test_the_flow_of_the_notebook(p, capsys):
    (path,) = (Path(__file__).parents[3] / "notebooks").glob("08_*.ipynb")
    (cell,) = [each for each in nbformat.read(path, as_version=4).cells if each.id == "flow"]
    names = {"np": np}
    exec(cell.source, names)  # code of the course
    flow, f, step = names["Modulus"](), np.linspace(-4.0, 4.0, 40), 1e-6
    raw = flow.unconstrain([p])
    np.testing.assert_allclose(flow.inverse(flow.forward(f, raw), raw), f, atol=1e-12)
    slope = (flow.forward(f + step, raw) - flow.forward(f - step, raw)) / (2 * step)
    np.testing.assert_allclose(np.log(slope), flow.log_derivative(f, raw), atol=1e-6)
    np.testing.assert_allclose(flow.forward(f, flow.identity_params()), f, atol=1e-12)
