"""C classes with one latent for all of them (ETGP), a few, or one for each.

    ETGP             f^c(x) = G^c(f₀(x); θ^c(x))      one latent f₀
    independent GPs  f^c(x) = f₀^c(x)                 C latents, no flows
    naive TGP        f^c(x) = G^c(f₀^c(x); θ^c(x))    C latents, each with its flow
    mixed            f^c(x) = G^c(Σ_l A_cl f_l(x); θ^c(x))    L latents, mixed for each class

All latents have the same kernel. The first latent of every model is the f₀ of ETGP, so the
first class of the naive TGP is the first class of ETGP. Mixed latents are ETGP if L = 1 and every
A_c1 = 1, and the naive TGP if A is the identity.

In ETGP any one process, the pivot, determines all others: f^c = G^c(H^pivot(f^pivot)), H = G⁻¹.

>>> from etgp_viz import flows, prior, shared_latent
>>> x, draws, flow = prior.noise(0, 4), prior.noise(1, 3, 4), flows.Linear()
>>> [shared_latent.latents(model, x, draws, 3).values.shape for model in ("etgp", "tgp")]
[(1, 4), (3, 4)]
>>> network = prior.random_network(flow, 3, dropout=0.2)
>>> shared_latent.flow_params(network, x, samples=10).shape  # [S, C, N, P]
(10, 3, 4, 2)
>>> shared_latent.scale_network_params(flow, np.array([3.0, 1.0]), 0.5)
array([2. , 0.5])
>>> shared_latent.rewrite(np.array([[[3.0, 1.0]]]), np.array([0.0]), stretch=2.0)
array([[[1.5, 1. ]]])
>>> drawn = prior.noise(1, 20, 3, 4)
>>> shared_latent.processes(x, drawn[0], drawn).band.shape
(3, 2, 4)

Two classes at one input, f¹ = f₀ and f² = 1 − 2·f₀:

>>> params = np.array([[1.0, 0.0], [-2.0, 1.0]])
>>> shared_latent.warp("etgp", flow, np.array([[0.5]]), params[:, None])
array([[0.5],
       [0. ]])
>>> draws = shared_latent.joint_draws("etgp", flow, params, 4.0, np.array([[0.5, 1.0]]))
>>> draws
array([[ 1.,  2.],
       [-1., -3.]])
>>> record = shared_latent.pivot("etgp", flow, params, 4.0, draws, draws[:, 0], at=0.0)
>>> bool(np.allclose(record.maps[1], 1.0 - 2.0 * record.grid))
True
>>> shared_latent.dependence(0.0, draws).rank_correlation.round(6)
array([[ 1., -1.],
       [-1.,  1.]])
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import rankdata

from etgp_viz.backend import check_shapes, gpflow, tf
from etgp_viz.checks import check_choice, check_count, check_nonnegative, describe, fail
from etgp_viz.core.flows import Flow
from etgp_viz.core.network import FlowNetwork
from etgp_viz.records import prior

__all__ = [
    *("MODELS", "Dependence", "Latents", "Pivot", "Probabilities", "Processes"),
    *("dependence", "flow_params", "joint_draws", "latents", "mixing_matrix", "pivot", "processes"),
    *("rewrite", "scale_network_params", "warp"),
]

#: models by name → what they are called
MODELS = {
    "etgp": "ETGP: one latent",
    "independent": "C independent GPs",
    "tgp": "naive TGP: C latents",
    "mixed": "several latents, mixed",
}
# Latents that can be mixed, at most.
MAX_LATENTS = 4
# Maps between processes span this many standard deviations of f₀(x) either side of 0, and have this
# many points.
REACH, GRID = 2.0, 81
# The band over draws of the network.
QUANTILES = (0.05, 0.95)


@dataclass(frozen=True)
class Latents:
    """The latents over x.

    Examples
    --------
    >>> from etgp_viz import prior
    >>> latents("tgp", prior.noise(0, 4), prior.noise(1, 3, 4), 3).is_shared
    False
    """

    x: np.ndarray  # inputs [N]
    values: np.ndarray  # [1, N] for ETGP, [L, N] if they are mixed, [C, N] for the others
    is_shared: bool  # whether all classes have the same latents
    num_classes: int  # C
    at: float  # the marked input
    held: np.ndarray  # inputs and values through which the first latent passes [2, H]


@dataclass(frozen=True)
class Processes:
    """The C processes over x.

    `band` holds the 5 % and 95 % quantiles of f^c(x) over draws of the network, the latent held
    fixed; None without dropout.
    """

    x: np.ndarray  # inputs [N]
    values: np.ndarray  # f^c(x) [C, N]
    band: np.ndarray | None  # [C, 2, N]
    at: float  # the marked input
    focus: int | None  # the highlighted class, 0 … C−1; None for all


@dataclass(frozen=True)
class Probabilities:
    """Class probabilities over x, the softmax of the processes.

    Examples
    --------
    >>> x, values = np.array([0.0, 1.0]), np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> record = Probabilities(x, values, at=1.0, focus=None)
    >>> record.winner  # at x = 1
    (1, 0.75)
    """

    x: np.ndarray  # inputs [N]
    values: np.ndarray  # [C, N]
    at: float  # the marked input
    focus: int | None  # the highlighted class; None for all

    @property
    def winner(self) -> tuple[int, float]:
        """The most probable class at the marked input, and its probability."""
        p = self.values[:, np.argmin(np.abs(self.x - self.at))]
        return int(np.argmax(p)), float(np.max(p))


@dataclass(frozen=True)
class Pivot:
    """What the value of one process at one input, the pivot, says about the others."""

    at: float  # the input x
    pivot: int  # the class whose value is known, 0 … C−1
    partner: int  # the class whose draws are shown against those of the pivot
    values: np.ndarray  # f^c(x) of the drawn paths [C]
    grid: np.ndarray | None  # values of f^pivot(x) [F]; None if there are no maps
    maps: np.ndarray | None  # G^c(H^pivot(grid)) [C, F]; None if it does not determine the others
    draws: np.ndarray  # joint draws of f^pivot(x) and f^partner(x) [2, S]
    focus: int | None  # the highlighted class; None for all


@dataclass(frozen=True)
class Dependence:
    """How strongly the processes at one input depend on one another.

    Spearman's rank correlation of two classes over joint draws is ±1 if one value is a monotone
    function of the other, and about 0 if they are independent.
    """

    at: float  # the input x
    rank_correlation: np.ndarray  # [C, C]

    @property
    def strength(self) -> float:
        """Mean absolute rank correlation over all pairs of classes.

        Examples
        --------
        >>> Dependence(at=0.0, rank_correlation=np.array([[1.0, -0.5], [-0.5, 1.0]])).strength
        0.5
        """
        pairs = np.triu_indices(len(self.rank_correlation), k=1)
        return float(np.mean(np.abs(self.rank_correlation[pairs])))


def latents(
    model: str,
    x: np.ndarray,
    draws: np.ndarray,
    num_classes: int,
    at: float = 0.0,
    held: np.ndarray | None = None,
    num_latents: int = 1,
) -> Latents:
    """The latents of a model: the first of the given draws, or the first L or C of them.

    Parameters
    ----------
    model, num_classes : a key of `MODELS`, and C ≥ 2
    x, at : inputs ``[N]``, and one to mark
    draws : of the kernel's process, at least C ``[L, N]``
    held : inputs and values that the first draw was given, to be shown ``[2, H]``
    num_latents : L, if they are mixed

    Returns
    -------
    a `Latents` record
    """
    check_choice(model, "model", tuple(MODELS))
    check_count(num_classes, "num_classes", minimum=2, maximum=len(draws))
    check_count(num_latents, "num_latents", maximum=len(draws))
    is_shared = model in ("etgp", "mixed")
    numbers = {"etgp": 1, "mixed": num_latents}
    values = draws[: numbers.get(model, num_classes)]
    held = np.empty((2, 0)) if held is None else held
    return Latents(x, values, is_shared, num_classes, at, held)


def mixing_matrix(num_classes: int, num_latents: int, amount: float, seed: int = 0) -> np.ndarray:
    """Rows of length one: A_1 = (1, 0, …), and A_c = (cos φ, sin φ·v_c) with random directions v_c.

    Every mixture has the variance of one latent. The first class has the first latent alone; the
    angle between its row and any other is φ. With φ = 0 all classes have the first latent alone, as
    in ETGP.

    Parameters
    ----------
    num_classes, num_latents : C, and L of at most `MAX_LATENTS`
    amount, seed : φ as a share of 90°, from 0 to 1, and the seed of the directions

    Returns
    -------
    array ``[C, L]``

    Examples
    --------
    >>> mixing_matrix(2, 1, 0.5)
    array([[1.],
           [1.]])
    >>> (mixing_matrix(3, 2, 0.5) ** 2).round(6).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    """
    C = check_count(num_classes, "num_classes")
    L = check_count(num_latents, "num_latents", maximum=MAX_LATENTS)
    if check_nonnegative(amount, "amount") > 1.0:
        fail("amount", "a number from 0 to 1", describe(amount))
    if L == 1:
        return np.ones((C, 1))
    angle = 0.5 * np.pi * amount
    # As many numbers for any L: the directions in the first latents stay when another is added.
    v = prior.noise(seed, C, MAX_LATENTS - 1)[:, : L - 1]
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    rows = np.concatenate([np.full((C, 1), np.cos(angle)), np.sin(angle) * v], axis=1)
    rows[0] = np.eye(L)[0]
    return rows


@check_shapes("x: [N]", "return: [samples..., C, N, P]")
def flow_params(network: FlowNetwork, x: np.ndarray, samples: int | None = None) -> np.ndarray:
    """Raw parameters of the C flows over x.

    A dropout draw drops the same hidden units at every x: it is one network, and its parameters
    are smooth functions of x. The draws depend on the network's seed alone.

    Parameters
    ----------
    network, x : a network of one input, and inputs ``[N]``
    samples : number S of dropout draws; None for the network without dropout

    Returns
    -------
    array ``[C, N, P]``, or ``[S, C, N, P]``
    """
    params = network(x[:, None], samples=samples, seed=network.seed, one_mask=True).numpy()
    return np.swapaxes(params, -3, -2)


@check_shapes("params: [batch..., P]", "return: [batch..., P]")
def scale_network_params(flow: Flow, params: np.ndarray, amount: float) -> np.ndarray:
    """Raw parameters of a random network of any amount, from those of amount 1.

    `prior.random_network` multiplies its output layer by the amount, so its parameters lie on a
    straight line: start + amount·(params − start), from parameters that are nearly the identity's.

    Parameters
    ----------
    flow, params : the family of maps, and raw parameters of the network of amount 1 ``[..., P]``
    amount : see `prior.random_network`

    Returns
    -------
    array ``[..., P]``
    """
    start = flow.near_identity_params()
    return start + amount * (params - start)


change = scale_network_params  # its name in version 0.1


@check_shapes("params: [batch..., C, N, P]", "x: [N]", "return: [batch..., C, N, P]")
def rewrite(
    params: np.ndarray, x: np.ndarray, stretch: float = 1.0, shift: float = 0.0
) -> np.ndarray:
    """Parameters of LINEAR flows that give the same class probabilities from a stretched latent.

    Softmax sees differences between classes only, (aᶜ − aᵈ)·f₀ + bᶜ − bᵈ. They stay the same

    - if f₀ is s times as large and every slope is divided by s: (σ², a) → (s²σ², a/s);
    - if every class gets the same function on top: bᶜ(x) → bᶜ(x) + h(x), here h(x) = shift·sin 2x.

    So no data can tell these models apart.

    Parameters
    ----------
    params, x : raw parameters a, b of the C flows ``[..., C, N, 2]``, and inputs ``[N]``
    stretch, shift : s > 0, and the height of h

    Returns
    -------
    array ``[..., C, N, 2]``
    """
    return params / [stretch, 1.0] + np.stack([np.zeros_like(x), shift * np.sin(2.0 * x)], axis=-1)


@check_shapes("params: [batch..., P]", "mixing: [C, L]")
def warp(
    model: str,
    flow: Flow,
    latent: np.ndarray,
    params: np.ndarray,
    mixing: np.ndarray | None = None,
) -> np.ndarray:
    """The C processes: the latents themselves (independent GPs), or the latents under their flows.

    Parameters
    ----------
    model, latent : a key of `MODELS`, and its latents ``[1, N]``, ``[L, N]`` or ``[C, N]``, see
        `latents`
    flow, params : the family of maps, and raw parameters ``[..., C, N, P]``, see `flow_params`
    mixing : A ``[C, L]``, if latents are mixed

    Returns
    -------
    array ``[..., C, N]``
    """
    check_choice(model, "model", tuple(MODELS))
    if mixing is not None:
        latent = mixing @ latent
    return latent if model == "independent" else flow.forward(latent, params).numpy()


def processes(
    x: np.ndarray,
    values: np.ndarray,
    drawn: np.ndarray | None = None,
    at: float = 0.0,
    focus: int | None = None,
) -> Processes:
    """The processes of all classes, with the band that dropout draws of the network fill.

    Parameters
    ----------
    x, values : inputs ``[N]``, and f^c(x) ``[C, N]``
    drawn : the processes under S draws of the network ``[S, C, N]``; None without dropout
    at, focus : an input to mark, and a class to highlight; None for all

    Returns
    -------
    a `Processes` record
    """
    band = None if drawn is None else np.quantile(drawn, QUANTILES, axis=0).swapaxes(0, 1)
    return Processes(x, values, band, at, focus)


@check_shapes("params: [C, P]", "draws: [C, S]", "values: [C]", "mixing: [C, L]")
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
    mixing: np.ndarray | None = None,
) -> Pivot:
    """What the value of one process at one input says about the others.

    Parameters
    ----------
    model, flow, params, variance : see `joint_draws`
    draws, values : joint draws of the processes ``[C, S]``, and the values of the drawn paths
        ``[C]``
    at : the input x
    pivot, focus : the class whose value is known, and the one shown against it; None for the next
    mixing : A ``[C, L]``, if latents are mixed

    Returns
    -------
    a `Pivot` record
    """
    partner = (pivot + 1) % len(params) if focus in (None, pivot) else focus
    grid = maps = None
    is_first_alone = mixing is not None and bool(np.all(mixing == np.eye(1, mixing.shape[1])))
    if model == "etgp" or is_first_alone:
        reach = REACH * np.sqrt(variance)
        low, high = np.sort(flow.forward([-reach, reach], params[pivot]).numpy())
        grid = np.linspace(low, high, GRID)
        maps = _maps_of(flow)(grid, params[pivot], params).numpy()
    return Pivot(at, pivot, partner, values, grid, maps, draws[[pivot, partner]], focus)


@cache
def _maps_of(flow: Flow) -> Callable[..., tf.Tensor]:
    """G^c(H^pivot(g)) for values g, the pivot's raw parameters and those of all classes, compiled.

    An inverse without a formula takes many small steps: compiled, it is far quicker.
    """
    shapes = ([None], [flow.num_params], [None, flow.num_params])

    def maps(g: tf.Tensor, pivot: tf.Tensor, params: tf.Tensor) -> tf.Tensor:
        return flow.forward(flow.inverse(g, pivot), params[:, None])

    signature = [tf.TensorSpec(shape, gpflow.default_float()) for shape in shapes]
    return tf.function(maps, input_signature=signature, autograph=False)


@check_shapes("params: [C, P]", "noise: [L, S]", "mixing: [C, K]", "return: [C, S]")
def joint_draws(
    model: str,
    flow: Flow,
    params: np.ndarray,
    variance: float,
    noise: np.ndarray,
    mixing: np.ndarray | None = None,
) -> np.ndarray:
    """Joint draws of all processes at one input.

    Parameters
    ----------
    model, variance : a key of `MODELS`, and the variance of each latent at the input
    flow, params : the family of maps, and raw parameters of the C flows at the input ``[C, P]``
    noise : standard normal numbers, a row for each latent ``[L, S]`` (L ≥ 1 for ETGP, else L ≥ C)
    mixing : A ``[C, L]``, if latents are mixed

    Returns
    -------
    array ``[C, S]``
    """
    numbers = {"etgp": 1, "mixed": 1 if mixing is None else mixing.shape[1]}
    latent = np.sqrt(variance) * noise[: numbers.get(model, len(params))]
    return warp(model, flow, latent, params[:, None], mixing)


@check_shapes("draws: [C, S]")
def dependence(at: float, draws: np.ndarray) -> Dependence:
    """Spearman's rank correlations between classes: the correlations of the draws' ranks.

    Parameters
    ----------
    at, draws : the input x, and joint draws of the processes there ``[C, S]``, see `joint_draws`

    Returns
    -------
    a `Dependence` record
    """
    return Dependence(at, np.corrcoef(rankdata(draws, axis=1)))
