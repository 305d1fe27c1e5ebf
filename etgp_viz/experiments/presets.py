"""The named grids: which runs each consists of, and how long they take.

=======  ==============================================  =================================
quick    digits, vowel; M = 20, one seed                 minutes
laptop   vowel, absenteeism, avila, leaves100, digits    under two hours on two cores
paper    the paper's data sets and the paper's settings  tens of thousands of hours of one
                                                         core: for a cluster, or in parts
=======  ==============================================  =================================

The networks, learning rates and steps of the laptop preset were found in short trials. The networks
on avila, leaves100 and vowel were judged on validation rows: on vowel on those of six draws of a
speaker, three of which are the preset's, on the other two on other draws than the preset's. Test
scores of earlier runs of the grid had been seen before that. On avila an SVGP with separate kernels
gets about as much time as ETGP LINEAR, and one seed. Each model has a single configuration there,
so there is nothing to choose, and few rows are set aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product

import numpy as np

from etgp_viz.checks import check_choice, fail
from etgp_viz.experiments.settings import MODELS, SPEED, Run
from etgp_viz.rivals import names

__all__ = ["PRESETS", "expected_seconds", "grid"]

#: models that are also trained with fewer inducing points
FEWER = ("etgp-linear", "etgp-tanh", "svgp-rbf-separate", "svgp-rbf-shared")


@dataclass(frozen=True)
class Network:
    """The network of an ETGP."""

    hidden: tuple[int, ...]
    dropout: float
    weight_decay: float = 1e-5


@dataclass(frozen=True)
class Budget:
    """Number of steps, rows of a step, and learning rates to choose between on validation rows."""

    steps: int
    batch_size: int
    rates: tuple[float, ...] = (0.01,)


@dataclass(frozen=True)
class Recipe:
    """The runs on one data set.

    Attributes
    ----------
    networks : to choose between on validation rows (ETGP)
    etgp, svgp : how long each is trained
    sal : the same for SAL where it needs smaller steps than the other flows, otherwise None
    fewer : numbers of inducing points, besides the preset's, for the models in `FEWER`
    one_seed : whether the SVGPs are trained with the first seed alone, to save time
    num_monte_carlo : draws per row in an SVGP's ELBO
    validation : share of the training rows that is set aside
    final_rate : share of the learning rate that is left at the end
    speed : rounds of the race of steps, with the first network and with no hidden layer (flows that
        are linear in x), which shows the cost of the network; 0 for no race
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
        """How long the model of a run is trained."""
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
        """The recipe for a data set."""
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
    """The runs of a preset, sorted by seed: an interrupted grid still covers every model once.

    Parameters
    ----------
    preset : ``"quick"``, ``"laptop"`` or ``"paper"``
    datasets : these instead of the preset's: names of published data sets, or ``FILE.csv:COLUMN``
        for your own file and its label column. A data set without its own recipe is
        trained by the preset's general recipe.
    models : only these, keys of `etgp_viz.experiments.MODELS`
    num_inducing, seeds : only these, instead of the preset's
    steps : of every run, instead of the preset's

    Returns
    -------
    tuple of `Run`

    Examples
    --------
    >>> from etgp_viz import experiments
    >>> runs = experiments.grid("quick", datasets=["vowel"], models=["etgp-tanh"])
    >>> [(run.dataset, run.model, run.num_inducing, run.seed) for run in runs]
    [('vowel', 'etgp-tanh', 20, 0)]
    """
    chosen = PRESETS[check_choice(preset, "preset", tuple(PRESETS))]
    selected = [_checked(chosen, name, num_inducing) for name in datasets or chosen.recipes]
    for name in models or ():
        check_choice(name, "models", tuple(MODELS))
    runs = [
        run
        for seed, name, model in product(
            chosen.seeds if seeds is None else seeds, selected, models or MODELS
        )
        for M in num_inducing or _counts(chosen, name, model)
        for run in _runs(chosen.recipe(name), Run(name, *MODELS[model], M, seed))
        if seeds is not None or _has_seed(chosen, run)
    ]
    if steps is not None:
        runs = [run if run.model == SPEED else replace(run, steps=steps) for run in runs]
    return tuple(dict.fromkeys(runs))


def _checked(preset: Preset, name: str, num_inducing: Sequence[int] | None) -> str:
    """The name of a data set in runs; a bad data set is refused before the first run.

    The name of a user's file includes its checksum: if the file changes, its runs are new.
    """
    if name in preset.recipes:
        return name
    from etgp_viz import datasets

    own_file = datasets.OwnFile.parse(name)
    if own_file is None:
        return check_choice(name, "datasets", (*datasets.published(), "FILE.csv:COLUMN"))
    rows = datasets.load(name, validation=preset.other.validation).train[0]
    distinct, M = len(np.unique(rows, axis=0)), max(num_inducing or preset.num_inducing)
    if distinct < M:
        fail("num_inducing", f"at most {distinct}, the distinct training rows of {name}", str(M))
    return own_file.name_with_checksum()


def _counts(preset: Preset, dataset: str, model: str) -> tuple[int, ...]:
    """The numbers of inducing points that a model is trained with."""
    return preset.num_inducing + (preset.recipe(dataset).fewer if model in FEWER else ())


def _has_seed(preset: Preset, run: Run) -> bool:
    """Whether the model of a run is trained with its seed; the race is run once."""
    if run.model == SPEED:
        return run.seed == preset.seeds[0]
    one_seed = run.sharing and preset.recipe(run.dataset).one_seed
    return run.seed in (preset.seeds[:1] if one_seed else preset.seeds)


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


# --- how long a grid takes, from the operations of a step and the speed of one ordinary core -----

#: classes C, inputs D, training rows N (without validation rows), rows to predict
SIZES = {
    "vowel": (11, 10, 462, 528),
    "absenteeism": (19, 68, 500, 240),
    "avila": (12, 10, 9907, 10_958),
    "devangari": (46, 1024, 70_380, 21_620),
    "characterfont": (153, 400, 500_000, 300_000),
    "leaves100": (100, 64, 1080, 520),
    "digits": (10, 64, 1213, 584),
}
OTHER_SIZE = (20, 50, 5000, 2000)

# Seconds on one thread of an ordinary core, gradients included.
START = {True: 12.0, False: 5.0}  # ETGP or SVGP: data, k-means, tracing, compiling
RACE, RACE_CLASS = 30.0, 1.4  # tracing of seven models and their rounds; for each class
STEP = 2.5e-3  # what a step takes however small it is
PRODUCT = 0.15e-9  # a multiply–add in the large products of a network, in float32
FACTOR = 0.55e-9  # one in the Cholesky factors and products of a process
SOFTMAX = 3e-9  # a class of a row at one node or draw, and as much for each parameter of its flow
NODES = 20
PREDICTIONS = 3  # probabilities, log densities, and those of the details


def expected_seconds(runs: Iterable[Run], workers: int = 1) -> float:
    """Expected duration of runs on a number of cores, in seconds."""
    return sum(map(_seconds, runs)) / max(workers, 1)


def _seconds(run: Run) -> float:
    """Expected seconds of a run on one core.

    A step has C processes (ETGP: one) of M²(M + B) multiply–adds, their kernels of M² + B(D + M)
    for each inducing point (one kernel if it is shared), B passes through a network of W weights,
    and B·C softmax terms at each node or draw.
    """
    C, D, N, predicted = SIZES.get(run.dataset, OTHER_SIZE)
    if run.model == SPEED:
        return RACE + RACE_CLASS * C
    B, M, P = min(run.batch_size, N), run.num_inducing, names.MODELS[run.model].num_params
    processes, draws = (1, NODES) if run.is_etgp else (C, run.num_monte_carlo)
    kernels = 1 if run.sharing == "shared" else processes
    gp = processes * M * M * (M + B) + kernels * M * (M * M + B * (D + M))
    W = sum(a * b for a, b in pairwise((D, *run.hidden, P * C))) if P else 0
    term = SOFTMAX * C * (1 + P)
    step = STEP + FACTOR * gp + PRODUCT * B * W + term * B * draws
    row = run.samples * (PRODUCT * W + term * NODES) / 3.0 if P else 1000.0 * term
    return START[run.is_etgp] + step * run.steps + PREDICTIONS * row * predicted
