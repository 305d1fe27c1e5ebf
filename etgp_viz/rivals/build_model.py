"""`build`: any model of the comparison by name, with its initial values."""

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from etgp_viz.backend import gpflow
from etgp_viz.checks import (
    check_choice,
    check_count,
    check_inputs,
    check_memory,
    check_seed,
    describe,
)
from etgp_viz.core import flows
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.build_extension import Extension
from etgp_viz.extensions.concrete_dropout import ConcreteDropoutNetwork
from etgp_viz.extensions.flow_zoo import NAMED
from etgp_viz.extensions.gp_parameters import GPNetwork
from etgp_viz.extensions.mean_field import MeanFieldNetwork
from etgp_viz.extensions.options import EXTENSION_OPTIONS
from etgp_viz.rivals import kernels, svgp
from etgp_viz.rivals.deep_kernel import DeepKernelSVGP
from etgp_viz.rivals.names import ALL_FLOWS, ANY_FLOW, MODELS, PARAMETERS, SHARING, Model
from etgp_viz.rivals.network import NetworkClassifier, Shift
from etgp_viz.rivals.off_the_shelf import SklearnRival, estimator_class
from etgp_viz.rivals.robust_max import RobustMaxSVGP

__all__ = ["MODELS", "build", "kmeans"]

LENGTHSCALE = 2.0
STARTS = ("draw", "paper")
Q_SQRT_SCALE = 1e-5
BYTES_OF_A_KERNEL = 50_000  # of Python and TensorFlow, besides its numbers
LARGE = 20_000  # rows above which k-means works on mini-batches

FLOW_CLASSES = {"linear": flows.Linear, "sal": flows.SAL, "tanh": flows.Tanh, **NAMED}

Latents = tuple[gpflow.kernels.Kernel, gpflow.inducing_variables.InducingVariables]

NETWORK_OPTIONS = ("hidden", "dropout", "weight_decay", "projection", "precision")
# ``parameters`` → the class that makes them, and its options.
NETWORKS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "dropout": (FlowNetwork, NETWORK_OPTIONS),
    "concrete": (ConcreteDropoutNetwork, (*NETWORK_OPTIONS, "temperature")),
    "mean-field": (
        MeanFieldNetwork,
        ("hidden", "weight_decay", "output_decay", "projection", "precision"),
    ),
    "gp": (GPNetwork, ("num_processes", "weight_decay", "precision")),
}
LATENT_OPTIONS = ("sharing", "batched")
ETGP_OPTIONS = ("num_quadrature", "quadrature_tolerance", "likelihood")
INFERENCE_OPTIONS = (
    *ETGP_OPTIONS,
    "num_monte_carlo",
    "num_predictive",
    "whiten",
)
# Logistic regression is a convex problem: enough steps to solve it. Boosting adds trees until a
# tenth of the training rows, which it sets aside itself, shows no improvement.
SKLEARN_DEFAULTS: dict[str, dict[str, Any]] = {
    "logistic": {"max_iter": 5000},
    "boosting": {"max_iter": 300, "early_stopping": True},
}


def build(
    name: str,
    X: Any,
    num_classes: int,
    *,
    num_inducing: int = 100,
    inducing_points: Any = None,
    seed: int = 0,
    start: str = "draw",
    **options: Any,
) -> Any:
    """A model for the inputs X, ready for `etgp_viz.fit` (scikit-learn's: for ``model.train``).

    Inducing points start at the centres of k-means clusters. Initial values are the paper's: RBF
    lengthscales ℓ = 2, weight variances 1/ℓ² of the arc-cosine kernel (dividing an input by ℓ
    divides its weight variance by ℓ²), Σ = I of the neural-network kernel, a random mixing matrix,
    one hyperparameter per input (ARD) throughout, q(u) = N(0, (1e-5)² I), and flows at the identity
    (TANH next to it, `Flow.near_identity_params`, where it learns faster).

    Two of them keep an ETGP from using its f0. A softmax sees only differences between
    classes, and at the identity all classes are f0: while q has mean zero, neither q nor the flows'
    slopes have a gradient. And in D dimensions rows lie about √(2D) apart, so that with ℓ = 2 and
    many inputs each inducing point sees only itself. So unless ``start="paper"``, the mean of
    q(u0) starts as a draw from the prior (all classes are still equally likely, exactly), and ℓ is
    √D/2 for every kernel with more than 16 inputs. ``python -m benchmarks start`` compares both.

    Parameters
    ----------
    name : ``"etgp-linear"``, ``"etgp-sal"``, ``"etgp-tanh"``, or ``"etgp"``, whose flow is an
        option; the paper's rivals ``"svgp-rbf"``,
        ``"svgp-rbfcorr"``, ``"svgp-arccos"``, ``"svgp-nnet"`` and ``"tgp"``; SVGPs that the paper
        does not have, ``"svgp-robustmax"`` (no Monte Carlo) and ``"svgp-deep"`` (on features of a
        network); ``"network"`` (an ETGP without its Gaussian process); scikit-learn's
        ``"logistic"`` and ``"boosting"``
    X, num_classes : training inputs ``[N, D]``, and C
    num_inducing : M, at most the number of distinct rows of X; models without inducing points
        ignore it
    inducing_points : where they start ``[M, D]``; None for the centres of k-means clusters
    seed : of k-means, of initial weights, of the draw, and of the model's own random numbers
    start : ``"draw"`` or ``"paper"``, see above
    **options :
        ETGP: ``hidden``, ``dropout``, ``weight_decay``, ``projection``, ``precision`` (see
        `FlowNetwork`), ``num_quadrature``, ``quadrature_tolerance``, ``whiten`` and the arguments
        of the flow (``positive`` for linear, ``length`` for SAL, ``elements`` and ``length`` for
        tanh). ``likelihood``, a GPflow likelihood in place of the softmax; C may then be one.
        ``"etgp"`` also takes ``flow``: a `Flow`, or the name of one, ``"linear"`` (default),
        ``"sal"``, ``"tanh"``, ``"arcsinh"``, ``"boxcox"``, ``"inverse-boxcox"``, ``"steps"`` or
        ``"spline"`` (see `etgp_viz.extensions.flow_zoo`) with the arguments of that flow.

        ``parameters`` says where the flow parameters come from: ``"dropout"`` (the default),
        ``"concrete"`` (`ConcreteDropoutNetwork`, with ``temperature``), ``"mean-field"``
        (`MeanFieldNetwork`, with ``output_decay`` and without ``dropout``), or ``"gp"``
        (`GPNetwork`, with ``num_processes``, ``weight_decay`` and ``precision`` alone).

        Beyond the paper: ``latents=L``, several latents that are mixed ``mixing="before"``
        (default) or ``"after"`` the flows, with ``mixing_from="constant"`` (default) or
        ``"network"``; ``features="shared"`` or ``"own"``, f0 on features of the same network or of
        one of its own. See `etgp_viz.extensions`.

        SVGP: ``sharing="separate"`` (C kernels and C sets of inducing points, the default) or
        ``"shared"`` (one of each); ``batched=False`` (GPflow's own computation, the default) or
        ``True`` (`etgp_viz.rivals.kernels`); ``num_monte_carlo``, ``num_predictive``, ``whiten``.

        SVGP DEEP: those of the SVGP (its kernel is always shared) and of the network, with dropout
        0 unless it is given.

        TGP: those of the SVGP and of the network, and ``flow`` as for ``"etgp"``.

        NETWORK: those of the network. LOGISTIC and BOOSTING: the arguments of scikit-learn's
        ``LogisticRegression`` and ``HistGradientBoostingClassifier``.

    Returns
    -------
    a GPflow model (`ETGP`, `SVGPClassifier` or one derived from it, `NetworkClassifier`), or a
    `SklearnRival`, with the same ways to predict

    Examples
    --------
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> model = build("etgp-linear", X, num_classes=3, num_inducing=5, hidden=(4,))
    >>> type(model).__name__, model.num_classes, model.inducing_variable.Z.shape
    ('ETGP', 3, TensorShape([5, 1]))
    """
    known = MODELS | ANY_FLOW
    check_choice(name, "name", tuple(known))
    is_paper = check_choice(start, "start", STARTS) == "paper"
    X = np.asarray(check_inputs(X))
    C = check_count(num_classes, "num_classes", minimum=1 if "likelihood" in options else 2)
    if inducing_points is not None:
        inducing_points = np.array(check_inputs(inducing_points, "inducing_points", X.shape[1]))
        num_inducing = len(inducing_points)
    check_seed(seed)
    kind = known[name]
    if kind.has_inducing_points:
        M = check_count(num_inducing, "num_inducing")
        each = 5 * 8 * M * (M + X.shape[1]) + BYTES_OF_A_KERNEL  # with gradients and moments
        processes = 1 if kind.family == "etgp" else C
        check_memory(
            processes * each,
            "num_classes",
            f"{describe(processes)} × {describe(M)} inducing points",
        )
    part = _part(kind, options)
    part_options = tuple(inspect.signature(part).parameters)
    source = options.pop("parameters", "dropout") if kind.family == "etgp" else "dropout"
    network_class, network_options = NETWORKS[check_choice(source, "parameters", PARAMETERS)]
    allowed = _allowed(kind, network_options, part_options)
    for option in options:
        if option not in allowed:
            raise ValueError(
                f"{option}: expected an option of {name!r} ({', '.join(allowed)}), got {option!r}"
            )

    def pick(names: Iterable[str]) -> dict[str, Any]:
        return {option: options[option] for option in names if option in options}

    extension = Extension(**pick(EXTENSION_OPTIONS))

    if kind.family == "sklearn":
        return SklearnRival(part(**SKLEARN_DEFAULTS[name] | options), X.shape[1], C, seed)

    def network(**changes: Any) -> FlowNetwork:
        flow = extension.flow(part(**pick(part_options)))
        options = {"start": flow.near_identity_params(), "seed": seed, **pick(network_options)}
        if not kind.has_bayesian_average:  # a deep kernel, which is better off without
            options.setdefault("dropout", 0.0)
        if network_class is GPNetwork:
            options |= {"inducing_points": points(), "lengthscale": length}
        return extension.network(network_class)(X.shape[1], C, flow, **options | changes)

    if kind.family == "network":
        return NetworkClassifier(network(), num_data=len(X))

    @cache
    def points(see: Callable[[np.ndarray], np.ndarray] = np.asarray) -> np.ndarray:
        """Initial inducing points, in the space that the kernel sees."""
        if inducing_points is None:
            return kmeans(see(X), num_inducing, seed=seed)
        return see(inducing_points)

    length = LENGTHSCALE if is_paper else max(LENGTHSCALE, 0.5 * np.sqrt(X.shape[1]))

    def latents(kernel: str) -> Latents:
        return _latents(kernel, points(), C, length, **pick(LATENT_OPTIONS))

    settings = {"num_data": len(X), **pick(INFERENCE_OPTIONS)}
    model: Any
    if kind.family == "etgp":
        start_values = length, network, points(), X, settings, seed, not is_paper
        model = extension.model(FAMILIES["rbf"][0], *start_values)
        if not is_paper:
            model.q_mu.assign(_draw(model, seed))
    elif kind.family == "tgp":
        warp, (kernel, inducing_variable) = network(), latents("rbf")
        model = svgp.TGP(kernel, warp, inducing_variable, seed=seed, **settings)
    elif kind.variant == "deep":
        trunk = network()
        Z = points(lambda inputs: trunk.features(inputs).numpy().astype(float))
        kernel, inducing_variable = _latents(
            *("rbf", Z, C),
            # The more features, the further apart: the root mean square of their distances.
            np.sqrt(2.0 * trunk.features(X).numpy().var(axis=0).sum()),
            **{"sharing": "shared", **pick(["batched"])},
        )
        model = DeepKernelSVGP(kernel, trunk, inducing_variable, seed=seed, **settings)
    elif kind.variant == "rbfcorr":
        model = svgp.MixedSVGP(*latents("rbf"), C, seed=seed, **settings)
    elif kind.variant == "robustmax":
        model = RobustMaxSVGP(*latents("rbf"), C, seed=seed, **settings)
    else:
        model = svgp.SVGPClassifier(*latents(kind.variant), C, seed=seed, **settings)
    initial = Q_SQRT_SCALE * np.eye(num_inducing)
    model.q_sqrt.assign(np.broadcast_to(initial, model.q_sqrt.shape))
    return model


def _draw(model: ETGP, seed: int) -> np.ndarray:
    """Inducing variables [M, L] drawn from the prior of each latent, in the coordinates of q."""
    white = np.random.default_rng([seed, 1]).normal(size=model.q_mu.shape)
    if model.whiten:
        return white
    latents = getattr(model, "latents", [(model.inducing_variable, model.kernel)])
    Kzz = [gpflow.covariances.Kuu(*latent, jitter=gpflow.default_jitter()) for latent in latents]
    return np.einsum("lij,jl->il", np.linalg.cholesky(Kzz), white)


def _part(kind: Model, options: dict[str, Any]) -> Any:
    """The class whose arguments are options too: a flow, or an estimator of scikit-learn."""
    if kind.family == "sklearn":
        return estimator_class(kind.variant)
    if kind.takes_flow:
        flow = options.pop("flow", "linear")
        if isinstance(flow, flows.Flow):
            return lambda: flow
        return FLOW_CLASSES[check_choice(flow, "flow", ALL_FLOWS)]
    return FLOW_CLASSES.get(kind.variant, Shift)  # without a flow of its own: no arguments


def _allowed(kind: Model, network_options: Iterable[str], part_options: Iterable[str]) -> Any:
    """The options of `build` for one model."""
    return (
        *(("parameters",) if kind.family == "etgp" else ()),
        *(("flow",) if kind.takes_flow else ()),
        *(network_options if kind.has_network else ()),
        *(("sharing",) if "shared" in kind.sharings else ()),
        *(("batched",) if kind.family in ("svgp", "tgp") else ()),
        *(ETGP_OPTIONS if kind.family == "etgp" else ()),
        *(("num_monte_carlo", "num_predictive") if kind.is_monte_carlo else ()),
        *(("whiten",) if kind.has_inducing_points else ()),
        *(EXTENSION_OPTIONS if kind.family == "etgp" else ()),
        *part_options,
    )


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

    X = check_inputs(X)
    distinct, because = len(np.unique(X, axis=0)), "the distinct rows of X"
    M = check_count(num_inducing, "num_inducing", maximum=distinct, because=because)
    check_seed(seed)
    algorithm, restarts = (MiniBatchKMeans, 3) if len(X) > LARGE else (KMeans, 10)
    return algorithm(M, n_init=restarts, random_state=seed).fit(X).cluster_centers_


# Family → a kernel of D inputs that starts with lengthscale ℓ, and the class that stacks C of them.
FAMILIES: dict[str, tuple[Callable[[int, float], Any], type[kernels.Stacked]]] = {
    "rbf": (
        lambda D, length: gpflow.kernels.SquaredExponential(lengthscales=np.full(D, length)),
        kernels.StackedRBF,
    ),
    "arccos": (
        lambda D, length: kernels.ArcCosine(weight_variances=np.full(D, length**-2)),
        kernels.StackedArcCosine,
    ),
    "nnet": (
        lambda D, _: kernels.NeuralNetwork(weight_variances=np.ones(D)),
        kernels.StackedNeuralNetwork,
    ),
}


def _latents(
    family: str,
    Z: np.ndarray,
    C: int,
    length: float,
    *,
    sharing: str = "separate",
    batched: bool = False,
) -> Latents:
    """Kernel and inducing variables of C latent processes."""
    check_choice(sharing, "sharing", SHARING)
    check_choice(batched, "batched", (False, True))
    inducing = gpflow.inducing_variables
    make, stacked = FAMILIES[family]
    kernel = make(Z.shape[1], length)
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
        gpflow.kernels.SeparateIndependent([make(Z.shape[1], length) for _ in range(C)]),
        inducing.SeparateIndependentInducingVariables(separate),
    )
