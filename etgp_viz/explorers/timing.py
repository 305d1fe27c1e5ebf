"""Time over the number of classes: predict the slopes, race on this machine, read the result."""

import dataclasses
import html
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import ipywidgets as widgets
import numpy as np
import pandas as pd

from etgp_viz import timing
from etgp_viz.explorers import tours
from etgp_viz.explorers.background import Worker
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, Switch, Whole, controlled, with_defaults
from etgp_viz.figures import race
from etgp_viz.figures.print import timing as print_timing
from etgp_viz.records.timing import SHOWN, Line, score

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
SKETCHED = {"etgp": "the line of ETGP", "svgp": "the other lines"}
# Rows of the training sets for which the time of an epoch can be shown.
ROWS = {"vowel": 528, "avila": 10_430, "devangari": 78_200}
SETS = {name: f"{name}, {rows} rows" for name, rows in ROWS.items()}


def _racer(name: str, default: bool) -> Any:
    return controlled(default, Switch(timing.MODELS[name].label, group="Who races"))


@dataclass(frozen=True)
class TimingState:
    """The values of the controls: who races, at which sizes, and how the result is shown."""

    etgp_linear: bool = _racer("etgp-linear", True)
    etgp_sal: bool = _racer("etgp-sal", False)
    etgp_tanh: bool = _racer("etgp-tanh", False)
    svgp_separate: bool = _racer("svgp-separate", True)
    svgp_shared: bool = _racer("svgp-shared", True)
    svgp_batched: bool = _racer("svgp-batched", True)
    svgp_batched_shared: bool = _racer("svgp-batched-shared", False)
    svgp_robustmax: bool = _racer("svgp-robustmax", False)
    svgp_rbfcorr: bool = _racer("svgp-rbfcorr", False)
    svgp_rbfcorr_once: bool = _racer("svgp-rbfcorr-once", False)
    tgp: bool = _racer("tgp", False)
    classes: str = controlled("2,10,50", Choice("classes C", CLASSES, group="How large"))
    num_data: int = controlled(1000, Whole(
        "mini-batch N", 100, 4000, 100, group="How large", effect="more rows in each step"
    ))  # fmt: skip
    num_inducing: int = controlled(
        100, Whole("inducing points M", 10, 200, 10, group="How large", effect="larger matrices")
    )
    num_inputs: int = controlled(
        10, Whole("inputs D", 1, 100, group="How large", effect="more columns in X")
    )
    repeats: int = controlled(
        6, Whole("rounds", 2, 40, group="How large", effect="narrower intervals")
    )
    budget: int = controlled(60, Whole(
        "budget (seconds)", 5, 600, 5, group="How large", effect="more time for each model"
    ))  # fmt: skip
    guess_etgp: float = controlled(0.0, Number(
        "slope of ETGP", 0.0, 2.0, group="Predict first",
        effect="you expect its time to grow faster",
    ))  # fmt: skip
    guess_svgp: float = controlled(1.0, Number(
        "slope of others", 0.0, 2.0, group="Predict first",
        effect="you expect their times to grow faster",
    ))  # fmt: skip
    show_guess: bool = controlled(False, Switch("show my prediction", group="Predict first"))
    predict: bool = controlled(
        False, Switch("hide the truth until I reveal it", group="Predict first")
    )
    sketch: str = controlled("svgp", Choice("a click bends", SKETCHED, group="Predict first"))
    quantity: str = controlled("step", Choice("what", QUANTITIES))
    dataset: str = controlled(
        "avila", Choice("data set", SETS, when=lambda state: state.quantity == "epoch")
    )
    log: bool = controlled(True, Switch("logarithmic axes"))
    reference: bool = controlled(True, Switch("reference run, pale"))
    fit: bool = controlled(
        False, Switch("fitted cost model, dotted", when=lambda state: state.quantity == "step")
    )


# Fields that the reference curves do not depend on: always, or while no prediction is shown.
RACE = ("classes", "num_data", "num_inducing", "num_inputs", "repeats", "budget", "sketch")
GUESSES = ("guess_etgp", "guess_svgp")


class TimingExplorer(Explorer):
    """Race ETGP against SVGPs over the number of classes.

    The figures show time (or memory) over the number of classes C, of inducing points M and of rows
    N, from a reference run that comes with the package. To predict first, hide the truth, click
    where you expect the lines to go, and press *reveal* for your score. Then press *run*: each
    model takes its turns in a process of its own, and the first figure fills up.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `TimingState`

    Examples
    --------
    >>> explorer = TimingExplorer(quantity="memory")
    >>> explorer.title(explorer.state)
    'Peak memory of a step against the number of classes'
    >>> explorer.run()  # returns at once; the first figure fills up while the race goes on
    >>> explorer.pause()
    >>> explorer.stop()
    >>> explorer.close()
    """

    State = TimingState
    handout = ("quantity",)
    pictures: ClassVar = {"classes": race, "num_inducing": race, "num_data": race}
    full_width = ("classes",)
    views: ClassVar = {
        "Over classes C": ("classes",),
        "Over inducing points M": ("num_inducing",),
        "Over rows N": ("num_data",),
    }
    wide = ("classes classes num_inducing", "classes classes num_data")
    folded = ("How large",)
    main = ("guess_etgp", "guess_svgp")
    presets: ClassVar = {
        "Guided tour": tours.TIMING,
        "Predict, then reveal": Preset(
            "You see each model at C = 2 alone. Where will its line go? Choose whose line a click "
            "bends, click into the picture where you expect it, or move the slopes. Then press "
            "reveal: the truth is drawn over your lines, and you get a score.",
            {"predict": True, "show_guess": True, "guess_etgp": 0.5, "guess_svgp": 0.5},
        ),
        "The paper's claim": Preset(
            "The time of one step against C. Compare how steeply the lines of the SVGPs and of "
            "ETGP climb, and their distance at the largest C with the paper's factor of ten.",
            {"fit": True},
        ),
        "A loop, or the algorithm?": Preset(
            "SVGP with C kernels, once in GPflow's loops and once in batched operations: the same "
            "algorithm. The gap between these two lines comes from how it is programmed; the gap "
            "between the batched one and ETGP comes from the mathematics.",
            {"svgp_shared": False},
        ),
        "The first call": Preset(
            "TensorFlow traces a model on its first call. A loop over C kernels is traced C times: "
            "with many classes this takes as long as dozens of steps.",
            {"quantity": "first_step"},
        ),
        "What flows cost": Preset(
            "LINEAR, SAL and TANH do the same Gaussian process work. Their lines differ, in height "
            "and in slope, only because of the flows and the network behind them.",
            {"etgp_sal": True, "etgp_tanh": True, "svgp_separate": False, "svgp_shared": False},
        ),
        "Memory": Preset(
            "Peak memory of a step: C processes keep C matrices of M × N numbers for gradients.",
            {"quantity": "memory"},
        ),
        "Without logarithms": Preset(
            "The same times on linear axes: this is how the waiting feels.", {"log": False}
        ),
    }

    def __init__(self, **values: Any) -> None:
        self._table: pd.DataFrame | None = None
        self._worker: Worker | None = None
        self._race: timing.Race | None = None
        self._is_ending, self._is_over, self._status = False, False, ""
        self._bar = widgets.HTML(layout={"flex": "1 1 260px"})
        self._share = 0.0  # of the race that is done
        super().__init__(**values)
        for name in GUESSES:
            self.controls[name].observe(self._show_guess, "value")

    def _show_guess(self, _: Any) -> None:
        """Show the prediction to whoever changes it."""
        if not self._is_held:
            self.controls["show_guess"].value = True

    # The race -------------------------------------------------------------------------------------

    def actions(self) -> Iterable[tuple[str, str, Any]]:
        return [
            ("▶ run", "Race on this machine, or continue after a pause", self.run),
            ("❚❚ pause", "Pause after the current turn", self.pause),
            ("■ stop", "End the race; the measurements stay", self.stop),
            ("reveal", "Show the truth over your prediction, with a score", self.reveal),
            self._bar,
        ]

    def reveal(self) -> None:
        """Show the truth over the prediction, with a score in the summary.

        Examples
        --------
        >>> explorer = TimingExplorer(predict=True, guess_svgp=0.5)
        >>> explorer.reveal()
        >>> explorer.state.predict, explorer.summary.split()[:2]
        (False, ['Your', 'prediction'])
        """
        self.set(predict=False, show_guess=True)

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        """Bend the predicted lines so that the first of them passes through the click.

        Arguments are as in `Explorer.on_click`.

        Examples
        --------
        >>> explorer = TimingExplorer(predict=True, sketch="svgp")
        >>> explorer.on_click("classes", "", x=50.0, y=1e-6)  # faster than for two: slope 0
        >>> explorer.state.guess_svgp
        0.0
        """
        state = self.state
        first = next((line for line in self._truth(state).lines if _is_sketched(line, state)), None)
        if figure != "classes" or first is None or x <= 1.05 * first.x[0] or y <= 0.0:
            return
        slope = np.log(y / first.y[0]) / np.log(x / first.x[0])
        name = "guess_etgp" if state.sketch == "etgp" else "guess_svgp"
        self.set(**{name: float(np.clip(slope, 0.0, 2.0)), "show_guess": True})

    def run(self) -> None:
        """Start a race with the settings of the controls, or continue a paused one."""
        if self._worker is not None:
            return
        if self._race is None:
            try:
                self._race = timing.Race(_settings(self.state), early=True)
            except ValueError as error:
                self._page.warn(f"This race cannot be run: {error}")
                return
            self._steps = iter(self._race)
            self._is_over = False
        self._is_ending, self._status = False, "starting processes …"
        self._worker = Worker(self._turn, self._snapshot, self._show, self._on_finish)
        self._update_text(self.state)
        self._worker.start()

    def pause(self) -> None:
        """Pause after the current turn; `run` continues."""
        if self._worker is not None:
            self._worker.stop()

    def stop(self) -> None:
        """End the race and its processes after the current turn; the measurements stay."""
        if self._race is None:
            return
        self._is_ending, self._status = True, "stopping after this turn …"
        self._update_text(self.state)
        if self._worker is not None:
            self._worker.stop()
        else:  # paused: a new thread ends it
            self._worker = Worker(lambda: False, self._snapshot, self._show, self._on_finish)
            self._worker.start()

    def close(self) -> None:
        """Close the page, and end the race and its processes once the current turn is over."""
        worker, race = self._worker, self._race
        super().close()
        self._worker = self._race = None
        if race is None:
            return

        def end() -> None:
            if worker is not None:
                worker.join()
            self._steps.close()  # ends the processes

        threading.Thread(target=end, name="etgp-viz end of a race", daemon=True).start()

    def _turn(self) -> bool:
        step = next(self._steps, None)
        self._is_over = step is None
        if step is not None:
            self._status = f"{step.done} of {step.total}: {step.words}"
            self._share = step.done / max(step.total, 1)
        return not self._is_over

    def _snapshot(self, last: bool) -> pd.DataFrame:
        assert self._race is not None
        if last and self._is_ending:
            self._steps.close()  # ends the processes
        return self._race.table()

    def _show(self, table: pd.DataFrame) -> None:
        self._table = table
        self._redraw()

    def _on_finish(self, error: Exception | None) -> None:
        self._status = "done" if self._is_over else "stopped" if self._is_ending else "paused"
        if self._is_over or self._is_ending or error is not None:
            self._race, self._is_ending = None, False
        self._redraw()
        if error is not None:
            self._page.warn(f"The race ended early: {error}")
        self._worker = None

    # What every explorer defines ------------------------------------------------------------------

    def compute_records(self, state: TimingState) -> Iterator[tuple[str, Any]]:
        view = with_defaults(state, RACE if state.show_guess else (*RACE, *GUESSES))
        for over in self.pictures:
            if over == "classes" and self._table is not None:
                yield over, _curves(over, state, self._table)
            else:
                yield over, _reference_curves(over, view)

    def _truth(self, state: TimingState) -> timing.Curves:
        """The curves over the number of classes, with nothing hidden."""
        return _curves("classes", dataclasses.replace(state, predict=False), self._table)

    def _update_text(self, state: TimingState) -> None:
        super()._update_text(state)
        words = html.escape(self._status)
        share = 1.0 if self._status == "done" else self._share
        # Without a value it moves back and forth: something happens, though nothing is done yet.
        value = f" value='{share:.3f}'" if share else ""
        self._bar.value = (
            f"<progress aria-label='the race'{value}></progress> {words}" if self._status else ""
        )

    def title(self, state: TimingState) -> str:
        return f"{QUANTITIES[state.quantity].capitalize()} against the number of classes"

    def describe(self, state: TimingState) -> str:
        status = f"Race: {self._status}. " if self._status else ""
        if state.predict:
            return (
                f"{status}Each model is shown at its smallest C alone. Predict where its line "
                f"goes: you expect slope {state.guess_etgp:.2f} for ETGP and "
                f"{state.guess_svgp:.2f} for the others (0 is flat, 1 doubles when C "
                "doubles). Then press reveal."
            )
        if state.show_guess:
            status += _describe_score(score(self._truth(state), _guess(state) or {}))
        if state.quantity != "step":
            return status + _describe_lines(self._truth(state).lines, state.quantity)
        if self._table is not None and self._table["step"].notna().any():
            return status + " ".join(timing.describe(self._table)[:3])
        return status + _about_reference(_models(state))

    def code(self, state: TimingState) -> str:
        sizes = f"{_classes(state)}, num_data={state.num_data}, num_inducing={state.num_inducing}"
        rounds = f"num_inputs={state.num_inputs}, repeats={state.repeats}, budget={state.budget}"
        sweep = f"table = timing.sweep(models, {sizes}, {rounds}, sessions=2)"
        own = "table if over == 'classes' else reference.iloc[:0]"
        raced = self._table is not None
        return "\n".join(
            [
                "from etgp_viz import timing",
                "from etgp_viz.figures import race",
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
                f"        hide={state.predict},",
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
    """The slope that the reader expects of each model, if it is to be shown."""
    if not state.show_guess:
        return None
    slopes = {True: state.guess_etgp, False: state.guess_svgp}
    return {name: slopes[name.startswith("etgp")] for name in _models(state)}


def _curves(over: str, state: TimingState, own: pd.DataFrame | None = None) -> timing.Curves:
    """The race on this machine, if there was one, in front of the reference run."""
    reference = _reference_of(over, _models(state))
    return timing.curves(
        reference.iloc[:0] if own is None else own,
        state.quantity,
        over,
        log=state.log,
        reference=reference if state.reference else None,
        fit=state.fit,
        guess=_guess(state),
        rows=ROWS[state.dataset],
        hide=state.predict,
    )


_reference_curves = lru_cache(maxsize=6)(_curves)


@lru_cache(maxsize=3)
def _reference(over: str) -> pd.DataFrame:
    return timing.reference(over)


def _reference_of(over: str, models: tuple[str, ...]) -> pd.DataFrame:
    """The rows of some models in the reference run over classes, inducing points or rows."""
    reference = _reference(over)
    return reference[reference["model"].isin(models)]


@lru_cache(maxsize=2)
def _about_reference(models: tuple[str, ...]) -> str:
    reference = _reference_of("classes", models)
    machine = reference.attrs["machine"]
    where = f"Reference run on {machine['processor']}, {machine['cores']} cores."
    sentences = timing.describe(reference)[:2] or ["It has none of the chosen models."]
    return " ".join([where, *sentences])


def _is_sketched(line: Line, state: TimingState) -> bool:
    """Whether a click bends the prediction of this line."""
    is_etgp = line.name.startswith("etgp")
    return line.kind in SHOWN and len(line.x) > 0 and is_etgp == (state.sketch == "etgp")


def _describe_score(found: Any) -> str:
    """A sentence about how near a prediction came."""
    if found is None:
        return ""
    label, factor = max(found.factors.items(), key=lambda item: abs(np.log(item[1])))
    how = "too high" if factor > 1.0 else "too low"
    off = max(factor, 1.0 / factor)
    return (
        f"Your prediction scores {found.points} of 100: it is furthest off for {label}, "
        f"{off:.2g} times {how} at the largest C. "
    )


#: quantity → what is compared, in words, and its unit
COMPARED = {
    "epoch": ("an epoch", "s"),
    "prediction": ("a prediction by point estimate", "s"),
    "prediction_ba": ("a Bayesian prediction", "s"),
    "first_step": ("the first step, with tracing and compiling,", "s"),
    "memory": ("the peak memory of a step", "MiB"),
    "operations": ("a step on paper", "multiply–adds"),
}


def _describe_lines(lines: Iterable[Line], quantity: str) -> str:
    """What a quantity other than the time of a step is at the largest C, and how it grows."""
    known = {line.name: line for line in lines if line.kind in SHOWN and len(line.x)}
    own = {line.name: line for line in lines if line.kind == "measured" and len(line.x)}
    known |= own
    fast = next((line for name, line in known.items() if name.startswith("etgp")), None)
    what, unit = COMPARED[quantity]
    if fast is None:
        return f"No ETGP is among the chosen models, so {what} cannot be compared."
    where = "" if fast.name in own else " in the reference run"
    C, rivals = fast.x[-1], []
    for line in known.values():
        if line is not fast and C in line.x:
            ratio = line.y[line.x == C][0] / fast.y[-1]
            rivals.append(f"{line.label} {ratio:.3g} times that")
    verb = "is" if quantity == "memory" else "takes"
    sentence = f"At C = {C:.0f}{where}, {what} of {fast.label} {verb} {fast.y[-1]:.3g} {unit}"
    sentence += f"; {', '.join(rivals)}." if rivals else "."
    growth = f"{fast.y[-1] / fast.y[0]:.2g} times what it was at C = {fast.x[0]:.0f}"
    return f"{sentence} For {fast.label} this is {growth}."
