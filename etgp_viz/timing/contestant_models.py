"""The contestants as TensorFlow models: how each is built, trained for one step, and asked."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from etgp_viz.backend import gpflow, tf
from etgp_viz.rivals.build_model import LENGTHSCALE, build, kmeans
from etgp_viz.rivals.svgp import MixedSVGP
from etgp_viz.timing.contestants import DRAWS, HIDDEN, NODES, Size
from etgp_viz.timing.data import data

__all__ = ["actions", "gradient_step"]

Action = Callable[[], Any]

#: dropout samples of a Bayesian prediction (BA), as in the paper
SAMPLES = 20

_SVGP: dict[str, Any] = {"num_monte_carlo": DRAWS, "num_predictive": DRAWS}
_NETWORK = {"hidden": (HIDDEN,)}
_ETGP = {"num_quadrature": NODES, **_NETWORK}
# The name of each in `build`, and its options.
_RECIPES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "etgp-linear": ("etgp-linear", _ETGP),
    "etgp-sal": ("etgp-sal", {"length": 3, **_ETGP}),
    "etgp-tanh": ("etgp-tanh", {"elements": 4, "length": 1, **_ETGP}),
    "svgp-separate": ("svgp-rbf", {"sharing": "separate", **_SVGP}),
    "svgp-shared": ("svgp-rbf", {"sharing": "shared", **_SVGP}),
    "svgp-rbfcorr-once": ("svgp-rbfcorr", {"sharing": "shared", **_SVGP}),
    "svgp-batched": ("svgp-rbf", {"batched": True, **_SVGP}),
    "tgp": ("tgp", {"batched": True, **_SVGP, **_NETWORK}),
}


def actions(name: str, size: Size) -> dict[str, Action]:
    """Build a model and return what is timed: quantity → a call that ends when the work is done.

    ``"step"`` is a compiled step of Adam on all N rows, ``"prediction"`` the class probabilities of
    N rows by point estimate, and ``"prediction_ba"`` (ETGP) their average over 20 dropout samples.
    """
    X, Y = data(size)
    model = _rbfcorr(X, size) if name == "svgp-rbfcorr" else _built(name, X, size)
    inputs = tf.constant(X)
    if name.startswith("etgp"):  # compiled inside
        return {
            "step": gradient_step(model, (X, Y)),
            "prediction": lambda: model.predict_y(inputs)[0].numpy(),
            "prediction_ba": lambda: model.predict_y(inputs, samples=SAMPLES)[0].numpy(),
        }
    predict = tf.function(lambda X: model.predict_y(X)[0], autograph=False)
    return {"step": gradient_step(model, (X, Y)), "prediction": lambda: predict(inputs).numpy()}


def gradient_step(model: Any, data: tuple[np.ndarray, np.ndarray]) -> Action:
    """One compiled step of Adam on the full batch; the call returns the loss."""
    tensors = tuple(map(tf.constant, data))
    adam = gpflow.keras.tf_keras.optimizers.Adam(1e-4)
    variables = model.trainable_variables
    adam.build(variables)

    @tf.function(autograph=False)
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = model.training_loss(tensors)
        adam.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return lambda: step().numpy()


def _built(name: str, X: np.ndarray, size: Size) -> Any:
    recipe, options = _RECIPES[name]
    return build(recipe, X, size.classes, num_inducing=size.num_inducing, **options)


def _rbfcorr(X: np.ndarray, size: Size) -> MixedSVGP:
    """C mixed processes whose one kernel is evaluated and factorised C times.

    That is how GPflow's ``LinearCoregionalization`` treats C references to one kernel.
    """
    inducing = gpflow.inducing_variables
    kernel = gpflow.kernels.SquaredExponential(lengthscales=np.full(X.shape[1], LENGTHSCALE))
    points = inducing.InducingPoints(kmeans(X, size.num_inducing))
    return MixedSVGP(
        gpflow.kernels.SeparateIndependent([kernel] * size.classes),
        inducing.SharedIndependentInducingVariables(points),
        size.classes,
        num_data=len(X),
        **_SVGP,
    )
