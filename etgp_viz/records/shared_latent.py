"""The numbers of C classes: one latent for all of them (ETGP), or one for each.

    ETGP             f^c(x) = G^c(f₀(x); θ^c(x))      one latent f₀
    independent GPs  f^c(x) = f₀^c(x)                 C latents, no flows
    naive TGP        f^c(x) = G^c(f₀^c(x); θ^c(x))    C latents, each with its flow

All latents have the same kernel. Those of the last two start with the f₀ of ETGP, so that the first
class of the naive TGP is the first class of ETGP.

In ETGP any one process, the pivot, determines all others: f^c = G^c(H^pivot(f^pivot)), H = G⁻¹.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import rankdata

from etgp_viz.backend import check_shapes, gpflow, tf
from etgp_viz.checks import check_choice, check_count
from etgp_viz.core.flows import Flow
from etgp_viz.core.network import FlowNetwork

MODELS = {
    "etgp": "ETGP: one latent",
    "independent": "C independent GPs",
    "tgp": "naive TGP: C latents",
}
# Maps between processes are drawn where f₀(x) lies within so many standard deviations, at so many
# values of the pivot.
REACH, GRID = 2.0, 81
# A band over draws of the network leaves out 5 % on either side.
QUANTILES = (0.05, 0.95)


@dataclass(frozen=True)
class Latents:
    """The latents over x.

    Attributes
    ----------
    x : inputs ``[N]``
    values : ``[1, N]`` for ETGP, ``[C, N]`` for the others
    is_shared : whether it is one latent for all classes
    num_classes : C
    at : an input to be marked
    """

    x: np.ndarray
    values: np.ndarray
    is_shared: bool
    num_classes: int
    at: float


@dataclass(frozen=True)
class Processes:
    """The C processes over x.

    Attributes
    ----------
    x : inputs ``[N]``
    values : f^c(x) ``[C, N]``
    band : 5 % and 95 % quantiles of f^c(x) over draws of the network, the latent held fixed
        ``[C, 2, N]``; None without dropout
    at : an input to be marked
    focus : the class to look at, 0 … C−1, or None for all
    """

    x: np.ndarray
    values: np.ndarray
    band: np.ndarray | None
    at: float
    focus: int | None


@dataclass(frozen=True)
class Probabilities:
    """Class probabilities over x, the softmax of the processes.

    Attributes
    ----------
    x : inputs ``[N]``
    values : ``[C, N]``
    at : an input to be marked
    focus : the class to look at, or None for all
    """

    x: np.ndarray
    values: np.ndarray
    at: float
    focus: int | None

    @property
    def winner(self) -> tuple[int, float]:
        """The most probable class at the marked input, and its probability."""
        there = self.values[:, np.argmin(np.abs(self.x - self.at))]
        return int(np.argmax(there)), float(np.max(there))


@dataclass(frozen=True)
class Pivot:
    """What one process at one input says about the others.

    Attributes
    ----------
    at : the input x
    pivot : the class whose value is known, 0 … C−1
    partner : the class whose draws are shown against those of the pivot
    values : f^c(x) of the drawn paths ``[C]``
    grid : values of f^pivot(x) ``[F]``; None where there are no maps
    maps : G^c(H^pivot(grid)) ``[C, F]``; None if the pivot does not determine the others
    draws : joint draws of f^pivot(x) and f^partner(x) ``[2, S]``
    focus : the class to look at, or None for all
    """

    at: float
    pivot: int
    partner: int
    values: np.ndarray
    grid: np.ndarray | None
    maps: np.ndarray | None
    draws: np.ndarray
    focus: int | None


@dataclass(frozen=True)
class Dependence:
    """How much the processes at one input depend on one another.

    Attributes
    ----------
    at : the input x
    rank_correlation : Spearman's, of each pair of classes over joint draws ``[C, C]``: ±1 if one
        value is a monotone function of the other, about 0 if they are independent
    """

    at: float
    rank_correlation: np.ndarray

    @property
    def strength(self) -> float:
        """The mean of its absolute value over all pairs."""
        pairs = np.triu_indices(len(self.rank_correlation), k=1)
        return float(np.mean(np.abs(self.rank_correlation[pairs])))


def latents(
    model: str, x: np.ndarray, draws: np.ndarray, num_classes: int, at: float = 0.0
) -> Latents:
    """As many of the given draws ``[≥ C, N]`` of the kernel's process as a model has latents."""
    check_choice(model, "model", tuple(MODELS))
    check_count(num_classes, "num_classes", minimum=2, maximum=len(draws))
    is_shared = model == "etgp"
    values = draws[: 1 if is_shared else num_classes]
    return Latents(x, values, is_shared, num_classes, at)


@check_shapes("x: [N]", "return: [samples..., C, N, P]")
def flow_params(network: FlowNetwork, x: np.ndarray, samples: int | None = None) -> np.ndarray:
    """Raw parameters of the C flows over x; with `samples`, of so many draws of the network.

    A draw drops the same hidden units at every x: it is one network, and its parameters are smooth
    functions of x. The draws are those of the network's seed.
    """
    params = network(x[:, None], samples=samples, seed=network.seed, one_mask=True).numpy()
    return np.swapaxes(params, -3, -2)


@check_shapes("params: [batch..., P]", "return: [batch..., P]")
def change(flow: Flow, params: np.ndarray, amount: float) -> np.ndarray:
    """The raw parameters of a random network of any amount from those of amount 1.

    `prior.random_network` multiplies its output layer by the amount, so its parameters go along a
    straight line: start + amount·(params − start), from parameters that are nearly the identity's.
    """
    start = flow.near_identity_params()
    return start + amount * (params - start)


@check_shapes(
    "latent: [broadcast batch...]", "params: [broadcast batch..., P]", "return: [batch...]"
)
def warp(model: str, flow: Flow, latent: np.ndarray, params: np.ndarray) -> np.ndarray:
    """The C processes ``[..., C, N]`` from latents ``[1, N]`` or ``[C, N]`` and raw parameters."""
    check_choice(model, "model", tuple(MODELS))
    return latent if model == "independent" else flow.forward(latent, params).numpy()


def processes(
    x: np.ndarray,
    values: np.ndarray,
    drawn: np.ndarray | None = None,
    at: float = 0.0,
    focus: int | None = None,
) -> Processes:
    """The record of processes ``[C, N]``, with those under draws of the network ``[S, C, N]``."""
    band = None if drawn is None else np.quantile(drawn, QUANTILES, axis=0).swapaxes(0, 1)
    return Processes(x, values, band, at, focus)


@check_shapes("params: [C, P]", "draws: [C, S]", "values: [C]")
def pivot(
    model: str,
    flow: Flow,
    params: np.ndarray,
    variance: float,
    draws: np.ndarray,
    values: np.ndarray,
    at: float,
    pivot: int = 0,
    focus: int | None = None,
) -> Pivot:
    """What one process says about the others at one input, where latents are N(0, variance).

    Parameters
    ----------
    params : raw parameters of the flows there
    draws : joint draws of the processes there, see `joint_draws`
    values : those of the drawn paths there
    pivot, focus : the class that is known, and the one shown against it (by default the next)
    """
    partner = (pivot + 1) % len(params) if focus in (None, pivot) else focus
    grid = maps = None
    if model == "etgp":
        reach = REACH * np.sqrt(variance)
        low, high = np.sort(flow.forward([-reach, reach], params[pivot]).numpy())
        grid = np.linspace(low, high, GRID)
        maps = _maps_of(flow)(grid, params[pivot], params).numpy()
    return Pivot(at, pivot, partner, values, grid, maps, draws[[pivot, partner]], focus)


@cache
def _maps_of(flow: Flow) -> Callable[..., tf.Tensor]:
    """G^c(H^pivot(g)) for values g, the pivot's raw parameters and all classes', compiled.

    An inverse that has to be searched for takes many small steps: compiled it is far quicker.
    """
    shapes = ([None], [flow.num_params], [None, flow.num_params])

    def maps(g: tf.Tensor, pivot: tf.Tensor, params: tf.Tensor) -> tf.Tensor:
        return flow.forward(flow.inverse(g, pivot), params[:, None])

    signature = [tf.TensorSpec(shape, gpflow.default_float()) for shape in shapes]
    return tf.function(maps, input_signature=signature, autograph=False)


@check_shapes("params: [C, P]", "noise: [L, S]", "return: [C, S]")
def joint_draws(
    model: str, flow: Flow, params: np.ndarray, variance: float, noise: np.ndarray
) -> np.ndarray:
    """Joint draws of all processes at one input, from standard normal noise for each latent."""
    latent = np.sqrt(variance) * noise[: 1 if model == "etgp" else len(params)]
    return warp(model, flow, latent, params[:, None])


@check_shapes("draws: [C, S]")
def dependence(at: float, draws: np.ndarray) -> Dependence:
    """Spearman's rank correlations of joint draws: the plain correlations of their ranks."""
    return Dependence(at, np.corrcoef(rankdata(draws, axis=1)))
