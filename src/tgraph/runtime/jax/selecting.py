"""Selecting and spreading elements of JAX arrays, with sizes that are arguments instead of shapes.

Positions behind the `size` ones of a bucket are sent outside an array, where JAX drops what is written.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.runtime.checks import check_range
from tgraph.runtime.jax.tensor import JaxTensor, bucket

OUTSIDE = np.iinfo(np.int32).max  # beyond every array that 32-bit positions reach into


def is_used(array: jax.Array, size: Any) -> jax.Array:
    """Return the mask of the elements that mean something, while tracing."""
    return jnp.arange(array.shape[0]) < size


@partial(jax.jit, static_argnums=(1, 2))
def count_up(start: Any, length: int, dtype: str) -> jax.Array:
    """Return start, start + 1, ..."""
    return (start + jnp.arange(length)).astype(dtype)


def check_positions(positions: JaxTensor, size: int) -> None:
    """Raise unless all positions lie inside a tensor; looked at once for each tensor of positions."""
    if not positions.size:
        return
    if "range" not in positions.known:
        low, high = _find_range(positions.padded, positions.size)
        positions.known["range"] = int(low), int(high)
    low, high = positions.known["range"]
    check_range(low, high, size)


@jax.jit
def _find_range(positions: jax.Array, size: Any) -> tuple[jax.Array, jax.Array]:
    inside = jnp.where(is_used(positions, size), positions, positions[0])
    return inside.min(), inside.max()


@jax.jit
def take(array: jax.Array, positions: jax.Array) -> jax.Array:
    """Return the elements at checked positions."""
    return jnp.take(array, positions, axis=0, mode="clip")


@jax.jit
def put(array: jax.Array, positions: jax.Array, count: Any, values: jax.Array) -> jax.Array:
    """Return an array with values, as many or one, at the first `count` checked positions."""
    places = jnp.where(is_used(positions, count), positions, array.shape[0])
    values = jnp.asarray(values).astype(array.dtype)
    if values.ndim and values.shape[0] != places.shape[0]:
        longest = max(values.shape[0], places.shape[0])
        values = jnp.pad(values, (0, longest - values.shape[0]))
        places = jnp.pad(places, (0, longest - places.shape[0]), constant_values=array.shape[0])
    return array.at[places].set(values, mode="drop")


def find_true(mask: JaxTensor) -> JaxTensor:
    """Return the positions where a mask holds; found once for each mask."""
    if "true" not in mask.known:
        count = int(_count_true(mask.padded, mask.size))
        found = JaxTensor(_find_true(mask.padded, mask.size, bucket(count)), count, is_bucket=True)
        found.known["range"] = 0, mask.size - 1
        mask.known["true"] = found
    known: JaxTensor = mask.known["true"]
    return known


@jax.jit
def _count_true(mask: jax.Array, size: Any) -> jax.Array:
    return jnp.sum(mask.astype(bool) & is_used(mask, size))


@partial(jax.jit, static_argnums=2)
def _find_true(mask: jax.Array, size: Any, length: int) -> jax.Array:
    """Write every position to the place that the number of earlier ones gives it."""
    wanted = mask.astype(bool) & is_used(mask, size)
    places = jnp.where(wanted, jnp.cumsum(wanted, dtype=jnp.int32) - 1, length)
    return jnp.zeros(length, jnp.int64).at[places].set(jnp.arange(mask.shape[0]), mode="drop", unique_indices=True)


def find_owners(counts: JaxTensor, total: int) -> JaxTensor:
    """Return each position `counts[i]` times; found once for each tensor of counts. Raises if they have another sum."""
    low, found = map(int, _check_counts(counts.padded, counts.size)) if counts.size else (0, 0)
    if low < 0:
        raise InvalidArgumentError(f"{low} is negative")
    if found != total:
        raise InvalidArgumentError(f"their sum is {found}")
    if "owners" not in counts.known:
        length = bucket(total) if counts.is_bucket else total
        owners = JaxTensor(_spread(counts.padded, counts.size, length), total, counts.is_bucket)
        owners.known["range"] = 0, counts.size - 1
        counts.known["owners"] = owners
    known: JaxTensor = counts.known["owners"]
    return known


@jax.jit
def _check_counts(counts: jax.Array, size: Any) -> tuple[jax.Array, jax.Array]:
    used = jnp.where(is_used(counts, size), counts, 0)
    return used.min(), used.sum(dtype=jnp.int64)


@partial(jax.jit, static_argnums=2)
def _spread(counts: jax.Array, size: Any, length: int) -> jax.Array:
    """Mark where every position begins, and count the marks up to each place."""
    ends = jnp.cumsum(jnp.where(is_used(counts, size), counts, 0), dtype=jnp.int64)
    return owners_of_places(ends, size, length)


def owners_of_places(ends: jax.Array, size: Any, length: int) -> jax.Array:
    """Return for each of `length` places how many of the first `size` ends lie at or before it, while tracing."""
    narrow = length <= OUTSIDE
    marks = jnp.where(is_used(ends, size), ends, length)
    started = jnp.zeros(length, jnp.int32 if narrow else jnp.int64)
    return jnp.cumsum(started.at[marks.astype(started.dtype)].add(1, mode="drop"), dtype=started.dtype)


def concatenate(tensors: list[JaxTensor]) -> JaxTensor:
    """Return tensors one behind the other; in a bucket if one of them is."""
    total = sum(tensor.size for tensor in tensors)
    if len(tensors) == 1:
        return tensors[0]
    if not any(tensor.is_bucket for tensor in tensors):
        return JaxTensor(_join([tensor.padded for tensor in tensors]))
    ends = np.cumsum([tensor.size for tensor in tensors])
    starts = [np.int64(end - tensor.size) for end, tensor in zip(ends, tensors, strict=True)]
    joined = _join_at(starts, [tensor.padded for tensor in tensors], bucket(total))
    return JaxTensor(joined, total, is_bucket=True)


@jax.jit
def _join(arrays: list[jax.Array]) -> jax.Array:
    return jnp.concatenate(arrays)


@partial(jax.jit, static_argnums=2)
def _join_at(starts: list[Any], arrays: list[jax.Array], length: int) -> jax.Array:
    """Write each array from its start on, in order, so that the next one covers what means nothing."""
    room = length + max(array.shape[0] for array in arrays)
    joined = jnp.zeros((room, *arrays[0].shape[1:]), arrays[0].dtype)
    for start, array in zip(starts, arrays, strict=True):
        joined = jax.lax.dynamic_update_slice_in_dim(joined, array, start, 0)
    return joined[:length]
