"""Runs of the shipped table repeated with the code of today, and how far their scores move.

The runs are those of ETGP and of its network alone on the two data sets that train fastest, with
every seed and every configuration of the laptop preset. A difference is that of a run repeated with
its own seed and configuration; its mean is over all of them, with its standard error. A run that
reaches its limit in seconds depends on what else the machine does.

    python -m benchmarks.shipped               # digits and vowel
    python -m benchmarks.shipped leaves100     # other data sets
"""

import sys
import tempfile
from pathlib import Path

import pandas as pd

from etgp_viz import experiments

MODELS = ("etgp-linear", "etgp-tanh", "etgp-sal", "network")
SCORES = ("test_accuracy", "test_log_likelihood", "latent_lost_at_zero")


def repeated(datasets: list[str]) -> pd.DataFrame:
    """Old and new rows of each run, side by side."""
    runs = experiments.grid("laptop", datasets=datasets, models=MODELS)
    with tempfile.TemporaryDirectory() as folder:
        new = experiments.carry_out(runs, Path(folder, "repeated.csv"), command="benchmark")
    return experiments.reference().merge(new, on=["id", "inference"], suffixes=("", "_new"))


def main(datasets: list[str]) -> None:
    """Print a line for each data set, model and way to predict."""
    table = repeated(datasets)
    print(
        f"{len(table)} rows; mean of the shipped ones, and today's minus shipped ± standard error"
    )
    for key, rows in table.groupby(["dataset", "model", "inference"]):
        cells = []
        for score in SCORES:
            change = (rows[f"{score}_new"] - rows[score]).dropna()
            if len(change):
                error = change.std() / len(change) ** 0.5
                cells.append(f"{rows[score].mean():8.3f} {change.mean():+.3f} ± {error:.3f}")
        print(f"{' '.join(key):32}{len(rows):3} runs  " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["digits", "vowel"])
