"""The paper's experiments: scores of all models, and a closer look at one run."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import pandas as pd

from etgp_viz import experiments
from etgp_viz.experiments import close_up
from etgp_viz.experiments.panels import METRICS, RIVALS, WAYS, Panel
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, shown
from etgp_viz.figures import (
    class_lines,
    confusion,
    hardest,
    print_scores,
    projection,
    reliability,
    scores,
    training_curve,
)


@lru_cache(maxsize=1)
def _table() -> pd.DataFrame:
    return experiments.reference()


@lru_cache(maxsize=1)
def _looks() -> pd.DataFrame:
    """The rows whose runs have details."""
    return experiments.closest_look(_table())


def _among(preferred: str, options: dict[str, str]) -> str:
    return preferred if preferred in options else next(iter(options))


DATASETS = {name: name for name in dict.fromkeys(_looks()["dataset"])}
COUNTS = {M: f"{M}" for M in sorted(map(int, set(_looks()["num_inducing"])), reverse=True)}
MOST = next(iter(COUNTS))
MODELS = {
    name: f"{model.partition('-')[0].upper()} {model.partition('-')[2].upper()} {sharing}".strip()
    for name, (model, sharing) in experiments.MODELS.items()
    if (model, sharing) in set(zip(_looks()["model"], _looks()["sharing"], strict=True))
}
SCORES = {
    "accuracy": "accuracy",
    "log_likelihood": "log-likelihood",
    "ece": "calibration error",
    "training": "training time",
    "race": "time, in turns",
    "prediction": "prediction time",
    "memory": "memory",
}
PARTS = ("scale", "offset")


@dataclass(frozen=True)
class ResultsState:
    """Which scores are shown, and which run is looked at."""

    dataset: str = shown(_among("digits", DATASETS), Choice("data set", DATASETS, group="Compare"))
    metric: str = shown(
        "accuracy",
        Choice("score", SCORES, group="Compare"),
    )
    num_inducing: int = shown(
        MOST, Choice("inducing points M", {**COUNTS, 0: "all, row by row"}, group="Compare")
    )
    rivals: str = shown(
        "all", Choice("rivals", {name: f"{name} kernels" for name in RIVALS}, group="Compare")
    )
    bars: float = shown(
        1.0,
        Number("error bars (in SE)", 0.0, 3.0, 0.5, group="Compare", right="longer error bars"),
    )
    model: str = shown(_among("etgp-tanh", MODELS), Choice("model", MODELS, group="One run"))
    way: str = shown(
        "pe",
        Choice(
            "prediction",
            {"pe": "point estimate", "ba": "Bayesian average"},
            group="One run",
            when=lambda state: state.model.startswith("etgp"),
        ),
    )


class ResultsExplorer(Explorer):
    """Accuracy, log-likelihood, calibration and time of ETGP and its rivals on real data.

    Above, a mark for every model, laid out as in the paper's figures: mean and standard error over
    seeds. Below, one run from close by. All of it was computed before, and comes with the package.
    """

    State = ResultsState
    pictures: ClassVar = {
        "scores": scores,
        "confusion": confusion,
        "reliability": reliability,
        "hardest": hardest,
        "elbo": training_curve,
        "scale": class_lines,
        "offset": class_lines,
        "projection": projection,
    }
    full_width = ("scores",)
    handout = ("metric",)
    presets: ClassVar = {
        "The paper's first figure": Preset(
            "Accuracy of ETGP beside stationary rivals. Compare the circles of LINEAR and TANH "
            "with the squares of RBF and RBFCORR, and see what sharing a kernel (crosses) costs. "
            "Then go through the data sets.",
            {"dataset": _among("avila", DATASETS), "rivals": "stationary"},
        ),
        "Non-stationary rivals": Preset(
            "ETGP is non-stationary because its flows depend on x; ARCCOS and NNET are by their "
            "kernels. Which of them gets the better log-likelihood?",
            {"rivals": "non-stationary", "metric": "log_likelihood"},
        ),
        "New speakers": Preset(
            "The test rows of vowel come from speakers that nobody was trained on. Is the model "
            "with the most freedom still the best? Look at the reliability diagram: who is too "
            "sure?",
            {"dataset": _among("vowel", DATASETS), "metric": "log_likelihood"},
        ),
        "PE or BA": Preset(
            "The same network predicts twice: with dropout off (circles) and averaged over draws "
            "of it (open diamonds). Compare the log-likelihoods, and change the prediction below "
            "to see the reliability diagrams one after the other.",
            {"dataset": _among("vowel", DATASETS), "metric": "log_likelihood", "way": "ba"},
        ),
        "Fewer inducing points": Preset(
            "The same models with fewer and fewer inducing points. Where does a smaller M cost "
            "accuracy, and where does it help?",
            {"dataset": _among("vowel", DATASETS), "num_inducing": 0},
        ),
        "Time": Preset(
            "Seconds of an epoch, measured in turns on equal batches, on a logarithmic axis: equal "
            "distances are equal ratios. Open marks are GPflow's loops, filled ones batched.",
            {"dataset": _among("avila", DATASETS), "metric": "race"},
        ),
        "Digits that nobody can read": Preset(
            "The hardest digits of the test set, beside what the model took them for. Would you "
            "have read them?",
            {"dataset": _among("digits", DATASETS), "model": _among("etgp-tanh", MODELS)},
        ),
    }

    def numbers(self, state: ResultsState) -> Iterator[tuple[str, Any]]:
        yield "scores", _panel(*_chosen(state))
        row = _run(state)
        yield from _closely(row["id"], row["inference"]).items()

    def title(self, state: ResultsState) -> str:
        return f"{METRICS[state.metric].words.capitalize()} on {state.dataset}"

    def words(self, state: ResultsState) -> str:
        row = _run(state)
        found = _closely(row["id"], row["inference"])
        true, said, count = found["confusion"].worst()
        name = _name(row)
        told = [
            _told(_panel(*_chosen(state))),
            f"The run below: {name}, M = {row['num_inducing']}, seed {row['seed']}, test accuracy "
            f"{row['test_accuracy']:.3f}, log-likelihood {row['test_log_likelihood']:.3f}, "
            f"ECE {row['test_ece']:.3f}.",
        ]
        if count:
            told.append(
                f"Its point estimate most often takes class {true} for {said}: {count} rows."
            )
        if name != _wanted(state) or state.num_inducing not in (0, row["num_inducing"]):
            told.append(f"({_wanted(state)} was not trained so; this is the nearest run.)")
        return " ".join(told)

    def code(self, state: ResultsState) -> str:
        row = _run(state)
        figures = {name: _module(picture) for name, picture in self.pictures.items()}
        return "\n".join(
            [
                "from etgp_viz import experiments",
                "from etgp_viz.experiments import close_up",
                f"from etgp_viz.figures import {', '.join(sorted(set(figures.values())))}",
                "",
                "table = experiments.reference()",
                f"detail = experiments.reference_detail({row['id']!r})  # {_name(row)}",
                "records = {",
                "    'scores': experiments.panel(",
                f"        table, {state.dataset!r}, {state.metric!r},",
                f"        num_inducing={state.num_inducing}, rivals={state.rivals!r}, "
                f"bars={state.bars},",
                "    ),",
                "    'confusion': close_up.confusion(detail),",
                f"    'reliability': close_up.reliability_bins(detail, {row['inference']!r}),",
                "    'hardest': close_up.hardest(detail),",
                "    'elbo': close_up.elbo(detail),",
                "    'scale': close_up.lines(detail, 'scale'),",
                "    'offset': close_up.lines(detail, 'offset'),",
                "    'projection': close_up.projection(detail),",
                "}",
                "figures = {",
                *(f"    {name!r}: {module}," for name, module in figures.items()),
                "}",
                "for name, record in records.items():",
                "    figures[name].make(record).show()",
            ]
        )

    def print_figure(self) -> Any:
        return print_scores.draw([self._records["scores"]], _source())


def _module(picture: Any) -> str:
    return picture.__name__.rpartition(".")[2]


def _chosen(state: ResultsState) -> tuple[str, str, int, str, float]:
    return state.dataset, state.metric, state.num_inducing, state.rivals, state.bars


@lru_cache(maxsize=64)
def _panel(dataset: str, metric: str, num_inducing: int, rivals: str, bars: float) -> Panel:
    return experiments.panel(
        _table(), dataset, metric, num_inducing=num_inducing, rivals=rivals, bars=bars
    )


def _run(state: ResultsState) -> pd.Series:
    """The run to look at: the chosen model's, or the nearest that there is of the data set."""
    rows = _looks()[_looks()["dataset"] == state.dataset]
    model, sharing = experiments.MODELS[state.model]
    misses = pd.DataFrame(
        {
            "model": rows["model"] != model,
            "sharing": rows["sharing"] != sharing,
            "way": (rows["inference"] != state.way) & (rows["sharing"] == ""),
            "count": (rows["num_inducing"] - (state.num_inducing or MOST)).abs(),
        }
    )
    return rows.loc[misses.sort_values(list(misses), kind="stable").index[0]]


@lru_cache(maxsize=16)
def _closely(run_id: str, inference: str) -> dict[str, Any]:
    """The records of one run, in the order of drawing."""
    detail = experiments.reference_detail(run_id)
    return {
        "confusion": close_up.confusion(detail),
        "reliability": close_up.reliability_bins(detail, inference),
        "hardest": close_up.hardest(detail),
        "elbo": close_up.elbo(detail),
        **{part: close_up.lines(detail, part) for part in PARTS},
        "projection": close_up.projection(detail),
    }


def _name(row: pd.Series) -> str:
    model = "-".join(filter(None, (row["model"], row["sharing"])))
    return f"{MODELS[model]} {row['inference'].upper()}" if not row["sharing"] else MODELS[model]


def _wanted(state: ResultsState) -> str:
    is_flow = not experiments.MODELS[state.model][1]
    return f"{MODELS[state.model]} {state.way.upper()}" if is_flow else MODELS[state.model]


def _told(panel: Panel) -> str:
    """The best mark and who else is near it, in a sentence."""
    best = panel.best()
    if best is None:
        return f"Nothing of this kind was measured on {panel.dataset}: choose another M or score."
    label, way, value = best
    seeds = sorted({int(n) for series in panel.series for n in series.seeds})
    over = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    digits = METRICS[panel.metric].digits
    told = f"Best on {panel.dataset}: {label} ({WAYS[way]}) with {value:.{digits}f}."
    if panel.metric == "race":
        return f"{told} All took their steps in turns, on equal batches."
    return (
        f"{told} Configurations were picked on {panel.selected_on} rows; means over {over} "
        f"seed{'s' * (over != '1')}."
    )


def _source() -> str:
    made = _table().attrs
    return f"{made['command']} on {made['machine']['processor']}"
