"""The named grids: which runs each consists of, and how long they take.

==========  ==============================================  =================================
quick       digits, vowel; M = 20, one seed                 minutes
laptop      vowel, absenteeism, avila, leaves100, digits    under two hours on two cores
paper       the paper's data sets and the paper's settings  tens of thousands of hours of one
                                                            core: for a cluster, or in parts
extensions  digits, vowel, avila, leaves100; ETGP LINEAR,   under one hour on two cores
            its extensions, and the network alone
==========  ==============================================  =================================

*Equal conditions.* On a data set all models are trained alike in all presets but paper: on
mini-batches of the same size, until the validation rows show no improvement for the same number of
steps, with the same limit in seconds; and every model has the same number of tries (configurations
to choose between on the validation rows). These rows thus serve twice, to stop and to choose.
scikit-learn's models are trained by scikit-learn's own methods, with as many tries. A run that
reaches the limit depends on the speed of the machine; the column ``stopped`` says which do. The
paper preset has the paper's fixed number of steps, and the paper's tries: more for ETGP than for an
SVGP.

*What was tuned before.* The network of each data set of the laptop preset, and the learning rates,
were found in short trials, for ETGP and SVGPs alone. The networks on avila, leaves100 and vowel
were judged on validation rows: on vowel on those of six draws of a speaker, three of which the
preset uses too, and on the other two data sets on draws that the preset does not use. The lower
rate was judged on validation rows of seed 0 of digits, vowel and leaves100. Test scores of earlier
runs of the grid had been seen before all that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np

from etgp_viz.checks import check_choice, fail
from etgp_viz.experiments.settings import ALL_MODELS, MODELS, OFF_THE_SHELF, SPEED, Run
from etgp_viz.rivals import names

__all__ = ["PRESETS", "expected_seconds", "grid"]

#: models that are also trained with fewer inducing points, with one try
FEWER = ("etgp-linear", "etgp-tanh", "svgp-rbf-separate", "svgp-rbf-shared")
#: rivals that the laptop preset trains with one seed, to save time
ONE_SEED = ("svgp-rbfcorr", "svgp-arccos", "svgp-nnet", "svgp-robustmax", "svgp-deep")


@dataclass(frozen=True)
class Network:
    """A network: its shape and its regularisation."""

    hidden: tuple[int, ...]
    dropout: float
    weight_decay: float = 1e-5


#: what scikit-learn's models try, scikit-learn's own defaults first, by the name of the setting
SETTINGS = {"weight_decay": (0.5, 0.005), "learning_rate": (0.1, 0.03)}


@dataclass(frozen=True)
class Recipe:
    """The runs on one data set: what is tried, and how long every model is trained.

    Attributes
    ----------
    networks, network_rates : to choose between, in all combinations, for models with a network
    rates : learning rates to choose between, for the other models that `etgp_viz.fit` trains
    off_the_shelf : how many `SETTINGS` to choose between, for scikit-learn's models
    batch_size, patience, max_seconds, steps, start, samples : of every model, see `Run`
    fewer : numbers of inducing points, besides the preset's, for the models in `FEWER`
    num_monte_carlo : draws per row in an SVGP's ELBO
    validation : share of the training rows that is set aside
    speed : rounds of the race of steps, with the first network and with no hidden layer (flows that
        are linear in x), which shows the cost of the network; 0 for no race
    """

    networks: tuple[Network, ...]
    rates: tuple[float, ...]
    network_rates: tuple[float, ...] = (0.01,)
    off_the_shelf: int = 2
    batch_size: int = 200
    patience: int | None = 300
    max_seconds: float | None = 20.0
    steps: int = 100_000
    start: str = "draw"
    samples: int = names.PREDICTIVE_DRAWS
    fewer: tuple[int, ...] = ()
    num_monte_carlo: int = 20
    validation: float = 0.1
    speed: int = 0

    def tries(self, kind: names.Model) -> list[dict[str, Any]]:
        """The settings of a model to choose between on validation rows."""
        if kind.has_network:
            tries = [
                {**asdict(network), "learning_rate": rate}
                for rate, network in product(self.network_rates, self.networks)
            ]
            if not kind.has_bayesian_average:  # a deep kernel, which dropout may harm: once without
                tries[0]["dropout"] = 0.0
            return tries
        if kind.is_trained_by_fit:
            return [{"learning_rate": rate} for rate in self.rates]
        setting = OFF_THE_SHELF[kind.variant]
        return [{setting: value} for value in SETTINGS[setting][: self.off_the_shelf]]


@dataclass(frozen=True)
class Preset:
    """Data sets with their recipes, one for any other data set, inducing points, seeds, models."""

    recipes: dict[str, Recipe]
    other: Recipe
    num_inducing: tuple[int, ...]
    seeds: tuple[int, ...]
    one_seed: tuple[str, ...] = ()  # names of `etgp_viz.build` that get the first seed alone
    models: tuple[str, ...] = tuple(MODELS)  # keys of `ALL_MODELS`

    def recipe(self, dataset: str) -> Recipe:
        """The recipe for a data set."""
        return self.recipes.get(dataset, self.other)


_SHORT: dict[str, Any] = {
    "rates": (0.02,),
    "off_the_shelf": 1,
    "patience": 100,
    "max_seconds": 5.0,
}
QUICK = Preset(
    recipes={
        "digits": Recipe((Network((100,), 0.25),), **_SHORT),
        "vowel": Recipe((Network((100,), 0.75, 1.0),), **_SHORT),
    },
    other=Recipe((Network((100,), 0.25),), **_SHORT),
    num_inducing=(20,),
    seeds=(0,),
)

# Added after trials at 0.01, where SAL flows hardly used f0; with the lower rate, q(u0) keeps up.
_TWO_RATES: dict[str, Any] = {"rates": (0.02, 0.05), "network_rates": (0.01, 0.002)}
LAPTOP = Preset(
    recipes={
        "vowel": Recipe(
            (Network((200,), 0.75, 1.0),),
            **_TWO_RATES,
            fewer=(20,),
            speed=20,
        ),
        "absenteeism": Recipe(
            (Network((50,), 0.75),),
            **_TWO_RATES,
            fewer=(20,),
        ),
        "avila": Recipe(
            (Network((100, 100), 0.05, 1e-4),),
            **_TWO_RATES,
            batch_size=500,
            max_seconds=60.0,
            validation=0.05,
            speed=20,
        ),
        "leaves100": Recipe(
            (Network((200,), 0.5, 0.3),),
            **_TWO_RATES,
            max_seconds=45.0,
            speed=10,
        ),
        "digits": Recipe(
            (Network((400,), 0.75, 0.01),),
            **_TWO_RATES,
            speed=20,
        ),
    },
    other=Recipe(
        (Network((200,), 0.5, 0.01),),
        **_TWO_RATES,
        max_seconds=60.0,
        fewer=(20,),
        speed=20,
    ),
    num_inducing=(100,),
    seeds=(0, 1, 2),
    one_seed=ONE_SEED,
)


# The laptop's networks, batches and rates, with shorter limits: an hour must be enough for all.
# Averages are over fewer draws for all models alike, since a draw of several latents takes longer.
def _shorter(dataset: str, max_seconds: float) -> Recipe:
    recipe = LAPTOP.recipe(dataset)
    return replace(recipe, max_seconds=max_seconds, samples=20, fewer=(), speed=0)


EXTENSIONS = Preset(
    recipes={
        "digits": _shorter("digits", 10.0),
        "vowel": _shorter("vowel", 10.0),
        "avila": _shorter("avila", 20.0),
        "leaves100": _shorter("leaves100", 20.0),
    },
    other=_shorter("another data set", 20.0),
    num_inducing=(100,),
    seeds=(0, 1, 2),
    models=("etgp-linear", *names.EXTENDED, "network"),
)


# The paper's networks: no, one or two hidden layers of these widths, and three weight decays.
def _networks(widths: Sequence[int], dropouts: Sequence[float]) -> tuple[Network, ...]:
    hidden = [(width,) * layers for layers in (1, 2) for width in widths]
    shapes = [((), 0.0), *product(hidden, dropouts)]  # without hidden units nothing is dropped
    return tuple(Network(*shape, decay) for shape, decay in product(shapes, (1e-4, 1e-5, 1e-6)))


def _paper(networks: tuple[Network, ...], steps: int) -> Recipe:
    """15 000 epochs of a small data set or 500 of a large one, in batches of 1 000 rows."""
    rates = (0.01, 0.001)
    draws: dict[str, Any] = {"num_monte_carlo": 100, "speed": 20}
    fixed: dict[str, Any] = {"batch_size": 1000, "steps": steps, "patience": None}
    return Recipe(networks, rates, rates, max_seconds=None, start="paper", **fixed, **draws)


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

PRESETS = {"quick": QUICK, "laptop": LAPTOP, "paper": PAPER, "extensions": EXTENSIONS}


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
    preset : ``"quick"``, ``"laptop"``, ``"paper"`` or ``"extensions"``
    datasets : these instead of the preset's: names of published data sets, or ``FILE.csv:COLUMN``
        for your own file and its label column. A data set without its own recipe is
        trained by the preset's general recipe.
    models : these instead of the preset's: keys of `etgp_viz.experiments.MODELS`, or extended ETGPs
        such as ``"etgp-latents"`` (`etgp_viz.rivals.names.EXTENDED`)
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
        check_choice(name, "models", tuple(ALL_MODELS))
    runs = [
        run
        for seed, name, model in product(
            chosen.seeds if seeds is None else seeds, selected, models or chosen.models
        )
        for M in num_inducing or _counts(chosen, name, model)
        for run in _runs(chosen.recipe(name), Run(name, *ALL_MODELS[model], M, seed))
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
    is_once = run.model == SPEED or run.model in preset.one_seed
    return run.seed in (preset.seeds[:1] if is_once else preset.seeds)


def _runs(recipe: Recipe, run: Run) -> Iterator[Run]:
    """A model on a data set in every configuration of the recipe."""
    shared = ("batch_size", "validation", "start", "samples")
    common = {name: getattr(recipe, name) for name in shared}
    run = replace(run, final_rate=1.0, **common)
    if run.model == SPEED:
        if recipe.speed:
            run = replace(run, steps=recipe.speed, num_monte_carlo=recipe.num_monte_carlo)
            for hidden in dict.fromkeys((recipe.networks[0].hidden, ())):
                yield replace(run, hidden=hidden)
        return
    if run.kind.is_trained_by_fit:
        budget = {name: getattr(recipe, name) for name in ("steps", "patience", "max_seconds")}
        run = replace(run, **budget)
    if run.kind.is_monte_carlo:
        run = replace(run, num_monte_carlo=recipe.num_monte_carlo)
    tries = recipe.tries(run.kind)
    for settings in tries[:1] if run.num_inducing in recipe.fewer else tries:
        yield replace(run, **settings)


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
START = {True: 12.0, False: 5.0}  # with a network or without: data, k-means, tracing, compiling
AT_ONCE = 0.1  # for each class, of a model of scikit-learn
RACE, RACE_CLASS = 30.0, 1.4  # tracing of seven models and their rounds; for each class
STEP = 2.5e-3  # what a step takes however small it is
PRODUCT = 0.15e-9  # a multiply–add in the large products of a network, in float32
FACTOR = 0.55e-9  # one in the Cholesky factors and products of a process
SOFTMAX = 3e-9  # a class of a row at one node or draw, and as much for each parameter of its flow
NODES, NODES_OF_LATENTS = 20, 12**2  # of one latent, and of two
PROCESSES_OF_PARAMETERS = 10
PREDICTIONS, ROUNDS = 2, 4  # of all rows: probabilities, log densities; of 1000 rows, to time them


def expected_seconds(runs: Iterable[Run], workers: int = 1) -> float:
    """Expected duration of runs on a number of cores, in seconds."""
    return sum(map(_seconds, runs)) / max(workers, 1)


def _seconds(run: Run) -> float:
    """Expected seconds of a run on one core, if it reaches its limit.

    A step has C processes (an ETGP one or a few) of M²(M + B) multiply–adds, their kernels of
    M² + B(D + M) for each inducing point (one kernel if it is shared), B passes through a network
    of W weights, and B·C softmax terms at each node or draw.
    """
    C, D, N, predicted = SIZES.get(run.dataset, OTHER_SIZE)
    if run.model == SPEED:
        return RACE + RACE_CLASS * C
    kind = run.kind
    if not kind.is_trained_by_fit:
        return START[False] + AT_ONCE * C
    B, M, P = min(run.batch_size, N), run.num_inducing, max(kind.num_params, kind.has_network)
    processes, nodes = C if kind.family == "svgp" else 1, NODES
    if kind.variant == "latents":
        processes, nodes = 2, NODES_OF_LATENTS
    elif kind.variant == "gp":
        processes += PROCESSES_OF_PARAMETERS
    kernels = 1 if run.sharing == "shared" else processes
    gp = processes * M * M * (M + B) + kernels * M * (M * M + B * (D + M))
    W = sum(a * b for a, b in pairwise((D, *run.hidden, P * C))) if P else 0
    term = SOFTMAX * C * (1 + P)
    draws = run.num_monte_carlo if kind.is_monte_carlo else nodes
    step = STEP + FACTOR * gp + PRODUCT * B * W + term * B * draws
    row = names.PREDICTIVE_DRAWS * term if kind.is_monte_carlo else 0.0
    if kind.has_bayesian_average:
        row = run.samples * (PRODUCT * W + term * nodes) / 3.0
    training = min(step * run.steps, run.max_seconds or np.inf)
    rows = PREDICTIONS * predicted + ROUNDS * min(predicted, 1000)
    return START[kind.has_network] + training + row * rows
