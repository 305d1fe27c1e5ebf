"""Joint posterior draws with dropout: each is one function of x."""

import numpy as np

from etgp_viz.backend import gpflow
from etgp_viz.core import flows
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork

X = np.arange(-1.0, 1.0, 0.01)[:, None]


def test_a_draw_with_dropout_is_as_smooth_as_one_without():
    """A draw of the network is one mask for all inputs; a mask for each row would tear it apart."""
    network = FlowNetwork(1, 3, flows.Linear(), hidden=(20,), dropout=0.5)
    rng = np.random.default_rng(0)
    for variable in network.trainable_variables:
        variable.assign_add(rng.normal(scale=0.7, size=variable.shape))
    model = ETGP(gpflow.kernels.SquaredExponential(), network, X[::20].copy())
    steps = {}
    for dropout in (False, True):
        F = model.predict_f_samples(X, 50, seed=1, dropout=dropout).numpy()  # [S, N, C]
        steps[dropout] = np.sqrt(np.mean(np.diff(F, axis=1) ** 2))
    assert steps[True] < 3.0 * steps[False]
    # And the draws of the network do differ: f0 is the same with and without dropout.
    f0, F = model.predict_joint_samples(X[:1], 50, seed=1, dropout=True)
    shifts = F[:, 0, 0] - network.flow.forward(f0[:, 0], network(X[:1])[0, 0])
    assert np.std(shifts) > 0.1
