"""ETGP itself: one latent process for C classes, beside one latent process for each class."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from etgp_viz.core import flows
from etgp_viz.explorers import controls
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, Whole, controlled
from etgp_viz.figures import dependence, latents, pivot, probabilities, processes, style
from etgp_viz.figures.print import shared_latent as print_shared_latent
from etgp_viz.figures.shared_latent import MAX_CLASSES
from etgp_viz.records import prior, shared_latent

X = np.linspace(-3.0, 3.0, 121)
# Joint draws at the marked x, the number of them shown as dots (each costs the browser time), and
# draws of the network behind a band.
DRAWS, DOTS, NETWORKS = 200, 100, 30

FLOWS = {"linear": flows.Linear(), "sal": flows.SAL(1), "tanh": flows.Tanh(2, 1)}
FLOW_LABELS = {
    "linear": "LINEAR: a·f + b",
    "sal": "SAL: d·sinh(b·asinh f − a) + e",
    "tanh": "TANH: f + Σ aᵢ tanh(bᵢ(f + cᵢ))",
}
NUMBERS = (
    *("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)


def _has_flows(state: Any) -> bool:
    return state.model != "independent"


def _can_drop(state: Any) -> bool:
    return _has_flows(state) and state.depth > 0


def _is_linear(state: Any) -> bool:
    return _has_flows(state) and state.flow == "linear"


def _drops(state: Any) -> bool:
    return _can_drop(state) and state.dropout > 0.0


@dataclass(frozen=True)
class SharedLatentState:
    """The values of the controls; classes count from 1, and a class beyond C means the last one."""

    model: str = controlled("etgp", Choice("model", shared_latent.MODELS, group="Model"))
    classes: int = controlled(4, Whole(
        "classes C", 2, MAX_CLASSES, group="Model", effect="more classes; the first ones stay"
    ))  # fmt: skip
    kernel: str = controls.latent("kernel")
    lengthscale: float = controls.latent("lengthscale")
    variance: float = controls.latent("variance")
    period: float = controls.latent("period")
    seed: int = controls.latent("seed")
    flow: str = controlled("sal", Choice("flows Gᶜ", FLOW_LABELS, group="Flows", when=_has_flows))
    amount: float = controlled(1.0, Number(
        "variation", 0.0, 2.0, group="Flows", when=_has_flows,
        effect="flows that differ more between classes and along x",
    ))  # fmt: skip
    network_seed: int = controlled(
        7, Whole("network number", 0, 9999, typed=True, group="Flows", when=_has_flows)
    )
    width: int = controlled(20, Whole(
        "width H", 2, 50, group="Flows", when=_can_drop,
        effect="more hidden units, each with a smaller share",
    ))  # fmt: skip
    depth: int = controlled(1, Whole(
        "hidden layers", 0, 3, group="Flows", when=_has_flows,
        effect="parameters that bend more often along x",
    ))  # fmt: skip
    dropout: float = controlled(0.0, Number(
        "dropout", 0.0, 0.9, group="Flows", when=_can_drop,
        effect="networks that differ more from draw to draw",
    ))  # fmt: skip
    network_draw: int = controlled(0, Whole(
        "draw of network", 0, NETWORKS, group="Flows", when=_drops,
        effect="another network; 0 is the one without dropout",
    ))  # fmt: skip
    stretch: float = controlled(1.0, Number(
        "stretch of f₀, s", 0.25, 4.0, log=True, group="Flows", when=_is_linear,
        effect="f₀ times s, every slope a divided by s",
    ))  # fmt: skip
    shift: float = controlled(0.0, Number(
        "h(x) for all", -3.0, 3.0, group="Flows", when=_is_linear,
        effect="the same wave h(x) is added to every class",
    ))  # fmt: skip
    at: float = controlled(
        1.0, Number("input x to look at", -3.0, 3.0, effect="the marked x moves right")
    )
    pivot: int = controlled(
        1, Whole("pivot class", 1, MAX_CLASSES, effect="another class is given; the others follow")
    )
    focus: int = controlled(
        0, Whole("class in focus", 0, MAX_CLASSES, effect="another class stands out; 0: all")
    )


class SharedLatentExplorer(Explorer):
    """See C classes share one latent process, and what changes when each has its own.

    The figures show, from the top, the latent f₀, the processes of the classes and the class
    probabilities over the same x; below, what one process says about the others at the marked x. A
    click into the upper three figures marks an x.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `SharedLatentState`

    Examples
    --------
    >>> explorer = SharedLatentExplorer(classes=3, amount=0.0)
    >>> explorer.records["probabilities"].values[:, 0].round(2)
    array([0.33, 0.33, 0.33])
    """

    State = SharedLatentState
    handout = ("amount", "lengthscale")
    pictures: ClassVar = {
        "latents": latents,
        "processes": processes,
        "probabilities": probabilities,
        "pivot": pivot,
        "dependence": dependence,
    }
    full_width = ("latents", "processes", "probabilities")
    presets: ClassVar = {
        "All begin alike": Preset(
            "The flows change nothing: every process is f₀ itself, and all classes are equally "
            "probable at every x. Training starts here. Softmax sees only differences "
            "between classes, so f₀ does not matter yet, whatever it is: choose another draw and "
            "see. Then raise the variation.",
            {"amount": 0.0},
        ),
        "Straight maps": Preset(
            "Linear flows: the processes are f₀, stretched and shifted differently at every x, "
            "some upside down. Any one of them determines all the others along straight lines, and "
            "the rank correlations are 1 or −1.",
            {"flow": "linear", "network_seed": 0},
        ),
        "Twice the latent, half the slopes": Preset(
            "f₀ is twice as large (σ² is 4 times as large) and every slope half as large. No "
            "process moves, and no probability: data cannot tell σ² and the slopes apart. Only the "
            "weight decay prefers one of them, so a trained σ² means little by itself. Move the "
            "stretch s: only the top figure changes.",
            {"flow": "linear", "network_seed": 0, "stretch": 2.0},
        ),
        "The same for every class": Preset(
            "The same wave h(x) is added to every process. All of them move, the probabilities do "
            "not: softmax sees only differences between classes. So the height of one process "
            "means nothing by itself; compare two.",
            {"flow": "linear", "network_seed": 0, "shift": 2.0},
        ),
        "Bent maps": Preset(
            "TANH flows bend the maps, but the dots still lie on them: one value determines all "
            "others. Move the marked x and see the maps change; change the pivot and see them "
            "inverted.",
            {"flow": "tanh", "network_seed": 4, "at": -1.0},
        ),
        "Every class for itself": Preset(
            "Independent GPs with the same kernel and no flows. The dots are a cloud now: one "
            "process says nothing about another, and inference needs C Gaussian processes.",
            {"model": "independent"},
        ),
        "Flows without sharing": Preset(
            "The naive TGP has the flows of ETGP, but a latent for each class. The first class is "
            "as in ETGP; the others no longer depend on it. Switch the model to compare.",
            {"model": "tgp"},
        ),
        "Twenty classes, one latent": Preset(
            "The number of classes grows, but there is still one latent Gaussian process to learn. "
            "One class is in focus; move on to the next ones.",
            {"flow": "linear", "classes": 20, "focus": 3},
        ),
        "An uncertain network": Preset(
            "Dropout makes the network random. The shaded bands hold 90 % of the processes that "
            "its draws give for the same f₀; step through them with “draw of network”. The dropout "
            "rate sets how wide they are, and it is fixed: a posterior narrows as data arrive, but "
            "nothing makes these bands narrower.",
            {"dropout": 0.3, "network_draw": 1, "classes": 3},
        ),
    }  # fmt: skip

    def compute_records(self, state: SharedLatentState) -> Iterator[tuple[str, Any]]:
        setting, n, focus = _setting(state), _marked(state), _focus(state)
        yield "latents", _latents(setting.model, setting.classes, setting.latent, setting.seed, n)
        yield "processes", _processes(setting, n, focus)
        yield "probabilities", _probabilities(setting, n, focus)
        yield "pivot", _pivot(setting, n, _pivot_class(state), focus)
        yield "dependence", _dependence(setting, n)

    def title(self, state: SharedLatentState) -> str:
        count = NUMBERS[state.classes]
        if state.model == "etgp":
            return f"One latent, {count} classes"
        model = {"tgp": "the naive TGP", "independent": "independent GPs"}[state.model]
        return f"{count.capitalize()} latents, {count} classes: {model}"

    def describe(self, state: SharedLatentState) -> str:
        record, strength = self._records["pivot"], self._records["dependence"].strength
        pivot, partner = style.process(record.pivot), style.process(record.partner)
        winner, probability = self._records["probabilities"].winner
        dependence = (
            f"{pivot} determines all others: when it is {record.values[record.pivot]:.2f}, "
            f"{partner} must be {record.values[record.partner]:.2f}"
            if record.maps is not None
            else f"{pivot} says nothing about the others"
        )
        return (
            f"At x = {record.at:.2f}, {dependence}. Over {DRAWS} joint draws, the rank correlation "
            f"of two classes has an average size of {strength:.2f}. The most probable class there "
            f"is {winner + 1}, with {probability:.0%}.{_same_model(_setting(state))}"
        )

    def code(self, state: SharedLatentState) -> str:
        setting = _setting(state)
        flow, hidden = FLOWS[state.flow], (state.width,) * state.depth
        rewrite = f"shared_latent.rewrite({{0}}, x, {setting.stretch!r}, {setting.shift!r})"
        rewritten = [f"{{0}} = {rewrite}"] if _is_rewritten(setting) else []
        dropout = [
            f"networks = shared_latent.flow_params(network, x, samples={NETWORKS})",
            *(line.format("networks") for line in rewritten),
            "drawn = shared_latent.warp(model, flow, latent.values, networks)  # [S, C, N]",
        ]
        if state.network_draw:
            dropout.append(f"params = networks[{state.network_draw - 1}]")
        return "\n".join(
            [
                "import numpy as np",
                "from etgp_viz import flows, prior, shared_latent",
                "from etgp_viz.figures import dependence, latents, pivot, probabilities, processes",
                "",
                f"model, C, flow = {state.model!r}, {state.classes}, flows.{flow!r}",
                f"x = np.linspace(-3, 3, {len(X)})",
                f"n = {_marked(state)}  # the marked input is x[n]",
                f"given = {_pivot_class(state)}  # the pivot class",
                f"focus = {_focus(state)}  # the class that stands out, or None",
                "",
                f"K = prior.covariance_matrix(prior.kernel{setting.latent!r}, x)",
                f"noise = prior.noise({state.seed}, C, len(x) + {DRAWS})  # for x, and for x[n]",
                "paths = prior.draw(K, noise[:, : len(x)])",
                "latent = shared_latent.latents(model, x, paths, C, x[n])",
                "",
                "network = prior.random_network(",
                f"    flow, C, hidden={hidden}, dropout={state.dropout!r},",
                f"    amount={state.amount!r}, seed={state.network_seed},",
                ")",
                "params = shared_latent.flow_params(network, x)  # raw, [C, N, P]",
                *(line.format("params") for line in rewritten),
                *(dropout if _drops(state) else ["drawn = None"]),
                "F = shared_latent.warp(model, flow, latent.values, params)  # [C, N]",
                "",
                "there = (model, flow, params[:, n], K[n, n])",
                "draws = shared_latent.joint_draws(*there, noise[:, len(x) :])  # [C, S]",
                f"P, dots = prior.probabilities(F), draws[:, :{DOTS}]",
                "records = {",
                '    "latents": latent,',
                '    "processes": shared_latent.processes(x, F, drawn, x[n], focus),',
                '    "probabilities": shared_latent.Probabilities(x, P, x[n], focus),',
                '    "pivot": shared_latent.pivot(*there, dots, F[:, n], x[n], given, focus),',
                '    "dependence": shared_latent.dependence(x[n], draws),',
                "}",
                *(f'{name}.make(records["{name}"]).show()' for name in self.pictures),
            ]
        )

    def print_figure(self) -> Any:
        return print_shared_latent.make(**self._records)

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        if figure in self.full_width:
            self.set(at=float(np.clip(x, X[0], X[-1])))


@dataclass(frozen=True)
class Network:
    """The random network that gives the parameters of the flows."""

    flow: str
    hidden: tuple[int, ...]
    dropout: float
    seed: int


@dataclass(frozen=True)
class Setting:
    """Everything that the processes depend on; `draw` = 0 is the network without dropout.

    `latent` has the variance of the stretched f₀; see `shared_latent.rewrite` for the last two.
    """

    model: str
    classes: int
    latent: tuple[Any, ...]
    seed: int
    network: Network
    amount: float
    draw: int
    stretch: float = 1.0
    shift: float = 0.0


def _setting(state: SharedLatentState) -> Setting:
    dropout, draw = (state.dropout, state.network_draw) if _drops(state) else (0.0, 0)
    network = Network(state.flow, (state.width,) * state.depth, dropout, state.network_seed)
    stretch, shift = (state.stretch, state.shift) if _is_linear(state) else (1.0, 0.0)
    kernel, lengthscale, variance, period = controls.kernel_arguments(state)
    latent = kernel, lengthscale, stretch**2 * variance, period
    return Setting(
        state.model, state.classes, latent, state.seed, network, state.amount, draw, stretch, shift
    )


def _is_rewritten(setting: Setting) -> bool:
    return (setting.stretch, setting.shift) != (1.0, 0.0)


def _same_model(setting: Setting) -> str:
    """Sentences about what stretch and shift leave as it was, with the largest difference."""
    if not _is_rewritten(setting):
        return ""
    kernel, lengthscale, variance, period = setting.latent
    latent = kernel, lengthscale, variance / setting.stretch**2, period
    plain = dataclasses.replace(setting, latent=latent, stretch=1.0, shift=0.0)
    before, after = (prior.probabilities(_values(written)[0]) for written in (plain, setting))
    stretched = (
        f" f₀ is stretched to {setting.stretch:.2f} times its height (variance {variance:.2f}) and "
        f"every slope divided by {setting.stretch:.2f}, so every a·f₀ stays the same."
    )
    shifted = " Every class has the same h(x) on top; softmax sees only differences between them."
    return (
        f"{stretched if setting.stretch != 1.0 else ''}{shifted if setting.shift else ''} The "
        f"largest change of any class probability is {np.max(np.abs(after - before)):.1g}."
    )


def _marked(state: SharedLatentState) -> int:
    """The index of the marked input: the grid point nearest to `at`."""
    return int(np.argmin(np.abs(X - state.at)))


def _focus(state: SharedLatentState) -> int | None:
    return min(state.focus, state.classes) - 1 if state.focus else None


def _pivot_class(state: SharedLatentState) -> int:
    return min(state.pivot, state.classes) - 1


# Each stage is cached, and computed again only when something that it depends on has changed; those
# with four places also serve the comparison with the model before it was rewritten. Noise and draws
# are made for the largest C, so that the first classes stay when C changes.


@lru_cache(maxsize=2)
def _noise(seed: int) -> np.ndarray:
    return prior.noise(seed, MAX_CLASSES, len(X) + DRAWS)


@lru_cache(maxsize=4)
def _kernel_matrix(latent: tuple[Any, ...]) -> np.ndarray:
    return prior.covariance_matrix(prior.kernel(*latent), X)


@lru_cache(maxsize=4)
def _paths(latent: tuple[Any, ...], seed: int) -> np.ndarray:
    return prior.draw(_kernel_matrix(latent), _noise(seed)[:, : len(X)])


@lru_cache(maxsize=4)
def _latents(
    model: str, C: int, latent: tuple[Any, ...], seed: int, n: int
) -> shared_latent.Latents:
    return shared_latent.latents(model, X, _paths(latent, seed), C, X[n])


@lru_cache(maxsize=2)
def _params(network: Network, C: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Raw parameters of a network with amount 1, and those of its draws if it has dropout."""
    made = prior.random_network(
        FLOWS[network.flow], C, hidden=network.hidden, dropout=network.dropout, seed=network.seed
    )
    drawn = shared_latent.flow_params(made, X, NETWORKS) if network.dropout else None
    return shared_latent.flow_params(made, X), drawn


@lru_cache(maxsize=4)
def _scaled_params(setting: Setting) -> tuple[np.ndarray, np.ndarray | None]:
    """Raw parameters of the chosen draw of the network and of all draws, scaled by the amount."""
    flow, (params, drawn) = FLOWS[setting.network.flow], _params(setting.network, setting.classes)
    if drawn is None:
        params = shared_latent.scale_network_params(flow, params, setting.amount)
        return _write(setting, params), None
    together = np.concatenate([params[None], drawn])
    drawn = _write(setting, shared_latent.scale_network_params(flow, together, setting.amount))
    return drawn[setting.draw], drawn[1:]


def _write(setting: Setting, params: np.ndarray) -> np.ndarray:
    if not _is_rewritten(setting):
        return params
    return shared_latent.rewrite(params, X, setting.stretch, setting.shift)


@lru_cache(maxsize=4)
def _values(setting: Setting) -> tuple[np.ndarray, np.ndarray | None]:
    """Values of the processes, and for all draws of the network if it has dropout."""
    model, flow = setting.model, FLOWS[setting.network.flow]
    latent = _latents(model, setting.classes, setting.latent, setting.seed, 0).values
    params, drawn = _scaled_params(setting)
    return (
        shared_latent.warp(model, flow, latent, params),
        None if drawn is None else shared_latent.warp(model, flow, latent, drawn),
    )


@lru_cache(maxsize=2)
def _processes(setting: Setting, n: int, focus: int | None) -> shared_latent.Processes:
    return shared_latent.processes(X, *_values(setting), X[n], focus)


@lru_cache(maxsize=2)
def _probabilities(setting: Setting, n: int, focus: int | None) -> shared_latent.Probabilities:
    values, _ = _values(setting)
    return shared_latent.Probabilities(X, prior.probabilities(values), X[n], focus)


def _at_marked_input(setting: Setting, n: int) -> tuple[str, flows.Flow, np.ndarray, float]:
    """Model, flow, its parameters and the variance of the latents at the marked input."""
    params, _ = _scaled_params(setting)
    variance = float(_kernel_matrix(setting.latent)[n, n])
    return setting.model, FLOWS[setting.network.flow], params[:, n], variance


@lru_cache(maxsize=2)
def _joint_draws(setting: Setting, n: int) -> np.ndarray:
    noise = _noise(setting.seed)[:, len(X) :]
    return shared_latent.joint_draws(*_at_marked_input(setting, n), noise)


@lru_cache(maxsize=2)
def _pivot(setting: Setting, n: int, pivot: int, focus: int | None) -> shared_latent.Pivot:
    draws, values = _joint_draws(setting, n)[:, :DOTS], _values(setting)[0][:, n]
    return shared_latent.pivot(*_at_marked_input(setting, n), draws, values, X[n], pivot, focus)


@lru_cache(maxsize=2)
def _dependence(setting: Setting, n: int) -> shared_latent.Dependence:
    return shared_latent.dependence(X[n], _joint_draws(setting, n))
