"""`build`: any model of the comparison by name, with the paper's initial values."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from etgp_viz.backend import gpflow
from etgp_viz.checks import check_choice, check_count, check_inputs
from etgp_viz.core import flows
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals import kernels, svgp
from etgp_viz.rivals.names import FLOWS, MODELS, SHARING

__all__ = ["MODELS", "build", "kmeans"]

LENGTHSCALE = 2.0
Q_SQRT_SCALE = 1e-5
LARGE = 20_000  # rows above which k-means works on mini-batches

FLOW_CLASSES = {"linear": flows.Linear, "sal": flows.SAL, "tanh": flows.Tanh}

Latents = tuple[gpflow.kernels.Kernel, gpflow.inducing_variables.InducingVariables]

NETWORK_OPTIONS = ("hidden", "dropout", "weight_decay", "projection", "precision")
LATENT_OPTIONS = ("sharing", "batched")
ETGP_OPTIONS = ("num_quadrature", "whiten")
SVGP_OPTIONS = ("num_monte_carlo", "num_predictive", "whiten")


def build(
    name: str,
    X: Any,
    num_classes: int,
    *,
    num_inducing: int = 100,
    inducing_points: Any = None,
    seed: int = 0,
    **options: Any,
) -> Any:
    """A model for the inputs X, ready for `etgp_viz.fit`.

    Inducing points start at the centres of k-means clusters. Initial values are the paper's: RBF
    lengthscales 2, weight variances 1/2² of the arc-cosine kernel (dividing an input by ℓ divides
    its weight variance by ℓ²), Σ = I of the neural-network kernel, a random mixing matrix, one
    hyperparameter per input (ARD) throughout, q(u) = N(0, (1e-5)² I), and flows at the identity
    (TANH next to it, `Flow.near_identity_params`, where it learns faster).

    Parameters
    ----------
    name : ``"etgp-linear"``, ``"etgp-sal"``, ``"etgp-tanh"``, ``"svgp-rbf"``, ``"svgp-rbfcorr"``,
        ``"svgp-arccos"``, ``"svgp-nnet"`` or ``"tgp"``
    X, num_classes : training inputs ``[N, D]``, and C
    num_inducing : M, at most the number of distinct rows of X
    inducing_points : where they start ``[M, D]``; None for the centres of k-means clusters
    seed : of k-means, of initial weights and of the model's own random numbers
    **options :
        ETGP: ``hidden``, ``dropout``, ``weight_decay``, ``projection``, ``precision`` (the
        network's), ``num_quadrature``, ``whiten`` and the arguments of the flow (``positive`` for
        linear, ``length`` for SAL, ``elements`` and ``length`` for tanh).

        SVGP: ``sharing="separate"`` (C kernels and C sets of inducing points, the default) or
        ``"shared"`` (one of each); ``batched=False`` (GPflow's own computation, the default) or
        ``True`` (`etgp_viz.rivals.kernels`); ``num_monte_carlo``, ``num_predictive``, ``whiten``.

        TGP: those of the SVGP and of the network, ``flow="linear"`` (default), ``"sal"`` or
        ``"tanh"``, and the arguments of that flow.

    Returns
    -------
    a GPflow model: `ETGP`, `SVGPClassifier`, `MixedSVGP` or `TGP`

    Examples
    --------
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = build("etgp-linear", X, num_classes=3, num_inducing=5, hidden=(4,))
    >>> type(model).__name__, model.num_classes, model.inducing_variable.Z.shape
    ('ETGP', 3, TensorShape([5, 1]))
    """
    check_choice(name, "name", tuple(MODELS))
    X = np.asarray(check_inputs(X))
    C = check_count(num_classes, "num_classes", minimum=2)
    if inducing_points is not None:
        inducing_points = np.array(check_inputs(inducing_points, "inducing_points", X.shape[1]))
        num_inducing = len(inducing_points)
    family, variant = MODELS[name].family, MODELS[name].variant
    flow_class: Any = FLOW_CLASSES.get(variant) if family == "etgp" else None
    if family == "tgp":
        flow_class = FLOW_CLASSES[check_choice(options.pop("flow", "linear"), "flow", FLOWS)]
    flow_options = tuple(inspect.signature(flow_class).parameters) if flow_class else ()
    allowed = {
        "etgp": (*NETWORK_OPTIONS, *ETGP_OPTIONS, *flow_options),
        "svgp": (*LATENT_OPTIONS, *SVGP_OPTIONS),
        "tgp": ("flow", *NETWORK_OPTIONS, *LATENT_OPTIONS, *SVGP_OPTIONS, *flow_options),
    }[family]
    for option in options:
        if option not in allowed:
            raise ValueError(
                f"{option}: expected an option of {name!r} ({', '.join(allowed)}), got {option!r}"
            )

    def pick(names: Iterable[str]) -> dict[str, Any]:
        return {option: options[option] for option in names if option in options}

    def network() -> FlowNetwork:
        flow = flow_class(**pick(flow_options))
        options = {"start": flow.near_identity_params(), "seed": seed, **pick(NETWORK_OPTIONS)}
        return FlowNetwork(X.shape[1], C, flow, **options)

    def points() -> np.ndarray:
        return kmeans(X, num_inducing, seed=seed) if inducing_points is None else inducing_points

    def latents(kernel: str) -> Latents:
        return _latents(kernel, points(), C, **pick(LATENT_OPTIONS))

    settings = {"num_data": len(X), **pick(ETGP_OPTIONS if family == "etgp" else SVGP_OPTIONS)}
    model: Any
    if family == "etgp":
        model = ETGP(FAMILIES["rbf"][0](X.shape[1]), network(), points(), **settings)
    elif family == "tgp":
        warp, (kernel, inducing_variable) = network(), latents("rbf")
        model = svgp.TGP(kernel, warp, inducing_variable, seed=seed, **settings)
    elif variant == "rbfcorr":
        model = svgp.MixedSVGP(*latents("rbf"), C, seed=seed, **settings)
    else:
        model = svgp.SVGPClassifier(*latents(variant), C, seed=seed, **settings)
    initial = Q_SQRT_SCALE * np.eye(num_inducing)
    model.q_sqrt.assign(np.broadcast_to(initial, model.q_sqrt.shape))
    return model


def kmeans(X: np.ndarray, num_inducing: int, *, seed: int = 0) -> np.ndarray:
    """Centres of clusters of the rows of X, as initial inducing points.

    The best of 10 restarts of k-means; above 20 000 rows, of 3 restarts on mini-batches.

    Parameters
    ----------
    X, num_inducing, seed : ``[N, D]``, M (at most the number of distinct rows), of the restarts

    Returns
    -------
    ``[M, D]``

    Examples
    --------
    >>> sorted(kmeans(np.array([[0.0], [0.2], [5.0], [5.2]]), 2)[:, 0].round(1).tolist())
    [0.1, 5.1]
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans  # slow to import

    distinct, because = len(np.unique(X, axis=0)), "the distinct rows of X"
    M = check_count(num_inducing, "num_inducing", maximum=distinct, because=because)
    algorithm, restarts = (MiniBatchKMeans, 3) if len(X) > LARGE else (KMeans, 10)
    return algorithm(M, n_init=restarts, random_state=seed).fit(X).cluster_centers_


# Family → a kernel of D inputs with its initial values, and the class that stacks C of them.
FAMILIES: dict[str, tuple[Callable[[int], gpflow.kernels.Kernel], type[kernels.Stacked]]] = {
    "rbf": (
        lambda D: gpflow.kernels.SquaredExponential(lengthscales=np.full(D, LENGTHSCALE)),
        kernels.StackedRBF,
    ),
    "arccos": (
        lambda D: kernels.ArcCosine(weight_variances=np.full(D, LENGTHSCALE**-2)),
        kernels.StackedArcCosine,
    ),
    "nnet": (
        lambda D: kernels.NeuralNetwork(weight_variances=np.ones(D)),
        kernels.StackedNeuralNetwork,
    ),
}


def _latents(
    family: str, Z: np.ndarray, C: int, *, sharing: str = "separate", batched: bool = False
) -> Latents:
    """Kernel and inducing variables of C latent processes."""
    check_choice(sharing, "sharing", SHARING)
    check_choice(batched, "batched", (False, True))
    inducing = gpflow.inducing_variables
    make, stacked = FAMILIES[family]
    kernel = make(Z.shape[1])
    if sharing == "shared":
        shared = kernels.Broadcast if batched else gpflow.kernels.SharedIndependent
        points = inducing.SharedIndependentInducingVariables(inducing.InducingPoints(Z))
        return shared(kernel, C), points
    if batched:
        values = gpflow.utilities.read_values(kernel)
        stack = {path[1:]: np.stack([value] * C) for path, value in values.items()}
        return stacked(**stack), kernels.StackedInducingPoints(np.stack([Z] * C))
    separate = [inducing.InducingPoints(Z.copy()) for _ in range(C)]
    return (
        gpflow.kernels.SeparateIndependent([make(Z.shape[1]) for _ in range(C)]),
        inducing.SeparateIndependentInducingVariables(separate),
    )
