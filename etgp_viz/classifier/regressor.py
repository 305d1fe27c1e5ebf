"""`ETGPRegressor`: ETGP as a scikit-learn regressor of one or more outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from etgp_viz.checks import check_draws, fail
from etgp_viz.classifier.base import Estimator

__all__ = ["ETGPRegressor"]

NOISE = 0.1  # variance of the noise at the start, of outputs with variance one
# At the start q(u0) has a tenth of the deviation of the prior, and a tenth of a draw from it as its
# mean: targets pull on it at once, unless those of different outputs cancel.
START = 0.1
GRID_REACH, GRID_NODES = 8.0, 2001  # of f0, in standard deviations, for densities


class ETGPRegressor(MultiOutputMixin, RegressorMixin, Estimator):
    """Efficient Transformed Gaussian Process regressor.

    One Gaussian process f0, warped into one function per output, and Gaussian noise around each:

        y_c | f0(x) ~ N(G(f0(x); θ^c(x)), s_c²),    c = 1..C

    The noise s_c is learnt for each output, and outputs are standardised first. All outputs share
    one draw of f0, so that their predictions are dependent; between noisy outputs that have little
    in common, that is a wrong assumption, and a network must undo it.
    The network fits small tables too well: for tens or hundreds of rows, try GPflow's exact GPR
    first (``python -m benchmarks regression`` compares them).

    Parameters
    ----------
    flow, num_inducing, hidden, dropout, weight_decay, epochs, batch_size, learning_rate, samples,
        standardise, validation, patience, random_state, verbose : as in `ETGPClassifier`
    prediction : ``"pe"``, a point estimate with dropout off, or ``"ba"``, the Bayesian average over
        ``samples`` dropout draws

    Attributes
    ----------
    n_features_in_, feature_names_in_ : D, and the names of the inputs if they came as a data frame
    model_ : the trained ``ETGP``, of standardised inputs and outputs
    history_, n_iter_ : the ``FitResult`` of the fit, and its number of epochs; None after `load`
    mean_, scale_ : ``[D]``, subtracted from the inputs and dividing them
    target_mean_, target_scale_ : ``[C]``, the same of the outputs

    Examples
    --------
    >>> X = np.linspace(-3.0, 3.0, 40)[:, None]
    >>> Y = np.column_stack([np.sin(X[:, 0]), 5.0 - np.sin(X[:, 0])])
    >>> settings = {"num_inducing": 10, "hidden": (), "epochs": 300, "learning_rate": 0.05}
    >>> regressor = ETGPRegressor(**settings, random_state=0).fit(X, Y)
    >>> mean, deviation = regressor.predict([[1.5]], return_std=True)
    >>> mean.shape, deviation.shape, bool(regressor.score(X, Y) > 0.9)
    ((1, 2), (1, 2), True)

    To a file and back:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "mine.npz")
    >>> regressor.save(path)
    >>> bool(np.allclose(ETGPRegressor.load(path).predict([[1.5]]), mean))
    True
    """

    _name = "ETGPRegressor"

    @property
    def _num_outputs(self) -> int:
        return len(self.target_mean_)

    def _read_targets(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        self._is_flat = y.ndim == 1
        return X, y.astype(np.float64).reshape(len(y), -1)

    def _hold_out(self, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.permutation(len(targets))[: int(self.validation * len(targets))]

    def _scale_targets(self, targets: np.ndarray, train: np.ndarray) -> np.ndarray:
        self.target_mean_ = targets[train].mean(axis=0)
        deviation = targets[train].std(axis=0)
        self.target_scale_ = np.where(deviation > 0.0, deviation, 1.0)
        return (targets - self.target_mean_) / self.target_scale_

    def _model_options(self) -> dict[str, Any]:
        from etgp_viz.backend import gpflow

        # A vector of variances: one for each output.
        noise = np.full(self._num_outputs, NOISE)
        return {"likelihood": gpflow.likelihoods.Gaussian(noise)}

    def _build(self, X: np.ndarray, **options: Any) -> Any:
        model = super()._build(X, **options)
        model.q_mu.assign(START * model.q_mu)
        model.q_sqrt.assign(START * np.eye(model.q_mu.shape[0])[None])
        return model

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictive mean of y at X ``[N, D]``, and its standard deviation with `return_std`.

        Both have the shape of y in the fit, ``[N]`` or ``[N, C]``. The deviation includes noise.
        """
        mean, variance = self._predicted(X)
        mean = self._shaped(self.target_mean_ + self.target_scale_ * mean)
        if not return_std:
            return mean
        return mean, self._shaped(self.target_scale_ * np.sqrt(variance))

    def log_density(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of each row of X ``[N, D]`` and y, of all outputs together, ``[N]``.

        It is in the units of y. Noise may be much narrower than the distribution of f0, so f0 is
        integrated over a dense grid, and not at the few nodes that serve for expectations.
        """
        check_is_fitted(self, "model_")
        targets = {"multi_output": True, "y_numeric": True, "reset": False}
        X, y = validate_data(self, X, y, dtype=np.float64, **targets)
        y = y.reshape(len(y), -1)
        if y.shape[1] != self._num_outputs:
            fail("y", f"{self._num_outputs} outputs, as in the fit", f"{y.shape[1]}")
        y, X = (y - self.target_mean_) / self.target_scale_, self._scaled(X)
        z = np.linspace(-GRID_REACH, GRID_REACH, GRID_NODES)
        log_weights = log_softmax(-0.5 * z**2)
        model, samples = self.model_, self.samples if self.prediction == "ba" else None
        deviation = np.sqrt(model.likelihood.variance.numpy())
        from etgp_viz.backend import jitter

        with jitter(self._jitter):
            mean, variance = (moment.numpy() for moment in model.predict_latent(X))
        f0 = mean + np.sqrt(np.maximum(variance, 0.0)) * z  # [N, G]
        params = model.network(X, samples, seed=0).numpy()

        def at_row(n: int) -> float:
            processes = model.network.flow.forward(f0[n, :, None], params[..., n, None, :, :])
            log_p = norm.logpdf(y[n], processes, deviation).sum(axis=-1)  # [G] or [S, G]
            return logsumexp(log_weights + log_p) - np.log(samples or 1)

        each = np.array([at_row(n) for n in range(len(X))])
        return each - np.sum(np.log(self.target_scale_))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Joint draws of y over all rows of X ``[N, D]``: ``[N, S]`` or ``[N, C, S]``.

        There are S = `n_samples` of them, and `random_state` is their seed. Quantiles of them are
        those of the predictions, which need not be Gaussian.
        """
        check_is_fitted(self, "model_")
        S = check_draws(n_samples, "n_samples")
        X = self._scaled(validate_data(self, X, dtype=np.float64, reset=False))
        rng = check_random_state(random_state)
        from etgp_viz.backend import jitter

        with jitter(self._jitter):
            seed, is_bayesian = int(rng.randint(2**31 - 1)), self.prediction == "ba"
            draws = self.model_.predict_f_samples(X, S, seed, dropout=is_bayesian).numpy()
        noise = np.sqrt(self.model_.likelihood.variance.numpy()) * rng.normal(size=draws.shape)
        y = self.target_mean_ + self.target_scale_ * (draws + noise)  # [S, N, C]
        return self._shaped(np.moveaxis(y, 0, -1))

    def _shaped(self, y: np.ndarray) -> np.ndarray:
        """``[N, C, …]``, without its second axis if y of the fit had none."""
        return y[:, 0] if self._is_flat else y

    def _targets_to_file(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {name: state[f"{name}_"] for name in ("target_mean", "target_scale")}
        return {"flat": state["_is_flat"]}, arrays

    @staticmethod
    def _targets_from_file(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        mean, scale, is_flat = arrays["target_mean"], arrays["target_scale"], header["flat"]
        fits = mean.ndim == 1 and mean.shape == scale.shape and len(mean) > 0
        if not fits or not isinstance(is_flat, bool) or (is_flat and len(mean) != 1):
            raise ValueError("the means or scales of its targets have the wrong shape")
        if not (scale.dtype.kind == "f" and (scale > 0.0).all()):
            raise ValueError("the scale of its targets is not positive")
        return {"target_mean_": mean, "target_scale_": scale, "_is_flat": is_flat}
