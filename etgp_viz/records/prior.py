"""Draws from the prior and the parameters of flows over x, as plain arrays.

The noise behind a draw is kept apart from every parameter, so that a slider bends the *same* draw
instead of showing a new one.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import softmax

from etgp_viz.backend import check_shapes, gpflow
from etgp_viz.checks import check_choice, check_count, check_nonnegative, check_positive
from etgp_viz.core.flows import Flow
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals.kernels import NeuralNetwork

# Added to the kernel's diagonal before the Cholesky decomposition; far below what the eye sees.
JITTER = 1e-6

# The kernels that can be asked for by name.
KERNELS = {
    "rbf": "RBF (very smooth)",
    "matern52": "Matérn 5/2",
    "matern32": "Matérn 3/2",
    "matern12": "Matérn 1/2 (rough)",
    "rational": "rational quadratic",
    "periodic": "periodic",
    "arccos": "arc-cosine (not stationary)",
    "nnet": "neural network (not stationary)",
}


def kernel(
    name: str, lengthscale: float = 1.0, variance: float = 1.0, period: float = 2.0
) -> gpflow.kernels.Kernel:
    """A GPflow kernel on the line by its name in `KERNELS`.

    The two that are not stationary have weights of variance 1/lengthscale² in place of a
    lengthscale; `period` concerns the periodic one alone.
    """
    check_choice(name, "name", tuple(KERNELS))
    ell, v = check_positive(lengthscale, "lengthscale"), check_positive(variance, "variance")
    match name:
        case "rbf":
            return gpflow.kernels.SquaredExponential(v, ell)
        case "matern52":
            return gpflow.kernels.Matern52(v, ell)
        case "matern32":
            return gpflow.kernels.Matern32(v, ell)
        case "matern12":
            return gpflow.kernels.Matern12(v, ell)
        case "rational":
            return gpflow.kernels.RationalQuadratic(v, ell)
        case "periodic":
            base = gpflow.kernels.SquaredExponential(v, ell)
            return gpflow.kernels.Periodic(base, check_positive(period, "period"))
        case "arccos":
            return gpflow.kernels.ArcCosine(0, v, weight_variances=ell**-2)
        case _:
            return NeuralNetwork(v, weight_variances=ell**-2)


@check_shapes("x: [N]", "return: [N, N]")
def covariance_matrix(kernel: gpflow.kernels.Kernel, x: np.ndarray) -> np.ndarray:
    """K(x, x) of points on the line."""
    return kernel(np.asarray(x, dtype=float)[:, None]).numpy()


@check_shapes("K: [N, N]", "noise: [batch..., N]", "return: [batch..., N]")
def draw(K: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """f₀ = L·noise with L·Lᵀ = K: draws of the process if the noise is standard normal."""
    jitter = JITTER * np.mean(np.diag(K))
    return noise @ np.linalg.cholesky(K + jitter * np.eye(len(K))).T


def noise(seed: int, *shape: int) -> np.ndarray:
    """The standard normal numbers behind a draw."""
    return np.random.default_rng(seed).standard_normal(shape)


def profile(knots: Sequence[float] | np.ndarray, share: np.ndarray) -> np.ndarray:
    """A smooth function through equally spaced knots, at `share` ∈ [0, 1] of their span.

    Piecewise cubic and monotone between knots: it never leaves the range of its knots.
    """
    return PchipInterpolator(np.linspace(0.0, 1.0, len(knots)), np.asarray(knots, float))(share)


def params_from_profiles(
    flow: Flow,
    profiles: Mapping[str, Sequence[float]],
    x: np.ndarray,
    span: tuple[float, float],
) -> np.ndarray:
    """Raw parameters ``[N, P]`` of a flow at x, from a `profile` over the span for each one."""
    if set(profiles) != set(flow.param_names):
        expected = ", ".join(flow.param_names)
        raise ValueError(f"profiles: expected one for each of {expected}, got {list(profiles)}")
    share = (np.asarray(x) - span[0]) / (span[1] - span[0])
    values = np.stack([profile(profiles[name], share) for name in flow.param_names], axis=-1)
    return flow.unconstrain(values).numpy()


@check_shapes("values: [batch..., P]", "return: [batch..., P]")
def partly(flow: Flow, values: np.ndarray, amount: float) -> np.ndarray:
    """Raw parameters `amount` of the way from the identity to (constrained) `values`."""
    identity = flow.constrain(flow.identity_params()).numpy()
    return flow.unconstrain(identity + amount * (np.asarray(values) - identity)).numpy()


@check_shapes("bend: [C, P]", "scale: [C, N]", "shift: [C, N]", "return: [C, N, R]")
def then_linear(bend: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Raw parameters of ``Compose([step, Linear()])`` for C classes at N inputs, R = P + 2.

    The raw parameters `bend` of the step are the same at every x; scale and shift follow x.
    """
    everywhere = np.broadcast_to(bend[:, None], (*scale.shape, bend.shape[-1]))
    return np.concatenate([everywhere, scale[:, :, None], shift[:, :, None]], axis=-1)


def random_network(
    flow: Flow,
    num_classes: int,
    *,
    num_inputs: int = 1,
    hidden: Sequence[int] = (20,),
    dropout: float = 0.0,
    amount: float = 1.0,
    seed: int = 0,
) -> FlowNetwork:
    """A network with random weights: flows that differ between classes and along x.

    A new `FlowNetwork` gives the identity at every x. Here its output weights are drawn from
    N(0, amount²/H), H being the last width, so that raw parameters vary by about `amount`; those
    that start far from zero, such as amplitudes that nearly vanish, vary by as much more.
    Hidden weights are widened and biases spread, so that the parameters bend several times over a
    range of inputs of a few units. The flow of class c does not depend on the number of classes.
    """
    check_count(num_classes, "num_classes")
    check_nonnegative(amount, "amount")
    start = flow.near_identity_params()
    network = FlowNetwork(num_inputs, num_classes, flow, hidden, dropout, seed=seed, start=start)
    rng = np.random.default_rng(seed)
    for layer in network.layers:
        layer.weights.assign(layer.weights * 2.0)
        layer.bias.assign(rng.normal(size=layer.bias.shape))
    # One class after another, so that a larger C leaves the first classes as they are.
    output, P = network.output, flow.num_params
    fan_in = output.weights.shape[0]
    own = amount * rng.normal(size=(num_classes, fan_in + 1, P)) * np.maximum(np.abs(start), 1.0)
    weights = own[:, :-1].transpose(1, 2, 0).reshape(fan_in, P * num_classes)
    output.weights.assign(weights / np.sqrt(fan_in))
    output.bias.assign(output.bias + 0.5 * own[:, -1].T.ravel())
    return network


@check_shapes("F: [batch..., C, N]", "return: [batch..., C, N]")
def probabilities(F: np.ndarray) -> np.ndarray:
    """Class probabilities, the softmax over the C processes at each x."""
    return softmax(F, axis=-2)
