"""The fuzz table: public calls, their arguments by kind, and what no argument of a kind may be."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from etgp_viz import (
    ETGP,
    ETGPClassifier,
    ETGPRegressor,
    FlowNetwork,
    build,
    covariance,
    datasets,
    experiments,
    fit,
    flows,
    prior,
    timing,
)
from etgp_viz.backend import gpflow, tf, tfp
from etgp_viz.course import check, hint, solution
from etgp_viz.datasets import Dataset, from_arrays, from_csv, from_dataframe, toys
from etgp_viz.experiments import Run
from etgp_viz.extensions.concrete_dropout import ConcreteDropoutNetwork
from etgp_viz.extensions.gp_parameters import GPNetwork
from etgp_viz.extensions.mean_field import MeanFieldNetwork
from etgp_viz.extensions.mixed_flow import MixedFlow
from etgp_viz.records import several_latents
from etgp_viz.rivals.build_model import kmeans

HUGE = 10**30
DIGITS = 10**5000  # more digits than Python writes
OTHER = (None, "x", "", b"3", [], {}, object(), 1j, np.array([1, 2]), len, type)
NAN, INF = float("nan"), float("inf")

X = np.random.default_rng(0).normal(size=(12, 2))
LABELS = np.arange(12) % 3
K = np.eye(4) + 0.5
TEXT = pd.DataFrame({"a": range(6), "b": [*"xyxyxy"], "kind": [*"ababab"]})


class Unwilling:
    """An object that raises whatever it is asked."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("no")

    __array__ = __iter__ = __len__ = __getitem__ = __getattr__ = __fspath__ = _raise
    __repr__ = __float__ = __index__ = __eq__ = __bool__ = _raise
    __hash__ = None  # type: ignore[assignment]


class UnwillingInteger(int):
    """An integer that cannot be converted."""

    def __int__(self) -> int:
        raise RuntimeError("no")


class UnwillingNumber(float):
    """A number that cannot be converted."""

    def __float__(self) -> float:
        raise RuntimeError("no")


OTHER = (*OTHER, Unwilling())


def _arrays(*shape: int) -> tuple[Any, ...]:
    """What no array of finite real numbers of this shape may be."""
    good = np.ones(shape)
    bad, infinite = good.copy(), good.copy()
    bad.flat[0], infinite.flat[-1] = NAN, -INF
    return (
        *(None, "x", {}, object(), len, 1j, [[1.0], [1.0, 2.0]], DIGITS),
        *(bad, infinite, good * 1j, good.astype(str), good.astype(object)),
        *(np.ones((*shape, 2, 2)), np.array([np.datetime64("NaT")]), pd.DataFrame({"a": ["x"]})),
        *(NAN, np.float64(NAN), np.ma.masked_equal(good, 1.0), bytearray(4), Unwilling()),
        *(tf.constant("x"), tf.ragged.constant([[1.0], [1.0, 2.0]]), tf.sparse.from_dense([[1.0]])),
        np.broadcast_to(1.0, (10**8, 10**5)),  # 73 TiB, were they copied
    )


#: kind of an argument → values that it must refuse
REFUSED: dict[str, tuple[Any, ...]] = {
    "count": (-1, 0, 1.5, NAN, INF, True, np.float64(2.0), -HUGE, -DIGITS, UnwillingInteger(3),
              *OTHER),
    "size": (-1, 0, 1.5, NAN, INF, True, np.float64(2.0), HUGE, -HUGE, DIGITS, -DIGITS, *OTHER),
    "seed": (-1, 1.5, NAN, True, 2**31, 2**32, 2**64, HUGE, DIGITS, -DIGITS, *OTHER),
    "positive": (0, 0.0, -1.0, NAN, INF, -INF, True, DIGITS, -DIGITS, UnwillingNumber(2), *OTHER),
    "scale": (0, -1.0, NAN, INF, 5e-324, 1e308, *OTHER),
    "nonnegative": (-1.0, NAN, INF, -INF, True, DIGITS, -DIGITS, *OTHER),
    "amount": (-1.0, NAN, INF, 1e308, *OTHER),
    "names": (None, 3, 1.5, object(), "ab", b"ab", [], Unwilling(), np.array(3.0), ["a"] * 3),
    "text": (None, 3, b"x", [], {}, object(), NAN, Unwilling()),
    "fraction": (-0.1, 1.0, 1.5, NAN, INF, True, HUGE, DIGITS, *OTHER),
    "flag": (2, -1, 1.5, NAN, *OTHER),
    "choice": (0, -1, 1.5, NAN, True, HUGE, DIGITS, "\ud800", "a\nb", "x" * 10_000, *OTHER),
    "path": (0, -1, 1.5, NAN, True, "a\0b", "\ud800", "x" * 300, OTHER[0], *OTHER[2:]),
    "widths": (0, -1, (0,), (-1,), (1.5,), (HUGE,), (DIGITS,), ("a",), 1.5, NAN, {"a": 1}, "ab",
               (None,), ((1,),), object(), 1j, len, Unwilling(), np.array(3)),
    "x": _arrays(4),
    "matrix": (*_arrays(4, 4), np.ones(4), np.arange(16.0).reshape(4, 4), -np.eye(4),
               np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((3, 4))),
    "inputs": (*_arrays(12, 2), np.ones(12), np.ones((0, 2)), np.ones((3, 0)), X.astype("f4"), 3,
               []),
    "labels": (*_arrays(12), LABELS - 1, LABELS + 0.5, LABELS[:5], LABELS * 1e300,
               np.ones((12, 2))),
    "flow": (None, "linear", 3, flows.Linear, [], {}, object(), 1j),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One public call: its name, how to make it, good arguments, and which kind each of them is."""

    name: str
    function: Callable[..., Any]
    good: dict[str, Any]
    kinds: dict[str, str]
    #: (argument, value) pairs that this call takes although their kind refuses them elsewhere
    allows: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def cases(self) -> Iterator[tuple[str, Any]]:
        """Argument and value of each case."""
        for argument, kind in self.kinds.items():
            for value in REFUSED[kind]:
                allowed = self.allows.get(argument, ())
                if not any(value is other for other in allowed):
                    yield argument, value

    def make(self, **changes: Any) -> Any:
        """Call it with some arguments changed."""
        return self.function(**self.good | changes)


def _model(num_classes: int = 3) -> Any:
    return build("etgp-linear", X, num_classes, num_inducing=4, hidden=(3,))


MODEL = _model()
NETWORK = FlowNetwork(2, 3, flows.Linear(), (3,))


def _fit(data: Any = None, X: Any = X, Y: Any = LABELS, **options: Any) -> Any:
    return fit(MODEL, (X, Y), progress=False, **options)


def _flow_calls() -> Iterator[Call]:
    zoo = flows.Arcsinh(), flows.BoxCox(), flows.StepSum(1, 1, 1), flows.RationalQuadraticSpline(2)
    for flow in (
        *(flows.Linear(), flows.SAL(1), flows.Tanh(2), flows.Softplus(), flows.Linear(True)),
        *zoo,
    ):
        raw = np.tile(flow.identity_params(), (4, 1))
        for method, name in (("forward", "f"), ("inverse", "g"), ("log_derivative", "f")):
            yield Call(
                f"{flow}.{method}",
                getattr(flow, method),
                {name: np.full(4, 0.5), "params": raw},
                {name: "x", "params": "x"} if flow.num_params else {name: "x"},
                # A flow is elementwise: it takes any shape that broadcasts.
                {name: (REFUSED["x"][13],)},
            )
        if flow.num_params:
            any_shape = REFUSED["x"][13]
            yield Call(f"{flow}.constrain", flow.constrain, {"params": raw}, {"params": "x"},
                       {"params": (any_shape,)})  # fmt: skip
            values = flow.constrain(raw).numpy()
            yield Call(f"{flow}.unconstrain", flow.unconstrain, {"values": values}, {"values": "x"},
                       {"values": (any_shape,)})  # fmt: skip


def _calls() -> Iterator[Call]:
    toy = {"num_data": 9, "num_classes": 3, "noise": 0.1, "seed": 0}
    kinds = {"num_data": "size", "num_classes": "size", "noise": "nonnegative", "seed": "seed"}
    for name, make in toys.TOYS.items():
        yield Call(f"toys.{name}", make, toy, kinds)
    split = {"test": 0.25, "validation": 0.1, "seed": 0}
    shares = {"test": "fraction", "validation": "fraction", "seed": "seed"}
    yield Call("datasets.load", datasets.load, {"name": "iris", **split},
               {"name": "choice", **shares}, {"test": (None,)})  # fmt: skip
    yield Call("from_arrays", from_arrays, {"X": X, "y": LABELS, **split},
               {"X": "inputs", "y": "labels", **shares},
               {"test": (None,), "X": (REFUSED["inputs"][-3], REFUSED["inputs"][12]),
                "y": tuple(REFUSED["labels"][i] for i in (10, 11, -5))})  # fmt: skip
    yield Call("from_dataframe", from_dataframe, {"frame": TEXT, "target": "kind", **split},
               {"frame": "choice", "target": "choice", "missing": "choice", **shares},
               {"target": (0, -1), "test": (None,)})  # fmt: skip
    yield Call("from_csv", from_csv, {"path": "nowhere.csv"}, {"path": "path"})
    good = {"name": "d", "X": X, "Y": LABELS, "class_names": ["a", "b", "c"]}
    yield Call("Dataset", Dataset, good, {"name": "text", "X": "inputs", "Y": "labels",
               "class_names": "names"})  # fmt: skip
    yield from _flow_calls()
    yield Call("flows.SAL", flows.SAL, {"length": 1}, {"length": "size"})
    yield Call("flows.Tanh", flows.Tanh, {"elements": 2, "length": 1},
               {"elements": "size", "length": "size"})  # fmt: skip
    yield Call("flows.StepSum", flows.StepSum, {"tanh": 1, "sal": 0, "arcsinh": 0},
               {"tanh": "size", "sal": "size", "arcsinh": "size"},
               {"sal": (0,), "arcsinh": (0,)})  # fmt: skip
    yield Call("flows.RationalQuadraticSpline", flows.RationalQuadraticSpline, {},
               {"bins": "size", "bound": "positive"})  # fmt: skip
    yield Call("flows.FromBijector", flows.FromBijector, {"make": tfp.bijectors.Softplus()},
               {"make": "flow", "params": "flow"}, {"params": (REFUSED["flow"][4],)})  # fmt: skip
    yield Call("flows.Compose", flows.Compose, {"flows": [flows.Linear()]}, {"flows": "flow"})
    a = np.ones((2, 4))
    params = np.ones((2, 4, 2))
    yield Call("pair_linear", covariance.pair_linear, {"K": K, "a_c": a[0], "a_d": a[1]},
               {"K": "matrix", "a_c": "x", "a_d": "x"})  # fmt: skip
    yield Call("joint_linear", covariance.joint_linear, {"K": K, "a": a}, {"K": "matrix", "a": "x"})
    yield Call("pair", covariance.pair,
               {"K": K, "flow": flows.Linear(), "params_c": params[0], "params_d": params[1]},
               {"K": "matrix", "flow": "flow", "params_c": "x", "params_d": "x",
                "order": "size"}, {"order": (None,)})  # fmt: skip
    yield Call("joint", covariance.joint, {"K": K, "flow": flows.Linear(), "params": params},
               {"K": "matrix", "flow": "flow", "params": "x"})  # fmt: skip
    yield Call("hermite_series", covariance.hermite_series,
               {"K": K, "flow": flows.Linear(), "params": params},
               {"K": "matrix", "flow": "flow", "params": "x", "mean": "x", "order": "size",
                "tolerance": "positive"}, {"mean": (None,), "order": (None,)})  # fmt: skip
    yield Call("empirical", covariance.empirical, {"samples_c": a, "samples_d": a},
               {"samples_c": "x", "samples_d": "x"})  # fmt: skip
    yield Call("empirical_of_first", covariance.empirical_of_first,
               {"samples_c": a, "samples_d": a, "sizes": [2]},
               {"samples_c": "x", "samples_d": "x", "sizes": "widths"})  # fmt: skip
    yield Call("prior.kernel", prior.kernel, {"name": "rbf"},
               {"name": "choice", "lengthscale": "scale", "variance": "scale"})  # fmt: skip
    yield Call("prior.covariance_matrix", prior.covariance_matrix,
               {"kernel": prior.kernel("rbf"), "x": np.arange(4.0)},
               {"kernel": "flow", "x": "x"})  # fmt: skip
    yield Call("prior.draw", prior.draw, {"K": K, "noise": a}, {"K": "matrix", "noise": "x"},
               {"noise": ()})  # fmt: skip
    yield Call("prior.noise", lambda seed=0, shape=2: prior.noise(seed, shape), {},
               {"seed": "seed", "shape": "size"}, {"shape": (0,)})  # fmt: skip
    yield Call("prior.profile", prior.profile, {"knots": [0.0, 1.0], "share": [0.5]},
               {"knots": "x", "share": "x"},
               dict.fromkeys(("knots", "share"), (REFUSED["x"][13],)))  # fmt: skip
    yield Call("prior.params_from_profiles", prior.params_from_profiles,
               {"flow": flows.Linear(), "profiles": {"a": (1.0, 2.0), "b": (0.0, 0.0)},
                "x": np.arange(4.0), "span": (0.0, 3.0)},
               {"flow": "flow", "profiles": "x", "x": "x", "span": "x"},
               {"x": (REFUSED["x"][13],)})  # fmt: skip
    yield Call("prior.interpolate_from_identity", prior.interpolate_from_identity,
               {"flow": flows.Linear(), "values": np.ones(2), "amount": 0.5},
               {"flow": "flow", "values": "x", "amount": "x"},
               {"values": (REFUSED["x"][13],)})  # fmt: skip
    yield Call("prior.then_linear", prior.then_linear,
               {"bend": np.ones((2, 3)), "scale": a, "shift": a},
               {"bend": "x", "scale": "x", "shift": "x"})  # fmt: skip
    yield Call("prior.random_network", prior.random_network,
               {"flow": flows.Linear(), "num_classes": 3},
               {"flow": "flow", "num_classes": "size", "num_inputs": "size", "hidden": "widths",
                "dropout": "fraction", "amount": "amount", "seed": "seed"})  # fmt: skip
    yield Call("prior.probabilities", prior.probabilities, {"F": a}, {"F": "x"},
               {"F": (REFUSED["x"][13],)})  # fmt: skip
    yield Call("FlowNetwork", FlowNetwork,
               {"num_inputs": 2, "num_classes": 3, "flow": flows.Linear()},
               {"num_inputs": "size", "num_classes": "size", "flow": "flow", "hidden": "widths",
                "dropout": "fraction", "weight_decay": "nonnegative", "projection": "widths",
                "seed": "seed", "start": "x", "precision": "choice"},
               {"start": (None,), "projection": ()})  # fmt: skip
    net = {"num_inputs": 2, "num_classes": 3, "flow": flows.Linear()}
    of_net = {"num_inputs": "size", "num_classes": "size", "flow": "flow"}
    yield Call("ConcreteDropoutNetwork", ConcreteDropoutNetwork, net,
               {**of_net, "dropout": "fraction", "temperature": "positive"})  # fmt: skip
    yield Call("MeanFieldNetwork", MeanFieldNetwork, net,
               {**of_net, "hidden": "widths", "output_decay": "positive"})  # fmt: skip
    yield Call("GPNetwork", GPNetwork, net | {"inducing_points": X[:4]},
               {**of_net, "inducing_points": "inputs", "num_processes": "size",
                "lengthscale": "positive", "weight_decay": "nonnegative"},
               {"num_processes": (None,)})  # fmt: skip
    yield Call("FlowNetwork()", NETWORK, {"X": X},
               {"X": "inputs", "samples": "size", "seed": "seed"},
               {"samples": (None,), "seed": (None,), "X": (3,)})  # fmt: skip
    kernel = gpflow.kernels.SquaredExponential()
    yield Call("ETGP", ETGP, {"kernel": kernel, "network": NETWORK, "inducing_variable": X[:4]},
               {"kernel": "flow", "network": "flow", "inducing_variable": "inputs",
                "likelihood": "flow", "num_data": "count", "num_quadrature": "size",
                "quadrature_tolerance": "positive"},
               dict.fromkeys(("likelihood", "num_data", "quadrature_tolerance"), (None,)),
    )  # fmt: skip
    for name in ("predict_y", "predict_f", "predict_f_samples"):
        extra = {"predict_y": {"samples": "size", "seed": "seed"}, "predict_f": {},
                 "predict_f_samples": {"num_samples": "size", "seed": "seed"}}[name]  # fmt: skip
        yield Call(f"ETGP.{name}", getattr(MODEL, name), {"X": X}, {"X": "inputs", **extra},
                   {"samples": (None,)})  # fmt: skip
    for name in ("elbo", "predict_log_density"):
        method = getattr(MODEL, name)
        yield Call(f"ETGP.{name}", lambda X=X, Y=LABELS, method=method: method((X, Y)), {},
                   {"X": "inputs", "Y": "labels"})  # fmt: skip
        yield Call(
            f"ETGP.{name} data", getattr(MODEL, name), {"data": (X, LABELS)}, {"data": "flow"}
        )
    built = {"num_classes": "size", "num_inducing": "size", "seed": "seed", "start": "choice"}
    for name in ("etgp-linear", "etgp-sal", "svgp-rbf", "network", "logistic"):
        more = {"hidden": "widths", "dropout": "fraction", "weight_decay": "nonnegative"}
        kinds = {"X": "inputs", **built, **(more if "etgp" in name else {})}
        if name in ("network", "logistic"):
            del kinds["num_inducing"]
        if name == "logistic":
            del kinds["num_classes"]  # scikit-learn counts them itself
        yield Call(f"build {name}", build, {"name": name, "X": X, "num_classes": 3,
                   "num_inducing": 4}, {"name": "choice", **kinds})  # fmt: skip
    extended = {"name": "etgp-linear", "X": X, "num_classes": 3, "num_inducing": 4, "latents": 2}
    yield Call("build, several latents", build, extended,
               {"latents": "size", "mixing": "choice", "mixing_from": "choice",
                "features": "choice", "num_quadrature": "size"},
               {"features": (None,), "num_quadrature": (None,)})  # fmt: skip
    yield Call("MixedFlow", MixedFlow, {"flow": flows.Linear(), "latents": 2},
               {"flow": "flow", "latents": "size", "mixing": "choice"})  # fmt: skip
    yield Call("several_latents.ties", several_latents.ties, {},
               {"draws": "size", "seed": "seed", "latents": "widths"})  # fmt: skip
    yield Call("kmeans", kmeans, {"X": X, "num_inducing": 3},
               {"X": "inputs", "num_inducing": "size", "seed": "seed"})  # fmt: skip
    training = {
        **dict.fromkeys(("epochs", "batch_size", "validation_every", "patience"), "count"),
        **dict.fromkeys(("learning_rate", "half_life", "natural_gradients", "seconds"), "positive"),
        "checkpoint_seconds": "positive",
        "seed": "seed",
        "checkpoint": "path",
        "X": "inputs",
        "Y": "labels",
    }
    optional = ("batch_size", "patience", "half_life", "natural_gradients", "seconds", "checkpoint")
    yield Call("fit", _fit, {"epochs": 1}, training, dict.fromkeys(optional, (None,)))
    settings = {
        "flow": "choice",
        "parameters": "choice",
        "latents": "size",
        "features": "choice",
        "num_inducing": "count",
        "hidden": "widths",
        "dropout": "fraction",
        "weight_decay": "nonnegative",
        "epochs": "count",
        "batch_size": "count",
        "learning_rate": "positive",
        "prediction": "choice",
        "samples": "count",
        "validation": "fraction",
        "patience": "count",
    }
    yield Call("ETGPClassifier.fit", lambda **options: ETGPClassifier(**options).fit(X, LABELS),
               {"num_inducing": 4, "epochs": 1}, settings,
               {"epochs": (None,), "features": (None,)})  # fmt: skip
    yield Call("ETGPRegressor.fit", lambda **options: ETGPRegressor(**options).fit(X, LABELS),
               {"num_inducing": 4, "epochs": 1}, settings,
               {"epochs": (None,), "features": (None,)})  # fmt: skip
    race = {"models": ("etgp-linear",), "classes": (2,), "num_data": (50,), "num_inducing": (5,),
            "num_inputs": 2, "repeats": 4, "sessions": 1, "budget": 9.0, "memory": True,
            "memory_limit": None}  # fmt: skip
    yield Call("timing.Settings", timing.Settings, race,
               {**dict.fromkeys(("models", "classes", "num_data", "num_inducing"), "names"),
                "num_inputs": "size", "repeats": "size", "sessions": "size", "budget": "positive",
                "memory": "flag", "memory_limit": "positive"},
               {"memory_limit": (None,)})  # fmt: skip
    yield Call("timing.read", timing.read, {"path": "nowhere.csv"}, {"path": "path"})
    yield Call("timing.reference", timing.reference, {}, {"over": "choice"})
    yield Call("experiments.load", experiments.load, {"path": "nowhere.csv"}, {"path": "path"})
    yield Call("experiments.grid", experiments.grid, {"preset": "quick"}, {"preset": "choice"})
    yield Call("Run", Run, {"dataset": "iris", "model": "etgp-linear"},
               {"dataset": "text", "model": "choice", "sharing": "choice",
                "num_inducing": "count", "steps": "count",
                "batch_size": "count", "seed": "seed", "dropout": "fraction",
                "learning_rate": "positive", "hidden": "widths", "patience": "count",
                "max_seconds": "positive"},
               {"patience": (None,), "max_seconds": (None,), "sharing": ("",)})  # fmt: skip
    for function in (check, hint, solution):
        yield Call(f"course.{function.__name__}", function, {"exercise_id": "06.1"},
                   {"exercise_id": "choice"})  # fmt: skip


CALLS = tuple(_calls())
