"""The grids that have a name, and what each of them spends on whom.

=======  ==============================================  =================================
quick    digits, vowel; M = 20, one seed                 minutes
laptop   vowel, absenteeism, avila, leaves100, digits    under two hours on two cores
paper    the paper's data sets and the paper's settings  tens of thousands of hours of one
                                                         core: for a cluster, or in parts
=======  ==============================================  =================================

Networks, rates and steps of the laptop's were found in short trials. Networks on avila, leaves100
and vowel were judged by validation rows: on vowel those of six draws of a speaker, the preset's
three among them, on the others those of other draws than the preset's. Before that, first runs of
the grid had shown test scores too. On avila an SVGP with separate kernels gets about the time that
ETGP LINEAR gets, and one seed. There is one configuration of each model there, with nothing to
choose between, so that few rows are set aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product

import numpy as np

from etgp_viz.checks import check_choice, fail
from etgp_viz.experiments.settings import MODELS, SPEED, Run

__all__ = ["PRESETS", "grid"]

#: those that are also trained with fewer inducing points
FEWER = ("etgp-linear", "etgp-tanh", "svgp-rbf-separate", "svgp-rbf-shared")


@dataclass(frozen=True)
class Network:
    """The network of an ETGP."""

    hidden: tuple[int, ...]
    dropout: float
    weight_decay: float = 1e-5


@dataclass(frozen=True)
class Budget:
    """Steps, rows of a step, and the learning rates to choose between on validation rows."""

    steps: int
    batch_size: int
    rates: tuple[float, ...] = (0.01,)


@dataclass(frozen=True)
class Recipe:
    """What is spent on one data set.

    Attributes
    ----------
    networks : to choose between on validation rows (ETGP)
    etgp, svgp : what a training takes
    sal : SAL's, where it needs smaller steps than the other flows; None for the same
    fewer : numbers of inducing points, besides the preset's, for the models in `FEWER`
    one_seed : whether the SVGPs are trained with the first seed alone, to keep within the time
    num_monte_carlo : draws per row in an SVGP's ELBO
    validation : share of the training rows that is set aside
    final_rate : share of the learning rate that is left at the end
    speed : rounds of the race of steps, with the first network and with none at all (flows that
        are linear in x), to see what the network costs; 0 for no race
    """

    networks: tuple[Network, ...]
    etgp: Budget
    svgp: Budget
    sal: Budget | None = None
    fewer: tuple[int, ...] = ()
    one_seed: bool = False
    num_monte_carlo: int = 100
    validation: float = 0.1
    final_rate: float = 0.01
    speed: int = 0

    def budget(self, run: Run) -> Budget:
        """What the training of a run takes."""
        if run.sharing:
            return self.svgp
        return self.sal if self.sal and run.model == "etgp-sal" else self.etgp


@dataclass(frozen=True)
class Preset:
    """Data sets with their recipes, a recipe for any other data set, inducing points, seeds."""

    recipes: dict[str, Recipe]
    other: Recipe
    num_inducing: tuple[int, ...]
    seeds: tuple[int, ...]

    def recipe(self, dataset: str) -> Recipe:
        """What is spent on a data set."""
        return self.recipes.get(dataset, self.other)


QUICK = Preset(
    recipes={
        "digits": Recipe((Network((100,), 0.25),), Budget(300, 500), Budget(400, 200, (0.05,))),
        "vowel": Recipe((Network((100,), 0.75, 1.0),), Budget(300, 500), Budget(400, 200, (0.05,))),
    },
    other=Recipe(
        (Network((100,), 0.25), Network((100,), 0.5, 0.01)),
        Budget(400, 500),
        Budget(400, 200, (0.05,)),
        num_monte_carlo=20,
    ),
    num_inducing=(20,),
    seeds=(0,),
)

LAPTOP = Preset(
    recipes={
        "vowel": Recipe(
            (Network((200,), 0.75, 1.0), Network((200,), 0.75, 4.0)),
            Budget(400, 500),
            Budget(600, 200, (0.02, 0.05)),
            fewer=(50, 20),
            num_monte_carlo=20,
            speed=20,
        ),
        "absenteeism": Recipe(
            (Network((50,), 0.5), Network((50,), 0.75)),
            Budget(400, 500),
            Budget(500, 200, (0.02,)),
            fewer=(20,),
            num_monte_carlo=20,
        ),
        "avila": Recipe(
            (Network((100, 100), 0.05, 1e-4),),
            Budget(12000, 1000),
            Budget(4000, 200, (0.02,)),
            sal=Budget(6000, 500, (0.002,)),
            one_seed=True,
            num_monte_carlo=20,
            validation=0.05,
            speed=20,
        ),
        "leaves100": Recipe(
            (Network((200,), 0.5, 0.3), Network((200,), 0.5, 1.0)),
            Budget(600, 270, (0.02,)),
            Budget(450, 200, (0.05,)),
            sal=Budget(600, 270, (0.002,)),
            num_monte_carlo=20,
            speed=10,
        ),
        "digits": Recipe(
            (Network((400,), 0.75, 0.01), Network((200,), 0.5, 0.01)),
            Budget(800, 400),
            Budget(800, 200, (0.02,)),
            num_monte_carlo=20,
            speed=20,
        ),
    },
    other=Recipe(
        (Network((200,), 0.5, 0.01), Network((200, 200), 0.15, 1e-4)),
        Budget(2000, 500),
        Budget(1500, 200, (0.02, 0.05)),
        fewer=(20,),
        num_monte_carlo=20,
        speed=20,
    ),
    num_inducing=(100,),
    seeds=(0, 1, 2),
)


# The paper's networks: no, one or two hidden layers of these widths, and three weight decays.
def _networks(widths: Sequence[int], dropouts: Sequence[float]) -> tuple[Network, ...]:
    hidden = [(width,) * layers for layers in (1, 2) for width in widths]
    shapes = [((), 0.0), *product(hidden, dropouts)]  # without hidden units nothing is dropped
    return tuple(Network(*shape, decay) for shape, decay in product(shapes, (1e-4, 1e-5, 1e-6)))


def _paper(networks: tuple[Network, ...], steps: int) -> Recipe:
    """15 000 epochs of a small data set or 500 of a large one, in batches of 1 000 rows."""
    budget = Budget(steps, 1000, (0.01, 0.001))
    return Recipe(networks, budget, budget, final_rate=1.0, speed=20)


_SMALL = (25, 50, 100)

# Without the projection networks that the paper also tried on images.
PAPER = Preset(
    recipes={
        "vowel": _paper(_networks(_SMALL, (0.25, 0.5, 0.75)), 15_000),
        "absenteeism": _paper(_networks(_SMALL, (0.25, 0.5, 0.75)), 15_000),
        "avila": _paper(_networks(_SMALL, (0.25, 0.5)), 135_000),
        "devangari": _paper(_networks((512, 1024), (0.5,)), 35_000),
        "characterfont": _paper(_networks((256,), (0.5,)), 250_000),
    },
    other=_paper(_networks(_SMALL, (0.25, 0.5, 0.75)), 15_000),
    num_inducing=(100, 50, 20),
    seeds=(0, 1, 2, 3, 4),
)

PRESETS = {"quick": QUICK, "laptop": LAPTOP, "paper": PAPER}


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
    datasets : these instead of the preset's: names of published data sets, or ``FILE.csv:COLUMN``
        for a file of yours and its column of labels. One that the preset has no recipe for is
        trained by its recipe for others.
    models, num_inducing, seeds : only these; models are those of
        `etgp_viz.experiments.settings.MODELS`
    steps : of every training, instead of the preset's
    """
    chosen = PRESETS[check_choice(preset, "preset", tuple(PRESETS))]
    names = [_checked(chosen, name, num_inducing) for name in datasets or chosen.recipes]
    for name in models or ():
        check_choice(name, "models", tuple(MODELS))
    runs = [
        run
        for seed, name, model in product(
            chosen.seeds if seeds is None else seeds, names, models or MODELS
        )
        for M in num_inducing or _counts(chosen, name, model)
        for run in _runs(chosen.recipe(name), Run(name, *MODELS[model], M, seed))
        if seeds is not None or _has_seed(chosen, run)
    ]
    if steps is not None:
        runs = [run if run.model == SPEED else replace(run, steps=steps) for run in runs]
    return tuple(dict.fromkeys(runs))


def _checked(preset: Preset, name: str, num_inducing: Sequence[int] | None) -> str:
    """A data set as runs name it; what is wrong with it is said before the first run.

    A file of one's own gets its checksum into the name: runs of a file that has changed since are
    other runs.
    """
    if name in preset.recipes:
        return name
    from etgp_viz import datasets as known  # loads TensorFlow

    own = known.OwnFile.read(name)
    if own is None:
        return check_choice(name, "datasets", (*known.published(), "FILE.csv:COLUMN"))
    rows = known.load(name, validation=preset.other.validation).train[0]
    distinct, M = len(np.unique(rows, axis=0)), max(num_inducing or preset.num_inducing)
    if distinct < M:
        fail("num_inducing", f"at most {distinct}, the distinct training rows of {name}", str(M))
    return own.stamped()


def _counts(preset: Preset, dataset: str, model: str) -> tuple[int, ...]:
    """The numbers of inducing points that a model is trained with."""
    return preset.num_inducing + (preset.recipe(dataset).fewer if model in FEWER else ())


def _has_seed(preset: Preset, run: Run) -> bool:
    """Whether a run is for one of the seeds that its model has; the race is run once."""
    if run.model == SPEED:
        return run.seed == preset.seeds[0]
    one = run.sharing and preset.recipe(run.dataset).one_seed
    return run.seed in (preset.seeds[:1] if one else preset.seeds)


def _runs(recipe: Recipe, run: Run) -> Iterator[Run]:
    """A model on a data set in every configuration of the recipe."""
    run = replace(run, validation=recipe.validation, final_rate=recipe.final_rate)
    if run.model == SPEED:
        if recipe.speed:
            run = replace(run, steps=recipe.speed, batch_size=recipe.etgp.batch_size)
            for hidden in dict.fromkeys((recipe.networks[0].hidden, ())):
                yield replace(run, hidden=hidden)
        return
    budget = recipe.budget(run)
    run = replace(run, steps=budget.steps, batch_size=budget.batch_size)
    for rate in budget.rates:
        run = replace(run, learning_rate=rate)
        if run.sharing:
            yield replace(run, num_monte_carlo=recipe.num_monte_carlo)
        else:
            yield from (replace(run, **asdict(network)) for network in recipe.networks)
