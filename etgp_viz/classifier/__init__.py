"""ETGP as a scikit-learn classifier: ``from etgp_viz.classifier import ETGPClassifier``."""

from etgp_viz.lazy import lazy_names

__all__ = ["ETGPClassifier"]

__getattr__, __dir__ = lazy_names(
    __name__, {"ETGPClassifier": "classifier.estimator:ETGPClassifier"}
)
