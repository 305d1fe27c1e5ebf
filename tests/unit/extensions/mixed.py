"""Small models of several latents with random parameters, for the tests of the extensions."""

import numpy as np

from etgp_viz.backend import gpflow
from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.mixed_flow import ConstantMixing, MixedFlow
from etgp_viz.extensions.several_latents import MixedETGP

N, D, M, C = 12, 2, 5, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = RNG.integers(0, C, size=(N, 1))
Z = X[:M].copy()


def randomise(network, seed=0, scale=0.4):
    """Weights, biases and mixing away from their initial values."""
    rng = np.random.default_rng(seed)
    network.output.bias.assign(np.maximum(network.output.bias, -1.0))  # TANH starts near zero
    for layer in [*network.layers, network.output]:
        for parameter in layer.parameters:
            parameter.assign(parameter + rng.normal(scale=scale, size=parameter.shape))
    if isinstance(network, ConstantMixing) and network.flow.latents > 1:
        network.mixing.assign(rng.normal(size=network.mixing.shape))
    return network


def kernels(count):
    scales = np.linspace(0.7, 1.5, count)
    return [gpflow.kernels.SquaredExponential(lengthscales=[s, 2.0 - s]) for s in scales]


def set_q(model, seed=1):
    rng = np.random.default_rng(seed)
    size = model.q_sqrt.shape
    model.q_mu.assign(rng.normal(size=model.q_mu.shape))
    model.q_sqrt.assign(np.tril(rng.normal(scale=0.3, size=size)) + 0.5 * np.eye(size[-1]))
    return model


def mixed(
    latents, mixing="before", flow=None, source="constant", classes=C, dropout=0.0, **options
):
    """A model of several latents, each with its kernel, and all with the same inducing points."""
    kind = ConstantMixing if source == "constant" else FlowNetwork
    flow = MixedFlow(flow or flows.Linear(), latents, mixing)
    network = randomise(kind(D, classes, flow, hidden=(4,), dropout=dropout))
    return set_q(MixedETGP(kernels(latents), network, Z, **options))
