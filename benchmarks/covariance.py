"""Time and memory of ``predict_f(full_cov=True)``, the posterior covariance between inputs.

N = 500 inputs, C = 10 classes, D = 2, M = 50; the flows are those of a random network. Each case
runs in a process of its own. Its memory is what it needs on top of `predict_f` without `full_cov`.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from etgp_viz.backend import gpflow
from etgp_viz.core import flows
from etgp_viz.core.model import ETGP
from etgp_viz.records import prior

N, C, D, M = 500, 10, 2, 50
FLOWS = {"LINEAR": flows.Linear(), "SAL": flows.SAL(), "TANH": flows.Tanh()}
CASES = {
    "[C, N, N]": {},
    "[C, N, N], 10 draws": {"samples": 10},
    "[N, C, N, C]": {"full_output_cov": True},
}


def peak_memory() -> float:
    """Largest resident memory of this process so far, in MiB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def measure(flow: str, case: str) -> None:
    """Print time and memory of one case."""
    X = np.random.default_rng(0).normal(size=(N, D))
    network = prior.random_network(FLOWS[flow], C, num_inputs=D, dropout=0.25)
    model = ETGP(gpflow.kernels.SquaredExponential(), network, X[:M].copy())
    model.predict_f(X)
    before, start = peak_memory(), time.perf_counter()
    model.predict_f(X, full_cov=True, **CASES[case])
    seconds = time.perf_counter() - start
    print(f"{flow:8}{case:22}{seconds:8.1f} s{peak_memory() - before:8.0f} MiB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(*sys.argv[1:])
    else:
        print(f"predict_f(full_cov=True), N = {N}, C = {C}: first call, memory on top")
        for case in CASES:
            for flow in FLOWS:
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.covariance", flow, case], check=True
                )
