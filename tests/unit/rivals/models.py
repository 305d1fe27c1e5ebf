"""Small models with random parameters, and GPflow's own, for the tests of the rivals."""

import numpy as np

from etgp_viz.backend import as_written, gpflow
from etgp_viz.core import flows
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals import kernels
from etgp_viz.rivals import svgp as svgp_models

N, D, M, C, S = 7, 2, 4, 3, 6
rng = np.random.default_rng(1)
X = rng.normal(size=(N, D))
Y = rng.integers(0, C, size=(N, 1))
NOISE = rng.normal(size=(S, N, C))
Z = rng.normal(size=(C, M, D))
VARIANCE = rng.uniform(0.5, 2.0, C)
SCALES = rng.uniform(0.5, 2.0, (C, D))
BIAS = rng.uniform(0.5, 2.0, C)
Q_MU = rng.normal(size=(M, C))
Q_SQRT = np.tril(rng.normal(size=(C, M, M))) + 2 * np.eye(M)
MIXING = rng.normal(size=(C, C))
STATE = rng.bit_generator.state


def single_kernels(family="rbf"):
    if family == "rbf":
        return [gpflow.kernels.RBF(v, s) for v, s in zip(VARIANCE, SCALES, strict=True)]
    make = {"nnet": kernels.NeuralNetwork, "arccos": lambda *p: gpflow.kernels.ArcCosine(0, *p)}
    return [make[family](*p) for p in zip(VARIANCE, SCALES, BIAS, strict=True)]


def latents(sharing="separate", is_batched=False, family="rbf"):
    """Kernel and inducing variables; the shared ones are the first of the separate ones."""
    iv = gpflow.inducing_variables
    if sharing == "shared":
        shared = kernels.Broadcast if is_batched else gpflow.kernels.SharedIndependent
        points = iv.SharedIndependentInducingVariables(iv.InducingPoints(Z[0]))
        return shared(single_kernels(family)[0], C), points
    if is_batched:
        stacks = {
            "rbf": kernels.StackedRBF,
            "nnet": kernels.StackedNeuralNetwork,
            "arccos": kernels.StackedArcCosine,
        }
        parameters = (VARIANCE, SCALES) if family == "rbf" else (VARIANCE, SCALES, BIAS)
        return stacks[family](*parameters), kernels.StackedInducingPoints(Z)
    points = iv.SeparateIndependentInducingVariables([iv.InducingPoints(z) for z in Z])
    return gpflow.kernels.SeparateIndependent(single_kernels(family)), points


def set_q(model):
    model.q_mu.assign(Q_MU)
    model.q_sqrt.assign(Q_SQRT)
    return model


def svgp(*args, **options):
    return set_q(svgp_models.SVGPClassifier(*latents(*args), C, **options))


def mixed(*args, **options):
    return set_q(svgp_models.MixedSVGP(*latents(*args), C, mixing=MIXING, **options))


def tgp(*args, flow=None, dropout=0.0, **options):
    network = FlowNetwork(D, C, flow or flows.Linear(), hidden=(3,), dropout=dropout)
    kernel, points = latents(*args)
    return set_q(svgp_models.TGP(kernel, network, points, **options))


def gpflow_svgp(kernel, points, whiten=True):
    likelihood = gpflow.likelihoods.Softmax(C)
    return set_q(gpflow.models.SVGP(kernel, likelihood, points, num_latent_gps=C, whiten=whiten))


def same_moments(model, reference, *kinds, atol=1e-8):
    """Compare means, marginal variances and the given kinds of full covariances with GPflow's."""
    for options in ({}, *({kind: True} for kind in kinds)):
        moments = model.predict_f(X, **options), as_written(reference.predict_f)(X, **options)
        for a, b in zip(*moments, strict=True):
            np.testing.assert_allclose(a, b, atol=atol)
