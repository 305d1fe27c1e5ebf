"""TensorFlow, TensorFlow Probability and GPflow, imported once and quietly.

Every other module takes them from here, and `check_shapes` too, which imports TensorFlow on its
own. A user who sets ``TF_CPP_MIN_LOG_LEVEL=0`` before the import gets all messages back.
"""

import contextlib
import dataclasses
import functools
import inspect
import numbers
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from etgp_viz.checks import (
    check_covariance,
    check_installed,
    check_numbers,
    describe,
    fail,
    is_tensor,
)

check_installed()

Function = TypeVar("Function", bound=Callable[..., Any])

# Level 2 keeps TensorFlow's errors and drops its notes and warnings. Another one, which the user
# has set, also applies to TensorFlow's Python messages. Processes that we start inherit ours.
_level_is_ours = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2") == "2"
# GPflow works with Keras 2. This keeps TensorFlow from loading Keras 3 (and scikit-learn) too.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

# Silence only the warnings that the pinned versions raise on import.
warnings.filterwarnings(
    "ignore", "distutils Version classes are deprecated", DeprecationWarning
)  # TensorFlow Probability 0.25
warnings.filterwarnings("ignore", "pkg_resources is deprecated as an API")  # GPflow 2.9


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Hold back what is written to file descriptor 2, and print it only if something fails.

    TensorFlow's native code writes a few lines there before its log level applies,
    bypassing ``sys.stderr``.
    """
    try:
        outside = os.dup(2)
    except OSError:  # no such descriptor: nothing to hold back
        yield
        return
    with tempfile.TemporaryFile() as held:
        try:
            _flush_stderr()
            os.dup2(held.fileno(), 2)
            yield
        except BaseException:
            _flush_stderr()
            held.seek(0)
            os.write(outside, held.read())
            raise
        finally:
            _flush_stderr()
            os.dup2(outside, 2)
            os.close(outside)


def _flush_stderr() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()


@contextlib.contextmanager
def decorating() -> Iterator[None]:
    """A context for imports in which TensorFlow is loaded but does not start to work.

    Otherwise each decorator that checks shapes asks TensorFlow whether it is tracing, and for an
    answer it makes a graph, with a thread and a random number. A process that is forked later
    lacks the thread, and would draw the same random numbers as its siblings.
    """
    before = _check_shapes.get_enable_check_shapes()
    _check_shapes.set_enable_check_shapes(True)
    try:
        yield
    finally:
        _check_shapes.set_enable_check_shapes(before)


with contextlib.nullcontext() if os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0" else _quiet_stderr():
    import check_shapes as _check_shapes

    # GPflow writes shapes into its docstrings while it is imported, for more than a second.
    _docstrings = _check_shapes.get_rewrite_docstrings()
    _check_shapes.set_rewrite_docstrings(None)
    with decorating(), warnings.catch_warnings():
        # GPflow 2.9, when it is compiled for the first time by Python 3.12 or later.
        warnings.filterwarnings("ignore", ".*invalid escape sequence", SyntaxWarning)
        import gpflow

    _check_shapes.set_rewrite_docstrings(_docstrings)
    import tensorflow as tf
    import tensorflow_probability as tfp
    from check_shapes import inherit_check_shapes

    # The first search for a GPU writes there too. It does not claim any device.
    tf.config.list_physical_devices()

    if _level_is_ours:
        # Here a new number of rows means a new graph, by design: silence the retracing warning.
        tf.get_logger().setLevel("ERROR")

Tensor = tf.Tensor  # for annotations

# TensorFlow rewrites the source of what it traces, and GPflow's ``tf.map_fn`` asks for that even in
# eager mode. Nothing here needs it, and it takes many times longer than the rest of tracing.
as_written = tf.autograph.experimental.do_not_convert


def check_shapes(*specs: str, covariance: str = "") -> Callable[[Function], Function]:
    """``check_shapes.check_shapes``, but a mismatch is a ValueError in the words of `checks`.

    Arguments that are not TensorFlow's must hold finite real numbers, and the one that is called
    `covariance` must be a covariance matrix. Within `unchecked` nothing is checked.
    """
    arguments = [name for name in (spec.split(":")[0] for spec in specs) if name.isidentifier()]

    def decorate(function: Function) -> Function:
        checked = _check_shapes.check_shapes(*specs)(function)
        signature = inspect.signature(function)

        @functools.wraps(checked)
        def call(*args: Any, **kwargs: Any) -> Any:
            if _check_shapes.get_enable_check_shapes() == _check_shapes.ShapeCheckingState.DISABLED:
                return function(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            for name in arguments:
                if name in given and not _is_tensor_of_numbers(given[name]):
                    _check_values(given[name], name, signature.parameters[name].default is None)
            try:
                if given.get(covariance) is not None and not tf.is_tensor(given[covariance]):
                    check_covariance(given[covariance], covariance)
                return checked(*args, **kwargs)
            except _check_shapes.exceptions.ShapeMismatchError as error:
                raise ValueError(_in_one_line(str(error))) from None

        return cast(Function, call)

    return decorate


def _is_tensor_of_numbers(value: Any) -> bool:
    """Whether a value is a dense tensor, a variable or a parameter, of real numbers."""
    if not is_tensor(value) or isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        return False
    return value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool


def _check_values(value: Any, name: str, is_optional: bool) -> None:
    if value is None and is_optional:
        return
    check_numbers(value, name)
    if not isinstance(value, (numbers.Number, list, tuple)) and not hasattr(value, "shape"):
        fail(name, "an array of finite real numbers", describe(value))


def _in_one_line(message: str) -> str:
    """A mismatch as in `checks`: the argument that does not fit those before it, and all shapes."""
    shapes = re.findall(r"Argument: (\S+)\s+Expected: (.*)\s+Actual: +(.*)", message)
    sizes: dict[str, str] = {}
    blamed = shapes[0][0] if shapes else "shape"
    for name, expected, actual in shapes:
        symbols, numbers = (text.strip("[]").split(", ") for text in (expected, actual))
        is_plain = "..." not in expected and "." not in name
        pairs = list(zip(symbols, numbers, strict=False))
        if is_plain and (
            len(symbols) != len(numbers) or any(sizes.setdefault(s, n) != n for s, n in pairs)
        ):
            blamed = name
            break
    wanted = ", ".join(f"{name} {expected}" for name, expected, _ in shapes)
    found = ", ".join(f"{name} {actual}" for name, _, actual in shapes)
    return f"{blamed}: expected shapes {wanted}, got {found}"


def jitter(value: float) -> contextlib.AbstractContextManager[None]:
    """A context in which GPflow adds ``value`` to the diagonals of kernel matrices."""
    return gpflow.config.as_context(dataclasses.replace(gpflow.config.config(), jitter=value))


def forget_graph(graph: Any) -> None:
    """Let TensorFlow forget a graph that was traced and that nobody will differentiate again.

    Otherwise it never does, even if the function is gone, and a training step takes 10 MB: each
    custom gradient stays with its graph in a table, and so does each number that a bijector has
    transformed in it. What belongs to branches and loops of the graph is forgotten too.
    """
    operations = sys.modules.get("tensorflow.python.framework.ops")
    gradients = getattr(getattr(operations, "gradient_registry", None), "_registry", {})
    for name, entry in list(gradients.items()):
        if name.startswith("CustomGradient-") and graph in _graphs_of_gradient(entry):
            gradients.pop(name, None)
    transformed = getattr(getattr(tfp.bijectors.Bijector, "_cache", None), "storage", {})
    for key, entry in list(transformed.items()):
        values = tf.nest.flatten(getattr(entry, "dependencies", None))
        if any(graph in _graphs_around(value) for value in values):
            key.cancel()
            transformed.pop(key, None)


def _graphs_of_gradient(entry: dict[str, Any]) -> list[Any]:
    """The graphs around the result of a function with a custom gradient, as TensorFlow keeps it."""
    try:
        wrapped = entry["type"].__closure__[0].cell_contents
        free = dict(zip(wrapped.__code__.co_freevars, wrapped.__closure__, strict=True))
        return _graphs_around(tf.nest.flatten(free["result"].cell_contents)[0])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # another TensorFlow
        return []


def _graphs_around(tensor: Any) -> list[Any]:
    """The graph in which a tensor is, and those that this one is in; none of an eager tensor."""
    graphs = []
    graph: Any = getattr(tensor, "graph", None)
    while getattr(graph, "building_function", False):
        graphs.append(graph)
        graph = graph.outer_graph
    return graphs


class _Unchecked(contextlib.ContextDecorator):
    """A context in which shapes are not checked, for results that are needed within milliseconds.

    Threads may enter and leave it in any order: the last one to leave restores what was before.
    """

    _lock, _depth = threading.Lock(), 0
    _before: Any = None  # whether shapes were checked before

    def __enter__(self) -> None:
        with _Unchecked._lock:
            if _Unchecked._depth == 0:
                _Unchecked._before = _check_shapes.get_enable_check_shapes()
                _check_shapes.set_enable_check_shapes(False)
            _Unchecked._depth += 1

    def __exit__(self, *_: object) -> None:
        with _Unchecked._lock:
            _Unchecked._depth -= 1
            if _Unchecked._depth == 0:
                _check_shapes.set_enable_check_shapes(_Unchecked._before)


unchecked = _Unchecked

__all__ = [
    "Tensor",
    "as_written",
    "check_shapes",
    "decorating",
    "forget_graph",
    "gpflow",
    "inherit_check_shapes",
    "jitter",
    "tf",
    "tfp",
    "unchecked",
]
