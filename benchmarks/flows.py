"""Speed of the flow zoo: one training step of an ETGP with each flow, beside TANH(4).

The step is that of `etgp_viz.fit`, with N = 1000, D = 10, M = 100, and 20 nodes for every row, so
that all flows have the same work to do. Flows take turns round by round, so that whatever else the
machine does hits all alike. A step also has work that does not depend on the flow (the Gaussian
process, the network, Adam), which brings the ratios closer to one where C is small.
"""

import numpy as np

from benchmarks.core import M, X, labels, race
from etgp_viz.rivals.build_model import build
from etgp_viz.rivals.names import ALL_FLOWS
from etgp_viz.timing.contestant_models import training_step

CLASSES, PRECISIONS, ROUNDS = (10, 100), ("float64", "float32"), 15


def main() -> None:
    """Print the ratio of each flow's step to TANH(4)'s."""
    for C in CLASSES:
        for precision in PRECISIONS:
            print(f"\nOne training step, C = {C}, {precision}")
            steps = {}
            for name in ALL_FLOWS:
                options = {"flow": name, "precision": precision, "quadrature_tolerance": None}
                model = build("etgp", X, C, num_inducing=M, **options)
                label = f"{name.upper()}, P = {model.network.flow.num_params}"
                steps[label] = training_step(model, (X, labels(C)))
            seconds = race(steps, ROUNDS)
            (tanh,) = (times for label, times in seconds.items() if label.startswith("TANH"))
            print(f"{'':34}{'ratio to TANH(4)':>20}   quartiles over rounds")
            for label, times in seconds.items():
                low, median, high = np.percentile(times / tanh, [25, 50, 75])
                print(f"{label:34}{median:20.2f}   {low:.2f} to {high:.2f}")


if __name__ == "__main__":
    main()
