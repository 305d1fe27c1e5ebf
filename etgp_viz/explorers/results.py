"""The paper's experiments: scores of all models, and one run in detail."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from etgp_viz.experiments import Collection
from etgp_viz.experiments.settings import ALL_MODELS, describe_configuration, short_name
from etgp_viz.explorers import tours
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, controlled
from etgp_viz.figures import results as figures
from etgp_viz.figures.plotting import signed
from etgp_viz.figures.print import results as print_results
from etgp_viz.records.results import METRICS, RIVALS, WAYS, Panel
from etgp_viz.rivals import names

SCORES = {
    "accuracy": "accuracy",
    "log_likelihood": "log-likelihood",
    "ece": "calibration error",
    "latent": "what f₀ is worth",
    "training": "time per epoch",
    "fit": "training time",
    "race": "time, in turns",
    "prediction": "prediction time",
    "memory": "memory",
}


def _state_of(collection: Collection) -> type:
    """The class of states of an explorer of these experiments, which offers what they contain."""
    datasets = {name: short_name(name) for name in collection.datasets}
    counts = {M: f"{M}" for M in collection.counts}
    has_extended = any(name in names.EXTENDED for name in collection.models)
    groups = {
        name: f"{name} kernels" if "stationary" in name else name
        for name in RIVALS
        if name != "extensions" or has_extended
    }
    ways = {"pe": "point estimate", "ba": "Bayesian average"}

    @dataclass(frozen=True)
    class ResultsState:
        """The values of the controls: which scores are compared, which run is shown in detail."""

        dataset: str = controlled(
            _default("digits", datasets), Choice("data set", datasets, group="Compare")
        )
        metric: str = controlled("accuracy", Choice("score", SCORES, group="Compare"))
        num_inducing: int = controlled(
            collection.counts[0],
            Choice("inducing points M", {**counts, 0: "all, row by row"}, group="Compare"),
        )
        rivals: str = controlled("all", Choice("rivals", groups, group="Compare"))
        bars: float = controlled(1.0, Number(
            "error bars (in SE)", 0.0, 3.0, 0.5, group="Compare", effect="longer error bars"
        ))  # fmt: skip
        model: str = controlled(
            _default("etgp-tanh", collection.models),
            Choice("model", collection.models, group="One run"),
        )
        way: str = controlled("pe", Choice(
            "prediction", ways, group="One run", when=lambda state: _predicts_both_ways(state.model)
        ))  # fmt: skip

    return ResultsState


def _predicts_both_ways(model: str) -> bool:
    """Whether a model has a point estimate and a Bayesian average."""
    return names.KINDS[ALL_MODELS[model][0]].has_bayesian_average


def _default(preferred: str, options: Mapping[str, str]) -> str:
    return preferred if preferred in options else next(iter(options))


def _presets_of(collection: Collection) -> dict[str, Preset]:
    """The presets whose data set and model these experiments contain."""
    return {
        name: preset
        for name, preset in PRESETS.items()
        if preset.values.get("dataset", collection.datasets[0]) in collection.datasets
        and preset.values.get("model", next(iter(collection.models))) in collection.models
    }


PRESETS = {
    "Guided tour": tours.RESULTS,
    "The paper's first figure": Preset(
        "Accuracy of ETGP and of rivals with stationary kernels. Compare the circles of LINEAR and "
        "TANH with the squares of RBF and RBFCORR, and see what sharing a kernel (crosses) costs. "
        "Then go through the data sets.",
        {"dataset": "avila", "rivals": "stationary"},
    ),
    "Non-stationary rivals": Preset(
        "ETGP is non-stationary because its flows depend on x; ARCCOS and NNET are because of "
        "their kernels. Which of them has the better log-likelihood?",
        {"rivals": "non-stationary", "metric": "log_likelihood"},
    ),
    "New speakers": Preset(
        "The test rows of vowel come from speakers who are not in the training rows. Is the most "
        "flexible model still the best? Look at the reliability diagram: which models are "
        "overconfident?",
        {"dataset": "vowel", "metric": "log_likelihood"},
    ),
    "PE or BA": Preset(
        "An ETGP or a network predicts with dropout off (circles) or averages over draws of it "
        "(open diamonds), in each case with the network that was chosen for it on validation rows. "
        "Compare the log-likelihoods. In the figures of one run, the way to predict changes and "
        "the network stays: compare the two reliability diagrams.",
        {"dataset": "vowel", "metric": "log_likelihood", "way": "ba"},
    ),
    "Does the Gaussian process contribute?": Preset(
        "NETWORK is an ETGP's network without its Gaussian process: same layers, dropout, weight "
        "decay and budget. What an ETGP gains over it comes from the process. Compare also what "
        "people would pick off the shelf, LOGISTIC and BOOSTING, and choose the score *what f₀ is "
        "worth*.",
        {"rivals": "beyond the paper", "metric": "log_likelihood"},
    ),
    "Honest, or by chance?": Preset(
        "An honest model does not have a calibration error of 0: by chance, some bins are right "
        "too often and others too rarely. The grey lines show what each model would score on "
        "average if its probabilities were exactly right. Which models lie clearly above theirs?",
        {"metric": "ece"},
    ),
    "Fewer inducing points": Preset(
        "The same models with fewer and fewer inducing points. Where does a smaller M cost "
        "accuracy, and where does it help?",
        {"dataset": "vowel", "num_inducing": 0},
    ),
    "Time": Preset(
        "Seconds per epoch, measured in turns on equal batches, on a logarithmic axis: equal "
        "distances are equal ratios. Open marks are GPflow's own SVGP, filled marks batched ones.",
        {"dataset": "avila", "metric": "race"},
    ),
    "Digits that nobody can read": Preset(
        "The hardest digits of the test set, and what the model took them for. Could you have read "
        "them?",
        {"dataset": "digits", "model": "etgp-tanh"},
        "Errors",
    ),
}


class ResultsExplorer(Explorer):
    """Compare accuracy, log-likelihood, calibration and time of ETGP and its rivals on real data.

    The first figure has a mark for every model, laid out as in the paper's figures: mean and
    standard error over seeds. The others show one run in detail: its confusions, calibration
    and hardest rows, its ELBO, its functions along a line and its inducing points. The results come
    with the package; ``ResultsExplorer.of("results.csv")`` shows those that ``etgp-viz experiment``
    wrote for you.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `State`

    Examples
    --------
    >>> explorer = ResultsExplorer(dataset="vowel", metric="log_likelihood")
    >>> explorer.title(explorer.state)
    'Mean test log-likelihood (nats) on vowel'
    """

    collection: ClassVar[Collection] = Collection()
    State = _state_of(collection)
    presets: ClassVar = _presets_of(collection)
    pictures: ClassVar = {
        "scores": figures.scores,
        "confusion": figures.confusion,
        "reliability": figures.reliability,
        "hardest": figures.hardest,
        "elbo": figures.training_curve,
        "scale": figures.class_lines,
        "offset": figures.class_lines,
        "projection": figures.projection,
    }
    full_width = ("scores",)
    views: ClassVar = {
        "Scores": ("scores",),
        "Errors": ("confusion hardest",),
        "Calibration": ("reliability",),
        "Training": ("elbo projection",),
        "Flows": ("scale offset",),
    }
    wide = (
        "scores scores confusion hardest",
        "scores scores reliability hardest",
        "elbo scale offset projection",
    )
    main = ("dataset", "metric")
    handout = ("metric",)

    @classmethod
    def of(cls, path: str | Path, **values: Any) -> "ResultsExplorer":
        """An explorer of your own experiments.

        Parameters
        ----------
        path : the result file of ``etgp-viz experiment``, with its folder of details beside it
        values : where the controls start

        Examples
        --------
        >>> import tempfile
        >>> from etgp_viz import experiments
        >>> path, runs = Path(tempfile.mkdtemp(), "mine.csv"), [experiments.Run("iris", "logistic")]
        >>> _ = experiments.carry_out(runs, path, workers=0, progress=False)
        >>> explorer = ResultsExplorer.of(path)
        >>> explorer.title(explorer.state)
        'Test accuracy on iris'
        """
        own = Collection(path)
        names = {"collection": own, "State": _state_of(own), "presets": _presets_of(own)}
        return type(cls.__name__, (cls,), names)(**values)

    def compute_records(self, state: Any) -> Iterator[tuple[str, Any]]:
        yield "scores", self._panel(state)
        row = self._run(state)
        yield from self.collection.close_up_records(row["id"], row["inference"]).items()

    def title(self, state: Any) -> str:
        return f"{METRICS[state.metric].words.capitalize()} on {short_name(state.dataset)}"

    def describe(self, state: Any) -> str:
        row = self._run(state)
        true, predicted, count = self._records["confusion"].worst()
        name, wanted = self.collection.name(row), self.collection.models[state.model]
        if _predicts_both_ways(state.model):
            wanted += f" {state.way.upper()}"
        sentences = [
            _describe_best(self._panel(state)),
            f"The run in detail: {name}{_inducing(row)}, seed {row['seed']}, test accuracy "
            f"{row['test_accuracy']:.3f}, log-likelihood {signed(row['test_log_likelihood'], 3)}, "
            f"ECE {row['test_ece']:.3f}.",
            *_describe_training(row),
        ]
        if count:
            sentences.append(
                f"Its point estimate most often takes class {true} for {predicted}: "
                f"{count} row{'s' * (count != 1)}."
            )
        counts = {state.num_inducing, row["num_inducing"]} - {0}
        if name != wanted or len(counts) > 1:
            sentences.append(f"({wanted} was not trained with this setting; this run is nearest.)")
        return " ".join(sentences)

    def code(self, state: Any) -> str:
        row = self._run(state)
        table, detail = self.collection.code(row["id"])
        names = {name: _name(picture) for name, picture in self.pictures.items()}
        return "\n".join(
            [
                "from etgp_viz import experiments",
                "from etgp_viz.records import close_up",
                f"from etgp_viz.figures import {', '.join(sorted(set(names.values())))}",
                "",
                f"table = {table}",
                f"detail = {detail}  # {self.collection.name(row)}",
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
                *(f"    {name!r}: {module}," for name, module in names.items()),
                "}",
                "for name, record in records.items():",
                "    figures[name].make(record).show()",
            ]
        )

    def print_figure(self) -> Any:
        made = self.collection.table.attrs
        source = f"{made['command']} on {made['machine']['processor']}"
        return print_results.draw([self._records["scores"]], source)

    def _panel(self, state: Any) -> Panel:
        chosen = (state.dataset, state.metric, state.num_inducing, state.rivals, state.bars)
        return self.collection.panel(*chosen)

    def _run(self, state: Any) -> pd.Series:
        M = state.num_inducing or self.collection.counts[0]
        return self.collection.run(state.dataset, state.model, state.way, M)


def _name(picture: Any) -> str:
    """The name under which `etgp_viz.figures` offers a picture."""
    return next(name for name in figures.__all__ if getattr(figures, name) is picture)


def _inducing(row: pd.Series) -> str:
    return f", M = {row['num_inducing']}" if row["num_inducing"] else ""


def _describe_training(row: pd.Series) -> Iterator[str]:
    """Sentences on the configuration, the training and the predictions of a run.

    A table of version 0.1 has less to say.
    """
    sentence = f"Configuration: {describe_configuration(row)}; trained"
    sentence += "" if pd.isna(row["epochs"]) else f" for {row['epochs']:.0f} passes"
    sentence += f" in {row['fit_seconds']:.1f} s"
    if pd.notna(row["max_seconds"]):
        sentence += f" (limit {row['max_seconds']:g} s after the first pass)"
    yield f"{sentence}, stopped: {row['stopped']}." if row["stopped"] else f"{sentence}."
    if pd.notna(row["latent_lost_at_zero"]):
        yield (
            f"With f₀ set to 0 it loses {row['latent_lost_at_zero']:.3f} nats per test row, with "
            f"f₀ set to its mean {row['latent_lost_at_mean']:.3f}."
        )
    if row["predictive_draws"] > 0:
        yield (
            f"It predicts with {row['predictive_draws']:.0f} draws, which leave a standard error "
            f"of {row['prediction_error']:.2g} in a probability."
        )


def _describe_best(panel: Panel) -> str:
    """A sentence about the best mark, and how its configuration was chosen."""
    best, dataset = panel.best(), short_name(panel.dataset)
    if best is None:
        return f"This score was not measured on {dataset}: choose another M or score."
    label, way, value = best
    seeds = sorted({int(n) for series in panel.series for n in series.seeds})
    over = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    digits = METRICS[panel.metric].digits
    first = "Best" if METRICS[panel.metric].means == "is better" else "Most"
    sentence = f"{first} on {dataset}: {label} ({WAYS[way]}) with {value:.{digits}f}."
    if panel.metric == "race":
        return f"{sentence} All models took their steps in turns, on equal batches."
    return (
        f"{sentence} Configurations were chosen on {panel.selected_on} rows; means over {over} "
        f"seed{'s' * (over != '1')}."
    )
