"""TensorFlow, TensorFlow Probability and GPflow, imported once and quietly.

Every other module takes them from here, and `check_shapes` too, which imports TensorFlow on its
own. A user who sets ``TF_CPP_MIN_LOG_LEVEL=0`` before the import gets all messages back.
"""

import contextlib
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator

# Level 2 keeps TensorFlow's errors and drops its notes and warnings.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# GPflow works with Keras 2. This keeps TensorFlow from loading Keras 3 (and scikit-learn) too.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

# What the pinned versions say on import, and nothing else.
warnings.filterwarnings(
    "ignore", "distutils Version classes are deprecated", DeprecationWarning
)  # TensorFlow Probability 0.25
warnings.filterwarnings("ignore", "pkg_resources is deprecated as an API")  # GPflow 2.9


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Hold back what is written to file descriptor 2, and give it out only if something fails.

    TensorFlow's native code writes a few lines there before its log level counts, past
    ``sys.stderr``.
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


with contextlib.nullcontext() if os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0" else _quiet_stderr():
    import gpflow
    import tensorflow as tf
    import tensorflow_probability as tfp
    from check_shapes import check_shapes, inherit_check_shapes

    # The first look for a GPU writes there too. It does not claim any device.
    tf.config.list_physical_devices()

    if os.environ["TF_CPP_MIN_LOG_LEVEL"] != "0":
        # A new number of rows means a new graph here, by design; Python's side warns of that.
        tf.get_logger().setLevel("ERROR")

# TensorFlow rewrites the source of what it traces, and GPflow's ``tf.map_fn`` asks for that even in
# eager mode. Nothing here needs it, and it takes many times longer than the rest of tracing.
as_written = tf.autograph.experimental.do_not_convert

__all__ = ["as_written", "check_shapes", "gpflow", "inherit_check_shapes", "tf", "tfp"]
