"""The controls of the latent process f₀ that explorers share, and what they stand for."""

from typing import Any

from etgp_viz.explorers.fields import Choice, Number, Whole, shown
from etgp_viz.records import prior

GROUP = "Latent"


def kernel() -> Any:
    """The field `kernel`."""
    return shown("rbf", Choice("kernel", prior.KERNELS, group=GROUP))


def lengthscale(low: float = 0.1) -> Any:
    """The field `lengthscale`."""
    return shown(1.0, Number("lengthscale ℓ", low, 5.0, log=True, group=GROUP, right="smoother"))


def variance(low: float = 0.1, high: float = 5.0) -> Any:
    """The field `variance`."""
    return shown(1.0, Number("variance σ²", low, high, log=True, group=GROUP, right="higher paths"))


def period() -> Any:
    """The field `period`, which concerns the periodic kernel alone."""

    def matters(state: Any) -> bool:
        return state.kernel == "periodic"

    control = Number("period p", 0.5, 6.0, group=GROUP, right="longer repeats", when=matters)
    return shown(2.0, control)


def seed(group: str = GROUP) -> Any:
    """The field `seed`, which chooses the noise behind a draw."""
    return shown(0, Whole("draw number", 0, 9999, typed=True, group=group))


def arguments(state: Any) -> tuple[Any, ...]:
    """What `prior.kernel` takes."""
    return state.kernel, state.lengthscale, state.variance, state.period


def code(state: Any) -> str:
    """The line of a script that makes the kernel."""
    return f"kernel = prior.kernel{arguments(state)!r}"
