"""An ELBO that cannot be is refused; with SAL flows, which made one, none is left."""

import gpflow
import numpy as np
import pytest
from sklearn.datasets import load_wine

from etgp_viz import ETGPClassifier
from etgp_viz.backend import tfp
from etgp_viz.checks import highest_elbo
from etgp_viz.core.training import TrainingError, fit
from etgp_viz.rivals.build_model import build

X = np.linspace(-1.0, 1.0, 12)[:, None]
Y = (X > 0.0).astype(int)


def test_an_impossible_elbo_is_an_error_and_the_best_epoch_stays(monkeypatch):
    model = build("etgp-linear", X, num_classes=2, num_inducing=3)
    model.bonus = gpflow.Parameter(0.0, trainable=False)
    right = type(model).elbo
    monkeypatch.setattr(type(model), "elbo", lambda self, data: right(self, data) + self.bonus)

    def claim_more_than_certainty(record):
        model.bonus.assign(1e8 if record.epoch == 1 else 0.0)

    message = r"epoch 2: ELBO 1e\+08, which cannot exceed 0"
    with pytest.raises(TrainingError, match=message) as caught:
        fit(model, (X, Y), epochs=5, progress=False, callback=claim_more_than_certainty)
    assert len(caught.value.result.elbo) == 2
    assert caught.value.result.best_elbo < 0.0
    assert model.bonus.numpy() == 0.0  # as in the best epoch


def test_what_may_exceed_zero():
    points = X[:2].copy()
    kernel = gpflow.kernels.SquaredExponential()
    classes = gpflow.models.SVGP(kernel, gpflow.likelihoods.Bernoulli(), points)
    regression = gpflow.models.SVGP(kernel, gpflow.likelihoods.Gaussian(), points)
    assert highest_elbo(classes) < 1e-5
    assert highest_elbo(regression) == np.inf
    kernel.variance.prior = tfp.distributions.LogNormal(np.float64(0.0), np.float64(1e-3))
    assert highest_elbo(classes) == np.inf
    assert highest_elbo(object()) == np.inf


@pytest.mark.slow
def test_sal_flows_stay_below_zero_on_wine():
    """Seed 2 reached an ELBO of +1.8e8, and its best epoch was a wrong one."""
    inputs, labels = load_wine(return_X_y=True)
    classifier = ETGPClassifier("sal", random_state=2).fit(inputs[::2], labels[::2])
    assert classifier.history_.elbo.max() < 0.0
    assert classifier.score(inputs[1::2], labels[1::2]) > 0.93
