"""Dictionaries and sets of Python objects, filled from arrays without a step of Python's per element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.python_objects.interface import (
    AHEAD,
    JIT,
    ask_for,
    clear_error,
    float_new,
    int_new,
    list_append,
    release,
    set_add,
    set_item,
    set_new,
)
from tgraph.runtime.protocol import Array

FAILED = -1


def fill_dict(keys: Array, chosen: Array, values: Array) -> dict[Any, Any] | None:
    """Return a dictionary from the objects at the addresses `keys[chosen]`, in that order, to the values, int or float.

    None if it cannot be filled: out of memory, or a key that cannot be hashed.

    >>> names = ["a", "b"]
    >>> fill_dict(np.array([id(name) for name in names]), np.array([1, 0]), np.array([0.5, 2.0]))
    {'b': 0.5, 'a': 2.0}
    """
    result: dict[Any, Any] = {}
    fill, dtype = (_fill_floats, np.float64) if values.dtype.kind == "f" else (_fill_ints, np.int64)
    return None if fill(id(result), keys, _wide(chosen), np.ascontiguousarray(values, dtype)) == FAILED else result


def fill_sets(keys: Array, chosen: Array, ends: Array) -> list[set[Any]] | None:
    """Return sets of the objects at the addresses `keys[chosen]`, divided at `ends`, the first of which is 0.

    >>> names = ["a", "b", "c"]
    >>> sets = fill_sets(np.array([id(name) for name in names]), np.array([2, 1, 0]), np.array([0, 1, 3]))
    >>> [sorted(members) for members in sets]
    [['c'], ['a', 'b']]
    """
    result: list[set[Any]] = []
    return None if _fill_sets(id(result), keys, _wide(chosen), _wide(ends)) == FAILED else result


def _wide(numbers: Array) -> Array:
    """Return the numbers in 64 bits, so that one compiled kernel serves them all."""
    return np.ascontiguousarray(numbers, np.int64)


@njit(**JIT)
def _fill_floats(result, keys, chosen, values):
    """Fills the dictionary."""
    for place in range(chosen.size):
        ask_for(keys[chosen[min(place + AHEAD, chosen.size - 1)]])
        if _put(result, keys[chosen[place]], float_new(values[place])) == FAILED:
            return FAILED
    return 0


@njit(**JIT)
def _fill_ints(result, keys, chosen, values):
    """Fills the dictionary."""
    for place in range(chosen.size):
        ask_for(keys[chosen[min(place + AHEAD, chosen.size - 1)]])
        if _put(result, keys[chosen[place]], int_new(values[place])) == FAILED:
            return FAILED
    return 0


@njit(**JIT)
def _put(dictionary, key, value):
    """Sets an item and releases the value, 0 = there was no memory for it."""
    status = FAILED if value == 0 else set_item(dictionary, key, value)
    if value != 0:
        release(value)
    if status < 0:
        clear_error()
        return FAILED
    return 0


@njit(**JIT)
def _fill_sets(result, keys, chosen, ends):
    """Appends a set for every part to the list."""
    for part in range(ends.size - 1):
        members = set_new(0)
        status = FAILED if members == 0 else 0
        for place in range(ends[part], ends[part + 1]):
            ask_for(keys[chosen[min(place + AHEAD, chosen.size - 1)]])
            if status == 0:
                status = set_add(members, keys[chosen[place]])
        if status == 0:
            status = list_append(result, members)
        if members != 0:
            release(members)
        if status < 0:
            clear_error()
            return FAILED
    return 0
