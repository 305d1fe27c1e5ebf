"""Draws from the prior, and parameters of flows over x, as plain arrays.

The noise behind a draw is kept apart from every parameter, so that a slider bends the *same* draw
instead of showing a new one.

>>> from etgp_viz import flows, prior
>>> K = prior.covariance_matrix(prior.kernel("rbf", lengthscale=1.0), np.array([0.0, 1.0]))
>>> K.round(3)
array([[1.   , 0.607],
       [0.607, 1.   ]])
>>> prior.draw(K, prior.noise(0, 5, 2)).shape  # five draws of f₀ at two inputs
(5, 2)
>>> prior.condition(prior.draw(K, prior.noise(0, 5, 2)), K, [1], [2.0])[:, 1]  # all are 2 there
array([2., 2., 2., 2., 2.])
>>> prior.noise(0, 3).round(2)
array([ 0.13, -0.13,  0.64])
>>> prior.profile([0.0, 2.0, 2.0], np.array([0.0, 0.25, 0.5, 0.75]))
array([0.   , 1.375, 2.   , 2.   ])
>>> profiles = {"a": (1.0, 2.0, 3.0), "b": (0.0, 0.0, 0.0)}
>>> prior.params_from_profiles(flows.Linear(), profiles, np.array([-1.0, 1.0]), (-1.0, 1.0))
array([[1., 0.],
       [3., 0.]])
>>> prior.interpolate_from_identity(flows.Linear(), np.array([3.0, 1.0]), 0.5)
array([2. , 0.5])
>>> prior.then_linear(np.array([[-1.0]]), np.array([[1.0, 2.0]]), np.array([[0.0, 0.5]]))
array([[[-1. ,  1. ,  0. ],
        [-1. ,  2. ,  0.5]]])
>>> prior.random_network(flows.SAL(1), 3, seed=1)(np.zeros((5, 1))).shape
TensorShape([5, 3, 4])
>>> prior.probabilities(np.array([[0.0, 2.0], [0.0, 0.0]])).round(2)
array([[0.5 , 0.88],
       [0.5 , 0.12]])
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import softmax

from etgp_viz.backend import check_shapes, gpflow
from etgp_viz.checks import (
    check_choice,
    check_count,
    check_flow,
    check_kernel,
    check_memory,
    check_nonnegative,
    check_numbers,
    check_positive,
    check_seed,
    describe,
    fail,
)
from etgp_viz.core.flows import Flow
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals.kernels import NeuralNetwork

__all__ = [
    *("JITTER", "KERNELS", "condition", "covariance_matrix", "draw", "interpolate_from_identity"),
    *("kernel", "noise", "params_from_profiles", "probabilities", "profile", "random_network"),
    "then_linear",
]

# Added to the kernel's diagonal before the Cholesky decomposition, as a share of its mean; far
# below what the eye sees.
JITTER = 1e-6
LARGEST = 1e100  # of a scale; squares of larger ones overflow

#: kernels by name → what they are called
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
    """A GPflow kernel of one input, by its name in `KERNELS`.

    Parameters
    ----------
    name : a key of `KERNELS`
    lengthscale : ℓ > 0; "arccos" and "nnet" have weights of variance 1/ℓ² instead
    variance, period : > 0, of the process and of the periodic kernel; the others have no period

    Returns
    -------
    a GPflow kernel
    """
    check_choice(name, "name", tuple(KERNELS))
    ell, v = _check_scale(lengthscale, "lengthscale"), _check_scale(variance, "variance")
    if name == "periodic":
        base = gpflow.kernels.SquaredExponential(v, ell)
        return gpflow.kernels.Periodic(base, _check_scale(period, "period"))
    if name == "arccos":
        return gpflow.kernels.ArcCosine(0, v, weight_variances=ell**-2)
    if name == "nnet":
        return NeuralNetwork(v, weight_variances=ell**-2)
    stationary = {
        "rbf": gpflow.kernels.SquaredExponential,
        "matern52": gpflow.kernels.Matern52,
        "matern32": gpflow.kernels.Matern32,
        "matern12": gpflow.kernels.Matern12,
        "rational": gpflow.kernels.RationalQuadratic,
    }
    return stationary[name](v, ell)


def _check_scale(value: float, name: str) -> float:
    """Check a positive number whose square and inverse are finite and positive too."""
    number = check_positive(value, name)
    if not 1.0 / LARGEST <= number <= LARGEST:
        fail(name, f"a number in {1.0 / LARGEST:g}..{LARGEST:g}", describe(value))
    return number


@check_shapes("x: [N]", "return: [N, N]")
def covariance_matrix(kernel: gpflow.kernels.Kernel, x: np.ndarray) -> np.ndarray:
    """The matrix K(x, x) of a kernel at points on the line.

    Parameters
    ----------
    kernel, x : a GPflow kernel of one input, and inputs ``[N]``

    Returns
    -------
    array ``[N, N]``
    """
    check_kernel(kernel, 1)
    N = len(x)
    check_memory(8 * N * N, "x", f"a matrix of {N} × {N} numbers")
    return kernel(np.asarray(x, dtype=float)[:, None]).numpy()


@check_shapes("K: [N, N]", "noise: [batch..., N]", "return: [batch..., N]", covariance="K")
def draw(K: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Draws f₀ = L·noise of a Gaussian process, with L·Lᵀ = K.

    Parameters
    ----------
    K, noise : covariance ``[N, N]``, and standard normal numbers ``[..., N]``, see `noise`

    Returns
    -------
    array ``[..., N]``, one draw for each row of noise
    """
    return np.asarray(noise) @ np.linalg.cholesky(_with_jitter(K)).T


def _with_jitter(K: np.ndarray) -> np.ndarray:
    """The covariance that draws have."""
    return K + JITTER * np.mean(np.diag(K)) * np.eye(len(K))


@check_shapes(
    "draws: [batch..., N]", "K: [N, N]", "places: [H]", "values: [H]", "return: [batch..., N]",
    covariance="K",
)  # fmt: skip
def condition(
    draws: np.ndarray, K: np.ndarray, places: Sequence[int], values: Sequence[float]
) -> np.ndarray:
    """The same draws, bent so that they pass through given values (Matheron's rule).

    ``f₀(x) + K(x, x*)·K(x*, x*)⁻¹·(y* − f₀(x*))`` is a draw from the process given f₀(x*) = y*.

    Parameters
    ----------
    draws, K : see `draw` ``[..., N]``, and their covariance ``[N, N]``
    places, values : the numbers of the inputs x*, each at most once, and y* ``[H]``

    Returns
    -------
    array ``[..., N]``
    """
    at, K = np.asarray(places, dtype=int), _with_jitter(K)
    if len(set(at.tolist())) < len(at):
        fail("places", "each input at most once", describe(places))
    missing = np.asarray(values) - draws[..., at]
    return draws + missing @ np.linalg.solve(K[np.ix_(at, at)], K[at])


def noise(seed: int, *shape: int) -> np.ndarray:
    """Standard normal numbers, always the same for the same seed.

    Parameters
    ----------
    seed, shape : of the numbers; the first rows of a longer array are those of a shorter one

    Returns
    -------
    array of the given shape
    """
    check_seed(seed)
    size = 8
    for length in shape:
        size *= check_count(length, "shape", minimum=0)
    check_memory(size, "shape", f"numbers of shape {[describe(length) for length in shape]}")
    return np.random.default_rng(seed).standard_normal(shape)


def profile(knots: Sequence[float] | np.ndarray, share: np.ndarray) -> np.ndarray:
    """A smooth function through equally spaced knots.

    It is piecewise cubic and monotone between two knots, so it never leaves the range of its knots.

    Parameters
    ----------
    knots : values at the knots ``[K]``, or ``[K, …]`` for several functions at once
    share : where to evaluate it, from 0 (first knot) to 1 (last knot) ``[N]``

    Returns
    -------
    array ``[N]``, or ``[N, …]``
    """
    values = np.asarray(check_numbers(knots, "knots"), dtype=float)
    if values.ndim == 0 or len(values) < 2:
        fail("knots", "values at two or more knots", f"shape {list(values.shape)}")
    at = np.asarray(check_numbers(share, "share"), dtype=float)
    return PchipInterpolator(np.linspace(0.0, 1.0, len(values)), values)(at)


def params_from_profiles(
    flow: Flow, profiles: Mapping[str, Sequence[float]], x: np.ndarray, span: tuple[float, float]
) -> np.ndarray:
    """Raw parameters of a flow over x, from one `profile` for each parameter.

    Parameters
    ----------
    flow, x : the family of maps, with P parameters, and inputs ``[N]``
    profiles : name of each parameter → its (constrained) values at the knots
    span : inputs of the first and the last knot

    Returns
    -------
    array ``[N, P]``
    """
    check_flow(flow)
    if not isinstance(profiles, Mapping) or set(profiles) != set(flow.param_names):
        got = str(list(profiles)) if isinstance(profiles, Mapping) else describe(profiles)
        fail("profiles", f"one for each of {', '.join(flow.param_names)}", got)
    ends = np.asarray(check_numbers(span, "span"), dtype=float)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        fail("span", "two growing numbers", describe(span))
    share = (np.asarray(check_numbers(x, "x"), dtype=float) - ends[0]) / (ends[1] - ends[0])
    values = np.stack([profile(profiles[name], share) for name in flow.param_names], axis=-1)
    return flow.unconstrain(values).numpy()


@check_shapes("values: [batch..., P]", "return: [batch..., P]")
def interpolate_from_identity(flow: Flow, values: np.ndarray, amount: float) -> np.ndarray:
    """Raw parameters on the straight line from the identity (amount 0) to `values` (amount 1).

    Parameters
    ----------
    flow, values : the family of maps, and constrained parameters ``[..., P]``, the numbers that
        appear in the flow's formula
    amount : how far to go

    Returns
    -------
    array ``[..., P]``
    """
    check_flow(flow)
    if np.ndim(check_numbers(amount, "amount")):
        fail("amount", "a single number", f"an array of shape {np.shape(amount)}")
    if np.shape(values)[-1:] != (flow.num_params,):
        fail("values", f"{flow.num_params} parameters of {flow}", f"shape {np.shape(values)}")
    identity = flow.constrain(flow.identity_params()).numpy()
    return flow.unconstrain(identity + amount * (np.asarray(values) - identity)).numpy()


partly = interpolate_from_identity  # its name in version 0.1


@check_shapes("bend: [C, P]", "scale: [C, N]", "shift: [C, N]", "return: [C, N, R]")
def then_linear(bend: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Raw parameters of ``Compose([step, Linear()])`` for C classes at N inputs.

    Parameters
    ----------
    bend : raw parameters of the step, the same at every x ``[C, P]``
    scale, shift : parameters of LINEAR, functions of x ``[C, N]``

    Returns
    -------
    array ``[C, N, P + 2]``
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

    Parameters
    ----------
    flow : the family of maps, with P parameters
    num_classes, num_inputs : C and D
    hidden, dropout, seed : as in `FlowNetwork`
    amount : size of the changes along x; 0 gives (nearly) the identity

    Returns
    -------
    a network that maps ``[N, D]`` to raw parameters ``[N, C, P]``
    """
    check_flow(flow)
    check_count(num_classes, "num_classes")
    if check_nonnegative(amount, "amount") > LARGEST:
        fail("amount", f"a number in 0..{LARGEST:g}", describe(amount))
    check_seed(seed)
    start = flow.near_identity_params()
    network = FlowNetwork(num_inputs, num_classes, flow, hidden, dropout, seed=seed, start=start)
    rng = np.random.default_rng(seed)
    for layer in network.layers:
        layer.weights.assign(layer.weights * 2.0)
        layer.bias.assign(rng.normal(size=layer.bias.shape))
    # One class after another, so that a larger C leaves the first classes as they are.
    output, P = network.output, flow.num_params
    fan_in = output.weights.shape[0]
    draws = amount * rng.normal(size=(num_classes, fan_in + 1, P))
    draws *= np.maximum(np.abs(start), 1.0)
    weights = draws[:, :-1].transpose(1, 2, 0).reshape(fan_in, P * num_classes)
    output.weights.assign(weights / np.sqrt(fan_in))
    output.bias.assign(output.bias + 0.5 * draws[:, -1].T.ravel())
    return network


@check_shapes("F: [batch..., C, N]", "return: [batch..., C, N]")
def probabilities(F: np.ndarray) -> np.ndarray:
    """Class probabilities: the softmax over the C processes at each x.

    Parameters
    ----------
    F : values of the processes ``[..., C, N]``

    Returns
    -------
    array ``[..., C, N]`` whose sum over the classes is 1
    """
    if not np.size(F):
        fail("F", "values of at least one process", f"an array of shape {np.shape(F)}")
    return softmax(F, axis=-2)
