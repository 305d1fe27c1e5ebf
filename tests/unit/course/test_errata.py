"""The errata page: every slip names the test that shows it. Some of these tests are here."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from etgp_viz.core import flows
from etgp_viz.core.expectations import gauss_hermite
from etgp_viz.records import prior, shared_latent

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
SECTIONS = dict(part.split("\n", 1) for part in re.split(r"(?m)^### ", PAGE)[1:])
WORDS_ONLY = {"A caption"}  # there is nothing to compute


def names_of_tests() -> set[str]:
    files = (ROOT / "tests" / "unit").rglob("test_*.py")
    return {name for path in files for name in re.findall(r"def (test_\w+)", path.read_text())}


@pytest.mark.parametrize("title", SECTIONS)
def test_a_slip_names_its_place_and_its_test(title):
    assert re.match(r"\s*\*(Section|Appendix|Mathematical appendix)[^*]*\.\*", SECTIONS[title])
    named = re.findall(r"`(test_\w+)`", SECTIONS[title])
    assert len(named) == (0 if title in WORDS_ONLY else 1)
    assert set(named) <= names_of_tests()


def test_the_printed_variance_is_negative():
    """K_zz + S at an inducing point of a belief that is still the prior."""
    z = np.array([-1.0, 0.0, 1.5])
    Kzz = np.exp(-0.5 * (z[:, None] - z) ** 2)
    solved = np.linalg.solve(Kzz, Kzz[:, 0])
    assert Kzz[0, 0] - solved @ (Kzz + Kzz) @ solved == pytest.approx(-1.0)
    assert Kzz[0, 0] - solved @ (Kzz - Kzz) @ solved == pytest.approx(1.0)


def test_an_average_needs_no_inverse():
    """G(f) = f² has none, and E[exp(−f²)] = 1/√3 all the same."""
    nodes, weights = gauss_hermite(60)
    assert weights @ np.exp(-(nodes**2)) == pytest.approx(1.0 / np.sqrt(3.0), abs=1e-6)


def test_a_scale_that_changes_its_sign_changes_the_copula():
    K = prior.covariance_matrix(prior.kernel("rbf"), np.array([0.0, 0.7]))
    f0 = prior.draw(K, prior.noise(0, 20_000, 2))
    before = spearmanr(*f0.T).statistic
    for scales, after in (((-1.0, -2.0), before), ((1.0, -2.0), -before)):
        assert spearmanr(*(scales * f0).T).statistic == pytest.approx(after)
    assert before > 0.7


def test_some_chains_gain_nothing():
    """LINEAR steps are one LINEAR flow; TANH steps never have a slope below 1."""
    f, rng = np.linspace(-4.0, 4.0, 81), np.random.default_rng(0)
    linear = flows.Compose([flows.Linear(), flows.Linear()])
    straight = linear.forward(f, rng.normal(size=linear.num_params)).numpy()
    np.testing.assert_allclose(np.diff(straight, 2), 0.0, atol=1e-12)
    tanh = flows.Tanh(elements=4, length=3)
    for _ in range(20):
        slope = tanh.log_derivative(f, rng.normal(size=tanh.num_params)).numpy()
        assert slope.min() >= 0.0


def test_each_tgp_has_a_latent_of_its_own():
    params, noise = np.array([[2.0, 0.0], [-1.0, 1.0]]), prior.noise(0, 2, 5000)
    draws = {
        model: shared_latent.joint_draws(model, flows.Linear(), params, 1.0, noise)
        for model in ("etgp", "tgp")
    }
    assert np.corrcoef(draws["etgp"])[0, 1] == pytest.approx(-1.0)
    assert abs(np.corrcoef(draws["tgp"])[0, 1]) < 0.05


def test_a_decay_of_a_millionth_is_a_variance_of_half_a_million():
    decays = [1.0 / (2.0 * variance) for variance in (5_000, 50_000, 500_000)]
    np.testing.assert_allclose(decays, [1e-4, 1e-5, 1e-6])
