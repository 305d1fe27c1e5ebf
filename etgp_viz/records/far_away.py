"""How sure the flow parameters of an ETGP are: far from the data, and with more data.

The sources of the parameters (``parameters`` of `etgp_viz.build`) differ in both. Under its prior a
raw parameter at x is Gaussian around its bias. Its variance is σ² ‖φ(x)‖² behind a last hidden
layer φ whose weights have the prior N(0, σ²), and Σ_r w_r² if it is a mixture of processes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from etgp_viz.checks import check_count, check_inputs, check_seed, fail
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.concrete_dropout import ConcreteDropoutNetwork
from etgp_viz.extensions.gp_parameters import GPNetwork
from etgp_viz.extensions.mean_field import MeanFieldNetwork

__all__ = ["Concentration", "FarAway", "concentrate", "look_away", "prior_deviation"]

TINY = 1e-12  # where φ(x) = 0, prior and posterior are the same point
CLOSE = 0.1  # in prior deviations: parameters as close as this have returned to their prior


@dataclass(frozen=True)
class FarAway:
    """Predictions and flow parameters of K models along a line that leaves the data."""

    names: tuple[str, ...]  # [K]
    x: np.ndarray  # distance along the line [G]
    edge: float  # where the data end
    num_classes: int  # C
    confidence: np.ndarray  # largest class probability, averaged over draws [K, G]
    spread: np.ndarray  # deviation of raw parameters over that of their prior, rms [K, G]
    offset: np.ndarray  # distance of their mean from the prior's, in its deviations, rms [K, G]

    @property
    def has_returned(self) -> tuple[bool, ...]:
        """Whether the parameters of each model have their prior's mean and spread at the end.

        Examples
        --------
        >>> spread, offset = np.array([[0.2, 1.0], [0.2, 0.3]]), np.array([[2.0, 0.0], [2.0, 5.0]])
        >>> confidence = np.full((2, 2), 0.5)
        >>> names, x = ("gp", "dropout"), np.array([0.0, 9.0])
        >>> FarAway(names, x, 1.0, 3, confidence, spread, offset).has_returned
        (True, False)
        """
        end = zip(self.spread[:, -1], self.offset[:, -1], strict=True)
        return tuple(bool(abs(s - 1.0) < CLOSE and o < CLOSE) for s, o in end)


@dataclass(frozen=True)
class Concentration:
    """How much K kinds of models disagree with themselves after N rows, over values of N."""

    names: tuple[str, ...]  # [K]
    num_data: np.ndarray  # N [L]
    spread: np.ndarray  # deviation of the logits over draws of the parameters, rms [K, L]
    rates: np.ndarray  # dropout rate, the mean over layers; NaN without dropout [K, L]


def look_away(
    models: Mapping[str, ETGP],
    x: np.ndarray,
    edge: float,
    direction: np.ndarray | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> FarAway:
    """Predictions and flow parameters of trained models along a line that leaves the data.

    Parameters
    ----------
    models : name → a trained ETGP
    x : distances from the origin along the line ``[G]``, in ascending order
    edge : the distance at which the data end
    direction : of the line ``[D]``; by default that of the first input
    samples, seed : number S of draws of the parameters, and their seed

    Returns
    -------
    a `FarAway` record

    Examples
    --------
    >>> from etgp_viz import build
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = build("etgp-linear", X, 3, num_inducing=5, parameters="gp")
    >>> record = look_away({"GP": model}, np.array([0.0, 50.0]), edge=1.0)
    >>> record.has_returned, record.spread[:, 0].round(1).tolist()
    ((True,), [0.1])
    """
    S, seed = check_count(samples, "samples", minimum=2), check_seed(seed)
    x = np.asarray(x, dtype=float)
    parts = []
    for model in models.values():
        D = model.network.num_inputs
        along = np.eye(D)[0] if direction is None else np.asarray(direction, dtype=float)
        X = check_inputs(x[:, None] * along, "x", D)
        draws = model.network(X, S, seed).numpy()  # [S, G, C, P]
        bias = _bias(model.network)
        prior = np.maximum(prior_deviation(model.network, X), TINY)
        spread = draws.std(axis=0) / prior
        offset = (draws.mean(axis=0) - bias) / prior
        confidence = model.predict_y(X, samples=S, seed=seed)[0].numpy().max(axis=1)
        parts.append((confidence, _rms(spread, (1, 2)), _rms(offset, (1, 2))))
    C = next(iter(models.values())).num_classes
    return FarAway(tuple(models), x, float(edge), C, *map(np.stack, zip(*parts, strict=True)))


def prior_deviation(network: FlowNetwork, X: np.ndarray) -> np.ndarray:
    """Standard deviation of each raw parameter at X under the prior, around its bias.

    Parameters
    ----------
    network : a `FlowNetwork` with weight decay, or one of `etgp_viz.extensions`
    X : inputs ``[N, D]``

    Returns
    -------
    ``[N, C, P]``

    Examples
    --------
    >>> from etgp_viz import FlowNetwork, flows
    >>> network = FlowNetwork(1, 2, flows.Linear(), hidden=(), weight_decay=0.5)
    >>> prior_deviation(network, np.array([[3.0]]))[0].tolist()  # σ = 1, and φ(x) = x
    [[3.0, 3.0], [3.0, 3.0]]
    """
    C, P = network.num_classes, network.flow.num_params
    if isinstance(network, GPNetwork):  # all processes have variance 1
        each = np.linalg.norm(network.output.weights.numpy(), axis=0)
        return np.broadcast_to(each.reshape(P, C).T, (len(X), C, P))
    is_mean_field = isinstance(network, MeanFieldNetwork)
    decay = network.output_decay if is_mean_field else network.weight_decay
    if decay == 0.0:
        fail("network", "a weight decay > 0, since without it there is no prior", "0")
    h = FlowNetwork.features(network, X).numpy()
    size = np.linalg.norm(h, axis=1) / np.sqrt(2.0 * decay)
    return np.broadcast_to(size[:, None, None], (len(X), C, P))


def concentrate(
    models: Mapping[str, Mapping[int, ETGP]], X: np.ndarray, samples: int = 300, seed: int = 0
) -> Concentration:
    """How much models disagree with themselves, after training on fewer or more rows.

    Each draw of the parameters is one function of x. The logits are those at the mean of f0, minus
    their mean over classes, which a softmax does not see.

    Parameters
    ----------
    models : name → number of training rows N → the model; every name has the same N
    X : inputs at which the logits are compared ``[G, D]``
    samples, seed : number S of draws of the parameters, and their seed

    Returns
    -------
    a `Concentration` record

    Examples
    --------
    >>> from etgp_viz import build
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> untrained = build("etgp-linear", X, 3, num_inducing=5, dropout=0.1)
    >>> record = concentrate({"dropout": {20: untrained}}, X)
    >>> record.spread.tolist(), record.rates.tolist()  # the output layer starts at zero
    ([[0.0]], [[0.1]])
    """
    sizes = [tuple(by_size) for by_size in models.values()]
    if len(set(sizes)) != 1:
        fail("models", "the same numbers of rows for every name", str(sizes))
    rows = [list(by_size.values()) for by_size in models.values()]
    spread = [[_spread(model, X, samples, seed) for model in row] for row in rows]
    rates = [[_rate(model.network) for model in row] for row in rows]
    return Concentration(tuple(models), np.array(sizes[0]), np.array(spread), np.array(rates))


def _spread(model: ETGP, X: np.ndarray, samples: int, seed: int) -> float:
    """Deviation of the centred logits over draws, rms over inputs and classes."""
    mean = model.predict_latent(X)[0]
    params = model.network(X, samples, seed, one_mask=True)
    logits = model.network.flow.forward(mean, params).numpy()  # [S, G, C]
    return float(_rms((logits - logits.mean(axis=2, keepdims=True)).std(axis=0), None))


def _rate(network: FlowNetwork) -> float:
    if isinstance(network, ConcreteDropoutNetwork):
        return float(network.rates.numpy().mean())
    return network.dropout if type(network) is FlowNetwork else np.nan


def _bias(network: FlowNetwork) -> np.ndarray:
    """The biases of the raw parameters ``[C, P]``."""
    return network.output.bias.numpy().reshape(-1, network.num_classes).T


def _rms(values: np.ndarray, axis: tuple[int, ...] | None) -> np.ndarray:
    return np.sqrt(np.mean(np.square(values), axis=axis))
