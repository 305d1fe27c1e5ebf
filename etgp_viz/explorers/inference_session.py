"""The computing behind `InferenceExplorer`: data, a model and its training, without any widget.

`InferenceSession` does what the script of `code` does, line by line. Points can be added and taken
away while it trains: parameters, optimiser and compiled step stay.
"""

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from etgp_viz.backend import unchecked
from etgp_viz.core.blocks import MAX_ROWS
from etgp_viz.core.model import ETGP
from etgp_viz.datasets import toys
from etgp_viz.explorers.controls import MAX_POINTS
from etgp_viz.records import inference as inference_records
from etgp_viz.records.glance import Glance
from etgp_viz.records.live_training import Curve, LiveTraining, Saved, stored
from etgp_viz.records.own_data import OwnData
from etgp_viz.rivals.build_model import build

OPENING = "spirals"  # the name of the training that comes with the package
# Seconds between two computations, while training, of what takes longer than a glance.
EVERY = {"warped": 0.7, "bayes": 1.0, "contribution": 1.5, "errors": 4.0}


@dataclass(frozen=True)
class View:
    """How a model is shown: where the plane is cut, how many dropout draws, how far one sees."""

    cut: float
    samples: int
    far: bool


@dataclass(frozen=True)
class Chapter:
    """Steps that were taken with the same points: the points, and where their history begins."""

    points: tuple[float, ...]
    start: int


@dataclass(frozen=True)
class Snapshot:
    """The records of a session at one time, and the training at that time."""

    view: View
    beliefs: inference_records.Beliefs
    curve: Curve
    errors: inference_records.NodeErrors | None
    contribution: inference_records.Contribution
    saved: Saved
    chapters: tuple[Chapter, ...]

    @property
    def steps(self) -> int:
        """Training steps so far."""
        return len(self.saved.measured)


@lru_cache(maxsize=4)
def _glance(model: ETGP) -> Glance:
    return Glance(model)


def has_network(state: Any) -> bool:
    """Whether the parameters of the flows come from a network with a hidden layer."""
    return state.extension != "gp"


def has_dropout(state: Any) -> bool:
    """Whether the units of the network are dropped, at a rate that is fixed or a first guess."""
    return has_network(state) and state.extension != "mean-field"


def _model_options(state: Any) -> dict[str, Any]:
    """The options of `build` about the network, and about what goes beyond the paper."""
    options: dict[str, Any] = {}
    if state.extension == "features":
        options["features"] = "shared"
    elif state.extension != "none":
        options["parameters"] = state.extension
    if has_network(state):
        options["hidden"] = (state.hidden,)
    if has_dropout(state):
        options["dropout"] = state.dropout
    return options


def shape_of(state: Any, own: OwnData | None) -> tuple[Any, ...]:
    """What a compiled step depends on: two states with the same shape share it."""
    N = len(_base_data(state, own)[0])
    capacity = -(-(N + MAX_POINTS) // MAX_ROWS) * MAX_ROWS
    model = state.flow, min(state.num_inducing, N), *map(str, _model_options(state).items())
    settings = state.num_quadrature, state.refine, state.batch_size
    return capacity, num_classes(state, own), is_planar(state), *model, *settings


class InferenceSession:
    """Data, a model, its training, and the inputs that are shown; one thread at a time uses it.

    Parameters
    ----------
    state : the state of the explorer
    own : somebody's own data, for a state whose data are "own"
    engine : a training of the same shape, whose compiled step is used
    opening : a stored training to begin with, if any
    """

    def __init__(
        self,
        state: Any,
        own: OwnData | None = None,
        engine: LiveTraining | None = None,
        opening: str = "",
    ) -> None:
        self._state, self._own, self._engine, self.opening = state, own, engine, opening
        self._base = _base_data(state, own)
        self.data = _with_points(self._base, state, own)
        self.chapters = [Chapter(state.added, 0)]
        # Records that are slow to compute, by function: the last result, and what it was about.
        self._slow: dict[Callable[..., Any], tuple[Any, Any]] = {}
        self._shown: View | None = None
        self._computed_at: dict[str, float] = {}

    @cached_property
    def training(self) -> LiveTraining:
        """A new model with its optimiser, made when first needed."""
        state, (X, _) = self._state, self.data
        # M rows of the data: quicker than k-means, and training visibly moves them.
        rows = np.random.default_rng(state.seed).permutation(len(X))[: state.num_inducing]
        model = build(
            "etgp", X, num_classes(state, self._own), flow=state.flow, inducing_points=X[rows],
            **_model_options(state), num_quadrature=state.num_quadrature,
            seed=state.seed, **_refinement(state),
        )  # fmt: skip
        options = {"learning_rate": state.learning_rate, "seed": state.seed}
        if self._engine is not None:
            training = self._engine.restarted(model, self.data, **options)
        else:
            capacity = shape_of(state, self._own)[0]
            options |= {"batch_size": state.batch_size or None, "capacity": capacity}
            training = LiveTraining(model, self.data, **options)
        if self.opening:
            training.restore(stored(self.opening))
        return training

    def set_points(self, added: tuple[float, ...]) -> None:
        """Go on with other points beside the data; the model stays as it is."""
        self._state = dataclasses.replace(self._state, added=added)
        self.data = _with_points(self._base, self._state, self._own)
        self.training.replace_data(self.data)
        start = len(self.training.history)
        if self.chapters[-1].start == start:  # no step was taken with the points until now
            self.chapters.pop()
        self.chapters.append(Chapter(added, start))

    def restore(self, snapshot: Snapshot) -> None:
        """Return to an earlier moment of this session."""
        added = snapshot.chapters[-1].points
        self._state = dataclasses.replace(self._state, added=added)
        self.data = _with_points(self._base, self._state, self._own)
        self.chapters = list(snapshot.chapters)
        self.training.restore(snapshot.saved)

    def window(self, view: View) -> inference_records.Window:
        """The inputs that a view shows."""
        margin = inference_records.FAR if view.far else inference_records.MARGIN
        return inference_records.window(self._base[0], margin, beside=self.data[0])

    def undecided(self, view: View, samples: int, **found: Any) -> inference_records.Classes:
        """Class probabilities before training, for which no model is needed."""
        C = num_classes(self._state, self._own)
        return inference_records.undecided(self.window(view), self.data, C, samples, **found)

    def snapshot(self, view: View) -> Snapshot:
        """All records as of now; errors and contribution are the last that were computed."""
        training, trail = self.training, self.training.trail()
        look: dict[str, Any] = {"cut": view.cut, "samples": view.samples, "trail": trail}
        with unchecked():
            beliefs = inference_records.look(training.model, self.window(view), self.data, **look)
        if not training.steps:
            Z = beliefs.point.Z
            point, bayes = (self.undecided(view, S, Z=Z) for S in (0, view.samples))
            beliefs = dataclasses.replace(beliefs, point=point, bayes=bayes)
        return self._snapshot(view, beliefs)

    def with_data(self, snapshot: Snapshot) -> Snapshot:
        """The same model beside the data as they are now; accuracies are those of before."""
        window = self.window(snapshot.view)
        if len(window.x) != len(snapshot.beliefs.point.window.x):
            return self.snapshot(snapshot.view)
        new: dict[str, Any] = {"X": self.data[0], "labels": self.data[1][:, 0]}
        both = (snapshot.beliefs.point, snapshot.beliefs.bayes)
        point, bayes = (dataclasses.replace(record, **new) for record in both)
        beliefs = dataclasses.replace(snapshot.beliefs, point=point, bayes=bayes)
        return self._snapshot(snapshot.view, beliefs)

    def glance(self, view: View, last: Snapshot) -> Snapshot:
        """A snapshot while the training goes on: the point estimate, q(f₀), and one thing more.

        What takes longer is as old as `EVERY` says; each in its turn is computed anew.
        """
        model, window = self.training.model, self.window(view)
        glance, cut = _glance(model), view.cut if window.y is not None else None
        with unchecked():
            latent, point = glance(window, self.data, cut, self.training.trail())
            found: dict[str, Any] = {"latent": latent, "point": point}
            turn = self._turn(view)
            if turn == "bayes":
                found[turn] = glance.bayes(window, self.data, view.samples)
            elif turn == "warped":
                found[turn] = inference_records.warped(model, window, view.cut)
        if turn == "errors":
            self.quadrature_errors()
        elif turn == "contribution":
            self.contribution()
        return self._snapshot(view, dataclasses.replace(last.beliefs, **found))

    def _turn(self, view: View) -> str | None:
        """What is overdue most, if anything is; with a new view, all of it is."""
        if view != self._shown:
            self._shown, self._computed_at = view, {}
        now = time.monotonic()
        late = {name: now - self._computed_at.get(name, 0.0) - EVERY[name] for name in EVERY}
        name = max(late, key=lambda name: late[name])
        if late[name] < 0.0:
            return None
        self._computed_at[name] = now
        return name

    def _snapshot(self, view: View, beliefs: inference_records.Beliefs) -> Snapshot:
        slow = (inference_records.node_errors, inference_records.contribution)
        errors, contribution = (self._slow.get(function, (None,))[0] for function in slow)
        contribution = contribution or _nothing(num_classes(self._state, self._own))
        curve, saved = self.training.curve(), self.training.save()
        return Snapshot(view, beliefs, curve, errors, contribution, saved, tuple(self.chapters))

    def with_view(self, snapshot: Snapshot, view: View) -> Snapshot:
        """The same model in another view; if only the cut has moved, the rest is kept."""
        if dataclasses.replace(snapshot.view, cut=view.cut) != view:
            return self.snapshot(view)
        with unchecked():
            warped = inference_records.warped(self.training.model, self.window(view), view.cut)
        latent = dataclasses.replace(snapshot.beliefs.latent, cut=warped.cut)
        beliefs = dataclasses.replace(snapshot.beliefs, latent=latent, warped=warped)
        return dataclasses.replace(snapshot, view=view, beliefs=beliefs)

    def quadrature_errors(self) -> inference_records.NodeErrors:
        """Errors of quadrature and of Monte Carlo."""
        return self._computed(inference_records.node_errors)

    def contribution(self) -> inference_records.Contribution:
        """What f₀ contributes. Before training it is nothing: all flows are the same."""
        if not self.training.steps:
            return _nothing(num_classes(self._state, self._own))
        return self._computed(inference_records.contribution)

    def _computed(self, function: Callable[..., Any]) -> Any:
        result, about = self._slow.get(function, (None, None))
        now = tuple(self.training.history), self.training.steps, self.chapters[-1]
        if about != now:
            with unchecked():
                result = function(self.training.model, self.data)
            self._slow[function] = result, now
        return result


@cache
def _nothing(num_classes: int) -> inference_records.Contribution:
    return inference_records.Contribution(-float(np.log(num_classes)), 0.0, 0.0)


def code(state: Any, snapshot: Snapshot, own: OwnData | None, opening: str) -> str:
    """A script that repeats a training and computes the same `records`."""
    margin = f", {inference_records.FAR!r}" if state.far else ""
    refinement = "".join(f", {name}={value!r}" for name, value in _refinement(state).items())
    options = "".join(f"{name}={value!r}, " for name, value in _model_options(state).items())
    capacity, C, *_ = shape_of(state, own)
    chapters = _as_code(snapshot, state, own)
    return "\n".join(
        [
            "import numpy as np",
            "from etgp_viz import build",
            "from etgp_viz.records import inference as inference_records",
            "from etgp_viz.datasets import toys",
            "from etgp_viz.figures import class_regions, contribution, elbo, latent_posterior",
            "from etgp_viz.figures import node_errors, warped_posterior",
            "from etgp_viz.records.live_training import LiveTraining, stored",
            "",
            *_data_code(state, own),
            *chapters.points,
            f"X, Y = {chapters.first}",
            f"rows = np.random.default_rng({state.seed}).permutation(len(X))"
            f"[:{state.num_inducing}]",
            f'model = build("etgp", X, {C}, flow="{state.flow}", inducing_points=X[rows],',
            f"              {options}"
            f"num_quadrature={state.num_quadrature}, seed={state.seed}{refinement})",
            f"training = LiveTraining(model, (X, Y), batch_size={state.batch_size or None}, "
            f"seed={state.seed}, capacity={capacity})",
            *([f"training.restore(stored({opening!r}))"] if opening else ()),
            *chapters.training,
            "",
            f"window = inference_records.window(X_toy{margin}, beside=X)",
            "beliefs = inference_records.look(model, window, (X, Y), "
            f"cut={state.cut!r}, samples={state.samples}, trail=training.trail())",
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


@dataclass(frozen=True)
class _Code:
    """Lines of a script about the added points, and about the training with them."""

    points: list[str]
    first: str  # the data of the first step
    training: list[str]


def _as_code(snapshot: Snapshot, state: Any, own: OwnData | None) -> _Code:
    """The chapters of a training as lines of a script.

    All points ever added stand in one list, and each chapter uses some that follow each other.
    """
    pool: list[tuple[float, ...]] = []
    spans, histories = [], []
    history, ends = snapshot.saved.history, [*(c.start for c in snapshot.chapters[1:]), None]
    for chapter, end in zip(snapshot.chapters, ends, strict=True):
        points = list(map(tuple, _clicked_points(chapter.points, state, own).tolist()))
        start = next(k for k in range(len(pool) + 1) if pool[k:] == points[: len(pool) - k])
        pool += points[len(pool) - start :]
        spans.append((start, start + len(points)))
        histories.append(list(history[chapter.start : end]))
    lines: list[str] = []
    if pool:
        numbers = [repr(number) for point in pool for number in point]
        lines = [
            "added = [  # input(s) and class, from 0",
            *(f"    {', '.join(numbers[k : k + 12])}," for k in range(0, len(numbers), 12)),
            "]",
            f"added = np.reshape(added, (-1, {len(pool[0])}))",
            "def with_added(start, stop):",
            "    some = added[start:stop]",
            "    new = some[:, :-1], some[:, -1:].astype(int)",
            "    return np.vstack([X_toy, new[0]]), np.vstack([Y_toy, new[1]])",
        ]
    first = f"with_added{spans[0]}" if pool else "X_toy, Y_toy"
    training = [
        f"for span, history in {list(zip(spans, histories, strict=True))!r}:",
        *(
            ["    X, Y = with_added(*span)", "    training.replace_data((X, Y))"]
            if len(spans) > 1
            else ()
        ),
        "    for steps, rate in history:",
        "        if not steps:",
        "            training.keep_best()",
        "            continue",
        "        training.learning_rate = rate",
        "        training.step(steps)",
    ]
    return _Code(lines, first, training if any(histories) or len(spans) > 1 else [])


def _data_code(state: Any, own: OwnData | None) -> list[str]:
    if is_own(state) and own is not None:
        return own.code()
    toy, inputs = _toy(state)
    options = f", num_inputs={inputs}" if inputs else ""
    return [
        f"toy = toys.{toy}({state.num_data}, {state.num_classes}, noise={state.noise!r}, "
        f"seed={state.seed}{options})",
        "X_toy, Y_toy = toy.X, toy.Y",
    ]


def _refinement(state: Any) -> dict[str, Any]:
    """The option that stops a model from adding nodes, if the state says so."""
    return {} if state.refine else {"quadrature_tolerance": None}


def _toy(state: Any) -> tuple[str, int | None]:
    """The name of the toy data set, and the number of inputs where it offers a choice."""
    name, _, one = state.data.partition(" ")
    return name, (1 if one else 2) if name in ("blobs", "region") else None


def num_classes(state: Any, own: OwnData | None) -> int:
    """The number of classes C of a state."""
    return own.num_classes if is_own(state) and own is not None else state.num_classes


def _base_data(state: Any, own: OwnData | None) -> tuple[np.ndarray, np.ndarray]:
    """The data without added points, ``[N, D]`` and ``[N, 1]``."""
    if is_own(state) and own is not None:
        return own.X, own.Y
    name, inputs = _toy(state)
    options = {} if inputs is None else {"num_inputs": inputs}
    toy = toys.TOYS[name](
        state.num_data, state.num_classes, noise=state.noise, seed=state.seed, **options
    )
    return toy.X, toy.Y


def _with_points(
    base: tuple[np.ndarray, np.ndarray], state: Any, own: OwnData | None
) -> tuple[np.ndarray, np.ndarray]:
    """Data followed by the added points."""
    points = _clicked_points(state.added, state, own)
    return np.vstack([base[0], points[:, :-1]]), np.vstack([base[1], points[:, -1:].astype(int)])


def _clicked_points(added: tuple[float, ...], state: Any, own: OwnData | None) -> np.ndarray:
    """Inputs and class (from 0) of the added points whose class exists, ``[n, D + 1]``."""
    points = np.reshape(added, (-1, 3)) - [0.0, 0.0, 1.0]
    points = points[points[:, 2] < num_classes(state, own)]
    return points if is_planar(state) else points[:, [0, 2]]


def is_planar(state: Any) -> bool:
    """Whether the data have two inputs."""
    return state.data != "waves" and not state.data.endswith("1-d")


def is_own(state: Any) -> bool:
    """Whether the data are somebody's own."""
    return state.data.startswith("own")
