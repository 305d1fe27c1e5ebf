"""Cost of several latents: one training step and one prediction, relative to those of an ETGP.

A training step is the one that `etgp_viz.fit` takes. Models take turns round by round, so that
whatever else the machine does hits all alike. N = 1000, D = 10, M = 100, C = 10, LINEAR flows, all
in float64. Nodes are the defaults: 20 for one latent, 12² for two, 8³ for three, and 256 Sobol
points for five. ETGP itself checks the error of its rule, which several latents do not.
``python -m benchmarks.latents 2`` times two latents alone.
"""

import sys
from collections.abc import Callable

import numpy as np

from benchmarks.core import race
from etgp_viz.backend import gpflow
from etgp_viz.core import flows
from etgp_viz.extensions.mixed_flow import ConstantMixing, MixedFlow
from etgp_viz.extensions.several_latents import MixedETGP
from etgp_viz.rivals.build_model import build
from etgp_viz.timing.contestant_models import training_step

N, D, M, C = 1000, 10, 100, 10
LATENTS = tuple(map(int, sys.argv[1:])) or (1, 2, 3, 5)
RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(N, D)), RNG.normal(size=(2000, D))
Y = RNG.permutation(np.arange(N) % C)[:, None]


def mixed(latents: int, mixing: str) -> MixedETGP:
    """An ETGP with several latents, also with one, for which `build` would make a plain ETGP."""
    if latents > 1:
        return build("etgp-linear", X, C, num_inducing=M, latents=latents, mixing=mixing)
    network = ConstantMixing(D, C, MixedFlow(flows.Linear(), 1, mixing))
    kernel = gpflow.kernels.SquaredExponential(lengthscales=np.full(D, 2.0))
    return MixedETGP(kernel, network, X[:M].copy(), num_data=N)


def ratios(actions: dict[str, Callable[[], object]], rounds: int) -> None:
    """Print medians and quartiles over rounds of the time of each action, over that of ETGP."""
    seconds = race(actions, rounds)
    for name, times in seconds.items():
        low, median, high = np.percentile(times / seconds["ETGP"], [25, 50, 75])
        print(f"{name + ' / ETGP':34}{median:7.2f}   ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    models = {"ETGP": build("etgp-linear", X, C, num_inducing=M)}
    for mixing in ("before", "after"):
        models |= {f"L = {latents}, mixed {mixing}": mixed(latents, mixing) for latents in LATENTS}
    print(f"One training step, N = {N}, D = {D}, M = {M}, C = {C}")
    ratios({name: training_step(model, (X, Y)) for name, model in models.items()}, rounds=15)
    print(f"\nPrediction of {len(X_NEW)} rows")
    predictions = {
        name: lambda model=model: model.predict_y(X_NEW)[0].numpy()
        for name, model in models.items()
        if "after" not in name
    }
    ratios(predictions, rounds=5)
