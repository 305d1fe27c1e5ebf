"""Speed and memory of the models: ratios of one training step and of one prediction.

A training step is the one that `etgp_viz.fit` takes. Models take turns round by round, so that
whatever else the machine does hits all alike; the first call (tracing and compiling) is timed
apart. N = 1000, D = 10, M = 100, Q = 20. ETGP's network has ``precision="float32"``: in training
the sum over nodes is in float32, with 8 nodes for rows that are smooth, as all are at the start.
The rows "20 nodes" have 20 for every row, the rows "float64" the default precision.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from etgp_viz.backend import gpflow
from etgp_viz.rivals.build_model import build
from etgp_viz.rivals.names import PREDICTIVE_DRAWS
from etgp_viz.timing.contestant_models import training_step

N, D, M, C = 1000, 10, 100, 153
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
X_NEW = RNG.normal(size=(10_000, D))

Action = Callable[[], object]


def labels(num_classes: int) -> np.ndarray:
    """Labels that use every class, if there are rows enough."""
    return RNG.permutation(np.arange(N) % num_classes)[:, None]


def etgp(flow: str, num_classes: int = C, **options: object) -> gpflow.models.GPModel:
    """ETGP with the flow LINEAR, SAL(3) or TANH(4)."""
    options = {"precision": "float32", **options}
    return build(f"etgp-{flow}", X, num_classes, num_inducing=M, **options)


def all_nodes(model: gpflow.models.GPModel) -> gpflow.models.GPModel:
    """The same model with Q nodes for every row."""
    model.quadrature_tolerance = None
    return model


def svgp(num_classes: int = C, **options: object) -> gpflow.models.GPModel:
    """SVGP with RBF kernels, one latent process per class."""
    model = build("svgp-rbf", X, num_classes, num_inducing=M, **options)
    model.precision = "float32"  # as ETGP's
    return model


def single_output_svgp() -> gpflow.models.GPModel:
    """GPflow's own SVGP with one output: the GP work that ETGP shares among all classes."""
    kernel = gpflow.kernels.SquaredExponential(lengthscales=np.full(D, 2.0))
    return gpflow.models.SVGP(kernel, gpflow.likelihoods.Bernoulli(), X[:M].copy(), num_data=N)


def race(rivals: dict[str, Action], rounds: int) -> dict[str, np.ndarray]:
    """Seconds of each call, [rounds] for each rival; prints first calls, medians and quartiles."""
    first = {}
    for name, action in rivals.items():
        start = time.perf_counter()
        action()
        first[name] = time.perf_counter() - start
        action()
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, action in rivals.items():
            start = time.perf_counter()
            action()
            seconds[name].append(time.perf_counter() - start)
    print(f"{'':34}{'first call':>12}{'median':>12}   quartiles")
    for name, times in seconds.items():
        low, median, high = np.percentile(np.multiply(times, 1e3), [25, 50, 75])
        print(f"{name:34}{first[name]:10.1f} s{median:9.1f} ms   {low:.1f} to {high:.1f} ms")
    return {name: np.array(times) for name, times in seconds.items()}


def ratio(seconds: dict[str, np.ndarray], slow: str, fast: str, goal: str) -> None:
    """Print the median over rounds of slow/fast, with its quartiles."""
    low, median, high = np.percentile(seconds[slow] / seconds[fast], [25, 50, 75])
    print(f"{slow + ' / ' + fast:64}{median:7.1f}   ({low:.1f} to {high:.1f})   goal {goal}")


def peak_memory_of_one_step(flow: str, num_classes: int) -> None:
    """Peak resident memory (MiB) of a process that takes steps; runs in a child process."""
    step = training_step(etgp(flow, num_classes), (X, labels(num_classes)))
    for _ in range(3):
        step()
    # Not ru_maxrss: a child starts out with its parent's.
    status = Path("/proc/self/status").read_text()
    print(json.dumps(int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024))


def main() -> None:
    """Print every figure."""
    print(f"One training step, N = {N}, D = {D}, M = {M}, Q = 20; C = {C} unless it is named")
    linear = etgp("linear")
    batched, shared = svgp(batched=True), svgp(sharing="shared", batched=True)
    robust_max = build("svgp-robustmax", X, C, num_inducing=M, sharing="shared", batched=True)
    binary = RNG.integers(0, 2, size=(N, 1)).astype(float)
    steps = race(
        {
            "single-output SVGP": training_step(single_output_svgp(), (X, binary)),
            "ETGP LINEAR, C = 2": training_step(etgp("linear", 2), (X, labels(2))),
            "ETGP LINEAR": training_step(linear, (X, labels(C))),
            "ETGP TANH(4)": training_step(etgp("tanh"), (X, labels(C))),
            "ETGP SAL(3)": training_step(etgp("sal"), (X, labels(C))),
            "ETGP TANH(4), 20 nodes": training_step(all_nodes(etgp("tanh")), (X, labels(C))),
            "ETGP SAL(3), 20 nodes": training_step(all_nodes(etgp("sal")), (X, labels(C))),
            "ETGP LINEAR, float64": training_step(
                etgp("linear", precision="float64"), (X, labels(C))
            ),
            "ETGP TANH(4), float64": training_step(
                etgp("tanh", precision="float64"), (X, labels(C))
            ),
            "ETGP SAL(3), float64": training_step(etgp("sal", precision="float64"), (X, labels(C))),
            "ETGP LINEAR, C = 1000": training_step(etgp("linear", 1000), (X, labels(1000))),
            "ETGP LINEAR, C = 10000": training_step(etgp("linear", 10_000), (X, labels(10_000))),
            "SVGP batched": training_step(batched, (X, labels(C))),
            "SVGP batched shared": training_step(shared, (X, labels(C))),
            "SVGP robust-max": training_step(robust_max, (X, labels(C))),
            "SVGP separate (GPflow)": training_step(svgp(), (X, labels(C))),
        },
        rounds=15,
    )
    ratio(steps, "ETGP LINEAR", "single-output SVGP", "≤ 1.3")
    ratio(steps, "ETGP TANH(4)", "single-output SVGP", "≤ 2.5")
    ratio(steps, "ETGP SAL(3)", "single-output SVGP", "≤ 4")
    ratio(steps, "ETGP TANH(4), 20 nodes", "single-output SVGP", "none")
    ratio(steps, "ETGP SAL(3), 20 nodes", "single-output SVGP", "none")
    for flow in ("LINEAR", "TANH(4)", "SAL(3)"):
        ratio(steps, f"ETGP {flow}, float64", "single-output SVGP", "none")
    for rival in ("SVGP batched", "SVGP batched shared"):
        ratio(steps, rival, "ETGP LINEAR", "≥ 60")
        ratio(steps, rival, "ETGP TANH(4)", "≥ 30")
        ratio(steps, rival, "ETGP SAL(3)", "≥ 20")
    ratio(steps, "SVGP robust-max", "ETGP LINEAR", "> 1")
    ratio(steps, "SVGP separate (GPflow)", "ETGP LINEAR", "≥ 60")
    ratio(steps, "ETGP LINEAR", "ETGP LINEAR, C = 2", "≤ 2.5")
    ratio(steps, "ETGP LINEAR, C = 1000", "ETGP LINEAR", f"< {1000 / C:.1f}")
    ratio(steps, "ETGP LINEAR, C = 10000", "ETGP LINEAR", f"< {10_000 / C:.1f}")

    batched.num_predictive = PREDICTIVE_DRAWS
    error = np.max(batched.prediction_error(X_NEW))
    print(f"\nPrediction of {len(X_NEW)} rows, C = {C}; SVGPs with {PREDICTIVE_DRAWS} draws, which")
    print(f"leave a standard error of up to {error:.1g} in a class probability")
    predictions = race(
        {
            "ETGP LINEAR, PE": lambda: linear.predict_y(X_NEW)[0].numpy(),
            "ETGP LINEAR, BA 20 draws": lambda: linear.predict_y(X_NEW, samples=20)[0].numpy(),
            "SVGP batched": lambda: batched.predict_y(X_NEW)[0].numpy(),
        },
        rounds=5,
    )
    ratio(predictions, "SVGP batched", "ETGP LINEAR, PE", "≥ 10")
    ratio(predictions, "ETGP LINEAR, BA 20 draws", "ETGP LINEAR, PE", "≤ 6")

    print("\nPeak resident memory of a process that takes steps")
    for flow, num_classes in (("linear", 1000), ("tanh", 1000), ("linear", 10_000)):
        child = [sys.executable, "-m", "benchmarks.core", "memory", flow, str(num_classes)]
        answer = subprocess.run(child, capture_output=True, text=True, check=True).stdout
        mebibytes = json.loads(answer.splitlines()[-1])
        name = f"ETGP {flow.upper()}, C = {num_classes}"
        print(f"{name:64}{mebibytes / 1024:7.2f} GiB   goal ≤ 4")


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        peak_memory_of_one_step(sys.argv[2], int(sys.argv[3]))
    else:
        main()
