"""An ETGP while it learns: data, ELBO, inducing points, q(f₀), warped processes, probabilities."""

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import ipywidgets as widgets
import numpy as np

from etgp_viz.explorers import inference_session
from etgp_viz.explorers.background import Worker, stop_all
from etgp_viz.explorers.base import Explorer
from etgp_viz.explorers.controls import MAX_POINTS
from etgp_viz.explorers.fields import with_defaults
from etgp_viz.explorers.inference_sentences import count_steps, explain, far_away, worth_of_latent
from etgp_viz.explorers.inference_session import InferenceSession, Snapshot, View, is_own, is_planar
from etgp_viz.explorers.inference_state import (
    KEEP_MODEL,
    PRESETS,
    REACH,
    VIEW,
    InferenceState,
    presets_with,
    state_with,
)
from etgp_viz.explorers.training_controls import Toggle
from etgp_viz.figures import (
    class_regions,
    contribution,
    elbo,
    latent_posterior,
    node_errors,
    warped_posterior,
)
from etgp_viz.figures.plotting import signed
from etgp_viz.figures.print import inference as print_inference
from etgp_viz.records import own_data
from etgp_viz.records.live_training import LiveTraining

STEPS_PER_PLAY = 20_000
TOUR = (0, 5, 10, 20, 40, 70, 100, 150, 200, 300, 400)  # steps at which a handout shows training
# Seconds between two pictures while training, and the share of time for them, at most.
PAUSE, SHARE = 0.09, 0.5
SUMMARY_EVERY = 2.0  # seconds between two summaries while training: a screen reader reads each
MAX_PAST = 60  # changes that can be undone
MAX_ENGINES = 4  # compiled steps that are kept
PATIENCE = 1.0  # seconds to wait for the end of a step; while it compiles it takes longer
PAINTED = ("point", "bayes", "latent")  # figures in which points can be added


@dataclass(frozen=True)
class Moment:
    """Where *undo* returns to."""

    state: InferenceState
    session: InferenceSession
    snapshot: Snapshot


class InferenceExplorer(Explorer):
    """Train an ETGP and watch it learn; click or drag in a figure to paint points.

    It opens on three spirals with a model that has taken its first steps. The figures show class
    probabilities by point estimate (PE) and by Bayesian average (BA), the latent q(f₀) with its
    inducing points, the warped processes, the ELBO, the error of the quadrature, and how much
    log-likelihood is lost without f₀. *Play* trains in the background until it is pressed again;
    *stop* keeps the best parameters, as `fit` does. New points join the training while it runs, and
    *undo* takes back any change of points, model or training. Your own data:
    ``InferenceExplorer.of(X, Y)``.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `InferenceState`

    Examples
    --------
    >>> explorer = InferenceExplorer(num_data=60, num_inducing=5)
    >>> print(explorer.summary.partition(".")[0])
    60 points of 3 classes
    >>> explorer.steps, explorer.is_training
    (0, False)
    """

    State = InferenceState
    own: ClassVar[own_data.OwnData | None] = None
    handout = ()  # the slider of a handout is the training itself
    pictures: ClassVar = {
        "point": class_regions,
        "elbo": elbo,
        "latent": latent_posterior,
        "contribution": contribution,
        "bayes": class_regions,
        "warped": warped_posterior,
        "nodes": node_errors,
    }
    views: ClassVar = {
        "Regions and ELBO": (
            "point point point elbo elbo",
            "point point point contribution contribution",
        ),
        "Latent and classes": ("latent warped",),
        "Two predictions": ("point bayes",),
        "Quadrature": ("nodes",),
    }
    wide = (
        "point point elbo latent",
        "point point contribution latent",
        "bayes warped warped nodes",
    )
    folded = ("Model",)
    main = ("learning_rate", "num_inducing")
    presets: ClassVar = PRESETS

    def __init__(self, **values: Any) -> None:
        stop_all()  # training of an earlier explorer would slow this one down
        self._built_for: InferenceState | None = None
        self._worker: Worker | None = None
        self._last_worker: Worker | None = None  # which may be busy with its last words
        self._engines: dict[tuple[Any, ...], LiveTraining] = {}
        self._past: list[Moment] = []
        self._pending: deque[Callable[[], None]] = deque()  # changes that wait for the worker
        self._session: InferenceSession
        self._is_first, self._is_fresh, self._is_one_stroke = True, False, False
        self._keep_best, self._summarised = False, 0.0
        self._toggle = Toggle(
            label="play", hint="Train in the background until this is pressed again"
        )
        self._undo = widgets.Button(
            description="↶ undo", tooltip="Take back the last change of points, model or training",
            disabled=True, layout={"width": "auto"},
        )  # fmt: skip
        super().__init__(**values)
        self.controls["learning_rate"].readout_format = ".4f"
        self._toggle.observe(lambda change: self._on_toggle(change.new), "pressed")
        self._undo.on_click(lambda _: self.undo())
        self.controls["added"].add = self._add
        swatches = self.controls["paint"]
        swatches.figures = list(PAINTED)
        if self.own is not None:
            swatches.names = [*self.own.class_names, *swatches.names[self.own.num_classes :]]
        swatches.on_msg(lambda _, message, __: self._on_stroke(message))

    @classmethod
    def of(
        cls, X: Any, Y: Any = None, *, target: str | int = -1, **values: Any
    ) -> "InferenceExplorer":
        """An explorer of your own data, in at most two columns or a projection that says so.

        Parameters
        ----------
        X : inputs ``[N, D]``, the path of a CSV file, or a `Dataset`
        Y : labels ``[N]``, for inputs that are an array
        target : for a CSV file, the column of the labels
        values : where the controls start

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> explorer = InferenceExplorer.of(rng.normal(size=(40, 3)), ["a", "b"] * 20)
        >>> print(explorer.summary.partition(":")[0])
        40 rows in a 2-d projection
        """
        own = own_data.in_the_plane(X, Y, target=target)

        kind = {"own": own, "State": state_with(own), "presets": presets_with(own)}
        return type(cls.__name__, (cls,), kind)(**values)

    # The training ---------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Training steps behind what the figures show."""
        return self._snapshot.steps

    @property
    def is_training(self) -> bool:
        """Whether training is running in the background."""
        return self._worker is not None

    def actions(self) -> Iterable[widgets.Widget | tuple[str, str, Any]]:
        return [
            self._toggle,
            ("▶❚ step", "Take one step, then pause", self.step),
            self._undo,
            ("■ stop", "End the training and keep its best parameters, as fit does", self.stop),
            ("↺ start over", "Return to the model before training", self.start_over),
        ]

    def play(self, steps: int = STEPS_PER_PLAY) -> None:
        """Train in the background for that many more steps, or until `pause`; returns at once."""
        if self._worker is not None:
            return
        self._remember()
        self._start(steps)

    def _start(self, steps: int = STEPS_PER_PLAY) -> None:
        session = self._session  # belongs to this worker alone until it has finished
        training, until = session.training, session.training.steps + steps
        latest = self._snapshot

        def step() -> bool:
            self._change_what_is_pending()
            training.learning_rate = self._rate
            training.step()
            return training.steps < until

        def snapshot(last: bool) -> Snapshot:
            nonlocal latest
            self._change_what_is_pending()
            if last and self._keep_best:
                training.keep_best()
            view = self._view
            latest = session.snapshot(view) if last else session.glance(view, latest)
            return latest

        self._keep_best = False
        self._worker = Worker(step, snapshot, self._show, self._on_finish, PAUSE, SHARE)
        self._last_worker = self._worker
        self._toggle.pressed = True
        self._update_text(self.state)
        self._worker.start()

    def _change_what_is_pending(self) -> None:
        while self._pending:
            self._pending.popleft()()

    def pause(self) -> None:
        """Pause the training after the current step."""
        if self._worker is not None:
            self._worker.stop()

    def _on_toggle(self, pressed: bool) -> None:
        if pressed:
            self.play()
        else:
            self.pause()

    def step(self) -> None:
        """Take one step; pause if training is running."""
        if self._worker is None:
            self.play(steps=1)
        else:
            self.pause()

    def stop(self) -> None:
        """End the training, and set the model to the parameters of its best epoch."""
        if self._worker is not None:
            self._keep_best = True
            self._worker.stop()
        elif self._session.training.steps:
            self._remember()
            self._session.training.keep_best()
            self._show(self._session.snapshot(self._view))

    def start_over(self) -> None:
        """Return to the model before training."""
        self._is_fresh, self._built_for = True, None
        self._fit_axes()

    def undo(self) -> None:
        """Take back the last change of points, model or training; a training goes on from there."""
        if not self._past:
            return
        past = self._past.pop()
        if past.session is self._session and self._worker is not None:
            self._pending.append(partial(past.session.restore, past.snapshot))
        else:
            self._leave_worker()
            past.session.restore(past.snapshot)
        self._session, self._snapshot = past.session, past.snapshot
        self._built_for = with_defaults(past.state, KEEP_MODEL)
        self._points = past.state.added
        values = dataclasses.asdict(past.state)
        self.set(**{name: value for name, value in values.items() if name not in VIEW})
        self._undo.disabled = not self._past

    def _remember(self) -> None:
        """Let *undo* return to what is shown now."""
        self._past = [*self._past, Moment(self._state_shown, self._session, self._snapshot)]
        self._past = self._past[-MAX_PAST:]
        self._undo.disabled = False

    def wait(self) -> None:
        """Return when the training has ended; for scripts, where no page is waiting to be drawn."""
        if self._last_worker is not None:
            self._last_worker.join()

    def tour(self, name: str = "") -> tuple[str, Iterator[tuple[int, str, bool]]]:
        return super().tour(name) if name else ("training steps", self._training_tour())

    def _training_tour(self) -> Iterator[tuple[int, str, bool]]:
        """Train from the start, in this thread, with a stop at each entry of `TOUR`."""
        self.start_over()
        for position, steps in enumerate(TOUR):
            training = self._session.training
            training.learning_rate = self._rate
            if steps > training.steps:
                training.step(steps - training.steps)
            self._show(self._session.snapshot(self._view))
            yield position, str(steps), steps == TOUR[-1]
        self._built_for = None
        self._fit_axes()

    def _show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._redraw()

    def _on_finish(self, error: Exception | None) -> None:
        self._worker = None
        self._toggle.pressed = False
        if self._pending:  # a change after the last step
            self._change_what_is_pending()
            self._snapshot = self._session.snapshot(self._view)
        self._redraw()
        if error is not None:
            self._page.warn(explain(error, self._session.training.steps))

    def _leave_worker(self) -> bool:
        """Abandon a training that is running; whether its model can be used at once."""
        worker, self._worker = self._worker, None
        self._toggle.pressed = False
        if worker is None:
            return True
        worker.abandon()
        has_ended = worker.join(PATIENCE)
        self._change_what_is_pending() if has_ended else self._pending.clear()
        return has_ended

    # What every explorer defines ------------------------------------------------------------------

    def compute_records(self, state: InferenceState) -> Iterator[tuple[str, Any]]:
        self._rate, self._view = state.learning_rate, View(state.cut, state.samples, state.far)
        build_for, goes_on = with_defaults(state, KEEP_MODEL), False
        if build_for != self._built_for:
            goes_on = self._begin(state)
            if not self._session.opening:  # the data first: building the model takes longer
                yield "point", self._session.undecided(self._view, 0)
            self._snapshot = self._session.snapshot(self._view)
            self._keep_engine(state)
            self._built_for = build_for
        elif state.added != self._points:
            self._set_points(state.added)
        elif not self.is_training and self._snapshot.view != self._view:
            self._snapshot = self._session.with_view(self._snapshot, self._view)
        self._state_shown = state
        beliefs = self._snapshot.beliefs
        yield "point", beliefs.point
        yield "elbo", self._snapshot.curve
        yield "latent", beliefs.latent
        if self.is_training:  # the session belongs to the worker
            yield "contribution", self._snapshot.contribution
            yield "nodes", self._snapshot.errors
        else:
            yield "contribution", self._session.contribution()
            yield "nodes", self._session.quadrature_errors()
        yield "bayes", beliefs.bayes
        yield "warped", beliefs.warped
        if goes_on:
            self._start()

    def _begin(self, state: InferenceState) -> bool:
        """Begin a new session; whether a training was running that can go on with it at once."""
        was_training, has_ended = self.is_training, self._leave_worker()
        if not self._is_first:
            self._remember()
        if not has_ended:  # it still compiles: what it compiles is lost
            self._engines.clear()
        is_opening = not self._is_fresh and with_defaults(state, VIEW) == InferenceState()
        opening = inference_session.OPENING if is_opening else ""
        engine = self._engines.get(inference_session.shape_of(state, self.own))
        self._session = InferenceSession(state, self.own, engine, opening)
        self._points, self._is_fresh, self._is_first = state.added, False, False
        return was_training and engine is not None

    def _keep_engine(self, state: InferenceState) -> None:
        """Keep the compiled step for later sessions of the same shape; *undo* keeps none."""
        shape = inference_session.shape_of(state, self.own)
        self._engines.pop(shape, None)
        self._engines[shape] = self._session.training
        while len(self._engines) > MAX_ENGINES:
            self._engines.pop(next(iter(self._engines))).forget_compiled()

    def _set_points(self, added: tuple[float, ...]) -> None:
        """Go on with other points beside the data; nothing that was learnt is lost."""
        if not self._is_one_stroke:
            self._remember()
        self._points = added
        change = partial(self._session.set_points, added)
        if self.is_training:
            self._pending.append(change)
        else:
            change()
            if self._is_one_stroke:
                self._snapshot = self._session.with_data(self._snapshot)
            else:
                self._snapshot = self._session.snapshot(self._view)

    def _update_text(self, state: InferenceState) -> None:
        """Update the title always, the summary less often, since a screen reader reads it out."""
        now = time.monotonic()
        if self.is_training and self.steps and now - self._summarised < SUMMARY_EVERY:
            self._page.show_title(self.title(state))
        else:
            self._summarised = now
            super()._update_text(state)

    def title(self, state: InferenceState) -> str:
        if self.is_training and not self._session.training.is_compiled:
            stage = "compiling the training step …"
        elif self.is_training:
            stage = f"training, step {self.steps}"
        else:
            stage = count_steps(self.steps) if self.steps else "before training"
        C = inference_session.num_classes(state, self.own)
        return f"One latent learns {C} classes: {stage}"

    def describe(self, state: InferenceState) -> str:
        snapshot, beliefs = self._snapshot, self._snapshot.beliefs
        about = self._about_own_data(state)
        if not snapshot.steps:
            wait = "This takes a few seconds." if self.is_training else "Press play to train."
            C = inference_session.num_classes(state, self.own)
            return (
                f"{about}{len(beliefs.point.X)} points of {C} classes. Every flow is "
                f"still the identity, so all classes are equally likely everywhere. {wait}"
            )
        curve = snapshot.curve
        total, expected, kl = (
            signed(part[-1], 1) for part in (curve.elbo, curve.expected, curve.kl)
        )
        sentence = (
            f"{about}After {count_steps(snapshot.steps)} the ELBO is {total}: expected "
            f"log-likelihood {expected}, KL {kl}. The point estimate classifies "
            f"{beliefs.point.accuracy:.0%} of the points correctly"
        )
        worth = worth_of_latent(self._records["contribution"])
        if beliefs.point.is_glance:  # the Bayesian average is older
            return f"{sentence}. {worth}"
        difference = beliefs.point.probabilities - beliefs.bayes.probabilities
        far = far_away(beliefs) if snapshot.view.far else ""
        return (
            f"{sentence}, the Bayesian average {beliefs.bayes.accuracy:.0%}; their probabilities "
            f"differ by up to {np.max(np.abs(difference)):.2f}. {worth}{far}"
        )

    def _about_own_data(self, state: InferenceState) -> str:
        """Sentences about somebody's own data: what the inputs and the classes are."""
        if self.own is None or not is_own(state):
            return ""
        classes = ", ".join(f"{c} is {name}" for c, name in enumerate(self.own.class_names, 1))
        return f"{self.own.words}. Class {classes}. "

    def code(self, state: InferenceState) -> str:
        return inference_session.code(state, self._snapshot, self.own, self._session.opening)

    def print_figure(self) -> Any:
        return print_inference.make(**self._records)

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        """Add a point of the chosen class at the click; arguments are as in `Explorer.on_click`.

        Examples
        --------
        >>> explorer = InferenceExplorer(data="waves", num_data=60, num_inducing=5, paint=2)
        >>> explorer.on_click("point", "", x=0.5, y=0.0)
        >>> explorer.state.added  # its input, nothing, and its class
        (0.5, 0.0, 2)
        """
        if figure in PAINTED:
            self._add(x, y)

    def _add(self, x: float, y: float) -> None:
        """Add a point of the chosen class; a running training goes on with it."""
        state = self.state
        if len(state.added) >= 3 * MAX_POINTS:
            self._page.warn(f"There is room for {MAX_POINTS} points: remove some first.")
            return
        place = np.clip([x, y if is_planar(state) else 0.0], -REACH, REACH)
        C = inference_session.num_classes(state, self.own)
        point = (*np.round(place, 3).tolist(), min(state.paint, C))
        self.set(added=(*state.added, *point))

    def _on_stroke(self, message: dict[str, Any]) -> None:
        """Add a point of a stroke; *undo* takes back the whole stroke."""
        if "brush" in message:
            self._is_one_stroke = not message["begins"]
            self._add(message["x"], message["y"])
            self._is_one_stroke = True
        elif self._is_one_stroke:  # the stroke has ended
            self._is_one_stroke = False
            if not self.is_training:
                self._show(self._session.snapshot(self._view))
