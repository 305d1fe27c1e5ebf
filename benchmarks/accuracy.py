"""Accuracy against seconds: ETGP, its network alone and SVGPs, trained in turns in one process.

`make bench ARGS=accuracy`. Every model gets `TURN` seconds of training at a time until it has
reached the goal or used up its budget; only its training steps count, its first one, which
compiles, included. Networks, learning rates and batch size are the laptop preset's first choice.

    python -m benchmarks.accuracy avila 60
"""

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from etgp_viz import build, datasets
from etgp_viz.backend import tf
from etgp_viz.core.training import Batches
from etgp_viz.experiments.presets import LAPTOP
from etgp_viz.rivals.names import MODELS
from etgp_viz.timing.contestant_models import training_step

GOAL, TURN = 0.985, 2.0
LEVELS = (0.7, 0.8, 0.9, 0.95, GOAL)
M = 100

#: label → name and options of `build`
RIVALS = {
    "ETGP TANH": ("etgp-tanh", {"precision": "float32"}),
    "network alone": ("network", {"precision": "float32"}),
    "SVGP batched, shared": ("svgp-rbf", {"batched": True, "sharing": "shared"}),
    "SVGP batched": ("svgp-rbf", {"batched": True}),
    "SVGP GPflow, shared": ("svgp-rbf", {"sharing": "shared"}),
    "SVGP GPflow, separate": ("svgp-rbf", {}),
}


class Racer:
    """A model in training: the seconds of its steps, and its test accuracy after each turn."""

    def __init__(self, name: str, options: dict, data: datasets.Dataset) -> None:
        X, _ = data.train
        recipe = LAPTOP.recipe(data.name)
        first = dict(recipe.tries(MODELS[name])[0])
        rate = first.pop("learning_rate")
        if name.startswith("svgp"):
            options = {"num_monte_carlo": recipe.num_monte_carlo, **options}
        self.model = build(name, X, data.num_classes, num_inducing=M, **first, **options)
        if name.startswith("svgp"):
            self.model.precision = "float32"  # as ETGP's
        self.test = data.part("test")
        self.rows = self._rows(len(X), min(recipe.batch_size, len(X)))
        self.step: Callable = training_step(self.model, data.train, learning_rate=rate)
        self.seconds, self.curve = 0.0, [(0.0, 0.0)]

    @staticmethod
    def _rows(num_rows: int, size: int) -> Iterator[tf.Tensor]:
        batches, epoch = Batches(num_rows, size, seed=0), 0
        while True:
            yield from batches.of_epoch(epoch)
            epoch += 1

    def train(self, seconds: float) -> None:
        """Train for so many seconds (at least one step), then measure the accuracy."""
        end = self.seconds + seconds
        while self.seconds < end:
            start = time.perf_counter()
            self.step(next(self.rows))
            self.seconds += time.perf_counter() - start
        X, Y = self.test
        predicted = np.argmax(self.model.predict_y(X)[0], axis=1)
        self.curve.append((self.seconds, float(np.mean(predicted == Y[:, 0]))))

    def reached(self, level: float) -> float:
        """Seconds after which a test accuracy was first measured to be at least this."""
        return next((t for t, accuracy in self.curve if accuracy >= level), np.inf)


def main(name: str = "avila", budget: float = 60.0) -> None:
    """Print the seconds to each accuracy, and every model's curve."""
    data = datasets.load(name, validation=0.05, seed=0)
    racers = {label: Racer(*rival, data) for label, rival in RIVALS.items()}
    running = dict(racers)
    while running:
        for racer in running.values():
            racer.train(TURN)
        running = {
            label: racer
            for label, racer in running.items()
            if racer.seconds < budget and racer.reached(GOAL) == np.inf
        }
    print(f"{name}: seconds of training until this test accuracy; {budget:g} s for each model")
    print(f"{'':24}" + "".join(f"{level:>9}" for level in LEVELS) + "     best")
    for label, racer in racers.items():
        times = (racer.reached(level) for level in LEVELS)
        cells = "".join(f"{t:9.1f}" if np.isfinite(t) else f"{'–':>9}" for t in times)
        best = max(accuracy for _, accuracy in racer.curve)
        print(f"{label:24}{cells}{best:9.3f}")
    for label, racer in racers.items():
        curve = "  ".join(f"{t:.0f} s {accuracy:.3f}" for t, accuracy in racer.curve[1:])
        print(f"{label}: {curve}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(float, sys.argv[2:3]))
