"""From the controls of the SharedLatentExplorer to its records, each stage computed once."""

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from etgp_viz.core import flows
from etgp_viz.explorers import controls
from etgp_viz.figures.shared_latent import MAX_CLASSES
from etgp_viz.records import prior, shared_latent

X = np.linspace(-3.0, 3.0, 121)
# Joint draws at the marked x, the number of them shown as dots (each costs the browser time), and
# draws of the network behind a band.
DRAWS, DOTS, NETWORKS = 200, 100, 30

FLOWS = {"linear": flows.Linear(), "sal": flows.SAL(1), "tanh": flows.Tanh(2, 1)}


def has_flows(state: Any) -> bool:
    """Whether the model warps its latents."""
    return state.model != "independent"


def can_drop(state: Any) -> bool:
    """Whether there is a hidden layer whose units dropout can switch off."""
    return has_flows(state) and state.depth > 0


def is_linear(state: Any) -> bool:
    """Whether the flows are LINEAR, so that f₀ can be stretched without changing a probability."""
    return has_flows(state) and state.flow == "linear"


def drops(state: Any) -> bool:
    """Whether the network is random."""
    return can_drop(state) and state.dropout > 0.0


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
    held: controls.Held  # where f₀ is held, stretched with it
    network: Network
    amount: float
    draw: int
    stretch: float = 1.0
    shift: float = 0.0
    mixture: tuple[int, float] | None = None  # L, and how much is mixed


def is_mixed(state: Any) -> bool:
    """Whether the classes mix several latents."""
    return state.model == "mixed"


def setting_of(state: Any) -> Setting:
    """What the processes depend on, of all that the controls say."""
    dropout, draw = (state.dropout, state.network_draw) if drops(state) else (0.0, 0)
    network = Network(state.flow, (state.width,) * state.depth, dropout, state.network_seed)
    stretch, shift = (state.stretch, state.shift) if is_linear(state) else (1.0, 0.0)
    kernel, lengthscale, variance, period = controls.kernel_arguments(state)
    latent = kernel, lengthscale, stretch**2 * variance, period
    held = controls.Held.on_grid(state.held, X).stretched(stretch)
    model, C, seed, amount = state.model, state.classes, state.seed, state.amount
    mixture = (state.latents, state.mixing) if is_mixed(state) else None
    return Setting(model, C, latent, seed, held, network, amount, draw, stretch, shift, mixture)


def is_rewritten(setting: Setting) -> bool:
    """Whether the same model is written with another f₀."""
    return (setting.stretch, setting.shift) != (1.0, 0.0)


def same_model(setting: Setting) -> str:
    """Sentences about what stretch and shift leave as it was, with the largest difference."""
    if not is_rewritten(setting):
        return ""
    kernel, lengthscale, variance, period = setting.latent
    latent = kernel, lengthscale, variance / setting.stretch**2, period
    held = setting.held.stretched(1.0 / setting.stretch)
    plain = dataclasses.replace(setting, latent=latent, held=held, stretch=1.0, shift=0.0)
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


def marked(state: Any) -> int:
    """The index of the marked input: the grid point nearest to `at`."""
    return int(np.argmin(np.abs(X - state.at)))


def focus_of(state: Any) -> int | None:
    """The index of the class that stands out, if there is one."""
    return min(state.focus, state.classes) - 1 if state.focus else None


def pivot_class(state: Any) -> int:
    """The index of the class that is given."""
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
    model: str, C: int, L: int, latent: tuple[Any, ...], seed: int, held: controls.Held, n: int
) -> shared_latent.Latents:
    paths = held.bend(_paths(latent, seed), _kernel_matrix(latent))
    return shared_latent.latents(model, X, paths, C, X[n], held.points(X), L)


def latents(setting: Setting, n: int) -> shared_latent.Latents:
    """One latent for all classes, a few, or one for each; f₀ passes through where it is held."""
    L, _ = setting.mixture or (1, 0.0)
    drawn = setting.latent, setting.seed, setting.held
    return _latents(setting.model, setting.classes, L, *drawn, n)


def mixing_of(setting: Setting) -> np.ndarray | None:
    """The mixing matrix, if latents are mixed."""
    if setting.mixture is None:
        return None
    return shared_latent.mixing_matrix(setting.classes, *setting.mixture, setting.network.seed)


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
    if not is_rewritten(setting):
        return params
    return shared_latent.rewrite(params, X, setting.stretch, setting.shift)


@lru_cache(maxsize=4)
def _values(setting: Setting) -> tuple[np.ndarray, np.ndarray | None]:
    """Values of the processes, and for all draws of the network if it has dropout."""
    model, flow = setting.model, FLOWS[setting.network.flow]
    values, mixing = latents(setting, 0).values, mixing_of(setting)
    params, drawn = _scaled_params(setting)
    return (
        shared_latent.warp(model, flow, values, params, mixing),
        None if drawn is None else shared_latent.warp(model, flow, values, drawn, mixing),
    )


@lru_cache(maxsize=2)
def processes(setting: Setting, n: int, focus: int | None) -> shared_latent.Processes:
    """The process of every class."""
    return shared_latent.processes(X, *_values(setting), X[n], focus)


@lru_cache(maxsize=2)
def probabilities(setting: Setting, n: int, focus: int | None) -> shared_latent.Probabilities:
    """The class probabilities that the processes give."""
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
    return shared_latent.joint_draws(*_at_marked_input(setting, n), noise, mixing_of(setting))


@lru_cache(maxsize=2)
def pivot(setting: Setting, n: int, pivot: int, focus: int | None) -> shared_latent.Pivot:
    """What the value of one class says about the others at the marked input."""
    draws, values = _joint_draws(setting, n)[:, :DOTS], _values(setting)[0][:, n]
    there = _at_marked_input(setting, n)
    return shared_latent.pivot(*there, draws, values, X[n], pivot, focus, mixing_of(setting))


@lru_cache(maxsize=2)
def dependence(setting: Setting, n: int) -> shared_latent.Dependence:
    """How strongly each two classes depend on each other at the marked input."""
    return shared_latent.dependence(X[n], _joint_draws(setting, n))
