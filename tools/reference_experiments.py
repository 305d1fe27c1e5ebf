"""Make the experiments that come with the package from the result file of a grid.

    .venv/bin/etgp-viz experiment --preset laptop --output laptop.csv
    .venv/bin/python tools/reference_experiments.py laptop.csv

The details of the runs are read from the folder beside the file. ``--folder`` writes to another
folder.
"""

import argparse
from pathlib import Path

from etgp_viz.experiments import results


def main() -> None:
    """Write both files and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="CSV file that `etgp-viz experiment` wrote")
    parser.add_argument("--folder", type=Path, default=results.FOLDER)
    options = parser.parse_args()
    for path in results.ship(options.results, options.folder):
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
