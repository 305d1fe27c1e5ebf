"""One guarded optimisation step: Adam, optional natural gradients, and recovery from failed ones.

A step measures the loss and its gradients, checks that they are finite, and only then moves the
parameters, so that a failed step changes nothing (of natural gradients GPflow does the checking,
and the recovery takes back what they had changed). TensorFlow's Cholesky factor of a matrix that is
not positive definite is NaN on a CPU and an error elsewhere; both end up in the same recovery.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from etgp_viz.backend import gpflow, tf

__all__ = [
    "MAX_JITTER",
    "MIN_RAISED_JITTER",
    "Optimiser",
    "TrainingError",
    "assign",
    "model_variables",
]

MAX_JITTER = 1e-3
"""Recovery raises the jitter tenfold at a time, up to this value."""

MIN_RAISED_JITTER = 1e-6
"""GPflow's default; a lower jitter is raised to it at once."""

# What TensorFlow says when the numbers, rather than the program, are at fault.
_NUMERICAL = ("Tensor had", "Cholesky decomposition was not successful", "not invertible")

_NATURAL_GRADIENT = "natural_gradient"
_NATURAL_GRADIENT_FAILED = f"{{node {_NATURAL_GRADIENT}/"


class TrainingError(RuntimeError):
    """Training met numbers that no jitter up to ``MAX_JITTER`` could repair.

    The model is left at its last good state: the parameters of the last step whose loss and
    gradients were finite.

    Attributes
    ----------
    parameter : GPflow path of the parameter that went wrong, e.g. ``.kernel.lengthscales``
    result : the history up to the failure
    """

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.result: Any = None


def model_variables(model: Any) -> dict[str, tf.Variable]:
    """Return every variable of a model, by GPflow path where it has one.

    Besides the parameters these are the untrainable variables and the states of any
    ``tf.random.Generator``, which ``model.variables`` leaves out.
    """
    found: dict[Any, str] = {}
    for path, value in gpflow.utilities.parameter_dict(model).items():
        parameter = isinstance(value, gpflow.Parameter)
        variable = value.unconstrained_variable if parameter else value
        found.setdefault(variable.ref(), path)
    tracked = tf.train.TrackableView(model).descendants()
    for variable in (*model.variables, *(v for v in tracked if isinstance(v, tf.Variable))):
        found.setdefault(variable.ref(), f"variable {len(found)}")
    return {path: reference.deref() for reference, path in found.items()}


class Optimiser:
    """Steps on a model's loss that either succeed or leave the model as it was.

    Parameters
    ----------
    model : any object with GPflow's ``training_loss(data)``
    data : tensors ``(X [N, D], Y [N, …])``
    validation : the same for the validation score, or None
    learning_rate : Adam's
    natural_gradients : step size γ of natural gradients on ``(q_mu, q_sqrt)``, or None for Adam
    seed : seeds the model's draws from TensorFlow's implicit random stream, if it makes any

    Attributes
    ----------
    variables : all variables of the model, by path
    last_good : their values, in the same order, where the loss and gradients were last finite
    jitter : what GPflow adds to diagonals; raised on recovery
    """

    def __init__(
        self,
        model: Any,
        data: tuple[tf.Tensor, tf.Tensor],
        validation: tuple[tf.Tensor, tf.Tensor] | None,
        *,
        learning_rate: float,
        natural_gradients: float | None,
        seed: int,
    ) -> None:
        self.model = model
        self.data = data
        self.validation = validation
        self.seed = seed
        self.variables = model_variables(model)
        self.last_good = [variable.read_value() for variable in self.variables.values()]
        by_natural_gradient = set()
        self._natural_gradient = None
        if natural_gradients is not None:
            q = (model.q_mu, model.q_sqrt)
            by_natural_gradient = {p.unconstrained_variable.ref() for p in q}
            self._natural_gradient = gpflow.optimizers.NaturalGradient(
                natural_gradients, name=_NATURAL_GRADIENT
            )
        trainable = {v.ref() for v in model.trainable_variables} - by_natural_gradient
        self._by_adam = {p: v for p, v in self.variables.items() if v.ref() in trainable}
        # Keras 3's optimisers refuse the plain variables that GPflow's parameters are made of.
        self._adam = gpflow.keras.tf_keras.optimizers.Adam(learning_rate, jit_compile=False)
        self._adam.build(list(self._by_adam.values()))
        self.jitter = gpflow.config.default_jitter()

    @property
    def jitter(self) -> float:
        """What GPflow adds to the diagonal of kernel matrices."""
        return self._config.jitter

    @jitter.setter
    def jitter(self, value: float) -> None:
        # The jitter is a constant of the compiled graph, so a new value needs new graphs.
        self._config = dataclasses.replace(gpflow.config.config(), jitter=value)
        self._compiled: dict[str, Callable[..., Any]] = {}

    @property
    def learning_rate(self) -> float:
        """Adam's, which may change between two steps."""
        return float(self._adam.learning_rate)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._adam.learning_rate.assign(value)

    @property
    def trained(self) -> list[str]:
        """The paths of the parameters that Adam moves."""
        return list(self._by_adam)

    def state(self) -> list[tf.Variable]:
        """Return all that the rest of the trajectory depends on, in a fixed order."""
        return [*self.variables.values(), *self._adam.variables]

    def restore(self, values: Sequence[Any]) -> None:
        """Give the model back the values of an earlier ``last_good``."""
        assign(self.variables.values(), values)

    def step(self, rows: tf.Tensor | None = None) -> float:
        """Measure the ELBO, then move the parameters.

        Parameters
        ----------
        rows : indices ``[B]`` of the mini-batch, or None for all the data

        Returns
        -------
        minus the training loss at the parameters *before* they moved
        """
        while True:
            try:
                loss, self.last_good = self._run("_step", *(() if rows is None else (rows,)))
                return -float(loss.numpy())
            except tf.errors.InvalidArgumentError as error:
                if not any(words in str(error) for words in _NUMERICAL):
                    raise
                self._recover(error, rows)

    def score(self) -> float:
        """Return the mean log density of the validation data; NaN where it has none."""
        try:
            return float(self._run("_score").numpy())
        except tf.errors.InvalidArgumentError:
            return np.nan

    def _run(self, name: str, *args: tf.Tensor) -> Any:
        """Call a compiled method under the jitter of this run, compiling it first if need be."""
        with gpflow.config.as_context(self._config):
            if name not in self._compiled:
                method = tf.function(getattr(self, name), autograph=False)
                self._compiled[name] = method.get_concrete_function(*args)
            return self._compiled[name](*args)

    def _batch(self, rows: tf.Tensor | None) -> tuple[tf.Tensor, ...]:
        return self.data if rows is None else tuple(tf.gather(array, rows) for array in self.data)

    def _step(self, rows: tf.Tensor | None = None) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the loss and the values of all variables before the update.

        Those values cost no copy of their own: TensorFlow shares a variable's memory with whoever
        has read it until the variable is written.
        """
        tf.compat.v1.set_random_seed(self.seed)  # of this graph only; the global seed stays
        before = [variable.read_value() for variable in self.variables.values()]
        batch = self._batch(rows)
        variables = list(self._by_adam.values())
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = self.model.training_loss(batch)
        gradients = [
            tf.convert_to_tensor(gradient)
            for gradient in tape.gradient(loss, variables, unconnected_gradients="zero")
        ]
        checks = [tf.debugging.check_numerics(loss, "the loss")]
        for path, gradient in zip(self._by_adam, gradients, strict=True):
            checks.append(tf.debugging.check_numerics(gradient, f"the gradient of {path}"))
        with tf.control_dependencies(checks):
            self._adam.apply_gradients(zip(gradients, variables, strict=True))
        if self._natural_gradient is not None:
            q = (self.model.q_mu, self.model.q_sqrt)
            self._natural_gradient.minimize(lambda: self.model.training_loss(batch), [q])
        return loss, before

    def _score(self) -> tf.Tensor:
        return tf.reduce_mean(self.model.predict_log_density(self.validation))

    def _recover(self, error: Exception, rows: tf.Tensor | None) -> None:
        """Go back to the last good state with more jitter, or give up."""
        jitter = max(10 * self.jitter, MIN_RAISED_JITTER)
        # A natural gradient step that is too long is so for any jitter.
        if jitter > 1.001 * MAX_JITTER or _NATURAL_GRADIENT_FAILED in str(error):
            failure = self._diagnose(str(error), rows)
            self.restore(self.last_good)
            raise failure from error
        self.restore(self.last_good)
        self.jitter = jitter
        warnings.warn(
            f"{_first_line(error)}: the jitter is now {jitter:.0e}; if a prediction fails too, "
            f"call gpflow.config.set_default_jitter({jitter:.0e})",
            RuntimeWarning,
            stacklevel=4,
        )

    def _diagnose(self, message: str, rows: tf.Tensor | None) -> TrainingError:
        """Find the parameter that went wrong while the failed values are still in the model.

        In this order: one that is not finite; one whose (natural) gradient is not; one that, put
        back to its last good value alone, makes the loss finite again (the one that moved most is
        tried first). Failing all these, the one that is largest in unconstrained space.
        """
        values = {path: variable.numpy() for path, variable in self.variables.items()}
        good = dict(zip(values, map(np.asarray, self.last_good), strict=True))
        paths = [path for path in values if values[path].dtype.kind == "f"]

        def blame(path: str, what: str) -> TrainingError:
            shown = _summary(gpflow.utilities.parameter_dict(self.model).get(path, values[path]))
            return TrainingError(
                f"training failed with jitter {self.jitter:.0e}: {path} = {shown} {what}. "
                "The model is back at its last good parameters. A smaller learning_rate "
                "(or natural_gradients) or better-scaled data may help.",
                path,
            )

        for path in paths:
            if not np.isfinite(values[path]).all():
                return blame(path, "is not finite")
        if _NATURAL_GRADIENT_FAILED in message:  # GPflow refused to assign the new q
            return blame(".q_sqrt", "got a natural gradient step too long to stay a covariance")
        for path in self._by_adam:
            if f"the gradient of {path} " in message:
                return blame(path, "has a gradient that is not finite")
        moved = {path: np.max(np.abs(values[path] - good[path]), initial=0.0) for path in paths}
        for path in sorted(filter(moved.__getitem__, paths), key=moved.__getitem__, reverse=True):
            self.variables[path].assign(good[path])
            repaired = self._loss_is_finite(rows)
            self.variables[path].assign(values[path])
            if repaired:
                return blame(path, "makes the loss not finite")
        largest = max(paths, key=lambda path: np.max(np.abs(values[path]), initial=0.0))
        return blame(largest, "is the most extreme value where the loss is not finite")

    def _loss_is_finite(self, rows: tf.Tensor | None) -> bool:
        try:
            with gpflow.config.as_context(self._config):
                return bool(np.isfinite(self.model.training_loss(self._batch(rows))))
        except tf.errors.InvalidArgumentError:
            return False


def assign(variables: Iterable[tf.Variable], values: Iterable[Any]) -> None:
    """Assign values to variables, one by one."""
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _first_line(error: Exception) -> str:
    """Return TensorFlow's own words without its trace, e.g. "the loss : Tensor had NaN values"."""
    line = next(
        line for line in str(error).splitlines() if any(words in line for words in _NUMERICAL)
    )
    return line.split("}}")[-1].strip()


def _summary(value: Any) -> str:
    array = np.asarray(value)
    if array.size == 1:
        return f"{array.item():.6g}"
    return f"array of shape {list(array.shape)} from {array.min():.6g} to {array.max():.6g}"
