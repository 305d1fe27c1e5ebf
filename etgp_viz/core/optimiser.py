"""One guarded optimisation step: Adam, optional natural gradients, and recovery from failed ones.

A step measures the loss and its gradients, checks that they are finite, and only then moves the
parameters, so that a failed step changes nothing (for natural gradients GPflow does the checking,
and the recovery undoes what they had changed). TensorFlow's Cholesky factor of a matrix that is
not positive definite is NaN on a CPU and an error elsewhere; both lead to the same recovery.
"""

import contextvars
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, forget_graph, gpflow, jitter, tf
from etgp_viz.core.expectations import is_training

__all__ = ["MAX_JITTER", "MIN_RAISED_JITTER", "Optimiser", "TrainingError", "model_variables"]

MAX_JITTER = 1e-3  # recovery raises the jitter tenfold at a time, up to this value
MIN_RAISED_JITTER = 1e-6  # GPflow's default; a lower jitter is raised to it at once

# Errors that TensorFlow raises when the numbers, not the program, are at fault.
_NUMERICAL = ("Tensor had", "Cholesky decomposition was not successful", "not invertible")
_NATURAL_GRADIENT = "natural_gradient"
_NATURAL_GRADIENT_FAILED = f"{{node {_NATURAL_GRADIENT}/"


class TrainingError(RuntimeError):
    """Training met numbers that no jitter up to ``MAX_JITTER`` repairs, or an impossible ELBO."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter  # GPflow path of the culprit, ".kernel.variance", or ""
        self.result: Any = None  # the `FitResult` up to the failure


def model_variables(model: Any) -> dict[str, tf.Variable]:
    """Every variable of a model, by GPflow path where it has one.

    Besides the parameters these are the untrainable variables and the states of any
    ``tf.random.Generator``, which ``model.variables`` leaves out.
    """
    paths: dict[Any, str] = {}
    for path, value in gpflow.utilities.parameter_dict(model).items():
        is_parameter = isinstance(value, gpflow.Parameter)
        variable = value.unconstrained_variable if is_parameter else value
        paths.setdefault(variable.ref(), path)
    tracked = tf.train.TrackableView(model).descendants()
    for variable in (*model.variables, *(v for v in tracked if isinstance(v, tf.Variable))):
        paths.setdefault(variable.ref(), f"variable {len(paths)}")
    return {path: reference.deref() for reference, path in paths.items()}


class Optimiser:
    """Steps on a model's loss that succeed or leave it as it was; arguments are as for `fit`."""

    def __init__(
        self,
        model: Any,
        data: tuple[Any, Any],
        validation: tuple[Any, Any] | None = None,
        *,
        learning_rate: float,
        natural_gradients: float | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.seed = model, seed
        self.data = tuple(map(tf.convert_to_tensor, data))
        self.validation = validation and tuple(map(tf.convert_to_tensor, validation))
        self.variables = model_variables(model)
        # Their values where the loss and gradients were last finite, in the same order.
        self.last_good = self.current
        self.jitter: float = gpflow.config.default_jitter()  # raised on recovery
        trainable = {variable.ref() for variable in model.trainable_variables}
        self._natural_gradient = None
        if natural_gradients is not None:
            optimiser = gpflow.optimizers.NaturalGradient
            self._natural_gradient = optimiser(natural_gradients, name=_NATURAL_GRADIENT)
            trainable -= {p.unconstrained_variable.ref() for p in (model.q_mu, model.q_sqrt)}
        self.trained = {path: v for path, v in self.variables.items() if v.ref() in trainable}
        # Keras 3's optimisers refuse the plain variables that GPflow's parameters are made of.
        self._adam = gpflow.keras.tf_keras.optimizers.Adam(learning_rate, jit_compile=False)
        self._adam.build(list(self.trained.values()))
        self._compiled: dict[tuple[str, float], Callable[..., Any]] = {}

    @property
    def learning_rate(self) -> float:
        """Adam's learning rate, which may be changed between two steps."""
        return float(self._adam.learning_rate)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._adam.learning_rate.assign(value)

    @property
    def state(self) -> list[tf.Variable]:
        """All variables that the rest of the trajectory depends on, in a fixed order."""
        return [*self.variables.values(), *self._adam.variables]

    @property
    def current(self) -> list[Tensor]:
        """The values of the model's variables, in the same order."""
        return [variable.read_value() for variable in self.variables.values()]

    def restore(self, values: Iterable[Any]) -> None:
        """Return to an earlier ``last_good`` (the model alone) or ``state`` (all of the run)."""
        for variable, value in zip(self.state, values, strict=False):
            variable.assign(value)

    def step(self, rows: Tensor | None = None) -> float:
        """One step on the rows ``[B]`` (None for all); minus the training loss *before* it."""
        while True:
            try:
                loss, self.last_good = self._run("_step", *(() if rows is None else (rows,)))
                return -float(loss.numpy())
            except tf.errors.InvalidArgumentError as error:
                if not any(words in str(error) for words in _NUMERICAL):
                    raise
                self._recover(error, rows)

    def score(self) -> float | None:
        """Mean log density of the validation data; None if it cannot be computed or is NaN."""
        try:
            score = float(self._run("_score").numpy())
        except tf.errors.InvalidArgumentError:
            return None
        return None if np.isnan(score) else score

    def _run(self, name: str, *args: Tensor) -> Any:
        """Call a compiled method; it is compiled once for each jitter, a constant of the graph."""
        key = name, self.jitter
        with jitter(self.jitter):
            if key not in self._compiled:
                method = tf.function(getattr(self, name), autograph=False)
                compiled = method.get_concrete_function(*args)
                forget_graph(compiled.graph)  # gradients have been taken in it
                self._compiled[key] = compiled
            return self._compiled[key](*args)

    def _batch(self, rows: Tensor | None) -> tuple[Tensor, ...]:
        return self.data if rows is None else tuple(tf.gather(array, rows) for array in self.data)

    def _loss(self, batch: tuple[Tensor, ...]) -> Tensor:
        return self.model.training_loss(batch)

    def _step(self, rows: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """The loss, and the values of all variables before the update.

        These cost no extra copy: TensorFlow shares a variable's memory until it is written.
        """
        tf.compat.v1.set_random_seed(self.seed)  # of this graph only; the global seed stays
        before = self.current
        batch = self._batch(rows)
        variables = list(self.trained.values())
        in_training = contextvars.copy_context()
        in_training.run(is_training.set, True)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = in_training.run(self._loss, batch)
        gradients = tape.gradient(loss, variables, unconnected_gradients="zero")
        gradients = list(map(tf.convert_to_tensor, gradients))
        names = ["the loss", *(f"the gradient of {path}" for path in self.trained)]
        finite = [*map(tf.debugging.check_numerics, [loss, *gradients], names)]
        with tf.control_dependencies(finite):
            self._adam.apply_gradients(zip(gradients, variables, strict=True))
        if self._natural_gradient is not None:
            q = (self.model.q_mu, self.model.q_sqrt)
            self._natural_gradient.minimize(lambda: self._loss(batch), [q])
        return loss, before

    def _score(self) -> Tensor:
        return tf.reduce_mean(self.model.predict_log_density(self.validation))

    def _recover(self, error: Exception, rows: Tensor | None) -> None:
        """Go back to the last good parameters with more jitter, or give up."""
        raised = max(10 * self.jitter, MIN_RAISED_JITTER)
        # No jitter shortens a natural gradient step that is too long.
        is_hopeless = raised > 1.001 * MAX_JITTER or _NATURAL_GRADIENT_FAILED in str(error)
        failure = self._diagnose(str(error), rows) if is_hopeless else None
        self.restore(self.last_good)
        if failure is not None:
            raise failure from error
        self.jitter = raised
        # TensorFlow's message without its trace, such as "the loss : Tensor had NaN values".
        lines = str(error).splitlines()
        words = next(line for line in lines if any(part in line for part in _NUMERICAL))
        warnings.warn(
            f"{words.split('}}')[-1].strip()}: the jitter is now {raised:.0e}; if a prediction "
            f"fails too, call gpflow.config.set_default_jitter({raised:.0e})",
            RuntimeWarning,
            stacklevel=4,
        )

    def _diagnose(self, message: str, rows: Tensor | None) -> TrainingError:
        """Name the parameter that went wrong, while the failed values are still in the model.

        In this order: one that is not finite; one whose (natural) gradient is not; one that, put
        back to its last good value alone, makes the loss finite again (the one that moved most is
        tried first). Failing all these, the one that is largest in unconstrained space.
        """
        values = {p: v.numpy() for p, v in self.variables.items() if v.dtype.is_floating}
        good = dict(zip(self.variables, map(np.asarray, self.last_good), strict=True))

        def move(path: str) -> float:
            return float(np.max(np.abs(values[path] - good[path]), initial=0.0))

        def is_culprit(path: str) -> bool:
            self.variables[path].assign(good[path])
            try:
                with jitter(self.jitter):
                    return bool(np.isfinite(self._loss(self._batch(rows))))
            except tf.errors.InvalidArgumentError:
                return False
            finally:
                self.variables[path].assign(values[path])

        not_finite = [path for path, value in values.items() if not np.isfinite(value).all()]
        by_gradient = [path for path in self.trained if f"the gradient of {path} " in message]
        if not_finite:
            path, problem = not_finite[0], "is not finite"
        elif _NATURAL_GRADIENT_FAILED in message:  # GPflow refused to assign the new q
            path, problem = ".q_sqrt", "got a natural gradient step too long to stay a covariance"
        elif by_gradient:
            path, problem = by_gradient[0], "has a gradient that is not finite"
        else:
            moved = sorted(filter(move, values), key=move, reverse=True)
            path, problem = next(filter(is_culprit, moved), ""), "makes the loss not finite"
        if not path:
            path = max(values, key=lambda path: np.max(np.abs(values[path]), initial=0.0))
            problem = "is the most extreme value where the loss is not finite"
        array = np.asarray(gpflow.utilities.parameter_dict(self.model).get(path, values[path]))
        value = f"array of shape {list(array.shape)} from {array.min():.6g} to {array.max():.6g}"
        value = f"{array.item():.6g}" if array.size == 1 else value
        return TrainingError(
            f"training failed with jitter {self.jitter:.0e}: {path} = {value} {problem}. The model "
            "is back at its last good parameters. A smaller learning_rate (or natural_gradients) "
            "or better-scaled data may help.",
            path,
        )
