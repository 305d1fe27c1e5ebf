"""One Gaussian process and one flow: the effect on paths, a marginal and the covariance."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork
from etgp_viz.explorers import controls, tours
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, Whole, controlled
from etgp_viz.extensions import flow_zoo
from etgp_viz.figures import density, flow_map, matrix, parameters, paths
from etgp_viz.records import flow as flow_records
from etgp_viz.records import prior

X = np.linspace(-3.0, 3.0, 200)
COARSE = np.linspace(-3.0, 3.0, 48)  # for heat maps, which cross to the browser as text
DRAWS, KNOTS = 3, 5  # knots of each parameter
LATENT_NAME = "Cov[f₀(x), f₀(x′)]"

# The steps that flows are composed of; in a name such as "sal+linear" the first is applied first.
STEPS = {
    "linear": flows.Linear(),
    "sal": flows.SinhArcsinh(),
    "tanh": flows.TanhSum(2),
    "arcsinh": flow_zoo.Arcsinh(),
    "boxcox": flow_zoo.BoxCox(),
    "inverse": flow_zoo.InverseBoxCox(),
    "spline": flow_zoo.RationalQuadraticSpline(bins=2),
}
FLOWS = {
    "linear": "LINEAR: a·f + b",
    "sal": "SAL: d·sinh(b·asinh f − a) + e",
    "tanh": "TANH: f + Σ aᵢ tanh(bᵢ(f + cᵢ))",
    "sal+linear": "SAL, then LINEAR",
    "sal+tanh": "SAL, then TANH",
    "tanh+linear": "TANH, then LINEAR",
    "arcsinh": "ARCSINH: a + b·asinh((f − c)/d)",
    "boxcox": "BOX-COX: ±((1 + |f|)^λ − 1)/λ, λ = p or n",
    "inverse": "INVERSE BOX-COX: ±((1 + λ|f|)^(1/λ) − 1)",
    "spline": "SPLINE: two bins between −3 and 3",
}
SOURCES = {"profiles": "sliders and knots", "network": "a random network"}

_LABELS = {
    "linear_a": "scale a", "linear_b": "shift b",
    "sal_a": "skew a", "sal_b": "tails b", "sal_d": "scale d", "sal_e": "shift e",
    "tanh_a1": "step 1: height a₁", "tanh_b1": "step 1: slope b₁", "tanh_c1": "step 1: place c₁",
    "tanh_a2": "step 2: height a₂", "tanh_b2": "step 2: slope b₂", "tanh_c2": "step 2: place c₂",
    "arcsinh_a": "shift a", "arcsinh_b": "scale b", "arcsinh_c": "place c", "arcsinh_d": "width d",
    "boxcox_p": "power p above zero", "boxcox_n": "power n below zero",
    "inverse_p": "power p above zero", "inverse_n": "power n below zero",
    "spline_w1": "bin 1: width w₁", "spline_w2": "bin 2: width w₂",
    "spline_h1": "bin 1: height h₁", "spline_h2": "bin 2: height h₂", "spline_s1": "slope s₁",
}  # fmt: skip


def _parameter(name: str, default: float) -> Any:
    """A profile over x for a parameter of a step, with the range and the effect the flow states."""
    step, _, symbol = name.partition("_")
    (param,) = (param for param in STEPS[step].params if param.name == symbol)

    def is_used(state: Any) -> bool:
        return state.source == "profiles" and step in state.flow.split("+")

    control = controls.Profile(
        _LABELS[name], param.low, param.high, effect=param.effect, group="Flow", when=is_used
    )
    return controlled((default,) * control.knots, control)


def _from_network(state: Any) -> bool:
    return state.source == "network"


@dataclass(frozen=True)
class FlowState:
    """The values of the controls; a parameter of the flow is its values at five knots over x."""

    kernel: str = controls.latent("kernel")
    lengthscale: float = controls.latent("lengthscale")
    variance: float = controls.latent("variance")
    period: float = controls.latent("period")
    seed: int = controls.latent("seed")
    held: tuple[float, ...] = controls.latent("held", figure="paths")
    flow: str = controlled("linear", Choice("flow G", FLOWS, group="Flow"))
    source: str = controlled("profiles", Choice("θ(x) comes from", SOURCES, group="Flow"))
    linear_a: tuple[float, ...] = _parameter("linear_a", 1.5)
    linear_b: tuple[float, ...] = _parameter("linear_b", 1.0)
    sal_a: tuple[float, ...] = _parameter("sal_a", 0.5)
    sal_b: tuple[float, ...] = _parameter("sal_b", 1.0)
    sal_d: tuple[float, ...] = _parameter("sal_d", 1.0)
    sal_e: tuple[float, ...] = _parameter("sal_e", 0.0)
    tanh_a1: tuple[float, ...] = _parameter("tanh_a1", 1.0)
    tanh_b1: tuple[float, ...] = _parameter("tanh_b1", 2.0)
    tanh_c1: tuple[float, ...] = _parameter("tanh_c1", -1.0)
    tanh_a2: tuple[float, ...] = _parameter("tanh_a2", 1.0)
    tanh_b2: tuple[float, ...] = _parameter("tanh_b2", 2.0)
    tanh_c2: tuple[float, ...] = _parameter("tanh_c2", 1.0)
    arcsinh_a: tuple[float, ...] = _parameter("arcsinh_a", 0.0)
    arcsinh_b: tuple[float, ...] = _parameter("arcsinh_b", 1.0)
    arcsinh_c: tuple[float, ...] = _parameter("arcsinh_c", 0.0)
    arcsinh_d: tuple[float, ...] = _parameter("arcsinh_d", 0.3)
    boxcox_p: tuple[float, ...] = _parameter("boxcox_p", 1.7)
    boxcox_n: tuple[float, ...] = _parameter("boxcox_n", 0.3)
    inverse_p: tuple[float, ...] = _parameter("inverse_p", 0.5)
    inverse_n: tuple[float, ...] = _parameter("inverse_n", 1.0)
    spline_w1: tuple[float, ...] = _parameter("spline_w1", 1.0)
    spline_w2: tuple[float, ...] = _parameter("spline_w2", 1.0)
    spline_h1: tuple[float, ...] = _parameter("spline_h1", 1.0)
    spline_h2: tuple[float, ...] = _parameter("spline_h2", 1.0)
    spline_s1: tuple[float, ...] = _parameter("spline_s1", 4.0)
    network_seed: int = controlled(
        0, Whole("network number", 0, 9999, typed=True, group="Flow", when=_from_network)
    )
    amount: float = controlled(1.0, Number(
        "amount of change", 0.0, 3.0, group="Flow", when=_from_network,
        effect="a flow that changes more with x",
    ))  # fmt: skip
    at: float = controlled(
        0.0, Number("input x to look at", -3.0, 3.0, effect="the marked x moves right")
    )


@cache
def build_flow(name: str) -> flows.Flow:
    """The flow behind a name such as "sal+linear"."""
    steps = [STEPS[step] for step in name.split("+")]
    return steps[0] if len(steps) == 1 else flows.Compose(steps)


class FlowExplorer(Explorer):
    """See what a flow does to a Gaussian process: to its paths, its marginals and its covariance.

    The figures show draws of the latent f₀ and of the warped process f = G(f₀), the parameters of
    the flow over x, the map G and the densities at the marked x, and both covariance matrices.
    Every parameter of the flow may depend on x: drag its knots in the figure, or press ∿ beside its
    slider and move them there, or take the parameters from a random network. A click into the draws
    or the parameters marks an x, and the line that marks it can be dragged. So can the thick draw
    of f₀: it is then conditioned on the point that it was dragged to.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `FlowState`

    Examples
    --------
    >>> explorer = FlowExplorer(linear_a=(-2.0,) * 5, linear_b=(0.5,) * 5)
    >>> print(explorer.summary.partition(". ")[2])
    Its covariance depends on x − x′ alone: the process is stationary.
    """

    State = FlowState
    handout = (
        *("linear_a", "sal_a", "tanh_a1", "arcsinh_d", "boxcox_p", "inverse_p", "spline_s1"),
        "amount",
    )
    pictures: ClassVar = {
        "paths": paths,
        "parameters": parameters,
        "map": flow_map,
        "density": density,
        "latent_covariance": matrix,
        "covariance": matrix,
    }
    full_width = ("paths", "parameters")
    views: ClassVar = {
        "Draws": ("paths",),
        "The flow": ("parameters parameters", "map density"),
        "Covariance": ("latent_covariance covariance",),
    }
    wide = (
        "paths paths map",
        "paths paths density",
        "parameters latent_covariance covariance",
    )
    same_colours = (("latent_covariance", "covariance"),)
    main = (
        *("linear_a", "linear_b", "sal_a", "sal_b", "tanh_a1", "tanh_c1", "arcsinh_b", "arcsinh_d"),
        *("boxcox_p", "boxcox_n", "inverse_p", "inverse_n", "spline_h1", "spline_s1"),
        *("amount", "at"),
    )
    presets: ClassVar = {
        "Guided tour": tours.FLOW,
        "Nothing happens": Preset(
            "Scale 1 and shift 0 leave every draw unchanged. Training starts here.",
            {"linear_a": (1.0,) * 5, "linear_b": (0.0,) * 5},
        ),
        "Upside down": Preset(
            "A negative scale mirrors each draw. The marginal does not change, and neither does "
            "the covariance.",
            {"linear_a": (-1.0,) * 5, "linear_b": (0.0,) * 5},
        ),
        "Louder to the right": Preset(
            "The scale grows with x. The covariance is no longer constant along its diagonals: the "
            "process is not stationary, although f₀ is.",
            {"linear_a": (0.1, 0.4, 1.0, 1.8, 3.0), "linear_b": (0.0,) * 5},
            "Covariance",
        ),
        "Two levels": Preset(
            "Steep steps push values apart: most of the density moves to a few levels. No Gaussian "
            "process has such a marginal.",
            {"flow": "tanh", "tanh_a1": (2.0,) * 5, "tanh_b1": (5.0,) * 5, "tanh_c1": (0.0,) * 5,
             "tanh_a2": (0.05,) * 5},
        ),
        "A heavy tail": Preset(
            "Skew and heavy tails: rare, high peaks in paths that are otherwise flat.",
            {"flow": "sal", "sal_a": (-1.0,) * 5, "sal_b": (1.6,) * 5},
        ),
        "As a network does it": Preset(
            "A network with random weights turns all parameters into functions of x. An ETGP "
            "learns such a network, with one set of parameters for each class.",
            {"flow": "sal+linear", "source": "network", "network_seed": 3},
        ),
    }  # fmt: skip

    def compute_records(self, state: FlowState) -> Iterator[tuple[str, Any]]:
        latent = controls.kernel_arguments(state)
        theta = _theta(state)
        held = controls.Held.on_grid(state.held, X)
        yield "paths", _paths(latent, state.seed, held, state.flow, theta, state.at)
        yield "parameters", _parameters(state.flow, theta, state.at)
        marginal = _marginal(latent, state.flow, theta, state.at)
        yield "map", marginal
        yield "density", marginal
        yield "latent_covariance", partial(_latent_covariance, latent)
        yield "covariance", partial(_covariance, latent, state.flow, theta)

    def title(self, state: FlowState) -> str:
        return f"One Gaussian process, one flow: {state.flow.upper().replace('+', ' → ')}"

    def describe(self, state: FlowState) -> str:
        before, after = self._records["latent_covariance"], self._records["covariance"]
        varies = bool(np.ptp(self._records["parameters"].values, axis=0).max() > 1e-9)
        held = controls.Held.on_grid(state.held, X).sentence
        return f"{_effect(self._records['density'])} {_stationarity(before, after, varies)}{held}"

    def code(self, state: FlowState) -> str:
        flow, theta = build_flow(state.flow), _theta(state)
        return "\n".join(
            [
                "import numpy as np",
                "from etgp_viz import flows, prior",
                "from etgp_viz.records import flow as flow_records",
                "from etgp_viz.figures import density, flow_map, matrix, parameters, paths",
                "",
                f"kernel = prior.kernel{controls.kernel_arguments(state)!r}",
                f"flow = {_flow_code(flow)}",
                "",
                "def theta(x):  # raw parameters of the flow at each x, [N, P]",
                *theta.code(flow),
                "",
                f"x, coarse = np.linspace(-3, 3, {len(X)}), np.linspace(-3, 3, {len(COARSE)})",
                f"at = np.array([{state.at!r}])",
                "K, K_coarse, K_at = (prior.covariance_matrix(kernel, z) for z in (x, coarse, at))",
                f"latent = prior.draw(K, prior.noise({state.seed}, {DRAWS}, len(x)))",
                *controls.Held.on_grid(state.held, X).code("latent"),
                f"knots = np.array({theta.knots().tolist()})",
                "marginal = flow_records.marginal(at[0], K_at[0, 0], flow, theta(at)[0])",
                "there = (flow, theta(x), at[0])",
                "records = {",
                '    "paths": flow_records.paths(x, latent, np.diag(K), *there, held),',
                '    "parameters": flow_records.parameters(x, *there, knots),',
                '    "map": marginal,',
                '    "density": marginal,',
                '    "latent_covariance": flow_records.Matrix(',
                f"        coarse, K_coarse, {LATENT_NAME!r}",
                "    ),",
                '    "covariance": flow_records.covariance(coarse, K_coarse, flow, theta(coarse)),',
                "}",
                'paths.make(records["paths"]).show()',
                'parameters.make(records["parameters"]).show()',
                'flow_map.make(records["map"]).show()',
                'density.make(records["density"]).show()',
                'matrix.make(records["latent_covariance"]).show()',
                'matrix.make(records["covariance"]).show()',
            ]
        )

    def print_figure(self) -> Any:
        from etgp_viz.figures.print import flow as print_flow  # matplotlib, only when needed

        return print_flow.make(**self._records)

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        if figure in ("paths", "parameters"):
            self.set(at=float(np.clip(x, X[0], X[-1])))

    def on_drag(self, figure: str, dot: int, x: float, y: float) -> None:
        """Move a knot up or down; arguments are as in `Explorer.on_drag`.

        Examples
        --------
        >>> explorer = FlowExplorer()
        >>> explorer.on_drag("parameters", 0, x=-3.0, y=2.0)
        >>> explorer.state.linear_a[0]
        2.0
        """
        name, state = _profile_names(self.state)[dot // KNOTS], self.state
        spec, values = self._specs[name], list(getattr(state, name))
        if figure == "parameters" and spec.when(state) and isinstance(spec, controls.Profile):
            values[dot % KNOTS] = spec.nearest(y)
            self.set(**{name: tuple(values)})


@dataclass(frozen=True)
class Theta:
    """Where the parameters of the flow come from: profiles set by sliders, or a random network."""

    profiles: tuple[tuple[float, ...], ...] | None = None
    seed: int = 0
    amount: float = 0.0

    def at(self, flow: flows.Flow, x: np.ndarray) -> np.ndarray:
        """Raw parameters at each x, [N, P]."""
        if self.profiles is None:
            return _network(flow, self.seed, self.amount)(x[:, None]).numpy()[:, 0]
        named = dict(zip(flow.param_names, self.profiles, strict=True))
        return prior.params_from_profiles(flow, named, x, span=(X[0], X[-1]))

    def knots(self) -> np.ndarray:
        """Inputs and values of the knots, one parameter after another ``[2, J]``."""
        values = np.array(self.profiles or [()])
        places = np.linspace(X[0], X[-1], KNOTS)[: values.shape[1]]
        return np.array([np.tile(places, len(values)), values.ravel()])

    def code(self, flow: flows.Flow) -> list[str]:
        """The body of a function that returns what `at` returns."""
        if self.profiles is None:
            call = f"prior.random_network(flow, 2, seed={self.seed}, amount={self.amount!r})"
            return [f"    network = {call}", "    return network(x[:, None]).numpy()[:, 0]"]
        named = zip(flow.param_names, self.profiles, strict=True)
        return [
            "    profiles = {  # values at five knots over x",
            *(f"        {name!r}: {knots!r}," for name, knots in named),
            "    }",
            "    return prior.params_from_profiles(flow, profiles, x, span=(-3.0, 3.0))",
        ]


def _theta(state: FlowState) -> Theta:
    if state.source == "network":
        return Theta(seed=state.network_seed, amount=state.amount)
    return Theta(profiles=tuple(getattr(state, name) for name in _profile_names(state)))


def _profile_names(state: FlowState) -> list[str]:
    """Fields of the profiles of the flow, in the order of its parameters."""
    steps = state.flow.split("+")
    return [f"{step}_{param.name}" for step in steps for param in STEPS[step].params]


# Each stage is cached, and computed again only when something that it depends on has changed.


@lru_cache(maxsize=4)
def _network(flow: flows.Flow, seed: int, amount: float) -> FlowNetwork:
    return prior.random_network(flow, 2, seed=seed, amount=amount)


@lru_cache(maxsize=2)
def _kernel(latent: tuple[Any, ...]) -> Any:
    return prior.kernel(*latent)


@lru_cache(maxsize=4)
def _kernel_matrix(coarse: bool, latent: tuple[Any, ...]) -> np.ndarray:
    return prior.covariance_matrix(_kernel(latent), COARSE if coarse else X)


@lru_cache(maxsize=2)
def _draws(latent: tuple[Any, ...], seed: int) -> np.ndarray:
    return prior.draw(_kernel_matrix(False, latent), prior.noise(seed, DRAWS, len(X)))


@lru_cache(maxsize=2)
def _variance(latent: tuple[Any, ...], at: float) -> float:
    return float(prior.covariance_matrix(_kernel(latent), np.array([at]))[0, 0])


@lru_cache(maxsize=2)
def _raw(name: str, theta: Theta, at: float) -> dict[str, np.ndarray]:
    """Raw parameters on both grids and at the marked input, from one evaluation."""
    params = theta.at(build_flow(name), np.concatenate([X, COARSE, [at]]))
    return {"fine": params[: len(X)], "coarse": params[len(X) : -1], "at": params[-1]}


@lru_cache(maxsize=2)
def _paths(
    latent: tuple[Any, ...], seed: int, held: controls.Held, name: str, theta: Theta, at: float
) -> flow_records.WarpedPaths:
    K, flow, params = _kernel_matrix(False, latent), build_flow(name), _raw(name, theta, at)["fine"]
    draws = held.bend(_draws(latent, seed), K)
    return flow_records.paths(X, draws, np.diag(K), flow, params, at, held.points(X))


@lru_cache(maxsize=2)
def _parameters(name: str, theta: Theta, at: float) -> flow_records.Parameters:
    params = _raw(name, theta, at)["fine"]
    return flow_records.parameters(X, build_flow(name), params, at, theta.knots())


@lru_cache(maxsize=2)
def _marginal(latent: tuple[Any, ...], name: str, theta: Theta, at: float) -> flow_records.Marginal:
    params = _raw(name, theta, at)["at"]
    return flow_records.marginal(at, _variance(latent, at), build_flow(name), params)


@lru_cache(maxsize=2)
def _latent_covariance(latent: tuple[Any, ...]) -> flow_records.Matrix:
    return flow_records.Matrix(COARSE, _kernel_matrix(True, latent), LATENT_NAME)


@lru_cache(maxsize=2)
def _covariance(latent: tuple[Any, ...], name: str, theta: Theta) -> flow_records.Matrix:
    K, params = _kernel_matrix(True, latent), _raw(name, theta, 0.0)["coarse"]
    return flow_records.covariance(COARSE, K, build_flow(name), params)


def _effect(record: flow_records.Marginal) -> str:
    """A sentence about the effect of the flow on the marginal at the marked x."""
    (mean, deviation, skew), there = record.moments, f"At x = {record.at:.2f} the"
    if np.max(np.abs(record.g - record.f)) < 1e-3:
        return f"{there} flow changes nothing: warped and latent values agree."
    if deviation < 1e-6:
        return f"{there} flow flattens everything to {mean:.2f} and cannot be inverted."
    flipped = ", upside down" if record.g[-1] < record.g[0] else ""
    lean = "skewed to the right" if skew > 0.1 else "skewed to the left"
    shape = "still Gaussian" if record.is_linear else lean if abs(skew) > 0.1 else "not Gaussian"
    spread = deviation / (record.f[-1] / flow_records.REACH)
    return (
        f"{there} process is {spread:.2f} times as spread out as f₀{flipped}, centred on "
        f"{mean:.2f} and {shape}."
    )


def _stationarity(before: flow_records.Matrix, after: flow_records.Matrix, varies: bool) -> str:
    """A sentence about whether the process is stationary; `varies`: its flow depends on x."""
    base, warped = flow_records.not_toeplitz(before.values), flow_records.not_toeplitz(after.values)
    if warped < 1e-3:
        rest = ", but its marginals change with x: it is not" if varies else ": the process is"
        return f"Its covariance depends on x − x′ alone{rest} stationary."
    latent = "and neither does that of f₀" if base > 1e-3 else "although that of f₀ does"
    share = f"{warped:.0%} of it changes along the diagonals"
    return f"Its covariance does not depend on x − x′ alone, {latent}: {share}."


def _flow_code(flow: flows.Flow) -> str:
    """The Python expression that makes a flow."""
    if isinstance(flow, flows.Compose):
        return f"flows.Compose([{', '.join(map(_flow_code, flow.flows))}])"
    return f"flows.{flow!r}"
