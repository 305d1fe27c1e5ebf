"""What an ETGP believes about inputs of one or two dimensions, as plain arrays.

Everything here follows from q(f₀(x)) = N(µ, σ²) and the flows' parameters θ(x): the C processes at
f₀ = µ + σz, for some numbers z, give quantiles, probabilities and expectations.

>>> from etgp_viz import build
>>> from etgp_viz.datasets import toys
>>> from etgp_viz.records import inference
>>> toy = toys.waves(60, 3)
>>> model = build("etgp-linear", toy.X, 3, inducing_points=toy.X[:5], hidden=(4,))
>>> window, data = inference.window(toy.X), (toy.X, toy.Y)
>>> beliefs = inference.look(model, window, data, samples=4)
>>> beliefs.point.probabilities[:, 0].round(3)  # before training, at the left end
array([0.333, 0.333, 0.333])
>>> inference.warped(model, window).median.shape  # [C, G]
(3, 100)
>>> errors = inference.node_errors(model, data)
>>> bool(errors.quadrature[-1] < 1e-6)  # 48 nodes are plenty
True
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from etgp_viz.backend import Tensor, check_shapes, tf
from etgp_viz.core.blocks import fitting
from etgp_viz.core.expectations import Rule, gauss_hermite, levels
from etgp_viz.core.model import ETGP
from etgp_viz.records.flow import Z95

__all__ = [
    *("Beliefs", "Classes", "Contribution", "Latent", "NodeErrors", "Warped", "Window"),
    *("contribution", "look", "node_errors", "processes_at", "undecided", "warped", "window"),
]

# Points of a window over one input, cells along the longer side of a window over two, and its
# margin around the data as a share of their range: near them, and far away.
LINE_POINTS, CELLS, MARGIN, FAR = 100, 64, 0.06, 1.5
# Errors of expectations: rows of the data, numbers of nodes and of draws, points of the reference.
ROWS = 100
NODES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
DRAWS = (1, 4, 16, 64, 256)
REFERENCE = 401
# Numbers in a temporary array, about: TensorFlow keeps the memory that it has needed once.
PER_CHUNK = 1_000_000


@dataclass(frozen=True)
class Window:
    """The grid of a picture: x over one input, or x by y over two.

    Examples
    --------
    >>> window = Window(np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.0]))
    >>> window.shape, window.inputs[:2].tolist()
    ((2, 3), [[0.0, 5.0], [1.0, 5.0]])
    """

    x: np.ndarray  # [G]
    y: np.ndarray | None  # [H]; None for one input

    @property
    def inputs(self) -> np.ndarray:
        """All points of the grid, ``[G, 1]`` or ``[H·G, 2]`` with x running fastest."""
        if self.y is None:
            return self.x[:, None]
        return np.stack(np.meshgrid(self.x, self.y), axis=-1).reshape(-1, 2)

    @property
    def shape(self) -> tuple[int, ...]:
        """``[G]`` or ``[H, G]``."""
        return (len(self.x),) if self.y is None else (len(self.y), len(self.x))


@dataclass(frozen=True)
class Latent:
    """q(f₀) over a window, beside its prior, and the inducing points.

    Examples
    --------
    >>> wide, no_points = np.array([0.5, 0.25, 1.0]), np.zeros((0, 1))
    >>> grid = Window(np.arange(3.0), None)
    >>> Latent(grid, np.zeros(3), wide, np.ones(3), no_points, cut=None).return_to_prior
    0.75
    """

    window: Window  # the grid
    mean: np.ndarray  # of q(f₀), in the shape of the window
    deviation: np.ndarray  # the same
    prior: np.ndarray  # standard deviation of the prior p(f₀), the same
    Z: np.ndarray  # inducing points [M, D]
    cut: float | None  # the second input of `Warped`; None for one input

    @property
    def return_to_prior(self) -> float:
        """Standard deviation of q(f₀) as a share of the prior's, averaged over the edge."""
        return float(np.mean(_edge(self.deviation / self.prior)))


@dataclass(frozen=True)
class Classes:
    """Class probabilities over a window, beside the data.

    Examples
    --------
    >>> p = np.array([[0.75, 0.5, 0.0], [0.25, 0.5, 1.0]])
    >>> X, labels, no_points = np.array([[0.0], [2.0]]), np.array([0, 1]), np.zeros((0, 1))
    >>> grid = Window(np.arange(3.0), None)
    >>> record = Classes(grid, p, X, labels, 0, 1.0, no_points, no_points[None])
    >>> record.winner.tolist(), record.confidence_at_edge
    ([0, 0, 1], 0.875)
    """

    window: Window  # the grid
    probabilities: np.ndarray  # [C, G] or [C, H, G]
    X: np.ndarray  # the data [N, D]
    labels: np.ndarray  # [N]
    samples: int  # dropout draws in the average; 0 for the point estimate
    accuracy: float  # share of the data whose likeliest class is the label
    Z: np.ndarray  # inducing points [M, D]
    trail: np.ndarray  # where they were, oldest first [T, M, D]
    is_glance: bool = False  # whether it was computed by a `Glance`

    @property
    def winner(self) -> np.ndarray:
        """The likeliest class, in the shape of the window."""
        return np.argmax(self.probabilities, axis=0)

    @property
    def confidence_at_edge(self) -> float:
        """Probability of the likeliest class, averaged over the edge of the window."""
        return float(np.mean(_edge(np.max(self.probabilities, axis=0))))


def _edge(values: np.ndarray) -> np.ndarray:
    """Values at both ends of a line ``[G]``, or all around a map ``[H, G]``."""
    if values.ndim == 1:
        return values[[0, -1]]
    return np.concatenate([values[0], values[-1], values[1:-1, 0], values[1:-1, -1]])


@dataclass(frozen=True)
class Warped:
    """The posterior of the C warped processes along a line."""

    x: np.ndarray  # the first input along the line [G]
    median: np.ndarray  # [C, G]
    band: np.ndarray  # limits of the central 95 % [2, C, G]
    cut: float | None  # the second input, the same along the line; None for one input


@dataclass(frozen=True)
class Beliefs:
    """Everything that `look` computes: q(f₀), both predictions and the warped processes."""

    latent: Latent  # q(f₀)
    point: Classes  # the point estimate
    bayes: Classes  # the Bayesian average
    warped: Warped  # the C processes along a line


@dataclass(frozen=True)
class Contribution:
    """What f₀ contributes to the predictions of the data, in nats per row."""

    log_likelihood: float  # mean over the rows, by the point estimate
    lost_at_zero: float  # lost if f₀ is set to 0
    lost_at_mean: float  # lost if f₀ is set to its mean µ(x)


@dataclass(frozen=True)
class NodeErrors:
    """Errors of the expected log-likelihood of a row, E_{q(f₀)}[log p(y | f₀)], of a model.

    All are root mean squares over rows, so that they can be compared: in a mean over rows the
    errors of quadrature partly cancel, and those of the draws shrink by another 1/√N.
    """

    nodes: np.ndarray  # numbers Q of Gauss–Hermite nodes [K]
    quadrature: np.ndarray  # error with Q nodes [K]
    draws: np.ndarray  # numbers S of Monte Carlo draws for each row [J]
    monte_carlo: np.ndarray  # error of one estimate for each row, with S draws [J]
    standard_error: np.ndarray  # what that error is on average over draws, σ/√S [J]
    used: int  # the number Q that the model itself uses


def window(X: np.ndarray, margin: float = MARGIN, beside: np.ndarray | None = None) -> Window:
    """A grid around the data, with square cells if there are two inputs.

    Parameters
    ----------
    X, margin : inputs ``[N, 1]`` or ``[N, 2]``, and the space around them as a share of their range
    beside : more inputs, for which the window only grows if they lie outside

    Returns
    -------
    a `Window`
    """
    low, high = _limits(X, margin)
    if beside is not None and (np.any(beside < low) or np.any(beside > high)):
        low, high = _limits(np.concatenate([X, beside]), margin)
    if X.shape[1] == 1:
        return Window(np.linspace(low[0], high[0], LINE_POINTS), None)
    cell = np.max(high - low) / CELLS
    counts = np.maximum(2, np.ceil((high - low) / cell)).astype(int)
    return Window(*(np.linspace(*ends) for ends in zip(low, high, counts, strict=True)))


def _limits(X: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.min(X, axis=0), np.max(X, axis=0)
    room = margin * np.maximum(high - low, 1e-6)
    return low - room, high + room


def look(
    model: ETGP,
    where: Window,
    data: tuple[np.ndarray, np.ndarray],
    *,
    cut: float = 0.0,
    samples: int = 20,
    seed: int = 0,
    trail: np.ndarray | None = None,
) -> Beliefs:
    """Everything that the pictures of a model show.

    Parameters
    ----------
    model, where : an ETGP with one or two inputs, and a grid of as many, see `window`
    data : ``(X [N, D], Y [N, 1])``
    cut : with two inputs, the second input for which the warped processes are shown
    samples, seed : of the dropout draws of the Bayesian average, one set for each input
    trail : earlier places of the inducing points ``[T, M, D]``, if they are to be shown

    Returns
    -------
    a `Beliefs` record
    """
    grid, rows = where.inputs, rows_of(where, data)
    moments = _moments(model, np.concatenate([rows, _line(where, cut)]))
    N, G = len(rows), len(grid)
    mean, deviation, params = (moment[:N] for moment in moments)

    point = bayes = _probabilities(model, mean, deviation, params)
    # As long as the output weights are zero, every draw of the network gives the same flows.
    if np.any(model.network.output.weights.numpy()):
        bayes = np.zeros_like(point)
        for features in model.network.features(rows, samples, seed):
            draw = model.network.params_of(features).numpy()
            bayes += _probabilities(model, mean, deviation, draw, samples) / samples

    along = _quantiles(model, where, cut, [moment[N:] for moment in moments])
    Z = model.inducing_variable.Z.numpy()
    prior = np.sqrt(model.kernel(grid, full_cov=False).numpy())
    mean, deviation, prior = (
        values.reshape(where.shape) for values in (mean[:G], deviation[:G], prior)
    )
    return Beliefs(
        latent=Latent(where, mean, deviation, prior, Z, along.cut),
        point=classes_of(where, data, point, 0, Z, trail),
        bayes=classes_of(where, data, bayes, samples, Z),
        warped=along,
    )


def rows_of(where: Window, data: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The points of a window, then the data."""
    return np.concatenate([where.inputs, data[0]])


def warped(model: ETGP, where: Window, cut: float = 0.0) -> Warped:
    """The warped processes along a line, as in `look`.

    Parameters
    ----------
    model, where, cut : see `look`

    Returns
    -------
    a `Warped` record
    """
    return _quantiles(model, where, cut, _moments(model, _line(where, cut)))


def _line(where: Window, cut: float) -> np.ndarray:
    """Inputs along the window at the cut, ``[G, D]``."""
    if where.y is None:
        return where.x[:, None]
    return np.column_stack([where.x, np.full(len(where.x), cut)])


def _quantiles(model: ETGP, where: Window, cut: float, moments: Sequence[np.ndarray]) -> Warped:
    mean, deviation, params = moments
    quantiles = _warp(model, mean, deviation, params, np.array([-Z95, 0.0, Z95])).numpy()
    lower, median, upper = np.moveaxis(quantiles, 1, 0)
    # G is monotone, so it takes quantiles to quantiles; a decreasing one swaps them.
    band = np.stack([np.minimum(lower, upper), np.maximum(lower, upper)])
    place = None if where.y is None else cut
    return Warped(where.x, median.T, np.moveaxis(band, -1, 1), place)


def contribution(model: ETGP, data: tuple[np.ndarray, np.ndarray]) -> Contribution:
    """What the data would lose without f₀, and without its uncertainty.

    Parameters
    ----------
    model, data : an ETGP, and ``(X [N, D], Y [N, 1])``

    Returns
    -------
    a `Contribution` record

    Examples
    --------
    >>> from etgp_viz import build
    >>> from etgp_viz.datasets import toys
    >>> from etgp_viz.records import inference
    >>> toy = toys.waves(60, 3)
    >>> model = build("etgp-linear", toy.X, 3, inducing_points=toy.X[:5], hidden=(4,))
    >>> record = inference.contribution(model, (toy.X, toy.Y))
    >>> bool(abs(record.lost_at_zero) < 1e-9)  # a new model does not use f₀ yet
    True
    """
    found = model.latent_contribution(data)
    return Contribution(found.log_likelihood, found.lost_at_zero, found.lost_at_mean)


def undecided(
    where: Window,
    data: tuple[np.ndarray, np.ndarray],
    num_classes: int,
    samples: int = 0,
    Z: np.ndarray | None = None,
) -> Classes:
    """The beliefs of any new model: all flows are the same, so all classes are equally likely.

    Parameters
    ----------
    where, data, num_classes : the grid, ``(X [N, D], Y [N, 1])``, and C
    samples : of the Bayesian average; 0 for the point estimate
    Z : the inducing points ``[M, D]``, if there are any yet

    Returns
    -------
    a `Classes` record

    Examples
    --------
    >>> from etgp_viz.datasets import toys
    >>> from etgp_viz.records import inference
    >>> toy = toys.waves(60, 3)
    >>> record = inference.undecided(inference.window(toy.X), (toy.X, toy.Y), 3)
    >>> record.probabilities[:, 0].round(3)
    array([0.333, 0.333, 0.333])
    """
    rows = int(np.prod(where.shape)) + len(data[0])
    p = np.full((rows, num_classes), 1.0 / num_classes)
    return classes_of(where, data, p, samples, np.empty((0, data[0].shape[1])) if Z is None else Z)


def classes_of(
    where: Window,
    data: tuple[np.ndarray, np.ndarray],
    p: np.ndarray,
    samples: int,
    Z: np.ndarray,
    trail: np.ndarray | None = None,
) -> Classes:
    """The record of probabilities [G + N, C]: at the points of the window, then at the data."""
    G, labels = int(np.prod(where.shape)), data[1][:, 0]
    accuracy = float(np.mean(np.argmax(p[G:], axis=1) == labels))
    trail = np.empty((0, *Z.shape)) if trail is None else trail
    probabilities = p[:G].T.reshape(-1, *where.shape)
    return Classes(where, probabilities, data[0], labels, samples, accuracy, Z, trail)


@check_shapes("X: [N, D]", "z: [broadcast N, K]", "return: [N, K, C]")
def processes_at(model: ETGP, X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The C processes at f₀ = µ + σz, with dropout off.

    Parameters
    ----------
    model, X : an ETGP, and inputs ``[N, D]``
    z : standard deviations from the mean of q(f₀) ``[N, K]``, or ``[1, K]`` for all inputs alike

    Returns
    -------
    array ``[N, K, C]``

    Examples
    --------
    >>> from etgp_viz import build
    >>> from etgp_viz.datasets import toys
    >>> from etgp_viz.records import inference
    >>> toy = toys.waves(60, 3)
    >>> model = build("etgp-linear", toy.X, 3, inducing_points=toy.X[:5], hidden=(4,))
    >>> inference.processes_at(model, toy.X, np.array([[-1.0, 0.0, 1.0]])).shape  # [N, K, C]
    (60, 3, 3)
    """
    mean, deviation, params = _moments(model, X)
    z = np.broadcast_to(z, (len(X), z.shape[1]))
    chunks = _chunks(len(X), z.shape[1] * params[0].size)
    parts = [_warp(model, mean[some], deviation[some], params[some], z[some]) for some in chunks]
    return np.concatenate(parts)


def node_errors(model: ETGP, data: tuple[np.ndarray, np.ndarray], seed: int = 0) -> NodeErrors:
    """Errors of a row's expected log-likelihood, by Q nodes and by S random draws.

    They are root mean squares over the first rows of the data, each with its own draws. The
    reference is a different rule: the trapezium rule with 401 points on ±9 standard deviations,
    which converges faster than any power of its step for smooth functions that vanish at both ends.

    Parameters
    ----------
    model, data, seed : an ETGP, ``(X [N, D], Y [N, 1])``, and the seed of the draws

    Returns
    -------
    a `NodeErrors` record
    """
    X, labels = data[0][:ROWS], data[1][:ROWS, 0]
    N = len(X)
    rules = [gauss_hermite(Q) for Q in NODES]
    dense = np.linspace(-9.0, 9.0, REFERENCE)
    density = np.exp(-0.5 * dense**2)
    density /= density.sum()
    fixed = np.concatenate([dense, *(nodes for nodes, _ in rules)])
    draws = np.random.default_rng(seed).standard_normal((N, max(DRAWS)))
    z = np.concatenate([np.broadcast_to(fixed, (N, len(fixed))), draws], axis=1)
    log_p = log_softmax(processes_at(model, X, z), axis=-1)
    log_p = np.take_along_axis(log_p, labels[:, None, None], axis=-1)[..., 0]  # [N, K]

    parts = np.split(log_p, np.cumsum([REFERENCE, *NODES]), axis=1)
    exact = parts[0] @ density
    variance = (parts[0] - exact[:, None]) ** 2 @ density
    by_nodes = [part @ weights for part, (_, weights) in zip(parts[1:-1], rules, strict=True)]
    by_draws = [np.mean(parts[-1][:, :S], axis=1) for S in DRAWS]
    return NodeErrors(
        nodes=np.array(NODES),
        quadrature=np.array([_rms(estimate - exact) for estimate in by_nodes]),
        draws=np.array(DRAWS),
        monte_carlo=np.array([_rms(estimate - exact) for estimate in by_draws]),
        standard_error=np.sqrt(variance.mean() / DRAWS),
        used=model.num_quadrature,
    )


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _moments(model: ETGP, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean [N] and standard deviation [N] of q(f₀), and raw flow parameters [N, C, P]."""
    mean, variance = (moment.numpy()[:, 0] for moment in model.predict_latent(X))
    return mean, np.sqrt(np.maximum(variance, 0.0)), model.network(X).numpy()


def _probabilities(
    model: ETGP, mean: np.ndarray, deviation: np.ndarray, params: np.ndarray, draws: int = 1
) -> np.ndarray:
    """E[softmax(f^1, …, f^C)] of each row, [N, C], refined as the model's own predictions are.

    If it is one of many draws to be averaged, a larger error is allowed, as in `ETGP.predict_y`.
    """
    num_classes = params.shape[1]
    if np.all(params == params[:, :1]):  # as before training
        return np.full(params.shape[:2], 1.0 / num_classes)
    tolerance = model.quadrature_tolerance and np.sqrt(draws) * model.quadrature_tolerance
    rule = Rule(model.num_quadrature, tolerance, draws == 1)
    z, w, last, starts = levels(rule)
    p, rows = np.empty(params.shape[:2]), np.arange(len(params))
    for nodes in map(slice, starts[:-1], starts[1:]):
        # The integral, and the last four Hermite coefficients, which estimate its error: [n, C, 5].
        rules = w[nodes, None] * np.column_stack([np.ones(len(w[nodes])), last[nodes]])
        sums = np.empty((len(rows), num_classes, 5))
        for some in _chunks(len(rows), len(rules) * params[0].size):
            at = rows[some]
            F = _warp(model, mean[at], deviation[at], params[at], z[nodes])
            sums[some] = tf.tensordot(tf.nn.softmax(F), rules, [[1], [0]])
        p[rows] = sums[..., 0]
        error = np.max(np.abs(sums[..., 1:]), axis=(1, 2))
        rows = rows[error > (rule.tolerance or np.inf)]
        if not len(rows):
            break
    return p


def _chunks(num_rows: int, numbers_per_row: int) -> list[slice]:
    """Rows in pieces whose largest temporary arrays are small: see `PER_CHUNK`."""
    size = fitting(numbers_per_row, PER_CHUNK)
    return [slice(start, start + size) for start in range(0, num_rows, size)]


def _warp(
    model: ETGP, mean: np.ndarray, deviation: np.ndarray, params: np.ndarray, z: Any
) -> Tensor:
    """The C processes at µ + σz, [N, K, C]."""
    f0 = mean[:, None] + deviation[:, None] * z
    return model.network.flow.forward(f0[..., None], params[:, None])
