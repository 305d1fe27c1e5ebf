"""Error that the draws of a Monte Carlo prediction leave.

An SVGP with one shared RBF kernel is trained for a moment, and predicts the test rows with the 100
draws of all predictions here (GPflow's number), with 1000, and with 100 000, which count as the
truth.

    python -m benchmarks.draws digits vowel
"""

import sys
from typing import Any

import numpy as np

from etgp_viz import build, datasets, fit
from etgp_viz.rivals.names import PREDICTIVE_DRAWS

DRAWS = (PREDICTIVE_DRAWS, 1000)
MANY = 100_000
STEPS, BATCH, M = 150, 500, 50


def trained(data: datasets.Dataset) -> Any:
    """An SVGP after a few steps."""
    X, _ = data.train
    options = {"sharing": "shared", "batched": True, "num_monte_carlo": 20}
    model = build("svgp-rbf", X, data.num_classes, num_inducing=M, **options)
    size = min(BATCH, len(X))
    epochs = STEPS * size // len(X)
    fit(model, data.train, epochs=epochs, batch_size=size, learning_rate=0.02, progress=False)
    return model


def nats(model: Any, data: datasets.Dataset, draws: int) -> float:
    """Mean log-likelihood of the test rows, predicted with so many draws."""
    model.num_predictive = draws
    return float(np.mean(model.predict_log_density(data.part("test"))))


def main(names: list[str]) -> None:
    """Print a line for each data set and number of draws."""
    titles = ("", "draws", "nats", "error", "standard error of p", "largest")
    print("{:10}{:>8}{:>10}{:>10}{:>22}{:>10}".format(*titles))
    for name in names:
        data = datasets.load(name, validation=0.1, seed=0)
        model = trained(data)
        truth = nats(model, data, MANY)
        print(f"{name:10}{MANY:8}{truth:10.4f}")
        for draws in DRAWS:
            value = nats(model, data, draws)
            error = model.prediction_error(data.part("test")[0]).numpy()
            rms = np.sqrt(np.mean(error**2))
            print(
                f"{'':10}{draws:8}{value:10.4f}{value - truth:10.4f}{rms:22.4f}{error.max():10.4f}"
            )


if __name__ == "__main__":
    main(sys.argv[1:] or ["digits"])
