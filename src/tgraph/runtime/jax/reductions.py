"""Reductions on JAX arrays.

A segment reduction scatters every value to its segment. Which segment that is follows from the offsets and is found
once for each tensor of offsets: a graph's own are the same in every iteration.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tgraph.dtypes import check_reduction, identity
from tgraph.errors import OutOfRangeError
from tgraph.runtime.jax.selecting import is_used, owners_of_places
from tgraph.runtime.jax.tensor import JaxTensor, bucket, elementwise, padded_to

_SCATTER_NAMES = {"min": "min", "max": "max", "sum": "add", "any": "max", "count": "add"}
_REDUCTIONS: dict[str, Any] = {"min": jnp.min, "max": jnp.max, "sum": jnp.sum, "any": jnp.any}


def reduce(tensor: JaxTensor, op: str) -> JaxTensor:
    """Reduce everything to one element."""
    check_reduction(op, tensor.dtype)
    if op == "count":
        return JaxTensor(jnp.full(1, tensor.size, jnp.int64))
    if op == "mean":
        return elementwise("true_divide", reduce(tensor, "sum"), max(tensor.size, 1), dtype=tensor.dtype)
    return JaxTensor(_reduce(tensor.padded, tensor.size, op))


@partial(jax.jit, static_argnums=2)
def _reduce(array: jax.Array, size: Any, op: str) -> jax.Array:
    start = jnp.asarray(identity(op, array.dtype), array.dtype)
    used = jnp.where(is_used(array, size), array, start)
    if not array.shape[0]:
        return start.reshape(1)
    reduced = _REDUCTIONS[op](used).astype(array.dtype).reshape(1)
    if op in ("min", "max") and jnp.issubdtype(array.dtype, jnp.floating):  # on the CPU, XLA loses NaN in long arrays
        reduced = jnp.where(jnp.isnan(used).any(), jnp.nan, reduced)
    return reduced


def scatter_reduce(into: JaxTensor, positions: JaxTensor, values: JaxTensor, op: str) -> JaxTensor:
    """Reduce values into checked positions of `into`."""
    length = max(positions.padded.shape[0], values.padded.shape[0])
    places, sent = padded_to(positions.padded, length), padded_to(values.padded, length)
    scattered = _scatter(into.padded, places, positions.size, sent, op)
    return JaxTensor(scattered, into.size, into.is_bucket)


@partial(jax.jit, static_argnums=4)
def _scatter(into: jax.Array, positions: jax.Array, count: Any, values: jax.Array, op: str) -> jax.Array:
    places = jnp.where(is_used(positions, count), positions, into.shape[0])
    sent = jnp.ones(values.shape, into.dtype) if op == "count" else values
    return getattr(into.at[places], _SCATTER_NAMES[op])(sent, mode="drop")


def segment_reduce(values: JaxTensor, offsets: JaxTensor, op: str) -> JaxTensor:
    """Reduce each segment."""
    check_reduction(op, values.dtype)
    _check_offsets(values, offsets)
    if op == "count":
        return elementwise("subtract", offsets[1:], offsets[:-1], dtype="int64")
    if op == "mean":
        counts = elementwise("maximum", segment_reduce(values, offsets, "count"), 1)
        return elementwise("true_divide", segment_reduce(values, offsets, "sum"), counts, dtype=values.dtype)
    size = max(offsets.size - 1, 0)
    length = bucket(size) if offsets.is_bucket else size
    owners = _find_owners(offsets, values)
    return JaxTensor(_reduce_segments(values.padded, owners, length, op), size, offsets.is_bucket)


def _find_owners(offsets: JaxTensor, values: JaxTensor) -> jax.Array:
    length = values.padded.shape[0]
    if offsets.known.get("owned") != length:
        offsets.known["owned"] = length
        offsets.known["owners"] = _owners(offsets.padded, offsets.size, length)
    return offsets.known["owners"]


@partial(jax.jit, static_argnums=2)
def _owners(offsets: jax.Array, size: Any, length: int) -> jax.Array:
    """Return one more than the segment of every value; 0 before all segments, `size` behind them."""
    return owners_of_places(offsets, size, length)


@partial(jax.jit, static_argnums=(2, 3))
def _reduce_segments(values: jax.Array, owners: jax.Array, length: int, op: str) -> jax.Array:
    """Scatter into one more segment before the first one, for what belongs to none; what lies behind all is dropped."""
    start = jnp.full(length + 1, identity(op, values.dtype), values.dtype)
    scattered = getattr(start.at[owners], _SCATTER_NAMES[op])
    return scattered(values, mode="drop", indices_are_sorted=True)[1:]


def _check_offsets(values: JaxTensor, offsets: JaxTensor) -> None:
    if not offsets.size:
        return
    if "ends" not in offsets.known:
        ends = np.asarray(offsets)
        offsets.known["ends"] = int(ends[0]), int(ends[-1])
    first, last = offsets.known["ends"]
    if first < 0 or last > values.size:
        raise OutOfRangeError(f"offsets run from {first} to {last} beyond the {values.size} values")
