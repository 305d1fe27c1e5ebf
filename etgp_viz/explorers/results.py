"""The paper's experiments: scores of all models, and a closer look at one run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from etgp_viz.experiments import MODELS, Collection
from etgp_viz.experiments.settings import shown_name
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, shown
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
from etgp_viz.records.results import METRICS, RIVALS, WAYS, Panel

SCORES = {
    "accuracy": "accuracy",
    "log_likelihood": "log-likelihood",
    "ece": "calibration error",
    "training": "training time",
    "race": "time, in turns",
    "prediction": "prediction time",
    "memory": "memory",
}


def _state_of(found: Collection) -> type:
    """The state of an explorer of these experiments: its choices are what there is."""
    datasets = {name: shown_name(name) for name in found.datasets}
    counts = {M: f"{M}" for M in found.counts}
    kernels = {name: f"{name} kernels" for name in RIVALS}
    ways = {"pe": "point estimate", "ba": "Bayesian average"}

    @dataclass(frozen=True)
    class ResultsState:
        """Which scores are shown, and which run is looked at."""

        dataset: str = shown(
            _among("digits", datasets), Choice("data set", datasets, group="Compare")
        )
        metric: str = shown("accuracy", Choice("score", SCORES, group="Compare"))
        num_inducing: int = shown(
            found.counts[0],
            Choice("inducing points M", {**counts, 0: "all, row by row"}, group="Compare"),
        )
        rivals: str = shown("all", Choice("rivals", kernels, group="Compare"))
        bars: float = shown(
            1.0,
            Number("error bars (in SE)", 0.0, 3.0, 0.5, group="Compare", right="longer error bars"),
        )
        model: str = shown(
            _among("etgp-tanh", found.models), Choice("model", found.models, group="One run")
        )
        way: str = shown(
            "pe",
            Choice(
                "prediction",
                ways,
                group="One run",
                when=lambda state: state.model.startswith("etgp"),
            ),
        )

    return ResultsState


def _among(preferred: str, options: Mapping[str, str]) -> str:
    return preferred if preferred in options else next(iter(options))


def _presets_of(found: Collection) -> dict[str, Preset]:
    """The stories about data sets that there are."""
    return {
        name: preset
        for name, preset in STORIES.items()
        if preset.values.get("dataset", found.datasets[0]) in found.datasets
        and preset.values.get("model", next(iter(found.models))) in found.models
    }


STORIES = {
    "The paper's first figure": Preset(
        "Accuracy of ETGP beside stationary rivals. Compare the circles of LINEAR and TANH "
        "with the squares of RBF and RBFCORR, and see what sharing a kernel (crosses) costs. "
        "Then go through the data sets.",
        {"dataset": "avila", "rivals": "stationary"},
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
        {"dataset": "vowel", "metric": "log_likelihood"},
    ),
    "PE or BA": Preset(
        "An ETGP predicts with dropout off (circles) or averaged over draws of it (open diamonds), "
        "each time with the network that validation rows chose for it. Compare the "
        "log-likelihoods. Below, the prediction changes and the network stays: look at the "
        "reliability diagrams one after the other.",
        {"dataset": "vowel", "metric": "log_likelihood", "way": "ba"},
    ),
    "Fewer inducing points": Preset(
        "The same models with fewer and fewer inducing points. Where does a smaller M cost "
        "accuracy, and where does it help?",
        {"dataset": "vowel", "num_inducing": 0},
    ),
    "Time": Preset(
        "Seconds of an epoch, measured in turns on equal batches, on a logarithmic axis: equal "
        "distances are equal ratios. Open marks are GPflow's own SVGP, filled ones batched.",
        {"dataset": "avila", "metric": "race"},
    ),
    "Digits that nobody can read": Preset(
        "The hardest digits of the test set, beside what the model took them for. Would you "
        "have read them?",
        {"dataset": "digits", "model": "etgp-tanh"},
    ),
}


class ResultsExplorer(Explorer):
    """Accuracy, log-likelihood, calibration and time of ETGP and its rivals on real data.

    Above, a mark for every model, laid out as in the paper's figures: mean and standard error over
    seeds. Below, one run from close by. All of it was computed before, and comes with the package;
    ``ResultsExplorer.of("results.csv")`` shows what ``etgp-viz experiment`` wrote for you.
    """

    found: ClassVar[Collection] = Collection()
    State = _state_of(found)
    presets: ClassVar = _presets_of(found)
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

    @classmethod
    def of(cls, path: str | Path, **values: Any) -> "ResultsExplorer":
        """An explorer of a result file of your own.

        Parameters
        ----------
        path : what ``etgp-viz experiment`` wrote, with its folder of details beside it
        values : where the controls start
        """
        found = Collection(path)
        own = {"found": found, "State": _state_of(found), "presets": _presets_of(found)}
        return type(cls.__name__, (cls,), own)(**values)

    def numbers(self, state: Any) -> Iterator[tuple[str, Any]]:
        yield "scores", self._panel(state)
        row = self._run(state)
        yield from self.found.closely(row["id"], row["inference"]).items()

    def title(self, state: Any) -> str:
        return f"{METRICS[state.metric].words.capitalize()} on {shown_name(state.dataset)}"

    def words(self, state: Any) -> str:
        row = self._run(state)
        closely = self.found.closely(row["id"], row["inference"])
        true, said, count = closely["confusion"].worst()
        name, wanted = self.found.name(row), self._wanted(state)
        told = [
            _told(self._panel(state)),
            f"The run below: {name}, M = {row['num_inducing']}, seed {row['seed']}, test accuracy "
            f"{row['test_accuracy']:.3f}, log-likelihood {row['test_log_likelihood']:.3f}, "
            f"ECE {row['test_ece']:.3f}.",
        ]
        if count:
            told.append(
                f"Its point estimate most often takes class {true} for {said}: {count} rows."
            )
        if name != wanted or state.num_inducing not in (0, row["num_inducing"]):
            told.append(f"({wanted} was not trained so; this is the nearest run.)")
        return " ".join(told)

    def code(self, state: Any) -> str:
        row = self._run(state)
        table, detail = self.found.code(row["id"])
        figures = {name: _module(picture) for name, picture in self.pictures.items()}
        return "\n".join(
            [
                "from etgp_viz import experiments",
                "from etgp_viz.experiments import close_up",
                f"from etgp_viz.figures import {', '.join(sorted(set(figures.values())))}",
                "",
                f"table = {table}",
                f"detail = {detail}  # {self.found.name(row)}",
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
        made = self.found.table.attrs
        source = f"{made['command']} on {made['machine']['processor']}"
        return print_results.draw([self._records["scores"]], source)

    def _panel(self, state: Any) -> Panel:
        chosen = (state.dataset, state.metric, state.num_inducing, state.rivals, state.bars)
        return self.found.panel(*chosen)

    def _run(self, state: Any) -> pd.Series:
        M = state.num_inducing or self.found.counts[0]
        return self.found.run(state.dataset, state.model, state.way, M)

    def _wanted(self, state: Any) -> str:
        model = self.found.models[state.model]
        return model if MODELS[state.model][1] else f"{model} {state.way.upper()}"


def _module(picture: Any) -> str:
    return picture.__name__.rpartition(".")[2]


def _told(panel: Panel) -> str:
    """The best mark and who else is near it, in a sentence."""
    best, dataset = panel.best(), shown_name(panel.dataset)
    if best is None:
        return f"Nothing of this kind was measured on {dataset}: choose another M or score."
    label, way, value = best
    seeds = sorted({int(n) for series in panel.series for n in series.seeds})
    over = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    digits = METRICS[panel.metric].digits
    told = f"Best on {dataset}: {label} ({WAYS[way]}) with {value:.{digits}f}."
    if panel.metric == "race":
        return f"{told} All took their steps in turns, on equal batches."
    return (
        f"{told} Configurations were picked on {panel.selected_on} rows; means over {over} "
        f"seed{'s' * (over != '1')}."
    )
