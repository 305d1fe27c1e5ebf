"""See, touch, teach and trust Efficient Transformed Gaussian Processes.

Importing this package is instant: each name below is looked up when it is first used, so that
TensorFlow is loaded by the first model and not by the import statement.
"""

from etgp_viz import moved
from etgp_viz.lazy import lazy_names

__version__ = "0.2.0"

# Public name → its home: a module, or a name in a module.
_HOMES = {
    "ETGP": "core.model:ETGP",
    "ETGPClassifier": "classifier.estimator:ETGPClassifier",
    "ETGPRegressor": "classifier.regressor:ETGPRegressor",
    "FitResult": "core.training:FitResult",
    "FlowNetwork": "core.network:FlowNetwork",
    "build": "rivals.build_model:build",
    "fit": "core.training:fit",
    "backend": "backend",
    "course": "course",
    "covariance": "records.covariance",
    "datasets": "datasets",
    "experiments": "experiments",
    "explorers": "explorers",
    "figures": "figures",
    "flows": "extensions.flows",
    "kernels": "rivals.kernels",
    "prior": "records.prior",
    "records": "records",
    "shared_latent": "records.shared_latent",
    "timing": "timing",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, moved.PUBLIC_IN_0_1 | _HOMES)
