"""The grids that have a name, and what each of them spends on whom.

=======  ==============================================  ==============================
quick    digits, vowel; M = 20, one seed                 minutes
laptop   vowel, absenteeism, avila, leaves100, digits    under two hours on two cores
paper    the paper's data sets and the paper's settings  days; meant for a cluster
=======  ==============================================  ==============================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from etgp_viz.arguments import check_choice
from etgp_viz.experiments.settings import MODELS, SPEED, Run

__all__ = ["PRESETS", "grid"]

Network = tuple[tuple[int, ...], float]

#: those that are also trained with fewer inducing points
FEWER = ("etgp-linear", "etgp-tanh", "svgp-rbf-separate", "svgp-rbf-shared")


@dataclass(frozen=True)
class Recipe:
    """What is spent on one data set.

    Attributes
    ----------
    networks : hidden widths and dropout to choose between on validation rows (ETGP)
    etgp : steps and batch size
    svgp : steps and batch size
    svgp_rates : learning rates to choose between on validation rows (SVGP)
    speed : rounds of the race of steps; 0 for no race
    """

    networks: tuple[Network, ...]
    etgp: tuple[int, int]
    svgp: tuple[int, int]
    svgp_rates: tuple[float, ...] = (0.01,)
    speed: int = 0


@dataclass(frozen=True)
class Preset:
    """Data sets with their recipes, inducing points, seeds."""

    recipes: dict[str, Recipe]
    num_inducing: tuple[int, ...]
    fewer: tuple[int, ...]
    seeds: tuple[int, ...]

    def counts(self, model: str) -> tuple[int, ...]:
        """The numbers of inducing points that a model is trained with."""
        return self.num_inducing + (self.fewer if model in FEWER else ())


_SMALL: tuple[Network, ...] = tuple(
    product([(), (25,), (50,), (100,), (50, 50), (100, 100)], [0.25, 0.5, 0.75])
)

PRESETS = {
    "quick": Preset(
        recipes={
            "digits": Recipe((((100,), 0.25),), (300, 500), (200, 200)),
            "vowel": Recipe((((50,), 0.75),), (300, 500), (200, 200)),
        },
        num_inducing=(20,),
        fewer=(),
        seeds=(0,),
    ),
    "laptop": Preset(
        recipes={
            "vowel": Recipe((((50,), 0.25), ((50,), 0.75)), (800, 500), (800, 200), speed=20),
            "digits": Recipe((((200,), 0.5), ((500,), 0.5)), (1000, 500), (800, 200), speed=20),
            "absenteeism": Recipe((((50,), 0.5), ((50,), 0.75)), (500, 500), (500, 200)),
            "leaves100": Recipe((((200,), 0.5),), (1500, 500), (500, 200)),
            "avila": Recipe((((200, 200), 0.1),), (5000, 1000), (1500, 200), speed=20),
        },
        num_inducing=(100,),
        fewer=(50, 20),
        seeds=(0, 1, 2),
    ),
    "paper": Preset(
        recipes={
            "vowel": Recipe(_SMALL, (15_000, 1000), (15_000, 1000), (0.01, 0.001), 20),
            "absenteeism": Recipe(_SMALL, (15_000, 1000), (15_000, 1000), (0.01, 0.001), 20),
            "avila": Recipe(
                (((100, 100), 0.25), ((200, 200), 0.1), ((200, 200), 0.05)),
                (150_000, 1000),
                (150_000, 1000),
                (0.01, 0.001),
                20,
            ),
            "devangari": Recipe(
                (((200,), 0.25), ((200, 200), 0.25)),
                (39_000, 1000),
                (39_000, 1000),
                (0.01, 0.001),
                20,
            ),
            "characterfont": Recipe(
                (((200,), 0.25), ((200, 200), 0.25)),
                (50_000, 1000),
                (50_000, 1000),
                (0.01, 0.001),
                20,
            ),
        },
        num_inducing=(100, 50, 20),
        fewer=(),
        seeds=(0, 1, 2, 3, 4),
    ),
}


def grid(
    preset: str = "quick",
    *,
    datasets: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    num_inducing: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    steps: int | None = None,
) -> tuple[Run, ...]:
    """The runs of a preset, all of the first seed first: a grid that is stopped is one of less.

    Parameters
    ----------
    preset : ``"quick"``, ``"laptop"`` or ``"paper"``
    datasets, models, num_inducing, seeds : only these. Data sets must have a recipe in the preset;
        models are those of `etgp_viz.experiments.settings.MODELS`.
    steps : of every training, instead of the preset's
    """
    chosen = PRESETS[check_choice(preset, "preset", tuple(PRESETS))]
    for name in datasets or ():
        check_choice(name, "datasets", tuple(chosen.recipes))
    for name in models or ():
        check_choice(name, "models", tuple(MODELS))
    runs = [
        run
        for seed, name, model in product(
            chosen.seeds if seeds is None else seeds, datasets or chosen.recipes, models or MODELS
        )
        for M in num_inducing or chosen.counts(model)
        for run in _runs(chosen.recipes[name], name, model, M, seed)
    ]
    if steps is not None:
        runs = [run if run.model == SPEED else replace(run, steps=steps) for run in runs]
    return tuple(dict.fromkeys(runs))


def _runs(recipe: Recipe, dataset: str, name: str, M: int, seed: int) -> Iterator[Run]:
    """One model on one data set in every configuration of the recipe."""
    model, sharing = MODELS[name]
    common = Run(dataset, model, sharing, num_inducing=M, seed=seed)
    hidden, _ = recipe.networks[0]
    if model == SPEED:
        if recipe.speed and seed == 0:
            yield replace(common, steps=recipe.speed, batch_size=recipe.etgp[1], hidden=hidden)
    elif sharing:
        steps, batch_size = recipe.svgp
        for rate in recipe.svgp_rates:
            yield replace(common, steps=steps, batch_size=batch_size, learning_rate=rate)
    else:
        steps, batch_size = recipe.etgp
        for hidden, dropout in recipe.networks:
            yield replace(
                common, steps=steps, batch_size=batch_size, hidden=hidden, dropout=dropout
            )
