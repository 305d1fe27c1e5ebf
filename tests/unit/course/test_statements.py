"""What the lessons say in their own words, held against a calculation that could refute it."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import toeplitz
from scipy.special import log_softmax, ndtr

from etgp_viz import build, explorers
from etgp_viz.backend import gpflow, tf
from etgp_viz.core.flows import SinhArcsinh
from etgp_viz.course.lessons.lesson_05 import READ, example_model
from etgp_viz.datasets import toys
from etgp_viz.experiments.scoring import expected_calibration_error
from etgp_viz.records import covariance, prior
from etgp_viz.records import inference as inference_records
from tests.unit.course import cells
from tests.unit.course.test_lesson_texts import NOTEBOOKS, prose

(LESSON_01, LESSON_02, LESSON_03, LESSON_04, LESSON_05, LESSON_06, LESSON_07) = (
    re.sub(r"\s+", " ", prose(path)) for path in NOTEBOOKS[1:8]
)
TOY = toys.waves(60, 3, noise=0.3)


def everywhere(text: str) -> list[str]:
    """The notebooks and modules of the course that have a text."""
    modules = (Path(__file__).parents[3] / "etgp_viz" / "course").rglob("*.py")
    texts = {path.stem: prose(path) for path in NOTEBOOKS}
    texts |= {path.stem: path.read_text(encoding="utf-8") for path in modules}
    return [name for name, found in texts.items() if text in found]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tabs_and_presets_that_a_lesson_names_exist(path):
    """In one of the explorers that the lesson opens."""
    kinds = [getattr(explorers, name) for name in explorers.__all__ if name in path.read_text()]
    for word, known in (
        ("tab", {view for kind in kinds for view in kind.views}),
        ("preset", {preset for kind in kinds for preset in kind.presets}),
    ):
        pairs = re.findall(rf"{word}s? \*([^*]+)\*(?: and \*([^*]+)\*)?", prose(path))
        named = {name.strip() for pair in pairs for name in pair if name}
        assert named <= known, named - known


# Lessons 01, 02 and 04 ------------------------------------------------------------------------


def test_a_band_is_not_the_range_of_a_value():
    assert everywhere("values that f₀(x) can take") == []
    assert "lies inside the band with probability 95 %" in LESSON_01


def test_a_median_moves_to_its_image():
    flow = SinhArcsinh()
    params = flow.unconstrain([-1.0, 1.6, 1.0, 0.5]).numpy()
    image = float(flow.forward(0.0, params))
    draws = flow.forward(np.random.default_rng(0).normal(size=200_001), params).numpy()
    assert np.median(draws) == pytest.approx(image, abs=0.03)
    assert abs(image) > 0.5  # it does not stay where it was
    assert (
        "The median and the quantiles move to their images: the median of f(x) is G(0)" in LESSON_02
    )
    assert "Rank correlation and stationarity stay as they are." in LESSON_02
    assert not re.search(r"[Mm]edian[^.]*surviv", LESSON_02)


def test_a_class_with_a_constant_scale_is_stationary():
    x = np.linspace(-3.0, 3.0, 20)
    K = prior.covariance_matrix(prior.kernel("matern32"), x)
    constant, varying = np.full(20, 1.7), np.linspace(0.5, 2.0, 20)
    same = covariance.pair_linear(K, constant, constant)
    np.testing.assert_allclose(same, toeplitz(same[0]), atol=1e-12)
    other = covariance.pair_linear(K, varying, varying)
    assert np.max(np.abs(other - toeplitz(other[0]))) > 0.5
    assert "Unless $a^c$ is constant, it depends on x and x′ separately" in LESSON_04


def test_all_signs_flipped_give_the_same_covariance():
    K = prior.covariance_matrix(prior.kernel("rbf"), np.linspace(-1.0, 1.0, 6))
    a = np.random.default_rng(1).normal(size=(3, 6))
    joint = covariance.joint_linear(K, a)
    np.testing.assert_array_equal(joint, covariance.joint_linear(K, -a))
    one_flipped = covariance.joint_linear(K, a * [[-1.0], [1.0], [1.0]])
    assert np.max(np.abs(joint - one_flipped)) > 0.1
    assert "Flipping all signs together gives the same covariance" in LESSON_04


def test_the_blocks_of_the_example():
    """Two classes at two inputs, as printed in lesson 04."""
    K, a = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 2.0], [3.0, -1.0]])
    (printed,) = re.findall(r"\\begin\{array\}\{cc\|cc\}(.*?)\\end\{array\}", LESSON_04)
    rows = printed.replace("\\hline", "").split("\\\\")
    blocks = np.array([[float(entry) for entry in row.split("&")] for row in rows])
    np.testing.assert_allclose(blocks, covariance.joint_linear(K, a))
    assert np.linalg.matrix_rank(blocks) == 2  # "four values are made of two"


def test_orders_remember_powers_of_the_correlation(capsys):
    """Mehler's formula by quadrature in two dimensions, and by the draws of lesson 04."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    weights = weights / weights.sum()
    z, rest = np.meshgrid(nodes, nodes)
    other = 0.6 * z + 0.8 * rest
    orders = {1: lambda u: u, 2: lambda u: (u**2 - 1) / np.sqrt(2),
              3: lambda u: (u**3 - 3 * u) / np.sqrt(6)}  # fmt: skip
    for n, of_z in orders.items():
        for m, of_other in orders.items():
            mean = np.einsum("ij,i,j->", of_z(z) * of_other(other), weights, weights)
            assert mean == pytest.approx(0.6**n if n == m else 0.0, abs=1e-9)


@pytest.mark.slow
def test_one_number_cannot_tell_ten_digits_apart():
    accuracy = cells.run("04", "hurts", np=np)["accuracy"]
    constant, network, own = accuracy.values()
    assert constant < 0.65 < 0.8 < own
    assert network > own - 0.03  # "does as well as ten, or better"
    assert "about half of the images are read wrongly" in LESSON_04


def test_a_spike_costs_what_lesson_05_says():
    bent = cells.run("05", "example", "kl", np=np)["bent"]["KL"]
    for end, width in (("", 0.1), (", narrower spike", 0.01)):
        cost = bent[f"p bent by another flow{end}"] - bent["as derived"]
        assert cost == pytest.approx(0.1**2 / (2 * width**2), rel=1e-3)


def test_jensen_by_the_numbers_of_lesson_05():
    assert f"log 2 = {np.log(2):.2f}" in LESSON_05
    assert f"the average of log 1 and log 3 is {np.log(3) / 2:.2f}" in LESSON_05
    q_mean, q_sd = 0.7, 0.4
    z = np.linspace(-8.0, 8.0, 20001)
    q, p = (np.exp(-0.5 * ((z - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
            for mean, sd in ((q_mean, q_sd), (0.0, 1.0)))  # fmt: skip
    kl = np.sum(q[q > 0] * np.log(q[q > 0] / p[q > 0])) * (z[1] - z[0])
    assert kl == pytest.approx(0.5 * (q_sd**2 + q_mean**2 - 1) - np.log(q_sd), abs=1e-6)


# Lesson 05 ------------------------------------------------------------------------------------


def test_bending_both_laws_leaves_their_kl():
    bent = cells.run("05", "example", "kl", np=np)["bent"]
    assert bent["passes"].to_dict() == {name: "as derived" in name for name in bent.index}
    # With a delta in place of the spike, another flow in p would cost infinitely much.
    wide, narrow = (
        bent.loc[f"p bent by another flow{end}", "KL"] for end in ("", ", narrower spike")
    )
    assert narrow > 50 * wide


@pytest.mark.parametrize("wrong", [0.0, 0.5, -1.0])
def test_the_test_of_the_kl_sees_a_wrong_jacobian(wrong, monkeypatch):
    right = SinhArcsinh._log_derivative
    monkeypatch.setattr(
        SinhArcsinh, "_log_derivative", lambda self, f, values: wrong * right(self, f, values)
    )
    bent = cells.run("05", "example", "kl", np=np)["bent"]
    assert not bent.loc["as derived", "passes"]
    assert abs(bent.loc["as derived", "mass"] - 1.0) > 0.01


def test_the_test_of_the_kl_sees_a_wrong_inverse(monkeypatch):
    right = SinhArcsinh._inverse
    monkeypatch.setattr(
        SinhArcsinh, "_inverse", lambda self, g, values: 0.9 * right(self, g, values)
    )
    assert not cells.run("05", "example", "kl", np=np)["bent"]["passes"].any()


def test_an_etgp_is_an_svgp_with_one_latent(capsys):
    cells.run("05", "example", "one-line", np=np)
    first, second = re.findall(r"-\d+\.\d+", capsys.readouterr().out)
    assert float(first) == pytest.approx(float(second), abs=1e-4)


def test_how_many_draws_are_as_good_as_eight_nodes(capsys):
    """Row by row with a dense rule: the exercise asks for the error of one row."""
    model, (X, Y) = example_model()
    z = np.linspace(-9.0, 9.0, 2001)
    density = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()

    def log_p(z):
        values = log_softmax(inference_records.processes_at(model, X, z[None]), axis=-1)
        return values[np.arange(len(X)), :, Y[:, 0]]

    exact = log_p(z) @ density
    variance = (log_p(z) - exact[:, None]) ** 2 @ density
    error = log_p(nodes) @ weights - exact
    draws = np.mean(variance) / np.mean(error**2)
    assert READ.truth() == pytest.approx(draws, rel=0.03)
    # So many draws for each row have the error of the nodes.
    np.testing.assert_allclose(np.sqrt(np.mean(variance / draws)), np.sqrt(np.mean(error**2)))

    names = {"inference_records": inference_records, "log_softmax": log_softmax}
    cells.run("05", "example", "two-errors", np=np, **names)
    row, mean = re.findall(r"10\^(\d\.\d\d)", capsys.readouterr().out)
    assert float(row) == pytest.approx(np.log10(READ.truth()), abs=0.01)
    assert float(mean) == pytest.approx(
        np.log10(np.mean(variance) / len(X) / np.mean(error) ** 2), abs=0.01
    )
    assert float(row) - float(mean) > 0.5  # not the same question


def test_the_largest_of_c_gaussians_is_one_integral():
    """The formula of the lesson for the robust-max likelihood, against draws."""
    rng = np.random.default_rng(2)
    mean, deviation, y = rng.normal(size=7), rng.uniform(0.3, 1.5, 7), 3
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    f = mean[y] + deviation[y] * nodes
    others = np.delete(np.arange(7), y)
    larger = np.prod(ndtr((f[:, None] - mean[others]) / deviation[others]), axis=1)
    draws = mean + deviation * rng.normal(size=(400_000, 7))
    share = np.mean(np.argmax(draws, axis=1) == y)
    assert weights @ larger / weights.sum() == pytest.approx(share, abs=0.003)
    assert 'So "an SVGP needs Monte Carlo" is true of the softmax' in LESSON_05
    assert "That is the price of the *softmax*, not of the SVGP" in LESSON_06
    assert everywhere("where C processes need Monte Carlo") == []
    assert everywhere("C processes are too many for quadrature") == []


def untrained(seed: int = 0):
    """A small LINEAR model with weights that are not zero."""
    model = build("etgp-linear", TOY.X, 3, inducing_points=TOY.X[::8], hidden=(6,), dropout=0.5)
    rng = np.random.default_rng(seed)
    model.q_mu.assign(rng.normal(size=model.q_mu.shape))
    model.q_sqrt.assign(0.5 * np.eye(model.q_mu.shape[0])[None])
    model.network.output.weights.assign(rng.normal(size=model.network.output.weights.shape))
    return model


def test_labels_see_neither_scale_nor_shift():
    names = {"np": np, "pd": pd, "gpflow": gpflow, "toy": TOY, "learner": untrained()}
    same = cells.run("05", "ambiguity", **names)["same"]
    seen = same.drop(columns="KL_W")
    np.testing.assert_allclose(seen, np.tile(seen.iloc[0], (3, 1)), atol=1e-6)
    decay = same["KL_W"]
    assert decay["4σ², a/2"] < decay["trained"] < decay["b + one function"]


def test_one_change_alone_would_be_seen(monkeypatch):
    """Four times the variance without half the slopes is another model."""
    broken = cells.source("05", "ambiguity").replace("values[..., slopes] /= scale", "pass")
    monkeypatch.setattr(cells, "source", lambda lesson, cell: broken)
    names = {"np": np, "pd": pd, "gpflow": gpflow, "toy": TOY, "learner": untrained()}
    visible = cells.run("05", "ambiguity", **names)["visible"]
    assert abs(visible.loc["4σ², a/2", "E[log p]"] - visible.loc["trained", "E[log p]"]) > 0.1


def test_the_weight_decay_is_the_mean_square_over_masks(capsys):
    names = cells.run("05", "decay", np=np, learner=untrained())
    model, masks, plain = map(float, re.findall(r": +(\d\.\d+)", capsys.readouterr().out))
    decay = names["network"].weight_decay
    exact = decay * (np.sum(names["inputs"] ** 2) + np.sum(names["outputs"] ** 2) / 0.5)
    assert float(names["network"].prior_penalty()) == pytest.approx(exact)
    assert model == pytest.approx(masks, rel=0.03)
    assert plain < 0.8 * model
    assert "**not a bound on $\\log p(y)$**" in LESSON_05
    assert "*maximum a posteriori*, or MAP" in LESSON_05


def test_f0_and_the_slopes_wait_for_each_other(capsys):
    cells.run("05", "start", np=np, tf=tf, build=build, toy=TOY)
    printed = re.findall(
        r"for m (\S+), for slopes (\S+), for shifts (\S+)", capsys.readouterr().out
    )
    paper, draw = (tuple(map(float, line)) for line in printed)
    assert max(paper[:2]) < 1e-6 < 1e-2 < paper[2]
    assert draw[1] > 1e-2


@pytest.mark.slow
def test_dropout_does_not_concentrate_and_nothing_returns_to_the_prior():
    names = cells.run("05", "train", "dropout", "far", np=np, pd=pd)
    known, certain = names["known"], names["certain"]
    among, far = (known.xs(at, level=1) for at in ("among the data", "far away"))
    spread = among["sd over masks"]
    assert spread["N = 12000"] > 0.5 * spread["N = 120"]  # a posterior: about 0.1
    assert far["sd over masks"]["N = 12000"] > 0.5 * far["sd over masks"]["N = 120"]
    np.testing.assert_allclose(far["sd of q(f₀) / prior"], 1.0, atol=0.01)  # f₀ does return
    assert far["max p, BA"].min() > 0.4
    np.testing.assert_allclose(far["max p, BA"], far["max p, PE"], atol=0.05)
    etgp, svgp = (np.max(certain[name], axis=1) for name in ("ETGP, BA", "SVGP"))
    assert svgp[-1] < 0.36 < 0.4 < etgp[-1]


# The control of lesson 07 ---------------------------------------------------------------------


def test_the_network_alone_is_in_the_results():
    """Lesson 07 shows the control for every data set and score."""
    from etgp_viz import experiments

    table = experiments.reference()
    duels = experiments.duels(table, beyond=True)
    control = duels[duels["rival"].str.startswith("NETWORK")]
    assert set(control["dataset"]) == set(duels["dataset"])
    assert len(control) == 2 * duels["dataset"].nunique()


# Lessons 06 and 07 ----------------------------------------------------------------------------


def test_nobody_overtakes_where_the_clock_has_not_decided():
    assert everywhere("the line rises slowly") == []
    assert "Where the interval includes 1, the clock has not decided." in LESSON_06


def test_an_honest_model_has_a_calibration_error():
    honest = cells.run("07", "chance", np=np)["honest"]
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(10, 0.3), 450)
    drawn = [
        expected_calibration_error(p, np.array([rng.choice(10, p=row) for row in p]))
        for _ in range(20)
    ]
    assert honest[450].low < np.mean(drawn) < honest[450].high
    assert honest[450].mean > 0.03 > honest[10_000].high
    assert everywhere("It is 0 for an honest model") == []
    assert "As the number of rows grows, it goes to 0 for an honest model" in LESSON_07
