"""The robust-max SVGP against GPflow's own, against brute force, and in training."""

import numpy as np
import pytest

from etgp_viz import fit
from etgp_viz.backend import as_written, gpflow, tf
from etgp_viz.checks import highest_elbo
from etgp_viz.core import blocks
from etgp_viz.rivals.build_model import build
from etgp_viz.rivals.robust_max import RobustMaxSVGP
from tests.unit.rivals.models import C, D, M, X, Y, latents, rng, set_q


def robust_max(*args, **options):
    return set_q(RobustMaxSVGP(*latents(*args), C, **options))


def gpflow_s(sharing, num_data=None):
    """GPflow's SVGP with the same kernels, points and q."""
    kernel, points = latents(sharing)
    likelihood = gpflow.likelihoods.MultiClass(C)
    options = {"num_latent_gps": C, "num_data": num_data}
    return set_q(gpflow.models.SVGP(kernel, likelihood, points, **options))


@pytest.mark.parametrize("is_batched", [False, True])
@pytest.mark.parametrize("sharing", ["separate", "shared"])
def test_it_equals_gpflow(sharing, is_batched):
    ours, theirs = robust_max(sharing, is_batched, num_data=50), gpflow_s(sharing, 50)
    elbo = as_written(theirs.elbo)((X, Y))
    np.testing.assert_allclose(ours.elbo((X, Y)), elbo, rtol=1e-8)
    np.testing.assert_array_equal(ours.elbo((X, Y)), ours.elbo((X, Y)))  # nothing is drawn
    p = as_written(theirs.predict_y)(X)[0].numpy()
    total = p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(total, 1.0, atol=2e-3)  # by quadrature, and not exactly one
    np.testing.assert_allclose(ours.predict_y(X)[0], p / total, rtol=1e-7)
    log_p = as_written(theirs.predict_log_density)((X, Y))
    np.testing.assert_allclose(
        ours.predict_log_density((X, Y)), log_p - np.log(total[:, 0]), rtol=1e-7
    )


def test_probabilities_equal_brute_force():
    model = robust_max("shared")
    mean, variance = (moment.numpy() for moment in model.predict_f(X))
    draws = mean + np.sqrt(variance) * rng.normal(size=(200_000, *mean.shape))
    largest = np.eye(C)[draws.argmax(axis=-1)].mean(axis=0)
    epsilon = 1e-3
    p = (1 - epsilon) * largest + epsilon / (C - 1) * (1 - largest)
    np.testing.assert_allclose(model.predict_y(X)[0], p, atol=6 / np.sqrt(200_000))
    np.testing.assert_allclose(tf.reduce_sum(model.predict_y(X)[0], axis=1), 1.0, rtol=1e-12)
    assert not model.prediction_error(X).numpy().any()


def test_blocks_of_rows_change_nothing(monkeypatch):
    model = robust_max("shared", True)
    whole = model.predict_y(X)[0]
    monkeypatch.setattr(blocks, "NUMBERS_PER_CHUNK", 2 * C * C * 20)  # two rows, then one
    np.testing.assert_allclose(model.predict_y(X)[0], whole, rtol=1e-12)
    any_rows = tf.function(
        lambda X: model.predict_y(X)[0], input_signature=[tf.TensorSpec([None, D], tf.float64)]
    )
    np.testing.assert_allclose(any_rows(tf.constant(X)), whole, rtol=1e-12)


def test_it_trains_with_fit():
    inputs = rng.normal(size=(40, D))
    labels = (inputs[:, :1] > 0).astype(int) + (inputs[:, 1:] > 0.5)
    model = build("svgp-robustmax", inputs, C, num_inducing=8, sharing="shared", batched=True)
    # ε has a prior in GPflow, but is not trained: the ELBO is still a bound on a probability.
    assert highest_elbo(model) < 1e-3
    result = fit(model, (inputs, labels), epochs=30, learning_rate=0.1, progress=False)
    assert result.elbo[0] < 2 * result.elbo[-1] < 0.0
    correct = model.predict_y(inputs)[0].numpy().argmax(axis=1) == labels[:, 0]
    assert correct.mean() > 0.8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: robust_max("shared").predict_y(X, samples=5), "samples: expected None.*got 5"),
        (lambda: robust_max("shared").predict_y(X[:, :1]), r"X: expected .*\[N, 2\]"),
        (
            lambda: build("svgp-robustmax", X, C, num_inducing=M, num_predictive=10),
            "num_predictive: .*'svgp-robustmax' .sharing, batched, whiten",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
