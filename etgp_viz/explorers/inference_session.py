"""The computing behind `InferenceExplorer`: data, a model and its training, without any widget.

`InferenceSession` does what the script of `code` does, line by line.
"""

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from etgp_viz.backend import unchecked
from etgp_viz.datasets import toys
from etgp_viz.records import inference as inference_records
from etgp_viz.records.live_training import Curve, LiveTraining
from etgp_viz.rivals.build_model import build


@dataclass(frozen=True)
class View:
    """How a model is shown: where the plane is cut, how many dropout draws, how far one sees."""

    cut: float
    samples: int
    far: bool


@dataclass(frozen=True)
class Snapshot:
    """The records of a session at one time; `history` is the training until then."""

    view: View
    beliefs: inference_records.Beliefs
    curve: Curve
    errors: inference_records.NodeErrors | None
    contribution: inference_records.Contribution | None
    history: tuple[tuple[int, float], ...]
    steps: int


class InferenceSession:
    """Data, a model, its training, and the inputs that are shown; one thread at a time uses it."""

    def __init__(self, state: Any) -> None:
        self._state = state
        self.data = _data(state)
        self._untrained: dict[tuple[int, bool], inference_records.Classes] = {}
        # Records that are slow to compute, by function: the last result, the history after which
        # it was computed, and when.
        self._slow: dict[Callable[..., Any], tuple[Any, Any, float]] = {}

    @cached_property
    def training(self) -> LiveTraining:
        """A new model with its optimiser, made when first needed."""
        state, (X, _) = self._state, self.data
        # M rows of the data: quicker than k-means, and training visibly moves them.
        rows = np.random.default_rng(state.seed).permutation(len(X))[: state.num_inducing]
        model = build(
            f"etgp-{state.flow}", X, state.num_classes, inducing_points=X[rows],
            hidden=(state.hidden,), dropout=state.dropout, num_quadrature=state.num_quadrature,
            seed=state.seed, **_refinement(state),
        )  # fmt: skip
        options = {"batch_size": state.batch_size or None, "seed": state.seed}
        return LiveTraining(model, self.data, learning_rate=state.learning_rate, **options)

    def window(self, view: View) -> inference_records.Window:
        """The inputs that a view shows."""
        margin = inference_records.FAR if view.far else inference_records.MARGIN
        return inference_records.window(self.data[0], margin)

    def undecided(self, view: View, samples: int) -> inference_records.Classes:
        """Class probabilities before training, for which no model is needed."""
        if (samples, view.far) not in self._untrained:
            self._untrained[samples, view.far] = inference_records.undecided(
                self.window(view), self.data, self._state.num_classes, samples
            )
        return self._untrained[samples, view.far]

    def snapshot(self, view: View) -> Snapshot:
        """All records as of now; errors and contribution are the last that were computed."""
        training = self.training
        with unchecked():
            beliefs = inference_records.look(
                training.model, self.window(view), self.data, cut=view.cut, samples=view.samples
            )
        if not training.steps:
            point, bayes = self.undecided(view, 0), self.undecided(view, view.samples)
            beliefs = dataclasses.replace(beliefs, point=point, bayes=bayes)
        slow = (inference_records.node_errors, inference_records.contribution)
        errors, contribution = (self._slow.get(function, (None,))[0] for function in slow)
        history, steps = tuple(training.history), training.steps
        return Snapshot(view, beliefs, training.curve(), errors, contribution, history, steps)

    def with_view(self, snapshot: Snapshot, view: View) -> Snapshot:
        """The same model in another view; if only the cut has moved, the rest is kept."""
        if dataclasses.replace(snapshot.view, cut=view.cut) != view:
            return self.snapshot(view)
        with unchecked():
            warped = inference_records.warped(self.training.model, self.window(view), view.cut)
        latent = dataclasses.replace(snapshot.beliefs.latent, cut=warped.cut)
        beliefs = dataclasses.replace(snapshot.beliefs, latent=latent, warped=warped)
        return dataclasses.replace(snapshot, view=view, beliefs=beliefs)

    def quadrature_errors(self, max_age: float = 0.0) -> inference_records.NodeErrors:
        """Errors of quadrature and of Monte Carlo; outdated ones will do for `max_age` seconds."""
        return self._computed(inference_records.node_errors, max_age)

    def contribution(self, max_age: float = 0.0) -> inference_records.Contribution:
        """What f₀ contributes; an outdated answer will do for `max_age` seconds.

        Before training it is nothing, whatever f₀ is: all flows are the same.
        """
        if not self.training.steps:
            return _nothing(self._state.num_classes)
        return self._computed(inference_records.contribution, max_age)

    def _computed(self, function: Callable[..., Any], max_age: float) -> Any:
        result, after, when = self._slow.get(function, (None, None, 0.0))
        history, now = tuple(self.training.history), time.monotonic()
        if result is None or (history != after and now - when >= max_age):
            with unchecked():
                result = function(self.training.model, self.data)
            self._slow[function] = result, history, now
        return result


@cache
def _nothing(num_classes: int) -> inference_records.Contribution:
    return inference_records.Contribution(-float(np.log(num_classes)), 0.0, 0.0)


def code(state: Any, history: tuple[tuple[int, float], ...]) -> str:
    """A script that repeats a training and computes the same `records`."""
    toy, inputs = _toy(state)
    options = f", num_inputs={inputs}" if inputs else ""
    margin = f", {inference_records.FAR!r}" if state.far else ""
    refinement = "".join(f", {name}={value!r}" for name, value in _refinement(state).items())
    points = _clicked_points(state)
    numbers = list(map(repr, points.ravel().tolist()))
    clicked = [
        "clicked = [  # input(s) and class, from 0",
        *(f"    {', '.join(numbers[k : k + 12])}," for k in range(0, len(numbers), 12)),
        "]",
        f"clicked = np.reshape(clicked, (-1, {points.shape[1]}))",
        "X, Y = np.vstack([X, clicked[:, :-1]]), np.vstack([Y, clicked[:, -1:].astype(int)])",
    ]
    trained = [
        f"for steps, rate in {list(history)!r}:",
        "    if not steps:",
        "        training.keep_best()",
        "        continue",
        "    training.learning_rate = rate",
        "    training.step(steps)",
    ]
    return "\n".join(
        [
            "import numpy as np",
            "from etgp_viz import build",
            "from etgp_viz.records import inference as inference_records",
            "from etgp_viz.datasets import toys",
            "from etgp_viz.figures import class_regions, contribution, elbo, latent_posterior",
            "from etgp_viz.figures import node_errors, warped_posterior",
            "from etgp_viz.records.live_training import LiveTraining",
            "",
            f"toy = toys.{toy}({state.num_data}, {state.num_classes}, noise={state.noise!r}, "
            f"seed={state.seed}{options})",
            "X, Y = toy.X, toy.Y",
            *(clicked if numbers else ()),
            f"rows = np.random.default_rng({state.seed}).permutation(len(X))"
            f"[:{state.num_inducing}]",
            f'model = build("etgp-{state.flow}", X, {state.num_classes}, inducing_points=X[rows],',
            f"              hidden=({state.hidden},), dropout={state.dropout!r}, "
            f"num_quadrature={state.num_quadrature}, seed={state.seed}{refinement})",
            f"training = LiveTraining(model, (X, Y), batch_size={state.batch_size or None}, "
            f"seed={state.seed})",
            *(trained if history else ()),
            "",
            f"window = inference_records.window(X{margin})",
            "beliefs = inference_records.look(model, window, (X, Y), "
            f"cut={state.cut!r}, samples={state.samples})",
            "records = {",
            *(f'    "{name}": beliefs.{name},' for name in ("point", "bayes", "latent", "warped")),
            '    "elbo": training.curve(),',
            '    "nodes": inference_records.node_errors(model, (X, Y)),',
            '    "contribution": inference_records.contribution(model, (X, Y)),',
            "}",
            'class_regions.make(records["point"]).show()',
            'class_regions.make(records["bayes"]).show()',
            'latent_posterior.make(records["latent"]).show()',
            'warped_posterior.make(records["warped"]).show()',
            'elbo.make(records["elbo"]).show()',
            'node_errors.make(records["nodes"]).show()',
            'contribution.make(records["contribution"]).show()',
        ]
    )


def _refinement(state: Any) -> dict[str, Any]:
    """The option that stops a model from adding nodes, if the state says so."""
    return {} if state.refine else {"quadrature_tolerance": None}


def _toy(state: Any) -> tuple[str, int | None]:
    """The name of the toy data set, and the number of inputs where it offers a choice."""
    name, _, one = state.data.partition(" ")
    return name, (1 if one else 2) if name in ("blobs", "region") else None


def _data(state: Any) -> tuple[np.ndarray, np.ndarray]:
    """The toy data followed by the clicked points, ``[N, D]`` and ``[N, 1]``."""
    name, inputs = _toy(state)
    options = {} if inputs is None else {"num_inputs": inputs}
    toy = toys.TOYS[name](
        state.num_data, state.num_classes, noise=state.noise, seed=state.seed, **options
    )
    points = _clicked_points(state)
    return np.vstack([toy.X, points[:, :-1]]), np.vstack([toy.Y, points[:, -1:].astype(int)])


def _clicked_points(state: Any) -> np.ndarray:
    """Inputs and class (from 0) of the clicked points whose class exists, ``[n, D + 1]``."""
    points = np.reshape(state.added, (-1, 3)) - [0.0, 0.0, 1.0]
    points = points[points[:, 2] < state.num_classes]
    return points if is_planar(state) else points[:, [0, 2]]


def is_planar(state: Any) -> bool:
    """Whether the data have two inputs."""
    return state.data != "waves" and not state.data.endswith("1-d")
