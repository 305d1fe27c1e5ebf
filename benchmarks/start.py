"""Two starts of an ETGP compared: a draw of f0 from its prior, and the paper's.

Both are trained alike, with the laptop preset's network and learning rates of each data set and
until the validation rows show no improvement. Everything printed is about validation rows. The last
columns are what f0 is worth: nats per row that are lost when it is set to 0. The environment
variables DATASETS and MODELS choose some of them (``DATASETS=leaves100 MODELS=etgp-sal``).
"""

import os
from typing import Any

from etgp_viz import datasets
from etgp_viz.experiments.presets import LAPTOP
from etgp_viz.experiments.run import train
from etgp_viz.experiments.settings import Run
from etgp_viz.rivals.names import ETGPS, MODELS

DATASETS = ("digits", "vowel", "leaves100", "avila")
STARTS = ("draw", "paper")
SEEDS = (0, 1, 2)


def scores(
    dataset: str, model: str, settings: dict[str, Any], seed: int, start: str
) -> tuple[float, float, float, str]:
    """Accuracy, mean log-likelihood, what f0 is worth, and why training stopped."""
    recipe = LAPTOP.recipe(dataset)
    run = Run(
        *(dataset, model),
        seed=seed,
        start=start,
        steps=recipe.steps,
        batch_size=recipe.batch_size,
        patience=recipe.patience,
        max_seconds=recipe.max_seconds,
        validation=recipe.validation,
        final_rate=1.0,
        **settings,
    )
    data = datasets.load(dataset, validation=recipe.validation, seed=seed)
    trained = train(run, data)
    X, Y = data.part("validation")
    accuracy = (trained.probabilities(X).argmax(axis=1) == Y[:, 0]).mean()
    latent = trained.history.latent
    return accuracy, latent.log_likelihood, latent.lost_at_zero, trained.history.stopped


def chosen(variable: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names in an environment variable, or all of them."""
    return tuple(filter(None, os.environ.get(variable, "").split(","))) or names


def main() -> None:
    """Print a line for each data set, flow, rate and start: means over seeds, then each seed."""
    print("validation rows: accuracy, nats per row, nats lost at f0 = 0, why training stopped")
    for dataset in chosen("DATASETS", DATASETS):
        for model in chosen("MODELS", ETGPS):
            for settings in LAPTOP.recipe(dataset).tries(MODELS[model]):
                compare(dataset, model, settings)


def compare(dataset: str, model: str, settings: dict[str, Any]) -> None:
    """Train with both starts, in turns, and print a line for each."""
    totals: dict[str, list] = {start: [] for start in STARTS}
    for seed in SEEDS:
        for start in STARTS:
            totals[start].append(scores(dataset, model, settings, seed, start))
    for start, rows in totals.items():
        means = [sum(part) / len(SEEDS) for part in list(zip(*rows, strict=True))[:3]]
        print(
            f"{dataset:10} {MODELS[model].label:12} rate {settings['learning_rate']:<6g} {start:6}"
            " accuracy {:.3f}  nats {:7.3f}  lost {:6.3f}  by seed ".format(*means)
            + "  ".join(f"{r[1]:.3f}/{r[2]:.3f} ({r[3]})" for r in rows),
            flush=True,
        )


if __name__ == "__main__":
    main()
