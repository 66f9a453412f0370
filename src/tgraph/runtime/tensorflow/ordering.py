"""Orders of TensorFlow's tensors, by `top_k`: `tf.sort` negates integers, which the smallest one does not survive."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tgraph.runtime.tensorflow.tensor import TensorFlowTensor

_BITS = {tf.float16: tf.int16, tf.float32: tf.int32, tf.float64: tf.int64}


def argsort(tensor: TensorFlowTensor) -> TensorFlowTensor:
    """Return the positions in the order of their elements.

    `top_k` gives the largest first, and of equal ones the first; both ends are turned, so that these stay in order.
    """
    size = tensor.size
    found = tf.math.top_k(tf.reverse(_keys(tensor.tensor), [0]), k=size).indices
    return TensorFlowTensor(size - 1 - tf.cast(tf.reverse(found, [0]), tf.int64))


def sort(tensor: TensorFlowTensor) -> TensorFlowTensor:
    """Return the elements in ascending order, NaN last."""
    if tensor.dtype.kind == "i":
        return TensorFlowTensor(tf.reverse(tf.math.top_k(tensor.tensor, k=tensor.size).values, [0]))
    return TensorFlowTensor(tf.gather(tensor.tensor, argsort(tensor).tensor))


def is_first(ascending: TensorFlowTensor) -> TensorFlowTensor:
    """Return where an element differs from the one before it."""
    elements = ascending.tensor
    return TensorFlowTensor(tf.concat([tf.ones_like(elements[:1], tf.bool), elements[1:] != elements[:-1]], 0))


def _keys(elements: Any) -> Any:
    """Return integers in the order of the elements: of floats their bits, those of negative ones turned around."""
    if elements.dtype == tf.bool:
        return tf.cast(elements, tf.int32)
    if elements.dtype not in _BITS:
        return elements
    kind = _BITS[elements.dtype]
    one_nan = tf.constant(float("nan"), elements.dtype)
    plain = tf.where(tf.math.is_nan(elements), one_nan, elements + 0)  # and one zero
    bits = tf.bitcast(plain, kind)
    return tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, tf.constant(kind.max, kind)), bits)
