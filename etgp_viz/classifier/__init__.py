"""ETGP as a scikit-learn classifier."""
