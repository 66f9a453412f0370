"""Orders and running sums of JAX arrays: what lies behind the elements of a bucket is made the largest, and is last."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tgraph.runtime.jax.selecting import is_used
from tgraph.runtime.jax.tensor import JaxTensor


@partial(jax.jit, static_argnums=1)
def running_sum(array: jax.Array, dtype: str) -> jax.Array:
    """Return the inclusive running sum in a type."""
    return jnp.cumsum(array, dtype=dtype)


def searchsorted(ascending: JaxTensor, values: JaxTensor, side: str) -> JaxTensor:
    """Return where the values would be inserted."""
    dtype = np.result_type(ascending.dtype, values.dtype).name
    found = _search(ascending.padded, ascending.size, values.padded, side, dtype)
    return JaxTensor(found, values.size, values.is_bucket)


@partial(jax.jit, static_argnums=(3, 4))
def _search(ascending: jax.Array, size: Any, values: jax.Array, side: str, dtype: str) -> jax.Array:
    found = jnp.searchsorted(_filled(ascending.astype(dtype), size), values.astype(dtype), side=side)
    return jnp.minimum(found.astype(jnp.int64), size)


def sort(tensor: JaxTensor) -> JaxTensor:
    """Return the elements in ascending order, NaN last."""
    return JaxTensor(_sort(tensor.padded, tensor.size), tensor.size, tensor.is_bucket)


@jax.jit
def _sort(array: jax.Array, size: Any) -> jax.Array:
    return jnp.sort(_filled(array, size))


def argsort(tensor: JaxTensor) -> JaxTensor:
    """Return the positions in the order of their elements."""
    return JaxTensor(_argsort(tensor.padded, tensor.size), tensor.size, tensor.is_bucket)


@jax.jit
def _argsort(array: jax.Array, size: Any) -> jax.Array:
    return jnp.argsort(_filled(array, size), stable=True).astype(jnp.int64)


@jax.jit
def is_first(ascending: jax.Array) -> jax.Array:
    """Return where an element differs from the one before it."""
    if not ascending.shape[0]:
        return jnp.zeros(0, bool)
    return jnp.concatenate([jnp.ones(1, bool), ascending[1:] != ascending[:-1]])


def _filled(array: jax.Array, size: Any) -> jax.Array:
    """Put the largest value, or NaN, behind the elements."""
    kind = np.dtype(array.dtype).kind
    last = np.nan if kind == "f" else True if kind == "b" else np.iinfo(array.dtype).max
    return jnp.where(is_used(array, size), array, jnp.asarray(last, array.dtype))
