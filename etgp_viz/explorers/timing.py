"""Time against C: guess the slopes, run the race on this machine, and read what it says."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import pandas as pd

from etgp_viz import timing
from etgp_viz.explorers.background import Worker
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, Switch, Whole, shown
from etgp_viz.figures import timing as race
from etgp_viz.figures.print import timing as print_timing

CLASSES = {
    "2,10": "2, 10 (a minute or two)",
    "2,10,50": "2, 10, 50",
    "2,5,10,20,50": "2, 5, 10, 20, 50",
    "2,10,50,153": "2, 10, 50, 153 (long)",
}
QUANTITIES = {
    "step": "one training step",
    "epoch": "one epoch of a data set",
    "prediction": "prediction, point estimate",
    "prediction_ba": "prediction, Bayesian",
    "first_step": "first call (tracing)",
    "memory": "peak memory of a step",
    "operations": "operations on paper",
}
# Rows of the training sets that an epoch can be counted for.
ROWS = {"vowel": 528, "avila": 10_430, "devangari": 78_200}
SETS = {name: f"{name}, {rows} rows" for name, rows in ROWS.items()}


def _racer(name: str, default: bool) -> Any:
    return shown(default, Switch(timing.MODELS[name].label, group="Who races"))


@dataclass(frozen=True)
class TimingState:
    """What the controls say: who races, at which sizes, and how the result is looked at."""

    etgp_linear: bool = _racer("etgp-linear", True)
    etgp_sal: bool = _racer("etgp-sal", False)
    etgp_tanh: bool = _racer("etgp-tanh", False)
    svgp_separate: bool = _racer("svgp-separate", True)
    svgp_shared: bool = _racer("svgp-shared", True)
    svgp_batched: bool = _racer("svgp-batched", True)
    svgp_rbfcorr: bool = _racer("svgp-rbfcorr", False)
    svgp_rbfcorr_once: bool = _racer("svgp-rbfcorr-once", False)
    tgp: bool = _racer("tgp", False)
    classes: str = shown("2,10,50", Choice("classes C", CLASSES, group="How large"))
    num_data: int = shown(
        1000, Whole("mini-batch N", 100, 4000, 100, group="How large", right="more rows in a step")
    )
    num_inducing: int = shown(
        100, Whole("inducing points M", 10, 200, 10, group="How large", right="a larger latent")
    )
    num_inputs: int = shown(
        10, Whole("inputs D", 1, 100, group="How large", right="inputs with more columns")
    )
    repeats: int = shown(6, Whole("rounds", 2, 40, group="How large", right="narrower intervals"))
    budget: int = shown(
        60, Whole("budget (seconds)", 5, 600, 5, group="How large", right="patience with a model")
    )
    guess_etgp: float = shown(
        0.0, Number("slope of ETGP", 0.0, 2.0, group="Predict first", right="you expect it to grow")
    )
    guess_svgp: float = shown(
        1.0, Number("slope of others", 0.0, 2.0, group="Predict first",
                    right="you expect them to grow"),
    )  # fmt: skip
    show_guess: bool = shown(False, Switch("show my prediction", group="Predict first"))
    quantity: str = shown("step", Choice("what", QUANTITIES))
    dataset: str = shown(
        "avila", Choice("data set", SETS, when=lambda state: state.quantity == "epoch")
    )
    log: bool = shown(True, Switch("logarithmic axes"))
    reference: bool = shown(True, Switch("reference run, pale"))
    fit: bool = shown(False, Switch("fitted cost model, dotted"))


class TimingExplorer(Explorer):
    """Race ETGP against SVGPs over the number of classes.

    Set the slopes that you expect, then press run: each model takes its turns in a process of its
    own, and the picture grows. A reference run that comes with the package is there from the start.
    """

    State = TimingState
    handout = ("quantity",)
    pictures: ClassVar = {"classes": race, "num_inducing": race, "num_data": race}
    full_width = ("classes",)
    presets: ClassVar = {
        "The paper's claim": Preset(
            "Time of one step over C. The lines of the SVGPs climb with C, that of ETGP hardly "
            "does. Compare their distance at the largest C with the paper's factor of ten.",
            {"fit": True},
        ),
        "A loop, or the algorithm?": Preset(
            "SVGP with C kernels, once in GPflow's loops and once in batched operations: the same "
            "algorithm. What lies between these two lines is somebody's Python; what lies between "
            "the batched one and ETGP is mathematics.",
            {"svgp_shared": False},
        ),
        "The first call": Preset(
            "TensorFlow traces a model when it is called first. A loop over C kernels is traced C "
            "times: with many classes this is longer than hundreds of steps.",
            {"quantity": "first_step"},
        ),
        "What flows cost": Preset(
            "LINEAR, SAL and TANH do the same Gaussian process work. Their lines differ by the "
            "flows and the softmax alone, and so does their growth with C.",
            {"etgp_sal": True, "etgp_tanh": True, "svgp_separate": False, "svgp_shared": False},
        ),
        "Memory": Preset(
            "Peak memory of a step: C processes keep C matrices of M × N numbers for the gradient.",
            {"quantity": "memory"},
        ),
        "Without logarithms": Preset(
            "The same times on plain axes: this is how waiting feels.", {"log": False}
        ),
    }

    def __init__(self, **values: Any) -> None:
        self._table: pd.DataFrame | None = None
        self._worker: Worker | None = None
        self._race: timing.Race | None = None
        self._ending, self._over, self._status = False, False, ""
        super().__init__(**values)

    # The race -------------------------------------------------------------------------------

    def actions(self) -> Iterable[tuple[str, str, Any]]:
        return [
            ("▶ run", "Race on this machine, or go on after a pause", self.run),
            ("❚❚ pause", "Hold after the turn that is going on", self.pause),
            ("■ stop", "End the race; what was measured stays", self.stop),
        ]

    @property
    def table_of_times(self) -> pd.DataFrame | None:
        """The table of the last race on this machine, also of an unfinished one."""
        return self._table

    def run(self) -> None:
        """Start a race with the settings of the controls, or go on with a paused one."""
        if self._worker is not None:
            return
        if self._race is None:
            try:
                self._race = timing.Race(_settings(self.state))
            except ValueError as error:
                self._page.warn(f"This race cannot be run: {error}")
                return
            self._steps = iter(self._race)
            self._over = False
        self._ending, self._status = False, "starting processes …"
        self._worker = Worker(self._turn, self._look, self._show, self._finished)
        self._tell(self.state)
        self._worker.start()

    def pause(self) -> None:
        """Hold after the turn that is going on; `run` goes on."""
        if self._worker is not None:
            self._worker.stop()

    def stop(self) -> None:
        """End the race and its processes after this turn; what was measured stays."""
        if self._race is None:
            return
        self._ending, self._status = True, "stopping after this turn …"
        self._tell(self.state)
        if self._worker is not None:
            self._worker.stop()
        else:  # paused: a thread comes back to end it
            self._worker = Worker(lambda: False, self._look, self._show, self._finished)
            self._worker.start()

    def _turn(self) -> bool:
        step = next(self._steps, None)
        self._over = step is None
        if step is not None:
            self._status = f"{step.done} of {step.total}: {step.words}"
        return not self._over

    def _look(self, last: bool) -> pd.DataFrame:
        assert self._race is not None
        if last and self._ending:
            self._steps.close()  # ends the processes
        return self._race.table()

    def _show(self, table: pd.DataFrame) -> None:
        self._table = table
        self._redraw()

    def _finished(self, error: Exception | None) -> None:
        self._status = "done" if self._over else "stopped" if self._ending else "paused"
        if self._over or self._ending or error is not None:
            self._race, self._ending = None, False
        self._redraw()
        if error is not None:
            self._page.warn(f"The race ended early: {error}")
        self._worker = None

    # What the base asks for -----------------------------------------------------------------

    def numbers(self, state: TimingState) -> Iterator[tuple[str, Any]]:
        look = _look(state)
        for over in self.pictures:
            if over == "classes" and self._table is not None:
                yield over, look.curves(over, self._table)
            else:
                yield over, _reference_curves(over, look)

    def title(self, state: TimingState) -> str:
        return f"{QUANTITIES[state.quantity].capitalize()} against the number of classes"

    def words(self, state: TimingState) -> str:
        told = f"Race: {self._status}. " if self._status else ""
        if self._table is not None and self._table["step"].notna().any():
            return told + " ".join(timing.describe(self._table)[:3])
        return told + _about_reference(_models(state))

    def code(self, state: TimingState) -> str:
        sizes = f"{_classes(state)}, num_data={state.num_data}, num_inducing={state.num_inducing}"
        rounds = f"num_inputs={state.num_inputs}, repeats={state.repeats}, budget={state.budget}"
        sweep = f"table = timing.sweep(models, {sizes}, {rounds}, sessions=2)"
        own = "table if over == 'classes' else reference.iloc[:0]"
        raced = self._table is not None
        return "\n".join(
            [
                "from etgp_viz import timing",
                "from etgp_viz.figures import timing as race",
                "",
                f"models = {_models(state)!r}",
                sweep if raced else f"# To race on this machine: {sweep}",
                "records = {}",
                "for over in ('classes', 'num_inducing', 'num_data'):",
                "    reference = timing.reference(over)",
                "    reference = reference[reference['model'].isin(models)]",
                "    records[over] = timing.curves(",
                f"        {own if raced else 'reference.iloc[:0]'},",
                f"        {state.quantity!r},",
                "        over,",
                f"        log={state.log},",
                f"        reference={'reference' if state.reference else None},",
                f"        fit={state.fit},",
                f"        guess={_guess(state)!r},",
                f"        rows={ROWS[state.dataset]},",
                "    )",
                "    race.make(records[over]).show()",
            ]
        )

    def print_figure(self) -> Any:
        return print_timing.draw(self._records["classes"])


def _models(state: TimingState) -> tuple[str, ...]:
    return tuple(name for name in timing.MODELS if getattr(state, name.replace("-", "_"), False))


def _classes(state: TimingState) -> tuple[int, ...]:
    return tuple(map(int, state.classes.split(",")))


def _settings(state: TimingState) -> timing.Settings:
    return timing.Settings(
        models=_models(state),
        classes=_classes(state),
        num_data=(state.num_data,),
        num_inducing=(min(state.num_inducing, state.num_data),),
        num_inputs=state.num_inputs,
        repeats=state.repeats,
        sessions=2,
        budget=float(state.budget),
        memory=True,
        memory_limit=None,
    )


def _guess(state: TimingState) -> dict[str, float] | None:
    """The slope that somebody expects of each model."""
    if not state.show_guess:
        return None
    slopes = {True: state.guess_etgp, False: state.guess_svgp}
    return {name: slopes[name.startswith("etgp")] for name in _models(state)}


@dataclass(frozen=True)
class _Look:
    """How a race is looked at: all of the state that its curves depend on."""

    models: tuple[str, ...]
    quantity: str
    log: bool
    reference: bool
    fit: bool
    guess: tuple[tuple[str, float], ...] | None
    rows: int

    def curves(self, over: str, own: pd.DataFrame | None) -> timing.Curves:
        """The race on this machine, if there was one, before the reference run."""
        reference = _chosen(over, self.models)
        return timing.curves(
            reference.iloc[:0] if own is None else own,
            self.quantity,
            over,
            log=self.log,
            reference=reference if self.reference else None,
            fit=self.fit,
            guess=None if self.guess is None else dict(self.guess),
            rows=self.rows,
        )


def _look(state: TimingState) -> _Look:
    guess = _guess(state)
    return _Look(
        _models(state), state.quantity, state.log, state.reference, state.fit,
        None if guess is None else tuple(guess.items()), ROWS[state.dataset],
    )  # fmt: skip


@lru_cache(maxsize=6)
def _reference_curves(over: str, look: _Look) -> timing.Curves:
    return look.curves(over, None)


@lru_cache(maxsize=3)
def _reference(over: str) -> pd.DataFrame:
    return timing.reference(over)


def _chosen(over: str, models: tuple[str, ...]) -> pd.DataFrame:
    """The reference run of the models that race."""
    reference = _reference(over)
    return reference[reference["model"].isin(models)]


@lru_cache(maxsize=2)
def _about_reference(models: tuple[str, ...]) -> str:
    reference = _chosen("classes", models)
    machine = reference.attrs["machine"]
    where = f"Reference run on {machine['processor']}, {machine['cores']} cores."
    said = timing.describe(reference)[:2] or ["None of the chosen models is in it."]
    return " ".join([where, *said])
