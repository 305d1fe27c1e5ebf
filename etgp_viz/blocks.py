"""Rows in blocks: how a long table goes through code that is compiled for one shape at a time."""

import os
from collections.abc import Callable, Sequence

from etgp_viz.backend import tf

__all__ = ["in_row_blocks", "padded"]

# Rows go through the compiled node loop in blocks that stay in the processor's cache, and in as
# many shares of blocks as there are cores.
ROWS_PER_BLOCK = 128
MAX_SHARES = min(os.cpu_count() or 1, 16)


def padded(rows: tf.Tensor) -> tf.Tensor:
    """Rows up to a power of two, above 1024 to a multiple of 1024, by repeating the last one.

    What is compiled for one number of rows then serves many.
    """
    num_rows = rows.shape[0]
    if num_rows is None:
        return rows
    size = -(-num_rows // 1024) * 1024 if num_rows > 1024 else 1 << (num_rows - 1).bit_length()
    return _extended(rows, size - num_rows, axis=0)


def _extended(tensor: tf.Tensor, extra: int, axis: int) -> tf.Tensor:
    """Repeat the last row `extra` times more."""
    if extra == 0:
        return tensor
    last = tf.gather(tensor, [tensor.shape[axis] - 1], axis=axis)
    return tf.concat([tensor, tf.repeat(last, extra, axis=axis)], axis=axis)


def in_row_blocks(
    function: Callable[..., tf.Tensor], tensors: Sequence[tf.Tensor], axes: Sequence[int]
) -> tf.Tensor:
    """Apply `function` to shares of the rows and join the results along their last axis.

    The axis of rows becomes two, [B, N]: B blocks of N rows. All shares have one shape, so that
    what is compiled for one serves all; the rows that this adds at the end repeat the last one and
    are cut off again. `function` returns [B, …, N].
    """
    num_rows = tensors[0].shape[axes[0]]
    if num_rows is None:  # a graph for any number of rows: one block
        shares, blocks, per_block, extra = 1, 1, -1, 0
    else:
        shares = min(MAX_SHARES, -(-num_rows // ROWS_PER_BLOCK))
        blocks = -(-num_rows // (shares * ROWS_PER_BLOCK))
        per_block = -(-num_rows // (shares * blocks))
        extra = shares * blocks * per_block - num_rows

    def split(tensor: tf.Tensor, axis: int) -> list[tf.Tensor]:
        shape = [*tensor.shape[:axis], shares, blocks, per_block, *tensor.shape[axis + 1 :]]
        shared = tf.reshape(_extended(tensor, extra, axis), shape)
        return tf.unstack(shared, num=shares, axis=axis)

    split_tensors = [split(tensor, axis) for tensor, axis in zip(tensors, axes, strict=True)]
    results = [function(*share) for share in zip(*split_tensors, strict=True)]
    joined = tf.stack(results)  # [shares, B, …, N]
    rank = joined.shape.rank
    joined = tf.transpose(joined, [*range(2, rank - 1), 0, 1, rank - 1])
    flat = tf.reshape(joined, [*joined.shape[:-3], -1])
    return flat[..., :num_rows]
