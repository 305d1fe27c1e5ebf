"""Split long tables: cache-sized blocks for compiled code, and chunks that limit memory use."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from etgp_viz.backend import Tensor, tf

__all__ = ["fitting", "in_chunks", "in_row_blocks", "padded"]

# Compiled code takes rows in blocks that fit into the processor's cache (L2, in numbers) …
NUMBERS_PER_BLOCK, MIN_ROWS, MAX_ROWS = 1 << 17, 16, 512
# … and in up to one share of blocks per core, if each gets so many rows.
MAX_SHARES, ROWS_PER_SHARE = min(os.cpu_count() or 1, 16), 128
NUMBERS_PER_CHUNK = 10_000_000  # elsewhere the largest temporary array holds about 80 MB


def fitting(numbers_each: int, limit: int | None = None) -> int:
    """Number of rows (or processes) that fit into one chunk, at least one."""
    return max(1, (NUMBERS_PER_CHUNK if limit is None else limit) // max(1, numbers_each))


def in_chunks(function: Callable[[slice], Any], num_rows: int | None, numbers_per_row: int) -> Any:
    """Apply ``function(rows)`` to slices of N rows, and join the results along axis 0.

    It returns a tensor or a tuple of tensors, rows first; its largest temporary array has
    `numbers_per_row`. A graph for any number of rows (N is None) takes them in one piece.
    """
    size = fitting(numbers_per_row)
    if num_rows is None or num_rows <= size:
        return function(slice(None))
    parts = [function(slice(start, start + size)) for start in range(0, num_rows, size)]
    return tf.nest.map_structure(lambda *pieces: tf.concat(pieces, axis=0), *parts)


def padded(rows: Tensor) -> Tensor:
    """Rows padded to a power of two (above 1024: a multiple of it), for fewer compiled shapes."""
    num_rows = rows.shape[0]
    if num_rows is None:
        return rows
    size = -(-num_rows // 1024) * 1024 if num_rows > 1024 else 1 << (num_rows - 1).bit_length()
    return _extended(rows, size - num_rows, axis=0)


def _extended(tensor: Tensor, extra: int, axis: int) -> Tensor:
    """The tensor with its last row repeated `extra` more times."""
    if extra == 0:
        return tensor
    last = tf.gather(tensor, [tensor.shape[axis] - 1], axis=axis)
    return tf.concat([tensor, tf.repeat(last, extra, axis=axis)], axis=axis)


def in_row_blocks(
    function: Callable[..., Tensor],
    tensors: Sequence[Tensor],
    axes: Sequence[int],
    numbers_per_row: int,
) -> Tensor:
    """Apply `function` to shares of the rows and join the results along their last axis.

    The axis of rows becomes two, [B, N]: B blocks of N rows, each with `numbers_per_row`. All
    shares have one shape, so that what is compiled for one serves all; the rows that this adds at
    the end repeat the last one and are cut off again. `function` returns [B, …, N].
    """
    num_rows = tensors[0].shape[axes[0]]
    if num_rows is None:  # a graph for any number of rows: one block
        shares, blocks, per_block, extra = 1, 1, -1, 0
    else:
        shares = min(MAX_SHARES, -(-num_rows // ROWS_PER_SHARE))
        fit = 1 << round(np.log2(fitting(numbers_per_row, NUMBERS_PER_BLOCK)))
        blocks = -(-num_rows // (shares * min(max(fit, MIN_ROWS), MAX_ROWS)))
        per_block = -(-num_rows // (shares * blocks))
        extra = shares * blocks * per_block - num_rows

    def split(tensor: Tensor, axis: int) -> list[Tensor]:
        shape = [*tensor.shape[:axis], shares, blocks, per_block, *tensor.shape[axis + 1 :]]
        shared = tf.reshape(_extended(tensor, extra, axis), shape)
        return tf.unstack(shared, num=shares, axis=axis)

    split_tensors = [split(tensor, axis) for tensor, axis in zip(tensors, axes, strict=True)]
    joined = tf.stack([function(*share) for share in zip(*split_tensors, strict=True)])
    rank = joined.shape.rank  # [shares, B, …, N] → […, shares·B·N]
    joined = tf.transpose(joined, [*range(2, rank - 1), 0, 1, rank - 1])
    return tf.reshape(joined, [*joined.shape[:-3], -1])[..., :num_rows]
