"""One guarded optimisation step: Adam, optional natural gradients, and recovery from failed ones.

A step measures the loss and its gradients, checks that they are finite, and only then moves the
parameters, so that a failed step changes nothing (for natural gradients GPflow does the checking,
and the recovery undoes what they had changed). TensorFlow's Cholesky factor of a matrix that is
not positive definite is NaN on a CPU and an error elsewhere; both lead to the same recovery.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, gpflow, jitter, tf

__all__ = ["MAX_JITTER", "MIN_RAISED_JITTER", "Optimiser", "TrainingError", "model_variables"]

MAX_JITTER = 1e-3
"""Recovery raises the jitter tenfold at a time, up to this value."""

MIN_RAISED_JITTER = 1e-6
"""GPflow's default; a lower jitter is raised to it at once."""

# Errors that TensorFlow raises when the numbers, not the program, are at fault.
_NUMERICAL = ("Tensor had", "Cholesky decomposition was not successful", "not invertible")

_NATURAL_GRADIENT = "natural_gradient"
_NATURAL_GRADIENT_FAILED = f"{{node {_NATURAL_GRADIENT}/"


class TrainingError(RuntimeError):
    """Training met numbers that no jitter up to ``MAX_JITTER`` could repair.

    The model is left at the parameters of the last step whose loss and gradients were finite.

    Attributes
    ----------
    parameter : GPflow path of the parameter that went wrong, e.g. ``.kernel.lengthscales``
    result : the `FitResult` up to the failure
    """

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.result: Any = None


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
    """Steps on a model's loss that either succeed or leave the model as it was.

    Parameters
    ----------
    model : any object with GPflow's ``training_loss(data)``
    data : tensors ``(X [N, D], Y [N, …])``
    validation : tensors for the validation score, or None
    learning_rate : Adam's; it may be changed between two steps
    natural_gradients : step size γ of natural gradients on ``(q_mu, q_sqrt)``, or None for Adam
    seed : seeds the model's draws from TensorFlow's implicit random stream, if it makes any

    Attributes
    ----------
    variables : all variables of the model, by path
    last_good : their values, in the same order, where the loss and gradients were last finite
    """

    def __init__(
        self,
        model: Any,
        data: tuple[Tensor, Tensor],
        validation: tuple[Tensor, Tensor] | None = None,
        *,
        learning_rate: float,
        natural_gradients: float | None = None,
        seed: int = 0,
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
        """What GPflow adds to the diagonal of kernel matrices; raised on recovery."""
        return self._jitter

    @jitter.setter
    def jitter(self, value: float) -> None:
        # The jitter is a constant of the compiled graph, so a new value needs new graphs.
        self._jitter = value
        self._compiled: dict[str, Callable[..., Any]] = {}

    @property
    def learning_rate(self) -> float:
        """Adam's learning rate."""
        return float(self._adam.learning_rate)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._adam.learning_rate.assign(value)

    @property
    def trained(self) -> list[str]:
        """The paths of the parameters that Adam moves."""
        return list(self._by_adam)

    @property
    def state(self) -> list[tf.Variable]:
        """All variables that the rest of the trajectory depends on, in a fixed order."""
        return [*self.variables.values(), *self._adam.variables]

    def restore(self, values: Iterable[Any]) -> None:
        """Return to an earlier ``last_good`` (the model alone) or ``state`` (all of the run)."""
        for variable, value in zip(self.state, values, strict=False):
            variable.assign(value)

    def step(self, rows: Tensor | None = None) -> float:
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
        """Mean log density of the validation data; NaN if it cannot be computed."""
        try:
            return float(self._run("_score").numpy())
        except tf.errors.InvalidArgumentError:
            return np.nan

    def _run(self, name: str, *args: Tensor) -> Any:
        """Call a compiled method under the jitter of this run, compiling it first if necessary."""
        with jitter(self.jitter):
            if name not in self._compiled:
                method = tf.function(getattr(self, name), autograph=False)
                self._compiled[name] = method.get_concrete_function(*args)
            return self._compiled[name](*args)

    def _batch(self, rows: Tensor | None) -> tuple[Tensor, ...]:
        return self.data if rows is None else tuple(tf.gather(array, rows) for array in self.data)

    def _step(self, rows: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """The loss, and the values of all variables before the update.

        Those values cost no extra copy: TensorFlow shares a variable's memory with whoever
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
        finite = [tf.debugging.check_numerics(loss, "the loss")]
        for path, gradient in zip(self._by_adam, gradients, strict=True):
            finite.append(tf.debugging.check_numerics(gradient, f"the gradient of {path}"))
        with tf.control_dependencies(finite):
            self._adam.apply_gradients(zip(gradients, variables, strict=True))
        if self._natural_gradient is not None:
            q = (self.model.q_mu, self.model.q_sqrt)
            self._natural_gradient.minimize(lambda: self.model.training_loss(batch), [q])
        return loss, before

    def _score(self) -> Tensor:
        return tf.reduce_mean(self.model.predict_log_density(self.validation))

    def _recover(self, error: Exception, rows: Tensor | None) -> None:
        """Go back to the last good parameters with more jitter, or give up."""
        raised = max(10 * self.jitter, MIN_RAISED_JITTER)
        # No jitter shortens a natural gradient step that is too long.
        if raised > 1.001 * MAX_JITTER or _NATURAL_GRADIENT_FAILED in str(error):
            failure = self._diagnose(str(error), rows)
            self.restore(self.last_good)
            raise failure from error
        self.restore(self.last_good)
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
        values = {path: variable.numpy() for path, variable in self.variables.items()}
        good = dict(zip(values, map(np.asarray, self.last_good), strict=True))
        paths = [path for path in values if values[path].dtype.kind == "f"]

        def largest(arrays: dict[str, np.ndarray]) -> Callable[[str], float]:
            return lambda path: float(np.max(np.abs(arrays[path]), initial=0.0))

        def blame(path: str, problem: str) -> TrainingError:
            value = _summary(gpflow.utilities.parameter_dict(self.model).get(path, values[path]))
            return TrainingError(
                f"training failed with jitter {self.jitter:.0e}: {path} = {value} {problem}. "
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
        moved = largest({path: values[path] - good[path] for path in paths})
        for path in sorted(filter(moved, paths), key=moved, reverse=True):
            self.variables[path].assign(good[path])
            is_repaired = self._loss_is_finite(rows)
            self.variables[path].assign(values[path])
            if is_repaired:
                return blame(path, "makes the loss not finite")
        path = max(paths, key=largest(values))
        return blame(path, "is the most extreme value where the loss is not finite")

    def _loss_is_finite(self, rows: Tensor | None) -> bool:
        try:
            with jitter(self.jitter):
                return bool(np.isfinite(self.model.training_loss(self._batch(rows))))
        except tf.errors.InvalidArgumentError:
            return False


def _summary(value: Any) -> str:
    array = np.asarray(value)
    if array.size == 1:
        return f"{array.item():.6g}"
    return f"array of shape {list(array.shape)} from {array.min():.6g} to {array.max():.6g}"
