"""Deep-kernel ETGP: plain ETGPs that it contains, and gradients that reach the trunk."""

import numpy as np
import pytest

from etgp_viz.backend import gpflow, tf
from etgp_viz.core import flows
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.deep_kernel import DeepKernelETGP, FeatureKernel
from tests.unit.extensions.mixed import C, D, X, Y, Z, randomise, set_q

METHODS = (
    lambda m: m.elbo((X, Y), samples=2),
    lambda m: m.predict_latent(X)[1],
    lambda m: m.predict_f(X, full_cov=True)[1],
    lambda m: m.predict_y(X, samples=3)[0],
    lambda m: m.predict_log_density((X, Y)),
    lambda m: m.predict_f_samples(X, 2),
)


def network(seed=0, **options):
    options = {"hidden": (4,), "dropout": 0.3, "weight_decay": 1e-2, **options}
    return randomise(FlowNetwork(D, C, flows.Linear(), seed=seed, **options), seed)


class Bilinear(gpflow.kernels.Kernel):
    """(x W + b)·(x' W + b), written as a kernel of x."""

    def __init__(self, W, b):
        super().__init__()
        self.B, self.v, self.bb = W @ W.T, W @ b, b @ b

    def K(self, X, X2=None):  # noqa: N802
        X2 = X if X2 is None else X2
        cross = tf.linalg.matvec(X, self.v)[:, None] + tf.linalg.matvec(X2, self.v)[None]
        return X @ self.B @ tf.transpose(X2) + cross + self.bb

    def K_diag(self, X):  # noqa: N802
        return tf.linalg.diag_part(self.K(X))


def test_linear_features_and_a_linear_kernel_are_a_plain_etgp():
    warp = network()
    trunk = network(seed=1, hidden=(), projection=(6,), weight_decay=0.0)
    layer = trunk.layers[0]
    plain = Bilinear(layer.weights.numpy(), layer.bias.numpy())
    deep = set_q(DeepKernelETGP(gpflow.kernels.Linear(), warp, Z, trunk=trunk))
    etgp = set_q(ETGP(plain, warp, Z))
    for method in METHODS[1:]:  # the ELBO draws its own masks
        np.testing.assert_allclose(method(deep), method(etgp), atol=1e-7)
    np.testing.assert_allclose(
        deep.elbo((X, Y), samples=None), etgp.elbo((X, Y), samples=None), atol=1e-7
    )


def test_without_hidden_layers_it_is_etgp_to_the_last_digit():
    warp = network(hidden=())
    deep = set_q(DeepKernelETGP(gpflow.kernels.SquaredExponential(), warp, Z))
    etgp = set_q(ETGP(gpflow.kernels.SquaredExponential(), warp, Z))
    for method in METHODS:
        np.testing.assert_array_equal(method(deep), method(etgp))


def test_a_deep_kernel_is_a_kernel_of_features():
    warp = network()
    features = warp.features(X)
    base = gpflow.kernels.Matern32(lengthscales=0.7)
    kernel = FeatureKernel(base, warp.features)
    np.testing.assert_allclose(kernel(X, X[:3]), base(features, features[:3]), atol=1e-14)
    np.testing.assert_allclose(kernel(X, full_cov=False), np.diag(kernel(X)), atol=1e-12)


@pytest.mark.parametrize("is_own", [False, True])
def test_the_gradient_of_the_elbo_reaches_the_trunk_through_f0(is_own):
    warp, trunk = network(dropout=0.0), network(seed=1) if is_own else None
    # With flows that do not depend on x, a trunk that is shared matters for f0 alone.
    warp.output.weights.assign(np.zeros(warp.output.weights.shape))
    model = set_q(DeepKernelETGP(gpflow.kernels.SquaredExponential(), warp, Z, trunk=trunk))
    weights = (trunk or warp).layers[0].weights

    def value(shift=0.0):
        before = weights.numpy()
        weights.assign(before + shift)
        found = model.elbo((X, Y), samples=None)
        weights.assign(before)
        return float(found)

    with tf.GradientTape() as tape:
        elbo = model.elbo((X, Y), samples=None)
    gradient = tape.gradient(elbo, weights.unconstrained_variable)
    step = 1e-5 * np.random.default_rng(2).normal(size=weights.shape)
    slope = (value(step) - value(-step)) / 2.0
    np.testing.assert_allclose(np.sum(gradient * step), slope, rtol=1e-4)
    assert np.abs(gradient).max() > 1e-3
    assert not is_own or not trunk.output.trainable_variables


def test_a_trunk_of_its_own_has_its_own_weight_decay():
    warp, trunk = network(dropout=0.0), network(seed=1, dropout=0.0)
    model = set_q(DeepKernelETGP(gpflow.kernels.SquaredExponential(), warp, Z, trunk=trunk))
    expected = np.sum(model.variational_expectations(X, tf.constant(Y))) - model.prior_kl()
    penalty = 1e-2 * sum(
        np.sum(np.square(layer.weights))
        for part in (warp, trunk)
        for layer in [*part.layers, part.output]
    )
    np.testing.assert_allclose(model.elbo((X, Y), samples=None), expected - penalty, rtol=1e-10)


def test_bad_input_is_refused_by_name():
    kernel = gpflow.kernels.SquaredExponential
    with pytest.raises(ValueError, match="trunk: expected a FlowNetwork, got str"):
        DeepKernelETGP(kernel(), network(), Z, trunk="own")
    with pytest.raises(ValueError, match="network: expected a FlowNetwork, got NoneType"):
        DeepKernelETGP(kernel(), None, Z)
    with pytest.raises(ValueError, match="kernel: expected a GPflow kernel"):
        DeepKernelETGP(kernel(lengthscales=[1.0, 1.0, 1.0]), network(), Z)
