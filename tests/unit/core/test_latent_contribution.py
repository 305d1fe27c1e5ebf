"""What f0 is worth, against a reference written with loops."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from etgp_viz import build, fit
from etgp_viz.core.expectations import gauss_hermite

N, D, C = 12, 2, 3
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, D)), RNG.integers(0, C, size=(N, 1))


def make(name="etgp-linear", **options):
    model = build(name, X, C, num_inducing=4, hidden=(5,), dropout=0.3, **options)
    weights = model.network.output.weights
    weights.assign(RNG.normal(scale=0.5, size=weights.shape))
    model.q_sqrt.assign(0.4 * np.eye(4)[None])
    return model


def reference(model, params):
    """Mean log densities as predicted, at the mean of f0, and at 0, row by row and draw by draw."""
    mean, variance = (part.numpy()[:, 0] for part in model.predict_latent(X))
    nodes, weights = gauss_hermite(60)
    totals = np.zeros(3)
    for n in range(N):
        at = ((mean[n] + np.sqrt(variance[n]) * nodes, weights), ([mean[n]], [1.0]), ([0.0], [1.0]))
        for k, (latents, shares) in enumerate(at):
            terms = []
            for draw in params:
                F = model.network.flow.forward(np.array(latents)[:, None], draw[n]).numpy()
                for f, w in zip(F, shares, strict=True):
                    terms.append(np.log(w) + log_softmax(f)[Y[n, 0]])
            totals[k] += logsumexp(terms) - np.log(len(params))
    return totals / N


@pytest.mark.parametrize("samples", [None, 3])
@pytest.mark.parametrize("name", ["etgp-linear", "etgp-tanh"])
def test_contribution_equals_a_loop(name, samples):
    model = make(name)
    params = model.network(X, samples, 5).numpy()
    params = params[None] if samples is None else params
    latent = model.latent_contribution((X, Y), samples=samples, seed=5)
    np.testing.assert_allclose(latent, reference(model, params), rtol=1e-6)
    assert latent.lost_at_zero == latent.log_likelihood - latent.at_zero
    assert latent.lost_at_mean == latent.log_likelihood - latent.at_mean


def test_a_model_that_ignores_f0_loses_nothing():
    model = make()
    weights = np.zeros(model.network.output.weights.shape)
    weights[:, C:] = 1.0  # b alone depends on x, and all classes have the same slope
    model.network.output.weights.assign(weights * RNG.normal(size=weights.shape))
    latent = model.latent_contribution((X, Y))
    np.testing.assert_allclose([latent.lost_at_zero, latent.lost_at_mean], 0.0, atol=1e-12)


def test_a_fit_says_what_f0_is_worth():
    model = make()
    result = fit(model, (X, Y), epochs=2, validation=(X[:5], Y[:5]), progress=False)
    assert result.latent == model.latent_contribution((X[:5], Y[:5]))
    svgp = build("svgp-rbf", X, C, num_inducing=4)
    assert fit(svgp, (X, Y), epochs=1, progress=False).latent is None
