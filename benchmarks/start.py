"""Two starts of an ETGP compared: a draw of f0 from its prior, and the paper's.

Both are trained alike, by the laptop preset's first network of each data set and until the
validation rows show no improvement. Everything printed is about validation rows. The last columns
are what f0 is worth: nats per row that are lost when it is set to 0.
"""

import os

from etgp_viz import datasets
from etgp_viz.experiments.presets import LAPTOP
from etgp_viz.experiments.run import train
from etgp_viz.experiments.settings import Run
from etgp_viz.rivals.names import ETGPS, MODELS

DATASETS = ("digits", "vowel", "leaves100", "avila")
STARTS = ("draw", "paper")
SEEDS = (0, 1, 2)


def scores(dataset: str, model: str, seed: int, start: str) -> tuple[float, float, float, str]:
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
        **recipe.tries(MODELS[model])[0],
    )
    data = datasets.load(dataset, validation=recipe.validation, seed=seed)
    trained = train(run, data)
    X, Y = data.part("validation")
    accuracy = (trained.probabilities(X).argmax(axis=1) == Y[:, 0]).mean()
    latent = trained.history.latent
    return accuracy, latent.log_likelihood, latent.lost_at_zero, trained.history.stopped


def main() -> None:
    """Print a line for each data set, flow and start: means over seeds, then seed by seed."""
    print("validation rows: accuracy, nats per row, nats lost at f0 = 0, why training stopped")
    chosen = tuple(filter(None, os.environ.get("DATASETS", "").split(","))) or DATASETS
    for dataset in chosen:
        for model in ETGPS:
            totals: dict[str, list] = {start: [] for start in STARTS}
            for seed in SEEDS:
                for start in STARTS:  # in turns
                    totals[start].append(scores(dataset, model, seed, start))
            for start, rows in totals.items():
                accuracy, nats, lost = (
                    sum(part) / len(SEEDS) for part in list(zip(*rows, strict=True))[:3]
                )
                print(
                    f"{dataset:10} {MODELS[model].label:12} {start:6} accuracy {accuracy:.3f}  "
                    f"nats {nats:7.3f}  lost {lost:6.3f}  by seed "
                    + "  ".join(f"{r[1]:.3f}/{r[2]:.3f} ({r[3]})" for r in rows),
                    flush=True,
                )


if __name__ == "__main__":
    main()
