"""Reductions on TensorFlow's tensors.

Everything goes through `unsorted_segment_*`, which keeps integers exact; `tf.tensor_scatter_nd_*` takes twenty times as
long. Its minimum begins with the largest float, not with infinity, and forgets NaN: both are mended afterwards.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tgraph.dtypes import check_reduction, identity
from tgraph.errors import OutOfRangeError
from tgraph.runtime.tensorflow.selecting import owners_of_places
from tgraph.runtime.tensorflow.tensor import TensorFlowTensor, cast, elementwise

_REDUCE = {"min": tf.reduce_min, "max": tf.reduce_max, "sum": tf.reduce_sum}
_SEGMENTS = {
    "min": tf.math.unsorted_segment_min,
    "max": tf.math.unsorted_segment_max,
    "sum": tf.math.unsorted_segment_sum,
    "any": tf.math.unsorted_segment_max,
}


def reduce(tensor: TensorFlowTensor, op: str) -> TensorFlowTensor:
    """Reduce everything to one element."""
    check_reduction(op, tensor.dtype)
    if op == "count":
        return TensorFlowTensor(tf.constant([tensor.size], tf.int64))
    if op == "mean":
        return elementwise("true_divide", reduce(tensor, "sum"), max(tensor.size, 1), dtype=tensor.dtype)
    if not tensor.size:
        return TensorFlowTensor(tf.constant([identity(op, tensor.dtype)], tensor.tensor.dtype))
    return TensorFlowTensor(tf.reshape(_reduce(tensor.tensor, op), [1]))


def _reduce(values: tf.Tensor, op: str) -> tf.Tensor:
    if values.dtype == tf.bool:
        return tf.reduce_all(values) if op == "min" else tf.reduce_any(values)
    if op != "sum" and values.dtype.is_floating and bool(tf.reduce_any(tf.math.is_nan(values))):
        return tf.constant(np.nan, values.dtype)
    return _REDUCE[op](values)


def scatter_reduce(
    into: TensorFlowTensor, positions: TensorFlowTensor, values: TensorFlowTensor, op: str
) -> TensorFlowTensor:
    """Reduce values into checked positions of `into`, whose elements are the first values of their segments."""
    sent = tf.ones_like(values.tensor, into.tensor.dtype) if op == "count" else values.tensor
    own = tf.range(into.size, dtype=positions.tensor.dtype)
    owners, sent = tf.concat([own, positions.tensor], 0), tf.concat([into.tensor, sent], 0)
    return TensorFlowTensor(_reduce_segments(sent, owners, into.size, "sum" if op == "count" else op))


def segment_reduce(values: TensorFlowTensor, offsets: TensorFlowTensor, op: str) -> TensorFlowTensor:
    """Reduce each segment."""
    check_reduction(op, values.dtype)
    _check_offsets(values, offsets)
    if op == "count":
        return _count(offsets)
    if op == "mean":
        counts = elementwise("maximum", _count(offsets), 1)
        return elementwise("true_divide", segment_reduce(values, offsets, "sum"), counts, dtype=values.dtype)
    size = max(offsets.size - 1, 0)
    if not size:
        return TensorFlowTensor(tf.zeros([0], values.tensor.dtype))
    owners = _find_owners(offsets, values.size)
    if op == "sum":
        return TensorFlowTensor(_sum_segments(values.tensor, owners, size + 2)[1:-1])
    return TensorFlowTensor(_reduce_segments(values.tensor, owners, size + 2, op)[1:-1])


def _sum_segments(values: tf.Tensor, ascending_owners: tf.Tensor, size: int) -> tf.Tensor:
    """Add up in order, with zeros for the segments behind the last value."""
    sums = tf.math.segment_sum(values, ascending_owners)
    return tf.pad(sums, [[0, size - sums.shape[0]]])


def _count(offsets: TensorFlowTensor) -> TensorFlowTensor:
    return elementwise("subtract", offsets[1:], offsets[:-1], dtype="int64")


def _find_owners(offsets: TensorFlowTensor, total: int) -> tf.Tensor:
    """Return one more than the segment of every value: 0 before all segments; found once for each tensor of offsets."""
    if offsets.known.get("owned") != total:
        offsets.known["owned"] = total
        offsets.known["owners"] = owners_of_places(offsets.tensor, total)
    return offsets.known["owners"]


def _reduce_segments(values: tf.Tensor, owners: tf.Tensor, size: int, op: str) -> tf.Tensor:
    if values.dtype == tf.bool:
        return _reduce_segments(tf.cast(values, tf.int32), owners, size, op) > 0
    reduced = _SEGMENTS[op](values, owners, size)
    if op == "sum" or not values.dtype.is_floating:
        return reduced
    begin = values.dtype.max if op == "min" else values.dtype.min
    has_nothing_else = (reduced == begin) & ~_is_in_segment(values == begin, owners, size)
    reduced = tf.where(has_nothing_else, tf.constant(identity(op, values.dtype.as_numpy_dtype), values.dtype), reduced)
    has_nan = _is_in_segment(tf.math.is_nan(values), owners, size)
    return tf.where(has_nan, tf.constant(np.nan, values.dtype), reduced)


def _is_in_segment(mask: tf.Tensor, owners: tf.Tensor, size: int) -> tf.Tensor:
    """Return where a segment has an element of the mask; mostly there is none at all."""
    if not bool(tf.reduce_any(mask)):
        return tf.zeros([size], tf.bool)
    return tf.math.unsorted_segment_max(cast(mask, np.int32), owners, size) > 0


def _check_offsets(values: TensorFlowTensor, offsets: TensorFlowTensor) -> None:
    if not offsets.size:
        return
    first, last = int(offsets[0]), int(offsets[-1])
    if first < 0 or last > values.size:
        raise OutOfRangeError(f"offsets run from {first} to {last} beyond the {values.size} values")
