"""The contestants as TensorFlow models: building, one training step, predictions.

`training_step` is the one training step that is timed anywhere: by the race, by the experiments
and by the benchmarks. It is the step that `etgp_viz.fit` takes, checks and all.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from etgp_viz.backend import gpflow, tf
from etgp_viz.core.optimiser import Optimiser
from etgp_viz.rivals.build_model import LENGTHSCALE, build, kmeans
from etgp_viz.rivals.names import PREDICTIVE_DRAWS
from etgp_viz.rivals.svgp import MixedSVGP
from etgp_viz.timing.contestants import MODELS, SAMPLES, Size, random_data

__all__ = ["actions", "training_step"]

#: of Adam; small, so that a model hardly changes while it is timed
LEARNING_RATE = 1e-4


def training_step(
    model: Any,
    data: tuple[np.ndarray, np.ndarray],
    *,
    learning_rate: float = LEARNING_RATE,
    seed: int = 0,
) -> Callable[..., float]:
    """The training step of `etgp_viz.fit`, ready to be timed.

    One call is a compiled step of Adam with `fit`'s guard: the loss and all gradients are checked
    to be finite, and the parameters before the step are kept.

    Parameters
    ----------
    model : any GPflow model with ``training_loss(data)``
    data : ``(X [N, D], Y [N, 1])``
    learning_rate, seed : of Adam, and of the model's random draws

    Returns
    -------
    function : ``step(rows=None)``, which takes a step on all rows, or on the rows with these
        indices ``[B]``, and returns the ELBO before it; it ends when the work is done
    """
    tensors = tuple(map(tf.convert_to_tensor, data))
    optimiser = Optimiser(
        model, tensors, None, learning_rate=learning_rate, natural_gradients=None, seed=seed
    )
    return optimiser.step


def actions(
    name: str, size: Size, predictive_draws: int = PREDICTIVE_DRAWS
) -> dict[str, Callable[[], Any]]:
    """Build a contestant of `etgp_viz.timing.MODELS`; quantity → the call to time.

    A call ends when the work is done. ``"step"`` is a `training_step` on all N rows,
    ``"prediction"`` the class probabilities of N rows by point estimate, and ``"prediction_ba"``
    (ETGP) their average over 20 dropout samples. ``"prediction_error"`` is not to be timed: it is
    the largest standard error that the draws of a Monte Carlo prediction leave in a probability.
    """
    X, Y = random_data(size)
    model, inputs = _build(name, X, size), tf.constant(X)
    if MODELS[name].is_monte_carlo:
        model.num_predictive = predictive_draws
        model.precision = "float32"  # as ETGP's
    step = training_step(model, (X, Y))
    if name.startswith("etgp"):  # compiled inside
        return {
            "step": step,
            "prediction": lambda: model.predict_y(inputs)[0].numpy(),
            "prediction_ba": lambda: model.predict_y(inputs, samples=SAMPLES)[0].numpy(),
        }
    predict = tf.function(lambda X: model.predict_y(X)[0], autograph=False)
    calls = {"step": step, "prediction": lambda: predict(inputs).numpy()}
    if MODELS[name].is_monte_carlo:
        calls["prediction_error"] = lambda: float(np.max(model.prediction_error(inputs)))
    return calls


def _build(name: str, X: np.ndarray, size: Size) -> Any:
    contestant, C, M = MODELS[name], size.classes, size.num_inducing
    if name != "svgp-rbfcorr":
        return build(contestant.model, X, C, num_inducing=M, **contestant.options)
    # C mixed processes whose one kernel is evaluated and factorised C times, which is how GPflow's
    # ``LinearCoregionalization`` treats C references to one kernel.
    inducing = gpflow.inducing_variables
    kernel = gpflow.kernels.SquaredExponential(lengthscales=np.full(X.shape[1], LENGTHSCALE))
    points = inducing.SharedIndependentInducingVariables(inducing.InducingPoints(kmeans(X, M)))
    kernels = gpflow.kernels.SeparateIndependent([kernel] * C)
    return MixedSVGP(kernels, points, C, num_data=len(X), **contestant.options)
