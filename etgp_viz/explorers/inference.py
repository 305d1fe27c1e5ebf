"""Watch an ETGP learn: data, ELBO, inducing points, q(f₀), warped processes and probabilities."""

import dataclasses
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from etgp_viz.core.optimiser import TrainingError
from etgp_viz.explorers import inference_session
from etgp_viz.explorers.background import Worker, stop_all
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, Whole, shown
from etgp_viz.explorers.inference_session import Seen, Study, View, is_flat
from etgp_viz.explorers.points import MOST, Points
from etgp_viz.figures import class_regions, elbo, latent_posterior, node_errors, warped_posterior
from etgp_viz.figures.print import inference as print_inference

DATA = {
    "waves": "waves (1-d)",
    "blobs 1-d": "blobs (1-d)",
    "region 1-d": "one region (1-d)",
    "spirals": "spirals (2-d)",
    "moons": "moons (2-d)",
    "blobs": "blobs (2-d)",
    "region": "one region (2-d)",
}
FLOWS = {"linear": "LINEAR", "sal": "SAL", "tanh": "TANH"}
BATCHES = {0: "all rows", 16: "16 rows", 32: "32 rows", 60: "60 rows"}
REACH = 6.0  # of clicks
STEPS_A_PLAY = 5000
TOUR = (0, 5, 10, 20, 40, 70, 100, 150, 200, 300, 400)  # where a handout shows the training
COMPARE_EVERY = 4.0  # seconds between two comparisons of quadrature while training
WORDS_EVERY = 2.0  # seconds between two sentences while training: a screen reader reads each


@dataclass(frozen=True)
class InferenceState:
    """What the controls say. `added` holds three numbers for each clicked point: x₁, x₂, class."""

    data: str = shown("waves", Choice("data", DATA, group="Data"))
    num_classes: int = shown(
        3, Whole("classes C", 3, 8, group="Data", right="more classes; compiles anew")
    )
    num_data: int = shown(200, Whole("points N", 60, 600, 20, group="Data", right="more points"))
    noise: float = shown(0.1, Number("noise", 0.0, 1.0, group="Data", right="classes overlap more"))
    seed: int = shown(0, Whole("draw number", 0, 9999, typed=True, group="Data"))
    paint: int = shown(1, Whole("a click adds class", 1, 8, group="Data", right="a later class"))
    added: tuple[float, ...] = shown((), Points("added by clicks", REACH, 8, group="Data"))
    flow: str = shown("linear", Choice("flow G", FLOWS, group="Model"))
    num_inducing: int = shown(
        15, Whole("inducing points M", 3, 50, group="Model", right="a finer latent; compiles anew")
    )
    hidden: int = shown(
        25, Whole("hidden width H", 5, 100, 5, group="Model", right="flows that bend more with x")
    )
    dropout: float = shown(
        0.25, Number("dropout", 0.0, 0.75, group="Model", right="PE and BA differ more")
    )
    num_quadrature: int = shown(
        20, Whole("nodes Q", 1, 40, group="Model", right="a more exact ELBO")
    )
    learning_rate: float = shown(
        0.02,
        Number("learning rate", 0.001, 0.1, log=True, group="Training",
               right="longer steps, at once"),
    )  # fmt: skip
    batch_size: int = shown(0, Choice("mini-batch B", BATCHES, group="Training"))
    samples: int = shown(10, Whole("dropout draws S", 1, 40, right="a smoother BA"))
    cut: float = shown(
        0.0, Number("cut at x₂", -3.0, 3.0, when=is_flat, right="the cut moves upwards")
    )


# What belongs to how a model is looked at or goes on; all else makes another model.
ALONGSIDE = ("paint", "learning_rate", "samples", "cut")


class InferenceExplorer(Explorer):
    """Train an ETGP on toy data and watch it learn; click into a picture to add a point.

    The buttons above the pictures play, pause, step, stop (and keep the best parameters, as `fit`
    does) and start over. Training runs in the background; a change of data or model ends it.
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
    }
    presets: ClassVar = {
        "Waves along a line": Preset(
            "Three classes by turns along x. Press play: one latent f₀ learns the waves, and each "
            "flow bends it up where its class is at home.",
            {},
        ),
        "A class that is at home in one place": Preset(
            "The last class exists for 1 < x < 2 only. Watch its process rise there and nowhere "
            "else: the same f₀ goes into it, so this is the work of its flow.",
            {"data": "region 1-d", "num_classes": 4, "noise": 0.05, "learning_rate": 0.03},
        ),
        "Spirals": Preset(
            "Borders that wind. With few inducing points the latent cannot follow the arms: try M "
            "= 8 and then M = 40.",
            {"data": "spirals", "num_data": 300, "num_inducing": 30, "learning_rate": 0.04},
        ),
        "Many moons": Preset(
            "Seven classes, still one Gaussian process. Pale places are those where the model is "
            "unsure, the grey line is where its entropy is half of the largest.",
            {"data": "moons", "num_classes": 7, "num_data": 400, "num_inducing": 30,
             "learning_rate": 0.04},
        ),
        "Clouds that overlap": Preset(
            "No border is right here: a good model stays unsure between the clouds. Compare the "
            "colours of PE and BA where no data are.",
            {"data": "blobs", "num_classes": 4, "noise": 0.9, "num_data": 300, "dropout": 0.5,
             "learning_rate": 0.03},
        ),
        "Too few nodes": Preset(
            "Two nodes for a TANH flow: the ELBO that is climbed is not the ELBO. Train, and see "
            "in the last picture how far two nodes are from the truth, and Monte Carlo too.",
            {"flow": "tanh", "num_quadrature": 2, "learning_rate": 0.03},
        ),
    }  # fmt: skip

    def __init__(self, **values: Any) -> None:
        stop_all()  # what an earlier explorer does would only take time from this one
        self._made_for: InferenceState | None = None
        self._worker: Worker | None = None
        self._keep_best, self._said = False, 0.0
        super().__init__(**values)
        self.controls["learning_rate"].readout_format = ".4f"

    # The training ---------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Steps of the training in the picture."""
        return self._seen.steps

    @property
    def is_training(self) -> bool:
        """Whether a training is going on."""
        return self._worker is not None

    def actions(self) -> Iterable[tuple[str, str, Any]]:
        return [
            ("▶ play", "Train on, in the background", self.play),
            ("❚❚ pause", "Hold the training here; play goes on", self.pause),
            ("▶❚ step", "One step, then hold", self.step),
            ("■ stop", "End the training and keep its best parameters, as fit does", self.stop),
            ("↺ start over", "Back to the model before training", self.start_over),
        ]

    def play(self, steps: int = STEPS_A_PLAY) -> None:
        """Train on for so many steps, or until `pause`; returns at once."""
        if self._worker is not None:
            return
        study = self._study  # of this worker alone, until it is done
        training, until = study.training, study.training.steps + steps

        def work() -> bool:
            training.learning_rate = self._rate
            training.step()
            return training.steps < until

        def look(last: bool) -> Seen:
            if last and self._keep_best:
                training.keep_best()
            study.compare(0.0 if last else COMPARE_EVERY)
            return study.look(self._view)

        self._keep_best = False
        self._worker = Worker(work, look, self._show, self._finished)
        self._tell(self.state)
        self._worker.start()

    def pause(self) -> None:
        """Hold the training after the step that is going on."""
        if self._worker is not None:
            self._worker.stop()

    def step(self) -> None:
        """One step; a training that is going on is held instead."""
        if self._worker is None:
            self.play(steps=1)
        else:
            self.pause()

    def stop(self) -> None:
        """End the training, and give the model the parameters of its best epoch."""
        if self._worker is not None:
            self._keep_best = True
            self._worker.stop()
        elif self._study.training.steps:
            self._study.training.keep_best()
            self._show(self._study.look(self._view))

    def start_over(self) -> None:
        """The model as it was before training."""
        self._made_for = None
        self._rescale()

    def wait(self) -> None:
        """Return when the training has ended; for scripts, in which no page is drawn meanwhile."""
        if self._worker is not None:
            self._worker.join()

    def tour(self, name: str = "") -> tuple[str, Iterator[tuple[int, str, bool]]]:
        return super().tour(name) if name else ("training steps", self._training())

    def _training(self) -> Iterator[tuple[int, str, bool]]:
        """A training from its start, with a halt now and then, and none in the background."""
        self.start_over()
        for position, steps in enumerate(TOUR):
            training = self._study.training
            training.learning_rate = self._rate
            if steps > training.steps:
                training.step(steps - training.steps)
            self._show(self._study.look(self._view))
            yield position, str(steps), steps == TOUR[-1]
        self.start_over()

    def _show(self, seen: Seen) -> None:
        self._seen = seen
        self._redraw()

    def _finished(self, error: Exception | None) -> None:
        self._worker = None
        self._redraw()
        if error is not None:
            self._page.warn(_friendly(error, self._study.training.steps))

    # What the base asks for -----------------------------------------------------------------

    def numbers(self, state: InferenceState) -> Iterator[tuple[str, Any]]:
        self._rate, self._view = state.learning_rate, View(state.cut, state.samples)
        kept = {name: getattr(InferenceState(), name) for name in ALONGSIDE}
        made_for = dataclasses.replace(state, **kept)
        if made_for != self._made_for:
            self._begin(state)
            # The data first: making the model takes longer.
            yield "point", self._study.blank(0)
            self._seen = self._study.look(self._view)
            self._made_for = made_for
        elif not self.is_training and self._seen.view != self._view:
            self._seen = self._study.look_again(self._seen, self._view)
        beliefs = self._seen.beliefs
        yield "point", beliefs.point
        yield "elbo", self._seen.curve
        yield "latent", beliefs.latent
        yield "bayes", beliefs.bayes
        yield "warped", beliefs.warped
        yield "nodes", self._seen.errors if self.is_training else self._study.compare()

    def _begin(self, state: InferenceState) -> None:
        """Other data or another model: a training that is going on is left behind."""
        if self._worker is not None:
            self._worker.abandon()
            self._worker = None
        self._study = Study(state)

    def _tell(self, state: InferenceState) -> None:
        """The title at every look; the sentence less often, since a screen reader reads it out."""
        now = time.monotonic()
        if self.is_training and self.steps and now - self._said < WORDS_EVERY:
            self._page.head(self.title(state))
        else:
            self._said = now
            super()._tell(state)

    def title(self, state: InferenceState) -> str:
        if self.is_training:
            what = f"training, step {self.steps}" if self.steps else "compiling the training step …"
        else:
            what = f"{self.steps} steps" if self.steps else "before training"
        return f"One latent process learns {state.num_classes} classes: {what}"

    def words(self, state: InferenceState) -> str:
        seen, beliefs = self._seen, self._seen.beliefs
        if not seen.steps:
            wait = "This takes some seconds." if self.is_training else "Press play to train."
            return (
                f"{len(beliefs.point.X)} points of {state.num_classes} classes. Every flow is "
                f"still the identity, so all classes are about equally likely everywhere. {wait}"
            )
        curve, difference = seen.curve, beliefs.point.probabilities - beliefs.bayes.probabilities
        return (
            f"After {seen.steps} steps the ELBO is {curve.elbo[-1]:.1f}: expected log-likelihood "
            f"{curve.expected[-1]:.1f}, KL {curve.kl[-1]:.1f}. The point estimate gets "
            f"{beliefs.point.accuracy:.0%} of the points right and the Bayesian average "
            f"{beliefs.bayes.accuracy:.0%}; their probabilities differ by up to "
            f"{np.max(np.abs(difference)):.2f}."
        )

    def code(self, state: InferenceState) -> str:
        return inference_session.code(state, self._seen.history)

    def print_figure(self) -> Any:
        return print_inference.make(**self._records)

    def clicked(self, figure: str, panel: str, x: float, y: float) -> None:
        """A point of the chosen class where somebody clicked; a training begins again with it."""
        state = self.state
        if figure not in ("point", "bayes", "latent") or len(state.added) >= 3 * MOST:
            return
        place = np.clip([x, y if is_flat(state) else 0.0], -REACH, REACH)
        point = (*np.round(place, 3).tolist(), min(state.paint, state.num_classes))
        was_training = self.is_training
        self.set(added=(*state.added, *point))
        if was_training:
            self.play()


def _friendly(error: Exception, steps: int) -> str:
    """What went wrong in the thread, in one sentence."""
    if isinstance(error, TrainingError):
        return (
            f"Training left what can be computed after {steps} steps, because of "
            f"{error.parameter}: choose a smaller learning rate and start over."
        )
    first, *_ = (str(error) or type(error).__name__).splitlines()
    return f"Training ended after {steps} steps: {first}"
