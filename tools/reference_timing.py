"""Make the reference race that comes with the package; best on a machine that does nothing else.

    .venv/bin/python tools/reference_timing.py           # more than an hour
    .venv/bin/python tools/reference_timing.py --coarse  # fewer sizes and rounds

A race that was stopped is resumed. ``--folder`` writes to another folder.
"""

import argparse
from pathlib import Path

from etgp_viz import timing

ALL = [model for model in timing.MODELS if model != "gpytorch-batched"]
FEW = ["etgp-linear", "svgp-shared", "svgp-separate", "svgp-batched", "svgp-batched-shared"]
# File → models and sizes, in full and coarse.
PANELS = {
    "timing_classes.csv": (
        ALL,
        {"classes": (2, 5, 10, 20, 50, 100, 153)},
        {"classes": (2, 5, 10, 20, 50)},
    ),
    "timing_num_inducing.csv": (
        FEW,
        {"classes": 20, "num_inducing": (20, 50, 100, 200)},
        {"classes": 20, "num_inducing": (20, 50, 100, 200)},
    ),
    "timing_num_data.csv": (
        FEW,
        {"classes": 20, "num_data": (250, 500, 1000, 2000, 4000)},
        {"classes": 20, "num_data": (250, 500, 1000, 2000)},
    ),
}


def main() -> None:
    """Run every panel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coarse", action="store_true", help="fewer sizes and rounds")
    parser.add_argument("--folder", type=Path, default=timing.REFERENCE)
    options = parser.parse_args()
    rounds = {"repeats": 6, "sessions": 2} if options.coarse else {"repeats": 20, "sessions": 3}
    for name, (models, full, coarse) in PANELS.items():
        out = options.folder / name
        sizes = coarse if options.coarse else full
        timing.sweep(models, **sizes, **rounds, budget=1200.0, out=out, resume=True)
        print(f"{out.name}:", *timing.describe(timing.read(out)), sep="\n")


if __name__ == "__main__":
    main()
