"""Argument checks: a bad argument is a ``ValueError``, raised before anything is built.

Every message names the argument, what was expected and what was found::

    Y: expected [N, 1] integer labels in 0..2, got 7 in row 4, outside 0..2

Arrays may be NumPy arrays, nested lists, pandas frames or TensorFlow tensors. A tensor comes back
as a tensor, everything else as a NumPy array. Inside a ``tf.function`` values are not known yet,
so only dtypes and static shapes are checked there. Nothing here imports TensorFlow: a value can be
a tensor only if somebody else has imported it.
"""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from etgp_viz.messages import describe, fail

__all__ = [
    "check_choice",
    "check_count",
    "check_counts",
    "check_covariance",
    "check_data",
    "check_draws",
    "check_flow",
    "check_fraction",
    "check_inputs",
    "check_installed",
    "check_kernel",
    "check_labels",
    "check_likelihood",
    "check_list",
    "check_memory",
    "check_model",
    "check_nodes",
    "check_nonnegative",
    "check_numbers",
    "check_optional",
    "check_pair",
    "check_path",
    "check_positive",
    "check_same_rows",
    "check_seed",
    "check_widths",
    "check_zeros_and_ones",
    "describe",
    "fail",
    "free_memory",
    "highest_elbo",
    "is_tensor",
]

MAX_SEED = 2**31 - 1
MAX_DRAWS, MAX_NODES, MAX_STEPS = 100_000, 250, 1000  # of a flow: steps of a graph
MAX_ENTRIES = 10**6  # of a list of names or sizes, which may be endless
MAX_UNASKED = 10**8  # numbers of an array for which nobody looks how much memory is free
ROUNDING = 1e-6  # of a covariance matrix, as a share of its largest entry
# What the models need; the light package leaves it out.
MODEL_PACKAGES = ("tensorflow", "tensorflow_probability", "gpflow", "check_shapes")
# GPflow's likelihoods of outcomes that have probabilities.
DISCRETE = {"Bernoulli", "MultiClass", "Ordinal", "Poisson", "Softmax"}


def check_count(
    value: Any, name: str, minimum: int = 1, maximum: int | None = None, because: str = ""
) -> int:
    """Check an integer in ``minimum..maximum``; ``because`` explains the bound in the message."""
    least = describe(minimum)
    bound = f"≥ {least}" if maximum is None else f"in {least}..{describe(maximum)}"
    expected = f"an integer {bound}" + (f" ({because})" if because else "")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        fail(name, expected, describe(value))
    try:
        count = int(value)
    except Exception:  # an object that only claims to be an integer
        fail(name, expected, describe(value))
    if count < minimum or (maximum is not None and count > maximum):
        fail(name, expected, describe(count))
    return count


def check_seed(value: Any, name: str = "seed") -> int:
    """Check a seed in 0..2³¹−1, which NumPy, TensorFlow and scikit-learn all take."""
    return check_count(value, name, minimum=0, maximum=MAX_SEED)


def check_draws(value: Any, name: str) -> int:
    """Check a number of draws of a prediction."""
    return check_count(value, name, maximum=MAX_DRAWS)


def check_nodes(value: Any, name: str = "num_quadrature") -> int:
    """Check a number of Gauss–Hermite nodes; NumPy's rule overflows beyond `MAX_NODES`."""
    return check_count(value, name, maximum=MAX_NODES)


def check_memory(num_bytes: int, name: str, what: str) -> None:
    """Refuse what cannot fit into memory, with its number of bytes, before it is allocated."""
    free = free_memory()
    if num_bytes > free:
        fail(
            name, f"a size that fits into {free} free bytes", f"{what}, {describe(num_bytes)} bytes"
        )


def check_widths(widths: Sequence[int], name: str) -> None:
    """Check that the weights between layers of these widths fit into memory."""
    weights = sum(a * b for a, b in pairwise(widths))
    # Parameters, gradients, two moments of Adam, and the values before a step.
    check_memory(5 * 8 * weights, name, f"{describe(weights)} weights")


def free_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that a process can still take, within a container's limit if there is one."""
    import psutil

    free = psutil.virtual_memory().available
    try:
        limit = int((cgroup / "memory.max").read_text())  # without a limit the text is "max"
        used = int((cgroup / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return min(free, limit - used)


def check_counts(values: Any, name: str) -> list[int]:
    """Check the widths of layers; a single number stands for one layer."""
    values = (values,) if isinstance(values, numbers.Integral) else values
    return [check_count(value, name) for value in check_list(values, name, "widths such as (50,)")]


def check_list(values: Any, name: str, expected: str) -> list[Any]:
    """Check a list, or anything else to iterate over that is not a text; as a list."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        fail(name, expected, describe(values))
    try:
        return list(islice(values, MAX_ENTRIES))
    except Exception:  # a tensor or an array without an axis, or a broken object
        fail(name, expected, describe(values))


def check_fraction(value: Any, name: str) -> float:
    """Check a number in [0, 1), such as a dropout rate."""
    return _check_number(value, name, "a number in [0, 1)", lambda v: 0 <= v < 1)


def check_positive(value: Any, name: str) -> float:
    """Check a finite number > 0, such as a learning rate."""
    return _check_number(value, name, "a finite number > 0", lambda v: 0 < v < np.inf)


def check_nonnegative(value: Any, name: str) -> float:
    """Check a finite number ≥ 0, such as a weight decay."""
    return _check_number(value, name, "a finite number ≥ 0", lambda v: 0 <= v < np.inf)


def check_choice(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """Check one of a few allowed values."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        fail(name, "one of " + ", ".join(repr(choice) for choice in choices), describe(value))
    return value


def check_path(value: Any, name: str = "path") -> Path:
    """Check the path of a file: text or a ``Path``, not empty, without a null character."""
    try:
        text = os.fspath(value)
    except Exception:  # not a path, or an object that only claims to be one
        fail(name, "the path of a file", describe(value))
    if not isinstance(text, str):
        fail(name, "the path of a file", describe(value))
    if not text or "\0" in text:
        fail(name, "the path of a file", repr(text))
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        fail(name, "the path of a file", f"{text!a}, which this system cannot encode")
    return Path(text)


def check_optional(check: Callable[..., Any], value: Any, name: str, **options: Any) -> Any:
    """None, or a value that passes another check."""
    return None if value is None else check(value, name, **options)


def _check_number(value: Any, name: str, expected: str, allowed: Any) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    try:
        number = float(value) if is_number else np.nan
    except OverflowError:  # an integer beyond the largest float
        number = np.inf
    except Exception:  # an object that only claims to be a number
        number = np.nan
    if not allowed(number):
        fail(name, expected, describe(value))
    return number


def check_installed() -> None:
    """Check that what the models need is installed, without importing it."""
    for package in MODEL_PACKAGES:
        if find_spec(package) is None:
            raise ModuleNotFoundError(
                "This part of etgp_viz needs TensorFlow and GPflow, which are not installed here: "
                "the package etgp-viz installs them, etgp-viz-light does not.",
                name=package,
            )


def check_inputs(X: Any, name: str = "X", num_inputs: int | None = None) -> Any:
    """Check finite real numbers X ``[N, D]``, one row per data point; N, D ≥ 1.

    Integers are converted. Floating-point numbers must have GPflow's own precision
    (``gpflow.default_float()``, float64 unless configured): data silently cast on the way in hide
    a mismatch that resurfaces as an obscure TensorFlow error elsewhere.
    """
    dtype, columns = _float_type(), "D" if num_inputs is None else str(num_inputs)
    expected = f"a [N, {columns}] array of {dtype.name} numbers"
    X = _as_array(X, name, expected, "iuf")
    if _kind(X) == "f" and X.dtype.name != dtype.name:
        hint = f"convert it first, e.g. np.asarray({name}, dtype=np.{dtype.name})"
        fail(name, expected, f"dtype {X.dtype.name}; {hint}")
    shape = _shape(X)
    if shape is not None:
        if len(shape) != 2:
            hint = f"; a single column is {name}[:, None]" if len(shape) == 1 else ""
            fail(name, expected, f"shape {_format_shape(shape)}{hint}")
        if 0 in shape:
            fail(name, expected, f"empty data of shape {_format_shape(shape)}")
        if num_inputs is not None and shape[1] not in (None, num_inputs):
            fail(name, expected, f"shape {_format_shape(shape)}")
    _check_finite(X, name, expected)
    return _cast(X, dtype)


def check_numbers(value: Any, name: str, expected: str = "finite real numbers") -> Any:
    """Check an array of finite real numbers of any shape; booleans count as 0 and 1."""
    array = _as_array(value, name, expected, "iufb")
    _check_finite(array, name, expected)
    return array


def check_covariance(K: Any, name: str = "K") -> np.ndarray:
    """Check a covariance matrix ``[N, N]``: symmetric and positive semidefinite, up to rounding."""
    expected = "a symmetric, positive semidefinite [N, N] matrix"
    K = np.asarray(check_numbers(K, name, expected), dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        fail(name, expected, f"shape {_format_shape(K.shape)}")
    size = np.max(np.abs(K), initial=0.0)
    if np.max(np.abs(K - K.T), initial=0.0) > ROUNDING * size:
        fail(name, expected, "one that is not symmetric")
    try:
        np.linalg.cholesky(K + ROUNDING * (size or 1.0) * np.eye(len(K)))
    except np.linalg.LinAlgError:
        lowest = float(np.linalg.eigvalsh(K).min())
        fail(name, expected, f"one with the eigenvalue {lowest:.3g}")
    return K


def check_labels(Y: Any, num_classes: int, num_rows: int | None = None, name: str = "Y") -> Any:
    """Check class labels 0..C−1, ``[N, 1]`` or ``[N]``, and return them as int64 ``[N, 1]``.

    Whole numbers stored as floats (as CSV readers and GPflow's own examples give them) are
    accepted; 1.5 is not.
    """
    rows = "N" if num_rows is None else str(num_rows)
    expected = f"[{rows}, 1] integer labels in 0..{num_classes - 1}"
    Y = _as_array(Y, name, expected, "iuf")
    shape = _shape(Y)
    if shape is not None:
        if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] not in (None, 1)):
            fail(name, expected, f"shape {_format_shape(shape)}")
        if shape[0] == 0:
            fail(name, expected, f"empty data of shape {_format_shape(shape)}")
        if num_rows is not None and shape[0] not in (None, num_rows):
            fail(name, expected, f"{shape[0]} rows")
    values = _values(Y)
    if values is not None:
        flat = np.ravel(values)
        _check_finite(Y, name, expected)
        for bad, problem in [
            (flat != np.floor(flat), "which is not an integer"),
            ((flat < 0) | (flat >= num_classes), f"outside 0..{num_classes - 1}"),
        ]:
            if bad.any():
                row = int(np.argmax(bad))
                fail(name, expected, f"{flat[row]!s} in row {row}, {problem}")
    reshape = sys.modules["tensorflow"].reshape if is_tensor(Y) else np.reshape
    return reshape(_cast(Y, np.dtype(np.int64)), (-1, 1))


def check_data(data: Any, num_classes: int, num_inputs: int | None = None) -> tuple[Any, Any]:
    """Check a pair ``(X [N, D], Y [N, 1])`` of inputs and class labels with the same N."""
    X, Y = _pair(data)
    X = check_inputs(X, "X", num_inputs)
    return X, check_labels(Y, num_classes, num_rows=_num_rows(X))


def check_same_rows(data: Any) -> tuple[Any, Any]:
    """Check a pair ``(X [N, D], Y [N, …])`` where Y is any finite numeric target with N rows.

    Y keeps its dtype, except that Python and pandas values become NumPy arrays.
    """
    X, Y = _pair(data)
    X = check_inputs(X, "X")
    num_rows = _num_rows(X)
    expected = f"a numeric array with {'N' if num_rows is None else num_rows} rows, like X"
    Y = _as_array(Y, "Y", expected, "iufb")
    target = _shape(Y)
    if target is not None:
        if not target:
            fail("Y", expected, "a single number")
        if None not in (target[0], num_rows) and target[0] != num_rows:
            fail("Y", expected, f"shape {_format_shape(target)}")
    _check_finite(Y, "Y", expected)
    return X, Y


def check_pair(data: Any, name: str, model: Any) -> tuple[Any, Any]:
    """Check a pair (X, Y) by the model's own ``check_data`` if it has one."""
    try:
        return getattr(model, "check_data", check_same_rows)(data)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def check_zeros_and_ones(Y: Any) -> Any:
    """Check that a numeric target has only zeros and ones; booleans become numbers."""
    values = _values(Y)
    if values is not None and not np.isin(values, (0, 1)).all():
        row = int(np.argwhere(~np.isin(values, (0, 1)))[0][0])
        fail("Y", f"zeros and ones, {_float_type().name}", f"another number in row {row}")
    return _cast(Y, np.dtype(np.int64)) if _kind(Y) == "b" else Y


def check_flow(flow: Any) -> None:
    """Refuse anything but a flow; its class is in `core`, which this module does not import."""
    if isinstance(flow, type) or not hasattr(type(flow), "near_identity_params"):
        fail("flow", "a flow such as flows.Linear()", describe(flow))


def check_kernel(kernel: Any, num_inputs: int) -> None:
    """Refuse anything but a single-output GPflow kernel of D inputs."""
    gpflow, tf = sys.modules["gpflow"], sys.modules["tensorflow"]
    expected = f"a GPflow kernel with one output, of {num_inputs} inputs"
    name = type(kernel).__name__
    if not isinstance(kernel, gpflow.kernels.Kernel):
        fail("kernel", expected, describe(kernel))
    if isinstance(kernel, gpflow.kernels.MultioutputKernel):
        fail("kernel", expected, f"a {name} with several outputs")
    try:
        kernel(tf.zeros([1, num_inputs], gpflow.default_float()))
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        raise ValueError(f"kernel: expected {expected}, got a {name} that refuses them") from error


def check_likelihood(likelihood: Any, num_classes: int) -> None:
    """Refuse anything but a GPflow likelihood of C processes, or of any number."""
    if not isinstance(likelihood, sys.modules["gpflow"].likelihoods.Likelihood):
        fail("likelihood", "a GPflow likelihood", describe(likelihood))
    if likelihood.latent_dim not in (None, num_classes):
        expected = f"one of {num_classes} processes, as the network has"
        fail("likelihood", expected, f"one of {likelihood.latent_dim}")


def check_model(model: Any, num_rows: int, batch_size: int | None, natural: bool) -> None:
    """Refuse a model that would train on the wrong objective or not at all."""
    if not hasattr(model, "training_loss"):
        fail("model", "a training_loss method", type(model).__name__)
    num_data = getattr(model, "num_data", None)
    is_batch = batch_size is not None and batch_size < num_rows
    if (num_data is None and is_batch) or (num_data is not None and int(num_data) != num_rows):
        expected = f"{num_rows}, the number of rows of X, by which the ELBO is scaled"
        fail("model.num_data", expected, str(num_data))
    if natural:
        q_sqrt = getattr(model, "q_sqrt", None)
        if not isinstance(q_sqrt, sys.modules["gpflow"].Parameter) or q_sqrt.shape.rank != 3:
            got = type(model).__name__ if q_sqrt is None else f"q_sqrt of shape {q_sqrt.shape}"
            fail("natural_gradients", "a model with q_mu and a full q_sqrt [L, M, M]", got)
    elif not model.trainable_variables:
        fail("model", "a trainable parameter", "none")


def highest_elbo(model: Any) -> float:
    """Upper bound on the ELBO of a model: 0, up to rounding, for classes and counts; else infinity.

    Every p(y | f) of a class or a count is at most one. A prior of a parameter adds its log
    density, which has no such bound.
    """
    likelihood = getattr(model, "likelihood", None)
    has_probabilities = any(kind.__name__ in DISCRETE for kind in type(likelihood).__mro__)
    has_priors = any(p.prior is not None for p in getattr(model, "trainable_parameters", ()))
    return 1e-6 if has_probabilities and not has_priors else np.inf


def _check_finite(array: Any, name: str, expected: str) -> None:
    values = _values(array)
    if values is None or values.dtype.kind != "f":
        return
    finite = np.isfinite(values)
    if not finite.all():
        index = np.argwhere(~finite)[0]
        places = zip(("row", "column"), index, strict=False)
        where = ", ".join(f"{axis} {place}" for axis, place in places) or "a single number"
        fail(name, expected, f"{values[tuple(index)]} in {where} ({(~finite).sum()} non-finite)")


def is_tensor(value: Any) -> bool:
    """Whether a value is TensorFlow's: a tensor, a variable or a GPflow parameter."""
    tf = sys.modules.get("tensorflow")
    # ``tf.is_tensor`` knows all three, GPflow's parameters by the conversion they register.
    try:
        return tf is not None and hasattr(tf, "is_tensor") and tf.is_tensor(value)
    except Exception:  # an object that raises when it is asked for an attribute
        return False


def _cast(array: Any, dtype: np.dtype) -> Any:
    """The same values in another dtype."""
    if is_tensor(array):
        return sys.modules["tensorflow"].cast(array, dtype)
    return array.astype(dtype, copy=False)


def _pair(data: Any) -> tuple[Any, Any]:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        fail("data", "a pair (X, Y)", describe(data))
    return data[0], data[1]


def _as_array(value: Any, name: str, expected: str, kinds: str) -> Any:
    """A tensor for TensorFlow's and GPflow's types, else a NumPy array; of one of these kinds."""
    if isinstance(value, bytearray):
        fail(name, expected, describe(value))
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        fail(name, expected, "an array with masked values")
    is_numpy = not is_tensor(value)
    # A variable or a GPflow parameter becomes the tensor of its values.
    convert = np.asarray if is_numpy else sys.modules["tensorflow"].convert_to_tensor
    try:
        array = convert(value)
    except Exception as error:
        if isinstance(error, ValueError) and is_numpy:  # NumPy does not name the argument
            fail(name, expected, "rows of unequal length")
        # A tensor that is not dense, or an object that does not want to be an array.
        fail(name, expected, f"{describe(value)}, which raises {type(error).__name__}")
    if _kind(array) not in kinds:
        fail(name, expected, f"dtype {array.dtype.name}")
    if is_numpy and array.size > MAX_UNASKED:  # a check takes a byte for each number
        check_memory(array.size, name, f"{array.size} numbers")
    return array


def _values(array: Any) -> np.ndarray | None:
    """Return the numbers themselves, or None while a ``tf.function`` is being traced."""
    if not is_tensor(array):
        return array
    return None if sys.modules["tensorflow"].is_symbolic_tensor(array) else array.numpy()


def _kind(array: Any) -> str:
    """Return NumPy's letter for the kind of dtype (i, u, f, b, c, O, …)."""
    dtype = array.dtype.as_numpy_dtype if is_tensor(array) else array.dtype
    return np.dtype(dtype).kind


def _shape(array: Any) -> tuple[int | None, ...] | None:
    """Return the (static) shape, or None for a tensor of unknown rank."""
    if not is_tensor(array):
        return array.shape
    return None if array.shape.rank is None else tuple(array.shape.as_list())


def _num_rows(array: Any) -> int | None:
    shape = _shape(array)
    return shape[0] if shape else None


def _float_type() -> np.dtype:
    """GPflow's precision, float64 unless somebody has configured GPflow otherwise."""
    gpflow = sys.modules.get("gpflow")
    return np.dtype(np.float64 if gpflow is None else gpflow.default_float())


def _format_shape(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
