"""ETGP as a scikit-learn classifier: ``from etgp_viz.classifier import ETGPClassifier``."""

from etgp_viz.moved import lazy_names

__all__ = ["ETGPClassifier"]

__getattr__ = lazy_names(__name__, {"ETGPClassifier": "classifier.estimator:ETGPClassifier"})
