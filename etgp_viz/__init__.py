"""Efficient Transformed Gaussian Processes to see, touch, teach and trust.

Importing this package is instant: each name below is looked up when it is first used, so that
TensorFlow is loaded by the first model and not by the import statement.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULES = (
    "agreement",
    "backend",
    "baselines",
    "building",
    "course",
    "covariance",
    "datasets",
    "doctor",
    "estimator",
    "experiments",
    "explorers",
    "figures",
    "flows",
    "kernels",
    "live_training",
    "model",
    "networks",
    "posterior",
    "prior",
    "shared_latent",
    "style",
    "timing",
    "training",
    "warping",
)
# Where a name lives that people use straight from the package.
_HOMES = {
    "ETGP": "model",
    "ETGPClassifier": "estimator",
    "FitResult": "history",
    "FlowNetwork": "networks",
    "build": "building",
    "fit": "training",
}

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
