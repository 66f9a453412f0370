"""Selecting and spreading elements of TensorFlow's tensors.

`tf.repeat` with a vector of counts makes a matrix of rows times the largest count, which a skewed graph has no memory
for; here the beginnings are marked and counted instead.
"""

from __future__ import annotations

import tensorflow as tf

from tgraph.errors import InvalidArgumentError
from tgraph.runtime.checks import check_range
from tgraph.runtime.tensorflow.tensor import TensorFlowTensor


def check_positions(positions: TensorFlowTensor, size: int) -> None:
    """Raise unless all positions lie inside a tensor; looked at once for each tensor of positions."""
    if not positions.size:
        return
    if "range" not in positions.known:
        ends = tf.reduce_min(positions.tensor), tf.reduce_max(positions.tensor)
        positions.known["range"] = int(ends[0]), int(ends[1])
    low, high = positions.known["range"]
    check_range(low, high, size)


def take(tensor: TensorFlowTensor, positions: TensorFlowTensor) -> TensorFlowTensor:
    """Return the elements at positions."""
    check_positions(positions, tensor.size)
    return TensorFlowTensor(tf.gather(tensor.tensor, positions.tensor))


def find_true(mask: TensorFlowTensor) -> TensorFlowTensor:
    """Return the positions where a mask holds; found once for each mask."""
    if "true" not in mask.known:
        found = TensorFlowTensor(tf.reshape(tf.where(mask.tensor), [-1]))
        found.known["range"] = 0, mask.size - 1
        mask.known["true"] = found
    known: TensorFlowTensor = mask.known["true"]
    return known


def find_owners(counts: TensorFlowTensor, total: int) -> TensorFlowTensor:
    """Return each position `counts[i]` times; found once for each tensor of counts. Raises if they have another sum."""
    ends = tf.cumsum(tf.cast(counts.tensor, tf.int64))
    low, found = (int(tf.reduce_min(counts.tensor)), int(ends[-1])) if counts.size else (0, 0)
    if low < 0:
        raise InvalidArgumentError(f"{low} is negative")
    if found != total:
        raise InvalidArgumentError(f"their sum is {found}")
    if "owners" not in counts.known:
        owners = TensorFlowTensor(owners_of_places(ends, total))
        owners.known["range"] = 0, counts.size - 1
        counts.known["owners"] = owners
    known: TensorFlowTensor = counts.known["owners"]
    return known


def owners_of_places(ends: tf.Tensor, total: int) -> tf.Tensor:
    """Return for each of `total` places how many ends lie at or before it; ends lie from 0 to `total`."""
    dtype = tf.int32 if total < tf.int32.max else tf.int64
    marks = tf.math.unsorted_segment_sum(tf.ones_like(ends, dtype), ends, total + 1)
    return tf.cumsum(marks[:-1])
