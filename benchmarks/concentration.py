"""Whether the flow parameters of an ETGP grow surer with N, for each source of parameters.

On the same toy with 100, 1000 and 10 000 rows: the dropout rate (fixed or learnt), the standard
deviation of the logits over draws of the parameters, among the data and far away, and the mean log
density of new rows. All models take the same number of Adam steps on up to 500 rows each, so that
the largest N sees each row least often. The environment variables STEPS and SIZES change both.
"""

import os

import numpy as np

from etgp_viz import build, datasets, fit
from etgp_viz.records.far_away import concentrate
from etgp_viz.rivals.names import PARAMETERS

STEPS = int(os.environ.get("STEPS", "3000"))
SIZES = tuple(map(int, os.environ.get("SIZES", "100,1000,10000").split(",")))
NOISE, BATCH, SEEDS = 0.3, 500, (0, 1, 2)
NEAR, FAR = np.linspace(-3.0, 3.0, 61)[:, None], np.array([[-30.0], [30.0]])
LINE = "{:11} N = {:6d}  seed {}  rate {:.3f}  sd of logits {:.3f} near, {:.3f} far  {:.4f} nats"


def trained(parameters: str, num_data: int, seed: int):
    """An ETGP LINEAR with one source of parameters, trained on one toy."""
    toy = datasets.toys.waves(num_data, noise=NOISE, seed=seed)
    options = {"num_inducing": 15, "precision": "float32", "seed": seed}
    model = build("etgp-linear", toy.X, 3, parameters=parameters, **options)
    batch = min(num_data, BATCH)
    epochs = STEPS * batch // num_data
    how = {"batch_size": batch, "learning_rate": 0.02, "half_life": epochs / 6, "progress": False}
    fit(model, (toy.X, toy.Y), epochs=epochs, seed=seed, **how)
    return model


def main() -> None:
    """Print a line for each source, N and seed."""
    new = datasets.toys.waves(2000, noise=NOISE, seed=1000)
    for parameters in PARAMETERS:
        for num_data in SIZES:
            for seed in SEEDS:
                models = {parameters: {num_data: trained(parameters, num_data, seed)}}
                near, far = (concentrate(models, X) for X in (NEAR, FAR))
                nats = models[parameters][num_data].predict_log_density((new.X, new.Y), 100)
                numbers = near.rates.item(), near.spread.item(), far.spread.item()
                print(LINE.format(parameters, num_data, seed, *numbers, np.mean(nats)), flush=True)


if __name__ == "__main__":
    main()
