"""Training that can be watched: step by step, with the parts of the ELBO recorded at every step.

`LiveTraining` uses the same guarded step and the same mini-batches as `fit`. It draws nothing and
starts no thread: the caller decides how often to look. With a `capacity` the data may change while
it trains: parameters, optimiser and compiled step stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz import files
from etgp_viz.backend import Tensor, forget_graph, gpflow, tf
from etgp_viz.checks import check_count, check_positive, check_seed
from etgp_viz.core.model import ETGP
from etgp_viz.core.optimiser import Optimiser, model_variables
from etgp_viz.core.training import Batches, FitResult

__all__ = ["Curve", "LiveTraining", "Saved", "Trainings", "compare", "stored"]

# The approximate number of points in a long curve.
POINTS = 150
# Inducing points are remembered every so many steps, so many times.
TRAIL_EVERY, TRAIL_LENGTH = 5, 40


@dataclass(frozen=True)
class Curve:
    """The ELBO and its parts over the steps of a training run: elbo = expected − kl − penalty.

    Examples
    --------
    >>> elbo, expected, kl, penalty = np.array([[-8.0], [-6.0], [1.5], [0.5]])  # of one step
    >>> curve = Curve(np.arange(1), elbo, expected, kl, penalty)
    >>> bool(np.allclose(curve.elbo, curve.expected - curve.kl - curve.penalty))
    True
    """

    steps: np.ndarray  # steps taken before each measurement [K]: 0, 1, …, thinned if many
    elbo: np.ndarray  # [K]
    expected: np.ndarray  # expected log-likelihood, scaled from the mini-batch to all data [K]
    kl: np.ndarray  # KL[q(u₀) ‖ p(u₀)] [K]
    penalty: np.ndarray  # KL_W, the weight decay of the network [K]


@dataclass(frozen=True)
class Trainings:
    """The ELBO of K trainings of the same model, over steps and over time."""

    names: tuple[str, ...]  # [K]
    elbo: tuple[np.ndarray, ...]  # after 0, 1, … steps [E], K of them
    seconds: tuple[np.ndarray, ...]  # since the first step, without tracing and compiling, the same


def compare(results: Mapping[str, FitResult]) -> Trainings:
    """A record of trainings in which every epoch was one step.

    The first step of a fit is traced and compiled, which says nothing about the optimiser. It is
    counted as if it took the median time of the others.

    Parameters
    ----------
    results : name → the `FitResult` of a fit with full batches

    Returns
    -------
    a `Trainings` record

    Examples
    --------
    >>> from etgp_viz import build, fit
    >>> from etgp_viz.datasets import toys
    >>> from etgp_viz.records import live_training
    >>> toy, results = toys.waves(40, 2), {}
    >>> for name, rate in (("slow", 0.01), ("quick", 0.05)):
    ...     model = build("etgp-linear", toy.X, 2, num_inducing=3, hidden=(4,))
    ...     results[name] = fit(model, (toy.X, toy.Y), epochs=5, learning_rate=rate, progress=False)
    >>> live_training.compare(results).names
    ('slow', 'quick')
    """
    seconds = [
        np.cumsum([0.0, np.median(result.seconds[1:]), *result.seconds[1:-1]])
        for result in results.values()
    ]
    elbo = tuple(result.elbo for result in results.values())
    return Trainings(tuple(results), elbo, tuple(seconds))


@dataclass(frozen=True)
class Saved:
    """A training at one moment: `LiveTraining.restore` returns to it.

    Examples
    --------
    >>> saved = stored("spirals")
    >>> len(saved.measured), saved.trail[0].shape  # 60 steps of a model with inducing points [M, D]
    (60, (24, 2))
    """

    values: tuple[Any, ...]  # of all variables, in the order of `Optimiser.state`
    measured: tuple[tuple[float, float, float], ...]  # ELBO, KL and penalty of each step
    trail: tuple[np.ndarray, ...]  # inducing points, each [M, D], oldest first
    history: tuple[tuple[int, float], ...] = ()  # number of steps and learning rate, in order
    data: tuple[np.ndarray, np.ndarray] | None = None  # None for those that the training has
    position: int = 0  # steps with these data
    best: tuple[float, list[Any] | None] = (-np.inf, None)  # ELBO and values of the best epoch

    def write(self, path: str | Path) -> None:
        """Keep parameters, optimiser, curve and trail in an ``.npz`` file.

        Parameters
        ----------
        path : the file, which is replaced in one move

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored("spirals").write(pathlib.Path(folder, "training.npz"))
        ...     len(files.read_arrays(pathlib.Path(folder, "training.npz"))["measured"])
        60
        """
        arrays = {f"value {k}": np.asarray(value) for k, value in enumerate(self.values)}
        arrays |= {"measured": np.array(self.measured), "trail": np.array(self.trail)}
        files.write_arrays(path, arrays)


def stored(name: str) -> Saved:
    """A training that comes with the package.

    Parameters
    ----------
    name : "spirals", with which `InferenceExplorer` opens

    Returns
    -------
    a `Saved` training, without data

    Examples
    --------
    >>> len(stored("spirals").measured)  # steps
    60
    """
    arrays = files.read_arrays(Path(__file__).parents[1] / "reference" / f"training_{name}.npz")
    values = [arrays[f"value {k}"] for k in range(len(arrays) - 2)]
    measured = tuple(map(tuple, arrays["measured"].tolist()))
    return Saved(tuple(values), measured, tuple(arrays["trail"]), position=len(measured))


class _GrowingOptimiser(Optimiser):
    """Steps on data that may change: the rows up to the capacity have weight 0.

    So there is one shape, and one compiled step, for any number of rows.
    """

    def __init__(self, model: ETGP, capacity: int, **options: Any) -> None:
        X = np.zeros((capacity, model.network.num_inputs))
        Y, weights = np.zeros((capacity, 1), dtype=int), np.zeros(capacity)
        super().__init__(model, (X, Y), None, **options)
        self.data = tuple(tf.Variable(array, trainable=False) for array in (X, Y, weights))

    def load(self, data: tuple[np.ndarray, np.ndarray], weight: float) -> None:
        """Go on with other rows, each of which stands for `weight` rows."""
        N, capacity = len(data[0]), self.data[0].shape[0]
        rows = np.minimum(np.arange(capacity), N - 1)  # beyond the data the last one is repeated
        weights = np.where(np.arange(capacity) < N, weight, 0.0)
        for variable, values in zip(self.data, [*(a[rows] for a in data), weights], strict=True):
            variable.assign(values)

    def _batch(self, rows: Tensor | None) -> tuple[Tensor, ...]:
        arrays = tuple(variable.read_value() for variable in self.data)
        return arrays if rows is None else tuple(tf.gather(array, rows) for array in arrays)

    def _loss(self, batch: tuple[Tensor, ...]) -> Tensor:
        X, Y, weights = batch
        return -self.model.elbo((X, Y), weights=weights) - self.model.log_prior_density()


class LiveTraining:
    """A training run that advances by as many steps as you ask for.

    Parameters
    ----------
    model : an ETGP whose `num_data` is N
    data : ``(X [N, D], Y [N, 1])``
    learning_rate : of Adam; it may be changed between two steps
    batch_size : rows per step; None for all N
    seed : of the mini-batches and of dropout
    capacity : the number of rows that the data may grow to without a new compilation, see
        `replace_data`; None if they never change

    Attributes
    ----------
    history : pairs (number of steps, learning rate) so far, in order; `keep_best` adds (0, 0.0)

    Examples
    --------
    >>> from etgp_viz import build
    >>> from etgp_viz.datasets import toys
    >>> from etgp_viz.records.live_training import LiveTraining
    >>> toy = toys.waves(60, 3)
    >>> model = build("etgp-linear", toy.X, 3, inducing_points=toy.X[:5], hidden=(4,))
    >>> training = LiveTraining(model, (toy.X, toy.Y), learning_rate=0.02)
    >>> training.step(20)
    >>> curve = training.curve()
    >>> training.steps, curve.elbo.shape, bool(curve.elbo[-1] > curve.elbo[0])
    (20, (20,), True)
    >>> training.trail().shape  # inducing points after 1, 6, 11 and 16 steps
    (4, 5, 1)

    Go on, return to an earlier moment, and end with the best parameters:

    >>> saved = training.save()
    >>> training.step(5)
    >>> training.restore(saved)
    >>> training.steps
    20
    >>> training.keep_best()
    >>> training.history
    [(20, 0.02), (0, 0.0)]
    """

    def __init__(
        self,
        model: ETGP,
        data: tuple[Any, Any],
        *,
        learning_rate: float = 0.01,
        batch_size: int | None = None,
        seed: int = 0,
        capacity: int | None = None,
    ) -> None:
        self.model, self.capacity = model, capacity
        self.learning_rate = check_positive(learning_rate, "learning_rate")
        self._batch_size, self._seed = batch_size, check_seed(seed)
        self._measured: list[tuple[float, float, float]] = []
        self._trail: list[np.ndarray] = []
        self.history: list[tuple[int, float]] = []
        self._is_new_chapter = False  # whether the next step begins a new entry of the history
        self._take(data)

    def _take(self, data: tuple[Any, Any]) -> None:
        """Let these be the data of the next steps."""
        X, Y = self.model.check_data(data)
        N, most = len(X), self.capacity or len(X)
        check_count(N, "data", maximum=most, because="the capacity, in rows")
        if self._batch_size is not None:
            check_count(self._batch_size, "batch_size", maximum=N, because="the number of rows")
        self.data = np.asarray(X), np.asarray(Y)
        self._batches = Batches(N, self._batch_size, self._seed)
        self._position = 0
        self._epoch: tuple[int, list[Any]] = -1, []  # its number, and the rows of its steps
        self._best: tuple[float, list[Any] | None] = -np.inf, None  # ELBO and variables
        self._is_loaded = False

    @property
    def steps(self) -> int:
        """Number of steps taken so far."""
        return len(self._measured)

    @property
    def is_compiled(self) -> bool:
        """Whether the next step can be taken at once.

        Examples
        --------
        >>> from etgp_viz import build
        >>> from etgp_viz.datasets import toys
        >>> toy = toys.waves(60, 3)
        >>> model = build("etgp-linear", toy.X, 3, num_inducing=5, hidden=(4,))
        >>> LiveTraining(model, (toy.X, toy.Y)).is_compiled  # the first step compiles it
        False
        """
        return bool(self._optimiser._compiled)

    def forget_compiled(self) -> None:
        """Give back the memory of what is compiled; the next step compiles it again.

        Examples
        --------
        >>> from etgp_viz import build
        >>> from etgp_viz.datasets import toys
        >>> toy = toys.waves(60, 3)
        >>> model = build("etgp-linear", toy.X, 3, num_inducing=5, hidden=(4,))
        >>> training = LiveTraining(model, (toy.X, toy.Y))
        >>> training.forget_compiled()
        >>> training.is_compiled
        False
        """
        self._optimiser._compiled.clear()
        vars(self).pop("_penalties", None)

    def step(self, count: int = 1) -> None:
        """Take `count` steps, at least one. The first compiles the model, which takes seconds."""
        count = check_count(count, "count")
        self._optimiser.learning_rate = self.learning_rate
        self._load()
        for _ in range(count):
            kl, penalty = (float(part) for part in self._penalties())
            self._measured.append((self._optimiser.step(self._next_rows()), kl, penalty))
            self._record_step()

    def replace_data(self, data: tuple[Any, Any]) -> None:
        """Go on with other rows, at most `capacity`: parameters and compiled step stay.

        Parameters
        ----------
        data : ``(X [N, D], Y [N, 1])``

        Examples
        --------
        >>> from etgp_viz import build
        >>> from etgp_viz.datasets import toys
        >>> toy = toys.waves(60, 3)
        >>> model = build("etgp-linear", toy.X, 3, num_inducing=5, hidden=(4,))
        >>> training = LiveTraining(model, (toy.X[:40], toy.Y[:40]), capacity=60)
        >>> training.replace_data((toy.X, toy.Y))
        >>> len(training.data[0])
        60
        """
        if self.capacity is None:
            raise ValueError("capacity: expected a number of rows, got None when this was made")
        self._take(data)
        self._is_new_chapter = True

    def keep_best(self) -> None:
        """Give the model the parameters of its best epoch, as `fit` does at the end."""
        _, values = self._best
        if values is not None:
            self._optimiser.restore(values)
            self.history.append((0, 0.0))

    def curve(self) -> Curve:
        """The ELBO and its parts at up to about `POINTS` steps, the last one included."""
        stride = max(1, -(-self.steps // POINTS))
        steps = np.arange(self.steps)[::-1][::stride][::-1]
        measured = np.array(self._measured, dtype=float).reshape(-1, 3)[steps]
        elbo, kl, penalty = measured.T
        return Curve(steps, elbo, elbo + kl + penalty, kl, penalty)

    def trail(self) -> np.ndarray:
        """Where the inducing points were, every few steps, oldest first ``[T, M, D]``."""
        M, D = self.model.inducing_variable.Z.shape
        return np.array(self._trail).reshape(-1, M, D)

    def save(self) -> Saved:
        """Everything that the rest of the training depends on, for `restore`."""
        return Saved(
            values=tuple(variable.numpy() for variable in self._optimiser.state),
            measured=tuple(self._measured), trail=tuple(self._trail), history=tuple(self.history),
            data=self.data, position=self._position, best=self._best,
        )  # fmt: skip

    def restore(self, saved: Saved) -> None:
        """Return to an earlier moment.

        Parameters
        ----------
        saved : what `save` returned, or `stored`
        """
        self._take(self.data if saved.data is None else saved.data)
        self._optimiser.restore(saved.values)
        self._measured, self._trail = list(saved.measured), list(saved.trail)
        self.history, self._position, self._best = list(saved.history), saved.position, saved.best
        self._is_new_chapter = False

    def restarted(
        self, model: ETGP, data: tuple[Any, Any], *, learning_rate: float, seed: int = 0
    ) -> "LiveTraining":
        """A new training of a model of the same shape, with the compiled step of this one.

        Both share the variables of one model, so only one of them can go on; `restore` returns to
        the other.

        Parameters
        ----------
        model : gives its values to the model of this training
        data, learning_rate, seed : as for a new `LiveTraining`

        Examples
        --------
        >>> from etgp_viz import build
        >>> from etgp_viz.datasets import toys
        >>> toy = toys.waves(60, 3)
        >>> first, second = (
        ...     build("etgp-linear", toy.X, 3, num_inducing=5, seed=seed) for seed in (0, 1)
        ... )
        >>> training = LiveTraining(first, (toy.X, toy.Y))
        >>> other = training.restarted(second, (toy.X, toy.Y), learning_rate=0.05)
        >>> bool(np.allclose(first.inducing_variable.Z, second.inducing_variable.Z))
        True
        """
        options: dict[str, Any] = {
            "batch_size": self._batch_size,
            "capacity": self.capacity,
            "seed": seed,
        }
        other = LiveTraining(self.model, data, learning_rate=learning_rate, **options)
        optimiser, variables = self._optimiser, list(model_variables(model).values())
        adam = optimiser.state[len(variables) :]  # its own variables, which begin anew
        optimiser.restore([*variables, *map(tf.zeros_like, adam)])
        optimiser.jitter = gpflow.config.default_jitter()
        # Compiled once, for both.
        vars(other).update(_optimiser=optimiser, _penalties=self._penalties)
        return other

    @cached_property
    def _optimiser(self) -> Optimiser:
        options: dict[str, Any] = {"learning_rate": self.learning_rate, "seed": self._seed}
        if self.capacity is None:
            return Optimiser(self.model, self.data, None, **options)
        return _GrowingOptimiser(self.model, self.capacity, **options)

    @cached_property
    def _penalties(self) -> Any:
        """KL[q(u₀) ‖ p(u₀)] and KL_W, compiled."""
        model = self.model
        compiled = tf.function(
            lambda: (model.prior_kl(), model.network.prior_penalty()), autograph=False
        ).get_concrete_function()
        forget_graph(compiled.graph)
        return compiled

    def _load(self) -> None:
        """Give a growing optimiser its rows, if they have changed."""
        optimiser = self._optimiser
        if not self._is_loaded and isinstance(optimiser, _GrowingOptimiser):
            N, B = len(self.data[0]), self._batch_size
            optimiser.load(self.data, 1.0 if B is None else N / B)
        self._is_loaded = True

    def _next_rows(self) -> Tensor | None:
        """Rows of the next step, epoch after epoch; None for all rows."""
        epoch, place = divmod(self._position, self._batches.per_epoch)
        if epoch != self._epoch[0]:
            self._epoch = epoch, list(self._batches.of_epoch(epoch))
        self._position += 1
        rows = self._epoch[1][place]
        # With a batch size, a step always takes rows: their number may become that of the data.
        is_whole = rows is None and self.capacity is not None and self._batch_size is not None
        return tf.range(self._batch_size, dtype=tf.int64) if is_whole else rows

    def _record_step(self) -> None:
        """Record the step, and the parameters if it completes the best epoch so far."""
        done, rate = self.history[-1] if self.history else (0, 0.0)
        if done and rate == self.learning_rate and not self._is_new_chapter:
            self.history[-1] = (done + 1, rate)
        else:
            self.history.append((1, self.learning_rate))
        self._is_new_chapter = False
        if self.steps % TRAIL_EVERY == 1:
            self._trail = [*self._trail, self.model.inducing_variable.Z.numpy()][-TRAIL_LENGTH:]
        if self._position % self._batches.per_epoch == 0:
            epoch = self._measured[-self._batches.per_epoch :]
            elbo = sum(elbo for elbo, _, _ in epoch) / len(epoch)
            if elbo > self._best[0]:
                self._best = elbo, self._optimiser.last_good
