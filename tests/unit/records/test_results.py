"""Panels of scores and close-ups of a run, and what is drawn of them, against plain NumPy."""

import numpy as np
import pytest

from etgp_viz import experiments
from etgp_viz.experiments import scoring
from etgp_viz.figures import (
    class_lines,
    confusion,
    hardest,
    projection,
    reliability,
    scores,
    training_curve,
)
from etgp_viz.figures.print import results as print_results
from etgp_viz.figures.results import LOOKS, MAX_ROWS
from etgp_viz.records import close_up
from etgp_viz.records.results import METRICS, WAYS
from etgp_viz.rivals.names import MODELS
from tests.unit.experiments.tables import cell, race, table

# Panels ---------------------------------------------------------------------------------------

ACCURACIES = {"etgp-linear pe": [0.9, 0.8, 0.85], "svgp-rbf shared": [0.7, 0.74]}


@pytest.fixture
def small():
    return table(
        *(cell("wine", *name.split(), accuracy=values) for name, values in ACCURACIES.items()),
        cell("wine", "etgp-linear", "ba", accuracy=0.6, test_ece=0.02, test_ece_if_calibrated=0.01),
        cell("wine", "etgp-linear", "pe", accuracy=0.5, M=20),
        cell("wine", "svgp-nnet", "separate", accuracy=0.95, test_ece=0.3),
        race("wine", 0.1, separate_gpflow=3.0, separate_batched=1.0),
    )


def marks(panel):
    """(label, way) → (mean, error, seeds)."""
    return {
        (panel.labels[row], series.way): (mean, error, seeds)
        for series in panel.series
        for row, mean, error, seeds in zip(
            series.rows, series.mean, series.error, series.seeds, strict=True
        )
    }


def test_a_panel_has_means_and_standard_errors_over_seeds(small):
    found = marks(experiments.panel(small, "wine"))
    assert found.keys() == {
        ("LINEAR", "pe"), ("LINEAR", "ba"), ("RBF", "shared"), ("NNET", "separate")
    }  # fmt: skip
    values = ACCURACIES["etgp-linear pe"]
    mean, error, seeds = found["LINEAR", "pe"]
    assert mean == pytest.approx(np.mean(values))
    assert error == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert seeds == 3
    assert np.isnan(found["LINEAR", "ba"][1])


def test_rivals_and_inducing_points_can_be_chosen(small):
    stationary = experiments.panel(small, "wine", rivals="stationary")
    assert stationary.labels == ("LINEAR", "RBF")
    assert experiments.panel(small, "wine", rivals="non-stationary").labels == ("LINEAR", "NNET")
    fewer = experiments.panel(small, "wine", num_inducing=20)
    assert marks(fewer)["LINEAR", "pe"][0] == 0.5
    both = experiments.panel(small, "wine", num_inducing=0)
    assert both.labels == ("LINEAR · M = 100", "LINEAR · M = 20")
    assert experiments.panel(small, "wine", num_inducing=7).labels == ()


def test_the_race_has_its_own_marks(small):
    found = marks(experiments.panel(small, "wine", "race"))
    assert {key: value[0] for key, value in found.items()} == {
        ("LINEAR", "pe"): 0.1, ("RBF", "separate-gpflow"): 3.0, ("RBF", "separate"): 1.0
    }  # fmt: skip


def test_of_two_races_the_one_with_a_network_is_shown():
    """Whichever was over first, and nobody is shown faster than they were in that race."""
    without, within = race("wine", 0.1, shared_batched=1.0), race("wine", 0.3, hidden="5x5")
    for order in ((without, within), (within, without)):
        panel = experiments.panel(table(*order), "wine", "race")
        assert {key: value[0] for key, value in marks(panel).items()} == {("LINEAR", "pe"): 0.3}
        assert panel.title == "wine: time per epoch, in turns, hidden layers 5x5, M = 100"
    alone = experiments.panel(table(without), "wine", "race")
    assert "hidden layers none" in alone.title


def test_a_file_of_ones_own_is_shown_without_folder_and_checksum():
    made = table(cell("data/mine.csv:species#0123abcd", "etgp-linear", accuracy=0.5))
    panel = experiments.panel(made, "data/mine.csv:species#0123abcd")
    assert panel.title == "mine.csv:species: test accuracy, M = 100"
    (axes,) = print_results.draw([panel]).axes
    assert axes.get_title() == "mine.csv:species"


def test_the_best_is_the_largest_or_the_smallest(small):
    assert experiments.panel(small, "wine").best() == ("NNET", "separate", 0.95)
    assert experiments.panel(small, "wine", "ece").best()[2] == 0.0
    assert experiments.panel(small, "wine", "race").best() == ("LINEAR", "pe", 0.1)
    assert experiments.panel(small, "wine", num_inducing=7).best() is None


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"dataset": "moon"}, "dataset: expected one of 'wine'"),
        ({"metric": "beauty"}, "metric: expected one of"),
        ({"rivals": "none"}, "rivals: expected one of"),
        ({"num_inducing": -1}, "num_inducing: expected an integer ≥ 0"),
        ({"bars": -1.0}, "bars: expected a finite number ≥ 0"),
    ],
)
def test_bad_arguments_of_a_panel_are_named(small, wrong, word):
    with pytest.raises(ValueError, match=word):
        experiments.panel(small, **{"dataset": "wine", **wrong})


def test_the_text_table_has_models_in_rows(small):
    shown = experiments.text_table(
        [experiments.panel(small, "wine", m) for m in ("accuracy", "ece")]
    )
    assert list(shown.columns) == ["wine accuracy", "wine ece"]
    values = ACCURACIES["svgp-rbf shared"]
    error = np.std(values, ddof=1) / np.sqrt(2)
    text = shown.loc[("RBF", WAYS["shared"]), "wine accuracy"]
    assert text == f"{np.mean(values):.3f} ± {error:.3f}"
    assert list(shown.index.get_level_values("model")) == ["LINEAR", "LINEAR", "RBF", "NNET"]
    assert len(experiments.text_table([experiments.panel(small, "wine", num_inducing=7)])) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_drawn_is_the_panel(small, metric):
    panel = experiments.panel(small, "wine", metric, bars=2.0)
    fig = scores.make(experiments.panel(small, "wine", num_inducing=20))
    scores.update(fig, panel)
    for trace, series in zip(fig.data[1:], panel.series, strict=True):
        assert trace.name == WAYS[series.way]
        np.testing.assert_array_equal(trace.x, series.mean)
        np.testing.assert_array_equal(np.round(np.asarray(trace.y)), series.rows)
        np.testing.assert_allclose(trace.error_x.array, 2.0 * np.nan_to_num(series.error))
    assert tuple(fig.layout.yaxis.ticktext) == panel.labels
    assert fig.layout.xaxis.type == ("log" if METRICS[metric].log else "linear")
    low, high = fig.layout.xaxis.range
    shown = np.concatenate([fig.data[0].x, *(series.mean for series in panel.series)])
    shown = np.log10(shown) if METRICS[metric].log else shown
    assert low <= shown.min() <= shown.max() <= high


def test_beside_a_calibration_error_stands_what_a_calibrated_model_would_score(small):
    """Finding 4, in the picture, its hover text, the printed picture and the table."""
    panel = experiments.panel(small, "wine", "ece")
    fig = scores.make(panel)
    expected = fig.data[0]
    assert 0.01 in expected.x
    height = expected.y[list(expected.x).index(0.01)]
    assert height == next(t for t in fig.data if t.name == WAYS["ba"]).y[0]
    assert "calibrated: 0.010" in expected.text[list(expected.x).index(0.01)]
    assert "if it were calibrated" in fig.layout.annotations[0].text
    text = experiments.text_table([panel]).loc[("LINEAR", WAYS["ba"]), "wine ece"]
    assert text == "0.020 (if calibrated 0.010)"
    (axes,) = print_results.draw([panel]).axes
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), expected.x)
    scores.update(fig, experiments.panel(small, "wine"))
    assert len(fig.data[0].x) == 0


def test_models_without_inducing_points_stand_beside_all_others(small):
    network = [cell("wine", "network", way, accuracy=0.8, M=0) for way in ("pe", "ba")]
    more = table(small.to_dict("records"), *network, cell("wine", "logistic", accuracy=0.7, M=0))
    for M in (None, 20, 100):
        found = marks(experiments.panel(more, "wine", num_inducing=M))
        assert found["NETWORK", "ba"][0] == 0.8
        assert found["LOGISTIC", "pe"][0] == 0.7
    assert experiments.panel(more, "wine").num_inducing == 100
    beyond = experiments.panel(more, "wine", rivals="beyond the paper")
    assert beyond.labels == ("LINEAR", "NETWORK", "LOGISTIC")
    assert not any("NETWORK" in x for x in experiments.panel(more, "wine", num_inducing=0).labels)
    alone = experiments.panel(table(*network), "wine")
    assert alone.labels == ("NETWORK",)


def test_what_f0_is_worth_is_a_score(small):
    worth = cell("wine", "etgp-tanh", latent_lost_at_zero=[0.1, 0.3])
    without = cell("wine", "svgp-rbf", "separate", latent_lost_at_zero=float("nan"))
    panel = experiments.panel(table(worth, without), "wine", "latent")
    assert marks(panel).keys() == {("TANH", "pe")}
    assert panel.best() == ("TANH", "pe", pytest.approx(0.2))


def test_ticks_of_a_logarithmic_axis_are_written_out(small):
    fig = scores.make(experiments.panel(small, "wine", "race"))  # from 0.1 to 3 seconds
    assert list(fig.layout.xaxis.ticktext) == ["0.1", "0.2", "0.5", "1", "2"]
    np.testing.assert_allclose(fig.layout.xaxis.tickvals, [0.1, 0.2, 0.5, 1.0, 2.0])
    scores.update(fig, experiments.panel(small, "wine"))
    assert fig.layout.xaxis.tickmode == "auto"


def test_no_two_ways_look_alike():
    looks = [(symbol, marker, filled) for _, symbol, marker, filled, *_ in LOOKS.values()]
    assert len(set(looks)) == len(looks) == len(WAYS)


def test_print_figures_have_a_panel_for_each_data_set(small):
    panels = [experiments.panel(small, "wine", metric) for metric in METRICS]
    panels.append(experiments.panel(small, "wine", num_inducing=7))  # an empty one
    figure = print_results.draw(panels, "made up")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == len(panels)
    first = shown[0]
    assert [label.get_text() for label in first.get_yticklabels()] == list(panels[0].labels)
    drawn = np.concatenate([box.lines[0].get_xdata() for box in first.containers])
    expected = np.concatenate([series.mean for series in panels[0].series])
    np.testing.assert_allclose(np.sort(drawn), np.sort(expected))


# A closer look --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def details():
    looks = experiments.closest_look(experiments.reference())
    first = {model: found["id"].iloc[0] for model, found in looks.groupby("model")}
    return {model: experiments.reference_detail(run_id) for model, run_id in first.items()}


def made_up():
    """A run of 4 rows and 3 classes, in which everything can be counted by hand."""
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [0.05, 0.9, 0.05]])
    labels = np.array([0, 1, 1, 2])
    bins = scoring.reliability(p, labels)
    order = np.argsort(p[np.arange(4), labels])
    return {
        "run": {"dataset": "own", "model": "svgp-rbf"},
        "class_names": ["a", "b", "c"],
        "confusion": [[0, 0, 1], [1, 0, 1], [1, 1, 1], [2, 1, 1]],
        "reliability": {"pe": {name: getattr(bins, name).tolist()
                               for name in ("count", "confidence", "accuracy")}},
        "hardest": [{"row": int(n), "label": int(labels[n]), "probabilities": p[n].tolist()}
                    for n in order],
    }, p, labels  # fmt: skip


def test_counts_of_a_made_up_run():
    detail, p, labels = made_up()
    found = close_up.confusion(detail)
    np.testing.assert_array_equal(found.counts, [[1, 0, 0], [1, 1, 0], [0, 1, 0]])
    np.testing.assert_allclose(found.share[1], [0.5, 0.5, 0.0])
    assert found.worst()[2] == 1
    expected = scoring.expected_calibration_error(p, labels)
    assert close_up.reliability_bins(detail).ece == pytest.approx(expected)
    hard = close_up.hardest(detail)
    assert hard.labels[0] == "c"
    assert hard.said[0] == "b"
    np.testing.assert_allclose(hard.of_label, np.sort(p[np.arange(4), labels]))
    assert hard.images is None
    with pytest.raises(ValueError, match="way: expected one of 'pe', got 'ba'"):
        close_up.reliability_bins(detail, "ba")


def test_the_range_of_a_calibrated_ece_comes_from_the_bins():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(5, 0.3), size=2000)
    bins = scoring.reliability(p, p.argmax(axis=1))
    parts = {name: getattr(bins, name).tolist() for name in ("count", "confidence", "accuracy")}
    found = close_up.reliability_bins({"reliability": {"pe": parts}}).calibrated
    np.testing.assert_allclose(found, scoring.calibrated_ece(p), rtol=0.05)
    picture = reliability.make(close_up.reliability_bins({"reliability": {"pe": parts}}))
    assert f"{found.low:.3f} to {found.high:.3f}" in picture.layout.annotations[0].text


def test_a_model_without_epochs_processes_and_inducing_points_is_shown_too():
    line = {"t": [0.0, 1.0], "classes": [0, 2], "probability": [[0.5, 0.2], [0.5, 0.8]]}
    detail = {
        "run": {"dataset": "own", "model": "logistic"},
        "class_names": ["a", "b", "c"],
        "elbo": {"epoch": [], "value": []},
        "line": line | {"log_probability": np.log(line["probability"]).tolist()},
        "projection": {
            "data": [[0.0, 1.0], [1.0, 0.0]],
            "labels": [0, 2],
            "inducing": [],
            "inducing_labels": [],
        },
    }
    assert (
        "not trained in epochs"
        in training_curve.make(close_up.elbo(detail)).layout.annotations[0].text
    )
    shown = close_up.lines(detail, "scale")
    assert shown.words == "probability πᶜ(x)"
    np.testing.assert_array_equal(class_lines.make(shown).data[0].y, [0.5, 0.2])
    np.testing.assert_allclose(np.exp(close_up.lines(detail, "offset").values), shown.values)
    drawn = projection.make(close_up.projection(detail))
    assert len(drawn.data[1].x) == 0
    assert "no inducing points" in drawn.layout.annotations[0].text


def test_flows_or_moments_along_the_line(details):
    for model, detail in details.items():
        has_processes = MODELS[model].has_inducing_points
        for part, flow, moment in (("scale", "a", "deviation"), ("offset", "b", "mean")):
            found = close_up.lines(detail, part)
            without = "probability" if part == "scale" else "log_probability"
            key = flow if model.startswith("etgp") else moment if has_processes else without
            np.testing.assert_array_equal(found.values, detail["line"][key])
            assert (f"{flow}ᶜ(x)" in found.words) == model.startswith("etgp")
            assert found.values.shape == (len(found.classes), len(found.t))


PICTURES = (
    (confusion, close_up.confusion),
    (reliability, close_up.reliability_bins),
    (hardest, close_up.hardest),
    (training_curve, close_up.elbo),
    (class_lines, close_up.lines),
    (projection, close_up.projection),
)


@pytest.mark.parametrize(("picture", "look"), PICTURES, ids=[look.__name__ for _, look in PICTURES])
def test_a_picture_that_was_moved_is_the_picture_made_anew(details, picture, look):
    records = [look(detail) for detail in details.values()]
    moved = picture.make(records[0])
    for record in records:
        picture.update(moved, record)
        assert moved.to_json() == picture.make(record).to_json()


def test_values_drawn_of_a_run(details):
    detail = details["etgp-linear"]
    matrix = close_up.confusion(detail)
    wrong = matrix.share * (1.0 - np.eye(len(matrix.names)))
    drawn = confusion.make(matrix).data[0]
    np.testing.assert_allclose(drawn.z, wrong, atol=5e-4)
    # The most frequent error has the strongest colour, and every cell says its number.
    assert drawn.zmax == pytest.approx(max(wrong.max(), 0.01))
    assert [list(row) for row in drawn.text] == [
        [str(count) if count else "" for count in row] for row in matrix.counts
    ]
    bins = reliability.make(close_up.reliability_bins(detail)).data[1]
    full = [k for k, count in enumerate(detail["reliability"]["pe"]["count"]) if count]
    np.testing.assert_array_equal(bins.y, np.array(detail["reliability"]["pe"]["accuracy"])[full])
    drawn = hardest.make(close_up.hardest(detail))
    p = [each["probabilities"][each["label"]] for each in detail["hardest"]]
    np.testing.assert_array_equal(drawn.data[1].x, p[:MAX_ROWS])
    points = projection.make(close_up.projection(detail)).data[1]
    np.testing.assert_array_equal(np.c_[points.x, points.y], detail["projection"]["inducing"])


def test_digits_are_shown_as_images():
    detail = made_up()[0] | {"run": {"dataset": "digits", "model": "svgp-rbf"}}
    record = close_up.hardest(detail)
    from sklearn.datasets import load_digits

    pixels = load_digits().images
    for image, row in zip(record.images, record.rows, strict=True):
        np.testing.assert_allclose(image, pixels[row] / 16.0)
    fig = hardest.make(record)
    assert [image.visible for image in fig.layout.images] == [True] * 4 + [False] * 2
    assert fig.layout.images[0].source.startswith("data:image/png;base64,")
