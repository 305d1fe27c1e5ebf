"""ETGP for scikit-learn: ``from etgp_viz.classifier import ETGPClassifier, ETGPRegressor``."""

from etgp_viz.lazy import lazy_names

__all__ = ["ETGPClassifier", "ETGPRegressor"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ETGPClassifier": "classifier.estimator:ETGPClassifier",
        "ETGPRegressor": "classifier.regressor:ETGPRegressor",
    },
)
