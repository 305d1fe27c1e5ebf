"""The estimators pass every check of scikit-learn, with no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from etgp_viz import ETGPClassifier, ETGPRegressor

pytestmark = pytest.mark.slow

# Small enough for the many fits, large enough to learn what some checks ask for.
SMALL = {"num_inducing": 10, "hidden": (10,), "epochs": 60, "learning_rate": 0.1}


@parametrize_with_checks([ETGPClassifier(**SMALL), ETGPRegressor(**SMALL)])
def test_scikit_learn(estimator, check):
    check(estimator)
