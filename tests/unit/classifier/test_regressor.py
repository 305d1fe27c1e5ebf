"""`ETGPRegressor`: the models it reduces to, what it predicts, its settings and its file."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_linnerud
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from etgp_viz import ETGPClassifier, ETGPRegressor, FlowNetwork, fit, flows
from etgp_viz.backend import gpflow
from etgp_viz.core.model import ETGP
from etgp_viz.files import read_arrays, write_arrays

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, size=(60, 1))
WAVE = np.sin(X[:, 0])
Y = np.column_stack([10.0 + 3.0 * WAVE, -0.2 * WAVE]) + RNG.normal(size=(60, 2)) * [0.3, 0.03]
SMALL = {"num_inducing": 12, "hidden": (), "epochs": 800, "learning_rate": 0.05, "random_state": 0}
TINY = {"num_inducing": 5, "hidden": (3,), "epochs": 2, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    return ETGPRegressor(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def tiny():
    return ETGPRegressor(**TINY).fit(X, Y)


# --- the models that it reduces to --------------------------------------------------------------


def constant_linear(slope: float, shift: float) -> FlowNetwork:
    """A network whose LINEAR flow is the same for every input."""
    network = FlowNetwork(1, 1, flows.Linear(), hidden=(), start=[slope, shift])
    network.output.weights.assign(np.zeros_like(network.output.weights))
    return network


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (-2.0, 0.7)])
def test_with_a_constant_linear_flow_it_is_an_svgp(slope: float, shift: float) -> None:
    """a·f0 + b is a Gaussian process with a² times the variance and the mean b."""
    Z, y = np.linspace(-3.0, 3.0, 7)[:, None], WAVE[:, None]
    q_mu, q_sqrt = RNG.normal(size=(7, 1)), np.tril(RNG.normal(size=(1, 7, 7)))
    kernel = gpflow.kernels.SquaredExponential(variance=0.9, lengthscales=1.3)
    ours = ETGP(
        kernel, constant_linear(slope, shift), Z, likelihood=gpflow.likelihoods.Gaussian(0.2)
    )
    ours.q_mu.assign(q_mu)
    ours.q_sqrt.assign(q_sqrt)
    theirs = gpflow.models.SVGP(
        gpflow.kernels.SquaredExponential(variance=0.9 * slope**2, lengthscales=1.3),
        gpflow.likelihoods.Gaussian(0.2),
        Z,
        mean_function=gpflow.functions.Constant(shift),
        q_mu=np.sign(slope) * q_mu,  # of the whitened inducing variables
        q_sqrt=q_sqrt,
    )
    new = np.linspace(-4.0, 4.0, 9)[:, None]
    # The jitter is added to a kernel matrix whose scale differs: a part of 1e-6.
    close = {"rtol": 1e-10, "atol": 1e-10} if slope == 1.0 else {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(ours.elbo((X, y), None), theirs.elbo((X, y)), **close)
    for mine, other in zip(ours.predict_y(new), theirs.predict_y(new), strict=True):
        np.testing.assert_allclose(mine, other, **close)


def test_with_an_identity_flow_and_all_points_it_is_an_exact_gp() -> None:
    """One natural gradient step of size one solves the conjugate model: its ELBO is log p(y)."""
    y = WAVE[:, None] + 0.3 * RNG.normal(size=(60, 1))
    likelihood = gpflow.likelihoods.Gaussian(0.1)
    kernel = gpflow.kernels.SquaredExponential(lengthscales=1.2)
    network = constant_linear(1.0, 0.0)
    ours = ETGP(kernel, network, X, likelihood=likelihood, num_data=60)
    for part in (kernel, network, likelihood, ours.inducing_variable):
        gpflow.set_trainable(part, False)
    fit(ours, (X, y), epochs=2, natural_gradients=1.0, progress=False)
    exact = gpflow.models.GPR((X, y), kernel, noise_variance=0.1)
    # Inducing points at all rows: what is left is GPflow's jitter of 1e-6.
    np.testing.assert_allclose(ours.elbo((X, y)), exact.log_marginal_likelihood(), atol=1e-3)
    new = np.linspace(-3.0, 3.0, 11)[:, None]
    for mine, other in zip(ours.predict_y(new), exact.predict_y(new), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)


def test_each_output_has_its_own_noise() -> None:
    """log p(y | f) and its expectation under q, written out."""
    network = FlowNetwork(1, 2, flows.Linear(), hidden=(), start=[1.5, 0.3])
    noise = np.array([0.2, 0.7])
    model = ETGP(
        gpflow.kernels.SquaredExponential(),
        network,
        np.linspace(-2.0, 2.0, 5)[:, None],
        likelihood=gpflow.likelihoods.Gaussian(noise),
    )
    model.q_mu.assign(RNG.normal(size=(5, 1)))
    mean, variance = (moment.numpy() for moment in model.predict_latent(X))
    squares = (Y - 1.5 * mean - 0.3) ** 2 + 1.5**2 * variance
    expected = -0.5 * np.sum(np.log(2.0 * np.pi * noise) + squares / noise, axis=1)
    np.testing.assert_allclose(model.variational_expectations(X, Y), expected, rtol=1e-10)
    np.testing.assert_allclose(
        model.predict_y(X)[1], noise + 1.5**2 * variance * np.ones(2), rtol=1e-9
    )


# --- learning and predicting --------------------------------------------------------------------


def test_it_learns_outputs_of_different_scale(fitted) -> None:
    assert fitted.score(X, Y) > 0.9
    mean, deviation = fitted.predict(X, return_std=True)
    assert mean.shape == deviation.shape == (60, 2)
    np.testing.assert_allclose(fitted.target_mean_, Y.mean(axis=0))
    # Nine in ten of the rows are within two deviations, and the noise is found again.
    assert 0.88 < np.mean(np.abs(Y - mean) < 2.0 * deviation) <= 1.0
    noise = fitted.target_scale_ * np.sqrt(fitted.model_.likelihood.variance.numpy())
    np.testing.assert_allclose(noise, [0.3, 0.03], rtol=0.35)


def test_predictions_are_those_of_the_model(fitted) -> None:
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    mean, variance = fitted.model_.predict_y(scaled)
    found = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(found[0], Y.mean(axis=0) + Y.std(axis=0) * mean.numpy())
    np.testing.assert_allclose(found[1], Y.std(axis=0) * np.sqrt(variance.numpy()))


def test_the_density_of_a_linear_flow_is_a_gaussian(tiny) -> None:
    """Of both outputs together: their means move along one line with f0."""
    model, scaled = tiny.model_, tiny._scaled(X)
    theta = model.network.flow.constrain(model.network(scaled)).numpy()  # [N, C, (a, b)]
    mean, variance = (moment.numpy() for moment in model.predict_latent(scaled))
    noise = model.likelihood.variance.numpy()
    expected = [
        multivariate_normal(
            tiny.target_mean_ + tiny.target_scale_ * (a * mean[n] + b),
            np.outer(tiny.target_scale_ * a, tiny.target_scale_ * a) * variance[n]
            + np.diag(noise * tiny.target_scale_**2),
        ).logpdf(Y[n])
        for n, (a, b) in enumerate(np.moveaxis(theta, 2, 1))
    ]
    np.testing.assert_allclose(tiny.log_density(X, Y), expected, rtol=1e-8)
    with pytest.raises(ValueError, match="y: expected 2 outputs, as in the fit, got 1"):
        tiny.log_density(X, WAVE)


def test_the_density_averages_dropout_draws(tiny) -> None:
    bayesian = copy.deepcopy(tiny).set_params(prediction="ba", samples=3)
    params = tiny.model_.network(tiny._scaled(X), 3, seed=0).numpy()
    assert np.ptp(params, axis=0).max() > 0.0
    assert not np.allclose(bayesian.log_density(X, Y), tiny.log_density(X, Y), atol=1e-6)
    # The model's own rule has 20 nodes, which is enough where noise is as wide as f0.
    scaled = tiny._scaled(X), (Y - tiny.target_mean_) / tiny.target_scale_
    by_nodes = tiny.model_.predict_log_density(scaled, samples=3).numpy()
    by_nodes -= np.log(tiny.target_scale_).sum()
    np.testing.assert_allclose(bayesian.log_density(X, Y), by_nodes, rtol=1e-3)


def test_draws_have_the_moments_of_the_predictions(fitted) -> None:
    new = np.array([[-1.0], [2.0]])
    draws = fitted.sample_y(new, n_samples=4000, random_state=1)
    assert draws.shape == (2, 2, 4000)
    mean, deviation = fitted.predict(new, return_std=True)
    np.testing.assert_allclose(draws.mean(axis=-1), mean, atol=5.0 * deviation.max() / 63.0)
    np.testing.assert_allclose(draws.std(axis=-1), deviation, rtol=0.06)
    np.testing.assert_array_equal(draws, fitted.sample_y(new, 4000, random_state=1))


def test_one_output_may_be_a_vector() -> None:
    flat, column = (ETGPRegressor(**TINY).fit(X, y) for y in (WAVE, WAVE[:, None]))
    assert flat.predict(X).shape == (60,)
    assert column.predict(X).shape == (60, 1)
    np.testing.assert_array_equal(flat.predict(X), column.predict(X)[:, 0])
    assert flat.sample_y(X[:4], 3).shape == (4, 3)
    assert column.sample_y(X[:4], 3).shape == (4, 1, 3)


def test_an_output_that_never_changes_is_predicted() -> None:
    constant = ETGPRegressor(**TINY).fit(X, np.column_stack([WAVE, np.full(60, 7.0)]))
    assert np.isfinite(constant.predict(X)).all()
    assert constant.target_scale_[1] == 1.0


def test_validation_rows_do_not_set_the_scale() -> None:
    held = ETGPRegressor(**TINY | {"epochs": 4}, validation=0.25, patience=2).fit(X, Y)
    assert len(held.history_.validation) >= 2
    assert not np.allclose(held.target_mean_, Y.mean(axis=0), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("flow", ["sal", "spline"])
def test_other_flows(flow: str) -> None:
    regressor = ETGPRegressor(**TINY, flow=flow).fit(X, Y)
    assert np.isfinite(regressor.predict(X)).all()


def test_bayesian_predictions_are_wider(tiny) -> None:
    bayesian = copy.deepcopy(tiny).set_params(prediction="ba", samples=8)
    scaled = tiny._scaled(X)
    mean, _ = tiny.model_.predict_y(scaled, samples=8)
    expected = tiny.target_mean_ + tiny.target_scale_ * mean.numpy()
    np.testing.assert_array_equal(bayesian.predict(X), expected)


@pytest.mark.slow
def test_it_is_scored_by_r_squared() -> None:
    scores = cross_val_score(ETGPRegressor(**SMALL), X, Y, cv=3)
    assert np.min(scores) > 0.8


def test_it_takes_a_table_of_several_outputs() -> None:
    frame, targets = load_linnerud(return_X_y=True, as_frame=True)
    regressor = ETGPRegressor(**TINY).fit(frame, targets)
    assert regressor.feature_names_in_.tolist() == ["Chins", "Situps", "Jumps"]
    assert regressor.predict(frame).shape == (20, 3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ETGPRegressor(**TINY | {"hidden": (0,)}).fit(X, Y), "hidden: expected"),
        (lambda: ETGPRegressor(**TINY, flow="cubic").fit(X, Y), "flow: expected one of"),
        (lambda: ETGPRegressor(**TINY).fit(X, np.full(60, "a")), "could not convert"),
        (lambda: ETGPRegressor(**TINY).fit(X, Y[:9]), "inconsistent numbers of samples"),
        (lambda: ETGPRegressor(**TINY).fit(X, Y * np.nan), "NaN"),
    ],
)
def test_bad_input_is_refused(make, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
    with pytest.raises(NotFittedError):
        ETGPRegressor().sample_y(X)


# --- the file -----------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [WAVE, Y], ids=["flat", "two"])
def test_a_file_brings_it_back(y: np.ndarray, tmp_path) -> None:
    frame = pd.DataFrame(X, columns=["x"])
    regressor = ETGPRegressor(**TINY, flow="steps").fit(frame, y)
    regressor.save(tmp_path / "mine.npz")
    again = ETGPRegressor.load(tmp_path / "mine.npz")
    np.testing.assert_array_equal(again.predict(frame), regressor.predict(frame))
    np.testing.assert_array_equal(again.sample_y(frame, 2), regressor.sample_y(frame, 2))
    assert again.get_params() == regressor.get_params()
    unpickled = pickle.loads(pickle.dumps(regressor))
    np.testing.assert_array_equal(unpickled.predict(frame), regressor.predict(frame))


def test_a_file_of_the_other_estimator_is_refused(tiny, tmp_path) -> None:
    tiny.save(tmp_path / "mine.npz")
    with pytest.raises(ValueError, match=r"written by ETGPClassifier\.save.*something else"):
        ETGPClassifier.load(tmp_path / "mine.npz")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("target_scale", np.array([1.0, 0.0]), "not positive"),
        ("target_scale", np.array([1.0]), "wrong shape"),
        ("target_mean", np.array([np.nan, 0.0]), "finite"),
        ("target_mean", np.zeros((2, 1)), "wrong shape"),
        ("header", {"flat": "yes"}, "wrong shape"),
        ("header", {"flat": True}, "wrong shape"),
        ("header", {"jitter": -1.0}, "jitter"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(tiny, tmp_path, name, value, says) -> None:
    tiny.save(tmp_path / "mine.npz")
    arrays = read_arrays(tmp_path / "mine.npz")
    if name == "header":
        value = np.array(json.dumps(json.loads(str(arrays["header"])) | value))
    write_arrays(tmp_path / "mine.npz", arrays | {name: value})
    with pytest.raises(ValueError, match=rf"written by ETGPRegressor\.save.*{says}"):
        ETGPRegressor.load(tmp_path / "mine.npz")
