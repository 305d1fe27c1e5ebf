"""Classifiers of scikit-learn with the predictions of the other models."""

import numpy as np
import pytest

from etgp_viz import fit
from etgp_viz.rivals.build_model import build

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1.0, 50.0, 0.01] + [0.0, 500.0, 0.0]
ALONG = X[:, :1] + (X[:, 1:2] - 500.0) / 50.0
Y = (ALONG > -0.5).astype(int) + (ALONG > 0.7)

both = pytest.mark.parametrize("name", ["logistic", "boosting"])


@both
def test_it_trains_and_predicts_like_the_other_models(name):
    model = build(name, X, 3, num_inducing=7).train((X, Y))
    p, variance = (moment.numpy() for moment in model.predict_y(X))
    assert p.shape == (80, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(variance, p * (1 - p))
    assert (p.argmax(axis=1) == Y[:, 0]).mean() > 0.9
    log_p = model.predict_log_density((X, Y)).numpy()
    np.testing.assert_allclose(log_p, np.log(p[np.arange(80), Y[:, 0]]))
    assert model.num_classes == 3
    assert model.num_data == 80


def test_logistic_regression_sees_standardised_inputs():
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    p = [build("logistic", x, 3).train((x, Y)).predict_y(x)[0] for x in (X, scaled)]
    np.testing.assert_allclose(*p, rtol=1e-6)


@both
def test_a_class_without_rows_gets_what_laplace_gives_it(name):
    labels = np.where(Y == 1, 4, Y)  # classes 1 and 3 of five have no rows
    # The rows that boosting sets aside depend on the order of the classes: it sets none aside here.
    options = {"early_stopping": False} if name == "boosting" else {}
    model = build(name, X, 5, **options).train((X, labels))
    whole = build(name, X, 3, **options).train((X, Y)).predict_y(X)[0].numpy()
    p = model.predict_y(X)[0].numpy()
    np.testing.assert_allclose(p[:, [1, 3]], 1 / 85)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # The order of the classes may change rounding, and no more.
    np.testing.assert_allclose(p[:, [0, 4, 2]], whole * 83 / 85, atol=1e-4)
    assert np.isfinite(model.predict_log_density((X, np.full_like(Y, 3)))).all()


def test_a_probability_of_zero_has_a_finite_logarithm():
    model = build("logistic", X, 3).train((X, Y))
    model.pipeline[-1].coef_ *= 1e6
    log_p = model.predict_log_density((X, 2 - Y)).numpy()
    assert np.isfinite(log_p).all()
    assert log_p.min() == pytest.approx(np.log(np.finfo(float).tiny))


def test_options_and_seed_are_scikit_learns():
    model = build("boosting", X, 3, max_iter=3, seed=5).train((X, Y))
    assert model.estimator.get_params()["max_iter"] == 3
    assert model.estimator.random_state == 5
    assert model.train((X, Y), seed=6).estimator.random_state == 6
    with pytest.raises(ValueError, match=r"depth: expected an option of 'boosting'.*max_iter"):
        build("boosting", X, 3, depth=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict_y(X), "model: expected a trained model"),
        (lambda m: m.train((X, Y)).predict_y(X, samples=2), "samples: expected None"),
        (lambda m: m.train((X, Y)).predict_y(X[:, :2]), r"X: expected .*\[N, 3\]"),
        (lambda m: m.train((X, Y + 1)), r"Y: .* 0..2"),
        (lambda m: fit(m, (X, Y), epochs=1), "model: expected a training_loss method"),
    ],
)
def test_bad_use_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(build("logistic", X, 3))
