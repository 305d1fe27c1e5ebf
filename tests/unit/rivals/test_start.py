"""Where training starts: f0 takes part from the first step, and no class is preferred."""

import numpy as np
import pytest

from etgp_viz import build, datasets, fit
from etgp_viz.backend import gpflow, tf
from etgp_viz.rivals.names import ETGPS

N, D, C, M = 40, 3, 4, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = RNG.integers(0, C, size=(N, 1))
EXACT = ("etgp-linear", "etgp-sal")  # TANH starts next to the identity


def start(name, how, **options):
    return build(name, X, C, num_inducing=M, hidden=(5,), dropout=0.0, start=how, **options)


@pytest.mark.parametrize("how", ["draw", "paper"])
@pytest.mark.parametrize("name", EXACT)
def test_all_classes_are_equally_likely(name, how):
    p = start(name, how).predict_y(X)[0]
    np.testing.assert_allclose(p, 1.0 / C, atol=1e-12)


def slope_of_slopes(model):
    """The size of the gradient by the network's weights that decide about class 0's slope."""
    with tf.GradientTape() as tape:
        loss = model.training_loss((X, Y))
    weights = model.network.output.weights.unconstrained_variable
    gradient = tape.gradient(loss, weights).numpy()
    parameter = {"etgp-linear": 0, "etgp-sal": model.network.flow.num_params - 2}
    first = parameter["etgp-linear" if model.network.flow.num_params == 2 else "etgp-sal"] * C
    return np.abs(gradient[:, first : first + C]).max()


@pytest.mark.parametrize("name", EXACT)
def test_a_draw_gives_the_slopes_a_gradient(name):
    assert slope_of_slopes(start(name, "draw")) > 10.0 * slope_of_slopes(start(name, "paper"))


def test_the_mean_of_f0_is_a_draw_from_the_prior():
    white = [build("etgp-linear", X, C, num_inducing=M, seed=s).q_mu.numpy() for s in range(200)]
    values = np.concatenate(white)
    assert abs(values.mean()) < 4.0 / np.sqrt(values.size)
    assert abs(values.var() - 1.0) < 4.0 * np.sqrt(2.0 / values.size)


def test_without_whitening_the_draw_is_the_same_function():
    white, plain = (start("etgp-linear", "draw", whiten=whiten) for whiten in (True, False))
    for model in (white, plain):
        gpflow.utilities.multiple_assign(model, {".q_sqrt": 1e-8 * np.eye(M)[None]})
    np.testing.assert_allclose(white.predict_latent(X)[0], plain.predict_latent(X)[0], atol=1e-6)


def test_the_paper_starts_from_zero_with_lengthscale_two():
    model = build("etgp-linear", np.tile(X, 10), C, num_inducing=M, start="paper")
    assert not model.q_mu.numpy().any()
    np.testing.assert_allclose(model.kernel.lengthscales, 2.0)


@pytest.mark.parametrize("name", ["etgp-linear", "svgp-rbf"])
def test_many_inputs_have_longer_lengthscales_in_all_models_alike(name):
    model = build(name, np.tile(X, 12), C, num_inducing=M)
    kernel = model.kernel.kernels[0] if name == "svgp-rbf" else model.kernel
    np.testing.assert_allclose(kernel.lengthscales, 0.5 * np.sqrt(12 * D))


def test_an_unknown_start_is_named():
    with pytest.raises(ValueError, match="start"):
        start("etgp-linear", "nowhere")


@pytest.mark.slow
@pytest.mark.parametrize("name", ETGPS)
def test_f0_matters_on_digits(name):
    """Setting f0 to 0 costs every flow at least 0.05 nats on test rows."""
    data = datasets.load("digits", validation=0.1, seed=0)
    model = build(name, data.train[0], 10, num_inducing=100, precision="float32")
    fit(model, data.train, epochs=120, batch_size=400, half_life=18.0, progress=False)
    latent = model.latent_contribution(data.part("test"))
    assert latent.lost_at_zero > 0.05
    assert latent.log_likelihood > -0.15
