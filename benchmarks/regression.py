"""ETGP against GPflow's GPR and SVGP on the regression data sets that ship with scikit-learn.

A fifth of the rows is held out, three times. All models see the same rows, standardised inputs and
outputs, and an RBF kernel with one lengthscale per input, which starts at 2. GPR is exact and is
trained by L-BFGS (one for each output); SVGP and ETGP take the same steps of Adam, at the
same rates, from the same inducing points. A linear model is the floor that all should beat.

RMSE is in standard deviations of each output, over all outputs; the log density is that of a row
of outputs, in the same units, in nats. Times include tracing and compiling.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.linear_model import BayesianRidge

from etgp_viz import ETGPRegressor, fit
from etgp_viz.backend import gpflow
from etgp_viz.rivals.build_model import kmeans

SEEDS, HELD_OUT, STEPS, RATE, FINAL = (0, 1, 2), 0.2, 2000, 0.01, 0.01
M, LENGTHSCALE, NOISE = 100, 2.0, 0.1
DATA = {"diabetes": load_diabetes, "linnerud": load_linnerud}
ETGPS: dict[str, dict[str, Any]] = {
    "ETGP LINEAR": {},
    "ETGP LINEAR, BA": {"prediction": "ba"},
    "ETGP SAL": {"flow": "sal"},
    "ETGP SPLINE": {"flow": "spline"},
    "ETGP LINEAR, no dropout": {"dropout": 0.0},
    "ETGP LINEAR, early stop": {"validation": 0.2, "patience": 100},
}

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # X, Y, new X and new Y
Prediction = tuple[np.ndarray, np.ndarray]  # means [N, C] and log densities of rows [N]


def splits(load: Callable) -> Iterator[Split]:
    """Standardised training and test rows, for each seed."""
    X, Y = (np.asarray(part, float).reshape(len(part), -1) for part in load(return_X_y=True))
    for seed in SEEDS:
        rows = np.random.default_rng(seed).permutation(len(X))
        new, old = np.split(rows, [round(HELD_OUT * len(X))])
        X_, Y_ = ((part - part[old].mean(axis=0)) / part[old].std(axis=0) for part in (X, Y))
        yield X_[old], Y_[old], X_[new], Y_[new]


def kernel(num_inputs: int) -> gpflow.kernels.Kernel:
    """The kernel that all Gaussian processes start from."""
    return gpflow.kernels.SquaredExponential(lengthscales=np.full(num_inputs, LENGTHSCALE))


def joined(predictions: list[Prediction]) -> Prediction:
    """Of independent models of one output each."""
    means, densities = zip(*predictions, strict=True)
    return np.hstack(means), np.sum(densities, axis=0)


def gpr(X: np.ndarray, Y: np.ndarray, new: np.ndarray, Y_new: np.ndarray, seed: int) -> Prediction:
    """Exact Gaussian process regression."""

    def one(y: np.ndarray, y_new: np.ndarray) -> Prediction:
        model = gpflow.models.GPR((X, y), kernel(X.shape[1]), noise_variance=NOISE)
        gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables)
        density = model.predict_log_density((new, y_new))
        return model.predict_y(new)[0].numpy(), density.numpy()

    return joined([one(Y[:, [c]], Y_new[:, [c]]) for c in range(Y.shape[1])])


def svgp(X: np.ndarray, Y: np.ndarray, new: np.ndarray, Y_new: np.ndarray, seed: int) -> Prediction:
    """GPflow's sparse variational regression, one for each output."""

    def one(y: np.ndarray, y_new: np.ndarray) -> Prediction:
        Z = kmeans(X, min(M, len(X)), seed=seed)
        likelihood = gpflow.likelihoods.Gaussian(NOISE)
        model = gpflow.models.SVGP(kernel(X.shape[1]), likelihood, Z, num_data=len(X))
        half_life = STEPS / np.log2(1.0 / FINAL)
        rates = {"learning_rate": RATE, "half_life": half_life}
        fit(model, (X, y), epochs=STEPS, **rates, seed=seed, progress=False)
        density = model.predict_log_density((new, y_new))
        return model.predict_y(new)[0].numpy(), density.numpy()

    return joined([one(Y[:, [c]], Y_new[:, [c]]) for c in range(Y.shape[1])])


def linear(
    X: np.ndarray, Y: np.ndarray, new: np.ndarray, Y_new: np.ndarray, seed: int
) -> Prediction:
    """Bayesian linear regression, one for each output."""

    def one(y: np.ndarray, y_new: np.ndarray) -> Prediction:
        mean, deviation = BayesianRidge().fit(X, y).predict(new, return_std=True)
        density = -0.5 * np.log(2 * np.pi * deviation**2) - 0.5 * ((y_new - mean) / deviation) ** 2
        return mean[:, None], density

    return joined([one(Y[:, c], Y_new[:, c]) for c in range(Y.shape[1])])


def etgp(settings: dict[str, Any]) -> Callable[..., Prediction]:
    """`ETGPRegressor` with its defaults, but for these settings."""

    def predict(
        X: np.ndarray, Y: np.ndarray, new: np.ndarray, Y_new: np.ndarray, seed: int
    ) -> Prediction:
        same = {"num_inducing": M, "epochs": STEPS, "learning_rate": RATE, "random_state": seed}
        regressor = ETGPRegressor(**same, **settings).fit(X, Y)
        return regressor.predict(new), regressor.log_density(new, Y_new)

    return predict


def main() -> None:
    """Print RMSE, log density and time of every model on every data set."""
    rivals = {"linear model": linear, "GPflow GPR": gpr, "GPflow SVGP": svgp}
    rivals |= {name: etgp(settings) for name, settings in ETGPS.items()}
    for name, load in DATA.items():
        X, Y, new, _ = next(splits(load))
        print(f"\n{name}: {len(X)} + {len(new)} rows, {X.shape[1]} inputs, {Y.shape[1]} outputs")
        print(f"{'':26}{'RMSE, three seeds':>26}{'log density':>30}{'seconds':>10}")
        for rival, predict in rivals.items():
            scores = []
            for seed, split in enumerate(splits(load)):
                start = time.perf_counter()
                mean, density = predict(*split, SEEDS[seed])
                seconds = time.perf_counter() - start
                rmse = np.sqrt(np.mean((mean - split[3]) ** 2))
                scores.append((rmse, density.mean(), seconds))
            rmse, density, seconds = np.transpose(scores)
            each = "  ".join(f"{value:.3f}" for value in rmse)
            log_p = "  ".join(f"{value:8.3f}" for value in density)
            print(f"{rival:26}{each:>26}{log_p:>30}{np.median(seconds):10.1f}", flush=True)


if __name__ == "__main__":
    main()
