"""Explorers: pictures with controls. Each shows itself as the last line of a notebook cell.

Each is loaded when it is first asked for: the first one on a page need not wait for the others. The
browser is sent plotly's code before that, and has it ready when TensorFlow is.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "CovarianceExplorer": "covariance",
    "FlowExplorer": "flow",
    "InferenceExplorer": "inference",
    "ResultsExplorer": "results",
    "SharedLatentExplorer": "shared_latent",
    "TimingExplorer": "timing",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        import_module(f"{__name__}.fast_plotly.live_figure").library()
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
