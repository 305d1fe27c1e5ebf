"""One latent or many, against loops and closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import spearmanr

from etgp_viz.core import flows
from etgp_viz.records import prior, shared_latent

X = np.linspace(-3.0, 3.0, 121)
FLOWS = {"linear": flows.Linear(), "sal": flows.SAL(1), "tanh": flows.Tanh(2, 1)}


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def softplus(raw):
    return np.log1p(np.exp(raw))


def by_hand(name, f, raw):
    """G(f) of one number from raw parameters, as the formulas are written."""
    if name == "linear":
        return raw[0] * f + raw[1]
    if name == "sal":
        a, b, d, e = raw[0], softplus(raw[1]), softplus(raw[2]), raw[3]
        return d * np.sinh(b * np.arcsinh(f) - a) + e
    steps = [(softplus(raw[k]), softplus(raw[k + 1]), raw[k + 2]) for k in (0, 3)]
    return f + sum(a * np.tanh(b * (f + c)) for a, b, c in steps)


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("model", ["etgp", "independent", "tgp"])
def test_processes_are_the_formulas(model, name, rng):
    draws, params = rng.normal(size=(5, 4)), rng.normal(size=(3, 4, FLOWS[name].num_params))
    latents = shared_latent.latents(model, np.arange(4.0), draws, 3)
    assert latents.values.shape == ((1, 4) if model == "etgp" else (3, 4))
    actual = shared_latent.warp(model, FLOWS[name], latents.values, params)
    for c in range(3):
        for n in range(4):
            f = draws[0 if model == "etgp" else c, n]
            expected = f if model == "independent" else by_hand(name, f, params[c, n])
            assert actual[c, n] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", FLOWS)
def test_the_pivot_determines_the_others(name, rng):
    """The inverse by a root finder on the formula, and joint draws that lie on the maps."""
    flow, raw = FLOWS[name], rng.normal(size=(3, FLOWS[name].num_params))
    draws = shared_latent.joint_draws("etgp", flow, raw, 1.5, rng.normal(size=(3, 50)))
    record = shared_latent.pivot("etgp", flow, raw, 1.5, draws, draws[:, 0], 0.0, 2, 1)
    ends = sorted(by_hand(name, s * 2.0 * np.sqrt(1.5), raw[2]) for s in (-1, 1))
    np.testing.assert_allclose(record.grid[[0, -1]], ends)
    for k in (0, 17, 40, 80):
        f = brentq(lambda f, k=k: by_hand(name, f, raw[2]) - record.grid[k], -5, 5, xtol=1e-14)
        expected = [by_hand(name, f, raw[c]) for c in range(3)]
        np.testing.assert_allclose(record.maps[:, k], expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(record.draws, draws[[2, 1]])
    for known, other in record.draws.T[:10]:
        f = brentq(lambda f, g=known: by_hand(name, f, raw[2]) - g, -9, 9, xtol=1e-14)
        assert by_hand(name, f, raw[1]) == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("model", ["independent", "tgp"])
def test_there_are_no_maps_between_separate_latents(model, rng):
    flow, raw = flows.Linear(), rng.normal(size=(3, 2))
    draws = shared_latent.joint_draws(model, flow, raw, 1.0, rng.normal(size=(3, 5)))
    record = shared_latent.pivot(model, flow, raw, 1.0, draws, draws[:, 0], 0.0, 2)
    assert record.maps is None
    assert record.partner == 0  # the class after the last is the first


def test_dependence_is_spearmans_and_tells_the_models_apart(rng):
    flow, raw = flows.Linear(), rng.normal(size=(4, 2))
    noise, S = rng.normal(size=(4, 400)), 400
    for model in ("etgp", "independent", "tgp"):
        draws = shared_latent.joint_draws(model, flow, raw, 2.0, noise)
        record = shared_latent.dependence(0.0, draws)
        expected = spearmanr(draws, axis=1).statistic
        np.testing.assert_allclose(record.rank_correlation, expected, atol=1e-12)
        pairs = expected[np.triu_indices(4, 1)]
        assert record.strength == pytest.approx(np.mean(np.abs(pairs)))
        if model == "etgp":  # each pair is ±1, by the signs of the two slopes
            signs = np.sign(np.outer(raw[:, 0], raw[:, 0]))
            np.testing.assert_allclose(record.rank_correlation, signs, atol=1e-12)
        else:  # the standard error of Spearman's correlation of independent values
            assert np.max(np.abs(pairs)) < 4.0 / np.sqrt(S - 1)


def test_the_amount_of_a_random_network_is_a_straight_line():
    flow = FLOWS["tanh"]
    one, some = (
        shared_latent.flow_params(prior.random_network(flow, 3, amount=amount, seed=4), X)
        for amount in (1.0, 0.3)
    )
    np.testing.assert_allclose(shared_latent.scale_network_params(flow, one, 0.3), some, atol=1e-12)


def test_a_draw_of_the_network_is_one_network_at_every_x():
    """Each draw uses the same hidden units at all x: parameters of a smooth function."""
    network = prior.random_network(flows.Linear(), 2, hidden=(6,), dropout=0.5, seed=1)
    params = shared_latent.flow_params(network, X, samples=40)
    hidden = np.tanh(X[:, None] @ network.layers[0].weights.numpy() + network.layers[0].bias)
    features = np.column_stack([hidden * 2.0, np.ones(len(X))])  # 1/(1 − 0.5), and the bias
    output = np.vstack([network.output.weights.numpy(), network.output.bias.numpy()])
    seen = set()
    for s in range(40):
        # Which units were kept: the least squares that explain the draw have weights 0 or 1.
        columns = features * output[:, 0]
        kept, *_ = np.linalg.lstsq(columns, params[s, 0, :, 0], rcond=None)
        assert np.all(np.isclose(kept, 0.0, atol=1e-5) | np.isclose(kept, 1.0, atol=1e-5))
        seen.add(tuple(np.round(kept[:-1])))
    assert len(seen) > 10


def test_the_band_holds_ninety_percent_of_the_draws(rng):
    drawn = rng.normal(size=(21, 2, 3))
    band = shared_latent.processes(np.arange(3.0), drawn[0], drawn).band
    for c in range(2):
        for n in range(3):  # of 21 sorted draws the second and the last but one
            ordered = np.sort(drawn[:, c, n])
            np.testing.assert_allclose(band[c, :, n], ordered[[1, -2]])


def test_bad_arguments_say_what_is_wrong():
    with pytest.raises(ValueError, match="model: expected one of"):
        shared_latent.latents("gp", X, np.zeros((4, 121)), 3)
    with pytest.raises(ValueError, match="num_classes: expected"):
        shared_latent.latents("etgp", X, np.zeros((4, 121)), 5)


@pytest.mark.parametrize(("stretch", "shift"), [(2.0, 0.0), (0.3, 0.0), (1.0, 2.5), (2.0, -1.0)])
def test_models_that_no_data_can_tell_apart(stretch, shift, rng):
    """(σ², a) → (s²σ², a/s), and the same h(x) for all: other parameters, equal probabilities."""
    f0, params = rng.normal(size=121), rng.normal(size=(4, 121, 2))
    other = shared_latent.rewrite(params, X, stretch, shift)
    assert np.max(np.abs(other - params)) > 0.1
    plain, rewritten = (
        shared_latent.warp("etgp", flows.Linear(), latent[None], theta)
        for latent, theta in ((f0, params), (stretch * f0, other))
    )
    np.testing.assert_allclose(rewritten - plain, [shift * np.sin(2.0 * X)] * 4, atol=1e-12)
    np.testing.assert_allclose(
        prior.probabilities(rewritten), prior.probabilities(plain), atol=1e-14
    )
    K, larger = (prior.covariance_matrix(prior.kernel("rbf", 1.0, v), X) for v in (1.0, stretch**2))
    np.testing.assert_allclose(larger, stretch**2 * K)


@pytest.mark.parametrize("name", FLOWS)
def test_mixed_latents_are_sums_under_the_flows(name, rng):
    draws, params = rng.normal(size=(5, 4)), rng.normal(size=(3, 4, FLOWS[name].num_params))
    mixing = rng.normal(size=(3, 2))
    latents = shared_latent.latents("mixed", np.arange(4.0), draws, 3, num_latents=2)
    assert latents.values.shape == (2, 4)
    actual = shared_latent.warp("mixed", FLOWS[name], latents.values, params, mixing)
    for c in range(3):
        for n in range(4):
            f = mixing[c, 0] * draws[0, n] + mixing[c, 1] * draws[1, n]
            assert actual[c, n] == pytest.approx(by_hand(name, f, params[c, n]), rel=1e-10)


def test_mixed_latents_have_etgp_and_the_naive_tgp_as_limits(rng):
    flow, raw, noise = flows.SAL(1), rng.normal(size=(3, 4)), rng.normal(size=(4, 20))
    there = flow, raw, 1.5, noise
    etgp, tgp = (shared_latent.joint_draws(model, *there) for model in ("etgp", "tgp"))
    for L, amount in ((1, 0.7), (3, 0.0)):
        mixing = shared_latent.mixing_matrix(3, L, amount)
        np.testing.assert_array_equal(shared_latent.joint_draws("mixed", *there, mixing), etgp)
    np.testing.assert_array_equal(shared_latent.joint_draws("mixed", *there, np.eye(3)), tgp)


@pytest.mark.parametrize("latents", [2, 3, 4])
def test_the_correlation_of_mixed_classes_is_the_cosine_between_their_rows(latents):
    S, mixing = 20_000, shared_latent.mixing_matrix(4, latents, 0.5, seed=latents)
    np.testing.assert_allclose(np.linalg.norm(mixing, axis=1), 1.0)
    slopes = np.array([1.0, -2.0, 0.5, 3.0])
    params = np.stack([slopes, np.ones(4)], axis=1)
    noise = prior.noise(1, 4, S)
    draws = shared_latent.joint_draws("mixed", flows.Linear(), params, 2.0, noise, mixing)
    for c in range(4):
        for d in range(c):
            expected = np.sign(slopes[c] * slopes[d]) * (mixing[c] @ mixing[d])
            error = (1.0 - expected**2) / np.sqrt(S)
            assert abs(np.corrcoef(draws[[c, d]])[0, 1] - expected) <= 4.0 * error + 1e-9


def test_a_direction_stays_when_a_latent_or_a_class_is_added():
    small, large = (shared_latent.mixing_matrix(*size, 0.5) for size in ((2, 3), (5, 4)))
    np.testing.assert_allclose(small[:, 1] / small[:, 2], large[:2, 1] / large[:2, 2], rtol=1e-12)


@pytest.mark.parametrize("amount", [-0.1, 1.1, np.nan, "much"])
def test_a_bad_amount_of_mixing_is_named(amount):
    with pytest.raises(ValueError, match="amount"):
        shared_latent.mixing_matrix(3, 2, amount)
