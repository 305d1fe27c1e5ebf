"""Stacks of kernels against single ones, and batched models against GPflow's loops."""

import numpy as np
import pytest

import etgp_viz
from etgp_viz.backend import gpflow, tf
from etgp_viz.core.conditional import conditional
from etgp_viz.rivals import kernels
from etgp_viz.rivals.build_model import build
from etgp_viz.rivals.svgp import SVGPClassifier
from tests.unit.rivals.models import (
    NOISE,
    C,
    M,
    N,
    X,
    Y,
    gpflow_svgp,
    latents,
    same_moments,
    set_q,
    svgp,
)

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 3)), RNG.normal(size=(6, 3))


# --- stacks of kernels --------------------------------------------------------------------------


def stacks() -> list:
    variance, bias = RNG.uniform(0.5, 2, 4), RNG.uniform(0.5, 2, 4)
    scales = RNG.uniform(0.5, 2, (4, 3))
    weights = zip(variance, scales, bias, strict=True)
    return [
        pytest.param(
            kernels.StackedRBF(variance, scales),
            [gpflow.kernels.RBF(v, s) for v, s in zip(variance, scales, strict=True)],
            id="rbf",
        ),
        pytest.param(
            kernels.StackedNeuralNetwork(variance, scales, bias),
            [kernels.NeuralNetwork(v, s, b) for v, s, b in weights],
            id="nnet",
        ),
        pytest.param(
            kernels.StackedArcCosine(variance, scales, bias),
            [gpflow.kernels.ArcCosine(0, *p) for p in zip(variance, scales, bias, strict=True)],
            id="arccos",
        ),
    ]


@pytest.mark.parametrize(("stack", "single"), stacks())
def test_a_stack_equals_its_kernels_one_by_one(stack, single):
    separate = gpflow.kernels.SeparateIndependent(single)
    for full_output_cov in (False, True):
        options = {"full_cov": True, "full_output_cov": full_output_cov}
        np.testing.assert_allclose(stack(A, B, **options), separate(A, B, **options), atol=1e-13)
        # GPflow shrinks cosines by 1e-15, which costs a variance of the arc-cosine 1e-8.
        np.testing.assert_allclose(stack(A, **options), separate(A, **options), atol=3e-8)
        options["full_cov"] = False
        np.testing.assert_allclose(stack(A, **options), separate(A, **options), atol=1e-13)
    assert stack.num_latent_gps == 4

    Z = RNG.normal(size=(4, 5, 3))
    expected = [kernel(z, B) for kernel, z in zip(single, Z, strict=True)]
    np.testing.assert_allclose(stack.covariances(Z, B[None]), expected, atol=1e-13)


def test_the_gradient_of_a_stack_is_finite_on_its_diagonal():
    for stack in (param.values[0] for param in stacks()):
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(stack(A, full_cov=True))
        for gradient in tape.gradient(total, stack.trainable_variables):
            assert np.isfinite(gradient).all()


def test_stacks_are_found_in_their_earlier_home():
    for name in ("Broadcast", "Stacked", "StackedArcCosine", "StackedNeuralNetwork", "StackedRBF"):
        assert getattr(etgp_viz.kernels, name) is getattr(kernels, name)
    with pytest.raises(AttributeError, match="has no attribute 'Unknown'"):
        _ = kernels.Unknown


# --- models -------------------------------------------------------------------------------------


every_family = pytest.mark.parametrize("family", ["rbf", "nnet", "arccos"])
both_sharings = pytest.mark.parametrize("sharing", ["separate", "shared"])


@pytest.mark.slow
@pytest.mark.parametrize("whiten", [True, False])
@every_family
@both_sharings
def test_batched_svgp_equals_gpflow(sharing, family, whiten):
    model = set_q(SVGPClassifier(*latents(sharing, True, family), C, whiten=whiten))
    reference = gpflow_svgp(*latents(sharing, False, family), whiten=whiten)
    # acos is steep at 1: on the diagonal the two ArcCosine kernels themselves differ by some 1e-9,
    # which K⁻¹ enlarges where q is not whitened.
    enlarged = family == "arccos" and not whiten
    same_moments(model, reference, "full_cov", atol=1e-7 if enlarged else 1e-8)
    np.testing.assert_allclose(model.prior_kl(), reference.prior_kl(), rtol=1e-8)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no longer float than float64")
@pytest.mark.parametrize("num_inputs", [1, 2])
def test_variances_have_the_digits_that_the_docstring_claims(num_inputs):
    rng = np.random.default_rng(num_inputs)
    Z, inputs = rng.normal(size=(100, num_inputs)), rng.normal(size=(200, num_inputs))

    def kernel(a, b):
        return np.exp(-0.5 * ((a[:, None] - b) ** 2).sum(axis=-1) / 2.0**2)

    Kmm, Kmn = kernel(Z, Z) + 1e-6 * np.eye(100), kernel(Z, inputs)
    exact = 1.0 - sum(np.square(_solve(_cholesky(Kmm.astype(np.longdouble)), Kmn)))
    zeros = np.zeros((100, 1)), np.zeros((1, 100, 100))
    _, variance = conditional(Kmm[None], Kmn[None], np.ones((1, 200)), *zeros, True, False)
    solved = 1.0 - np.sum(np.square(tf.linalg.triangular_solve(tf.linalg.cholesky(Kmm), Kmn)), 0)
    error, error_of_solve = (
        np.abs(values - exact).max() for values in (variance[:, 0].numpy(), solved)
    )
    assert 1e-8 < exact.min() < 1e-6  # small enough for rounding to matter
    assert error < 1e-11
    assert num_inputs > 1 or error > error_of_solve  # how many times depends on TensorFlow


def _cholesky(K):
    L = np.zeros_like(K)
    for i, j in np.ndindex(K.shape):
        rest = K[i, j] - L[i, :j] @ L[j, :j]
        L[i, j] = np.sqrt(rest) if i == j else rest / L[j, j] if j < i else 0.0
    return L


def _solve(L, B):
    A = np.zeros(B.shape, L.dtype)
    for i in range(len(L)):
        A[i] = (B[i] - L[i, :i] @ A[:i]) / L[i, i]
    return A


@pytest.mark.slow
@both_sharings
@every_family
def test_groups_of_processes_give_what_all_give_at_once(sharing, family, monkeypatch):
    model = set_q(SVGPClassifier(*latents(sharing, True, family), C))
    whole = [*model.predict_f(X), *model.predict_f(X, full_cov=True)]
    monkeypatch.setattr(kernels, "NUMBERS_PER_GROUP", 2 * M * N)  # two processes, then one
    parts = [*model.predict_f(X), *model.predict_f(X, full_cov=True)]
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.slow
def test_gradients_of_the_batched_model_equal_those_of_the_looped_one():
    def gradients(model, parameters):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.expected_log_likelihood((X, Y), NOISE)) - model.prior_kl()
        return tape.gradient(loss, [p.unconstrained_variable for p in parameters])

    for sharing in ("separate", "shared"):
        loop, batch = svgp(sharing, False), svgp(sharing, True)
        by_q = [gradients(model, [model.q_mu, model.q_sqrt]) for model in (batch, loop)]
        for a, b in zip(*by_q, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-8)
        if sharing == "separate":
            batch_gradients = gradients(
                batch, [batch.kernel.lengthscales, batch.inducing_variable.Z]
            )
            one_by_one = gradients(
                loop,
                [
                    *(kernel.lengthscales for kernel in loop.kernel.kernels),
                    *(points.Z for points in loop.inducing_variable.inducing_variable_list),
                ],
            )
            loop_gradients = [np.stack(one_by_one[:C]), np.stack(one_by_one[C:])]
        else:
            batch_gradients, loop_gradients = (
                gradients(
                    m, [m.kernel.kernel.lengthscales, m.inducing_variable.inducing_variable.Z]
                )
                for m in (batch, loop)
            )
        for a, b in zip(batch_gradients, loop_gradients, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-7)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_points")
def test_gpflow_tools_work_on_a_batched_model():
    model = build("svgp-rbfcorr", X, C, num_inducing=M, sharing="separate", batched=True)
    names = set(gpflow.utilities.parameter_dict(model))
    assert {".mixing", ".q_mu", ".kernel.lengthscales", ".inducing_variable.Z"} <= names
    assert "lengthscales" in gpflow.utilities.tabulate_module_summary(model, "plain")
    gpflow.set_trainable(model.inducing_variable, False)
    before = float(model.elbo((X, Y)))
    gpflow.optimizers.NaturalGradient(0.5).minimize(
        model.training_loss_closure((X, Y), compile=False), [(model.q_mu, model.q_sqrt)]
    )
    assert float(model.elbo((X, Y))) > before
