"""An ETGP while it learns: data, ELBO, inducing points, q(f₀), warped processes, probabilities."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from etgp_viz.core.optimiser import TrainingError
from etgp_viz.explorers import inference_session
from etgp_viz.explorers.background import Worker, stop_all
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.controls import MAX_POINTS, Points
from etgp_viz.explorers.fields import Choice, Number, Switch, Whole, controlled, with_defaults
from etgp_viz.explorers.inference_session import InferenceSession, Snapshot, View, is_planar
from etgp_viz.figures import (
    class_regions,
    contribution,
    elbo,
    latent_posterior,
    node_errors,
    warped_posterior,
)
from etgp_viz.figures.print import inference as print_inference
from etgp_viz.records.inference import Beliefs, Contribution
from etgp_viz.rivals import names

DATA = {
    "waves": "waves (1-d)",
    "blobs 1-d": "blobs (1-d)",
    "region 1-d": "one region (1-d)",
    "spirals": "spirals (2-d)",
    "moons": "moons (2-d)",
    "blobs": "blobs (2-d)",
    "region": "one region (2-d)",
}
FLOWS = {flow: flow.upper() for flow in names.FLOWS}
BATCHES = {0: "all rows", 16: "16 rows", 32: "32 rows", 60: "60 rows"}
REACH = 6.0  # clicks further from the origin are moved to this distance
STEPS_PER_PLAY = 5000
TOUR = (0, 5, 10, 20, 40, 70, 100, 150, 200, 300, 400)  # steps at which a handout shows training
# Seconds between two computations, while training, of quadrature errors and of what f₀ contributes.
QUADRATURE_EVERY, CONTRIBUTION_EVERY = 4.0, 1.5
# Nats per row: below the first f₀ hardly counts, from the second on it matters.
LITTLE, MUCH = 0.02, 0.05
SUMMARY_EVERY = 2.0  # seconds between two summaries while training: a screen reader reads each


@dataclass(frozen=True)
class InferenceState:
    """The values of the controls; `added` has x₁, x₂ and the class of each clicked point."""

    data: str = controlled("waves", Choice("data", DATA, group="Data"))
    num_classes: int = controlled(
        3, Whole("classes C", 3, 8, group="Data", effect="more classes; compiles again")
    )
    num_data: int = controlled(
        200, Whole("points N", 60, 600, 20, group="Data", effect="more points")
    )
    noise: float = controlled(
        0.1, Number("noise", 0.0, 1.0, group="Data", effect="classes overlap more")
    )
    seed: int = controlled(0, Whole("draw number", 0, 9999, typed=True, group="Data"))
    paint: int = controlled(
        1, Whole("a click adds class", 1, 8, group="Data", effect="a later class")
    )
    added: tuple[float, ...] = controlled((), Points("added by clicks", REACH, 8, group="Data"))
    flow: str = controlled("linear", Choice("flow G", FLOWS, group="Model"))
    num_inducing: int = controlled(15, Whole(
        "inducing points M", 3, 50, group="Model", effect="a finer latent; compiles again"
    ))  # fmt: skip
    hidden: int = controlled(
        25, Whole("hidden width H", 5, 100, 5, group="Model", effect="flows that bend more with x")
    )
    dropout: float = controlled(
        0.25, Number("dropout", 0.0, 0.75, group="Model", effect="PE and BA differ more")
    )
    num_quadrature: int = controlled(
        20, Whole("nodes Q", 1, 40, group="Model", effect="a more exact ELBO")
    )
    refine: bool = controlled(True, Switch("more nodes where Q are too few", group="Model"))
    learning_rate: float = controlled(0.02, Number(
        "learning rate", 0.001, 0.1, log=True, group="Training",
        effect="longer steps, also during training",
    ))  # fmt: skip
    batch_size: int = controlled(0, Choice("mini-batch B", BATCHES, group="Training"))
    samples: int = controlled(10, Whole("dropout draws S", 1, 40, effect="a smoother BA"))
    cut: float = controlled(
        0.0, Number("cut at x₂", -3.0, 3.0, when=is_planar, effect="the cut moves upwards")
    )
    far: bool = controlled(False, Switch("look far away from the data"))


# Fields that can change without rebuilding the model.
KEEP_MODEL = ("paint", "learning_rate", "samples", "cut", "far")


class InferenceExplorer(Explorer):
    """Train an ETGP on toy data and watch it learn; click into a figure to add a point.

    The figures show class probabilities by point estimate (PE) and by Bayesian average (BA), the
    latent q(f₀) with its inducing points, the warped processes, the ELBO, the error of the
    quadrature, and how much log-likelihood is lost without f₀. The buttons above them play, pause,
    step, stop (which keeps the best parameters, as `fit` does) and start over. Training runs in the
    background; a change of data or model ends it.

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
    handout = ()  # the slider of a handout is the training itself
    pictures: ClassVar = {
        "point": class_regions,
        "bayes": class_regions,
        "latent": latent_posterior,
        "warped": warped_posterior,
        "elbo": elbo,
        "nodes": node_errors,
        "contribution": contribution,
    }
    presets: ClassVar = {
        "Waves along a line": Preset(
            "Three classes alternate along x. Press play: one latent f₀ learns the waves, and each "
            "flow bends it upwards where its class is found.",
            {},
        ),
        "A class that is at home in one place": Preset(
            "The last class is found only for 1 < x < 2. Watch its process rise there and nowhere "
            "else: it comes from the same f₀, so this is the work of its flow.",
            {"data": "region 1-d", "num_classes": 4, "noise": 0.05, "learning_rate": 0.03},
        ),
        "Spirals": Preset(
            "Winding borders. With few inducing points the latent cannot follow the arms: try "
            "M = 8 and then M = 40.",
            {"data": "spirals", "num_data": 300, "num_inducing": 30, "learning_rate": 0.04},
        ),
        "Many moons": Preset(
            "Seven classes, still one Gaussian process. Where colours are pale, the model is "
            "unsure; on the grey line its entropy is half the maximum.",
            {"data": "moons", "num_classes": 7, "num_data": 400, "num_inducing": 30,
             "learning_rate": 0.04},
        ),
        "Clouds that overlap": Preset(
            "No border is right here: a good model stays unsure between the clouds. BA averages "
            "over draws of the network and is a little less sure. That is not knowledge of where "
            "the data are: the dropout rate is fixed, so nothing pulls the draws together where "
            "there is a lot of data, or apart where there is none. Look far away and compare.",
            {"data": "blobs", "num_classes": 4, "noise": 0.9, "num_data": 300, "dropout": 0.5,
             "learning_rate": 0.03},
        ),
        "Too few nodes": Preset(
            "Two nodes with a TANH flow, and the model may not add more where two are too few: "
            "training maximises something that is not the ELBO. Train, and see how far two nodes, "
            "and Monte Carlo, are from the truth. By default the model notices and adds nodes: "
            "tick “more nodes where Q are too few”.",
            {"flow": "tanh", "num_quadrature": 2, "refine": False, "learning_rate": 0.03},
        ),
        "Far from the data": Preset(
            "The picture reaches far beyond the data. There q(f₀) returns to its prior (dotted), "
            "but the class probabilities do not return to 1/C: bᶜ(x) goes on as the network "
            "extrapolates, and the model stays sure far from anything it has seen. BA hardly "
            "helps, since its dropout rate is the same everywhere. Train and see.",
            {"data": "blobs 1-d", "far": True, "learning_rate": 0.03},
        ),
    }  # fmt: skip

    def __init__(self, **values: Any) -> None:
        stop_all()  # training of an earlier explorer would slow this one down
        self._built_for: InferenceState | None = None
        self._worker: Worker | None = None
        self._keep_best, self._summarised = False, 0.0
        super().__init__(**values)
        self.controls["learning_rate"].readout_format = ".4f"

    # The training ---------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Training steps behind what the figures show."""
        return self._snapshot.steps

    @property
    def is_training(self) -> bool:
        """Whether training is running in the background."""
        return self._worker is not None

    def actions(self) -> Iterable[tuple[str, str, Any]]:
        return [
            ("▶ play", "Train in the background", self.play),
            ("❚❚ pause", "Pause the training; play continues it", self.pause),
            ("▶❚ step", "Take one step, then pause", self.step),
            ("■ stop", "End the training and keep its best parameters, as fit does", self.stop),
            ("↺ start over", "Return to the model before training", self.start_over),
        ]

    def play(self, steps: int = STEPS_PER_PLAY) -> None:
        """Train in the background for so many more steps, or until `pause`; returns at once."""
        if self._worker is not None:
            return
        session = self._session  # belongs to this worker alone until it has finished
        training, until = session.training, session.training.steps + steps

        def step() -> bool:
            training.learning_rate = self._rate
            training.step()
            return training.steps < until

        def snapshot(last: bool) -> Snapshot:
            if last and self._keep_best:
                training.keep_best()
            session.quadrature_errors(0.0 if last else QUADRATURE_EVERY)
            session.contribution(0.0 if last else CONTRIBUTION_EVERY)
            return session.snapshot(self._view)

        self._keep_best = False
        self._worker = Worker(step, snapshot, self._show, self._on_finish)
        self._update_text(self.state)
        self._worker.start()

    def pause(self) -> None:
        """Pause the training after the current step."""
        if self._worker is not None:
            self._worker.stop()

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
            self._session.training.keep_best()
            self._show(self._session.snapshot(self._view))

    def start_over(self) -> None:
        """Return to the model before training."""
        self._built_for = None
        self._fit_axes()

    def wait(self) -> None:
        """Return when the training has ended; for scripts, where no page is waiting to be drawn."""
        if self._worker is not None:
            self._worker.join()

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
        self.start_over()

    def _show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._redraw()

    def _on_finish(self, error: Exception | None) -> None:
        self._worker = None
        self._redraw()
        if error is not None:
            self._page.warn(_explain(error, self._session.training.steps))

    # What every explorer defines ------------------------------------------------------------------

    def compute_records(self, state: InferenceState) -> Iterator[tuple[str, Any]]:
        self._rate, self._view = state.learning_rate, View(state.cut, state.samples, state.far)
        build_for = with_defaults(state, KEEP_MODEL)
        if build_for != self._built_for:
            if self._worker is not None:
                self._worker.abandon()
                self._worker = None
            self._session = InferenceSession(state)
            # The data first: building the model takes longer.
            yield "point", self._session.undecided(self._view, 0)
            self._snapshot = self._session.snapshot(self._view)
            self._built_for = build_for
        elif not self.is_training and self._snapshot.view != self._view:
            self._snapshot = self._session.with_view(self._snapshot, self._view)
        beliefs = self._snapshot.beliefs
        yield "point", beliefs.point
        yield "elbo", self._snapshot.curve
        yield "latent", beliefs.latent
        yield "bayes", beliefs.bayes
        yield "warped", beliefs.warped
        if self.is_training:  # the session belongs to the worker
            yield "contribution", self._snapshot.contribution
            yield "nodes", self._snapshot.errors
        else:
            yield "contribution", self._session.contribution()
            yield "nodes", self._session.quadrature_errors()

    def _update_text(self, state: InferenceState) -> None:
        """Update the title always, the summary less often, since a screen reader reads it out."""
        now = time.monotonic()
        if self.is_training and self.steps and now - self._summarised < SUMMARY_EVERY:
            self._page.show_title(self.title(state))
        else:
            self._summarised = now
            super()._update_text(state)

    def title(self, state: InferenceState) -> str:
        if self.is_training and self.steps:
            stage = f"training, step {self.steps}"
        elif self.is_training:
            stage = "compiling the training step …"
        else:
            stage = _count_steps(self.steps) if self.steps else "before training"
        return f"One latent process learns {state.num_classes} classes: {stage}"

    def describe(self, state: InferenceState) -> str:
        snapshot, beliefs = self._snapshot, self._snapshot.beliefs
        if not snapshot.steps:
            wait = "This takes a few seconds." if self.is_training else "Press play to train."
            return (
                f"{len(beliefs.point.X)} points of {state.num_classes} classes. Every flow is "
                f"still the identity, so all classes are equally likely everywhere. {wait}"
            )
        curve = snapshot.curve
        difference = beliefs.point.probabilities - beliefs.bayes.probabilities
        worth = _worth_of_latent(self._records["contribution"])
        far = _far_away(beliefs) if snapshot.view.far else ""
        return (
            f"After {_count_steps(snapshot.steps)} the ELBO is {curve.elbo[-1]:.1f}: expected "
            f"log-likelihood {curve.expected[-1]:.1f}, KL {curve.kl[-1]:.1f}. The point estimate "
            f"classifies {beliefs.point.accuracy:.0%} of the points correctly, the Bayesian "
            f"average {beliefs.bayes.accuracy:.0%}; their probabilities differ by up to "
            f"{np.max(np.abs(difference)):.2f}. {worth}{far}"
        )

    def code(self, state: InferenceState) -> str:
        return inference_session.code(state, self._snapshot.history)

    def print_figure(self) -> Any:
        return print_inference.make(**self._records)

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        """Add a point of the chosen class at the click; a running training starts again with it."""
        state = self.state
        if figure not in ("point", "bayes", "latent") or len(state.added) >= 3 * MAX_POINTS:
            return
        place = np.clip([x, y if is_planar(state) else 0.0], -REACH, REACH)
        point = (*np.round(place, 3).tolist(), min(state.paint, state.num_classes))
        was_training = self.is_training
        self.set(added=(*state.added, *point))
        if was_training:
            self.play()


def _worth_of_latent(record: Contribution) -> str:
    """Sentences about what the model would lose without f₀, and without its uncertainty."""
    lost, at_mean = record.lost_at_zero, record.lost_at_mean
    start = "Without f₀ (set to 0) the model would"
    if lost < LITTLE:
        change = "lose hardly anything" if lost > -LITTLE else f"gain {-lost:.2f} nats per row"
        return f"{start} {change} on these points: the network does the work."
    kept = (
        "With f₀ at its mean it would lose hardly anything: its uncertainty adds little."
        if abs(at_mean) < LITTLE
        else f"With f₀ at its mean it would lose {at_mean:.2f}."
    )
    matters = "the GP matters" if lost >= MUCH else "the GP matters a little"
    return f"{start} lose {lost:.2f} nats per row on these points: {matters}. {kept}"


def _far_away(beliefs: Beliefs) -> str:
    """A sentence about the edge of a window that reaches far beyond the data."""
    C = len(beliefs.point.probabilities)
    return (
        f" At the edge, far from the data, the sd of q(f₀) is {beliefs.latent.return_to_prior:.0%} "
        "of its prior's, yet the likeliest class still has probability "
        f"{beliefs.point.confidence_at_edge:.2f} by PE and {beliefs.bayes.confidence_at_edge:.2f} "
        f"by BA (1/C is {1 / C:.2f}): the flows extrapolate."
    )


def _count_steps(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


def _explain(error: Exception, steps: int) -> str:
    """One sentence about what went wrong during training, and what to do about it."""
    if isinstance(error, TrainingError):
        return (
            f"Training diverged after {_count_steps(steps)} because of {error.parameter}: choose a "
            "smaller learning rate and start over."
        )
    first, *_ = (str(error) or type(error).__name__).splitlines()
    return f"Training ended after {_count_steps(steps)}: {first}"
