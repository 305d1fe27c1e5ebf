"""Slopes, speed-ups, the cost model and the sentences, on times whose truth is known."""

import numpy as np
import pandas as pd
import pytest

from etgp_viz import timing
from etgp_viz.timing import analysis, contestants
from etgp_viz.timing.log import Measurement, Settings, tabulate

CLASSES = (2, 10, 50)


def table_of(seconds, *, sessions=3, rounds=7, between=0.0, within=0.0, rng=None, **changes):
    """A table whose times are ``seconds(model, size)`` with log-normal noise."""
    rng = rng or np.random.default_rng(0)
    values = {
        "models": ("etgp-linear", "svgp-shared", "svgp-batched"),
        "classes": CLASSES,
        "num_data": (1000,),
        "num_inducing": (100,),
        "num_inputs": 10,
        "repeats": sessions * rounds,
        "sessions": sessions,
        "budget": 60.0,
        "memory": False,
        "memory_limit": None,
    }
    settings = Settings(**(values | changes))
    measured = []
    for model in settings.models:
        for size in settings.sizes():
            cell = (model, size.classes, size.num_data, size.num_inducing)
            for session in range(sessions):
                level = np.log(seconds(model, size)) + between * rng.normal()
                for _ in range(rounds):
                    value = float(np.exp(level + within * rng.normal()))
                    measured.append(Measurement(*cell, session, "step", value))
                measured.append(Measurement(*cell, session, "spent", 1.0))
    return tabulate(measured, settings, {})


def truth(model, size):
    """Powers of C: 0.2, 0.8 and 1."""
    power = {"etgp-linear": 0.2, "svgp-shared": 0.8, "svgp-batched": 1.0}[model]
    return 0.01 * size.classes**power


def test_slopes_of_exact_powers_are_exact():
    slopes = timing.slopes(table_of(truth))
    np.testing.assert_allclose(slopes["slope"], [0.2, 0.8, 1.0], atol=1e-12)
    assert (slopes["low"] < slopes["slope"]).all()
    assert (slopes["high"] - slopes["low"] < 0.05).all()


def test_a_slope_needs_two_sizes():
    slopes = timing.slopes(table_of(truth, classes=(5,)))
    assert slopes["slope"].isna().all()


def test_slopes_over_inducing_points():
    table = table_of(
        lambda model, size: 1e-6 * size.num_inducing**2, classes=(5,), num_inducing=(10, 20, 80)
    )
    np.testing.assert_allclose(timing.slopes(table, over="num_inducing")["slope"], 2.0)


def test_speedups_are_ratios():
    found = timing.speedups(table_of(truth)).set_index(["model", "classes"])["speedup"]
    for (model, C), ratio in found.items():
        power = {"svgp-shared": 0.6, "svgp-batched": 0.8}[model]
        assert ratio == pytest.approx(C**power)


def test_a_neighbour_that_hits_all_alike_cancels():
    def noisy():
        rng = np.random.default_rng(3)
        table = table_of(truth)
        for session in range(3):
            for turn in range(7):
                load = np.exp(rng.exponential())
                for cell in table["step_rounds"]:
                    cell[session][turn] *= load
        return table

    quiet, loud = timing.speedups(table_of(truth)), timing.speedups(noisy())
    np.testing.assert_allclose(quiet["speedup"], loud["speedup"])


@pytest.mark.slow
def test_intervals_hold_what_they_promise():
    # Sessions differ by 10 %, rounds by 5 %: the interval of one run must hold the next one's.
    rng = np.random.default_rng(0)
    inside, covered = [], []
    for _ in range(80):
        runs = [table_of(truth, between=0.1, within=0.05, rng=rng) for _ in range(2)]
        first, second = map(timing.speedups, runs)
        inside += list((first["low"] <= second["speedup"]) & (second["speedup"] <= first["high"]))
        slopes = timing.slopes(runs[0])
        covered += list((slopes["low"] <= [0.2, 0.8, 1.0]) & (slopes["high"] >= [0.2, 0.8, 1.0]))
    assert np.mean(inside) > 0.97
    assert 0.90 < np.mean(covered) < 0.99


@pytest.mark.slow
def test_intervals_are_no_wider_than_they_need_to_be():
    # The sd of the difference of two runs is 2·0.1/√3 in log; 99 % of a normal is ± 2.6 of it.
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(40):
        found = timing.speedups(table_of(truth, between=0.1, rng=rng))
        widths += list(np.log(found["high"] / found["low"]))
    assert np.median(widths) < 1.5 * 2 * 2.6 * (2 * 0.1 / np.sqrt(3))


def test_one_session_is_judged_by_its_rounds():
    calm = timing.speedups(table_of(truth, sessions=1, within=0.01))
    wild = timing.speedups(table_of(truth, sessions=1, within=0.3))
    widths = [np.log(found["high"] / found["low"]).median() for found in (calm, wild)]
    assert widths[0] < 0.2
    assert widths[1] > 0.8
    assert any(
        "only one session" in words for words in timing.describe(table_of(truth, sessions=1))
    )


def test_crossover_is_interpolated():
    def crossing(model, size):
        return 0.02 if model.startswith("etgp") else 0.002 * size.classes

    table = table_of(crossing, models=("etgp-linear", "svgp-shared"), classes=(2, 5, 50))
    assert timing.crossover(table, "svgp-shared") == pytest.approx(10.0)
    assert timing.crossover(table_of(truth), "svgp-shared") == 0.0
    slow = table_of(crossing, models=("etgp-linear", "svgp-shared"), classes=(2, 5))
    assert timing.crossover(slow, "svgp-shared") == np.inf
    with pytest.raises(ValueError, match="table: expected one num_data"):
        timing.crossover(table_of(truth, num_data=(500, 1000)), "svgp-shared")


def test_seconds_per_epoch():
    assert timing.per_epoch(table_of(truth), 10_000).iloc[0] == pytest.approx(0.1 * 2**0.2)


# --- the cost model -----------------------------------------------------------------------------


def test_the_cost_model_is_recovered():
    # 5 ms overhead, 1e-10 s per operation of the GP, 3e-9 s for each class's flow at a node.
    def seconds(model, size):
        count = timing.operations("etgp-linear", size)
        gp = sum(count[term] for term in ("kernel", "factors", "solves", "moments"))
        H, P, Q = 50, 2, 20
        per_class = size.num_data * size.classes * (H * P + P * Q + Q)
        return 0.005 + 1e-10 * gp + 3e-9 * per_class

    grid = {"classes": (2, 20, 100), "num_inducing": (20, 50, 100), "num_data": (500, 1000)}
    fit = timing.fit_cost(table_of(seconds, models=("etgp-linear",), **grid), "etgp-linear")
    assert fit.terms == (("overhead",), ("GP work, once",), ("flows, network and softmax",))
    np.testing.assert_allclose(fit.coefficients, [0.005, 1e-10, 3e-9], rtol=1e-6)
    assert fit.error < 1e-6

    # Over C alone the first two cannot be told apart, but their sum can.
    only_c = timing.fit_cost(table_of(seconds, models=("etgp-linear",)), "etgp-linear")
    assert only_c.terms == (("overhead", "GP work, once"), ("flows, network and softmax",))
    size = timing.Size(50, 1000, 100, 10)
    growing = 3e-9 * 1000 * 50 * 160
    assert only_c.fixed_share(size) == pytest.approx(1 - growing / seconds("", size))
    assert only_c.seconds(size) == pytest.approx(seconds("", size))


def test_costs_are_never_negative():
    falling = timing.fit_cost(
        table_of(lambda model, size: 1.0 / size.classes, models=("svgp-shared",)), "svgp-shared"
    )
    assert min(falling.coefficients) >= 0.0
    assert timing.fit_cost(table_of(truth, classes=(5,)), "svgp-shared") is None


@pytest.mark.parametrize(
    ("model", "cubic", "square"),
    [("svgp-separate", 1, 1), ("svgp-shared", 0, 1), ("etgp-linear", 0, 0)],
)
def test_leading_orders_are_the_paper_s(model, cubic, square):
    # How the M³ and the NM² of the paper grow when C doubles.
    def terms(C):
        count = timing.operations(model, timing.Size(C, 1000, 100, 10))
        return count["factors"], count["moments"]

    (factors, moments), (factors_2, moments_2) = terms(10), terms(20)
    assert factors_2 / factors == 2**cubic
    assert moments_2 / moments == 2**square


def test_the_sentences_tell_the_truth():
    text = "\n".join(timing.describe(table_of(truth)))
    assert "At C = 50 a step of SVGP batched takes 22.9 times as long as a step of ETGP LI" in text
    assert "ETGP LINEAR is faster than SVGP shared at every C" in text
    assert "A step of ETGP LINEAR grows with C, but less than in proportion: from 11.5 ms" in text
    assert "SVGP shared: time grows like C to the power 0.80" in text


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ((1.5, 2.0, 3.0), "ETGP LINEAR is faster than SVGP shared at every C in the race."),
        ((0.5, 0.4, 0.3), "ETGP LINEAR is slower than SVGP shared at every C in the race."),
        ((1.1, 0.9, 1.0), "ETGP LINEAR is about as fast as SVGP shared at every C in the race."),
        ((0.9, 1.1, 9.0), "is about equally fast up to C = 10 and faster from C = 50 on."),
        ((0.3, 0.9, 9.0), "slower up to C = 2, about equally fast at C = 10 and faster from C ="),
        ((0.1, 0.5, 2.5), "slower up to C = 10 and faster from C = 50 on; the two lines cross at"),
        ((9.0, 0.9, 9.0), "faster up to C = 2, about equally fast at C = 10 and faster from C = 5"),
    ],
)
def test_one_model_overtakes_another_only_where_the_interval_says_so(ratios, words):
    # Sessions differ by 20 %: a ratio of 0.9 or 1.1 is no difference.
    def seconds(model, size):
        return 0.01 * (dict(zip(CLASSES, ratios, strict=True))[size.classes] ** ("svgp" in model))

    models = ("etgp-linear", "svgp-shared")
    text = "\n".join(timing.describe(table_of(seconds, between=0.12, models=models)))
    assert words in text
    assert ("cross at about C = " in text) == ("cross" in words)
    assert "overtakes" not in text


def test_the_reference_run_overtakes_nowhere_within_its_noise():
    # TANH takes 0.90 (0.71 to 1.16) times as long as LINEAR at C = 2.
    text = "\n".join(timing.describe(timing.reference()))
    assert "Compared with ETGP TANH, ETGP LINEAR is about equally fast up to C = 5 and" in text


@pytest.mark.parametrize(
    ("power", "words"),
    [
        (0.0, "shows no growth with C beyond the noise"),
        (0.3, "grows with C, but less than in proportion"),
        (1.0, "grows with C, in proportion or faster"),
    ],
)
def test_the_growth_is_named_after_its_slope(power, words):
    table = table_of(lambda model, size: 0.01 * size.classes**power, models=("etgp-linear",))
    assert any(f"A step of ETGP LINEAR {words}: from" in line for line in timing.describe(table))


def test_draws_and_their_error_stand_beside_times_of_predictions():
    table = table_of(truth)
    table["prediction"] = 0.1
    table["prediction_error"] = np.where(table["model"] == "etgp-linear", np.nan, 0.0123)
    table.attrs["predictive_draws"] = 60
    (line,) = (line for line in timing.describe(table) if "Monte Carlo" in line)
    assert "(SVGP shared, SVGP batched) average over 60 draws" in line
    assert "a standard error of up to 0.012 in a class probability" in line
    assert timing.curves(table, "prediction").y_title.endswith("; SVGPs: 60 draws")
    assert "draws" not in timing.curves(table, "step").y_title
    # The reference run has no error on file, and says so.
    (line,) = (line for line in timing.describe(timing.reference()) if "Monte Carlo" in line)
    assert "average over 100 draws, which leaves an error that was not recorded" in line


def test_a_busy_machine_is_told():
    table = table_of(truth)
    for load, is_reported in ((0.4, False), (5.0, True)):
        table.attrs |= {"load": load, "machine": {"cores": 2}}
        assert any("busy" in words for words in timing.describe(table)) == is_reported


def test_what_did_not_run_is_told():
    settings = Settings(("svgp-separate",), (2,), (50,), (10,), 2, 3, 1, 9.0, False, None)
    status = Measurement("svgp-separate", 2, 50, 10, 0, "status", "over budget")
    assert timing.describe(tabulate([status], settings, {})) == [
        "SVGP separate at C = 2: over budget."
    ]


@pytest.mark.parametrize(
    "path", sorted(timing.REFERENCE.glob("timing_*.csv")), ids=lambda path: path.stem
)
def test_the_reference_run_is_whole(path):
    table = timing.reference(path.stem.removeprefix("timing_"))
    assert not set(table["status"]) & {"unfinished"}
    fast = table[table["model"] == "etgp-linear"]
    assert (fast["status"] == "ok").all()
    found = timing.speedups(table)
    rivals = ~found["model"].str.startswith("etgp")  # ETGP against one process per class
    assert found.loc[rivals & (found["classes"] >= 20), "low"].min() > 1.0
    assert table.attrs["machine"]["processor"]


def test_a_panel_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="over: expected one of 'classes'"):
        timing.reference("num_inputs")


@pytest.mark.parametrize("name", contestants.MODELS)
def test_the_terms_of_the_cost_model_add_up_to_all_operations(name):
    """But for the network's first layer, a part of the overhead; a class's own work names it so."""
    size, model = contestants.Size(7, 1000, 50, 3), contestants.MODELS[name]
    terms, count = analysis._cost_terms(name, size), contestants.operations(name, size)
    outputs = 7 * model.num_params
    first_layer = count["network"] - (count["network"] * outputs // (3 + outputs) if outputs else 0)
    assert sum(terms.values()) == sum(count.values()) - first_layer + 1  # the overhead is one step
    assert all(terms.values())
    kernel = count["kernel"] + count["factors"] + count["solves"]
    own = kernel * model.kernel_per_class + count["moments"] * model.process_per_class
    assert terms.get("GP work of each class", 0) == own


def test_terms_that_are_proportional_form_one_group():
    columns = pd.DataFrame({"a": [1, 2, 4], "b": [4, 2, 1], "c": [3, 6, 12], "d": [4, 2, 1.01]})
    assert analysis._groups(columns) == (("a", "c"), ("b",), ("d",))


@pytest.mark.parametrize(
    ("letters", "words"),
    [
        ("f", "ETGP LINEAR is faster than SVGP shared at every C in the race."),
        ("e", "ETGP LINEAR is about as fast as SVGP shared at every C in the race."),
        ("seeef", "slower up to C = 2, about equally fast from C = 5 to C = 20 and faster from "
                  "C = 50 on."),
        ("eesef", "about equally fast up to C = 5, slower at C = 10, about equally fast at C = 20 "
                  "and faster from C = 50 on."),
        ("fffss", "faster up to C = 10 and slower from C = 20 on."),
        ("sfefe", "slower up to C = 2, faster at C = 5, about equally fast at C = 10, faster at "
                  "C = 20 and about equally fast from C = 50 on."),
    ],
)  # fmt: skip
def test_a_verdict_names_each_stretch_of_c(letters, words):
    """An interval that only touches 1 decides nothing."""
    intervals = {"s": (0.5, 0.999), "e": (1.0, 1.0), "f": (1.001, 2.0)}
    low, high = zip(*(intervals[letter] for letter in letters), strict=True)
    classes = (2, 5, 10, 20, 50)[: len(letters)]
    ratios = pd.DataFrame({"classes": classes, "low": low, "high": high, "model": "svgp-shared"})
    prefix = "" if len(letters) == 1 else "Compared with SVGP shared, ETGP LINEAR is "
    assert analysis._verdict(None, ratios[::-1], "etgp-linear") == prefix + words


def test_the_share_that_grows_is_that_of_the_fitted_cost():
    table = table_of(lambda _, size: 0.1 * (10 + size.classes), models=("etgp-linear",))
    text = "\n".join(timing.describe(table))
    assert "83% of its step at C = 50 is spent on the flows, their network and the softmax" in text
    assert "the other 17%, the one Gaussian process and the overhead, does not" in text
    assert "The fit is within 0% of every measured time." in text
    assert "from 1200.0 ms at C = 2 to 6000.0 ms at C = 50, a factor of 5.00 for 25 times" in text


def test_an_interval_leaves_out_as_much_on_both_sides():
    sample = np.linspace(0.0, 1.0, 1001)
    assert analysis._interval(sample, 0.9) == pytest.approx((0.05, 0.95))
    assert analysis._interval(sample, 0.5) == pytest.approx((0.25, 0.75))


def test_draws_of_a_cell_spread_like_the_mean_of_its_sessions():
    """With three sessions at −d, 0 and d, the variance of their mean is d²/3, unbiased."""
    d = 0.5
    sessions = [np.array([value]) for value in (-d, 0.0, d)]
    draws = analysis.bootstrap({"cell": sessions}, size=20_000)
    assert draws["cell"].std() == pytest.approx(d / np.sqrt(3.0), rel=0.03)


def test_what_needs_two_sizes_or_two_sessions():
    two = table_of(truth, classes=(2, 10), sessions=2)
    np.testing.assert_allclose(timing.slopes(two)["slope"], [0.2, 0.8, 1.0], atol=1e-12)
    assert "There was only one session" not in "\n".join(timing.describe(two))
    assert "There was only one session" in "\n".join(timing.describe(table_of(truth, sessions=1)))
    assert len(list(analysis._growth(two, "etgp-linear"))) == 2  # the growth, and which part grows
    assert list(analysis._growth(two, "svgp-shared")) == []
    assert list(analysis._growth(table_of(truth, classes=(5,)), "etgp-linear")) == []


def test_a_race_of_two_models_at_one_size_is_compared():
    one = {"models": ("etgp-linear", "svgp-batched"), "classes": (10,)}
    assert len(timing.speedups(table_of(truth, **one))) == 1
    first, second, *_ = timing.describe(table_of(truth, **one))
    assert first.startswith("At C = 10 a step of SVGP batched takes 6.31 times as long")
    assert second == "ETGP LINEAR is faster than SVGP batched at every C in the race."


def test_without_a_rival_nothing_is_said_about_intervals():
    alone = table_of(truth, sessions=1, models=("etgp-linear",), classes=(10,))
    assert not [line for line in timing.describe(alone) if "interval" in line]


def test_draws_lean_to_the_side_of_a_late_session():
    """Sessions of 0, 0 and 3: the deviations −1, −1 and 2 make sums with a tail upwards."""
    draws = analysis.bootstrap({"cell": [np.array([value]) for value in (0.0, 0.0, 3.0)]})["cell"]
    deviations = draws - draws.mean()
    assert np.mean(deviations**3) > 0.2 * np.mean(deviations**2) ** 1.5


def test_a_machine_that_is_half_busy_is_not_told():
    table = table_of(truth)
    table.attrs |= {"machine": {"cores": 4}, "load": 2.0}
    assert "Other programs" not in " ".join(timing.describe(table))
    table.attrs["load"] = 2.1
    assert "Other programs were busy" in " ".join(timing.describe(table))
    table.attrs |= {"machine": {}, "load": 0.7}  # one core, for all that is known
    assert "(load 0.7 on 1 cores)" in " ".join(timing.describe(table))


def test_lines_that_begin_at_one_point_cross_there():
    pair = {"models": ("etgp-linear", "svgp-batched")}
    equal_at_two = table_of(
        lambda model, size: 0.01 * (size.classes / 2) ** (model != "etgp-linear"), **pair
    )
    assert timing.crossover(equal_at_two, "svgp-batched") == pytest.approx(2.0)
